"""Where rows come from: files, folders, databases, and Arrow objects of Python.

Promise: every source becomes one SQL text that DuckDB reads as a stream, with the names and types of its
columns. How a file is read follows its name and the settings here, never a look at its rows: a dialect or a
type guessed from the data would let one person's row change how all the others are read. Files are read
together only if they agree on the columns that are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.delimited import Tally, TextRows, read_header
from hushtable.engines.engine import quiet
from hushtable.engines.files import check_once, files_of, files_sql, format_of, said
from hushtable.engines.json_lines import LineRows, lines_sql, unreadable_lines
from hushtable.engines.partitions import folder_columns
from hushtable.engines.quoting import name_sql
from hushtable.engines.reading import form_of, type_text
from hushtable.errors import BadData, shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_CSV_ROOM = 48 << 20  # what a thread that reads CSV may take
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # of Arrow
TABLE = "data"  # what a query calls the rows of files and of Python objects


class Source(NamedTuple):
    """Rows to be read: SQL that yields them, and whether they can be read twice.

    `named`: whether the columns surely have names. The first line of a CSV file may be a row instead.
    `unreadable` tells, once all rows were read, how many records of text were dropped before they were rows.
    """

    sql: str
    rereadable: bool = True
    named: bool = True
    unreadable: Callable[[], Tally] = Tally


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

    `names` are the columns that are used; JSON lines have no others, and unless `whole`, those of CSV files
    have no values.
    """
    given = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(given, list | tuple) or not given:
        return _arrow_object(data, connection, names)
    if not all(isinstance(path, str | os.PathLike) for path in given):
        return _arrow_object(data, connection, names)
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
        rows = _arrow_files(files, connection, names)
        return _registered(rows, connection, names, rereadable=False)
    if kind == "parquet":
        return Source(_parquet_sql(files, connection, names))
    if kind == "json":
        return _json(files, connection, names)
    readers = max(1, min(threads, memory // _CSV_ROOM))
    delimiter = "\t" if kind == "tsv" else ","
    return _csv(files, delimiter, connection, names, whole=whole, threads=readers)


def _hive(files: list[str]) -> str:
    """Return whether folders named as in year=2024 are columns."""
    return str(any("=" in part for file in files for part in Path(file).parts[:-1])).lower()


def _check_agreement(columns: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> bool:
    """Raise unless files have the same columns of `names`, of types alike; return whether they are equal.

    `columns` are each file's columns, in lower case, and types.
    """
    equal = True
    for name in dict.fromkeys(name.lower() for name in names):
        there = {file: found[name] for file, found in columns.items() if name in found}
        if not there:
            continue
        example = next(iter(there))
        if len(there) < len(columns):
            without = next(file for file in columns if file not in there)
            hint = "Files that are counted together need the same columns: mend it, or leave it out."
            raise BadData(f"{said(without)} has no column {shown(name)}, which {said(example)} has", hint)
        for file, kind in there.items():
            if _likeness(kind) != _likeness(there[example]) and '"NULL"' not in (kind, there[example]):
                raise BadData(
                    f"column {shown(name)} holds {type_text(kind)} in {said(file)}, "
                    f"but {type_text(there[example])} in {said(example)}",
                    "Write it with one type in all files.",
                )
            equal = equal and kind == there[example]
    return equal


def _likeness(sql_type: str) -> str:
    """Return what types have in common that can be read together: 1 and 1.0 can, 6001 and '06001' cannot."""
    form = form_of(sql_type)
    return "number" if form in ("whole", "large", "float", "decimal") else form


def check_names(found: Iterable[str], names: Sequence[str], where: str) -> None:
    """Raise if a column of `names` comes twice: which one is read would be a matter of chance."""
    folded = [name.lower() for name in found]
    for name in names:
        if folded.count(name.lower()) > 1:
            hint = "Rename all but one of them; upper and lower case make no difference."
            raise BadData(f"{where} several columns named {shown(name)}", hint)


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
        check_names((name for name, _ in found), names, f"{said(file)} has")
    types = {file: {name.lower(): kind for name, kind in found} for file, found in columns.items()}
    equal = _check_agreement(types, names)
    return (
        f"SELECT * FROM read_parquet({files_sql(files)}, union_by_name = {str(not equal).lower()}, "
        f"hive_partitioning = {_hive(files)}, hive_types_autocast = false)"
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
    constants = {file: folder_columns(file, names) for file in files}
    found: dict[str, dict[str, str]] = {}
    for file, header in headers.items():
        lowered = dict.fromkeys((name.lower() for name in header.names), "VARCHAR")
        for name in constants[file]:
            if name.lower() in lowered:
                hint = "Rename the column or the folder; upper and lower case make no difference."
                fact = f"{said(file)} has a column {shown(name)}, and so does the name of its folder"
                raise BadData(fact, hint)
        found[file] = lowered | dict.fromkeys((name.lower() for name in constants[file]), "VARCHAR")
    _check_agreement(found, names)
    rows = TextRows(headers, used=None if whole else names, constants=constants, threads=threads)
    connection.register("text_rows", rows)
    # Named, for the owner's check; a count does not read them.
    others = "".join(f", CAST(NULL AS VARCHAR) AS {name_sql(name)}" for name in rows.not_read)
    used = {name.lower() for name in names}
    named = all(not used.isdisjoint(lowered) for lowered in found.values())
    return Source(f"SELECT *{others} FROM text_rows", named=named, unreadable=lambda: rows.tally or Tally())


def _json(files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Source:
    """Return the rows of JSON lines: of each line the values of `names`, as JSON."""
    # DuckDB takes no two names that differ in case alone: the first stands for all.
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(name.lower(), name)
    constants = {file: folder_columns(file, names) for file in files}
    _check_agreement(
        {
            file: dict.fromkeys((name.lower() for name in found), "VARCHAR")
            for file, found in constants.items()
        },
        names,
    )
    rows, keys = LineRows(files, constants=constants), list(spelled.values())
    sql = lines_sql(rows, keys, connection)
    return Source(sql, unreadable=lambda: unreadable_lines(rows, keys, connection))


def _arrow_files(
    files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> pa.RecordBatchReader:
    """Return the rows of Arrow files, in file or stream format."""
    import pyarrow as pa

    def opened(file: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        source = pa.memory_map(file)
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            stream = pa.ipc.open_stream(source)
            source_end = source.size() - len(_END_OF_STREAM)
            if source.read_at(len(_END_OF_STREAM), source_end) != _END_OF_STREAM:
                raise  # cut off between two batches, which no reader would see
            return stream.schema, iter(stream)
        return reader.schema, (reader.get_batch(place) for place in range(reader.num_record_batches))

    schemas: dict[str, pa.Schema] = {}
    for file in files:
        try:
            schemas[file] = opened(file)[0]
        except (pa.ArrowException, OSError, ValueError):
            break
    if len(schemas) < len(set(files)):
        failed = next(file for file in files if file not in schemas)
        raise BadData(f"{said(failed)} is not an Arrow file, or is cut off", "Copy it or make it again.")

    columns = {}
    for file, schema in schemas.items():
        check_names(schema.names, names, f"{said(file)} has")
        connection.register("schema_rows", schema.empty_table())
        described = quiet(lambda: connection.sql("DESCRIBE FROM schema_rows").fetchall())
        columns[file] = {row[0].lower(): row[1] for row in described}
        connection.unregister("schema_rows")
    _check_agreement(columns, names)
    used, first = {name.lower() for name in names}, {name.lower() for name in schemas[files[0]].names}
    used = first if used.isdisjoint(first) else used
    wanted = [
        pa.schema([field for field in schema if field.name.lower() in used]) for schema in schemas.values()
    ]
    together = schemas[files[0]]
    if any(schema != together for schema in schemas.values()):
        together = quiet(lambda: pa.unify_schemas(wanted, promote_options="permissive"))

    def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
        # DuckDB trusts what it is given: offsets that point anywhere would be followed.
        columns = batch.select([name for name in batch.schema.names if name.lower() in used])
        columns.validate(full=True)
        return (
            batch if batch.schema == together else columns.select(together.names).cast(together, safe=False)
        )

    def rows() -> Iterator[pa.RecordBatch]:
        for file in files:
            try:
                yield from map(checked, opened(file)[1])
            except (pa.ArrowException, OSError) as error:
                # The engine's message will quote the line that raises, and is told by its words.
                why = "not UTF-8" if "UTF8" in str(error) else "Arrow file is damaged"
                raise OSError(why) from None

    return pa.RecordBatchReader.from_batches(together, rows())


def _arrow_object(data: Any, connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Source:
    """Return the rows of an object with the Arrow PyCapsule interface."""
    import pyarrow as pa

    kind, failed, rows = type(data).__name__, "", None
    try:
        if isinstance(data, pa.Table):
            rows = data
        elif hasattr(data, "__arrow_c_stream__"):
            rows = pa.RecordBatchReader.from_stream(data)
        elif hasattr(data, "__arrow_c_array__"):
            rows = pa.Table.from_batches([pa.record_batch(data)])
    except Exception as error:
        failed = type(error).__name__  # raised below: what it says may quote rows, and so would the chain
    if rows is not None:
        return _registered(rows, connection, names, rereadable=isinstance(rows, pa.Table))
    if failed:
        hint = (
            "Values of different types in a column, or one name for two columns, are frequent causes. "
            "pyarrow.table(data) says what it is, and may quote rows."
        )
        raise BadData(f"this {kind} cannot be given as a table of Arrow ({failed})", hint)
    hint = "Pass a path, a list of paths, or a pyarrow, pandas or Polars table."
    if isinstance(data, list | dict):
        maker = "pyarrow.Table.from_pylist(data)" if isinstance(data, list) else "pyarrow.table(data)"
        hint = f"{hint} Rows in a {kind} become one by {maker}."
    raise BadData(f"data is of type {kind}, which holds no rows", hint)


def _registered(
    rows: Any, connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, rereadable: bool
) -> Source:
    """Return rows of Python as a source."""
    check_names(rows.schema.names, names, "the data have")
    connection.register("registered_rows", rows)
    return Source("SELECT * FROM registered_rows", rereadable)
