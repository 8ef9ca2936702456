"""Synthetic rows of several tables: what they say together, rounded along a curve through all combinations.

What the tables say of all attributes together is brought to agree with each table that is published whole,
as far as that goes with numbers of 0 and more. Then combinations of values stand in z-order: the bits of all
codes take turns, so that neighbours agree in all attributes. Along that curve, every run of combinations has
as many rows as it should, but for less than one.

Promise: rows add up to their number. A group of combinations is off by less than the runs that it consists
of, and by far less where their remainders go both ways.
Cost: one sort of the combinations, and some passes over them for each table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.synthetic.rounding import Array, Numbers, along
from hushtable.answers.tables.raked import Margin
from hushtable.structures.addresses import MOST_BITS, MortonAddresses

_ROUNDS = 20
_FAINT = 1e-3  # of the mean: what a combination has at least, so that tables can raise it


def agreeing(values: Array, margins: Sequence[Margin]) -> Array:
    """Return values over a grid that agree with margins, starting from these: by iterative scaling."""
    found = np.maximum(values, 0.0) + _FAINT * max(float(np.maximum(values, 0.0).mean()), 1e-300)
    largest = [each for each in margins if not any(set(each.axes) < set(other.axes) for other in margins)]
    for _ in range(_ROUNDS):
        for axes, sums in largest:
            now = found.sum(axis=tuple(axis for axis in range(found.ndim) if axis not in axes), keepdims=True)
            wanted = np.maximum(sums, 0.0).reshape(now.shape)
            found = found * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
    return found


def rounded(codes: NDArray[np.int64], values: Array, shape: tuple[int, ...], *, total: int) -> Numbers:
    """Return how many rows each combination of codes has."""
    addresses = MortonAddresses(shape)
    order = np.arange(len(codes))
    if addresses.bits <= MOST_BITS:
        order = np.argsort(addresses.of(codes), kind="stable")
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = along(values[order], total)
    return found
