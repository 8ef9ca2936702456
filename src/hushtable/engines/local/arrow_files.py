"""Rows of files of Arrow, and of some of Parquet.

Promise: every value reaches DuckDB as `sliced.arrow` promises. Files are brought to one type without loss or
not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hushtable.engines.local.agreeing import check_agreement, likeness
from hushtable.engines.sliced.arrow import checked_values, registered, taken_columns, types_of
from hushtable.engines.sliced.naming import by_folded, check_distinct, folded
from hushtable.engines.sliced.paths import said
from hushtable.errors import BadData

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


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
        columns[file] = types_of(taken_columns(schema, connection, names), connection)
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
                            some = some.set_column(place, name, checked_values(some.column(place)))
                    values = [pa.scalar(value, pa.string()) for value in beside[file].values()]
                    constant = [pa.repeat(value, some.num_rows) for value in values]
                    yield pa.record_batch([*some.cast(together).columns, *constant], schema=schema)
            except (pa.ArrowException, OSError) as error:
                # The engine's message will quote the line that raises, and is told by its words.
                why = "not UTF-8" if "UTF8" in str(error) else "Arrow file is damaged"
                raise OSError(why) from None

    return registered(pa.RecordBatchReader.from_batches(schema, rows()), connection, names, whole=whole)


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


def _common(name: str, schemas: Sequence[pa.Schema], connection: duckdb.DuckDBPyConnection) -> pa.DataType:
    """Return a type that holds all values of a column of several files as they are."""
    import pyarrow as pa

    fields = [field for schema in schemas for field in schema if folded(field.name) == folded(name)]
    types = list(dict.fromkeys(field.type for field in fields if not pa.types.is_null(field.type)))
    if len(types) < 2:
        return types[0] if types else pa.null()
    kind = likeness(types_of(pa.schema([("x", types[0])]), connection)["x"])
    if kind == "whole numbers":
        signed = any(pa.types.is_signed_integer(each) for each in types)
        if signed and pa.uint64() in types:
            return pa.decimal128(20, 0)
        return pa.int64() if signed else pa.uint64()
    if kind == "float":
        return pa.float64()
    return pa.large_string() if kind == "text" else types[0]
