"""The slow way to count: place every value of every row, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import md5
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Unit
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


UnitRow = tuple[Any, tuple[int, ...], int]  # whose row it is, the codes of its cell, what it adds


def slow_units(domain: Domain, rows: Iterable[UnitRow], unit: Unit, *, salt: str, sums: bool) -> Counts:
    """Count units that may be in so many cells, so often in each: sort what each unit has, and cut.

    Cells are in the order of a hash of the unit and the cell; rows with amounts, in a cell, in that of a hash
    of the unit, the cell, the amount and how many rows like it came before.
    """
    assert unit.max_cells is not None

    def order(*said: Any) -> tuple[Any, ...]:
        text = "/".join(map(str, (salt, *said)))
        return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest(), "little"), *said[1:]

    def words(cell: tuple[int, ...]) -> list[int]:
        return [int(word) for word in domain.space.pack(np.array([cell]))[:, 0]]

    of_units: dict[Any, dict[tuple[int, ...], list[int]]] = {}
    for who, cell, amount in rows:
        if who is not None:
            of_units.setdefault(who, {}).setdefault(cell, []).append(amount)
    counts: Counter[tuple[int, ...]] = Counter()
    for who, cells in of_units.items():
        for cell in sorted(cells, key=lambda cell: order(who, *words(cell)))[: unit.max_cells]:
            if not sums:
                counts[cell] += min(len(cells[cell]), unit.max_per_cell or 0)
                continue
            copies: Counter[int] = Counter()
            ranked = []
            for amount in cells[cell]:
                copies[amount] += 1
                ranked.append((order(who, *words(cell), amount, copies[amount]), amount))
            counts[cell] += sum(amount for _, amount in sorted(ranked)[: unit.max_per_cell])
    return {cell: count for cell, count in counts.items() if count}


def squares(one: Counts, other: Counts) -> int:
    """Return how far two tables are apart, as a sum of squares."""
    return sum((one.get(cell, 0) - other.get(cell, 0)) ** 2 for cell in {*one, *other})


def farthest(one: Counts, other: Counts) -> int:
    """Return how far two tables are apart in one cell."""
    return max((abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other}), default=0)
