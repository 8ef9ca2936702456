"""SQL over the rows of a release.

Promise: one SELECT, which reads the table `release` and DuckDB's own lists, and reaches nothing else: no
file, address, extension or Python object; it changes no setting and writes nothing (see `guard.locked`). Text
in it that would be parsed as SQL in turn is refused, as no limit would hold for it (`guard.statements`). Each
query has a DuckDB of its own, which is gone afterwards.
Cost: 25 ms for DuckDB to start; rows are scanned where they lie in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushtable.conditions.guard.locked import awaited, connected
from hushtable.conditions.guard.policies import RELEASE
from hushtable.conditions.guard.statements import check_select
from hushtable.conditions.guard.texts import replaced
from hushtable.errors import BadQuery, shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MEMORY = "50%"
_LARGEST = 2 << 30  # bytes of a result
_ROWS_AT_ONCE = 1 << 17
_SHOWN_COLUMNS = 20

_FEWER = "Group or filter the rows, check the conditions of joins, or add LIMIT."
# Types that come to Arrow as bytes, cut off or not at all; and those that may hold them.
_NOT_IN_ARROW = frozenset({"bignum", "bit", "geometry", "time with time zone", "type", "uhugeint", "variant"})
_NESTED = frozenset({"array", "list", "map", "struct", "union"})

_NO_TABLE = re.compile(
    r'Table with name (?P<bare>.+?) does not exist|Referenced table "(?P<quoted>.+?)" not found'
)
_NO_COLUMN = re.compile(
    r'[Cc]olumn "(?P<bare>[^"]+)".* not found|does not have a column named "(?P<quoted>[^"]+)"'
)


def run_sql(rows: pa.Table, text: str, tables: Sequence[pa.Table] = ()) -> pa.Table:
    """Return what one SELECT over `rows`, the table `release`, selects.

    Of a release of several tables, `release` is the first of `tables` that has all columns which the query
    names, so that no sum adds up two of them; `release_tables` has all rows.

    Columns have the types of the release; of columns with one name, later ones get `_1`, `_2` and so on.
    Values of types that Arrow does not have, such as BIGNUM or BIT, are text.

    ============================================  ==========
    case                                          result
    ============================================  ==========
    no statement, two, or one that is no SELECT   `BadQuery`
    parameters such as ? or $1                    `BadQuery`
    files, addresses, extensions, other tables    `BadQuery`
    SQL within text, as in query('SELECT 1')      `BadQuery`
    more than 100 open brackets                   `BadQuery`
    what DuckDB cannot run                        `BadQuery`
    a result of more than 2 GiB                   `BadQuery`
    ============================================  ==========

    >>> import pyarrow as pa
    >>> rows = pa.table({"home": ["A", "B"], "count": [20, 40], "weight": [50.0, 50.0]})
    >>> run_sql(rows, "SELECT sum(weight) AS people FROM release").to_pylist()
    [{'people': 100.0}]
    """
    connection = connected(memory=_MEMORY)

    def run() -> pa.Table:
        try:
            check_select(text, connection, RELEASE)
            if tables:
                connection.register("release_tables", rows)
                _register_fitting(connection, text, rows, tables)
            else:
                connection.register("release", rows)
            return _fetched(connection, text)
        finally:
            connection.close()  # here, because nobody else knows whether a stopped query has ended

    return awaited(connection, run, replaced=lambda error: _replaced(error, rows.column_names))


def _register_fitting(
    connection: duckdb.DuckDBPyConnection, text: str, rows: pa.Table, tables: Sequence[pa.Table]
) -> None:
    """Let `release` be the first table that the query fits; or all rows if it names their table."""
    import duckdb

    named = rows.column_names[0]
    mixed = rows.drop_columns([named])
    for candidate in (*tables, mixed, rows):
        connection.register("release", candidate)
        try:
            connection.sql(text)
        except duckdb.BinderException:
            continue
        if candidate is mixed:
            fact = "no table of this release has all the columns of this query, and sums over several mislead"
            first = str(rows.column(0)[0]).replace("'", "''")
            one = f"\"{named}\" = '{first}'"
            raise BadQuery(fact, f"Add up the rows of one table, as in FROM release_tables WHERE {one}.")
        return


def _fetched(connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """Return the result, read part by part so that a forgotten join condition does not fill the memory."""
    import pyarrow as pa

    reader = _in_arrow(connection.sql(text)).to_arrow_reader(_ROWS_AT_ONCE)
    parts, size = [], 0
    for part in reader:
        parts.append(part)
        size += part.nbytes
        if size > _LARGEST:
            raise BadQuery(f"the result is larger than {_LARGEST >> 30} GiB", _FEWER)
    return pa.Table.from_batches(parts, reader.schema).rename_columns(_distinct(reader.schema.names))


def _in_arrow(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return a result with text in place of what Arrow does not have."""
    as_text = [_is_not_in_arrow(kind) for kind in found.types]
    if not any(as_text):
        return found
    columns = [
        f"CAST(#{place} AS VARCHAR)" if is_one else f"#{place}" for place, is_one in enumerate(as_text, 1)
    ]
    names = ['"' + name.replace('"', '""') + '"' for name in found.columns]
    return found.project(
        ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
    )


def _is_not_in_arrow(kind: object) -> bool:
    from duckdb.sqltypes import DuckDBPyType

    if not isinstance(kind, DuckDBPyType):  # the length of an array
        return False
    if kind.id in _NESTED:
        return any(_is_not_in_arrow(part) for _, part in kind.children)
    return kind.id in _NOT_IN_ARROW


def _distinct(names: list[str]) -> list[str]:
    """Return the names of columns, each once."""
    taken: dict[str, None] = {}
    for name in names:
        other, number = name, 0
        while other in taken or (number and other in names):
            number += 1
            other = f"{name}_{number}"
        taken[other] = None
    return list(taken)


def _replaced(error: Exception, columns: list[str]) -> BadQuery:
    """Return our error for one of DuckDB. A release is public, so its words may be shown."""
    import duckdb

    words = str(error)
    if isinstance(error, duckdb.PermissionException):
        fact = "the query reads more than the rows of the release"
        return BadQuery(
            fact, "Files, addresses and extensions are closed to it: query the file in DuckDB itself."
        )
    if found := _NO_TABLE.search(words):
        name = found["bare"] or found["quoted"]
        return BadQuery(f"there is no table {shown(name)}", "The rows of a release are the table `release`.")
    listed = f"The columns of `release` are {_listed(columns)}."
    if found := _NO_COLUMN.search(words):
        return BadQuery(f"there is no column {shown(found['bare'] or found['quoted'])}", listed)
    return replaced(error, RELEASE, does="run", hint=listed)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN_COLUMNS
    said = [shown(name) for name in names[:_SHOWN_COLUMNS]] + [f"{more} more"] * (more > 0)
    return f"{', '.join(said[:-1])} and {said[-1]}"
