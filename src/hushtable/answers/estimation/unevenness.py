"""How unevenly suppressed counts may lie across the values of an attribute, judged by the published ones.

Spread evenly, every home gets the same share of what a cutoff took away; but homes differ. Nothing
published tells how they differ in suppressed counts, so they are taken to differ as much as in published
ones: by the variance of the published weights of values, less what noise and sampling add to it, relative
to their mean. Where all values hold about the same, what is not published of one is suppressed, so
suppressed counts may also differ by as much as published ones do, up to their own mean.

Promise: a relative variance, careful by one standard deviation of what it is estimated from. Where rows
tell nothing it is large, and an interval becomes the range that is sure: none of what was missed, or all of
it.
Cost: one pass over the rows for each attribute asked about.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

_MOST_COUNTED = 1 << 20  # values that are counted in place


def unevenness(
    codes: NDArray[np.integer],
    weights: NDArray[np.float64],
    *,
    values: int,
    variance: float,
    suppressed: float,
    last: float = 1.0,
) -> float:
    """Return the relative variance of what is `suppressed` among the `values` of an attribute.

    `codes` and `weights` are those of the rows; noise and sampling give all weights together a `variance`.
    The last value may be a part of one, as the last of several runs is.
    """
    if values < 2:
        return 0.0
    whole = values - 1 + last
    mean = float(weights.sum()) / whole
    with np.errstate(over="ignore"):
        if values > _MOST_COUNTED:
            sums = np.bincount(np.unique(codes, return_inverse=True)[1], weights=weights)
            squares = float((sums * sums).sum()) - values * mean * mean
        else:
            expected = np.full(values, mean)
            expected[-1] *= last
            squares = float(((np.bincount(codes, weights=weights, minlength=values) - expected) ** 2).sum())
    careful = squares / (values - 1) * (1 + sqrt(2 / (values - 1)))
    deviation = sqrt(max(careful - variance / whole, 0.0))
    alike = deviation / abs(mean) if mean else inf
    opposite = min(deviation / (suppressed / whole), 1.0) if suppressed / whole else 0.0
    return max(alike, opposite) * max(alike, opposite)
