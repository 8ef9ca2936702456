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
from hushtable.conditions.guard.functions import FUNCTIONS, functions_of
from hushtable.conditions.guard.policies import FILTER
from hushtable.conditions.guard.statements import read_condition, read_query
from hushtable.conditions.guard.totality import total_condition, total_query
from hushtable.engines.sliced.clocks import in_microseconds
from hushtable.engines.sliced.engine import row_by_row
from tests.harness.cases import chosen, few
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
# Times that cannot be written, on several levels, and values of odd types.
ODD = """
SELECT *, make_timestamp(n) AS early, [make_timestamp(n)] AS lt, {'a': make_timestamp(n), 'b': [dt]} AS sx,
    map([make_timestamp(n)], [s]) AS mx, to_microseconds(n) AS iv, h::BIGNUM AS bn,
    -0.5::DECIMAL(38, 38) AS part
FROM (SELECT * REPLACE (CASE WHEN n < -9e18 THEN -9223372022400000001 ELSE n END AS n) FROM raw)
WHERE n < 9e18
"""
COLUMNS = ["n", "s", "d", "b", "dt", "ts", "l", "st", "mp", "bl", "j", "h", "n::INTEGER", "n % 40"]
COLUMNS += ["early", "lt", "sx", "mx", "iv", "bn", "part"]
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
FIRST_HOURS = -9223372022400000001  # microseconds; DuckDB writes none before the next


@pytest.fixture
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET disabled_optimizers = 'statistics_propagation'").fetchall()
        connection.execute(f"CREATE TABLE raw AS {ROWS}").fetchall()
        connection.execute(f"CREATE TABLE odd AS {ODD}").fetchall()
        rows = in_microseconds("SELECT * FROM odd", connection)
        connection.execute(f"CREATE VIEW data AS {rows}").fetchall()
        connection.execute(row_by_row(sharing=False)).fetchall()
        yield connection


def some_calls(name: str, numbers: set[int], chance: random.Random) -> Iterator[str]:
    """Yield some calls of a function with these numbers of arguments, and constants where they must be."""
    constant = FUNCTIONS[name].constant + FUNCTIONS[name].length
    for number in sorted(numbers):
        kinds = [CONSTANTS if place in constant else [*COLUMNS, *CONSTANTS] for place in range(number)]
        for _ in range((40 if LONG else 2) if number else 1):
            yield f"{name}({', '.join(chance.choice(kind) for kind in kinds)})"


def numbers_of_arguments(engine: duckdb.DuckDBPyConnection) -> dict[str, set[int]]:
    """Return with how many arguments, up to three, DuckDB knows each function."""
    numbers: dict[str, set[int]] = {}
    listed = engine.execute(
        "SELECT function_name, len(parameters), varargs IS NOT NULL OR macro_definition IS NOT NULL "
        "FROM duckdb_functions()"
    ).fetchall()
    for name, least, more in listed:
        numbers.setdefault(name, set()).update(range(least, 4) if more else {least} & {0, 1, 2, 3})
    return numbers


def test_no_allowed_expression_fails_on_a_row(
    engine: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, made = duckdb.connect, [duckdb.connect()]

    def shared(**options: Any) -> duckdb.DuckDBPyConnection:
        try:
            return made[-1].cursor().execute("SELECT 1")
        except duckdb.Error:  # a trial closed it
            made.append(connect(**options))
            return made[-1].cursor()

    monkeypatch.setattr(
        duckdb, "connect", shared
    )  # a database for each of some thousand calls takes a minute
    chance = random.Random(SEED)
    names = sorted(
        name for name in FUNCTIONS if not FUNCTIONS[name].public and name.replace("_", "").isalnum()
    )
    taken = numbers_of_arguments(engine)
    some = names if LONG else names[::3]
    calls = [call for name in some for call in some_calls(name, taken.get(name, {0, 1, 2, 3}), chance)]
    for operator in ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "||", "->>", "<", "="):
        for _ in range(80 if LONG else 8):
            calls.append(f"({chance.choice(COLUMNS)}) {operator} ({chance.choice(COLUMNS)})")
    calls += [f"CAST({column} AS {kind})" for column in COLUMNS for kind in TYPES]
    listed = functions_of(engine, FILTER)
    tried = refused = 0
    for call in dict.fromkeys(calls):
        condition = f"{call} IS NULL"
        try:
            engine.execute(f"SELECT {call} FROM data LIMIT 0").fetchall()
            read = read_condition(condition, engine, listed=listed)
        except (duckdb.Error, ht.BadQuery):
            continue  # it does not fit the types, or is refused by its words
        tried += 1
        try:
            total = total_condition(condition, read, "SELECT * FROM data", engine)
        except ht.BadQuery:
            refused += 1
            continue
        engine.execute(f"SELECT count(*) FROM data WHERE {total}").fetchall()
    assert tried > 150
    assert refused < tried / 10


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
        *("timezone", "date_diff", "date_part", "date_sub", "date_trunc", "datediff", "datepart", "datesub"),
        "datetrunc",
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


@pytest.mark.parametrize("zone", chosen(["UTC", "Asia/Tokyo", "America/New_York"], [2]))
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


NESTED = {
    "TIMESTAMP[]": ("[make_timestamp(n), make_timestamp(0)]", "[NULL, '1970-01-01 00:00:00']"),
    "TIMESTAMP[2]": ("[make_timestamp(n), NULL]", "[NULL, NULL]"),
    "STRUCT(a TIMESTAMP, size TIMESTAMP[])": (
        "{'a': make_timestamp(n), 'size': [make_timestamp(n)]}",
        "{'a': NULL, 'size': [NULL]}",
    ),
    "STRUCT(a STRUCT(b STRUCT(c TIMESTAMP)))": (
        "{'a': {'b': {'c': make_timestamp(n)}}}",
        "{'a': {'b': {'c': NULL}}}",
    ),
    "MAP(VARCHAR, TIMESTAMP)": ("map(['a'], [make_timestamp(n)])", "{a=NULL}"),
    "MAP(TIMESTAMP, INTEGER)": ("map([make_timestamp(n)], [1])", "{}"),
    "MAP(STRUCT(a TIMESTAMP), INTEGER)": (
        "map([{'a': make_timestamp(n)}, {'a': make_timestamp(n - 1)}], [1, 2])",
        None,
    ),
    "UNION(t TIMESTAMP, s VARCHAR)": ("union_value(t := make_timestamp(n))", "NULL"),
    "TIMESTAMP WITH TIME ZONE[]": ("[make_timestamptz(n)]", "[NULL]"),
}


@pytest.mark.parametrize("kind", few(NESTED, every=2))
def test_the_first_hours_of_all_clocks_are_missing_on_every_level(kind: str, tmp_path: Path) -> None:
    value, written = NESTED[kind]
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {FIRST_HOURS} AS n, 1 AS x").fetchall()
        connection.execute("SET disabled_optimizers = 'statistics_propagation'").fetchall()
        connection.execute(f"CREATE TABLE u AS SELECT x, CAST({value} AS {kind}) AS nested FROM t").fetchall()
        connection.execute("INSERT INTO u VALUES (2, NULL)").fetchall()
        connection.execute("DROP TABLE t").fetchall()
        rows = in_microseconds("SELECT * FROM u ORDER BY x", connection)
        found = connection.execute(f"SELECT CAST(nested AS VARCHAR) FROM ({rows})").fetchall()
    domain = ht.Domain(x=ht.integers(0, 3))

    assert found == [(written,), (None,)]
    for where in ("CAST(nested AS VARCHAR) IS NULL OR x = 1", "to_json(nested) IS NULL OR x = 1"):
        assert ht.count(path, domain=domain, where=where).counts.tolist() == [1, 1]
    query = "SELECT x, CAST(nested AS VARCHAR) AS text FROM u"
    assert ht.count(path, domain=domain, query=query).counts.tolist() == [1, 1]


def test_nested_times_of_arrow_and_parquet_stop_no_filter(tmp_path: Path) -> None:
    steps = pa.array([FIRST_HOURS, 0], pa.int64()).cast(pa.timestamp("us"))
    nested = pa.StructArray.from_arrays([steps, pa.array([1, 2])], names=["at", "n"])
    rows = pa.table({"x": [1, 1], "nested": nested})
    pq.write_table(rows, tmp_path / "rows.parquet")

    for data in (rows, tmp_path / "rows.parquet"):
        where = "CAST(nested AS VARCHAR) <> '' AND length(CAST(data AS VARCHAR)) > 0"
        assert ht.count(data, domain=ht.Domain(x=ht.integers(0, 3)), where=where).counts.tolist() == [2]


@pytest.mark.parametrize(
    "call", ["make_timestamp(n)", "make_timestamp_ms(n // 1000 - 1)", "epoch_ms(n // 1000 - 1)"]
)
def test_a_number_makes_no_time_that_stops_a_filter(call: str) -> None:
    rows = pa.table({"x": [1, 1, 2], "n": pa.array([FIRST_HOURS, -(2**63) + 2, 5], pa.int64())})
    domain = ht.Domain(x=ht.integers(0, 3))

    where = f"CAST({call} AS VARCHAR) <> '' AND concat({call}, x) <> ''"
    assert ht.count(rows, domain=domain, where=where).counts.tolist() == [1]
    query = (
        f"SELECT {call}, {call} AS time, x, CAST(time AS VARCHAR) AS text, [time]::VARCHAR AS many FROM data"
    )
    assert ht.count(rows, domain=domain, query=query).counts.tolist() == [2, 1]
    kept = ht.count(rows, domain=domain, query=query, where="CAST(time AS VARCHAR) <> '' AND many <> ''")
    assert kept.counts.tolist() == [1]
    late = ht.count(
        rows, domain=domain, where="epoch_ms(make_timestamp(n)) = 0 AND make_timestamp(n) = make_timestamp(5)"
    )
    assert late.counts.tolist() == [1]


REFUSED = [
    "dayofweek(iv) = 1",
    "CASE WHEN s = 'x' THEN dayofweek(iv) END = 1",
    "date_part('era', iv) = 1",
    "date_trunc('timezone', ts) IS NULL",
    "CAST(j AS BIT) IS NULL",
    "json_type(part) IS NULL",
    "json_keys(part) IS NULL",
    "TRY_CAST(bn AS INTEGER) IS NULL AND TRY_CAST(bn AS BIGINT) = 5",
    "timezone('Nowhere', ts) IS NULL",
    "like_escape(s, 'a', 'ab')",
    "n = 5 OR isoyear(INTERVAL 1 MONTH) = 1",
    "CASE WHEN s = 'x' THEN CAST('1'::JSON AS BIT) END IS NULL",
]


@pytest.mark.parametrize("condition", REFUSED)
def test_what_duckdb_cannot_compute_is_refused_whatever_the_rows_hold(
    condition: str, engine: duckdb.DuckDBPyConnection
) -> None:
    read = read_condition(condition, engine)
    for rows in ("SELECT * FROM data", "SELECT * FROM data WHERE false"):
        with pytest.raises(ht.BadQuery, match="on values, and DuckDB cannot compute it for every value"):
            total_condition(condition, read, rows, engine)


def test_a_column_of_any_type_is_not_read() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE data AS SELECT 1::VARIANT AS v, [2::VARIANT] AS l").fetchall()
        for condition in ("v = 'a'", "CAST(v AS VARCHAR) = 'a'", "l[1] = 'a'", "data IS NULL"):
            with pytest.raises(ht.BadQuery, match="reads a column of the type VARIANT"):
                total_condition(
                    condition, read_condition(condition, connection), "SELECT * FROM data", connection
                )


@pytest.mark.parametrize(
    "unit", ["date_trunc(s, ts)", "date_part(s, ts)", "date_diff(s, ts, ts)", "date_sub(s, ts, ts)"]
)
def test_a_unit_of_time_is_no_column(unit: str, engine: duckdb.DuckDBPyConnection) -> None:
    # Of the text 'era' in one row, DuckDB says that it is not implemented, and stops.
    with pytest.raises(ht.BadQuery, match="from a column"):
        read_condition(f"{unit} IS NULL", engine)
