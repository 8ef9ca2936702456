"""One estimate from several rows of a sketch: their mean or their median.

Promise: both are right on average, since the error of a row is as often above 0 as below. The variance of
the median is that of normal errors. Its chances are exact for errors of any law where rows are odd in number;
the median of an even number is the mean of those without one row each, and lies closer than one of them.
"""

from __future__ import annotations

from functools import cache
from math import comb, factorial, sqrt
from typing import Literal, TypeAlias

import numpy as np

Combine: TypeAlias = Literal["mean", "median"]
_POINTS = 1001
_FARTHEST = 8.0
_HALVINGS = 200


@cache
def median_variance(rows: int) -> float:
    """Return the variance of the median of so many normal errors of variance 1.

    >>> [round(median_variance(rows), 4) for rows in (1, 2, 3, 4)]
    [1.0, 0.5, 0.4487, 0.2982]
    """
    points = np.linspace(-_FARTHEST, _FARTHEST, _POINTS)
    step = points[1] - points[0]
    from statistics import NormalDist

    below = np.array([NormalDist().cdf(point) for point in points])
    density = np.exp(-(points**2) / 2) / sqrt(2 * np.pi) * step
    half = (rows - 1) // 2  # rows that lie beyond the middle one or two on each side
    left, right = density * below**half, density * below[::-1] ** half
    if rows % 2:
        ways = factorial(rows) / factorial(half) ** 2
        return float(ways * (points**2 * left * below[::-1] ** half).sum())
    ways = factorial(rows) / factorial(half) ** 2
    pairs = np.triu(np.add.outer(points, points) ** 2 / 4)
    pairs[np.diag_indices(_POINTS)] /= 2
    return float(ways * (left @ pairs @ right))


@cache
def chance_of_a_row(chance: float, rows: int) -> float:
    """Return the chance with which one row may pass a distance that the median of all passes with `chance`.

    >>> chance_of_a_row(0.05, 1)
    0.05
    """
    if rows == 1:
        return chance
    odd = rows - (rows % 2 == 0)
    most = (odd + 1) // 2
    low, high = 0.0, 0.5  # of one row on one side; the median passes it there if most rows do
    for _ in range(_HALVINGS):
        side = (low + high) / 2
        passed = sum(comb(odd, k) * side**k * (1 - side) ** (odd - k) for k in range(most, odd + 1))
        low, high = (side, high) if 2 * passed <= chance else (low, side)
    return 2 * low
