"""Groups of a question among the rows of one table, and those that they are part of.

Promise: rows are those of the cells counted. For some of the attributes of a question alone, groups are those
of these attributes, with the conditions on them; so every group of the question lies in one of them.
Cost: one pass over the rows for each set of attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.sums import Array, Opened, PublishedRows, Sums
from hushtable.answers.question import Question
from hushtable.answers.tables.whole import allowed_codes
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, codes_at, parents_between

Codes = NDArray[np.int64]


class RowsOfTable(Opened, Protocol):
    """The rows of one table of a release."""

    @property
    def items(self) -> tuple[Item, ...]:
        """What its columns are."""

    def column(self, domain: Domain, item: Item) -> Codes | None:
        """Return the codes of an item in all rows, None where the table does not have it as fine."""


class PartGroups:
    """The groups of a question in one table that has all its attributes."""

    def __init__(self, part: RowsOfTable, domain: Domain, question: Question, codes: Sequence[Codes]) -> None:
        self._part, self._domain = part, domain
        self.question, self.codes = question, codes
        self._levels = dict(question.items)
        self._groups = {item.place: each for item, each in zip(question.items, codes, strict=True)}
        self._published = PublishedRows(part)
        self._found: dict[tuple[int, ...], tuple[Sums, Array]] = {}

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The attributes of the question, grouped by or in a condition."""
        return tuple(sorted({*self._groups, *self.question.selection.attributes}))

    def of(self, places: Sequence[int]) -> tuple[Sums, Array]:
        """Return sums of rows and numbers of cells, for each group of the question.

        With some of the attributes alone, they are those of the larger group that it lies in.
        """
        key = tuple(sorted(places))
        if key not in self._found:
            exactly = key == self.places and not self.question.selection.is_product
            sums, cells = self._selected() if exactly else self._larger(key)
            numbers = np.arange(len(cells), dtype=np.float64)
            taken = self.spread(key, numbers).astype(np.intp)
            self._found[key] = sums.taken(taken), cells[taken]
        return self._found[key]

    def spread(self, places: Sequence[int], values: Array) -> Array:
        """Return values of larger groups, in the domain's order, for each group in the question's order."""
        order = sorted(self._groups)
        shape = [len(self._groups[place]) if place in places else 1 for place in order]
        whole = [len(self._groups[place]) for place in order]
        grid = np.broadcast_to(values.reshape(shape), whole)
        asked = [item.place for item in self.question.items]
        return grid.transpose([order.index(place) for place in asked]).ravel()

    def _selected(self) -> tuple[Sums, Array]:
        """Return sums and cells of the groups themselves, where the condition ties attributes together.

        The table has its attributes by their own values.
        """
        own = [item.place for item in self._part.items]
        within = self.question.selection.within(self._domain.of(own), own)
        grouped = [place for place in own if place in self._groups]
        number = prod(len(self._groups[place]) for place in grouped)
        sizes = [self._domain.shape[place] for place in grouped]
        values = np.indices(sizes).reshape(len(grouped), prod(sizes))
        many = within.cells_of([own.index(place) for place in grouped], values.T)
        some = many > 0
        cells = np.bincount(self._index(grouped, values[:, some]), weights=many[some], minlength=number)
        rows = within.rows(self._published.columns)
        columns = np.stack([self._published.columns[own.index(place)][rows] for place in (*grouped, own[0])])
        sums = self._published.sums(rows, self._index(grouped, columns), number=number)
        return sums, cells.astype(np.float64)

    def _index(self, places: Sequence[int], columns: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return to which group own values belong, of which there is a row for each attribute."""
        index = np.zeros(columns.shape[1], dtype=np.intp)
        for place, column in zip(places, columns, strict=False):
            codes = codes_at(self._domain.attributes[place], self._levels[place], column.astype(np.int64))
            index = index * len(self._groups[place]) + np.searchsorted(self._groups[place], codes)
        return index

    def _larger(self, places: tuple[int, ...]) -> tuple[Sums, Array]:
        """Return sums and cells of groups by these attributes alone, in the domain's order."""
        rows = np.arange(len(self._published.counts))
        for place in places:
            allowed = allowed_codes(self.question.selection, place)
            if allowed is not None:
                column = self._part.column(self._domain, Item(place))
                assert column is not None
                rows = rows[allowed[column[rows]]]
        index, cells = np.zeros(len(rows), dtype=np.intp), np.ones(1)
        for place in places:
            if place in self._groups:
                column = self._part.column(self._domain, Item(place, self._levels[place]))
                assert column is not None
                index = index * len(self._groups[place]) + np.searchsorted(self._groups[place], column[rows])
            cells = np.multiply.outer(cells, self._cells_along(place)).ravel()
        for place in {item.place for item in self._part.items}.difference(places):
            cells = cells * self._whole_size(place)
        return self._published.sums(rows, index, number=len(cells)), cells

    def _item_of(self, place: int) -> Item:
        return next(item for item in self._part.items if item.place == place)

    def _whole_size(self, place: int) -> float:
        return float(attribute_at(self._domain, self._item_of(place)).size)

    def _cells_along(self, place: int) -> Array:
        """Return how many values of the table each group has along an attribute, or a condition allows."""
        attribute, item = self._domain.attributes[place], self._item_of(place)
        allowed = allowed_codes(self.question.selection, place)
        if place not in self._groups:
            return np.array([float(allowed.sum())]) if allowed is not None else np.array([1.0])
        level, groups = self._levels[place], self._groups[place]
        if allowed is not None:  # the table has the attribute's own values
            coarser = codes_at(attribute, level, np.flatnonzero(allowed))
        elif level == item.level:
            return np.ones(len(groups))
        else:
            coarser = parents_between(attribute, item.level, level)
        size = attribute_at(self._domain, Item(place, level)).size
        return np.bincount(coarser, minlength=size)[groups].astype(np.float64)
