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

from hushtable.errors import BadChoice
from hushtable.laws.conversions import largest_rho, shortened
from hushtable.laws.floats import Array

_REACH = 15.0  # deviations of S: beyond, with a chance of exp(-112), all of delta is added
_ROUNDING = 1 + 1e-9  # floats that are added up here are closer than that
_LARGEST_SUM = 3e5  # deviations of S that are added up; wider ones have the bound of zCDP
_MOST_FOLDED = 16  # draws of noise of a deviation below three, whose sums are folded one by one
_ULPS = 2.0**-49
_WIDEST = 20_000.0  # deviation of S, for thresholds
_LEAST_DELTA = 1e-250
_NORMAL = 3.0  # deviations from which sums are as good as normal
_HALVINGS = 60
_LARGEST_RHO = 1 << 7  # for a cell: of a larger one, noise is too narrow to be drawn (`gaussian`)


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
    first = max(floor(start) - 1, -ceil(stop))
    places = np.arange(first, ceil(stop) + 1, dtype=np.float64)
    loss = (2 * places + cells) / (2 * variance)
    over = epsilon - loss
    # Where both are large, their difference has few digits left: what it may be wrong by is added.
    slack = (epsilon + np.abs(loss)) * _ULPS
    lost = np.where(over < slack, slack - np.expm1(np.minimum(over, 0.0)), 0.0)
    if variance >= _NORMAL**2:
        chances = np.exp(-places * places / (2 * variance * cells)) / (sqrt(2 * pi) * spread)
        each = 3.2 * cells * exp(-variance * pi * pi / 2)  # by which a chance may be larger
        rest += each * places.size
    elif cells <= _MOST_FOLDED:
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
    if least > _LARGEST_RHO * cells:
        return least
    goal, low, high = float(delta) * (1 - 1e-6), float(least), 4 * float(least)
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        if gaussian_delta(float(epsilon), variance=cells / (2 * middle), cells=cells) <= goal:
            low = middle
        else:
            high = middle
    found = shortened(Fraction(low), up=False)
    # What is drawn has exactly this rho, so it is this one that must keep the goal.
    if gaussian_delta(float(epsilon), variance=float(cells / (2 * found)), cells=cells) > goal:
        return least
    return max(least, found)


def threshold_delta(epsilon: float, *, variance: float, cells: int, threshold: int) -> float:
    """Return a delta of noise in occupied cells alone, published from a threshold on.

    One unit has up to `cells` of them. Of these, j are occupied without it too; each of the others appears,
    or not, with the unit alone.
    """
    stays = log1p(-_tail(threshold - 1, variance))  # the logarithm of q1: 1 + X does not reach it
    found = -expm1(cells * stays)
    for j in range(cells, 0, -1):
        none = (cells - j) * stays  # of q_j
        q = exp(none)
        one = -expm1(none) + q * gaussian_delta(epsilon - none, variance=variance, cells=j)
        found = max(found, one, gaussian_delta(epsilon + none, variance=variance, cells=j))
    return found


def _tail(start: int, variance: float) -> float:
    """Return no less than P[X >= start], for a start of one deviation and more.

    The sum of exp(-x^2/(2 s)) over all x is at least sqrt(2 pi s), and terms beyond forty deviations vanish.
    """
    places = np.arange(start, start + ceil(40 * sqrt(variance)) + 2, dtype=np.float64)
    heights = np.exp(-places * places / (2 * variance))
    return min(0.5, float(heights.sum()) / sqrt(2 * pi * variance) * _ROUNDING + 1e-300)


@lru_cache(maxsize=64)
def stability(epsilon: Fraction, *, delta: Fraction, cells: int) -> tuple[Fraction, int]:
    """Return the variance and the least threshold of noise in occupied cells that gives (epsilon, delta).

    `BadChoice` where these are so small, or so large, that no threshold is found.
    """
    goal = float(delta) * (1 - 1e-6)
    hint = "Use another law, or an epsilon and a delta that are nearer to 1 and to 1e-9."
    if goal < _LEAST_DELTA or not 1e-6 <= epsilon <= 1e3:
        raise BadChoice("no threshold of Gaussian noise is known for such an epsilon and delta", hint)
    least = cells / (2 * float(gaussian_rho(epsilon, delta=delta, cells=cells)))
    if sqrt(least * cells) > _WIDEST:
        raise BadChoice("Gaussian noise for such an epsilon and delta is too wide for a threshold", hint)
    best: tuple[float, float] = (inf, least)
    for widths in (np.linspace(1.0, 1.5, 11), None):
        tried = widths if widths is not None else np.linspace(-0.04, 0.04, 9) + sqrt(best[1] / least)
        for width in tried[tried >= 1.0].tolist():
            variance = float(f"{least * width * width * (1 + 1e-9):.12g}")
            found = _least_threshold(float(epsilon), goal, variance, cells, most=best[0])
            if found is not None and found < best[0]:
                best = (found, variance)
    if best[0] == inf:
        raise BadChoice("no threshold of Gaussian noise is known for such an epsilon and delta", hint)
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
