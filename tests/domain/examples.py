"""Domains to test with: random kinds of every sort, attributes with rules, and texts of domain files."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Kind, Other, Rule, Times
from hushtable.domain.kinds import FINEST
from hushtable.domain.syntax import attribute_of

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"]
COMMUTE = """
title = "Commuters"
[[attribute]]
name = "home"
column = "h_geocode"
integers = { low = 0, high = 999999 }
[[attribute]]
name = "sector"
categories = ["farming", "industry", "services"]
missing = { other = "unknown" }
[[attribute]]
name = "age"
bins = { start = 0, stop = 100, step = 5 }
outside = "clamp"
[[attribute]]
name = "income"
bins = { edges = [0, 0.5, 1e3] }
[[attribute]]
name = "when"
times = { start = "2024-01-01", stop = "2025-01-01", every = "1 day", timezone = "UTC" }
"""


@st.composite
def integers(draw: st.DrawFn) -> Integers:
    low = draw(st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100))
    widest = min(2**63 - 1, low + 2**63 - 2)
    return Integers(low=low, high=draw(st.integers(low, widest) | st.integers(low, min(low + 9, widest))))


@st.composite
def categories(draw: st.DrawFn) -> Categories:
    text = st.text(max_size=5) | st.sampled_from(["06001", " 06001", "6001", "a", "A", ""])
    values = draw(st.lists(text, min_size=1, max_size=9, unique=True))
    labels = draw(st.none() | st.lists(text, min_size=len(values), max_size=len(values)))
    return Categories(values=tuple(values), labels=None if labels is None else tuple(labels))


@st.composite
def bins(draw: st.DrawFn) -> Bins:
    shared = draw(st.sampled_from([1, 2, 3, 10, 100, 7, FINEST - 1]) | st.integers(1, 10**6))
    first = draw(st.integers(-FINEST + 1, FINEST - 2) | st.integers(-1000, 1000))
    width = draw(st.integers(1, FINEST - 1 - first) | st.integers(1, min(100, FINEST - 1 - first)))
    size = draw(st.integers(1, (FINEST - 1 - first) // width) | st.just(1))
    start, step = Fraction(first, shared), Fraction(width, shared)
    return Bins(start=start, stop=start + size * step, step=step)


@st.composite
def edges(draw: st.DrawFn) -> Edges:
    number = draw(
        st.sampled_from(
            [
                st.fractions(-(10**6), 10**6, max_denominator=1000),
                st.integers(-(2**63), 2**63 - 1).map(Fraction),
                st.floats(-1e18, 1e18).map(Fraction),
            ]
        )
    )
    chosen = draw(st.lists(number, min_size=2, max_size=9, unique_by=float))
    return Edges(edges=tuple(sorted(chosen)))


@st.composite
def times(draw: st.DrawFn) -> Times:
    zone = draw(st.sampled_from(ZONES))
    if draw(st.booleans()):
        every = draw(st.sampled_from([1, 3, 12, 120]))
        first, size = draw(st.integers(12, 5000 * 12)), draw(st.integers(1, 400))
        last = first + every * size
        start, stop = (datetime(month // 12, month % 12 + 1, 1) for month in (first, last))
        return Times(start=start, stop=stop, every=every, unit="month", timezone=zone)
    start = draw(st.datetimes(datetime(1, 1, 1), datetime(9000, 1, 1))).replace(microsecond=0)
    if draw(st.booleans()):
        start = start.replace(hour=0, minute=0, second=0)
    every = draw(st.sampled_from([1, 60, 900, 3600, 86_400, 7 * 86_400]) | st.integers(1, 10**6))
    stop = start + draw(st.integers(1, 10**10 // every)) * timedelta(seconds=every)
    return Times(start=start, stop=stop, every=every, unit="second", timezone=zone)


kinds: st.SearchStrategy[Kind] = st.one_of(integers(), categories(), bins(), edges(), times())


def lines(*, min_size: int = 0, max_size: int | None = None) -> st.SearchStrategy[str]:
    """Texts that a title may be: of one line, all of it printable."""
    letters = st.characters(categories=["L", "M", "N", "P", "S"], include_characters=" ")
    return st.text(letters, min_size=min_size, max_size=max_size)


@st.composite
def attributes(draw: st.DrawFn, name: str = "x") -> Attribute:
    values = draw(kinds)
    missing: list[Rule] = ["drop", "error"]
    outside: list[Rule] = ["drop", "error"]
    if isinstance(values, Categories):
        others: list[Rule] = [Other(value=draw(st.text(max_size=3))), Other(value=values.values[-1])]
        missing, outside = missing + others, outside + others
    else:
        outside.append("clamp")
    return Attribute(
        name=name,
        column=draw(st.sampled_from(["", name, "another"])),
        values=values,
        missing=draw(st.sampled_from(missing)),
        outside=draw(st.sampled_from(outside)),
    )


def codes_below(size: int) -> st.SearchStrategy[list[int]]:
    """Some codes, the first and the last among the likely ones."""
    return st.lists(st.sampled_from([0, size - 1, size // 2]) | st.integers(0, size - 1), max_size=8)


@st.composite
def with_levels(draw: st.DrawFn, name: str = "x", *, errors: bool = True) -> Attribute:
    """An attribute with one to three levels, and rules; `errors`: whether a rule may be "error"."""
    declared = draw(
        st.sampled_from([_listed_levels, _wider_bins, _longer_times]).flatmap(lambda each: each())
    )
    missing: list[Any] = ["drop", "error"] if errors else ["drop"]
    outside = [*missing, "clamp"]
    if "categories" in declared:
        missing = outside = [*missing, {"other": "none"}, {"other": "?"}]
    rules = {"missing": draw(st.sampled_from(missing)), "outside": draw(st.sampled_from(outside))}
    return attribute_of({"name": name, **declared, **rules})


@st.composite
def _listed_levels(draw: st.DrawFn) -> dict[str, Any]:
    """Categories whose groups are grouped again and again."""
    values = draw(st.lists(st.text("ab1 ", max_size=3), min_size=1, max_size=9, unique=True))
    groups = list(range(len(values)))
    levels = {}
    for level in range(draw(st.integers(1, 3))):
        merged = {group: draw(st.integers(0, 3)) for group in dict.fromkeys(groups)}
        groups = [merged[group] for group in groups]
        # Some coarser values are spelt like finer ones, which must not be confused with them.
        names = [values[group] if group < len(values) else f"group {group}" for group in groups]
        levels[f"level {level}"] = names
    return {"categories": {"values": values, "levels": levels}}


@st.composite
def _wider_bins(draw: st.DrawFn) -> dict[str, Any]:
    factors = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    step = draw(st.sampled_from(["1", "5", "1/2", "1/3", "0.1"]).map(Fraction))
    start = draw(st.integers(-20, 20)) * draw(st.sampled_from([step, Fraction(1, 10)]))
    steps = [step * prod(factors[:many]) for many in range(1, len(factors) + 1)]
    stop = start + draw(st.integers(1, 4)) * steps[-1]
    table = {"start": str(start), "stop": str(stop), "step": str(step)}
    return {"bins": {**table, "levels": [str(each) for each in steps]}}


@st.composite
def _longer_times(draw: st.DrawFn) -> dict[str, Any]:
    start, stop, every, levels = draw(
        st.sampled_from(
            [
                ("2023-03-01", "2025-03-01", "1 day", ["1 month", "3 months", "1 year"]),
                ("2023-12-01", "2024-03-01", "8 hours", ["1 day", "1 month"]),
                ("2024-03-31 00:00", "2024-04-07 00:00", "15 minutes", ["30 minutes", "6 hours", "1 week"]),
                ("2024-03-30 11:11:11", "2024-03-31 11:11:11", "1 second", ["1 minute", "12 hours"]),
                ("1999-01-01", "2005-01-01", "2 months", ["6 months", "2 years"]),
            ]
        )
    )
    zone = draw(st.sampled_from(ZONES))
    return {"times": {"start": start, "stop": stop, "every": every, "levels": levels, "timezone": zone}}


def first_of(attribute: Attribute, code: int) -> Any:
    """The value that a code decodes to: a text, or the lower edge."""
    return attribute.values.decode(np.array([code]))[0].as_py()
