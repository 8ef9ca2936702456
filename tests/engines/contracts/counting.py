"""Rows are counted where the slow reference places them, whatever their types and however they come."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import (
    Attribute,
    Bins,
    Categories,
    Edges,
    Integers,
    Kind,
    Other,
    Rule,
    Times,
)
from hushtable.domain.levels import category_levels
from hushtable.noise import KeyStream
from tests.domain.examples import attributes
from tests.engines.contracts.engine import Engine, counted_with
from tests.engines.reference import Counts, counts_of, decoded, differences, slow_counts

World: TypeAlias = tuple[ht.Domain, pa.Table]


def whole(name: str, size: int) -> Attribute:
    return Attribute(name=name, values=Integers(low=0, high=size - 1))


DOMAIN = ht.Domain(attributes=(whole("x", 100), whole("y", 100)))
WIDE = ht.Domain(attributes=tuple(whole(f"a{place}", 10**6) for place in range(5)))
INSIDE = "x BETWEEN 0 AND 99 AND y BETWEEN 0 AND 99"


def grouped(table: pa.Table, what: str = "count(*)", where: str = "true") -> Counts:
    """Count by plain SQL."""
    with duckdb.connect() as connection:
        connection.register("rows", table)
        rows = connection.sql(f"SELECT x, y, {what} FROM rows WHERE {where} GROUP BY ALL").fetchall()
    return {(x, y): int(count) for x, y, count in rows if count}


def random_rows(count: int, size: int, seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table({name: generator.integers(-2, size + 2, count) for name in ("x", "y")})


def test_rows_are_counted(engine: Engine) -> None:
    table = random_rows(50_000, 100, seed=1)

    assert counts_of(ht.count(engine.data(table), domain=DOMAIN)) == grouped(table, where=INSIDE)


# Values of every type, by hypothesis.

INT64 = st.integers(-(2**63), 2**63 - 1)
ODD_TEXT = st.sampled_from(
    [
        "",
        " ",
        "1.0",
        " 7 ",
        "+7",
        "-0",
        "007",
        "1e3",
        "1.5",
        "1_000",
        "0x10",
        "NaN",
        "inf",
        "٣",
        "1.",
        ".5",
        "--1",
    ]
) | st.text(max_size=6)


def near(values: Kind) -> st.SearchStrategy[Any]:
    """Numbers or times in and around the declared values."""
    if isinstance(values, Integers):
        return st.integers(values.low - 3, values.low + 3) | st.integers(values.high - 3, values.high + 3)
    if isinstance(values, Times):
        around = st.sampled_from([values.start, values.stop])
        return st.builds(
            _shifted, around, st.integers(-(10**6), 10**6) | st.integers(-3 * 10**12, 3 * 10**12)
        )
    if isinstance(values, Bins):
        first, width, shared = values.grid
        places = st.integers(-1, 3) | st.integers(values.size - 2, values.size + 1)
        return places.map(lambda k: Fraction(first + k * width, shared))
    assert isinstance(values, Edges)
    return st.sampled_from(values.edges)


def _shifted(time: datetime, microseconds: int) -> datetime:
    try:
        return time + timedelta(microseconds=microseconds)
    except OverflowError:
        return time


def numbers(values: Kind) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    """Columns of numbers, by type, with values in and around the declared ones."""
    close = near(values)
    whole = close.map(int)
    floats = close.map(float) | close.map(lambda x: float(x) - 0.5) | st.floats(width=64)
    return st.sampled_from(
        [
            (pa.int64(), whole.filter(lambda x: -(2**63) <= x < 2**63) | INT64),
            (pa.uint64(), whole.filter(lambda x: 0 <= x < 2**64) | st.integers(0, 2**64 - 1)),
            (pa.int8(), st.integers(-128, 127)),
            (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
            (pa.float64(), floats),
            (pa.float32(), st.floats(width=32)),
            (pa.decimal128(38, 0), whole.filter(lambda x: abs(x) < 10**37).map(Decimal)),
            (pa.decimal128(20, 2), st.integers(-(10**6), 10**6).map(lambda x: Decimal(x) / 100)),
            (pa.string(), (whole.map(str) | floats.map(repr) | ODD_TEXT)),
            (pa.large_string(), (whole.map(str) | close.map(float).map(repr))),
        ]
    )


def clocks(values: Times) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    """Columns of times, by type."""
    close = near(values).filter(lambda time: datetime(3, 1, 1) < time < datetime(9998, 1, 1))
    offsets = st.sampled_from(["", "Z", "+00", "+02:00", "-0930", "+14:00"])
    written = st.builds(lambda t, o: t.isoformat(sep="T") + o, close, offsets)
    short = close.map(lambda t: t.strftime("%Y-%m-%d %H:%M")) | close.map(lambda t: str(t.date()))
    odd = st.sampled_from(["2024-02-30", "2024-13-01", "2024-1-1", "today", "2024-01-01T25:00", "infinity"])
    return st.sampled_from(
        [
            (pa.timestamp("us"), close),
            (pa.timestamp("ms"), close.map(lambda t: t.replace(microsecond=0))),
            (pa.timestamp("us", tz="UTC"), close.map(lambda t: t.replace(tzinfo=UTC))),
            (pa.date32(), close.map(lambda t: t.date())),
            (pa.string(), written | short | odd | ODD_TEXT),
        ]
    )


@st.composite
def tables(draw: st.DrawFn, *, kinds: Iterable[pa.DataType] | None = None) -> World:
    """A domain and rows for it, with columns of some types, or of all."""
    count = draw(st.integers(1, 4))
    chosen: list[Attribute] = []
    columns: dict[str, pa.Array] = {}
    length = draw(st.integers(0, 12))
    for place in range(count):
        base = draw(attributes().filter(lambda a: "error" not in (a.missing, a.outside)))
        attribute = Attribute(
            name=f"a{place}",
            column=f"c {place}\"'",
            values=base.values,
            missing=base.missing,
            outside=base.outside,
        )
        values = attribute.values
        if isinstance(values, Categories):
            kind, cells = pa.string(), st.sampled_from(values.values) | ODD_TEXT
        else:
            offered = clocks(values) if isinstance(values, Times) else numbers(values)
            kind, cells = draw(offered.filter(lambda each: kinds is None or each[0] in kinds))
        rows = draw(st.lists(st.none() | cells, min_size=length, max_size=length))
        chosen.append(attribute)
        columns[attribute.column] = pa.array(rows, type=kind)
    return ht.Domain(attributes=tuple(chosen)), pa.table(columns)


EVERY = [
    *(pa.int64(), pa.uint64(), pa.int8(), pa.int32(), pa.float64(), pa.float32(), pa.decimal128(38, 0)),
    *(pa.decimal128(20, 2), pa.string(), pa.large_string(), pa.date32()),
    *(pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("us", tz="UTC")),
]


def side_by_side(worlds: list[World]) -> World:
    """Several worlds as one, in which each row has one world's values and such of the others as are counted.

    A world of which no row is counted has none to give: it is left out, unless it is alone.
    """
    if len(worlds) == 1:
        return worlds[0]
    chosen: list[Attribute] = []
    columns: dict[str, pa.Field] = {}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for number, (domain, table) in enumerate(worlds):
        rows = table.to_pylist()
        base = next((row for row in rows if slow_counts(domain, [row])), None)
        if base is None:
            continue
        names = {name: f"w{number} {name}" for name in table.column_names}
        for attribute in domain.attributes:
            column = names[attribute.column]
            chosen.append(
                Attribute(
                    name=f"w{number} {attribute.name}",
                    column=column,
                    values=attribute.values,
                    missing=attribute.missing,
                    outside=attribute.outside,
                )
            )
            columns[column] = table.schema.field(attribute.column).type
        blocks.append(
            (
                {names[name]: value for name, value in base.items()},
                [{names[name]: value for name, value in row.items()} for row in rows],
            )
        )
    if not chosen:
        return worlds[0]
    every = {name: value for base, _ in blocks for name, value in base.items()}
    rows = [every | row for _, rows in blocks for row in rows]
    return ht.Domain(attributes=tuple(chosen)), pa.Table.from_pylist(
        rows, schema=pa.schema(list(columns.items()))
    )


def test_columns_of_every_type_are_counted_as_the_reference_places_them(engine: Engine) -> None:
    kinds = [kind for kind in EVERY if engine.holds(kind)]
    several = st.lists(tables(kinds=kinds), min_size=engine.worlds, max_size=engine.worlds)

    @settings(suppress_health_check=list(HealthCheck), max_examples=engine.examples)
    @given(several)
    def check(worlds: list[World]) -> None:
        domain, table = side_by_side(worlds)

        found = counts_of(ht.count(engine.data(table), domain=domain))

        assert found == slow_counts(domain, table.to_pylist())

    check()


# Each type with the values at which it could go wrong, all in one table.

DAYS = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second")
BERLIN = Times(
    start=datetime(2024, 3, 30),
    stop=datetime(2024, 4, 1),
    every=3600,
    unit="second",
    timezone="Europe/Berlin",
)
MONTHS = Times(start=datetime(1969, 12, 1), stop=datetime(2025, 12, 1), every=1, unit="month")
PLACES = Categories(values=("01", "02", "10"))
LEVELLED = Attribute(
    name="district",
    values=PLACES,
    levels=category_levels(PLACES, {"side": ["n", "n", "s"]}),
    missing=Other(value="nowhere"),
    outside=Other(value="elsewhere"),
)
CLOCKS = [
    datetime(2024, 3, 31, 0, 59, 59, 999_999),
    datetime(2024, 3, 31, 1),
    datetime(2024, 3, 31, 2, 30),
    datetime(2023, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
    datetime(1, 1, 2),
    datetime(9999, 12, 31),
    None,
]
TEXTS = [" 7 ", "+7", "-0", "007", "1e3", "1.0", "x", "", "٣", "9" * 40, None]

# Of each column: the attribute's values, its rules, its type, a value that is counted, and odd ones.
SPELLED: list[tuple[Kind, Rule, Rule, pa.DataType, Any, list[Any]]] = [
    (Integers(low=-5, high=5), "drop", "drop", pa.int8(), 0, [-128, -6, -5, 5, 6, 127, None]),
    (Integers(low=-5, high=5), "drop", "clamp", pa.int16(), 0, [-32_768, -6, -5, 5, 6, 32_767, None]),
    (Integers(low=0, high=9), "drop", "drop", pa.int32(), 0, [-1, 9, 10, 2**31 - 1, -(2**31), None]),
    (Integers(low=-(2**63), high=-3), "drop", "clamp", pa.int64(), -9, [2**63 - 1, -(2**63), -3, -2, None]),
    (Integers(low=2, high=2**63 - 1), "drop", "clamp", pa.int64(), 9, [2**63 - 1, -(2**63), 0, 2, None]),
    (Integers(low=0, high=9), "drop", "clamp", pa.float32(), 1.0, [nan, inf, -inf, 1.5, -0.0, 9.0, 1e30]),
    (Integers(low=0, high=9), "drop", "drop", pa.float64(), 1.0, [nan, inf, -inf, 1.5, -0.0, 9.0, None]),
    (
        Integers(low=0, high=9),
        "drop",
        "clamp",
        pa.decimal128(20, 2),
        Decimal(1),
        [Decimal("1.50"), Decimal("9.00"), Decimal(-1), Decimal(10**15), None],
    ),
    (
        Integers(low=0, high=9),
        "drop",
        "drop",
        pa.decimal128(38, 0),
        Decimal(1),
        [Decimal(10**37), Decimal(9), None],
    ),
    (Integers(low=0, high=9), "drop", "clamp", pa.string(), "1", TEXTS),
    (Bins(start=Fraction(0), stop=Fraction(1), step=Fraction(1, 10)), "drop", "drop", pa.float64(), 0.0,
     [0.1, 0.2, 0.3, 0.7, 1.0, -0.0, 0.30000000000000004, nan, None]),
    (Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5)), "drop", "clamp", pa.int32(), 0,
     [4, 5, -1, 99, 100, None]),
    (Bins(start=Fraction(0), stop=Fraction(9), step=Fraction(3, 2)), "drop", "drop", pa.string(), "0",
     [*TEXTS, "1.5", "NaN", "inf", "-1e400"]),
    (Edges(edges=(Fraction(0), Fraction(1, 3), Fraction(65))), "drop", "clamp", pa.float32(), 0.5,
     [0.0, 0.33333334, 65.0, nan, -inf, None]),
    (Edges(edges=(Fraction(0), Fraction(18), Fraction(2**60))), "drop", "drop", pa.int64(), 1,
     [17, 18, 2**60 - 1, 2**60, -1, None]),
    (PLACES, Other(value="none"), "drop", pa.string(), "01", ["1", " 01", "10", "", "ä", None]),
    (PLACES, "drop", Other(value="10"), pa.large_string(), "01", ["1", "10", "", None]),
    (DAYS, "drop", "clamp", pa.date32(), date(2024, 1, 1),
     [date(2024, 2, 29), date(2024, 12, 31), date(2025, 1, 1), date(1, 1, 1), date(9999, 12, 31), None]),
    (DAYS, "drop", "drop", pa.timestamp("us"), datetime(2024, 1, 1), CLOCKS),
    (BERLIN, "drop", "clamp", pa.timestamp("us", tz="UTC"), datetime(2024, 3, 30, tzinfo=UTC),
     [clock and clock.replace(tzinfo=UTC) for clock in CLOCKS if clock is None or 1 < clock.year < 9999]),
    (BERLIN, "drop", "drop", pa.timestamp("us"), datetime(2024, 3, 30), CLOCKS),
    (BERLIN, "drop", "drop", pa.string(), "2024-03-31",
     ["2024-03-31T01:59:59+01:00", "2024-03-31T01:00Z", "2024-03-31 02:30", "2024-02-30", "today", None]),
    (MONTHS, "drop", "clamp", pa.date32(), date(2024, 1, 1), [date(1969, 12, 31), date(2025, 12, 1), None]),
]  # fmt: skip


def spelled() -> World:
    """A table with a column for each of these: each odd value in a row that is otherwise counted."""
    chosen = [
        Attribute(name=f"a{place}", values=values, missing=missing, outside=outside)
        for place, (values, missing, outside, *_) in enumerate(SPELLED)
    ]
    good = {f"a{place}": value for place, (*_, value, _) in enumerate(SPELLED)} | {"district": "01"}
    odd = [{f"a{place}": value} for place, (*_, values) in enumerate(SPELLED) for value in values]
    odd += [{"district": value} for value in ("02", "10", "1", "n", "", None)]
    columns = [(f"a{place}", kind) for place, (*_, kind, _, _) in enumerate(SPELLED)]
    schema = pa.schema([*columns, ("district", pa.string())])
    domain = ht.Domain(attributes=(*chosen, LEVELLED)).at({"district": "side"})
    return domain, pa.Table.from_pylist([good, *(good | each for each in odd)] * 3, schema=schema)


def test_every_type_at_its_ends(engine: Engine) -> None:
    """Of a domain of more than 10^60 cells, too: several words."""
    domain, table = spelled()
    assert domain.cells_total > 10**60

    found = counts_of(ht.count(engine.data(table), domain=domain))

    assert found == slow_counts(domain, table.to_pylist())
    assert len(found) > 50


# What is added up.

AMOUNTS = [pa.decimal128(20, 2), pa.string(), pa.int8(), pa.int64(), pa.uint64(), pa.float64()]


def test_a_count_column_is_added_up(engine: Engine) -> None:
    for amount in engine.some([amount for amount in AMOUNTS if engine.holds(amount)], 2):
        values = [3, 0, 5, None, -4, 7]
        table = pa.table(
            {
                "x": [1, 1, 1, 1, 1, 2],
                "y": [0] * 6,
                "n": pa.array(values).cast(amount)
                if pa.types.is_signed_integer(amount)
                else pa.array(
                    [
                        None
                        if v is None
                        else (str(v) if amount == pa.string() else abs(v) if amount == pa.uint64() else v)
                        for v in values
                    ],
                    type=amount,
                ),
            }
        )

        counts = counts_of(ht.count(engine.data(table), domain=DOMAIN, count_column="n"))

        # Missing and negative counts stand for nobody.
        assert counts == {(1, 0): 12 if amount == pa.uint64() else 8, (2, 0): 7}


def test_sums_are_clamped_row_by_row(engine: Engine) -> None:
    """Those that cancel leave an empty cell."""
    for kind in engine.some([pa.int64(), pa.int16(), pa.decimal128(21, 0), pa.string()], 1):
        pay = pa.array([3, 900, -900, None, 10, -10, 4, -4]).cast(kind)
        table = pa.table({"x": [1, 1, 1, 1, 2, 2, 3, 3], "y": [0] * 8, "pay": pay})

        counts = counts_of(ht.count(engine.data(table), domain=DOMAIN, sum_column="pay", clamp=(-5, 10)))

        assert counts == {(1, 0): 3 + 10 - 5, (2, 0): 10 - 5}


def test_amounts_of_many_rows_are_added_up(engine: Engine) -> None:
    generator = np.random.default_rng(4)
    table = random_rows(100_000, 100, seed=6).append_column("n", pa.array(generator.integers(0, 5, 100_000)))

    counts = counts_of(ht.count(engine.data(table), domain=DOMAIN, count_column="n"))

    assert counts == grouped(table, what="sum(n)", where=INSIDE)


# Filters and queries.


def test_a_filter_and_a_query_see_the_rows_own_columns(engine: Engine) -> None:
    """All that a row has may be asked for, of types that no attribute has as well."""
    table = random_rows(20_000, 100, seed=2)
    days = [date(2024, 1, 1) + timedelta(days=day % 400) for day in range(table.num_rows)]
    table = table.append_column("left over", pa.array(days))
    table = table.append_column("old", pa.array([None, True, False, True] * 5000))
    query = 'SELECT x + 1 AS y, y - 1 AS x, "left over" AS day, old FROM data WHERE x % 3 > 0'
    where = "old AND day < DATE '2025-01-01' AND x <> 5"

    found = counts_of(ht.count(engine.data(table), domain=DOMAIN, query=query, where=where))

    with duckdb.connect() as connection:
        connection.register("data", table)
        prepared = connection.sql(f"SELECT x, y FROM ({query}) WHERE {where}").to_arrow_table()
    assert found == grouped(prepared, where=INSIDE)
    assert len(found) > 1000


@pytest.mark.parametrize(
    ("rows", "where", "dropped"),
    [
        ({"x": [1], "y": [2]}, None, False),
        ({"x": [1, 100], "y": [2, 2]}, None, True),
        ({"x": [1, 100], "y": [2, 2]}, "x < 50", False),  # a filter is no rule of the domain
    ],
)
def test_rows_that_rules_drop_are_told(
    rows: dict[str, list[int]], where: str | None, dropped: bool, engine: Engine
) -> None:
    data = engine.data(pa.table(rows))
    with counted_with(data, DOMAIN, where=where, entropy=KeyStream()) as counted:
        assert tuple(counted.tally) == (1, int(dropped))
        assert counts_of(counted.table()) == {(1, 2): 1}
        assert counted.total() == 1


def test_no_rows_are_counted(engine: Engine) -> None:
    table = pa.table({"x": pa.array([], type=pa.int64()), "y": pa.array([], type=pa.int64())})
    with counted_with(engine.data(table), DOMAIN, entropy=KeyStream()) as counted:
        assert counts_of(counted.table()) == {}
        assert sum(counted.slices.cells_empty) == 10_000
        assert counted.total() == 0


def test_nothing_private_is_shown(engine: Engine) -> None:
    table = pa.table({"a0": [734_021], "a1": [187_734], "a2": [0], "a3": [0], "a4": [0]})
    with counted_with(engine.data(table), WIDE, entropy=KeyStream()) as counted:
        for shown in (repr(counted), str(counted), repr(counted.slices), repr(counted.table())):
            for private in ("734021", "187734", str(counted.table().keys[0, 0])):
                assert private not in shown


# Keys of several words, in many slices.


@pytest.mark.parametrize("distinct", [50, 10**6])
def test_domains_above_2_to_the_64_are_counted_exactly(
    distinct: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10^30 cells, two words: most rows share the first word, or hardly any."""
    engine.cut_finely(monkeypatch)
    generator = np.random.default_rng(3)
    rows = 60_000
    table = pa.table({f"a{place}": generator.integers(0, distinct, rows) for place in range(5)})
    table = pa.concat_tables(
        [table, table.slice(0, 20_000), pa.table({f"a{p}": [10**6 - 1] * 3 for p in range(5)})]
    )

    with counted_with(engine.data(table), WIDE, entropy=KeyStream()) as counted:
        found = decoded(WIDE, counted.table())
        assert len(counted.slices.cells_empty) > 5
        assert sum(counted.slices.cells_empty) == 10**30 - found.num_rows
        assert counted.total() == table.num_rows

    names = ", ".join(table.column_names)
    assert not differences(found, f"SELECT {names}, count(*) FROM rows GROUP BY ALL", rows=table)
