r"""Noise in occupied cells alone, published from a threshold on: the two laws that need no declared domain.

A cell that nobody is in never appears, so nobody has to list the cells there are. What may then tell of
somebody is that a cell appears at all: the threshold makes that rarer than delta.

Promise: (epsilon, delta)-differential privacy where one unit changes up to k cells by 1 each. Both laws take
filters alone, from `least_cutoff` on. Proof: PROOF.md beside this file, "Thresholds".
Source: Desfontaines, Voss, Gipson, Mandayam (2022), "Differentially private partition selection"; Wilkins,
Kifer, Zhang, Karrer (2024), "Exact privacy analysis of the Gaussian sparse histogram mechanism".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

from hushtable.errors import BadChoice
from hushtable.laws.balls import rational_ball, working_precision
from hushtable.laws.costs import Cost, Currency
from hushtable.laws.curves import stability
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.law import ExactView, NoiseLaw
from hushtable.laws.powers import ExponentialPowers, Number
from hushtable.laws.rationals import as_rate
from hushtable.laws.sensitivities import Sensitivities

if TYPE_CHECKING:
    from hushtable.laws.floats import FloatView

MOST_CELLS = 100  # that one unit may change: beyond, curves take long, and zCDP serves as well


class ThresholdLaw(NoiseLaw):
    """What both laws share: who may use them, and what they are paid with."""

    currency: ClassVar[Currency] = "approximate"
    noises_empty: ClassVar[bool] = False

    @classmethod
    def change(cls, one: Sensitivities) -> Fraction:
        """Return how many cells one unit changes by 1; `BadChoice` where it may change one by more."""
        if one.per_cell != 1 or one.l1 > MOST_CELLS:
            fact = f"the law {cls.name!r} is for units that change up to {MOST_CELLS:,} cells by 1 each"
            hint = 'Count people: ht.Unit("person_id", max_cells=10). Sums and rows need another law.'
            raise BadChoice(fact, hint)
        return one.l1

    @classmethod
    def price(cls, cost: Cost) -> Cost:
        """Return epsilon and delta, or raise `BadChoice` where they are not what was given."""
        if cost.epsilon is None or not cost.delta:
            fact = f"noise of the law {cls.name!r} is paid with epsilon and delta"
            raise BadChoice(fact, "Give both, or another law.")
        return Cost(epsilon=cost.epsilon, delta=cost.delta)


def _check(delta: Fraction) -> None:
    """Raise where a law is asked for without its delta: only a table of cells alone takes one."""
    if not delta:
        fact = "noise in occupied cells alone is for a table of cells, with an epsilon and a delta"
        raise BadChoice(fact, 'Publish `structure="cells"`, or use another law.')


@dataclass(frozen=True)
class TruncatedGeometric(ThresholdLaw):
    """Two-sided geometric noise that is never larger than `largest`; cells are published above that.

    >>> law = TruncatedGeometric.calibrated(budget=Fraction(1), change=Fraction(1), delta=Fraction(1, 10**6))
    >>> law.least_cutoff
    15
    """

    name: ClassVar[str] = "truncated-geometric"

    rate: Fraction
    largest: int

    @classmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law with the least threshold: epsilon and delta are split evenly among the cells."""
        _check(delta)
        rate, own = Fraction(budget) / change, Fraction(delta) / change
        return cls(rate, _largest(rate, own))

    def loss(self, *, change: Fraction) -> Fraction:
        """Return the epsilon for so many cells."""
        return self.rate * change

    def checked(self) -> Self:
        """Return the law, or raise `BadNumber` where the rate cannot be drawn."""
        as_rate(self.rate)
        return self

    @property
    def highest(self) -> int:
        """No noise is larger."""
        return self.largest

    @property
    def least_cutoff(self) -> int:
        """Noise alone does not reach it."""
        return self.largest + 1

    def exact(self) -> Truncated:
        """Return the chances as balls, at the working precision of the caller."""
        return Truncated(ExponentialPowers(self.rate), self.largest)

    @property
    def sentence(self) -> str:
        """What the noise is, for people."""
        return f"two-sided geometric, at most {self.largest:,}"


class Truncated:
    """Chances proportional to a^|x| for |x| <= largest."""

    def __init__(self, a: ExponentialPowers, largest: int) -> None:
        self._a, self._largest = a, largest
        self._rest = 1 - a(1)
        self._total = (1 + a(1) - 2 * a(largest + 1)) / self._rest

    def mass(self, x: int, /) -> Number:
        """Return P[X = x]."""
        return self._a(x) / self._total if x <= self._largest else self._total * 0

    def tail(self, x: int, /) -> Number:
        """Return P[X >= x]."""
        if x > self._largest:
            return self._total * 0
        return (self._a(x) - self._a(self._largest + 1)) / self._rest / self._total

    def weighted_tail(self, x: int, /) -> Number:
        """Return the sum of j P[X = j] over j >= x."""
        if x > self._largest:
            return self._total * 0
        end, beyond = self._largest + 1, self._a(1) / self._rest
        sums = [self._a(place) * (place + beyond) / self._rest for place in (x, end)]
        return (sums[0] - sums[1]) / self._total


@lru_cache(maxsize=256)
def _largest(rate: Fraction, delta: Fraction) -> int:
    """Return the least T with P[X = T] <= delta: the chance that a cell tells of one who is alone in it."""

    def enough(largest: int) -> bool:
        precision = 128
        while True:
            with working_precision(precision):
                left = Truncated(ExponentialPowers(rate), largest).mass(largest) - rational_ball(delta)
                if left < 0:
                    return True
                if left > 0 or precision > 4096:
                    return False
            precision *= 2

    high = 1
    while not enough(high):
        high *= 2
    low = high // 2 if high > 1 else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class GaussianStability(ThresholdLaw):
    """Discrete Gaussian noise in occupied cells, published from a threshold on.

    >>> law = GaussianStability.calibrated(budget=Fraction(1), change=Fraction(10), delta=Fraction(1, 10**6))
    >>> law.least_cutoff
    71
    """

    name: ClassVar[str] = "gaussian-stability"

    variance: Fraction
    threshold: int
    epsilon: Fraction
    cells: int

    @classmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law with the least threshold, by the exact privacy curve."""
        _check(delta)
        variance, threshold = stability(Fraction(budget), delta=Fraction(delta), cells=int(change))
        return cls(variance, threshold, Fraction(budget), int(change))

    def loss(self, *, change: Fraction) -> Fraction:
        """Return the epsilon, for so many cells as it was made for."""
        return self.epsilon * change / self.cells

    def checked(self) -> Self:
        """Return the law, or raise `BadNumber` where its variance cannot be drawn."""
        Gaussian(self.variance).checked()
        return self

    @property
    def least_cutoff(self) -> int:
        """The threshold."""
        return self.threshold

    def exact(self) -> ExactView:
        """Return the chances as balls, at the working precision of the caller."""
        return Gaussian(self.variance).exact()

    @property
    def floats(self) -> FloatView:
        """The law in floats."""
        return Gaussian(self.variance).floats

    @property
    def sentence(self) -> str:
        """What the noise is, for people."""
        return "discrete Gaussian, in occupied cells alone"
