"""Rows in Arrow's form, and what of Arrow's types reaches DuckDB.

Promise: every value reaches DuckDB as it is, but for times that no clock shows, which become the last one,
and for what is not of its type, which is missing (`sound`). A column that DuckDB has no type for, or that it
would convert value by value and stop at one that does not fit, is refused if it is used, and left out if not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.sound import may_be_unsound, sound
from hushtable.errors import BadData, shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_STEPS = {"s": 10**6, "ms": 10**3}  # microseconds, in which DuckDB keeps times with a zone, and durations
_EXTENSION = b"ARROW:extension:name"
_EXTENSIONS = ("arrow.json", "arrow.uuid")  # whose storage is what DuckDB takes it for: pyarrow checks it
_ROWS = "registered_rows"


def registered(
    rows: pa.Table | pa.RecordBatchReader,
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    whole: bool,
) -> str:
    """Make rows known to DuckDB, and return SQL for them."""
    import pyarrow as pa

    check_distinct(rows.schema.names, "the data have")
    taken = taken_columns(rows.schema, connection, names)
    if not len(taken):  # DuckDB knows no such table, and says so in words of its own
        raise BadData("the data have no column that is read", "Give rows with a column for each attribute.")
    clocked = pa.schema([field.with_type(clocked_type(field.type) or field.type) for field in taken])
    used = set(map(folded, names))
    doubtful = {
        field.name for field in taken if (whole or folded(field.name) in used) and may_be_unsound(field.type)
    }
    if not clocked.equals(rows.schema, check_metadata=True) or doubtful:

        def read(batch: Any, field: pa.Field) -> Any:
            column = batch.column(field.name)
            return sound(column) if field.name in doubtful else cut_to_clocks(column, field.type)

        def changed(batch: Any) -> Any:
            return type(batch).from_arrays([read(batch, field) for field in taken], schema=clocked)

        if isinstance(rows, pa.Table):
            rows = changed(rows)
        else:
            rows = pa.RecordBatchReader.from_batches(clocked, map(changed, rows))
    connection.register(_ROWS, rows)
    return f"SELECT * FROM {_ROWS}"


def checked_values(values: pa.Array) -> pa.Array:
    """Return sound values whose offsets point within them."""
    import pyarrow as pa

    values = sound(values)
    try:
        # A time that no clock shows is one bad value, not a damaged file.
        values.validate(full=not pa.types.is_primitive(values.type))
    except pa.ArrowInvalid as error:
        if "does not fit in precision" not in str(error):
            raise  # else a number of which DuckDB keeps all bits
    return values


def taken_columns(
    schema: pa.Schema, connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> pa.Schema:
    """Return the columns that DuckDB can read, without notes; raise if one of `names` is not among them."""
    import duckdb
    import pyarrow as pa

    def known(fields: list[pa.Field]) -> bool:
        if not all(clocked_type(field.type) or _is_taken_as_it_is(field.type) for field in fields):
            return False
        try:
            types_of(pa.schema(fields), connection)
        except (duckdb.Error, pa.ArrowException):
            return False
        return True

    # A note on a field may give its bytes another meaning, for DuckDB alone.
    fields = [field.remove_metadata() for field in schema]
    used = set(map(folded, names))
    for field in fields:
        if folded(field.name) in used:
            _check_fields(field.type, f"column {shown(field.name)} has")
    if known(fields):
        return pa.schema(fields)
    for field in fields:
        if folded(field.name) in used and not known([field]):
            held = str(field.type).split("(")[0].split("<")[0].split("[")[0]
            hint = "Cast it to a number of 64 bits, a decimal of 38 digits, text, or times in microseconds."
            raise BadData(f"column {shown(field.name)} holds {held}, which is not read", hint)
    return pa.schema([field for field in fields if known([field])])


def _check_fields(kind: pa.DataType, where: str) -> None:
    """Raise where fields of a struct differ in case at most: DuckDB takes the first for both."""
    fields = [kind.field(place) for place in range(kind.num_fields)]
    check_distinct((field.name for field in fields), where)
    for field in fields:
        _check_fields(field.type, where)


def _is_taken_as_it_is(kind: pa.DataType) -> bool:
    """Return whether DuckDB takes all values of a type as they are.

    Times in long steps and keys of maps it checks one by one, and stops at one that does not fit. An
    extension may say that bytes are something else than they are. What `sound` does not look into is not
    taken either.
    """
    import pyarrow as pa

    is_ = pa.types

    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name in _EXTENSIONS
    kinds = (is_.is_map, is_.is_union, is_.is_run_end_encoded, is_.is_list_view, is_.is_large_list_view)
    if any(is_kind(kind) for is_kind in kinds) or clocked_type(kind) is not None:
        return False
    if pa.types.is_dictionary(kind):
        return _is_taken_as_it_is(kind.value_type)
    inside = [kind.field(place) for place in range(kind.num_fields)]
    return all(
        _EXTENSION not in (field.metadata or {}) and _is_taken_as_it_is(field.type) for field in inside
    )


def types_of(schema: pa.Schema, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the names of columns and their types in DuckDB."""
    import pyarrow as pa

    clocked = pa.schema([field.with_type(clocked_type(field.type) or field.type) for field in schema])
    connection.register("schema_rows", clocked.empty_table())
    try:
        return {row[0]: row[1] for row in connection.execute("DESCRIBE FROM schema_rows").fetchall()}
    finally:
        connection.unregister("schema_rows")


def clocked_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type in which DuckDB takes times as they are, for those that it would convert itself.

    It converts times with a zone, and durations, to microseconds; of dates in milliseconds, it keeps the day.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit in _STEPS:
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_duration(kind) and kind.unit in _STEPS:
        return pa.duration("us")
    return pa.timestamp("ms") if pa.types.is_date64(kind) else None


def cut_to_clocks(values: Any, kind: pa.DataType) -> Any:
    """Return times as `clocked_type` has them, those beyond the last one as the last one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = clocked_type(kind)
    if wanted is None:
        return values
    if pa.types.is_date64(kind):
        return values.cast(pa.int64()).cast(wanted)
    most = ((1 << 63) - 2) // _STEPS[kind.unit]
    steps = pc.max_element_wise(
        pc.min_element_wise(values.cast(pa.int64()), most, skip_nulls=False), -most, skip_nulls=False
    )
    return steps.cast(kind).cast(wanted)
