"""A dense top-down release, as a census makes one: noise in every node, then counts of 0 or more that add up.

Every level has noise for its share of the budget, in all of its nodes. From the root down, the estimates of
the children of a node are the nearest numbers to their noisy counts, in squares, that are 0 or more and add
up to the estimate of the node (Abowd et al. 2022, "The 2020 Census Disclosure Avoidance System TopDown
Algorithm"; without its second pass, which makes whole numbers of them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]


def nearest(values: Array, owners: Places, totals: Array) -> Array:
    """Return the nearest numbers of 0 or more that add up to the total of their owner; owners ascend.

    >>> nearest(np.array([5.0, 1.0, -3.0, 2.0]), np.array([0, 0, 0, 1]), np.array([4.0, 7.0])).tolist()
    [4.0, 0.0, 0.0, 7.0]
    """
    order = np.lexsort((-values, owners))
    falling = values[order]
    starts = np.searchsorted(owners, np.arange(totals.size))
    sums = np.cumsum(falling)
    before = np.append(0.0, sums)[starts]
    ranks = np.arange(1, values.size + 1) - starts[owners]
    lowered = (sums - before[owners] - totals[owners]) / ranks
    positive = falling > lowered
    number = np.maximum(np.bincount(owners, weights=positive, minlength=totals.size).astype(np.intp), 1)
    found: Array = np.maximum(values - lowered[starts + number - 1][owners], 0.0)
    return np.where(totals[owners] > 0, found, 0.0)


def top_down(noisy: Sequence[Array], parents: Sequence[Places]) -> list[Array]:
    """Return estimates of all levels; `parents` are those of each level below the root, ascending."""
    found = [np.maximum(noisy[0], 0.0)]
    for values, owners in zip(noisy[1:], parents, strict=True):
        found.append(nearest(values, owners, found[-1]))
    return found
