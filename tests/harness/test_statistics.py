"""The harness itself: known broken samplers must fail, and a correct one must pass at the stated rate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushtable.laws.integers import TwoSidedGeometric, one_sided_geometric
from hushtable.laws.thresholds import TruncatedGeometric
from hushtable.noise import cell_noise, signs, two_sided_geometric
from hushtable.noise import one_sided_geometric as draw_one_sided
from tests.harness.scripted import Scripted, outcomes
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    chernoff,
    fits,
    from_masses,
    law_at,
    noise_from,
    replay,
)

LAW = law_at(TwoSidedGeometric, Fraction(1))


def test_fits_catches_a_sampler_that_counts_zero_twice() -> None:
    entropy = replay(1)
    draws = draw_one_sided(1, entropy, count=20_000) * signs(entropy, count=20_000)

    assert fits(draws, LAW) < ALARM


def test_fits_catches_a_sampler_that_rounds_laplace_noise() -> None:
    # What a float library would do: right in the large, wrong at every single value.
    draws = np.rint(np.random.default_rng(1).laplace(scale=1.0, size=20_000)).astype(np.int64)

    assert fits(draws, LAW) < ALARM


def test_fits_catches_a_sampler_with_a_short_tail() -> None:
    draws = two_sided_geometric(Fraction(1, 10), replay(2), count=20_000)

    assert fits(np.clip(draws, -20, 20), law_at(TwoSidedGeometric, Fraction(1, 10))) < ALARM


def test_fits_catches_a_sampler_that_never_returns_one_value() -> None:
    draws = two_sided_geometric(1, replay(3), count=20_000)
    draws[draws == 2] = 1

    assert fits(draws, LAW) < ALARM


def test_the_law_of_noise_from_a_size_on_holds_the_largest_noise() -> None:
    """A float law that ends one value early gives 0 to every sample with the largest one."""
    law = TruncatedGeometric(Fraction(1, 2), 13)
    chance, left = noise_from(law, -2)
    draws = cell_noise(law, replay(8), count=20_000)
    draws = draws[draws >= -2]

    assert draws.max() == left.highest == law.highest == 13
    assert left.lowest == -2
    assert left.cdf(13) == pytest.approx(1)
    assert fits(draws, left) > ALARM
    assert chernoff(draws.size, 20_000, chance) > ALARM
    early = from_masses({x: left.mass(x) for x in range(-2, 13)})
    assert fits(draws, early) == 0


def test_fits_compares_some_of_very_many_values() -> None:
    # 20,000 draws of nearly as many values: enough of them are looked at to see a shift by 6 % of the scale.
    rate = Fraction(1, 10**6)
    draws = two_sided_geometric(rate, replay(7), count=20_000)
    law, wrong = law_at(TwoSidedGeometric, rate), law_at(TwoSidedGeometric, rate * Fraction(4, 5))

    assert np.unique(draws).size > 19_000
    assert fits(draws, law) > ALARM
    assert fits(draws + 60_000, law) < ALARM
    assert fits(draws, wrong) < ALARM


def test_fits_looks_at_a_value_that_many_draws_share() -> None:
    # 1,500 single values and one that a tenth of the draws share, anywhere among them.
    law = from_masses({x: Fraction(1, 3_000) for x in range(3_000)})
    draws = np.random.default_rng(8).integers(0, 3_000, size=3_000)
    for at in (0, 1_234, 2_999):
        draws[:300] = at
        single = FloatLaw(lambda x: 0.0, law.cdf, 0, 2_999)  # no value is likely: only the curve can tell

        assert np.unique(draws).size > 1_500
        assert fits(draws, single) < 1e-4
    draws[:300] = np.random.default_rng(9).integers(0, 3_000, size=300)
    assert fits(draws, single) > 0.01


def test_fits_catches_a_value_outside_the_support() -> None:
    draws = draw_one_sided(1, replay(4), count=100)
    law = law_at(one_sided_geometric, Fraction(1))

    assert fits(np.append(draws, -1), law) == 0.0


def test_fits_catches_swapped_digits() -> None:
    # High and low digit exchanged: the whole range is covered, in the wrong order.
    draws = draw_one_sided(Fraction(1, 64), replay(5), count=20_000)
    low = draws < 256
    draws[low] = draws[low] % 16 * 16 + draws[low] // 16

    assert fits(draws, law_at(one_sided_geometric, Fraction(1, 64))) < ALARM


def test_fits_passes_a_correct_sampler_far_more_often_than_it_must() -> None:
    generator = np.random.default_rng(6)
    law = from_masses({0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)})

    smallest = min(fits(generator.binomial(2, 0.5, size=500), law) for _ in range(400))

    assert smallest > 1 / 400 / 100


@pytest.mark.parametrize(("count", "size", "chance"), [(70, 100, 0.5), (3, 1000, 0.02), (30, 30, 0.2)])
def test_chernoff_bounds_the_exact_tail(count: int, size: int, chance: float) -> None:
    from math import comb

    masses = [comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(size + 1)]
    tail = sum(masses[count:]) if count > size * chance else sum(masses[: count + 1])

    assert tail <= chernoff(count, size, chance)
    assert chernoff(size + 1, size, chance) == chernoff(-1, size, chance) == 0


def test_outcomes_adds_up_every_script() -> None:
    # Two coins, drawn again when both are heads: the law of the number of heads, up to three rounds.
    def heads(source: Scripted) -> int:
        while (both := int(source.words(1)[0]) >> 62) == 3:
            pass
        return both.bit_count()

    law, unfinished = outcomes(heads, bits=2, depth=3)

    assert unfinished == Fraction(1, 64)
    assert law[1] == 2 * law[0] == 2 * Fraction(1, 4) * (1 + Fraction(1, 4) + Fraction(1, 16))
    assert sum(law.values()) + unfinished == 1
