r"""The two-sided geometric law: :math:`P[x] = \frac{1-a}{1+a} a^{|x|}` with :math:`a = e^{-rate}`.

Promise: exact and float views in closed form. With the rate epsilon / L1 it gives epsilon exactly: a
change of L1 in all, however it is spread, changes any outcome's chance by a factor of exp(epsilon) at most.
Cost: one exponential for each number.
Source: Ghosh, Roughgarden, Sundararajan (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, log
from typing import ClassVar, Self

import numpy as np

from hushtable.laws.floats import Array, Complex, mirrored
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.powers import ExponentialPowers
from hushtable.laws.rationals import as_rate

_SLOWEST, _FASTEST = 2.0**-50, 700.0  # beyond these, floats would overflow; no release comes near them


@dataclass(frozen=True)
class Geometric(NoiseLaw):
    """Two-sided geometric noise at a rate.

    >>> Geometric.calibrated(budget=Fraction(1, 10), change=Fraction(2))
    Geometric(rate=Fraction(1, 20))
    >>> Geometric(Fraction(1, 20)).loss(change=Fraction(2))
    Fraction(1, 10)
    """

    name: ClassVar[str] = "geometric"

    rate: Fraction

    @classmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law that costs epsilon = `budget`, of any change of `change` in all."""
        return cls(Fraction(budget) / change)

    def loss(self, *, change: Fraction) -> Fraction:
        """Return rate times `change`: a change by 1 changes every chance by a factor of at most exp(rate)."""
        return self.rate * change

    def checked(self) -> Self:
        """Return the law, or raise `BadNumber` where the rate is not within 2^-40 to 2^10."""
        as_rate(self.rate)
        return self

    def exact(self) -> TwoSidedGeometric:
        """Return the chances as balls, at the working precision of the caller."""
        return TwoSidedGeometric(ExponentialPowers(self.rate))

    @property
    def sentence(self) -> str:
        """What the noise is, for people."""
        return "two-sided geometric"

    @property
    def floats(self) -> GeometricFloats:
        """The law in floats, in closed form."""
        return _floats(self.rate)


@lru_cache(maxsize=256)
def _floats(rate: Fraction) -> GeometricFloats:
    return GeometricFloats(float(min(max(rate, Fraction(_SLOWEST)), Fraction(_FASTEST))))


class GeometricFloats:
    """Two-sided geometric noise in floats; sums are geometric series, so all is in closed form."""

    def __init__(self, rate: float) -> None:
        self.rate = self.least_fall = self.largest_tilt = rate
        self.decay = exp(-rate)
        self.rest = -expm1(-rate)  # 1 - decay, to the last digit
        self.variance = 2 * self.decay / self.rest**2

    def mass(self, x: Array, /) -> Array:
        """Return P[X = x]."""
        return np.asarray(self.rest / (1 + self.decay) * np.exp(-self.rate * np.abs(x)))

    def tail(self, start: Array, /, power: int = 0) -> Array:
        """Return the moments beyond `start`, which may lie on either side of 0."""
        far = self._upper(np.where(start > 0, start, 1 - start), power)
        return mirrored(start, far, self.variance, power)

    def _upper(self, start: Array, power: int) -> Array:
        """Return the moments beyond `start` > 0."""
        chance = np.exp(-self.rate * start) / (1 + self.decay)
        more = self.decay / self.rest  # the mean of what lies beyond the start
        if power == 0:
            return np.asarray(chance)
        if power == 1:
            return np.asarray(chance * (start + more))
        return np.asarray(chance * (start**2 + 2 * start * more + more * (1 + 2 * more)))

    def distance(self, folds: float, /) -> float:
        """Return folds / rate."""
        return folds / self.rate

    def quantile(self, chance: float, /) -> float:
        """Return the x with P[X >= x] = chance."""
        return log(1 / chance / (1 + self.decay)) / self.rate

    def farther(self, start: float, ratio: float, /) -> float:
        """Return log(ratio) / rate: the tail has no memory of where it starts."""
        return log(ratio) / self.rate

    def tilted(self, tilt: float, *, cutoff: int, two_sided: bool) -> tuple[float, float, float]:
        """Return E[exp(tilt S)] - 1 for what reaches the cutoff, and the two derivatives of the mean."""
        c, weight = cutoff, self.rest / (1 + self.decay)
        change = first = second = 0.0
        for sign in (1.0, -1.0) if two_sided else (1.0,):
            power, rest = exp(sign * tilt - self.rate), -expm1(sign * tilt - self.rate)
            start = weight * exp((sign * tilt - self.rate) * c)
            change += start / rest - weight * exp(-self.rate * c) / self.rest
            first += sign * start * (c / rest + power / rest**2)
            second += start * (c * c / rest + 2 * c * power / rest**2 + power * (1 + power) / rest**3)
        return change, first, second

    def waves(self, times: Array, /) -> Array:
        """Return 1/E[exp(itX)] - 1."""
        return np.asarray(4 * self.decay / self.rest**2 * np.sin(times / 2) ** 2)

    def waves_beyond(self, counts: Array, share: Array, *, certain: float) -> GeometricWaves:
        """Return what X adds where M + X reaches `certain` in size."""
        return GeometricWaves(self, counts, share, certain)


class GeometricWaves:
    """What noise beyond a place adds to a characteristic function.

    Beyond any place, noise is the place and a geometric variable more, whose characteristic function is
    (1 - a)/(1 - a exp(it)) whatever the place: one factor for all counts.
    """

    def __init__(self, noise: GeometricFloats, counts: Array, share: Array, certain: float) -> None:
        self._noise = noise
        short = counts < certain
        beyond = share * noise.tail(np.where(short, certain - counts, 1 - certain + counts))
        self._reached = float(share[~short].sum())
        self.parts = (
            (np.where(short, beyond, 0.0), certain),
            (np.where(short, 0.0, beyond), certain - 1),
            (share * noise.tail(certain + counts), -certain),
        )

    def lost(self, times: Array, turned: Sequence[Complex], sums: Array) -> Complex:
        """Return the sum over counts of share times (1 - exp(itX)), where nothing cancels."""
        noise = self._noise
        once = 2 * np.sin(times / 2) ** 2 - 1j * np.sin(times)  # 1 - exp(it)
        series = noise.rest + noise.decay * once  # 1 - a exp(it)
        upper = (noise.rest * turned[0] + noise.decay * once * sums[0]) / series
        lower, negative = (
            (noise.rest * turned[i] + noise.decay * once.conj() * sums[i]) / series.conj() for i in (1, 2)
        )
        waves = noise.waves(times)
        return np.asarray(upper + (self._reached * waves / (1 + waves) - lower) + negative)
