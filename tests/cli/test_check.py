"""`hushtable check`: numbers for the owner, and never a value."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import DOMAIN, ROWS, run, run_script
from tests.harness.cases import few

CANARY = "Zyx-Canary-4711"
NOTICE = "PRIVATE: true numbers, for the data owner only. Do not publish or pass on."
CHECK = ("check", "people.csv", "--domain", "commute.toml")

WIDE = """\
PRIVATE: true numbers, for the data owner only. Do not publish or pass on.

attribute         read                   inside       missing  unreadable    outside
────────────────────────────────────────────────────────────────────────────────────
home              VARCHAR                     5             1           1          0
column h_geocode  as 1,000,000 integers               dropped     dropped
sector            VARCHAR                     5             1           0  1 unknown
                  as 4 categories                to 'unknown'                dropped
age               VARCHAR                     5             0           0    1 below
                  as 20 bins                                                 1 above
                                                                             clamped
when              VARCHAR                     6             0           0    1 below
                  as 366 x 1 day                                             dropped

rows read              7
rows dropped           4  (a row that breaks several rules is counted once)
  without a unit       1  no value in person_id
rows beyond the bound  1  more than 1 of one unit
rows counted           2
units                  2  with rows that are not dropped
  above the bound      1  with more than 1 rows

--max-rows  rows kept
─────────────────────
         1          2
         2          3

Cells in all, occupied or not: 29,280,000,000 (about 10^10.5)
Columns not used: note

Publishing would run, without the rows that are dropped.
Rows that 'sector' drops count in no table. A category keeps them: outside = { other = "unknown" }.

PRIVATE: true numbers, for the data owner only. Do not publish or pass on.
"""


def stripped(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def test_the_table() -> None:
    done = run(*CHECK, "--unit", "person_id", "--max-rows", 1)

    assert (done.exit_code, done.stderr) == (0, "")
    assert stripped(done.stdout) == WIDE


def test_the_script_prints_the_same_and_leaves_no_temporary_file(folder: Path) -> None:
    done = run_script(*CHECK, "--unit", "person_id", "--max-rows", 1, TMPDIR=str(folder))

    assert (done.returncode, done.stderr) == (0, "")
    assert stripped(done.stdout) == WIDE
    assert os.listdir(folder / f"hushtable-{os.getuid()}") == []


def test_nothing_is_cut_on_a_narrow_screen() -> None:
    done = run(*CHECK, width=80)

    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    assert "column h_geocode  as 1,000,000  " in done.stdout


def test_levels_change_the_values_and_not_what_is_read(folder: Path) -> None:
    with_levels = DOMAIN.replace("step = 5", "step = 5, levels = [50]").replace(
        '["farming", "industry", "services"]',
        '{ values = ["farming", "industry", "services"], levels = { kind = ["land", "town", "town"] } }',
    )
    (folder / "commute.toml").write_text(with_levels)

    finest, coarse = (
        json.loads(run(*CHECK, *levels, "--format", "json").stdout)
        for levels in ((), ("--level", "age=50", "--level", "sector=kind"))
    )

    assert finest["cells"] == 10**6 * 4 * 20 * 366
    assert coarse["cells"] == 10**6 * 3 * 2 * 366
    assert {**finest, "cells": 0} == {**coarse, "cells": 0}


def test_json_for_scripts() -> None:
    done = run(*CHECK, "--unit", "person_id", "--max-rows", 1, "--format", "json")

    document = json.loads(done.stdout)
    assert document["notice"] == NOTICE
    assert document["fits"] is True
    assert document["rows"] == {"read": 7, "dropped": 4, "counted": 2}
    assert document["cells"] == 1_000_000 * 4 * 20 * 366
    assert document["attributes"]["age"] == {
        "column": "age",
        "type": "VARCHAR",
        "inside": 5,
        "missing": 0,
        "unreadable": 0,
        "below": 1,
        "above": 1,
    }
    assert document["unit"] == {
        "column": "person_id",
        "max_rows": 1,
        "missing": 1,
        "units": 2,
        "above_bound": 1,
        "rows_beyond": 1,
        "rows_kept": {"1": 2} | {str(most): 3 for most in range(2, 11)},
    }
    assert document["columns_not_used"] == ["note"]


def test_a_bound_on_cells() -> None:
    done = run(*CHECK, "--unit", "person_id", "--max-cells", 1)

    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "rows beyond the bound 1 more than 1 of one unit in a cell, or in more than 1 cell" in lines
    assert "above the bound 1 with rows in more than 1 cell" in lines
    assert "--max-cells rows kept" in lines


def rewritten(kind: str, folder: Path) -> Path:
    """Write the rows of people.csv to a file of another kind."""
    as_text = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(ROWS.splitlines()[0].split(","), "string"), strings_can_be_null=True
    )
    table, path = pyarrow.csv.read_csv("people.csv", convert_options=as_text), folder / f"people.{kind}"
    match kind:
        case "parquet":
            pq.write_table(table, path)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        case "duckdb":
            with closing(duckdb.connect(path)) as connection:
                connection.register("rows", table)
                connection.execute("CREATE TABLE people AS SELECT * FROM rows")
        case "sqlite":
            declared = ", ".join(f'"{name}" TEXT' for name in table.column_names)
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(f"CREATE TABLE people ({declared})")
                rows = [tuple(row.values()) for row in table.to_pylist()]
                connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
                connection.commit()
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "duckdb", "sqlite"])
def test_every_kind_of_file(kind: str, folder: Path) -> None:
    path = rewritten(kind, folder)

    done = run("check", path, "--domain", "commute.toml", "--unit", "person_id", "--max-rows", 1)

    assert (done.exit_code, done.stderr) == (0, "")
    assert stripped(done.stdout).replace("JSON    ", "VARCHAR ") == WIDE


def test_several_files(folder: Path) -> None:
    (folder / "more.csv").write_text(ROWS)

    done = run("check", "people.csv", "more.csv", "--domain", "commute.toml", "--format", "json")

    assert json.loads(done.stdout)["rows"]["read"] == 14


def test_counts_and_sums() -> None:
    counts = run(*CHECK, "--count-column", "person_id")
    sums = run(*CHECK, "--sum-column", "person_id", "--clamp", -2, 1)

    assert (counts.exit_code, sums.exit_code) == (0, 0)
    assert "(counts)          VARCHAR                     6" in counts.stdout
    assert "column person_id  as integers from 0" in counts.stdout
    assert "(sums)" in sums.stdout
    assert "as integers -2 to 1" in sums.stdout
    assert "4 above\n" in sums.stdout


def test_where_and_query() -> None:
    query = 'SELECT h_geocode, sector, age, "when" FROM data'

    done = run(*CHECK, "--where", "sector = 'services'", "--query", query, "--format", "json")

    assert json.loads(done.stdout)["rows"] == {"read": 3, "dropped": 2, "counted": 1}


def test_all_columns_that_do_not_fit_are_told_at_once(folder: Path) -> None:
    (folder / "people.csv").write_text("h_geocode,sectr,when\n1,farming,2024-01-01\n")

    done = run(*CHECK)
    as_json = run(*CHECK, "--format", "json")

    assert (done.exit_code, as_json.exit_code) == (3, 3)
    assert done.stdout.count("does not fit") == 2
    assert done.stdout.count("not there") == 2
    assert "Publishing would stop:\n- the data have no column 'sector'. Did you mean 'sectr'?" in done.stdout
    assert "- the data have no column 'age'." in done.stdout
    assert stripped(done.stdout).splitlines()[0] == NOTICE == stripped(done.stdout).splitlines()[-1]
    document = json.loads(as_json.stdout)
    assert document["rows"] == {"read": 1, "dropped": None, "counted": None}
    assert "no column 'age'" in document["attributes"]["age"]["problem"]


def test_a_unit_that_is_not_there_does_not_fit() -> None:
    arguments = (*CHECK, "--unit", "persn_id", "--max-rows", 2)

    done, as_json = run(*arguments), run(*arguments, "--format", "json")

    assert (done.exit_code, as_json.exit_code) == (3, 3)
    assert "no column 'persn_id'. Did you mean 'person_id'?" in " ".join(done.stdout.split())
    assert "problem" in json.loads(as_json.stdout)["unit"]


def test_a_rule_that_is_broken_stops(folder: Path) -> None:
    (folder / "commute.toml").write_text(DOMAIN.replace('outside = "clamp"', 'outside = "error"'))

    done = run(*CHECK)

    assert done.exit_code == 3
    assert "attribute 'age' has rows that its rule outside = \"error\" does not allow." in done.stdout


def test_a_draft_is_told_to_be_reviewed(folder: Path) -> None:
    (folder / "commute.toml").write_text("reviewed = false\n" + DOMAIN)

    done = run(*CHECK)

    assert done.exit_code == 0
    assert "until it is reviewed" in done.stdout


def test_a_column_without_values_is_pointed_at(folder: Path) -> None:
    (folder / "people.jsonl").write_text(
        '{"h_geocode": 1, "Sector": "farming", "age": 3, "when": "2024-01-01"}\n'
    )

    done = run("check", "people.jsonl", "--domain", "commute.toml")

    assert "No row has a value for attribute 'sector'" in done.stdout
    assert "Columns not used: Sector" in done.stdout


def test_a_domain_that_drops_every_row_is_no_success(folder: Path) -> None:
    (folder / "commute.toml").write_text(
        '[[attribute]]\nname = "day"\ncolumn = "when"\nintegers = { low = 0, high = 9 }\n'
    )
    (folder / "people.csv").write_text("when\n2024-01-01\n2024-01-02\n")

    done = run("check", "people.csv", "--domain", "commute.toml")

    assert done.exit_code == 3
    assert "No row lies inside attribute 'day': is it declared as what it holds?" in done.stdout
    assert "would run, and publish noise alone: every row is dropped" in done.stdout
    (folder / "people.csv").write_text("when\n")
    assert run("check", "people.csv", "--domain", "commute.toml").exit_code == 0


def test_records_that_cannot_be_read_are_told(folder: Path) -> None:
    with (folder / "people.csv").open("a") as file:
        file.write('4,18\n4,19\n4,20,"services\n')

    done, as_json = run(*CHECK), run(*CHECK, "--format", "json")

    assert (done.exit_code, as_json.exit_code) == (0, 0)
    assert "records not read" in done.stdout
    assert "1 with a quote that is not closed, or text after it; 2 with too many or too few" in done.stdout
    assert "Publishing would run, without the rows that are dropped." in done.stdout
    document = json.loads(as_json.stdout)
    assert document["rows"]["read"] == 7
    assert document["records_not_read"] == {"quotes": 1, "fields": 2, "keys": 0, "too_long": 0, "not_text": 0}


def test_a_file_of_which_nothing_can_be_read_is_no_success(folder: Path) -> None:
    (folder / "people.jsonl").write_text("[1]\n" * 3)

    done = run("check", "people.jsonl", "--domain", "commute.toml")

    assert done.exit_code == 3
    assert "publish noise alone" in done.stdout


def test_names_are_shown_without_control(folder: Path) -> None:
    (folder / "people.csv").write_text(ROWS.replace("note", "[red]\x1b[31mnote"))

    done = run(*CHECK)

    assert "\x1b" not in done.stdout
    assert r"[red]\x1b[31mnote" in done.stdout


BAD = [
    ("people.csv", f"h_geocode,sector,age,when\n{CANARY},{CANARY},{CANARY},{CANARY}\n"),
    ("people.csv", f"h_geocode,sector,age,when\n{CANARY}\n"),
    ("people.csv", f'h_geocode,sector,age,when\n"{CANARY},1,2,3\n'),
    ("people.csv", f"h_geocode,sector,age,when\n1,2,3,4,{CANARY}\n"),
    ("people.jsonl", f'{{"h_geocode": "{CANARY}", "sector": "{CANARY}", "age": ["{CANARY}"]}}\n'),
    ("people.jsonl", f'{{"h_geocode": {CANARY}}}\n'),
    ("people.jsonl", f"{CANARY}\n"),
    ("people.parquet", f"{CANARY}\n"),
    ("people.arrow", f"{CANARY}\n"),
    ("people.sqlite", f"SQLite format 3\0{CANARY}\n"),
    ("people.duckdb", f"12345678DUCK{CANARY}\n"),
]
MORE: list[tuple[Any, ...]] = [
    (),
    ("--format", "json"),
    ("--unit", "sector", "--max-rows", 1),
    ("--count-column", "age"),
    ("--where", "CAST(sector AS INTEGER) > 1"),
    ("--query", "SELECT *, CAST(sector AS DATE) AS day FROM data", "--where", "day > DATE '2024-01-01'"),
]


@pytest.mark.parametrize(
    ("name", "content", "more"),
    few(((*bad, more) for bad, more in product(BAD, MORE)), every=5),
    ids=lambda each: " ".join(map(str, each))[:20] if isinstance(each, tuple) else None,
)
def test_no_value_is_ever_shown(name: str, content: str, more: tuple[Any, ...], folder: Path) -> None:
    (folder / name).write_text(content)

    done = run("check", name, "--domain", "commute.toml", *more)

    assert CANARY not in done.output
    assert CANARY not in done.stderr
    assert done.exit_code in (0, 3)
    assert "bug" not in done.stderr


@pytest.mark.parametrize(("name", "content"), BAD)
def test_no_value_is_ever_shown_by_a_draft_that_fails(name: str, content: str, folder: Path) -> None:
    (folder / name).write_text(content)

    done = run("domain", "draft", name)

    assert CANARY not in done.stderr
    assert done.exit_code in (0, 3)


def test_an_unused_column_that_names_people_is_pointed_at(folder: Path) -> None:
    hint = "If people have several, protect each person: --unit person_id --max-rows K."

    assert hint in run(*CHECK).stdout
    assert hint not in run(*CHECK, "--unit", "person_id", "--max-rows", "1").stdout
    assert hint not in run(*CHECK, "--rows-are-units").stdout
