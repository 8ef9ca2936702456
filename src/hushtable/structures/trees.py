r"""Nodes over a line of cells: dyadic ranges, and the splits of Haar wavelets.

The line is padded to 2^h cells and halved h times. A *dyadic node* of level l is one of the ranges of width
2^(h-l); its value is the sum of its cells. A *Haar node* of level 0 is the whole line, with its sum; one of
level l >= 1 is a dyadic range of width 2^(h-l+1), and its value is the sum of its left half minus that of its
right half.

Promise: nodes that lie wholly in the padding do not exist, nor do splits whose right half does. Nodes are
numbered from 0 on, level by level from the root, so that numbers ascend within a level as positions do. Every
cell lies in at most `levels` nodes: that is the sensitivity of the structure to one row.
Cost: a few operations on arrays for each level.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.structures.lines import Positions

Numbers = NDArray[np.int64]


class Combination(NamedTuple):
    """Sums over ranges as sums over nodes: range `owners[k]` has `factors[k]` times node `nodes[k]`.

    Entries are in the order of owners and nodes; a range has each node at most once, with a factor that is
    not 0.
    """

    owners: NDArray[np.intp]
    nodes: Numbers
    factors: NDArray[np.float64]


class LineTree:
    """Nodes in levels: what dyadic ranges and Haar splits share. `widths` of nodes include padding."""

    def __init__(self, cells: int, widths: list[int], counts: list[int]) -> None:
        self.cells = cells
        self.height = (cells - 1).bit_length()
        self.widths, self.counts = tuple(widths), tuple(counts)
        self.offsets = tuple(sum(counts[:level]) for level in range(len(counts)))
        self.nodes_total = sum(counts)

    disjoint: ClassVar[bool]  # whether nodes of a level share no cell, so that sums of them are sums of cells

    @property
    def levels(self) -> int:
        """The number of levels: no cell lies in more nodes than that."""
        return len(self.widths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.cells})"

    def level_of(self, nodes: Numbers) -> NDArray[np.intp]:
        """Return the level of each node, 0 at the root."""
        return np.searchsorted(np.array(self.offsets), nodes, side="right") - 1

    def firsts(self, nodes: Numbers) -> Positions:
        """Return the first cell of each node."""
        levels = self.level_of(nodes)
        found: Positions = (nodes - np.array(self.offsets)[levels]) * np.array(self.widths)[levels]
        return found

    def lasts(self, nodes: Numbers) -> Positions:
        """Return the last cell of each node that is no padding."""
        ends = self.firsts(nodes) + np.array(self.widths)[self.level_of(nodes)]
        found: Positions = np.minimum(ends, self.cells) - 1
        return found

    def nodes_at(self, levels: NDArray[np.integer], positions: Positions) -> Numbers:
        """Return the nodes of these levels that hold the cells at these positions."""
        found: Numbers = np.array(self.offsets)[levels] + positions // np.array(self.widths)[levels]
        return found

    def combination(self, starts: Positions, stops: Positions) -> Combination:
        """Return nodes whose sum is that of the cells from `starts` to below `stops`, for each range."""
        raise NotImplementedError


class DyadicTree(LineTree):
    """All dyadic ranges of a line.

    >>> tree = DyadicTree(5)
    >>> tree.widths, tree.counts, tree.nodes_total
    ((8, 4, 2, 1), (1, 2, 3, 5), 11)
    >>> found = tree.combination(np.array([1]), np.array([5]))
    >>> [(int(a), int(b)) for a, b in zip(tree.firsts(found.nodes), tree.lasts(found.nodes))]
    [(4, 4), (2, 3), (1, 1)]
    """

    disjoint = True
    unit = 1  # counts of all levels have the same noise

    def __init__(self, cells: int) -> None:
        height = (cells - 1).bit_length()
        self.weights = (1,) * (height + 1)
        widths = [1 << (height - level) for level in range(height + 1)]
        super().__init__(cells, widths, [-(-cells // width) for width in widths])

    def parents(self, nodes: Numbers, level: int) -> Numbers:
        """Return the parents of nodes of a level >= 1."""
        return (nodes - self.offsets[level] >> 1) + self.offsets[level - 1]

    def children(self, nodes: Numbers, level: int) -> Numbers:
        """Return the children of nodes of a level above the leaves, in ascending order if those are."""
        left = (nodes - self.offsets[level] << 1) + self.offsets[level + 1]
        both = np.stack([left, left + 1], axis=1).ravel()
        return both[both < self.offsets[level + 1] + self.counts[level + 1]]

    def combination(self, starts: Positions, stops: Positions) -> Combination:
        """Return the fewest nodes that make up each range."""
        owners = np.arange(len(starts))
        # A range that ends with the line may as well end with its padding: that takes fewer nodes.
        low, high = starts.copy(), np.where(stops == self.cells, 1 << self.height, stops)
        parts: list[tuple[NDArray[np.intp], Numbers]] = []
        for level in reversed(range(self.levels)):
            some = np.flatnonzero(low < high)
            if not some.size:
                break
            # A right child at the lower end, or a left one at the upper end: its parent is not inside.
            for rows, index in (
                (some[low[some] & 1 == 1], low),
                (some[high[some] & 1 == 1], high - 1),
            ):
                here = index[rows]
                real = here < self.counts[level]
                parts.append((owners[rows[real]], here[real] + self.offsets[level]))
            low, high = low + 1 >> 1, high >> 1
        owner = np.concatenate([each for each, _ in parts]) if parts else owners[:0]
        node = np.concatenate([each for _, each in parts]) if parts else starts[:0]
        order = np.lexsort((node, owner))
        return Combination(owner[order], node[order], np.ones(order.size))


class HaarTree(LineTree):
    """The total of a line, and the split of every dyadic range that has two halves.

    >>> tree = HaarTree(5)
    >>> tree.widths, tree.counts, tree.nodes_total
    ((8, 8, 4, 2), (1, 1, 1, 2), 5)
    >>> found = tree.combination(np.array([0]), np.array([1]))
    >>> found.nodes.tolist(), found.factors.tolist()
    ([0, 1, 2, 3], [0.125, 0.125, 0.25, 0.5])
    """

    disjoint = False

    def __init__(self, cells: int) -> None:
        height = (cells - 1).bit_length()
        splits = [1 << (height - depth) for depth in range(height)]
        counts = [(cells + width // 2 - 1) // width for width in splits]
        super().__init__(cells, [1 << height, *splits], [1, *counts])

    def combination(self, starts: Positions, stops: Positions) -> Combination:
        """Return the splits along the paths to both ends of each range."""
        owners = np.arange(len(starts))
        parts: list[tuple[NDArray[np.intp], Numbers, NDArray[np.float64]]] = []
        upper, lower = _Path(self, stops), _Path(self, starts)
        for level in reversed(range(1, self.levels)):
            ends = upper.up(level), lower.up(level)
            same = ends[0][0] == ends[1][0]
            parts.append((owners, ends[0][0], ends[0][1] - np.where(same, ends[1][1], 0.0)))
            parts.append((owners, ends[1][0], np.where(same, 0.0, -ends[1][1])))
        parts.append((owners, np.zeros(len(starts), dtype=np.int64), upper.share - lower.share))
        owner, node, factor = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((node, owner))
        order = order[factor[order] != 0]
        return Combination(owner[order], node[order], factor[order])


class _Path:
    """The path from a position up to the root, for the sum of all cells before it.

    `share` is the part of the current node's sum that counts as before the position if all splits below it
    were even: of a split into halves, the half that the position lies in counts as far as it did, the one
    left of it whole.
    """

    def __init__(self, tree: HaarTree, positions: Positions) -> None:
        self._tree = tree
        self._positions = np.minimum(positions, tree.cells - 1)
        self.share = (positions > self._positions).astype(np.float64)  # of one cell: none of it, or the last

    def up(self, level: int) -> tuple[Numbers, NDArray[np.float64]]:
        """Go up through the splits of a level; return them, with their factors (0: it is absent)."""
        width = self._tree.widths[level]
        index = self._positions // width
        right = self._positions - index * width >= width // 2
        real = index < self._tree.counts[level]
        factors = np.where(real, np.where(right, 1 - self.share, self.share) / 2, 0.0)
        self.share = np.where(real, (self.share + right) / 2, self.share)
        return np.where(real, index + self._tree.offsets[level], -1), factors
