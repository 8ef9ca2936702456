"""From rows to counted slices on one machine.

DuckDB reads, filters and encodes; keys stream out, are sorted run by run and merged range by range.

Promise: the table holds, for each cell, the rows that `Attribute.place` puts there (or the sum of their
amounts), of each unit at most `max_rows`, chosen by the unit's own rows alone and the same whenever they are
read again. Nothing that is printed or raised speaks of a row.
Cost: one pass over the data (a second where most rows repeat), one sort; memory stays within `memory`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.coding import broken_rules, coding, keys_sql
from hushtable.engines.engine import LEAST_MEMORY, as_bytes, fetched, quiet, quiet_rows
from hushtable.engines.quoting import name_sql
from hushtable.engines.reading import form_of
from hushtable.engines.rows import Rows as Opened
from hushtable.engines.rows import opened_rows
from hushtable.engines.runs import Rows, counted_slices
from hushtable.errors import BadDomain, BadRows
from hushtable.noise import BitSource, KeyStream
from hushtable.structures.nodes import NodeSpace
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells, Slices, SlicesHere
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_SAMPLE = 1 << 17  # rows that are looked at to tell whether most of them repeat


class CountedRows(NamedTuple):
    """A counted table, slice by slice. Private. `dropped`: whether a rule of the domain dropped any row."""

    space: KeySpace
    slices: SlicesHere
    dropped: bool

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""
        return joined(self.space, (part.load() for part in self.slices.parts))

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(exact_sum(part.load()[1]) for part in self.slices.parts)

    def lifted(self, nodes: NodeSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""
        return replace(self.slices, parts=lifted(self.table(), nodes))

    def __repr__(self) -> str:
        return f"CountedRows(shape={self.space.shape}, counts=<private>)"


def joined(space: KeySpace, slices: Iterable[Cells]) -> SparseTable:
    """Return the cells of all slices as one table in memory."""
    cells = list(slices)
    keys = np.concatenate([keys for keys, _ in cells], axis=1)
    return SparseTable.from_cells(space, keys, np.concatenate([counts for _, counts in cells]))


def exact_sum(counts: NDArray[np.int64]) -> int:
    """Add up counts in two halves, so that nothing wraps."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def count(
    data: Any,
    *,
    domain: Domain,
    where: str | None = None,
    query: str | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    unit: Unit | None = None,
    rows_are_units: bool = False,
    memory: int | str | None = None,
) -> SparseTable:
    """Count the rows of `data` in the cells of `domain`. The table is private.

    =============================  =====================================================================
    data                           read as
    =============================  =====================================================================
    a path, a list, a pattern      Parquet, CSV, TSV, JSON lines, Arrow; of a folder, all such files in it
    a DuckDB or SQLite file        its only table, or what `query` selects
    an Arrow, pandas, Polars ...   any object with the Arrow PyCapsule interface
    =============================  =====================================================================

    `where` keeps the rows for which a condition on their own columns holds. `query` selects, renames and
    computes columns of one table row by row; it calls the rows of files and objects `data`. Anything more
    needs `rows_are_units`: then it is a row of the query's result that a release protects.

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> from hushtable.domain.attributes import Attribute, Integers
    >>> domain = ht.Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=120)),))
    >>> ht.count(pa.table({"age": [34, 34, 61]}), domain=domain)
    SparseTable(shape=(121,), counts=<private>)
    """
    if not isinstance(domain, Domain):
        hint = 'Pass ht.Domain.load("commute.toml").'
        raise BadDomain(f"domain is of type {type(domain).__name__}, not a Domain", hint)
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    with counted_rows(
        data,
        domain=domain,
        measure=measure,
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        memory=memory,
        entropy=KeyStream(),
    ) as counted:
        return quiet(counted.table)


@contextmanager
def counted_rows(
    data: Any,
    *,
    domain: Domain,
    measure: Measure,
    where: str | None = None,
    query: str | None = None,
    rows_are_units: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    entropy: BitSource,
    progress: Progress = unheard,
) -> Iterator[CountedRows]:
    """Count rows; what does not fit in memory lives in files until the block ends."""
    room = default_memory() if memory is None else as_bytes(memory)
    workers = threads or os.cpu_count() or 1
    with opened_rows(
        data,
        names=[*(attribute.column for attribute in domain.attributes), *measure.columns],
        query=query,
        where=where,
        rows_are_units=rows_are_units,
        memory=room // 4,
        threads=workers,
    ) as rows:
        sql, columns = _keyed(rows, domain, measure, entropy)
        words = len(domain.space.bounds)

        def reading() -> None:
            progress("Reading", rows.connection.query_progress() / 100)

        stream = _Stream(words, broken_rules(domain), reading)
        # Small batches of keys of several words share fewer first words, which makes them quicker to sort.
        batch_rows = 1 << (18 if room < 1 << 30 or words > 1 else 20)

        def batches() -> pa.RecordBatchReader:
            kept = ", ".join(columns)
            return rows.connection.sql(f"SELECT {kept} FROM ({sql}) AS keyed").to_arrow_reader(batch_rows)

        # Closed here, whatever happens: a stream that an error left open would end its thread at any time.
        with closing(quiet_rows(batches, rows.connection)) as stream_of_batches:
            slices = quiet(
                counted_slices,
                stream.rows(stream_of_batches),
                domain.space,
                folder=rows.folder,
                rows_in_memory=room // 2 // (16 * words + 24),
                threads=workers,
                progress=progress,
            )
        yield CountedRows(domain.space, SlicesHere(slices, workers, progress), stream.dropped)


def default_memory() -> int:
    """Return half of the machine's memory."""
    return max(LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def _keyed(rows: Opened, domain: Domain, measure: Measure, entropy: BitSource) -> tuple[str, list[str]]:
    """Return SQL for the keys of all rows, with its columns; `amount` is what a row adds, 1 if it is absent.

    Where most rows repeat others, equal ones are taken together first: as they come, or else by their keys.
    """
    source, types = rows.sql, rows.columns
    may_group = rows.rereadable and measure == Measure()
    if may_group:
        spelled = {name.lower(): name for name in types} | {name: name for name in types}
        wanted = dict.fromkeys(attribute.column for attribute in domain.attributes)
        found = [spelled.get(name, spelled.get(name.lower())) for name in wanted]
        # Text may have a collation under which different values are equal, so it is not grouped as it comes.
        read = [name_sql(name) for name in found if name is not None and form_of(types[name]) != "text"]
        if len(read) == len(found) and _mostly_repeats(source, read, rows.connection):
            together = "rows taken together"
            while together in spelled:
                together += "_"
            kept = ", ".join(read)
            what = f"count(*) AS {name_sql(together)}"
            source = f"SELECT {kept}, {what} FROM (\n{source}\n) AS rows GROUP BY ALL"
            types = {**types, together: "BIGINT"}
            measure, may_group = Measure(count_column=together), False
    coded = coding(source, types, domain, measure, named=rows.named)
    for name, table in coded.tables.items():
        rows.connection.register(name, table)
    sql = keys_sql(coded, domain)
    columns = [f"k{word}" for word in range(len(domain.space.bounds))]
    if measure.amount_column is not None:
        columns.append("amount")
    if broken_rules(domain):
        columns.append("broken")
    if measure.unit is not None:
        sql = _bounded_sql(sql, columns, measure.unit, salt=entropy.words(2).tobytes().hex())
    elif may_group and _mostly_repeats(sql, columns, rows.connection):
        sql = f"SELECT {', '.join(columns)}, count(*) AS amount FROM ({sql}) AS keyed GROUP BY ALL"
        columns.append("amount")
    return sql, columns


def _bounded_sql(sql: str, columns: list[str], unit: Unit, *, salt: str) -> str:
    """Return the rows with at most `max_rows` of each unit, at random but for its own rows alone.

    Equal rows of a unit are numbered, and each is ranked by a hash of itself and its number, under a salt
    drawn for this count. Equal rows are alike, so how they come to be numbered does not change what is
    counted: it is the same in whatever order rows are read, and whatever other units do.
    """
    kept = ", ".join(columns)
    dropped = " OR ".join(f"{column} IS NULL" for column in [*columns, "unit"])
    marked = f"SELECT *, {dropped} AS dropped FROM ({sql}) AS keyed"
    copy = f"row_number() OVER (PARTITION BY unit, dropped, {kept})"
    numbered = f"SELECT {kept}, unit, dropped, {copy} AS copy FROM ({marked}) AS marked"
    # DuckDB's own `hash` of several columns is too regular: a rare row of a unit would be kept too often.
    order = f"md5_number(concat_ws('/', '{salt}', unit, {kept}, copy)), {kept}, copy"
    place = f"row_number() OVER (PARTITION BY unit, dropped ORDER BY {order})"
    ranked = f"SELECT {kept}, unit, dropped, {place} AS place FROM ({numbered}) AS numbered"
    # Rows that are dropped come out with a NULL, so that it is known that there were any.
    first = f"CASE WHEN unit IS NOT NULL THEN {columns[0]} END AS {columns[0]}"
    return (
        f"SELECT {', '.join([first, *columns[1:]])} FROM ({ranked}) AS ranked "
        f"WHERE dropped OR place <= {unit.max_rows}"
    )


def _mostly_repeats(sql: str, columns: list[str], connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether rows share cells so much that grouping should come before sorting: a matter of time."""
    kept = ", ".join(columns)
    some = f"SELECT {kept} FROM (\n{sql}\n) AS keyed LIMIT {_SAMPLE}"
    sampled = f"SELECT count(*), count(DISTINCT hash({kept})) FROM ({some}) AS first_rows"
    rows, distinct = fetched(sampled, connection)[0]
    return bool(rows == _SAMPLE and distinct < 0.75 * rows)


class _Stream:
    """Batches of the engine as keys and amounts; remembers whether rules dropped any."""

    def __init__(self, words: int, rules: list[BadRows], heard: Callable[[], None]) -> None:
        self._words, self._rules, self._heard = words, rules, heard
        self.dropped = False

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Rows]:
        """Yield the rows that are counted."""
        for batch in batches:
            self._heard()
            if self._rules:
                broken = int(as_numbers(batch.column("broken")).max(initial=0))
                if broken:
                    raise self._rules[broken - 1]
            counted = batch.drop_null() if any(column.null_count for column in batch.columns) else batch
            self.dropped |= counted.num_rows < batch.num_rows
            if counted.num_rows:
                words = [as_numbers(counted.column(word)) for word in range(self._words)]
                keys = words[0][np.newaxis] if self._words == 1 else np.stack(words)
                weighted = "amount" in counted.schema.names
                amounts = as_numbers(counted.column("amount")) if weighted else None
                yield Rows(keys, amounts)
