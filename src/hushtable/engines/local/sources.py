"""Where rows come from: files, folders, databases, and Arrow objects of Python.

Promise: every source becomes one SQL text that DuckDB reads as a stream, with the names and types of its
columns. How a file is read follows its name and the settings here, never a look at its rows: a dialect or a
type guessed from the data would let one person's row change how all the others are read. Files are read
together only if they agree on the columns that are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.local.agreeing import check_agreement
from hushtable.engines.local.arrow_files import arrow_files
from hushtable.engines.local.delimited import TextRows, read_header
from hushtable.engines.local.files import files_of, format_of
from hushtable.engines.local.json_lines import LineRows, lines_sql, unreadable_lines
from hushtable.engines.local.parquet_files import parquet_rows
from hushtable.engines.local.partitions import check_folders, folder_columns
from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.objects import object_rows
from hushtable.engines.sliced.paths import check_once
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.rows import Unread
from hushtable.errors import BadData

if TYPE_CHECKING:
    import duckdb

_CSV_ROOM = 48 << 20  # what a thread that reads CSV may take


class Source(NamedTuple):
    """Rows to be read: SQL that yields them, and whether they can be read twice.

    `named`: whether the columns surely have names. The first line of a CSV file may be a row instead.
    `unreadable` tells, once all rows were read, how many records of text were dropped before they were rows.
    """

    sql: str
    rereadable: bool = True
    named: bool = True
    unreadable: Callable[[], Unread] = Unread


def open_source(
    data: Any,
    connection: duckdb.DuckDBPyConnection,
    *,
    names: Sequence[str],
    whole: bool,
    memory: int,
    threads: int,
) -> Source:
    """Make `data` readable through `connection`, which has so much memory and so many threads.

    `names` are the columns that are used, but a row may be used as a `whole`. JSON lines have no others, and
    unless `whole`, those of CSV files have no values.
    """
    given = [data] if isinstance(data, str | os.PathLike) else data
    of_paths = isinstance(given, list | tuple) and all(isinstance(path, str | os.PathLike) for path in given)
    if not of_paths or not given:
        return Source(*object_rows(data, connection, names, whole=whole))
    paths = [os.fsdecode(path) for path in given]
    return _paths(paths, connection, names, whole=whole, memory=memory, threads=threads)


def _paths(
    given: list[str],
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    whole: bool,
    memory: int,
    threads: int,
) -> Source:
    """Return the rows of files, folders and patterns."""
    files = [file for path in given for file in files_of(path)]
    check_once(files)
    formats = {format_of(file) for file in files}
    if len(formats) > 1:
        raise BadData(
            f"the files are of several kinds: {', '.join(sorted(formats))}", "Give one kind at a time."
        )
    kind = formats.pop()
    if kind == "arrow":
        return Source(arrow_files(files, connection, names, whole=whole), rereadable=False)
    if kind == "parquet":
        return Source(*parquet_rows(files, connection, names, whole=whole))
    if kind == "json":
        return _json(files, connection, names)
    readers = max(1, min(threads, memory // _CSV_ROOM))
    delimiter = "\t" if kind == "tsv" else ","
    return _csv(files, delimiter, connection, names, whole=whole, threads=readers)


def _csv(
    files: list[str],
    delimiter: str,
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    whole: bool,
    threads: int,
) -> Source:
    """Return the rows of CSV files: text in all columns, named by each file's first line."""
    headers = {file: read_header(file, delimiter) for file in files}
    check_folders(files, {file: header.names for file, header in headers.items()})
    constants = {file: folder_columns(file, names) for file in files}
    found = {file: dict.fromkeys([*headers[file].names, *constants[file]], "VARCHAR") for file in files}
    check_agreement(found, names)
    rows = TextRows(headers, used=None if whole else names, constants=constants, threads=threads)
    connection.register("text_rows", rows)
    # Named, for the owner's check; a count does not read them.
    others = "".join(f", CAST(NULL AS VARCHAR) AS {name_sql(name)}" for name in rows.not_read)
    used = set(map(folded, names))
    named = all(not used.isdisjoint(map(folded, each)) for each in found.values())
    return Source(f"SELECT *{others} FROM text_rows", named=named, unreadable=lambda: rows.tally or Unread())


def _json(files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Source:
    """Return the rows of JSON lines: of each line the values of `names`, as JSON."""
    # DuckDB takes no two names that differ in case alone: the first stands for all.
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(folded(name), name)
    check_folders(files, {})
    rows = LineRows(files, constants={file: folder_columns(file, names) for file in files})
    keys = list(spelled.values())
    sql = lines_sql(rows, keys, connection)
    return Source(sql, unreadable=lambda: unreadable_lines(rows, keys, connection))
