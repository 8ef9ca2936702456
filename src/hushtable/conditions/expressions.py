"""SQL expressions of recipients, evaluated over the values of one attribute.

Promise: the text is one expression that the guard lets pass, and nothing beside it. It is evaluated where
nothing but the values handed over can be reached (`guard.locked`). What it gives follows from these values
alone, so the same question has the same answer on every machine and every day.
Cost: a millisecond or two to parse a short text; evaluation is DuckDB's own.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.guard.expressions import Expression, ParseTree
from hushtable.conditions.guard.functions import Listed, functions_of
from hushtable.conditions.guard.locked import awaited, connected
from hushtable.conditions.guard.policies import CONDITION
from hushtable.conditions.guard.statements import parsed_select, read_condition, sql_of
from hushtable.conditions.guard.texts import in_one_line, replaced
from hushtable.domain.columns import as_numbers
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

Constant: TypeAlias = int | str | bool | Decimal | None
_T = TypeVar("_T")


class Moment(str):
    """A date or a timestamp, as text."""

    __slots__ = ()


_MEMORY = "25%"
_TABLE = "release"

_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_NUMERIC = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_TIMES = {
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"),
}


def parsed(text: str) -> Expression:
    """Return a condition that the guard lets pass."""
    with _at_work() as connection:
        return read_condition(text, connection, CONDITION, listed=_functions())


def constant(tree: Expression) -> Constant:
    """Return the value of an expression without columns; NULL is None."""
    if tree.kind == "VALUE_CONSTANT":
        match tree.literal:
            case "STRING", text:
                return text
            case "INTEGER", text if _INTEGER.fullmatch(text):
                return int(text)
            case "NUMERIC", text if _NUMERIC.fullmatch(text):
                return Decimal(text)
            case "BOOLEAN", text:
                return text == "true"
            case "NULL_LITERAL", _:
                return None
    elif tree.kind == "OPERATOR_CAST" and not tree.source["try_cast"]:
        written, kind = tree.parts
        text = written.literal[1]
        if kind.name in _TIMES and _TIMES[kind.name].fullmatch(text):
            return Moment(text)  # as DuckDB reads it, in a tenth of the time
    # Text is what all types have in common; fetched as Python values, some need further packages.
    sql = f"SELECT CAST(value AS VARCHAR), typeof(value) FROM ({_sql_of(tree)}) AS one(value)"
    ((text, kind_name),) = _run(lambda connection: connection.execute(sql).fetchall())
    if text is None or kind_name == "BOOLEAN":
        return None if text is None else bool(text == "true")
    if kind_name in ("FLOAT", "DOUBLE") or kind_name.startswith("DECIMAL"):
        return Decimal(text)
    if kind_name.endswith("INT") or kind_name in ("INTEGER", "BIGNUM"):
        return int(text)
    if kind_name == "DATE" or kind_name.startswith("TIMESTAMP"):
        return Moment(text)
    if kind_name == "VARCHAR":
        return str(text)
    hint = "Compare with a number, text, a date or a timestamp."
    fact = f"the condition compares with {in_one_line(text)}, which is of type {in_one_line(kind_name)}"
    raise BadQuery(fact, hint)


def truth_of(tree: Expression, *, name: str, values: pa.Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for which of the values of an attribute the expression is true, and for which it is false."""
    import pyarrow as pa

    sql = _sql_of(tree, source=_TABLE)

    def evaluated(connection: DuckDBPyConnection) -> pa.Table:
        connection.register(_TABLE, pa.table({name: values}))
        try:
            return connection.sql(sql).to_arrow_table()
        finally:
            connection.unregister(_TABLE)

    column = _run(evaluated).column(0)
    if column.type != pa.bool_():
        hint = "Write a comparison, such as n % 10 = 0."
        raise BadQuery(
            f"the condition has a part of type {column.type}, which is neither true nor false", hint
        )
    states = np.concatenate(
        [as_numbers(chunk.cast(pa.uint8()).fill_null(2)) for chunk in column.chunks] or [np.empty(0)]
    )
    return states == 1, states == 0


@cache
def _functions() -> Listed:
    """Return the functions of the locked database."""
    return functions_of(_connection(), CONDITION)


_OF_THREAD = threading.local()


def _connection() -> DuckDBPyConnection:
    """Return this thread's connection to an empty database in memory, locked."""
    if getattr(_OF_THREAD, "process", None) != os.getpid():  # a forked child lacks DuckDB's threads
        _OF_THREAD.connection, _OF_THREAD.process = connected(memory=_MEMORY), os.getpid()
    found: DuckDBPyConnection = _OF_THREAD.connection
    return found


@contextmanager
def _at_work() -> Iterator[DuckDBPyConnection]:
    """Yield this thread's connection, and give it up at Ctrl-C: a stopped one may still be at work."""
    try:
        yield _connection()
    except KeyboardInterrupt:
        _OF_THREAD.process = None
        raise


def _sql_of(tree: Expression, *, source: str = "") -> str:
    """Return SELECT of an expression as SQL, from `source` if there is one."""
    node = {**_template(source), "select_list": [tree.source]}
    return _run(lambda connection: sql_of(node, connection))


@cache
def _template(source: str) -> ParseTree:
    """Return the parse tree of a SELECT, from `source` if there is one."""
    return parsed_select(f"SELECT 1 FROM {source}" if source else "SELECT 1", _connection(), CONDITION)


def _run(call: Callable[[DuckDBPyConnection], _T]) -> _T:
    """Return what DuckDB answers; Ctrl-C stops it."""
    instead = partial(replaced, policy=CONDITION, does="evaluate")
    with _at_work() as connection:
        return awaited(connection, lambda: call(connection), replaced=instead)
