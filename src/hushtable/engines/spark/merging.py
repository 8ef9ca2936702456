"""Runs of a task added up on the worker, and cut into pieces that fit a message.

    sorted runs -> fewer and larger ones -> pieces, each with its number

Promise: the pieces of a task together hold the rows of its runs. Each says which task it is of, and which one
it is, so that whoever gathers them sees when one comes again.
Cost: memory for few runs; cells that come again and again leave a worker once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.engines.sliced.runs import KeyRows, counted
from hushtable.engines.spark.blocks import blocks, keys_in, numbers_in, packed, rows_in
from hushtable.engines.spark.texts import TextRun, counted_texts

if TYPE_CHECKING:
    import pyarrow as pa

    from hushtable.engines.spark.tasks import Work

PIECE_ROWS = 1 << 17  # of a message; with 17 words a key, that is 18 MB
_HELD = 1 << 22  # rows that are held until they are added up


class Packing(Protocol):
    """How runs are unpacked, added up, and packed."""

    def unpacked(self, row: dict[str, Any]) -> Any:
        """Return the run of a row."""

    def size(self, run: Any) -> int:
        """Return how many rows a run has."""

    def together(self, runs: Sequence[Any]) -> Any:
        """Return runs as one, each cell once."""

    def piece(self, run: Any, begin: int, end: int) -> dict[str, Any]:
        """Return a part of a run, packed."""


class KeyPacking:
    """Runs of keys of so many words."""

    def __init__(self, words: int) -> None:
        self._words = words

    def unpacked(self, row: dict[str, Any]) -> KeyRows:
        """Return the run of a row."""
        return KeyRows(keys_in(row["keys"], self._words), numbers_in(row["counts"]))

    def size(self, run: KeyRows) -> int:
        """Return how many rows a run has."""
        return len(run.keys[0])

    def together(self, runs: Sequence[KeyRows]) -> KeyRows:
        """Return runs as one, each cell once."""
        return KeyRows(*counted(list(runs), self._words))

    def piece(self, run: KeyRows, begin: int, end: int) -> dict[str, Any]:
        """Return a part of a run, packed."""
        counts = None if run.amounts is None else run.amounts[begin:end]
        return {"keys": packed(run.keys[:, begin:end]), "counts": packed(counts)}


class TextPacking:
    """Runs that hold texts."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def unpacked(self, row: dict[str, Any]) -> TextRun:
        """Return the run of a row."""
        return TextRun.unpacked(row, self._domain)

    def size(self, run: TextRun) -> int:
        """Return how many rows a run has."""
        return len(run.rows.keys[0])

    def together(self, runs: Sequence[TextRun]) -> TextRun:
        """Return runs as one, each cell once."""
        cells, texts = counted_texts(runs, self._domain)
        return TextRun(KeyRows(*cells), texts)

    def piece(self, run: TextRun, begin: int, end: int) -> dict[str, Any]:
        """Return a part of a run, packed."""
        columns = run.only(np.arange(begin, end)).columns
        del columns["size"]
        return columns


def packing_of(domain: Domain) -> Packing:
    """Return what handles runs of a domain's rows."""
    return TextPacking(domain) if domain.unlisted else KeyPacking(len(domain.space.bounds))


def merged_runs(work: Work, packing: Packing, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what the work of a task does, with its runs added up; and what it tells, as it is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    place, numbers = context.partitionId(), count()
    held, size = list[Any](), 0

    def sent(run: Any) -> Iterator[pa.RecordBatch]:
        for begin in range(0, packing.size(run), PIECE_ROWS):
            end = min(begin + PIECE_ROWS, packing.size(run))
            signs = {"slice": place, "mark": next(numbers), "size": end - begin}
            yield blocks([{**signs, **packing.piece(run, begin, end)}])

    for row in rows_in(work(batches)):
        if row["told"] is not None:
            yield blocks([{"slice": place, "mark": next(numbers), "told": row["told"].to_pybytes()}])
            continue
        held.append(packing.unpacked(row))
        size += packing.size(held[-1])
        if size > _HELD:
            held = [packing.together(held)]
            size = packing.size(held[0])
            if 2 * size > _HELD:  # it saves little to hold them longer
                yield from sent(held[0])
                held, size = [], 0
    if held:
        yield from sent(packing.together(held))
