"""Rows of files, databases and objects of Python, opened and made ready to be counted.

Promise: that of `sliced.rows`, wherever the rows come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from hushtable.engines.local.addresses import ServerRows
from hushtable.engines.local.files import is_duckdb, is_sqlite
from hushtable.engines.local.sources import open_source
from hushtable.engines.sliced.engine import described, fetched, quiet
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.rows import TABLE, OpenedRows, Wanted, own_connection


@contextmanager
def opened_rows(
    data: Any,
    *,
    names: Sequence[str],
    amount: str | None = None,
    query: str | None,
    where: str | None,
    rows_are_units: bool,
    memory: int,
    threads: int,
) -> Iterator[OpenedRows]:
    """Open `data`; `names` are the columns that attributes and the unit read, `amount` the one added up."""
    wanted = Wanted(names=names, amount=amount, query=query, where=where, rows_are_units=rows_are_units)
    with own_connection(memory=memory, threads=threads) as (engine, folder):
        if is_sqlite(data):
            from hushtable.engines.local.databases import SQLiteFile, only_table

            with closing(SQLiteFile(data)) as file:
                if query is not None and rows_are_units:
                    # SQLite's own dialect, run by SQLite: what it yields are the rows.
                    file.add_view(TABLE, query, engine)
                    sql = replace(wanted, query=None).sql(engine)
                else:
                    # SQLite gives its tables as they are; what is checked by DuckDB's parser, DuckDB runs.
                    for table in file.tables:
                        file.add_view(table, f"SELECT * FROM {name_sql(table)}", engine, names=wanted.used)
                    only = only_table(file.tables, data) if query is None else ""
                    sql = wanted.sql(engine, tables=file.tables, otherwise=only, computing=file.computing())
                yield OpenedRows(sql, described(sql, engine), False, engine, folder)
        elif isinstance(data, ServerRows):
            from hushtable.engines.local.postgres import opened_server, server_rows

            # The database runs a query that is stated to prepare its own rows, as SQLite does.
            prepared = query if rows_are_units and data.table is None else None
            wanted = wanted if prepared is None else replace(wanted, query=None)
            with opened_server(data) as server:
                source = server_rows(
                    data,
                    server,
                    engine,
                    query=prepared,
                    names=wanted.reads(engine),
                    rows_are_units=rows_are_units,
                )
                quiet(engine.execute, f"CREATE TEMP VIEW {TABLE} AS {wanted.readable(source.sql, engine)}")
                sql = wanted.sql(engine, computing={TABLE} if source.computes else ())
                yield OpenedRows(sql, described(sql, engine), False, engine, folder)
        elif is_duckdb(data):
            from hushtable.engines.local.databases import attach, computing_tables, only_table

            tables = attach(data, engine, read=lambda rows: wanted.readable(rows, engine))
            only = only_table(tables, data) if query is None else ""
            sql = wanted.sql(engine, tables=tables, otherwise=only, computing=computing_tables(engine))
            yield OpenedRows(sql, described(sql, engine), True, engine, folder)
        else:
            opened = open_source(
                data, engine, names=wanted.used, whole=wanted.whole, memory=memory, threads=threads
            )
            quiet(engine.execute, f"CREATE TEMP VIEW {TABLE} AS {wanted.readable(opened.sql, engine)}")
            sql = wanted.sql(engine)
            columns = described(sql, engine)
            yield OpenedRows(sql, columns, opened.rereadable, engine, folder, opened.named, opened.unreadable)


def kept_rows(rows: OpenedRows, *, first: int | None = None) -> OpenedRows:
    """Return rows that can be read twice and are the same each time; all of them, or the first so many."""
    if rows.rereadable and first is None:
        return rows
    some = "" if first is None else f" LIMIT {first}"
    fetched(
        f"CREATE TEMP TABLE hushtable_rows AS SELECT * FROM (\n{rows.sql}\n) AS rows{some}", rows.connection
    )
    return rows._replace(sql="SELECT * FROM temp.main.hushtable_rows")
