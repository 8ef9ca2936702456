"""A row filter or query is row-local, or it is refused with a reason."""

import atexit
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from duckdb import DuckDBPyConnection
from hypothesis import example, given
from hypothesis import strategies as st

from hushtable.conditions.guard.functions import FUNCTIONS, SQL_IN_TEXT
from hushtable.conditions.guard.policies import CONDITION
from hushtable.conditions.guard.statements import check_select, read_condition, read_query
from hushtable.errors import BadQuery
from tests.harness import statistics
from tests.harness.cases import chosen

CONNECTION = duckdb.connect()
atexit.register(CONNECTION.close)  # not after the module: tests of one may come in several turns
TABLES = ("People", "trips")
ROW_LOCAL = {name for name, known in FUNCTIONS.items() if not known.public and not known.macro}


@pytest.fixture
def connection() -> Iterator[DuckDBPyConnection]:
    with duckdb.connect() as fresh:
        yield fresh


def run(connection: DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]]:
    return connection.execute(statement).fetchall()


def refusal(condition: object, connection: DuckDBPyConnection = CONNECTION) -> BadQuery:
    with pytest.raises(BadQuery) as caught:
        read_condition(cast(str, condition), connection)
    return unchained(caught.value)


def query_refusal(query: object, connection: DuckDBPyConnection = CONNECTION) -> BadQuery:
    with pytest.raises(BadQuery) as caught:
        read_query(cast(str, query), connection, tables=TABLES)
    return unchained(caught.value)


def unchained(error: BadQuery) -> BadQuery:
    assert error.__cause__ is None
    assert error.__context__ is None
    assert str(error) == f"{error.fact}.\n{error.hint}"
    return error


@pytest.mark.parametrize(
    "condition",
    [
        "active",
        "age >= 18 AND NOT (lower(state) = 'ri' OR state IS NULL)",
        "a = 1 -- the rest of the line",
        "/* why */ a <> 1 AND a != 2 AND a IS DISTINCT FROM 3 AND a IS NOT DISTINCT FROM b",
        "a IN (1, 2, b) AND a NOT IN (3) AND (a, b) IN ((1, 2)) AND a IN [1, 2] AND a IN l",
        "a BETWEEN 1 AND b AND a NOT BETWEEN 3 AND 4",
        "CASE WHEN a > 1 THEN b ELSE c END AND CASE a WHEN 1 THEN true END",
        "a::int > 1 AND TRY_CAST(a AS DECIMAL(10, 2)) > 1 AND CAST(a AS STRUCT(x INT, y VARCHAR[3])).x > 1",
        "CAST(a AS my_type) = 'x' AND CAST(a AS my_schema.my_type) = 'x' AND a::ENUM('p', 'q') = 'p'",
        "s LIKE 'a%' AND s NOT LIKE 'b' AND s ILIKE 'c' ESCAPE '!' AND s SIMILAR TO 'd' AND s GLOB 'e*'",
        "s ~ 'x' AND s !~ 'y' AND s ^@ 'z'",
        "s COLLATE nocase = 'x' AND s COLLATE de > 'y'",
        "coalesce(a, b, 0) + ifnull(a, 1) > nullif(b, 2) AND if(a > 1, true, false)",
        "l[1] = 2 AND l[2:] = l[:3] AND st.x.y = 1 AND (st).x = 1 AND st['x'] = 1 AND m['k'] = 1",
        "[a, 1] = ARRAY[b, 2] AND {'x': a} = {'x': 1} AND MAP {'k': a} = MAP {'k': 1} AND row(a) = row(1)",
        "day_of >= DATE '2024-01-01' AND t - INTERVAL 1 DAY < TIMESTAMP '2024-01-01' + INTERVAL '3 days'",
        "extract(year FROM t) = 2024 AND date_trunc('month', t) = t AND t AT TIME ZONE 'UTC' > t",
        "a + b - c * d / e // f % g ** h ^ i & j | k << 1 >> 2 > ~a AND -a < @b",
        "substring(s FROM 1 FOR 2) = 'x' AND trim(BOTH ' ' FROM s) = position('x' IN s)::varchar",
        "split_part(s, '-', 1) = 'x' AND concat(s, 't') || 'u' = 'stu'",
        "TRY(s::int) = 1",
        "j ->> '$.x' = 'y' AND json_extract(j, '$.x') IS NOT NULL",
        "data.user = 'x' AND data.a = 1 AND main.data.a = 1",
        '"weird "" name" = 1 AND "SELECT" = 2',
        "s = 'it''s; (SELECT 1) -- no comment' AND s <> $$sum(a)$$ AND s <> e'\\n'",
        "a = 99999999999999999999999999999999999999999 OR a = 1e300 OR a = 1_000",
    ],
)
def test_row_local_conditions_pass(condition: str) -> None:
    read_condition(condition, CONNECTION)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("sum(a) > 1", "`sum`, an aggregate"),
        ("count(*) > 1", "`count_star`, an aggregate"),
        ("count(DISTINCT a) > 1", "inside a function|aggregate"),
        ("sum(a) FILTER (WHERE b) > 1", "FILTER|aggregate"),
        ("list(a ORDER BY b) = [1]", "ORDER BY|aggregate"),
        ("quantile_cont(a, 0.5) > 1", "aggregate"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY a) > 1", "ORDER BY|aggregate"),
        ("weighted_avg(a, b) > 1", "`weighted_avg`, a macro"),
        ("lower(s) FILTER (WHERE b) = 'x'", "FILTER"),
        ("lower(DISTINCT s) = 'x'", "DISTINCT"),
        ("lower(s ORDER BY a) = 'x'", "ORDER BY"),
        ("lower(s) OVER () = 'x'", "window function `lower`"),
        ("row_number() OVER () < 10", "window function `row_number`"),
        ("sum(a) OVER (PARTITION BY b) < 10", "window function `sum`"),
        ("lag(a) OVER (ORDER BY b) = a", "window function `lag`"),
        ("row_number() < 10", "`row_number`, a window function"),
        ("a > (SELECT avg(a) FROM data)", "a subquery"),
        ("a IN (SELECT 1)", "a subquery"),
        ("a IN (FROM data)", "a subquery"),
        ("EXISTS (SELECT 1)", "a subquery"),
        ("NOT EXISTS (FROM data)", "a subquery"),
        ("a = ANY (l)", "a subquery"),
        ("a = ALL (SELECT 1)", "a subquery"),
        ("len(ARRAY(SELECT 1)) = 1", "a subquery"),
        ("CASE WHEN a THEN b ELSE (SELECT true) END", "a subquery"),
        ("l[(SELECT 1)] = 1", "a subquery"),
        ("unnest(l) = 1", "`unnest`, a table function"),
        ("range(3) = l", "`range`, a table function"),
        ("generate_subscripts(l, 1) = 1", "`generate_subscripts`, a macro"),
        ("random() < 0.5", "`random`, which does not follow"),
        ("uuid() = a", "`uuid`, which does not follow"),
        ("now() > t", "`now`, which does not follow"),
        ("today() > t", "`today`, which does not follow"),
        ("nextval('s') = a", "`nextval`, which does not follow"),
        ("currval('s') = a", "`currval`, which does not follow"),
        ("getvariable('x') = a", "`getvariable`, which does not follow"),
        ("current_setting('threads') = a", "`current_setting`, which does not follow"),
        ("txid_current() = a", "`txid_current`, which does not follow"),
        ("in_search_path('a', 'b')", "`in_search_path`, which does not follow"),
        ("stats(a) = 'x'", "`stats`, which does not follow"),
        ("vector_type(a) = 'x'", "`vector_type`, which does not follow"),
        ("write_log(s) = 'x'", "`write_log`, which does not follow"),
        ("error(s) IS NULL", "`error`, which does not follow"),
        ("assert_true(a > 1) IS NULL", "`assert_true`, a macro"),
        ("current_database() = 'x'", "`current_database`, a macro"),
        ("pg_typeof(a) = 'x'", "`pg_typeof`, a macro"),
        ("ago(i) > t", "`ago`, a macro"),
        ("age(born) > INTERVAL 18 YEAR", "`age`, which is not on the list"),
        ("current_localtime() > t", "`current_localtime`, which is not on the list"),
        ("index_key({'table': 'data'}, 'i', a) = 1", "`index_key`, which is not on the list"),
        ("json_serialize_sql('SELECT 1') = 'x'", "`json_serialize_sql`, which is not on the list"),
        ("json_serialize_plan('SELECT 1') = 'x'", "`json_serialize_plan`, which is not on the list"),
        ("list_aggregate(l, 'reservoir_quantile', 0.5) = 1", "`list_aggregate`, which is not on the list"),
        ("list_transform(l, lambda x: x + 1) = l", "a lambda"),
        ("[x + 1 FOR x IN l] = l", "a lambda"),
        ("getenv('HOME') = 'x'", "`getenv`, which is not a function"),
        ("j -> '$.x' = 1", "a lambda or `->`"),
        ("$1 = a", "a parameter"),
        ("? = a", "a parameter"),
        ("$name = a", "a parameter"),
        ("#1 = 1", "a column by its position"),
        ("COLUMNS(*) > 1", "COLUMNS"),
        ("COLUMNS('a.*') > 1", "COLUMNS"),
        ("greatest(*COLUMNS(*)) > 1", "COLUMNS"),
        ("coalesce(* REPLACE (sum(a) AS a)) > 1", "COLUMNS"),
        ("GROUPING(a) = 1", "GROUPING"),
        ("DEFAULT", "DEFAULT"),
        ("main.lower(s) = 'x'", "a dot before it"),
        ("system.main.lower(s) = 'x'", "a dot before it"),
        ("s.lower() = 'x'", "a dot before it"),
        ("rowid < 100", "`rowid`, which tells where"),
        ("data.ROWID < 100", "`data.ROWID`, which tells where"),
        ("file_row_number < 100", "`file_row_number`, which tells where"),
        ("file_index = 0", "`file_index`, which tells where"),
        ("filename = 'part-1.parquet'", "`filename`, which tells where"),
        ("current_date > t", "`current_date`, to which SQL gives a value"),
        ("current_timestamp > t", "`current_timestamp`, to which SQL gives a value"),
        ("user = 'x'", "`user`, to which SQL gives a value"),
        ('"user" = 1', "`user`, to which SQL gives a value"),
    ],
)
def test_other_conditions_are_refused_by_name(condition: str, reason: str) -> None:
    error = refusal(condition)

    assert re.search(reason, error.fact)
    assert "cannot read" not in error.fact
    # The same piece is refused wherever it stands in a query.
    query = f"SELECT {condition} AS x FROM trips"
    if len(condition) % 2:
        query = f"FROM trips SELECT a WHERE NOT ({condition})"
    assert "cannot read" not in query_refusal(query).fact


@pytest.mark.parametrize(
    "condition",
    [
        "1=1) GROUP BY (x",
        "1=1) OR (2=2",
        "1=1) UNION SELECT * FROM data --",
        "1=1) UNION ALL (SELECT * FROM data WHERE 1=1",
        "1=1) ORDER BY (a",
        "1=1) LIMIT (5",
        "1=1) QUALIFY (true",
        "1=1) -- ",
        "1=1 --\n) OR (1=1",
        "1=1 /*",
        "*/ 1=1",
        "1=1;",
        "1=1; DROP TABLE data",
        "1=1; SELECT * FROM data WHERE 1=1",
        "1=1); DELETE FROM data WHERE (1=1",
        "1=1 GROUP BY a",
        "1=1 GROUP BY ALL",
        "1=1 HAVING a",
        "1=1 WINDOW w AS (ORDER BY a) QUALIFY a",
        "1=1 USING SAMPLE 5",
        "1=1 LIMIT 5",
        "1=1 OFFSET 5",
        "1=1 ORDER BY a",
        "1=1 UNION FROM data",
        "1=1 AS x",
        "a, b",
        "a b",
        "--",
        "",
        " \n ",
        "SELECT 1",
        "WHERE a",
        ")(",
        "'",
        '"',
        "$$",
    ],
)
def test_a_condition_cannot_leave_its_brackets(condition: str) -> None:
    refusal(condition)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT home, age // 10 AS decade FROM people WHERE age >= 18;",
        "FROM people",
        "FROM people SELECT home WHERE age > 1",
        "TABLE people",
        "(SELECT * FROM people)",
        "SELECT ALL home FROM PEOPLE",
        'SELECT p.home, p.* FROM "people" AS p',
        "SELECT x: a FROM p: people",
        "SELECT a FROM main.People p(a, b)",
        'SELECT people.home, main.people.age FROM "MAIN"."PEOPLE"',
        "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d) FROM trips",
        "SELECT people.user FROM people",
        "SELECT people FROM people",
        "SELECT 1 FROM people -- note",
        "SELECT a AS b, b + 1 FROM people WINDOW w AS (ORDER BY a)",
    ],
)
def test_row_local_queries_pass(query: str) -> None:
    read_query(query, CONNECTION, tables=TABLES)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("WITH x AS (FROM people) SELECT * FROM people", "WITH"),
        ("WITH people AS (FROM secrets) SELECT * FROM people", "WITH"),
        ("SELECT a FROM people UNION ALL SELECT a FROM people", "UNION"),
        ("FROM people EXCEPT FROM trips", "EXCEPT"),
        ("SELECT DISTINCT a FROM people", "DISTINCT"),
        ("SELECT DISTINCT ON (a) a FROM people", "DISTINCT"),
        ("SELECT a FROM people GROUP BY a", "GROUP BY"),
        ("SELECT a FROM people GROUP BY ALL", "GROUP BY"),
        ("SELECT a FROM people GROUP BY ROLLUP (a)", "GROUP BY"),
        ("SELECT a FROM people GROUP BY ()", "GROUP BY"),
        ("SELECT a FROM people HAVING a", "HAVING"),
        ("SELECT a FROM people QUALIFY a", "QUALIFY"),
        ("SELECT a FROM people USING SAMPLE 10", "a sample"),
        ("SELECT a FROM people TABLESAMPLE 10%", "a sample"),
        ("SELECT a FROM people TABLESAMPLE reservoir(10) REPEATABLE (1)", "a sample"),
        ("SELECT a FROM people LIMIT 1", "LIMIT"),
        ("SELECT a FROM people LIMIT 10%", "LIMIT"),
        ("SELECT a FROM people OFFSET 1", "OFFSET"),
        ("SELECT a FROM people FETCH FIRST 3 ROWS ONLY", "LIMIT"),
        ("SELECT a FROM people ORDER BY a", "ORDER BY"),
        ("SELECT a FROM people ORDER BY ALL", "ORDER BY"),
        ("SELECT a FROM people, trips", "a join"),
        ("SELECT a FROM people JOIN trips USING (a)", "a join"),
        ("SELECT a FROM people NATURAL JOIN trips", "a join"),
        ("SELECT a FROM people SEMI JOIN trips USING (a)", "a join"),
        ("SELECT a FROM people POSITIONAL JOIN trips", "a join"),
        ("SELECT a FROM people ASOF JOIN trips ON people.a > trips.b", "a join"),
        ("SELECT a FROM people, LATERAL (SELECT 1)", "a join"),
        ("SELECT a FROM people, unnest(l)", "a join"),
        ("SELECT a FROM (SELECT * FROM people)", "a subquery"),
        ("SELECT a FROM (people) p", "a subquery"),
        ("SELECT (SELECT 1) FROM people", "a subquery"),
        ("SELECT a FROM range(3)", "table function `range`"),
        ("SELECT a FROM read_parquet('x.parquet')", "table function `read_parquet`"),
        ("FROM query('FROM people')", "table function `query`"),
        ("FROM query_table('people')", "table function `query_table`"),
        ("FROM json_execute_serialized_sql('{}')", "table function `json_execute_serialized_sql`"),
        ("SELECT 1", "without FROM"),
        ("VALUES (1)", "VALUES"),
        ("SELECT a FROM (VALUES (1)) people(a)", "a subquery"),
        ("PIVOT people ON a IN ('x') USING count(*)", "PIVOT"),
        ("SELECT * FROM people PIVOT (count(*) FOR a IN ('x'))", "PIVOT"),
        ("PIVOT people ON a USING count(*)", "not one SELECT"),
        ("UNPIVOT people ON a, b", "PIVOT"),
        ("DESCRIBE people", "DESCRIBE"),
        ("SUMMARIZE people", "SUMMARIZE"),
        ("SHOW TABLES", "SHOW"),
        ("SELECT unnest(l) FROM people", "`unnest`"),
        ("SELECT COLUMNS('a') FROM people", "COLUMNS"),
        ("SELECT COLUMNS(c -> c LIKE 'a%') FROM people", "COLUMNS"),
        ("SELECT * LIKE 'a%' FROM people", "COLUMNS"),
        ("SELECT * REPLACE (sum(a) AS a) FROM people", "`sum`"),
        ("SELECT * REPLACE (COLUMNS(*) AS a) FROM people", "COLUMNS"),
        ("SELECT a FROM people AT (VERSION => 1)", "AT"),
        ("SELECT a, row_number() OVER w FROM people WINDOW w AS (ORDER BY a)", "window function"),
        ("SELECT a FROM people WHERE a = $1", "a parameter"),
        ("SELECT a FROM people; SELECT a FROM people", "not one SELECT"),
        ("SELECT a FROM people; DROP TABLE people", "not one SELECT"),
        ("DROP TABLE people", "not one SELECT"),
        ("INSERT INTO people VALUES (1)", "not one SELECT"),
        ("COPY people TO 'x'", "not one SELECT"),
        ("EXPLAIN SELECT a FROM people", "not one SELECT"),
        ("WITH x AS (DELETE FROM people RETURNING a) FROM people", "WITH"),
        ("-- nothing", "not one SELECT"),
    ],
)
def test_other_queries_are_refused_by_clause(query: str, reason: str) -> None:
    error = query_refusal(query)

    assert re.search(reason, error.fact)
    assert "cannot read" not in error.fact


@pytest.mark.parametrize(
    "name",
    [
        "secrets",
        "'people.parquet'",
        '"people.parquet"',
        "other.people",
        "memory.main.people",
        "temp.people",
        "main.main.people",
        '"main.people"',
        "people2",
        "PEOPL\u00c9",
        "tr\u0131ps",  # a dotless i
        "information_schema.tables",
        "duckdb_settings",
        "pg_catalog.pg_class",
    ],
)
def test_only_the_tables_named_are_read(name: str) -> None:
    error = query_refusal(f"SELECT * FROM {name}")

    assert "not one of its tables" in error.fact
    assert "write the name of one of its tables: People, trips." in error.hint


def test_the_case_of_a_table_folds_as_in_duckdb(connection: DuckDBPyConnection) -> None:
    run(connection, 'CREATE TABLE "k" (a INTEGER)')
    run(connection, 'CREATE VIEW "\u212a" AS SELECT 1 AS a')  # the Kelvin sign, whose str.lower() is k

    read_query("SELECT a FROM K", connection, tables=["k"])
    with pytest.raises(BadQuery, match="not one of its tables"):
        read_query('SELECT a FROM "\u212a"', connection, tables=["k"])


def test_a_long_list_of_tables_is_cut_in_the_message() -> None:
    with pytest.raises(BadQuery) as caught:
        read_query("FROM x", CONNECTION, tables=[f"t{number:03}" for number in range(500)])

    assert "t000, t001" in caught.value.hint
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "query",
    [
        "SELECT home, count(*) AS n FROM people JOIN trips USING (id) GROUP BY ALL ORDER BY n LIMIT 5",
        "WITH x AS (FROM people) SELECT DISTINCT a FROM x UNION ALL FROM trips",
        "WITH RECURSIVE x AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM x WHERE i < 9) FROM x",
        "FROM people QUALIFY row_number() OVER (PARTITION BY id) = 1",
        "PIVOT people ON a IN ('x') USING count(*)",
        "UNPIVOT people ON a, b",
        "VALUES (1)",
        "FROM 'people.parquet'",
        "SELECT (SELECT max(a) FROM trips) FROM people, unnest(l) AS u(x);",
    ],
)
def test_any_select_passes_where_rows_are_the_units(query: str) -> None:
    check_select(query, CONNECTION)


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE people",
        "INSERT INTO people VALUES (1)",
        "CREATE TABLE x AS FROM people",
        "COPY people TO 'x'",
        "ATTACH 'x'",
        "SET threads = 1",
        "PRAGMA version",
        "CALL pragma_version()",
        "EXPLAIN SELECT 1",
        "EXECUTE x",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE people",
        "SELECT $1",
        "SELECT ?",
        "DESCRIBE people",
        "SHOW TABLES",
        "SUMMARIZE people",
        "WITH x AS (INSERT INTO people VALUES (1) RETURNING a) FROM x",
        "WITH x AS (UPDATE people SET a = 1 RETURNING a) FROM x",
        "WITH x AS (DELETE FROM people RETURNING a) FROM x",
        "WITH x AS (COPY people TO 'x') FROM x",
        "SELECT (WITH x AS (DELETE FROM people RETURNING a) SELECT 1) FROM trips",
        "",
        ";",
        "-- nothing",
        "SELEKT 1",
    ],
)
def test_what_is_not_one_select_is_refused(query: str) -> None:
    with pytest.raises(BadQuery) as caught:
        check_select(query, CONNECTION)
    unchained(caught.value)


def hostile_texts() -> list[tuple[str, object]]:
    """Texts that a parser, a JSON reader or a recursive walk may choke on, with a name each."""
    deep = 10_000
    texts: dict[str, object] = {
        "brackets": "(" * deep + "a" + ")" * deep,
        "open brackets": "(" * deep,
        "open lists": "[" * deep,
        "open structs": "{'x': " * deep,
        "functions": "abs(" * deep + "a" + ")" * deep,
        "subqueries": "(SELECT " * deep + "1" + ")" * deep,
        "subqueries within limits": "(SELECT " * 99 + "sum(1)" + ")" * 99,
        "not": "NOT " * deep + "a",
        "minus": "- " * deep + "a",
        "sums": "a" + " + a" * deep,
        "casts": "a" + "::int" * deep,
        "indexes": "a" + "[1]" * deep,
        "is null": "a" + " IS NULL" * 990,  # few enough for DuckDB, too deep for Python's JSON
        "cases": "CASE WHEN a THEN " * 4_000 + "1" + " END" * 4_000,
        "types": "a::int" + "[]" * deep,
        "comments": "/*" * deep + "a",
        "quoted brackets": "a = '" + "(" * deep,
        "megabytes": "a = 1 OR " * 500_000 + "a = 2",
        "long name": "x" * 3_000_000,
        "NUL": "a = 1 \0 OR b",
        "NUL in text": "a = 'x\0y'",
        "half a character": "a = '\ud800'",
        "none": None,
        "number": 3,
        "bytes": b"a = 1",
        "list": ["a = 1"],
    }
    return list(texts.items())


@pytest.mark.parametrize(("name", "text"), hostile_texts(), ids=[name for name, _ in hostile_texts()])
def test_hostile_texts_are_refused_in_short_words(name: str, text: object) -> None:
    assert len(str(refusal(text))) < 1_000
    query = f"SELECT {text} FROM people" if isinstance(text, str) else text
    assert len(str(query_refusal(query))) < 1_000
    if name != "subqueries within limits":
        with pytest.raises(BadQuery):
            check_select(cast(str, text), CONNECTION)


def test_long_and_flat_is_welcome() -> None:
    read_condition("a IN (" + ", ".join(map(str, range(15_000))) + ")", CONNECTION)
    read_condition(" OR ".join(f"(c{number} = '(')" for number in range(1_000)), CONNECTION)
    read_condition("(" * 90 + "a" + ")" * 90, CONNECTION)


def test_a_syntax_error_shows_the_parsers_words_and_nothing_else() -> None:
    error = refusal("age >= 18 ANDD b")

    assert error.fact == 'DuckDB cannot read the row filter: syntax error at or near "ANDD"'
    assert refusal("a = 'x").fact == "DuckDB cannot read the row filter: unterminated string literal"
    assert "SELECT" not in str(error)  # the statement around it is ours


def test_a_closed_connection_is_no_crash() -> None:
    closed = duckdb.connect()
    closed.close()

    assert "cannot read" in refusal("a = 1", closed).fact


def test_messages_say_what_is_allowed_and_what_to_do() -> None:
    for error in (refusal("a > avg(a)"), query_refusal("SELECT DISTINCT a FROM people")):
        assert "Allowed are the row's own columns" in error.hint
        assert "`--rows-are-units` (`rows_are_units=True`)" in error.hint
        assert "a row of the prepared table is protected" in error.hint


# CONSISTENT in DuckDB's own list, and yet not in ours, with the reason.
REVIEWED_AND_REFUSED = {
    "reads the clock": "age current_localtime current_localtimestamp",
    "reads a table's index, a query or a log": """
        index_key json_deserialize_sql json_serialize_plan json_serialize_sql parse_duckdb_log_message
    """,
    "takes an aggregate by its name, which may be random": """
        aggregate array_aggr array_aggregate list_aggr list_aggregate
    """,
    "leaves the order of its result open": "array_distinct array_intersect list_distinct list_intersect",
    "takes a lambda": """
        apply array_apply array_filter array_reduce array_transform filter invoke list_apply list_filter
        list_reduce list_transform reduce
    """,
    "is about a type, which may have been made from data": """
        alias can_cast_implicitly cast_to_type enum_code enum_first enum_last enum_range
        enum_range_boundary get_type make_type replace_type
    """,
    "is about the states of an aggregate": "combine finalize is_histogram_other_bin to_aggregate_state",
    "is the engine's own tool": """
        __between __cast bitstring_byte_comparable constant_or_null create_sort_key icu_sort_key
        remap_struct timetz_byte_comparable unpivot_list variant_bytes_to_variant variant_comparator
        variant_normalize variant_to_parquet_variant
    """,
    "may take all memory, or end the process, by one value": """
        array_select damerau_levenshtein format json_contains json_pretty list_select printf
    """,
    "follows the platform": "hive_partition_component path_join",
    "was not needed yet": """
        bar binom decimal_division equi_width_bins json_deep_merge json_insert json_merge_patch_diff
        json_normalize json_remove json_replace json_set json_strip_nulls st_asbinary st_asgeojson st_astext
        st_aswkb st_aswkt st_crs st_geomfromgeojson st_geomfromwkb st_intersects_extent st_setcrs switch
        variant_array_length variant_contains variant_exists variant_extract variant_extract_string
        variant_keys variant_type variant_typeof vertex_extract
    """,
    "is written as a comparison": "= != < <= > >=",
}
REFUSED_BY_PATTERN = re.compile(r"(icu_)?collate_\w+|__internal_\w+|is( not)? distinct from")
SUSPICIOUS = re.compile(
    r"env|var(iable)?$|setting|current|session|user|role|now|today|local|clock|rand|uuid|seed|seq|nextval"
    r"|currval|txid|transaction|catalog|schema|database|search_path|pg_|secret|read_|write|file|glob|log_|error"
    r"|assert|stat|vector_type|sql|plan|exec|query|pragma|parquet|sleep|index_key|version|lambda|aggr|rowid"
)


def consistent_scalars() -> set[str]:
    rows = run(CONNECTION, "SELECT function_name, function_type, internal, stability FROM duckdb_functions()")
    forms: dict[str, set[tuple[object, ...]]] = {}
    for name, *form in rows:
        forms.setdefault(name.lower(), set()).add(tuple(form))
    return {name for name, found in forms.items() if found == {("scalar", True, "CONSISTENT")}}


def test_every_consistent_function_of_duckdb_was_reviewed() -> None:
    """An upgrade of DuckDB brings new functions: read each, then list it here or in the module."""
    refused = {name for names in REVIEWED_AND_REFUSED.values() for name in names.split()}
    found = consistent_scalars()
    open_ones = {name for name in found if not REFUSED_BY_PATTERN.fullmatch(name)}

    assert open_ones - refused - ROW_LOCAL == set()
    assert refused & ROW_LOCAL == set()
    assert refused <= found
    assert found >= ROW_LOCAL  # each exists, and is what the module takes it for


def test_suspicious_names_among_the_allowed_are_known() -> None:
    suspects = {name for name in ROW_LOCAL if SUSPICIOUS.search(name)}

    assert suspects == {
        "parse_filename",  # takes a text apart
        "uuid_extract_timestamp",  # from the identifier given
        "uuid_extract_version",
    }


def test_the_bodies_of_allowed_macros_are_row_local() -> None:
    for name in (name for name, known in FUNCTIONS.items() if known.macro):
        found = run(
            CONNECTION,
            "SELECT macro_definition FROM duckdb_functions() "
            f"WHERE function_name = '{name}' AND internal AND function_type = 'macro'",
        )
        assert found
        for (body,) in found:
            read_condition(f"({body}) IS NULL", CONNECTION)


PUBLIC_ONLY = sorted(name for name, known in FUNCTIONS.items() if known.public)


@pytest.mark.parametrize("name", PUBLIC_ONLY)
def test_functions_of_public_values_see_no_rows(name: str) -> None:
    arguments = ", ".join(["5"] * 3)

    assert f"uses `{name}`, " in refusal(f"{name}({arguments}) IS NULL").fact
    query_refusal(f"SELECT {name}({arguments}) AS x FROM trips")
    read_condition(f"{name}({arguments}) IS NULL", CONNECTION, CONDITION)


def test_functions_that_parse_text_are_on_no_list() -> None:
    assert SQL_IN_TEXT.isdisjoint(FUNCTIONS)
    for name in sorted(SQL_IN_TEXT):
        for query in (f"FROM {name}('SELECT 1')", f"SELECT 1 WHERE {name.upper()}('x') IS NULL"):
            with pytest.raises(BadQuery, match=f"uses `{name}`, which reads SQL from text"):
                check_select(query, CONNECTION)


def test_every_name_that_has_a_value_without_a_table_is_refused() -> None:
    names = run(
        CONNECTION,
        "SELECT function_name FROM duckdb_functions() UNION SELECT keyword_name FROM duckdb_keywords() "
        "UNION SELECT name FROM duckdb_settings()",
    )
    known = {"current_time", "current_timestamp", "localtime", "localtimestamp", "current_date", "user"}
    refused = set()
    found = sorted({name for (name,) in names})
    for name in {*(found if statistics.LONG else found[::8]), *known}:
        quoted = '"{}"'.format(name.replace('"', '""'))
        try:
            run(CONNECTION, f"EXPLAIN SELECT {quoted}")
        except duckdb.Error:
            continue
        refused.add(name)
        assert "a value of its own" in refusal(f"{quoted} = 1").fact
        read_condition(f"data.{quoted} = 1", CONNECTION)

    assert refused >= known


HIDING = [
    ("lower(x) AS (SELECT max(a) FROM people)", "lower(s) = 'x'"),
    ('"+"(x, y) AS (SELECT max(a) FROM people)', "a + 1 = 2"),
    ('"~~"(x, y) AS true', "s LIKE 'x'"),
    ("LIST_VALUE(x) AS 1", "[1] = l"),
    ("string_split(x, y) AS ['x']", "split_part(s, '-', 1) = 'x'"),  # inside a built-in macro
    ("struct_extract(x, y) AS 1", "st.x = 1"),  # without its name
    ("array_extract(x, y) AS 1", "l[1] = 1"),
    ("contains(x, y) AS true", "a IN l"),
    ("json_serialize_sql(x) AS '{}'", "sum(a) = 1"),
    ("duckdb_functions() AS TABLE SELECT 1 AS x", "lower(s) = 'x'"),
]


@pytest.mark.parametrize(
    ("macro", "condition", "where"),
    # Each macro, permanent and temporary in turn.
    chosen(
        ((*hiding, where) for hiding, where in product(HIDING, ["", "TEMP "])),
        lambda number: number % 2 == number // 2 % 2,
    ),
)
def test_a_macro_that_hides_a_function_is_refused(
    macro: str, condition: str, where: str, connection: DuckDBPyConnection
) -> None:
    run(connection, "CREATE TABLE people (a INTEGER)")
    run(connection, f"CREATE {where}MACRO {macro}")

    assert "defines its own" in refusal(condition, connection).fact
    assert "defines its own" in query_refusal(f"SELECT * FROM people WHERE {condition}", connection).fact


def test_a_macro_of_an_attached_database_counts(tmp_path: Path, connection: DuckDBPyConnection) -> None:
    with duckdb.connect(tmp_path / "owner.duckdb") as owner:
        run(owner, "CREATE TABLE people (s VARCHAR)")
        run(owner, "CREATE MACRO upper(x) AS (SELECT max(s) FROM people)")
        run(owner, "CREATE MACRO tidy(x) AS trim(x)")
    run(connection, f"ATTACH '{tmp_path / 'owner.duckdb'}' AS owner (READ_ONLY)")

    assert "defines its own `upper`" in refusal("upper(s) = 'X'", connection).fact
    run(connection, "USE owner")
    assert "defines its own `upper`" in refusal("upper(s) = 'X'", connection).fact


def test_macros_and_python_functions_of_the_owner_are_refused(connection: DuckDBPyConnection) -> None:
    run(connection, "CREATE MACRO tidy(x) AS trim(x)")
    run(connection, "CREATE MACRO pick(x) AS TABLE SELECT x")

    def seen(x: int) -> int:
        return x

    connection.create_function("seen", seen, ["BIGINT"], "BIGINT")

    for name in ("tidy", "pick", "seen"):
        assert f"`{name}`" in refusal(f"{name}(a) = 1", connection).fact
    read_condition("trim(s) = 'x'", connection)  # their names hide nothing


class Doctored:
    """A connection whose parse trees are changed by `change` before they are read."""

    def __init__(self, change: Any) -> None:
        self.change = change
        self.rows: list[tuple[Any, ...]] = []

    def execute(self, query: str, parameters: list[str] | None = None) -> "Doctored":
        self.rows = CONNECTION.execute(query, parameters).fetchall()
        if "json_serialize_sql" in query:
            tree = json.loads(self.rows[0][0])
            self.change(tree["statements"][0])
            self.rows = [(json.dumps(tree, separators=(",", ":")),)]
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows


WHERE = ("node", "where_clause")
FUNCTION = (*WHERE, "left")
UNKNOWN = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": ["z"]}


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        ((), "new_clause", [UNKNOWN]),
        (("node",), "new_clause", UNKNOWN),
        (("node",), "new_switch", True),
        (("node",), "type", "NEW_NODE"),
        (("node",), "aggregate_handling", "NEW_HANDLING"),
        (("node",), "modifiers", [{"type": "NEW_MODIFIER"}]),
        (("node", "from_table"), "new_clause", 1),
        (("node", "from_table"), "type", "NEW_REF"),
        (("node", "from_table"), "qualified_name", {"path": ["other", "data"]}),
        (("node", "select_list", 0), "new_switch", True),
        (WHERE, "class", "NEW_CLASS"),
        (WHERE, "type", "COMPARE_NEW"),
        (WHERE, "new_child", UNKNOWN),
        (WHERE, "left", "text"),
        (FUNCTION, "new_switch", True),
        (FUNCTION, "new_children", [UNKNOWN]),
        (FUNCTION, "qualified_name", {"path": ["other", "lower"]}),
        ((*FUNCTION, "arguments", 0), "new_child", UNKNOWN),
        ((*FUNCTION, "arguments", 0), "expression", {"new": 1}),
        ((*FUNCTION, "arguments", 0, "expression"), "new_child", {"x": UNKNOWN}),
    ],
)
def test_what_a_later_duckdb_may_add_to_the_tree_is_refused(
    path: tuple[str | int, ...], field: str, value: object
) -> None:
    def change(tree: Any) -> None:
        for step in path:
            tree = tree[step]
        tree[field] = value

    read_condition("lower(s) = 'x'", cast(DuckDBPyConnection, Doctored(lambda tree: None)))
    with pytest.raises(BadQuery):
        read_condition("lower(s) = 'x'", cast(DuckDBPyConnection, Doctored(change)))


def test_a_tree_of_an_older_duckdb_names_the_version() -> None:
    old = Doctored(lambda tree: tree["node"]["from_table"].pop("qualified_name"))

    assert "duckdb>=2.0" in refusal("a = 1", cast(DuckDBPyConnection, old)).hint


# Random expressions of allowed pieces. Each leaf stands in marks, so that one of them can be exchanged.
LEAVES = st.sampled_from(
    ["a", "data.b", '"odd name"', "1", "2.5", "'it''s (not) a -- bracket'", "NULL", "st.x"]
)
FRAMES = st.sampled_from(
    [
        ("({} + {})", 2),
        ("({} = {})", 2),
        ("({} AND {} OR NOT {})", 3),
        ("(- {})", 1),
        ("({} IS NULL)", 1),
        ("({} BETWEEN {} AND {})", 3),
        ("({} IN ({}, {}))", 3),
        ("({} LIKE 'a!%' ESCAPE '!')", 1),
        ("(CASE WHEN {} THEN {} ELSE {} END)", 3),
        ("(CASE {} WHEN {} THEN {} END)", 3),
        ("CAST({} AS DECIMAL(9, 2))", 1),
        ("TRY_CAST({} AS my_type)", 1),
        ("({})::VARCHAR[]", 1),
        ("(({}) COLLATE nocase)", 1),
        ("lower({})", 1),
        ("date_trunc('month', {})", 1),
        ("coalesce({}, {})", 2),
        ("nullif({}, {})", 2),
        ("if({}, {}, {})", 3),
        ("[{}, {}]", 2),
        ("{{'x': {}}}", 1),
        ("MAP {{'k': {}}}", 1),
        ("({})[{}]", 2),
        ("({})[{}:{}]", 3),
        ("({}).field", 1),
        ("TRY({})", 1),
        ("extract(year FROM {})", 1),
        ("(({}, {}) = ({}, {}))", 4),
        ("({} /* note */ || {} -- note\n)", 2),
    ]
)
FORBIDDEN = st.sampled_from(
    [
        "sum(a)",
        "count(*)",
        "(sum(a) FILTER (WHERE b))",
        "lower(a ORDER BY b)",
        "(row_number() OVER ())",
        "(SELECT 1)",
        "(SELECT sum(a) FROM data)",
        "EXISTS (FROM data)",
        "(a IN (SELECT 1))",
        "(a = ANY (l))",
        "unnest(l)",
        "random()",
        "now()",
        "current_date",
        "user",
        "age(a)",
        "rowid",
        "data.rowid",
        "#1",
        "$1",
        "COLUMNS(*)",
        "list_transform(l, lambda x: x)",
        "(l -> 1)",
        "main.lower(a)",
        "getvariable('x')",
        "nextval('s')",
        "error('x')",
        "no_such_function(a)",
        "list_sum(l)",
    ]
)


@st.composite
def framed(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> str:
    frame, count = draw(FRAMES)
    return frame.format(*(draw(parts) for _ in range(count)))


EXPRESSIONS = st.recursive(LEAVES.map("\u27e6{}\u27e7".format), framed, max_leaves=12)
LEAF = re.compile("\u27e6(.*?)\u27e7")


@given(marked=EXPRESSIONS)
def test_random_row_local_expressions_pass(marked: str) -> None:
    expression = LEAF.sub(r"\1", marked)

    read_condition(expression, CONNECTION)
    read_query(f"SELECT {expression} AS x, * FROM trips WHERE {expression}", CONNECTION, tables=TABLES)
    check_select(f"SELECT {expression} FROM trips", CONNECTION)


@given(marked=EXPRESSIONS, forbidden=FORBIDDEN, data=st.data())
def test_one_forbidden_piece_anywhere_is_refused(marked: str, forbidden: str, data: st.DataObject) -> None:
    leaves = list(LEAF.finditer(marked))
    chosen = data.draw(st.sampled_from(leaves))
    spoiled = marked[: chosen.start()] + forbidden + marked[chosen.end() :]
    expression = LEAF.sub(r"\1", spoiled)

    assert "cannot read" not in refusal(expression).fact
    for query in (f"SELECT {expression} FROM trips", f"SELECT * REPLACE ({expression} AS a) FROM trips"):
        assert "cannot read" not in query_refusal(query).fact


@given(text=st.text(max_size=40) | st.text(alphabet="()[]{}'\"$;-/*a=1, \n", max_size=40))
@example("a\u2028b")
@example("'\ufffe'")
def test_any_text_passes_or_is_refused(text: str) -> None:
    for check in (read_condition, check_select):
        try:
            check(text, CONNECTION)
        except BadQuery as error:
            unchained(error)


# What passes is row-local in its results too: rows can be reordered, taken apart and left out.
ROWS = """
    SELECT
        i AS id,
        CASE WHEN i % 7 = 0 THEN NULL ELSE i * 13 % 10 END AS a,
        CASE WHEN i % 5 = 0 THEN NULL ELSE chr(CAST(65 + i % 4 AS INTEGER)) || '-' || i % 3 END AS s,
        DATE '2024-01-01' + CAST(i * 11 AS INTEGER) AS day_of,
        CASE WHEN i % 6 = 0 THEN NULL ELSE [i % 3, i % 2] END AS l,
        {'x': i % 4, 'y': 'y' || i % 2} AS st,
        MAP {'k': i % 3} AS m,
        '{"n": ' || i % 3 || '}' AS j,
        i % 2 = 0 AS "user"
    FROM range(30) numbers(i)
"""
ACCEPTED = [
    "SELECT * FROM people",
    "SELECT a FROM people WHERE a > 3",
    "SELECT a + 1, -a, a / 2, a // 2, a % 3, a ** 2 FROM people WHERE NOT (a = 5 OR a IS NULL)",
    "SELECT * EXCLUDE (s) REPLACE (a * 2 AS a) RENAME (l AS list) FROM people p WHERE p.a BETWEEN 2 AND 7",
    "SELECT lower(s), s LIKE 'A%', s COLLATE nocase = 'a-1', split_part(s, '-', 2), nullif(a, 3) FROM people",
    "SELECT CASE WHEN a > 5 THEN 'high' WHEN a IS NULL THEN '?' ELSE 'low' END FROM people",
    "SELECT TRY_CAST(s AS INTEGER), TRY(substring(s, 3)::int // (a - 3)), TRY(s::int) FROM people",
    "SELECT date_trunc('month', day_of), extract(dow FROM day_of), day_of + INTERVAL 1 MONTH FROM people",
    "SELECT strftime(day_of, '%Y-%m'), date_diff('day', DATE '2024-01-01', day_of) FROM people",
    "SELECT l[1], l[2:], list_sort(l), len(l), list_contains(l, 1), [a, id], a IN l FROM people",
    "SELECT st.x, (st).y, struct_pack(z := a), m['k'], map_keys(m), {'q': s} FROM people WHERE st.x < 3",
    "SELECT j ->> '$.n', json_extract(j, '$.n'), to_json(people), people FROM people",
    "SELECT hash(a, s), md5(s), coalesce(a, 0), if(a > 3, s, 'x'), greatest(a, id), concat(a, s) FROM people",
    "SELECT regexp_replace(s, '[A-B]', 'x'), s SIMILAR TO '[A-C]-.', s ~ '1', split(s, '-') FROM people",
    "SELECT people.user FROM people WHERE people.user",
    "SELECT x, y FROM people AS p(x, y) WHERE y IS DISTINCT FROM 3",
    "SELECT a AS twice, twice * 2 AS four FROM people WHERE four > 4",
    "SELECT 1 FROM people WHERE (a, st.x) IN ((1, 2), (3, 3), (9, 1))",
    "SELECT a FROM people WHERE NULL",
]
REFUSED = [
    "SELECT rowid FROM people",
    "SELECT a - avg(a) OVER () FROM people",
    "SELECT a FROM people WHERE a > (SELECT avg(a) FROM people)",
    "SELECT sum(a) FROM people",
    "SELECT DISTINCT a FROM people",
    "SELECT a FROM people GROUP BY ALL",
    "SELECT a FROM people LIMIT 10",
    "SELECT unnest(l) FROM people",
    "SELECT a FROM people, (SELECT max(a) AS top FROM people) WHERE a = top",
    "SELECT random() FROM people",
]


def results(connection: DuckDBPyConnection, query: str, ids: list[int]) -> Counter[str]:
    """The rows that the query makes of the rows with these ids, stored in this order."""
    run(connection, "DELETE FROM people")
    order = f"list_position({ids}::BIGINT[], id)"
    run(connection, f"INSERT INTO people FROM source WHERE {order} IS NOT NULL ORDER BY {order}")
    return Counter(map(repr, run(connection, query)))


def is_row_local(connection: DuckDBPyConnection, query: str) -> bool:
    ids = list(range(30))
    whole = results(connection, query, ids)
    shuffled = [number * 7 % 30 for number in ids]
    singles = [results(connection, query, [number]) for number in ids]
    return (
        whole == results(connection, query, shuffled)
        and whole == results(connection, query, ids[:11]) + results(connection, query, ids[11:])
        and all(single.total() <= 1 for single in singles)
        and whole == sum(singles, Counter[str]())
        and all(
            results(connection, query, [*ids[:gone], *ids[gone + 1 :]]) == whole - singles[gone]
            for gone in (0, 13, 29)
        )
    )


@pytest.fixture
def people(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    run(connection, f"CREATE TABLE source AS {ROWS}")
    run(connection, "CREATE TABLE people AS FROM source LIMIT 0")
    return connection


@pytest.mark.parametrize("query", ACCEPTED)
def test_what_passes_is_row_local_in_its_results(query: str, people: DuckDBPyConnection) -> None:
    read_query(query, people, tables=["people"])

    assert is_row_local(people, query)


@pytest.mark.parametrize("query", REFUSED)
def test_that_test_catches_what_is_not_row_local(query: str, people: DuckDBPyConnection) -> None:
    query_refusal(query, people)

    assert not is_row_local(people, query)


def test_the_module_loads_without_duckdb() -> None:
    code = "import sys, hushtable.conditions.guard.statements; sys.exit('duckdb' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
