"""The occupied cells of a count table, checked once and kept in order.

Promise: a `SparseTable` holds each occupied cell once, ascending by code, with a count that is not 0;
rows for the same cell are added first, and explicit zeros belong to the empty cells. No message and no
text of it carries a code or a count.
Cost: one packing and, unless the codes come in order, one sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.domain.keys import Keys, KeySpace, ascending, repeats, sorted_with_places
from hushtable.errors import BadTable, HushtableError
from hushtable.laws.sensitivities import Sensitivities

LARGEST_COUNT = 1 << 60  # so that a count plus its noise, saturated at 2^61, never overflows


class SparseTable:
    """Occupied cells of a count table. Private: never print, log or pickle one.

    ==============================  ==================================================
    input                           result
    ==============================  ==================================================
    codes of shape (n, d) or (n,)   each code from 0 to its attribute's size - 1
    the same cell twice             the counts are added, saturated at 2^60
    a count of 0                    the cell is empty
    negative counts                 taken; `summarize` then needs an explicit sensitivity
    anything else                   `BadTable`
    ==============================  ==================================================

    A table that `ht.count` made knows what one unit changes in it: `sensitivity`. Of one that is made here,
    nothing is known, and `sensitivity` is None.

    >>> SparseTable(shape=(1000, 1000), codes=[[3, 5], [7, 7]], counts=[12, 1])
    SparseTable(shape=(1000, 1000), counts=<private>)
    """

    __slots__ = ("_sensitivity", "counts", "keys", "space")

    _sensitivity: Sensitivities | None

    def __init__(self, *, shape: Sequence[int], codes: ArrayLike, counts: ArrayLike) -> None:
        self.space, self._sensitivity = KeySpace(shape), None
        values = _whole_numbers(counts, "counts")
        places = _whole_numbers(codes, "codes")
        if places.ndim == 1 and len(self.space.shape) == 1:
            places = places[:, np.newaxis]
        if places.ndim != 2 or places.shape[1] != len(self.space.shape):
            hint = "Pass codes of shape (cells, attributes), or (cells,) for one attribute."
            raise BadTable(
                f"codes do not have one column for each of {len(self.space.shape)} attributes", hint
            )
        if values.ndim != 1 or len(values) != len(places):
            raise BadTable(
                "there are not as many counts as rows of codes", "Pass one count for each row of codes."
            )
        for attribute, size in enumerate(self.space.shape):
            column = places[:, attribute]
            if column.size and not (column.min() >= 0 and column.max() < size):
                hint = "Check the shape, or drop or clamp such rows by a declared rule."
                raise BadTable(f"codes of attribute {attribute} lie outside 0..{size - 1}", hint)
        if values.size and (values.min() < -LARGEST_COUNT or values.max() > LARGEST_COUNT):
            raise BadTable("counts lie beyond 2^60", "No table of people needs more; check the column.")
        self.keys, self.counts = in_order(self.space.pack(places), values.astype(np.int64))

    @classmethod
    def from_cells(
        cls, space: KeySpace, keys: Keys, counts: NDArray[np.int64], *, sensitivity: Sensitivities | None
    ) -> SparseTable:
        """Return a table of different keys, already in order, with counts that are not 0.

        `sensitivity` is what one unit changes in it; None where nobody knows. It has no default: whoever
        makes a table of another one must say what becomes of it.
        """
        table = cls.__new__(cls)
        table.space, table.keys, table.counts = space, keys, counts
        table._sensitivity = sensitivity
        keys.flags.writeable = counts.flags.writeable = False
        return table

    @property
    def sensitivity(self) -> Sensitivities | None:
        """What one unit changes in the table, if it was counted; None if it was made by hand."""
        return self._sensitivity

    def cells(self) -> Iterator[tuple[Keys, NDArray[np.int64]]]:
        """Yield the occupied cells: all at once."""
        yield self.keys, self.counts

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return self.space.shape

    @property
    def cells_total(self) -> int:
        """The number of cells, occupied or not: public."""
        return self.space.cells_total

    def __repr__(self) -> str:
        return f"SparseTable(shape={self.shape}, counts=<private>)"

    def __reduce__(self) -> NoReturn:
        raise HushtableError(
            "a SparseTable holds private counts and cannot be copied or pickled.\n"
            "Build it where it is summarised, or share it between threads."
        )


def _whole_numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array of an integer type, or raise without a word about what is in it."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.size == 0 and array.dtype != object:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise BadTable(f"{name} are not an array of whole numbers", "Pass an array of an integer type.")
    return array


def in_order(keys: Keys, counts: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """Return each key once, ascending, with the sum of its counts, where that is not 0."""
    if not ascending(keys):
        keys, order = sorted_with_places(keys)
        counts = counts.take(order)
        again = repeats(keys)
        if again.any():
            keys, counts = keys.compress(~again, axis=1), _added_up(counts, again)
    if not counts.all():
        occupied = np.flatnonzero(counts)
        keys, counts = keys.take(occupied, axis=1), counts[occupied]
    keys.flags.writeable = counts.flags.writeable = False
    return keys, counts


def _added_up(counts: NDArray[np.int64], again: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the sum of each run of counts that belong to one cell, saturated at 2^60.

    Saturation takes no two sums further apart, so what one person changes stays within the sensitivity. An
    error instead would let one row decide whether there is a table.
    """
    sums = counts[~again]
    # Most cells come once. Only the others are added, in two halves so that nothing wraps.
    shared = again.copy()
    shared[:-1] |= again[1:]
    parts, starts = counts[shared], np.flatnonzero(~again[shared])
    high = np.add.reduceat(parts >> 32, starts)
    low = np.add.reduceat(parts & 0xFFFFFFFF, starts)
    high += low >> 32
    np.clip(high, -1 << 29, 1 << 29, out=high)  # beyond 2^60 already, and far from overflow
    sums[shared[~again]] = np.clip((high << 32) + (low & 0xFFFFFFFF), -LARGEST_COUNT, LARGEST_COUNT)
    return sums
