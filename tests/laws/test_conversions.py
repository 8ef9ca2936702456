"""Conversions lie on the safe side of the real number, and close to it."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BadNumber
from hushtable.laws.balls import rational_ball
from hushtable.laws.conversions import (
    best_order,
    constant,
    exponential,
    largest_rho,
    pure_to_rho,
    rho_to_epsilon,
    rho_within,
    rounded_up,
)

EPSILONS = st.fractions("1/10000", 30, max_denominator=10**6)
RHOS = st.fractions("1/1000000", 20, max_denominator=10**8)
DELTAS = st.integers(2, 40).map(lambda exponent: Fraction(1, 10**exponent)) | st.fractions(
    "1/1000", "9/10", max_denominator=1000
)


TINY = Decimal(10) ** -11  # one of 12 digits


def real(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def log_delta_at(step: Decimal, rho: Decimal, epsilon: Decimal) -> Decimal:
    """The delta of the order a = 1 + step, as Canonne, Kamath and Steinke (2020, Proposition 12) write it."""
    a = 1 + step
    return step * (a * rho - epsilon) + a * (1 - 1 / a).ln() - step.ln()


def slow_log_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """The smallest over all orders, by golden sections: it is convex in the order."""
    low, high = Decimal(10) ** -12, Decimal(10) ** 8
    ratio = (Decimal(5).sqrt() - 1) / 2
    for _ in range(150):
        left, right = high * (low / high) ** ratio, low * (high / low) ** ratio
        if log_delta_at(left, rho, epsilon) < log_delta_at(right, rho, epsilon):
            high = right
        else:
            low = left
    return log_delta_at(low, rho, epsilon)


@given(EPSILONS)
def test_pure_to_zcdp_is_rounded_up_and_close(epsilon: Fraction) -> None:
    with localcontext(prec=50):
        grown, found = real(epsilon).exp(), real(pure_to_rho(epsilon))
        exact = real(epsilon) * (grown - 1) / (grown + 1)

        assert exact <= found <= exact * (1 + TINY)


@given(epsilon=EPSILONS, order=st.fractions("101/100", 200, max_denominator=100))
def test_no_pure_release_costs_more_than_its_rho(epsilon: Fraction, order: Fraction) -> None:
    """Randomized response is the worst of all pure releases, at every order."""
    with localcontext(prec=50):
        e, a = real(epsilon), real(order)
        likely = 1 / (1 + (-e).exp())
        rare = 1 - likely
        divergence = (likely**a * rare ** (1 - a) + rare**a * likely ** (1 - a)).ln() / (a - 1)

        assert divergence <= a * real(pure_to_rho(epsilon))


@given(rho=RHOS, delta=DELTAS)
def test_epsilon_holds_at_its_delta_and_is_close(rho: Fraction, delta: Fraction) -> None:
    found = rho_to_epsilon(rho, delta=delta)
    with localcontext(prec=50):
        assert slow_log_delta(real(rho), real(found)) <= real(delta).ln()
        if found:
            assert slow_log_delta(real(rho), real(found) * (1 - 100 * TINY) - TINY) > real(delta).ln()


@given(epsilon=EPSILONS, delta=DELTAS)
def test_the_largest_rho_holds_and_is_close(epsilon: Fraction, delta: Fraction) -> None:
    found = largest_rho(epsilon, delta=delta)
    with localcontext(prec=50):
        assert found > 0
        assert slow_log_delta(real(found), real(epsilon)) <= real(delta).ln()
        assert slow_log_delta(real(found) * (1 + 100 * TINY), real(epsilon)) > real(delta).ln()
    assert rho_to_epsilon(found, delta=delta) <= epsilon * (1 + Fraction(1, 10**11))


@given(epsilon=EPSILONS, delta=DELTAS, order=st.fractions("101/100", 1000, max_denominator=100))
def test_any_order_gives_a_bound_and_the_best_one_the_best(
    epsilon: Fraction, delta: Fraction, order: Fraction
) -> None:
    with localcontext(prec=50):
        a = real(order)
        exact = (1 - 1 / a).ln() - (a * real(delta)).ln() / (a - 1)
        assert exact <= real(constant(order, delta)) <= exact + Decimal(10) ** -29
    best = best_order(epsilon, delta=delta)

    assert best > 1
    assert max(best.numerator, best.denominator) < 10**50
    assert rho_within(epsilon, order=order, delta=delta) <= rho_within(epsilon, order=best, delta=delta) * (
        1 + Fraction(1, 10**11)
    )
    assert best * largest_rho(epsilon, delta=delta) + constant(best, delta) <= epsilon


# dp_accounting 0.6.0, rdp_privacy_accountant.compute_epsilon(orders, orders * rho, delta), with 2,000,001
# orders from 1 + t/4 to 1 + 3t/2 in a geometric row, t = sqrt(ln(1/delta)/rho).
ACCOUNTANT = [
    ("0.1", "1e-6", 2.141938928385696),
    ("0.015", "1e-9", 1.0009389481894067),
    ("0.5", "1e-5", 4.72838698494335),
    ("2.63", "1e-10", 17.430584487345136),
    ("0.0001", "1e-6", 0.053727120634862846),
    ("20", "1e-9", 59.33696028491745),
]


@pytest.mark.parametrize(("rho", "delta", "expected"), ACCOUNTANT)
def test_epsilon_is_that_of_the_fields_accountant(rho: str, delta: str, expected: float) -> None:
    assert float(rho_to_epsilon(Fraction(rho), delta=Fraction(delta))) == pytest.approx(expected, rel=1e-10)


def test_a_published_release_is_within_its_published_statement() -> None:
    """Page views by country of Wikimedia: rho = 0.015, "roughly equivalent to epsilon = 1, delta = 1e-07"."""
    found = rho_to_epsilon(Fraction("0.015"), delta=Fraction("1e-7"))

    # The short formula rho + 2 sqrt(rho ln(1/delta)) of Bun and Steinke (2016) gives 0.998.
    assert Fraction("0.85") < found < Fraction("0.86")
    assert Fraction("0.015") < largest_rho(Fraction(1), delta=Fraction("1e-7")) < Fraction("0.021")


# Made by this version. Ledgers find the order again from their entries, so it may never change.
ORDERS = [
    ("1", "1e-6", "11526229/524288"),
    ("1/3", "1e-9", "12519061/131072"),
    ("10", "1e-12", "3421131/524288"),
    ("1e-6", "1e-6", "1910683/4"),
    ("100", "1/10", "78365043/67108864"),
    ("2.5", "3/70000", "15828873/2097152"),
]


@pytest.mark.parametrize(("epsilon", "delta", "order"), ORDERS)
def test_an_order_is_the_same_for_ever(epsilon: str, delta: str, order: str) -> None:
    assert best_order(Fraction(epsilon), delta=Fraction(delta)) == Fraction(order)


@pytest.mark.parametrize("delta", [0, 1, 2, -1])
def test_a_delta_lies_between_0_and_1(delta: int) -> None:
    for call in (largest_rho, best_order, rho_to_epsilon):
        with pytest.raises(BadNumber, match="delta="):
            call(Fraction(1), delta=Fraction(delta))


def test_odd_ends() -> None:
    assert rho_to_epsilon(Fraction(0), delta=Fraction(1, 100)) == 0
    assert largest_rho(Fraction(1, 10**20), delta=Fraction(1, 10**49)) == 0
    assert largest_rho(Fraction(10**49), delta=Fraction(1, 10**49)) > 10**48
    with pytest.raises(BadNumber, match="epsilon="):
        best_order(Fraction(0), delta=Fraction(1, 100))


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/7", "1/10", "1/2", "1", "3", "22/7", "40", "700"])
def test_a_power_of_e_is_rounded_up_as_its_ball_is(epsilon: str) -> None:
    exact = Fraction(epsilon)

    assert exponential(exact) == rounded_up(lambda precision: rational_ball(exact).exp())
