"""Spoiled inputs: some of each kind in every run, more in long ones; `make audit` has most."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import hushtable as ht
from tests.audit.breaking import ROOT
from tests.audit.fuzz import CANARY, KINDS, Kind, fed, tried_at_once
from tests.harness.statistics import SEED, tries

KIND = {kind.name: kind for kind in KINDS}
SLOW = {"row filters", "queries", "rows of CSV", "rows of JSON", "names", "conditions"}


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name not in SLOW], ids=lambda kind: kind.name
)
def test_spoiled_files_are_answered_or_refused(kind: Kind, tmp_path: Path) -> None:
    found = {number: fed(kind, number, tmp_path) for number in range(SEED, SEED + tries(200))}

    assert {number: wrong for number, wrong in found.items() if wrong} == {}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_many_spoiled_inputs_are_answered_or_refused(kind: Kind) -> None:
    """In processes of their own, which may not take more memory or time than is stated."""
    program = "import sys; from tests.audit.fuzz import KINDS, tried; "
    program += (
        "wrong = tried(KINDS[int(sys.argv[1])], 300, start=int(sys.argv[2])).wrong; assert not wrong, wrong"
    )
    command = [sys.executable, "-c", program, str(KINDS.index(kind)), str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("who knows"), "ValueError: who knows"),
        (ht.LowMemory(), "LowMemory: "),
        (ht.BadData(f"{CANARY} is no number", "Mend it."), "a value of the rows is in"),
        (ht.BadData("it is no number", "Mend it."), None),
        (None, ""),
    ],
)
def test_what_is_wrong_is_noticed(error: Exception | None, said: str | None, tmp_path: Path) -> None:
    def feed(chance: Random, folder: Path) -> None:
        if error is not None:
            raise error

    found = fed(Kind("made", feed, 1), 0, tmp_path)

    assert found == said or (found is not None and said and found.startswith(said))


def test_a_value_in_the_error_before_is_noticed(tmp_path: Path) -> None:
    def feed(chance: Random, folder: Path) -> None:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise ht.BadData("it is no number", "Mend it.")  # noqa: B904

    assert "a value of the rows" in (fed(Kind("made", feed, 1), 0, tmp_path) or "")


# Forking is for a process without threads of its own, which those of pytest have.
ENDS = """
import os, sys, time
from tests.audit import fuzz
fuzz.LONGEST, fuzz.ROOM = 1, 1 << 26
ways = {
    "dies": lambda chance, folder: os.kill(os.getpid(), 9),
    "hangs": lambda chance, folder: time.sleep(60),
    "wants memory": lambda chance, folder: len(b"x" * (3 << 28)),
    "is fine": lambda chance, folder: None,
}
print(fuzz.tried(fuzz.Kind("made", ways[sys.argv[1]], 1), 2, start=7).wrong)
"""


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("dies", "('7: the process ended with -9', '8: the process ended with -9')"),
        ("hangs", "('7: more than 1 seconds', '8: more than 1 seconds')"),
        ("wants memory", "('7: "),  # and the second one takes no more than the first
        ("is fine", "()"),
    ],
)
@pytest.mark.long
def test_a_death_a_hang_and_a_want_of_memory_are_noticed(way: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS, way], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith(said)


@pytest.mark.long
def test_inputs_are_shared_among_processors_and_none_is_left_out(tmp_path: Path) -> None:
    kind = KIND["domain files"]
    alone = [fed(kind, number, tmp_path) for number in range(SEED, SEED + 41)]
    together = tried_at_once(kind, 41, start=SEED)

    assert (together.inputs, together.answered, together.wrong) == (41, alone.count(""), ())
