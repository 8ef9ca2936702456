"""Where rows come from: files, folders, databases, and Arrow objects of Python.

Promise: every source becomes one SQL text that DuckDB reads as a stream, with the names and types of its
columns. How a file is read follows its name and the settings here, never a look at its rows: a dialect or a
type guessed from the data would let one person's row change how all the others are read. Files are read
together only if they agree on the columns that are used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.local.agreeing import check_agreement
from hushtable.engines.local.arrow_files import arrow_files
from hushtable.engines.local.delimited import TextRows, read_header
from hushtable.engines.local.files import files_of, files_sql, format_of
from hushtable.engines.local.json_lines import LineRows, lines_sql, unreadable_lines
from hushtable.engines.local.partitions import check_folders, folder_columns
from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.objects import object_rows
from hushtable.engines.sliced.paths import check_once, said
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.rows import Unread
from hushtable.errors import BadData

if TYPE_CHECKING:
    import duckdb

_CSV_ROOM = 48 << 20  # what a thread that reads CSV may take
# Of times in Parquet: moments in milliseconds, and all times of day, which may lie beyond it.
_CONVERTED = re.compile(r"MILLIS=M|TIMESTAMP_MILLIS|TimeType|TIME_M")


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
        return _parquet(files, connection, names, whole=whole)
    if kind == "json":
        return _json(files, connection, names)
    readers = max(1, min(threads, memory // _CSV_ROOM))
    delimiter = "\t" if kind == "tsv" else ","
    return _csv(files, delimiter, connection, names, whole=whole, threads=readers)


def _parquet(
    files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, whole: bool
) -> Source:
    """Return the rows of Parquet files."""
    columns: dict[str, list[tuple[str, str]]] = {}
    converted: dict[str, str] = {}  # columns with times that DuckDB converts, and stops where it cannot
    below = 0  # nodes of the tree that are still to come below a column
    for file, name, children, sql_type, kind in _parquet_nodes(list(dict.fromkeys(files)), connection):
        if file not in columns:
            columns[file], below = [], 0  # the root
            continue
        if below:
            below += (children or 0) - 1
        else:
            columns[file].append((name, sql_type))
            below = children or 0
        if _CONVERTED.search(kind):
            column = columns[file][-1][0]  # on whatever level below it they are
            converted.setdefault(folded(column), column)
    for file, found in columns.items():
        check_distinct((name for name, _ in found), f"{said(file)} has")
    types = {file: dict(found) for file, found in columns.items()}
    equal = check_agreement(types, names)
    folders = check_folders(files, types)
    if not converted.keys().isdisjoint(map(folded, names)):
        constants = {file: folder_columns(file, names) for file in files}
        return Source(
            arrow_files(files, connection, names, whole=whole, constants=constants), rereadable=False
        )
    left_out = f" EXCLUDE ({', '.join(map(name_sql, converted.values()))})" if converted else ""
    return Source(
        f"SELECT *{left_out} FROM read_parquet({files_sql(files)}, union_by_name = {str(not equal).lower()}, "
        f"hive_partitioning = {str(folders).lower()}, hive_types_autocast = false)"
    )


def _parquet_nodes(files: list[str], connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Return the nodes of the schemas of all files: file, name, number of children, type, kind in Parquet.

    Old files tell the kind by their `converted_type` alone.
    """

    def nodes(these: list[str]) -> list[Any]:
        ordered = f"parquet_schema({files_sql(these)}) ORDER BY file_name, column_id"
        kind = "concat_ws(' ', logical_type, converted_type)"
        sql = f"SELECT file_name, name, num_children, duckdb_type, {kind} FROM {ordered}"
        return quiet(lambda: connection.execute(sql).fetchall())

    try:
        return nodes(files)
    except BadData as error:
        instead = error
    for file in files:
        try:
            nodes([file])
        except BadData:
            hint = "Copy it or make it again."
            instead = BadData(f"{said(file)} is not a Parquet file, or is damaged", hint)
            break
    raise instead


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
