"""Uniform integers: every value equally often, counted over every script of bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushtable.errors import BadNumber
from hushtable.noise import uniform_below, uniform_integer
from tests.harness.scripted import outcomes
from tests.harness.statistics import ALARM, FloatLaw, draws, fits, follows, replay


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 8])
def test_every_value_has_the_same_chance_exactly(bound: int) -> None:
    bits = max(1, (bound - 1).bit_length())
    vector, left = outcomes(lambda s: int(uniform_below(bound, s, count=1)[0]), bits=bits, depth=4)
    scalar, also_left = outcomes(lambda s: uniform_integer(bound, s), bits=bits, depth=4)

    assert set(vector) == set(scalar) == set(range(bound))
    assert len(set(vector.values())) == len(set(scalar.values())) == 1
    assert sum(vector.values()) + left == sum(scalar.values()) + also_left == 1


def test_pairs_are_independent_exactly() -> None:
    law, _ = outcomes(lambda s: tuple(uniform_below(3, s, count=2).tolist()), bits=2, depth=4)

    assert len(law) == 9
    assert len(set(law.values())) == 1


def test_folding_would_be_noticed() -> None:
    # What a modulus does: 0 comes twice as often as it should.
    law, _ = outcomes(lambda s: int(s.words(1)[0] >> np.uint64(62)) % 3, bits=2, depth=1)

    assert law[0] == 2 * Fraction(1, 4) != law[1]


def uniform_law(bound: int) -> FloatLaw:
    return FloatLaw(lambda x: 1 / bound, lambda x: min(1.0, max(0.0, (x + 1) / bound)), 0, bound - 1)


@pytest.mark.parametrize("bound", [6, 1000, 10**12, 2**64 - 1, 2**64])
def test_uniform_below_follows_its_law(bound: int) -> None:
    sample = uniform_below(bound, replay(500), count=draws(20_000))

    assert follows(sample, uniform_law(bound)) > ALARM
    assert fits(sample, uniform_law(bound * 5 // 4)) < ALARM
    assert fits(sample, uniform_law(bound * 3 // 4)) < ALARM


def test_uniform_integer_follows_its_law_beyond_64_bits() -> None:
    bound, entropy = 10**30, replay(501)
    sample = [uniform_integer(bound, entropy) for _ in range(draws(2_000))]

    assert follows(sample, uniform_law(bound)) > ALARM
    assert fits(sample, uniform_law(bound * 5 // 4)) < ALARM
    assert follows([x % 8 for x in sample], uniform_law(8)) > ALARM


def test_the_only_value_below_1_is_0() -> None:
    assert uniform_integer(1, replay(502)) == 0
    assert uniform_below(1, replay(502), count=3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bound", [0, -1, 2.0, "6"])
def test_bad_bounds_are_one_clear_error(bound: int) -> None:
    with pytest.raises(BadNumber, match="bound="):
        uniform_below(bound, replay(503), count=1)
    with pytest.raises(BadNumber, match="bound="):
        uniform_integer(bound, replay(503))


def test_a_bound_above_64_bits_names_the_way_out() -> None:
    with pytest.raises(BadNumber, match=r"above 2\^64.*uniform_integer"):
        uniform_below(2**64 + 1, replay(504), count=1)
