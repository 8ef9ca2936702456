"""Which rows are read: names letter by letter, no view unless it is said, one snapshot, nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.engines.local import postgres
from hushtable.engines.local.addresses import Address, ServerRows
from hushtable.engines.local.rows import opened_rows
from tests.engines.contracts.refusals import Refuse
from tests.engines.reference import counts_of
from tests.postgres.server import Server

X = ht.Domain(x=ht.integers(0, 9))


@pytest.fixture(scope="module")
def clinic(server: Server) -> Iterator[Server]:
    """A schema with a table, what may hide one, and a user who sees a part."""
    for statement in (
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.visits (x integer, n bigint, twice bigint GENERATED ALWAYS AS (n * 2) STORED)",
        "INSERT INTO clinic.visits SELECT 1, 2 FROM generate_series(1, 5)",
        "CREATE VIEW clinic.seen AS SELECT x, count(*) AS n FROM clinic.visits GROUP BY x",
        "CREATE MATERIALIZED VIEW clinic.kept AS SELECT x FROM clinic.visits",
        "CREATE TABLE clinic.guarded (x integer, hidden boolean)",
        "INSERT INTO clinic.guarded VALUES (1, false), (1, true)",
        "ALTER TABLE clinic.guarded ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY shown ON clinic.guarded USING (NOT hidden)",
        "CREATE TABLE clinic.parts (x integer) PARTITION BY LIST (x)",
        "CREATE TABLE clinic.part_1 PARTITION OF clinic.parts FOR VALUES IN (1)",
        "CREATE TABLE clinic.part_2 PARTITION OF clinic.parts FOR VALUES IN (2)",
        "INSERT INTO clinic.parts VALUES (1), (2), (2)",
        "CREATE SEQUENCE clinic.numbers",
        "CREATE ROLE limited LOGIN",
        "GRANT USAGE ON SCHEMA clinic TO limited",
        "GRANT SELECT (x) ON clinic.visits TO limited",
        "GRANT SELECT ON clinic.guarded, clinic.seen TO limited",
    ):
        server.sql(statement)
    yield server
    server.sql("DROP SCHEMA clinic CASCADE")
    server.sql("DROP ROLE limited")


ODD = 'odd "{0}".; --'


@pytest.mark.parametrize("table", [ODD, "Visits", "o'clock\\", "naïve table", "a" * 63])
def test_names_are_taken_letter_by_letter(server: Server, table: str) -> None:
    quoted = '"' + table.replace('"', '""') + '"'
    server.sql(f"CREATE TABLE {quoted} ({quoted} integer)")
    server.sql(f"INSERT INTO {quoted} VALUES (3)")
    domain = ht.Domain.from_dict({"attribute": [{"name": table, "integers": {"low": 0, "high": 9}}]})
    spelled = quoted if "." in table or '"' in table else table

    for name in (spelled, f"public.{spelled}", f'"public".{quoted}'):
        assert counts_of(ht.count(server.url(), table=name, domain=domain)) == {(3,): 1}
    server.sql(f"DROP TABLE {quoted}")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("visit", "no table 'visit' that you may see. Did you mean 'visits'?"),
        ("VISITS", "no table 'VISITS' that you may see. Did you mean 'visits'?"),
        ("clinic.Visits", "Did you mean 'clinic.visits'?"),
        ("postgres.clinic.visits", "names no table"),
        ('clinic."visits', "names no table"),
        ("pg_class", "no table 'pg_class'"),
    ],
)
def test_a_name_that_is_none_is_told(clinic: Server, refuse: Refuse, table: str, told: str) -> None:
    assert told in str(refuse(clinic.url(), table=table, domain=X))


def test_of_several_tables_one_is_named(clinic: Server, refuse: Refuse) -> None:
    error = refuse(clinic.url(), domain=X)
    assert "has several tables: 'clinic.guarded', 'clinic.part_1'" in str(error)
    clinic.sql("CREATE SCHEMA other")
    clinic.sql("CREATE TABLE other.visits (x integer)")
    clinic.sql("ALTER ROLE owner SET search_path = other, clinic")  # it chooses none of them

    error = refuse(clinic.url(), table="visits", domain=X)

    assert "several tables 'visits': 'clinic.visits', 'other.visits'. Name the schema too" in str(error)
    assert counts_of(ht.count(clinic.url(), table="clinic.visits", domain=X)) == {(1,): 5}
    clinic.sql("DROP SCHEMA other CASCADE")
    clinic.sql("ALTER ROLE owner RESET search_path")


@pytest.mark.parametrize(
    ("table", "told"), [("seen", "a view, which may join"), ("kept", "a materialized view, which may join")]
)
def test_a_view_is_read_only_as_a_prepared_table(
    clinic: Server, refuse: Refuse, tmp_path: Path, table: str, told: str
) -> None:
    assert f"'clinic.{table}' is {told}" in str(refuse(clinic.url(), table=table, domain=X))

    release = ht.publish(
        clinic.url(), table=table, domain=X, epsilon=1, size=10, rows_are_units=True, ledger=False,
        output=tmp_path / "out.parquet",
    )  # fmt: skip

    assert "row of the owner's prepared table" in release.guarantee.replace("(of", "of").replace(
        "Each row", "row"
    )


def test_partitions_are_read_once(clinic: Server) -> None:
    assert counts_of(ht.count(clinic.url(), table="clinic.parts", domain=X)) == {(1,): 1, (2,): 2}


def test_a_part_that_is_a_foreign_table_is_read_only_as_a_prepared_table(
    clinic: Server, refuse: Refuse
) -> None:
    clinic.sql("CREATE FOREIGN DATA WRAPPER anywhere")
    clinic.sql("CREATE SERVER afar FOREIGN DATA WRAPPER anywhere")
    clinic.sql("CREATE TABLE clinic.far (x integer) PARTITION BY LIST (x)")
    clinic.sql("CREATE TABLE clinic.far_1 PARTITION OF clinic.far FOR VALUES IN (1) PARTITION BY LIST (x)")
    clinic.sql("CREATE FOREIGN TABLE clinic.far_11 PARTITION OF clinic.far_1 FOR VALUES IN (1) SERVER afar")
    told = "'clinic.far' has a part that is a foreign table, whose rows may come from anywhere"

    assert told in str(refuse(clinic.url(), table="far", domain=X))
    clinic.sql("DROP TABLE clinic.far")
    clinic.sql("DROP FOREIGN DATA WRAPPER anywhere CASCADE")


def test_amounts_are_not_read_where_columns_are_computed_from_others(clinic: Server, refuse: Refuse) -> None:
    error = refuse(clinic.url(), table="visits", domain=X, count_column="n")
    assert "computes columns from others" in str(error)


def test_amounts_are_not_read_where_a_table_that_inherits_computes_columns(
    clinic: Server, refuse: Refuse
) -> None:
    clinic.sql("CREATE TABLE clinic.above (x integer, n integer)")
    clinic.sql("INSERT INTO clinic.above VALUES (1, 2)")
    clinic.sql(
        "CREATE TABLE clinic.below (x integer GENERATED ALWAYS AS (n % 10) STORED) INHERITS (clinic.above)"
    )
    clinic.sql("INSERT INTO clinic.below (n) VALUES (7)")

    assert counts_of(ht.count(clinic.url(), table="above", domain=X)) == {(1,): 1, (7,): 1}
    error = refuse(clinic.url(), table="above", domain=X, count_column="n")
    assert "computes columns from others" in str(error)
    clinic.sql("DROP TABLE clinic.above CASCADE")


def test_a_user_who_may_read_one_column_reads_that(clinic: Server, refuse: Refuse) -> None:
    where = ServerRows(Address(clinic.url("limited")), "clinic.visits")

    assert counts_of(ht.count(where, domain=X)) == {(1,): 5}
    assert "have no column 'n'" in str(
        refuse(where, domain=ht.Domain(x=ht.integers(0, 9), n=ht.integers(0, 9)))
    )
    assert "may not read all of" in str(refuse(clinic.url("limited"), table="clinic.parts", domain=X))


def test_rows_that_a_policy_hides_are_not_left_out_silently(clinic: Server, refuse: Refuse) -> None:
    limited, guarded = clinic.url("limited"), "clinic.guarded"

    assert "some of its rows are hidden from you" in str(refuse(limited, table=guarded, domain=X))
    assert counts_of(ht.count(clinic.url(), table=guarded, domain=X)) == {(1,): 2}
    assert counts_of(ht.count(limited, table=guarded, domain=X, rows_are_units=True)) == {(1,): 1}


def test_no_object_of_others_takes_the_place_of_ours(clinic: Server) -> None:
    """Functions, operators and types that somebody puts before those of PostgreSQL."""
    for statement in (
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.never(date, date) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR evil.> (LEFTARG = date, RIGHTARG = date, FUNCTION = evil.never)",
        "CREATE TABLE clinic.days (v date, c char(3))",
        "INSERT INTO clinic.days VALUES ('2024-01-01', 'ab')",
        "ALTER ROLE owner SET search_path = evil, pg_catalog",
    ):
        clinic.sql(statement)
    try:
        domain = ht.Domain(v=ht.times("2024-01-01", "2024-01-02", every="1 day"), c=ht.categories(["ab"]))
        assert counts_of(ht.count(clinic.url(), table="clinic.days", domain=domain)) == {(0, 0): 1}
    finally:
        clinic.sql("ALTER ROLE owner RESET search_path")
        clinic.sql("DROP SCHEMA evil CASCADE")


def test_a_table_is_locked_before_the_snapshot(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emptied after the snapshot and before it is read, it would seem empty: no snapshot hides that."""
    clinic.sql("CREATE TABLE clinic.loaded AS SELECT * FROM clinic.visits")
    described = postgres.ServerSession.described

    def emptied_first(self: postgres.ServerSession, sql: str) -> list[postgres.SentColumn]:
        clinic.sql("SET lock_timeout = '50ms'")
        with pytest.raises(Exception, match="lock timeout"):
            clinic.sql("TRUNCATE clinic.loaded")
        clinic.sql("RESET lock_timeout")
        return described(self, sql)

    monkeypatch.setattr(postgres.ServerSession, "described", emptied_first)

    assert counts_of(ht.count(clinic.url(), table="clinic.loaded", domain=X)) == {(1,): 5}
    clinic.sql("DROP TABLE clinic.loaded")


def test_rows_are_those_of_one_snapshot(clinic: Server) -> None:
    where = ServerRows(Address(clinic.url()), "clinic.visits")
    opened = opened_rows(
        where, names=["x"], query=None, where=None, rows_are_units=False, memory=1 << 28, threads=1
    )
    with opened as rows:
        clinic.sql("INSERT INTO clinic.visits VALUES (9, 9)")
        found = rows.connection.execute(f"SELECT x FROM ({rows.sql}) AS rows").fetchall()
        clinic.sql("DELETE FROM clinic.visits WHERE x = 9")

    assert found == [(1,)] * 5


def test_a_query_that_prepares_its_rows_is_run_by_the_database(clinic: Server, refuse: Refuse) -> None:
    query = "SELECT DISTINCT ON (x) x, 'a'::char(3) AS c FROM clinic.visits -- in the words of PostgreSQL;"
    domain = ht.Domain(x=ht.integers(0, 9), c=ht.categories(["a"]))

    assert counts_of(ht.count(clinic.url(), query=query, rows_are_units=True, domain=domain)) == {(1, 0): 1}
    assert counts_of(
        ht.count(clinic.url(), query=query, rows_are_units=True, domain=domain, where="c = 'a' AND x > 1")
    ) == {}  # fmt: skip
    assert counts_of(
        ht.count(clinic.url(), table="visits", query="SELECT x + 1 AS x FROM data WHERE n > 1", domain=X)
    ) == {(2,): 5}
    joined = "SELECT a.x FROM data AS a, data AS b"
    assert "row-local" in str(refuse(clinic.url(), table="visits", query=joined, domain=X))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT nextval('clinic.numbers')::integer AS x",
        "WITH gone AS (DELETE FROM clinic.visits RETURNING x) SELECT x FROM gone",
        "SELECT 1 AS x; DELETE FROM clinic.visits",
        "DELETE FROM clinic.visits RETURNING x",
        "SELECT x FROM clinic.visits) TO '/tmp/stolen'; SELECT (1",
        "SELECT x FROM nowhere",
    ],
)
def test_a_query_that_writes_or_is_none_is_refused(clinic: Server, refuse: Refuse, query: str) -> None:
    refuse(clinic.url(), query=query, rows_are_units=True, domain=X)

    assert clinic.sql("SELECT count(*) FROM clinic.visits") == [(5,)]
    assert clinic.sql("SELECT is_called FROM clinic.numbers") == [(False,)]


def test_check_and_draft_look_at_a_table(clinic: Server) -> None:
    report = ht.check(clinic.url(), table="visits", domain=X)

    assert (report.rows_read, report.unused, report.fits) == (5, ("n", "twice"), True)
    assert 'name = "twice"' in ht.draft(clinic.url(), table="visits")
    assert 'name = "twice"' not in ht.draft(clinic.url(), table="visits", columns=["x"], rows=2)
