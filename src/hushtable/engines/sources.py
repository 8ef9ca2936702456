"""Where rows come from: files, folders, databases, and Arrow objects of Python.

Promise: every source becomes one SQL text that DuckDB reads as a stream, with the names and types of its
columns. How a file is read follows its name and the settings here, never a look at its rows: a dialect or a
type guessed from the data would let one person's row change how all the others are read. Files are read
together only if they agree on the columns that are used.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.agreeing import check_agreement, check_folders
from hushtable.engines.arrow import arrow_files, arrow_object
from hushtable.engines.engine import quiet
from hushtable.engines.files import files_of, files_sql, format_of, packed, said
from hushtable.engines.naming import check_distinct, folded
from hushtable.engines.quoting import name_sql, text_sql
from hushtable.errors import BadData

if TYPE_CHECKING:
    import duckdb

_LONGEST_LINE = 1 << 23
# What DuckDB's readers of text need for each thread; with less they fail, however short the lines are.
_CSV_ROOM, _JSON_ROOM = 32 << 20, 40 << 20
TABLE = "data"  # what a query calls the rows of files and of Python objects


class Source(NamedTuple):
    """Rows to be read: SQL that yields them, and whether they can be read twice.

    `named`: whether the columns surely have names. The first line of a CSV file may be a row instead.
    """

    sql: str
    rereadable: bool = True
    named: bool = True


def open_source(
    data: Any, connection: duckdb.DuckDBPyConnection, *, names: Sequence[str], memory: int, threads: int
) -> Source:
    """Make `data` readable through `connection`, which has so much memory and so many threads.

    `names` are the columns that are used; JSON lines have no others.
    """
    given = [data] if isinstance(data, str | os.PathLike) else data
    of_paths = isinstance(given, list | tuple) and all(isinstance(path, str | os.PathLike) for path in given)
    if not of_paths or not given:
        return Source(*arrow_object(data, connection, names))
    source, room = _paths([os.fsdecode(path) for path in given], connection, names)
    if room and memory // room < threads:
        connection.execute(f"SET threads = {max(1, memory // room)}")
    return source


def _paths(
    given: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> tuple[Source, int]:
    """Return the rows of files, folders and patterns, and the memory that reading takes for each thread."""
    files = [file for path in given for file in files_of(path)]
    seen: set[str] = set()
    for file in files:
        if os.path.realpath(file) in seen:  # each of its rows would count twice
            raise BadData(f"the file {said(file)} is given twice", "Give each file once.")
        seen.add(os.path.realpath(file))
    formats = {format_of(file) for file in files}
    if len(formats) > 1:
        raise BadData(
            f"the files are of several kinds: {', '.join(sorted(formats))}", "Give one kind at a time."
        )
    kind = formats.pop()
    if kind == "arrow":
        return Source(arrow_files(files, connection, names), rereadable=False), 0
    if kind == "parquet":
        return Source(_parquet_sql(files, connection, names)), 0
    if kind != "json":
        return _csv(files, "\t" if kind == "tsv" else ",", names), _CSV_ROOM
    # DuckDB takes no two names that differ in case alone: the first stands for all.
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(folded(name), name)
    columns = ", ".join(f"{name_sql(name)}: 'JSON'" for name in spelled.values())
    source = Source(
        f"SELECT * FROM read_json({files_sql(files)}, format = 'newline_delimited', auto_detect = false, "
        f"columns = {{{columns}}}, records = true, maximum_object_size = {_LONGEST_LINE})"
    )
    return source, _JSON_ROOM


def _parquet_sql(files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> str:
    """Return the rows of Parquet files."""
    columns: dict[str, list[tuple[str, str]]] = {}
    below = 0  # nodes of the tree that are still to come below a column
    for file, name, children, sql_type in _parquet_nodes(list(dict.fromkeys(files)), connection):
        if file not in columns:
            columns[file], below = [], 0  # the root
        elif below:
            below += (children or 0) - 1
        else:
            columns[file].append((name, sql_type))
            below = children or 0
    for file, found in columns.items():
        check_distinct((name for name, _ in found), f"{said(file)} has")
    types = {file: dict(found) for file, found in columns.items()}
    equal = check_agreement(types, names)
    folders = check_folders(files, types)
    return (
        f"SELECT * FROM read_parquet({files_sql(files)}, union_by_name = {str(not equal).lower()}, "
        f"hive_partitioning = {str(folders).lower()}, hive_types_autocast = false)"
    )


def _parquet_nodes(files: list[str], connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Return the nodes of the schemas of all files: file, name, number of children, type."""

    def nodes(these: list[str]) -> list[Any]:
        ordered = f"parquet_schema({files_sql(these)}) ORDER BY file_name, column_id"
        sql = f"SELECT file_name, name, num_children, duckdb_type FROM {ordered}"
        return quiet(lambda: connection.sql(sql).fetchall())

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


def _csv(files: list[str], delimiter: str, names: Sequence[str]) -> Source:
    """Return the rows of CSV files: text in all columns, named by each file's first line."""
    by_header: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        by_header.setdefault(_header(file, delimiter), []).append(file)
    headers = {file: header for header, group in by_header.items() for file in group}
    check_agreement({file: dict.fromkeys(header, "VARCHAR") for file, header in headers.items()}, names)
    folders = check_folders(files, headers)
    parts = []
    for header, group in by_header.items():
        columns = ", ".join(f"{name_sql(name)}: 'VARCHAR'" for name in header)
        parts.append(
            f"SELECT * FROM read_csv({files_sql(group)}, columns = {{{columns}}}, auto_detect = false, "
            f"header = true, "
            f"delim = {text_sql(delimiter)}, quote = '\"', escape = '\"', nullstr = '', strict_mode = true, "
            f"max_line_size = {_LONGEST_LINE}, buffer_size = {_LONGEST_LINE}, "
            f"hive_partitioning = {str(folders).lower()}, hive_types_autocast = false)"
        )
    used = set(map(folded, names))
    named = all(not used.isdisjoint(map(folded, header)) for header in by_header)
    return Source(" UNION ALL BY NAME ".join(parts), named=named)


def _header(file: str, delimiter: str) -> tuple[str, ...]:
    """Return the names in the first line of a CSV file."""
    import pyarrow as pa

    # Raised below: these errors quote the file, and so would the chain.
    failed = ""
    names: list[str] = []
    try:
        stream = pa.input_stream(file, compression="detect")
        with io.TextIOWrapper(
            stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as text:  # later lines are not looked at
            names = next(csv.reader(text, delimiter=delimiter, strict=True), [])
    except csv.Error:
        failed = "csv"
    except OSError:
        failed = "packed"
    if failed == "packed":
        fact = f"{said(file)} is damaged, cut off, or not compressed as its name says"
        raise BadData(fact, "Copy it or make it again.")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for name in names for character in name):
        hint = "Save the file as CSV in UTF-8; UTF-16 and Latin-1 are not read."
        raise BadData(f"the first line of {said(file)} is not text in UTF-8", hint)
    if failed:
        hint = "A quote that is not closed is a frequent cause; the first line must name the columns."
        raise BadData(f"the first line of {said(file)} is not CSV", hint)
    if not packed(file) and not _last_line_fits(file):
        # DuckDB drops it without a word.
        hint = "Look at the end of the file: it may have been filled up."
        raise BadData(f"a line is longer than 8 MiB: the last of {said(file)}", hint)
    if not names or not all(names):
        raise BadData(f"the first line of {said(file)} does not name every column", "Give each a name.")
    if len(set(map(folded, names))) < len(names):
        hint = "Give each its own; upper and lower case make no difference."
        raise BadData(f"the first line of {said(file)} names a column twice", hint)
    return tuple(names)


def _last_line_fits(file: str) -> bool:
    """Return whether the last line of a file is short enough to be read."""
    size = os.path.getsize(file)
    end = size - 1  # the last byte may end the line
    with open(file, "rb") as stream:
        while end > max(0, size - _LONGEST_LINE):
            begin = max(0, end - (1 << 16))
            stream.seek(begin)
            part = stream.read(end - begin)
            if b"\n" in part or b"\r" in part:
                return True
            end = begin
    return size <= _LONGEST_LINE
