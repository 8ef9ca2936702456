"""How far the sum of a sample may lie from the sum it estimates.

A threshold or priority sample keeps a count v with chance |v|/threshold and lets it stand for the
threshold. So the sum over the small counts of one sign is the threshold times a number of rare events, as a
Poisson variable would be, or narrower where counts are close to the threshold. The limits are those of Fay
and Feuer (1997) for weighted sums of Poisson variables: a gamma law with the estimated mean and variance,
to which the upper limit adds an event of the largest weight, the threshold. That event makes limits strict,
and too wide where rows are few; here a quarter of it goes to the lower limit, which is close to the mid-p
limits of Fay and Kim (2017). Without a single row they say what is known: the sum is below about 3.1
thresholds (95 %).

Promise: limits for `chance` fail with at most 1.3 times that chance, however few rows there are, and with
`chance` where they are many. Priority samples follow threshold samples closely (Thorup 2006).
Cost: a few operations on arrays. Gamma quantiles by the cube of Wilson and Hilferty (1931).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.tails import normal_reach

Array = NDArray[np.float64]
_EVENT = 0.75  # of one more event: 1 is strict, 1/2 is the limit of Jeffreys


class Sampled(NamedTuple):
    """The sampled rows of one sign, in size: the sum of weights, of the counts, and its variance."""

    total: Array
    seen: Array
    variance: Array


def reach(
    total: Array, seen: Array, variance: Array, absent: Array, *, threshold: Array | float, chance: float
) -> tuple[Array, Array]:
    """Return how far below and above `total`, a sum of sampled counts of one sign, the true sum may lie.

    It is never below the counts that were `seen`, and each of so many `absent` cells is below the threshold.
    Where rows enter with factors, the threshold is that of the largest factor.
    """
    deviations = normal_reach(chance)
    mean, spread = total / threshold, variance / threshold / threshold  # in events, which cannot overflow
    low = np.where(mean > 0, _limit(mean, spread, 1 - _EVENT, -deviations), 0)
    high = _limit(mean, spread, _EVENT, deviations)
    low, high = np.maximum(low, seen / threshold), np.minimum(high, seen / threshold + np.maximum(absent, 0))
    return np.maximum(mean - low, 0) * threshold, np.maximum(high - mean, 0) * threshold


def _limit(mean: Array, variance: Array, more: float, deviations: float) -> Array:
    """Return a quantile of the gamma law that has this mean and variance, with a part of one more event."""
    mean, variance = mean + more, variance + more
    return mean * _cube(mean**2 / variance, deviations)


def _cube(shape: Array, deviations: float) -> Array:
    """Return a quantile of the gamma law with mean 1 and this shape."""
    return np.maximum(1 - 1 / (9 * shape) + deviations / (3 * np.sqrt(shape)), 0) ** 3
