r"""What the nodes of a pruned tree say together: least squares, and masses that are not negative.

The children of a node share its count. Kept ones have a noisy count of their own; of the others it is known
that they are small. Given the count of its parent, a kept child is taken to vary around an even share of it,
with a variance in proportion to the share, as sums of many cells have. An absent one varies around a line in
that share; the line is flat where few children hold nearly everything. Spreads and lines are those of a
level, estimated from the published counts with the noise taken off. Then

1. from the root down, a count is drawn towards an even share of its parent's: a first guess, to take shares
   of;
2. from the leaves up, a node's noisy count is weighed against what its children say, by their variances;
3. from the root down, what a node has beyond its children is shared out by their variances.

That makes *free* masses, which intervals are taken around. Where a level has few nodes, what it says of its
absent children is what their own counts say already: so it has little weight, and none if there is one node.

Masses that are published are not negative: what would be becomes 0, and the others of the same parent shrink
in proportion. Of noise around nothing, the part above 0 would then stay with absent children, and be missing
in a heavy cell, level by level. So that fit is *sparing*: absent children are expected to have no more than
the level shows beyond its noise, and to have less than that by no more than it is.

A node's *own* mass is what it does not give to a kept child. It lies spread evenly over the cells of its
absent children.

Promise: a function of what is published. Own masses are not negative, and add up to the mass of the root.
Free ones add up to that of the free root, and are the means of one normal law of all parts of the tree.
Cost: some operations on arrays with one entry a node.
Source: Hay, Rastogi, Miklau, Suciu (2010), for whole trees; Morris (1983) for means and spreads from the
data; James and Stein (1961) for means less their noise. What the parts are worth: docs/decisions/020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.law import NoiseLaw
from hushtable.structures.addresses import Numbers
from hushtable.structures.paths import PrunableTree
from hushtable.structures.typical import CompleteLevel, complete_masses

Array = NDArray[np.float64]
ALIKE = 0.1  # of the cutoff: counts on one level are not taken to be more alike than that
_LEAST = 1e-300  # in place of 0, where it divides
_ALONE = 1e-9  # in place of 0, as a part of something
_DISTINCT = 1e-9  # shares of a level that differ by less than that part have no line through them
_SMALLEST_VARIANCE, _LARGEST_VARIANCE = 1e-130, 2.0**105
_SMALLEST_CUTOFF, _LARGEST_CUTOFF = 2.0**-50, 2.0**61


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Means, and variances around them."""

    means: Array
    variances: Array

    def with_prior(self, prior: Estimates) -> Estimates:
        """Return the estimates drawn towards what was expected."""
        trust = prior.variances / (prior.variances + self.variances)
        return Estimates(trust * self.means + (1 - trust) * prior.means, trust * self.variances)


class Given(NamedTuple):
    """What something has, given the count of a node: means + follows * count; and the variances around it."""

    means: Array
    follows: Array
    variances: Array


class Trend(NamedTuple):
    """What an absent child of each node has: start + slope * an even share; and the variance around that."""

    start: Array
    slope: Array
    variance: Array


@dataclass(eq=False)
class Level:
    """The kept nodes of one level, in the order of their prefixes, by what was published of them."""

    prefixes: Numbers
    parents: NDArray[np.intp]  # their places in the level above
    counts: Array
    cells: Numbers
    branches: Numbers  # how many children have cells, kept or not
    noise: float  # the variance of the noise
    cutoff: float
    above: Level | None
    sparing: bool  # whether absent children get no more than the level shows beyond its noise
    below: Level | None = field(default=None, init=False)  # set as soon as it is made

    def __post_init__(self) -> None:
        if self.above is not None:
            self.above.below = self

    def sums(self, values: Array) -> Array:
        """Add up what the kept children of each node have."""
        if self.below is None:
            return np.zeros(self.cells.size)
        return np.asarray(
            np.bincount(self.below.parents, weights=values, minlength=self.cells.size), dtype=np.float64
        )

    @cached_property
    def absent_cells(self) -> Array:
        """How many cells lie in children that are not kept."""
        if self.below is None:
            return np.zeros(self.cells.size)
        # In integers: of 2^60 cells, a float does not tell all from all but one.
        left = self.cells.copy()
        np.subtract.at(left, self.below.parents, self.below.cells)
        return left.astype(np.float64)

    @cached_property
    def child_cells(self) -> Array:
        """How many cells a child has on average."""
        return np.asarray(self.cells / self.branches, dtype=np.float64)

    @cached_property
    def absent(self) -> Array:
        """How many such children that makes."""
        return self.absent_cells / self.child_cells

    @property
    def _noisy(self) -> Estimates:
        return Estimates(self.counts, np.full(self.cells.size, self.noise))

    @cached_property
    def shares(self) -> Array:
        """An even share of the first guess of each node, for one child: above 0."""
        guess = self._noisy if self.above is None else self._noisy.with_prior(self.above.expected)
        return np.maximum(guess.means, ALIKE * self.cutoff) / self.branches

    @cached_property
    def _even(self) -> Array:
        """The even shares of kept children, by their sizes."""
        assert self.below is not None
        parents = self.below.parents
        return self.shares[parents] * (self.below.cells / self.child_cells[parents])

    @cached_property
    def spread(self) -> float:
        """The variance of kept children around even shares, as a multiple of the share."""
        assert self.below is not None
        coarser = inf if self.above is None else self.above.spread
        counts, noise = self.below.counts, self.below.noise
        if not counts.size:
            return coarser
        squares = float(((counts - self._even) ** 2 - noise).sum())
        if not self.sparing:
            squares += sqrt(5 * counts.size) * noise  # a standard error: few counts tell little of spreads
        seen = max(squares, (ALIKE * self.cutoff) ** 2 * counts.size) / float(self._even.sum())
        seen = max(seen, 1.0)  # as counts vary if people come one by one
        if seen <= coarser:
            return seen
        # Counts that noise has lifted over the cutoff lie above it by the same mean, whatever is under them:
        # they tell nothing of spreads. As far as kept ones may be such, the spread is that of larger nodes.
        usual = sqrt(noise / 2)
        lifted = usual / max(float(counts.mean()) - self.cutoff, usual)
        return lifted * coarser + (1 - lifted) * seen

    @property
    def expected(self) -> Estimates:
        """The kept children, before their own counts are looked at."""
        return Estimates(self._even, self.spread * self._even)

    @cached_property
    def _evens(self) -> Array:
        """Which part of its parent's count an even share of each kept child is."""
        assert self.below is not None
        return np.asarray(self.below.cells / self.cells[self.below.parents], dtype=np.float64)

    @cached_property
    def children(self) -> Given:
        """The kept children, one by one, given the counts of their parents."""
        assert self.below is not None
        known, spread = self.below.estimates, self.expected.variances
        trust = spread / (spread + known.variances)
        return Given(trust * known.means, (1 - trust) * self._evens, trust * known.variances)

    @cached_property
    def _rest(self) -> Estimates:
        """What the absent children of each node have, by its own count and those of kept children."""
        # Noise lifts many of the kept children: what they are estimated to have counts, not what they show.
        likely = self.children.means + self.children.follows * (self._even / self._evens)
        return Estimates(self.counts - self.sums(likely), self.noise + self.sums(self.children.variances))

    @cached_property
    def _holders(self) -> NDArray[np.bool_]:
        """Which nodes have a kept child."""
        return self.sums(np.ones_like(self._even)) > 0

    @cached_property
    def trend(self) -> Trend:
        """What absent children have."""
        # Nodes without a kept child are often there by noise alone: they do not tell what the absent children
        # of others have.
        absent = self.absent > 0
        found = zip(self._line(absent & self._holders, less=self.sparing), self._line(absent), strict=True)
        return Trend(*(np.where(self._holders, some, others) for some, others in found))

    def _line(self, chosen: NDArray[np.bool_], *, less: bool = False) -> tuple[float, float, float]:
        """Return the start, the slope and the variance that fit these nodes, by least squares."""
        some = np.flatnonzero(chosen)
        if not some.size:
            return 0.0, 0.0, self.cutoff**2
        rest, noise = self._rest.means[some], self._rest.variances[some]
        number, shares = self.absent[some], self.followed[some]
        total, usual = float(rest.sum()), float((number * shares).sum() / number.sum())
        if less:
            total = max(total - float(noise.sum()) / max(total, _LEAST), 0.0)
        mean = total / float(number.sum())
        apart = number * (shares - usual)
        squares, slope = float((apart * shares).sum()), 0.0
        if squares > _DISTINCT * float((number * shares**2).sum()):
            slope = min(max(float(((rest - number * mean) * (shares - usual)).sum()) / squares, 0.0), 1.0)
        start = mean - slope * usual
        if start < 0:
            start, slope = 0.0, min(max(mean / usual, 0.0), 1.0)
        start = min(start, self.cutoff)
        around = float(((rest - number * (start + slope * shares)) ** 2 - noise).sum()) / float(number.sum())
        # What follows shares varies around them as kept children do; sums do not tell, being what shares are
        # taken of. No counts from 0 to the cutoff vary by more than that times their mean.
        around = max(around, slope * usual * min(self.spread, self.cutoff))
        return start, slope, min(max(around, (ALIKE * self.cutoff) ** 2), self.cutoff**2)

    @property
    def followed(self) -> Array:
        """The even shares that absent children follow: one above the cutoff is not what they have."""
        return self.shares if self.sparing else np.minimum(self.shares, self.cutoff)

    @cached_property
    def others(self) -> Given:
        """The absent children of each node together."""
        assert self.below is not None
        start, slope, variance = self.trend
        usual, spread = self.absent * (start + slope * self.followed), self.absent * variance
        follows = np.where(self.followed < self.shares, 0.0, slope * (self.absent_cells / self.cells))
        means = usual - follows * self.branches * self.followed
        if self.sparing:
            # They have nothing at least: they fall short of what is usual by no more than that.
            short = self._rest.means < usual
            return Given(means, follows, np.where(short, np.minimum(spread, usual**2), spread))
        # As far as it is this node that tells what is usual, its count would be used twice.
        telling = np.where(self._holders, self.absent[self._holders].sum(), self.absent.sum())
        own = self.absent / np.maximum(telling, _LEAST)
        unsure = (self._rest.variances + spread) * own / np.maximum(1 - own, _ALONE)
        # But noisy counts of absent children lie below the cutoff.
        number = self.branches - self.sums(np.ones_like(self._even))
        most = (number * self.cutoff) ** 2 + number * self.below.noise
        return Given(means, follows, np.maximum(np.minimum(spread + unsure, most), spread))

    @cached_property
    def _together(self) -> Given:
        """All children of each node."""
        kept = Given(*map(self.sums, self.children))
        return Given(*(a + b for a, b in zip(kept, self.others, strict=True)))

    @cached_property
    def estimates(self) -> Estimates:
        """The counts of nodes, by their own noisy counts and all that is known from below."""
        if self.below is None:
            return self._noisy
        # Three things tell of a count: its own noisy one; what children have besides following it; and kept
        # children, as multiples of even shares. Where some are absent, the others were kept for being large:
        # that makes sums too high, so that intervals do without; masses gain more by it.
        means, follows, variances = self._together
        weight = (1 - follows) / np.maximum(variances, _ALONE * self.noise)
        known, all_kept = self.below.estimates, self.sparing | (self.absent <= 0)[self.below.parents]
        each = all_kept * self._evens / (self.expected.variances + known.variances)
        precision = 1 / self.noise + weight * (1 - follows) + self.sums(each * self._evens)
        told = self.counts / self.noise + weight * means + self.sums(each * known.means)
        return Estimates(told / precision, 1 / precision)

    def shared(self, masses: Array) -> tuple[Array, Array]:
        """Return how nodes share their masses: what each kept child gets, and what each node keeps."""
        if self.below is None:
            return np.zeros(0), masses
        parents, known, others = self.below.parents, self.children, self.others
        means, follows, variances = self._together
        beyond, variances = (1 - follows) * masses - means, np.maximum(variances, _LEAST)
        # Parts of it, and not what there is by unit of variance: that overflows where variances are tiny.
        mine, theirs = others.variances / variances, known.variances / variances[parents]
        given = known.means + known.follows * masses[parents] + theirs * beyond[parents]
        return given, others.means + others.follows * masses + mine * beyond

    def bounded(self, masses: Array) -> tuple[Array, Array]:
        """Return the same with no mass below 0: the others shrink in proportion."""
        if self.below is None:
            return self.shared(masses)
        given, own = (np.maximum(each, 0.0) for each in self.shared(masses))
        # Where all came out as 0, or as what rounding leaves, the mass is shared evenly, absent children
        # first.
        none, parents = self.sums(given) + own <= _ALONE * masses, self.below.parents
        own = np.where(none & (self.absent > 0), 1.0, own)
        given = np.where((none & (self.absent <= 0))[parents], 1.0, given)
        scale = masses / np.maximum(self.sums(given) + own, _LEAST)
        return given * scale[parents], own * scale


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted tree: its levels from the root down, the masses of nodes, and what they keep.

    Free masses are those of least squares alone: some are below 0, and none is off on purpose.
    """

    levels: list[Level]
    free_masses: list[Array]
    free_own: list[Array]
    masses: list[Array]
    own: list[Array]

    def with_own(self, weights: Array) -> Fit:
        """Return the fit with these own masses of nodes, as a release has them, in place of its own."""
        edges = np.cumsum([level.cells.size for level in self.levels])[:-1]
        own = np.split(weights, edges)
        masses = [own[-1]]
        for level, mine in zip(self.levels[-2::-1], own[-2::-1], strict=True):
            masses.insert(0, mine + level.sums(masses[0]))
        return replace(self, masses=masses, own=own)


def fitted(
    tree: PrunableTree, numbers: Numbers, counts: Numbers, *, laws: Sequence[NoiseLaw], cutoff: float
) -> Fit:
    """Fit a pruned tree to its noisy counts; nodes come in the order of their numbers.

    The laws are those of the noise on each level.
    """
    levels = _levels(tree, numbers, counts, laws=laws, cutoff=cutoff, sparing=False)
    masses, own = [_root(levels)], []
    for each in levels:
        given, kept = each.shared(masses[-1])
        masses.append(given)
        own.append(kept)
    fit = Fit(levels, masses[:-1], own, masses[:-1], own)
    return fit.with_own(own_masses(tree, numbers, counts, laws=laws, cutoff=cutoff))


def own_masses(
    tree: PrunableTree,
    numbers: Numbers,
    counts: Numbers,
    *,
    laws: Sequence[NoiseLaw],
    cutoff: float,
    complete: int = 1,
) -> Array:
    """Return what each node has for itself, in the order of their numbers: the weights of a release.

    So many levels have all of their nodes: these are divided by what is typical of each (`typical`).
    """
    levels = _levels(tree, numbers, counts, laws=laws, cutoff=cutoff, sparing=True)
    own: list[Array] = []
    if complete == 1:
        masses = np.maximum(_root(levels), 0.0)
    else:
        _prepare(levels)
        whole = levels[:complete]
        known = [CompleteLevel(each.counts, each.parents, each.cells.astype(np.float64)) for each in whole]
        masses = complete_masses(known, laws)[-1]
        own += [np.zeros(each.cells.size) for each in levels[: complete - 1]]
    for each in levels[complete - 1 :]:
        masses, kept = each.bounded(masses)
        own.append(kept)
    return np.concatenate(own)


def _levels(
    tree: PrunableTree,
    numbers: Numbers,
    counts: Numbers,
    *,
    laws: Sequence[NoiseLaw],
    cutoff: float,
    sparing: bool,
) -> list[Level]:
    """Return the levels of a tree, from the root down."""
    # Beyond these, a file that somebody made up would overflow; no release comes near them.
    variances = [min(max(law.floats.variance, _SMALLEST_VARIANCE), _LARGEST_VARIANCE) for law in laws]
    cutoff = min(max(cutoff, _SMALLEST_CUTOFF), _LARGEST_CUTOFF)
    edges = np.searchsorted(numbers, np.array([*tree.offsets, tree.nodes_total]))
    levels: list[Level] = []
    for level, (first, last) in enumerate(pairwise(edges)):
        prefixes, above = numbers[first:last] - tree.offsets[level], levels[-1] if levels else None
        parents = np.zeros(prefixes.size, dtype=np.intp)
        if above is not None:
            numbered = tree.parents(numbers[first:last], level)
            parents = np.searchsorted(above.prefixes, numbered - tree.offsets[level - 1])
        made = Level(
            prefixes=prefixes,
            parents=parents,
            counts=counts[first:last].astype(np.float64),
            cells=tree.cells_of(prefixes, level),
            branches=tree.branches(prefixes, level) if level + 1 < tree.levels else np.ones_like(prefixes),
            noise=variances[level],
            # What it tells of: the children, or at the end the nodes themselves.
            cutoff=tree.cutoff_at(min(level + 1, tree.levels - 1), cutoff),
            above=above,
            sparing=sparing,
        )
        levels.append(made)
    return levels


def _root(levels: list[Level]) -> Array:
    """Return the estimate of the root."""
    _prepare(levels)
    return [each.estimates for each in reversed(levels)][-1].means


def _prepare(levels: list[Level]) -> None:
    """Let levels follow from those above."""
    # What a level keeps in mind follows from the level above, or below. Asked for at one end only, it would
    # be found by recursion, ten frames a level: too deep for the 62 levels that a tree may have.
    for each in levels[:-1]:
        each.expected  # noqa: B018
