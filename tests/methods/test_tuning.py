"""Thresholds and cutoffs for a size: as close as 40 bits and one tie's share allow."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.laws.acceptance import Acceptance
from hushtable.laws.balls import nearest_float
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import at_law
from hushtable.methods.tuning import cutoff_for, rounded_up, threshold_for


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(1, 50))
def test_rounding_up_keeps_the_leading_bits(value: Fraction, bits: int) -> None:
    up = rounded_up(value, bits)

    assert value <= up < value * (1 + Fraction(2, 1 << bits) * (1 if bits > 1 else 2)) or up == value
    mantissa = up.numerator * up.denominator  # one of them is a power of 2
    assert (mantissa // (mantissa & -mantissa)).bit_length() <= bits


def test_a_rounded_threshold_is_exact_in_a_float() -> None:
    tau = rounded_up(Fraction(10**30, 7))

    assert Fraction(float(tau)) == tau


def expected(rule: Acceptance, cells: int, rate: Fraction) -> float:
    return nearest_float(at_law(lambda noise: rule.pass_probability(noise) * cells, Geometric(rate)))


@pytest.mark.parametrize("rate", [Fraction(1, 10**4), Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("cells", [10**6, 10**12, 10**30])
@pytest.mark.parametrize("cutoff", [None, 5, "20.5"])
@pytest.mark.parametrize("two_sided", [True, False])
def test_a_threshold_yields_what_was_asked_for(
    rate: Fraction, cells: int, cutoff: str | None, two_sided: bool
) -> None:
    rule = Acceptance(cutoff=cutoff, two_sided=two_sided)
    tuned = threshold_for(1000, cells=cells, law=Geometric(rate), rule=rule)

    assert (tuned.cutoff, tuned.two_sided) == (rule.cutoff, rule.two_sided)
    if tuned.threshold is None:
        assert expected(tuned, cells, rate) <= 1000
    else:
        assert expected(tuned, cells, rate) == pytest.approx(1000, rel=1e-9)


@pytest.mark.parametrize("rate", [Fraction(1, 10**4), Fraction(1, 10), Fraction(3), Fraction(50)])
@pytest.mark.parametrize("cells", [0, 10**3, 10**6, 10**12, 10**30])
@pytest.mark.parametrize("two_sided", [True, False])
def test_a_cutoff_yields_a_little_more_than_asked_for(rate: Fraction, cells: int, two_sided: bool) -> None:
    tuned = cutoff_for(1000, cells=cells, law=Geometric(rate), two_sided=two_sided)

    if tuned.pieces == Acceptance(cutoff=1, two_sided=two_sided).pieces:
        assert expected(tuned, cells, rate) <= 1000 * 1.01
    else:
        assert 1000 <= expected(tuned, cells, rate) <= 1010


def test_more_rows_mean_a_wider_rule() -> None:
    rule = Acceptance(cutoff=3)
    thresholds = [
        threshold_for(rows, cells=10**6, law=Geometric(Fraction(1, 10)), rule=rule).threshold
        for rows in (10, 100, 1000)
    ]

    assert all(tau is not None for tau in thresholds)
    assert thresholds == sorted(thresholds, reverse=True)  # type: ignore[type-var]
