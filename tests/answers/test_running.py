"""SQL over a release: what runs, what is refused, and that nothing but the rows is ever reached."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.answers import running
from hushtable.answers.running import run_sql
from tests.harness.interrupts import interrupted

ROWS = pa.table(
    {
        "home": [1, 2, 2],
        "sector": ["farming", "söuth 'x'", "farming"],
        "hours": [0.1, 0.2, 0.3],
        "day": [date(1969, 12, 1), date(2024, 1, 1), date(2024, 2, 1)],
        "minute": [datetime(2024, 1, 1, 0, 15), datetime(2024, 1, 1), datetime(2024, 1, 1, 23, 45)],
        "count": [-30, 500, 25],
        "weight": [-123.5, 500.0, 123.5],
    }
)
SECRET = "Zyx-Canary-4711"


def answer(text: str) -> list[dict[str, Any]]:
    return list(run_sql(ROWS, text).to_pylist())


def refusal(text: Any) -> str:
    with pytest.raises(ht.BadQuery) as caught:
        run_sql(ROWS, text)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT home, sum(weight) AS w FROM release GROUP BY home ORDER BY home", [(1, -123.5), (2, 623.5)]),
        ("WITH a AS (SELECT max(count) AS c FROM release) SELECT c FROM a", [(500,)]),
        ("FROM release SELECT home WHERE day < DATE '1970-01-01'", [(1,)]),
        ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
        ("SELECT sector FROM RELEASE WHERE sector = 'söuth ''x'''; -- done", [("söuth 'x'",)]),
        ("SELECT r.count FROM release r JOIN release s USING (home) WHERE r.home = 1", [(-30,)]),
        ("SELECT count FROM (PIVOT release ON sector IN ('farming') USING sum(weight)) LIMIT 0", []),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) FROM r",
            [(1,), (2,), (3,)],
        ),
        ("SELECT '?' AS a, '; COPY' AS b, $$ $1 $$ AS c", [("?", "; COPY", " $1 ")]),
    ],
)
def test_one_select_runs(text: str, rows: list[tuple[Any, ...]]) -> None:
    assert [tuple(row.values()) for row in answer(text)] == rows


def test_types_come_through() -> None:
    result = run_sql(ROWS, "FROM release")

    assert result.schema.types == ROWS.schema.types
    assert result.equals(ROWS)


def test_an_empty_release_and_an_empty_result() -> None:
    assert run_sql(ROWS.slice(0, 0), "FROM release").schema.types == ROWS.schema.types
    assert run_sql(ROWS, "FROM release WHERE false").num_rows == 0
    assert run_sql(ROWS, "SELECT sum(weight) AS w FROM release WHERE false").to_pylist() == [{"w": None}]


def test_names_of_columns_are_distinct() -> None:
    names = run_sql(ROWS, "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a, 5 AS b").column_names

    assert names == ["a", "a_2", "a_1", "a_3", "b"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("123456789012345678901234567890::BIGNUM", "123456789012345678901234567890"),
        ("[-5::BIGNUM]", "[-5]"),
        ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
        ("'0101'::BIT", "0101"),
        ("TIMETZ '10:00:00+02'", "10:00:00+02"),
        ("{'a': [5::VARIANT]}", "{'a': [5]}"),
        ("get_type(1)", "INTEGER"),
    ],
)
def test_types_that_arrow_does_not_have_are_text(value: str, text: str) -> None:
    found = run_sql(
        ROWS, f"""SELECT 1 AS n, {value} AS n, {value} AS 'a "b', {{'bignum': [2]::INT[1]}} AS s"""
    )

    assert found.to_pylist() == [{"n": 1, "n_1": text, 'a "b': text, "s": {"bignum": [2]}}]


@pytest.mark.parametrize(
    "text",
    [
        "COPY release TO 'out.csv'",
        "COPY (FROM release) TO 'out.parquet'",
        "ATTACH 'other.db'",
        "CREATE TABLE a AS FROM release",
        "CREATE OR REPLACE VIEW release AS SELECT 1",
        "INSERT INTO release VALUES (1)",
        "UPDATE release SET count = 1",
        "DELETE FROM release",
        "DROP VIEW release",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "PRAGMA enable_external_access = true",
        "PRAGMA version",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'out'",
        "IMPORT DATABASE 'out'",
        "CALL pragma_version()",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "PREPARE a AS SELECT 1",
        "BEGIN",
        "USE memory",
    ],
)
def test_anything_but_a_select_is_refused(text: str) -> None:
    said = refusal(text)

    assert said.startswith("the query is not one SELECT statement: DuckDB reads it as ")
    assert "Allowed is one SELECT over the table `release`" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        (" \n\t", "the query is empty"),
        ("-- SELECT 1", "the query is not one SELECT statement: it is empty"),
        ("/* SELECT 1 */ ;;", "it is empty"),
        ("SELECT 1; SELECT 2", "the query is not one SELECT statement: it has 2 statements"),
        ("SELECT 1; COPY release TO 'out.csv'", "the query is not one SELECT statement: it has 2 statements"),
        ("SELECT ?", "the query has a parameter: $1"),
        ("SELECT $1 + $2", "the query has parameters: $1, $2"),
        ("FROM release WHERE home = $home", "the query has a parameter: $home"),
        ("PIVOT release ON sector USING sum(weight)", "PIVOT release ON sector IN ("),
        (5, "the query is of type int, not text"),
        (None, "the query is of type NoneType, not text"),
        ("SELECT '\udcff'", "half a character"),
        ("SELECT 1\0", "holds a NUL"),
        ("SELECT " + "(" * 101, "the query is nested too deep"),
        ("SELECT " + "(" * 99_000, "the query is nested too deep"),
        ("WITH a AS (" * 8 + "SELECT 1", "the query is nested too deep"),
        ("FROM query('FROM release')", "the query uses `query`, which reads SQL from text"),
        ("FROM release, system.main.QUERY('FROM release')", "uses `query`"),
        ("SELECT (SELECT json_serialize_sql('SELECT 1'))", "uses `json_serialize_sql`"),
        ("SELECT 1 -- " + "x" * 100_000, "at most 100,000 are allowed"),
    ],
)
def test_other_texts_are_refused(text: Any, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELEC 1", 'DuckDB cannot read the query: syntax error at or near "SELEC".\n'),
        (
            "SELECT 1 FROM other",
            "there is no table 'other'.\nThe rows of a release are the table `release`.",
        ),
        ("SELECT other.home FROM release", "there is no table 'other'"),
        (
            "SELECT hom FROM release",
            "there is no column 'hom'.\nThe columns of `release` are 'home', 'sector',",
        ),
        ("SELECT r.hom FROM release r", "there is no column 'hom'"),
        ("SELECT * EXCLUDE (hom) FROM release", "there is no column 'hom'"),
        ("SELECT sector::INTEGER FROM release", "Could not convert string 'farming' to INT32"),
        ("SELECT hoem(home) FROM release", "Scalar Function with name hoem does not exist"),
        ("SELECT sector FROM release GROUP BY home", 'column "sector" must appear in the GROUP BY'),
        (f"SELECT {'NOT ' * 2000}true", "the query is nested too deep.\nAt most 100 brackets"),
        (
            "SELECT (SELECT home FROM release)",
            "scalar subqueries can only return a single row.\nThe columns of `release` are",
        ),
        # This one fails when rows have been read already: Arrow passes DuckDB's words on.
        ("SELECT CASE WHEN range = 999_999 THEN error('late') END FROM range(1_000_000)", "late"),
    ],
)
def test_errors_of_duckdb_become_ours(text: str, message: str) -> None:
    assert message in refusal(text)


def test_long_errors_are_cut_and_change_nothing_on_a_terminal() -> None:
    assert len(refusal(f"SELECT error('{'x' * 9_000}')")) < 600
    said = refusal("SELECT error('\x1b[31m\u202e')")
    assert said.replace("\n", " ").isprintable()
    many = pa.table({f"x{number}": [1] for number in range(240)})
    with pytest.raises(ht.BadQuery, match="'x19' and 220 more"):
        run_sql(many, "SELECT y FROM release")


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put files that a query must not see into the folder where it runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSHTABLE_SECRET", SECRET)
    pq.write_table(pa.table({"secret": [SECRET]}), tmp_path / "secret.parquet")
    (tmp_path / "secret.csv").write_text(f"secret\n{SECRET}\n")
    for name in (":memory:", ":memory:.wal", ":memory:.wal.checkpoint", ":memory:.wal.recovery"):
        (tmp_path / name).write_text(f"secret\n{SECRET}\n")  # the name of a database that is no file
    (tmp_path / "secret.json").write_text(f'{{"secret": "{SECRET}"}}\n')
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "FROM '{}/secret.parquet'",
        'FROM "{}/secret.parquet"',
        "FROM 'secret.csv'",
        "FROM read_parquet('{}/secret.parquet')",
        "FROM read_csv('{}/secret.csv')",
        "FROM read_csv_auto(['secret.csv'])",
        "FROM read_json('{}/secret.json')",
        "FROM read_text('{}/secret.csv')",
        "FROM read_blob('{}/*')",
        "FROM read_text(':memory:')",
        "FROM read_csv('{}/:memory:')",
        "FROM read_blob('{}/:memory:.wal')",
        "FROM ':memory:'",
        "FROM sniff_csv('{}/secret.csv')",
        "FROM parquet_metadata('{}/secret.parquet')",
        "FROM parquet_schema('{}/secret.parquet')",
        "FROM glob('{}/*')",
        "FROM read_text('/proc/self/environ')",
        "FROM read_csv('/dev/stdin')",
        "FROM read_csv('https://example.org/secret.csv')",
        "FROM 'https://example.org/secret.parquet'",
        "FROM read_parquet('s3://bucket/secret.parquet')",
        "FROM query('FROM ''{}/secret.csv''')",
        "FROM query_table('{}/secret.csv')",
        "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_csv(''{}/secret.csv'')'))",
        "SELECT (SELECT secret FROM 'secret.csv') FROM release",
        "WITH a AS (COPY release TO '{}/out.csv') SELECT 1",
        "WITH a AS (INSERT INTO release SELECT * FROM release RETURNING 1) FROM a",
        "FROM sqlite_scan('{}/secret.db', 'a')",
        "FROM duckdb_extensions()",
        "SELECT getenv('HUSHTABLE_SECRET')",
        "FROM local_table",
        "FROM GLOBAL_TABLE",
        "FROM ROWS",
        "FROM rows",
        "FROM arrow_scan(1, 2, 3)",
        "FROM pandas_scan(1)",
        "FROM python_map_function((FROM release), 1)",
        "FROM enable_logging()",
        "FROM enable_profiling()",
    ],
)
def test_nothing_but_the_rows_is_reached(text: str, secrets: Path) -> None:
    local_table = pa.table({"secret": [SECRET]})
    before = sorted(secrets.iterdir())

    said = refusal(text.replace("{}", str(secrets)))

    assert local_table.num_rows == 1
    assert SECRET not in said
    assert sorted(secrets.iterdir()) == before


GLOBAL_TABLE = pa.table({"secret": [SECRET]})


@pytest.mark.parametrize(
    "text",
    [
        "FROM duckdb_settings()",
        "FROM duckdb_secrets()",
        "FROM duckdb_variables()",
        "FROM duckdb_tables()",
        "SELECT current_setting('enable_external_access') AS s",
        "SELECT getvariable('HUSHTABLE_SECRET') AS s",
        "SHOW ALL TABLES",
        "DESCRIBE release",
        "SUMMARIZE release",
    ],
)
def test_lists_of_duckdb_are_harmless(text: str, secrets: Path) -> None:
    before = sorted(secrets.iterdir())

    said = str(answer(text))

    assert SECRET not in said
    assert str(secrets) not in said
    assert str(Path.home()) not in said or Path.home() == Path("/")
    assert sorted(secrets.iterdir()) == before


def test_the_connection_is_locked() -> None:
    names = "'enable_external_access', 'autoload_known_extensions', 'python_enable_replacements'"
    names += (
        ", 'allowed_paths', 'allowed_directories', 'secret_directory', 'temp_directory', 'home_directory'"
    )
    found = answer(f"SELECT name, value FROM duckdb_settings() WHERE name IN ({names}, 'lock_configuration')")

    assert {row["name"]: row["value"] for row in found} == {
        "allowed_directories": "[]",
        "allowed_paths": "[]",
        "secret_directory": "",
        "temp_directory": "",
        "home_directory": "",
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "lock_configuration": "true",
    }


def test_one_query_leaves_nothing_for_the_next() -> None:
    import duckdb

    own = duckdb.connect()
    own.execute("CREATE TABLE mine AS SELECT 1")

    assert "there is no table 'mine'" in refusal("FROM mine")
    assert [row["name"] for row in answer("SHOW TABLES")] == ["release"]
    assert own.execute("FROM mine").fetchall() == [(1,)]
    own.close()


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch, secrets: Path) -> None:
    monkeypatch.setattr(running, "_MEMORY", "50MB")
    before = sorted(secrets.iterdir())

    said = refusal("SELECT range, hash(range) AS h FROM range(20_000_000) ORDER BY h")

    assert said.startswith("the query needs more memory than there is")
    assert sorted(secrets.iterdir()) == before


def test_a_result_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_LARGEST", 1 << 20)

    assert "the result is larger than" in refusal("FROM range(1_000_000_000_000)")
    assert run_sql(ROWS, "FROM range(1000)").num_rows == 1000


ENDLESS = """
import sys
import pyarrow as pa
from hushtable.answers import running

fetched = running._fetched

def announced(*arguments):
    print("running", file=sys.stderr, flush=True)
    return fetched(*arguments)

running._fetched = announced
query = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
running.run_sql(pa.table({"x": [1]}), query)
"""


def test_ctrl_c_stops_a_query() -> None:
    err = interrupted(ENDLESS).err

    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "InterruptException" not in err
