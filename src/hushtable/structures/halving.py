r"""What each published node of a pruned tree has, by halving: the masses that a release shows.

A node is halved, and its halves, down to its children: by bits of addresses. What is known of a half from
below is a mean and a variance; of absent children together, what is usual of their level. How the count of a
node is divided among its halves is a mixture of kinds: evenly, but for chance, as if people came one by
one; nearly evenly, more or less; anyhow; all on the one side; all on the other. How common each kind is at a
depth is learned from the published counts. Then

1. from the leaves up, what is known of two halves tells of their sum, kind by kind, each kind by how likely
   it makes them; what has a noisy count of its own is weighed against that;
2. from the root down, a count is divided as each kind divides it, given what is known of the halves; again
   each kind by how likely it is.

So counts are averaged over stretches that are flat, and where nearly all is in few places, noise elsewhere
is not added up: each as far as the published counts speak for it, and place by place.

A node's *own* mass is what it does not give to a published child. It lies spread evenly over the cells of its
absent children.

Promise: a function of what is published. Own masses are not negative, and add up to the mass of the root.
Cost: some operations on arrays with one entry for each node that has a published one below, halves included.
Source: Kolaczyk (1999) for counts divided by mixtures from scale to scale; Hay, Rastogi, Miklau, Suciu (2010)
for sums of noisy counts. What it is worth: docs/decisions/041.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.law import NoiseLaw
from hushtable.structures.addresses import Numbers
from hushtable.structures.branching import BranchingTree

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Kinds of division. Spreads around even halves are parts of the count. By simulation (docs/decisions/041).
_SPREADS = 1 / 32, 1 / 16, 1 / 8, 1 / 4
_KINDS = len(_SPREADS) + 4
_USUAL = np.array([0.4, *(0.05 for _ in _SPREADS), 0.2, 0.1, 0.1])
_FAITH = 2.0  # as many halved nodes what is usual counts for, where kinds are learned
_PASSED_ON = 0.8  # of what was learned at one depth, for the next
_ROUNDS, _LEARNED_FROM, _AT_ONCE = 6, 1 << 12, 1 << 17
_UNSURE = 0.35, 0.75  # of the cutoff, or of the deviation of noise: the deviation of an absent child
_TYPICAL = 0.5  # of what parents show besides published children, for absent ones
_CLEARLY = 4.0  # times its variance: what the square of a sum has to be, to stand out from noise
_VARIES = 2.0  # times what is added up for absent children: how far it may be off in one place
_LEAST, _LARGEST = 1e-130, 2.0**105  # of variances: beyond, a file that somebody made up would overflow
_SMALLEST_CUTOFF, _LARGEST_CUTOFF = 2.0**-50, 2.0**61


class Believed(NamedTuple):
    """What is believed of counts: means, and variances around them."""

    means: Array
    variances: Array

    def weighed(self, other: Believed) -> Believed:
        """Return what both know together."""
        trust = other.variances / (self.variances + other.variances)
        return Believed(trust * self.means + (1 - trust) * other.means, trust * self.variances)


class Halves(NamedTuple):
    """What is known of left and right halves, and which part of the cells is left."""

    left: Believed
    right: Believed
    part: Array

    def only(self, rows: slice) -> Halves:
        """Return some of them."""
        left, right = (Believed(*(values[rows] for values in each)) for each in (self.left, self.right))
        return Halves(left, right, self.part[rows])


class _Kinds(NamedTuple):
    """For each kind, how likely it makes the halves, and what they then have: logarithm, mean, variance."""

    likely: Array
    means: Array
    variances: Array

    def mixed(self, common: Array) -> tuple[Array, Array]:
        """Return the mean and the variance of all kinds together."""
        weights = _responsible(self.likely, common)
        mean = (weights * self.means).sum(axis=0)
        return mean, (weights * (self.variances + (self.means - mean) ** 2)).sum(axis=0)


def sums_by_kind(halves: Halves) -> _Kinds:
    """Return what the halves tell of their sum, if it is divided by each kind."""
    (left, left_around), (right, right_around), part = halves
    rest, sums = 1 - part, left + right
    guess = np.maximum(sums, 0.0)
    found = _Kinds(*(np.empty((_KINDS, part.size)) for _ in range(3)))
    apart, noise = rest * left - part * right, rest**2 * left_around + part**2 * right_around
    spread = _spreads(guess, part)
    around, even = noise + spread, slice(len(spread))
    found.likely[even] = _log_normal(apart, around)
    found.means[even] = (
        (part * right_around + spread) * left + (rest * left_around + spread) * right
    ) / around
    found.variances[even] = (left_around * right_around + spread * (left_around + right_around)) / around
    together = left_around + right_around
    below = np.minimum(left, 0.0) ** 2 / left_around + np.minimum(right, 0.0) ** 2 / right_around
    found.likely[-3] = -np.log(guess + _anyhow(together / 2)) - 0.5 * below
    found.means[-3], found.variances[-3] = sums, together
    for kind, all_, none in ((-2, halves.left, halves.right), (-1, halves.right, halves.left)):
        found.likely[kind] = _log_normal(none.means, none.variances)
        found.means[kind], found.variances[kind] = all_
    return found


def left_by_kind(halves: Halves, counts: Array) -> _Kinds:
    """Return what left halves have of these counts, if they are divided by each kind."""
    (left, left_around), (right, right_around), part = halves
    together = left_around + right_around
    told = left + left_around / together * (counts - left - right)
    around = left_around / together * right_around
    found = _Kinds(*(np.zeros((_KINDS, part.size)) for _ in range(3)))
    even = part * counts
    spread = _spreads(counts, part)
    found.likely[: len(spread)] = _log_normal(told - even, around + spread)
    found.means[: len(spread)] = even + spread / (around + spread) * (told - even)
    beyond = np.maximum(-told, 0.0) + np.maximum(told - counts, 0.0)
    found.likely[-3] = -np.log(counts + _anyhow(around)) - 0.5 * beyond**2 / around
    found.means[-3] = np.clip(told, 0.0, counts)
    found.likely[-2], found.means[-2] = _log_normal(counts - told, around), counts
    found.likely[-1] = _log_normal(told, around)
    return found


def _spreads(counts: Array, part: Array) -> Array:
    """Return the variances of left halves of counts around even ones, a row for each kind that has such."""
    shape = part * (1 - part)
    chance = np.maximum(counts, 1.0) * shape
    wider = np.maximum(np.multiply.outer(4 * np.square(_SPREADS), counts**2 * shape), chance)
    return np.concatenate([chance[np.newaxis], wider])


def _anyhow(around: Array) -> Array:
    """Return what counts are known to at best, as a length."""
    return np.asarray(1.9 * np.sqrt(around))


def _log_normal(values: Array, variances: Array) -> Array:
    return np.asarray(-0.5 * (values**2 / variances + np.log(2 * pi * variances)))


def _responsible(likely: Array, common: Array) -> Array:
    """Return how likely each kind is for each entry, where kinds are so common."""
    weights = np.exp(likely - likely.max(axis=0)) * common[:, np.newaxis]
    weights /= weights.sum(axis=0)
    return np.asarray(weights)


def _learned(likely: Array, usual: Array, number: Array) -> Array:
    """Return how common kinds are, by expectation and maximisation; each entry is that of some nodes."""
    common = usual
    weights = np.exp(likely - likely.max(axis=0))
    for _ in range(_ROUNDS):
        # Each node counts once: it is shared among kinds by how likely they are.
        found = common * (weights @ (number / np.maximum(common @ weights, _LEAST)))
        found[-2:] = found[-2:].mean()  # neither side is usual
        found += _FAITH * usual
        common = found / found.sum()
    return common


@dataclass(eq=False)
class _Depth:
    """The halved nodes of one depth, in the order of their prefixes: those with a published node below."""

    prefixes: Numbers
    cells: Array
    children: tuple[Places, Places]  # left and right ones at the next depth, -1 for those that are not there
    child_cells: tuple[Array, Array]
    shift: int
    level: int  # of the published nodes that come next below
    empty: float  # how many other nodes there are below published ones, with no published one below
    common: Array | None = None  # how common kinds are


class _Tree:
    """A pruned tree in halves."""

    def __init__(
        self,
        tree: BranchingTree,
        numbers: Numbers,
        counts: Numbers,
        *,
        laws: Sequence[NoiseLaw],
        cutoff: float,
    ) -> None:
        self._tree = tree
        self._binary = BranchingTree(tree.addresses, branching=2)
        edges = np.searchsorted(numbers, np.array([*tree.offsets, tree.nodes_total]))
        self.prefixes = [
            numbers[first:last] - offset
            for (first, last), offset in zip(pairwise(edges), tree.offsets, strict=True)
        ]
        self._counts = [counts[first:last].astype(np.float64) for first, last in pairwise(edges)]
        self._cells = [
            tree.cells_of(each, level).astype(np.float64) for level, each in enumerate(self.prefixes)
        ]
        self._noise = [min(max(law.floats.variance, _LEAST), _LARGEST) for law in laws]
        cutoff = min(max(cutoff, _SMALLEST_CUTOFF), _LARGEST_CUTOFF)
        self._cutoffs = [tree.cutoff_at(level, cutoff) for level in range(tree.levels)]
        self._parents = [np.zeros(0, dtype=np.intp)]
        for level in range(1, tree.levels):
            step = tree.shifts[level - 1] - tree.shifts[level]
            found = np.searchsorted(self.prefixes[level - 1], self.prefixes[level] >> step)
            self._parents.append(found)
        # A whole child of a published node, in cells: some of its addresses may be padding.
        self._whole = [1.0]
        for level in range(1, tree.levels):
            branches = tree.branches(self.prefixes[level - 1], level - 1)
            self._whole.append(float(self._cells[level - 1].sum() / max(branches.sum(), 1)) or 1.0)
        self._typical = [Believed(np.zeros(1), np.ones(1)), *map(self._absent, range(1, tree.levels))]

    def given(self, level: int, values: Array) -> Array:
        """Add up what the published children of each node of a level have."""
        if level + 1 == self._tree.levels:
            return np.zeros(self.prefixes[level].size)
        parents = self._parents[level + 1]
        found = np.bincount(parents, weights=values, minlength=self.prefixes[level].size)
        return np.asarray(found, dtype=np.float64)

    def absent_cells(self, level: int) -> Array:
        """Return how many cells of each node of a level lie in absent children."""
        # In integers: of 2^60 cells, a float does not tell all from all but one.
        if level + 1 == self._tree.levels:
            return np.zeros(self.prefixes[level].size)
        left = self._tree.cells_of(self.prefixes[level], level)
        np.subtract.at(
            left, self._parents[level + 1], self._tree.cells_of(self.prefixes[level + 1], level + 1)
        )
        return left.astype(np.float64)

    def _absent(self, level: int) -> Believed:
        """Return what a whole absent node of a level usually has."""
        rest = self._counts[level - 1] - self.given(level - 1, self._counts[level])
        cells = self.absent_cells(level - 1)
        some = cells > 0
        absent = float(cells[some].sum()) / self._whole[level]
        cutoff = self._cutoffs[level]
        mean = min(max(float(rest[some].sum()) / max(absent, 1.0), 0.0), cutoff / 2)
        variance = max((_UNSURE[0] * cutoff) ** 2, _UNSURE[1] ** 2 * self._noise[level])
        return Believed(np.array([_TYPICAL * mean]), np.array([variance]))

    def _unseen(self, level: int, cells: Array) -> Believed:
        """Return what is known of cells in absent nodes of a level."""
        number = np.maximum(cells / self._whole[level], 2.0**-60)
        mean, variance = self._typical[level]
        return Believed(mean * number, variance * number)

    def masses(self) -> list[Array]:
        """Return the masses of published nodes, level by level."""
        known = Believed(self._counts[-1], np.full(self._counts[-1].size, self._noise[-1]))
        halved: list[list[_Depth]] = []
        kept: list[list[Believed]] = []
        usual = _USUAL
        for level in reversed(range(1, self._tree.levels)):
            depths, below = self._depths(level), [known]
            for each in reversed(depths):
                below.append(self._merged(each, below[-1], usual))
                assert each.common is not None
                usual = _PASSED_ON * each.common + (1 - _PASSED_ON) * _USUAL
            halved.append(depths)
            kept.append(below[:-1])
            known = self._with_own(level - 1, depths[:1], below[-1])
        masses = [np.maximum(known.means, 0.0)]
        for depths, below in zip(reversed(halved), reversed(kept), strict=True):
            level = len(masses)
            counts = np.zeros(0)
            if depths:
                counts = masses[-1][np.searchsorted(self.prefixes[level - 1], depths[0].prefixes)]
            for each in depths:
                counts = self._divided(each, below.pop(), counts)
            masses.append(counts)
        return masses

    def _depths(self, level: int) -> list[_Depth]:
        """Return the depths from the level above down to this one: the nodes that are halved at each."""
        found: list[_Depth] = []
        prefixes, cells = self.prefixes[level], self._cells[level]
        if not prefixes.size:
            return found
        for shift in range(self._tree.shifts[level] + 1, self._tree.shifts[level - 1] + 1):
            above = prefixes >> 1
            first = np.append(True, above[1:] != above[:-1])[: above.size]
            places, parents = above[first], np.cumsum(first) - 1
            depth = self._binary.shifts.index(shift)
            children, child_cells = [], []
            for side in (0, 1):
                rows = np.flatnonzero((prefixes & 1) == side)
                child, size = np.full(places.size, -1, dtype=np.intp), np.empty(places.size)
                child[parents[rows]], size[parents[rows]] = rows, cells[rows]
                others = np.flatnonzero(child < 0)
                size[others] = self._binary.cells_of(2 * places[others] + side, depth + 1)
                children.append(child)
                child_cells.append(size)
            left, right = child_cells
            own = left + right
            room = self._whole[level] * 2.0 ** (shift - self._tree.shifts[level])
            every = float(self._cells[level - 1].sum()) / room
            found.append(
                _Depth(
                    prefixes=places,
                    cells=own,
                    children=(children[0], children[1]),
                    child_cells=(left, right),
                    shift=shift,
                    level=level,
                    empty=max(every - places.size, 0.0),
                )
            )
            prefixes, cells = places, own
        return found[::-1]

    def _halves(self, depth: _Depth, below: Believed) -> Halves:
        """Return what is known of the halves of all nodes of a depth, absent ones included."""
        sides = []
        for child, cells in zip(depth.children, depth.child_cells, strict=True):
            there = child >= 0
            unseen = self._unseen(depth.level, cells)
            sides.append(
                Believed(
                    *(
                        np.where(there, values[child], other)
                        for values, other in zip(below, unseen, strict=True)
                    )
                )
            )
        left, right = depth.child_cells
        return Halves(sides[0], sides[1], left / (left + right))

    def _alike(self, depth: _Depth) -> Halves:
        """Return what is known of the halves of a node of a depth without a published one below."""
        cells = np.array(
            [self._whole[depth.level] * 2.0 ** (depth.shift - 1 - self._tree.shifts[depth.level])]
        )
        half = self._unseen(depth.level, cells)
        return Halves(half, half, np.array([0.5]))

    def _merged(self, depth: _Depth, below: Believed, usual: Array) -> Believed:
        """Return what halves tell of nodes, and learn how common kinds are."""
        halves, number = self._halves(depth, below), depth.prefixes.size
        step = -(-number // _LEARNED_FROM)
        kinds = sums_by_kind(halves if number <= _AT_ONCE else halves.only(slice(None, None, step)))
        likely = kinds.likely[:, ::step] if number <= _AT_ONCE else kinds.likely
        depth.common = _learned(
            np.hstack([likely, sums_by_kind(self._alike(depth)).likely]),
            usual,
            np.append(np.full(likely.shape[1], depth.prefixes.size / likely.shape[1]), depth.empty),
        )
        if number <= _AT_ONCE:
            known = Believed(*kinds.mixed(depth.common))
        else:
            parts = [sums_by_kind(halves.only(rows)).mixed(depth.common) for rows in _parts(number)]
            known = Believed(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        # Halves without cells have nothing.
        for part, side in ((1.0, halves.left), (0.0, halves.right)):
            alone = halves.part == part
            known = Believed(*(np.where(alone, a, b) for a, b in zip(side, known, strict=True)))
        return known

    def _with_own(self, level: int, top: list[_Depth], below: Believed) -> Believed:
        """Return what is known of published nodes of a level: by their own counts, and from below."""
        noise = np.full(self.prefixes[level].size, self._noise[level])
        known = Believed(self._counts[level].copy(), noise)
        for each in top:
            rows = np.searchsorted(self.prefixes[level], each.prefixes)
            own = Believed(known.means[rows], noise[rows])
            # What absent children have is not seen from below: as much as makes up for it on average, so far
            # as it stands out from noise.
            absent = self.absent_cells(level)[rows] / self._whole[level + 1]
            short, around = float((own.means - below.means).sum()), (own.variances + below.variances).sum()
            sure = max(1 - _CLEARLY * around / max(short, _LEAST) ** 2, 0.0)
            missing = sure * max(short, 0.0) / max(float(absent.sum()), 1.0)
            more = min(missing, self._cutoffs[level + 1]) * absent
            told = Believed(below.means + more, below.variances + (_VARIES * more) ** 2)
            known.means[rows], known.variances[rows] = own.weighed(told)
        return known

    def _divided(self, depth: _Depth, below: Believed, counts: Array) -> Array:
        """Return the masses of the published halves of nodes with these counts."""
        halves, common = self._halves(depth, below), depth.common
        assert common is not None
        parts = []
        for rows in _parts(depth.prefixes.size):
            some, have = halves.only(rows), counts[rows]
            left, _ = left_by_kind(some, have).mixed(common)
            left = np.where(some.part == 1, have, np.where(some.part == 0, 0.0, np.clip(left, 0.0, have)))
            parts.append(left)
        left = np.concatenate([_NONE, *parts])
        found = np.empty(below.means.size)
        for child, masses in zip(depth.children, (left, counts - left), strict=True):
            found[child[child >= 0]] = masses[child >= 0]
        return found


_NONE = np.zeros(0)


def _parts(number: int) -> list[slice]:
    return [slice(start, start + _AT_ONCE) for start in range(0, number, _AT_ONCE)]


def own_masses(
    tree: BranchingTree, numbers: Numbers, counts: Numbers, *, laws: Sequence[NoiseLaw], cutoff: float
) -> Array:
    """Return what each node has for itself, in the order of their numbers: the weights of a release."""
    halved = _Tree(tree, numbers, counts, laws=laws, cutoff=cutoff)
    masses, own = halved.masses(), []
    for level, each in enumerate(masses):
        if level + 1 == tree.levels:
            own.append(each)
            continue
        left = np.maximum(each - halved.given(level, masses[level + 1]), 0.0)
        own.append(np.where(halved.absent_cells(level) > 0, left, 0.0))
    return np.concatenate(own)
