"""The cells of several tables over a domain: what a data cube and a release of tables publish.

Promise: the one place where several tables meet a domain. Every table is one of cells of its own, over some
of the attributes, each at one of its levels, in the order of the domain. One row changes one cell of each by
as much as it changes a cell of the whole table, so epsilon is split among them; `shares` are whole numbers,
and `per_cell` is their sum: it multiplies the sensitivity, as for the levels of a tree.
Cost: nothing is listed but the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers, as_text_column, computed, places_in, taken
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import encode
from hushtable.domain.items import Item, attribute_at, codes_at
from hushtable.domain.keys import KeySpace
from hushtable.domain.limits import LONGEST_LABELS, MOST_NAMES
from hushtable.errors import BadChoice, BadRelease, shown
from hushtable.structures.intervals import check_codes
from hushtable.structures.orders import listed
from hushtable.structures.structure import HINT, Codes, Column, NodeSpace, Structure

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TABLES = 10_000
_MOST_BITS = 4096  # of a share: a footer writes their sum


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """One of several tables: which columns of the release it has, its own domain, its share of epsilon."""

    places: tuple[int, ...]
    domain: Domain
    share: int

    @property
    def label(self) -> str:
        """What the release calls it."""
        return ", ".join(self.domain.names)


@dataclass(frozen=True, eq=False, slots=True)
class TableSpace(NodeSpace):
    """The cells of all tables. A code is the number of a table, then a code of each item, 0 where the table
    does not have it. Items are attributes at levels; each is a column, described by `at`.
    """

    structure: Structure = field()
    domain: Domain
    marginals: tuple[Marginal, ...] = field()
    items: tuple[Item, ...]
    at: Domain
    column: str  # what the first column is called

    @property
    def cube(self) -> TableSpace:
        """These tables."""
        return self

    @cached_property
    def space(self) -> KeySpace:
        """What orders rows: table by table, and then by code."""
        return KeySpace([len(self.marginals), *self.at.shape])

    @cached_property
    def nodes_total(self) -> int:
        """The number of cells of all tables."""
        return sum(each.domain.cells_total for each in self.marginals)

    @cached_property
    def per_cell(self) -> int:
        """The number of tables, each times its share."""
        return sum(each.share for each in self.marginals)

    @cached_property
    def finest(self) -> int:
        """The share of the table of all cells, if there is one."""
        return sum(each.share for number, each in enumerate(self.marginals) if self.is_finest(number))

    @property
    def levels(self) -> int:
        """The number of tables."""
        return len(self.marginals)

    @cached_property
    def share(self) -> int:
        """The smallest share, which has the most noise."""
        return min(each.share for each in self.marginals)

    @cached_property
    def largest(self) -> int:
        """The number of the table with the most cells."""
        return largest_of(self.marginals)

    def epsilon_of(self, number: int, epsilon: Fraction) -> Fraction:
        """Return what a table has of an epsilon for all."""
        return epsilon * self.marginals[number].share / self.per_cell

    def codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of cells of a table."""
        made = np.zeros((len(codes), 1 + len(self.items)), dtype=np.int64)
        made[:, 0] = number
        made[:, [1 + place for place in self.marginals[number].places]] = codes
        return made

    def own_codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of rows of a table in its own domain."""
        return codes[:, [1 + place for place in self.marginals[number].places]]

    def rows(self, codes: Codes) -> list[slice]:
        """Return the rows of each table among ascending codes."""
        edges = np.searchsorted(codes[:, 0], np.arange(len(self.marginals) + 1)).tolist()
        return [slice(start, stop) for start, stop in pairwise(edges)]

    def is_finest(self, number: int) -> bool:
        """Return whether a table is that of all attributes at their own values: the cells themselves."""
        own = [self.items[place] for place in self.marginals[number].places]
        return own == [Item(place) for place in range(len(self.domain.shape))]

    def cell_codes(self, number: int, codes: Codes) -> list[NDArray[np.int64]]:
        """Return the codes in a table of cells of the domain, a column for each of its items."""
        return [self.item_codes(place, codes) for place in self.marginals[number].places]

    def item_codes(self, place: int, codes: Codes) -> NDArray[np.int64]:
        """Return the codes of one of the items in cells of the domain."""
        item = self.items[place]
        return codes_at(self.domain.attributes[item.place], item.level, codes[:, item.place])

    def named(self, domain: Domain) -> str:
        """Return how many tables there are, and the first of them."""
        labels = listed([f"({each.label})" for each in self.marginals])
        several = f"{len(self.marginals):,} {self.structure.part}{'s' * (len(self.marginals) != 1)}"
        return f"{self.structure.called} of {several}: {labels}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the table of a row, and a value of each item that it has."""
        longest = max(len(each.label.encode()) for each in self.marginals)
        values = [
            Column(attribute.name, "some", item.place, values=attribute.values)
            for item, attribute in zip(self.items, self.at.attributes, strict=True)
        ]
        return [Column(self.column, "text", longest=longest), *values]

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the column of tables, and one for each item, with nulls where a row lacks it."""
        import pyarrow as pa

        check_codes(self.space, codes)
        numbers = codes[:, 0]
        labels = taken(as_text_column([each.label for each in self.marginals]), numbers)
        has = np.zeros((len(self.marginals), len(self.items)), dtype=np.bool_)
        for number, marginal in enumerate(self.marginals):
            has[number, list(marginal.places)] = True
        values = self.at.decode(codes[:, 1:]).columns
        absent = [as_column(~has[numbers, place]) for place in range(len(self.items))]
        nulls = [pa.nulls(1, column.type)[0] for column in values]
        chosen = (computed("if_else", *each) for each in zip(absent, nulls, values, strict=True))
        return [labels, *chosen]

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes of rows of tables."""
        labels = as_text_column([each.label for each in self.marginals])
        numbers = places_in(labels, table.column(self.column))
        if numbers.null_count:
            raise BadRelease(f"its rows name {self.structure.part}s that it does not have", HINT)
        codes = np.zeros((table.num_rows, 1 + len(self.items)), dtype=np.int64)
        codes[:, 0] = as_numbers(numbers)
        if (np.diff(codes[:, 0]) < 0).any():
            raise BadRelease("its rows are not in the order of their codes", HINT)
        for marginal, rows in zip(self.marginals, self.rows(codes), strict=True):
            part, places = table.slice(rows.start, rows.stop - rows.start), marginal.places
            for place, attribute in enumerate(self.at.attributes):
                column = part.column(attribute.name)
                found = None
                if place in places and not column.null_count:
                    found = encode(attribute.values, column)
                elif place not in places and column.null_count == len(column):
                    continue
                if found is None:
                    fact = f"its column {shown(attribute.name)} holds values that its domain does not have"
                    raise BadRelease(fact, HINT)
                codes[rows, 1 + place] = found
        return codes


def largest_of(marginals: Sequence[Marginal]) -> int:
    """Return the number of the table with the most cells."""
    sizes = [each.domain.cells_total for each in marginals]
    return sizes.index(max(sizes))


def table_space(
    structure: Structure,
    domain: Domain,
    wanted: Mapping[tuple[Item, ...], Fraction],
    *,
    items: Sequence[Item],
    column: str,
) -> TableSpace:
    """Return tables over a domain, each with its weight, or raise `BadChoice` if they do not fit."""
    if sum(map(len, wanted)) > MOST_NAMES or len(wanted) > MOST_TABLES:
        fact = f"these are more than {MOST_TABLES:,} tables, or name more than {MOST_NAMES:,} attributes"
        raise BadChoice(fact, "Each of them would get next to nothing of epsilon: name fewer.")
    columns = tuple(items)
    at = replace(domain, attributes=tuple(attribute_at(domain, item) for item in columns))
    places = {item: place for place, item in enumerate(columns)}
    shares = whole_shares(list(wanted.values()))
    tables = []
    for of, share in zip(wanted, shares, strict=True):
        own = tuple(places[item] for item in of)
        tables.append(Marginal(own, at.of(own), share))
    if sum(len(each.label) for each in tables) > LONGEST_LABELS:
        fact = f"the names of these tables take more than {LONGEST_LABELS:,} letters"
        raise BadChoice(fact, "Name fewer tables, or give attributes shorter names.")
    (label, times), *_ = Counter(each.label for each in tables).most_common(1)
    if times > 1:
        fact = f"{times} {structure.part}s would be called {shown(label)}"
        raise BadChoice(fact, "Rename an attribute: a comma in its name makes it read like two.")
    return TableSpace(structure, domain, tuple(tables), columns, at, column)


def whole_shares(weights: list[Fraction]) -> list[int]:
    """Return weights as whole numbers in the same proportion, as small as they get."""
    scale = 1
    for weight in weights:
        scale = lcm(scale, weight.denominator)
        if max(scale, int(weight * scale)) >> _MOST_BITS:  # the scale only grows
            fact = "these weights are in no proportion of numbers that can be written down"
            raise BadChoice(fact, "Use simpler ones, such as 1 and 2.")
    scaled = [int(weight * scale) for weight in weights]
    if max(scaled) >> _MOST_BITS:
        fact = "these weights are in no proportion of numbers that can be written down"
        raise BadChoice(fact, "Use simpler ones, such as 1 and 2.")
    shared = gcd(*scaled)
    return [each // shared for each in scaled]
