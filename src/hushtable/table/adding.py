"""From cells to marginals, to buckets and to any other nodes: sums without an order among cells.

Promise: sums are exact and then saturated at 2^60. Saturation takes no two values apart, so what one person
changes in all sums together stays within the structure's sensitivity.
Cost: of a marginal, sorting the occupied cells, or one pass where it has few cells; of a sketch, O(n + width)
for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, no_keys, repeats, sorted_with_places
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.sketch import SketchSpace
from hushtable.structures.structure import NodeSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table.lifting import Sums, roomy, saturated
from hushtable.table.slices import Cells
from hushtable.table.sparse import LARGEST_COUNT, SparseTable

_EXACT_FLOATS = 1 << 53  # below which sums of whole numbers are exact in floats, which are added up quickly
_FEW_CELLS = 1 << 20  # of a marginal: sums of so many stay in the cache


def marginals(
    slices: Iterable[Cells],
    space: KeySpace,
    cube: TableSpace,
    numbers: Sequence[int],
    *,
    sensitivity: Sensitivities | None,
) -> list[SparseTable]:
    """Return those tables of a cube, of cells that come in slices; no two slices are held at once. Private.

    `sensitivity` is what one unit changes in the cells.
    """
    sums = [_Adding(cube.marginals[number].domain.space) for number in numbers]
    for keys, counts in slices:
        codes = space.unpack(keys)
        for number, each in zip(numbers, sums, strict=True):
            each.add(cube.cell_codes(number, codes), counts)
    changes = None if sensitivity is None else sensitivity.added_up()
    return [each.table(changes) for each in sums]


class _Adding:
    """The sums of one table, so far: of all its cells where they are few, else of those seen."""

    def __init__(self, space: KeySpace) -> None:
        self.space = space
        self._sizes = 0.0  # of all counts together, which says whether sums may wrap
        self._dense: Sums | None = None
        self._parts: list[tuple[Keys, Sums]] = []
        if space.cells_total <= _FEW_CELLS:
            self._dense = np.zeros(space.cells_total, dtype=np.int64)

    def add(self, columns: Sequence[NDArray[np.int64]], counts: NDArray[np.int64]) -> None:
        """Add cells, which may repeat, by a column of codes for each attribute."""
        sizes = float(np.abs(counts).sum(dtype=np.float64))
        self._sizes += sizes
        wide: Sums = counts if self._sizes < LARGEST_COUNT / 2 else counts.astype(object)
        if self._dense is None:
            self._parts.append(_summed(self.space.pack(np.stack(columns, axis=1)), wide))
            return
        places = columns[0]
        for size, column in zip(self.space.shape[1:], columns[1:], strict=True):
            places = places * size
            places += column
        if wide.dtype == object:
            self._dense = self._dense.astype(object)
        if not places.size:
            return
        low, high = int(places.min()), int(places.max())
        if sizes < _EXACT_FLOATS and high - low < places.size:
            self._dense[low : high + 1] += np.bincount(places - low, counts).astype(np.int64)
        else:
            np.add.at(self._dense, places, wide)

    def table(self, sensitivity: Sensitivities | None) -> SparseTable:
        """Return the sums as a table."""
        dense, parts = self._dense, self._parts
        self._dense, self._parts = None, []  # not there twice
        if dense is not None:
            return _occupied(self.space, None, dense, sensitivity)
        if not parts:
            return _occupied(self.space, no_keys(len(self.space.bounds)), np.zeros(0, np.int64), sensitivity)
        keys, sums = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
        return _occupied(self.space, *_summed(keys, sums), sensitivity)


def _summed(keys: Keys, counts: Sums) -> tuple[Keys, Sums]:
    """Return each key once, with the sum of its counts."""
    keys, order = sorted_with_places(keys)
    starts = np.flatnonzero(~repeats(keys))
    sums = np.add.reduceat(counts[order], starts) if starts.size else counts
    return keys.take(starts, axis=1), sums


def _occupied(
    space: KeySpace, keys: Keys | None, sums: Sums, sensitivity: Sensitivities | None
) -> SparseTable:
    """Return the cells whose sums are not 0, saturated; without keys, the sums are those of all cells."""
    some = np.flatnonzero(sums)
    cells = some.astype(np.uint64)[np.newaxis] if keys is None else keys.take(some, axis=1)
    return SparseTable.from_cells(space, cells, saturated(sums[some]), sensitivity=sensitivity)


def _added_up(table: SparseTable) -> Sensitivities | None:
    """Return what one unit changes in sums of cells of a table."""
    return None if table.sensitivity is None else table.sensitivity.added_up()


def _marginal(space: KeySpace, keys: Keys, counts: Sums, sensitivity: Sensitivities | None) -> SparseTable:
    """Return the sum of each cell, of cells in any order."""
    if space.cells_total <= _FEW_CELLS:
        sums = np.zeros(space.cells_total, dtype=counts.dtype)
        np.add.at(sums, keys[0].astype(np.intp), counts)
        return _occupied(space, None, sums, sensitivity)
    return _occupied(space, *_summed(keys, counts), sensitivity)


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
