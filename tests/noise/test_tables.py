"""Certified tables: every cut, every draw and every refinement against inversion by its definition.

The reference evaluates the law in fractions, with powers of exp(-rate) to 200 decimal digits, and looks
for the value by counting. It shares the formula of the law, which has tests of its own, but no
ball, no table and no guide.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import (
    IntegerLaw,
    LawFamily,
    Piece,
    TwoSidedGeometric,
    WeightedGeometric,
    truncated_geometric,
)
from hushtable.noise import blocks
from hushtable.noise.blocks import GeometricSampler
from hushtable.noise.samplers import sampler_of
from hushtable.noise.tables import CertifiedTable
from tests.harness.scripted import Scripted

WORD = 1 << 64
RAMP = (Piece(2, 7, Fraction(0), Fraction(2, 13)), Piece(7, None, Fraction(1)))


def near(family: LawFamily, rate: Fraction) -> IntegerLaw:
    """Return the law with each power of exp(-rate) to 200 decimal digits, as a fraction."""
    g = Decimal(rate.numerator), Decimal(rate.denominator)

    @cache
    def power(exponent: int) -> Fraction:
        with localcontext() as context:
            context.prec = 200
            return Fraction((-g[0] * exponent / g[1]).exp())

    return family(power)


def first_above(law: IntegerLaw, uniform: Fraction, start: int) -> int:
    """Return the smallest k with uniform < F(k), by stepping from `start`."""
    k = start
    while uniform < law.cdf(k - 1):
        k -= 1
    while uniform >= law.cdf(k):
        k += 1
    return k


def script(uniform: Fraction) -> Scripted:
    """Return the words from which a sampler that draws one value reads this uniform number."""
    bits = floor(uniform * (1 << 320))
    first_16, next_48 = bits >> 304, bits >> 256 & ((1 << 48) - 1)
    later = [bits >> shift & (WORD - 1) for shift in (192, 128, 64, 0)]
    return Scripted([first_16, next_48 << 16, *later, 0, 0, 0, 0])


CASES = [
    (None, Fraction(1, 10)),
    (None, Fraction(3)),
    (None, Fraction(50)),
    ((Piece(0, None, Fraction(1)),), Fraction(1, 3)),
    (RAMP, Fraction(1, 5)),
    ((Piece(0, 6, Fraction(1)),), Fraction(1, 100)),
    ((Piece(4, 5, Fraction(1)),), Fraction(1, 2)),
    ((Piece(0, 1000, Fraction(1)),), Fraction(1)),  # ends far beyond what its table holds
]


@cache
def built(pieces: tuple[Piece, ...] | None, rate: Fraction) -> GeometricSampler:
    """Return a sampler that no test changes: built once for all examples of a law."""
    return GeometricSampler(pieces, rate)


def family_of(pieces: tuple[Piece, ...] | None) -> LawFamily:
    return TwoSidedGeometric if pieces is None else partial(WeightedGeometric, pieces)


@cache
def law_of(pieces: tuple[Piece, ...] | None, rate: Fraction) -> IntegerLaw:
    return near(family_of(pieces), rate)


@pytest.mark.parametrize(("pieces", "rate"), CASES)
def test_cuts_are_the_floors_of_the_law(pieces: tuple[Piece, ...] | None, rate: Fraction) -> None:
    sampler = built(pieces, rate)
    law = law_of(pieces, rate)
    table = sampler._table

    expected = [floor(law.cdf(edge) * WORD) for edge in table._edges]

    assert table._cuts.tolist() == expected


@pytest.mark.parametrize(("pieces", "rate"), CASES)
@given(data=st.data())
def test_every_draw_is_the_inverse_of_its_bits(
    pieces: tuple[Piece, ...] | None, rate: Fraction, data: st.DataObject
) -> None:
    law = law_of(pieces, rate)
    sampler = built(pieces, rate)
    cuts = sampler._table._cuts.tolist()
    anywhere = st.integers(0, WORD - 1)
    near_a_cut = st.builds(
        lambda cut, off: min(max(cut + off, 0), WORD - 1), st.sampled_from([*cuts, 0]), st.integers(-1, 1)
    )
    word = data.draw(anywhere | near_a_cut | st.sampled_from([0, WORD - 1]))
    later = data.draw(st.integers(1, (1 << 256) - 1) | st.sampled_from([1, (1 << 256) - 1]))
    uniform = Fraction(word << 256 | later, 1 << 320)

    (drawn,) = sampler.draw(script(uniform), count=1)

    assert drawn == first_above(law, uniform, int(drawn))


@pytest.mark.parametrize(("pieces", "rate"), CASES[:5])
@pytest.mark.parametrize("agreeing_words", [1, 2, 3, 4])
def test_refinement_decides_a_tie(
    pieces: tuple[Piece, ...] | None, rate: Fraction, agreeing_words: int
) -> None:
    # U is cut from F(edge) itself, so its first words agree with the cut, and differs only after them.
    sampler = built(pieces, rate)
    law = law_of(pieces, rate)
    edges = sampler._table._edges
    for edge in (edges[0], edges[len(edges) // 2], edges[-1]):
        scale = 1 << (64 * agreeing_words)
        agreed = floor(law.cdf(edge) * scale)
        just_below = Fraction(agreed, scale) + Fraction(1, 1 << 320)
        just_above = Fraction(agreed + 1, scale) - Fraction(1, 1 << 320)

        for uniform, is_below in ((just_below, True), (just_above, False)):
            source = script(uniform)
            (drawn,) = sampler.draw(source, count=1)
            assert (drawn <= edge) == is_below
            assert drawn == first_above(law, uniform, int(drawn))
            assert source.used > 2, "64 bits left it open, so more were drawn"


@pytest.mark.parametrize(("pieces", "rate"), [CASES[0], CASES[1], CASES[3], CASES[4]])
def test_many_draws_at_once_each_follow_their_own_bits(
    pieces: tuple[Piece, ...] | None, rate: Fraction
) -> None:
    # Draws that the guide settles, draws that are searched, ties and open ends, all mixed in one call.
    sampler = built(pieces, rate)
    law = law_of(pieces, rate)
    table = sampler._table
    cuts = table._cuts.tolist()
    words = [
        1 << 60,
        0,
        cuts[-1],
        5 << 61,
        cuts[len(cuts) // 2],
        WORD - 1,
        cuts[0],
        3 << 59,
        cuts[-1] + 1,
        WORD - 9,
    ]
    words += [WORD // 3, cuts[0] + 5, 7 << 60, cuts[-1] - 5]
    first = np.array([word >> 48 for word in words], dtype=np.uint16)
    first = np.append(first, np.zeros(-len(words) % 4, dtype=np.uint16)).view(np.uint64)
    searched = [word for word in words if table._guide[word >> 48] < 0]
    assert 3 < len(searched) < len(words)
    later = 0x123456789ABCDEF0
    source = Scripted(
        [*first.tolist(), *((word & ((1 << 48) - 1)) << 16 for word in searched), *[later] * 60]
    )

    drawn = sampler.draw(source, count=len(words))

    for word, value in zip(words, drawn.tolist(), strict=True):
        uniform = Fraction((word << 256) + sum(later << (64 * i) for i in range(4)), 1 << 320)
        assert value == first_above(law, uniform, value)


def test_an_open_end_is_never_settled_by_the_guide() -> None:
    # A table with almost everything in its open ends: each such draw must be found by its own bits.
    rate = Fraction(1, 10)
    law = near(TwoSidedGeometric, rate)
    table = CertifiedTable(blocks.certified(TwoSidedGeometric, rate), [-1, 0], open_low=True, open_high=True)
    for word in (1, 1 << 50, WORD // 4, WORD // 2, WORD // 4 * 3, WORD - 2):
        uniform = Fraction((word << 256) + 12345, 1 << 320)
        (slot,), strays = table.slots(script(uniform), count=1)
        value = strays[0][1] if strays else 0
        assert value == first_above(law, uniform, value)
        assert bool(strays) == (slot != 1)


def test_a_cut_settles_all_but_its_own_word() -> None:
    sampler = GeometricSampler(None, Fraction(1, 10))
    table = sampler._table
    cut = int(table._cuts[40])
    for word, expected in ((cut - 1, table._edges[40]), (cut + 1, table._edges[41])):
        source = script(Fraction(word, WORD))
        assert sampler.draw(source, count=1) == [expected]
        assert source.used == 2


def test_the_guide_counts_every_first_word_once() -> None:
    # All 65,536 values of the first 16 bits: what the guide settles must agree with the cuts.
    table = GeometricSampler(None, Fraction(1, 10))._table
    for first_bits in range(0, 1 << 16, 7):
        settled = int(table._guide[first_bits])
        low = np.searchsorted(table._cuts, np.uint64(first_bits << 48), side="right")
        high = np.searchsorted(table._cuts, np.uint64((first_bits << 48) + (1 << 48) - 1), side="right")
        if settled >= 0:
            assert settled == low == high
            assert 0 < settled < len(table._edges), "an open end is never settled by the guide"


def test_a_wrong_cut_is_noticed() -> None:
    # What the tests above would see if one floor were off by one.
    sampler = GeometricSampler(None, Fraction(1, 10))
    law = near(TwoSidedGeometric, Fraction(1, 10))
    table = sampler._table
    uniform = Fraction(int(table._cuts[40]) + 1, WORD)
    table._cuts[40] += 1
    table._cuts[40] += 1
    (drawn,) = sampler.draw(script(uniform), count=1)

    assert drawn != first_above(law, uniform, int(drawn))


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 1 << 40), Fraction(1, 10), Fraction(50)])
@pytest.mark.parametrize("power", [70, 100, 200])
def test_the_open_ends_reach_any_distance(rate: Fraction, power: int) -> None:
    # P[X >= k] = P[X <= -k] = a^k / (1+a): the textbook's tail, in 200 decimal digits.
    sampler = GeometricSampler(None, rate)
    tail = Fraction(3, 1 << power)
    (high,) = sampler.draw(script(1 - tail), count=1)
    (low,) = sampler.draw(script(tail - Fraction(1, 1 << 320)), count=1)
    with localcontext() as context:
        context.prec = 200
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        edge = Decimal(tail.numerator) / Decimal(tail.denominator)

        for k in (int(high), -int(low)):
            assert (-g * (k + 1)).exp() / (1 + (-g).exp()) < edge <= (-g * k).exp() / (1 + (-g).exp())


def test_values_beyond_64_bits_are_saturated(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = GeometricSampler(None, Fraction(1, 1 << 40))
    stray = [(0, 1 << 70)]
    slots = np.zeros(1, dtype=np.int16)
    monkeypatch.setattr(sampler._table, "slots", lambda entropy, count: (slots, stray))

    assert sampler.draw(script(Fraction(1, 2)), count=1) == [2**63 - 1]


@pytest.mark.parametrize("size", [1, 2, 5, 1024])
def test_a_digit_has_no_open_end(size: int) -> None:
    law = blocks.certified(partial(truncated_geometric, size), Fraction(1, 1000))
    table = CertifiedTable(law, range(size - 1))
    words = [0, WORD - 1]
    for word in words:
        slots, strays = table.slots(script(Fraction(word, WORD)), count=1)
        assert strays == []
        assert slots == [0 if word == 0 else size - 1]


def test_a_sampler_is_built_once() -> None:
    assert sampler_of(Geometric(Fraction(1, 7))) is sampler_of(Geometric(Fraction(1, 7)))
