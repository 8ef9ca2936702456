"""Results of queries: as a table on the screen, or as CSV, JSON or Parquet for other tools.

Promise: CSV and Parquet hold the data alone, unrounded. JSON is one array of objects, or, of estimates, one
object with what they rest on and `rows`; numbers that JSON does not know are null. Columns that a format
cannot hold, such as days beyond the year 9999, are text as DuckDB writes it. A file appears whole or not at
all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import click

from hushtable.cli.commanding import Option

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

Format: TypeAlias = Literal["table", "csv", "json", "parquet"]
FormatOption: TypeAlias = Annotated[
    Format | None, Option("--format", help="A table for people, or data for other tools.")
]
Output: TypeAlias = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="The file to write: .csv, .json or .parquet."),
]

MOST_SHOWN = 1_000
_ROWS_AT_ONCE = 1 << 16
_DAY = 86_400  # seconds
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6}  # of a second; Python has no nanoseconds
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_ENDINGS: dict[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """Return the format that was asked for, or that the name of the file says; raise where neither fits."""
    if output is None:
        if asked == "parquet" and sys.stdout.isatty():
            raise click.BadParameter(
                "Parquet cannot be shown on a screen. Give -o FILE, or another --format."
            )
        return asked or "table"
    found = asked or _ENDINGS.get(output.suffix.lower())
    if found is None or found == "table":
        raise click.BadParameter(
            "Give --format csv, json or parquet, or a file name with one of these endings."
        )
    return found


def write(
    rows: pa.Table,
    form: Format,
    output: Path | None,
    *,
    overwrite: bool,
    what: str | None = None,
    facts: Mapping[str, object] | None = None,
    as_document: bool = False,
) -> None:
    """Write data to a file, or to standard output; `what` it is tells which files are ours.

    With `facts`, JSON is one object that has them beside its `rows`. `as_document`: whether that a
    file was written is told as JSON too.
    """
    from hushtable.cli.printing import print_json
    from hushtable.files.placing import new_file, only
    from hushtable.files.recognising import is_table

    writer = _WRITERS[form]
    if form == "json" and facts is not None:
        writer = partial(_json_object, facts=facts)
    if output is None:
        stream = sys.stdout.buffer
        writer(rows, stream)
        stream.flush()
        return
    known = f"{'an answer' if what else 'a result'} of hushtable as {form}"
    hint = ""
    if what is None and form != "parquet":
        hint = (
            "Results of SQL as CSV or JSON look like any other file. Remove it yourself, or give "
            "another name."
        )
    with new_file(output, overwrite=overwrite, check=only(is_table(form, what), known, hint)) as file:
        writer(rows, file)
    if as_document:
        print_json({"file": str(output), "rows": rows.num_rows})
    else:
        click.echo(f"{output}: {rows.num_rows:,} rows.")


def shown_rows(rows: pa.Table, *, attributes: tuple[str, ...]) -> Table:
    """Return rows as a table for people, the first ones if there are many.

    Numbers have commas between thousands, but not those of attributes, which are often codes.
    """
    import pyarrow as pa

    from hushtable.cli.printing import table
    from hushtable.cli.words import printable

    values = {*attributes, *(f"{name}_last" for name in attributes)}  # of a range: its first and last cell

    def is_number(field: pa.Field) -> bool:
        kind = field.type
        known = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
        return field.name not in values and any(is_kind(kind) for is_kind in known)

    numbers = [is_number(field) for field in rows.schema]
    names = [printable(name) for name in rows.column_names]
    made = table(*names, numbers=tuple(name for name, is_one in zip(names, numbers, strict=True) if is_one))
    for row in _readable(rows.slice(0, MOST_SHOWN)).to_pylist():
        made.add_row(*(_cell(value, comma=comma) for value, comma in zip(row.values(), numbers, strict=True)))
    return made


def _cell(value: object, *, comma: bool) -> str:
    """Return one value for people."""
    from hushtable.cli.words import number_in_words, printable

    if value is None:
        return ""
    if isinstance(value, date):
        return str(value)
    if isinstance(value, float):
        return number_in_words(value) if abs(value) < float("inf") else str(value)
    if comma and isinstance(value, int | Decimal):
        return f"{value:,}"
    return printable(value if isinstance(value, str) else _text(value))


def _readable(rows: pa.Table) -> pa.Table:
    """Return rows with text in place of days and times that Python does not know."""
    unknown = [place for place, each in enumerate(rows.columns) if any(map(_is_unknown, each.chunks))]
    return _with_text(rows, unknown)


def _is_unknown(values: pa.Array) -> bool:
    """Return whether Python lacks some of these values: it knows the years 1 to 9999, and microseconds."""
    import pyarrow as pa

    of = pa.types
    kind = values.type
    if of.is_struct(kind):
        return any(map(_is_unknown, values.flatten()))
    if of.is_map(kind):
        return _is_unknown(values.keys) or _is_unknown(values.items)
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        return _is_unknown(values.flatten())
    if of.is_union(kind):
        return any(_is_unknown(values.field(place)) for place in range(kind.num_fields))
    if of.is_date32(kind):
        return not _lie_within(values.view(pa.int32()), _FIRST_DAY, _LAST_DAY + 1)
    if of.is_timestamp(kind) and kind.unit in _TICKS:
        a_day = _DAY * _TICKS[kind.unit]
        return not _lie_within(values.view(pa.int64()), _FIRST_DAY * a_day, (_LAST_DAY + 1) * a_day)
    if of.is_time64(kind) and kind.unit in _TICKS:
        return not _lie_within(values.view(pa.int64()), 0, _DAY * _TICKS[kind.unit])  # DuckDB has 24:00 too
    return bool(of.is_interval(kind) or of.is_time64(kind) or of.is_timestamp(kind))


def _lie_within(numbers: pa.Array, start: int, stop: int) -> bool:
    import pyarrow.compute as pc

    found = pc.min_max(numbers).as_py()
    return found["min"] is None or (found["min"] >= start and found["max"] < stop)


def _writable(rows: pa.Table, written: Callable[[pa.Table, IO[bytes]], None]) -> pa.Table:
    """Return rows with text in place of columns whose types a format does not have."""
    from io import BytesIO

    import pyarrow as pa

    def is_refused(place: int) -> bool:
        try:
            written(rows.slice(0, 0).select([place]), BytesIO())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return True
        return False

    return _with_text(rows, [place for place in range(rows.num_columns) if is_refused(place)])


def _with_text(rows: pa.Table, places: list[int]) -> pa.Table:
    """Return rows with some columns as DuckDB writes them."""
    from hushtable.answers.running import run_sql

    if places:
        texts = run_sql(rows.select(places), "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM release").columns
        for place, text in zip(places, texts, strict=True):
            rows = rows.set_column(place, rows.column_names[place], text)
    return rows


def _json(rows: pa.Table, file: IO[bytes]) -> None:
    mark = "[\n"
    rows = _readable(rows)
    for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
        part = rows.slice(start, _ROWS_AT_ONCE).to_pylist()
        file.write((mark + ",\n".join(_dumped(plain_value(row)) for row in part)).encode())
        mark = ",\n"
    file.write(b"\n]\n" if rows.num_rows else b"[]\n")


def _json_object(rows: pa.Table, file: IO[bytes], *, facts: Mapping[str, object]) -> None:
    head = ", ".join(f"{_dumped(name)}: {_dumped(plain_value(value))}" for name, value in facts.items())
    file.write(f'{{{head}, "rows": '.encode())
    _json(rows, file)
    file.write(b"}\n")


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it; times as ISO text."""
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float():
            return value if isfinite(value) else None
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {str(name): plain_value(each) for name, each in value.items()}
        case list():
            return [plain_value(each) for each in value]
        case tuple():  # the pairs of a map
            return [plain_value(each) for each in value]
        case bytes():
            return value.hex()
    return str(value)


def _text(value: object) -> str:
    """Return a value as text; lists and structs as JSON."""
    plain = plain_value(value)
    return plain if isinstance(plain, str) else _dumped(plain)


def _csv(rows: pa.Table, file: IO[bytes]) -> None:
    from pyarrow.csv import write_csv

    write_csv(_writable(_flat(_readable(rows)), write_csv), file)


def _flat(rows: pa.Table) -> pa.Table:
    """Return rows without lists and structs, which become JSON text, and without bytes, which become hex."""
    import pyarrow as pa

    kinds = pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary
    for place, field in enumerate(rows.schema):
        if any(is_kind(field.type) for is_kind in kinds):
            values = rows.column(place).to_pylist()
            texts = [None if value is None else _text(value) for value in values]
            rows = rows.set_column(place, field.name, pa.array(texts, type=pa.string()))
    return rows


def _parquet(rows: pa.Table, file: IO[bytes]) -> None:
    from io import BytesIO

    from pyarrow.parquet import write_table

    from hushtable.files.recognising import MARK

    whole = BytesIO()  # Arrow asks where in the file it is, which a pipe does not know
    rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), MARK: b"answers"})
    write_table(_writable(rows, write_table), whole)
    file.write(whole.getbuffer())


_WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {"csv": _csv, "json": _json, "parquet": _parquet}
