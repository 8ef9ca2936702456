"""Rows in Arrow's form: files of it, some of Parquet, and objects of Python that give it.

Promise: every value reaches DuckDB as it is, but for times that no clock shows, which become the last one.
Files are brought to one type without loss or not at all. A column that DuckDB has no type for is refused if
it is used, and left out if not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hushtable.engines.agreeing import check_agreement, likeness
from hushtable.engines.files import said
from hushtable.engines.naming import by_folded, check_distinct, folded
from hushtable.errors import BadData, shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_STEPS = {"s": 10**6, "ms": 10**3}  # microseconds, in which DuckDB keeps times with a zone
_ROWS = "registered_rows"


def arrow_files(
    files: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    whole: bool,
    constants: Mapping[str, Mapping[str, str | None]] | None = None,
) -> str:
    """Return SQL for the rows of files of Arrow or Parquet; they are read once.

    `names` are the columns that are used, but a row may be used as a `whole`. `constants` are further columns
    of a file, the same ones for each.
    """
    import pyarrow as pa

    beside = {file: dict((constants or {}).get(file, {})) for file in files}

    schemas: dict[str, pa.Schema] = {}
    for file in files:
        try:
            schemas[file] = _opened(file)[0]
        except (pa.ArrowException, OSError, ValueError):
            break
    if len(schemas) < len(set(files)):
        failed = next(file for file in files if file not in schemas)
        raise BadData(f"{said(failed)} is not an Arrow file, or is cut off", "Copy it or make it again.")

    columns = {}
    for file, schema in schemas.items():
        check_distinct(schema.names, f"{said(file)} has")
        columns[file] = _types(_taken(schema, connection, names), connection)
    check_agreement(columns, names)
    used, everywhere = set(map(folded, names)), [by_folded(each) for each in columns.values()]
    # Others are kept where all files have them alike, for whoever wants to know what there is.
    kept = [
        name
        for name in columns[files[0]]
        if folded(name) in used or len({each.get(folded(name)) for each in everywhere}) == 1
    ]
    checked = {name for name in kept if whole or folded(name) in used}
    together = pa.schema([(name, _common(name, list(schemas.values()), connection)) for name in kept])
    schema = pa.schema([*together, *((name, pa.string()) for name in beside[files[0]])])

    def rows() -> Iterator[pa.RecordBatch]:
        for file in files:
            spelled = {folded(name): name for name in schemas[file].names}
            try:
                for batch in _opened(file, [spelled[folded(name)] for name in kept])[1]:
                    # DuckDB trusts what it is given: offsets that point anywhere would be followed.
                    some = batch.select([spelled[folded(name)] for name in kept]).rename_columns(kept)
                    for place, name in enumerate(kept):
                        if name in checked:
                            some = some.set_column(place, name, _checked(some.column(place)))
                    values = [pa.scalar(value, pa.string()) for value in beside[file].values()]
                    constant = [pa.repeat(value, some.num_rows) for value in values]
                    yield pa.record_batch([*some.cast(together).columns, *constant], schema=schema)
            except (pa.ArrowException, OSError) as error:
                # The engine's message will quote the line that raises, and is told by its words.
                why = "not UTF-8" if "UTF8" in str(error) else "Arrow file is damaged"
                raise OSError(why) from None

    return _registered(pa.RecordBatchReader.from_batches(schema, rows()), connection, names, whole=whole)


def arrow_object(
    data: Any, connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, whole: bool
) -> tuple[str, bool]:
    """Return SQL for the rows of an object with the Arrow PyCapsule interface, and whether it reads twice."""
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
        return _registered(rows, connection, names, whole=whole), isinstance(rows, pa.Table)
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


def _opened(file: str, columns: list[str] | None = None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Return the schema and the batches of a file, with these columns at least."""
    import pyarrow as pa

    if file.lower().endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        parquet = pq.ParquetFile(file)
        return parquet.schema_arrow, parquet.iter_batches(columns=columns)
    source = pa.memory_map(file)
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        end = source.size() - len(_END_OF_STREAM)
        if source.read_at(len(_END_OF_STREAM), end) != _END_OF_STREAM:
            raise  # cut off between two batches, which no reader would see
        return stream.schema, stream
    return reader.schema, (reader.get_batch(place) for place in range(reader.num_record_batches))


def _registered(
    rows: pa.Table | pa.RecordBatchReader,
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    whole: bool,
) -> str:
    """Make rows known to DuckDB, and return SQL for them."""
    import pyarrow as pa

    check_distinct(rows.schema.names, "the data have")
    taken = _taken(rows.schema, connection, names)
    clocked = pa.schema([field.with_type(_in_microseconds(field.type) or field.type) for field in taken])
    used = set(map(folded, names))
    texts = {field.name for field in taken if (whole or folded(field.name) in used) and _is_text(field.type)}
    if clocked != rows.schema or texts:

        def read(batch: Any, field: pa.Field) -> Any:
            column = batch.column(field.name)
            return _as_text(column) if field.name in texts else _cut_to_clocks(column, field.type)

        def changed(batch: Any) -> Any:
            return type(batch).from_arrays([read(batch, field) for field in taken], schema=clocked)

        if isinstance(rows, pa.Table):
            rows = changed(rows) if taken else rows.select([])
        else:
            rows = pa.RecordBatchReader.from_batches(clocked, map(changed, rows))
    connection.register(_ROWS, rows)
    return f"SELECT * FROM {_ROWS}"


def _checked(values: pa.Array) -> pa.Array:
    """Return values whose offsets point within them; of text, what is not UTF-8 is left out."""
    if _is_text(values.type):
        return _as_text(values)
    values.validate(full=True)
    return values


def _is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text, as it is or in a dictionary."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_text(values: Any) -> Any:
    """Return text without what is not UTF-8: one bad value of one row, and DuckDB trusts what it gets."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_as_text(chunk) for chunk in values.chunks], type=values.type)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise
    else:
        return values
    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(values.indices, _as_text(values.dictionary)).cast(values.type)

    def readable(text: bytes | None) -> str | None:
        try:
            return None if text is None else text.decode()
        except UnicodeDecodeError:
            return None

    return pa.array(map(readable, values.cast(pa.large_binary()).to_pylist()), type=values.type)


def _taken(schema: pa.Schema, connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> pa.Schema:
    """Return the columns that DuckDB has a type for; raise if one of `names` is not among them."""
    import duckdb
    import pyarrow as pa

    def known(fields: list[pa.Field]) -> bool:
        try:
            _types(pa.schema(fields), connection)
        except (duckdb.Error, pa.ArrowException):
            return False
        return True

    fields = list(schema)
    if known(fields):
        return schema.remove_metadata()
    used = set(map(folded, names))
    for field in fields:
        if folded(field.name) in used and not known([field]):
            held = str(field.type).split("(")[0].split("<")[0].split("[")[0]
            hint = "Cast it to a number of 64 bits, a decimal of 38 digits or text."
            raise BadData(f"column {shown(field.name)} holds {held}, which is not read", hint)
    return pa.schema([field for field in fields if known([field])])


def _types(schema: pa.Schema, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the names of columns and their types in DuckDB."""
    connection.register("schema_rows", schema.empty_table())
    try:
        return {row[0]: row[1] for row in connection.execute("DESCRIBE FROM schema_rows").fetchall()}
    finally:
        connection.unregister("schema_rows")


def _common(name: str, schemas: Sequence[pa.Schema], connection: duckdb.DuckDBPyConnection) -> pa.DataType:
    """Return a type that holds all values of a column of several files as they are."""
    import pyarrow as pa

    fields = [field for schema in schemas for field in schema if folded(field.name) == folded(name)]
    types = list(dict.fromkeys(field.type for field in fields if not pa.types.is_null(field.type)))
    if len(types) < 2:
        return types[0] if types else pa.null()
    kind = likeness(_types(pa.schema([("x", types[0])]), connection)["x"])
    if kind == "whole numbers":
        signed = any(pa.types.is_signed_integer(each) for each in types)
        if signed and pa.uint64() in types:
            return pa.decimal128(20, 0)
        return pa.int64() if signed else pa.uint64()
    if kind == "float":
        return pa.float64()
    return pa.large_string() if kind == "text" else types[0]


def _in_microseconds(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of times in DuckDB's steps, for times with a zone in longer ones."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit in _STEPS:
        return pa.timestamp("us", tz=kind.tz)
    return None


def _cut_to_clocks(values: Any, kind: pa.DataType) -> Any:
    """Return times with a zone in microseconds, those beyond the last one as the last one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = _in_microseconds(kind)
    if wanted is None:
        return values
    most = ((1 << 63) - 2) // _STEPS[kind.unit]
    steps = pc.max_element_wise(
        pc.min_element_wise(values.cast(pa.int64()), most, skip_nulls=False), -most, skip_nulls=False
    )
    return steps.cast(kind).cast(wanted)
