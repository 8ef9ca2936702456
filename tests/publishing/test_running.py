"""Files of recipes, carried out: what is due, done and lost; real processes, killed and many at once."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.cli.commands import run

DOMAIN = """\
title = "People"
[[attribute]]
name = "town"
integers = { low = 0, high = 99999 }
[[attribute]]
name = "job"
integers = { low = 0, high = 9 }
"""


def file_of(months: int) -> str:
    """Return a file of recipes with so many monthly releases, and a yearly one."""
    monthly = (
        f'[[release]]\nname = "{{year}}-{month:02}"\nwhere = "month = {month}"\n'
        f'output = "out-{{year}}-{month:02}.parquet"\n'
        for month in range(1, months + 1)
    )
    return (
        'ledger = "people.ledger"\n[defaults]\ndata = "rows.parquet"\ndomain = "people.toml"\n'
        'epsilon = "0.1"\nstructure = "cells"\nsize = 5000\nmemory = "256MiB"\n'
        f'{"".join(monthly)}[[release]]\nname = "{{year}}"\nepsilon = "1/3"\n'
        'output = "out-{year}.parquet"\n'
    )


def names_of(year: int, months: int) -> list[str]:
    return [*(f"{year}-{month:02}" for month in range(1, months + 1)), str(year)]


SHORT = """\
ledger = "people.ledger"
[defaults]
data = "rows.parquet"
domain = "people.toml"
epsilon = "0.1"
size = 50
[[release]]
name = "towns"
ask = ["job"]
output = "towns.parquet"
[[release]]
name = "tree"
structure = "tree"
epsilon = "1/3"
output = "tree.parquet"
"""


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prepared(tmp_path, rows=2000, budget="5")
    (tmp_path / "releases.toml").write_text(SHORT)
    return tmp_path


def prepared(folder: Path, *, rows: int, budget: str) -> ht.Ledger:
    """Make rows, a domain file and a ledger."""
    generator = np.random.default_rng(1)
    columns = {"town": 10**5, "job": 10, "month": 12}
    table = {name: generator.integers(0, high, rows).astype(np.int32) for name, high in columns.items()}
    pq.write_table(pa.table(table), folder / "rows.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    (folder / "people.ledger").unlink(missing_ok=True)
    return ht.Ledger.create(folder / "people.ledger", epsilon=budget, about="people")


def events(*words: str, code: int = 0) -> list[dict[str, Any]]:
    """Run the file and return what it says, one object a line."""
    done = run("run", "releases.toml", *words, "--json")
    assert done.exit_code == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def states(*words: str) -> dict[str, str]:
    (planned,) = events("--dry-run", *words)
    return {each["name"]: each["state"] for each in planned["releases"]}


def test_a_run_says_what_it_costs_and_publishes_what_is_due() -> None:
    ledger = ht.Ledger.open("people.ledger")

    dry = run("run", "releases.toml", "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert "releases.toml: 2 releases, 2 to draw." in dry.stdout
    assert "Together they cost epsilon 13/30 for each unit. people.ledger has 5 left." in dry.stdout
    assert not ledger.entries()
    first = events()
    assert [each["event"] for each in first] == ["planned", "published", "published", "ended"]
    assert first[0]["cost"] == "13/30"
    assert first[1]["file"] == "towns.parquet"
    assert [entry.name for entry in ledger.entries()] == ["towns", "tree"]
    assert ledger.spent == Fraction(13, 30)
    second = events()
    assert [each["event"] for each in second] == ["planned", "ended"]
    assert {each["state"] for each in second[0]["releases"]} == {"done"}
    assert ledger.spent == Fraction(13, 30)


def test_names_choose_among_releases() -> None:
    events("tree")
    assert states() == {"towns": "due", "tree": "done"}
    done = run("run", "releases.toml", "trees")
    assert done.exit_code == 3
    assert "Did you mean 'tree'?" in done.stderr


def test_a_run_that_the_ledger_cannot_pay_draws_nothing(people: Path) -> None:
    ledger = prepared(people, rows=10, budget="0.4")

    done = run("run", "releases.toml")

    assert done.exit_code == 4
    assert not ledger.entries()
    assert not [*people.glob("t*.parquet")]
    assert run("run", "releases.toml", "--dry-run").exit_code == 4


def test_a_mistake_in_a_later_release_stops_the_first_one(people: Path) -> None:
    (people / "releases.toml").write_text(SHORT.replace('"tree"\nepsilon', '"forest"\nepsilon'))
    done = run("run", "releases.toml")
    assert (done.exit_code, "release 'tree'" in done.stderr) == (3, True)
    (people / "releases.toml").write_text(SHORT.replace('output = "tree', 'output = "towns'))
    done = run("run", "releases.toml")
    assert (done.exit_code, "have the same output" in done.stderr) == (3, True)
    (people / "releases.toml").write_text(SHORT.replace('ledger = "people.ledger"\n', ""))
    done = run("run", "releases.toml")
    assert (done.exit_code, "no ledger in common" in done.stderr) == (3, True)
    assert not ht.Ledger.open("people.ledger").entries()


def test_a_release_that_was_lost_is_told_and_drawn_again_at_its_owners_word(people: Path) -> None:
    ledger = ht.Ledger.open("people.ledger")
    ledger.charge("0.1", what="towns.parquet", name="towns")  # as a run that was killed leaves it

    done = run("run", "releases.toml")

    assert done.exit_code == 3
    assert (
        "towns: charged, but stopped before its file was written. It is lost, unless another run"
    ) in done.stderr
    assert "add --again towns" in done.stderr
    assert (people / "tree.parquet").exists()
    assert not (people / "towns.parquet").exists()
    assert states() == {"towns": "lost", "tree": "done"}
    again = events("--again", "towns")
    assert [each["event"] for each in again] == ["planned", "published", "ended"]
    assert states() == {"towns": "done", "tree": "done"}
    assert Counter(entry.name for entry in ledger.entries()) == {"towns": 2, "tree": 1}
    refused = run("run", "releases.toml", "--again", "towns")
    assert (refused.exit_code, "it is published already" in refused.stderr) == (3, True)


def test_a_file_that_was_moved_or_changed_is_told(people: Path) -> None:
    events()
    (people / "towns.parquet").rename(people / "elsewhere.parquet")
    assert states()["towns"] == "changed"
    assert run("run", "releases.toml").exit_code == 3
    (people / "elsewhere.parquet").rename(people / "towns.parquet")
    assert states()["towns"] == "done"


def test_a_file_that_was_written_and_not_noted_is_noted(people: Path) -> None:
    ht.publish(ht.Recipe.load("releases.toml", "towns").replace(ledger=False))
    ledger = ht.Ledger.open("people.ledger")
    ledger.charge("0.1", what="towns.parquet", name="towns")

    said = events("towns")

    assert [each["event"] for each in said] == ["planned", "noted", "ended"]
    assert [entry.state for entry in ledger.entries()] == ["finished"]
    assert states()["towns"] == "done"


def test_a_release_is_charged_once_by_name() -> None:
    ledger = ht.Ledger.open("people.ledger")
    ledger.charge("0.1", what="a", name="a", times_before=0)
    with pytest.raises(ht.BadLedger, match="'a' was charged by somebody else"):
        ledger.charge("0.1", what="a", name="a", times_before=0)
    ledger.charge("0.1", what="a", name="a", times_before=1)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "year"], "not of the form NAME=VALUE"),
        (["--set", "a=1", "--set", "a=2"], "once for each name"),
        (["--set", "a=1"], "it has no parameter 'a'"),
    ],
)
def test_parameters_that_make_no_sense(words: list[str], said: str) -> None:
    done = run("run", "releases.toml", *words)
    assert done.exit_code in (2, 3)
    assert said in done.stderr


def test_what_no_row_decides_is_told_before_the_first_draw(people: Path) -> None:
    ledger = ht.Ledger.open("people.ledger")
    (people / "tree.parquet").write_text("something else")
    done = run("run", "releases.toml")
    assert (done.exit_code, "release 'tree'" in done.stderr) == (6, True)
    (people / "tree.parquet").unlink()
    for output in ("rows.parquet", "people.toml", "people.ledger"):
        (people / "releases.toml").write_text(SHORT.replace('"tree.parquet"', f'"{output}"'))
        assert run("run", "releases.toml").exit_code in (3, 6)
    assert not ledger.entries()


def test_a_budget_that_is_short_is_told_for_all(people: Path) -> None:
    prepared(people, rows=10, budget="0.4")
    done = run("run", "releases.toml")

    assert "Together they cost epsilon 13/30 for each unit. people.ledger has 0.4 left." in done.stdout
    assert "these 2 releases together cost epsilon=13/30, but only epsilon=2/5 is left" in done.stderr


def test_another_release_is_not_taken_for_the_lost_one(people: Path) -> None:
    events("towns")
    ledger = ht.Ledger.open("people.ledger")
    ledger.charge("1/3", what="tree.parquet", name="tree")
    (people / "tree.parquet").write_bytes((people / "towns.parquet").read_bytes())
    assert states()["tree"] == "lost"
    other = ht.Recipe.load("releases.toml", "tree").replace(structure="haar", ledger=False, overwrite=True)
    ht.publish(other)
    assert states()["tree"] == "lost"


def test_who_stops_a_run_is_told_what_it_published(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = importlib.import_module("hushtable.publishing.publish")
    real, calls = flow.drawn_summaries, []

    def stopping(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(flow, "drawn_summaries", stopping)
    done = run("run", "releases.toml")

    assert done.exit_code == 130
    assert "This run published towns. epsilon = 1/3 was charged" in done.stderr
    assert "Nothing was charged" not in done.stderr


# Real processes.


def runner(folder: Path, *words: str, file: str = "releases.toml") -> subprocess.Popen[str]:
    """Start `hushtable run` in a process of its own."""
    command = [sys.executable, "-m", "hushtable", "run", file, *words]
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def check(folder: Path, ledger: ht.Ledger) -> None:
    """Check all that must hold at any moment."""
    entries = ledger.entries()
    outputs = {path.stem.removeprefix("out-"): path for path in folder.glob("out-*.parquet")}
    for name, path in outputs.items():
        release = ht.open(path)  # whole, or it would not open
        assert release.epsilon == next(each.epsilon for each in entries if each.name == name)
    assert set(outputs) <= {entry.name for entry in entries}  # nothing without its charge
    assert {entry.name for entry in entries if entry.digest} <= set(outputs)
    assert max(Counter(entry.name for entry in entries).values(), default=0) <= 1  # no charge twice
    costs = [Fraction(1, 10) if "-" in (entry.name or "") else Fraction(1, 3) for entry in entries]
    assert ledger.spent == sum(costs)
    known = {"rows.parquet", "people.toml", "people.ledger", "releases.toml", "tmp"}
    others = {path.name for path in folder.iterdir()} - known - {path.name for path in outputs.values()}
    assert all(name.startswith((".", "people.ledger-")) for name in others), others  # partial files alone


@pytest.mark.parametrize(
    ("kills", "rows", "months"),
    [
        pytest.param(2, 20_000, 2, id="few"),
        pytest.param(50, 300_000, 12, id="many", marks=pytest.mark.long),
    ],
)
def test_killed_at_random_moments_it_goes_on_where_it_was(
    kills: int, rows: int, months: int, people: Path
) -> None:
    ledger = prepared(people, rows=rows, budget="1000")
    (people / "releases.toml").write_text(file_of(months))
    (people / "tmp").mkdir()
    start = time.monotonic()
    first = runner(people, "--set", "year=2000")
    _, said = first.communicate()
    assert first.returncode == 0, said
    lifetime = time.monotonic() - start
    year = 2001
    for moment in np.random.default_rng().uniform(0, 0.6 * lifetime, kills):
        process = runner(people, "--set", f"year={year}")
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        check(people, ledger)
        if {entry.name for entry in ledger.entries()} >= set(names_of(year, months)):
            year += 1  # all of it was charged

    last = runner(people, "--set", f"year={year}")
    _, said = last.communicate()
    check(people, ledger)
    unfinished = [entry.name or "" for entry in ledger.entries() if entry.state == "unfinished"]
    lost = [name for name in unfinished if name.startswith(str(year))]
    assert last.returncode == (3 if lost else 0), said
    assert all(f"add --again {name}" in said for name in lost)
    before = len(ledger.entries())
    again = runner(people, "--set", f"year={year}", *(word for name in lost for word in ("--again", name)))
    _, said = again.communicate()
    assert again.returncode == 0, said
    assert len(ledger.entries()) == before + len(lost)
    for name in names_of(year, months):
        ht.open(people / f"out-{name}.parquet")
    assert [path for path in (people / "tmp").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("processes", "months"),
    [pytest.param(3, 2, id="few"), pytest.param(20, 12, id="many", marks=pytest.mark.long)],
)
def test_runs_at_once_draw_each_release_once(processes: int, months: int, people: Path) -> None:
    ledger = prepared(people, rows=20_000, budget="2")
    files = ["releases.toml", "releases-2.toml"]  # the same names and ledger, and no lock between them
    for name in files:
        (people / name).write_text(file_of(months))
    (people / "tmp").mkdir()
    started = [runner(people, "--set", "year=2000", file=files[turn % 3 // 2]) for turn in range(processes)]
    said = [process.communicate() for process in started]

    entries = ledger.entries()
    assert Counter(entry.name for entry in entries) == dict.fromkeys(names_of(2000, months), 1), said
    assert ledger.spent == Fraction(months, 10) + Fraction(1, 3)
    assert all(entry.state == "finished" for entry in entries)
    assert 0 in {process.returncode for process in started}
