r"""How far noise reaches: quantiles of sums of noise, with and without a cutoff.

What a cell's noise X adds to the error of a sum is X itself, or X where \|X\| reaches the cutoff and 0
elsewhere: then an empty cell is published, or it is not. A sum over many cells has no closed law; its tail
is the saddle-point formula of Lugannani and Rice (1980), which is close even for one cell and far out,
where a normal law is not. For few cells behind a cutoff the chance that any of them is published decides;
the larger of the two is taken.

Promise: `SeenNoise.reach(cells, chance)` is within 3 % of the distance that a sum over so many cells passes,
up or down, with that chance, and for single cells exact up to rounding to whole numbers.
Cost: some twenty microseconds for each number of cells; many different ones are interpolated, and so are
parts of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, erfc, exp, expm1, log1p, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.ranges import distinct
from hushtable.laws.acceptance import LARGEST_NOISY
from hushtable.laws.floats import FloatView
from hushtable.laws.law import NoiseLaw

_FEW = 48  # different numbers of cells that are worth a calculation each
_NODES = 8  # for each doubling of cells
_HALVINGS = 60
_NEVER = 0.01
_MANY = 1e6
_LARGEST_CUTOFF = 1 << 60  # no count lies above; a file that somebody made up may state an endless one


@dataclass(frozen=True)
class SeenNoise:
    """Noise of a law, as far as it reaches `cutoff` (1: all of it), on both sides or above."""

    law: NoiseLaw
    cutoff: int = 1
    two_sided: bool = True

    @cached_property
    def floats(self) -> FloatView:
        """The law in floats."""
        return self.law.floats

    @cached_property
    def chance(self) -> float:
        """The chance that the noise of one cell reaches the cutoff."""
        return self._sides * self._moment(0)

    @cached_property
    def mean(self) -> float:
        """What one cell adds on average: 0 unless the lower side is cut away."""
        return 0.0 if self.two_sided else self._moment(1)

    @cached_property
    def variance(self) -> float:
        """The variance of what one cell adds."""
        return self._sides * self._moment(2) - self.mean**2

    @property
    def _sides(self) -> int:
        return 2 if self.two_sided else 1

    def _moment(self, power: int) -> float:
        """Return the sum of j^power P[X = j] over j >= cutoff."""
        return float(self.floats.tail(np.array([float(self.cutoff)]), power)[0])

    def reach(self, cells: NDArray[np.float64], chance: float) -> tuple[NDArray[np.float64], ...]:
        """Return how far sums over so many cells fall below, and rise above, their mean.

        Each side is passed with half of `chance`.
        """
        different = distinct(cells)
        if different.size > _FEW or np.any(different % 1):
            # Sums grow by powers of their cells, so that lines between logarithms are close. The nodes of all
            # questions are the same, so that they are calculated once.
            ends = np.log2(different[different > 0][[0, -1]]) * _NODES
            nodes = 2.0 ** (np.arange(np.floor(ends[0]), np.ceil(ends[1]) + 1) / _NODES)
            logarithms = _log(cells), _log(nodes)
            below, above = (_interpolated(*logarithms, side) for side in self.reach_of(nodes, chance))
            return np.where(cells > 0, below, 0.0), np.where(cells > 0, above, 0.0)
        below, above = self.reach_of(different, chance)
        places = np.searchsorted(different, cells)
        return below[places], above[places]

    def reach_of(self, cells: NDArray[np.float64], chance: float) -> tuple[NDArray[np.float64], ...]:
        """Return the same for few different numbers of cells, each by itself."""
        above = np.array([self._above(float(each), chance) for each in cells])
        below = above if self.two_sided else np.array([self._below(float(each), chance) for each in cells])
        return below, above

    def least(self, counts: NDArray[np.int64], seen: int, chance: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return, for each noisy count, the least count from 1 on that shows as much with such a chance.

        That is a share of the noisy counts that reach `seen`, so the limit holds for whoever looks at these
        alone. Of noise whose masses fall ever faster, larger counts show large ones more often among these,
        so one search finds the least.
        """
        seen = min(seen, LARGEST_NOISY)  # no count is larger, whatever a file says
        low, high = np.ones_like(counts), np.maximum(counts, 1)
        while (low < high).any():
            middle = (low + high) // 2
            reached, shown = (self.floats.tail((at - middle).astype(np.float64)) for at in (counts, seen))
            enough = reached >= chance * shown
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return low

    def _above(self, cells: float, chance: float) -> float:
        """Return how far the sum rises above its mean with half of `chance`."""
        expected = cells * self.chance / self._sides
        if expected < _NEVER * chance:
            return 0.0
        # Any one cell alone: beyond the cutoff, its chance falls from what is expected to what is allowed.
        ratio, alone = expected / (chance / 2), 0.0
        if ratio > 1:
            alone = self.cutoff + self.floats.farther(float(self.cutoff), ratio) - self.mean * cells
        if cells == 1:
            return max(alone, 0.0)
        if expected > _MANY:  # where the formula is normal, and its difference of small numbers is not exact
            return normal_reach(chance) * sqrt(self.variance * cells)
        return max(alone, self._saddle_point(cells, chance))

    def _below(self, cells: float, chance: float) -> float:
        """Return how far a sum of the upper side falls below its mean; it never falls below 0."""
        return min(normal_reach(chance) * sqrt(self.variance * cells), self.mean * cells)

    @lru_cache(maxsize=1 << 12)  # noqa: B019 (a value without a state of its own)
    def _saddle_point(self, cells: float, chance: float) -> float:
        """Return the distance above the mean that the tail formula passes with half of `chance`."""
        low, high = 0.0, self.floats.largest_tilt  # where the noise has no exponential moment any more
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._tail(cells, middle) > chance / 2 else (low, middle)
        return cells * self._cumulants(low)[1]

    def _tail(self, cells: float, tilt: float) -> float:
        """Return the chance of a sum that lies as far out as its mean under a tilt."""
        value, slope, curve = (cells * each for each in self._cumulants(tilt))
        excess = tilt * slope - value
        if excess < 1e-9:  # so near the mean that rounding would decide
            return 0.5
        bound = exp(-excess)  # Chernoff's
        if cells * curve < 1e-9 * slope**2:  # as far as rounding tells, all noise is the largest
            return bound
        w, u = sqrt(2 * excess), -expm1(-tilt) * sqrt(curve)
        return min(erfc(w / sqrt(2)) / 2 + bound / sqrt(2 * pi) * (1 / u - 1 / w), bound)

    def _cumulants(self, tilt: float) -> tuple[float, float, float]:
        """Return the logarithm of E exp(tilt (x - mean)) for one cell, with two derivatives."""
        change, first, second = self.floats.tilted(tilt, cutoff=self.cutoff, two_sided=self.two_sided)
        total = 1 + change
        slope = first / total
        return log1p(change) - tilt * self.mean, slope - self.mean, second / total - slope**2


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(values, 1e-300)))


def _interpolated(
    places: NDArray[np.float64], nodes: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(np.exp(np.interp(places, nodes, _log(values))))


def normal_reach(chance: float) -> float:
    """Return the standard deviations that a normal variable passes, up or down, with that chance."""
    from statistics import NormalDist  # here: what it needs is slow to load

    return -NormalDist().inv_cdf(chance / 2)


def noise(law: NoiseLaw, *, cutoff: float | None = None, two_sided: bool = True) -> SeenNoise:
    """Return the noise of a cell, as far as it reaches a cutoff."""
    whole = 1 if cutoff is None or cutoff <= 1 else ceil(min(cutoff, _LARGEST_CUTOFF))
    return SeenNoise(law, whole, two_sided)
