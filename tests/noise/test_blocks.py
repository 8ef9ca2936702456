"""Long laws by blocks: the law that blocks, digits and refusals add up to is the law asked for, exactly."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import (
    Piece,
    TwoSidedGeometric,
    WeightedGeometric,
    one_sided_geometric,
    truncated_geometric,
)
from hushtable.laws.powers import RationalPowers
from hushtable.noise import accepted_noise, blocks, two_sided_geometric
from hushtable.noise.blocks import GeometricSampler
from hushtable.noise.tables import CertifiedLaw
from tests.harness.scripted import Scripted
from tests.harness.statistics import ALARM, accepted_at, draws, fits, follows, law_at, replay

BASE = Fraction(9, 10)

RULES = [
    Acceptance(),
    Acceptance(cutoff="30.5"),
    Acceptance(threshold="47.5"),
    Acceptance(cutoff=12, threshold=60),
    Acceptance(threshold=500),
    Band(wider=Acceptance(threshold=31), narrower=Acceptance(threshold="80.25")),
    Band(wider=Acceptance(cutoff=5), narrower=Acceptance(cutoff=90)),
    Band(wider=Acceptance(cutoff=5, threshold=20), narrower=Acceptance(cutoff=17, threshold=50)),
]


@pytest.fixture
def short_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks of laws that would have a slot for each value, so that each value can be checked."""
    monkeypatch.setattr(blocks, "_LONGEST_TABLE", 8)
    monkeypatch.setattr(blocks, "_BLOCKS", 8)
    monkeypatch.setattr(blocks, "_SHORTEST_SPLIT", 5)
    monkeypatch.setattr(blocks, "_DIGIT_BITS", 2)


@pytest.mark.usefixtures("short_tables")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("width", [2, 8, 32])
def test_places_kept_in_a_block_have_the_law_of_the_block(rule: Acceptance | Band, width: int) -> None:
    law = WeightedGeometric(rule.pieces, RationalPowers(BASE))
    split = blocks._split(rule.pieces, 100, width)

    covered = [x for block in split for x in range(block.ends[0], block.ends[1] + 1)]
    assert covered == list(range(covered[0], covered[-1] + 1))
    assert covered[0] == law.lowest
    assert covered[-1] >= min(100, law.highest if law.highest is not None else 100)
    for block in split:
        assert block.width <= width
        # Proposed with weight a^r, kept with chance h / largest: the mass of the place within its block.
        kept = [BASE**r * (block.level + block.slope * r) / block.largest for r in range(block.width)]
        mass = [law.mass(block.anchor + r) for r in range(block.width)]
        assert all(0 <= (block.level + block.slope * r) / block.largest <= 1 for r in range(block.width))
        assert [k * sum(mass) for k in kept] == [m * sum(kept) for m in mass]


@pytest.mark.parametrize("width", [2, 16])
def test_mirrored_blocks_have_the_two_sided_law(width: int) -> None:
    law = TwoSidedGeometric(RationalPowers(BASE))
    split = blocks._mirrored(40, width)
    digit = one_sided_geometric(RationalPowers(BASE))
    modulo = [digit.mass(r) / digit.cdf(width - 1) for r in range(width)]

    covered = [x for block in split for x in range(block.ends[0], block.ends[1] + 1)]
    assert covered == list(range(covered[0], -covered[0]))
    for block in split:
        whole = law.cdf(block.ends[1]) - law.cdf(block.ends[0] - 1)
        for r in range(width):
            assert law.mass(block.anchor + block.step * r) == whole * modulo[r]


@pytest.mark.parametrize(
    ("pieces", "rate"),
    [
        (None, Fraction(1, 10**5)),
        (Acceptance(threshold=10**6).pieces, Fraction(1, 10**5)),
        (
            Band(wider=Acceptance(threshold=10**5), narrower=Acceptance(threshold=10**6)).pieces,
            Fraction(1, 10**5),
        ),
        ((Piece(0, 10**8, Fraction(1)),), Fraction(1, 10**5)),
    ],
)
def test_every_slot_is_its_block(pieces: tuple[Piece, ...] | None, rate: Fraction) -> None:
    sampler = GeometricSampler(pieces, rate)
    layout = sampler._layout
    assert isinstance(layout, blocks._Blocks)
    low, high = layout.open_ends
    slots = list(range(len(layout.edges) + 1))[low : len(layout.edges) + 1 - high]
    assert low == (pieces is None)
    for slot in slots:
        first, last = layout._blocks[slot].ends
        assert slot == 0 or layout.edges[slot - 1] == first - 1
        assert slot == len(layout.edges) or layout.edges[slot] == last


@given(
    st.fractions(min_value=0, max_value=3, max_denominator=50),
    st.fractions(min_value=0, max_value=3, max_denominator=50),
    st.integers(2, 16),
    st.data(),
)
def test_a_place_is_kept_exactly_when_its_uniform_is_below_its_chance(
    first: Fraction, last: Fraction, width: int, data: st.DataObject
) -> None:
    if first == last == 0:
        first = Fraction(1)
    slope = (last - first) / (width - 1)
    block = blocks._Block(0, width, 1, first, slope)
    layout = blocks._Blocks(_law_up_to(width - 1), [block], blocks._LowDigits(Fraction(1), 16))
    place = data.draw(st.integers(0, 15))
    chance = (first + slope * place) / block.largest if place < width else Fraction(0)
    exactly = min(int(chance * (1 << 62)), (1 << 62) - 1)
    word = data.draw(st.integers(0, (1 << 62) - 1) | _near(chance) | st.just(exactly))
    later = data.draw(st.integers(1, (1 << 64) - 1))

    kept = layout._kept(_array(place), _slots(), Scripted([word << 2, later, 1]))

    assert bool(kept[0]) == (Fraction((word << 128) + (later << 64) + 1, 1 << 190) < chance)


def test_both_ends_of_the_doubtful_words_are_decided_by_later_bits() -> None:
    # Level and slope both lose almost a whole unit to rounding down: the last place has a chance at the upper
    # end of what the bounds allow, the first place one at the lower end.
    width, scale = 16, 1 << 62
    slope = Fraction(2**57) - Fraction(1, 100)
    block = blocks._Block(0, width, 1, scale - slope * (width - 1), slope)
    layout = blocks._Blocks(_law_up_to(width - 1), [block], blocks._LowDigits(Fraction(1), 16))
    seen_at = set()
    for place in range(width):
        chance = (block.level + slope * place) / block.largest
        word = int(chance * scale)
        if word == scale:
            continue
        low = int(layout._slopes[0]) * place + int(layout._levels[0])
        seen_at.add(word - low)
        for later in (0, (1 << 64) - 1):
            kept = layout._kept(_array(place), _slots(), Scripted([word << 2, later, later]))
            assert bool(kept[0]) == (later == 0)
    assert len(seen_at) > 5, "from the lower end of the doubtful words to the upper one"


@pytest.mark.parametrize("width", [1 << 15, 1 << 16, 1 << 23])
def test_wide_blocks_have_room_for_their_places(width: int) -> None:
    places = blocks._LowDigits(Fraction(1, 10**12), width).draw(replay(205), count=20_000)

    assert places.min() >= 0
    assert width * 0.99 < places.max() < width
    assert (
        follows(places // (width // 8), law_at(partial(truncated_geometric, 8), Fraction(width // 8, 10**12)))
        > ALARM
    )


def test_a_finite_law_reaches_beyond_its_blocks() -> None:
    # P[X >= k] = (a^k - a^L) / (1 - a^L) for k < L: what lies beyond the blocks is found by inversion.
    rate, length = Fraction(1, 10**5), 10**7
    sampler = GeometricSampler((Piece(0, length, Fraction(1)),), rate)
    assert isinstance(sampler._layout, blocks._Blocks)
    for power in (40, 70, 100):
        word = (1 << 320) - (3 << (320 - power))
        source = Scripted([word >> 304, (word >> 256 & ((1 << 48) - 1)) << 16, *[0] * 40])
        source._words[2:6] = [word >> shift & ((1 << 64) - 1) for shift in (192, 128, 64, 0)]
        (k,) = sampler.draw(source, count=1).tolist()
        with localcontext() as context:
            context.prec = 150
            end = (Decimal(-length) / 10**5).exp()

            def tail(x: int, end: Decimal = end) -> Decimal:
                return ((Decimal(-x) / 10**5).exp() - end) / (1 - end)

            assert tail(k + 1) < Decimal(3) / Decimal(2) ** power <= tail(k)
            assert k < length


@pytest.mark.usefixtures("short_tables")
@pytest.mark.parametrize("rule", [*RULES, Acceptance(threshold=10**6)])
def test_blocks_of_short_laws_follow_their_law(rule: Acceptance | Band) -> None:
    rate = Fraction(1, 20)
    sampler = GeometricSampler(rule.pieces, rate)
    assert isinstance(sampler._layout, blocks._Blocks)
    sample = sampler.draw(replay(200), count=draws(20_000))

    assert follows(sample, accepted_at(rule, Geometric(rate))) > ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * Fraction(3, 4)))) < ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * Fraction(5, 4)))) < ALARM


@pytest.mark.usefixtures("short_tables")
def test_blocks_of_short_noise_follow_its_law() -> None:
    rate = Fraction(1, 20)
    sample = GeometricSampler(None, rate).draw(replay(201), count=draws(20_000))

    assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * Fraction(3, 4))) < ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * Fraction(5, 4))) < ALARM


@pytest.mark.usefixtures("short_tables")
@pytest.mark.parametrize("rule", RULES[2:4])
def test_places_that_are_never_refused_would_be_noticed(
    rule: Acceptance, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The fast version broken on purpose: a ramp treated as flat.
    rate = Fraction(1, 20)
    sampler = GeometricSampler(rule.pieces, rate)
    monkeypatch.setattr(sampler._layout, "_flat", True)
    sample = sampler.draw(replay(202), count=20_000)

    assert fits(sample, accepted_at(rule, Geometric(rate))) < ALARM


@pytest.mark.parametrize("rate", [Fraction(1, 10**4), Fraction(1, 610_000), Fraction(1, 10**6)])
def test_low_digits_of_long_noise_follow_their_law(rate: Fraction) -> None:
    # In the large a wrong digit would hide; modulo 16 it cannot.
    sample = two_sided_geometric(rate, replay(203), count=draws(20_000))
    above = sample[sample >= 0] % 16
    below = (-1 - sample[sample < 0]) % 16
    for digits in (above, below):
        assert follows(digits, law_at(partial(truncated_geometric, 16), rate)) > ALARM
        assert fits(digits, law_at(partial(truncated_geometric, 16), Fraction(1, 10))) < ALARM


def test_a_ramp_at_a_small_rate_starts_where_it_should() -> None:
    # 10^5 draws whose law begins with a linear ramp: the first blocks refuse half of all places.
    rate, rule = Fraction(1, 10**5), Acceptance(threshold=10**7, two_sided=False)
    sample = accepted_noise(rule, Geometric(rate), replay(204), count=draws(50_000))

    assert follows(sample, accepted_at(rule, Geometric(rate))) > ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * Fraction(21, 20)))) < ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * Fraction(19, 20)))) < ALARM


def _law_up_to(last: int) -> CertifiedLaw:
    pieces = (Piece(0, last + 1, Fraction(1)),)
    return blocks.certified(partial(WeightedGeometric, pieces), Fraction(1))


def _near(chance: Fraction) -> st.SearchStrategy[int]:
    """Words whose first 62 bits are those of the chance, or next to them."""
    at = int(chance * (1 << 62))
    return (
        st.integers(max(0, at - 20), min((1 << 62) - 1, at + 20)) if at < 1 << 62 else st.just((1 << 62) - 1)
    )


def _array(place: int) -> NDArray[np.int64]:
    return np.array([place], dtype=np.int64)


def _slots() -> NDArray[np.int16]:
    return np.zeros(1, dtype=np.int16)
