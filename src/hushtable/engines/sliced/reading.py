"""Columns read as what the domain declares, as SQL for DuckDB.

Promise: a value is read as `hushtable.domain.reading`, the slow reference, reads it; what is missing or
cannot be read is NULL. Types come from the domain: a column whose type cannot hold the declared values is
refused before any row is read, and text is never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from hushtable.domain.attributes import (
    AnyText,
    Attribute,
    Bins,
    Categories,
    Edges,
    Integers,
    Times,
    kind_named,
)
from hushtable.domain.measure import Unit
from hushtable.domain.reading import INTEGER_TEXT, NUMBER_TEXT, TIME_TEXT
from hushtable.engines.sliced.naming import found
from hushtable.engines.sliced.quoting import name_sql, text_sql
from hushtable.errors import BadData, shown

Form = Literal["whole", "large", "float", "decimal", "text", "json", "clock", "instant", "other"]

_WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LARGE_TYPES = ("UBIGINT", "HUGEINT", "UHUGEINT")
_CLOCK_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_TOLD_APART = re.compile("BLOB|DATE|UUID")  # other types whose values are equal if their bytes are
_FAR = 10**30  # beyond every declared value: what is too large for a HUGEINT is read as this

_HAS_OFFSET = ":.*(Z|[+-][0-9:]+)$"  # of text that is a time


def form_of(sql_type: str) -> Form:
    """Return what a type of DuckDB holds."""
    if sql_type.endswith("]"):
        return "other"  # a list, of whatever
    if sql_type in _WHOLE_TYPES:
        return "whole"
    if sql_type in _LARGE_TYPES:
        return "large"
    if sql_type in _CLOCK_TYPES:
        return "clock"
    if sql_type.startswith("DECIMAL"):
        return "decimal"
    if sql_type in ("VARCHAR", '"NULL"') or sql_type.startswith("ENUM"):
        return "text"  # a column of NULLs alone may have no type: as text, all of it is missing
    named: dict[str, Form] = {
        "FLOAT": "float",
        "DOUBLE": "float",
        "JSON": "json",
        "TIMESTAMP WITH TIME ZONE": "instant",
        "TIMESTAMPTZ_NS": "instant",
    }
    return named.get(sql_type, "other")


def type_text(sql_type: str) -> str:
    """Return a type for a message: what its brackets hold may have come from rows, so it is left out.

    >>> type_text("ENUM('Jane Roe')[]"), type_text("STRUCT(jane INTEGER)"), type_text("DECIMAL(9,2)")
    ('a list', 'STRUCT', 'DECIMAL')
    """
    return "a list" if sql_type.endswith("]") else sql_type.split("(")[0]


def missing_sql(column: str, form: Form) -> str:
    """Return the condition that a value is missing."""
    return f"({column} IS NULL OR isnan({column}))" if form == "float" else f"({column} IS NULL)"


def read_sql(attribute: Attribute, column: str, sql_type: str) -> str:
    """Return what a column says for this attribute, NULL where it says nothing."""
    form = form_of(sql_type)
    values = attribute.values
    sql: str | None
    if isinstance(values, Categories | AnyText):
        sql = _text(column, form)
    elif isinstance(values, Integers):
        sql = whole_number_sql(column, form)
    elif isinstance(values, Times):
        sql = _wall_clock(column, sql_type, values.timezone)
    else:
        sql = _number(column, form, whole_edges=whole_edges(values))
    if sql is None:
        raise BadData(*_mismatch(attribute, sql_type, form))
    return sql


def whole_edges(values: Bins | Edges) -> bool:
    """Return whether whole numbers can be compared with all edges as they are."""
    return values.grid[2] == 1 if isinstance(values, Bins) else values.whole


def whole_number_sql(column: str, form: Form) -> str | None:
    """Return a column as whole numbers, or None where its type holds none."""
    if form == "whole":
        return f"CAST({column} AS BIGINT)"
    if form == "large":
        return f"CASE WHEN {column} IS NOT NULL THEN coalesce(TRY_CAST({column} AS HUGEINT), {_FAR}) END"
    if form == "float":
        return (
            f"CASE WHEN isnan({column}) THEN NULL WHEN {column} >= 1e30 THEN {_FAR} WHEN {column} <= -1e30 "
            f"THEN -{_FAR} WHEN {column} = trunc({column}) THEN TRY_CAST({column} AS HUGEINT) END"
        )
    if form == "decimal":
        return f"CASE WHEN {column} = trunc({column}) THEN TRY_CAST({column} AS HUGEINT) END"
    if form in ("text", "json"):
        text = _trimmed(column, form)
        return (
            f"CASE WHEN regexp_full_match({text}, {text_sql(INTEGER_TEXT)}) THEN coalesce("
            f"TRY_CAST(split_part({text}, '.', 1) AS HUGEINT), {_by_sign(text, str(_FAR))}) END"
        )
    return None


def unit_sql(name: str, column: str, sql_type: str) -> str:
    """Return whose row it is: equal for rows with the same stored value, and for no others.

    ================================  ==============================================================
    column                            units
    ================================  ==============================================================
    whole numbers, decimals, dates    by value
    text, bytes, UUIDs                letter by letter, whatever collation the column declares
    JSON, untyped columns of SQLite   whole numbers and texts, 1 and "1" apart; all else is nobody's
    anything else                     `BadData`: reading may round it, or find different values equal
    ================================  ==============================================================
    """
    form = form_of(sql_type)
    if form == "text":
        return f'CAST({column} AS VARCHAR) COLLATE "binary"'
    if form == "json":
        # The first letter keeps the kinds apart. Numbers of over 64 bits are DOUBLE, but keep their digits.
        text, kind = f"({column} ->> '$')", f"json_type({column})"
        return (
            f"CASE WHEN {kind} = 'VARCHAR' THEN 't' || {text} WHEN {kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE') "
            f"AND regexp_full_match({text}, '-?[0-9]+') THEN 'n' || {text} END"
        )
    if form in ("whole", "large", "decimal") or _TOLD_APART.fullmatch(sql_type):
        return column
    hint = f"Units are whole numbers or text: select CAST({name_sql(name)} AS VARCHAR) AS ... in a query."
    why = "which may be rounded" if form == "float" else "which cannot tell units apart for sure"
    raise BadData(f"column {shown(name)} holds {type_text(sql_type)}, {why}", hint)


def whole_unit_sql(columns: Mapping[str, str], unit: Unit) -> str | None:
    """Return the unit, once read, as a whole number of 64 bits, or None where it may be something else."""
    name = found(unit.column, columns)
    if name is None:
        return None
    if columns[name] == "UBIGINT":
        return "unit"
    return "CAST(unit AS BIGINT)" if form_of(columns[name]) == "whole" else None


def _number(column: str, form: Form, *, whole_edges: bool) -> str | None:
    """Return a column as whole numbers where edges and column are, as 64-bit floats elsewhere."""
    if form in ("whole", "large"):
        return whole_number_sql(column, form) if whole_edges else f"CAST({column} AS DOUBLE)"
    if form == "float":
        return f"CASE WHEN NOT isnan({column}) THEN CAST({column} AS DOUBLE) END"
    if form == "decimal":
        return f"CAST({column} AS DOUBLE)"
    if form in ("text", "json"):
        text = _trimmed(column, form)
        far = _by_sign(text, "CAST('infinity' AS DOUBLE)")
        return (
            f"CASE WHEN regexp_full_match({text}, {text_sql(NUMBER_TEXT)}) "
            f"THEN coalesce(TRY_CAST({text} AS DOUBLE), {far}) END"
        )
    return None


def _text(column: str, form: Form) -> str | None:
    """Return a column as text, which only text is: 6001 may have been 06001 once."""
    if form == "text":
        # By letters alone: a column may declare a collation under which several categories are equal.
        return f'CAST({column} AS VARCHAR) COLLATE "binary"'
    if form == "json":
        return f"CASE WHEN json_type({column}) = 'VARCHAR' THEN {column} ->> '$' END"
    return None


def _wall_clock(column: str, sql_type: str, zone: str) -> str | None:
    """Return a column as wall-clock time of a zone, in whole microseconds that have begun."""
    form = form_of(sql_type)
    if form == "clock":
        return _begun(column, "TIMESTAMP", finer="TIMESTAMP_NS", sql_type=sql_type)
    if form == "instant":
        instant = _begun(column, "TIMESTAMPTZ", finer="TIMESTAMPTZ_NS", sql_type=sql_type)
        return f"TRY_CAST(TRY(timezone({text_sql(zone)}, {instant})) AS TIMESTAMP)"
    if form in ("text", "json"):
        text = _trimmed(column, form)
        return (
            f"CASE WHEN NOT regexp_full_match({text}, {text_sql(TIME_TEXT)}) THEN NULL "
            f"WHEN regexp_matches({text}, {text_sql(_HAS_OFFSET)}) "
            f"THEN timezone({text_sql(zone)}, TRY_CAST({text} AS TIMESTAMPTZ)) "
            f"ELSE TRY_CAST({text} AS TIMESTAMP) END"
        )
    return None


def _begun(column: str, wanted: str, *, finer: str, sql_type: str) -> str:
    """Return times in microseconds; DuckDB rounds finer ones to the nearest, so some to the next."""
    nearest = f"TRY_CAST({column} AS {wanted})"
    if sql_type != finer:
        return nearest
    later = f"TRY_CAST({nearest} AS {finer}) > {column}"
    return f"CASE WHEN {later} THEN {nearest} - INTERVAL 1 MICROSECOND ELSE {nearest} END"


def _trimmed(column: str, form: Form) -> str:
    """Return text without spaces around it."""
    return f"trim(CAST({column} AS VARCHAR), ' ')" if form == "text" else f"trim({column} ->> '$', ' ')"


def _by_sign(text: str, far: str) -> str:
    """Return a number beyond all others, on the side that the text's sign says."""
    return f"CASE WHEN {text} LIKE '-%' THEN -{far} ELSE {far} END"


def _mismatch(attribute: Attribute, sql_type: str, form: Form) -> tuple[str, str]:
    """Return the fact and the hint of a column that cannot hold an attribute's values."""
    kind = kind_named(attribute.values)
    held = type_text(sql_type)
    name = shown(attribute.name)
    fact = f"column {shown(attribute.column)} holds {held}, but attribute {name} is of {kind}"
    column = attribute.column if attribute.column.isidentifier() else name_sql(attribute.column)
    if isinstance(attribute.values, Categories | AnyText):
        what = "Categories are text" if isinstance(attribute.values, Categories) else "Its values are text"
        cast = f"CAST({column} AS VARCHAR)"
        if form in ("float", "decimal"):  # 6001 would become '6001.0'
            cast = f"CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR)"
        if form in ("whole", "large", "float", "decimal"):
            return fact, (
                f"{what}, and numbers have lost their leading zeros: '06001' became 6001. Read "
                f"the column as text at its source, or, if no value can start with 0, select {cast}."
            )
        if held not in ("BLOB", "STRUCT", "MAP", "UNION", "a list"):
            return fact, f"{what}: select {cast} in a query, spelled as it is to be published."
    if isinstance(attribute.values, Times) and form in ("whole", "large", "float"):
        return fact, f"If it counts seconds since 1970, select to_timestamp({column}) in a query."
    return fact, "Name another column, declare another kind, or convert it in a query, row by row."
