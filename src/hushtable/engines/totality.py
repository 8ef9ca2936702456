"""A filter and a query that never fail on a row.

Promise: what is returned gives, for each row, what the owner's text gives there, and NULL where that fails: a
cast that does not fit, a sum that overflows, text that is no date. A filter drops such a row, an attribute
finds its value missing. So no row decides whether a release appears.
It rests on TRY of DuckDB, which looks at each row of a batch that fails, and on `row_by_row(sharing=False)`:
with common parts of expressions taken out and computed first, they would fail outside of TRY. Some failures
TRY does not catch; `in_microseconds` keeps them from happening.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from hushtable.engines.engine import described
from hushtable.engines.quoting import name_sql
from hushtable.engines.statements import LocalQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LONG_STEPS = re.compile(r"\bTIMESTAMP_(S|MS)\b")
_NEVER_FAIL = ("COLUMN_REF", "CONSTANT", "STAR")


def in_microseconds(rows: str, connection: DuckDBPyConnection) -> str:
    """Return SQL for the same rows with all times in microseconds; those beyond what these reach are missing.

    DuckDB takes it for a fault of its own where a time in seconds or milliseconds cannot be written as text.
    """
    longer = [
        f"TRY_CAST({name_sql(name)} AS {_LONG_STEPS.sub('TIMESTAMP', kind)}) AS {name_sql(name)}"
        for name, kind in described(rows, connection).items()
        if _LONG_STEPS.search(kind)
    ]
    return f"SELECT * REPLACE ({', '.join(longer)}) FROM ({rows}) AS rows" if longer else rows


def total_condition(condition: str) -> str:
    """Return a checked condition that is NULL for the rows it fails on."""
    return f"TRY((\n{condition}\n))"


def total_query(query: LocalQuery, connection: DuckDBPyConnection) -> str:
    """Return a checked query whose expressions are NULL for the rows they fail on. Names stay as they are."""
    node = deepcopy(query.node)
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
    return _sql(node, connection)


def _tried(expression: dict[str, Any], alias: str = "") -> dict[str, Any]:
    """Return the parse tree of TRY(expression)."""
    place = {"query_location": 0, "query_location_length": 0}
    inner = {**expression, "alias": ""}
    return {"class": "OPERATOR", "type": "OPERATOR_TRY", "alias": alias, **place, "children": [inner]}


def _name(item: dict[str, Any], node: dict[str, Any], connection: DuckDBPyConnection) -> str:
    """Return the name that DuckDB gives to a column without one: its expression, which TRY would change."""
    alone = {**node, "select_list": [item], "where_clause": None}
    return next(iter(described(_sql(alone, connection), connection)))


def _sql(node: dict[str, Any], connection: DuckDBPyConnection) -> str:
    """Return a parse tree as text."""
    tree = json.dumps({"error": False, "statements": [{"node": node}]})
    text: str = connection.execute("SELECT system.main.json_deserialize_sql(?)", [tree]).fetchall()[0][0]
    return text
