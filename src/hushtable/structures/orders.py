"""The order of attributes in which cells stand in a line.

Promise: an order is checked when it is given, and again when the names of attributes are known: those that it
names come first, then the others as declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice, shown
from hushtable.structures.lines import LARGEST_LINE, Line

MORTON = "morton"


def store_order(record: object, order: object) -> None:
    """Keep the order of a record as a tuple of different names, or None."""
    if order is None:
        return
    names = () if isinstance(order, str) or not isinstance(order, Sequence) else tuple(order)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        hint = 'Name attributes, each once, as in order=["work", "home"].'
        raise BadChoice(f"order={shown(order)} is not an order of attributes", hint)
    object.__setattr__(record, "order", names)


def ordered_places(order: Sequence[str] | str | None, domain: Domain) -> tuple[int, ...]:
    """Return the places of all attributes: those that the order names first, then the others as declared."""
    named = () if order is None or order == MORTON else order
    places = {name: place for place, name in enumerate(domain.names)}
    for name in named:
        if name not in places:
            fact = f"the order names {shown(name)}, which is not an attribute"
            raise BadChoice(fact, f"There are {', '.join(map(shown, domain.names))}.")
    first = dict.fromkeys(places[name] for name in named)
    return (*first, *(place for place in range(len(domain.names)) if place not in first))


def places_of_codes(order: Sequence[str] | str | None, shape: Sequence[int]) -> range:
    """Return the places of attributes without names, which no order can put first."""
    if order not in (None, MORTON):
        fact = "a table of codes has no names of attributes, so there is no order of them"
        raise BadChoice(fact, "Leave `order` out, and give codes in the order that you want.")
    return range(len(shape))


def line_of(shape: Sequence[int], places: Sequence[int], *, name: str) -> Line:
    """Return the cells in a line, which has room for so many; `name` is that of a structure."""
    line = Line(shape, places=places)
    if line.cells > LARGEST_LINE:
        fact = f"the structure {name!r} takes up to 2^60 cells in a line"
        raise BadChoice(fact, "Declare fewer or coarser attributes, or leave the structure out.")
    return line


def order_entry(order: Sequence[str] | str | None) -> Any:
    """Return an order as a footer has it."""
    return order if order is None or order == MORTON else list(order)


def in_order(order: Sequence[str] | str | None, names: Sequence[str]) -> list[str]:
    """Return names of attributes, those that an order names first."""
    named = [] if order is None or order == MORTON else list(order)
    return [*named, *(name for name in names if name not in named)]


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names in a line, the last of many as a number."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return ", ".join(names)
