"""Several tables over attributes that have no names."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import hushtable as ht
from hushtable.domain.items import Item
from hushtable.structures.table_space import Marginal, TableSpace, table_space
from hushtable.table.adding import marginals


def tables_over(shape: Sequence[int], sets: Sequence[Sequence[int]]) -> TableSpace:
    """Return tables over these sets of attributes; a set may be named twice."""
    attributes = [
        {"name": f"a{place}", "integers": {"low": "0", "high": str(size - 1)}}
        for place, size in enumerate(shape)
    ]
    domain = ht.Domain.from_dict({"attribute": attributes})
    items = [Item(place) for place in range(len(shape))]
    structure = ht.Marginals("all-1")
    made = table_space(structure, domain, {(items[0],): Fraction(1)}, items=items, column="marginal")
    tables = tuple(Marginal(tuple(each), domain.of(each), 1) for each in sets)
    return TableSpace(structure, domain, tables, made.items, made.at, made.column)


def added(table: ht.SparseTable, cube: TableSpace) -> list[ht.SparseTable]:
    """Return all tables of a cube, of one table of cells."""
    cells = [(table.keys, table.counts)]
    numbers = range(len(cube.marginals))
    return marginals(cells, table.space, cube, numbers, sensitivity=table.sensitivity)
