"""Rows made ready to be counted: the source opened, the owner's query and filter checked and applied.

Promise: without `rows_are_units`, a row that is yielded comes from one row of the owner's table, by a fixed
rule and independent of all others (`statements`), and no row makes it fail (`totality`). Nothing reads the
amounts that are added up (`confining`), and every name stands for one column (`naming`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.confining import check_confined
from hushtable.engines.databases import SQLiteFile, attach, computing_tables, only_table
from hushtable.engines.delimited import Unread
from hushtable.engines.engine import connect, described, interruptible, quiet, row_by_row
from hushtable.engines.files import is_duckdb, is_sqlite
from hushtable.engines.naming import folded
from hushtable.engines.quoting import name_sql
from hushtable.engines.reading import type_text
from hushtable.engines.sources import TABLE, Source, open_source
from hushtable.engines.spills import spill_folder
from hushtable.engines.statements import check_condition, check_query, check_select
from hushtable.engines.totality import in_microseconds, total_condition, total_query
from hushtable.errors import BadData, BadQuery, shown

if TYPE_CHECKING:
    import duckdb


_GIVEN = re.compile(r'\bAS\s+("[^"]+"|\w+)', re.IGNORECASE)


class Rows(NamedTuple):
    """Rows ready to be counted: SQL that yields them, their columns and types, and where it runs.

    `named` and `unreadable` are those of `Source`.
    """

    sql: str
    columns: dict[str, str]
    rereadable: bool
    connection: duckdb.DuckDBPyConnection
    folder: Path
    named: bool = True
    unreadable: Callable[[], Unread] = Unread


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
) -> Iterator[Rows]:
    """Open `data`; `names` are the columns that attributes and the unit read, `amount` the one added up."""

    def prepared(tables: tuple[str, ...], otherwise: str, computing: Collection[str] = ()) -> str:
        """Return the owner's query, checked, or all of a table where there is none, with the filter.

        Some tables are `computing` columns from others, perhaps from the amounts.
        """
        filtered = None if where is None else check_condition(where, engine)
        local = None
        if query is None:
            text = f"SELECT * FROM {name_sql(otherwise)}"
        elif rows_are_units:
            check_select(query, engine)
            text = query.rstrip().rstrip(";")
        else:
            local = check_query(query, engine, tables=tables)
            described(query.rstrip().rstrip(";"), engine)  # its errors are about the owner's own words
            text = total_query(local, engine)
        read = otherwise if local is None else local.node["from_table"]["table_name"]
        if amount is not None and folded(read) in map(folded, computing):
            fact = f"the table {shown(read)} computes columns from others, perhaps from {shown(amount)}"
            raise BadData(fact, "Amounts are read for nothing else: copy what you need to a plain table.")
        if amount is not None:
            check_confined(amount, readers=names, query=local, filtered=filtered, table=TABLE)
        owned = local is not None or where is not None
        engine.execute(row_by_row(sharing=not owned, filtering=query is not None and rows_are_units))
        if where is None:
            return text
        kept = described(f"SELECT (\n{where}\n) AS kept FROM (\n{text}\n) AS {TABLE}", engine)["kept"]
        if kept not in ("BOOLEAN", '"NULL"'):
            hint = "Compare it with something, as in age >= 18."
            raise BadQuery(f"the row filter gives {type_text(kept)}, not true or false", hint)
        return f"SELECT * FROM (\n{text}\n) AS {TABLE} WHERE {total_condition(where)}"

    def as_owned(rows: str) -> str:
        """Return SQL for rows of which the owner's own words can read every column."""
        return rows if query is None and where is None else in_microseconds(rows, engine)

    # JSON tells upper from lower case: first come the query's own spellings, but for SQL words in capitals.
    own = [word for word in words_of(query) if not word.isupper()]
    wanted = [*own, *names, *([] if amount is None else [amount]), *words_of(query), *words_of(where)]
    # What the query alone names is no column of the data.
    made = {folded(name) for name in _given(query)} - {folded(word) for word in words_of(query)}
    wanted = [name for name in wanted if folded(name) not in made]
    with (
        interruptible(),
        spill_folder() as folder,
        closing(connect(memory=memory, threads=threads, folder=folder)) as engine,
    ):
        if is_sqlite(data):
            with closing(SQLiteFile(data)) as file:
                if query is not None and rows_are_units:
                    # SQLite's own dialect, run by SQLite: what it yields are the rows.
                    file.add_view(TABLE, query, engine)
                    query = None
                    sql = prepared((), TABLE)
                else:
                    # SQLite gives its tables as they are; what is checked by DuckDB's parser, DuckDB runs.
                    for table in file.tables:
                        file.add_view(table, f"SELECT * FROM {name_sql(table)}", engine, names=wanted)
                    only = only_table(file.tables, data) if query is None else ""
                    sql = prepared(file.tables, only, file.computing())
                yield Rows(sql, described(sql, engine), False, engine, folder)
            return
        source = Source("")
        if is_duckdb(data):
            tables = attach(data, engine, read=as_owned)
            only = only_table(tables, data) if query is None else ""
            sql = prepared(tables, only, computing_tables(engine))
        else:
            # A query or a filter may use the row as a whole, and no names at all stand for all of them.
            whole = query is not None or where is not None or not names
            source = open_source(data, engine, names=wanted, whole=whole, memory=memory, threads=threads)
            quiet(engine.execute, f"CREATE TEMP VIEW {TABLE} AS {as_owned(source.sql)}")
            sql = prepared((TABLE,), TABLE)
        columns = described(sql, engine)
        yield Rows(sql, columns, source.rereadable, engine, folder, source.named, source.unreadable)


def _given(text: object) -> list[str]:
    """Return the names that AS gives in a query."""
    return [found[1].strip('"') for found in _GIVEN.finditer(text)] if isinstance(text, str) else []


def words_of(text: object) -> list[str]:
    """Return all words of a query but those that AS gives as names: among them are the columns it reads."""
    if not isinstance(text, str):
        return []
    text = _GIVEN.sub(" ", text)
    return re.findall(r"\w+", text) + re.findall(r'"([^"]+)"', text)
