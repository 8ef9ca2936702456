"""Hierarchies to test with, over small domains whose levels nest in any order of their values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute
from hushtable.domain.items import Item, codes_at, items_of
from hushtable.domain.kinds import Categories
from hushtable.domain.levels import category_levels
from hushtable.structures.hierarchy import HierarchySpace

Node = tuple[int, ...]


class Refined(NamedTuple):
    """A hierarchy over a domain, and for each level the codes that a cell has there."""

    domain: ht.Domain
    nodes: HierarchySpace
    levels: list[Callable[[Node], Node]]

    @property
    def cells(self) -> list[Node]:
        """All cells of the domain, by their codes."""
        return list(product(*map(range, self.domain.shape)))

    def number(self, node: Node) -> int:
        """Return the number that the product gives a node: by the first of its cells in the line."""
        level = node[0]
        cells = [cell for cell in self.cells if (level, *self.levels[level](cell)) == node]
        positions = self.nodes.tree.of(np.array(cells), self.nodes.places)
        return int(positions.min()) + self.nodes.tree.offsets[level]


def refined(domain: ht.Domain, *levels: str, **settings: object) -> Refined:
    """Return a hierarchy; what its levels are is worked out item by item here, without its tree."""
    structure = ht.Hierarchy(*levels, **settings)  # type: ignore[arg-type]
    now: dict[int, int] = {}
    found: list[Callable[[Node], Node]] = [lambda cell: ()]
    for text in structure.levels:
        now |= {item.place: item.level for item in items_of(domain, text)}
        found.append(_at(domain, [Item(place, now[place]) for place in sorted(now)]))
    return Refined(domain, structure.over(domain), found)


def _at(domain: ht.Domain, items: list[Item]) -> Callable[[Node], Node]:
    tables = [
        codes_at(domain.attributes[item.place], item.level, np.arange(domain.shape[item.place])).tolist()
        for item in items
    ]

    def at(cell: Node) -> Node:
        return tuple(table[cell[item.place]] for item, table in zip(items, tables, strict=True))

    return at


def named(name: str, values: list[str], **levels: int) -> Attribute:
    """Return an attribute of texts; a level keeps so many of their first characters."""
    kind = Categories(values=tuple(values))
    return Attribute(name=name, values=kind, levels=category_levels(kind, levels))


# One attribute at three levels, listed out of order; an uneven one; one without levels.
HOME = named("home", ["a11", "b11", "a12", "a21", "b12", "b21", "b22"], tract=2, county=1)
WORK = named("work", ["x1", "x2", "x3", "y1"], county=1)
SEX = named("sex", ["f", "m"])

HIERARCHIES = [
    ((HOME,), ("county(home)", "tract(home)", "home")),
    ((HOME,), ("home",)),
    ((HOME, SEX), ("tract(home)", "home, sex")),
    ((HOME, WORK), ("county(home), county(work)", "home, work")),
    ((WORK, HOME), ("county(home)", "county(work)", "home", "work")),
    ((SEX, WORK), ("county(work)", "sex")),
    ((HOME, WORK), ("tract(home)",)),
]


@st.composite
def hierarchies(draw: st.DrawFn) -> Refined:
    """Return one of some small hierarchies."""
    attributes, levels = draw(st.sampled_from(HIERARCHIES))
    return refined(ht.Domain(attributes=attributes), *levels)
