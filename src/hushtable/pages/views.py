"""Which questions a page answers, and their numbers.

A *view* is one answer of `release.by`: groups of one attribute, of two, or of a table that was published,
each with its estimate and interval.

Promise: every number is one that `release.by` or `release.others` gives; nothing is estimated here. Views
are chosen from the terms alone: each attribute at each of its levels, the tables that were published, and
other pairs while there is room. Of a view that is too large the largest groups are kept, and it says so. What
is left out is listed, with the reason.
Cost: one call of `release.by` for each view, and one of `release.others` where a picture cannot show all of
its groups; `MOST_VIEWS` views at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute, Bins
from hushtable.domain.columns import as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, item_meant, label_of
from hushtable.domain.wording import is_ordered
from hushtable.errors import HushtableError
from hushtable.pages.asked import AskedRelease
from hushtable.plots.scales import codes_of
from hushtable.release.terms import Terms

MOST_GROUPS = 100_000  # of all views of a page, unless asked for otherwise
MOST_VIEWS = 150
MOST_BARS = 40  # of a picture on a page
_KEPT = 10  # one part in so many of the groups is kept for larger tables, and one for other pairs
_MOST_PAIRED = 20_000  # groups of two attributes that are no table of the release
_NOISE = "it is no better than noise"
_FULL = "the page has no room for more groups"


class Named(NamedTuple):
    """An attribute at a level, as `release.by` takes it."""

    name: str
    place: int  # of the attribute in the domain
    attribute: Attribute
    label: str  # what people read


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """One answer: `codes` has a column for each of `items`, `numbers` an estimate, a low and a high end."""

    items: tuple[Named, ...]
    codes: tuple[NDArray[np.int64], ...]
    numbers: NDArray[np.float64]
    groups: int  # there are in all
    note: str
    source: str
    bars: int = 0  # so many of the largest are drawn as bars,
    others: tuple[float, float, float] | None = None  # and all other groups together have this

    @property
    def names(self) -> tuple[str, ...]:
        """What was asked for."""
        return tuple(each.name for each in self.items)

    @property
    def complete(self) -> bool:
        """Whether all groups are here."""
        return len(self.codes[0]) == self.groups

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """Which groups cannot be told from 0."""
        _, low, high = self.numbers
        return np.asarray((low <= 0) & (high >= 0))

    def largest(self, most: int) -> View:
        """Return the view with so many of the largest groups, in their order."""
        if len(self.codes[0]) <= most:
            return self
        kept = np.sort(np.argsort(-self.numbers[0], kind="stable")[:most])
        others = self.others if self.bars <= most else None
        codes = tuple(each[kept] for each in self.codes)
        return replace(self, codes=codes, numbers=self.numbers[:, kept], others=others)


class LeftOut(NamedTuple):
    """A question that a page does not answer, and why."""

    names: tuple[str, ...]
    why: str


def views_of(release: AskedRelease, *, groups: int, confidence: float) -> tuple[list[View], list[LeftOut]]:
    """Return what a page answers with so many groups in all, and what it leaves out."""
    views: list[View] = []
    left_out: list[LeftOut] = []
    noise = () if release.noise.is_noise else release.noise.tables
    hopeless = {each.label for each in noise if each.is_noise}
    for items, most in _sized(release.terms, hopeless, groups):
        names = tuple(each.name for each in items)
        if not most or len(views) == MOST_VIEWS:
            left_out.append(LeftOut(names, _NOISE if ", ".join(names) in hopeless else _FULL))
            continue
        try:
            view = answered(release, items, most=most, confidence=confidence)
        except HushtableError as error:
            left_out.append(LeftOut(names, str(error)))
            continue
        if view.source in hopeless:
            left_out.append(LeftOut(names, _NOISE))
            continue
        views.append(with_others(release, view, bars=MOST_BARS, confidence=confidence))
    return views, left_out


def answered(
    release: AskedRelease, items: Sequence[Named], *, most: int, confidence: float, where: str | None = None
) -> View:
    """Return the answer for these attributes, or the largest groups of it."""
    size = prod(each.attribute.size for each in items)
    names = [each.name for each in items]
    top = most if size > most else None
    table = release.by(names, where=where, confidence=confidence, top=top)
    said = table.schema.metadata
    estimate, _, low, high = table.columns[len(items) : len(items) + 4]
    view = View(
        items=tuple(items),
        codes=tuple(codes_of(each.attribute, table.column(place)) for place, each in enumerate(items)),
        numbers=np.array([as_numbers(each.combine_chunks()) for each in (estimate, low, high)], np.float64),
        groups=int(said[b"groups"]),
        note=said[b"note"].decode(),
        source=said.get(b"source", b"").decode(),
    )
    order = np.lexsort(view.codes[::-1])  # as the domain has them, also where the largest came first
    return replace(view, codes=tuple(each[order] for each in view.codes), numbers=view.numbers[:, order])


def with_others(
    release: AskedRelease, view: View, *, bars: int, confidence: float, where: str | None = None
) -> View:
    """Return a view with what all groups have together that are not drawn, where so many are to be drawn."""
    in_order = len(view.items) == 1 and is_ordered(view.items[0].attribute.values) and view.complete
    bars = min(bars, len(view.codes[0]))
    if view.groups <= bars or not bars or in_order:
        return view
    try:
        found = release.others(view.names, top=bars, where=where, confidence=confidence)
    except HushtableError:  # without a total nothing is known of the rest, which is then only counted
        return view
    return replace(view, bars=bars, others=(found.value, found.low, found.high))


def named_items(domain: Domain, names: Sequence[str]) -> list[Named]:
    """Return attributes at levels by their names, as a release's tables have them."""
    items = [item_meant(domain, name) for name in names]
    return [
        _named(domain, name, item.place, attribute_at(domain, item))
        for name, item in zip(names, items, strict=True)
    ]


def _named(domain: Domain, name: str, place: int, attribute: Attribute) -> Named:
    """Return an attribute at a level with what people read: `day (month)`, `age (steps of 20)`."""
    own = domain.attributes[place].name
    if name == own:
        return Named(name, place, attribute, own)
    level = name.removesuffix(f"({own})")
    steps = "steps of " if isinstance(attribute.values, Bins) else ""
    return Named(name, place, attribute, f"{own} ({steps}{level})")


def _sized(terms: Terms, hopeless: set[str], groups: int) -> Iterator[tuple[tuple[Named, ...], int]]:
    """Yield what may be asked, and how many groups of it a page has room for.

    Attributes and published pairs come first, and each has all of its groups unless they are too many for
    that; then larger tables, then other pairs, which are there whole or not at all.
    """
    domain = terms.domain
    published = [named_items(domain, each.domain.names) for each in terms.nodes.marginals]
    published = [each for each in published if each] or [named_items(domain, domain.names)]
    singles = list(
        {
            each.name: each
            for each in [*single_items(domain), *(item for table in published for item in table)]
        }.values()
    )
    tables = {frozenset(each.name for each in table): tuple(table) for table in published if len(table) > 1}
    noise = {key for key, table in tables.items() if ", ".join(each.name for each in table) in hopeless}
    yield from ((tables[key], 0) for key in noise)
    kept = sorted((table for key, table in tables.items() if key not in noise), key=_size)
    small = [(each,) for each in sorted(singles, key=lambda each: each.attribute.size)]
    first = [*small, *(table for table in kept if len(table) == 2)]
    others = [table for table in kept if len(table) > 2]
    pairs = _pairs(singles, set(tables))
    kept_for_pairs = min(groups // _KEPT, sum(map(_size, pairs)))
    kept_for_others = min(groups // _KEPT, sum(map(_size, others)))
    room = groups - kept_for_pairs - kept_for_others
    for table, most in zip(first, _shared([_size(each) for each in first], room), strict=True):
        groups -= most
        yield table, most
    room = groups - kept_for_pairs
    for table, most in zip(others, _shared([_size(each) for each in others], room), strict=True):
        groups -= most
        yield table, most
    for pair in pairs:
        fits = _size(pair) <= groups
        groups -= _size(pair) if fits else 0
        yield pair, _size(pair) if fits else 0


def _shared(sizes: Sequence[int], room: int) -> list[int]:
    """Return how much of each size there is room for: all of it, or as much as of any other.

    >>> _shared([3, 50, 80], 63)
    [3, 30, 30]
    """
    given = dict.fromkeys(range(len(sizes)), 0)
    for done, place in enumerate(sorted(given, key=lambda place: sizes[place])):
        given[place] = min(sizes[place], room // (len(sizes) - done))
        room -= given[place]
    return [given[place] for place in range(len(sizes))]


def single_items(domain: Domain) -> list[Named]:
    """Return each attribute at its own values and at every level that it declares."""
    return [
        _named(domain, label_of(domain, item), place, attribute_at(domain, item))
        for place, attribute in enumerate(domain.attributes[:MOST_VIEWS])
        for item in (Item(place, level) for level in range(1 + len(attribute.levels)))
    ]


def _pairs(singles: Sequence[Named], seen: set[frozenset[str]]) -> list[tuple[Named, ...]]:
    """Return pairs of small attributes that no table has, small ones first."""
    few = singles[: 2 * MOST_VIEWS]
    pairs: list[tuple[Named, ...]] = [
        (one, two)
        for one, two in product(few, few)
        if one.place < two.place
        and frozenset([one.name, two.name]) not in seen
        and one.attribute.size * two.attribute.size <= _MOST_PAIRED
    ]
    return sorted(pairs, key=_size)[:MOST_VIEWS]


def _size(items: Sequence[Named]) -> int:
    return prod(each.attribute.size for each in items)
