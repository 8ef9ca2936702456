"""Folders that hold versions of a table: Delta, Iceberg, Hudi and their like.

Their files also hold rows that were replaced or deleted since; only a log beside them says which rows are
those of today. Read as plain files, a person's one row would count many times.

Promise: a file is refused if it lies in such a folder, at any depth, by whatever path or pattern it is named.
What shows no mark cannot be told: copies of data files, or a table whose log lies elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from glob import escape, glob

from hushtable.errors import BadData

# What lies in the root of such a table; `*` stands for anything in a name. The one list for all engines.
MARKS = {
    "_delta_log": "a Delta table",
    "_delta_index": "a Delta table",
    "_change_data": "a Delta table",
    ".hoodie": "a Hudi table",
    ".hoodie_partition_metadata": "a Hudi table",
    "metadata/version-hint.text": "an Iceberg table",
    "metadata/*.metadata.json": "an Iceberg table",
    "metadata/*.metadata.json.gz": "an Iceberg table",
    "_versions": "a Lance dataset",
    "_spark_metadata": "the output of a Spark stream",
    "_orc_acid_version": "a transactional Hive table",
    "snapshot/snapshot-*": "a Paimon table",
    "snapshot/LATEST": "a Paimon table",
    "*.ducklake": "a DuckLake",
}
# Names of folders and files that tell it by themselves.
_NAMES = (
    (r"_delta_log|_change_data", "a Delta table"),
    (r"\.hoodie", "a Hudi table"),
    (r".+\.lance", "a Lance dataset"),
    (r"(base|delta|delete_delta)_[0-9]{7,}(_[0-9]+)*(_v[0-9]+)?", "a transactional Hive table"),
    (r".+\.ducklake(\.files)?|ducklake-[0-9a-f-]{36}(-delete)?\.parquet", "a DuckLake"),
    (r".+-deletes\.(parquet|orc|avro)", "an Iceberg table"),
)
_BY_NAME = [(re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _NAMES]


def check_versions(files: Iterable[str], found_in: Callable[[str], Iterable[str]]) -> None:
    """Raise if one of some files or folders lies in, or is, a folder that holds versions of a table.

    `found_in` returns the paths of the marks that are in a folder.
    """
    seen: set[str] = set()
    for file in files:
        for part in file.split("/"):
            for pattern, kind in _BY_NAME:
                if pattern.fullmatch(part):
                    raise _refused(file, kind)
        for folder in with_folders_above(file):
            if folder in seen:
                break
            seen.add(folder)
            for mark in found_in(folder):
                raise _refused(folder, kind_of(mark[len(folder.rstrip("/")) + 1 :]))


def kind_of(mark: str) -> str:
    """Return what a mark, as a path within its folder, is the mark of.

    >>> kind_of("metadata/v3.metadata.json")
    'an Iceberg table'
    """
    return next(kind for pattern, kind in MARKS.items() if re.fullmatch(_as_expression(pattern), mark))


def check_local_versions(paths: Iterable[str]) -> None:
    """Raise if a file or folder of this machine is in a folder that holds versions of a table."""
    absolute = [form(path) for path in paths for form in (os.path.abspath, os.path.realpath)]
    check_versions(dict.fromkeys(absolute), _marks_here)


def _marks_here(folder: str) -> Iterator[str]:
    """Yield the marks in a folder of this machine."""
    for pattern in MARKS:
        path = os.path.join(folder, pattern)
        if "*" not in pattern:
            if os.path.lexists(path):
                yield path
        elif "/" not in pattern or os.path.isdir(os.path.dirname(path)):
            yield from glob(os.path.join(escape(folder), pattern))


def with_folders_above(path: str) -> Iterator[str]:
    """Yield a path and all folders above it, which start behind `scheme://host` where there is one."""
    root = re.match(r"[a-zA-Z][\w+.-]*:(//[^/]*)?|", path)
    first = 0 if root is None else root.end()
    while len(path) > first:
        yield path
        path = path[: max(path.rfind("/"), first)]
    yield path + "/"


def _as_expression(pattern: str) -> str:
    return "[^/]*".join(map(re.escape, pattern.split("*")))


def _refused(path: str, kind: str) -> BadData:
    shown = repr(re.sub(r"=[^/]*", "=...", path.removeprefix("file:")))
    return BadData(
        f"{shown} belongs to {kind}, whose files also hold rows that were replaced or deleted",
        "Write the rows of today to files of their own with what made it, and give those; on Spark, give the "
        "table by its name.",
    )
