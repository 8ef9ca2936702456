r"""How far what else lies in buckets reaches.

In one row of a sketch, a cell is off by what else its bucket holds: other cells, and noise. Hashing gives it
a bucket by chance and a sign by chance. So this error is drawn from all buckets of the sketch, with a fair
sign; and those are published. That sees what a normal law does not: a few heavy cells, which most buckets are
free of. R cells in d rows are R d such draws, whose sum has the characteristic function
:math:`\phi(t)^{Rd}` with :math:`\phi(t)` the mean of cos(t C) over all buckets C.

Promise: `BucketLaw.reach(draws, chance)` is passed by the sum of so many draws with about that chance, and
never lies below what the noise alone reaches. An event that is too rare to be seen among N buckets is taken
for two: the rarest that is seen, of chance 1/(N + 1), and beyond it another of what is left of the chance.
That is right for tails as long as those of noise, and wide for shorter ones.
Cost: sorting the buckets once, and a few milliseconds for each number of draws; many are interpolated.
"""

from __future__ import annotations

from functools import cached_property
from math import floor, log, sqrt

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.tails import SeenNoise, normal_reach

Array = NDArray[np.float64]
_GRID = 1 << 17  # points of a law
_SPARED = 20  # of the chance, one part each is for draws too large for the grid
_FEW = 16  # different numbers of draws that are worth a law each
_NORMAL = 0.01  # an excess kurtosis that leaves no trace


class BucketLaw:
    """What a bucket chosen at random holds, with a fair sign."""

    def __init__(self, counts: NDArray[np.int64], noise: SeenNoise) -> None:
        self.noise = noise
        self._buckets = counts.size
        # As floats first: the lowest integer has no size among integers.
        self._sizes, number = np.unique(np.abs(counts.astype(np.float64)), return_counts=True)
        self._shares = number / counts.size

    @cached_property
    def mean_square(self) -> float:
        """The mean square of a draw: what cells hold, and the noise."""
        return max(self._moment(2), self.noise.variance)

    @cached_property
    def _kurtosis(self) -> float:
        """The excess kurtosis of a draw."""
        square = self._moment(2)
        return self._moment(4) / square**2 - 3 if square else 0.0

    def _moment(self, power: int) -> float:
        return float(self._shares @ self._sizes**power)

    def reach(self, draws: Array, chance: float) -> Array:
        """Return how far the sum of so many draws lies from 0, up or down, with that chance."""
        different = np.unique(draws)
        if different.size <= _FEW:
            return np.array([self._reach(int(each), chance) for each in different])[
                np.searchsorted(different, draws)
            ]
        nodes = np.unique(np.rint(np.geomspace(different[0], different[-1], 2 * _FEW)))
        values = np.array([self._reach(int(each), chance) for each in nodes])
        # Sums grow by powers of their number, so that lines between logarithms are close.
        logarithms = np.interp(np.log(draws), np.log(nodes), np.log(np.maximum(values, 1e-300)))
        return np.asarray(np.exp(logarithms))

    def _reach(self, draws: int, chance: float) -> float:
        noise = float(self.noise.reach_of(np.array([float(draws)]), chance)[1][0])
        if abs(self._kurtosis) < draws * _NORMAL:
            return max(normal_reach(chance) * sqrt(draws * self.mean_square), noise)
        seen = max(chance, 1 / (self._buckets + 1))
        found = self._exceeded_by(seen) if draws == 1 else self._sum_exceeded_by(draws, seen)
        if chance < seen:
            found += self._reach(draws, chance / seen)
        return max(found, noise)

    def _exceeded_by(self, chance: float) -> float:
        """Return a size that a draw passes with this chance at most, as far as the buckets show."""
        # One more draw is the k-th largest of all with chance 1/(buckets + 1), for any k.
        above = min(max(floor(chance * (self._buckets + 1)) - 1, 0), self._buckets - 1)
        reached = np.cumsum(self._shares[::-1]) * self._buckets
        return float(self._sizes[::-1][int(np.searchsorted(reached, above + 0.5))])

    def _sum_exceeded_by(self, draws: int, chance: float) -> float:
        """Return the same for a sum of draws, by its law on a grid."""
        most = self._exceeded_by(chance / _SPARED / draws)
        sizes = np.minimum(self._sizes, most)
        variance = draws * float(self._shares @ sizes**2)
        # Beyond the grid lies another part of the chance at most (Bernstein 1924), and comes back from below.
        limit = log(2 * _SPARED / chance)
        half = limit * most / 3 + sqrt((limit * most / 3) ** 2 + 2 * limit * variance)
        step = 2 * half / _GRID
        if step == 0:
            return 0.0
        places = np.rint(sizes / step).astype(np.intp)
        masses = np.bincount(places, weights=self._shares / 2, minlength=_GRID // 2 + 1)
        even = np.concatenate([2 * masses[:1], masses[1:], masses[-2:0:-1]])
        law = np.fft.irfft(np.fft.rfft(even).real ** draws, _GRID)
        inside = 2 * np.cumsum(law[: _GRID // 2]) - law[0]
        place = int(np.searchsorted(inside, 1 - chance * (1 - 2 / _SPARED)))
        return (place + 1) * step
