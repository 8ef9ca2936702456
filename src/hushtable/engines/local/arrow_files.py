"""Rows of files of Arrow, and of some of Parquet.

Promise: every value reaches DuckDB as `sliced.arrow` promises. Files are brought to one type without loss or
not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hushtable.engines.local.agreeing import check_agreement
from hushtable.engines.sliced.arrow import (
    checked_values,
    clocked_type,
    cut_to_clocks,
    registered,
    taken_columns,
    types_of,
)
from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.sound import is_text
from hushtable.errors import BadData, shown

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
    used = set(map(folded, names))
    # Others are kept where all files have them alike, for whoever wants to know what there is.
    kinds = {
        name: [
            field.type for each in schemas.values() for field in each if folded(field.name) == folded(name)
        ]
        for name in columns[files[0]]
    }
    kept = [
        name
        for name, found in kinds.items()
        if folded(name) in used or (len(found) == len(schemas) and len(set(found)) == 1)
    ]
    checked = {name for name in kept if whole or folded(name) in used}
    together = pa.schema([(name, _common(name, kinds[name])) for name in kept])
    schema = pa.schema([*together, *((name, pa.string()) for name in beside[files[0]])])

    def rows() -> Iterator[pa.RecordBatch]:
        for file in files:
            spelled = {folded(name): name for name in schemas[file].names}
            try:
                for batch in _opened(file, [spelled[folded(name)] for name in kept])[1]:
                    # DuckDB trusts what it is given: offsets that point anywhere would be followed.
                    some = batch.select([spelled[folded(name)] for name in kept]).rename_columns(kept)
                    for place, name in enumerate(kept):
                        column = some.column(place)
                        column = checked_values(column) if name in checked else column
                        some = some.set_column(place, name, cut_to_clocks(column, column.type))
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


def _common(name: str, kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return a type that holds all values of a column of several files as they are.

    Types that DuckDB has one name for may still differ, and a cast would stop at a value that does not fit.
    """
    import pyarrow as pa

    is_ = pa.types
    some = list(dict.fromkeys(clocked_type(kind) or kind for kind in kinds if not is_.is_null(kind)))
    if len(some) < 2:
        return some[0] if some else pa.null()
    plain = list(dict.fromkeys(kind.value_type if is_.is_dictionary(kind) else kind for kind in some))
    if len(plain) == 1:
        return plain[0]
    if all(map(is_.is_integer, plain)):
        signed = any(map(is_.is_signed_integer, plain))
        if signed and pa.uint64() in plain:
            return pa.decimal128(20, 0)
        return pa.int64() if signed else pa.uint64()
    if all(map(is_.is_floating, plain)):
        return pa.float64()
    if all(map(is_text, plain)):
        return pa.large_string()
    bytes_ = (is_.is_binary, is_.is_large_binary, is_.is_binary_view, is_.is_fixed_size_binary)
    if all(any(is_bytes(kind) for is_bytes in bytes_) for kind in plain):
        return pa.large_binary()
    fact = f"column {shown(name)} has several Arrow types that have no common type"
    raise BadData(fact, "Write it with one type in all files.")
