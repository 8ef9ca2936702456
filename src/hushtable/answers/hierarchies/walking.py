r"""From the root down to the nodes that make up groups.

A group is a product of sets of ranks. Of a node it holds all cells, none, or some: then the node lies
*across*, and its children are looked at. Only those that meet the group are; how many others there are, and
what they hold together, follows from the node.

While levels are complete, nodes inside of a group are taken as they are; what is left of it lies in the nodes
across on the last complete level, its *surroundings*. Below, some nodes are absent: the walk ends there.

Promise: exact numbers of nodes, for any groups.
Cost: an entry for each group and each child that it meets of a node across; so many at once as fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.hierarchies.asked import Covered
from hushtable.structures.fitting import Fit, Level
from hushtable.structures.refining import RefinedTree

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Places = NDArray[np.intp]
_AT_ONCE = 1 << 20  # children


class Side:
    """Nodes on one side of groups: how many were kept, and looked at, by level; and their counts together."""

    def __init__(self, groups: int, levels: int) -> None:
        self.counts = np.zeros(groups)
        self.kept = np.zeros((levels, groups))
        self.seen = np.zeros((levels, groups))

    @property
    def absent(self) -> Array:
        """How many of each level are absent."""
        found: Array = self.seen - self.kept
        return found


@dataclass(eq=False)
class Found:
    """What groups are made of."""

    value: Array  # of published masses
    complete: Side  # nodes of complete levels, inside
    around: Side  # nodes of the last complete level across: their counts, and how many
    inside: Side  # below: nodes inside, outside and across
    outside: Side
    across: Side


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Groups with nodes that lie across them."""

    groups: Places
    rows: Places  # of the nodes, among those published of their level

    def parts(self, sizes: Numbers) -> Iterator[_Pairs]:
        """Yield some at a time, so that there are not too many children at once."""
        total = np.cumsum(sizes)
        start = 0
        while start < self.groups.size:
            before = int(total[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(total, before + _AT_ONCE, side="right")))
            yield _Pairs(self.groups[start:stop], self.rows[start:stop])
            start = stop


def walked(tree: RefinedTree, fit: Fit, axes: Sequence[Covered], sets: Sequence[Numbers]) -> Found:
    """Return what groups are made of; `sets` say which set of each axis every group has."""
    number = sets[0].size
    found = Found(np.zeros(number), *(Side(number, tree.levels) for _ in range(5)))
    whole = np.ones(number, dtype=np.bool_)
    for chain, axis, mine in zip(tree.chains, axes, sets, strict=True):
        every = axis.within(mine, np.zeros_like(mine), np.full_like(mine, chain.size))
        whole &= every == chain.size
    everything = np.flatnonzero(whole)
    found.value[everything] = fit.masses[0][0]
    _add(found.complete, 0, everything, fit.levels[0].counts[np.zeros_like(everything)])
    groups = np.flatnonzero(~whole)
    pairs = _Pairs(groups, np.zeros(groups.size, dtype=np.intp))
    bounds = [axis.bounds() for axis in axes]
    if tree.staying == 1:
        _add(found.around, 0, groups, fit.levels[0].counts[pairs.rows])
    for level in range(tree.levels - 1):
        if not pairs.groups.size:
            break
        totals = _Totals(fit.levels[level], fit.levels[level + 1])
        parts = pairs.parts(fit.levels[level].branches[pairs.rows])
        steps = [_step(tree, fit, level, part, axes, sets, bounds, totals, found) for part in parts]
        pairs = _Pairs(
            *(np.concatenate([getattr(each, name) for each in steps]) for name in ("groups", "rows"))
        )
        if level + 1 == tree.staying - 1:  # the last level with all of its nodes
            _add(found.around, level + 1, pairs.groups, fit.levels[level + 1].counts[pairs.rows])
    return found


class _Totals:
    """What all children of each published node are together."""

    def __init__(self, above: Level, below: Level) -> None:
        self.seen = above.branches.astype(np.float64)
        self.kept = above.sums(np.ones(below.counts.size))
        self.counts = above.sums(below.counts)


def _step(
    tree: RefinedTree,
    fit: Fit,
    level: int,
    pairs: _Pairs,
    axes: Sequence[Covered],
    sets: Sequence[Numbers],
    bounds: Sequence[tuple[Numbers, Numbers]],
    totals: _Totals,
    found: Found,
) -> _Pairs:
    """Look at the children of nodes across groups; return those that are kept and lie across."""
    above, below = fit.levels[level], fit.levels[level + 1]
    mine = [each[pairs.groups] for each in sets]
    limits = [(first[which], stop[which]) for (first, stop), which in zip(bounds, mine, strict=True)]
    family = tree.family_within(above.prefixes[pairs.rows], level, limits)
    positions, owners = family.positions, family.owners
    groups = pairs.groups[owners]
    cells, held = np.ones(positions.size, dtype=np.int64), np.ones(positions.size, dtype=np.int64)
    for axis, which, low, high in zip(axes, mine, family.starts, family.stops, strict=True):
        cells *= high - low
        held *= axis.within(which[owners], low, high)
    places = np.searchsorted(below.prefixes, positions)
    kept = np.zeros(positions.size, dtype=np.bool_)
    if below.prefixes.size:
        kept = below.prefixes.take(places, mode="clip") == positions
    inside, across = held == cells, (held > 0) & (held < cells)
    counts, masses = np.zeros(positions.size), np.zeros(positions.size)
    counts[kept], masses[kept] = below.counts[places[kept]], fit.masses[level + 1][places[kept]]
    # An absent child has its share of what its parent does not give to kept ones.
    parents = pairs.rows[owners]
    density = fit.own[level][parents] / np.maximum(above.absent_cells[parents], 1.0)
    value = np.where(kept, np.where(inside, masses, 0.0), density * held)
    found.value += np.bincount(groups, weights=value, minlength=found.value.size)
    if level + 1 < tree.staying:
        _add(found.complete, level + 1, groups[inside], counts[inside])
    else:
        _add(found.inside, level + 1, groups[inside], counts[inside], kept[inside])
        _add(found.across, level + 1, groups[across], counts[across], kept[across])
        met, number = inside | across, found.value.size
        for name, every, seen in (
            ("seen", totals.seen, met),
            ("kept", totals.kept, met & kept),
        ):
            rest = np.bincount(pairs.groups, weights=every[pairs.rows], minlength=number)
            side = getattr(found.outside, name)[level + 1]
            side += rest - np.bincount(groups[seen], minlength=number)
        found.outside.counts += np.bincount(
            pairs.groups, weights=totals.counts[pairs.rows], minlength=number
        ) - np.bincount(groups[met], weights=counts[met], minlength=number)
    on = np.flatnonzero(across & kept)
    return _Pairs(groups[on], places[on])


def _add(
    side: Side, level: int, groups: Places, counts: Array, kept: NDArray[np.bool_] | None = None
) -> None:
    """Add nodes of a level to a side, with the group of each."""
    number = side.counts.size
    side.counts += np.bincount(groups, weights=counts, minlength=number)
    side.seen[level] += np.bincount(groups, minlength=number)
    side.kept[level] += np.bincount(groups if kept is None else groups[kept], minlength=number)
