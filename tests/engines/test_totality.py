"""A filter and a query never fail on a row: every function that is allowed, with arguments of every kind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.conditions.guard.functions import FUNCTIONS
from hushtable.conditions.guard.statements import read_condition, read_query
from hushtable.conditions.guard.totality import total_condition, total_query
from hushtable.engines.sliced.engine import row_by_row
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
    constant = FUNCTIONS[name].constant + FUNCTIONS[name].length
    for number in range(4):
        kinds = [CONSTANTS if place in constant else [*COLUMNS, *CONSTANTS] for place in range(number)]
        for _ in range((40 if LONG else 4) if number else 1):
            yield f"{name}({', '.join(chance.choice(kind) for kind in kinds)})"


def test_no_allowed_expression_fails_on_a_row(engine: duckdb.DuckDBPyConnection) -> None:
    chance = random.Random(SEED)
    names = sorted(
        name for name in FUNCTIONS if not FUNCTIONS[name].public and name.replace("_", "").isalnum()
    )
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
        query = read_query(text, engine, tables=["data"])
        plain, total = engine.sql(text), engine.sql(total_query(query, engine))

        assert total.columns == plain.columns
        with suppress(duckdb.Error):  # where the plain one fails on a row
            assert str(plain.fetchall()) == str(total.fetchall())


@pytest.mark.parametrize("name", sorted(name for name in FUNCTIONS if FUNCTIONS[name].constant))
def test_arguments_that_could_stop_a_query_are_constants(
    name: str, engine: duckdb.DuckDBPyConnection
) -> None:
    places = FUNCTIONS[name].constant
    for place in places:
        arguments = ["5" if each in places and each != place else "s" for each in range(3)]
        with pytest.raises(ht.BadQuery, match=f"takes argument {place + 1} of `{name}` from a column"):
            read_condition(f"{name}({', '.join(arguments)}) IS NULL", engine)
    arguments = ["5" if each in places else "s" for each in range(3)]
    read_condition(f"{name}({', '.join(arguments)}) IS NULL", engine)


LENGTHS = sorted(name for name, known in FUNCTIONS.items() if known.length and not known.public)


@pytest.mark.parametrize("name", LENGTHS)
def test_what_could_fill_the_memory_is_told_by_a_small_constant(
    name: str, engine: duckdb.DuckDBPyConnection
) -> None:
    assert FUNCTIONS[name].length == (1,)
    read_condition(f"{name}(s, 1000, 'x') IS NULL", engine)
    for length in ("n", "n % 5", "1001", "1000000000", "10 * 10", "length(s)", f"{name}(s, 5, 'x')"):
        with pytest.raises(ht.BadQuery, match=f"uses `{name}`, which may make text or lists of any length"):
            read_condition(f"{name}(s, {length}, 'x') IS NULL", engine)
    with pytest.raises(ht.BadQuery, match=f"uses `{name}`, which may make text or lists of any length"):
        read_condition(f"{name}(rpad(s, 5, 'x'), 5, 'x') IS NULL", engine)


def test_the_functions_whose_arguments_are_bound_are_these() -> None:
    """Each was found by an attack: none may lose its mark by accident."""
    marked = {name for name, known in FUNCTIONS.items() if known.constant or known.length}

    assert marked >= {
        *("array_length", "array_resize", "bitstring", "ilike_escape", "like_escape", "list_resize", "lpad"),
        *("not_ilike_escape", "not_like_escape", "regexp_replace", "replace", "rpad", "time_bucket"),
        "timezone",
    }


def test_a_column_that_reads_another_name_is_named_too(engine: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT n % 40 AS few, few + 1 FROM data"

    total = engine.sql(total_query(read_query(text, engine, tables=["data"]), engine))

    assert total.columns == engine.sql(text).columns


PATHS = sorted(name for name, known in FUNCTIONS.items() if known.paths)


@pytest.mark.parametrize("path", ["'$..a'", "'$.a.**.b'", "['$.a', '$..b']", "s", "'$.' || '.a'", "[s]"])
def test_a_path_into_json_does_not_search_all_levels(path: str, engine: duckdb.DuckDBPyConnection) -> None:
    """Of one deep value of 2 MB, DuckDB would make a list of 270 GB."""
    assert len(PATHS) == 10
    for name in PATHS[1:]:
        with pytest.raises(ht.BadQuery, match=f"gives `{name}` a path that is computed or searches"):
            read_condition(f"{name}(j, {path}) IS NULL", engine)
    with pytest.raises(ht.BadQuery, match="gives `->>` a path that is computed or searches all levels"):
        read_condition(f"(j ->> ({path})) IS NULL", engine)


@pytest.mark.parametrize("path", ["'$.a.b'", "'a'", "'$.a[*]'", "['$.a', '$.b']", "0", "'/a/b'"])
def test_a_path_into_json_that_is_written_out_passes(path: str, engine: duckdb.DuckDBPyConnection) -> None:
    read_condition(f"json_extract(j, {path}) IS NULL AND json_type(j) = 'OBJECT'", engine)


@pytest.mark.parametrize("form", ["arrow", "pandas", "parquet", "duckdb"])
def test_the_first_hours_of_all_clocks_stop_no_filter(form: str, tmp_path: Path) -> None:
    # DuckDB takes it for a fault of its own that it cannot write them as text.
    steps = np.array([-(2**63) + 2, -(2**63) + 1, 0], dtype="int64")
    rows = pa.table({"x": [1, 1, 1], "moment": pa.array(steps).cast(pa.timestamp("us"))})
    data: Any = rows
    if form == "pandas":
        data = pd.DataFrame({"x": [1, 1, 1], "moment": steps.astype("datetime64[us]")})
    elif form == "parquet":
        data = tmp_path / "rows.parquet"
        pq.write_table(rows, data)
    elif form == "duckdb":
        data = tmp_path / "rows.duckdb"
        with duckdb.connect(str(data)) as connection:
            connection.execute("CREATE TABLE t AS SELECT * FROM rows").fetchall()
    domain = ht.Domain(x=ht.integers(0, 3))

    written = ht.count(data, domain=domain, where="length(CAST(moment AS VARCHAR)) > 0")

    assert written.counts.tolist() == [2]  # the first of all is infinity, which has a name


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_times_with_a_zone_are_filtered_alike_in_every_zone_of_the_machine(zone: str) -> None:
    # In a process of its own: DuckDB asks for the zone of the machine once.
    code = """
import pyarrow as pa, hushtable as ht
steps = pa.array([-(2**63) + 2, 0, 1], pa.int64())
rows = pa.table({"x": [1, 1, 1], "moment": steps.cast(pa.timestamp("us", tz="Europe/Berlin"))})
for where in ("length(CAST(moment AS VARCHAR)) > 0", "moment > make_timestamptz(0)"):
    print(ht.count(rows, domain=ht.Domain(x=ht.integers(0, 3)), where=where).counts.tolist())
"""
    environment = os.environ | {"TZ": zone}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert done.stdout.split("\n") == ["[2]", "[1]", ""], done.stderr
