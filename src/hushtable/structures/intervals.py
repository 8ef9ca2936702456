"""Rows as intervals of cells, in the columns of a file, and back.

A cell is an interval of one cell, without a level. A node of a tree has, along each axis, a level, a first
and a last cell.

Promise: `codes_in` is the inverse of `columns_of`, and a `BadRelease` for intervals that are no nodes.
Cost: a few operations on whole arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import encode
from hushtable.domain.keys import KeySpace
from hushtable.errors import BadRelease, BadTable, shown
from hushtable.structures.structure import HINT, Codes, Column

if TYPE_CHECKING:
    import pyarrow as pa


class Intervals(NamedTuple):
    """Of each row, the level along every axis, and the codes of every attribute at both ends."""

    levels: NDArray[np.int32]
    firsts: Codes
    lasts: Codes


class IntervalSpace(Protocol):
    """Nodes that are intervals."""

    @property
    def space(self) -> KeySpace:
        """Nodes as keys of codes."""

    def columns(self, domain: Domain) -> list[Column]:
        """Return the columns that say where rows are."""

    def intervals(self, codes: Codes) -> Intervals:
        """Return the intervals of nodes, or raise `BadTable` if codes are of none."""

    def nodes_at(self, levels: NDArray[np.int32], firsts: Codes) -> Codes:
        """Return the nodes that begin with these cells, or any others where none does."""


def columns_of(nodes: IntervalSpace, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
    """Return the columns of nodes that are intervals."""
    check_codes(nodes.space, codes)
    found = nodes.intervals(codes)
    wanted, values = nodes.columns(domain), {"first": domain.decode(found.firsts)}
    if any(each.holds == "last" for each in wanted):
        values["last"] = domain.decode(found.lasts)
    return [
        as_column(found.levels[:, each.place])
        if each.holds == "level"
        else values[each.holds].column(each.place)
        for each in wanted
    ]


def codes_in(nodes: IntervalSpace, domain: Domain, table: pa.Table) -> Codes:
    """Return the codes of the nodes whose intervals the columns say."""
    given = _intervals(nodes, domain, table)
    codes = nodes.nodes_at(given.levels, given.firsts)
    found = nodes.intervals(codes)
    same = (np.array_equal(getattr(found, name), getattr(given, name)) for name in Intervals._fields)
    if not all(same):
        raise BadRelease("its rows hold intervals that are no nodes of its structure", HINT)
    return codes


def _intervals(nodes: IntervalSpace, domain: Domain, table: pa.Table) -> Intervals:
    """Return the intervals that the columns say."""
    wanted = nodes.columns(domain)
    levels = np.empty((table.num_rows, len(nodes.space.shape)), dtype=np.int32)
    firsts = np.empty((table.num_rows, len(domain.attributes)), dtype=np.int64)
    lasts = np.empty_like(firsts)
    for column in wanted:
        if column.holds == "level":
            levels[:, column.place] = as_numbers(table.column(column.name))
            continue
        found = values_in(domain, table, column)
        (firsts if column.holds == "first" else lasts)[:, column.place] = found
    return Intervals(levels, firsts, lasts)


def values_in(domain: Domain, table: pa.Table, column: Column) -> NDArray[np.int64]:
    """Return the codes of the values in a column."""
    found = encode(column.values_over(domain), table.column(column.name))
    if found is None:
        fact = f"its column {shown(column.name)} holds values that its domain does not have"
        raise BadRelease(fact, HINT)
    return found


def check_codes(space: KeySpace, codes: Codes) -> None:
    """Raise unless these are codes of a space of nodes, buckets or marginals."""
    shape = space.shape
    if codes.ndim != 2 or codes.shape[1] != len(shape):
        fact = f"codes do not have one column for each of {len(shape)} axes"
        raise BadTable(fact, "Pass codes of shape (nodes, axes).")
    for size, column in zip(shape, codes.T, strict=True):
        if column.size and not (column.min() >= 0 and column.max() < size):
            fact = f"codes of nodes lie outside 0..{size - 1}"
            raise BadTable(fact, "They come from another domain or structure.")
