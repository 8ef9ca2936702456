"""Every value is placed by DuckDB where the slow reference places it, whatever its type and its file."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Kind, Times
from tests.domain.examples import attributes
from tests.engines.reference import counts_of, slow_counts
from tests.harness.statistics import tries

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
def tables(draw: st.DrawFn, *, text: bool = False) -> tuple[ht.Domain, pa.Table]:
    """A domain and rows for it; `text` makes all columns text, as in a CSV file."""
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
        elif isinstance(values, Times):
            kind, cells = draw(clocks(values).filter(lambda c: not text or c[0] == pa.string()))
        else:
            kind, cells = draw(numbers(values).filter(lambda c: not text or c[0] == pa.string()))
        rows = draw(st.lists(st.none() | cells, min_size=length, max_size=length))
        chosen.append(attribute)
        columns[attribute.column] = pa.array(rows, type=kind)
    return ht.Domain(attributes=tuple(chosen)), pa.table(columns)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows as Python values; float32 as the float64 that equals it."""
    return table.to_pylist()  # type: ignore[no-any-return]


@settings(suppress_health_check=list(HealthCheck))
@given(tables())
def test_arrow_columns_of_every_type_are_counted_as_the_reference_places_them(
    world: tuple[ht.Domain, pa.Table],
) -> None:
    domain, table = world

    assert counts_of(ht.count(table, domain=domain)) == slow_counts(domain, rows_of(table))


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables())
def test_a_parquet_file_is_counted_as_its_rows(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    pq.write_table(table, path)

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows_of(pq.read_table(path)))


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables(text=True))
def test_a_csv_file_is_counted_as_its_texts(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.csv"
    rows = [
        {name: None if text is None else text.replace("\0", "") or None for name, text in row.items()}
        for row in rows_of(table)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(table.column_names)
        writer.writerows(["" if text is None else text for text in row.values()] for row in rows)

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows)


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables(text=True))
def test_json_lines_are_counted_as_their_values(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(table)), encoding="utf-8")

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows_of(table))
