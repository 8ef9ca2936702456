"""A table cut into slices: ranges of keys that can be summarised on their own.

Promise: every cell of the domain lies in one slice. Where the cuts lie does not change the law of a
summary, so they may follow the occupied cells, for slices of equal work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.table.sparse import SparseTable

Cells: TypeAlias = tuple[Keys, NDArray[np.int64]]


class Slice(NamedTuple):
    """The cells whose first word lies from `start` to `start + bounds[0] - 1`. Private."""

    start: int
    bounds: tuple[int, ...]
    cells_occupied: int
    load: Callable[[], Cells]  # ascending keys of the table, and counts: in memory or on disk

    def cells(self) -> Cells:
        """The occupied cells, counted from `start`, and their counts: read when the slice is worked on."""
        keys, counts = self.load()
        keys = keys.copy()
        keys[0] -= np.uint64(self.start)
        return keys, counts

    @property
    def cells_empty(self) -> int:
        """How many cells of the slice hold nothing."""
        return prod(self.bounds) - self.cells_occupied

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, bounds={self.bounds}, counts=<private>)"


def split(table: SparseTable, *, parts: int) -> list[Slice]:
    """Cut a table into at most `parts` slices with about equally many occupied cells."""
    bounds = table.space.bounds
    first = table.keys[0]
    wanted = [first.size * part // parts for part in range(1, parts)]
    inner = sorted({int(first[place]) for place in wanted} - {0}) if first.size else []
    edges = [0, *inner, bounds[0]]
    slices = []
    for low, high in pairwise(edges):
        begin = int(np.searchsorted(first, np.uint64(low), side="left"))
        end = int(np.searchsorted(first, np.uint64(high - 1), side="right"))
        cells = (table.keys[:, begin:end], table.counts[begin:end])
        slices.append(Slice(low, (high - low, *bounds[1:]), end - begin, partial(_same, cells)))
    return slices


def _same(cells: Cells) -> Cells:
    """Return cells that are in memory already."""
    return cells
