"""Any law of noise in floats, found from its own exact chances.

Sizes are gathered in bins: single numbers near 0, and farther out bins whose width is a hundredth of their
place. Of each bin the chance and the mean are exact; within it, all of the chance lies at the mean.

Promise: chances and moments within about 10^-4 of the exact ones, up to chances of 10^-300.
Cost: some 2,000 evaluations of the exact law, once for each law, some 40 ms; then sums over as many bins.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import pairwise
from math import exp, inf, log

import numpy as np

from hushtable.laws.balls import nearest_float, working_precision
from hushtable.laws.floats import Array, Complex, mirrored
from hushtable.laws.law import NoiseLaw, at_law

_SINGLE = 128  # sizes below it have a bin each
_FINENESS = 100
_SMALLEST = 1e-300  # chances below it are 0
_LARGEST = 1 << 61  # as far as noisy counts go
_PRECISION = 256
_FASTEST = 1e3  # times t beyond which whole numbers turn so fast that exp(itx) is 0 on average


@lru_cache(maxsize=64)
def numeric_view(law: NoiseLaw) -> NumericView:
    """Return a law in floats."""
    edges = _edges(law)
    with working_precision(_PRECISION):
        noise = law.exact()
        tails = [noise.tail(edge) for edge in edges]
        sums = [noise.weighted_tail(edge) for edge in edges]
        chances = [tail - after for tail, after in pairwise(tails)]
        totals = [total - after for total, after in pairwise(sums)]
        means = [total / chance for total, chance in zip(totals, chances, strict=True)]
    return NumericView(
        np.array(edges, dtype=np.float64),
        tails=np.array([float(tail.mid()) for tail in tails]),
        chances=np.array([float(chance.mid()) for chance in chances]),
        means=np.array([float(mean.mid()) for mean in means]),
        at_zero=nearest_float(at_law(lambda noise: noise.mass(0), law)),
    )


class NumericView:
    """A law by bins of its sizes.

    `edges` are their first sizes, from 1 on, the last of which ends the last bin; `tails` are the chances to
    reach each of them, `chances` and `means` those of the bins.
    """

    def __init__(self, edges: Array, *, tails: Array, chances: Array, means: Array, at_zero: float) -> None:
        self._edges, self._tails = edges, np.maximum(tails, 5e-324)
        self._chances, self._means, self._at_zero = chances, means, at_zero
        widths = np.diff(self._edges)
        squares = self._means**2 + (widths**2 - 1) / 12
        moments = (np.ones_like(squares), self._means, squares)
        # Sums over all bins from each edge on; 0 beyond the last.
        self._beyond = [_sums_from(self._chances * moment) for moment in moments]
        self._falls = -np.diff(np.log(self._tails)) / widths

    @cached_property
    def variance(self) -> float:
        """E[X^2]."""
        return 2 * float(self._beyond[2][0])

    @property
    def least_fall(self) -> float:
        """By how much the logarithm of the tail falls with each number, at least."""
        return float(self._falls.min())

    @property
    def largest_tilt(self) -> float:
        """Up to which t the mean of exp(tX) is finite, as far as the bins tell."""
        return float(self._falls[-1])

    def mass(self, x: Array, /) -> Array:
        """Return P[X = x]: what the tail loses from x to x + 1."""
        size = np.abs(x)
        lost = self._upper(np.maximum(size, 1.0), 0) - self._upper(np.maximum(size, 1.0) + 1, 0)
        # Between 0 and 1, in line with both.
        return np.where(size >= 1, lost, self._at_zero + size * (self._chances[0] - self._at_zero))

    def tail(self, start: Array, /, power: int = 0) -> Array:
        """Return the moments beyond `start`, which may lie on either side of 0."""
        far = self._upper(np.where(start > 0, start, 1 - start), power)
        return mirrored(start, far, self.variance, power)

    def _upper(self, start: Array, power: int) -> Array:
        """Return the moments beyond `start` > 0: even in logarithm between edges."""
        known = self._beyond[power]
        with np.errstate(divide="ignore"):
            logarithms = np.log(np.append(known, 0.0))
        found = np.exp(np.interp(start, self._edges, logarithms, right=-inf))
        # Between 0 and 1, on the line that goes on from 1.
        steps = self._falls[0] * np.minimum(start - 1, 0.0)
        return np.asarray(found * np.exp(-steps))

    def distance(self, folds: float, /) -> float:
        """Return about how far X lies from 0, up or down, with a chance of exp(-folds)."""
        return self._where(-folds - log(2))

    def quantile(self, chance: float, /) -> float:
        """Return the x with P[X >= x] = chance."""
        return self._where(log(chance))

    def farther(self, start: float, ratio: float, /) -> float:
        """Return how far beyond `start` the chance to reach it has fallen by a ratio."""
        logarithm = np.interp(start, self._edges, np.log(self._tails))
        return max(self._where(float(logarithm) - log(ratio)) - start, 0.0)

    def _where(self, logarithm: float) -> float:
        """Return where the tail has a logarithm; far out, on the line that goes on from the last bin."""
        logarithms = np.log(self._tails)
        if logarithm < logarithms[-1]:
            return float(self._edges[-1] + (logarithms[-1] - logarithm) / self._falls[-1])
        if logarithm > logarithms[0]:
            return max(float(1 - (logarithm - logarithms[0]) / self._falls[0]), 0.0)
        return float(np.interp(-logarithm, -logarithms, self._edges))

    def tilted(self, tilt: float, *, cutoff: int, two_sided: bool) -> tuple[float, float, float]:
        """Return E[exp(tilt S)] - 1 for what reaches the cutoff, and the two derivatives of the mean."""
        chances, sizes = self._reaching(cutoff)
        powers = np.minimum(tilt * sizes, 700 - np.log(np.maximum(sizes, 1.0)) * 2)  # so that all is finite
        up = chances * np.exp(powers)
        down = chances * np.exp(-powers) if two_sided else np.zeros_like(up)
        change = chances * (np.expm1(powers) + (np.expm1(-powers) if two_sided else 0.0))
        return float(change.sum()), float((sizes * (up - down)).sum()), float((sizes**2 * (up + down)).sum())

    def _reaching(self, cutoff: int) -> tuple[Array, Array]:
        """Return the chances and means of bins from the cutoff on; that of the cutoff's own bin is cut."""
        first = int(np.searchsorted(self._edges, cutoff, side="right")) - 1
        if first >= self._means.size:
            return np.zeros(1), np.ones(1)
        chances, sizes = self._chances[first:].copy(), self._means[first:].copy()
        if cutoff > self._edges[first]:
            reached = [float(self._upper(np.array([float(cutoff)]), power)[0]) for power in range(2)]
            chances[0], total = (each - self._beyond[i][first + 1] for i, each in enumerate(reached))
            sizes[0] = total / chances[0] if chances[0] > 0 else cutoff
        return chances, sizes

    def waves(self, times: Array, /) -> Array:
        """Return 1/E[exp(itX)] - 1."""
        turned = 2 * np.sin(np.outer(times[times <= _FASTEST], self._means) / 2) ** 2
        lost = np.full(times.size, 1 - self._at_zero)
        lost[times <= _FASTEST] = np.minimum(2 * turned @ self._chances, 1 - exp(-30))
        return np.asarray(lost / (1 - lost))

    def waves_beyond(self, counts: Array, share: Array, *, certain: float) -> BinnedWaves:
        """Return what X adds where M + X reaches `certain` in size."""
        above, reached = certain - counts, counts >= certain
        upper = self._weights(above[~reached], share[~reached])
        lower = self._weights(certain + counts, share)
        # Of counts that reach it without noise: all of X, less what lies below the start.
        whole = float(share[reached].sum())
        lower += whole - self._weights(1 - above[reached], share[reached])
        return BinnedWaves(self, upper + whole, lower)

    def _weights(self, starts: Array, shares: Array) -> Array:
        """Return how much of each bin lies at a start > 0 or beyond, added up over starts by their shares."""
        bins = self._means.size
        first = np.maximum(np.searchsorted(self._edges, starts, side="right") - 1, 0)
        starts, shares, first = starts[first < bins], shares[first < bins], first[first < bins]
        # Of the bin that a start lies in, a part; and all bins after it.
        beyond = np.append(self._beyond[0], 0.0)[first + 1]
        part = np.clip((self._upper(starts, 0) - beyond) / np.maximum(self._chances[first], 1e-320), 0.0, 1.0)
        found = np.zeros(bins + 1)
        np.add.at(found, first + 1, shares)
        found = np.cumsum(found)[:bins]
        np.add.at(found, first, shares * part)
        return found

    def turned(self, times: Array, upper: Array, lower: Array) -> Complex:
        """Return the sum over bins of (1 - exp(itx)), each side of a bin with a weight of its own."""
        slow = times <= _FASTEST
        angles = np.outer(times[slow], self._means)
        found = np.full(times.size, float(((upper + lower) * self._chances).sum()), dtype=np.complex128)
        real = 2 * np.sin(angles / 2) ** 2 @ (self._chances * (upper + lower))
        found[slow] = real - 1j * (np.sin(angles) @ (self._chances * (upper - lower)))
        return found


class BinnedWaves:
    """What noise beyond a place adds to a characteristic function, by the weights of bins on either side."""

    parts: tuple[tuple[Array, float], ...] = ()

    def __init__(self, view: NumericView, upper: Array, lower: Array) -> None:
        self._view, self._upper, self._lower = view, upper, lower

    def lost(self, times: Array, turned: object, sums: object) -> Complex:
        """Return the sum over counts of share times (1 - exp(itX))."""
        return self._view.turned(times, self._upper, self._lower)


def _edges(law: NoiseLaw) -> list[int]:
    """Return the first size of each bin, from 1 on, and the last one's end: as far as chances are floats.

    Of a law with a largest size, bins are as narrow at that end as at 0, and the last one holds that size
    alone: the tail falls steeply there, and nothing may be lost beyond the last edge.
    """
    edges, end = [1, 2], None if law.highest is None else law.highest + 1
    with working_precision(_PRECISION):
        noise = law.exact()
        while edges[-1] != end:
            room = edges[-1] if end is None else min(edges[-1], end - edges[-1])
            size = edges[-1] + max(1, (room - _SINGLE) // _FINENESS)
            if size != end and not (size <= _LARGEST and noise.tail(size) > _SMALLEST):
                break
            edges.append(size)
    return edges


def _sums_from(values: Array) -> Array:
    """Return the sum of the values from each place on."""
    return np.asarray(np.cumsum(values[::-1])[::-1])
