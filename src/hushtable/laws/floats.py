r"""What estimates, plans and error bars ask of a law of noise X: chances and moments in floats.

Promise: a view says the same of its law as the exact one does, as closely as its class states; nothing is
drawn from it. Where x is no whole number, chances are those of a smooth curve through the whole ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Complex: TypeAlias = NDArray[np.complex128]


class Waves(Protocol):
    """What noise beyond a place adds to a characteristic function, over cells of many counts M at once.

    The caller adds up weight (1 - exp(it(place - M))) over counts M for each of `parts`, all in one product
    of matrices, and hands these sums back.
    """

    @property
    def parts(self) -> Sequence[tuple[Array, float]]:
        """Weights of counts, and a place."""

    def lost(self, times: Array, turned: Sequence[Complex], sums: Array) -> Complex:
        """Return the sum over counts of share times (1 - exp(itX)), where M + X reaches the place in size.

        `turned` are the sums for each of `parts`, and `sums` those of their weights.
        """


class FloatView(Protocol):
    """Symmetric noise X in floats."""

    @property
    def variance(self) -> float:
        """E[X^2]."""

    @property
    def least_fall(self) -> float:
        """By how much the logarithm of P[X >= x] falls from every x to the next, at least."""

    @property
    def largest_tilt(self) -> float:
        """Up to which t the mean of exp(tX) is finite."""

    def mass(self, x: Array, /) -> Array:
        """Return P[X = x]."""

    def tail(self, start: Array, /, power: int = 0) -> Array:
        """Return the sum of x^power P[X = x] over x >= start, on either side of 0; the power is 0 to 2."""

    def distance(self, folds: float, /) -> float:
        """Return about how far X lies from 0, up or down, with a chance of exp(-folds)."""

    def quantile(self, chance: float, /) -> float:
        """Return the x with P[X >= x] = chance, as a smooth number; it means nothing at 0 and below."""

    def farther(self, start: float, ratio: float, /) -> float:
        """Return how far beyond `start` >= 1 the chance to reach it has fallen by a ratio above 1."""

    def tilted(self, tilt: float, *, cutoff: int, two_sided: bool) -> tuple[float, float, float]:
        """Return E[exp(tilt S)] - 1, E[S exp(tilt S)] and E[S^2 exp(tilt S)], for a tilt from 0 on.

        S is X where X, or its size if `two_sided`, reaches the cutoff >= 1, and 0 elsewhere.
        """

    def waves(self, times: Array, /) -> Array:
        """Return 1/E[exp(itX)] - 1 for each time t."""

    def waves_beyond(self, counts: Array, share: Array, *, certain: float) -> Waves:
        """Return what X adds where M + X reaches `certain` in size, for counts M with these shares."""


def mirrored(start: Array, far: Array, variance: float, power: int) -> Array:
    """Return the moments beyond `start`; where it is not above 0, `far` are those beyond 1 - start.

    Sums over all x are 1, 0 and the variance; those up to start - 1 mirror those from 1 - start on.
    """
    whole, other = ((1.0, far), (0.0, -far), (variance, far))[power]
    return np.where(start > 0, far, whole - other)
