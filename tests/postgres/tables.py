"""Tables of Arrow as tables of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from hushtable.engines.local.addresses import Address, ServerRows
from hushtable.engines.sliced.quoting import name_sql, text_sql
from tests.postgres.server import Server

NOT_HELD = "PostgreSQL has no such columns"
_TYPES = {
    "bool": "boolean",
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "integer",
    "uint32": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "large_string": "text",
    "binary": "bytea",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
    "null": "text",
}


def type_of(kind: pa.DataType) -> str | None:
    """Return the type of PostgreSQL that holds all values of one of Arrow, if there is one."""
    if pa.types.is_decimal128(kind):
        return f"numeric({kind.precision},{kind.scale})" if 0 <= kind.scale <= kind.precision else None
    if pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit == "us":
        return "timestamptz"
    if pa.types.is_dictionary(kind):
        return type_of(kind.value_type)
    return _TYPES.get(str(kind))


_numbers = count()


class Tables:
    """Makes a table for each test's rows."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def put(self, table: pa.Table) -> ServerRows:
        """Store rows, and return where they are."""
        name = f"rows {next(_numbers)}"
        types = {field.name: type_of(field.type) for field in table.schema}
        if None in types.values() or len(types) < table.num_columns:
            pytest.skip(NOT_HELD)
        columns = ", ".join(f"{name_sql(column)} {kind}" for column, kind in types.items())
        texts = [_texts(table.column(place)) for place in range(table.num_columns)]
        self.server.sql(f"CREATE UNLOGGED TABLE {name_sql(name)} ({columns})")
        values = ", ".join(f"({', '.join(row)})" for row in zip(*texts, strict=True))
        if values:
            self.server.sql(f"INSERT INTO {name_sql(name)} VALUES {values}")
        return ServerRows(Address(self.server.url()), f'public."{name}"')


def _texts(column: pa.ChunkedArray) -> Sequence[str]:
    """Return the values of a column as SQL."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type):
        found = [_moment(each) for each in column.cast(pa.string()).to_pylist()]
    else:
        found = [_text(each) for each in column.to_pylist()]
    return ["NULL" if each is None else text_sql(each) for each in found]


def _moment(text: str | None) -> str | None:
    """Return a date or a time in the years of PostgreSQL, which has no year 0."""
    if text is None:
        return None
    found = re.fullmatch(r"([+-]?\d+)(-.*?)Z?", text)
    assert found is not None
    year, rest = int(found[1]), found[2]
    zone = "+00" * text.endswith("Z")
    return f"{year:04}{rest}{zone}" if year > 0 else f"{1 - year:04}{rest}{zone} BC"


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
