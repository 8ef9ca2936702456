"""Values of PostgreSQL come as they are, or are refused: each type, and its ends."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.engines.local.addresses import Address, ServerRows
from hushtable.engines.local.rows import opened_rows
from tests.engines.contracts.refusals import CANARY, Refuse
from tests.engines.reference import counts_of
from tests.postgres.server import Server

X = ht.Domain(x=ht.integers(0, 9))


def rows_of(data: Any, *names: str) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """Return the types of columns as DuckDB has them, and their values as text, in order."""
    with opened_rows(
        data, names=names, query=None, where=None, rows_are_units=False, memory=1 << 28, threads=1
    ) as rows:
        rows.connection.execute("SET timezone = 'UTC'")
        texts = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
        found = rows.connection.execute(f"SELECT {texts} FROM ({rows.sql}) AS rows").fetchall()
        return {name: rows.columns[name] for name in names}, found


def stored(server: Server, kind: str, *values: str) -> ServerRows:
    """Store values, as SQL, in a column `v` of a type, and return the table."""
    name = f"v{len(server.sql('SELECT 1 FROM pg_class'))}"
    server.sql(f"CREATE TABLE {name} (v {kind})")
    server.sql(f"INSERT INTO {name} VALUES {', '.join(f'({value})' for value in values)}")
    return ServerRows(Address(server.url()), name)


@pytest.mark.parametrize(
    ("kind", "values", "same"),
    [
        ("boolean", ["true", "NULL"], pa.array([True, None])),
        ("smallint", ["-32768", "32767"], pa.array([-32768, 32767], pa.int16())),
        ("bigint", ["-9223372036854775808", "NULL"], pa.array([-(2**63), None])),
        ("oid", ["4294967295"], pa.array([2**32 - 1])),
        ("real", ["'NaN'", "'-Infinity'", "0.1"], pa.array([float("nan"), float("-inf"), 0.1], pa.float32())),
        ("float8", ["'NaN'", "'Infinity'", "'-0'"], pa.array([float("nan"), float("inf"), -0.0])),
        ("text", ["''", "'ä '", "NULL"], pa.array(["", "ä ", None])),
        ("varchar(9)", ["'a  '"], pa.array(["a  "])),
        ("char(4)", ["'ab'", "' a'", "''"], pa.array(["ab", " a", ""])),  # padding is none of it
        ("name", ["'n'"], pa.array(["n"])),
        ("bytea", [r"'\x00ff'"], pa.array([b"\x00\xff"])),
        (
            "uuid",
            ["'00000000-0000-0000-0000-0000000000ff'"],
            pa.array([bytes(15) + b"\xff"], pa.binary(16)).cast(pa.uuid()),
        ),
        ("time", ["'23:59:59.999999'", "'24:00'"], pa.array([86_399_999_999, None], pa.time64("us"))),
        (
            "date",
            ["'infinity'", "'-infinity'", "'4714-11-24 BC'", "'2024-02-29'", "NULL"],
            pa.array([2**31 - 1, -(2**31) + 1, -2440588, 19782, None], pa.int32()).cast(pa.date32()),
        ),
        (
            "timestamp",
            ["'infinity'", "'-infinity'", "'294276-12-31'", "'0001-01-01'", "'2024-02-29 01:02:03.000004'"],
            pa.array([2**63 - 1, -(2**63) + 1, 2**63 - 1, -62135596800000000, 1709168523000004]).cast(
                pa.timestamp("us")
            ),
        ),
        (
            "timestamptz",
            ["'infinity'", "'2024-02-29 01:00:00+01'", "'294276-12-31'", "NULL"],
            pa.array([2**63 - 1, 1709164800000000, 2**63 - 1, None]).cast(pa.timestamp("us", tz="UTC")),
        ),
        (
            "numeric(38, 3)",
            ["'NaN'", "-1.5", "99999999999999999999999999999999999.999", "NULL"],
            pa.array([None, "-1.5", "99999999999999999999999999999999999.999", None]).cast(
                pa.decimal128(38, 3)
            ),
        ),
        ("numeric(2)", ["7"], pa.array([7], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(2, 0))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_are_those_of_the_same_rows_in_arrow(
    server: Server, kind: str, values: list[str], same: pa.Array
) -> None:
    assert rows_of(stored(server, kind, *values), "v") == rows_of(pa.table({"v": same}), "v")


def test_domains_and_enumerations_are_what_they_are_made_of(server: Server) -> None:
    server.sql("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    server.sql("CREATE DOMAIN age AS integer CHECK (value >= 0)")
    server.sql("CREATE DOMAIN adult AS age CHECK (value > 17)")
    server.sql("CREATE DOMAIN feeling AS mood")
    server.sql("CREATE DOMAIN code AS char(5)")
    server.sql("CREATE TABLE made (a adult, m mood, f feeling, c code)")
    server.sql("INSERT INTO made VALUES (18, 'sad', 'glad', 'x'), (NULL, NULL, NULL, NULL)")

    types, rows = rows_of(ServerRows(Address(server.url()), "made"), "a", "m", "f", "c")

    assert list(types.values()) == ["INTEGER", "VARCHAR", "VARCHAR", "VARCHAR"]
    assert rows == [("18", "sad", "glad", "x"), (None, None, None, None)]


def test_json_that_is_none_is_missing_and_stops_nothing(server: Server) -> None:
    server.sql("CREATE TABLE documents (j json, b jsonb)")
    server.sql(r"""INSERT INTO documents VALUES ('"\ud800"', '1'), ('{"a": 1}', '{"b":2}'), ('3', 'null')""")
    where = ServerRows(Address(server.url()), "documents")
    domain = ht.Domain(attributes=(Attribute(name="b", values=Integers(low=0, high=9)),))

    assert rows_of(where, "j", "b")[0] == {"j": "JSON", "b": "JSON"}
    assert counts_of(ht.count(where, domain=domain)) == {(1,): 1}
    assert counts_of(ht.count(where, domain=domain, where="j IS NULL")) == {(1,): 1}


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("numeric", "1.5", "numeric with no fixed number of digits"),
        ("numeric(40, 2)", "1.5", "numeric with no fixed number of digits, or with more than 38"),
        ("numeric(3, -2)", "100", "numeric with no fixed number of digits"),
        ("integer[]", "'{1}'", "int4[], which is not read"),
        ("interval", "'1 day'", "interval, which is not read"),
        ("money", "1", "money, which is not read"),
        ("inet", "'127.0.0.1'", "inet, which is not read"),
        ("timetz", "'12:00+01'", "timetz, which is not read"),
    ],
)
def test_a_type_that_would_lose_something_is_refused_where_it_is_used(
    server: Server, refuse: Refuse, kind: str, value: str, told: str
) -> None:
    where = stored(server, f"{kind}, x integer DEFAULT 3", value)

    error = refuse(where, domain=ht.Domain(v=ht.integers(0, 9)))

    assert f"column 'v' is {told}" in str(error)
    assert "Cast it in a view or in a query" in str(error)
    assert counts_of(ht.count(where, domain=X)) == {(3,): 1}  # elsewhere it is no matter
    assert counts_of(ht.count(where, domain=X, where="x > 1")) == {(3,): 1}
    assert "x" in ht.draft(where)


def test_text_that_a_database_does_not_check_is_missing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ht.Domain(attributes=(Attribute(name="v", values=Categories(values=("é", "e"))),))

    def put(encoding: str, text: bytes) -> ServerRows:
        import adbc_driver_postgresql.dbapi as driver

        database = encoding.lower()
        made = f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0 STRATEGY file_copy"
        server.sql(f"CREATE DATABASE {database} {made}")
        with (
            driver.connect(server.url(database=database), autocommit=True) as there,
            there.cursor() as cursor,
        ):
            cursor.execute("CREATE TABLE names (v text)")
            value = f"convert_from('\\x{text.hex()}', '{encoding}')"
            cursor.execute(f"INSERT INTO names VALUES ('e'), ({value})")
        return ServerRows(Address(server.url(database=database)), "names")

    japanese = put("EUC_JP", b"e")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")  # whatever others want

    assert counts_of(ht.count(put("SQL_ASCII", b"\xe9"), domain=names)) == {(1,): 1}
    assert counts_of(ht.count(put("LATIN1", b"\xe9"), domain=names)) == {(0,): 1, (1,): 1}
    monkeypatch.delenv("PGCLIENTENCODING")
    with pytest.raises(ht.BadData, match="keeps text in EUC_JP"):
        ht.count(japanese, domain=names)


def test_clocks_and_zones_of_the_session_play_no_part(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = stored(server, "timestamptz", "'2024-03-01 00:30+00'")
    monkeypatch.setenv("PGTZ", "America/New_York")
    monkeypatch.setenv("PGDATESTYLE", "German")
    days = ht.Domain(v=ht.times("2024-02-29", "2024-03-02", every="1 day", timezone="Europe/Berlin"))

    assert counts_of(ht.count(where, domain=days)) == {(1,): 1}


def test_a_collation_makes_no_two_texts_one(server: Server, refuse: Refuse) -> None:
    server.sql(
        "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    server.sql("CREATE TABLE named (who text COLLATE any_case, x integer)")
    server.sql("INSERT INTO named VALUES ('ann', 1), ('Ann', 1), ('ANN', 1), ('ann', 1)")
    where = ServerRows(Address(server.url()), "named")

    assert counts_of(ht.count(where, domain=X, unit=ht.Unit("who", max_rows=1))) == {(1,): 3}
    assert counts_of(ht.count(where, domain=X, where="who = 'ann'")) == {(1,): 2}


def test_a_row_that_stops_a_view_is_not_quoted(server: Server, refuse: Refuse) -> None:
    server.sql("CREATE TABLE texts (x text)")
    server.sql(f"INSERT INTO texts SELECT '1' FROM generate_series(1, 1000) UNION ALL SELECT '{CANARY}'")
    server.sql("CREATE VIEW numbers AS SELECT x::integer AS x FROM texts")

    error = refuse(ServerRows(Address(server.url()), "numbers"), domain=X, rows_are_units=True)

    assert "PostgreSQL failed while it sent rows" in str(error)


def test_dates_reach_the_attributes_of_a_domain(server: Server) -> None:
    """Infinity lies beyond the last day, as the last day of all does."""
    where = stored(server, "date", "'infinity'", "'-infinity'", "'2024-01-01'", "'5874897-12-31'")
    stated = ht.Domain.from_dict(
        {
            "attribute": [
                {
                    "name": "v",
                    "times": {"start": "2024-01-01", "stop": "2024-01-03", "every": "1 day"},
                    "outside": "clamp",
                }
            ]
        }
    )

    assert counts_of(ht.count(where, domain=stated)) == {(0,): 2, (1,): 2}
