"""What a value in a question means: a code of its attribute, or a place between codes.

Promise: a value names exactly one code or edge, or is a `BadQuery` that says what the domain has instead.
Bins and times are named by their lower edge, as in a release; a bound is an edge, so no bin is cut in two.
Numbers are read as the domain reads them: 0.1 means 1/10, and a float means the edge nearest to it.
Cost: a few microseconds a value; long lists of whole numbers, floats and times go through NumPy.
"""

from __future__ import annotations

import numbers
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import AnyText, Attribute, Bins, Categories, Edges, Integers, Times
from hushtable.domain.kinds import FINEST, plain
from hushtable.domain.reading import Fate, wall_clock
from hushtable.errors import BadNumber, BadQuery, shown
from hushtable.laws.rationals import as_fraction

_Cut: TypeAlias = Bins | Edges | Times  # kinds whose codes are intervals
_SHOWN_VALUES = 6
_FEW_CATEGORIES = 100_000  # of which close matches are found in less than a second
_UNKNOWN = -1
_PLAIN = {int, float, np.int64, np.float64}


def code_of(attribute: Attribute, value: object) -> int:
    """Return the code that the value names."""
    values = attribute.values
    if isinstance(values, AnyText):
        return _code_of_text(attribute, values, value)
    if isinstance(values, Categories):
        own = values.code_of(value)
        code = own if isinstance(own, int) else _code_of_label(attribute, values, value)
        return _refuse_category(attribute, values, value) if code is None else code
    if isinstance(values, Integers):
        whole = _whole(attribute, value)
        if not values.low <= whole <= values.high:
            hint = f"Its values are the integers from {values.low} to {values.high}."
            raise BadQuery(f"{_said(attribute, value)} lies outside its domain", hint)
        return whole - values.low
    place = _edge_place(attribute, values, value)
    if place == values.size:
        fact = f"{_said(attribute, value)} is where its last {_piece(values)} ends"
        raise BadQuery(fact, f"The last one starts at {edge_text(values, place - 1)}.")
    return place


def bound_of(attribute: Attribute, value: object) -> int:
    """Return how many codes lie below the bound; for integers, a bound outside is the nearest inside."""
    values = attribute.values
    if isinstance(values, AnyText):
        fact = f"{shown(attribute.name)} has values that nobody can list, so it has no ranges"
        raise BadQuery(fact, "Give a list of values.")
    if isinstance(values, Categories):
        fact = f"the categories of {shown(attribute.name)} have no order, so they have no ranges"
        raise BadQuery(fact, f"Give a list of values. {_some_categories(values)}")
    if isinstance(values, Integers):
        return min(max(_whole(attribute, value) - values.low, 0), values.size)
    return _edge_place(attribute, values, value)


def codes_of(attribute: Attribute, several: Sequence[object] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the code of each value."""
    codes = _quick_codes(attribute, several)
    for place in np.flatnonzero(codes == _UNKNOWN).tolist():
        codes[place] = code_of(attribute, several[place])
    return codes


def _quick_codes(attribute: Attribute, several: Sequence[object] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the codes that whole arrays tell; `code_of` reads what is left as unknown, or refuses it."""
    values = attribute.values
    codes = np.full(len(several), _UNKNOWN, dtype=np.int64)
    if isinstance(values, Times):
        times = [_time(attribute, values, each) for each in several]
        places = np.array([_interval(values, time) for time in times], dtype=np.int64)
        inside = np.flatnonzero((places >= 0) & (places < values.size))
        same = [times[i] == start for i, start in zip(inside, _starts(values, places[inside]), strict=True)]
        codes[inside[same]] = places[inside[same]]
        return codes
    read = _plain_array(several)
    if isinstance(values, Integers) and read is not None and read.dtype == np.int64:
        found = (read >= values.low) & (read <= values.high)
        codes[found] = read[found] - values.low
    elif isinstance(values, Bins) and read is not None:
        first, width, shared = values.grid
        # Numerators lie below 2^50, so the one nearest to an edge's float64 is its own.
        with np.errstate(invalid="ignore", over="ignore"):
            nearest = np.clip(np.rint(read.astype(np.float64) * shared), -FINEST, FINEST).astype(np.int64)
        steps, rest = np.divmod(nearest - first, width)
        found = (nearest / np.float64(shared) == read) & (rest == 0) & (steps >= 0) & (steps < values.size)
        codes[found] = steps[found]
    return codes


def _plain_array(several: Sequence[object] | NDArray[Any]) -> NDArray[Any] | None:
    """Return ints and floats of 64 bits, or an array of them, as an array of int64 or float64."""
    if not isinstance(several, np.ndarray | range) and not {type(each) for each in several} <= _PLAIN:
        return None
    try:
        read = np.asarray(several)
    except OverflowError:
        return None
    return read if read.dtype in (np.int64, np.float64) else None


def _number(attribute: Attribute, value: object) -> Fraction:
    """Return the value as an exact number."""
    if isinstance(value, float | np.floating | Decimal | str | numbers.Integral | Fraction):
        try:
            return as_fraction(value, name=attribute.name)  # type: ignore[arg-type]
        except BadNumber:
            pass  # said below, in other words
    raise BadQuery(f"{_said(attribute, value)} is not a number", "Write it as 30, 0.1 or Fraction(1, 3).")


def _whole(attribute: Attribute, value: object) -> int:
    """Return the value as an int."""
    exact = _number(attribute, value)
    if exact.denominator != 1:
        below = exact.numerator // exact.denominator
        hint = f"Its values are integers: write {below} or {below + 1}."
        raise BadQuery(f"{_said(attribute, value)} is not a whole number", hint)
    return int(exact)


def _time(attribute: Attribute, values: Times, value: object) -> datetime:
    """Return the value as wall-clock time; times before year 1 and after 9999 are its ends."""
    read = value
    if isinstance(value, np.datetime64) and not np.isnat(value):
        read = value.astype("M8[us]").item() if value == value.astype("M8[us]") else None
    time = wall_clock(read, values.zone)
    if isinstance(time, datetime):
        return time
    if time in (Fate.OUTSIDE_LOW, Fate.OUTSIDE_HIGH):
        return datetime.min if time is Fate.OUTSIDE_LOW else datetime.max
    hint = 'Write it as "2024-01-05", "2024-01-05 08:00", a date or a datetime.'
    raise BadQuery(f"{_said(attribute, value)} is not a time", hint)


def _interval(values: Times, time: datetime) -> int:
    """Return the interval that holds the time: -1 before all, `size` after them."""
    code = values.code_of(time)
    if isinstance(code, int):
        return code
    return -1 if code is Fate.OUTSIDE_LOW else values.size


def _edge_place(attribute: Attribute, values: _Cut, value: object) -> int:
    """Return which edge the value is: 0 to the number of intervals."""
    if isinstance(values, Times):
        time = _time(attribute, values, value)
        below = _interval(values, time)
        if 0 <= below <= values.size and _edge(values, below) == time:
            return below
    else:
        exact = _number(attribute, value)
        if isinstance(values, Bins):
            below = int((exact - values.start) // values.step)
        else:
            below = bisect_right(values.edges, exact) - 1
        # A float is read as its shortest text, which may lie on either side of an edge such as 1/3.
        for place in (below, below + 1):
            if 0 <= place <= values.size and _is_edge(_edge(values, place), exact, value):
                return place
    below = min(max(below, 0), values.size - 1)
    near = f"{edge_text(values, below)} and {edge_text(values, below + 1)}"
    fact = f"{_said(attribute, value)} is not an edge of its {_piece(values)}s; the nearest are {near}"
    whole = "An interval" if isinstance(values, Times) else "A bin"
    raise BadQuery(fact, f"{whole} cannot be cut: take one of them.")


def _is_edge(edge: Any, exact: Fraction, value: object) -> bool:
    """Whether a number is an edge: exactly, or as the float64 that a release shows for it."""
    if exact == edge or isinstance(value, numbers.Integral):
        return bool(exact == edge)
    try:
        return float(exact) == float(edge)
    except OverflowError:
        return False


def _edge(values: _Cut, place: int) -> Any:
    """Return an edge: a Fraction, or the wall-clock time as a datetime."""
    if isinstance(values, Bins):
        return values.start + place * values.step
    if isinstance(values, Edges):
        return values.edges[place]
    if place == values.size:
        return values.stop
    return _starts(values, np.array([place], dtype=np.int64))[0]


def _starts(values: Times, codes: NDArray[np.int64]) -> list[datetime]:
    """Return when the intervals start, in wall-clock time."""
    starts = values.decode(codes).to_pylist()
    return [datetime(start.year, start.month, start.day) for start in starts] if values.whole_days else starts


def edge_text(values: _Cut, place: int) -> str:
    """Return an edge as people write it."""
    edge = _edge(values, place)
    if isinstance(values, Times):
        return str(edge.date() if values.whole_days else edge)
    return plain(edge)


def _piece(values: _Cut) -> str:
    return "interval" if isinstance(values, Times) else "bin"


def _said(attribute: Attribute, value: object) -> str:
    """Return the condition in the user's words."""
    if isinstance(value, Fraction):
        text = plain(value)
    elif isinstance(value, date | Decimal | np.datetime64):
        text = str(value)
    else:
        text = shown(value.item() if isinstance(value, np.generic) else value)
    return f"{attribute.name} = {text}"


def _code_of_text(attribute: Attribute, values: AnyText, value: object) -> int:
    """Return the code of any text that a row can hold: of one that the release does not show, too."""
    code = values.code_of(value)
    if isinstance(code, int):
        return code
    if not isinstance(value, str):
        raise BadQuery(f"{_said(attribute, value)} is not text", "Write the value in quotes.")
    fact = f"{_said(attribute, value)} is not text of up to {values.longest:,} characters"
    raise BadQuery(fact, "This attribute has no longer values.")


def _code_of_label(attribute: Attribute, values: Categories, value: object) -> int | None:
    """Return the code of the one value that has this label, or None if there is none. Values come first."""
    if values.labels is None or not isinstance(value, str) or value not in values.labels:
        return None
    if values.labels.count(value) > 1:
        pairs = zip(values.values, values.labels, strict=True)
        own = [shown(code) for code, label in pairs if label == value]
        some = ", ".join(own[:_SHOWN_VALUES]) + ", ..." * (len(own) > _SHOWN_VALUES)
        fact = f"{_said(attribute, value)} is the label of {len(own):,} categories"
        raise BadQuery(fact, f"Write their values: {some}.")
    return values.labels.index(value)


def _refuse_category(attribute: Attribute, values: Categories, value: object) -> NoReturn:
    if not isinstance(value, str):
        fact = f"{_said(attribute, value)} is not text, and {shown(attribute.name)} has categories"
        raise BadQuery(fact, f"Write the value in quotes. {_some_categories(values)}")
    known = (*values.values[:_FEW_CATEGORIES], *(values.labels or ())[:_FEW_CATEGORIES])
    near = get_close_matches(value, known, n=3)
    guess = f"Did you mean {' or '.join(shown(each) for each in near)}? " if near else ""
    raise BadQuery(
        f"{_said(attribute, value)} is not one of its categories", guess + _some_categories(values)
    )


def _some_categories(values: Categories) -> str:
    start = ", ".join(shown(each) for each in values.values[:_SHOWN_VALUES])
    more = f", ... ({values.size} in all)" if values.size > _SHOWN_VALUES else ""
    return f"Its values are {start}{more}."
