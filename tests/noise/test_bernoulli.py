"""Coins: each flip agrees with its uniform number and its chance, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BadNumber, InternalError
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import at_law
from hushtable.noise import bernoulli, kept
from tests.harness.scripted import Scripted
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, draws, replay
from tests.noise import slow

WORD = 1 << 64
LATER = st.integers(1, WORD - 1)


@given(st.fractions(min_value=0, max_value=1), st.data())
def test_a_flip_compares_its_uniform_with_its_chance(chance: Fraction, data: st.DataObject) -> None:
    near = min(int(chance * WORD), WORD - 1)
    word = data.draw(st.integers(0, WORD - 1) | st.integers(max(0, near - 1), min(near + 1, WORD - 1)))
    later = data.draw(LATER)

    flip = bernoulli(chance, Scripted([word, later, 1]), count=1)

    assert bool(flip[0]) == (Fraction(((word << 64) + later << 64) + 1, 1 << 192) < chance)


thresholds = (
    st.fractions(min_value=Fraction(1, 100), max_value=10**12)
    | st.integers(1, 10**30).map(Fraction)
    | st.builds(Fraction, st.integers(1, 10**40), st.integers(1, 10**20))
)


@given(thresholds, st.data())
def test_a_count_is_kept_exactly_when_its_uniform_is_below_its_chance(
    tau: Fraction, data: st.DataObject
) -> None:
    ceiling = min(int(tau) + 2, 2**63 - 1)
    count = data.draw(st.integers(0, ceiling) | st.integers(0, min(ceiling, 9)))
    others = data.draw(st.lists(st.integers(0, ceiling), max_size=2))  # they set how many bits are dropped
    chance = min(count / tau, Fraction(1))
    at = min(int(chance * (1 << 62)), (1 << 62) - 1)
    near = st.integers(max(0, at - 3), min((1 << 62) - 1, at + 3))
    near |= st.integers(max(0, at - (1 << 34)), min((1 << 62) - 1, at + (1 << 34)))
    word = data.draw(st.integers(0, (1 << 62) - 1) | near)
    later = data.draw(LATER)
    # The others are surely refused or sure anyway, so that later words belong to `count` alone.
    source = Scripted([word << 2, *[WORD - 1 for _ in others], later, 1, 1, 1])

    flip = kept(np.array([count, *others], dtype=np.int64), tau, source)[0]

    assert bool(flip) == (Fraction((((word << 64) + later) << 64) + 1, 1 << 190) < chance)


@pytest.mark.parametrize(
    "tau", [Fraction(13, 2), Fraction(10**6) + Fraction(1, 3), Fraction(10**15, 7), Fraction(10**26)]
)
def test_a_flip_that_62_bits_leave_open_reads_on(tau: Fraction) -> None:
    count = min(int(tau * 5 / 7), 10**17)
    at = int(count / tau * (1 << 62))
    for later, expected in ((0, True), (WORD - 1, False)):
        source = Scripted([at << 2, later, later])
        assert kept(np.array([count]), tau, source).tolist() == [expected]
        assert source.used >= 2


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 100), Fraction(99, 100)])
def test_rational_coins_follow_their_chance(chance: Fraction) -> None:
    size = draws(200_000)
    heads = int(bernoulli(chance, replay(400), count=size).sum())

    assert chernoff_follows(heads, size, float(chance)) > ALARM
    assert chernoff(heads, size, float(chance * Fraction(3, 4))) < ALARM
    assert chernoff(heads, size, float((1 + 3 * chance) / 4)) < ALARM


def test_irrational_coins_follow_their_chance() -> None:
    chance = at_law(Acceptance(cutoff=2).pass_probability, Geometric(Fraction(1)))
    size = draws(20_000)
    heads = int(bernoulli(chance, replay(401), count=size).sum())
    expected = 2 * np.exp(-2) / (1 + np.exp(-1))

    assert chernoff_follows(heads, size, expected) > ALARM
    assert chernoff(heads, size, expected * 1.25) < ALARM
    assert chernoff(heads, size, expected * 0.75) < ALARM


def test_the_slow_coin_follows_its_chance() -> None:
    size, entropy = draws(5_000), replay(402)
    heads = sum(slow.coin(Fraction(2, 7), entropy) for _ in range(size))
    tails = sum(slow.exponential_coin(Fraction(3, 2), entropy) for _ in range(size))

    assert chernoff_follows(heads, size, 2 / 7) > ALARM
    assert chernoff_follows(tails, size, float(np.exp(-1.5))) > ALARM


@pytest.mark.parametrize(
    ("later", "expected"), [(0, True), (2**62, True), (2**63 - 1, False), (WORD - 1, False)]
)
def test_an_undecided_flip_keeps_all_its_bits(later: int, expected: bool) -> None:
    # 1/3 is 0.0101..., and the last bit of its first word is a 1: forgetting it would turn the third case.
    source = Scripted([WORD // 3, later, later])

    assert bernoulli(Fraction(1, 3), source, count=1).tolist() == [expected]
    assert source.used == 2


@pytest.mark.parametrize("dropped", [0, (1 << 19) - 1])
def test_dropped_bits_of_a_count_still_count(dropped: int) -> None:
    # A count of 50 bits, of which 31 lead: what the others are worth must not be lost.
    tau, count = Fraction(2**50 + 12345), (2**49 + 2**30) | dropped
    at = int(count / tau * (1 << 62))
    for later, expected in ((0, True), (WORD - 1, False)):
        assert kept(np.array([count]), tau, Scripted([at << 2, later, later])).tolist() == [expected]


@pytest.mark.parametrize("bits", [31, 32, 33, 40, 62])
def test_the_first_dropped_bit_of_a_count_still_counts(bits: int) -> None:
    """A count that is odd, a little below its threshold: the half that is dropped first decides."""
    count = (1 << (bits - 1)) + 1
    tau = count + 1
    at = (count << 62) // tau  # below it, in 62 bits, the coin comes up
    later = 1 << 63

    for word, expected in [(at - 1, True), (at + 1, False)]:
        script = Scripted([word << 2, later, later])
        assert kept(np.array([count]), tau, script).tolist() == [expected]


def test_chunks_do_not_mix() -> None:
    counts = np.repeat(np.array([0, 10**6, 0]), [70_000, 66_000, 10])
    flips = kept(counts, 10**6 + 1, replay(420))

    assert not flips[counts == 0].any()
    assert flips[counts > 0].mean() > 0.999
    long = bernoulli(Fraction(1, 2), replay(421), count=200_001)
    assert 0.4 < long[:65_536].mean() < 0.6
    assert 0.4 < long[131_072:].mean() < 0.6


@pytest.mark.parametrize("tau", [Fraction(3, 2), Fraction(13, 2), Fraction(40), Fraction(10**14, 7)])
def test_counts_are_kept_with_their_chance(tau: Fraction) -> None:
    size = draws(50_000)
    for step in range(9):
        count = int(tau * step / 7)
        chance = min(1.0, count / float(tau))
        total = int(kept(np.full(size, count), tau, replay(403 + step)).sum())
        assert chernoff_follows(total, size, chance) > ALARM
        if 0 < chance < 0.7:
            assert chernoff(total, size, chance * 1.25) < ALARM
            assert chernoff(total, size, chance * 0.75) < ALARM


def test_sure_coins_draw_no_surprise() -> None:
    assert not bernoulli(0, replay(412), count=1000).any()
    assert bernoulli(1, replay(413), count=1000).all()
    assert kept(np.array([0, 1, 2, 2**63 - 1]), "0.5", replay(414)).tolist() == [False, True, True, True]
    assert kept(np.array([2**63 - 1]), Fraction(10) ** 60, replay(415)).tolist() == [False]
    assert kept(np.empty(0, dtype=np.int64), 5, replay(416)).tolist() == []


@pytest.mark.parametrize("chance", [-1, 2, "1.5", float("nan"), True, None])
def test_bad_chances_are_one_clear_error(chance: object) -> None:
    with pytest.raises(BadNumber, match="chance="):
        bernoulli(chance, replay(417), count=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [0, -1, float("inf")])
def test_bad_thresholds_are_one_clear_error(threshold: float) -> None:
    with pytest.raises(BadNumber, match="threshold="):
        kept(np.array([1]), threshold, replay(418))


def test_a_negative_magnitude_is_a_bug_of_the_caller() -> None:
    with pytest.raises(InternalError, match="below 0") as caught:
        kept(np.array([3, -77]), 5, replay(419))

    assert "77" not in str(caught.value), "a count is private"
