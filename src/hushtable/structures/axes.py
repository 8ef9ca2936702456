"""Nodes of trees over lines of cells: of one line, or of two that are crossed.

Promise: `per_cell` is the largest number of nodes that hold one cell, each of which changes by as much as the
cell does: it multiplies the sensitivity of what is counted.
Cost: nothing is listed; numbers follow from the sizes of attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.structures.intervals import Intervals, codes_in, columns_of
from hushtable.structures.lines import Line
from hushtable.structures.orders import in_order, listed, order_entry, ordered_places, places_of_codes
from hushtable.structures.structure import Codes, Column, Entry, NodeSpace, Structure
from hushtable.structures.trees import DyadicTree, HaarTree

if TYPE_CHECKING:
    import pyarrow as pa


class Ordered(Structure):
    """A structure over lines of cells, whose attributes stand in some order."""

    order: Sequence[str] | None

    def __init__(self, *, order: Sequence[str] | None = None) -> None: ...

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        """Return the nodes over attributes of these sizes, in the order of their places."""
        raise NotImplementedError

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over a domain."""
        return self._over(domain.shape, ordered_places(self.order, domain))

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over attributes of these sizes."""
        return self._over(shape, places_of_codes(self.order, shape))

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"order": order_entry(self.order)}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(order=entry("order", list | None))


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Cells in a line, and the tree over them."""

    line: Line
    tree: DyadicTree | HaarTree


@dataclass(frozen=True, eq=False, slots=True)
class AxisSpace(NodeSpace):
    """The nodes of a tree: one for each combination of nodes of its axes, of which there are one or two.

    `consistent_tree` is the tree where nodes are published only with all ranges that they lie in; and
    `differences` says whether nodes are differences of halves.
    """

    structure: Ordered = field()
    axes: tuple[Axis, ...] = field()
    said: str  # what the nodes are
    consistent_tree: DyadicTree | None = None
    differences: bool = False

    @cached_property
    def space(self) -> KeySpace:
        """Nodes as cells: a code for each axis is the number of the axis's node."""
        return KeySpace([axis.tree.nodes_total for axis in self.axes])

    @property
    def nodes_total(self) -> int:
        """The number of nodes."""
        return self.space.cells_total

    @property
    def per_cell(self) -> int:
        """The largest number of nodes that hold one cell."""
        return prod(axis.tree.levels for axis in self.axes)

    @property
    def rooted_tree(self) -> DyadicTree | None:
        """The tree, if it is consistent."""
        return self.consistent_tree

    def named(self, domain: Domain) -> str:
        """Return what is published in place of cells, over which attributes."""
        return f"{self.said} over {listed(in_order(self.structure.order, domain.names))}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the level of a node, and the values at its first and last cell.

        If each attribute has a tree of its own, it has a level of its own too.
        """
        several = len(self.axes) > 1
        columns = [] if several else [Column("level", "level")]
        lines = {axis.line.places[0]: number for number, axis in enumerate(self.axes)}
        for place, name in enumerate(domain.names):
            columns += [Column(f"{name}_level", "level", lines[place])] if several else []
            columns += [Column(name, "first", place), Column(f"{name}_last", "last", place)]
        return columns

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the columns of rows with these codes."""
        return columns_of(self, domain, codes)

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes that columns of a file say."""
        return codes_in(self, domain, table)

    def intervals(self, codes: Codes) -> Intervals:
        """Return the intervals of nodes."""
        shape = len(codes), sum(len(axis.line.places) for axis in self.axes)
        levels = np.empty(codes.shape, dtype=np.int32)
        firsts, lasts = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        for number, axis in enumerate(self.axes):
            nodes, places = codes[:, number], list(axis.line.places)
            levels[:, number] = axis.tree.level_of(nodes)
            firsts[:, places] = axis.line.codes(axis.tree.firsts(nodes))
            lasts[:, places] = axis.line.codes(axis.tree.lasts(nodes))
        return Intervals(levels, firsts, lasts)

    def nodes_at(self, levels: NDArray[np.int32], firsts: Codes) -> Codes:
        """Return the nodes that begin with these cells, or any others where none does."""
        codes = np.empty(levels.shape, dtype=np.int64)
        for number, axis in enumerate(self.axes):
            level = np.clip(levels[:, number], 0, axis.tree.levels - 1)
            nodes = axis.tree.nodes_at(level, axis.line.positions(firsts))
            # Splits end before the line does where a right half would be padding.
            codes[:, number] = np.minimum(nodes, axis.tree.nodes_total - 1)
        return codes
