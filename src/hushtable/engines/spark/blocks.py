"""What passes between tasks: rows of Spark that hold whole arrays.

A row that holds a sorted run of a million keys costs Spark as much as any other row. So its shuffles move few
rows, and nothing is done row by row, neither in Java nor in Python.

Promise: what is unpacked is what was packed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.engines.sliced.keying import Tally
from hushtable.errors import BadData, HushtableError
from hushtable.table.slices import Candidates

if TYPE_CHECKING:
    import pyarrow as pa

# `slice` says where a row belongs, `size` how many keys it holds; what is left out is null.
SCHEMA = (
    "slice int, size long, keys binary, counts binary, bands binary, sample binary, total string, "
    "occupied binary, digest binary, mark long, told binary, texts binary"
)
FIELDS = dict(field.split() for field in SCHEMA.split(", "))  # their types
_ERRORS = HushtableError.__module__
_TOLD = {(_ERRORS, "_again"), (Tally.__module__, "Tally"), ("fractions", "Fraction")}  # beside our errors


def blocks(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows as a batch."""
    import pyarrow as pa

    types = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    arrays = [pa.array([row.get(name) for row in rows], types[kind]) for name, kind in FIELDS.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(FIELDS))


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield the rows of batches, with their arrays not copied."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        for row in range(batch.num_rows):
            yield {name: _value(column[row]) for name, column in columns.items()}


def _value(scalar: pa.Scalar) -> Any:
    import pyarrow as pa

    if scalar.is_valid and pa.types.is_binary(scalar.type):
        return scalar.as_buffer()
    return scalar.as_py()


def packed(array: NDArray[Any] | None) -> bytes | None:
    """Return an array as bytes, None where there is none."""
    return None if array is None else array.tobytes()


def keys_in(data: Any, words: int) -> Keys:
    """Return packed keys."""
    return np.frombuffer(data, dtype=np.uint64).reshape(words, len(data) // 8 // words)


def numbers_in(data: Any) -> NDArray[np.int64] | None:
    """Return packed numbers, None where there are none."""
    return None if data is None else np.frombuffer(data, dtype=np.int64)


def candidates_in(row: dict[str, Any], words: int) -> Candidates:
    """Return packed candidates."""
    counts = numbers_in(row["counts"])
    assert counts is not None
    return Candidates(keys_in(row["keys"], words), counts, np.frombuffer(row["bands"], dtype=np.int8))


def told(thing: HushtableError | Tally) -> pa.RecordBatch:
    """Return a row that tells the driver something: an error of ours, or how many rows were dropped."""
    return blocks([{"told": pickle.dumps(thing)}])


def heard(data: Any) -> HushtableError | Tally:
    """Return what a task told."""
    thing: HushtableError | Tally = _Hearing(BytesIO(data)).load()
    return thing


class _Hearing(pickle.Unpickler):
    """Builds our errors and tallies and nothing else: a server of Spark Connect may be anybody's."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name stands for, if it is something that tasks tell."""
        if (module, name) in _TOLD or (module == _ERRORS and name.isidentifier()):
            found = super().find_class(module, name)
            if (module, name) in _TOLD or (isinstance(found, type) and issubclass(found, HushtableError)):
                return found
        fact = "a worker told something that no task of hushtable tells"
        raise BadData(fact, "Workers and this program need the same version of hushtable.")
