"""Ranges as combinations of nodes, and where those are among the published ones.

Promise: for each group, every node of its combination once, with the factor that makes the sum right; for
dyadic ranges, the fewest nodes. With two axes, a group is a pair of groups of the axes, and its combination
is the product of theirs.
Cost: two paths through the tree for each range, and a search in the published nodes for each node found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.nodes.ranges import Ranges
from hushtable.conditions.ranges import distinct
from hushtable.errors import BadQuery
from hushtable.structures.axes import Axis
from hushtable.structures.trees import Numbers

MOST_NODES = 2 * 10**7  # of one group
_AT_ONCE = 1 << 21  # nodes that are worked on together


@dataclass(frozen=True, slots=True)
class Combined:
    """Sums over groups of ranges as sums over nodes of one axis."""

    groups: NDArray[np.intp]
    nodes: Numbers
    factors: NDArray[np.float64]
    ranges: NDArray[np.intp]  # of each group, how many there are

    def added_up(self) -> Combined:
        """Return the same with each node of a group once, where ranges share nodes."""
        order = np.lexsort((self.nodes, self.groups))
        groups, nodes = self.groups[order], self.nodes[order]
        fresh = np.ones(order.size, dtype=np.bool_)
        fresh[1:] = (groups[1:] != groups[:-1]) | (nodes[1:] != nodes[:-1])
        starts = np.flatnonzero(fresh)
        factors = np.add.reduceat(self.factors[order], starts) if starts.size else self.factors
        some = starts[factors != 0]
        return Combined(groups[some], nodes[some], factors[factors != 0], self.ranges)


@dataclass(frozen=True, slots=True)
class Cover:
    """Nodes of combinations: which group each belongs to, its factor, and its row (-1: not published)."""

    groups: NDArray[np.intp]
    rows: NDArray[np.intp]
    factors: NDArray[np.float64]
    nodes: Numbers  # the numbers in the first axis
    ranges: NDArray[np.intp]  # of each group, how many there are on the first axis


class PublishedNodes:
    """The nodes of a release, to be looked up."""

    def __init__(self, axes: Sequence[Axis], codes: NDArray[np.int64]) -> None:
        self.axes = axes
        self._values = [distinct(column) for column in codes.T]
        self._keys = self._key([_found(*pair) for pair in zip(self._values, codes.T, strict=True)])

    def covers(self, ranges: Sequence[Ranges]) -> Iterator[Cover]:
        """Yield the combinations of all groups in turn, some at a time; `ranges` are those of each axis."""
        first, *others = ranges
        beside = [combined(axis, each) for axis, each in zip(self.axes[1:], others, strict=True)]
        nodes_beside = sum(each.nodes.size for each in beside) or 1
        for part in first.parts(_AT_ONCE // (2 * self.axes[0].tree.levels * nodes_beside)):
            along = combined(self.axes[0], part)
            number = along.nodes.size * nodes_beside
            if part.number == 1 and number > MOST_NODES:
                fact = f"this answer is put together from {number:,} nodes, and at most {MOST_NODES:,} can be"
                raise BadQuery(fact, "Ask for fewer values of an attribute at a time.")
            yield self.cover([along, *beside])

    def cover(self, combinations: Sequence[Combined]) -> Cover:
        """Return the nodes of all groups: those of one axis, or the products of those of two."""
        sought = [each.nodes for each in combinations]
        ranks = [_found(*pair) for pair in zip(self._values, sought, strict=True)]
        along, *others = combinations
        if not others:
            return Cover(along.groups, ranks[0], along.factors, along.nodes, along.ranges)
        (beside,) = others
        rows, columns = (each.ravel() for each in np.indices((along.nodes.size, beside.nodes.size)))
        number = len(beside.ranges)
        return Cover(
            groups=along.groups[rows] * number + beside.groups[columns],
            rows=_found(self._keys, self._key([ranks[0][rows], ranks[1][columns]])),
            factors=along.factors[rows] * beside.factors[columns],
            nodes=along.nodes[rows],
            ranges=np.repeat(along.ranges, number),
        )

    def holds(self, nodes: Numbers) -> NDArray[np.bool_]:
        """Return which nodes of a tree of one axis are published."""
        return _found(self._values[0], nodes) >= 0

    def _key(self, ranks: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        """Return one number for the places that nodes have among the published ones of each axis."""
        key = ranks[0]
        for rank, values in zip(ranks[1:], self._values[1:], strict=True):
            key = np.where((key >= 0) & (rank >= 0), key * len(values) + rank, -1)
        return key


def combined(axis: Axis, ranges: Ranges) -> Combined:
    """Return the nodes of each group of ranges, with their factors."""
    number = np.bincount(ranges.groups, minlength=ranges.number)
    step = _AT_ONCE // (2 * axis.tree.levels)
    parts = []
    for start in range(0, ranges.starts.size, step):
        rows = slice(start, start + step)
        found = axis.tree.combination(ranges.starts[rows], ranges.stops[rows])
        part = Combined(ranges.groups[rows][found.owners], found.nodes, found.factors, number)
        parts.append(part if axis.tree.disjoint else part.added_up())
    if len(parts) == 1:
        return parts[0]
    groups, nodes = (np.concatenate([getattr(each, name) for each in parts]) for name in ("groups", "nodes"))
    whole = Combined(groups, nodes, np.concatenate([each.factors for each in parts]), number)
    return whole if axis.tree.disjoint else whole.added_up()


def leaf(axis: Axis, ranges: Ranges) -> Combined:
    """Return the smallest node that holds the only cell of a range; of Haar splits, all that do."""
    if not axis.tree.disjoint:
        return combined(axis, ranges)
    nodes = axis.tree.nodes_at(np.array([axis.tree.levels - 1]), ranges.starts)
    return Combined(ranges.groups, nodes, np.ones(1), np.ones(1, dtype=np.intp))


def _found(values: NDArray[np.int64], sought: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the places of what is sought among ascending values, -1 where it is not."""
    if not values.size:
        return np.full(sought.size, -1)
    places = np.searchsorted(values, sought)
    return np.where(values.take(places, mode="clip") == sought, places, -1)
