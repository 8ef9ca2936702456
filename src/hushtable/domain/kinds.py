"""The kinds of attributes but times: whole numbers, categories, regular bins and bins between edges.

Promise: each kind numbers its values 0, 1, ... in the declared order. `decode` turns codes into one typed
column, `code_of` reads one value, and `code_of` of a decoded value is its code again.
Cost: decoding is a few operations on whole arrays; `code_of` is the slow reference.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from json import dumps
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_text_column, taken
from hushtable.domain.limits import LONGEST_TEXT, MOST_EDGES
from hushtable.domain.reading import Fate, is_missing, number, whole_number
from hushtable.errors import BadDomain, BadNumber, shown
from hushtable.laws.rationals import Rational, as_fraction

if TYPE_CHECKING:
    import pyarrow as pa

# Edges n / q with n and q below this bound differ as float64, are one division of float64 away from n and q,
# and a bin that is guessed in float64 is at most one place off.
FINEST = 1 << 50
_SMALLEST_PART = 10**400
_SHOWN_VALUES = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Integers:
    """Whole numbers from `low` to `high`, both included.

    >>> Integers(low=-5, high=5).code_of("+3")
    8
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, as_whole(getattr(self, name), name=name))
        if self.low > self.high:
            raise BadDomain(f"low = {self.low} is above high = {self.high}", "Swap them; both are included.")
        if self.low < -(1 << 63) or self.high >= 1 << 63 or self.size >= 1 << 63:
            hint = "low, high and the number of values must fit 64 bits; use bins for larger ones."
            raise BadDomain(f"integers from {self.low} to {self.high} are too many", hint)

    @property
    def size(self) -> int:
        """The number of values."""
        return self.high - self.low + 1

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        whole = whole_number(value)
        if isinstance(whole, Fate):
            return whole
        if whole < self.low:
            return Fate.OUTSIDE_LOW
        return Fate.OUTSIDE_HIGH if whole > self.high else int(whole) - self.low

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the values as a column of int64."""
        return as_column(codes + np.int64(self.low))


@dataclass(frozen=True, kw_only=True, repr=False)
class Categories:
    """Texts, in the order given, kept to the letter; `labels` are further texts for people to read.

    >>> Categories(values=("06001", "06003")).code_of("06003")
    1
    """

    values: tuple[str, ...]
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", texts(self.values, name="categories"))
        if not self.values:
            raise BadDomain("the list of categories is empty", "Give at least one value.")
        if len(set(self.values)) < len(self.values):
            twice = Counter(self.values).most_common(1)[0][0]
            raise BadDomain(f"the category {shown(twice)} comes twice", "Give each value once.")
        if self.labels is not None:
            object.__setattr__(self, "labels", texts(self.labels, name="labels"))
            if len(self.labels) != len(self.values):
                fact = f"there are {len(self.labels)} labels for {len(self.values)} categories"
                raise BadDomain(fact, "Give one label for each value, in the same order.")

    def __repr__(self) -> str:
        start = ", ".join(shown(value) for value in self.values[:_SHOWN_VALUES])
        more = f", ... {self.size} values" if self.size > _SHOWN_VALUES else ""
        return f"Categories({start}{more})"

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    def and_other(self, value: str) -> Categories:
        """Return these categories with `value` at the end, unless it is one of them already."""
        if value in self.values:
            return self
        labels = None if self.labels is None else (*self.labels, value)
        return Categories(values=(*self.values, value), labels=labels)

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        if isinstance(value, str):
            return self._codes.get(value, Fate.OUTSIDE)
        return Fate.MISSING if is_missing(value) else Fate.UNREADABLE

    @cached_property
    def described(self) -> int:
        """How many characters of JSON list the values and the labels."""
        lists = [self.values] if self.labels is None else [self.values, self.labels]
        return sum(len(dumps("".join(each))) + 3 * len(each) for each in lists)

    @cached_property
    def longest(self) -> int:
        """The most bytes that a value has as UTF-8."""
        return max(len(value.encode()) for value in self.values)

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the values as a column of text."""
        return taken(self._column, codes)

    @cached_property
    def _column(self) -> pa.Array:
        return as_text_column(self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bins:
    """Half-open bins of equal width: [start, start + step), ... up to `stop`.

    >>> Bins(start=Fraction(0), stop=Fraction(1), step=Fraction(1, 10)).code_of(0.3)
    3
    """

    start: Fraction
    stop: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        for name in ("start", "stop", "step"):
            object.__setattr__(self, name, as_exact(getattr(self, name), name=name))
        start, stop, step = self.start, self.stop, self.step
        if step <= 0:
            raise BadDomain(f"step = {plain(step)} is not above 0", "Give the width of one bin.")
        if stop <= start:
            raise BadDomain(f"stop = {plain(stop)} is not above start = {plain(start)}", "Raise stop.")
        steps = (stop - start) / step
        if steps.denominator != 1:
            fits = [start + whole * step for whole in (steps // 1, steps // 1 + 1) if whole]
            raise BadDomain(
                f"bins from {plain(start)} to {plain(stop)} do not divide into steps of {plain(step)}",
                f"Take {' or '.join(f'stop = {plain(fit)}' for fit in fits)}.",
            )
        first, width, shared = self.grid
        if max(abs(first), abs(first + self.size * width)) >= FINEST or shared >= FINEST:
            fact = f"bins from {plain(start)} to {plain(stop)} in steps of {plain(step)} are too fine"
            hint = "Numbers hold about 15 digits: take larger steps, or fewer digits in start and step."
            raise BadDomain(fact, hint)

    @property
    def size(self) -> int:
        """The number of bins."""
        return int((self.stop - self.start) / self.step)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Integers (s, p, q) such that edge k is (s + k p) / q; one float64 division gives its nearest."""
        shared = lcm(self.start.denominator, self.step.denominator)
        return int(self.start * shared), int(self.step * shared), shared

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        first, width, shared = self.grid
        found = number(value, whole_edges=shared == 1)
        if isinstance(found, Fate):
            return found
        edges = range(self.size + 1)
        return _bin(bisect_right(edges, found, key=lambda k: (first + k * width) / shared) - 1, self.size)

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the lower edges as a column of int64, or of float64 unless all edges are whole."""
        first, width, shared = self.grid
        numerators = np.int64(first) + codes * np.int64(width)
        return as_column(numerators if shared == 1 else numerators / np.float64(shared))


@dataclass(frozen=True, kw_only=True, slots=True)
class Edges:
    """Half-open bins between neighbouring edges.

    >>> Edges(edges=(Fraction(0), Fraction(18), Fraction(65))).code_of(18)
    1
    """

    edges: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        edges: object = self.edges
        if not isinstance(edges, list | tuple) or len(edges) < 2:
            raise BadDomain("edges are not a list of two or more numbers", "Write edges = [0, 18, 65].")
        if len(edges) > MOST_EDGES:
            fact = f"there are {len(edges):,} edges, and {MOST_EDGES:,} are allowed"
            raise BadDomain(fact, "Declare bins of equal width, or fewer edges.")
        object.__setattr__(self, "edges", tuple(as_exact(edge, name="edges") for edge in edges))
        for edge in self.edges:
            if not -(1 << 63) <= edge < 1 << 63:
                raise BadDomain(f"the edge {plain(edge)} lies beyond 2^63", "Count in a larger unit.")
        for low, high in zip(self.edges, self.edges[1:], strict=False):
            if not float(low) < float(high):
                fact = f"the edge {plain(high)} is not above {plain(low)}, the one before"
                raise BadDomain(fact, "Write edges in ascending order; they hold about 15 digits.")

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def whole(self) -> bool:
        """Whether all edges are whole numbers."""
        return all(edge.denominator == 1 for edge in self.edges)

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        found = number(value, whole_edges=self.whole)
        if isinstance(found, Fate):
            return found
        return _bin(
            bisect_right(self.edges, found, key=int if isinstance(found, int) else float) - 1, self.size
        )

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the lower edges as a column of int64, or of float64 unless all edges are whole."""
        whole = self.whole
        edges = np.array(
            [int(edge) if whole else float(edge) for edge in self.edges],
            dtype=np.int64 if whole else np.float64,
        )
        return as_column(edges[codes])


def _bin(place: int, size: int) -> int | Fate:
    """Return the bin at `place`, or on which side of all bins it lies."""
    if place < 0:
        return Fate.OUTSIDE_LOW
    return Fate.OUTSIDE_HIGH if place >= size else place


def as_exact(value: Rational, *, name: str) -> Fraction:
    """Return a number of a domain as an exact rational; a float means its shortest decimal text."""
    try:
        exact = as_fraction(value, name=name)
    except BadNumber as error:
        raise BadDomain(f"{name} = {shown(value)} is not a finite number", error.hint) from None
    if abs(exact) > 1 << 64 or exact.denominator > _SMALLEST_PART:
        raise BadDomain(f"{name} = {shown(value)} does not fit 64 bits", "Count in another unit.")
    return exact


def as_whole(value: Rational, *, name: str) -> int:
    """Return a whole number of a domain as an int; 5.0 is none, because it hints at a mistake."""
    hint = "Write a whole number, such as 100."
    if isinstance(value, float):
        raise BadDomain(f"{name} = {shown(value)} is not an integer", hint)
    exact = as_exact(value, name=name)
    if exact.denominator != 1:
        raise BadDomain(f"{name} = {shown(value)} is not an integer", hint)
    return int(exact)


def plain(value: Fraction) -> str:
    """Return a number as people write it: 0.1, or 1/3 where no float's text is exact."""
    if value.denominator == 1:
        return str(int(value))
    text = repr(float(value))
    return text if Fraction(text) == value else str(value)


def texts(values: object, *, name: str) -> tuple[str, ...]:
    """Return a list of text as a tuple."""
    if not isinstance(values, list | tuple):
        raise BadDomain(f"{name} are not a list of text", 'Write a list such as ["north", "south"].')
    if set(map(type, values)) - {str}:
        odd = next(value for value in values if type(value) is not str)
        hint = 'Write all in quotes, as they stand in the data: "06001" keeps its leading zero.'
        raise BadDomain(f"{name} hold {shown(odd)}, which is not text", hint)
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        raise BadDomain(f"{name} hold text that is not Unicode", "Save the file as UTF-8.") from None
    if max(map(len, values), default=0) > LONGEST_TEXT:
        longest = max(values, key=len)
        fact = f"{name} hold {shown(longest)}, a text of {len(longest):,} characters"
        raise BadDomain(fact, f"Use shorter codes; up to {LONGEST_TEXT:,} characters are allowed.")
    return tuple(values)
