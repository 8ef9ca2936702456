"""Cells as ranges of a line, for one set of cells or for many groups at once.

Cells stand in the order of a line's attributes (`structures.lines`). What a product of conditions selects is
then a set of ranges, found from the last attribute backwards: while all codes behind an attribute are
selected, each of its runs is one range; from there on, the ranges repeat for each code of the attributes
before.

Promise: the ranges of a group hold its cells and no others; they ascend and do not touch. Groups are numbered
in the order of the line's attributes that make them.
Cost: a few operations on arrays of ranges, of which there are at most 10^6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.ranges import Runs
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery, shown
from hushtable.structures.lines import Line, Positions

MOST_RANGES = 10**6


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges [start, stop) of positions, in the order of their groups, of which there are `number`."""

    groups: NDArray[np.intp]
    starts: Positions
    stops: Positions
    number: int

    def parts(self, most: int) -> Iterator[Ranges]:
        """Yield groups that follow each other, with at most so many ranges, or one group with more."""
        ends = np.searchsorted(self.groups, np.arange(self.number + 1))
        first = 0
        while first < self.number:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
            rows = slice(ends[first], ends[last])
            yield Ranges(self.groups[rows] - first, self.starts[rows], self.stops[rows], last - first)
            first = last


def ranges_of(selection: Selection, line: Line, *, places: Collection[int]) -> Ranges:
    """Return the ranges of a line for the groups of the attributes at `places`.

    The selection must be a product of conditions on single attributes, and hold a cell.
    """
    none, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    found = Ranges(none.astype(np.intp), none, one, 1)
    width = 1
    for place, size in reversed(list(zip(line.places, line.sizes, strict=True))):
        codes = selection.codes(place)
        if place not in places and found.starts.size == 1 and found.stops[0] - found.starts[0] == width:
            found = Ranges(
                np.zeros(len(codes.starts), dtype=np.intp), codes.starts * width, codes.stops * width, 1
            )
        else:
            if codes.size * found.starts.size > MOST_RANGES:
                raise _too_many(selection, line, places, codes.size * found.starts.size)
            found = _repeated(found, codes, width, fresh=place in places)
        width *= size
    return found


def order_of_groups(selection: Selection, order: Sequence[int], places: Sequence[int]) -> NDArray[np.intp]:
    """Return where groups, listed by the attributes at `places`, are if attributes come in this order."""
    line = [place for place in order if place in places]
    sizes = [selection.codes(place).size if selection.cells else 0 for place in line]
    numbers = np.arange(np.prod(sizes, dtype=np.intp)).reshape(sizes)
    return numbers.transpose([line.index(place) for place in places]).ravel()


def _repeated(ranges: Ranges, codes: Runs, width: int, *, fresh: bool) -> Ranges:
    """Return the ranges again for each code of the attribute before, as groups of their own if `fresh`."""
    values = codes.all()[:, np.newaxis]
    starts, stops = ((values * width + each).ravel() for each in (ranges.starts, ranges.stops))
    if fresh:
        groups = np.arange(len(values))[:, np.newaxis] * ranges.number + ranges.groups
        return Ranges(groups.ravel(), starts, stops, len(values) * ranges.number)
    groups = np.tile(ranges.groups, len(values))
    order = np.argsort(groups, kind="stable")
    groups, starts, stops = groups[order], starts[order], stops[order]
    touching = (groups[1:] == groups[:-1]) & (starts[1:] == stops[:-1])
    first, last = np.append(True, ~touching), np.append(~touching, True)
    return Ranges(groups[first], starts[first], stops[last], ranges.number)


def _too_many(selection: Selection, line: Line, places: Collection[int], number: int) -> BadQuery:
    names = [shown(selection.domain.names[place]) for place in line.places]
    fact = (
        f"in the order {', '.join(names)}, these cells lie in {number:,} ranges, "
        f"and at most {MOST_RANGES:,} can be put together"
    )
    asked = [
        at
        for at, (place, size) in enumerate(zip(line.places, line.sizes, strict=True))
        if place in places or selection.codes(place).size < size
    ]
    before, last = names[: max(asked, default=0)], names[max(asked, default=0)]
    if not before:
        return BadQuery(fact, f"Ask for fewer values of {last} at a time.")
    hint = (
        f"Each value of {' and '.join(before)} has ranges of its own. Choose a few of them by a condition, "
        f"or ask a release whose order has {last} first."
    )
    return BadQuery(fact, hint)
