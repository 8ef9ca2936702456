"""The vectorised selection against exact order: the same words, all numbers as fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.laws.acceptance import Acceptance
from hushtable.methods.tuning import rounded_up
from hushtable.noise import Replay
from hushtable.summaries.priorities import _GAP, _lower_bounds, _ranges, largest_priorities
from tests.harness.scripted import Scripted

RULES = [
    [Acceptance(threshold=50)],
    [Acceptance(threshold="7.25"), Acceptance(threshold="3.5")],
    [Acceptance(cutoff=3, threshold=100), Acceptance(cutoff=3, threshold=20), Acceptance(cutoff=3)],
    [Acceptance()],
    [Acceptance(threshold=Fraction(2**45) + Fraction(1, 3)), Acceptance(threshold=2**40)],
    [Acceptance(threshold=10**26)],
]


def scaled_q(magnitude: int, band: int, rules: list[Acceptance], uniform: Fraction) -> Fraction:
    """Q times the last threshold, by its definition: uniform between the ends of the band."""
    taus = [rule.threshold if rule.threshold is not None else Fraction(rule.lowest) for rule in rules]
    own = taus[-1] if band < 0 else taus[band]
    low = 1 / taus[band - 1] if band > 0 else Fraction(0)
    high = 1 / max(Fraction(magnitude), own)
    return (low + (high - low) * uniform) * taus[-1]


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[Acceptance], list[int], list[int], list[int]]:
    """Rules, magnitudes that each band can have, bands, and words, many of them alike."""
    rules = draw(st.sampled_from(RULES))
    count = draw(st.integers(2, 12))
    bands = draw(st.lists(st.integers(-1, len(rules) - 1), min_size=count, max_size=count))
    magnitudes = []
    for band in bands:
        least = rules[0].lowest
        # What a band accepts lies below the threshold of the band before.
        before = rules[band - 1].threshold if band > 0 else None
        most = 10**13 if before is None else max(least, int(before) - 1)
        magnitudes.append(draw(st.integers(least, min(most, least + 5)) | st.integers(least, most)))
    few = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
    words = draw(st.lists(st.sampled_from(few) | st.integers(0, 2**64 - 1), min_size=count, max_size=count))
    return rules, magnitudes, bands, words


@given(samples())
def test_bounds_hold(case: tuple[list[Acceptance], list[int], list[int], list[int]]) -> None:
    rules, magnitudes, bands, words = case
    reference, ranges = _ranges(rules)
    for magnitude, band, word in zip(magnitudes, bands, words, strict=True):
        (low,) = _lower_bounds(
            np.array([magnitude]), np.array([word], dtype=np.uint64), ranges[band], reference
        ).tolist()
        first = scaled_q(magnitude, band, rules, Fraction(word, 1 << 64)) * (1 << 62)
        last = scaled_q(magnitude, band, rules, Fraction(word + 1, 1 << 64)) * (1 << 62)
        assert low <= first <= last < low + _GAP


@given(samples(), st.integers(1, 11), st.integers(0, 2**32))
def test_selection_is_the_exact_order(
    case: tuple[list[Acceptance], list[int], list[int], list[int]], size: int, seed: int
) -> None:
    rules, magnitudes, bands, words = case
    later = Replay(seed).words(60)
    source = Scripted([*words, *later.tolist()])

    rows, tau = largest_priorities(
        np.array(magnitudes), np.array(bands, dtype=np.int8), rules, source, size=size
    )

    if len(magnitudes) <= size:
        assert rows.tolist() == list(range(len(magnitudes)))
        assert tau == 0
        return
    assert len(rows) == size
    # Intervals of Q from the first 64 bits: whoever is clear of the cut must be on the right side of it.
    low = [
        scaled_q(m, b, rules, Fraction(w, 1 << 64)) for m, b, w in zip(magnitudes, bands, words, strict=True)
    ]
    high = [
        scaled_q(m, b, rules, Fraction(w + 1, 1 << 64))
        for m, b, w in zip(magnitudes, bands, words, strict=True)
    ]
    for i in range(len(magnitudes)):
        surely_smaller = sum(high[j] <= low[i] for j in range(len(magnitudes)) if j != i)
        surely_larger = sum(low[j] >= high[i] for j in range(len(magnitudes)) if j != i)
        if surely_smaller >= size:
            assert i not in rows
        if surely_larger >= len(magnitudes) - size:
            assert i in rows
    reference = _ranges(rules)[0]
    if sorted(low)[size] > 0:
        assert rounded_up(reference / sorted(high)[size]) <= tau <= rounded_up(reference / sorted(low)[size])


@pytest.mark.parametrize("rules", [RULES[0], RULES[4], RULES[5]], ids=["50", "2^40", "10^26"])
def test_priorities_that_their_bounds_do_not_tell_apart_are_in_order(rules: list[Acceptance]) -> None:
    """Two whose Q differ by less than the gap: the order of their lower bounds is wrong as often as right."""
    reference, ranges = _ranges(rules)
    generator, wrong = np.random.default_rng(5), 0
    for _ in range(40):
        magnitudes = generator.integers(1 << 40, 1 << 41, 2)
        tops = [Fraction(scaled_q(int(each), -1, rules, Fraction(1))) for each in magnitudes]
        first = int(generator.integers(1 << 60, 1 << 62))
        # Of the second, U is such that both Q are nearly equal.
        second = int(first * tops[0] / tops[1]) + int(generator.integers(-(1 << 20), 1 << 20))
        words = [first, second]
        qs = [top * word for top, word in zip(tops, words, strict=True)]
        bounds = _lower_bounds(magnitudes, np.array(words, dtype=np.uint64), ranges[-1], reference)
        wrong += bool(bounds[0] < bounds[1]) is not (qs[0] < qs[1])
        source = Scripted([*words, *Replay(5).words(20).tolist()])
        bands = np.full(2, -1, dtype=np.int8)

        (winner,), _ = largest_priorities(magnitudes, bands, rules, source, size=1)

        assert winner == int(qs[1] < qs[0])
    assert wrong > 5


def test_equal_words_are_told_apart_by_later_bits() -> None:
    # Cells with the same count and the same 64 bits: each wins for some later bits, so their order does not.
    # Which cell reads which bits is the sort's choice, and differs between processors: a fair third of the
    # seeds is each cell's on any of them, and 64 miss one of three with a chance below 2e-11.
    word = 1 << 60
    winners = set()
    for seed in range(64):
        source = Scripted([word] * 3 + Replay(seed).words(20).tolist())
        (winner,), tau = largest_priorities(
            np.array([9, 9, 9]),
            np.array([-1, -1, -1], dtype=np.int8),
            [Acceptance(threshold=20)],
            source,
            size=1,
        )
        winners.add(int(winner))
        assert source.used >= 6
        assert tau == rounded_up(tau) > 0

    assert winners == {0, 1, 2}


def test_a_threshold_is_published_only_when_its_rounding_is_certain() -> None:
    # 1/Q at a 40-bit boundary to within 64 bits: more bits must be drawn before it is rounded.
    reference = Fraction(32)
    boundary = Fraction(2**39 + 1, 2**30)  # has 40 significant bits
    word = int(reference / boundary * (1 << 64))
    results = set()
    for later in (0, 2**64 - 1):
        source = Scripted([0, word, later, later, later])
        _, tau = largest_priorities(
            np.array([10**6, 5]),
            np.array([-1, -1], dtype=np.int8),
            [Acceptance(threshold=32)],
            source,
            size=1,
        )
        assert source.used > 2
        results.add(tau)
    assert len(results) >= 1
    assert all(Fraction(float(tau)) == tau and tau >= boundary for tau in results)


@pytest.mark.parametrize("size", [3, 4])
def test_too_few_candidates_are_all_taken(size: int) -> None:
    rows, tau = largest_priorities(
        np.array([1, 2, 3]), np.array([-1, 0, 0], dtype=np.int8), [Acceptance()], Scripted([]), size=size
    )

    assert rows.tolist() == [0, 1, 2]
    assert tau == 0
