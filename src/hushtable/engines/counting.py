"""From rows to counted slices: on one machine, or on Spark, by where the rows are.

Here, DuckDB reads, filters and encodes; keys stream out, are sorted run by run and merged range by range.

Promise: the table holds, for each cell, the rows that `Attribute.place` puts there (or the sum of their
amounts), of each unit at most `max_rows`, chosen by the unit's own rows alone and the same whenever they are
read again. Nothing that is printed or raised speaks of a row.
Cost: one pass over the data (a second where most rows repeat), one sort; memory stays within `memory`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.measure import Measure, Sensitivities, Unit
from hushtable.engines.inputs import check_categories
from hushtable.engines.local.rows import opened_rows
from hushtable.engines.sliced.coding import broken_rules
from hushtable.engines.sliced.engine import LEAST_MEMORY, as_bytes, quiet
from hushtable.engines.sliced.keying import KeyReader, Tally, drawn_salt, keyed_rows
from hushtable.engines.sliced.runs import counted_slices, exact_sum
from hushtable.errors import BadDomain, within_memory
from hushtable.noise import BitSource, KeyStream
from hushtable.structures.axes import AxisSpace
from hushtable.structures.structure import NodeSpace
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells, Slices, SlicesHere
from hushtable.table.sparse import SparseTable


class Counted(Protocol):
    """A counted table, wherever its slices are. Private."""

    @property
    def space(self) -> KeySpace:
        """The cells of the domain."""

    @property
    def slices(self) -> Slices:
        """Its slices."""

    @property
    def tally(self) -> Tally:
        """How many rows were counted, and how many were dropped."""

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""

    def total(self) -> int:
        """Return the sum of all counts."""

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""


class CountedRows(NamedTuple):
    """A counted table in memory, or in files of this machine."""

    space: KeySpace
    slices: SlicesHere
    tally: Tally
    sensitivity: Sensitivities

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""
        cells = (part.load() for part in self.slices.parts)
        return joined(self.space, cells, sensitivity=self.sensitivity)

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(exact_sum(part.load()[1]) for part in self.slices.parts)

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""
        return replace(self.slices, parts=lifted(self.table(), nodes))

    def __repr__(self) -> str:
        return f"CountedRows(shape={self.space.shape}, counts=<private>)"


def joined(space: KeySpace, slices: Iterable[Cells], *, sensitivity: Sensitivities) -> SparseTable:
    """Return the cells of all slices as one table in memory."""
    cells = list(slices)
    keys = np.concatenate([keys for keys, _ in cells], axis=1)
    counts = np.concatenate([counts for _, counts in cells])
    return SparseTable.from_cells(space, keys, counts, sensitivity=sensitivity)


@within_memory
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

    It knows what one unit changes in it (`table.sensitivity`), and `ht.summarize` draws noise for that.

    =============================  =====================================================================
    data                           read as
    =============================  =====================================================================
    a path, a list, a pattern      Parquet, CSV, TSV, JSON lines, Arrow; of a folder, all such files in it
    a DuckDB or SQLite file        its only table, or what `query` selects
    an Arrow, pandas, Polars ...   any object with the Arrow PyCapsule interface
    a DataFrame of Spark           by its workers; the table comes to the driver
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
    nodes: NodeSpace | None = None,
    drawn: float = 0.0,
    progress: Progress = unheard,
) -> Iterator[Counted]:
    """Count rows where they are. What does not fit in memory lives in files until the block ends.

    Workers elsewhere must know before which `nodes` will be lifted from the cells, and about how many empty
    ones will be `drawn`, to have equal work.
    """
    check_categories(domain, data)
    if is_on_spark(data):
        from hushtable.engines.spark.counting import counted_on_spark

        with counted_on_spark(
            data,
            domain=domain,
            measure=measure,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            memory=memory,
            entropy=entropy,
            nodes=nodes,
            drawn=drawn,
            progress=progress,
        ) as elsewhere:
            yield elsewhere
        return
    room = default_memory() if memory is None else as_bytes(memory)
    workers = threads or os.cpu_count() or 1
    with opened_rows(
        data,
        names=[*(attribute.column for attribute in domain.attributes), *measure.readers],
        amount=measure.amount_column,
        query=query,
        where=where,
        rows_are_units=rows_are_units,
        memory=room // 4,
        threads=workers,
    ) as rows:
        keyed, words = keyed_rows(rows, domain, measure), len(domain.space.bounds)
        if measure.unit is not None:
            keyed = keyed.bounded(measure.unit, salt=drawn_salt(entropy))

        def reading() -> None:
            progress("Reading", rows.connection.query_progress() / 100)

        stream = KeyReader(words, broken_rules(domain), reading, grouped=keyed.grouped)
        # Small batches of keys of several words share fewer first words, which makes them quicker to sort.
        batch_rows = 1 << (18 if room < 1 << 30 or words > 1 else 20)
        # Closed here, whatever happens: a stream that an error left open would end its thread at any time.
        with closing(keyed.batches(rows.connection, batch_rows)) as batches:
            slices = quiet(
                counted_slices,
                map(stream.rows, stream.kept(batches)),
                domain.space,
                folder=rows.folder,
                rows_in_memory=room // 2 // (16 * words + 24),
                threads=workers,
                progress=progress,
            )
        yield CountedRows(
            domain.space,
            SlicesHere(slices, workers, progress),
            stream.tally,
            sensitivity=measure.sensitivities,
        )


def is_on_spark(data: Any) -> bool:
    """Return whether data are a DataFrame of Spark."""
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return any(module.startswith("pyspark.sql") and name == "DataFrame" for module, name in kinds)


def default_memory() -> int:
    """Return half of the machine's memory."""
    return max(LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
