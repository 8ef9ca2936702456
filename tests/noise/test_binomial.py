"""Binomial counts: the envelope holds, proposals times kept is the law, and large cases follow it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import count as count_up
from itertools import product
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BadNumber
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.balls import Real, nearest_float, rational_real, scaled_bounds
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import Binomial
from hushtable.laws.law import at_law
from hushtable.noise import binomial
from hushtable.noise.binomial import _Proposals, _ring, most_likely
from tests.harness.cases import few
from tests.harness.scripted import Scripted
from tests.harness.statistics import ALARM, FloatLaw, fits, follows, from_masses, replay, runs
from tests.noise import slow

chances = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


def proposals_at(trials: int, chance: Fraction) -> tuple[_Proposals, int]:
    mode = most_likely(trials, chance)
    return _Proposals(trials, rational_real(chance), mode), mode


@given(st.integers(1, 60), chances)
def test_proposals_times_kept_is_the_law(trials: int, chance: Fraction) -> None:
    proposals, mode = proposals_at(trials, chance)
    law = Binomial(trials, chance)
    reach = proposals.reach
    seen: Counter[int] = Counter()
    assert reach * law.mass(mode) >= 1, "the proof needs reach >= 1 / f(mode)"
    for ring in count_up():
        start, size = proposals.ring(ring)
        if start > trials:
            break
        for distance in range(start, min(start + size, trials + 1)):
            for k in (mode + distance, mode - 1 - distance):
                if not 0 <= k <= trials:
                    continue
                seen[k] += 1
                proposed = Fraction(1, 2) * Fraction(1, 2 ** (ring + 1)) / size
                keep = law.mass(k) / law.mass(mode) / proposals.envelope(ring)
                assert keep <= 1, "the envelope must lie above the law"
                assert proposed * keep == law.mass(k) / law.mass(mode) / (8 * reach)
                # The product computes the same chance in balls.
                low, high = scaled_bounds(proposals._keep_chance(k, ring), precision=200, bits=100)
                assert low <= keep * (1 << 100) <= high
                assert high - low <= 2
    assert seen == Counter(range(trials + 1)), "every count lies in one place of one ring"


@given(st.integers(1, 60), chances)
def test_the_mode_is_a_mode(trials: int, chance: Fraction) -> None:
    law = Binomial(trials, chance)
    largest = max(law.mass(k) for k in range(trials + 1))
    # Just off the rational chance the number is irrational as far as a ball can tell.
    for nearby in (Fraction(1, 1 << 200), Fraction(-1, 1 << 200)):
        mode = most_likely(trials, rational_real(chance + nearby))
        assert law.mass(mode) >= largest * (1 - Fraction(1, 1 << 100))

    assert law.mass(most_likely(trials, chance)) == largest


@given(st.integers(1, 10**30), chances)
def test_reach_is_close_to_its_least(trials: int, chance: Fraction) -> None:
    proposals, _ = proposals_at(trials, chance)
    low, _ = scaled_bounds(proposals._one_over_mode_mass, precision=400, bits=0)

    assert low <= proposals.reach <= low + low // 8 + 2


def test_rings_are_fair_coins_exactly() -> None:
    # The ring is the number of low bits set before the first that is not; the sign is the highest bit.
    for script, expected in (
        ([0], (0, False)),
        ([1], (1, False)),
        ([1 << 63 | 0b0111], (3, True)),
        ([(1 << 63) - 1, 0b1], (64, False)),
        ([(1 << 64) - 1, 1 << 63], (63, True)),
    ):
        assert _ring(Scripted(script)) == expected
    words = [low | high << 63 for low in range(16) for high in (0, 1)]
    rings = Counter(_ring(Scripted([word]))[0] for word in words if word & 15 != 15)
    assert [rings[i] for i in range(4)] == [16, 8, 4, 2]


@pytest.mark.parametrize(
    ("trials", "chance"), [(1, Fraction(1, 2)), (3, Fraction(1, 2)), (2, Fraction(1, 3))]
)
def test_a_mode_mass_that_is_a_whole_fraction_is_no_trap(trials: int, chance: Fraction) -> None:
    # 1 / f(mode) is then a whole number, which no ball ever settles.
    assert proposals_at(trials, chance)[0].reach <= 10


@pytest.mark.parametrize(
    ("trials", "chance"),
    [
        (1, Fraction(1, 3)),
        (7, Fraction(1, 2)),
        (20, Fraction(1, 3)),
        (30, Fraction(1, 100)),
        (25, Fraction(49, 50)),
    ],
)
def test_small_cases_follow_their_law(trials: int, chance: Fraction) -> None:
    entropy = replay(600)
    sample = [binomial(trials, chance, entropy) for _ in range(runs(1_200))]

    assert follows(sample, small_law(trials, chance)) > ALARM
    assert fits(sample, small_law(trials, chance * Fraction(1, 2))) < ALARM
    assert fits(sample, small_law(trials, (1 + chance) / 2)) < ALARM


def small_law(trials: int, chance: Fraction) -> FloatLaw:
    law = Binomial(trials, chance)
    return from_masses({k: law.mass(k) for k in range(trials + 1)})


def test_the_slow_reference_follows_the_same_law() -> None:
    entropy = replay(601)
    sample = [slow.binomial(20, Fraction(1, 3), entropy) for _ in range(runs(1_000))]

    assert follows(sample, small_law(20, Fraction(1, 3))) > ALARM
    assert fits(sample, small_law(20, Fraction(1, 6))) < ALARM


@cache
def huge_law(trials: int, chance: Fraction) -> FloatLaw:
    """Masses by the ratio f(k+1)/f(k) in integers of 400 bits, outward from the mode, then scaled to sum 1.

    Slow and obvious, and it shares nothing with the sampler: no log-gamma, no ball.
    """
    mode = (trials + 1) * chance.numerator // chance.denominator
    p, q = chance.numerator, chance.denominator - chance.numerator
    weights = {mode: 1 << 400}
    for step in (1, -1):
        k, weight = mode, 1 << 400
        while weight > 1 << 300 and 0 <= k + step <= trials:
            up = weight * (trials - k) * p // ((k + 1) * q)
            weight = up if step == 1 else weight * k * q // ((trials - k + 1) * p)
            k += step
            weights[k] = weight
    total = sum(weights.values())
    return from_masses({k: Fraction(weight, total) for k, weight in weights.items()})


@pytest.mark.parametrize(
    ("expected", "near_one"),
    few(product([Fraction(1, 1000), Fraction(3), Fraction(1000), Fraction(10**5)], [False, True]), every=3),
)
def test_huge_cases_follow_their_law(expected: Fraction, near_one: bool) -> None:
    trials, entropy = 10**30, replay(602)
    chance = expected / trials
    if near_one:
        sample = [trials - binomial(trials, 1 - chance, entropy) for _ in range(runs(400))]
    else:
        sample = [binomial(trials, chance, entropy) for _ in range(runs(400))]

    assert follows(sample, huge_law(trials, chance)) > ALARM
    if expected >= 1:  # one standard deviation more, and one less
        off = 1 + Fraction(1, isqrt(int(expected)))
        assert fits(sample, huge_law(trials, chance * off)) < ALARM
        assert fits(sample, huge_law(trials, chance / off)) < ALARM


@pytest.mark.parametrize(
    "chance",
    [
        at_law(Acceptance(cutoff=650).pass_probability, Geometric(Fraction(1, 10))),
        at_law(Acceptance(cutoff=200, threshold=10**22).pass_probability, Geometric(Fraction(1, 10))),
        at_law(
            Band(wider=Acceptance(cutoff=650), narrower=Acceptance(cutoff=651)).pass_probability,
            Geometric(Fraction(1, 10)),
        ),
    ],
)
def test_irrational_chances_follow_their_law(chance: Real) -> None:
    trials, entropy = 10**30, replay(603)
    near = Fraction(nearest_float(chance))
    off = 1 + Fraction(1, isqrt(int(trials * near)))
    sample = [binomial(trials, chance, entropy) for _ in range(runs(250))]

    assert follows(sample, huge_law(trials, near)) > ALARM
    assert fits(sample, huge_law(trials, near * off)) < ALARM
    assert fits(sample, huge_law(trials, near / off)) < ALARM


@pytest.mark.parametrize(
    ("trials", "chance", "result"),
    [(0, Fraction(1, 3), 0), (0, 0, 0), (0, 1, 0), (5, 0, 0), (5, 1, 5), (10**40, 1, 10**40), (10**40, 0, 0)],
)
def test_sure_cases(trials: int, chance: Fraction | int, result: int) -> None:
    assert binomial(trials, chance, replay(604)) == result


def test_no_trials_of_an_irrational_chance() -> None:
    chance = at_law(Acceptance(cutoff=2).pass_probability, Geometric(Fraction(1)))

    assert binomial(0, chance, replay(605)) == 0
    assert {binomial(1, chance, replay(606 + i)) for i in range(40)} == {0, 1}


def test_an_expected_count_of_a_billionth_is_0() -> None:
    entropy = replay(607)

    assert {binomial(10**30, Fraction(1, 10**39), entropy) for _ in range(300)} == {0}


@pytest.mark.parametrize(
    ("trials", "chance", "message"),
    [
        (-1, "0.5", "trials=-1 is below 0"),
        (1.5, "0.5", "trials=1.5 is not a whole number"),
        (3, -0.1, "chance=-0.1 is outside 0 to 1"),
        (3, 1.1, "chance=1.1 is outside 0 to 1"),
        (3, float("nan"), "chance=nan is not a finite number"),
    ],
)
def test_bad_input_is_one_clear_error(trials: int, chance: float | str, message: str) -> None:
    with pytest.raises(BadNumber, match=message):
        binomial(trials, chance, replay(608))
