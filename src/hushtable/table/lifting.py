"""From cells to nodes: the sums of a table along its trees.

Occupied cells stand in a line, in order, so those of one node are neighbours, and sums of neighbours are
differences of running sums. The nodes of a level are listed when its slice is worked on.

Promise: a node that holds an occupied cell is listed once, with the sum of its cells (a Haar split: its left
minus its right half), exact and then saturated at 2^60. Saturation takes no two values apart, so what one
person changes in all nodes together stays within the structure's sensitivity. A sum may be 0: a node gets
noise of its own whether it is listed or drawn from those that are not, so this does not change any law.
Cost: O(n log(m/n)) for n occupied of m cells; of two axes, times the levels of the other one. Memory for O(n)
numbers until slices are worked on.
Source: Cormode, Procopiuc, Srivastava, Tran, section 3, the theorem on dyadic ranges and wavelets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, no_keys, repeats, sorted_with_places
from hushtable.structures.axes import AxisSpace
from hushtable.structures.lines import Line
from hushtable.structures.trees import DyadicTree, HaarTree
from hushtable.table.slices import Cells, Slice, same
from hushtable.table.sparse import LARGEST_COUNT, SparseTable

_SLICE = 1 << 18  # nodes of a slice: what a draw touches stays small, and a thread is worth its start
_WORTH_IT = 0.75  # rows are taken together where that leaves so many of them, or fewer
_APART = np.uint64((1 << 64) - 1)

Sums: TypeAlias = NDArray[Any]  # integers of 64 bits, or Python's own where those might wrap


def lifted(table: SparseTable, nodes: AxisSpace) -> list[Slice]:
    """Return the nodes with occupied cells in slices of `nodes.space`, which cover all nodes. Private."""
    if len(nodes.axes) == 2:
        return _crossed_slices(table, nodes)
    (axis,) = nodes.axes
    return _slices(_runs(axis.tree, _rows(*_in_line(table, axis.line))), nodes.nodes_total)


class _LineRows(NamedTuple):
    """Ascending cells, or the first cells of nodes. The last word of a cell is its place in a line.

    `gaps` says in which bits each place differs from the one before: two neighbours share a node of 2^shift
    cells if those are all among the last `shift`. Cells that differ in another word never meet. `before` has
    the running sum before each row, and after the last.
    """

    cells: Keys
    gaps: NDArray[np.uint64]
    before: Sums

    def part(self, start: int, stop: int) -> _LineRows:
        """Return some rows, of which the first begins a node."""
        return _LineRows(self.cells[:, start:stop], self.gaps[start:stop], self.before[start : stop + 1])

    def nodes(self, shift: int) -> int:
        """Return how many nodes of 2^shift cells there are."""
        return int(np.count_nonzero(self.gaps >= np.uint64(1 << shift)))

    def starts(self, shift: int) -> NDArray[np.intp]:
        """Return the rows that begin a node of 2^shift cells."""
        return np.flatnonzero(self.gaps >= np.uint64(1 << shift))

    def before_nodes(self, starts: NDArray[np.intp]) -> Sums:
        """Return the running sum before nodes that begin at these rows, and after the last."""
        found = np.empty(starts.size + 1, dtype=self.before.dtype)
        self.before.take(starts, out=found[:-1], mode="clip")  # which, other than "raise", fills it directly
        found[-1] = self.before[-1]
        return found

    def together(self, shift: int) -> _LineRows:
        """Return one row for each node of 2^shift cells."""
        starts = self.starts(shift)
        return _LineRows(self.cells.take(starts, axis=1), self.gaps.take(starts), self.before_nodes(starts))

    def halved(self, shift: int) -> _LineRows:
        """Return the rows, with those taken away that lie in the right half of a node of 2^shift cells."""
        right = (self.cells[-1] >> np.uint64(shift - 1) & np.uint64(1)).view(np.int64)
        return self._replace(before=_running(np.diff(self.before) * (1 - 2 * right)))


def _rows(cells: Keys, sums: Sums) -> _LineRows:
    """Return ascending cells as rows."""
    gaps = np.full(sums.size, _APART)
    np.bitwise_xor(cells[-1, 1:], cells[-1, :-1], out=gaps[1:])
    for word in cells[:-1]:
        gaps[1:][word[1:] != word[:-1]] = _APART
    return _LineRows(cells, gaps, _running(sums))


def _running(sums: Sums) -> Sums:
    """Return the sum of all before each, and of all."""
    return np.concatenate([np.zeros(1, dtype=sums.dtype), np.cumsum(sums)])


class _Run(NamedTuple):
    """Nodes of one level of a tree, as rows that are not taken together yet."""

    offset: int
    shift: int
    halves: bool  # whether a value is the left minus the right half
    rows: _LineRows
    size: int

    @property
    def first(self) -> int:
        """The number of the first node."""
        return self.offset + (int(self.rows.cells[-1, 0]) >> self.shift)

    def load(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the numbers of the nodes, and their values."""
        rows = self.rows.halved(self.shift) if self.halves else self.rows
        cells, before = rows.cells[-1], rows.before
        if self.size < cells.size:
            starts = rows.starts(self.shift)
            cells, before = cells.take(starts), rows.before_nodes(starts)
        return _numbers(cells, self.shift, self.offset), saturated(np.diff(before))

    def parts(self) -> list[_Run]:
        """Return the run in parts of about `_SLICE` nodes."""
        if self.size <= _SLICE:
            return [self]
        rows, shift = self.rows, np.uint64(self.shift)
        wanted = rows.cells[-1, :: rows.gaps.size * _SLICE // self.size]
        # A part begins where the node does that holds the wanted row.
        edges = np.searchsorted(rows.cells[-1], np.unique(wanted >> shift) << shift).tolist()
        parts = [rows.part(start, stop) for start, stop in pairwise([*edges, rows.gaps.size])]
        return [self._replace(rows=part, size=part.nodes(self.shift)) for part in parts]


def _runs(tree: DyadicTree | HaarTree, rows: _LineRows) -> list[_Run]:
    """Return the nodes of a tree, level by level from the root."""
    runs = []
    for depth in reversed(range(tree.levels)):
        shift = tree.widths[depth].bit_length() - 1
        halves = not tree.disjoint and depth > 0
        # A split whose right half is padding does not exist: rows in it are those beyond the last split.
        end = int(np.searchsorted(rows.cells[-1], np.uint64(tree.counts[depth] << shift)))
        level = rows.part(0, end)
        runs.append(_Run(tree.offsets[depth], shift, halves, level, level.nodes(shift)))
        if runs[-1].size < _WORTH_IT * rows.gaps.size:
            rows = rows.together(shift)
    return runs[::-1]


def _slices(runs: list[_Run], nodes_total: int) -> list[Slice]:
    """Return runs of ascending nodes in slices of about equally many."""
    groups: list[list[_Run]] = [[]]
    room = _SLICE
    for part in (part for run in runs for part in run.parts() if part.size):
        if groups[-1] and part.size > room:
            groups.append([])
            room = _SLICE
        groups[-1].append(part)
        room -= part.size
    # Nodes between those of two slices belong to the first of the two.
    edges = [0, *(group[0].first for group in groups[1:]), nodes_total]
    return [
        Slice((low,), (high - low,), sum(run.size for run in group), partial(_loaded, group))
        for group, (low, high) in zip(groups, pairwise(edges), strict=True)
    ]


def _loaded(runs: list[_Run]) -> Cells:
    """Return the keys and values of runs."""
    loaded = [run.load() for run in runs] or [(no_keys(1)[0], np.empty(0, dtype=np.int64))]
    if len(loaded) == 1:
        ((numbers, values),) = loaded
    else:
        numbers, values = (np.concatenate(parts) for parts in zip(*loaded, strict=True))
    return numbers[np.newaxis], values


def _numbers(cells: NDArray[np.uint64], shift: int, offset: int) -> NDArray[np.uint64]:
    """Return the numbers of the nodes of 2^shift cells that begin with these."""
    numbers: NDArray[np.uint64] = cells >> np.uint64(shift)
    numbers += np.uint64(offset)
    return numbers


class Block(NamedTuple):
    """The 2^shift cells of a line from `start` on: a node of so many or fewer lies in it, or outside."""

    start: int
    shift: int


def block_levels(tree: DyadicTree | HaarTree, block: Block) -> dict[int, range]:
    """Return the numbers of the nodes within a block, by their levels."""
    found = {}
    for depth, (offset, width, count) in enumerate(zip(tree.offsets, tree.widths, tree.counts, strict=True)):
        shift = width.bit_length() - 1
        first = block.start >> shift
        last = min(first + (1 << block.shift >> shift), count)
        if shift <= block.shift and first < last:
            found[depth] = range(offset + first, offset + last)
    return found


def lifted_block(tree: DyadicTree | HaarTree, block: Block, cells: Cells) -> list[Slice]:
    """Return the nodes within a block in slices, one for each level of `block_levels`, by its cells."""
    keys, counts = cells
    runs = _runs(tree, _rows(keys, roomy(counts)))
    return [
        Slice((numbers.start,), (len(numbers),), runs[depth].size, partial(_loaded, [runs[depth]]))
        for depth, numbers in block_levels(tree, block).items()
    ]


def lifted_above(tree: DyadicTree | HaarTree, blocks: Sequence[Block], sums: Sequence[int]) -> list[Slice]:
    """Return the nodes that are larger than the blocks in them, in slices; all of them are listed.

    Blocks cover the line, in order; `sums` are those of their cells.
    """
    starts = np.array([block.start for block in blocks], dtype=np.uint64)
    shifts = np.array([block.shift for block in blocks])
    slices = []
    for run in _runs(tree, _rows(starts[np.newaxis], np.array(sums, dtype=object))):
        numbers, values = run.load()
        larger = _numbers(np.unique(starts[shifts < run.shift]), run.shift, run.offset)
        keep = np.flatnonzero(np.isin(numbers, larger))
        for part in np.split(keep, np.flatnonzero(np.diff(numbers[keep]) > 1) + 1):
            if part.size:
                cells = numbers[part][np.newaxis], values[part]
                slices.append(Slice((int(cells[0][0, 0]),), (part.size,), part.size, partial(same, cells)))
    return slices


def _crossed_slices(table: SparseTable, nodes: AxisSpace) -> list[Slice]:
    """Return the nodes of two axes: each node of the first, with the nodes of the second over its cells."""
    first, second = nodes.axes
    pairs = KeySpace((first.tree.nodes_total, second.line.cells))
    codes = table.space.unpack(table.keys)
    ups, along, sums = first.line.positions(codes), second.line.positions(codes), roomy(table.counts)
    parts: list[_LineRows] = []
    for depth in reversed(range(first.tree.levels)):
        numbers = first.tree.nodes_at(np.full(ups.size, depth), ups)
        keys = pairs.pack(np.stack([numbers, along], axis=1))
        keys, order = sorted_with_places(keys)
        starts = np.flatnonzero(~repeats(keys))
        if starts.size:
            sums = np.add.reduceat(sums[order], starts)
        kept = order[starts]
        numbers, ups, along = numbers[kept], ups[kept], along[kept]
        rows = _rows(np.stack([numbers, along]).astype(np.uint64), sums)
        parts = _between_nodes(rows, wanted=_SLICE // second.tree.levels) + parts
    unit = second.tree.nodes_total if len(nodes.space.bounds) == 1 else 1
    parts = parts or [_rows(no_keys(2), sums)]
    edges = [0, *(int(part.cells[0, 0]) * unit for part in parts[1:]), nodes.space.bounds[0]]
    return [
        Slice(
            (low, *(0,) * len(nodes.space.bounds[1:])),
            (high - low, *nodes.space.bounds[1:]),
            sum(part.nodes(shift) for shift in range(second.tree.levels)),
            partial(_crossed, nodes, part),
        )
        for part, (low, high) in zip(parts, pairwise(edges), strict=True)
    ]


def _between_nodes(rows: _LineRows, *, wanted: int) -> list[_LineRows]:
    """Return rows in parts of about so many, cut where their first words change."""
    words = rows.cells[0]
    edges = np.searchsorted(words, np.unique(words[:: max(1, wanted)])).tolist()
    return [rows.part(start, stop) for start, stop in pairwise([*edges, words.size])]


def _crossed(nodes: AxisSpace, rows: _LineRows) -> Cells:
    """Return the nodes over rows whose first words are nodes of the first axis."""
    tree = nodes.axes[1].tree
    keys, values = [], []
    for shift, offset in enumerate(reversed(tree.offsets)):
        rows = rows.together(shift)
        numbers = _numbers(rows.cells[1], shift, offset)
        keys.append(nodes.space.pack(np.stack([rows.cells[0], numbers], axis=1)))
        values.append(saturated(np.diff(rows.before)))
    every, order = sorted_with_places(np.concatenate(keys, axis=1))
    return every, np.concatenate(values).take(order)


def _in_line(table: SparseTable, line: Line) -> tuple[Keys, Sums]:
    """Return the occupied cells by their places in a line, ascending, and their counts."""
    positions, sums = positions_of(table.keys, table.space, line), roomy(table.counts)
    if positions is table.keys:
        return positions, sums
    positions, order = sorted_with_places(positions)
    return positions, sums.take(order)


def positions_of(keys: Keys, space: KeySpace, line: Line) -> Keys:
    """Return the places in a line of the cells of keys, as keys of one word."""
    if line.places == tuple(range(len(space.shape))):
        return keys  # a line has at most 2^60 cells: their keys are one word, in its order
    return line.positions(space.unpack(keys)).astype(np.uint64)[np.newaxis]


def roomy(counts: NDArray[np.int64]) -> Sums:
    """Return counts in a type in which no sum of them can wrap."""
    # Both types give the same sums, so it does not matter that this bound is a float.
    return counts if np.abs(counts).sum(dtype=np.float64) < LARGEST_COUNT / 2 else counts.astype(object)


def saturated(sums: Sums) -> NDArray[np.int64]:
    """Return sums within 2^60; those of 64 bits are (`roomy`)."""
    if sums.dtype != object:
        return sums
    return np.clip(sums, -LARGEST_COUNT, LARGEST_COUNT).astype(np.int64)
