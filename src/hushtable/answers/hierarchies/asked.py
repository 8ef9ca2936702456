"""What a question covers along each axis of a hierarchy, in ranks.

Promise: exact. A group is a product of sets of ranks, one for each axis; each set is kept as runs. What would
cut a value of the finest level that was published is refused.
Cost: a search among the runs for each lookup; one entry for each run, and for each value of categories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.ranges import Runs
from hushtable.conditions.selection import Selection
from hushtable.domain.attributes import Attribute
from hushtable.domain.items import codes_at, level_of
from hushtable.domain.kinds import Categories
from hushtable.errors import BadQuery, shown
from hushtable.structures.chains import Chain

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Covered:
    """Sets of ranks along one axis: runs [start, stop) in the order of the sets that they belong to."""

    size: int  # ranks there are
    codes: Numbers  # of the groups, at the level that was asked for; one 0 where nothing is grouped
    owners: Numbers
    starts: Numbers
    stops: Numbers

    def within(self, sets: Numbers, low: Numbers, high: Numbers) -> Numbers:
        """Return how many ranks of each set lie from `low` to below `high`."""
        return self._below(sets, high) - self._below(sets, low)

    def bounds(self) -> tuple[Numbers, Numbers]:
        """Return the first rank of each set, and where its last run stops; every set has some."""
        firsts = np.searchsorted(self.owners, np.arange(self.codes.size))
        lasts = np.append(firsts[1:], self.owners.size) - 1
        return self.starts[firsts], self.stops[lasts]

    def _below(self, sets: Numbers, ranks: Numbers) -> Numbers:
        """Return how many ranks of a set, and of all sets before it, lie before a rank."""
        lengths = np.append(0, np.cumsum(self.stops - self.starts))
        # The first run of the set that starts at the rank or behind it: sets and ranks in one number.
        keys = self.owners * (self.size + 1) + self.starts
        places = np.searchsorted(keys, sets * (self.size + 1) + ranks, side="left")
        before = np.maximum(places - 1, 0)
        mine = (places > 0) & (self.owners[before] == sets)
        over = np.where(mine, np.maximum(self.stops[before] - ranks, 0), 0)
        found: Numbers = lengths[places] - over
        return found


def covered(selection: Selection, chain: Chain, place: int, level: int | None) -> Covered:
    """Return the ranks that a selection has along an axis: for each of its values at a level, or together."""
    attribute, runs = selection.domain.attributes[place], selection.codes(place)
    if isinstance(attribute.values, Categories):
        return _of_categories(attribute, runs, chain, level)
    return _of_neighbours(attribute, runs, chain, level)


def check_beside(selection: Selection, place: int, *, grouped: bool) -> None:
    """Raise where a question is about an attribute that the hierarchy does not have."""
    if grouped or selection.codes(place).size != selection.domain.shape[place]:
        name = shown(selection.domain.names[place])
        fact = f"the hierarchy of this release does not have the attribute {name}"
        raise BadQuery(fact, "Ask without it.")


def _of_categories(attribute: Attribute, runs: Runs, chain: Chain, level: int | None) -> Covered:
    own = runs.all()
    ranks = chain.ranks(own)
    # All of a value's own categories, or none of them.
    if chain.levels[-1]:
        every = np.bincount(chain.ranks(np.arange(attribute.size)), minlength=chain.size)
        some = np.bincount(ranks, minlength=chain.size)
        if np.any((some > 0) & (some < every)):
            raise _too_fine(attribute, chain)
    groups = np.zeros(own.size, dtype=np.int64) if level is None else codes_at(attribute, level, own)
    codes, owners = np.unique(groups, return_inverse=True)
    pairs = np.unique(owners * (chain.size + 1) + ranks)
    if level is not None and chain.levels[-1] and np.unique(pairs % (chain.size + 1)).size < pairs.size:
        raise _too_fine(attribute, chain)
    fresh = np.flatnonzero(np.diff(pairs, prepend=-2) != 1)
    starts = pairs[fresh]
    stops = pairs[np.append(fresh[1:], pairs.size) - 1] + 1
    owned = starts // (chain.size + 1)
    return Covered(chain.size, codes, owned, starts % (chain.size + 1), stops - owned * (chain.size + 1))


def _of_neighbours(attribute: Attribute, runs: Runs, chain: Chain, level: int | None) -> Covered:
    """The same, of values in an order that all levels keep: nothing is listed but groups."""
    starts, stops = runs.starts, runs.stops
    if level is not None:
        # Cut at the first value of each group.
        first = _first_own(attribute, level)
        cuts = np.unique(np.concatenate([starts, first[(first > starts[0]) & (first < stops[-1])]]))
        ends = np.append(cuts[1:], stops[-1])
        run = np.searchsorted(starts, cuts, side="right") - 1
        starts, stops = cuts, np.minimum(ends, stops[run])
        some = starts < stops
        starts, stops = starts[some], stops[some]
    groups = np.zeros(starts.size, dtype=np.int64) if level is None else codes_at(attribute, level, starts)
    low, high = chain.ranks(starts), chain.ranks(stops - 1) + 1
    if chain.levels[-1]:
        first = _first_own(attribute, chain.levels[-1])
        ends = np.append(first, attribute.size)
        if np.any(ends[low] != starts) or np.any(ends[high] != stops):
            raise _too_fine(attribute, chain)
    codes, owners = np.unique(groups, return_inverse=True)
    return Covered(chain.size, codes, owners.astype(np.int64), low, high)


def _first_own(attribute: Attribute, level: int) -> Numbers:
    """Return the first own code of each value of a level, which keeps the order."""
    size = level_of(attribute, level).values.size if level else attribute.size
    if not level:
        return np.arange(size, dtype=np.int64)
    return Chain(attribute, (level, 0)).starts(1)[:-1]


def _too_fine(attribute: Attribute, chain: Chain) -> BadQuery:
    level = level_of(attribute, chain.levels[-1]).name
    fact = f"the hierarchy of this release ends at {shown(level)} of {shown(attribute.name)}"
    return BadQuery(fact, "Ask at that level, or at a coarser one.")
