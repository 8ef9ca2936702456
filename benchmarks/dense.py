"""Noise on everything: the baselines that summaries of ranges are held against.

Flat geometric (all cells), all dyadic ranges, all Haar coefficients, and all nodes of a tree with more
branches, made consistent by least squares. Haar is Privelet, its weights included, with geometric noise:
Privelet's coefficient times its weight is the left sum minus the right, and all of these get the same noise.

Promise: node values follow from the definitions alone, by sums over the padded line; nothing is shared with
the package's lifting but the numbering of nodes. Errors in closed form are exact but for rounding.
Cost: time and memory follow the domain, for each release again.
Source: Hay, Rastogi, Miklau, Suciu (2010) for ranges, section 4 for least squares; Xiao, Wang, Gehrke (2010),
section IV, for Privelet.
"""

from fractions import Fraction
from functools import lru_cache
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.noise import BitSource, two_sided_geometric
from hushtable.structures.trees import DyadicTree, HaarTree

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Ranges(NamedTuple):
    """Cells from `starts` to below `stops`, for each range."""

    starts: Counts
    stops: Counts


class Cells:
    """Every cell for itself."""

    levels = 1

    def __init__(self, cells: int) -> None:
        self.values_total = cells

    def values(self, counts: Counts) -> Counts:
        """Return what gets noise."""
        return counts

    def answers(self, values: Counts | Array, ranges: Ranges) -> Array:
        """Return the sums over ranges of cells."""
        before: Array = np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])
        found: Array = before[ranges.stops] - before[ranges.starts]
        return found

    def powers(self, ranges: Ranges) -> Array:
        """Return how often the variance of one cell's noise is in each answer."""
        return (ranges.stops - ranges.starts).astype(np.float64)


class Nodes:
    """Every node of a tree: sums of dyadic ranges, or the total and the splits of Haar wavelets."""

    def __init__(self, tree: DyadicTree | HaarTree) -> None:
        self.tree = tree
        self.levels, self.values_total = tree.levels, tree.nodes_total

    def values(self, counts: Counts) -> Counts:
        """Return the value of every node, by its number."""
        padded = np.zeros(1 << self.tree.height, dtype=np.int64)
        padded[: counts.size] = counts
        found = []
        for level, (width, some) in enumerate(zip(self.tree.widths, self.tree.counts, strict=True)):
            if isinstance(self.tree, HaarTree) and level:
                halves = padded.reshape(-1, 2, width // 2).sum(axis=2)
                sums = halves[:, 0] - halves[:, 1]
            else:
                sums = padded.reshape(-1, width).sum(axis=1)
            found.append(sums[:some])
        return np.concatenate(found)

    def answers(self, values: Counts | Array, ranges: Ranges) -> Array:
        """Return the sums over ranges of cells, from the values of nodes."""
        owners, nodes, factors = self.tree.combination(*ranges)
        return _added(owners, factors * values[nodes], ranges)

    def powers(self, ranges: Ranges) -> Array:
        """Return how often the variance of one node's noise is in each answer."""
        owners, _, factors = self.tree.combination(*ranges)
        return _added(owners, factors**2, ranges)


class ConsistentTree:
    """Every node of a tree with `branching` children a node, then the sums that fit all of them best."""

    def __init__(self, height: int, *, branching: int) -> None:
        self.branching, self.levels = branching, height + 1
        self._counts = [branching**level for level in range(self.levels)]
        self.values_total = sum(self._counts)

    def values(self, counts: Counts) -> Counts:
        """Return the value of every node, level by level from the root."""
        return np.concatenate([counts.reshape(some, -1).sum(axis=1) for some in self._counts])

    def answers(self, values: Counts | Array, ranges: Ranges) -> Array:
        """Return the sums over ranges of cells, after least squares."""
        leaves = self.leaves(values)
        return Cells(leaves.size).answers(leaves, ranges)

    def leaves(self, values: Counts | Array) -> Array:
        """Return the cells of the tree that is nearest to the values of its nodes, in two passes."""
        levels = np.split(np.asarray(values, dtype=np.float64), np.cumsum(self._counts)[:-1])
        # From the leaves up: a node's own value against the sum of its children, by their variances.
        best = [levels[-1]]
        for height, own in enumerate(reversed(levels[:-1]), start=2):
            below, whole = self.branching ** (height - 1), self.branching**height
            weight = (whole - below) / (whole - 1)
            best.insert(0, weight * own + (1 - weight) * self._sums(best[0]))
        # From the root down: what a node has beyond its children is shared evenly.
        found = best[0]
        for each in best[1:]:
            found = each + np.repeat((found - self._sums(each)) / self.branching, self.branching)
        return found

    def _sums(self, children: Array) -> Array:
        return np.asarray(children.reshape(-1, self.branching).sum(axis=1))


def _added(owners: NDArray[np.intp], parts: Array, ranges: Ranges) -> Array:
    """Return the sum of the parts of each range."""
    return np.asarray(np.bincount(owners, weights=parts, minlength=ranges.starts.size), np.float64)


def noisy(values: Counts, rate: Fraction, entropy: BitSource) -> Counts:
    """Return the values, each with its own noise."""
    return values + two_sided_geometric(rate, entropy, count=values.size)


def mean_square(powers: Array, rate: Fraction) -> float:
    """Return the mean square error of answers that hold the noise's variance so often."""
    base = exp(-rate)
    return float(powers.mean()) * 2 * base / (1 - base) ** 2


def mean_size(terms: Array, rate: Fraction) -> float:
    """Return the mean of E|S| over answers, S being the sum of so many independent noises."""
    numbers, often = np.unique(terms.astype(np.int64), return_counts=True)
    return float(np.dot([_mean_size(int(number), rate) for number in numbers], often)) / terms.size


@lru_cache(maxsize=1024)
def _mean_size(terms: int, rate: Fraction) -> float:
    """Return E|S|, from the characteristic function of S on a ring that is too long to go around."""
    base = exp(-rate)
    scale = 2 * sqrt(base) / (1 - base)
    ring = 1 << int(30 * scale * sqrt(terms) + 100 / rate).bit_length()
    half_angles = np.arange(ring // 2 + 1) * (np.pi / ring)
    chances = np.fft.irfft((1 + (scale * np.sin(half_angles)) ** 2) ** -float(terms), ring)
    places = np.arange(ring)
    return float(chances @ np.minimum(places, ring - places))
