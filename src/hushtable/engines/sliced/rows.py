"""Rows made ready to be counted: the owner's query and filter checked and applied.

Promise: without `rows_are_units`, a row that is yielded comes from one row of the owner's table, by a fixed
rule and independent of all others (`guard.statements`), and no row makes it fail (`guard.totality`). Nothing
reads the amounts that are added up (`confining`), and every name stands for one column (`naming`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.engines.sliced.clocks import in_microseconds
from hushtable.engines.sliced.engine import (
    closed_at_last,
    connect,
    described,
    interruptible,
    quiet,
    row_by_row,
)
from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.objects import object_rows
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.reading import type_text
from hushtable.engines.sliced.spills import spill_folder
from hushtable.errors import BadData, BadQuery, shown

if TYPE_CHECKING:
    import duckdb

TABLE = "data"  # what a query calls the rows of files and of Python objects
_GIVEN = re.compile(r'\bAS\s+("[^"]+"|\w+)', re.IGNORECASE)


@dataclass(slots=True)
class Unread:
    """How many records could not be read, and why. Private.

    `fields`: too many or too few of them; `keys`: not one JSON object, or a used key twice in it.
    """

    quotes: int = 0
    fields: int = 0
    keys: int = 0
    too_long: int = 0
    not_text: int = 0

    def add(self, other: Unread) -> None:
        """Add the numbers of another part."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def records(self) -> int:
        """All records that were dropped."""
        return sum(getattr(self, name) for name in self.__slots__)


class OpenedRows(NamedTuple):
    """Rows ready to be counted: SQL that yields them, their columns and types, and where it runs.

    `named`: whether the columns surely have names. The first line of a CSV file may be a row instead.
    `unreadable` tells, once all rows were read, how many records of text were dropped before they were rows.
    """

    sql: str
    columns: dict[str, str]
    rereadable: bool
    connection: duckdb.DuckDBPyConnection
    folder: Path
    named: bool = True
    unreadable: Callable[[], Unread] = Unread


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is wanted of rows: columns that attributes and the unit read, the one added up, and which rows."""

    names: Sequence[str]
    amount: str | None = None
    query: str | None = None
    where: str | None = None
    rows_are_units: bool = False

    @property
    def used(self) -> list[str]:
        """All names that may be those of columns."""
        words = words_of(self.query)
        # JSON tells upper from lower case: the query's own spellings come first, but for words in capitals.
        own = [word for word in words if not word.isupper()]
        amounts = [] if self.amount is None else [self.amount]
        every = [*own, *self.names, *amounts, *words, *words_of(self.where)]
        # What the query alone names is no column of the data.
        made = {folded(name) for name in _given(self.query)} - {folded(word) for word in words}
        return [name for name in every if folded(name) not in made]

    @property
    def whole(self) -> bool:
        """Whether a row may be used as a whole; no names at all stand for all of them."""
        return self.query is not None or self.where is not None or not self.names

    def reads(self, engine: duckdb.DuckDBPyConnection) -> list[str] | None:
        """The names of all columns that are read, or None where a row may be used as a whole.

        A source that fetches its columns from afar fetches no others.
        """
        if self.query is not None or not self.names:
            return None
        named = [*self.names, *([] if self.amount is None else [self.amount])]
        paths: frozenset[tuple[str, ...]] = frozenset()
        if self.where is not None:
            from hushtable.conditions.guard.statements import read_condition

            paths = read_condition(self.where, engine).columns
        if any(folded(path[-1]) == folded(TABLE) for path in paths):
            return None
        return [*named, *(word for path in paths for word in path)]

    def sql(
        self,
        engine: duckdb.DuckDBPyConnection,
        *,
        tables: tuple[str, ...] = (TABLE,),
        otherwise: str = TABLE,
        computing: Collection[str] = (),
    ) -> str:
        """Return the owner's query, checked, or all of a table where there is none, with the filter.

        Some tables are `computing` columns from others, perhaps from the amounts.
        """
        if self.query is not None or self.where is not None:  # else the guard is not needed, nor loaded
            from hushtable.conditions.guard.statements import check_select, read_condition, read_query
            from hushtable.conditions.guard.totality import total_condition, total_query
        condition = None if self.where is None else read_condition(self.where, engine)
        local = None
        if self.query is None:
            text = f"SELECT * FROM {name_sql(otherwise)}"
        elif self.rows_are_units:
            check_select(self.query, engine)
            text = self.query.rstrip().rstrip(";")
        else:
            local = read_query(self.query, engine, tables=tables)
            described(self.query.rstrip().rstrip(";"), engine)  # its errors are about the owner's own words
            text = total_query(local, engine)
        if self.amount is not None:
            read = otherwise if local is None else local.table
            if folded(read) in map(folded, computing):
                fact = f"the table {shown(read)} computes columns from others, perhaps from "
                hint = "Amounts are read for nothing else: copy what you need to a plain table."
                raise BadData(f"{fact}{shown(self.amount)}", hint)
            from hushtable.engines.sliced.confining import check_confined

            filtered = None if condition is None else condition.columns
            check_confined(self.amount, readers=self.names, query=local, filtered=filtered, table=TABLE)
        owned, prepared = (
            local is not None or self.where is not None,
            self.query is not None and local is None,
        )
        engine.execute(row_by_row(sharing=not owned, filtering=prepared))
        if self.where is None or condition is None:
            return text
        if local is None and self.query is not None:
            text = in_microseconds(text, engine)
        kept = described(f"SELECT (\n{self.where}\n) AS kept FROM (\n{text}\n) AS {TABLE}", engine)["kept"]
        if kept not in ("BOOLEAN", '"NULL"'):
            hint = "Compare it with something, as in age >= 18."
            raise BadQuery(f"the row filter gives {type_text(kept)}, not true or false", hint)
        filtering = total_condition(self.where, condition, text, engine)
        return f"SELECT * FROM (\n{text}\n) AS {TABLE} WHERE {filtering}"

    def readable(self, rows: str, engine: duckdb.DuckDBPyConnection) -> str:
        """Return SQL for rows of which the owner's own words can read every column."""
        return rows if self.query is None and self.where is None else in_microseconds(rows, engine)


@contextmanager
def own_connection(*, memory: int, threads: int) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Open DuckDB with a folder for what does not fit in memory; both are gone when the block ends."""
    with (
        interruptible(),
        spill_folder() as folder,
        closed_at_last(connect(memory=memory, threads=threads, folder=folder)) as engine,
    ):
        yield engine, folder


@contextmanager
def opened_object(data: Any, wanted: Wanted, *, memory: int, threads: int) -> Iterator[OpenedRows]:
    """Open the rows of an object of Python."""
    with own_connection(memory=memory, threads=threads) as (engine, folder):
        source, rereadable = object_rows(data, engine, wanted.used, whole=wanted.whole)
        quiet(engine.execute, f"CREATE TEMP VIEW {TABLE} AS {wanted.readable(source, engine)}")
        sql = wanted.sql(engine)
        yield OpenedRows(sql, described(sql, engine), rereadable, engine, folder)


def _given(text: object) -> list[str]:
    """Return the names that AS gives in a query."""
    return [found[1].strip('"') for found in _GIVEN.finditer(text)] if isinstance(text, str) else []


def words_of(text: object) -> list[str]:
    """Return all words of a query except names given by AS: the columns that it reads are among them."""
    if not isinstance(text, str):
        return []
    text = _GIVEN.sub(" ", text)
    return re.findall(r"\w+", text) + re.findall(r'"([^"]+)"', text)
