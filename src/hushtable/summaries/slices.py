"""A table cut into slices: ranges of keys that can be summarised on their own.

Promise: every cell of the domain lies in one slice. Where the cuts lie does not change the law of a
summary, so they may follow the occupied cells, for slices of equal work.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.table.sparse import SparseTable


class Slice(NamedTuple):
    """The cells whose first word lies from `start` to `start + bounds[0] - 1`. Private."""

    start: int
    bounds: tuple[int, ...]
    table_keys: Keys  # occupied cells: a view of the table
    counts: NDArray[np.int64]

    def keys(self) -> Keys:
        """The occupied cells, counted from `start`: a copy, made when the slice is worked on."""
        keys = self.table_keys.copy()
        keys[0] -= np.uint64(self.start)
        return keys

    @property
    def cells_empty(self) -> int:
        """How many cells of the slice hold nothing."""
        return prod(self.bounds) - self.counts.size

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
        begin = np.searchsorted(first, np.uint64(low), side="left")
        end = np.searchsorted(first, np.uint64(high - 1), side="right")
        keys, counts = table.keys[:, begin:end], table.counts[begin:end]
        slices.append(Slice(low, (high - low, *bounds[1:]), keys, counts))
    return slices
