"""A table cut into slices: ranges of keys that can be summarised on their own.

Promise: every cell of the domain lies in one slice. Where the cuts lie does not change the law of a
summary, so they may follow the occupied cells, for slices of equal work. Who holds the slices says where they
are worked on: threads of this process, or other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.noise import BitSource
from hushtable.table.progress import Progress, unheard
from hushtable.table.sparse import SparseTable

Cells: TypeAlias = tuple[Keys, NDArray[np.int64]]


class Slice(NamedTuple):
    """The cells whose words lie from those of `start`, as many as `bounds` says of each. Private."""

    start: tuple[int, ...]
    bounds: tuple[int, ...]
    cells_occupied: int
    load: Callable[[], Cells]  # ascending keys of the table, and counts: in memory or on disk

    def cells(self) -> Cells:
        """The occupied cells, counted from `start`, and their counts: read when the slice is worked on."""
        keys, counts = self.load()
        return keys - self._start, counts

    def of_table(self, keys: Keys) -> Keys:
        """Return keys that are counted from `start` as keys of the table, in place."""
        keys += self._start
        return keys

    @property
    def _start(self) -> Keys:
        return np.array(self.start, dtype=np.uint64)[:, np.newaxis]

    @property
    def cells_empty(self) -> int:
        """How many cells of the slice hold nothing."""
        return prod(self.bounds) - self.cells_occupied

    def __repr__(self) -> str:
        return "Slice(<private>)"  # cuts follow the occupied cells


class Candidates(NamedTuple):
    """Noisy cells of a slice: their keys, noisy counts, and the band that accepted each (-1: occupied)."""

    keys: Keys
    counts: NDArray[np.int64]
    bands: NDArray[np.int8]

    @classmethod
    def joined(cls, parts: Iterable[Candidates]) -> Candidates:
        """Return those of one slice or more."""
        gathered = Gathered()
        for part in parts:
            gathered.add(part)
        return gathered.taken()

    def only(self, rows: NDArray[np.intp]) -> Candidates:
        """Return the chosen ones."""
        return Candidates(self.keys.take(rows, axis=1), self.counts[rows], self.bands[rows])


class Gathered:
    """Candidates as they come. Each part is copied and let go, so that no two copies of all are ever held."""

    def __init__(self) -> None:
        self.number = 0
        self._found: list[NDArray[Any]] = []  # keys, counts and bands, each with room for more at its end

    def add(self, part: Candidates) -> None:
        """Add the candidates of a slice."""
        start, self.number = self.number, self.number + part.counts.size
        if not self._found:
            self._found = [each.copy() for each in part]
            return
        for place, more in enumerate(part):
            held = self._found[place]
            if self.number > held.shape[-1]:
                grown = np.empty((*held.shape[:-1], max(2 * start, self.number)), dtype=held.dtype)
                grown[..., :start] = held[..., :start]
                self._found[place] = held = grown
            held[..., start : self.number] = more

    def taken(self) -> Candidates:
        """Return what was added, and hold it no longer."""
        (keys, counts, bands), number = self._found, self.number
        self._found, self.number = [], 0
        for each in (counts, bands):  # which may be published: nothing lies behind their end
            each.resize(number, refcheck=False)
        return Candidates(keys[:, :number], counts, bands)


# What is done with a slice: it gets how many empty cells each band accepts, and bits.
Task: TypeAlias = Callable[[Slice, Sequence[int], BitSource], Candidates]


class Slices(Protocol):
    """All slices of a table, wherever they are."""

    @property
    def cells_empty(self) -> Sequence[int]:
        """How many cells of each slice hold nothing."""

    def map_slices(
        self, task: Task, accepted: Sequence[Sequence[int]], entropy: BitSource
    ) -> Iterator[Candidates]:
        """Yield what the task draws from each slice, in their order: drawn once, whatever fails on the way.

        Bits are those of `entropy` in this process, and of a key of its own wherever else a task runs.
        """


@dataclass(frozen=True)
class SlicesHere:
    """Slices that threads of this process work on."""

    parts: Sequence[Slice]
    threads: int = 1
    progress: Progress = unheard

    @property
    def cells_empty(self) -> Sequence[int]:
        """How many cells of each slice hold nothing."""
        return [part.cells_empty for part in self.parts]

    def map_slices(
        self, task: Task, accepted: Sequence[Sequence[int]], entropy: BitSource
    ) -> Iterator[Candidates]:
        """Yield what the task draws from each slice, in their order."""
        for done, drawn in enumerate(self._drawn(task, accepted, entropy), start=1):
            self.progress("Drawing", done / len(self.parts))
            yield drawn

    def _drawn(
        self, task: Task, accepted: Sequence[Sequence[int]], entropy: BitSource
    ) -> Iterator[Candidates]:
        entropies = [entropy] * len(self.parts)
        if self.threads == 1 or len(self.parts) == 1:
            yield from map(task, self.parts, accepted, entropies)
            return
        from concurrent.futures import ThreadPoolExecutor  # here: small tables do not wait for its import

        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(task, self.parts, accepted, entropies)


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
        start = (low, *(0,) * len(bounds[1:]))
        slices.append(Slice(start, (high - low, *bounds[1:]), end - begin, partial(same, cells)))
    return slices


def same(cells: Cells) -> Cells:
    """Return cells that are in memory already."""
    return cells
