"""How many rows a release may have, and how wide they are, by what its terms say.

Promise: functions of the terms alone, known before a row is read. No release that is published has more.
"""

from __future__ import annotations

from typing import NamedTuple

from hushtable.domain.attributes import AnyText, Categories, Kind
from hushtable.domain.limits import MOST_ROWS
from hushtable.release.terms import Terms
from hushtable.structures.structure import Column


class Width(NamedTuple):
    """The most bytes that a value of a column has, and whether it is text."""

    most: int
    text: bool


_BYTES_OF_A_CHARACTER = 4  # at most, as UTF-8
_NUMBER = Width(8, text=False)  # or a time


def fewest_rows(terms: Terms) -> int:
    """Return how many rows a release has at least: a sketch has all of its buckets."""
    return terms.nodes.fewest_rows


def most_rows(terms: Terms) -> int:
    """Return how many rows a release has at most: as many as there are, or as were asked for."""
    if not terms.parts:
        return min(terms.method.most_rows(terms.units_total), MOST_ROWS)
    pairs = zip(terms.parts, terms.nodes.marginals, strict=True)
    return min(sum(part.method.most_rows(each.domain.cells_total) for part, each in pairs), MOST_ROWS)


def widths_of(terms: Terms) -> dict[str, Width]:
    """Return how wide the values of each column are, in their order."""
    found = {each.name: _width(terms, each) for each in terms.nodes.columns(terms.domain)}
    return found | {"count": _NUMBER, "weight": _NUMBER}


def _width(terms: Terms, column: Column) -> Width:
    if column.holds == "text":
        return Width(column.longest, text=True)
    return _width_of(column.values_over(terms.domain)) if column.valued else _NUMBER


def _width_of(values: Kind) -> Width:
    if isinstance(values, Categories):
        return Width(values.longest, text=True)
    if isinstance(values, AnyText):
        return Width(_BYTES_OF_A_CHARACTER * values.longest, text=True)
    return _NUMBER
