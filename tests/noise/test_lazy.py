"""A lazily revealed uniform number answers as if all its bits had been there from the start."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import InternalError
from hushtable.laws import balls
from hushtable.laws.balls import Real, rational_real
from hushtable.laws.geometric import Geometric
from hushtable.noise.lazy import LazyUniform, smallest
from tests.harness.scripted import Scripted

words = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1])


def as_number(script: list[int]) -> Fraction:
    """The number whose binary digits the words are."""
    number = 0
    for word in script:
        number = number << 64 | word
    return Fraction(number, 1 << (64 * len(script)))


@given(st.lists(words, min_size=3, max_size=3), st.lists(st.fractions(min_value=0, max_value=1), max_size=5))
def test_comparisons_are_those_of_the_whole_number(script: list[int], reals: list[Fraction]) -> None:
    uniform = LazyUniform(Scripted([*script, 1]))  # the last digit decides what is still equal
    number = as_number([*script, 1])

    for real in reals:
        assert uniform.below(real) == (number < real)


def test_bits_are_drawn_only_while_undecided() -> None:
    third = Fraction(1, 3)
    first = (1 << 64) // 3
    second = ((1 << 128) // 3) & ((1 << 64) - 1)

    source = Scripted([first - 1])
    assert LazyUniform(source).below(third)
    source = Scripted([first, second, 0])
    assert LazyUniform(source).below(third)
    assert source.left == 0, "two words agree with 1/3, so a third was needed"
    source = Scripted([first, second, 2**64 - 1])
    assert not LazyUniform(source).below(third)


@given(st.integers(1, 2**64 - 1))
def test_a_dyadic_chance_needs_no_more_bits(word: int) -> None:
    chance = Fraction(word, 1 << 64)

    assert LazyUniform(Scripted([word - 1])).below(chance)
    assert not LazyUniform(Scripted([word])).below(chance)


def test_known_bits_are_kept() -> None:
    uniform = LazyUniform(Scripted([]), value=5, bits=4)

    assert uniform.below(Fraction(3, 8))
    assert not uniform.below(Fraction(5, 16))


@pytest.mark.parametrize("goal", [-(10**30), -7, 0, 3, 10**12])
@pytest.mark.parametrize("bounds", [(None, None), (-(10**31), None), (None, 10**31), (-(10**31), 10**31)])
def test_smallest_finds_the_turn(goal: int, bounds: tuple[int | None, int | None]) -> None:
    assert smallest(lambda k: k >= goal, low=bounds[0], high=bounds[1]) == goal


@pytest.mark.parametrize("script", [[0, 12345], [2**64 - 1, 2**64 - 2], [0, 0, 1], [2**63, 77]])
def test_inversion_finds_the_value_by_its_definition(script: list[int]) -> None:
    rate = Fraction(1, 10)

    def cdf(k: int) -> Real:
        return lambda precision: Geometric(rate).exact().cdf(k)

    k = LazyUniform(Scripted([*script, 1, 1, 1])).invert(cdf, low=None, high=None)

    assert LazyUniform(Scripted([*script, 1, 1, 1])).below(cdf(k))
    assert not LazyUniform(Scripted([*script, 1, 1, 1])).below(cdf(k - 1))


def test_a_comparison_that_cannot_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # U agrees with the real in every bit: chance 0, so only a broken source does this.
    monkeypatch.setattr(balls, "_HIGHEST_PRECISION", 1 << 14)  # soon; the product's own limit takes seconds

    class Thirds:
        secure = False

        def words(self, count: int) -> object:
            return [0x5555555555555555] * count

    with pytest.raises(InternalError, match="bits of precision"):
        LazyUniform(Thirds()).below(rational_real(Fraction(1, 3)))  # type: ignore[arg-type]
