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
from itertools import pairwise
from math import pi, sqrt
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
_SQUARES = np.array(
    [0.0, *(4 * spread**2 for spread in _SPREADS)]
)  # parts of squared counts; 0: but for chance
_KINDS = len(_SQUARES) + 3
_AT_BEST = 1.9  # deviations: what counts are known to, as a length
_USUAL = np.array([0.4, *(0.05 for _ in _SPREADS), 0.2, 0.1, 0.1])
_FAITH = 2.0  # as many halved nodes what is usual counts for, where kinds are learned
_PASSED_ON = 0.8  # of what was learned at one depth, for the next
_ROUNDS, _LEARNED_FROM, _AT_ONCE = 6, 1 << 12, 1 << 14
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


class Kinds(NamedTuple):
    """How each kind goes with what is known of halves."""

    likely: Array  # how likely each makes it: a row for each kind, times what all kinds have in common
    sharp: Array  # one over variances around even halves, for each kind that has such
    apart: Array  # how far left halves are from even ones


def sums_by_kind(halves: Halves) -> Kinds:
    """Return how each kind goes with halves whose sum may be anything."""
    (left, left_around), (right, right_around), part = halves
    noise = (1 - part) ** 2 * left_around + part**2 * right_around
    return _kinds(halves, np.maximum(left + right, 0.0), noise)


def sums(halves: Halves, kinds: Kinds, common: Array) -> Believed:
    r"""Return what halves tell of their sums, where kinds are so common.

    Let d = p b - (1 - p) a, with the variances a and b of the left and the right half and the even part p. If
    a left half is x from an even one, with variance v, the mean is l + r + d x/v, and the variance is
    a + b - d^2/v.
    """
    (left, left_around), (right, right_around), part = halves
    tilt, together = part * right_around - (1 - part) * left_around, left_around + right_around
    likely, sharp, apart = kinds
    total, number = common @ likely, len(sharp)
    sharper = likely[:number] * sharp
    first = common[:number] @ sharper / total
    sharper *= sharp
    second = common[:number] @ sharper / total
    one_side, other = common[-2] * likely[-2] / total, common[-1] * likely[-1] / total
    shift = tilt * apart * first - one_side * right - other * left
    around = together - one_side * right_around - other * left_around - tilt**2 * first
    around += (tilt**2 * second) * apart**2 + one_side * right**2 + other * left**2 - shift**2
    # No kind knows sums better than the better one of the halves: but for rounding, this holds.
    return Believed(left + right + shift, np.maximum(around, np.minimum(left_around, right_around)))


def left_of(halves: Halves, counts: Array) -> tuple[Halves, Kinds]:
    """Return what is known of halves with these sums, and how each kind goes with it."""
    (left, left_around), (right, right_around), part = halves
    trust = left_around / (left_around + right_around)
    told, around = left + trust * (counts - left - right), trust * right_around
    known = Halves(Believed(told, around), Believed(counts - told, around), part)
    return known, _kinds(known, counts, around)


def divided(halves: Halves, counts: Array, common: Array) -> Array:
    """Return what left halves have of these counts, where kinds are so common."""
    ((told, around), _, _), (likely, sharp, apart) = left_of(halves, counts)
    number = len(sharp)
    even = told * (common[:number] @ likely[:number])
    even -= around * apart * (common[:number] @ (likely[:number] * sharp))
    anyhow = common[-3] * likely[-3] * np.minimum(np.maximum(told, 0.0), counts)
    return np.asarray((even + anyhow + common[-2] * likely[-2] * counts) / (common @ likely))


def _kinds(halves: Halves, counts: Array, noise: Array) -> Kinds:
    """Return how each kind divides such counts, what is known of left halves being off by that noise."""
    (left, left_around), (right, right_around), part = halves
    powers, likely = np.empty((_KINDS, part.size)), np.empty((_KINDS, part.size))
    even = part * (1 - part)
    sharp = np.multiply.outer(_SQUARES, even * counts**2)
    np.maximum(sharp, even * np.maximum(counts, 1.0), out=sharp)
    sharp += noise
    np.reciprocal(sharp, out=sharp)
    apart, number = (1 - part) * left - part * right, len(sharp)
    np.multiply(sharp, -(apart**2) / 2, out=powers[:number])
    np.sqrt(sharp, out=likely[:number])
    # All on the one side, if what the other is known to have is noise; anyhow, if what is below 0 is.
    for kind, none, around in ((-2, right, right_around), (-1, left, left_around)):
        np.divide(none**2, -2 * around, out=powers[kind])
        np.divide(1.0, np.sqrt(around), out=likely[kind])
    np.add(powers[-2] * (right < 0), powers[-1] * (left < 0), out=powers[-3])
    most = counts + _AT_BEST * np.sqrt((left_around + right_around) / 2)
    np.divide(sqrt(2 * pi), most, out=likely[-3])
    powers -= np.maximum.reduce(powers)
    likely *= np.exp(powers, out=powers)
    return Kinds(likely, sharp, apart)


def _learned(likely: Array, number: Array, usual: Array) -> Array:
    """Return how common kinds are, by expectation and maximisation; each entry is that of some nodes."""
    common = usual
    for _ in range(_ROUNDS):
        # Each node counts once: it is shared among kinds by how likely they are.
        found = likely @ (number / (common @ likely))
        found *= common
        found[-2:] = (found[-2] + found[-1]) / 2  # neither side is usual
        found += _FAITH * usual
        common = found / found.sum()
    return common


class _Side(NamedTuple):
    """The halves on one side of the nodes of a depth."""

    parents: Places  # of those that are there
    children: Places  # which nodes of the next depth they are
    whole: Array  # how many whole nodes of the level below each has room for


class _Depth(NamedTuple):
    """The halved nodes of one depth, in the order of their prefixes: those with a published node below."""

    prefixes: Numbers
    sides: tuple[_Side, _Side]
    part: Array  # of the cells: what is on the left
    room: float  # how many whole nodes of the level below a whole half has room for
    empty: float  # how many other nodes there are below published ones, with no published one below

    def halves(self, below: Believed, typical: Believed) -> Halves:
        """Return what is known of the halves of all nodes, absent ones included."""
        sides = []
        for side in self.sides:
            known = Believed(typical.means * side.whole, typical.variances * side.whole)
            for values, found in zip(known, below, strict=True):
                values[side.parents] = found[side.children]
            sides.append(known)
        return Halves(sides[0], sides[1], self.part)

    def published(self, counts: Array, left: Array) -> Array:
        """Return what the published halves have, of nodes with these counts."""
        found = np.empty(sum(side.children.size for side in self.sides))
        for side, values in zip(self.sides, (left, counts - left), strict=True):
            found[side.children] = values[side.parents]
        return found


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
        below = self._tree.cells_of(self.prefixes[level + 1], level + 1)
        np.subtract.at(left, self._parents[level + 1], below)
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

    def masses(self) -> list[Array]:
        """Return the masses of published nodes, level by level."""
        known = Believed(self._counts[-1], np.full(self._counts[-1].size, self._noise[-1]))
        levels = [self._depths(level) for level in range(1, self._tree.levels)]
        kept: list[tuple[Halves, Array]] = []
        usual = _USUAL
        for level, depths in reversed(list(enumerate(levels, start=1))):
            others = self._without_any(level, depths)
            for number, depth in reversed(list(enumerate(depths))):
                halves = depth.halves(known, self._typical[level])
                known, common = _merged(halves, others[:, number], depth.empty, usual)
                usual = _PASSED_ON * common + (1 - _PASSED_ON) * _USUAL
                kept.append((halves, common))
            known = self._with_own(level - 1, depths[:1], known)
        masses = [np.maximum(known.means, 0.0)]
        for level, depths in enumerate(levels):
            counts = _NONE
            if depths:
                counts = masses[-1][np.searchsorted(self.prefixes[level], depths[0].prefixes)]
            for depth in depths:
                counts = depth.published(counts, _lefts(*kept.pop(), counts))
            masses.append(counts)
        return masses

    def _without_any(self, level: int, depths: list[_Depth]) -> Array:
        """Return how likely each kind makes nodes of each depth that have no published one below."""
        room, typical = np.array([each.room for each in depths]), self._typical[level]
        half = Believed(typical.means * room, typical.variances * room)
        return sums_by_kind(Halves(half, half, np.full(room.size, 0.5))).likely

    def _depths(self, level: int) -> list[_Depth]:
        """Return the depths from the level above down to this one: the nodes that are halved at each."""
        found: list[_Depth] = []
        prefixes, cells = self.prefixes[level], self._cells[level]
        if not prefixes.size:
            return found
        every = float(self._cells[level - 1].sum()) / self._whole[level]
        for step, shift in enumerate(range(self._tree.shifts[level], self._tree.shifts[level - 1])):
            first = np.append(True, prefixes[1:] >> 1 != prefixes[:-1] >> 1)
            places, parents = prefixes[first] >> 1, np.cumsum(first) - 1
            depth, sides, sizes = self._binary.shifts.index(shift), [], []
            for side in (0, 1):
                rows = np.flatnonzero((prefixes & 1) == side)
                there, size = parents[rows], np.full(places.size, -1.0)
                size[there] = cells[rows]
                others = np.flatnonzero(size < 0)
                size[others] = self._binary.cells_of(2 * places[others] + side, depth)
                # Halves without cells have nothing, but their variance is not 0.
                sides.append(_Side(there, rows, np.maximum(size / self._whole[level], 2.0**-60)))
                sizes.append(size)
            prefixes, cells = places, sizes[0] + sizes[1]
            empty = max(every / 2.0 ** (step + 1) - places.size, 0.0)
            part, room = sizes[0] / cells, 2.0**step
            found.append(_Depth(places, (sides[0], sides[1]), part, room, empty))
        return found[::-1]

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


_NONE = np.zeros(0)


def _parts(number: int) -> list[slice]:
    return [slice(start, start + _AT_ONCE) for start in range(0, number, _AT_ONCE)]


def _merged(halves: Halves, others: Array, empty: float, usual: Array) -> tuple[Believed, Array]:
    """Return what halves tell of nodes, and how common kinds are; `others` are of nodes with none below."""
    number = halves.part.size
    step = -(-number // _LEARNED_FROM)
    at_once = number <= _AT_ONCE
    kinds = sums_by_kind(halves if at_once else halves.only(slice(None, None, step)))
    likely = np.column_stack([kinds.likely[:, ::step] if at_once else kinds.likely, others])
    weights = np.full(likely.shape[1], number / (likely.shape[1] - 1))
    weights[-1] = empty
    common = _learned(likely, weights, usual)
    if at_once:
        known = sums(halves, kinds, common)
    else:
        parts = [sums(each, sums_by_kind(each), common) for each in map(halves.only, _parts(number))]
        known = Believed(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    # Halves without cells have nothing.
    for part, side in ((1.0, halves.left), (0.0, halves.right)):
        alone = np.flatnonzero(halves.part == part)
        for values, found in zip(known, side, strict=True):
            values[alone] = found[alone]
    return known, common


def _lefts(halves: Halves, common: Array, counts: Array) -> Array:
    """Return the masses of the left halves of nodes with these counts."""
    parts = [divided(halves.only(rows), counts[rows], common) for rows in _parts(counts.size)]
    left: Array = np.minimum(np.maximum(np.concatenate([_NONE, *parts]), 0.0), counts)
    for part, values in ((1.0, counts), (0.0, np.zeros_like(counts))):
        alone = np.flatnonzero(halves.part == part)
        left[alone] = values[alone]
    return left


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
