"""Keys of rows into counted slices: sorted runs, then merged range by range.

Each batch of rows becomes a sorted run, in memory or in a file. When all are there, cuts are taken from
a sample of them, and each range of keys is gathered from all runs, sorted and counted on its own: a slice.

Promise: the slices hold each key that came once, ascending, with how often it came or the sum of its amounts.
Neither the order of the rows nor the batches nor the cuts change what they hold.
Cost: two sorts of a row, the second of runs in order; beyond `rows_in_memory` rows, files take them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, repeats, sorted_keys
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells, Slice
from hushtable.table.sparse import in_order

SLICE_ROWS = 1 << 18  # rows of a slice: what one thread sorts stays in its cache
MOST_SLICES = 1 << 10
SAMPLED = 1 << 9  # one key in so many is kept for choosing the cuts

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class KeyRows(NamedTuple):
    """Keys of rows, and the amount each adds, or None where each counts 1."""

    keys: Keys
    amounts: NDArray[np.int64] | None


class Run(NamedTuple):
    """Rows in ascending order; `rows(begin, end)` gives a part of them, from memory or from a file."""

    size: int
    sample: NDArray[np.uint64]
    rows: Callable[[int, int], KeyRows]


def counted_slices(
    batches: Iterable[KeyRows],
    space: KeySpace,
    *,
    folder: Path,
    rows_in_memory: int,
    threads: int,
    progress: Progress = unheard,
) -> list[Slice]:
    """Count the rows of all batches. Slices that were read from files live as long as `folder`."""
    with ThreadPoolExecutor(threads) as pool:
        store = Store(folder, len(space.bounds), rows_in_memory)
        runs = [store.kept(run) for run in ahead(pool, sorted_rows, batches, threads)]
        total = sum(run.size for run in runs)
        parts = min(-(-total // SLICE_ROWS), max(MOST_SLICES, threads))
        edges = _edges(runs, parts, space.bounds[0])
        places = [_places(run, edges) for run in runs]
        spill = store.spilled

        def gathered(part: int) -> Cells:
            pieces = [run.rows(at[part], at[part + 1]) for run, at in zip(runs, places, strict=True)]
            return counted([piece for piece in pieces if piece.keys.size], len(space.bounds))

        slices: list[Slice] = []
        cells_store = Store(folder, len(space.bounds), 0 if spill else total)
        for (low, high), cells in zip(
            pairwise(edges), ahead(pool, gathered, range(len(edges) - 1), threads), strict=True
        ):
            progress("Counting", len(slices) / (len(edges) - 1))
            later = space.bounds[1:]
            start = (low, *(0,) * len(later))
            slices.append(cells_store.slice(start, (high - low, *later), cells))
        return slices


def sorted_rows(rows: KeyRows) -> KeyRows:
    """Return a batch in ascending order; where most keys repeat, each once with its count."""
    if rows.amounts is not None:
        return KeyRows(*in_order(rows.keys, rows.amounts))
    return condensed(KeyRows(sorted_keys(rows.keys), None))


def condensed(rows: KeyRows) -> KeyRows:
    """Return rows in ascending order, where most keys repeat each once with its count."""
    if rows.amounts is not None:
        return rows
    again = repeats(rows.keys)
    return KeyRows(*_counts(rows.keys, again)) if 2 * np.count_nonzero(again) > again.size else rows


def counted(pieces: list[KeyRows], words: int) -> Cells:
    """Return the cells of pieces that are each in ascending order."""
    if not pieces:
        return np.empty((words, 0), dtype=np.uint64), np.empty(0, dtype=np.int64)
    keys = np.concatenate([piece.keys for piece in pieces], axis=1)
    if all(piece.amounts is None for piece in pieces):
        if words == 1:
            keys.sort()
        else:
            keys = sorted_keys(keys)
        return _counts(keys, repeats(keys))
    ones = (np.ones(piece.keys.shape[1], dtype=np.int64) for piece in pieces)
    amounts = [
        one if piece.amounts is None else piece.amounts for piece, one in zip(pieces, ones, strict=True)
    ]
    return in_order(keys, np.concatenate(amounts))


def exact_sum(counts: NDArray[np.int64]) -> int:
    """Add up counts in two halves, so that nothing wraps."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def _counts(keys: Keys, again: NDArray[np.bool_]) -> Cells:
    """Return each key once with how often it comes."""
    starts = np.flatnonzero(~again)
    return keys.take(starts, axis=1), np.diff(starts, append=again.size)


def _edges(runs: list[Run], parts: int, bound: int) -> list[int]:
    """Return where the slices begin, for about equally many rows in each, and where the last one ends."""
    inner: set[int] = set()
    if parts > 1:
        sample = np.sort(np.concatenate([run.sample for run in runs]))
        inner = {int(sample[sample.size * part // parts]) for part in range(1, parts)} - {0}
    return [0, *sorted(inner), bound]


def _places(run: Run, edges: list[int]) -> list[int]:
    """Return where each slice begins in a run, and where the last one ends."""
    first = run.rows(0, run.size).keys[0]
    inner = np.searchsorted(first, np.array(edges[1:-1], dtype=np.uint64))
    return [0, *inner.tolist(), run.size]


class Store:
    """Where runs and cells are kept: in memory up to so many rows, in a file beyond."""

    def __init__(self, folder: Path, words: int, rows_in_memory: int) -> None:
        self._words, self._room, self._end = words, rows_in_memory, 0
        self._folder = folder
        self._file = -1

    @property
    def spilled(self) -> bool:
        """Whether anything is in the file."""
        return self._file >= 0

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def kept(self, rows: KeyRows) -> Run:
        """Keep a run."""
        size = rows.keys.shape[1]
        return Run(size, rows.keys[0, ::SAMPLED].copy(), self._put(rows))

    def slice(self, start: tuple[int, ...], bounds: tuple[int, ...], cells: Cells) -> Slice:
        """Keep the cells of a slice."""
        size = cells[1].size
        part = self._put(KeyRows(*cells))

        def load() -> Cells:
            rows = part(0, size)
            assert rows.amounts is not None
            return rows.keys, rows.amounts

        return Slice(start, bounds, size, load)

    def _put(self, rows: KeyRows) -> Callable[[int, int], KeyRows]:
        """Keep rows and return how to get a part of them."""
        size = rows.keys.shape[1]
        self._room -= size
        if self._room >= 0:
            return lambda begin, end: KeyRows(
                rows.keys[:, begin:end], None if rows.amounts is None else rows.amounts[begin:end]
            )
        if self._file < 0:
            # Without a name from the start: nothing is left of it, however this process ends.
            path = self._folder / "rows"
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            path.unlink()
        columns = [*rows.keys, *(() if rows.amounts is None else (rows.amounts.view(np.uint64),))]
        begin_of = [self._write(column) for column in columns]
        weighted = rows.amounts is not None

        def part(begin: int, end: int) -> KeyRows:
            read = [self._read(start + 8 * begin, end - begin) for start in begin_of]
            keys = np.stack(read[: self._words])
            return KeyRows(keys, read[-1].view(np.int64) if weighted else None)

        return part

    def _write(self, column: NDArray[np.uint64]) -> int:
        """Append a column to the file and return where it begins."""
        start, data = self._end, memoryview(np.ascontiguousarray(column).data).cast("B")
        while data:
            data = data[os.pwrite(self._file, data, self._end) :]
            self._end = start + 8 * column.size - len(data)
        return start

    def _read(self, start: int, count: int) -> NDArray[np.uint64]:
        """Read so many words."""
        words = np.empty(count, dtype=np.uint64)
        view = memoryview(words.data).cast("B")
        while view:
            got = os.preadv(self._file, [view], start)
            if not got:
                raise OSError("a spill file is shorter than what was written")
            view, start = view[got:], start + got
        return words


def ahead(
    pool: ThreadPoolExecutor, work: Callable[[_In], _Out], items: Iterable[_In], threads: int
) -> Iterator[_Out]:
    """Yield the results of `work` in order, working on few items ahead so that few are held."""
    waiting: deque[Future[_Out]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > threads + 1:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
