"""Errors of drawn releases: sums over sets of cells chosen by chance, for any number of cells.

Only cells that are occupied or published are looked at; all others have the same answer. A set of R of the m
cells holds a hypergeometric number of the former, chosen by chance.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from hushtable.methods.settings import Method
from hushtable.noise import KeyStream, two_sided_geometric
from hushtable.planning.predictions import score

Array = NDArray[np.float64]

TOTAL_SHARE = Fraction(1, 50)
_SETS = 2000  # of each size and order of cells


class Off(NamedTuple):
    """How far answers are off: for each cell that is occupied or published, and for every other one."""

    somewhere: Array
    elsewhere: float


class Table:
    """A table of counts, ready to be summarised again and again."""

    def __init__(self, cells_total: int, places: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self.cells_total, self.places, self.counts = cells_total, places, counts
        self.people = int(counts.sum())
        self.random = np.random.default_rng(12)
        self.sparse = ht.SparseTable(shape=(cells_total,), codes=places[:, None], counts=counts)

    def off(self, method: Method, epsilon: Fraction, *, corrected: bool = True) -> Off:
        """Return how far answers are off by one release, corrected by a noisy total where that is usual."""
        published, weights, elsewhere = self.released(method, epsilon, corrected=corrected)
        some = np.union1d(self.places, published)
        somewhere = np.full(some.size, elsewhere)
        somewhere[np.searchsorted(some, published)] = weights
        somewhere[np.searchsorted(some, self.places)] -= self.counts
        return Off(somewhere, elsewhere)

    def released(
        self, method: Method, epsilon: Fraction, *, corrected: bool = True
    ) -> tuple[NDArray[np.int64], Array, float]:
        """Draw a release: the published cells, their weights, and what every other cell counts."""
        spent = epsilon * TOTAL_SHARE
        summary = ht.summarize(self.sparse, method, epsilon=epsilon - spent)
        total = self.people + int(two_sided_geometric(spent, KeyStream(), count=1)[0])
        published = summary.codes[:, 0]
        elsewhere = 0.0
        least = 0 if getattr(method, "size", None) and isinstance(method, ht.Filter) else 1
        if corrected and (summary.cutoff or 0) > least:
            elsewhere = absent(total, summary.weights, self.cells_total)
        return published, summary.weights, elsewhere

    def errors(self, off: Off, sizes: Sequence[int], orders: int) -> Array:
        """Return the mean size of the error for sets of each size, after putting cells in so many orders."""
        found = np.zeros(len(sizes))
        some = off.somewhere.size
        for _ in range(orders):
            mixed = self.random.permutation(off.somewhere)
            sums = np.append(0.0, np.cumsum(np.append(mixed, mixed)))
            for place, size in enumerate(sizes):
                hits = self.random.hypergeometric(some, self.cells_total - some, size, _SETS)
                starts = self.random.integers(0, some, _SETS)
                errors = sums[starts + hits] - sums[starts] + (size - hits) * off.elsewhere
                found[place] += np.abs(errors).mean() / orders
        return found

    def score(
        self, method: Method, epsilon: Fraction, sizes: Sequence[int], *, releases: int, orders: int
    ) -> float:
        """Return errors as a plan scores them: the geometric mean of shares of those of answering 0."""
        drawn = [self.errors(self.off(method, epsilon), sizes, orders) for _ in range(releases)]
        errors = dict(zip(sizes, np.mean(drawn, axis=0).tolist(), strict=True))
        return exp(score(errors, {size: size * self.people / self.cells_total for size in sizes}))


def absent(total: int, weights: Array, cells_total: int) -> float:
    """Return what a cell without a row counts: an even share of what weights miss of the total."""
    away = cells_total - weights.size
    return (total - float(weights.sum())) / away if away else 0.0
