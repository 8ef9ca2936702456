"""Rows of database files: DuckDB's, attached for reading only, and SQLite's, through Python's own module.

Promise: nothing is written to the file. A query that is not stated to prepare its own rows names one real
table: a view may join or group, and would hide it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.quoting import name_sql, text_sql
from hushtable.engines.sliced.replacing import replaced
from hushtable.errors import BadData, BadQuery, HushtableError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BATCH = 1 << 16
_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
    "AND upper(sql) NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
)
_AGAIN = re.compile(r":[0-9]+$")
_OF_THE_QUERY = 1  # SQLITE_ERROR: what SQLite says then is of the query's text


def attach(
    path: Any, connection: duckdb.DuckDBPyConnection, *, read: Callable[[str], str] = lambda rows: rows
) -> tuple[str, ...]:
    """Attach a DuckDB file, name its tables and views as it does, and return the names of its tables.

    `read` returns the SQL by which the rows of some SQL are read.
    The file's schema itself is not searched for names: its macros could take the place of functions.
    """
    quiet(connection.execute, f"ATTACH {text_sql(os.path.abspath(path))} AS attached (READ_ONLY)")
    of_the_file = "WHERE database_name = 'attached' AND schema_name = 'main'"
    tables = f"SELECT table_name FROM duckdb_tables() {of_the_file} ORDER BY table_name"
    views = f"SELECT view_name FROM duckdb_views() {of_the_file} AND NOT internal"
    names = [row[0] for row in quiet(lambda: connection.execute(tables).fetchall())]
    if "ducklake_metadata" in names:
        hint = "Write the rows of a table to a file by COPY ... TO in DuckDB, and give that."
        raise BadData(f"{str(path)!r} is the catalog of a DuckLake, which says where rows are", hint)
    for name in [*names, *(row[0] for row in quiet(lambda: connection.execute(views).fetchall()))]:
        whole = read(f"SELECT * FROM attached.main.{name_sql(name)}")
        quiet(connection.execute, f"CREATE TEMP VIEW {name_sql(name)} AS {whole}")
    return tuple(names)


def computing_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the tables of an attached file that compute columns from others."""
    sql = (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'attached' AND sql ILIKE '%GENERATED%'"
    )
    return {row[0] for row in quiet(lambda: connection.execute(sql).fetchall())}


def only_table(tables: tuple[str, ...], path: Any) -> str:
    """Return the one table of a database."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        hint = (
            "A view may join or group, so it is read only by a query of yours that is stated to prepare its "
            "own rows: --query with --rows-are-units."
        )
        raise BadData(f"the database {str(path)!r} holds no table in its main schema", hint)
    hint = f'Name one of them: --query "SELECT * FROM {tables[0]}".'
    raise BadData(f"the database {str(path)!r} holds several tables: {', '.join(tables[:20])}", hint)


class SQLiteFile:
    """A SQLite file, opened for reading only."""

    def __init__(self, path: Any) -> None:
        import sqlite3

        address = Path(path).resolve().as_uri() + "?mode=ro"
        self._connection = quiet(sqlite3.connect, address, uri=True, check_same_thread=False)
        self._connection.text_factory = _decoded
        try:
            found = self._all(_TABLES)
            if os.path.getsize(path) % self._all("PRAGMA page_size")[0][0]:
                # SQLite takes a last page that is not whole for one with fewer rows.
                raise BadData(f"the database {str(path)!r} is cut off", "Copy it or make it again.")
        except BaseException:
            self.close()
            raise
        self.tables = tuple(row[0] for row in found)

    def computing(self) -> set[str]:
        """Return the tables that compute columns from others."""
        columns = "SELECT 1 FROM pragma_table_xinfo(tables.name) WHERE hidden IN (2, 3)"
        return {
            row[0] for row in self._all(f"SELECT name FROM ({_TABLES}) AS tables WHERE EXISTS ({columns})")
        }

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add_view(
        self,
        view: str,
        query: str,
        engine: duckdb.DuckDBPyConnection,
        *,
        names: Collection[str] | None = None,
    ) -> None:
        """Let DuckDB read the rows of a query once, under the name `view`; of its columns, only `names`."""
        columns = self._columns(query)
        if names is None:
            # Of two names that differ in case at most, SQLite makes `id` and `ID:1`.
            known = set(map(folded, columns))
            again = [
                first for name in columns if folded(first := _AGAIN.sub("", name)) in known - {folded(name)}
            ]
            check_distinct([*columns, *again], "the rows have")
        else:
            wanted = set(map(folded, names))
            columns = {name: kind for name, kind in columns.items() if folded(name) in wanted}
        rows = f"sqlite rows of {view}"
        engine.register(rows, self._batches(query, columns))
        values = ", ".join(f"{_value_sql(name, kind)} AS {name_sql(name)}" for name, kind in columns.items())
        engine.execute(
            f"CREATE TEMP VIEW {name_sql(view)} AS SELECT {values or '1 AS nothing'} FROM {name_sql(rows)}"
        )

    def _columns(self, query: str) -> dict[str, str]:
        """Return the names of the columns of a query, and the types that their tables declare."""
        import sqlite3

        instead: HushtableError | KeyboardInterrupt | None = None
        found: list[Any] = []
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(f"CREATE TEMP VIEW hushtable_rows AS SELECT * FROM (\n{query}\n)")
                found = cursor.execute("PRAGMA temp.table_info(hushtable_rows)").fetchall()
                cursor.execute("DROP VIEW temp.hushtable_rows")
        except sqlite3.Error as error:
            instead = replaced(error)
            if getattr(error, "sqlite_errorcode", _OF_THE_QUERY) == _OF_THE_QUERY:
                said = str(error).rstrip(".")  # no row was read
                instead = BadQuery(f"SQLite does not take the query: {said}", "Try it in SQLite.")
        if instead is not None:
            raise instead
        return {row[1]: row[2].upper() for row in found}

    def _batches(self, query: str, columns: Iterable[str]) -> pa.RecordBatchReader:
        """Return columns of a query, each value as JSON text: in SQLite each has a type of its own."""
        import pyarrow as pa

        names = list(columns)
        schema = pa.schema([(name, pa.string()) for name in names or ["nothing"]])
        values = ", ".join(
            f"CASE WHEN typeof({name_sql(name)}) <> 'blob' AND {name_sql(name)} IS NOT NULL "
            f"THEN json_quote({name_sql(name)}) END"
            for name in names
        )

        def rows() -> Iterator[pa.RecordBatch]:
            # Not closed here: where the engine stops early, the connection is closed before this is.
            cursor = self._connection.execute(f"SELECT {values or 'NULL'} FROM (\n{query}\n)")
            while found := cursor.fetchmany(_BATCH):
                arrays = [pa.array(column, type=pa.string()) for column in zip(*found, strict=True)]
                yield pa.record_batch(arrays, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, rows())

    def _all(self, query: str) -> list[Any]:
        """Return all rows of a query of ours."""

        def read() -> list[Any]:
            with closing(self._connection.cursor()) as cursor:
                return cursor.execute(query).fetchall()

        return quiet(read)


def _decoded(data: bytes) -> str | None:
    """Return text, or nothing for what is not UTF-8: one bad value of one row, not a reason to stop."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _value_sql(name: str, declared: str) -> str:
    """Return a value that came as JSON as the type its column declares, by the rules of SQLite's affinities.

    A value that is not of the declared type is missing. Columns that declare nothing, or a type that SQLite
    does not have, such as DATE, stay JSON.
    """
    text, kind = f"({name_sql(name)}::JSON ->> '$')", f"json_type({name_sql(name)}::JSON)"
    if "INT" in declared:
        return f"CASE WHEN {kind} IN ('BIGINT', 'UBIGINT') THEN TRY_CAST({text} AS BIGINT) END"
    if any(mark in declared for mark in ("CHAR", "CLOB", "TEXT")):
        return f"CASE WHEN {kind} = 'VARCHAR' THEN {text} END"
    if any(mark in declared for mark in ("REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return f"TRY_CAST({text} AS DOUBLE)"
    return f"{name_sql(name)}::JSON"
