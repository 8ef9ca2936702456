"""What scripts rely on: exit codes, one document on standard output, and a log without a private value."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable import errors
from hushtable.cli.codes import code_of
from tests.cli.commands import run

DOMAIN = """
title = "Ages"
[[attribute]]
name = "age"
integers = { low = 0, high = 119 }
[[attribute]]
name = "home"
categories = { values = ["n", "s"], labels = ["north", "south"] }
"""
PUBLISH = ["publish", "rows.parquet", "--domain", "ages.toml", "--size", "50", "-o", "out.parquet"]
CANARY = "Jane Roe"


@pytest.fixture(autouse=True)
def rows(folder: Path) -> Iterator[Path]:
    (folder / "ages.toml").write_text(DOMAIN)
    homes = ["n", "s", "n", CANARY] * 300
    pq.write_table(pa.table({"age": [34, 34, 61, 7] * 300, "home": homes}), "rows.parquet")
    ht.Ledger.create("people.ledger", epsilon=2, about="people", unit="row")
    yield folder
    log = logging.getLogger("hushtable")
    for handler in [each for each in log.handlers if isinstance(each, logging.FileHandler)]:
        log.removeHandler(handler)
        handler.close()


def test_the_codes_of_a_story(rows: Path) -> None:
    paid = [*PUBLISH, "--ledger", "people.ledger"]

    assert run(*paid, "--epsilon", "x").exit_code == 2
    assert run(*paid).exit_code == 2
    assert run(*paid, "--epsilon", "1", "--domain", "nowhere.toml").exit_code == 3
    assert run(*paid, "--epsilon", "5").exit_code == 4
    assert run(*paid, "--epsilon", "1", "--structure", "cells", "--size", "1000").exit_code == 5
    assert run(*paid, "--epsilon", "1").exit_code == 0
    assert run(*paid, "--epsilon", "1").exit_code == 6
    assert run("query", "out.parquet", "--where", "nothing = 3").exit_code == 2
    assert run("show", "rows.parquet").exit_code == 3
    assert (
        run("check", "rows.parquet", "--domain", "ages.toml", "--unit", "nobody", "--max-rows", "1").exit_code
        == 3
    )


def test_each_kind_of_error_has_its_code() -> None:
    assert code_of(errors.BudgetExceeded(needed=Fraction(1), left=Fraction(0))) == 4
    assert code_of(errors.WastedRelease(["few"], "Ask for more.")) == 5
    assert code_of(errors.OutputExists("there", "Give another.", file="x")) == 6
    assert code_of(errors.BadOutput("no folder", "Make it.", file="x")) == 3
    assert code_of(errors.BadData("no file", "Check.")) == 3
    assert code_of(errors.BadChoice("no", "Choose.")) == 2
    assert code_of(errors.MissingPackage("plot", "matplotlib")) == 1
    assert code_of(errors.LowMemory()) == 1
    assert code_of(errors.InternalError("impossible")) == 70


EXPECT = ["--expect-cells", "60", "--expect-mean", "20", "--expect-sd", "5"]
COMMANDS = [
    ["domain", "show", "ages.toml"],
    ["domain", "draft", "rows.parquet"],
    ["check", "rows.parquet", "--domain", "ages.toml"],
    ["plan", "--domain", "ages.toml", "--epsilon", "1", "--size", "50", *EXPECT],
    [*PUBLISH, "--epsilon", "1", "--ledger", "people.ledger", "--overwrite"],
    ["show", "out.parquet"],
    ["thin", "out.parquet", "--size", "3", "-o", "small.parquet"],
    ["export", "out.parquet", "-o", "out.csv"],
    ["query", "out.parquet", "--by", "home"],
    ["query", "out.parquet", "--where", "home = 'north'"],
    ["query", "out.parquet", "--by", "home", "-o", "homes.csv"],
    ["sql", "out.parquet", "SELECT count(*) AS rows FROM release"],
    ["plot", "out.parquet", "--by", "age", "-o", "ages.svg"],
    ["ledger", "show", "people.ledger"],
    ["ledger", "create", "others.ledger", "--epsilon", "1", "--about", "others"],
    ["ledger", "declare", "people.ledger", "--bound", "person=3"],
]


def test_one_document_and_nothing_else() -> None:
    for command in COMMANDS:
        done = run(*command, "--json")

        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout, parse_constant=pytest.fail)


def test_what_the_documents_say() -> None:
    published = json.loads(run(*PUBLISH, "--epsilon", "1/3", "--ledger", "people.ledger", "--json").stdout)

    assert (published["file"], published["epsilon"], published["ledger"]["left"]) == (
        "out.parquet",
        "1/3",
        "5/3",
    )
    asked = json.loads(run("query", "out.parquet", "--by", "home", "--json").stdout)
    assert [row["home_label"] for row in asked["rows"]] == ["north", "south"]
    assert {"note", "confidence", "guarantee"} <= asked.keys()


def test_the_log_tells_the_steps_and_nothing_of_rows(rows: Path) -> None:
    paid = [*PUBLISH, "--ledger", "people.ledger"]
    assert run("--log-file", "run.log", *paid, "--epsilon", "1").exit_code == 0
    assert run("--log-file", "run.log", *paid, "--epsilon", "9").exit_code in (4, 6)
    log = (rows / "run.log").read_text()

    steps = [line.split(" ", 3)[3] for line in log.splitlines()]
    assert steps[0] == "hushtable publish"
    assert steps[1].startswith("charged epsilon = 1 to ")
    assert steps[2].startswith("written out.parquet, ")
    assert steps[-1] in ("exit 4", "exit 6")
    assert CANARY not in log
    assert "1200" not in log.replace(",", "")


def test_a_log_that_cannot_be_written_is_told() -> None:
    done = run("--log-file", "no/run.log", "domain", "show", "ages.toml")

    assert done.exit_code == 3
    assert "--log-file" in done.stderr
