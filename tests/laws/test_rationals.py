"""Numbers are read as what they say, or refused with one clear error."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BadNumber
from hushtable.laws.rationals import SMALLEST_RATE, as_count, as_fraction, as_rate


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (1, Fraction(1)),
        ("0.1", Fraction(1, 10)),
        ("1/50", Fraction(1, 50)),
        ("1e-3", Fraction(1, 1000)),
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (1e22, Fraction(10**22)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (np.uint64(2**63), Fraction(2**63)),
        (Decimal("0.25"), Fraction(1, 4)),
        (Fraction(2, 3), Fraction(2, 3)),
    ],
)
def test_a_number_means_its_shortest_text(value: int | float | str, meaning: Fraction) -> None:
    assert as_fraction(value, name="epsilon") == meaning


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        "",
        "abc",
        "1/0",
        "0.1.2",
        True,
        np.True_,
        None,
        1j,
        [1],
        b"1",
        "1e999999999",
        "1e-0000000000999999999",
        Decimal("1E+999999"),
    ],
)
def test_what_is_no_finite_number_is_one_clear_error(value: object) -> None:
    with pytest.raises(BadNumber, match=r"^epsilon=.* is not a finite number\. Write it as") as caught:
        as_fraction(value, name="epsilon")  # type: ignore[arg-type]

    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 300


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value: float) -> None:
    assert float(as_fraction(value, name="x")) == value


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_an_error(text: str) -> None:
    with contextlib.suppress(BadNumber):
        as_fraction(text, name="x")


@pytest.mark.parametrize("value", [0, -1, "-0.1", -1e-9])
def test_a_rate_of_0_or_below_is_refused(value: float | str) -> None:
    with pytest.raises(BadNumber, match=r"rate=.* is not above 0\. It is epsilon / sensitivity"):
        as_rate(value)


def test_a_rate_whose_noise_outgrows_64_bits_is_refused() -> None:
    assert as_rate(SMALLEST_RATE) == SMALLEST_RATE
    with pytest.raises(BadNumber, match="noise outgrows 64-bit counts"):
        as_rate(SMALLEST_RATE / 2)


@pytest.mark.parametrize(
    ("value", "problem"), [(-1, "is below 0"), (1.0, "whole"), ("3", "whole"), (True, "whole")]
)
def test_a_bad_count_is_one_clear_error(value: object, problem: str) -> None:
    with pytest.raises(BadNumber, match=rf"size=.* {problem}.*Pass an int"):
        as_count(value, name="size")  # type: ignore[arg-type]


def test_long_values_are_shortened_in_the_message() -> None:
    with pytest.raises(BadNumber) as caught:
        as_fraction("x" * 9_000, name="epsilon")

    assert len(str(caught.value)) < 300
