"""Times that DuckDB can write, on every level of a column.

DuckDB takes it for a fault of its own, and closes the database, where a time in seconds or milliseconds, or
one of the first hours that microseconds reach, cannot be written as text.

Promise: of the rows that come out, every time is in microseconds or nanoseconds and can be written; others
are missing, inside of structs, lists, maps and unions too. An entry of a map whose key is such a time is
left out. All else stays, infinity included.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hushtable.engines.sliced.engine import described, quiet
from hushtable.engines.sliced.quoting import name_sql, text_sql

if TYPE_CHECKING:
    import duckdb

_LONG_STEPS = re.compile(r"\bTIMESTAMP_(S|MS)\b")
_CLOCKS = {"timestamp": "make_timestamp", "timestamp with time zone": "make_timestamptz"}
_LONG = ("timestamp_s", "timestamp_ms")
_FIRST_WRITTEN = -9223372022400000000  # the midnight before which DuckDB writes no time as text
_INNER = "hushtable_value_"


def in_microseconds(rows: str, connection: duckdb.DuckDBPyConnection) -> str:
    """Return SQL for the same rows with times that can be written."""
    described(rows, connection)  # its errors say what to do
    found = quiet(connection.sql, rows)
    changed = [
        f"{_mended(name_sql(name), kind, 0)} AS {name_sql(name)}"
        for name, kind in zip(found.columns, found.types, strict=True)
        if _has_times(kind)
    ]
    return f"SELECT * REPLACE ({', '.join(changed)}) FROM ({rows}) AS rows" if changed else rows


def _parts(kind: Any) -> list[tuple[str, Any]]:
    """Return the names and types that a type is made of."""
    if kind.id not in ("array", "list", "map", "struct", "tuple", "union"):
        return []
    return [(name, part) for name, part in kind.children if not isinstance(part, int)]


def _has_times(kind: Any) -> bool:
    """Return whether some level of a type has times that may not be written."""
    return kind.id in (*_CLOCKS, *_LONG) or any(_has_times(part) for _, part in _parts(kind))


def _mended(value: str, kind: Any, level: int) -> str:
    """Return SQL for a value, given by a name, without what cannot be written."""
    if not _has_times(kind):
        return value
    if _parts(kind):
        return f"CASE WHEN {value} IS NOT NULL THEN {_mended_parts(value, kind, level)} END"
    time = f"TRY_CAST({value} AS TIMESTAMP)" if kind.id in _LONG else value
    # A cast of the first time would depend on this machine's time zone.
    least = f"{_CLOCKS.get(kind.id, 'make_timestamp')}({_FIRST_WRITTEN})"
    return f"CASE WHEN {time} < {least} AND isfinite({time}) THEN NULL ELSE {time} END"


def _mended_parts(value: str, kind: Any, level: int) -> str:
    """Return SQL for a list, a map, a struct or a union that is there."""
    inner, parts = f"{_INNER}{level}", _parts(kind)
    whole = _LONG_STEPS.sub("TIMESTAMP", str(kind))
    if kind.id in ("list", "array"):
        mended = f"list_transform({value}, lambda {inner}: {_mended(inner, parts[0][1], level + 1)})"
        return mended if kind.id == "list" else f"CAST({mended} AS {whole})"
    if kind.id == "map":
        key, held = (
            _once(f"struct_extract({inner}, {text_sql(name)})", part, level + 1) for name, part in parts
        )
        made = f"list_transform(map_entries({value}), lambda {inner}: struct_pack(k := {key}, v := {held}))"
        there = f"list_filter({made}, lambda {inner}: struct_extract({inner}, 'k') IS NOT NULL)"
        return f"TRY(map_from_entries({there}))"  # keys that hold such times may have become one
    if kind.id == "union":
        members = [
            (name, _once(f"union_extract({value}, {text_sql(name)})", part, level))
            for name, part in parts
            if name
        ]
        cases = (
            f"WHEN {text_sql(name)} THEN CAST(union_value({name_sql(name)} := {member}) AS {whole})"
            for name, member in members
        )
        return f"CASE CAST(union_tag({value}) AS VARCHAR) {' '.join(cases)} END"
    fields = [
        _once(f"struct_extract_at({value}, {place})", part, level)
        for place, (_, part) in enumerate(parts, start=1)
    ]
    if kind.id == "tuple" or not all(name for name, _ in parts):
        return f"row({', '.join(fields)})"
    named = (f"{name_sql(name)} := {field}" for (name, _), field in zip(parts, fields, strict=True))
    return f"struct_pack({', '.join(named)})"


def _once(value: str, kind: Any, level: int) -> str:
    """Return SQL for a computed value without what cannot be written, in which it is computed once."""
    if not _has_times(kind):
        return value
    name = f"{_INNER}{level}"
    return f"list_transform([{value}], lambda {name}: {_mended(name, kind, level + 1)})[1]"
