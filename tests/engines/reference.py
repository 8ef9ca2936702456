"""The slow way to count: place every value of every row, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from hushtable.domain.domain import Domain
from hushtable.table.sparse import SparseTable

Counts = dict[tuple[int, ...], int]


def slow_counts(domain: Domain, rows: Iterable[Mapping[str, Any]]) -> Counts:
    """Count rows by `Attribute.place`."""
    counts: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        codes = [attribute.place(row[attribute.column]) for attribute in domain.attributes]
        if None not in codes:
            counts[tuple(code for code in codes if code is not None)] += 1
    return dict(counts)


def counts_of(table: SparseTable) -> Counts:
    """Return the counts of a table by codes."""
    codes = table.space.unpack(table.keys).tolist()
    return {tuple(cell): int(count) for cell, count in zip(codes, table.counts, strict=True)}


def decoded(domain: Domain, table: SparseTable) -> pa.Table:
    """Return a counted table as values and counts."""
    values = domain.decode(table.space.unpack(table.keys))
    return values.append_column("count of the table", pa.array(table.counts))


def differences(counted: pa.Table, sql: str, **tables: pa.Table) -> int:
    """Return how many rows are in a counted table and not in the result of plain DuckDB, or the other way.

    Rows that are there twice count twice. In SQL, because sets of a million Python tuples are slow.
    """
    with duckdb.connect() as connection:
        for name, table in {"counted": counted, **tables}.items():
            connection.register(name, table)
        connection.execute(f"CREATE TEMP TABLE expected AS {sql}")
        (found,) = connection.sql(
            "SELECT (SELECT count(*) FROM (FROM counted EXCEPT ALL FROM expected))"
            " + (SELECT count(*) FROM (FROM expected EXCEPT ALL FROM counted))"
        ).fetchall()
    return int(found[0])


def distance(one: Counts, other: Counts) -> int:
    """Return how far two tables are apart, all cells together."""
    return sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other})
