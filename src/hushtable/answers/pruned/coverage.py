"""How many cells of a question lie in the boxes of nodes, for many groups at once.

Promise: exact. A group is asked about any number of boxes; boxes are given by where they
start and stop along the dimensions of addresses (`structures.addresses`): the line, or each attribute.
Cost: a search in the ranges of a group, or in the runs of an attribute, for each box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.nodes.ranges import Ranges
from hushtable.conditions.ranges import Runs
from hushtable.conditions.selection import Selection

Places = NDArray[np.intp]
Numbers = NDArray[np.int64]


class Coverage(Protocol):
    """The cells of each of `number` groups."""

    number: int

    def cells(self, groups: Places, starts: Numbers, stops: Numbers) -> Numbers:
        """Return how many cells of each group lie in the box beside it, one row of `starts` and `stops`."""


class LineCoverage:
    """Groups of ranges in a line."""

    def __init__(self, ranges: Ranges) -> None:
        self.number = ranges.number
        self._ranges = ranges
        self._ends = np.searchsorted(ranges.groups, np.arange(ranges.number + 1))
        self._before = np.append(0, np.cumsum(ranges.stops - ranges.starts))

    def cells(self, groups: Places, starts: Numbers, stops: Numbers) -> Numbers:
        """Return how many cells of each group lie in the box beside it."""
        found: Numbers = np.maximum(self._below(groups, stops[:, 0]) - self._below(groups, starts[:, 0]), 0)
        return found

    def _below(self, groups: Places, bounds: Numbers) -> Numbers:
        """Return how many cells of a group lie before a bound, and those of all groups before it."""
        # The first range of the group that does not start before the bound.
        low, high = self._ends[groups], self._ends[groups + 1]
        while np.any(low < high):
            middle = (low + high) // 2
            later = (self._ranges.starts.take(middle, mode="clip") < bounds) & (low < high)
            low, high = np.where(later, middle + 1, low), np.where(later, high, np.maximum(middle, low))
        # The one before it may reach beyond.
        over = np.where(low > self._ends[groups], self._ranges.stops.take(low - 1, mode="clip") - bounds, 0)
        return self._before[low] - np.maximum(over, 0)


class BoxCoverage:
    """Products of conditions on single attributes, grouped by those at `places`."""

    def __init__(self, selection: Selection, places: Sequence[int], codes: Numbers) -> None:
        self.number = len(codes)
        self._places, self._codes = list(places), codes
        self._runs = [selection.codes(place) for place in range(len(selection.domain.shape))]

    def cells(self, groups: Places, starts: Numbers, stops: Numbers) -> Numbers:
        """Return how many cells of each group lie in the box beside it."""
        found = np.ones(groups.size, dtype=np.int64)
        for place, runs in enumerate(self._runs):
            low, high = starts[:, place], stops[:, place]
            if place in self._places:
                code = self._codes[groups, self._places.index(place)]
                found *= (low <= code) & (code < high)
            else:
                found *= np.maximum(_below(runs, high) - _below(runs, low), 0)
        return found


def _below(runs: Runs, bounds: Numbers) -> Numbers:
    """Return how many codes lie before each bound."""
    before = np.append(0, np.cumsum(runs.stops - runs.starts))
    place = np.searchsorted(runs.starts, bounds, side="left")
    over = np.where(place > 0, runs.stops.take(place - 1, mode="clip") - bounds, 0)
    found: Numbers = before[place] - np.maximum(over, 0)
    return found
