"""Arrays of NumPy and texts of Python as columns of Arrow, and back.

Promise: the same values, without a copy where types allow. Arrow's own `pa.array` and `to_numpy` load pandas
on first use where it is installed, which takes longer than most of what is done here.
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
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    column = pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
    return column if ends[-1] > np.iinfo(np.int32).max else column.cast(pa.string())


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
        column = column.combine_chunks()
    if pa.types.is_date32(column.type):
        return _words(column, np.int32).astype(np.int64).view("datetime64[D]")
    if pa.types.is_timestamp(column.type):
        return _words(column, np.int64).view(f"datetime64[{column.type.unit}]")
    return _words(column, column.type.to_pandas_dtype())


def _words(column: pa.Array, kind: type) -> NDArray[Any]:
    """Return the memory of a column of fixed width."""
    if not len(column):
        return np.empty(0, dtype=kind)
    words: NDArray[Any] = np.frombuffer(column.buffers()[1], dtype=kind)
    return words[column.offset : column.offset + len(column)]
