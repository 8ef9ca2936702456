"""Mistakes at random: each can be made, none is written to a file, and what tests notice is told apart."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.audit import drawn
from tests.audit.__main__ import Cells, _cut, by_room, survivors
from tests.audit.breaking import CAUGHT, ROOT, SURVIVED
from tests.audit.drawn import REASONS, ROOMS, SOURCES, between, every_mistake, made, mistakes
from tests.harness.statistics import SEED, tries


def test_mistakes_can_be_made_and_are_mistakes() -> None:
    every = every_mistake()

    assert len(every) == len({*every}) > 5_000
    assert {each.room for each in every} == {*ROOMS}
    for each in Random(SEED).sample(every, tries(60)):
        tree, line, right, wrong = made(each)
        right_one = ast.parse((SOURCES / each.file).read_text(encoding="utf-8"))

        compile(tree, each.file, "exec")
        assert right != wrong
        assert line >= 1
        assert ast.unparse(tree) != ast.unparse(right_one)


SOURCE = '''
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os
@cache(1)
def found(number: Literal[1], other: int = 2) -> Literal[3]:
    """Text 4."""
    if number < other and not known:
        raise ValueError("5")
    call(max(number, -other))
    while True:
        break
    number += 6
    return number * 7
'''


def test_every_kind_of_change_and_what_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(SOURCE)
    monkeypatch.setattr(drawn, "SOURCES", tmp_path)
    right = ast.unparse(ast.parse(SOURCE)).splitlines()
    changed = [ast.unparse(made(each)[0]).splitlines() for each in mistakes("made.py")]

    lines = [
        next(new for old, new in zip(right, each, strict=False) if old != new).strip() for each in changed
    ]
    assert sorted(lines) == sorted(
        [
            "def found(number: Literal[1], other: int=3) -> Literal[3]:",
            "if number <= other and (not known):",
            "if number < other or not known:",
            "if number < other and known:",
            "if not (number < other and (not known)):",
            "pass",
            "pass",
            "call(min(number, -other))",
            "call(max(number, other))",
            "while not True:",
            "while False:",
            "continue",
            "number -= 6",
            "number += 7",
            "return None",
            "return number // 7",
            "return number * 8",
        ]
    )


def test_the_bounds_of_a_score() -> None:
    """By the tables of Newcombe (1998), method 3."""
    assert between(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert between(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert between(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_reasons_are_of_mistakes_that_can_still_be_made() -> None:
    files = {file for file, _, _ in REASONS}
    known = {(each.file, *made(each)[2:]) for file in files for each in mistakes(file)}

    assert {*REASONS} <= known


TRIED = """
import sys
from tests.audit import drawn
right, wrong, *tests = sys.argv[1:]
drawn.tests_of = lambda room: ((f"tests/noise/test_uniform.py::{test}",) for test in tests)
(chosen,) = (each for each in drawn.mistakes("noise/uniform.py") if drawn.made(each)[2:] == (right, wrong))
told = drawn.tried(chosen)
print(told.verdict, told.by.rpartition("::")[2])
"""
LAW, FOLDED = "test_pairs_are_independent_exactly", "test_folding_would_be_noticed"


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong", "tests", "expected"),
    [
        ("part >= bound", "part > bound", [LAW], f"{CAUGHT} {LAW}"),
        ("part >= bound", "part > bound", [FOLDED, LAW], f"{CAUGHT} {LAW}"),
        ("part >= bound", "part > bound", [FOLDED], SURVIVED),
        ("return numbers", "return None", [LAW], f"{CAUGHT} {LAW}"),
    ],
)
def test_what_is_noticed_is_told_from_what_is_not(
    right: str, wrong: str, tests: list[str], expected: str
) -> None:
    before = (SOURCES / "noise/uniform.py").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", TRIED, right, wrong, *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == expected
    assert (SOURCES / "noise/uniform.py").read_bytes() == before


ENDLESS = """
import sys
from tests.audit import drawn
print(drawn._run(sys.argv[1:], None, {}, 3.0).code)
"""


@pytest.mark.long
def test_a_test_without_end_is_ended(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text("def test_without_end():\n    while True:\n        pass\n")
    command = [sys.executable, "-c", ENDLESS, str(tmp_path / "test_made.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert int(done.stdout) == -signal.SIGXCPU


def test_the_page_tells_the_score_and_who_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "seed", lambda: 7031)
    told: list[Cells] = [("noise", "noise/a.py:1", "`1` becomes `2`", CAUGHT, "2", "some test")] * 19
    left: Cells = ("laws", "laws/b.py:5", "`a <= b` becomes `a < b`", SURVIVED, "9", "They are never equal.")
    head, rows = by_room([*told, left])

    assert head == ("room", "possible", "drawn", "caught")
    assert [(name, made, caught) for name, _, made, caught in rows] == [
        ("laws", 1, 0),
        ("noise", 19, 19),
        ("all", 20, 19),
    ]
    assert survivors([*told, left]) == [
        "Score: 95.0%; of all that are possible, between 76.4% and 99.1% (95%).",
        "The same again: `make mutants HUSHTABLE_TEST_SEED=7031`.",
        "",
        "What survived, and why:",
        "",
        "* laws/b.py:5: `a <= b` becomes `a < b`. They are never equal.",
    ]
    assert survivors(told)[0].startswith("Score: 100.0%")


def test_a_cut_shows_what_differs() -> None:
    before = "x" * 200

    assert _cut("a < b", "a <= b") == "a < b"
    assert _cut(f"{before} < b", f"{before} <= b").endswith("x < b")
    assert len(_cut(before + before, f"{before}y{before}")) <= 66
