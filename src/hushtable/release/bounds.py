"""How many rows a release may have, and how wide they are, by what its terms say.

Promise: functions of the terms alone, known before a row is read. No release that is published has more.
"""

from __future__ import annotations

from typing import NamedTuple

from hushtable.domain.attributes import Categories
from hushtable.domain.limits import MOST_ROWS
from hushtable.methods.settings import Filter, FilterPriority, Method, Priority
from hushtable.release.layout import VALUED, Column, columns_of
from hushtable.release.terms import Terms
from hushtable.structures.cubes import CubeSpace
from hushtable.structures.settings import CountSketch


class Width(NamedTuple):
    """The most bytes that a value of a column has, and whether it is text."""

    most: int
    text: bool


_NUMBER = Width(8, text=False)  # or a time


def fewest_rows(terms: Terms) -> int:
    """Return how many rows a release has at least: a sketch has all of its buckets."""
    return terms.units_total if isinstance(terms.structure, CountSketch) else 0


def most_rows(terms: Terms) -> int:
    """Return how many rows a release has at most: as many as there are, or as were asked for."""
    if not isinstance(terms.nodes, CubeSpace):
        return min(_most(terms.method, terms.units_total), MOST_ROWS)
    pairs = zip(terms.parts, terms.nodes.marginals, strict=True)
    return min(sum(_most(part.method, marginal.domain.cells_total) for part, marginal in pairs), MOST_ROWS)


def widths_of(terms: Terms) -> dict[str, Width]:
    """Return how wide the values of each column are, in their order."""
    found = {each.name: _width(terms, each) for each in columns_of(terms.structure, terms.domain)}
    return found | {"count": _NUMBER, "weight": _NUMBER}


def _width(terms: Terms, column: Column) -> Width:
    if column.holds == "marginal":
        assert isinstance(terms.nodes, CubeSpace)
        return Width(max(len(each.label.encode()) for each in terms.nodes.marginals), text=True)
    values = terms.domain.attributes[column.place].values if column.holds in VALUED else None
    return Width(values.longest, text=True) if isinstance(values, Categories) else _NUMBER


def _most(method: Method, units: int) -> int:
    """Return how many of the cells, nodes or buckets a method publishes at most."""
    if isinstance(method, Filter | Priority | FilterPriority) and method.size is not None:
        return min(method.size, units)
    return units
