r"""How much delta noise costs at an epsilon: the privacy curves of Gaussian noise, from above.

One unit changes each of j counts by 1. With discrete Gaussian noise of parameter s, the privacy loss is
(2 S + j)/(2 s), S the sum of j draws, and delta is the mean of 1 - exp(epsilon - loss) where that is above 0.

Promise: every delta is an upper bound on the true one: what floats and the approximation leave open is added.
Proof: PROOF.md beside this file, "Privacy curves".
Cost: a sum over some tens of deviations of S, below a millisecond.
Source: Canonne, Kamath, Steinke (2020) for the loss; Wilkins, Kifer, Zhang, Karrer (2024) for thresholds.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, inf, log, log1p, pi, sqrt

import numpy as np

from hushtable.laws.conversions import largest_rho
from hushtable.laws.floats import Array

_REACH = 15.0  # deviations of S: beyond, with a chance of exp(-112), all of delta is added
_ROUNDING = 1 + 1e-9  # floats that are added up here are closer than that
_LARGEST_SUM = 3e5  # deviations of S that are added up; wider ones have the bound of zCDP
_LARGEST_FOLDED = 2_000.0  # of one noise of less than three, whose sums are folded one by one
_NORMAL = 3.0  # deviations from which sums are as good as normal
_HALVINGS = 60


def gaussian_delta(epsilon: float, *, variance: float, cells: int) -> float:
    """Return a delta at this epsilon of noise in `cells` counts that change by 1 each; 1 where none is found.

    >>> 0.9e-6 < gaussian_delta(1.0, variance=4.23**2, cells=1) < 1.1e-6
    True
    """
    spread = sqrt(variance * cells)
    if spread > _LARGEST_SUM:
        return 1.0
    start = variance * epsilon - cells / 2  # from here on, the loss is above epsilon
    stop = spread * _REACH
    rest = exp(-(_REACH**2) / 2)
    if start >= stop:
        return rest
    first = max(floor(start), -ceil(stop))
    places = np.arange(first, ceil(stop) + 1, dtype=np.float64)
    lost = -np.expm1(np.minimum(epsilon - (2 * places + cells) / (2 * variance), 0.0))
    if variance >= _NORMAL**2:
        chances = np.exp(-places * places / (2 * variance * cells)) / (sqrt(2 * pi) * spread)
        each = 3.2 * cells * exp(-variance * pi * pi / 2)  # by which a chance may be larger
        rest += each * places.size
    elif spread <= _LARGEST_FOLDED:
        chances = _folded(variance, cells, places)
    else:
        return 1.0
    return min(1.0, float(chances @ lost) * _ROUNDING + rest)


def _folded(variance: float, cells: int, places: Array) -> Array:
    """Return the chances of sums of noise, by folding: all terms are above 0, so nothing cancels."""
    reach = ceil(40 * sqrt(variance)) + 2
    single = np.exp(-(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * variance))
    single /= single.sum()
    found, power, left = np.ones(1), single, cells
    while left:
        if left & 1:
            found = np.convolve(found, power)
        left >>= 1
        if left:
            power = np.convolve(power, power)
    middle = found.size // 2
    at = places.astype(np.int64) + middle
    inside = (at >= 0) & (at < found.size)
    return np.where(inside, found[np.clip(at, 0, found.size - 1)], 0.0)


@lru_cache(maxsize=256)
def gaussian_rho(epsilon: Fraction, *, delta: Fraction, cells: int) -> Fraction:
    """Return the largest rho, rounded down, of noise in `cells` counts that gives (epsilon, delta).

    No other change may be made by a unit than 1 in each of so many counts; for others, `largest_rho` holds.

    >>> round(sqrt(1 / (2 * gaussian_rho(Fraction(1), delta=Fraction(1, 10**6), cells=1))), 2)
    4.23
    """
    least = largest_rho(epsilon, delta=delta)
    goal, low, high = float(delta) * (1 - 1e-6), float(least), 4 * float(least)
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        if gaussian_delta(float(epsilon), variance=cells / (2 * middle), cells=cells) <= goal:
            low = middle
        else:
            high = middle
    found = Fraction(f"{low:.12g}") if low > float(least) else least
    # Rounded up to twelve digits, it may be too large by so much; the goal has room for that.
    return max(least, found)


def threshold_delta(epsilon: float, *, variance: float, cells: int, threshold: int) -> float:
    """Return a delta of noise in occupied cells alone, published from a threshold on.

    One unit has up to `cells` of them. Of these, j are occupied without it too; each of the others appears,
    or not, with the unit alone.
    """
    from hushtable.laws.gaussian import Gaussian

    noise = Gaussian(Fraction(variance)).floats
    appears = float(noise.tail(np.array([threshold - 1.0]))[0]) * _ROUNDING  # 1 + X reaches it
    stays = log1p(-appears)  # the logarithm of q1
    found = -expm1(cells * stays)
    for j in range(cells, 0, -1):
        none = (cells - j) * stays  # of q_j
        q = exp(none)
        one = -expm1(none) + q * gaussian_delta(epsilon - none, variance=variance, cells=j)
        found = max(found, one, gaussian_delta(epsilon + none, variance=variance, cells=j))
    return found


@lru_cache(maxsize=64)
def stability(epsilon: Fraction, *, delta: Fraction, cells: int) -> tuple[Fraction, int]:
    """Return the variance and the least threshold of noise in occupied cells that gives (epsilon, delta)."""
    goal = float(delta) * (1 - 1e-6)
    least = cells / (2 * float(gaussian_rho(epsilon, delta=delta, cells=cells)))
    best: tuple[float, float] = (inf, least)
    for widths in (np.linspace(1.0, 1.5, 11), None):
        tried = widths if widths is not None else np.linspace(-0.04, 0.04, 9) + sqrt(best[1] / least)
        for width in tried[tried >= 1.0].tolist():
            variance = float(f"{least * width * width * (1 + 1e-9):.12g}")
            found = _least_threshold(float(epsilon), goal, variance, cells, most=best[0])
            if found is not None and found < best[0]:
                best = (found, variance)
    return Fraction(best[1]), int(best[0])


def _least_threshold(epsilon: float, goal: float, variance: float, cells: int, *, most: float) -> int | None:
    """Return the least threshold that keeps delta within a goal; None where that is not below `most`."""

    def keeps(threshold: int) -> bool:
        settings = {"variance": variance, "cells": cells, "threshold": threshold}
        return threshold_delta(epsilon, **settings) <= goal  # type: ignore[arg-type]

    deviation = sqrt(variance)
    low = 1 + floor(deviation)  # it does not keep it
    high = int(min(most - 1, 2 + ceil(deviation * (3 + sqrt(2 * log(cells / goal))))))
    if high <= low or not keeps(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(middle):
            high = middle
        else:
            low = middle
    return high
