"""A filter and a query that never fail on a row.

Promise: what is returned gives, for each row, what the owner's text gives there, and NULL where that fails: a
cast that does not fit, a sum that overflows, text that is no date. A filter drops such a row, an attribute
finds its value missing. So no row decides whether a release appears.
It rests on TRY of DuckDB, which looks at each row of a batch that fails, and on the engine's connection: it
must not take common parts of expressions out and compute them first, outside of TRY. Some failures TRY does
not catch; the engine keeps them from happening.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from hushtable.conditions.guard.expressions import ParseTree
from hushtable.conditions.guard.statements import LocalQuery, sql_of
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NEVER_FAIL = ("COLUMN_REF", "CONSTANT", "STAR")


def total_condition(condition: str) -> str:
    """Return a checked condition that is NULL for the rows it fails on."""
    return f"TRY((\n{condition}\n))"


def total_query(query: LocalQuery, connection: DuckDBPyConnection) -> str:
    """Return a checked query whose expressions are NULL for the rows they fail on. Names stay as they are."""
    node = deepcopy(query.source)
    for item in node["select_list"]:
        for entry in item.get("replace_list", ()):
            entry["value"] = _tried(entry["value"])
    node["select_list"] = [
        item
        if item["class"] in _NEVER_FAIL
        else _tried(item, alias=item["alias"] or _name(item, node, connection))
        for item in node["select_list"]
    ]
    if node["where_clause"] is not None:
        node["where_clause"] = _tried(node["where_clause"])
    return sql_of(node, connection)


def _tried(expression: ParseTree, alias: str = "") -> ParseTree:
    """Return the parse tree of TRY(expression)."""
    place = {"query_location": 0, "query_location_length": 0}
    inner = {**expression, "alias": ""}
    return {"class": "OPERATOR", "type": "OPERATOR_TRY", "alias": alias, **place, "children": [inner]}


def _name(item: ParseTree, node: ParseTree, connection: DuckDBPyConnection) -> str:
    """Return the name that DuckDB gives to a column without one: its expression, which TRY would change."""
    import duckdb

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
