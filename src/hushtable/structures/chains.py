"""One attribute in the order of a hierarchy: from all of its values together to single ones, level by level.

A value has a *rank*: its place among the values of the finest level that is used, sorted by the coarsest
level first. So the values of a coarser level hold ranks that are neighbours, however the owner listed them.
*Stages* are the levels, coarse to fine, behind stage 0, which is all values together.

Promise: ranks and codes are each other's inverse; `starts` say where the values of a stage begin among the
ranks. All follows from the declared levels.
Cost: one entry for each value of a coarser level; of the finest one, only where it consists of categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute
from hushtable.domain.items import codes_at, level_of
from hushtable.domain.kinds import Categories
from hushtable.errors import BadChoice, shown

Numbers = NDArray[np.int64]
_MOST_VALUES = 1 << 26  # of a level above the finest: where each of them begins is listed
_TABLE = 1 << 22  # ranks up to which a table says what holds each; others are searched for


class Chain:
    """An attribute at levels from coarse to fine.

    >>> from hushtable.domain.levels import category_levels
    >>> towns = Categories(values=("A-1", "B-1", "A-2"))
    >>> home = Attribute(name="home", values=towns, levels=category_levels(towns, {"county": 1}))
    >>> chain = Chain(home, (1, 0))
    >>> chain.sizes, chain.starts(1).tolist(), chain.ranks(np.array([0, 1, 2])).tolist()
    ((1, 2, 3), [0, 2, 3], [0, 2, 1])
    """

    def __init__(self, attribute: Attribute, levels: Sequence[int]) -> None:
        self.attribute, self.levels = attribute, tuple(levels)
        self.sizes: tuple[int, ...] = (1, *map(self._size, self.levels))
        if (most := max(self.sizes[:-1])) > _MOST_VALUES:
            fact = f"a level of {shown(attribute.name)} has {most:,} values, and there is a finer one"
            raise BadChoice(fact, f"Levels above the finest may have up to {_MOST_VALUES:,}.")

    @property
    def size(self) -> int:
        """The number of ranks: of values of the finest level that is used."""
        return self.sizes[-1]

    @property
    def finest(self) -> int:
        """The number of the last stage."""
        return len(self.levels)

    def ranks(self, codes: Numbers) -> Numbers:
        """Return the ranks of codes of the attribute's own values."""
        found = codes_at(self.attribute, self.levels[-1], codes)
        if self._order is None:
            return found
        return self._places[found]

    def starts(self, stage: int) -> Numbers:
        """Return the first rank of each value of a stage, and the number of ranks behind the last."""
        return self._starts[stage]

    def values(self, stage: int, ranks: Numbers) -> Numbers:
        """Return which values of a stage hold these ranks: their places in the order of ranks."""
        if stage == 0:
            return np.zeros_like(ranks)
        if stage == self.finest:
            return ranks
        if self.size <= _TABLE:
            return self._tables[stage][ranks]
        return np.searchsorted(self._starts[stage], ranks, side="right") - 1

    def bounds(self, stage: int, values: Numbers) -> tuple[Numbers, Numbers]:
        """Return the first rank of values of a stage, and where their ranks stop."""
        if stage == self.finest and stage:
            return values, values + 1
        starts = self._starts[stage]
        return starts[values], starts[values + 1]

    def codes(self, stage: int, values: Numbers) -> Numbers:
        """Return the codes, at the level of a stage, of values given by their places."""
        if self._order is None:
            return values
        first, _ = self.bounds(stage, values)
        return codes_at(self.attribute, self.levels[stage - 1], self._first_own[self._order[first]])

    def places(self, stage: int, codes: Numbers) -> Numbers:
        """Return the places, in the order of ranks, of codes at the level of a stage."""
        if self._order is None:
            return codes
        every = self.codes(stage, np.arange(self.sizes[stage], dtype=np.int64))
        found = np.empty_like(every)
        found[every] = np.arange(every.size)
        return found[codes]

    def _size(self, level: int) -> int:
        return level_of(self.attribute, level).values.size if level else self.attribute.size

    @cached_property
    def _first_own(self) -> Numbers:
        """The first of the attribute's own codes that each value of the finest level has, of categories."""
        own = np.arange(self.attribute.size - 1, -1, -1, dtype=np.int64)
        first = np.empty(self.size, dtype=np.int64)
        first[codes_at(self.attribute, self.levels[-1], own)] = own  # of several, the last one written stays
        return first

    @cached_property
    def _order(self) -> Numbers | None:
        """The codes at the finest level in the order of ranks; None where that is their own order."""
        if not isinstance(self.attribute.values, Categories):
            return None  # whose levels hold neighbours
        keys = [np.arange(self.size, dtype=np.int64)]
        keys += [codes_at(self.attribute, level, self._first_own) for level in self.levels[-2::-1]]
        if all(np.all(np.diff(each) >= 0) for each in keys):
            return None
        return np.lexsort(keys).astype(np.int64)

    @cached_property
    def _places(self) -> Numbers:
        """The rank of each code at the finest level."""
        assert self._order is not None
        found = np.empty_like(self._order)
        found[self._order] = np.arange(found.size)
        return found

    @cached_property
    def _starts(self) -> list[Numbers]:
        """Where the values of each stage but the last begin."""
        ends = np.array([0, self.size], dtype=np.int64)
        return [ends, *map(self._starts_at, self.levels[:-1])]

    def _starts_at(self, level: int) -> Numbers:
        if isinstance(self.attribute.values, Categories):
            own = self._first_own if self._order is None else self._first_own[self._order]
            coarse = codes_at(self.attribute, level, own)
            fresh = np.flatnonzero(np.diff(coarse, prepend=-1))
            return np.append(fresh, self.size).astype(np.int64)
        # Codes of a coarser level ascend with an attribute's own: the first of each is searched for.
        wanted = np.arange(self._size(level), dtype=np.int64)
        low, high = np.zeros_like(wanted), np.full_like(wanted, self.attribute.size - 1)
        while np.any(low < high):
            middle = (low + high) // 2
            before = codes_at(self.attribute, level, middle) < wanted
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return np.append(codes_at(self.attribute, self.levels[-1], low), self.size)

    @cached_property
    def _tables(self) -> list[Numbers]:
        """For each stage but the last, the value that holds each rank."""
        return [np.repeat(np.arange(each.size - 1, dtype=np.int64), np.diff(each)) for each in self._starts]
