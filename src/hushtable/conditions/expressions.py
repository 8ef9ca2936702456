"""SQL expressions: read by DuckDB's parser, checked, and evaluated over the values of one attribute.

Promise: the text is one expression and nothing beside it. It is evaluated where nothing but the values
handed over can be reached (`conditions.engine`). What it gives follows from these values alone, so the same
question has the same answer on every machine and every day.
Cost: a millisecond or two to parse a short text; evaluation is DuckDB's own.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.engine import (
    awaited,
    check_text,
    connected,
    is_too_deep,
    needs_too_much,
    said,
    too_deep,
)
from hushtable.domain.columns import as_numbers
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

Tree: TypeAlias = dict[str, Any]
Constant: TypeAlias = int | str | bool | Decimal | None
_T = TypeVar("_T")


class Moment(str):
    """A date or a timestamp, as text."""

    __slots__ = ()


_MEMORY = "25%"
_LONGEST_MADE = 1_000  # characters or elements

ALLOWED = (
    "Allowed are comparisons of one attribute with constants, IN, BETWEEN, LIKE and DuckDB's functions of "
    "one row, combined by AND, OR and NOT."
)
_CORRECT = "Correct the condition; it is written in DuckDB's SQL, as in home = 'A' AND age >= 30."
_TABLE = "release"
_NO_SELECT = "Only SELECT statements"  # DuckDB's words where a `;` is followed by another statement
_ONE = f"SELECT * FROM {_TABLE} WHERE"

# Fields of the parse tree of a condition alone; any other clause adds one.
_FIELDS = {"type", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling"}
_CLASSES = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION"}
    | {"OPERATOR", "TYPE"}
)
_WORDS = {
    "DEFAULT": "DEFAULT",
    "LAMBDA": "a lambda or `->`",
    "PARAMETER": "a parameter",
    "POSITIONAL_REFERENCE": "a column by its position",
    "STAR": "`*` or COLUMNS(...)",
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
}
# Macros that DuckDB ships for everyday use; their bodies use functions of one row alone.
_MACROS = frozenset({"date_add", "days_in_month", "fdiv", "fmod", "if", "nullif", "split_part"})
# DuckDB calls these consistent, but they read the clock; `age` does so with one argument.
_CLOCKS = frozenset({"current_localtime", "current_localtimestamp"})

# DuckDB's own, which trust their callers; and those that would parse text for which no limit holds.
_INTERNAL = "__"
_SQL_IN_TEXT = frozenset({"json_deserialize_sql", "json_serialize_plan", "json_serialize_sql"})
# Functions that make text or lists of any length, and which of their arguments says it: None is each of them.
_LENGTHS: dict[str, int | None] = {"array_resize": 1, "bitstring": 1, "format": 0, "generate_series": None}
_LENGTHS |= {"list_resize": 1, "lpad": 1, "printf": 0, "range": None, "repeat": 1, "rpad": 1}
_WIDE = re.compile(r"[0-9]{4}|\*|\{[^}]*\{")  # a width of four digits, or one that is an argument

_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_TIMES = {
    "DATE": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "TIMESTAMP": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"),
}
_NUMERIC = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


def parsed(text: str) -> Tree:
    """Return the parse tree of one condition, with nothing but known kinds of expressions in it."""
    if not text.strip():
        raise BadQuery("the condition is empty", "Leave it out, or write it in DuckDB's SQL.")
    check_text(text, what="condition", shorter="Give long lists as values: where={'home': [...]}.")
    alone, bracketed = _run(
        lambda connection: [
            json.loads(_serialized(connection, statement))
            for statement in (f"{_ONE}\n{text}\n", f"{_ONE} (\n{text}\n)")
        ],
        does="read",
    )
    if alone["error"] and not alone["error_message"].startswith(_NO_SELECT):
        raise _replaced(ValueError(alone["error_message"]), does="read")
    node = alone["statements"][0]["node"] if len(alone.get("statements", [])) == 1 else {}
    if "from_table" in node and "qualified_name" not in node["from_table"]:
        raise BadQuery("this DuckDB writes its parse tree in another form", "Install `duckdb>=2.0`.")
    plain = set(node) == _FIELDS and node["aggregate_handling"] == "STANDARD_HANDLING" and not node["cte_map"]
    # Most that may follow an expression leaves its mark in the tree; `;` and WINDOW do not read in brackets.
    if not plain or bracketed["error"]:
        hint = f"Write what would stand after WHERE, and no further clause.\n{ALLOWED}"
        raise BadQuery("the condition is not one expression", hint)
    tree: Tree = node["where_clause"]
    for part in nodes(tree):
        _check(part)
    return tree


def nodes(tree: Any) -> Iterator[Tree]:
    """Yield each expression in a tree."""
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if "class" in part:
                yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def constant(tree: Tree) -> Constant:
    """Return the value of an expression without columns; NULL is None."""
    if tree["class"] == "CONSTANT":
        text = tree["literal"].get("text", "")
        match tree["literal"]["kind"]:
            case "STRING":
                return str(text)
            case "INTEGER" if _INTEGER.fullmatch(text):
                return int(text)
            case "NUMERIC" if _NUMERIC.fullmatch(text):
                return Decimal(text)
            case "BOOLEAN":
                return bool(text == "true")
            case "NULL_LITERAL":
                return None
    elif tree["class"] == "CAST" and "try_cast" not in tree and tree["child"]["class"] == "CONSTANT":
        text, kind = tree["child"]["literal"].get("text", ""), tree["type_expr"]["type_name"].upper()
        if kind in _TIMES and _TIMES[kind].fullmatch(text):
            return Moment(text)  # as DuckDB reads it, in a tenth of the time
    # Text is what all types have in common; fetched as Python values, some need further packages.
    sql = f"SELECT CAST(value AS VARCHAR), typeof(value) FROM ({_sql_of(tree)}) AS one(value)"
    ((text, kind),) = _run(lambda connection: connection.execute(sql).fetchall(), does="evaluate")
    if text is None or kind == "BOOLEAN":
        return None if text is None else bool(text == "true")
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        return Decimal(text)
    if kind.endswith("INT") or kind in ("INTEGER", "BIGNUM"):
        return int(text)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return Moment(text)
    if kind == "VARCHAR":
        return str(text)
    hint = "Compare with a number, text, a date or a timestamp."
    raise BadQuery(f"the condition compares with {cut(text)}, which is of type {cut(kind)}", hint)


def truth_of(tree: Tree, *, name: str, values: pa.Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for which of the values of an attribute the expression is true, and for which it is false."""
    import pyarrow as pa

    sql = _sql_of(tree, source=_TABLE)

    def evaluated(connection: DuckDBPyConnection) -> pa.Table:
        connection.register(_TABLE, pa.table({name: values}))
        try:
            return connection.sql(sql).to_arrow_table()
        finally:
            connection.unregister(_TABLE)

    column = _run(evaluated, does="evaluate").column(0)
    if column.type != pa.bool_():
        hint = "Write a comparison, such as n % 10 = 0."
        raise BadQuery(
            f"the condition has a part of type {column.type}, which is neither true nor false", hint
        )
    states = np.concatenate(
        [as_numbers(chunk.cast(pa.uint8()).fill_null(2)) for chunk in column.chunks] or [np.empty(0)]
    )
    return states == 1, states == 0


def _check(part: Tree) -> None:
    """Raise unless the expression is of a kind whose value follows from one row."""
    name = part["class"]
    if name not in _CLASSES:
        words = _WORDS.get(name, f"`{cut(name)}`")
        raise BadQuery(f"the condition uses {words}", ALLOWED)
    if name == "FUNCTION":
        function = part["function_name"].lower()
        if len(part["qualified_name"]["path"]) > 1:
            hint = f"Write the plain call, as in lower(home).\n{ALLOWED}"
            raise BadQuery(f"the condition uses `{cut(function)}` with a word and a dot before it", hint)
        clock = function in _CLOCKS or (function == "age" and len(part["arguments"]) == 1)
        if clock or function not in _functions():
            fact = f"the condition uses `{cut(function)}`, which is not one of DuckDB's functions of one row"
            raise BadQuery(f"{fact} with a fixed result", ALLOWED)
        if function in _LENGTHS:
            _check_length(function, [given["expression"] for given in part["arguments"]])


def _check_length(function: str, arguments: list[Tree]) -> None:
    """Raise unless what a function makes is short: memory for it has no limit."""
    tells = arguments if _LENGTHS[function] is None else arguments[_LENGTHS[function] :][:1]
    within = (each.get("function_name", "").lower() for each in nodes(arguments))
    if not all(map(_is_short, tells)) or any(name in _LENGTHS for name in within):
        hint = f"Say its length by a constant up to {_LONGEST_MADE:,}, and use it once, not within another."
        raise BadQuery(f"the condition uses `{function}`, which may make text or lists of any length", hint)


def _is_short(tree: Tree) -> bool:
    """Return whether a constant is a small number, or a format that holds no other."""
    literal = tree.get("literal", {})
    text = literal.get("text", "")
    if literal.get("kind") == "STRING":
        return not _WIDE.search(text)
    return bool(_INTEGER.fullmatch(text)) and abs(int(text)) <= _LONGEST_MADE


@cache
def _functions() -> frozenset[str]:
    """Return the names of DuckDB's functions of one row that read neither clock nor chance nor session."""
    listed = _connection().execute(
        "SELECT function_name, bool_and(function_type = 'scalar' AND stability = 'CONSISTENT') "
        "FROM duckdb_functions() WHERE function_type NOT IN ('table', 'table_macro', 'pragma') GROUP BY ALL"
    )
    return frozenset(
        name
        for name, fixed in listed.fetchall()
        if (fixed or name in _MACROS) and not name.startswith(_INTERNAL) and name not in _SQL_IN_TEXT
    )


_OF_THREAD = threading.local()


def _connection() -> DuckDBPyConnection:
    """Return this thread's connection to an empty database in memory, locked."""
    if getattr(_OF_THREAD, "process", None) != os.getpid():  # a forked child lacks DuckDB's threads
        _OF_THREAD.connection, _OF_THREAD.process = connected(memory=_MEMORY), os.getpid()
    found: DuckDBPyConnection = _OF_THREAD.connection
    return found


def _serialized(connection: DuckDBPyConnection, statement: str) -> str:
    """Return the parse tree of a statement as JSON."""
    call = "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true, skip_default := true)"
    text: str = connection.execute(call, [statement]).fetchall()[0][0]
    return text


def _sql_of(tree: Tree, *, source: str = "") -> str:
    """Return SELECT of an expression as SQL, from `source` if there is one."""
    statement = json.loads(_template(source))
    statement["statements"][0]["node"]["select_list"] = [tree]
    call, given = "SELECT json_deserialize_sql(CAST(? AS JSON))", json.dumps(statement)
    found = _run(lambda connection: connection.execute(call, [given]).fetchall()[0][0], does="read")
    return str(found)


@cache
def _template(source: str) -> str:
    """Return the parse tree of SELECT 1 as JSON."""
    return _serialized(_connection(), f"SELECT 1 FROM {source}" if source else "SELECT 1")


def _run(call: Callable[[DuckDBPyConnection], _T], *, does: str) -> _T:
    """Return what DuckDB answers; Ctrl-C stops it."""
    connection = _connection()
    try:
        return awaited(
            connection, lambda: call(connection), replaced=lambda error: _replaced(error, does=does)
        )
    except KeyboardInterrupt:
        _OF_THREAD.process = None  # a stopped connection may still be at work
        raise


def _replaced(error: Exception, *, does: str) -> BadQuery:
    """Return our error for one of DuckDB."""
    if is_too_deep(error):
        return too_deep("condition")
    if needs_too_much(error):
        return BadQuery("the condition needs more memory than there is", "Compare with shorter values.")
    return BadQuery(f"DuckDB cannot {does} the condition: {said(error)}", _CORRECT)


def cut(text: object) -> str:
    """Return words on one line, not too long."""
    line = " ".join(str(text).split())
    return line if len(line) <= 200 else f"{line[:180]}..."
