"""A filter and a query that never fail on a row.

Promise: what is returned gives, for each row, what the owner's text gives there, and NULL where that fails: a
cast that does not fit, a sum that overflows, text that is no date. A filter drops such a row, an attribute
finds its value missing. So no row decides whether a release appears.
It rests on TRY of DuckDB, which looks at each row of a batch that fails, and on the engine's connection: it
must not take common parts of expressions out and compute them first, outside of TRY. Some failures TRY does
not catch. Calls that are known to have them are refused (`trials`). That leaves times before the first one
that DuckDB writes: columns that are handed to an owner's text have none (`engines.sliced.clocks`), and the
functions that could make one of a number are followed by adding nothing, which fails as TRY wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from hushtable.conditions.guard.expressions import Expression, ParseTree
from hushtable.conditions.guard.policies import FILTER, QUERY, Policy
from hushtable.conditions.guard.statements import LocalQuery, sql_of
from hushtable.conditions.guard.trials import check_calls
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NEVER_FAIL = ("COLUMN_REF", "CONSTANT", "STAR")
_CALLS = ("FUNCTION", "OPERATOR_CAST")
_NUMBERS_TO_TIMES = ("epoch_ms", "make_timestamp", "make_timestamp_ms")
_PLACE = {"query_location": 0, "query_location_length": 0}
_NOWHERE: ParseTree = {"type": "EMPTY", "alias": "", "sample": None, **_PLACE}


def total_condition(condition: str, read: Expression, rows: str, connection: DuckDBPyConnection) -> str:
    """Return a condition, `read` and checked, that is NULL for those of `rows` that it fails on."""

    def bound(parts: Sequence[ParseTree]) -> list[Any]:
        return list(connection.sql(f"{_listed(parts, connection)} FROM (\n{rows}\n) AS data").types)

    changed = _steady([read], bound, connection, FILTER)
    return f"TRY((\n{_text(read.source, connection) if changed else condition}\n))"


def total_query(query: LocalQuery, connection: DuckDBPyConnection) -> str:
    """Return a checked query whose expressions are NULL for the rows they fail on. Names stay as they are."""
    named = [each for each in query.source["select_list"] if each["alias"] and each["class"] != "STAR"]

    def bound(parts: Sequence[ParseTree]) -> list[Any]:
        # They may read what others are called.
        node = {**query.source, "select_list": [*named, *parts], "where_clause": None}
        return list(connection.sql(sql_of(node, connection)).types[len(named) :])

    names = [_name(item, query.source, connection) for item in query.source["select_list"]]
    expressions = [each for item in query.items for each in item.expressions]
    _steady([*expressions, *([query.where] if query.where else [])], bound, connection, QUERY)
    node = deepcopy(query.source)
    for item in node["select_list"]:
        for entry in item.get("replace_list", ()):
            entry["value"] = _tried(entry["value"])
    node["select_list"] = [
        item if item["class"] in _NEVER_FAIL else _tried(item, alias=name)
        for item, name in zip(node["select_list"], names, strict=True)
    ]
    if node["where_clause"] is not None:
        node["where_clause"] = _tried(node["where_clause"])
    return sql_of(node, connection)


def _steady(
    expressions: Sequence[Expression],
    bound: Callable[[Sequence[ParseTree]], list[Any]],
    connection: DuckDBPyConnection,
    policy: Policy,
) -> bool:
    """Refuse calls that a row could stop; let others fail on it as TRY wants, and return if trees changed."""
    parts = [part for expression in expressions for part in expression.walk()]
    calls = [part for part in parts if part.kind in _CALLS]
    taken = [part for call in calls for part in call.parts if part.columns]
    columns = [part for part in parts if part.path]
    makers = [call for call in calls if call.name in _NUMBERS_TO_TIMES]
    typed = {id(part.source): part.source for part in [*columns, *taken, *makers]}
    kinds = dict(zip(typed, _bound(list(typed.values()), bound, policy), strict=True))
    for column in columns:
        if "VARIANT" in str(kinds[id(column.source)]):
            hint = (
                "Values of any type may be among them: select the one that you need into a column of its own."
            )
            raise BadQuery(f"{policy.name} reads a column of the type VARIANT", hint)
    check_calls(calls, kinds, lambda tree: _text(tree, connection), policy)
    changed = [maker.source for maker in makers if str(kinds[id(maker.source)]) == "TIMESTAMP"]
    for source in changed:
        inner = {**source, "alias": ""}
        source.update(_with_nothing_added(inner, source["alias"]))
    return bool(changed)


def _bound(
    parts: list[ParseTree], bound: Callable[[Sequence[ParseTree]], list[Any]], policy: Policy
) -> list[Any]:
    """Return DuckDB's types of parts of an owner's text."""
    import duckdb

    try:
        return bound([{**part, "alias": ""} for part in parts]) if parts else []
    except duckdb.Error:
        pass  # its words may quote the data
    raise BadQuery(f"{policy.name} has parts that DuckDB cannot read alone", policy.allowed)


def _with_nothing_added(time: ParseTree, alias: str) -> ParseTree:
    """Return the parse tree of `time + INTERVAL 0 DAY`, which fails on a time that cannot be written."""
    kind = {
        "class": "TYPE",
        "type": "TYPE",
        "alias": "",
        "catalog": "",
        "schema": "",
        "children": [],
        **_PLACE,
    }
    kind |= {"type_name": "INTERVAL", "qualified_name": {"path": ["INTERVAL"]}}
    literal = {"kind": "STRING", "text": "0 days"}
    nothing = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": literal, **_PLACE}
    cast = {"class": "CAST", "type": "OPERATOR_CAST", "alias": "", "try_cast": False, **_PLACE}
    cast |= {"child": nothing, "type_expr": kind}
    plus: ParseTree = {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "alias": alias,
        "function_name": "+",
        **_PLACE,
    }
    plus |= {"schema": "", "catalog": "", "filter": None, "distinct": False, "is_operator": True}
    plus |= {"export_state": False, "order_bys": {"type": "ORDER_MODIFIER", "orders": []}}
    arguments = [{"name": "", "expression": each} for each in (time, cast)]
    return plus | {"arguments": arguments, "qualified_name": {"path": ["+"]}}


def _listed(parts: Sequence[ParseTree], connection: DuckDBPyConnection) -> str:
    """Return `SELECT` and expressions as text."""
    node: ParseTree = {
        "type": "SELECT_NODE",
        "modifiers": [],
        "cte_map": {"map": []},
        "select_list": list(parts),
    }
    node |= {"from_table": _NOWHERE, "where_clause": None, "group_expressions": [], "group_sets": []}
    node |= {"aggregate_handling": "STANDARD_HANDLING", "having": None, "sample": None, "qualify": None}
    return sql_of(node, connection)


def _text(expression: ParseTree, connection: DuckDBPyConnection) -> str:
    """Return an expression as text."""
    return _listed([{**expression, "alias": ""}], connection).removeprefix("SELECT ")


def _tried(expression: ParseTree, alias: str = "") -> ParseTree:
    """Return the parse tree of TRY(expression)."""
    inner = {**expression, "alias": ""}
    return {"class": "OPERATOR", "type": "OPERATOR_TRY", "alias": alias, **_PLACE, "children": [inner]}


def _name(item: ParseTree, node: ParseTree, connection: DuckDBPyConnection) -> str:
    """Return an item's name. Where it has none, DuckDB takes its expression, which TRY would change."""
    import duckdb

    if item["alias"] or item["class"] in _NEVER_FAIL:
        return str(item["alias"])
    named = [each for each in node["select_list"] if each["alias"] and each["class"] != "STAR"]
    alone = {
        **node,
        "select_list": [*named, item],
        "where_clause": None,
    }  # it may read what others are called
    try:
        return connection.sql(sql_of(alone, connection)).columns[-1]
    except duckdb.Error:
        pass  # its words may quote the data
    raise BadQuery("the query computes a column without a name", "Name it, as in age // 10 AS decade.")
