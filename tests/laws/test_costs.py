"""What a release costs is exact, is said in plain words, and grows as group privacy says."""

from __future__ import annotations

import pickle
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadChoice, BadNumber
from hushtable.laws.costs import Cost, amount, wanted_cost


@pytest.mark.parametrize(
    ("cost", "currency", "said"),
    [
        (Cost(epsilon=1), "pure", "epsilon = 1"),
        (Cost(0.1), "pure", "epsilon = 0.1"),
        (Cost(rho="0.015"), "zcdp", "rho = 0.015 (zCDP)"),
        (Cost(epsilon=1, delta="1e-9"), "approximate", "epsilon = 1, delta = 1e-9"),
        (Cost(epsilon="1/3", delta="2.5e-7", rho="1/100"), "approximate", "epsilon = 1/3, delta = 2.5e-7"),
    ],
)
def test_a_cost_is_in_one_currency_and_in_words(cost: Cost, currency: str, said: str) -> None:
    assert (cost.currency, cost.said, str(cost)) == (currency, said, said)
    assert eval(repr(cost), {"Cost": Cost, "Fraction": Fraction}) == cost == pickle.loads(pickle.dumps(cost))
    assert ht.Cost is Cost


@pytest.mark.parametrize(
    "given_",
    [{}, {"delta": "1e-9"}, {"rho": 1, "delta": "1e-9"}, {"epsilon": 1, "rho": 1}],
)
def test_a_cost_that_means_nothing_is_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(BadChoice, match="Give epsilon"):
        Cost(**given_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", float("nan")),
        ("rho", 0),
        ("rho", "x"),
        ("rho", True),
    ],
)
def test_amounts_are_positive_numbers(name: str, value: Any) -> None:
    with pytest.raises(BadNumber, match=f"{name}="):
        Cost(**{name: value})


def test_a_delta_of_1_is_no_promise_to_ask_for() -> None:
    with pytest.raises(BadNumber, match="delta='1' promises nothing"):
        wanted_cost(epsilon=1, delta=1)


@pytest.mark.parametrize("delta", [-1, "1.1", float("inf"), None])
def test_a_delta_is_a_chance(delta: Any) -> None:
    with pytest.raises(BadNumber, match="delta="):
        Cost(epsilon=1, delta=delta)


def test_a_person_with_many_units_pays_for_a_group() -> None:
    assert Cost(epsilon="0.1").times(12) == Cost(epsilon="1.2")
    assert Cost(rho="0.015").times(10) == Cost(rho="1.5")
    cost = Cost(epsilon="0.1", delta="1e-9", rho="0.001")
    assert cost.times(1) is cost
    assert (cost.times(5).epsilon, cost.times(5).rho) == (Fraction(1, 2), Fraction(1, 40))
    assert Cost(epsilon=10, delta="1e-9").times(1 << 40).delta == 1


@given(
    epsilon=st.fractions("1/1000", 3, max_denominator=1000),
    exponent=st.integers(3, 30),
    size=st.integers(2, 50),
)
def test_the_delta_of_a_group_is_rounded_up_and_close(epsilon: Fraction, exponent: int, size: int) -> None:
    delta = Fraction(1, 10**exponent)
    with localcontext(prec=80):
        e = Decimal(epsilon.numerator) / epsilon.denominator
        # Step by step: each unit of the group adds delta, and passes on e^epsilon times what was before.
        exact = (
            sum(((step * e).exp() for step in range(size)), Decimal(0)) * delta.numerator / delta.denominator
        )
        found = Cost(epsilon=epsilon, delta=delta).times(size).delta
        value = Decimal(found.numerator) / found.denominator

        if exact >= 1:
            assert found == 1
        else:
            assert exact <= value <= exact * (1 + Decimal(10) ** -11) + Decimal(10) ** -40


@given(
    st.fractions(-10, 10, max_denominator=10**12)
    | st.decimals(allow_nan=False, allow_infinity=False).map(Fraction)
)
def test_an_amount_reads_back(value: Fraction) -> None:
    assert Fraction(amount(value)) == value
