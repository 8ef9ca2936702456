"""A law of noise from outside the package: half of all draws are geometric at a rate, half at twice the rate.

It has no use but to show what a law must say. Far out it is as wide as the slower half; a change by 1 changes
no chance by more than the faster half's factor, so that is its loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.powers import ExponentialPowers, Number, Powers
from hushtable.laws.rationals import as_rate
from hushtable.laws.registry import register_law


@register_law
@dataclass(frozen=True)
class EvenMixture(NoiseLaw):
    """Two-sided geometric noise at `rate` or at twice that, with the same chance."""

    name: ClassVar[str] = "even-mixture"

    rate: Fraction

    @classmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law whose faster half has the rate epsilon / L1."""
        return cls(Fraction(budget) / change / 2)

    def loss(self, *, change: Fraction) -> Fraction:
        """Return the loss of the faster half: a ratio of mixed chances lies between those of the halves."""
        return 2 * self.rate * change

    def checked(self) -> Self:
        """Return the law, or raise where one of the rates cannot be drawn."""
        as_rate(self.rate), as_rate(2 * self.rate)
        return self

    def exact(self) -> Halves:
        """Return the chances as balls."""
        return Halves(ExponentialPowers(self.rate), ExponentialPowers(2 * self.rate))

    @property
    def sentence(self) -> str:
        """What the noise is, for people."""
        return "an even mixture of two two-sided geometric laws"


class Halves:
    """The mean of two laws, in any arithmetic."""

    def __init__(self, slow: Powers, fast: Powers) -> None:
        self._halves = TwoSidedGeometric(slow), TwoSidedGeometric(fast)

    def mass(self, x: int, /) -> Number:
        """Return P[X = x]."""
        return sum(half.mass(x) for half in self._halves) / 2

    def tail(self, x: int, /) -> Number:
        """Return P[X >= x]."""
        return sum(half.tail(x) for half in self._halves) / 2

    def weighted_tail(self, x: int, /) -> Number:
        """Return the sum of j P[X = j] over j >= x."""
        return sum(half.weighted_tail(x) for half in self._halves) / 2
