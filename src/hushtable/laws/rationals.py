"""Numbers that privacy depends on, as exact rationals.

Promise: a number is read as what its shortest decimal text says (0.1 means 1/10, in NumPy's floats
too); whatever is not a finite number, or lies outside the allowed range, is one clear error.
"""

from __future__ import annotations

import numbers
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from hushtable.errors import BadNumber

Rational: TypeAlias = int | float | str | Decimal | Fraction

# Noise at this rate passes 2^62 with chance exp(-2^22), so 64-bit counts hold it.
SMALLEST_RATE = Fraction(1, 1 << 40)
# Above, chances lie so close to 0 and 1 that certifying them takes ever more bits; noise is 0 long before.
LARGEST_RATE = Fraction(1 << 10)

# "1e999999999" is ten characters of text and a gigabyte of integer; nobody means it.
_LARGEST_EXPONENT = 4_000


def as_fraction(value: Rational, *, name: str) -> Fraction:
    """Return `value` as an exact rational; a float means its shortest decimal text.

    ==================================  ==========================
    value                               result
    ==================================  ==========================
    ``1``, ``"0.1"``, ``"1/50"``        the number
    ``0.1``, ``np.float32(0.1)``        1/10
    NaN, infinity, a bool, other types  `BadNumber`
    ==================================  ==========================

    >>> as_fraction(0.1, name="epsilon")
    Fraction(1, 10)
    """
    match value:
        case bool() | np.bool_():
            readable = None
        case Fraction() | Decimal() | str():
            readable = value
        case float() | np.floating():
            # NumPy's own repr says "np.float64(0.1)"; its str is the shortest text that reads back.
            readable = str(value)
        case numbers.Integral():
            readable = Fraction(int(value))
        case _:
            readable = None
    if readable is not None and _reasonable(readable):
        try:
            return Fraction(readable)
        except (ValueError, OverflowError, ZeroDivisionError):
            pass  # said below, in our words
    raise BadNumber(
        name=name,
        value=value,
        allowed="is not a finite number",
        hint="Write it as 0.1 or 1/50; in Python, text, an int, a Decimal or a Fraction is exact.",
    )


def as_positive(value: Rational, *, name: str, hint: str) -> Fraction:
    """Return `value` as an exact rational above 0; `hint` says what typical values are."""
    rational = as_fraction(value, name=name)
    if rational <= 0:
        raise BadNumber(name=name, value=value, allowed="is not above 0", hint=hint)
    return rational


def as_rate(value: Rational) -> Fraction:
    """Return a noise rate, epsilon divided by sensitivity, as an exact rational above 0.

    >>> as_rate("1/210")
    Fraction(1, 210)
    """
    hint = "It is epsilon / sensitivity; typical values lie between 0.0001 and 10."
    rate = as_positive(value, name="rate", hint=hint)
    if rate < SMALLEST_RATE:
        raise BadNumber(
            name="rate", value=value, allowed="is below 2^-40, where noise outgrows 64-bit counts", hint=hint
        )
    if rate > LARGEST_RATE:
        allowed = "is above 2^10, where no noise is left, and no privacy"
        raise BadNumber(name="rate", value=value, allowed=allowed, hint=hint)
    return rate


def as_count(value: int, *, name: str) -> int:
    """Return `value` as a plain int of 0 or more: a size, a number of cells, a number of draws."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise BadNumber(
            name=name, value=value, allowed="is not a whole number", hint="Pass an int of 0 or more."
        )
    if value < 0:
        raise BadNumber(name=name, value=value, allowed="is below 0", hint="Pass an int of 0 or more.")
    return int(value)


def _reasonable(value: Fraction | Decimal | str) -> bool:
    """Whether reading `value` yields an integer ratio that fits in memory."""
    text = str(value) if not isinstance(value, Fraction) else ""
    _, _, exponent = text.lower().partition("e")
    digits = exponent.strip().lstrip("+-").replace("_", "").lstrip("0")
    return len(text) <= 10_000 and (not digits.isdecimal() or int(digits[:10]) <= _LARGEST_EXPONENT)
