r"""A law of noise: all that a room needs to know of the noise in one cell.

Noise is a symmetric integer X, and no value is likelier than one that is nearer to 0. A law says what it is
in three ways: exactly (`exact`: fractions or certified balls, from which everything is drawn), in floats
(`floats`: what estimates, plans and error bars use) and in words (`name`, `sentence`).

Promise: a law is a frozen value that can be hashed and pickled. What it costs, `loss`, is an exact number.
Cost: none of its own; the views cost what their arithmetic does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from hushtable.errors import BadChoice, InternalError
from hushtable.laws.balls import Real
from hushtable.laws.costs import Cost, Currency
from hushtable.laws.powers import Number
from hushtable.laws.sensitivities import Sensitivities

if TYPE_CHECKING:
    from hushtable.laws.floats import FloatView


class ExactView(Protocol):
    """The chances of noise X in one arithmetic, for x >= 0: fractions, or balls at the working precision."""

    def mass(self, x: int, /) -> Number:
        """Return P[X = x]."""

    def tail(self, x: int, /) -> Number:
        """Return P[X >= x]."""

    def weighted_tail(self, x: int, /) -> Number:
        """Return the sum of j P[X = j] over j >= x."""


class NoiseLaw(ABC):
    """Symmetric integer noise of one cell: what every law says, and what it has for nothing.

    A subclass is a frozen dataclass, so that laws with equal numbers are equal. A law follows from its
    `name`, by which files know it, and from the budget that `calibrated` is given: a file says no more of it.
    """

    name: ClassVar[str]
    currency: ClassVar[Currency] = "pure"  # what it is paid with; `loss` counts epsilon, or rho of zCDP

    noises_empty: ClassVar[bool] = True  # whether cells that nobody is in get noise, and may be published

    @classmethod
    def change(cls, one: Sensitivities) -> Fraction:
        """Return the measure of what one unit changes that the loss grows with in proportion: the sum, L1."""
        return one.l1

    @classmethod
    @abstractmethod
    def calibrated(cls, *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Return the law whose `loss` is `budget`, for this largest `change` of one unit."""

    @classmethod
    def price(cls, cost: Cost) -> Cost:
        """Return what noise of this law costs where a unit may be charged `cost`, or raise `BadChoice`.

        Pure noise costs its epsilon alone, whatever delta is allowed.
        """
        if cost.epsilon is None:
            fact = f"noise of the law {cls.name!r} is paid with epsilon, and rho is given"
            raise BadChoice(fact, "Give `epsilon`, or leave `law` out.")
        return Cost(epsilon=cost.epsilon)

    @classmethod
    def budget(cls, cost: Cost) -> Fraction:
        """Return the part of a price that everything drawn shares."""
        found = cost.epsilon if cost.rho is None else cost.rho
        assert found is not None
        return found

    @abstractmethod
    def loss(self, *, change: Fraction) -> Fraction:
        """Return what this noise costs, in its currency: twice the change costs twice as much."""

    @abstractmethod
    def exact(self) -> ExactView:
        """Return the chances as balls, at the working precision of the caller."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What the noise is, for people: it begins without a capital, and goes on with its deviation."""

    @property
    def highest(self) -> int | None:
        """The largest noise there is, if there is one."""
        return None

    @property
    def least_cutoff(self) -> int | None:
        """The cutoff that hides a unit's own cells, if their noise alone does not."""
        return None

    def checked(self) -> Self:
        """Return the law, or raise `BadNumber` where its noise cannot be drawn or would hide nothing."""
        return self

    @property
    def floats(self) -> FloatView:
        """The law in floats: found from its own masses, unless it knows better."""
        from hushtable.laws.numeric import numeric_view

        return numeric_view(self)


def law_to_draw(
    kind: type[NoiseLaw], *, budget: Fraction, change: Fraction, delta: Fraction = Fraction(0)
) -> NoiseLaw:
    """Return the law that a budget buys, if its noise can be drawn and costs no more than the budget."""
    law = kind.calibrated(budget=budget, change=change, delta=delta).checked()
    if law.loss(change=change) > budget:
        raise InternalError(f"noise of the law {law.name!r} costs more than its budget")
    return law


def at_law(formula: Callable[[ExactView], Number], law: NoiseLaw) -> Real:
    """Return the real number that a formula has under a law.

    >>> from hushtable.laws.balls import nearest_float
    >>> from hushtable.laws.geometric import Geometric
    >>> nearest_float(at_law(lambda noise: noise.tail(1), Geometric(Fraction(1))))
    0.2689414213699951
    """

    def real(precision: int) -> Number:
        return formula(law.exact())

    return real
