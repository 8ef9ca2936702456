"""The owner's look agrees, row by row, with the slow reference and with what is counted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.domain.attributes import Attribute, Categories, Edges, Fate, Integers, Other, Times
from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.counting import count
from hushtable.engines.local.checking import check_rows, names_in
from hushtable.engines.local.reporting import Look, Report, UnitLook
from hushtable.engines.sliced.engine import LEAST_MEMORY
from hushtable.errors import BadData, BadNumber, BadQuery
from tests.domain.examples import attributes
from tests.harness.statistics import tries

CANARY = "Zyx-Canary-4711"
FATES = ("inside", "missing", "unreadable", "below", "above")

AGE = Attribute(name="age", values=Integers(low=0, high=120))
SECTOR = Attribute(
    name="sector",
    values=Categories(values=("farming", "services")),
    missing=Other(value="unknown"),
    outside=Other(value="others"),
)
PEOPLE = Domain(attributes=(AGE, SECTOR))
ROWS: list[dict[str, Any]] = [
    {"age": "30", "sector": "farming", "person": "a"},
    {"age": "31", "sector": None, "person": "a"},
    {"age": "32", "sector": "mining", "person": "a"},
    {"age": "-1", "sector": "farming", "person": "b"},
    {"age": "121", "sector": "services", "person": "b"},
    {"age": "x", "sector": CANARY, "person": "b"},
    {"age": None, "sector": "services", "person": None},
    {"age": "40", "sector": "services", "person": None},
]


def fates(look: Look) -> tuple[int, ...]:
    return tuple(getattr(look, fate) for fate in FATES)


def check(data: Any, domain: Domain = PEOPLE, **settings: Any) -> Report:
    measure = Measure(**{f.name: settings.pop(f.name) for f in fields(Measure) if f.name in settings})
    return check_rows(data, domain=domain, measure=measure, memory=LEAST_MEMORY, **settings)


def written(kind: str, folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows of text to a file of some kind."""
    table, path = pa.Table.from_pylist(list(rows)), folder / f"rows.{kind}"
    match kind:
        case "parquet":
            pq.write_table(table, path)
        case "csv":
            pyarrow.csv.write_csv(table, path)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write(table)
        case "duckdb":
            with closing(duckdb.connect(path)) as connection:
                connection.register("rows", table)
                connection.execute("CREATE TABLE people AS SELECT * FROM rows")
        case _:
            names = table.column_names
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(f"CREATE TABLE people ({', '.join(f'{name} TEXT' for name in names)})")
                connection.executemany(
                    f"INSERT INTO people VALUES ({', '.join('?' for _ in names)})",
                    [tuple(row.values()) for row in rows],
                )
                connection.commit()
    return path


KINDS = ["parquet", "csv", "jsonl", "arrow", "duckdb", "sqlite"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_numbers(kind: str, tmp_path: Path) -> None:
    report = check(written(kind, tmp_path, ROWS), unit=Unit("person", max_rows=2))

    assert [fates(look) for look in report.attributes] == [(4, 1, 1, 1, 1), (5, 1, 0, 2, 0)]
    assert (report.rows_read, report.rows_dropped, report.rows_counted) == (8, 5, 2)
    unit = report.unit
    assert unit is not None
    assert (unit.missing, unit.units, unit.above_bound, unit.rows_beyond) == (2, 1, 1, 1)
    assert report.unused == ()
    assert report.fits


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_not_used_are_listed(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path, ROWS)

    assert check(path, Domain(attributes=(SECTOR,))).unused == ("age", "person")


@pytest.mark.parametrize("kind", KINDS)
def test_filter_and_query_come_first(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path, ROWS)
    table = "people" if kind in ("duckdb", "sqlite") else "data"
    query = f"SELECT age AS years, sector FROM {table}"
    domain = Domain(attributes=(Attribute(name="age", column="years", values=AGE.values),))
    where = "sector IS NOT NULL" if kind != "jsonl" else "sector ->> '$' IS NOT NULL"

    report = check(path, domain, query=query, where=where)

    assert (report.rows_read, report.rows_counted) == (7, 3)


def test_a_query_that_is_not_row_local_is_refused_unless_its_rows_are_units(tmp_path: Path) -> None:
    path, query = written("parquet", tmp_path, ROWS), "SELECT DISTINCT age FROM data"
    domain = Domain(attributes=(AGE,))

    with pytest.raises(BadQuery):
        check(path, domain, query=query)

    assert check(path, domain, query=query, rows_are_units=True).rows_read == 8


def test_memory_is_an_amount(tmp_path: Path) -> None:
    with pytest.raises(BadNumber):
        check_rows(written("csv", tmp_path, ROWS), domain=PEOPLE, memory="a lot")


VALUES = st.none() | st.sampled_from(["0", "7", "-3", "1e9", "x", "a", "", "2024-01-01", CANARY]) | st.text()


@settings(max_examples=tries(30))
@given(data=st.data())
def test_fates_are_those_of_the_slow_reference(data: st.DataObject) -> None:
    domain = Domain(attributes=(data.draw(attributes("x")), data.draw(attributes("y"))))
    names = {attribute.column for attribute in domain.attributes}
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(sorted(names), VALUES)), max_size=12))
    table = pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in sorted(names)})

    report = check(table, domain)

    for look in report.attributes:
        codes = [look.attribute.values.code_of(row[look.attribute.column]) for row in rows]
        expected = (
            sum(isinstance(code, int) for code in codes),
            codes.count(Fate.MISSING),
            codes.count(Fate.UNREADABLE),
            codes.count(Fate.OUTSIDE) + codes.count(Fate.OUTSIDE_LOW),
            codes.count(Fate.OUTSIDE_HIGH),
        )
        assert fates(look) == expected
    broken = {name for name, _ in report.broken}
    assert report.fits == (not broken)
    if report.fits:
        placed = [[a.place(row[a.column]) for a in domain.attributes] for row in rows]
        assert report.rows_counted == sum(None not in codes for codes in placed)
        assert report.rows_dropped == len(rows) - report.rows_counted


ROWS_OF_UNITS = st.lists(
    st.tuples(st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, 0, 1, 2, 9])), max_size=20
)


@settings(max_examples=tries(30))
@given(rows=ROWS_OF_UNITS, bounds=st.sampled_from(["max_rows", "max_cells"]), most=st.integers(1, 4))
def test_rows_counted_are_those_that_are_counted(rows: list[tuple[Any, Any]], bounds: str, most: int) -> None:
    table = pa.table(
        {
            "unit": pa.array([unit for unit, _ in rows], pa.int64()),
            "x": pa.array([value for _, value in rows], pa.int64()),
        }
    )
    domain = Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=2)),))

    bound = Unit("unit", **{bounds: most})
    report = check(table, domain, unit=bound)

    counted = count(table, domain=domain, unit=bound, memory=LEAST_MEMORY)
    assert report.rows_counted == int(counted.counts.sum())
    assert report.unit is not None
    assert report.unit.kept[most] == report.rows_counted


def test_what_a_bound_on_cells_keeps() -> None:
    """Of person 1, 3 + 1 rows in two cells; of person 2 one row; of person 3 none that a rule lets in."""
    table = pa.table(
        {
            "who": pa.array([1, 1, 1, 1, 2, None, 3], pa.int64()),
            "age": pa.array([5, 5, 5, 9, 5, 5, -1], pa.int64()),
            "n": pa.array([1, 1, 1, 1, 1, 1, 1], pa.int64()),
        }
    )
    domain = Domain(attributes=(AGE,))

    once = check(table, domain, unit=Unit("who", max_cells=1))
    twice = check(table, domain, unit=Unit("who", max_cells=1, max_per_cell=3))
    summed = check(table, domain, sum_column="n", clamp=(0, 1), unit=Unit("who", max_cells=2))

    for report in (once, twice, summed):
        assert report.unit is not None
        assert (report.rows_read, report.rows_dropped, report.unit.missing, report.unit.units) == (7, 2, 1, 2)
    assert once.unit is not None
    assert (once.unit.above_bound, once.unit.rows_beyond, once.rows_counted) == (1, 3, 2)
    assert once.unit.worth_naming == [(1, 2), (2, 3)]
    # Person 1 counts with 3 rows or with 1, on average with 2.
    assert (twice.rows_counted, twice.unit and twice.unit.kept[2]) == (3, 5)
    assert (summed.rows_counted, summed.unit and summed.unit.above_bound) == (3, 0)
    assert "units in who: 2, 1 of them with rows in more than 1 cell" in once.to_text()
    assert "a bound of 2 cells keeps 3 rows" in once.to_text()
    assert once.to_dict()["unit"]["max_cells"] == 1


def test_amounts_that_are_counts() -> None:
    amounts = [0, 1, 5, -1, None, 2**61]
    table = pa.table({"age": [1] * 5 + [2], "n": pa.array(amounts, pa.int64())})
    domain = Domain(attributes=(AGE,))

    report = check(table, domain, count_column="n")

    assert report.amount is not None
    assert fates(report.amount) == (4, 1, 0, 1, 0)
    assert (report.rows_dropped, report.rows_counted) == (2, 4)
    counts = count(table, domain=domain, count_column="n", memory=LEAST_MEMORY).counts
    assert counts.tolist() == [6, 2**60]  # cut to the largest count


def test_units_that_may_be_rounded_do_not_fit() -> None:
    table = pa.table({"age": [1], "who": [1.0]})

    report = check(table, Domain(attributes=(AGE,)), unit=Unit("who", max_rows=1))

    assert not report.fits
    assert report.unit is not None
    assert report.unit.problem is not None


def test_amounts_that_are_clamped() -> None:
    table = pa.table({"amount": [1] * 5, "n": ["-7", "3", "50", "1.5", None]})
    domain = Domain(attributes=(Attribute(name="amount", values=Integers(low=0, high=1)),))

    report = check(table, domain, sum_column="n", clamp=(0, 10))

    assert report.amount is not None
    assert fates(report.amount) == (1, 1, 1, 1, 1)
    assert (report.rows_dropped, report.rows_counted) == (2, 3)


def test_a_row_that_several_rules_drop_counts_once() -> None:
    table = pa.table({"age": [-1, 5, 500], "n": [1, None, None], "who": [None, None, 1]})

    report = check(
        table, Domain(attributes=(AGE,)), sum_column="n", clamp=(0, 10), unit=Unit("who", max_rows=1)
    )

    assert (report.rows_read, report.rows_dropped, report.rows_counted) == (3, 3, 0)


def test_all_columns_that_do_not_fit_are_told_at_once() -> None:
    domain = Domain(
        attributes=(
            AGE,
            Attribute(name="sector", values=Categories(values=("a",))),
            Attribute(name="tags", values=Integers(low=0, high=1)),
            Attribute(name="incme", values=Edges(edges=(Fraction(0), Fraction(1)))),
        )
    )
    lists = [[1], [2]]
    table = pa.table(
        {"AGE": [1, 200], "sector": [6001, 6002], "tags": lists, "more": lists, "income": [1.0, 2.0]}
    )

    report = check(table, domain, sum_column="more", clamp=(0, 1), unit=Unit("nobody", max_rows=1))

    assert not report.fits
    assert [look.problem is None for look in report.attributes] == [True, False, False, False]
    assert [look.column_type for look in report.attributes] == ["BIGINT", "BIGINT", "a list", ""]
    facts = [problem.fact for problem in report.problems]
    assert facts == [
        "column 'sector' holds BIGINT, but attribute 'sector' is of categories",
        "column 'tags' holds a list, but attribute 'tags' is of integers",
        "the data have no column 'incme'",
        "column 'more' holds a list, not whole numbers",
        "the data have no column 'nobody'",
    ]
    assert "leading zeros" in report.problems[0].hint
    assert "'income'" in report.problems[2].hint
    # What can be told is told.
    assert fates(report.attributes[0]) == (1, 0, 0, 0, 1)
    assert (report.rows_read, report.rows_dropped, report.rows_counted) == (2, None, None)
    assert report.unused == ("income",)


def test_rows_are_read_where_no_column_fits() -> None:
    report = check(pa.table({"age": [[1], [2]]}), Domain(attributes=(AGE,)), count_column="n")

    assert (report.rows_read, report.rows_counted, len(report.problems)) == (2, None, 2)


def test_no_rows_are_no_problem() -> None:
    table = pa.table({"age": pa.array([], pa.int8()), "who": pa.array([], pa.string())})

    report = check(table, Domain(attributes=(AGE,)), unit=Unit("who", max_rows=1))

    assert (report.rows_read, report.rows_dropped, report.rows_counted, report.fits) == (0, 0, 0, True)


@pytest.mark.parametrize(
    ("value", "missing", "outside", "broken"),
    [
        (None, "error", "drop", [("when", "missing")]),
        ("x", "error", "drop", [("when", "missing")]),
        ("1999-01-01", "drop", "error", [("when", "outside")]),
        ("2024-01-01", "error", "error", []),
        ("1999-01-01", "error", "clamp", []),
        (None, "drop", "error", []),
    ],
)
def test_rules_that_would_stop_a_count(
    value: str | None, missing: Any, outside: Any, broken: list[tuple[str, str]]
) -> None:
    times = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second")
    attribute = Attribute(name="when", values=times, missing=missing, outside=outside)

    report = check(pa.table({"when": pa.array([value], pa.string())}), Domain(attributes=(attribute,)))

    assert list(report.broken) == broken
    assert report.fits == (not broken)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_raised_or_shown_quotes_a_row(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path, ROWS)

    report = check(path, unit=Unit("person", max_rows=1))
    texts = [repr(report), *map(repr, report.attributes), repr(report.unit)]

    table = "people" if kind in ("duckdb", "sqlite") else "data"
    query = f"SELECT age, sector FROM {table} WHERE CAST(sector AS INTEGER) > 0"
    if kind != "sqlite":  # which never fails at a cast
        with pytest.raises(BadData) as caught:
            check(path, query=query, rows_are_units=True)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert CANARY not in str(caught.value)
    assert CANARY not in "".join(texts)
    assert "8" not in "".join(texts)  # nor is a number of rows shown


def test_a_type_that_lists_values_is_not_shown(tmp_path: Path) -> None:
    with closing(duckdb.connect(tmp_path / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people (sector ENUM ('farming', '{CANARY}'))")

    report = check(tmp_path / "rows.duckdb", Domain(attributes=(SECTOR, AGE)))

    assert [look.column_type for look in report.attributes] == ["ENUM", ""]


def test_private_records_show_no_number() -> None:
    look = Look(attribute=AGE, column_type="BIGINT", inside=77)
    unit = UnitLook(unit=Unit("who", max_rows=3), column_type="BIGINT", units=77)

    assert repr(look) == "Look('age', rows=<private>)"
    assert repr(unit) == "UnitLook(Unit('who', max_rows=3), rows=<private>)"


def test_names_in_json_lines_come_in_the_order_of_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"b": 1, "a": null}\n{"b": 1, "a": 2, "c": [1]}\n{"d": 1}\n')

    assert names_in(path) == ["b", "d", "a", "c"]
    assert names_in([str(path)], rows=1) == ["b", "a"]
    assert names_in(pa.table({"x": [1]})) is None
