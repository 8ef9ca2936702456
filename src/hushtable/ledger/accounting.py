"""What entries cost together, in the currency of a ledger, and what the next one costs.

Promise: `charge` returns what an entry keeps of a cost, or raises; it depends on the budget, the entries
before and the cost alone, all of them public. As long as every entry was made by it, all releases together
keep the budget, also where the cost of one was chosen by looking at the results of those before. Proof:
PROOF.md beside this file. Sums are exact. The order of an approximate ledger is found again from its entries,
alike on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, Protocol, Self

from hushtable.errors import BadLedger, BudgetExceeded, InternalError
from hushtable.laws.conversions import best_order, constant, pure_to_rho, rho_within, shortened
from hushtable.laws.costs import Cost, amount

_NOTHING = Fraction(0)


class Charge(NamedTuple):
    """What an entry keeps: epsilon (pure), rho (zCDP), or delta with one of the two (approximate)."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    @property
    def said(self) -> str:
        """The charge in words: epsilon = 0.1, delta = 1e-9."""
        parts = zip(self._fields, self, strict=True)
        return ", ".join(f"{name} = {amount(value)}" for name, value in parts if value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Affordable:
    """What the next release of a ledger may cost one unit: at most this.

    `epsilon` is of a pure release, or of one with up to `delta`; `rho` is of a release with Gaussian noise.
    None where the ledger takes no such release; a ledger in rho takes pure ones by their converted rho.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None


class Account(Protocol):
    """The entries of a ledger so far, added up."""

    @property
    def unit_of_account(self) -> str:
        """What `spent` and `left` are amounts of: epsilon or rho."""

    @property
    def spent(self) -> Fraction:
        """What all entries cost together; rounded up where it was converted."""

    @property
    def left(self) -> Fraction:
        """What can still be spent."""

    @property
    def spent_delta(self) -> Fraction:
        """How much of the delta is used up."""

    @property
    def affords(self) -> Affordable:
        """What the next release may cost."""

    @property
    def sums(self) -> tuple[Fraction, ...]:
        """All exact sums: they must stay short enough to be kept and printed."""

    def charge(self, cost: Cost, *, because: str = "") -> Charge:
        """Return what an entry keeps of a cost, or raise; `because` says how the cost came about."""

    def plus(self, charge: Charge) -> Self | None:
        """Return the account with one more entry, or None where no such entry fits."""


def opened(budget: Cost) -> Account:
    """Return the account of a ledger without entries."""
    match budget.currency:
        case "pure":
            return _Pure(budget.epsilon or _NOTHING)
        case "zcdp":
            return _Zcdp(budget.rho or _NOTHING)
        case "approximate":
            return _Approximate(budget.epsilon or _NOTHING, budget.delta)


def added_up(budget: Cost, charges: Iterable[Charge]) -> Account | None:
    """Return the account of all entries, or None where they do not fit the budget."""
    account: Account | None = opened(budget)
    for charge in charges:
        account = None if account is None else account.plus(charge)
    return account


@dataclass(frozen=True, slots=True)
class _Pure:
    """Epsilons of pure releases, added up."""

    budget: Fraction
    spent: Fraction = _NOTHING

    unit_of_account = "epsilon"
    spent_delta = _NOTHING

    @property
    def left(self) -> Fraction:
        return self.budget - self.spent

    @property
    def affords(self) -> Affordable:
        return Affordable(epsilon=self.left, delta=_NOTHING, rho=None)

    @property
    def sums(self) -> tuple[Fraction, ...]:
        return (self.spent,)

    def charge(self, cost: Cost, *, because: str = "") -> Charge:
        if cost.epsilon is None or cost.delta:
            hint = "Nothing was charged. Publish with epsilon alone (no rho, no delta). Or keep "
            hint += "such releases in a ledger of their own, made with --rho, or with --epsilon and --delta: "
            hint += "what both promise then adds up."
            raise BadLedger(f"this release costs {cost.said}, and the ledger pays only pure epsilon", hint)
        if cost.epsilon > self.left:
            raise BudgetExceeded(needed=cost.epsilon, left=self.left, converted=because)
        return Charge(epsilon=cost.epsilon)

    def plus(self, charge: Charge) -> _Pure | None:
        if charge.epsilon is None or (charge.delta, charge.rho) != (None, None):
            return None
        added = replace(self, spent=self.spent + charge.epsilon)
        return added if added.left >= 0 else None


@dataclass(frozen=True, slots=True)
class _Zcdp:
    """Rhos, added up; pure releases by their converted rho."""

    budget: Fraction
    spent: Fraction = _NOTHING

    unit_of_account = "rho"
    spent_delta = _NOTHING

    @property
    def left(self) -> Fraction:
        return self.budget - self.spent

    @property
    def affords(self) -> Affordable:
        return Affordable(epsilon=None, delta=_NOTHING, rho=self.left)

    @property
    def sums(self) -> tuple[Fraction, ...]:
        return (self.spent,)

    def charge(self, cost: Cost, *, because: str = "") -> Charge:
        if cost.rho is None and cost.delta:
            hint = (
                "Nothing was charged. Publish with rho or with epsilon alone, or with Gaussian noise on the "
            )
            hint += "declared domain. Or keep such releases in a ledger of their own, made with "
            hint += "--epsilon and --delta: what both promise then adds up."
            raise BadLedger(
                f"this release costs {cost.said} and has no rho, and the ledger pays only rho", hint
            )
        rho = cost.rho
        if rho is None:
            rho, because = pure_to_rho(cost.epsilon or _NOTHING), because or cost.said
        if rho > self.left:
            raise _exceeded("rho", rho, self.left, cost, because)
        return Charge(rho=rho)

    def plus(self, charge: Charge) -> _Zcdp | None:
        if charge.rho is None or (charge.epsilon, charge.delta) != (None, None):
            return None
        added = replace(self, spent=self.spent + charge.rho)
        return added if added.left >= 0 else None


@dataclass(frozen=True, slots=True)
class _Order:
    """How rhos count, fixed at the first of them: as order * rho, and a constant once."""

    order: Fraction
    delta: Fraction  # that the conversion takes: all that was left
    constant: Fraction

    @classmethod
    def fixed(cls, epsilon: Fraction, delta: Fraction) -> _Order | None:
        """Return the order for what is left of a budget, if anything is (PROOF.md, step 3)."""
        if epsilon <= 0 or delta <= 0:
            return None
        order = best_order(epsilon, delta=delta)
        return cls(order, delta, constant(order, delta))


@dataclass(frozen=True, slots=True)
class _Approximate:
    """Epsilons and deltas, added up; from the first rho on, rhos at one order as well."""

    epsilon: Fraction
    delta: Fraction
    epsilons: Fraction = _NOTHING
    deltas: Fraction = _NOTHING
    rhos: Fraction = _NOTHING
    order: _Order | None = None  # once there is a rho

    unit_of_account = "epsilon"

    @property
    def _exact(self) -> Fraction:
        if self.order is None:
            return self.epsilons
        return self.epsilons + self.order.order * self.rhos + self.order.constant

    @property
    def spent(self) -> Fraction:
        if self.order is None:
            return self.epsilons
        return min(self.epsilon, max(_NOTHING, shortened(self._exact, up=True)))

    @property
    def left(self) -> Fraction:
        return self.epsilon - self.spent

    @property
    def spent_delta(self) -> Fraction:
        return self.deltas if self.order is None else self.delta

    @property
    def affords(self) -> Affordable:
        return Affordable(
            epsilon=self.left, delta=self.delta - self.spent_delta, rho=self._largest_rho(self._next_order)
        )

    @property
    def sums(self) -> tuple[Fraction, ...]:
        return self.epsilons, self.deltas, self.rhos, self._exact

    @property
    def _next_order(self) -> _Order | None:
        """The order at which a rho would count."""
        return self.order or _Order.fixed(self.epsilon - self.epsilons, self.delta - self.deltas)

    def _largest_rho(self, order: _Order | None) -> Fraction:
        """Return the largest rho that fits, rounded down."""
        if order is None:
            return _NOTHING
        rest = self.epsilon - self.epsilons - order.order * self.rhos
        return rho_within(rest, order=order.order, delta=order.delta)

    def charge(self, cost: Cost, *, because: str = "") -> Charge:
        if cost.rho is not None:
            return self._charge_rho(cost, cost.rho, because)
        epsilon = cost.epsilon or _NOTHING
        if self.order is not None and cost.delta:
            hint = "Nothing was charged. Publish such releases before those with Gaussian noise. Or keep "
            hint += "them in a ledger of their own: what both promise then adds up."
            raise BadLedger(
                f"this release costs {cost.said}, and all of the ledger's delta goes to its releases with "
                "Gaussian noise",
                hint,
            )
        by_epsilon = Charge(epsilon=epsilon, delta=cost.delta)
        if self.order is not None:
            by_rho = Charge(delta=_NOTHING, rho=pure_to_rho(epsilon))
            if self.order.order * (by_rho.rho or _NOTHING) < epsilon:
                if self.plus(by_rho) is None:
                    raise _exceeded(
                        "rho", by_rho.rho, self._largest_rho(self.order), cost, because or cost.said
                    )
                return by_rho
        if cost.delta > self.delta - self.spent_delta:
            raise _exceeded("delta", cost.delta, self.delta - self.spent_delta, cost, because)
        if self.plus(by_epsilon) is None:
            raise _exceeded("epsilon", epsilon, self.left, cost, because)
        return by_epsilon

    def _charge_rho(self, cost: Cost, rho: Fraction, because: str) -> Charge:
        """Charge a release with Gaussian noise: by its rho, or by its own statement before there is a rho."""
        by_rho = Charge(delta=_NOTHING, rho=rho)
        if self.plus(by_rho) is not None:
            return by_rho
        by_statement = Charge(epsilon=cost.epsilon, delta=cost.delta)
        if self.order is None and cost.epsilon is not None and self.plus(by_statement) is not None:
            return by_statement
        why = because or (cost.said if cost.epsilon is not None else "")
        raise _exceeded("rho", rho, self._largest_rho(self._next_order), cost, why)

    def plus(self, charge: Charge) -> _Approximate | None:
        epsilon, delta, rho = charge
        if delta is None or (epsilon is None) == (rho is None):
            return None
        if rho is not None:
            order = self._next_order
            if delta or order is None:
                return None
            added = replace(self, rhos=self.rhos + rho, order=order)
        elif delta and self.order is not None:
            return None
        else:
            added = replace(self, epsilons=self.epsilons + (epsilon or _NOTHING), deltas=self.deltas + delta)
        return added if added._exact <= self.epsilon and added.deltas <= self.delta else None


def _exceeded(name: str, needed: Fraction | None, left: Fraction, cost: Cost, because: str) -> BudgetExceeded:
    """Return the error for a cost that is above what is left."""
    if needed is None:
        raise InternalError("a cost without an amount was refused")
    lower = ("rho",) if cost.epsilon is None else ("epsilon", "delta") if cost.delta else ("epsilon",)
    return BudgetExceeded(needed=needed, left=left, converted=because, name=name, lower=lower, written=amount)
