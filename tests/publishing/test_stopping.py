"""Ctrl-C, SIGTERM and low memory in a publication: what is said of the charge and of the output is true."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import hushtable as ht
from hushtable.cli.main import app
from hushtable.ledger.ledger import Ledger
from hushtable.publishing.paying import Payment, held
from tests.harness.cases import chosen
from tests.harness.interrupts import Ended, interrupted

flow: Any = importlib.import_module("hushtable.publishing.publish")
answering: Any = importlib.import_module("hushtable.answers.release")
record: Any = importlib.import_module("hushtable.release.record")

CANARY = "Unable to allocate 91.4 MiB for an array with shape (11983725,) and data type int64"
DOMAIN = """
title = "Commuters"
[[attribute]]
name = "age"
integers = { low = 0, high = 120 }
"""
NOTHING = "Nothing was charged. No output was written."
CHARGED = "epsilon = 0.5 was charged to '{}' (entry 1) and stays spent. No output was written."
PLACED = (
    "epsilon = 0.5 was charged to '{}' (entry 1) and stays spent. "
    "The output '{}' is written, and whole. The ledger has its entry as unfinished."
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows, their domain and a ledger."""
    monkeypatch.chdir(tmp_path)
    Path("age.toml").write_text(DOMAIN)
    Path("age.csv").write_text("age\n" + "34\n61\n" * 50)
    Ledger.create("people.ledger", epsilon=1, about="people")
    return tmp_path


# Real signals, sent to a real process at a known step.

SAY = "print('running', file=sys.stderr, flush=True)"
WAIT = f"{SAY}, time.sleep(30)"
STEPS = {
    # Endless rows, whose reading is stopped wherever it is.
    "reading": "more = ['--query', 'SELECT range % 7 AS age FROM range(1_000_000_000_000_000)', "
    f"'--rows-are-units']; read = flow.counted_rows; "
    f"flow.counted_rows = lambda *a, **b: ({SAY}, read(*a, **b))[1]",
    "drawing": f"flow.drawn_summaries = lambda *_: ({WAIT})",
    "writing": f"flow.write_release = lambda *_, **__: ({WAIT})",
    "placed": f"write = flow.write_release; flow.write_release = lambda *a, **b: (write(*a, **b), {WAIT})",
}
PROGRAM = """
import os, sys, time
os.chdir({folder!r})
more = []
import hushtable as ht
from hushtable.ledger.ledger import Ledger
from hushtable.publishing import publish as flow
{step}
"""
COMMAND = """
from hushtable.cli.main import main
sys.argv = ["hushtable", "publish", "age.csv", "--domain", "age.toml", "--epsilon", "0.5", "--size", "10",
    "--output", "out.parquet", "--quiet", "--ledger", "people.ledger", *more]
main()
"""
IN_PYTHON = """
ht.publish("age.csv", domain="age.toml", epsilon="0.5", size=10, output="out.parquet", ledger="people.ledger")
"""


def stopped_at(step: str, folder: Path, number: int = signal.SIGINT) -> Ended:
    program = PROGRAM.replace("{step}", STEPS.get(step, step)).replace("{folder!r}", repr(str(folder)))
    return interrupted(program + COMMAND, number)


@pytest.mark.parametrize(
    ("step", "said", "number"),
    chosen(
        [
            ("reading", NOTHING, signal.SIGINT),
            ("drawing", CHARGED, signal.SIGINT),
            ("writing", CHARGED, signal.SIGTERM),
            ("placed", PLACED, signal.SIGINT),
        ],
        [0, 2, 3],
    ),
)
def test_who_stops_it_is_told_what_was_charged(step: str, said: str, number: int, folder: Path) -> None:
    ended = stopped_at(step, folder, number)

    ledger = Ledger.open("people.ledger")
    assert ended.err == f"stopped. {said.format(ledger.path, 'out.parquet')}\n"
    assert ended.code == 128 + number
    assert ended.out == ""
    assert ledger.spent == (0 if said == NOTHING else Fraction(1, 2))
    assert [entry.state for entry in ledger.entries()] == ["unfinished"] * (said != NOTHING)
    assert Path("out.parquet").exists() == (said == PLACED)
    if said == PLACED:
        ht.open("out.parquet").total()
    left = {"age.toml", "age.csv", "people.ledger", "out.parquet"}
    assert set(os.listdir(folder)) <= left


def test_a_signal_in_the_charge_waits_for_it(folder: Path) -> None:
    step = "charge = Ledger.charge; Ledger.charge = lambda *a, **b: (charge(*a, **b), {})[0]"
    pause = "print('running', file=sys.stderr, flush=True), time.sleep(1)"

    ended = stopped_at(step.format(pause), folder)

    assert ended.err == f"stopped. {CHARGED.format(Ledger.open('people.ledger').path)}\n"
    assert ended.code == 130
    assert Ledger.open("people.ledger").spent == Fraction(1, 2)


def test_in_python_it_is_a_keyboard_interrupt_that_says_so(folder: Path) -> None:
    program = PROGRAM.replace("{step}", STEPS["drawing"]).replace("{folder!r}", repr(str(folder)))
    ended = interrupted(program + IN_PYTHON)

    assert ended.err.splitlines()[-1] == (
        f"hushtable.errors.Stopped: stopped. {CHARGED.format(Ledger.open('people.ledger').path)}"
    )
    assert issubclass(ht.Stopped, KeyboardInterrupt)
    assert not issubclass(ht.Stopped, Exception)


# The same by injected interrupts, at every step and with every ledger.


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def publish(**more: Any) -> ht.Release:
    settings: dict[str, Any] = {
        "epsilon": "0.5",
        "size": 10,
        "output": "out.parquet",
        "ledger": "people.ledger",
    }
    return ht.publish(pa.table({"age": [34, 61] * 50}), domain="age.toml", **(settings | more))


def chain(error: BaseException | None) -> str:
    """All that an error leads to, in words."""
    return "" if error is None else f"{error!r}{chain(error.__cause__)}{chain(error.__context__)}"


def numpys_own() -> MemoryError:
    """What NumPy itself raises, with the shape of the array in its words."""
    with pytest.raises(MemoryError, match=str(1 << 58)) as caught:
        np.ones(1 << 58)
    return caught.value.with_traceback(None)


PHASES = [
    (flow, "counted_rows", False, False),
    (flow, "noisy_total", True, False),
    (flow, "drawn_summaries", True, False),
    (flow, "write_release", True, False),
    (flow, "open_release", True, True),
]


@pytest.mark.parametrize("error", [KeyboardInterrupt(CANARY), MemoryError(CANARY), None])
@pytest.mark.parametrize(("place", "name", "charged", "written"), PHASES)
def test_every_phase_tells_what_was_charged(
    error: Any,
    place: Any,
    name: str,
    charged: bool,
    written: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised = numpys_own() if error is None else error
    monkeypatch.setattr(place, name, raising(raised))

    with pytest.raises((ht.Stopped, ht.LowMemory)) as caught:
        publish()

    said = str(caught.value)
    assert isinstance(caught.value, ht.Stopped) == isinstance(raised, KeyboardInterrupt)
    assert said.startswith(
        "stopped. " if isinstance(raised, KeyboardInterrupt) else "there was too little memory. "
    )
    assert ("epsilon = 0.5 was charged" in said) == charged
    assert ("Nothing was charged." in said) != charged
    assert ("No output was written." in said) != written
    assert not any(canary in chain(caught.value) for canary in ("11983725", str(1 << 58)))
    ledger = Ledger.open("people.ledger")
    assert ledger.spent == (Fraction(1, 2) if charged else 0)
    assert Path("out.parquet").exists() == written


def test_without_a_ledger_what_was_drawn_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (
        ("counted_rows", NOTHING),
        (
            "drawn_summaries",
            "No ledger was charged: count epsilon = 0.5 as spent yourself, because drawing had begun. "
            "No output was written.",
        ),
        (
            "open_release",
            "No ledger was charged: count epsilon = 0.5 as spent yourself. "
            "The output 'out.parquet' is written, and whole.",
        ),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(flow, name, raising(KeyboardInterrupt()))
            with pytest.raises(ht.Stopped) as caught:
                publish(ledger=None)
        assert str(caught.value) == f"stopped. {said}"


def test_what_a_bound_made_of_the_cost_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create("persons.ledger", epsilon=9, about="x", unit="person_id", bounds={"row": 12})
    monkeypatch.setattr(flow, "drawn_summaries", raising(KeyboardInterrupt()))

    with pytest.raises(ht.Stopped, match=r"epsilon = 6 was charged to .*persons.ledger' \(entry 1\)"):
        publish(ledger=ledger)


def test_a_ledger_that_is_gone_since_is_no_other_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> NoReturn:
        Path("people.ledger").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(flow, "drawn_summaries", gone)

    with pytest.raises(ht.Stopped, match=r"epsilon = 0\.5 for each of its own unit was charged"):
        publish()


def test_an_output_that_was_there_is_not_taken_for_the_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish()
    before = Path("out.parquet").read_bytes()
    monkeypatch.setattr(flow, "write_release", raising(KeyboardInterrupt()))

    with pytest.raises(ht.Stopped, match=r"\(entry 2\) and stays spent. No output was written\."):
        publish(overwrite=True)
    assert Path("out.parquet").read_bytes() == before


def test_an_output_that_was_replaced_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish()
    write = flow.write_release

    def late(*args: Any, **settings: Any) -> NoReturn:
        write(*args, **settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(flow, "write_release", late)

    with pytest.raises(ht.Stopped, match=r"The output 'out.parquet' is written, and whole\. .*unfinished"):
        publish(overwrite=True)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Let Ctrl-C be heard: of a process in the background, a shell makes it be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_after_a_refusal_nothing_waits(folder: Path) -> None:
    payment = Payment(Ledger.open("people.ledger"), cost=ht.Cost(epsilon=2), output="out.parquet")

    with pytest.raises(ht.BudgetExceeded):
        payment.charge(unit="row", what="too much", name="x")
    assert payment.state == NOTHING
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("heeded")
def test_a_held_signal_comes_once_the_block_has_ended() -> None:
    done = []

    def work() -> None:
        with held():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the block")
        done.append("what follows")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("heeded")
def test_other_threads_and_handlers_are_left_alone() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)

    seen = []

    def look() -> None:
        with held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


# Low memory


LIMITED = """
import resource, numpy as np
def hungry(*_, **__):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    np.ones(11983725 * 8)
flow.{name} = hungry
print('running', file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize(
    ("name", "charged"),
    [
        pytest.param("counted_rows", False, marks=pytest.mark.long),
        ("drawn_summaries", True),
        pytest.param("write_release", True, marks=pytest.mark.long),
    ],
)
def test_memory_that_is_really_short_is_told(name: str, charged: bool, folder: Path) -> None:
    ended = stopped_at(LIMITED.format(name=name), folder, number=0)

    path = Ledger.open("people.ledger").path
    said = CHARGED.format(path) if charged else NOTHING
    assert ended.err == f"error: {ht.LowMemory(ht.LowMemory.OWNER, said)}\n"
    assert "11983725" not in ended.err
    assert ended.code == 1


@pytest.mark.parametrize(
    ("place", "name", "act"),
    [
        (answering, "read_head", lambda release: ht.open("out.parquet")),
        (record, "read_rows", lambda release: release.to_arrow()),
        (record, "read_rows", lambda release: release.total()),
        (record, "codes_of", lambda release: release.codes),
        (answering, "selected", lambda release: release.total(age=34)),
        (answering, "selected", lambda release: release.by("age")),
        (answering.Release, "to_arrow", lambda release: release.sql("SELECT 1 FROM release")),
    ],
)
def test_readers_are_told_of_low_memory_too(
    place: Any, name: str, act: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish()
    release = ht.open("out.parquet")
    monkeypatch.setattr(place, name, raising(MemoryError(CANARY)))

    with pytest.raises(ht.LowMemory, match=r"there was too little memory\. Close other programs") as caught:
        act(release)
    assert CANARY not in chain(caught.value)


def test_other_commands_tell_of_low_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ht.Domain, "load", raising(MemoryError(CANARY)))

    done = CliRunner().invoke(app, ["domain", "show", "age.toml"])

    assert done.exit_code == 1
    assert done.stderr == f"error: {ht.LowMemory()}\n"


UNMAPPED = "libflint.so: failed to map segment from shared object"


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (ImportError(UNMAPPED), f"error: {ht.LowMemory(ht.LowMemory.OWNER)}\n", 1),
        (
            ImportError("libflint.so: cannot map zero-fill pages: Cannot allocate memory"),
            "too little memory",
            1,
        ),
        (ImportError("No module named 'flint'"), "this is a bug in hushtable (ImportError)", 70),
        (RuntimeError(CANARY), "this is a bug in hushtable (RuntimeError)", 70),
    ],
)
def test_whatever_fails_after_the_charge_what_was_charged_is_told(
    error: Exception, said: str, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that there was no room to load is too little memory; a bug tells of the charge, too."""
    monkeypatch.setattr(flow, "write_release", raising(error))
    command = ["publish", "age.csv", "--domain", "age.toml", "--epsilon", "0.5", "--size", "10"]

    done = CliRunner().invoke(app, [*command, "-o", "out.parquet", "--ledger", "people.ledger"])

    assert done.exit_code == code
    assert said in done.stderr
    assert done.stderr.endswith(f"{CHARGED.format(folder / 'people.ledger')}\n")
    assert done.stderr.count("stays spent") == 1
    assert CANARY not in done.stderr


def test_an_error_after_the_charge_says_what_was_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ht.BadOutput("it cannot be written", "Check its folder.", file="out.parquet")
    monkeypatch.setattr(flow, "write_release", raising(full))
    command = [
        "publish",
        "age.csv",
        "--domain",
        "age.toml",
        "--epsilon",
        "0.5",
        "--size",
        "10",
        "--output",
        "out.parquet",
    ]

    done = CliRunner().invoke(app, [*command, "--ledger", "people.ledger"])

    assert done.exit_code == 3
    assert done.stderr == f"error: {full}\n{CHARGED.format(folder / 'people.ledger')}\n"


def test_who_stops_a_command_before_it_began_is_told_as_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click.Group, "make_context", raising(KeyboardInterrupt()))

    done = CliRunner().invoke(app, ["publish", "age.csv"])

    assert done.exit_code == 130
    assert done.stderr == f"stopped. {NOTHING}\n"
