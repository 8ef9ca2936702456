"""Rows of Parquet files: most of them read by DuckDB, some by Arrow.

Promise: every value reaches DuckDB as it is stored, or is missing. Columns that are used agree in all files;
of the others, those that do not are left out, so that nothing is converted to the first file's type and stops
at a value. Times that DuckDB converts one by one, and decimals of which it keeps the bits that fit, are read
by Arrow (`arrow_files`) where they are used.
Cost: the footers of all files. Arrow reads with one thread, and once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.local.agreeing import check_agreement
from hushtable.engines.local.arrow_files import arrow_files
from hushtable.engines.local.files import files_sql
from hushtable.engines.local.partitions import check_folders, folder_columns
from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.naming import by_folded, check_distinct, folded
from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.sound import ROOM
from hushtable.errors import BadData, shown

if TYPE_CHECKING:
    import duckdb

# Of times in Parquet: moments in milliseconds, and all times of day, which may lie beyond it.
_CONVERTED = re.compile(r"MILLIS=M|TIMESTAMP_MILLIS|TimeType|TIME_M")
_STORED = {"INT32": 4, "INT64": 8}  # bytes


class _Node(NamedTuple):
    """A node of a schema: a column, or a field on some level below it."""

    name: str
    children: int
    sql_type: str
    kind: str  # the words of the format for it
    stored: str  # the type of what is stored
    length: int  # of it, in bytes, where it is fixed
    digits: int  # of a decimal

    @property
    def converted(self) -> bool:
        """Whether DuckDB converts its values, with a loss or a failure."""
        if not self.digits:
            return bool(_CONVERTED.search(self.kind))
        room = next((room for most, room in ROOM if self.digits <= most), None)
        # Of more digits, DuckDB makes floats, which are no units. Bytes of any length may be too many.
        return room is not None and _STORED.get(self.stored, self.length or room + 1) > room


def parquet_rows(
    files: list[str], connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, whole: bool
) -> tuple[str, bool]:
    """Return SQL for the rows of files, and whether they can be read twice.

    `names` are the columns that are used, but a row may be used as a `whole`.
    """
    used = set(map(folded, names))
    types: dict[str, dict[str, str]] = {}
    converted: set[str] = set()
    for file, columns in _schemas(list(dict.fromkeys(files)), connection).items():
        check_distinct((nodes[0].name for nodes in columns), f"{said(file)} has")
        types[file] = {nodes[0].name: nodes[0].sql_type for nodes in columns}
        for nodes in columns:
            name = folded(nodes[0].name)
            if name in used:
                _check_fields(nodes, file)
            if any(node.converted for node in nodes):
                converted.add(name)
    equal = check_agreement(types, names)
    folders = check_folders(files, types)
    if not converted.isdisjoint(used):
        constants = {file: folder_columns(file, names) for file in files}
        return arrow_files(files, connection, names, whole=whole, constants=constants), False
    found = [by_folded(columns) for columns in types.values()]
    read = types[files[0]] if equal else {name: "" for columns in types.values() for name in columns}
    left_out = {
        folded(name): name
        for name in read
        if folded(name) in converted
        or (folded(name) not in used and len({columns.get(folded(name)) for columns in found}) > 1)
    }
    without = f" EXCLUDE ({', '.join(map(name_sql, left_out.values()))})" if left_out else ""
    return (
        f"SELECT *{without} FROM read_parquet({files_sql(files)}, union_by_name = {str(not equal).lower()}, "
        f"hive_partitioning = {str(folders).lower()}, hive_types_autocast = false)"
    ), True


def _schemas(files: list[str], connection: duckdb.DuckDBPyConnection) -> dict[str, list[list[_Node]]]:
    """Return the columns of all files, each with the nodes below it in the order of the schema."""
    found: dict[str, list[list[_Node]]] = {}
    below = 0  # nodes that are still to come below a column
    for file, *node in _nodes(files, connection):
        if file not in found:
            found[file], below = [], 0  # the root
            continue
        each = _Node(*node)
        if below:
            found[file][-1].append(each)
            below += each.children - 1
        else:
            found[file].append([each])
            below = each.children
    return found


def _nodes(files: list[str], connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Return the nodes of the schemas of all files.

    Old files tell the kind by their `converted_type` alone.
    """

    def nodes(these: list[str]) -> list[Any]:
        ordered = f"parquet_schema({files_sql(these)}) ORDER BY file_name, column_id"
        kind = "concat_ws(' ', logical_type, converted_type)"
        stored = "coalesce(type, ''), coalesce(CAST(type_length AS BIGINT), 0)"
        digits = f"CASE WHEN {kind} ILIKE '%DECIMAL%' THEN coalesce(precision, 0) ELSE 0 END"
        sql = f"SELECT file_name, name, coalesce(num_children, 0), duckdb_type, {kind}, {stored}, {digits}"
        return quiet(lambda: connection.execute(f"{sql} FROM {ordered}").fetchall())

    try:
        return nodes(files)
    except BadData as error:
        instead = error
    for file in files:
        try:
            nodes([file])
        except BadData:
            hint = "Copy it or make it again."
            instead = BadData(f"{said(file)} is not a Parquet file, or is damaged", hint)
            break
    raise instead


def _check_fields(nodes: list[_Node], file: str) -> None:
    """Raise where fields side by side differ in case at most: DuckDB takes the first for both."""

    rest = iter(nodes)

    def walk() -> str:
        node = next(rest)
        fields = [walk() for _ in range(node.children)]
        check_distinct(fields, f"column {shown(nodes[0].name)} of {said(file)} has")
        return node.name

    walk()
