"""Attributes at one of their levels, as tables and questions name them: `day`, `month(day)`.

Promise: a text names exactly one attribute and one of its levels, or is refused with the nearest name. Levels
are those that the domain declares and, of ordered values, runs of them (`runs`). Codes at a level follow from
the codes of the attribute's own values by what the domain declares.
Cost: a few operations on whole arrays for the codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import NO_LEVELS, Attribute, Bins, Rule, Times
from hushtable.domain.domain import Domain
from hushtable.domain.levels import CategoryLevel, Level
from hushtable.domain.runs import RunLevel, runs_of
from hushtable.errors import BadChoice, shown

# An item is a name, or a level and a name in brackets; either may stand in double quotes.
_WORD = r'"(?:[^"]|"")*"|[^,()":]+'
_ITEM = re.compile(
    rf"\s*(?P<first>{_WORD})\s*(?:\(\s*(?P<inner>{_WORD})\s*\)\s*)?(?P<ranges>:\s*ranges\s*)?(?:,|$)"
)
_ONE = re.compile("1 ([a-z]+)")


class Item(NamedTuple):
    """An attribute by its place in the domain, at a level: 0 for its own values, then those of `levels_of`.

    Which of two levels is finer, `fineness` says.
    """

    place: int
    level: int = 0


class NamedItem(NamedTuple):
    """An item as somebody wrote it: the attribute's name, the level's if there is one, and if for ranges."""

    name: str
    level: str | None = None
    ranges: bool = False


def items_in(text: str) -> list[NamedItem]:
    """Return the items that a text names, separated by commas.

    >>> items_in("month(day), job")
    [NamedItem(name='day', level='month', ranges=False), NamedItem(name='job', level=None, ranges=False)]
    >>> items_in('"15 minutes"(time):ranges')
    [NamedItem(name='time', level='15 minutes', ranges=True)]
    """
    found: list[NamedItem] = []
    start = 0
    if not isinstance(text, str):
        hint = 'Write names of attributes, as in "town", "town,job" or "month(day),diagnosis".'
        raise BadChoice(f"{shown(text)} does not name attributes", hint)
    while start < len(text) or not found:
        match = _ITEM.match(text, start)
        if match is None or match.end() == start or not _plain(match["first"]):
            hint = 'Write names of attributes, as in "town", "town,job" or "month(day),diagnosis".'
            raise BadChoice(f"{shown(text)} is not a list of attributes", hint)
        first, inner, ranges = _plain(match["first"]), match["inner"], match["ranges"] is not None
        found.append(
            NamedItem(first, None, ranges) if inner is None else NamedItem(_plain(inner), first, ranges)
        )
        start = match.end()
        if start == len(text) and text[-1:] == ",":
            raise BadChoice(f"{shown(text)} ends with a comma", "Name another attribute, or leave it out.")
    return found


def _plain(word: str) -> str:
    word = word.strip()
    return word[1:-1].replace('""', '"') if word.startswith('"') else word


def levels_of(attribute: Attribute) -> tuple[Level | RunLevel, ...]:
    """Return the levels of an attribute: those declared, and then runs of its values."""
    return (*attribute.levels, *runs_of(attribute.values, attribute.levels))


def level_of(attribute: Attribute, level: int) -> Level | RunLevel:
    """Return one of its levels, from 1 on."""
    return attribute.levels[level - 1] if level <= len(attribute.levels) else levels_of(attribute)[level - 1]


def fineness(attribute: Attribute, level: int) -> tuple[int, int]:
    """Return what is smaller for a coarser level: each value of a coarser one holds some of a finer one."""
    return (level_of(attribute, level).values.size if level else attribute.size, -level)


def coarse_first(attribute: Attribute, levels: Iterable[int]) -> list[int]:
    """Return levels from coarse to fine."""
    return sorted(levels, key=lambda level: fineness(attribute, level))


def is_as_fine(domain: Domain, one: Item, two: Item) -> bool:
    """Return whether an item tells apart all that another one does."""
    attribute = domain.attributes[one.place]
    return one.place == two.place and fineness(attribute, one.level) >= fineness(attribute, two.level)


def item_of(domain: Domain, said: NamedItem) -> Item:
    """Return the item of a domain that is meant, or raise `BadChoice` with the nearest name."""
    names = domain.names
    if said.name not in domain.places:
        hint = _nearest(said.name, names, "The attributes are")
        raise BadChoice(f"there is no attribute {shown(said.name)}", level_hint(domain, said.name) or hint)
    place = domain.places[said.name]
    if said.level is None:
        return Item(place)
    attribute = domain.attributes[place]
    levels = [level.name for level in levels_of(attribute)]
    for wanted in (said.level, f"1 {said.level}"):
        if wanted in levels:
            return Item(place, 1 + levels.index(wanted))
    fact = f"the attribute {shown(said.name)} has no level {shown(said.level)}"
    declared = levels[: len(attribute.levels)]
    if not declared:
        raise BadChoice(fact, NO_LEVELS)
    raise BadChoice(fact, _nearest(said.level, [_short(each) for each in declared], "Its levels are"))


def level_hint(domain: Domain, name: object) -> str:
    """Return how to write a level that was named without its attribute, or nothing if there is none."""
    for each in domain.attributes:
        if name in [_short(level.name) for level in each.levels]:
            return f"Write a level with its attribute, as in {shown(f'{name}({each.name})')}."
    return ""


def items_of(domain: Domain, said: object) -> tuple[Item, ...]:
    """Return the items of a domain that are meant: a text, a list of texts, or levels by attribute.

    They are in the order of the domain, each attribute once.
    """
    items, ranges = items_and_ranges(domain, said)
    if ranges:
        name = shown(domain.names[min(ranges)])
        fact = f"ranges of {name} are asked for where a list of groups is needed"
        raise BadChoice(fact, "Leave `:ranges` out; questions to publish for (`ask`) may have it.")
    return items


def items_and_ranges(domain: Domain, said: object) -> tuple[tuple[Item, ...], frozenset[int]]:
    """Return the items that are meant, and the places of those that are asked for in ranges."""
    if isinstance(said, str):
        named = _meant(domain, said)
    elif isinstance(said, Mapping):
        named = [(item_of(domain, NamedItem(name, level)), False) for name, level in said.items()]
    elif isinstance(said, Sequence):
        named = [each for text in said for each in _meant(domain, text)]
    else:
        raise BadChoice(
            f"{shown(said)} names no attributes", 'Write a text such as "town,job", or a list of names.'
        )
    items = sorted(item for item, _ in named)
    for one, two in pairwise(items):
        if one.place == two.place:
            name = shown(domain.names[one.place])
            raise BadChoice(f"the attribute {name} is named twice", "Name it once, at one level.")
    return tuple(items), frozenset(item.place for item, ranges in named if ranges)


def _meant(domain: Domain, text: object) -> list[tuple[Item, bool]]:
    """Return the items that a text names, and whether in ranges: one by its label, or as somebody wrote."""
    if isinstance(text, str) and (called := item_called(domain, text)) is not None:
        return [(called, False)]
    return [(item_of(domain, each), each.ranges) for each in items_in(text)]  # type: ignore[arg-type]


def label_of(domain: Domain, item: Item) -> str:
    """Return what an item is called: its attribute's name, with the level before it if it has one."""
    attribute = domain.attributes[item.place]
    if not item.level:
        return attribute.name
    return f"{_short(level_of(attribute, item.level).name)}({attribute.name})"


def attribute_at(domain: Domain, item: Item) -> Attribute:
    """Return an item as an attribute of its own, called by its label."""
    attribute = domain.attributes[item.place]
    if not item.level:
        return attribute
    values = level_of(attribute, item.level).values
    # The category of a rule `other` is among the values; clamped rows are in the first and the last of them.
    outside: Rule = "clamp" if attribute.outside == "clamp" else "drop"
    return replace(
        attribute, name=label_of(domain, item), values=values, levels=(), missing="drop", outside=outside
    )


def item_called(domain: Domain, label: str) -> Item | None:
    """Return the item of this label, whatever letters its name has: brackets and commas, too."""
    if label in domain.places:
        return Item(domain.places[label])
    for place, attribute in enumerate(domain.attributes):
        if label.endswith(f"({attribute.name})"):
            levels = range(1, 1 + len(levels_of(attribute)))
            found = (Item(place, level) for level in levels if label_of(domain, Item(place, level)) == label)
            if (item := next(found, None)) is not None:
                return item
    return None


def item_meant(domain: Domain, text: str) -> Item:
    """Return the one item that a text names, by its label or as somebody wrote it."""
    if (called := item_called(domain, text)) is not None:
        return called
    said = items_in(text)
    if len(said) > 1:
        raise BadChoice(f"{shown(text)} names {len(said)} attributes", "Name one.")
    return item_of(domain, said[0])


def attribute_named(domain: Domain, name: str) -> Attribute:
    """Return an attribute by its name, or one at a level by its label."""
    return attribute_at(domain, item_meant(domain, name))


def codes_at(attribute: Attribute, level: int, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes at a level of an attribute of codes of its own values."""
    if not level:
        return codes
    found = level_of(attribute, level)
    if isinstance(found, RunLevel):
        return codes // found.width
    if isinstance(found, CategoryLevel):
        return found.codes[codes].astype(np.int64)
    values, coarser = attribute.values, found.values
    if isinstance(values, Bins) and isinstance(coarser, Bins):
        return codes // int(coarser.step / values.step)
    assert isinstance(values, Times)
    assert isinstance(coarser, Times)
    if values.unit == coarser.unit:
        return codes // (coarser.every // values.every)
    seconds = np.datetime64(values.start, "s").astype(np.int64) + codes * np.int64(values.every)
    months = seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    return (months - _month(coarser.start)) // coarser.every


def parents_between(attribute: Attribute, fine: int, coarse: int) -> NDArray[np.int64]:
    """Return the code at a coarser level of each code at a finer one."""
    if not fine:
        return codes_at(attribute, coarse, np.arange(attribute.size, dtype=np.int64))
    finer, coarser = level_of(attribute, fine), level_of(attribute, coarse)
    if isinstance(finer, RunLevel):
        return codes_at(attribute, coarse, np.arange(finer.values.size, dtype=np.int64) * finer.width)
    if isinstance(coarser, RunLevel):  # which is longer than an even level
        first = codes_at(attribute, fine, np.arange(coarser.width, dtype=np.int64))[-1] + 1
        return np.arange(finer.values.size, dtype=np.int64) // int(first)
    if isinstance(finer, CategoryLevel):
        own = np.arange(attribute.size, dtype=np.int64)
        parents = np.empty(finer.values.size, dtype=np.int64)
        parents[codes_at(attribute, fine, own)] = codes_at(attribute, coarse, own)
        return parents
    alone = replace(attribute, values=finer.values, levels=(coarser,))
    return codes_at(alone, 1, np.arange(finer.values.size, dtype=np.int64))


def _month(time: datetime) -> int:
    return (time.year - 1970) * 12 + time.month - 1


def _short(level: str) -> str:
    """Return a level's name as items give it: `month` for `1 month`."""
    one = _ONE.fullmatch(level)
    return one[1] if one else level


def _nearest(name: str, known: Sequence[str], lead: str) -> str:
    near = get_close_matches(str(name), known, n=1)
    guess = f"Did you mean {shown(near[0])}? " if near else ""
    return f"{guess}{lead} {', '.join(map(shown, known))}."
