"""Powers of the noise base a, in two arithmetics.

Every law of the package is a formula in integers and powers of a. Written once against `Powers`,
it is evaluated in exact fractions (`RationalPowers`: tests compare it with brute force, equal to
the last digit) and in certified balls (`ExponentialPowers`, a = exp(-rate): the product).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from hushtable.laws.balls import rational_ball

# A Fraction or an arb: what both share (arithmetic with itself and with int) has no common type.
Number: TypeAlias = Any


class Powers(Protocol):
    """Integer powers of one base 0 < a < 1."""

    def __call__(self, exponent: int, /) -> Number:
        """Return a^exponent."""


class RationalPowers:
    """Powers of a rational base, as fractions.

    >>> RationalPowers(Fraction(1, 2))(3)
    Fraction(1, 8)
    """

    def __init__(self, base: Fraction) -> None:
        self._base = base

    def __call__(self, exponent: int, /) -> Fraction:
        """Return a^exponent."""
        return self._base**exponent


class ExponentialPowers:
    """Powers of exp(-rate), as balls at the working precision."""

    def __init__(self, rate: Fraction) -> None:
        self._minus_rate = rational_ball(-rate)

    def __call__(self, exponent: int, /) -> Number:
        """Return a ball around exp(-rate * exponent): one exponential, so no error piles up."""
        return (self._minus_rate * exponent).exp()
