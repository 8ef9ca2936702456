"""Chances and moments of one cell, against sums over the noise and against the exact laws."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance
from hushtable.laws.balls import working_precision
from hushtable.laws.geometric import Geometric, GeometricFloats
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.powers import RationalPowers
from hushtable.planning.moments import Outcomes, Rule

RATES = [0.02, 0.1, 1.0, 4.0]
COUNTS = np.array([0.0, 1, 2, 7, 19, 20, 21, 60, 300])
RULES = [
    Rule(),
    Rule(cutoff=20),
    Rule(cutoff=20, edge=0.25),
    Rule(threshold=55.5),
    Rule(cutoff=20, threshold=61),
    Rule(cutoff=20, threshold=20.5),
    Rule(cutoff=20, threshold=3),
    Rule(everything=True),
]


def by_hand(count: float, rate: float, rule: Rule, absent: float) -> tuple[float, float, float, float]:
    """The chance to be published, the mean weight, and the mean error and its square, term by term."""
    reach = int(60 / rate) + 400
    noise: NDArray[np.float64] = np.arange(-reach, reach + 1, dtype=np.float64)
    law = (1 - exp(-rate)) / (1 + exp(-rate)) * np.exp(-rate * np.abs(noise))
    noisy = count + noise
    size = np.abs(noisy)
    chance = np.where(size >= rule.cutoff, 1.0, 0.0)
    if rule.threshold:
        chance *= np.minimum(size / rule.threshold, 1)
    elif rule.edge < 1:
        chance = np.where(size == rule.cutoff, rule.edge, chance)
    if rule.everything:
        chance = np.ones_like(size)
    weight = np.copysign(np.maximum(size, rule.threshold), noisy)
    away = float((law * (1 - chance)).sum())
    errors = [
        float((law * chance * (weight - count) ** power).sum()) + away * (absent - count) ** power
        for power in (1, 2)
    ]
    return float((law * chance).sum()), float((law * chance * weight).sum()), errors[0], errors[1]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("rule", RULES)
def test_chances_and_moments_are_sums_over_the_noise(rate: float, rule: Rule) -> None:
    found = Outcomes(COUNTS, GeometricFloats(rate), rule)
    first, second = found.errors(absent=1.5)

    for place, count in enumerate(COUNTS):
        values = found.published[place], found.weight[place], first[place], second[place]
        assert values == pytest.approx(by_hand(count, rate, rule, 1.5), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("start", [-30, -1, 0, 1, 2, 30])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_tail_may_start_on_either_side(start: int, power: int) -> None:
    noise = GeometricFloats(0.3)
    x = np.arange(start, 400.0)

    found = noise.tail(np.array([float(start)]), power)[0]

    assert found == pytest.approx((x**power * noise.mass(x)).sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("rule", "exact"),
    [
        (Rule(cutoff=120), Acceptance(cutoff=120)),
        (Rule(threshold=190.5), Acceptance(threshold="190.5")),
        (Rule(cutoff=40, threshold=190.5), Acceptance(cutoff=40, threshold="190.5")),
        (Rule(cutoff=40, edge=0.25), Acceptance(cutoff=40, edge_chance=Fraction(1, 4))),
        (Rule(cutoff=300, threshold=1e5), Acceptance(cutoff=300, threshold=10**5)),
    ],
)
def test_an_empty_cell_passes_with_its_exact_chance(rule: Rule, exact: Acceptance) -> None:
    rate = Fraction(49, 500)
    with working_precision(200):
        wanted = float(exact.pass_probability(Geometric(rate).exact()))

    found = Outcomes(np.zeros(1), GeometricFloats(float(rate)), rule).published[0]

    assert found == pytest.approx(wanted, rel=1e-12)


def test_an_empty_cell_passes_as_in_fractions() -> None:
    half = TwoSidedGeometric(RationalPowers(Fraction(1, 2)))
    exact = Acceptance(cutoff=2, threshold="7/2").pass_probability(half)

    noise = GeometricFloats(float(np.log(2)))
    found = Outcomes(np.zeros(1), noise, Rule(cutoff=2, threshold=3.5)).published[0]

    assert found == pytest.approx(float(exact), rel=1e-14)


def test_chances_rise_with_the_count_and_fall_with_the_cutoff() -> None:
    counts = np.arange(400.0)
    noise = GeometricFloats(0.1)
    low, high = (Outcomes(counts, noise, Rule(cutoff=cutoff)).published for cutoff in (50, 90))

    assert (np.diff(low) >= 0).all()
    assert (high <= low).all()
    assert (Outcomes(counts, noise, Rule(cutoff=50, threshold=120)).published <= low).all()
