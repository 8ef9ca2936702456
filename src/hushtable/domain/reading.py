"""How one value of a row is read as a whole number, a number or a time, and why it may not be.

Promise: these rules, and the patterns of text, are the whole meaning of "readable"; every engine follows
them. A type comes from the domain, never from a look at the data.
Cost: one Python value at a time. This is the slow reference that faster coding is tested against.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from math import inf, isnan


class Fate(Enum):
    """Why a value has no code of its own."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    OUTSIDE = "outside"
    OUTSIDE_LOW = "outside, below all values"
    OUTSIDE_HIGH = "outside, above all values"


# All of the text must match, with ASCII digits only. Spaces (U+0020) around numbers are taken off first.
INTEGER_TEXT = r"[+-]?[0-9]+(\.0*)?"
NUMBER_TEXT = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
TIME_TEXT = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"([T ]([0-9]{2}):([0-9]{2})(:([0-9]{2})(\.([0-9]{1,6}))?)?"
    r"(Z|([+-])([01][0-9]|2[0-3])(:?([0-5][0-9]))?)?)?"
)
_INTEGER, _NUMBER, _TIME = (re.compile(pattern) for pattern in (INTEGER_TEXT, NUMBER_TEXT, TIME_TEXT))


def is_missing(value: object) -> bool:
    """Whether `value` is None or not a number at all, NaN."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and isnan(value))


def whole_number(value: object) -> int | float | Decimal | Fate:
    """Return a whole number, in whatever type, or an infinity.

    >>> whole_number(" +007.0 "), whole_number(2.5)
    (Decimal('7.0'), <Fate.UNREADABLE: 'unreadable'>)
    """
    if is_missing(value):
        return Fate.MISSING
    match value:
        case bool():
            return Fate.UNREADABLE
        case int():
            return value
        case float():
            return value if value in (inf, -inf) or value.is_integer() else Fate.UNREADABLE
        case Decimal():
            return value if value == value.to_integral_value() else Fate.UNREADABLE
        case str():
            text = value.strip(" ")
            return Decimal(text) if _INTEGER.fullmatch(text) else Fate.UNREADABLE
        case _:
            return Fate.UNREADABLE


def number(value: object, *, whole_edges: bool) -> int | float | Fate:
    """Return a number as float64, save an int that meets whole edges: that one is compared exactly.

    >>> number("1e3", whole_edges=True), number(2**60 + 1, whole_edges=True)
    (1000.0, 1152921504606846977)
    """
    if is_missing(value):
        return Fate.MISSING
    match value:
        case bool():
            return Fate.UNREADABLE
        case int():
            return value if whole_edges else _nearest(value)
        case float() | Decimal():
            return float(value)
        case str():
            text = value.strip(" ")
            return float(text) if _NUMBER.fullmatch(text) else Fate.UNREADABLE
        case _:
            return Fate.UNREADABLE


def _nearest(value: int) -> float:
    """Return the nearest float64, which is infinite for very large numbers."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def wall_clock(value: object, zone: tzinfo) -> datetime | Fate:
    """Return what a clock on the wall shows: `value` as it is, or in `zone` if it is an instant.

    >>> from zoneinfo import ZoneInfo
    >>> wall_clock("2024-07-01 22:30Z", ZoneInfo("Europe/Berlin"))
    datetime.datetime(2024, 7, 2, 0, 30)
    """
    if is_missing(value):
        return Fate.MISSING
    if isinstance(value, str):
        value = time_of_text(value)
    match value:
        case datetime():
            if value.utcoffset() is None:
                return value.replace(tzinfo=None)
            try:
                return value.astimezone(zone).replace(tzinfo=None)
            except (OverflowError, ValueError):  # in `zone`, the year is 0 or 10000
                return Fate.OUTSIDE_LOW if value.year == 1 else Fate.OUTSIDE_HIGH
        case date():
            return datetime(value.year, value.month, value.day)
        case _:
            return Fate.UNREADABLE


def time_of_text(text: str) -> datetime | None:
    """Return the time that the text names, with its offset if it gives one, or None."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[i] or 0) for i in (1, 2, 3, 5, 6, 8))
    offset = None
    if found[11] == "Z":
        offset = UTC
    elif found[11]:
        shift = timedelta(hours=int(found[13]), minutes=int(found[15] or 0))
        offset = timezone(-shift if found[12] == "-" else shift)
    try:
        return datetime(
            year, month, day, hour, minute, second, int((found[10] or "0").ljust(6, "0")), tzinfo=offset
        )
    except ValueError:  # a 13th month, a 30th of February
        return None
