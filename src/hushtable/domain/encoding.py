"""From decoded values back to codes, and the types that values have in a file.

Promise: `encode` is the inverse of `decode`, without loss: what it returns decodes to the values that it was
given, and values that no code decodes to have none.
Cost: a few operations on whole arrays; a column of categories takes one look-up a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import AnyText, Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.columns import as_numbers, places_in

if TYPE_CHECKING:
    import pyarrow as pa


def type_of(values: Kind) -> pa.DataType:
    """Return the type that `decode` gives. (Asking `decode` itself makes Arrow load pandas.)"""
    import pyarrow as pa

    match values:
        case Categories() | AnyText():
            return pa.string()
        case Integers():
            return pa.int64()
        case Bins(grid=(_, _, shared)):
            return pa.int64() if shared == 1 else pa.float64()
        case Edges(whole=whole):
            return pa.int64() if whole else pa.float64()
        case Times(whole_days=whole_days):
            return pa.date32() if whole_days else pa.timestamp("us")


def encode(values: Kind, column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return the codes that decode to this column, or None if a value has none."""
    if isinstance(values, Categories):
        return _places(values, column)
    if isinstance(values, AnyText):
        return values.known.places_of(column)
    given = as_numbers(column)
    codes = np.clip(_guess(values, given), 0, values.size - 1)
    same = np.array_equal(as_numbers(values.decode(codes)), given)
    return codes if same else None


def _places(values: Categories, column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return the places of texts in the list of categories."""
    places = places_in(values.decode(np.arange(values.size)), column)
    return None if places.null_count else as_numbers(places).astype(np.int64)


def _guess(values: Integers | Bins | Edges | Times, column: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the right codes of values that have one, and any numbers for others."""
    match values:
        case Integers(low=low):
            return column.astype(np.int64) - np.int64(low)
        case Bins():
            first, width, shared = values.grid
            if shared > 1:
                # Numerators stay below 2^50, so the product is within a quarter of the one it came from.
                with np.errstate(all="ignore"):
                    column = np.rint(column.astype(np.float64) * shared).astype(np.int64)
            return (column.astype(np.int64) - np.int64(first)) // np.int64(width)
        case Edges():
            lower = as_numbers(values.decode(np.arange(values.size)))
            return np.searchsorted(lower, column)
        case Times(unit="month", every=months):
            first = (values.start.year - 1970) * 12 + values.start.month - 1
            return (column.astype("datetime64[M]").astype(np.int64) - first) // months
        case Times(every=seconds):
            start = np.datetime64(values.start, "s").astype(np.int64)
            return (column.astype("datetime64[s]").astype(np.int64) - start) // seconds
