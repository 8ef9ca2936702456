"""Entries never promise more together than the budget, also to spenders who look at results."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import BadLedger, BudgetExceeded
from hushtable.laws.conversions import largest_rho, pure_to_rho, rho_to_epsilon
from hushtable.laws.costs import Cost
from hushtable.ledger.accounting import Account, Charge, added_up, opened
from tests.harness.statistics import tries

REFUSALS = (BudgetExceeded, BadLedger)


def spend(account: Account, cost: Cost) -> Account | None:
    """Return the account after a cost, or None where it is refused."""
    try:
        return account.plus(account.charge(cost))
    except REFUSALS:
        return None


def paid(budget: Cost, costs: list[Cost]) -> tuple[Account, list[bool]]:
    """Charge what can be charged of a list of costs."""
    account, told = opened(budget), []
    for cost in costs:
        after = spend(account, cost)
        told.append(after is not None)
        account = after or account
    return account, told


# The rule once more, slowly, in decimals


def slow_constant(step: Decimal, delta: Decimal) -> Decimal:
    return (step / (1 + step)).ln() - (delta * (1 + step)).ln() / step


def slow_step(epsilon: Decimal, delta: Decimal) -> Decimal:
    """The order, less 1, at which (epsilon, delta) holds the largest rho, by golden sections."""
    low, high, ratio = Decimal(10) ** -8, Decimal(10) ** 12, (Decimal(5).sqrt() - 1) / 2
    for _ in range(55):
        left, right = high * (low / high) ** ratio, low * (high / low) ** ratio
        values = [(epsilon - slow_constant(step, delta)) / (1 + step) for step in (left, right)]
        if values[0] > values[1]:
            high = right
        else:
            low = left
    return low


class SlowRule:
    """The rule of PROOF.md, with nothing shared with the product."""

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        self.epsilon, self.delta = real(epsilon), real(delta)
        self.s = self.d = self.r = Decimal(0)
        self.step: Decimal | None = None
        self.rest = Decimal(0)

    def slack(self, cost: Cost) -> tuple[Decimal, Callable[[], None]]:
        """Return how much is left after a cost, below 0 where it is refused, and what takes it."""
        epsilon, delta = real(cost.epsilon or Fraction(0)), real(cost.delta)
        if cost.rho is not None:
            by_rho = self.slack_of_rho(real(cost.rho))
            if by_rho[0] >= 0 or self.step is not None or cost.epsilon is None:
                return by_rho
            by_statement = self.slack_of_epsilon(epsilon, delta)
            return max(by_rho, by_statement, key=lambda found: found[0])
        if self.step is not None:
            if delta:
                return Decimal(-1), lambda: None
            grown = epsilon.exp()
            rho = epsilon * (grown - 1) / (grown + 1)
            if (1 + self.step) * rho < epsilon:
                return self.slack_of_rho(rho)
        return self.slack_of_epsilon(epsilon, delta)

    def slack_of_epsilon(self, epsilon: Decimal, delta: Decimal) -> tuple[Decimal, Callable[[], None]]:
        def take() -> None:
            self.s, self.d = self.s + epsilon, self.d + delta

        return min(self.epsilon - self.total() - epsilon, (self.delta - self.d - delta) / self.delta), take

    def slack_of_rho(self, rho: Decimal) -> tuple[Decimal, Callable[[], None]]:
        step, rest = self.step, self.rest
        if step is None:
            rest = self.delta - self.d
            if rest <= 0 or self.epsilon <= self.s:
                return Decimal(-1), lambda: None
            step = slow_step(self.epsilon - self.s, rest)
        total = self.s + (1 + step) * (self.r + rho) + slow_constant(step, rest)

        def take() -> None:
            self.r, self.step, self.rest = self.r + rho, step, rest

        return self.epsilon - total, take

    def total(self) -> Decimal:
        if self.step is None:
            return self.s
        return self.s + (1 + self.step) * self.r + slow_constant(self.step, self.rest)


def real(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


PURE = st.fractions("1/100", "1/2", max_denominator=200).map(lambda e: Cost(epsilon=e))
RHO = st.fractions("1/10000", "1/50", max_denominator=20_000).map(lambda r: Cost(rho=r))
THRESHOLD = st.tuples(
    st.fractions("1/100", "1/2", max_denominator=200), st.fractions("1/100", "1/2", max_denominator=100)
).map(lambda pair: Cost(epsilon=pair[0], delta=pair[1] / 10**6))
GAUSSIAN = st.tuples(THRESHOLD, RHO).map(
    lambda pair: Cost(epsilon=pair[0].epsilon, delta=pair[0].delta, rho=pair[1].rho)
)
COSTS = st.lists(PURE | RHO | THRESHOLD | GAUSSIAN, max_size=14)
EPSILONS = st.fractions("1/10", 3, max_denominator=100)


@settings(max_examples=tries(100), deadline=None)
@given(epsilon=EPSILONS, costs=COSTS)
def test_a_ledger_in_epsilon_and_delta_does_as_the_slow_rule(epsilon: Fraction, costs: list[Cost]) -> None:
    delta, near = Fraction(1, 10**6), Decimal(10) ** -6  # an order has 24 bits
    account = opened(Cost(epsilon=epsilon, delta=delta))
    with localcontext(prec=30):
        slow = SlowRule(epsilon, delta)
        for cost in costs:
            slack, take = slow.slack(cost)
            after = spend(account, cost)
            if abs(slack) < near and (after is not None) != (slack >= 0):
                return  # too close for decimals to tell
            assert (after is not None) == (slack >= 0)
            if after is not None:
                account = after
                take()
            assert abs(real(account.spent) - max(Decimal(0), slow.total())) < near


@settings(max_examples=tries(100), deadline=None)
@given(epsilon=EPSILONS, first=RHO, costs=st.lists(PURE | RHO, max_size=20))
def test_composition_is_no_worse_than_that_of_zcdp(epsilon: Fraction, first: Cost, costs: list[Cost]) -> None:
    delta = Fraction(1, 10**6)
    largest = largest_rho(epsilon, delta=delta)
    rhos, accepted = Fraction(0), []
    for cost in (first, *costs):
        rho = pure_to_rho(cost.epsilon) if cost.rho is None and cost.epsilon is not None else cost.rho
        assert rho is not None
        if rhos + rho <= largest:
            rhos += rho
            accepted.append(cost)
    if not accepted or accepted[0].rho is None:
        return

    account, told = paid(Cost(epsilon=epsilon, delta=delta), accepted)

    assert all(told)
    assert account.spent <= epsilon


def test_many_gaussian_releases_cost_what_the_sum_of_their_rhos_does() -> None:
    epsilon, delta, rho = Fraction(2), Fraction(1, 10**9), Fraction(1, 1000)
    account, told = paid(Cost(epsilon=epsilon, delta=delta), [Cost(rho=rho)] * 200)

    # dp_accounting 0.6.0, rdp_privacy_accountant.compute_epsilon with 200,001 orders at delta 1e-9.
    assert sum(told) == 56
    assert float(rho_to_epsilon(56 * rho, delta=delta)) == pytest.approx(1.9975449299797683, rel=1e-9)
    assert float(rho_to_epsilon(57 * rho, delta=delta)) == pytest.approx(2.0162907460244366, rel=1e-9)
    assert account.affords.rho is not None
    assert account.affords.rho < rho
    assert account.affords.delta == 0


# Spenders who look at results, computed to the last path

Outcome = tuple[float, float]  # chance of a result under one table, and under its neighbour


def response(epsilon: float) -> list[Outcome]:
    """Randomized response: no pure release leaks more."""
    likely = 1 / (1 + math.exp(-epsilon))
    return [(likely, 1 - likely), (1 - likely, likely)]


def leaking(epsilon: float, delta: float) -> list[Outcome]:
    """The worst of all (epsilon, delta) releases: with chance delta all is told."""
    return [(delta, 0.0), (0.0, delta), *(((1 - delta) * p, (1 - delta) * q) for p, q in response(epsilon))]


def release_of(cost: Cost, rate: float) -> list[Outcome]:
    """A release of that cost; one with a rho is randomized response, which is zCDP too."""
    return leaking(rate, float(cost.delta)) if cost.delta and cost.rho is None else response(rate)


RATES = [Fraction(text) for text in ("0.05", "0.1", "0.2", "0.3", "0.5", "0.8")]


def offers(generator: random.Random, delta: Fraction) -> Iterator[tuple[Cost, float]]:
    """What a spender tries in turn: costs, each with the rate of the response that it pays for."""
    while True:
        rate = generator.choice(RATES)
        kind = generator.choice(["pure", "rho", "rho", "threshold"])
        if kind == "pure":
            yield Cost(epsilon=rate), float(rate)
        elif kind == "rho":
            yield Cost(rho=pure_to_rho(rate)), float(rate)
        else:
            yield Cost(epsilon=rate, delta=delta * generator.choice([1, 2, 3, 4]) / 4), float(rate)


def excess(account: Account, depth: int, seed: int, p: float, q: float, budget: Cost) -> float:
    """The exact sum over all paths of max(0, P - e^E Q), for a spender whose choices depend on the path."""
    generator = random.Random(seed)
    if depth and q > 0:
        offered = offers(generator, budget.delta)
        for _ in range(6):
            cost, rate = next(offered)
            after = spend(account, cost)
            if after is not None:
                return sum(
                    excess(after, depth - 1, hash((seed, index)), p * up, q * uq, budget)
                    for index, (up, uq) in enumerate(release_of(cost, rate))
                    if up or uq
                )
    return max(0.0, p - math.exp(float(budget.epsilon or 0)) * q)


BUDGETS = [
    Cost(epsilon=epsilon, delta=delta) for epsilon in ("0.1", "0.3", "1") for delta in ("0.01", "0.05", "0.2")
]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_who_looks_at_results_cannot_spend_more_than_the_budget(budget: Cost) -> None:
    worst = max(excess(opened(budget), 7, seed, 1.0, 1.0, budget) for seed in range(tries(30)))

    assert worst <= float(budget.delta) * (1 + 1e-9)
    assert worst > 0.2 * float(budget.delta)  # spenders who come nowhere near would show nothing


def test_the_spenders_notice_a_ledger_that_pays_too_much() -> None:
    """Accounts of a budget whose delta is twice as large: some spender passes the smaller one."""
    budget, doubled = Cost(epsilon="0.3", delta="0.05"), Cost(epsilon="0.3", delta="0.1")
    worst = max(excess(opened(doubled), 7, seed, 1.0, 1.0, budget) for seed in range(30))

    assert worst > float(budget.delta)


@settings(max_examples=tries(60), deadline=None)
@given(
    epsilon=st.fractions("1/2", 3, max_denominator=10),
    exponent=st.integers(2, 9),
    costs=st.lists(PURE | RHO | THRESHOLD, max_size=10),
)
def test_what_is_paid_is_private_as_stated(epsilon: Fraction, exponent: int, costs: list[Cost]) -> None:
    """Gaussian noise for rho, randomized response for epsilon: the exact delta at the ledger's epsilon."""
    delta = Fraction(1, 10**exponent)
    account, pures, rhos, deltas = opened(Cost(epsilon=epsilon, delta=delta)), [0.0], 0.0, 0.0
    for cost in costs:
        after = spend(account, cost)
        if after is None:
            continue
        account, deltas = after, deltas + float(cost.delta)
        if cost.epsilon is None:
            rhos += float(cost.rho or 0)
        elif len(pures) < 2**8:
            pures = [loss + sign * float(cost.epsilon) for loss in pures for sign in (1, -1)]

    true = sum(likelihood(loss, pures) * gaussian_delta(rhos, float(epsilon) - loss) for loss in pures)
    assert true + deltas <= float(delta) * (1 + 1e-9)


def likelihood(loss: float, losses: list[float]) -> float:
    """The chance of a path of responses whose losses add up so, under the first table."""
    return math.exp(loss / 2) / sum(math.exp(other / 2) for other in losses)


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The smallest delta of Gaussian noise with a rho at an epsilon (Balle, Wang 2018, Theorem 8)."""
    if not rho:
        return max(0.0, 1 - math.exp(epsilon))
    mu = math.sqrt(2 * rho)
    below = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    above = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    return max(0.0, below - math.exp(epsilon) * above)


# Odd ends


def test_a_gaussian_release_that_fits_by_its_own_statement_alone_is_taken_by_it() -> None:
    budget = Cost(epsilon=1, delta="1e-6")
    largest = largest_rho(Fraction(1), delta=Fraction(1, 10**6))
    # Gaussian noise calibrated exactly to the budget has a larger rho than the conversion allows.
    whole = Cost(epsilon=1, delta="1e-6", rho=largest * Fraction(11, 10))
    account = opened(budget)
    charge = account.charge(whole)

    assert charge == Charge(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    after = account.plus(charge)
    assert after is not None
    assert [after.left, after.affords.delta, after.affords.rho] == [Fraction(0)] * 3
    for cost in (Cost(epsilon="1e-9"), Cost(rho="1e-9"), whole):
        assert spend(after, cost) is None
    # Once there is a rho, only rho counts.
    started = spend(account, Cost(rho=largest / 100))
    assert started is not None
    assert spend(started, whole) is None


def test_pure_releases_beside_gaussian_ones_cost_the_cheaper_of_both() -> None:
    account = spend(opened(Cost(epsilon=1, delta="1e-6")), Cost(rho="0.001"))
    assert account is not None

    small, large = account.charge(Cost(epsilon="0.01")), account.charge(Cost(epsilon="0.3"))

    assert small == Charge(delta=Fraction(0), rho=pure_to_rho(Fraction(1, 100)))
    assert large == Charge(epsilon=Fraction(3, 10), delta=Fraction(0))


@pytest.mark.parametrize(
    ("budget", "before", "cost", "words"),
    [
        (Cost(epsilon=1), [], Cost(rho="0.1"), "pays only pure epsilon"),
        (Cost(epsilon=1), [], Cost(epsilon="0.1", delta="1e-9"), "pays only pure epsilon"),
        (Cost(rho=1), [], Cost(epsilon="0.1", delta="1e-9"), "has no rho, and the ledger pays only rho"),
        (
            Cost(epsilon=1, delta="1e-6"),
            [Cost(rho="0.001")],
            Cost(epsilon="0.1", delta="1e-9"),
            "all of the ledger's delta goes to its releases with Gaussian noise",
        ),
    ],
)
def test_what_a_ledger_never_pays_is_refused_with_what_to_do(
    budget: Cost, before: list[Cost], cost: Cost, words: str
) -> None:
    account, told = paid(budget, before)

    assert all(told)
    with pytest.raises(BadLedger, match=words) as caught:
        account.charge(cost)
    assert "Nothing was charged. Publish" in caught.value.hint
    assert "in a ledger of their own" in caught.value.hint


@pytest.mark.parametrize(
    ("budget", "cost", "name", "words"),
    [
        (Cost(rho="0.1"), Cost(rho="0.2"), "rho", "costs rho=0.2, but only rho=0.1 is left"),
        (
            Cost(rho="0.1"),
            Cost(epsilon=1),
            "rho",
            r"costs rho=0.462117157261 \(epsilon = 1\), but only rho=0.1",
        ),
        (
            Cost(epsilon=1, delta="1e-6"),
            Cost(epsilon=2),
            "epsilon",
            "costs epsilon=2, but only epsilon=1 is left",
        ),
        (
            Cost(epsilon=1, delta="1e-6"),
            Cost(epsilon="0.1", delta="2e-6"),
            "delta",
            "costs delta=2e-6, but only delta=1e-6 is left",
        ),
        (
            Cost(epsilon=1, delta="1e-6"),
            Cost(epsilon=2, delta="1e-6", rho="0.1"),
            "rho",
            r"costs rho=0.1 \(epsilon = 2, delta = 1e-6\), but only rho=0.0243559703595 is left",
        ),
    ],
)
def test_too_much_is_refused_in_the_amount_that_is_short(
    budget: Cost, cost: Cost, name: str, words: str
) -> None:
    with pytest.raises(BudgetExceeded, match=words) as caught:
        opened(budget).charge(cost)
    assert caught.value.name == name
    assert caught.value.needed > caught.value.left


@pytest.mark.parametrize(
    ("budget", "wrong"),
    [
        (Cost(epsilon=1), Charge(rho=Fraction(1, 10))),
        (Cost(epsilon=1), Charge(epsilon=Fraction(1, 10), delta=Fraction(0))),
        (Cost(rho=1), Charge(epsilon=Fraction(1, 10))),
        (Cost(epsilon=1, delta="0.1"), Charge(epsilon=Fraction(1, 10))),
        (Cost(epsilon=1, delta="0.1"), Charge(delta=Fraction(1, 100))),
        (Cost(epsilon=1, delta="0.1"), Charge(delta=Fraction(1, 100), rho=Fraction(1, 100))),
        (Cost(epsilon=1, delta="0.1"), Charge(Fraction(1, 10), Fraction(0), Fraction(1, 100))),
    ],
)
def test_an_entry_that_was_not_charged_here_is_not_added_up(budget: Cost, wrong: Charge) -> None:
    assert added_up(budget, [wrong]) is None


@settings(max_examples=tries(40), deadline=None)
@given(costs=COSTS)
def test_entries_added_up_again_are_the_account(costs: list[Cost]) -> None:
    budget = Cost(epsilon=1, delta="1e-6")
    account, charges = opened(budget), []
    for cost in costs:
        if (after := spend(account, cost)) is not None:
            charges.append(account.charge(cost))
            account = after

    assert added_up(budget, charges) == account
