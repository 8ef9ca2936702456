"""No expression of an owner makes a value of a row much longer, or takes the time of two long ones."""

from __future__ import annotations

import duckdb
import pytest

import hushtable as ht
from hushtable.conditions.guard.growing import MOST_GROWN
from hushtable.conditions.guard.statements import read_condition, read_query

LONG = "x" * 40
TOO_LONG = f"over {MOST_GROWN:,} times as long"


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.mark.parametrize(
    "condition",
    [
        f"replace(replace(s, 'a', '{LONG}'), 'x', '{LONG}') = ''",
        f"replace(s, 'a', '{'x' * 1001}') = ''",
        f"replace(s, '', '{'x' * 1001}') = ''",
        "replace(s, 'a', lpad('x', 1000, 'y')) = ''",
        f"replace(s, 'a', replace('{LONG}', 'x', '{LONG}')) = ''",
        f"regexp_replace(s, '', '{'x' * 1000}', 'g') = ''",
        "bin(bin(bin(bin(s)))) = ''",
        "to_json(to_json(to_json(to_json(s)))) = ''",
        "list_resize(list_resize([s], 2, s), 1000, s) IS NULL",
        f"CASE WHEN n > 0 THEN replace(replace(s, 'a', '{LONG}'), 'x', '{LONG}') END = ''",
        " || ".join(["bin(s)"] * 126) + " = ''",
    ],
)
def test_a_value_gets_no_longer_than_in_proportion(condition: str, engine: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(ht.BadQuery, match=f"{TOO_LONG}|lists of any length|nested too deep"):
        read_condition(condition, engine)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s || s AS a0, " + ", ".join(f"a{k} || A{k} AS a{k + 1}" for k in range(10)) + " FROM data",
        "SELECT bin(s) AS a, bin(a) AS b, bin(b) AS c, bin(c) AS d FROM data",
        "SELECT * REPLACE (bin(bin(s)) AS s), bin(bin(s)) AS t FROM data",
        "SELECT bin(bin(s)) AS a FROM data WHERE bin(bin(a)) = ''",
    ],
)
def test_names_that_a_query_gives_count_too(query: str, engine: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(ht.BadQuery, match=TOO_LONG):
        read_query(query, engine, tables=["data"])


@pytest.mark.parametrize(
    "condition",
    [
        "replace(replace(replace(s, '&', '&amp;'), '<', '&lt;'), '>', '&gt;') = ''",
        "replace(replace(trim(lower(s)), chr(10), ' '), ' - ', '-') = ''",
        "s IN (" + ", ".join(f"'{k}'" for k in range(3000)) + ")",
        " OR ".join(f"s = '{k}'" for k in range(3000)),
        "CASE " + " ".join(f"WHEN n = {k} THEN s" for k in range(1500)) + " END = ''",
        "CAST(CAST(CAST(CAST(CAST(CAST(s AS DATE) AS VARCHAR) AS DATE) AS VARCHAR) AS DATE) AS VARCHAR) = ''",
        "substr(CAST(n AS VARCHAR), 1, 2) || '-' || lpad(s, 10, '0') || to_json(s) = ''",
    ],
)
def test_what_owners_write_passes(condition: str, engine: duckdb.DuckDBPyConnection) -> None:
    read_condition(condition, engine)


@pytest.mark.parametrize("name", ["levenshtein", "editdist3", "jaro_similarity", "jaro_winkler_similarity"])
def test_time_is_not_the_product_of_two_long_texts(name: str, engine: duckdb.DuckDBPyConnection) -> None:
    read_condition(f"{name}(s, 'Providence') < 3", engine)
    for other in ("t", "lower(s)", f"'{'x' * 1001}'"):
        with pytest.raises(ht.BadQuery, match=f"gives `{name}` no constant"):
            read_condition(f"{name}(s, {other}) < 3", engine)
