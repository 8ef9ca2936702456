"""`hushtable ledger`: make one, look at it, and find in it what was published."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.methods.settings import Method
from hushtable.publishing.publish import in_one_line
from tests.cli.commands import run

CREATE = ["ledger", "create", "people.ledger", "--epsilon", "1.0", "--about", "commuters 2024"]
SHOW = ["ledger", "show", "people.ledger"]


def test_a_ledger_is_made() -> None:
    done = run(*CREATE)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "people.ledger: a budget of epsilon = 1 for commuters 2024. "
        "The first release will say whom it protects.\n"
    )
    ledger = ht.Ledger.open("people.ledger")
    assert ledger.epsilon == 1
    assert ledger.about == "commuters 2024"


def test_a_ledger_is_made_for_a_unit() -> None:
    done = run(*CREATE, "--unit", "person_id", "--bound", "row=12", "--bound", "a=b=1")

    assert done.stdout == (
        "people.ledger: a budget of epsilon = 1 for each person_id of commuters 2024.\n"
        "Each person_id has at most 12 of row, as declared: such releases cost 12 times their epsilon.\n"
        "Each person_id has at most 1 of a=b, as declared: such releases cost 1 times their epsilon.\n"
        "This must be true of your data, and nobody checks it.\n"
    )
    ledger = ht.Ledger.open("people.ledger")
    assert (ledger.unit, ledger.bounds) == ("person_id", {"row": 12, "a=b": 1})


PUBLISH = [
    "publish", "people.csv", "--domain", "commute.toml", "--ledger", "people.ledger", "--quiet",
    "--size", "10", "--epsilon", "0.05", "--output",
]  # fmt: skip


def test_a_release_for_another_unit_is_refused_before_a_row_is_read(folder: Path) -> None:
    run(*CREATE, "--unit", "person_id")
    (folder / "people.csv").write_text("no data")

    done = run(*PUBLISH, "commute.parquet")

    assert done.exit_code == 3
    assert "protects each person_id, and this release each row" in done.stderr
    assert "hushtable ledger declare FILE --bound row=K" in done.stderr
    assert ht.Ledger.open("people.ledger").entries() == []
    assert not (folder / "commute.parquet").exists()


def test_a_declared_bound_is_paid(folder: Path) -> None:
    run(*CREATE, "--unit", "person_id")
    declared = run("ledger", "declare", "people.ledger", "--bound", "row=12")
    assert declared.stdout.endswith(
        "12 times their epsilon.\nThis must be true of your data, and nobody checks it.\n"
    )

    assert run(*PUBLISH, "commute.parquet").exit_code == 0

    (entry,) = ht.Ledger.open("people.ledger").entries()
    assert (entry.name, entry.unit, entry.most) == ("commute.parquet", "row", 12)
    assert entry.epsilon == Fraction(6, 10)
    shown = run(*SHOW, width=300).stdout
    assert "It protects each person_id. Currency: pure epsilon." in shown
    assert "Each person_id has at most 12 of row, as declared" in shown
    assert "(for each row, times 12)" in shown


@pytest.mark.parametrize("bound", ["row", "row=", "=12", "row=x", "row=-1", "row=1.5"])
def test_a_bound_is_a_name_and_a_number(bound: str, folder: Path) -> None:
    done = run(*CREATE, "--unit", "person_id", "--bound", bound)

    assert done.exit_code == 2
    assert "is not a bound. Write it as row=12." in done.stderr
    assert not (folder / "people.ledger").exists()


def test_a_ledger_of_version_1_is_shown_and_upgraded(folder: Path) -> None:
    golden = Path(__file__).parents[1] / "ledger" / "golden" / "version-1.ledger"
    shutil.copy(golden, folder / "people.ledger")

    shown = run(*SHOW, width=300).stdout
    refused = run(*PUBLISH, "commute.parquet")
    done = run("ledger", "upgrade", "people.ledger", "--unit", "row")

    assert (
        "It does not say whom it protects. Before it is charged again, run: hushtable ledger upgrade"
    ) in shown
    assert refused.exit_code == 3
    assert "`hushtable ledger upgrade FILE --unit NAME`" in refused.stderr
    assert done.stdout.startswith(
        "people.ledger now has version 2 and protects each row. As before, epsilon 1300000"
    )
    assert run(*PUBLISH, "commute.parquet").exit_code == 0
    assert len(ht.Ledger.open("people.ledger").entries()) == 4
    again = run("ledger", "upgrade", "people.ledger", "--unit", "person_id")
    assert (again.exit_code, ht.Ledger.open("people.ledger").unit) == (3, "row")


def test_an_empty_ledger() -> None:
    run(*CREATE)

    assert run(*SHOW).stdout == (
        "commuters 2024\n"
        "It does not say yet whom it protects: the first release will. Currency: pure epsilon.\n"
        "epsilon 0 of 1 is spent, 1 is left.\n"
    )


def test_what_was_published_is_there_at_80_columns() -> None:
    run(*CREATE)
    publish = ["publish", "people.csv", "--domain", "commute.toml", "--ledger", "people.ledger", "--quiet"]
    publish += ["--structure", "cells"]
    assert run(*publish, "--epsilon", "0.1", "--size", "10000", "--output", "commute.parquet").exit_code == 0
    assert run(*publish, "--epsilon", "1/3", "--size", "1", "--output", "one.parquet").exit_code == 0

    done = run(*SHOW, width=80)

    entries = ht.Ledger.open("people.ledger").entries()
    assert [entry.what for entry in entries] == [
        "commute.parquet: Commuters, filter-priority of 10,000 rows",
        "one.parquet: Commuters, filter-priority of 1 row",
    ]
    about, unit, summed, _, header, line, *rows = [text.rstrip() for text in done.stdout.splitlines()]
    assert about == "commuters 2024"
    assert unit == "It protects each row. Currency: pure epsilon."
    assert summed == "epsilon 13/30 (about 0.433) of 1 is spent, 17/30 (about 0.567) is left."
    assert header.split() == ["no.", "when", "(UTC)", "epsilon", "state", "what", "digest"]
    assert set(line) == {"─"}
    assert max(map(len, [line, *rows])) <= 80
    first = rows[0]
    assert first.startswith(f"  1  {entries[0].when[:10]} {entries[0].when[11:19]}  0.1      finished  ")
    assert first.endswith(str(entries[0].digest)[:12])
    words = " ".join(row[45:67].strip() for row in rows)
    assert words == " ".join(entry.what for entry in entries)
    assert "Unfinished" not in done.stdout


def test_what_was_stopped_is_explained() -> None:
    run(*CREATE)
    ht.Ledger.open("people.ledger").charge("0.25", what="commute.parquet")

    done = run(*SHOW, width=80)

    assert "unfinished" in done.stdout
    assert "epsilon 0.25 of 1 is spent, 0.75 is left." in done.stdout
    assert done.stdout.endswith("The cost stays spent.\n")


def test_long_fractions_and_texts_fit() -> None:
    tiny = Fraction(1, int("9" * 50))
    ledger = ht.Ledger.create("people.ledger", epsilon="1e49", about="people \u202e" * 60)
    for number in range(3):
        ledger.charge(tiny, what=f"release {number} " * 60)
    ledger.charge("1e48", what="a large one")

    done = run(*SHOW, width=80)

    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\u202e" not in done.stdout
    assert str(ledger.left.numerator) in done.stdout.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["ledger", "create", "people.ledger"],
        ["ledger", "create", "people.ledger", "--epsilon", "1"],
        ["ledger", "create", "people.ledger", "--about", "people"],
        ["ledger", "create", "--epsilon", "1", "--about", "people"],
        ["ledger", "forget", "people.ledger"],
        ["ledger", "upgrade", "people.ledger"],
        [*SHOW, "again"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], folder: Path) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage: " in done.stderr
    assert not (folder / "people.ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ledger", "create", "people.ledger", "--epsilon", "0", "--about", "people"], "epsilon='0'"),
        (["ledger", "create", "people.ledger", "--epsilon", "1", "--about", " "], "about=' '"),
        (
            ["ledger", "create", "people.ledger", "--epsilon", "1", "--about", "a\nb"],
            ("is not one line of text"),
        ),
        (["ledger", "create", "no/people.ledger", "--epsilon", "1", "--about", "people"], "folder"),
        (["ledger", "create", "people.csv", "--epsilon", "1", "--about", "people"], "people.csv"),
        (["ledger", "show", "nowhere.ledger"], "nowhere.ledger"),
        (["ledger", "show", "people.csv"], "people.csv"),
    ],
)
def test_our_errors_say_what_is_wrong(arguments: list[str], message: str, folder: Path) -> None:
    before = (folder / "people.csv").read_bytes()

    done = run(*arguments)

    assert done.exit_code == (2 if "epsilon" in message else 3)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert (folder / "people.csv").read_bytes() == before
    assert not (folder / "people.ledger").exists()


@pytest.mark.parametrize(
    ("output", "title", "method", "expected"),
    [
        ("a/b/out.parquet", "Commuters", ht.Priority(size=1), "out.parquet: Commuters, priority of 1 row"),
        ("out.parquet", "", ht.Everything(), "out.parquet: everything"),
        ("out.parquet", "Two\n lines", ht.Filter(cutoff=5), "out.parquet: Two lines, filter"),
        ("out.parquet", "bell\x07 \ud800", ht.Threshold(size=5), "out.parquet: bell� �, threshold of 5 rows"),
    ],
)
def test_what_a_ledger_says(output: str, title: str, method: Method, expected: str) -> None:
    assert in_one_line(output, title, method) == expected


@pytest.mark.parametrize("title", ["x" * 5000, "\n", "\x00\x1b[31m", "\u2028", "\u202e"])
def test_whatever_the_title_the_ledger_takes_it(title: str) -> None:
    ledger = ht.Ledger.create("people.ledger", epsilon=1, about="people")

    ledger.charge("0.1", what=in_one_line("\udcff" * 250, title, ht.FilterPriority(cutoff=5, size=10**9)))

    assert ledger.entries()[0].what.endswith("filter-priority of 1,000,000,000 rows")


@pytest.mark.parametrize(
    ("options", "budget", "currency"),
    [
        (["--rho", "0.1"], "rho = 0.1 (zCDP)", "rho (zCDP)"),
        (["--epsilon", "1", "--delta", "1e-9"], "epsilon = 1, delta = 1e-9", "epsilon and delta"),
    ],
)
def test_a_ledger_is_made_in_another_currency(options: list[str], budget: str, currency: str) -> None:
    done = run("ledger", "create", "people.ledger", *options, "--about", "readers", "--unit", "row")

    assert done.stdout == f"people.ledger: a budget of {budget} for each row of readers.\n"
    ledger = ht.Ledger.open("people.ledger")
    ledger.charge(ht.Cost(rho="0.003"), what="views.parquet")
    shown = run(*SHOW).stdout
    assert f"It protects each row. Currency: {currency}." in shown
    assert "rho 0.003" in shown
    document = json.loads(run(*SHOW, "--json").stdout)
    assert (document["currency"], document["rho"]) == (
        ledger.currency,
        "0.1" if ledger.currency == "zcdp" else None,
    )
    assert document["affords"]["rho"] is not None
    assert document["entries"][0]["guarantee"] == "rho=3/1000"


@pytest.mark.parametrize(
    "options", [[], ["--delta", "1e-9"], ["--rho", "1", "--epsilon", "1"], ["--rho", "1", "--delta", "1e-9"]]
)
def test_a_budget_is_given_in_one_currency(options: list[str]) -> None:
    done = run("ledger", "create", "people.ledger", *options, "--about", "readers")

    assert done.exit_code == 2
    assert "give --epsilon, or --epsilon and --delta, or --rho" in done.stderr
    assert not Path("people.ledger").exists()


def test_a_pure_release_is_charged_to_a_ledger_in_rho_as_converted(folder: Path) -> None:
    run("ledger", "create", "people.ledger", "--rho", "0.1", "--about", "readers", "--unit", "row")

    assert run(*PUBLISH, "commute.parquet").exit_code == 0

    (entry,) = ht.Ledger.open("people.ledger").entries()
    assert entry.cost == "rho 0.00124973964843 (from epsilon = 0.05)"
    done = run(*PUBLISH, "more.parquet", "--epsilon", "3")
    assert done.exit_code == 4
    assert "costs rho=2.71544476094 (epsilon = 3), but only rho=0.09" in done.stderr
    assert "Lower --epsilon, or stop here" in done.stderr
