"""The engine of this machine: files, databases and objects of Python, read by DuckDB in this process.

Promise: it takes whatever no other engine takes, and what it does not know is refused with what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hushtable.engines.local.rows import opened_rows
from hushtable.engines.sliced.counting import Counted, CountRequest, counted_here
from hushtable.engines.sliced.objects import dataset_files
from hushtable.engines.sliced.paths import kept_paths
from hushtable.files.apart import Kept


class LocalEngine:
    """DuckDB in this process."""

    name = "local"
    distributed = False

    def takes(self, data: Any) -> bool:
        """Return True: what cannot be read is refused when it is opened."""
        return True

    def inputs(self, data: Any) -> Kept:
        """Return a path, a folder, a pattern, a database, or the files of an Arrow dataset."""
        given = [data] if isinstance(data, str | os.PathLike) else data
        dataset = sys.modules.get("pyarrow.dataset")
        if dataset is not None and isinstance(given, dataset.Dataset):
            given = dataset_files(given)
        if not isinstance(given, list | tuple):
            return kept_paths([])
        return kept_paths(os.fsdecode(path) for path in given if isinstance(path, str | os.PathLike))

    @contextmanager
    def counted(self, data: Any, request: CountRequest) -> Iterator[Counted]:
        """Count the rows; the table is in memory, or in files of this machine until the block ends."""
        wanted = request.wanted
        with opened_rows(
            data,
            names=wanted.names,
            amount=wanted.amount,
            query=wanted.query,
            where=wanted.where,
            rows_are_units=wanted.rows_are_units,
            memory=request.room // 4,
            threads=request.workers,
        ) as rows:
            yield counted_here(rows, request)


LOCAL = LocalEngine()
