"""Arrays of NumPy and texts of Python as columns of Arrow, and back.

Promise: the same values, without a copy where types allow. Arrow's own `pa.array` and `to_numpy` load pandas
on first use where it is installed, and `pyarrow.compute` writes 280 documented functions when it is loaded:
both take longer than most of what is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def as_column(values: NDArray[Any]) -> pa.Array:
    """Return truth values, numbers, days (datetime64[D]) or times (datetime64[us]) as a column."""
    import pyarrow as pa

    if values.dtype == np.bool_:
        bits = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), values.size, [None, bits])

    if values.dtype == np.dtype("datetime64[D]"):
        values, kind = values.astype(np.int64).astype(np.int32), pa.date32()
    elif values.dtype == np.dtype("datetime64[us]"):
        values, kind = values.astype(np.int64), pa.timestamp("us")
    else:
        kind = pa.from_numpy_dtype(values.dtype)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, values.size, [None, data])


def as_text_column(texts: Sequence[str]) -> pa.Array:
    """Return texts as a column."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=ends[1:])
    kind = pa.large_string()
    if ends[-1] <= np.iinfo(np.int32).max:
        kind, ends = pa.string(), ends.astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(encoded), buffers)


def as_numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a column of numbers, days or times without NULLs as an array, as it lies in memory.

    ======================  ==============================
    column                  result
    ======================  ==============================
    one chunk               its memory, not to be written
    several chunks          a copy
    days (date32)           datetime64[D]
    times                   datetime64 of their own unit
    ======================  ==============================
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        # Arrow would make the one of none by `pa.array`.
        column = column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)
    if pa.types.is_date32(column.type):
        return _words(column, np.int32).astype(np.int64).view("datetime64[D]")
    if pa.types.is_timestamp(column.type):
        return _words(column, np.int64).view(f"datetime64[{column.type.unit}]")
    return _words(column, column.type.to_pandas_dtype())


def computed(function: str, *columns: Any, options: Any = None) -> Any:
    """Return what one of Arrow's functions makes of columns, by its name."""
    from pyarrow._compute import call_function

    return call_function(function, list(columns), options)


def cast(column: Any, kind: pa.DataType) -> Any:
    """Return a column as one of another type, if all of its values have one there."""
    from pyarrow._compute import CastOptions

    return computed("cast", column, options=CastOptions(kind))


def places_in(values: pa.Array, column: Any) -> Any:
    """Return where each value of a column is among `values`, NULL where it is not."""
    from pyarrow._compute import SetLookupOptions

    return computed("index_in", column, options=SetLookupOptions(values))


def taken(column: Any, places: NDArray[Any]) -> Any:
    """Return the values in these places of a column."""
    return computed("take", column, as_column(places))


def _words(column: pa.Array, kind: type) -> NDArray[Any]:
    """Return the memory of a column of fixed width."""
    if not len(column):
        return np.empty(0, dtype=kind)
    words: NDArray[Any] = np.frombuffer(column.buffers()[1], dtype=kind)
    return words[column.offset : column.offset + len(column)]
