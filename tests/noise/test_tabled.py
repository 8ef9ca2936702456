"""Noise of any law by a table of its chances: of one that is drawn otherwise too, in slots of all widths."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.thresholds import TruncatedGeometric
from hushtable.noise import cell_noise, tabled
from hushtable.noise.tabled import TabledSampler
from tests.harness.cases import few
from tests.harness.statistics import ALARM, accepted_at, draws, fits, follows, from_masses, law_at, replay

MORE, LESS = Fraction(3, 4), Fraction(5, 4)
RULES: list[Acceptance | Band] = [
    Acceptance(),
    Acceptance(cutoff="30.5"),
    Acceptance(threshold="47.5"),
    Acceptance(cutoff=12, threshold=60),
    Acceptance(threshold=500),
    Band(wider=Acceptance(threshold=31), narrower=Acceptance(threshold="80.25")),
    Band(wider=Acceptance(cutoff=5), narrower=Acceptance(cutoff=90)),
]


@pytest.fixture
def wide_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make slots of many values, of laws that would have a slot for each, and parts of several."""
    _cut(monkeypatch, 8)


def _cut(monkeypatch: pytest.MonkeyPatch, slots: int) -> None:
    for name, count in {"_SINGLES": slots, "_SLOTS": slots, "_PARTS": 64}.items():
        monkeypatch.setattr(tabled, name, count)


@pytest.mark.parametrize("rate", [Fraction(1, 10**5), Fraction(1, 210), Fraction(1), Fraction(50)])
def test_noise_follows_its_law(rate: Fraction) -> None:
    sample = TabledSampler(Geometric(rate), None).draw(replay(330), count=draws(20_000))

    assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
    if rate <= 1:
        assert fits(sample, law_at(TwoSidedGeometric, rate * MORE)) < ALARM
        assert fits(sample, law_at(TwoSidedGeometric, rate * LESS)) < ALARM


@pytest.mark.parametrize("largest", [1, 2, 8])
def test_noise_that_ends_has_its_last_value_with_its_chance(largest: int) -> None:
    """Its chance is the delta that was paid for: without it, or with less of it, others would have more."""
    heights = {x: exp(-abs(x) / 2) for x in range(-largest, largest + 1)}
    exact = from_masses({x: height / sum(heights.values()) for x, height in heights.items()})

    law = TruncatedGeometric(Fraction(1, 2), largest)
    sample = cell_noise(law, replay(340 + largest), count=draws(20_000))

    assert (sample.min(), sample.max()) == (-largest, largest)
    assert follows(sample, exact) > ALARM


@pytest.mark.usefixtures("wide_slots")
def test_noise_of_wide_slots_follows_its_law() -> None:
    rate = Fraction(1, 20)
    sampler = TabledSampler(Geometric(rate), None)
    assert (sampler._widths > 10).any()
    sample = sampler.draw(replay(331), count=draws(10_000))

    assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * MORE)) < ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * LESS)) < ALARM


@pytest.mark.usefixtures("wide_slots")
@pytest.mark.parametrize("rule", few(RULES, every=3))
def test_accepted_sizes_of_wide_slots_follow_their_law(rule: Acceptance | Band) -> None:
    rate = Fraction(1, 20)
    sampler = TabledSampler(Geometric(rate), rule.pieces)
    sample = sampler.draw(replay(332), count=draws(10_000))

    assert follows(sample, accepted_at(rule, Geometric(rate))) > ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * MORE))) < ALARM
    assert fits(sample, accepted_at(rule, Geometric(rate * LESS))) < ALARM


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("slots", [4, 8, 50, 12_000])
def test_slots_cover_the_sizes_and_lie_in_one_piece(
    rule: Acceptance | Band, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cut(monkeypatch, slots)
    sampler = TabledSampler(Geometric(Fraction(1, 20)), rule.pieces)
    pieces = rule.pieces

    assert sampler._firsts[0] == pieces[0].low
    starts = {piece.low for piece in pieces if piece.low <= sampler._firsts[-1]}
    assert starts <= set(sampler._firsts.tolist())
    assert (np.diff(sampler._firsts) == sampler._widths[:-1]).all()


@pytest.mark.usefixtures("wide_slots")
def test_places_that_are_never_refused_would_be_noticed() -> None:
    # Broken on purpose: all places of a slot alike.
    rule, rate = RULES[2], Fraction(1, 20)
    sampler = TabledSampler(Geometric(rate), rule.pieces)
    sampler._sure[:] = 1 << 24
    sample = sampler.draw(replay(333), count=20_000)

    assert fits(sample, accepted_at(rule, Geometric(rate))) < ALARM


@pytest.mark.usefixtures("wide_slots")
def test_parts_that_take_the_bounds_of_others_would_be_noticed() -> None:
    # Broken on purpose: what one part of a slot keeps and refuses, another one does.
    rule, rate = RULES[2], Fraction(1, 20)
    sampler = TabledSampler(Geometric(rate), rule.pieces)
    for bounds in (sampler._low, sampler._high):
        each = bounds.reshape(-1, sampler._parts)
        each[:] = each[:, ::-1].copy()
    sample = sampler.draw(replay(334), count=20_000)

    assert fits(sample, accepted_at(rule, Geometric(rate))) < ALARM


@pytest.mark.usefixtures("wide_slots")
@pytest.mark.parametrize("rule", RULES)
def test_what_is_settled_at_once_lies_outside_of_the_chances(rule: Acceptance | Band) -> None:
    from hushtable.laws.balls import nearest_float

    sampler = TabledSampler(Geometric(Fraction(1, 20)), rule.pieces)
    part = 1 << sampler._part_bits
    assert part > 1
    for slot in np.flatnonzero(sampler._widths > 1).tolist():
        chances = [nearest_float(sampler._chance(slot, place)) for place in range(sampler._widths[slot])]
        assert max(chances) <= 1
        assert sampler._sure[slot] / 2**24 <= min(chances) * (1 + 1e-12)
        for number in range(sampler._parts):
            bounds = slot * sampler._parts + number
            low, high = sampler._low[bounds] / 2**24, sampler._high[bounds] / 2**24
            inside = chances[number * part : (number + 1) * part]
            if len(inside) < part:
                assert low == 0
            if inside:
                assert low <= min(inside) * (1 + 1e-12)
                assert max(inside) <= high + 1e-12
            else:
                assert high == 0
        # In proportion to the law's own masses.
        first = int(sampler._firsts[slot])
        law = accepted_at(rule, Geometric(Fraction(1, 20)))
        masses = [law.mass(first + place) for place in range(len(chances))]
        assert np.array(chances) * sum(masses) == pytest.approx(np.array(masses) * sum(chances), rel=1e-9)
