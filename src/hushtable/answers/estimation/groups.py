"""Which groups a query asks for, and which rows belong to each.

Promise: all groups of the domain that have a cell in the selection, in the order of the domain, whether rows
of them were published or not; or, where there are too many to list, those that have rows.
Cost: up to 10^6 groups are counted in place; more are sorted by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.sums import Array, PublishedRows, Sums
from hushtable.conditions.selection import Selection
from hushtable.domain.keys import KeySpace, repeats, sorted_with_places
from hushtable.errors import BadQuery

MOST_GROUPS = 10**6


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of cells: their codes, how many cells each has, and the sums of its rows."""

    codes: NDArray[np.int64]  # of shape (groups, attributes asked for)
    cells: Array
    sums: Sums
    number: int  # of groups there are, listed or not
    shown: tuple[NDArray[np.int64], NDArray[np.intp]] | None = (
        None  # of those with rows alone: rows' counts, groups
    )


def number_of_groups(selection: Selection, places: Sequence[int]) -> int:
    """Return how many groups there are at most: all combinations of codes that occur in the selection."""
    return prod(selection.codes(place).size for place in places)


def group_codes(selection: Selection, places: Sequence[int], *, hint: str) -> NDArray[np.int64]:
    """Return every combination of codes that occur in the selection, in order."""
    number = number_of_groups(selection, places)
    if number > MOST_GROUPS:
        raise BadQuery(f"there are {number:,} groups, and at most {MOST_GROUPS:,} can be listed", hint)
    values = [selection.codes(place).all() for place in places]
    grid = np.unravel_index(np.arange(number), [len(codes) for codes in values])
    return np.stack([each[index] for each, index in zip(values, grid, strict=True)], axis=1)


def all_groups(published: PublishedRows, selection: Selection, places: Sequence[int]) -> Groups:
    """Return every group that has a cell in the selection."""
    hint = "Ask for the largest, with `top`, or group by fewer attributes."
    every_group = group_codes(selection, places, hint=hint)
    number = len(every_group)
    rows = selection.rows(published.columns)
    index = np.zeros(1, dtype=np.intp)
    for place in places:
        codes = selection.codes(place).all()
        column = published.columns[place][rows]
        every = len(codes) == selection.domain.shape[place]
        found = column.astype(np.intp) if every else np.searchsorted(codes.astype(column.dtype), column)
        index = index * len(codes) + found
    cells = selection.cells_of(places, every_group)
    sums = published.sums(rows, index, number=number)
    some = np.flatnonzero(cells > 0)
    return Groups(every_group[some], cells[some], sums.taken(some), len(some))


def published_groups(published: PublishedRows, selection: Selection, places: Sequence[int]) -> Groups:
    """Return the groups that have a published row in the selection, however many groups there are."""
    space = KeySpace([selection.domain.shape[place] for place in places])
    rows = selection.rows(published.columns)
    codes = np.stack([published.columns[place][rows].astype(np.int64) for place in places], axis=1)
    keys, order = sorted_with_places(space.pack(codes))
    starts = ~repeats(keys)
    index = np.empty(len(order), dtype=np.intp)
    index[order] = np.cumsum(starts) - 1
    some = codes[order[starts]]
    sums = published.sums(rows, index, number=len(some))
    cells = selection.cells_of(places, some)
    return Groups(
        some, cells, sums, number_of_groups(selection, places), shown=(published.counts[rows], index)
    )
