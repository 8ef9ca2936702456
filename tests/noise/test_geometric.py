"""Noise and accepted noise by the recipe: right law, too much, too little; and slow references."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hushtable.errors import BadNumber
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.integers import one_sided_geometric as one_sided_law
from hushtable.noise import accepted_noise, one_sided_geometric, two_sided_geometric
from tests.harness.cases import few
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    accepted_at,
    chernoff_follows,
    draws,
    fits,
    follows,
    law_at,
    replay,
)
from tests.noise import slow

RATES = [Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 210), Fraction(1, 10), Fraction(1), Fraction(3)]
MORE, LESS = Fraction(3, 4), Fraction(5, 4)  # 25 % too much noise, and too little


@pytest.mark.parametrize("rate", RATES)
def test_two_sided_geometric_follows_its_law(rate: Fraction) -> None:
    sample = two_sided_geometric(rate, replay(300), count=draws(20_000))

    assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * MORE)) < ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * LESS)) < ALARM


@pytest.mark.parametrize("rate", RATES)
def test_one_sided_geometric_follows_its_law(rate: Fraction) -> None:
    sample = one_sided_geometric(rate, replay(301), count=draws(20_000))

    assert follows(sample, law_at(one_sided_law, rate)) > ALARM
    assert fits(sample, law_at(one_sided_law, rate * MORE)) < ALARM
    assert fits(sample, law_at(one_sided_law, rate * LESS)) < ALARM


def test_noise_at_a_large_rate_is_0() -> None:
    sample = two_sided_geometric(50, replay(302), count=draws(20_000))

    assert follows(sample, law_at(TwoSidedGeometric, Fraction(50))) > ALARM
    assert not sample.any(), "another value has chance 4e-22"


def rules_at(rate: Fraction) -> list[Acceptance | Band]:
    """All summaries at their edges, with cutoffs and thresholds that matter at this rate."""
    scale = 1 / rate
    return [
        Acceptance(cutoff=0),
        Acceptance(cutoff=1, two_sided=False),
        Acceptance(cutoff=scale * Fraction(5, 2) + Fraction(1, 3)),
        Acceptance(cutoff=10**6, two_sided=False),
        Acceptance(threshold=scale * Fraction(7, 3)),
        Acceptance(threshold=10**26, two_sided=False),
        Acceptance(cutoff=scale * 2 + 3, threshold=scale),
        Acceptance(cutoff=scale + 1, threshold=4 * scale + Fraction(1, 2), two_sided=False),
        Band(
            wider=Acceptance(threshold=2 * scale), narrower=Acceptance(threshold=5 * scale + Fraction(1, 7))
        ),
        Band(
            wider=Acceptance(cutoff=scale + 2, two_sided=False),
            narrower=Acceptance(cutoff=3 * scale + 5, two_sided=False),
        ),
    ]


def signed_law(rule: Acceptance | Band, rate: Fraction) -> FloatLaw:
    """The law of the signed value: half of the magnitude's on either side."""
    law = accepted_at(rule, Geometric(rate))
    if not rule.two_sided:
        return law

    def cdf(x: int) -> float:
        return (1 - law.cdf(-x - 1)) / 2 if x < 0 else (1 + law.cdf(x)) / 2

    return FloatLaw(lambda x: law.mass(abs(x)) / 2, cdf)


@pytest.mark.parametrize(
    ("index", "rate"),
    few(
        product(
            range(10),
            [Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 210), Fraction(1, 10), Fraction(1)],
        ),
        every=2,
    ),
)
def test_accepted_noise_follows_its_law(rate: Fraction, index: int) -> None:
    rule = rules_at(rate)[index]
    sample = accepted_noise(rule, Geometric(rate), replay(303), count=draws(20_000))

    assert follows(sample, signed_law(rule, rate)) > ALARM
    assert all(rule.chance(int(x)) > 0 for x in np.unique(sample)[:: max(1, sample.size // 500)])
    # The same rule, at the wrong rate.
    assert fits(sample, signed_law(rule, rate * MORE)) < ALARM
    assert fits(sample, signed_law(rule, rate * LESS)) < ALARM


@pytest.mark.parametrize(
    "rule", [Acceptance(cutoff="2.5"), Acceptance(threshold="6.5"), Acceptance(cutoff=3, threshold=9)]
)
def test_the_wrong_rule_is_noticed(rule: Acceptance) -> None:
    rate = Fraction(1, 3)
    sample = accepted_noise(rule, Geometric(rate), replay(304), count=draws(20_000))
    others = [
        Acceptance(cutoff="3.5"),
        Acceptance(threshold="4.5"),
        Acceptance(cutoff=2, threshold=9),
        Acceptance(cutoff=3, threshold=15),
    ]

    assert follows(sample, signed_law(rule, rate)) > ALARM
    for other in others:
        assert fits(sample, signed_law(other, rate)) < ALARM


def test_slow_references_follow_the_same_laws() -> None:
    rate, size = Fraction(1, 2), draws(1_500)
    entropy = replay(305)
    rule = Acceptance(cutoff="1.5", threshold="4.5")
    noise = np.array([slow.two_sided(rate, entropy) for _ in range(size)])
    passed = np.array([slow.accepted(rate, rule.chance, entropy) for _ in range(size)])

    assert follows(noise, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(noise, law_at(TwoSidedGeometric, rate * 2)) < ALARM
    assert follows(passed, signed_law(rule, rate)) > ALARM
    assert fits(passed, signed_law(rule, rate * 2)) < ALARM


def test_numpy_follows_the_same_law() -> None:
    generator = np.random.default_rng(306)
    chance = -np.expm1(-0.1)
    sample = generator.geometric(chance, size=20_000) - generator.geometric(chance, size=20_000)

    assert follows(sample, law_at(TwoSidedGeometric, Fraction(1, 10))) > ALARM


def test_neighbours_differ_by_no_more_than_the_rate() -> None:
    # The mechanism as a whole: counts 0 and 1 with noise; no value may be e^rate times likelier under one.
    rate, size = Fraction(1), draws(200_000)
    here = two_sided_geometric(rate, replay(307), count=size)
    there = two_sided_geometric(rate, replay(308), count=size) + 1
    for value in range(-3, 5):
        mine, theirs = int((here == value).sum()), int((there == value).sum())
        if mine + theirs:
            # Given that one of the two showed it, it was mine with chance at most e / (1 + e).
            limit = np.e / (1 + np.e)
            share = mine / (mine + theirs)
            assert share <= limit or chernoff_follows(mine, mine + theirs, limit) > ALARM


def test_order_tells_nothing() -> None:
    # Draws in one call are independent: neighbours in the array agree no more than chance has it.
    sample = two_sided_geometric(1, replay(309), count=draws(40_001))
    even, odd = sample[:-1:2], sample[1::2]
    same = sum(((np.tanh(0.5)) * np.exp(-abs(x))) ** 2 for x in range(-60, 61))

    assert chernoff_follows(int((even == odd).sum()), even.size, same) > ALARM


@pytest.mark.parametrize("draw", [two_sided_geometric, one_sided_geometric])
@pytest.mark.parametrize(
    ("rate", "count", "message"),
    [
        (0, 1, "rate=0 is not above 0"),
        (-1, 1, "rate=-1 is not above 0"),
        (float("nan"), 1, "rate=nan is not a finite number"),
        (float("inf"), 1, "rate=inf is not a finite number"),
        ("fast", 1, "rate='fast' is not a finite number"),
        (1, -1, "count=-1 is below 0"),
        (1, 2.5, "count=2.5 is not a whole number"),
    ],
)
def test_bad_input_is_one_clear_error(draw: object, rate: object, count: object, message: str) -> None:
    with pytest.raises(BadNumber, match=message):
        draw(rate, replay(310), count=count)  # type: ignore[operator]


@pytest.mark.parametrize("count", [0, 1, 65_535, 65_536, 65_537, 200_000])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 10**5)])
def test_any_number_of_draws(count: int, rate: Fraction) -> None:
    assert two_sided_geometric(rate, replay(311), count=count).shape == (count,)
    rule = Acceptance(threshold=10**6)
    assert accepted_noise(rule, Geometric(rate), replay(311), count=count).shape == (count,)
