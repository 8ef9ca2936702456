"""An engine from outside of the package: rows in plain tuples of Python. The example of docs/extending.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from hushtable.engines.sliced.counting import Counted, CountRequest, counted_here
from hushtable.engines.sliced.paths import kept_paths
from hushtable.engines.sliced.rows import opened_object
from hushtable.files.apart import Kept


class Listing(NamedTuple):
    """Rows as plain tuples of Python, with the names and types of their columns."""

    schema: pa.Schema
    rows: Sequence[tuple[Any, ...]]

    def table(self) -> pa.Table:
        """Return the rows as a table of Arrow."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.schema)
        pairs = zip(columns, self.schema, strict=True)
        return pa.Table.from_arrays(
            [pa.array(values, type=field.type) for values, field in pairs], schema=self.schema
        )


class ListingEngine:
    """Counts listings, in this process."""

    name = "listing"
    distributed = False

    def takes(self, data: Any) -> bool:
        """Return whether data are a listing."""
        return isinstance(data, Listing)

    def inputs(self, data: Listing) -> Kept:
        """Return nothing: a listing names no files."""
        return kept_paths([])

    @contextmanager
    def counted(self, data: Listing, request: CountRequest) -> Iterator[Counted]:
        """Count the rows; what does not fit in memory lives in files until the block ends."""
        room, workers = request.room // 4, request.workers
        with opened_object(data.table(), request.wanted, memory=room, threads=workers) as rows:
            yield counted_here(rows, request)
