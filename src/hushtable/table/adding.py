"""From cells to marginals, to buckets and to any other nodes: sums without an order among cells.

Promise: sums are exact and then saturated at 2^60. Saturation takes no two values apart, so what one person
changes in all sums together stays within the structure's sensitivity.
Cost: of a table of many cells, sorting the occupied ones; of all tables of few cells, one pass for each block
that holds several; of a sketch, O(n + width) for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, no_keys, repeats, sorted_with_places
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.structure import NodeSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table.lifting import Sums, roomy, saturated
from hushtable.table.slices import Cells
from hushtable.table.sparse import LARGEST_COUNT, SparseTable

if TYPE_CHECKING:
    from hushtable.structures.sketch import SketchSpace

_FEW_CELLS = 1 << 20  # of a table: sums of so many stay in the cache
_BLOCK_CELLS = 1 << 17  # of a block of several tables: sums of so many stay near
_CHUNK = 1 << 16  # cells whose codes are worked out at a time


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
    sums = TableSums(space, cube, numbers)
    for keys, counts in slices:
        sums.add(keys, counts)
    changes = None if sensitivity is None else sensitivity.added_up()
    return sums.tables(changes)


class TableSums:
    """The sums of some tables of a cube, so far. Threads may add at the same time. Private.

    Tables of few cells are added up in blocks: a block has sums over all values of some items, and gives
    every table of those. So a cell is added once for each block, not for each table.
    """

    def __init__(self, space: KeySpace, cube: TableSpace, numbers: Sequence[int]) -> None:
        self._space, self._cube, self._numbers = space, cube, numbers
        few = [number for number in numbers if cube.marginals[number].domain.cells_total <= _FEW_CELLS]
        blocks = _blocks([cube.marginals[number].places for number in few], cube.at.shape)
        self._blocks = [_TableBlock(items, [cube.at.shape[item] for item in items]) for items in blocks]
        self._items = sorted({item for block in self._blocks for item in block.items})
        many = [number for number in numbers if number not in set(few)]
        self._parts: dict[int, list[tuple[Keys, Sums]]] = {number: [] for number in many}
        self._sizes, self._lock = 0.0, Lock()  # of all counts together, which says whether sums may wrap

    @property
    def blocks(self) -> int | None:
        """How many sums a cell is added to, or None where a table has too many cells to hold them all."""
        return None if self._parts else len(self._blocks)

    @property
    def cells(self) -> int:
        """How many sums all blocks hold."""
        return sum(block.cells for block in self._blocks)

    def add(self, keys: Keys, counts: NDArray[np.int64] | None = None) -> None:
        """Add cells, which may repeat: what each counts, or 1."""
        with self._lock:
            self._sizes += keys.shape[1] if counts is None else float(np.abs(counts).sum(dtype=np.float64))
            narrow = self._sizes < LARGEST_COUNT / 2
        if counts is None and not (narrow and not self._parts):
            counts = np.ones(keys.shape[1], dtype=np.int64)
        wide: Sums | None = counts if counts is None or narrow else counts.astype(object)
        if self._parts:
            assert wide is not None
            cells = self._space.unpack(keys)
            for number, parts in self._parts.items():
                codes = np.stack(self._cube.cell_codes(number, cells), axis=1)
                parts.append(_summed(self._cube.marginals[number].domain.space.pack(codes), wide))
            del cells
        for start in range(0, keys.shape[1] if self._blocks else 0, _CHUNK):
            part = slice(start, start + _CHUNK)
            cells = self._space.unpack(keys[:, part])
            codes_of = {item: self._cube.item_codes(item, cells) for item in self._items}
            for block in self._blocks:
                block.add(codes_of, None if wide is None else wide[part])

    def tables(self, sensitivity: Sensitivities | None) -> list[SparseTable]:
        """Return the sums of each table, and hold them no longer."""
        blocks, parts = self._blocks, self._parts
        self._blocks, self._parts = [], {}  # not there twice
        return [self._table(number, blocks, parts, sensitivity) for number in self._numbers]

    def _table(
        self,
        number: int,
        blocks: list[_TableBlock],
        parts: dict[int, list[tuple[Keys, Sums]]],
        sensitivity: Sensitivities | None,
    ) -> SparseTable:
        marginal = self._cube.marginals[number]
        space, own = marginal.domain.space, parts.pop(number, None)
        if own is None:
            block = next(block for block in blocks if block.items.issuperset(marginal.places))
            return _occupied(space, None, block.sums_of(marginal.places), sensitivity)
        if not own:
            return _occupied(space, no_keys(len(space.bounds)), np.zeros(0, np.int64), sensitivity)
        keys, sums = (np.concatenate(each, axis=-1) for each in zip(*own, strict=True))
        return _occupied(space, *_summed(keys, sums), sensitivity)


class _TableBlock:
    """Sums over all values of some items, so far. Private."""

    def __init__(self, items: Sequence[int], shape: Sequence[int]) -> None:
        self.items, self._places, self._shape = frozenset(items), tuple(items), tuple(shape)
        self.cells = prod(shape)
        self._sums: Sums = np.zeros(self.cells, dtype=np.int64)
        self._lock = Lock()

    def add(self, codes_of: Mapping[int, NDArray[np.int64]], counts: Sums | None) -> None:
        """Add cells by the codes of each item: what each counts, or 1."""
        first, *later = self._places
        places = codes_of[first]
        for item, size in zip(later, self._shape[1:], strict=True):
            places = places * size
            places += codes_of[item]
        with self._lock:
            if counts is not None and counts.dtype == object:
                self._sums = self._sums.astype(object)
            np.add.at(self._sums, places, 1 if counts is None else counts)

    def sums_of(self, items: Sequence[int]) -> Sums:
        """Return the sums of the cells of some of its items, in their order."""
        kept = [self._places.index(item) for item in items]
        others = tuple(axis for axis in range(len(self._shape)) if axis not in kept)
        left = self._sums.reshape(self._shape).sum(axis=others)
        sums: Sums = left.transpose(np.argsort(np.argsort(kept))).ravel()
        return sums


def _blocks(tables: Sequence[Sequence[int]], shape: Sequence[int]) -> list[list[int]]:
    """Return few sets of items such that each table has all of its items in one of them.

    The largest table that is left begins a block, and as many of the others join as fit.
    """
    left = sorted(map(frozenset, tables), key=lambda items: -prod(shape[item] for item in items))
    found: list[list[int]] = []
    while left:
        block = left[0]
        for items in left:
            joined = block | items
            if prod(shape[item] for item in joined) <= _BLOCK_CELLS:
                block = joined
        found.append(sorted(block))
        left = [items for items in left if not items <= block]
    return found


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
