"""Texts that nobody can list, on workers: numbered wherever some of them are together.

A run of rows, a piece of one and a slice each hold their texts once, in the order of their bytes, with
numbers in their place. Which slice a row goes to follows from all of its values, mixed, so equal rows come
together; there their texts are compared whole, and numbered anew. The driver tells the numbers of slices
apart, and sees no texts but those of cells that are drawn.

Promise: what `sliced.closing` promises. The texts of a slice are the same, with the same numbers, if they
must be counted again. What is mixed chooses a slice and marks rows; it never stands for a text.
Cost: a digest of each text of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import Keys, KeySpace
from hushtable.domain.texts import MOST_TEXTS, in_order
from hushtable.engines.sliced.closing import RunTexts
from hushtable.engines.sliced.runs import KeyRows, condensed, counted, sorted_rows
from hushtable.engines.spark.blocks import keys_in, numbers_in, packed
from hushtable.table.slices import Candidates, Cells, Slice, same

if TYPE_CHECKING:
    import pyarrow as pa


class Texts(NamedTuple):
    """The texts of an attribute, ascending and each once, and a number mixed from each one's bytes."""

    values: pa.Array
    mixed: NDArray[np.uint64]

    @classmethod
    def of(cls, values: pa.Array) -> Texts:
        """Return texts that are in order."""
        mixed = (
            int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in values.to_pylist()
        )
        return cls(values, np.fromiter(mixed, dtype=np.uint64, count=len(values)))

    def only(self, places: NDArray[np.int64]) -> Texts:
        """Return the texts at these places, which ascend."""
        return Texts(self.values.take(as_column(places)), self.mixed[places])


class TextRun(NamedTuple):
    """Rows in ascending order, whose keys have a word an attribute: a code, or the place of its text."""

    rows: KeyRows
    texts: dict[int, Texts]  # by the place of the attribute

    @classmethod
    def read(cls, batch: pa.RecordBatch, domain: Domain) -> TextRun:
        """Return the rows of a batch with a column an attribute, and what each adds, if it says so."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words, texts = [], {}
        for place in range(len(domain.shape)):
            column = batch.column(place)
            if place in domain.unlisted:
                values = column.cast(pa.large_string())
                once = in_order(values)
                texts[place] = Texts.of(once)
                column = pc.index_in(values, value_set=once)
            words.append(as_numbers(column).astype(np.uint64))
        amounts = as_numbers(batch.column("amount")) if "amount" in batch.schema.names else None
        return cls(sorted_rows(KeyRows(np.stack(words), amounts)), texts)

    @classmethod
    def unpacked(cls, row: dict[str, Any], domain: Domain) -> TextRun:
        """Return what was packed."""
        rows = KeyRows(keys_in(row["keys"], len(domain.shape)), numbers_in(row["counts"]))
        return cls(rows, dict(zip(domain.unlisted, unpacked_texts(row["texts"]), strict=True)))

    @property
    def columns(self) -> dict[str, Any]:
        """The rows, packed."""
        keys, amounts = self.rows
        texts = packed_texts(self.texts.values())
        return {"size": keys.shape[1], "keys": packed(keys), "counts": packed(amounts), "texts": texts}

    @property
    def mixed(self) -> KeyRows:
        """The same rows, with mixed numbers in place of texts."""
        keys = self.rows.keys.copy()
        for place, texts in self.texts.items():
            keys[place] = texts.mixed[keys[place]]
        return KeyRows(keys, self.rows.amounts)

    def only(self, chosen: NDArray[np.intp]) -> TextRun:
        """Return the rows at these places, which ascend, with their texts alone."""
        amounts = None if self.rows.amounts is None else self.rows.amounts[chosen]
        keys, texts = self.rows.keys.take(chosen, axis=1), {}
        for place, known in self.texts.items():
            own, back = np.unique(keys[place].astype(np.int64), return_inverse=True)
            keys[place], texts[place] = back, known.only(own)
        return TextRun(condensed(KeyRows(keys, amounts)), texts)


def counted_texts(pieces: Sequence[TextRun], domain: Domain) -> tuple[Cells, dict[int, Texts]]:
    """Return the cells of the pieces of a slice, by the numbers that their texts have in it, and these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys, texts = [piece.rows.keys.copy() for piece in pieces], {}
    for place in domain.unlisted:
        own = [piece.texts[place].values for piece in pieces]
        once = in_order(pa.chunked_array(own, pa.large_string()))
        texts[place] = Texts(once, np.zeros(len(once), dtype=np.uint64))  # mixed no more
        for words, values in zip(keys, own, strict=True):
            numbers = as_numbers(pc.index_in(values, value_set=once)).astype(np.uint64)
            words[place] = numbers[words[place]]
    rows = [KeyRows(each, piece.rows.amounts) for each, piece in zip(keys, pieces, strict=True)]
    return counted(rows, len(domain.shape)), texts


class TextCut(NamedTuple):
    """Cells whose values nobody can list, dealt to so many slices by what their values are."""

    domain: Domain
    number: int

    @property
    def starts(self) -> Keys:
        """Of each slice, a key of words: all slices count from 0."""
        return np.zeros((len(self.domain.shape), self.number), dtype=np.uint64)

    def sizes(self, number: int) -> list[int]:
        """Return how many cells a slice can have: no law that is drawn here asks."""
        return [self.domain.cells_total]

    def slices(self, number: int, cells: Cells) -> list[Slice]:
        """Return the one slice."""
        bounds = tuple(MOST_TEXTS for _ in self.domain.shape)
        return [Slice((0,) * len(bounds), bounds, cells[1].size, lambda: same(cells))]

    def pieces(self, run: TextRun) -> Iterator[tuple[int, TextRun]]:
        """Yield the rows of a run that each slice gets."""
        sums = np.zeros(run.rows.keys.shape[1], dtype=np.uint64)
        for word in run.mixed.keys:
            sums = (sums ^ word) * np.uint64(0x9E3779B97F4A7C15)  # an odd number: no bits are lost
            sums ^= sums >> np.uint64(32)
        slices = sums % np.uint64(self.number)
        order = np.argsort(slices, kind="stable")
        numbers, starts = np.unique(slices[order], return_index=True)
        for number, chosen in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            yield number, run.only(chosen)


class Numbering:
    """Numbers of texts for all slices together: each slice has as many as it has cells, after earlier ones.

    So a text has a number in each slice that holds it, and none has that of another.
    """

    def __init__(self, domain: Domain, occupied: Sequence[int]) -> None:
        self._domain, self._before = domain, list(accumulate(occupied, initial=0))
        shape = [max(1, self._before[-1]) if each.unlisted else each.size for each in domain.attributes]
        self.space = KeySpace(shape)
        self._shown: dict[int, list[tuple[NDArray[np.int64], pa.Array]]] = {
            place: [] for place in domain.unlisted
        }

    def keys(self, number: int, keys: Keys) -> Keys:
        """Return the keys of a slice as those of the table."""
        codes = keys.T.astype(np.int64)
        codes[:, self._domain.unlisted] += self._before[number]
        return self.space.pack(codes)

    def drawn(self, row: dict[str, Any], found: Candidates) -> Candidates:
        """Return what was drawn from a slice with keys of the table; its texts are known from now on."""
        for place, texts in zip(self._domain.unlisted, unpacked_texts(row["texts"]), strict=True):
            codes = texts.mixed.astype(np.int64) + self._before[row["slice"]]
            self._shown[place].append((codes, texts.values))
        return found._replace(keys=self.keys(row["slice"], found.keys))

    @property
    def texts(self) -> RunTexts:
        """The texts of all that was drawn."""
        return RunTexts({place: partial(self._texts_of, place) for place in self._shown})

    def _texts_of(self, place: int, own: NDArray[np.int64]) -> pa.Array:
        import pyarrow as pa

        codes = np.concatenate([np.zeros(0, dtype=np.int64), *(codes for codes, _ in self._shown[place])])
        texts = pa.concat_arrays([pa.array([], pa.large_string()), *(each for _, each in self._shown[place])])
        order = np.argsort(codes, kind="stable")
        return texts.take(as_column(order[np.searchsorted(codes[order], own)])).cast(pa.string())


def shown_texts(data: Any, keys: Keys) -> bytes:
    """Return the texts of drawn cells, each with its number in the slice, of all that were packed."""
    chosen = [np.unique(each) for each in keys]
    return packed_texts(
        Texts(each.values.take(as_column(own)), own)
        for each, own in zip(unpacked_texts(data), chosen, strict=True)
    )


def packed_texts(texts: Iterable[Texts]) -> bytes:
    """Return the texts of some attributes, with their numbers, as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    schema = pa.schema({"text": pa.large_string(), "number": pa.uint64()})
    with pa.ipc.new_stream(sink, schema) as stream:
        for values, numbers in texts:
            stream.write_batch(pa.RecordBatch.from_arrays([values, as_column(numbers)], schema=schema))
    return bytes(sink.getvalue())


def unpacked_texts(data: Any) -> list[Texts]:
    """Return what was packed."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        return [Texts(batch.column("text"), as_numbers(batch.column("number"))) for batch in stream]


def texts_told(data: Any) -> Iterator[bytes]:
    """Yield bytes that tell packed texts from others, however Arrow happened to lay them out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for values, _ in unpacked_texts(data):
        yield as_numbers(pc.binary_length(values)).tobytes()
        yield b"".join(values.cast(pa.large_binary()).to_pylist())
