r"""Geometric laws on the integers, as exact functions.

With a = exp(-rate) and 0 < a < 1:

* `TwoSidedGeometric`: the noise, :math:`P[x] = \frac{1-a}{1+a} a^{|x|}` on all integers;
* `WeightedGeometric`: :math:`P[x] \propto h(x) a^x` with h >= 0 linear on each of a few pieces of
  the non-negative integers. A geometric variable, its digits and the geometric noise of an accepted
  empty cell under every rule have this form.

Promise: mass, CDF, tail, mean and variance in closed form, exact in the arithmetic of the `Powers`
they are given. Derivation: PROOF.md beside this file.
Cost: one power of a for each call, whatever the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple, Protocol, TypeAlias

from hushtable.errors import InternalError
from hushtable.laws.powers import Number, Powers


class IntegerLaw(Protocol):
    """An integer law in one arithmetic. `lowest` and `highest` are inclusive; None means unbounded."""

    lowest: int | None
    highest: int | None

    def mass(self, x: int, /) -> Number:
        """Return P[X = x]."""

    def cdf(self, x: int, /) -> Number:
        """Return P[X <= x]."""


LawFamily: TypeAlias = Callable[[Powers], IntegerLaw]


class TwoSidedGeometric:
    """The noise of the paper: fair between signs, and log-linear on either side of 0.

    >>> from hushtable.laws.powers import RationalPowers
    >>> noise = TwoSidedGeometric(RationalPowers(Fraction(1, 2)))
    >>> [str(each) for each in (noise.mass(0), noise.tail(1), noise.weighted_tail(1), noise.variance())]
    ['1/3', '1/3', '2/3', '4']
    """

    lowest: int | None = None
    highest: int | None = None

    def __init__(self, a: Powers) -> None:
        self._a = a
        base = a(1)
        self._at_zero = (1 - base) / (1 + base)
        self._one_plus = 1 + base
        self._beyond = base / (1 - base)  # the mean of what lies beyond any x, given that X reaches it
        self._variance = 2 * base / ((1 - base) * (1 - base))

    def mass(self, x: int) -> Number:
        """Return P[X = x]."""
        return self._at_zero * self._a(abs(x))

    def cdf(self, x: int) -> Number:
        """Return P[X <= x]."""
        if x < 0:
            return self._a(-x) / self._one_plus
        return 1 - self._a(x + 1) / self._one_plus

    def tail(self, x: int) -> Number:
        """Return P[X >= x], for x >= 0."""
        return self._a(x) / self._one_plus

    def weighted_tail(self, x: int) -> Number:
        """Return the sum of j P[X = j] over j >= x, for x >= 0."""
        return self._a(x) * (x + self._beyond) / self._one_plus

    def mean(self) -> Number:
        """Return 0: the law is symmetric."""
        return self._variance * 0

    def variance(self) -> Number:
        """Return E[X^2]."""
        return self._variance


class Piece(NamedTuple):
    """h(x) = level + slope * x for low <= x < high; `high` None means for ever."""

    low: int
    high: int | None
    level: Fraction
    slope: Fraction = Fraction(0)

    def weight(self, x: int) -> Fraction:
        """Return h(x) inside the piece."""
        return self.level + self.slope * x


def weight_at(pieces: Sequence[Piece], x: int) -> Fraction:
    """Return h(x), an exact rational: 0 where no piece is."""
    for piece in pieces:
        if piece.low <= x and (piece.high is None or x < piece.high):
            return piece.weight(x)
    return Fraction(0)


class WeightedGeometric:
    """P[X = x] proportional to h(x) a^x, h given by pieces in increasing order."""

    def __init__(self, pieces: Sequence[Piece], a: Powers) -> None:
        if not pieces:
            raise InternalError("a law without support was asked for")
        self.pieces = tuple(pieces)
        self.lowest: int | None = pieces[0].low
        last = pieces[-1].high
        self.highest: int | None = None if last is None else last - 1
        self._a = a
        base = a(1)
        co = 1 - base
        # sum over x >= 0 of x^order a^x, for order 0 to 3.
        self._moments = (
            1 / co,
            base / co**2,
            base * (1 + base) / co**3,
            base * (1 + 4 * base + base * base) / co**4,
        )
        # From x on, a piece without end sums to a^x (level + slope x); `beyond` takes off what lies
        # past its end and adds the pieces that follow.
        self._tails: list[tuple[Number, Number, Number]] = []
        following = base * 0
        for piece in reversed(self.pieces):
            level = times(self._moments[0], piece.level) + times(self._moments[1], piece.slope)
            slope = times(self._moments[0], piece.slope)
            beyond = following
            if piece.high is not None:
                beyond = beyond - a(piece.high) * (level + slope * piece.high)
            self._tails.insert(0, (level, slope, beyond))
            following = beyond + a(piece.low) * (level + slope * piece.low)
        self.total = following
        self._tails = [
            (level / following, slope / following, beyond / following) for level, slope, beyond in self._tails
        ]

    def weight(self, x: int) -> Fraction:
        """Return h(x), an exact rational."""
        return weight_at(self.pieces, x)

    def mass(self, x: int) -> Number:
        """Return P[X = x]."""
        weight = self.weight(x)
        if weight == 0:
            return self.total * 0
        return times(self._a(x), weight) / self.total

    def tail(self, x: int) -> Number:
        """Return P[X >= x]."""
        for piece, (level, slope, beyond) in zip(self.pieces, self._tails, strict=True):
            if piece.high is None or x < piece.high:
                start = max(x, piece.low)
                return self._a(start) * (level + slope * start) + beyond
        return self.total * 0

    def cdf(self, x: int) -> Number:
        """Return P[X <= x]."""
        return 1 - self.tail(x + 1)

    def mean(self) -> Number:
        """Return E[X]."""
        return self._moment(1)

    def variance(self) -> Number:
        """Return E[X^2] - E[X]^2."""
        mean = self.mean()
        return self._moment(2) - mean * mean

    def _moment(self, order: int) -> Number:
        """Return E[X^order]."""
        total = self.total * 0
        for piece in self.pieces:
            total = total + self._run(piece, piece.low, order)
            if piece.high is not None:
                total = total - self._run(piece, piece.high, order)
        return total / self.total

    def _run(self, piece: Piece, start: int, order: int) -> Number:
        """Return the sum over x >= start of x^order (level + slope x) a^x, as if the piece had no end."""
        level = times(self._power_sum(start, order), piece.level)
        return self._a(start) * (level + times(self._power_sum(start, order + 1), piece.slope))

    def _power_sum(self, start: int, order: int) -> Number:
        """Return the sum over x >= 0 of (start + x)^order a^x."""
        return sum(comb(order, i) * start ** (order - i) * self._moments[i] for i in range(order + 1))


def times(number: Number, factor: Fraction) -> Number:
    """Return number * factor; balls know integers but not fractions."""
    return number * factor.numerator / factor.denominator


def one_sided_geometric(a: Powers) -> WeightedGeometric:
    """P[X = x] = (1-a) a^x for x >= 0."""
    return WeightedGeometric([Piece(0, None, Fraction(1))], a)


def truncated_geometric(length: int, a: Powers) -> WeightedGeometric:
    """P[X = x] proportional to a^x for 0 <= x < length: one digit of a geometric variable."""
    return WeightedGeometric([Piece(0, length, Fraction(1))], a)


class Binomial:
    """How many of `trials` independent coins come up, each with the same chance."""

    def __init__(self, trials: int, chance: Number) -> None:
        self.lowest: int | None = 0
        self.highest: int | None = trials
        self._trials, self._chance = trials, chance

    def mass(self, x: int) -> Number:
        """Return P[X = x]."""
        if not 0 <= x <= self._trials:
            return self._chance * 0
        return comb(self._trials, x) * self._chance**x * (1 - self._chance) ** (self._trials - x)

    def cdf(self, x: int) -> Number:
        """Return P[X <= x], by adding up: x + 1 terms."""
        return sum((self.mass(k) for k in range(min(x, self._trials) + 1)), start=self._chance * 0)

    def mean(self) -> Number:
        """Return E[X]."""
        return self._trials * self._chance

    def variance(self) -> Number:
        """Return E[X^2] - E[X]^2."""
        return self._trials * self._chance * (1 - self._chance)
