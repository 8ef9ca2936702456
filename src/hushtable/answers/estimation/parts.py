"""Independent errors of an estimate, put together side by side.

Each part has its own distance below and above; they add in quadrature, below with below and above with above
(the method of variance estimates recovery, Zou and Donner 2008), so that skewed parts stay skewed.

Promise: a part that is 0 changes nothing, and an interval holds its estimate.
Cost: a few operations on arrays for each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation import sampling
from hushtable.answers.estimation.sampling import Sampled
from hushtable.answers.estimation.tails import SeenNoise, normal_reach

Array = NDArray[np.float64]

_ROUNDING = 1e-12  # so that a limit that is sure is not passed by an error of the last digit


@dataclass(frozen=True, slots=True)
class Answers:
    """One entry for each group."""

    value: Array
    standard_error: Array
    low: Array
    high: Array

    def taken(self, places: NDArray[np.intp]) -> Answers:
        """Return some of the answers."""
        return Answers(*(getattr(self, each.name)[places] for each in fields(self)))


class Parts:
    """Independent parts of an error, put together."""

    def __init__(self, chance: float) -> None:
        self.chance = chance
        self._variance: Array | float = 0.0
        self._below: Array | float = 0.0
        self._above: Array | float = 0.0

    def add(
        self, factor: Array | float, variance: Array, *, below: Array | float, above: Array | float
    ) -> None:
        """Add a part that is `factor` times something of this variance and reach."""
        self._variance = self._variance + factor**2 * variance
        self._below = np.hypot(self._below, factor * below)
        self._above = np.hypot(self._above, factor * above)

    def add_normal(self, factor: Array | float, variance: Array) -> None:
        """Add a part that is normal, or nearly so."""
        distance = normal_reach(self.chance) * np.sqrt(variance)
        self.add(factor, variance, below=distance, above=distance)

    def add_within(self, amount: Array, relative: float, *, most: float) -> None:
        """Add that `amount` is off by a relative variance, but within 0 and `most`."""
        with np.errstate(invalid="ignore", over="ignore"):
            variance = np.fmin(amount**2 * relative, amount * (most - amount))
            distance = np.nan_to_num(amount * (normal_reach(self.chance) * sqrt(relative)))
        self.add(1.0, variance, below=np.minimum(distance, amount), above=np.minimum(distance, most - amount))

    def add_noise(self, factor: Array | float, of: SeenNoise, cells: Array) -> None:
        """Add the noise of so many cells."""
        down, up = of.reach(cells, self.chance)
        # Where the noise rose, the truth lies below the estimate.
        self.add(factor, cells * of.variance, below=up, above=down)

    def add_sampling(
        self, factor: Array | float, sides: Sequence[tuple[Sampled, Array]], *, threshold: Array | float
    ) -> None:
        """Add what sampling may have missed above 0 and, if there are two sides, below.

        Each side has its sampled rows, and how many cells are absent.
        """
        (below, above), *down = (
            sampling.reach(*rows, absent, threshold=threshold, chance=self.chance) for rows, absent in sides
        )
        for less, more in down:
            below, above = np.hypot(below, more), np.hypot(above, less)
        variance = np.sum([rows.variance for rows, _ in sides], axis=0)
        self.add(factor, variance, below=below, above=above)

    def around(self, value: Array) -> Answers:
        """Return estimates with these errors."""
        shape = value.shape
        deviation = np.broadcast_to(np.sqrt(self._variance), shape)
        below, above = np.broadcast_to(self._below, shape), np.broadcast_to(self._above, shape)
        rounding = _ROUNDING * np.abs(value)
        low = value - np.where(below > 0, below + rounding, 0)
        return Answers(value, deviation, low, value + np.where(above > 0, above + rounding, 0))
