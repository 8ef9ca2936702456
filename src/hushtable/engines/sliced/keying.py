"""From opened rows to the keys of their cells: SQL, and the stream of what it yields.

Promise: each row gives the key of its cell and what it adds there. Rows that a rule drops do not come; a rule
that stops the count raises.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushtable.domain.columns import as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import Keys
from hushtable.domain.measure import Measure
from hushtable.engines.sliced.coding import broken_rules, coding, keys_sql, word_columns
from hushtable.engines.sliced.engine import fetched, quiet_rows
from hushtable.engines.sliced.naming import found
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.reading import form_of
from hushtable.engines.sliced.rows import OpenedRows
from hushtable.engines.sliced.runs import KeyRows, exact_sum
from hushtable.errors import BadRows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BESIDE = ("amount", "rows", "broken")  # columns that are no words of a key
_SAMPLE = 1 << 17  # rows that are looked at to tell whether most of them repeat


class Tally(NamedTuple):
    """How many rows were counted, and how many a rule of the domain dropped. Private: they are true."""

    counted: int = 0
    dropped: int = 0

    def __repr__(self) -> str:
        return "Tally(<private>)"


class Keyed(NamedTuple):
    """SQL for the keys of rows, with its columns: words, then `amount`, `rows` and `broken` where there are.

    `amount` is what a row adds, 1 if it is absent. Rows that are dropped have a NULL. Where equal rows are
    `grouped`, it is how many there are; or `rows` is, beside what they add.
    """

    sql: str
    columns: list[str]
    grouped: bool = False

    @property
    def words(self) -> list[str]:
        """The columns that say which cell a row is in."""
        return [column for column in self.columns if column not in _BESIDE]

    @property
    def amounts(self) -> bool:
        """Whether rows say how much they add."""
        return "amount" in self.columns

    def batches(
        self, connection: duckdb.DuckDBPyConnection, rows: int, further: str = ""
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield the columns, and further ones, in batches of so many rows, with errors replaced."""
        sql = f"SELECT {', '.join(self.columns)}{further} FROM ({self.sql}) AS keyed"
        return quiet_rows(lambda: connection.sql(sql).to_arrow_reader(rows), connection)


def keyed_rows(rows: OpenedRows, domain: Domain, measure: Measure, *, may_group: bool = True) -> Keyed:
    """Return the keys of all rows, with the column `unit` beside them where the measure has one.

    Where most rows repeat others, and they `may_group`, equal ones are taken together first: as they come, or
    else by their keys.
    """
    source, types, grouped = rows.sql, rows.columns, False
    may_group = may_group and rows.rereadable and measure == Measure()
    may_group = may_group and not domain.unlisted  # which are grouped later
    if may_group:
        wanted = dict.fromkeys(found(attribute.column, types) for attribute in domain.attributes)
        # Text may have a collation under which different values are equal, so it is not grouped as it comes.
        read = [name_sql(name) for name in wanted if name is not None and form_of(types[name]) != "text"]
        if len(read) == len(wanted) and _mostly_repeats(source, read, rows.connection):
            together = "rows taken together"
            while found(together, types) is not None:
                together += "_"
            kept = ", ".join(read)
            what = f"count(*) AS {name_sql(together)}"
            source = f"SELECT {kept}, {what} FROM (\n{source}\n) AS rows GROUP BY ALL"
            types = {**types, together: "BIGINT"}
            measure, may_group, grouped = Measure(count_column=together), False, True
    coded = coding(source, types, domain, measure, named=rows.named)
    for name, table in coded.tables.items():
        rows.connection.register(name, table)
    sql = keys_sql(coded, domain)
    columns = word_columns(domain)
    if measure.amount_column is not None:
        columns.append("amount")
    if broken_rules(domain):
        columns.append("broken")
    if may_group and _mostly_repeats(sql, columns, rows.connection):
        sql = f"SELECT {', '.join(columns)}, count(*) AS amount FROM ({sql}) AS keyed GROUP BY ALL"
        columns.append("amount")
        grouped = True
    return Keyed(sql, columns, grouped)


def _mostly_repeats(sql: str, columns: list[str], connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether rows share cells so much that grouping should come before sorting: a matter of time."""
    kept = ", ".join(columns)
    some = f"SELECT {kept} FROM (\n{sql}\n) AS keyed LIMIT {_SAMPLE}"
    sampled = f"SELECT count(*), count(DISTINCT hash({kept})) FROM ({some}) AS first_rows"
    rows, distinct = fetched(sampled, connection)[0]
    return bool(rows == _SAMPLE and distinct < 0.75 * rows)


class KeyReader:
    """Batches of the engine as keys and amounts; keeps a tally of rows.

    `people`: whether a row stands for as many units as it adds; else each row is one.
    """

    def __init__(
        self,
        words: int,
        rules: Sequence[BadRows] = (),
        heard: Callable[[], None] = lambda: None,
        *,
        grouped: bool = False,
        people: bool = False,
    ) -> None:
        self._words, self._rules, self._heard, self._grouped = words, rules, heard, grouped
        self._people, self._counted, self._read = people, 0, 0
        self.tally = Tally()

    @property
    def units(self) -> tuple[int, int]:
        """How many units were counted, and how many dropped, where each row has units of its own."""
        if self._people:
            return self._counted, self._read - self._counted
        return self.tally.counted, self.tally.dropped

    def kept(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches, without the rows that are dropped."""
        for batch in batches:
            self._heard()
            if self._rules:
                broken = int(as_numbers(batch.column("broken")).max(initial=0))
                if broken:
                    raise self._rules[broken - 1]
            counted = batch.drop_null() if any(column.null_count for column in batch.columns) else batch
            read, kept = self._rows(batch), self._rows(counted)
            self.tally = Tally(self.tally.counted + kept, self.tally.dropped + read - kept)
            if self._people:
                self._counted += exact_sum(as_numbers(counted.column("amount")))
                self._read += exact_sum(as_numbers(batch.column("amount").drop_null()))
            if counted.num_rows:
                yield counted

    def _rows(self, batch: pa.RecordBatch) -> int:
        """Return how many rows a batch stands for."""
        if "rows" in batch.schema.names:
            return int(as_numbers(batch.column("rows")).sum())
        return int(as_numbers(batch.column("amount")).sum()) if self._grouped else batch.num_rows

    def rows(self, batch: pa.RecordBatch) -> KeyRows:
        """Return the keys and amounts of a batch."""
        words = [as_numbers(batch.column(word)).view(np.uint64) for word in range(self._words)]
        keys = words[0][np.newaxis] if self._words == 1 else np.stack(words)
        weighted = "amount" in batch.schema.names
        return KeyRows(keys, as_numbers(batch.column("amount")) if weighted else None)

    def with_units(self, batch: pa.RecordBatch) -> Keys:
        """Return the unit, a whole number, of each row of a batch, the words of its key, and its amount."""
        units = as_numbers(batch.column("unit"))
        # Numbers with a sign in the order of those without: near ones stay near.
        units = units if units.dtype == np.uint64 else units.view(np.uint64) ^ np.uint64(1 << 63)
        keys, amounts = self.rows(batch)
        return np.stack([units, *keys, *([] if amounts is None else [amounts.view(np.uint64)])])
