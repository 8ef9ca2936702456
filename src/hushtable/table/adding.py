"""From cells to marginals, to buckets and to any other nodes: sums without an order among cells.

Promise: sums are exact and then saturated at 2^60. Saturation takes no two values apart, so what one person
changes in all sums together stays within the structure's sensitivity.
Cost: of a marginal, sorting the occupied cells, or one pass where it has few cells; of a sketch, O(n + width)
for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, repeats, sorted_with_places
from hushtable.domain.measure import Sensitivities
from hushtable.structures.sketch import SketchSpace
from hushtable.structures.structure import NodeSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table.lifting import Sums, roomy, saturated
from hushtable.table.sparse import SparseTable

_FEW_CELLS = 1 << 20  # of a marginal: sums of so many stay in the cache


def marginals(table: SparseTable, cube: TableSpace) -> Iterator[SparseTable]:
    """Yield the tables of a cube. Private."""
    codes, counts = table.space.unpack(table.keys), roomy(table.counts)
    for number, marginal in enumerate(cube.marginals):
        space = marginal.domain.space
        yield _marginal(space, space.pack(cube.cell_codes(number, codes)), counts, _added_up(table))


def _added_up(table: SparseTable) -> Sensitivities | None:
    """Return what one unit changes in sums of cells of a table."""
    return None if table.sensitivity is None else table.sensitivity.added_up()


def _marginal(space: KeySpace, keys: Keys, counts: Sums, sensitivity: Sensitivities | None) -> SparseTable:
    """Return the sum of each cell, of cells in any order."""
    if space.cells_total <= _FEW_CELLS:
        sums = np.zeros(space.cells_total, dtype=counts.dtype)
        np.add.at(sums, keys[0].astype(np.intp), counts)
        keys = np.arange(sums.size, dtype=np.uint64)[np.newaxis]
    else:
        keys, order = sorted_with_places(keys)
        starts = np.flatnonzero(~repeats(keys))
        sums = np.add.reduceat(counts[order], starts) if starts.size else counts
        keys = keys.take(starts, axis=1)
    some = np.flatnonzero(sums)
    cells = keys.take(some, axis=1)
    return SparseTable.from_cells(space, cells, saturated(sums[some]), sensitivity=sensitivity)


class HoldingSpace(NodeSpace, Protocol):
    """Nodes of which it is known which ones hold a cell."""

    def holding(self, codes: NDArray[np.int64], /) -> NDArray[np.int64]:
        """Return the codes of the nodes that hold each cell, of shape (cells, nodes a cell, axes)."""


def held(table: SparseTable, nodes: HoldingSpace) -> SparseTable:
    """Return the sums of all nodes that hold an occupied cell. Private."""
    holding = nodes.holding(table.space.unpack(table.keys))
    keys = nodes.space.pack(holding.reshape(-1, holding.shape[2]))
    counts = np.repeat(roomy(table.counts), holding.shape[1])
    known = table.sensitivity
    return _marginal(nodes.space, keys, counts, None if known is None else nodes.changed(known))


def sketched(table: SparseTable, sketch: SketchSpace) -> SparseTable:
    """Return the buckets of a sketch, row by row. Private."""
    counts = roomy(table.counts)
    sums = np.zeros(sketch.space.shape, dtype=counts.dtype)
    for row, buckets in enumerate(sums):
        places, signs = sketch.buckets(table.keys, row)
        np.add.at(buckets, places, signs * counts)
    found = sums.ravel()
    some: NDArray[np.intp] = np.flatnonzero(found)
    cells, each = some.astype(np.uint64)[np.newaxis], _added_up(table)
    return SparseTable.from_cells(
        sketch.space,
        cells,
        saturated(found[some]),
        sensitivity=None if each is None else each.repeated(len(sums)),
    )
