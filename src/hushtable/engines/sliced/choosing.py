"""What is counted of each unit, where units are whole numbers: by sorted runs.

Each row gets a rank from its unit, its cell and its amount. Runs in the order of units and ranks are cut
between units, and of each unit the first rows, or cells, stay. A unit with more rows than a slice has is gone
through piece by piece.

Promise: that of `bounding`, which does the same in SQL for other units. Equal rows of a unit are numbered,
and each has a rank of its own: any `max_rows` of a unit's rows are as likely as any others. Ranks that two
rows of a unit share, if ever, are told apart by the rows themselves.
Cost: two sorts of a row; beyond `rows_in_memory` rows, files take them. Of one unit at most `max_rows` rows
are held.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, order_of_drawn, places_of, repeats, sorted_keys
from hushtable.domain.measure import Unit
from hushtable.engines.sliced.runs import MOST_SLICES, SAMPLED, KeyRows, Run, Store, ahead
from hushtable.noise import BitSource
from hushtable.noise.ranks import Ranks
from hushtable.table.sparse import LARGEST_COUNT

_Counts = NDArray[np.int64]
_PIECE_ROWS = 1 << 16
_FEW_EQUAL = 16  # one equal row in so many is left as it is, so that runs of rows need no counts
_AT_ONCE = 1 << 20  # equal rows that are taken one by one together
_UNIT, _RANK, _CELL = 0, 1, 2  # the words of a row: unit, rank, cell, and its amount if it has one


class Chooser:
    """Chooses what is counted of each unit. Private, as the key of its ranks is."""

    def __init__(self, unit: Unit, entropy: BitSource, *, words: int, amounts: bool) -> None:
        """Choose among rows whose cells have so many words, with or without amounts."""
        self._unit, self._words, self._amounts = unit, words, amounts
        self._ranked = (
            1 + words + (amounts and unit.max_rows is not None)
        )  # a cell's rank is of the cell alone
        self._ranks = Ranks(entropy, words=self._ranked)
        self._of_copies, self._of_amounts = Ranks(entropy, words=2), Ranks(entropy, words=2)
        self.counted = 0

    def chosen(
        self, batches: Iterable[Keys], *, folder: Path, rows_in_memory: int, threads: int
    ) -> Generator[KeyRows, None, None]:
        """Yield what stays of rows, given as unit, words of the cell, and amount."""
        with ThreadPoolExecutor(threads) as pool:
            store = Store(folder, _CELL + self._words + self._amounts, rows_in_memory)
            runs = [store.kept(run) for run in ahead(pool, self._run, batches, threads)]
            samples = [run.rows(0, run.size).keys[:_CELL, ::SAMPLED].copy() for run in runs]
            edges, tasks = _cut(samples, sum(run.size for run in runs))
            places = [_places(run, edges) for run in runs]

            def piece(number: int) -> list[KeyRows]:
                found = (run.rows(at[number], at[number + 1]) for run, at in zip(runs, places, strict=True))
                return [rows for rows in found if rows.keys.size]

            def work(task: range) -> list[tuple[KeyRows, int]]:
                return self._of_units(map(piece, task), len(task))

            for found in ahead(pool, work, tasks, threads):
                for rows, number in found:
                    self.counted += number
                    if rows.keys.size:
                        yield rows

    def _run(self, rows: Keys) -> KeyRows:
        """Return a batch in the order of units and ranks, with the rank of each row as its second word."""
        ranks = self._ranks.of(rows[: self._ranked])
        return _arranged([KeyRows(np.stack([rows[0], ranks, *rows[1:]]), None)], always=False)

    def _of_units(self, pieces: Iterable[list[KeyRows]], number: int) -> list[tuple[KeyRows, int]]:
        """Return what stays of whole units, which come in so many pieces, and how many rows that is."""
        few = self._few_rows if self._unit.max_rows is not None else self._few_cells
        return [self._stay(*kept) for kept in few(pieces, number)]

    def _few_rows(self, pieces: Iterable[list[KeyRows]], number: int) -> Iterator[tuple[Keys, _Counts]]:
        """Yield the rows of whole units, and how many of each stay: the first by rank, `max_rows` in all."""
        most, open_rows = self._unit.max_rows, list[KeyRows]()
        assert most is not None
        for last, piece in zip((each == number - 1 for each in range(number)), pieces, strict=True):
            keys, amounts = _arranged([*open_rows, *piece])
            counts = _counts_of(keys, amounts)
            if not last and counts.size:
                # More rows of the last unit may follow: those that may stay wait for them, each by itself.
                begin = int(np.searchsorted(keys[_UNIT], keys[_UNIT, -1]))
                items, ranks = self._first_of_one(keys[_RANK, begin:], counts[begin:], most)
                waiting = keys[:, begin:].take(items, axis=1)
                waiting[_RANK] = ranks
                open_rows = [KeyRows(waiting, None)]
                keys, counts = keys[:, :begin], counts[:begin]
            if counts.size:
                yield keys, self._first(_starts(keys[_UNIT : _UNIT + 1]), keys[_RANK], counts, most)

    def _few_cells(self, pieces: Iterable[list[KeyRows]], number: int) -> Iterator[tuple[Keys, _Counts]]:
        """Yield the rows of whole units, and how many of each stay: in the first cells, a few in each."""
        cells, each = self._unit.max_cells, self._unit.max_per_cell
        assert cells is not None
        assert each is not None
        open_unit, used = None, 0  # the unit that the last piece ended with, and how many cells it has so far
        for piece in pieces:
            keys, amounts = _arranged(piece)
            counts = _counts_of(keys, amounts)
            if not counts.size:
                continue
            starts = _starts(keys[: _CELL + self._words])  # of the cells of each unit
            units = keys[_UNIT].take(starts)
            first = _starts(units[np.newaxis])
            sizes = np.diff(first, append=units.size)
            place = np.arange(units.size) - np.repeat(first, sizes)
            before = used if open_unit == int(units[0]) else 0
            place[: sizes[0]] += before
            open_unit, used = int(units[-1]), int(place[-1]) + 1
            in_cell = np.diff(starts, append=counts.size)
            kept = np.repeat(place < cells, in_cell)
            if self._amounts:
                ranks = self._of_amounts.of(np.stack([keys[_RANK], keys[-1]]))
                few = self._first(starts, ranks, counts, each, ranked=False)
            else:
                few = np.minimum(counts, each)
            yield keys, np.where(kept, few, 0)

    def _first(
        self,
        starts: NDArray[np.intp],
        ranks: NDArray[np.uint64],
        counts: _Counts,
        most: int,
        *,
        ranked: bool = True,
    ) -> _Counts:
        """Return how many of equal rows stay, so that `most` stay of each group: those with the first ranks.

        `starts` says where groups begin; whether their rows are `ranked` in order already.
        """
        sizes, totals = np.diff(starts, append=counts.size), np.add.reduceat(counts, starts)
        kept, over = counts.copy(), totals > most
        one_by_one = over & (totals > sizes) if ranked else over
        plain = np.repeat(over & ~one_by_one, sizes)
        kept[plain & (np.arange(counts.size) - np.repeat(starts, sizes) >= most)] = 0
        groups = np.flatnonzero(one_by_one)
        cuts = np.flatnonzero(np.diff(np.cumsum(totals[groups]) // _AT_ONCE)) + 1
        for some in np.split(groups, cuts):
            if some.size == 1:
                rows = np.arange(starts[some[0]], starts[some[0]] + sizes[some[0]])
                items, _ = self._first_of_one(ranks[rows], counts[rows], most)
            elif some.size:
                rows = np.flatnonzero(np.repeat(np.isin(np.arange(sizes.size), some), sizes))
                items, own = self._copies(ranks[rows], counts[rows], 0, int(counts[rows].sum()))
                group = np.repeat(np.arange(some.size), sizes[some])[items]
                order = order_of_drawn(np.stack([group, own.view(np.int64), items]).view(np.uint64))
                begin = _starts(group.take(order).view(np.uint64)[np.newaxis])
                place = np.arange(order.size) - np.repeat(begin, np.diff(begin, append=order.size))
                items = items[order[place < most]]
            else:
                continue
            kept[rows] = np.bincount(items, minlength=rows.size)
        return kept

    def _first_of_one(
        self, ranks: NDArray[np.uint64], counts: _Counts, most: int
    ) -> tuple[_Counts, NDArray[np.uint64]]:
        """Return which rows of one group stay, equal ones one by one, and their ranks: the first `most`."""
        items, own = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
        total = int(counts.sum())
        for start in range(0, total, _AT_ONCE):
            further, theirs = self._copies(ranks, counts, start, min(start + _AT_ONCE, total))
            items, own = np.append(items, further), np.append(own, theirs)
            few = np.argsort(own, kind="stable")[:most]
            items, own = items[few], own[few]
        return items, own

    def _copies(
        self, ranks: NDArray[np.uint64], counts: _Counts, begin: int, end: int
    ) -> tuple[_Counts, NDArray[np.uint64]]:
        """Yield a range of equal rows one by one: which row it is, and its rank."""
        ends = np.cumsum(counts)
        items = np.searchsorted(ends, np.arange(begin, end), side="right")
        number = np.arange(begin, end) - (ends - counts).take(items)
        own = ranks.take(items)
        again = np.flatnonzero(number)
        own[again] = self._of_copies.of(np.stack([own[again], number[again].astype(np.uint64)]))
        return items, own

    def _stay(self, keys: Keys, kept: _Counts) -> tuple[KeyRows, int]:
        """Return the rows that stay by their cells, and how many they are."""
        some = np.flatnonzero(kept)
        keys, kept = keys[_CELL:].take(some, axis=1), kept[some]
        cells, number = keys[: self._words], int(kept.sum())
        if self._amounts:
            amounts = keys[-1].view(np.int64)
            # Beyond the largest count a sum is cut off anyway, and the product must not wrap.
            return KeyRows(
                cells, amounts * np.minimum(kept, LARGEST_COUNT // np.maximum(1, abs(amounts)))
            ), number
        return KeyRows(cells, None if number == kept.size else kept), number


def _arranged(pieces: list[KeyRows], *, always: bool = True) -> KeyRows:
    """Return rows in their order, equal ones once with their number; not `always` where few are equal."""
    if not pieces:
        return KeyRows(np.empty((1, 0), dtype=np.uint64), None)
    keys = np.concatenate([piece.keys for piece in pieces], axis=1)
    order = order_of_drawn(keys)
    keys = keys.take(order, axis=1)
    counts = None
    if any(piece.amounts is not None for piece in pieces):
        counts = np.concatenate([_counts_of(*piece) for piece in pieces])[order]
    if not (keys[_RANK, 1:] == keys[_RANK, :-1]).any():
        return KeyRows(keys, counts)
    again = repeats(keys)
    equal = np.count_nonzero(again)
    if not equal or (not always and counts is None and _FEW_EQUAL * equal < again.size):
        return KeyRows(keys, counts)
    starts = np.flatnonzero(~again)
    sums = np.diff(starts, append=again.size) if counts is None else np.add.reduceat(counts, starts)
    return KeyRows(keys.take(starts, axis=1), sums)


def _counts_of(keys: Keys, counts: _Counts | None) -> _Counts:
    """Return how many rows each stands for."""
    return np.ones(keys.shape[1], dtype=np.int64) if counts is None else counts


def _starts(keys: Keys) -> NDArray[np.intp]:
    """Return where each key that differs from the one before it stands."""
    return np.flatnonzero(~repeats(keys))


def _cut(samples: Sequence[Keys], rows: int) -> tuple[Keys, list[range]]:
    """Return edges of about equally many rows, by unit and rank, and the pieces that hold whole units.

    A piece lies between an edge and the next. Edges between units have rank 0; others cut a unit with very
    many rows, whose pieces belong together.
    """
    edges, tasks = [(0, 0)], [0]
    if rows:
        sample = sorted_keys(np.concatenate(samples, axis=1))
        parts = min(-(-rows // _PIECE_ROWS), MOST_SLICES)
        wanted = [sample.shape[1] * part // parts for part in range(1, parts)]
        for unit, rank in sample.take(wanted, axis=1).T.tolist():
            if unit > edges[-1][0]:
                tasks.append(len(edges))
                edges.append((unit, 0))
            elif rank > edges[-1][1]:
                edges.append((unit, rank))
    ends = [*tasks[1:], len(edges)]
    return np.array(edges, dtype=np.uint64).T.copy(), list(map(range, tasks, ends))


def _places(run: Run, edges: Keys) -> list[int]:
    """Return where each piece begins in a run, and where the last one ends."""
    return [*places_of(run.rows(0, run.size).keys[:_CELL], edges).tolist(), run.size]
