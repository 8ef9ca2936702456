r"""The discrete Gaussian law: :math:`P[x] \propto e^{-x^2/(2 s)}` on all integers, s a rational number.

Promise: exact and float views. A change whose squares add up to L2^2 costs rho = L2^2 / (2 s) of
zero-concentrated differential privacy, exactly; nothing that is done with the noisy counts adds to it.
Cost: of a deviation up to 6,000, one pass over some twenty deviations for each precision that is asked for;
of a larger one, some forty terms of a series for each number. Proof: PROOF.md beside this file.
Source: Canonne, Kamath, Steinke (2020), "The discrete Gaussian for differential privacy".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, isqrt, lgamma, log, log2, pi, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from hushtable.errors import BadChoice, BadNumber
from hushtable.laws.balls import rational_ball, working_precision
from hushtable.laws.conversions import largest_rho
from hushtable.laws.costs import Cost, Currency
from hushtable.laws.floats import Array
from hushtable.laws.law import NoiseLaw
from hushtable.laws.numeric import NumericView
from hushtable.laws.powers import Number
from hushtable.laws.sensitivities import Sensitivities

if TYPE_CHECKING:
    from flint import arb

_SUMMED = 6_000  # up to this deviation all chances are added up, one by one
_NEAR = 12  # deviations, within which sums are kept
_GUARD = 40  # bits: sums of up to 2^15 terms, each from the last by two products, lose fewer
_SMALLEST, _LARGEST = Fraction(1, 1 << 8), Fraction(1 << 60)  # of s
_SINGLE = 256  # up to this deviation, floats have a bin for each number
_FINENESS = 64  # bins in a deviation, above
_VANISHING = 1e-297


@dataclass(frozen=True)
class Gaussian(NoiseLaw):
    """Discrete Gaussian noise; `variance` is s, and the variance of the noise is less by very little.

    >>> Gaussian.calibrated(budget=Fraction(1, 8), change=Fraction(1))
    Gaussian(variance=Fraction(4, 1))
    >>> Gaussian(Fraction(4)).loss(change=Fraction(1))
    Fraction(1, 8)
    """

    name: ClassVar[str] = "gaussian"
    currency: ClassVar[Currency] = "zcdp"

    variance: Fraction

    @classmethod
    def change(cls, one: Sensitivities) -> Fraction:
        """Return the sum of the squares of what one unit changes."""
        return one.l2_squared

    @classmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law that costs rho = `budget`, of changes whose squares add up to `change`."""
        return cls(Fraction(change) / (2 * Fraction(budget)))

    @classmethod
    def price(cls, cost: Cost) -> Cost:
        """Return the cost with its rho: where epsilon and delta are given, the largest that implies them."""
        if cost.rho is not None:
            return cost
        if cost.epsilon is None or not cost.delta:
            fact = "Gaussian noise is paid with rho, or with epsilon and delta"
            raise BadChoice(fact, "Give one of them, or use geometric noise.")
        return Cost(epsilon=cost.epsilon, delta=cost.delta, rho=largest_rho(cost.epsilon, delta=cost.delta))

    def loss(self, *, change: Fraction) -> Fraction:
        """Return rho: `change` over 2 s."""
        return change / (2 * self.variance)

    def checked(self) -> Self:
        """Return the law, or raise `BadNumber` where s is not within 2^-8 to 2^60."""
        if not _SMALLEST <= self.variance <= _LARGEST:
            raise BadNumber(
                name="variance",
                value=f"{float(self.variance):.3g}",
                allowed="must be from 2^-8 to 2^60",
                hint="It is L2^2 / (2 rho), L2 the change that one unit makes; typical rho are 0.001 to 1.",
            )
        return self

    def exact(self) -> GaussianView:
        """Return the chances as balls, at the working precision of the caller."""
        from flint import ctx

        return _exact(self.variance, ctx.prec)

    @property
    def sentence(self) -> str:
        """What the noise is, for people."""
        return "discrete Gaussian"

    @property
    def floats(self) -> GaussianFloats:
        """The law in floats."""
        return _floats(self.variance)


class GaussianView:
    """Chances as balls; sums of f(j) = exp(-j^2/(2 s)) and of j f(j), over their sum over all integers."""

    def __init__(self, variance: Fraction) -> None:
        self._s = rational_ball(variance)
        self._total = 2 * self.from_here(0, weighted=False) - 1

    def mass(self, x: int, /) -> Number:
        """Return P[X = x]."""
        return self.height(x) / self._total

    def tail(self, x: int, /) -> Number:
        """Return P[X >= x]."""
        return self.from_here(x, weighted=False) / self._total

    def weighted_tail(self, x: int, /) -> Number:
        """Return the sum of j P[X = j] over j >= x."""
        return self.from_here(x, weighted=True) / self._total

    def height(self, x: int) -> arb:
        """Return f(x)."""
        return (-(x * x) / (2 * self._s)).exp()

    def from_here(self, x: int, *, weighted: bool) -> arb:
        """Return the sum over j >= x >= 0 of f(j), or of j f(j)."""
        raise NotImplementedError

    def far(self, x: int, *, weighted: bool, fall: float) -> arb:
        """Return the same by adding up terms, where the logarithm of each is less by `fall` at least."""
        from flint import ctx

        with working_precision(bits := ctx.prec + _GUARD):
            return self.added(x, 2 + ceil(0.7 * bits / fall), kept=1)[weighted][0]

    def added(self, first: int, count: int, *, kept: int) -> tuple[list[arb], list[arb]]:
        """Return the sums from each of the first places on, of f(j) and of j f(j), by so many terms."""
        from flint import arb

        half = 1 / (2 * self._s)
        height, ratio, twice = (
            (-first * first * half).exp(),
            (-(2 * first + 1) * half).exp(),
            (-2 * half).exp(),
        )
        heights = []
        for _ in range(count):
            heights.append(height)
            height, ratio = height * ratio, ratio * twice
        # From here on each term is at most `ratio` times the one before: a geometric series bounds them.
        place = first + count
        rest = height / (1 - ratio)
        plain, weighted = arb(0).union(rest), arb(0).union(rest * (place + ratio / (1 - ratio)))
        sums: tuple[list[arb], list[arb]] = ([], [])
        for height in reversed(heights):
            place -= 1
            plain, weighted = plain + height, weighted + height * place
            if place - first < kept:
                sums[0].append(plain)
                sums[1].append(weighted)
        return sums[0][::-1], sums[1][::-1]


class SummedView(GaussianView):
    """All terms are added up, from the farthest on; sums within twelve deviations are kept."""

    def __init__(self, variance: Fraction, precision: int) -> None:
        deviation = isqrt(ceil(variance)) + 1
        self._fall = 1 / float(variance)
        self._kept, self._block = _NEAR * deviation, deviation
        self._far: dict[int, tuple[list[arb], list[arb]]] = {}
        reach = deviation * (isqrt(_NEAR**2 + ceil(1.4 * (precision + _GUARD))) + 1)
        with working_precision(precision + _GUARD):
            self._s = rational_ball(variance)
            self._sums = self.added(0, reach, kept=self._kept + 1)
        super().__init__(variance)

    def from_here(self, x: int, *, weighted: bool) -> arb:
        """Return a sum that is kept, or add it up."""
        from flint import ctx

        if x <= self._kept:
            return self._sums[weighted][x]
        if x * self._fall >= 1:  # a few hundred terms
            return self.far(x, weighted=weighted, fall=x * self._fall)
        # Those of a whole deviation at once: whoever asks for one asks for its neighbours too.
        first = x - x % self._block
        if first not in self._far:
            bits = ctx.prec + _GUARD
            with working_precision(bits):
                count = self._block + 2 + ceil(0.7 * bits / (first * self._fall))
                self._far[first] = self.added(first, count, kept=self._block)
        return self._far[first][weighted][x - first]


class ExpandedView(GaussianView):
    """Sums by the formula of Euler and Maclaurin: an integral, half of the first term, and a short series.

    Terms of the series are Hermite polynomials at z = x / sqrt(s); what is left out is bounded (PROOF.md).
    """

    def __init__(self, variance: Fraction) -> None:
        self._deviation = sqrt(float(variance))
        super().__init__(variance)

    def from_here(self, x: int, *, weighted: bool) -> arb:
        """Return the sum by the series; far out, where terms fall fast, by adding them up."""
        from flint import arb, ctx

        bits = ctx.prec + _GUARD
        z = x / self._deviation
        fall = z / self._deviation
        terms = self._terms(z, bits)
        if terms is None or bits < 4 * terms * fall:
            return self.far(x, weighted=weighted, fall=fall)
        with working_precision(bits + 2 * terms + ceil(0.75 * z * z)):
            s = self._s
            root, at = s.sqrt(), self.height(x)
            z_ball = x / root
            # f^(n) = (-1)^n s^(-n/2) He_n(z) f, and j f(j) = -s f'(j).
            integral = s * at if weighted else root * (arb.pi() / 2).sqrt() * (z_ball / arb(2).sqrt()).erfc()
            found, scale, factorial = arb(0), s if weighted else root, arb(1)
            before, now = arb(0), arb(1)  # He_-1, He_0
            for k in range(1, terms + 1):
                before, now = now, z_ball * now - (2 * k - 2) * before  # He_(2k-1)
                odd = now
                before, now = now, z_ball * now - (2 * k - 1) * before  # He_2k
                factorial, scale = factorial * (2 * k * (2 * k - 1)), scale / s
                found = found + arb.bernoulli(2 * k) / factorial * (now if weighted else odd) * scale
            last = 2 * terms + weighted
            most = arb(4) * root ** (1 + weighted) * arb(last + 1).gamma().sqrt()
            most = most * (-(z_ball * z_ball) / 4).exp() / (2 * arb.pi() * root) ** (2 * terms)
            return integral + at * (arb(x if weighted else 1) / 2 + found) + arb(0, most.abs_upper())

    def _terms(self, z: float, bits: int) -> int | None:
        """Return after how many terms what is left out does not matter; None where that never is."""
        scale = 2 * log2(2 * pi * self._deviation)
        wanted = -bits - 0.5 * z * z / log(2)
        for terms in range(4, 4 * bits):
            left = 0.5 * lgamma(2 * terms + 2) / log(2) - 0.25 * z * z / log(2) - terms * scale
            if left + 2 * log2(self._deviation) + 4 <= wanted:
                return terms
        return None


@lru_cache(maxsize=32)
def _exact(variance: Fraction, precision: int) -> GaussianView:
    """Return the view at the working precision, which the caller has set."""
    return SummedView(variance, precision) if variance <= _SUMMED**2 else ExpandedView(variance)


class GaussianFloats(NumericView):
    """Discrete Gaussian noise in floats: by bins, but for what has a formula."""

    def __init__(self, variance: Fraction) -> None:
        s = float(variance)
        deviation = sqrt(s)
        far = ceil(37 * deviation) + 2  # where chances are below 10^-297
        self._half = 1 / (2 * s)
        if deviation <= _SINGLE:
            places = np.arange(far + 1, dtype=np.float64)
            heights = np.exp(-places * places * self._half)
            heights = heights[: np.flatnonzero(heights > _VANISHING)[-1] + 1]
            self._total = 2 * float(heights[::-1].sum()) - 1
            chances = heights[1:] / self._total
            edges = np.arange(1.0, heights.size + 1)
            means = edges[:-1]
        else:
            # Between half numbers, sums are integrals but for a correction (f' / 24 and g' / 24, g = t f).
            self._total = deviation * sqrt(2 * pi)
            edges = np.unique(np.append(1.0, np.ceil(np.arange(1, 37 * _FINENESS) * (deviation / _FINENESS))))
            starts = edges - 0.5
            heights = np.exp(-starts * starts * self._half)
            z = starts / deviation
            sums = deviation * sqrt(pi / 2) * np.array([erfc(each) for each in (z / sqrt(2)).tolist()])
            sums -= starts / s * heights / 24
            weighted = s * heights + (1 - z * z) * heights / 24
            chances = -np.diff(sums) / self._total
            means = np.diff(weighted) / np.diff(sums)
        tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        super().__init__(edges, tails=tails, chances=chances, means=means, at_zero=1 / self._total)

    def mass(self, x: Array, /) -> Array:
        """Return P[X = x]."""
        return np.asarray(np.exp(-(np.asarray(x, dtype=np.float64) ** 2) * self._half) / self._total)


@lru_cache(maxsize=512)
def _floats(variance: Fraction) -> GaussianFloats:
    return GaussianFloats(min(max(variance, _SMALLEST), _LARGEST))
