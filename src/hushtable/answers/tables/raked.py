"""Estimates from a table of which a cutoff hides counts, completed by the tables that are published whole.

The rows of such a table show what passed its cutoff; the whole tables say how many there are in all. What the
rows miss of the whole tables is put where these miss it: it is raked, so that the completed table adds up to
each of them. That is a model, and a good one where what is hidden goes with the attributes one by one or two
by two.

Promise: estimates add up to the total, and to each whole table where what the rows miss of it is nowhere
below 0. Noise may put it there; then all of the table is lowered alike until it adds up to the total again,
because leaving out what is below 0 alone would put too many everywhere. Nothing here claims how close
estimates are: `bounds` of the answerer do.
Cost: some passes over the combinations of what is asked for, of which there are at most two million.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.structures.lattice import Array

MOST_COMBINATIONS = 2_000_000
_ROUNDS = 10


class Margin(NamedTuple):
    """What a whole table says of some axes of a grid."""

    axes: tuple[int, ...]
    sums: Array  # with an axis for each of them


def raked(shown: Array, margins: Sequence[Margin]) -> Array:
    """Return what is hidden in each place of a grid, given what is shown there and what margins say.

    The margin over no axis, the total, must be among them.

    >>> total = Margin((), np.array(10.0))
    >>> raked(np.array([4.0, 2.0]), [total, Margin((0,), np.array([7.0, 3.0]))])
    array([3., 1.])
    """
    missed = {margin.axes: _missed(shown, margin) for margin in margins}
    everything = max(float(missed.pop(())), 0.0)
    missing = {axes: _adding_up_to(everything, found) for axes, found in missed.items()}
    hidden = np.full(shown.shape, everything / max(shown.size, 1))
    singles = {axes: found for axes, found in missing.items() if len(axes) == 1 and everything > 0}
    for (axis,), found in singles.items():
        hidden *= _along(found / everything * shown.shape[axis], (axis,), shown.ndim)
    largest = [axes for axes in missing if not any(set(axes) < set(other) for other in missing)]
    for _ in range(_ROUNDS if largest else 0):
        for axes in largest:
            others = tuple(axis for axis in range(shown.ndim) if axis not in axes)
            now = hidden.sum(axis=others)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.where(now > 0, missing[axes] / now, 0.0)
            hidden *= _along(factor, axes, shown.ndim)
    return hidden


def _missed(shown: Array, margin: Margin) -> Array:
    """Return what a margin says beyond the rows, or how much less."""
    others = tuple(axis for axis in range(shown.ndim) if axis not in margin.axes)
    return np.asarray(margin.sums - shown.sum(axis=others))


def _adding_up_to(total: float, values: Array) -> Array:
    """Return the nearest values that are 0 or more and add up to a total: all are lowered alike.

    >>> _adding_up_to(10.0, np.array([8.0, 4.0, -2.0]))
    array([7., 3., 0.])
    """
    falling = np.sort(values, axis=None)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    positive = np.flatnonzero(falling > lowered)
    return np.maximum(values - lowered[positive[-1]], 0.0) if positive.size else np.zeros_like(values)


def _along(values: Array, axes: Sequence[int], dimensions: int) -> Array:
    """Return values of some axes, ready to be multiplied with a grid."""
    shape = [1] * dimensions
    for axis, length in zip(axes, values.shape, strict=True):
        shape[axis] = length
    return values.reshape(shape)


def on_grid(codes: Sequence[NDArray[np.integer]], weights: Array, shape: Sequence[int]) -> Array:
    """Return sums of weights by their codes along each axis."""
    place = np.zeros(len(weights), dtype=np.intp)
    for column, size in zip(codes, shape, strict=True):
        place = place * size + column
    sums: Array = np.bincount(place, weights=weights, minlength=prod(shape)).astype(np.float64)
    return sums.reshape(shape)


def sets_of_axes(number: int, most: int = 3) -> list[tuple[int, ...]]:
    """Return all sets of up to `most` of so many axes, the empty one first."""
    return [axes for size in range(min(number, most) + 1) for axes in combinations(range(number), size)]
