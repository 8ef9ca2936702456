"""From opened rows to counted slices, in this process; and what every engine's counted table offers.

DuckDB reads, filters and encodes; keys stream out, are sorted run by run and merged range by range, or added
up at once where there are few places to add them to.

Promise: the table holds, for each cell, the rows that `Attribute.place` puts there (or the sum of their
amounts), of each unit as much as it may count, chosen by the unit's own rows alone and the same whenever
they are read again. Nothing that is printed or raised speaks of a row.
Cost: one pass over the data, one sort of all rows unless cells are few; memory stays within `memory`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.measure import Measure
from hushtable.engines.sliced.coding import broken_rules
from hushtable.engines.sliced.engine import as_bytes, default_memory, quiet
from hushtable.engines.sliced.keying import KeyReader, Tally, keyed_rows
from hushtable.engines.sliced.reading import whole_unit_sql
from hushtable.engines.sliced.rows import OpenedRows, Wanted
from hushtable.engines.sliced.runs import KeyRows, counted_slices, exact_sum
from hushtable.engines.sliced.summing import (
    CountedTables,
    counted_places,
    counted_sums,
    few_cells,
    table_sums,
)
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import BitSource
from hushtable.structures.axes import AxisSpace
from hushtable.structures.structure import NodeSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table.adding import marginals
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells, Slice, Slices, SlicesHere
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:
    from hushtable.engines.sliced.closing import RunTexts


@dataclass(frozen=True, kw_only=True, eq=False)
class CountRequest:
    """What is to be counted, and with what. Nothing in it comes from the rows.

    It must be known before which `nodes` will be lifted or added up from the cells, and of workers elsewhere
    also about how many empty ones will be `drawn`, to have equal work.
    """

    domain: Domain
    measure: Measure
    entropy: BitSource
    where: str | None = None
    query: str | None = None
    rows_are_units: bool = False
    memory: int | str | None = None
    threads: int | None = None
    nodes: NodeSpace | None = None
    drawn: float = 0.0
    left_out: bool = False  # whether it is to be told how many units are left out
    progress: Progress = unheard

    @property
    def wanted(self) -> Wanted:
        """What is wanted of the rows."""
        return Wanted(
            names=[*(attribute.column for attribute in self.domain.attributes), *self.measure.readers],
            amount=self.measure.amount_column,
            query=self.query,
            where=self.where,
            rows_are_units=self.rows_are_units,
        )

    @property
    def room(self) -> int:
        """How many bytes of this machine's memory may be used; DuckDB gets a quarter of them."""
        return default_memory() if self.memory is None else as_bytes(self.memory)

    @property
    def workers(self) -> int:
        """How many threads may work."""
        return self.threads or os.cpu_count() or 1


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

    @property
    def units(self) -> tuple[int, int] | None:
        """How many units have a row that was counted, and how many have none, if that was asked for."""

    @property
    def texts(self) -> RunTexts | None:
        """The texts behind codes, where values are `unlisted`: the space then holds those that occur."""

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""

    def cells(self) -> Iterator[Cells]:
        """Yield the occupied cells of each slice."""

    @property
    def sensitivity(self) -> Sensitivities:
        """What one unit changes in the cells."""

    def total(self) -> int:
        """Return the sum of all counts."""

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""


class CountedRows(NamedTuple):
    """A counted table in memory, or in files of this machine."""

    space: KeySpace
    slices: SlicesHere
    tally: Tally
    sensitivity: Sensitivities
    texts: RunTexts | None = None
    units: tuple[int, int] | None = None

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""
        cells = (part.load() for part in self.slices.parts)
        return joined(self.space, cells, sensitivity=self.sensitivity)

    def cells(self) -> Iterator[Cells]:
        """Yield the occupied cells of each slice."""
        return (part.load() for part in self.slices.parts)

    def total(self) -> int:
        """Return the sum of all counts."""
        return sum(exact_sum(part.load()[1]) for part in self.slices.parts)

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""
        return replace(self.slices, parts=lifted(self.table(), nodes))

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""
        return marginals(self.cells(), self.space, cube, numbers, sensitivity=None)

    def __repr__(self) -> str:
        return f"CountedRows(shape={self.space.shape}, counts=<private>)"


def joined(space: KeySpace, slices: Iterable[Cells], *, sensitivity: Sensitivities) -> SparseTable:
    """Return the cells of all slices as one table in memory."""
    cells = list(slices)
    keys = np.concatenate([keys for keys, _ in cells], axis=1)
    counts = np.concatenate([counts for _, counts in cells])
    return SparseTable.from_cells(space, keys, counts, sensitivity=sensitivity)


def counted_here(rows: OpenedRows, request: CountRequest) -> CountedRows | CountedTables:
    """Count opened rows in this process. What does not fit in memory lives in the folder of the rows.

    Where rows count 1 each, and there are few cells, or only a few small tables are asked for, each row is
    added to those as it comes. Else the cells are sorted.
    """
    domain, measure, space, texts = request.domain, request.measure, request.domain.space, None
    plain = measure.amount_column is None and not domain.unlisted
    few = plain and few_cells(space)
    cube = None if request.nodes is None else request.nodes.cube
    sums = table_sums(space, cube, request.room // 8) if plain and not few else None
    keyed = keyed_rows(rows, domain, measure, may_group=not few and sums is None)
    units, counts_units, whole = None, request.left_out and measure.unit is None, None
    if measure.unit is not None:
        from hushtable.engines.sliced.bounding import bounded, drawn_salt, told_apart

        if request.left_out:
            keyed, units = told_apart(keyed, rows.connection)
        whole = None if domain.unlisted else whole_unit_sql(rows.columns, measure.unit)
        if whole is None:
            keyed = bounded(keyed, measure.unit, salt=drawn_salt(request.entropy))
    if domain.unlisted:
        from hushtable.engines.sliced.closing import closed

        # Behind the bounds, which must not know the codes: these depend on the rows of others.
        keyed, space, texts = closed(keyed, domain, rows.connection)
    words = len(space.bounds)

    def reading() -> None:
        request.progress("Reading", rows.connection.query_progress() / 100)

    stream = KeyReader(
        words,
        broken_rules(domain),
        reading,
        grouped=keyed.grouped,
        people=measure.count_column is not None and counts_units,
    )
    # Small batches of keys of several words share fewer first words, which makes them quicker to sort.
    little = request.room < 1 << 30
    batch_rows = 1 << (18 if little or words > 1 else 20)
    if whole is not None:  # which are sorted with more beside them
        batch_rows = 1 << (16 if little else 17)
    # Closed here, whatever happens: a stream that an error left open would end its thread at any time.
    further = "" if whole is None else f", {whole} AS unit"
    with closing(keyed.batches(rows.connection, batch_rows, further)) as batches, ExitStack() as stack:
        kept, room, chooser = stream.kept(batches), request.room // 2, None
        if whole is None:
            found: Iterator[KeyRows] = map(stream.rows, kept)
        else:
            from hushtable.engines.sliced.choosing import Chooser

            assert measure.unit is not None
            chooser = Chooser(measure.unit, request.entropy, words=words, amounts=keyed.amounts)
            room //= 8 if little else 2  # beside what is sorted at the same time
            chosen = chooser.chosen(
                map(stream.with_units, kept),
                folder=rows.folder,
                rows_in_memory=room // (16 * (words + 3) + 24),
                threads=request.workers,
            )
            stack.callback(chosen.close)
            found = chosen
        threads, progress, slices, tables = request.workers, request.progress, list[Slice](), None
        if few:
            slices = quiet(counted_places, found, space, threads=threads, progress=progress)
        elif sums is not None:
            tables = quiet(counted_sums, found, sums, threads=threads)
        else:
            slices = quiet(
                counted_slices,
                found,
                space,
                folder=rows.folder,
                rows_in_memory=room // (16 * words + 24),
                threads=threads,
                progress=progress,
            )
    if texts is not None:
        from hushtable.engines.sliced.closing import forget_rows

        forget_rows(rows.connection)
    if counts_units:
        units = stream.units
    tally = stream.tally if chooser is None else stream.tally._replace(counted=chooser.counted)
    if tables is not None:
        return CountedTables(space, dict(enumerate(tables)), tally, measure.sensitivities, units)
    here = SlicesHere(slices, threads, progress)
    return CountedRows(space, here, tally, measure.sensitivities, texts, units)
