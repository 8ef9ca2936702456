"""Rounding to whole numbers with a given sum, by a rule that draws no lots.

Promise: results are whole, 0 or more, and add up exactly; each differs from its even part by less than 1.
Of all whole numbers with that sum they are the nearest to the parts, in squares (largest remainders).
Equal inputs give equal results, whatever the processor: parts are compared to 40 bits, and of equal ones the
first comes first.
Cost: one sort.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Places = NDArray[np.intp]

_FINE = 2.0**40  # remainders are compared as multiples of 1 over it


def shared(totals: Numbers, owners: Places, parts: Array) -> Numbers:
    """Share out each total among the parts that it owns, in proportion to them; every total owns some.

    Where all parts of a total are 0, they are taken to be equal.

    >>> shared(np.array([10, 3]), np.array([0, 0, 0, 1, 1]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])).tolist()
    [4, 3, 3, 2, 1]
    """
    sums = np.bincount(owners, weights=parts, minlength=totals.size)
    parts = np.where((sums > 0)[owners], parts, 1.0)
    sums = np.bincount(owners, weights=parts, minlength=totals.size)
    wanted = totals[owners] * (parts / sums[owners])
    found = np.floor(wanted).astype(np.int64)
    rest = np.rint((wanted - found) * _FINE).astype(np.int64)
    left = totals - _sums(found, owners, totals.size)
    # A few units may be missing, or too many by what floats lost of large totals: one goes to each in turn.
    while np.any(left):
        order = np.lexsort((np.arange(owners.size), -rest, owners))
        ranks = np.empty(owners.size, dtype=np.int64)
        starts = np.searchsorted(owners[order], np.arange(totals.size))
        ranks[order] = np.arange(owners.size) - starts[owners[order]]
        found += ranks < left[owners]
        numbers = np.bincount(owners, minlength=totals.size)
        taken = (ranks >= (numbers + np.minimum(left, 0))[owners]) & (found > 0)
        found -= taken
        left = totals - _sums(found, owners, totals.size)
    return found


def _sums(values: Numbers, owners: Places, number: int) -> Numbers:
    found = np.zeros(number, dtype=np.int64)
    np.add.at(found, owners, values)
    return found


def along(values: Array, total: int) -> Numbers:
    """Return whole numbers in proportion to values, with this sum.

    Any run of neighbours is off by less than 1.

    >>> along(np.array([0.4, 0.4, 0.4, 0.8]), 2).tolist()
    [0, 1, 0, 1]
    """
    sums = np.cumsum(values)
    if not sums.size or sums[-1] <= 0:
        sums = np.arange(1, values.size + 1, dtype=np.float64)
    reached = np.floor(np.rint(sums / sums[-1] * total * 2**20) / 2**20 + 0.5).astype(np.int64)
    reached[-1] = total
    found: Numbers = np.diff(reached, prepend=0)
    return found


def spread(number: Numbers, places: Numbers) -> tuple[Places, Numbers]:
    """Return for `number` things each, at which of so many places they stand if they stand evenly.

    The first array says whose each thing is.

    >>> [each.tolist() for each in spread(np.array([2, 3]), np.array([8, 2]))]
    [[0, 0, 1, 1, 1], [2, 6, 0, 1, 1]]
    """
    owners = np.repeat(np.arange(number.size), number)
    each = np.arange(owners.size) - np.repeat(np.cumsum(number) - number, number)
    whole, rest = np.divmod(places, np.maximum(number, 1))
    # ((2 k + 1) places) // (2 number), without a product that could wrap.
    odd = 2 * each + 1
    found: Numbers = (odd * whole[owners] + odd * rest[owners] // number[owners]) // 2
    return owners, found
