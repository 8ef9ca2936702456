r"""What the nodes of a pruned tree say together: least squares, and masses that are not negative.

The children of a node share its count. Kept ones have a noisy count of their own; of the others it is known
that they are small. So counts of kept children are taken to vary around the mean of all children on their
level, and those of absent ones around what kept nodes have beyond their kept children; both spreads are
estimated from the published counts, with the noise taken off. Then

1. from the leaves up, a node's noisy count is weighed against the sum of its children, and against the mean
   of its level, by their variances;
2. from the root down, what a node has beyond its children is shared out by their variances;
3. no mass is negative: what would be becomes 0, and the others of the same parent shrink in proportion.

A node's *own* mass is what it does not give to a kept child. It lies spread evenly over the cells of its
absent children.

Promise: a function of what is published. Own masses are not negative, and add up to the mass of the root.
Cost: some operations on arrays with one entry a node.
Source: Hay, Rastogi, Miklau, Suciu (2010), for whole trees; Morris (1983) for means and spreads from the
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from hushtable.structures.addresses import Numbers
from hushtable.structures.branching import BranchingTree

Array = NDArray[np.float64]
ALIKE = 0.1  # of the cutoff: counts on one level are not taken to be more alike than that
_SMALLEST_RATE, _LARGEST_RATE, _LARGEST_CUTOFF = 2.0**-50, 700.0, 2.0**61


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Means, and variances around them."""

    means: Array
    variances: Array

    def with_prior(self, mean: float, variance: float) -> Estimates:
        """Return the estimates drawn towards a common mean."""
        trust = variance / (variance + self.variances)
        return Estimates(trust * self.means + (1 - trust) * mean, trust * self.variances)


@dataclass(frozen=True, eq=False)
class Level:
    """The kept nodes of one level, in the order of their prefixes, by what was published of them."""

    prefixes: Numbers
    parents: NDArray[np.intp]  # their places in the level above
    counts: Array
    cells: Array
    below: Level | None
    child_cells: float  # of a whole child
    noise: float  # the variance of the noise
    cutoff: float

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
        return (
            self.cells * 0 if self.below is None else np.maximum(self.cells - self.sums(self.below.cells), 0)
        )

    @cached_property
    def absent(self) -> Array:
        """How many whole children that makes."""
        return self.absent_cells / self.child_cells

    @cached_property
    def absent_child(self) -> tuple[float, float]:
        """The mean and the variance of the count of an absent child."""
        some = np.flatnonzero(self.absent > 0)
        if self.below is None or not some.size:
            return 0.0, self.cutoff**2
        # Noise lifts many of the kept children: what they are estimated to have counts, not what they show.
        rest = (self.counts - self.sums(self.children.means))[some]
        noise = (self.noise + self.sums(self.children.variances))[some]
        number = float(self.absent[some].sum())
        mean = min(max(float(rest.sum()) / number, 0.0), self.cutoff)
        variance = float(((rest - self.absent[some] * mean) ** 2 - noise).sum()) / number
        return mean, min(max(variance, (ALIKE * self.cutoff) ** 2), self.cutoff**2)

    @cached_property
    def estimates(self) -> Estimates:
        """The counts of nodes, by all that is known of them and from below."""
        if self.below is None:
            return Estimates(self.counts, np.full(self.cells.size, self.noise))
        mean, variance = self.absent_child
        expected = self.sums(self.children.means) + self.absent * mean
        spread = self.sums(self.children.variances) + self.absent * variance
        trust = spread / (spread + self.noise)
        return Estimates(trust * self.counts + (1 - trust) * expected, trust * self.noise)

    @cached_property
    def children(self) -> Estimates:
        """The kept children, one by one."""
        assert self.below is not None
        return self.below.estimates.with_prior(*self._child())

    def _child(self) -> tuple[float, float]:
        """Return the mean of all children, and the variance of kept ones around it."""
        assert self.below is not None
        if not self.below.cells.size:
            return 0.0, 1.0
        mean = float(self.counts.sum()) / max(float(self.cells.sum()) / self.child_cells, 1.0)
        around = float(((self.below.counts - mean) ** 2).mean()) - self.below.noise
        return mean, max(around, (ALIKE * self.cutoff) ** 2)

    def shared(self, masses: Array) -> tuple[Array, Array]:
        """Return how nodes share their masses: what each kept child gets, and what each node keeps."""
        if self.below is None:
            return np.zeros(0), masses
        parents, (mean, variance) = self.below.parents, self.absent_child
        rest, spread = self.absent * mean, self.absent * variance
        known = self.children
        missing = masses - self.sums(known.means) - rest
        each = missing / np.maximum(self.sums(known.variances) + spread, 1e-300)
        given = np.maximum(known.means + known.variances * each[parents], 0.0)
        own = np.maximum(rest + spread * each, 0.0)
        # Where all came out as 0, the mass is shared evenly, absent children first.
        none = self.sums(given) + own <= 0
        own = np.where(none & (self.absent > 0), 1.0, own)
        given = np.where((none & (self.absent <= 0))[parents], 1.0, given)
        scale = masses / np.maximum(self.sums(given) + own, 1e-300)
        return given * scale[parents], own * scale


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted tree: its levels from the root down, the masses of nodes, and what they keep."""

    levels: list[Level]
    masses: list[Array]
    own: list[Array]

    def with_own(self, weights: Array) -> Fit:
        """Return the fit with these own masses of nodes, as a release has them, in place of its own."""
        edges = np.cumsum([level.cells.size for level in self.levels])[:-1]
        own = np.split(weights, edges)
        masses = [own[-1]]
        for level, mine in zip(self.levels[-2::-1], own[-2::-1], strict=True):
            masses.insert(0, mine + level.sums(masses[0]))
        return Fit(self.levels, masses, own)


def fitted(
    tree: BranchingTree, numbers: Numbers, counts: Numbers, *, rate: float | Fraction, cutoff: float
) -> Fit:
    """Fit a pruned tree to its noisy counts; nodes come in the order of their numbers.

    The rate is that of all levels but the root's.
    """
    # Beyond these, a file that somebody made up would overflow; no release comes near them.
    rate, cutoff = float(min(max(rate, _SMALLEST_RATE), _LARGEST_RATE)), min(cutoff, _LARGEST_CUTOFF)
    edges = np.searchsorted(numbers, np.array([*tree.offsets, tree.nodes_total]))
    prefixes = [
        numbers[first:last] - offset
        for (first, last), offset in zip(pairwise(edges), tree.offsets, strict=True)
    ]
    levels: list[Level] = []
    for level in reversed(range(tree.levels)):
        own, parents = prefixes[level], np.zeros(prefixes[level].size, dtype=np.intp)
        if level:
            step = tree.shifts[level - 1] - tree.shifts[level]
            parents = np.searchsorted(prefixes[level - 1], own >> step)
        below = levels[0] if levels else None
        made = Level(
            prefixes=own,
            parents=parents,
            counts=counts[edges[level] : edges[level + 1]].astype(np.float64),
            cells=tree.cells_of(own, level),
            below=below,
            child_cells=1.0 if below is None else 2.0 ** tree.shifts[level + 1],
            noise=_variance(rate * tree.shares[level] / tree.shares[-1]),
            cutoff=cutoff,
        )
        levels.insert(0, made)
    masses, own_masses = [np.maximum(levels[0].estimates.means, 0.0)], []
    for each in levels:
        given, kept = each.shared(masses[-1])
        masses.append(given)
        own_masses.append(kept)
    return Fit(levels, masses[:-1], own_masses)


def _variance(rate: float) -> float:
    """Return the variance of noise at a rate."""
    return 2 * exp(-rate) / expm1(-rate) ** 2


def own_masses(
    tree: BranchingTree, numbers: Numbers, counts: Numbers, *, rate: float | Fraction, cutoff: float
) -> Array:
    """Return what each node has for itself, in the order of their numbers: the weights of a release."""
    return np.concatenate(fitted(tree, numbers, counts, rate=rate, cutoff=cutoff).own)
