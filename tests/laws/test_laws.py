"""Laws against brute force, in exact fractions: equal, not close.

Infinite sums are made finite without an approximation: beyond the last piece a tail is a geometric
series, whose sum a^x / (1 - a) is taken from the textbook.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import InternalError
from hushtable.laws.balls import nearest_float
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import (
    Binomial,
    Piece,
    TwoSidedGeometric,
    WeightedGeometric,
    one_sided_geometric,
    truncated_geometric,
)
from hushtable.laws.law import at_law
from hushtable.laws.magnitudes import WeightedNoise
from hushtable.laws.powers import RationalPowers

bases = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=60)


@st.composite
def piece_lists(draw: st.DrawFn) -> list[Piece]:
    """Pieces with non-negative weights, gaps and jumps included."""
    pieces: list[Piece] = []
    low = draw(st.integers(0, 9))
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 7))
        first, last = draw(st.tuples(weights, weights).filter(any))
        slope = (last - first) / (length - 1) if length > 1 else Fraction(0)
        level = (first or last) if length == 1 else first - slope * low
        pieces.append(Piece(low, low + length, level, slope))
        low += length + draw(st.integers(0, 3))
    if draw(st.booleans()):
        pieces.append(Piece(low, None, draw(weights.filter(bool)), draw(weights)))
    return pieces


weights = st.fractions(min_value=0, max_value=5, max_denominator=20)


def brute_moments(pieces: list[Piece], a: Fraction) -> list[Fraction]:
    """Return the sums of h(x) a^x x^order, order 0 to 2; an endless piece by its generating function."""
    sums = [Fraction(0)] * 3
    for piece in pieces:
        if piece.high is not None:
            for x in range(piece.low, piece.high):
                for order in range(3):
                    sums[order] += piece.weight(x) * a**x * x**order
        else:
            # sum over x >= 0 of C(x, k) a^x = a^k / (1-a)^(k+1), and powers by falling factorials.
            choose = [a**k / (1 - a) ** (k + 1) for k in range(4)]
            power = [
                choose[0],
                choose[1],
                2 * choose[2] + choose[1],
                6 * choose[3] + 6 * choose[2] + choose[1],
            ]
            for order in range(3):
                endless = piece.level * power[order] + piece.slope * power[order + 1]
                before = sum(piece.weight(x) * a**x * x**order for x in range(piece.low))
                sums[order] += endless - before
    return sums


@given(piece_lists(), bases)
def test_weighted_geometric_equals_brute_force(pieces: list[Piece], a: Fraction) -> None:
    law = WeightedGeometric(pieces, RationalPowers(a))
    total, first, second = brute_moments(pieces, a)
    end = max(piece.high or piece.low + 3 for piece in pieces)

    assert law.total == total
    running = Fraction(0)
    for x in range(end + 1):
        weight = sum(
            (p.weight(x) for p in pieces if p.low <= x and (p.high is None or x < p.high)), start=Fraction(0)
        )
        running += weight * a**x / total
        assert law.weight(x) == weight
        assert law.mass(x) == weight * a**x / total
        assert law.cdf(x) == running
        assert law.tail(x + 1) == 1 - running
    assert law.mean() == first / total
    assert law.variance() == second / total - (first / total) ** 2


@given(bases, st.integers(-8, 8))
def test_two_sided_geometric_equals_the_difference_of_two_geometrics(a: Fraction, x: int) -> None:
    law = TwoSidedGeometric(RationalPowers(a))
    # P[G1 - G2 = x] = sum over y >= 0 of (1-a)^2 a^(2y + |x|), a geometric series in a^2.
    by_convolution = (1 - a) ** 2 * a ** abs(x) / (1 - a**2)

    assert law.mass(x) == by_convolution
    assert law.cdf(x) - law.cdf(x - 1) == law.mass(x)
    assert law.cdf(x) + law.cdf(-x - 1) == 1
    assert law.mean() == 0
    if x >= 0:
        assert law.tail(x) - law.tail(x + 1) == law.mass(x)
        assert law.tail(x) == 1 - law.cdf(x - 1)
        assert law.weighted_tail(x) - law.weighted_tail(x + 1) == x * law.mass(x)
        # The rest is geometric: it starts at x, and goes on by a/(1-a) on average.
        assert law.weighted_tail(x) == law.tail(x) * (x + a / (1 - a))
    assert law.variance() == 2 * (a / (1 - a) ** 2)


@given(bases, st.integers(1, 30), st.integers(1, 6))
def test_digits_of_a_geometric_variable_are_independent(a: Fraction, base: int, high: int) -> None:
    whole = one_sided_geometric(RationalPowers(a))
    low_digit = truncated_geometric(base, RationalPowers(a))
    high_digits = one_sided_geometric(RationalPowers(a**base))

    for low in range(base):
        assert whole.mass(base * high + low) == high_digits.mass(high) * low_digit.mass(low)


@given(st.integers(0, 12), st.fractions(min_value=0, max_value=1, max_denominator=12))
def test_binomial_equals_the_sum_of_coins(trials: int, chance: Fraction) -> None:
    masses = [Fraction(1)]
    for _ in range(trials):
        masses = [
            (masses[k] if k < len(masses) else 0) * (1 - chance) + (masses[k - 1] if k else 0) * chance
            for k in range(len(masses) + 1)
        ]
    law = Binomial(trials, chance)

    assert [law.mass(k) for k in range(trials + 1)] == masses
    assert [law.cdf(k) for k in range(trials + 1)] == [sum(masses[: k + 1]) for k in range(trials + 1)]
    assert law.mass(-1) == law.mass(trials + 1) == law.cdf(-1) == 0
    assert law.mean() == sum(k * mass for k, mass in enumerate(masses))
    assert law.variance() == sum(k * k * mass for k, mass in enumerate(masses)) - law.mean() ** 2


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 210), Fraction(1), Fraction(50)])
def test_balls_and_fractions_agree(rate: Fraction) -> None:
    # A rational close to exp(-rate) gives almost the same numbers by the other arithmetic.
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        a = Fraction((Decimal(-rate.numerator) / Decimal(rate.denominator)).exp())
    law = TwoSidedGeometric(RationalPowers(a))

    variance = nearest_float(lambda precision: Geometric(rate).exact().variance())
    assert variance == pytest.approx(float(law.variance()), rel=1e-15)
    assert nearest_float(at_law(lambda noise: noise.mass(3), Geometric(rate))) == pytest.approx(
        float(law.mass(3)), rel=1e-15
    )


def test_a_law_without_support_is_refused() -> None:
    with pytest.raises(InternalError, match="without support"):
        WeightedGeometric([], RationalPowers(Fraction(1, 2)))
    with pytest.raises(InternalError, match="without support"):
        WeightedNoise([], TwoSidedGeometric(RationalPowers(Fraction(1, 2))))
