"""A column of counts is private, and only a count: nothing else may read it, by whatever way."""

from __future__ import annotations

import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from tests.engines.reference import counts_of, distance
from tests.harness.cases import chosen

DOMAIN = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))
ROWS: dict[str, list[Any]] = {"x": [1, 2, 2], "people": [999, 5, 7], "n": [4, 4, 4], "s": [{"people": 1}] * 3}
SUM: dict[str, Any] = {"sum_column": "people", "clamp": (0, 10_000)}
COUNT: dict[str, Any] = {"count_column": "people"}


def rows(more: int = 0) -> pa.Table:
    """Return the rows, with so many more people in the first."""
    return pa.table({**ROWS, "people": [ROWS["people"][0] + more, *ROWS["people"][1:]]})


READING = [
    "people >= 1000",
    "PEOPLE >= 1000",
    '"People" >= 1000',
    "data.people >= 1000",
    "x = 1 AND (n = 4 OR people % 2 = 0)",
    "CASE WHEN x = 1 THEN people > 5 ELSE TRUE END",
    "data::VARCHAR LIKE '%1000%'",
    "hash(data) % 2 = 0",
    "row_to_json(data)::VARCHAR LIKE '%1000%'",
    "struct_extract(data, 'people') >= 1000",
    "people IS NOT NULL",
    "people IN (1000)",
    "n = people",
]


@pytest.mark.parametrize(
    ("where", "measure"),
    # Each condition, with counts and with sums in turn.
    chosen(product(READING, [COUNT, SUM]), lambda number: number % 2 == number // 2 % 2),
)
def test_no_filter_reads_amounts(where: str, measure: dict[str, Any]) -> None:
    with pytest.raises(ht.BadQuery, match="the row filter reads 'people', the column of amounts"):
        ht.count(rows(), domain=DOMAIN, where=where, **measure)


@pytest.mark.parametrize(
    ("amount", "query"),
    [
        ("people", "SELECT x, people + 1 AS people FROM data"),
        ("people", "SELECT x, people * 1000 AS people FROM data"),
        ("people", "SELECT least(x, people) AS x, people FROM data"),
        ("people", "SELECT x, people FROM data WHERE people >= 1000"),
        ("people", "SELECT * FROM data WHERE people >= 1000"),
        ("people", "SELECT * REPLACE (people * 2 AS people) FROM data"),
        ("people", "SELECT * REPLACE (people % 10 AS x) FROM data"),
        ("people", "SELECT * REPLACE (n AS people) FROM data"),
        ("m", "SELECT x, people AS m FROM data WHERE m >= 1000"),
        ("m", "SELECT people AS m, m % 10 AS x FROM data"),
        ("m", "SELECT people AS m, people % 10 AS x FROM data"),
        ("m", "SELECT people AS x, people AS m FROM data"),
        ("m", "SELECT * RENAME (people AS m), people % 10 AS y FROM data"),
        ("m", "SELECT * RENAME (people AS y), people AS m FROM data"),
        ("m", "SELECT x, s.people AS m FROM data"),
        ("m", "SELECT x, people::BIGINT AS m FROM data"),
        ("m", "SELECT x, TRY(people) AS m FROM data"),
        ("m", "SELECT x, coalesce(people, 0) AS m FROM data"),
        ("(people + 1)", "SELECT x, people + 1 FROM data"),
        ("(people + 1)", "SELECT *, people + 1 FROM data"),
        ("people", "SELECT people, hash(data) % 10 AS x FROM data"),
        ("people", "SELECT people, hash(t) % 10 AS x FROM data AS t"),
        ("b", "SELECT a, b FROM data AS t(a, b)"),
        # Fields of a struct, whose whole anything may read.
        ("people", "SELECT x, s.* FROM data"),
        ("people", "SELECT x, s.* FROM data WHERE length(s::VARCHAR) > 14"),
        ("people", "SELECT hash(s) % 10 AS x, s.* FROM data"),
        ("people", "SELECT t.* FROM data AS t"),
        # Names that the query gives are names of the amounts too.
        ("m", "SELECT people AS p, p AS m, people AS x FROM data"),
        ("m", "SELECT people AS p, p AS m, people % 10 AS x FROM data"),
        ("m", "SELECT x, people AS p, p AS m FROM data WHERE people >= 1000"),
        ("m", "SELECT *, people AS p, p AS m FROM data"),
        ("m", "SELECT * RENAME (people AS p), p AS m FROM data"),
        ("m", "SELECT people AS P, P AS q, q AS m, people AS x FROM data"),
    ],
)
def test_a_query_passes_amounts_on_unchanged(amount: str, query: str) -> None:
    measure: dict[str, Any] = {"count_column": amount}
    if len(query) % 2:  # the same code looks at both
        measure = {"sum_column": amount, "clamp": (0, 9)}
    with pytest.raises(ht.BadQuery, match=r"amounts|without a name|cannot read alone"):
        ht.count(rows(), domain=DOMAIN, query=query, **measure)


@pytest.mark.parametrize(
    ("amount", "query"),
    [
        ("people", "SELECT x, people FROM data"),
        ("m", "SELECT x, people AS m FROM data WHERE n = 4"),
        ("people", "FROM data"),
        ("PEOPLE", "SELECT * FROM data"),
        ("m", "SELECT * RENAME (people AS m) FROM data"),
        ("people", "SELECT * REPLACE (x + 0 AS x) FROM data AS t WHERE t.n > 3"),
        ("people", "SELECT * EXCLUDE (n), n AS k FROM data"),
        ("m", "SELECT x // 1 AS x, people AS m FROM data"),
    ],
)
def test_amounts_that_are_passed_on_are_added_up(amount: str, query: str) -> None:
    counts = counts_of(ht.count(rows(), domain=DOMAIN, query=query, count_column=amount))

    assert counts == {(1,): 999, (2,): 12}


@pytest.mark.parametrize("column", ["people", "PEOPLE"])
def test_no_attribute_and_no_unit_reads_amounts(column: str) -> None:
    attribute = Attribute(name="x", column=column, values=Integers(low=0, high=9))
    with pytest.raises(ht.BadData, match="holds the amounts that are added up, and is read for something"):
        ht.count(rows(), domain=ht.Domain(attributes=(attribute,)), **COUNT)
    with pytest.raises(ht.BadData, match="holds the amounts that are added up, and is read for something"):
        ht.count(rows(), domain=DOMAIN, unit=ht.Unit(column, max_rows=1), **SUM)


def test_under_a_second_name_amounts_stay_private() -> None:
    query = "SELECT *, people AS m FROM data"
    attribute = Attribute(name="x", column="people", values=Integers(low=0, high=9))
    with pytest.raises(ht.BadData, match="read for something else"):
        ht.count(rows(), domain=ht.Domain(attributes=(attribute,)), query=query, count_column="m")
    with pytest.raises(ht.HushtableError, match="amounts"):
        ht.count(rows(), domain=DOMAIN, query=query, where="people > 1000", count_column="m")


def test_no_column_of_a_database_is_computed_from_amounts(tmp_path: Path) -> None:
    for computed in ("big INT GENERATED ALWAYS AS (people // 1000)", "big INT AS (people // 1000)"):
        (tmp_path / "rows.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
            connection.execute(f"CREATE TABLE people (x INT, people INT, {computed})").fetchall()
            connection.execute("INSERT INTO people VALUES (1, 999)").fetchall()
        with pytest.raises(ht.BadData, match="computes columns from others"):
            ht.count(tmp_path / "rows.duckdb", domain=DOMAIN, where="big = 1", **COUNT)
        (tmp_path / "rows.db").unlink(missing_ok=True)
        with sqlite3.connect(tmp_path / "rows.db") as lite:
            lite.execute(f"CREATE TABLE people (x INT, people INT, {computed.replace('//', '/')})")
        lite.close()
        with pytest.raises(ht.BadData, match="computes columns from others"):
            ht.count(tmp_path / "rows.db", domain=DOMAIN, query="SELECT * FROM people", **SUM)
        assert counts_of(ht.count(tmp_path / "rows.duckdb", domain=DOMAIN)) == {(1,): 1}


ATOMS = ["x", "n", "people", "m", "1000", "t.people", "s.people", "y", "p"]
EXPRESSIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "*", "%", ">=", "="]), inner).map(
        lambda parts: f"({' '.join(map(str, parts))})"
    ),
    max_leaves=3,
)
ITEMS = st.one_of(
    st.sampled_from(
        [
            *("*", "people", "people AS m", "m", "x", "people AS p", "p AS m"),
            *("* RENAME (people AS m)", "* RENAME (people AS p)", "* EXCLUDE (people)"),
        ]
    ),
    st.tuples(EXPRESSIONS, st.sampled_from(["x", "y", "m", "people"])).map(
        lambda each: f"{each[0]} AS {each[1]}"
    ),
    EXPRESSIONS.map(lambda each: f"* REPLACE ({each} AS x)"),
)


@given(
    items=st.lists(ITEMS, min_size=1, max_size=4),
    inner=st.none() | EXPRESSIONS,
    where=st.none() | EXPRESSIONS,
    amount=st.sampled_from(["people", "m"]),
    column=st.sampled_from(["x", "y", "n", "people"]),
)
def test_one_more_person_moves_one_count(
    items: list[str], inner: str | None, where: str | None, amount: str, column: str
) -> None:
    """Whatever passes the check: 1,000 people instead of 999 are one more."""
    query = f"SELECT {', '.join(items)} FROM data AS t" + ("" if inner is None else f" WHERE {inner} > 0")
    domain = ht.Domain(attributes=(Attribute(name="a", column=column, values=Integers(low=0, high=2000)),))
    settings: dict[str, Any] = {"query": query, "count_column": amount, "domain": domain}
    if where is not None:
        settings["where"] = f"{where.replace('t.', 'data.')} > 0"
    try:
        before = counts_of(ht.count(rows(), **settings))
    except ht.HushtableError:
        return
    assert distance(before, counts_of(ht.count(rows(1), **settings))) <= 1
