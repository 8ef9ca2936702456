"""A filter and a query never fail on a row: every function that is allowed, with arguments of every kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import duckdb
import pytest

import hushtable as ht
from hushtable.engines.engine import row_by_row
from hushtable.engines.statements import CONSTANT_ARGUMENTS, ROW_LOCAL_FUNCTIONS, check_condition, check_query
from hushtable.engines.totality import total_condition, total_query
from tests.harness.statistics import LONG, SEED

ROWS = """
SELECT * FROM (VALUES
(1, 'a', 1.5::DOUBLE, true, DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00', [1, 2], {'a': 1},
    map(['a'], [1]), '\\xAA'::BLOB, '{"a": 1}'::JSON, 5::HUGEINT),
(-9223372036854775808, '%', -1e308, false, DATE '-infinity', TIMESTAMP 'infinity', [], {'a': -5}, NULL,
    ''::BLOB, 'null'::JSON, -5),
(9223372036854775807, '', 'nan'::DOUBLE, NULL, DATE '5877642-06-25 (BC)', NULL, [NULL], {'a': NULL}, NULL,
    'zz'::BLOB, '[1, 2]'::JSON, 170141183460469231731687303715884105727),
(0, '((', 0.0, true, DATE '9999-12-31', TIMESTAMP '290309-12-22 (BC) 00:00:00', [3, 1], {'a': 9},
    map(['c'], [3]), '\\x00'::BLOB, '"x"'::JSON, 0),
(37, '2020-13-45', 'inf'::DOUBLE, true, DATE 'infinity', TIMESTAMP '-infinity', [7], {'a': 3}, NULL,
    '\\xff'::BLOB, '{"a": {"b": []}}'::JSON, 3)
) AS rows(n, s, d, b, dt, ts, l, st, mp, bl, j, h)
"""
COLUMNS = ["n", "s", "d", "b", "dt", "ts", "l", "st", "mp", "bl", "j", "h", "n::INTEGER", "n % 40"]
CONSTANTS = ["'a'", "1", "-1", "'day'", "'%Y'"]
TYPES = [
    "INTEGER",
    "UTINYINT",
    "HUGEINT",
    "DECIMAL(5,2)",
    "DATE",
    "TIMESTAMPTZ",
    "TIME",
    "UUID",
    "JSON",
    "INTEGER[]",
]
# What DuckDB has not written for a type at all: it fails on every row alike, and at once.
NOT_WRITTEN = ("not recognized", "ot implemented", "escape", "Cannot read a value of type")


@pytest.fixture
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE data AS {ROWS}").fetchall()
        connection.execute(row_by_row(sharing=False)).fetchall()
        yield connection


def some_calls(name: str, chance: random.Random) -> Iterator[str]:
    """Yield some calls of a function, with up to three arguments, and constants where they must be."""
    constant = CONSTANT_ARGUMENTS.get(name, ())
    for number in range(4):
        kinds = [CONSTANTS if place in constant else [*COLUMNS, *CONSTANTS] for place in range(number)]
        for _ in range((40 if LONG else 4) if number else 1):
            yield f"{name}({', '.join(chance.choice(kind) for kind in kinds)})"


def test_no_allowed_expression_fails_on_a_row(engine: duckdb.DuckDBPyConnection) -> None:
    chance = random.Random(SEED)
    names = sorted(name for name in ROW_LOCAL_FUNCTIONS if name.replace("_", "").isalnum())
    calls = [call for name in names for call in some_calls(name, chance)]
    for operator in ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "||", "->>", "<", "="):
        for _ in range(80 if LONG else 8):
            calls.append(f"({chance.choice(COLUMNS)}) {operator} ({chance.choice(COLUMNS)})")
    calls += [f"CAST({column} AS {kind})" for column in COLUMNS for kind in TYPES]
    tried = 0
    for call in calls:
        try:
            engine.execute(f"SELECT {call} FROM data LIMIT 0").fetchall()
        except duckdb.Error:
            continue  # it does not fit the types
        tried += 1
        failed = ""
        try:
            engine.execute(f"SELECT count(*) FROM data WHERE {total_condition(f'{call} IS NULL')}").fetchall()
        except duckdb.Error as error:
            failed = str(error)
        assert not failed or any(words in failed for words in NOT_WRITTEN), (call, failed)
    assert tried > 300


def test_that_test_would_see_parts_that_are_computed_apart(engine: duckdb.DuckDBPyConnection) -> None:
    engine.execute("RESET disabled_optimizers").fetchall()

    with pytest.raises(duckdb.ConversionException):
        engine.execute("SELECT TRY(n::INTEGER + n::INTEGER) FROM data").fetchall()


def test_a_query_keeps_its_names_and_values(engine: duckdb.DuckDBPyConnection) -> None:
    for text in (
        "SELECT * FROM data",
        "FROM data",
        "SELECT n, s AS name, n % 40, -n, CASE WHEN b THEN 1 END FROM data AS t WHERE t.n < 5",
        "SELECT * REPLACE (n % 7 AS n), lower(s) AS low FROM data WHERE s LIKE '%2%' OR n IN (0, 1)",
        "SELECT * EXCLUDE (l, st, mp), l[1] AS first, st.a, {'x': n} AS made, [n] AS list FROM data",
        "SELECT d BETWEEN 0 AND 1 AS between, dt::DATE - 1 AS day, n / 3 AS third FROM data WHERE n = 1",
    ):
        query = check_query(text, engine, tables=["data"])
        plain, total = engine.sql(text), engine.sql(total_query(query, engine))

        assert total.columns == plain.columns
        with suppress(duckdb.Error):  # where the plain one fails on a row
            assert str(plain.fetchall()) == str(total.fetchall())


@pytest.mark.parametrize(("name", "places"), sorted(CONSTANT_ARGUMENTS.items()))
def test_arguments_that_could_stop_a_query_are_constants(
    name: str, places: tuple[int, ...], engine: duckdb.DuckDBPyConnection
) -> None:
    for place in places:
        arguments = ["5" if each in places and each != place else "s" for each in range(3)]
        with pytest.raises(ht.BadQuery, match=f"takes argument {place + 1} of `{name}` from a column"):
            check_condition(f"{name}({', '.join(arguments)}) IS NULL", engine)
    arguments = ["5" if each in places else "s" for each in range(3)]
    check_condition(f"{name}({', '.join(arguments)}) IS NULL", engine)
