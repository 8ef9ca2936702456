"""From rows of Spark to counted slices on its workers.

    rows -> sorted runs of keys -> (shuffle) -> counted slices -> candidates, by whoever maps a task over them

Promise: what `sliced.counting` promises, by the same code. Counts stay on the workers, and are the same if
they must be counted again. The driver sees where slices lie, how many cells of each are occupied, their sum,
and what is drawn; and all cells of a structure that is not drawn slice by slice.
Cost: one pass over the data and one shuffle of packed keys. The driver's memory follows the slices and what
is drawn, not the rows and not the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.domain.keys import KeySpace, no_keys, sorted_with_places
from hushtable.engines.sliced.bounding import drawn_salt
from hushtable.engines.sliced.closing import RunTexts
from hushtable.engines.sliced.counting import CountedRows, CountRequest, joined
from hushtable.engines.sliced.engine import as_bytes, default_memory
from hushtable.engines.sliced.keying import Tally
from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.rows import words_of
from hushtable.engines.spark.blocks import FIELDS, SCHEMA, candidates_in, heard, keys_in, rows_in
from hushtable.engines.spark.cutting import blocks_over, boxes_over, target_of
from hushtable.engines.spark.jobs import at_work, ran, undone
from hushtable.engines.spark.sources import check_frame
from hushtable.engines.spark.staging import staging_folder
from hushtable.engines.spark.tasks import (
    MEMORY,
    CellCut,
    Cut,
    NodeCut,
    Reading,
    Work,
    bound_units,
    cells_in,
    changed,
    checked,
    count_slices,
    deal_runs,
    digest_of,
    draw_slices,
    read_runs,
    read_units,
    silent,
    tell_by_unit,
    unit_columns,
)
from hushtable.engines.spark.texts import Numbering, TextCut
from hushtable.engines.spark.watching import Watch
from hushtable.errors import BadData, BadQuery, HushtableError, InternalError, LowMemory
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import BitSource, KeyStream
from hushtable.structures.axes import AxisSpace
from hushtable.structures.table_space import TableSpace
from hushtable.structures.trees import DyadicTree, HaarTree
from hushtable.table.adding import marginals
from hushtable.table.lifting import lifted_above
from hushtable.table.slices import Candidates, Cells, Slices, SlicesHere, Task, split
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READ_AT_ONCE = 1 << 21  # candidates that come to the driver together
_COPIES = 6  # of a cell, while all nodes that hold it are found and drawn
_DRIVER = (
    "Trees that are pruned or consistent, hierarchies, product trees, cubes and sketches need all occupied "
    "cells in the driver's memory: use a larger machine for it, or ht.Dyadic(), ht.Haar() or cells."
)


@dataclass(frozen=True, eq=False)
class SlicesOnSpark:
    """Counted slices on workers, and few that the driver has: nodes of a tree `above` what workers hold."""

    spark: SparkSession
    counted: DataFrame
    cut: Cut
    occupied: Sequence[Sequence[int]]  # cells or nodes, of each slice of each box or block
    digests: Sequence[bytes]  # of all counts of each box or block
    above: SlicesHere
    staging: str
    watch: Watch
    numbering: Numbering | None = None  # of texts that nobody can list

    @property
    def words(self) -> int:
        """How many words the keys of candidates have: the number of a node is one."""
        return len(self.cut.starts)

    @property
    def cells_empty(self) -> Sequence[int]:
        """How many cells or nodes of each slice hold nothing."""
        elsewhere = [
            size - taken
            for number, counts in enumerate(self.occupied)
            for size, taken in zip(self.cut.sizes(number), counts, strict=True)
        ]
        return [*self.above.cells_empty, *elsewhere]

    def map_slices(
        self, task: Task, accepted: Sequence[Sequence[int]], entropy: BitSource
    ) -> Iterator[Candidates]:
        """Yield what the task draws from slices: those above, then those of each box or block together."""
        here = len(self.above.parts)
        ends = list(accumulate((len(counts) for counts in self.occupied), initial=here))
        dealt = [accepted[begin:end] for begin, end in pairwise(ends)]
        yield from self.above.map_slices(task, accepted[:here], entropy)
        work = partial(draw_slices, task, self.cut, self.digests, dealt)
        drawn = self.counted.mapInArrow(partial(silent, work), SCHEMA)
        # Drawn by this job and never again: what follows reads the files.
        with self.watch.step("Drawing"):
            ran(lambda: drawn.write.option("compression", "none").parquet(self.staging))
        written = ran(lambda: self.spark.read.schema(SCHEMA).parquet(self.staging))
        parts = sorted((row["slice"], row["size"]) for row in _heard(written, "slice", "size"))
        if [number for number, _ in parts] != list(range(len(dealt))):
            raise InternalError("what was drawn from a slice is not there once")
        for first, last in _groups([size for _, size in parts]):
            some = written.where(f"slice BETWEEN {first} AND {last}")
            found = {row["slice"]: row for row in rows_in(ran(some.toArrow).to_batches())}
            for number in range(first, last + 1):
                row = found.pop(number)
                drawn_here = candidates_in(row, self.words)
                yield drawn_here if self.numbering is None else self.numbering.drawn(row, drawn_here)
            self.watch.progress("Gathering", (last + 1) / len(dealt))


def _groups(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of slices that are read together."""
    first, held = 0, 0
    for number, size in enumerate(sizes):
        if held and held + size > _READ_AT_ONCE:
            yield first, number - 1
            first, held = number, 0
        held += size
    yield first, len(sizes) - 1


@dataclass(frozen=True, eq=False)
class CountedOnSpark:
    """A counted table on workers. Private."""

    space: KeySpace
    slices: SlicesOnSpark
    tally: Tally
    sums: int
    sensitivity: Sensitivities
    units: None = None  # who is left out is not counted here

    @property
    def texts(self) -> RunTexts | None:
        """The texts of cells that were drawn, where values are `unlisted`."""
        return None if self.slices.numbering is None else self.slices.numbering.texts

    def table(self) -> SparseTable:
        """Return all slices as one table in the driver's memory."""
        return joined(self.space, self.cells(), sensitivity=self.sensitivity)

    def cells(self) -> Iterator[Cells]:
        """Yield the occupied cells of each slice; few of them are in the driver's memory at once."""
        slices = self.slices
        if slices.numbering is not None:
            raise InternalError("cells were asked for whose values nobody can list")
        for first, last in _groups([sum(counts) for counts in slices.occupied]):
            some = slices.counted.where(f"slice BETWEEN {first} AND {last}")
            found = {row["slice"]: row for row in rows_in(ran(some.toArrow).to_batches())}
            for number in range(first, last + 1):
                row = found.pop(number)
                if digest_of(row) != slices.digests[number]:  # a unit could be in the cells of two slices
                    raise changed()
                yield cells_in(row, slices.words)

    def total(self) -> int:
        """Return the sum of all counts."""
        return self.sums

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""
        return marginals(self.cells(), self.space, cube, numbers, sensitivity=None)

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold: those that were announced."""
        if not isinstance(self.slices.cut, NodeCut) or repr(self.slices.cut.tree) != repr(nodes.axes[0].tree):
            raise InternalError("a tree was lifted that the workers had not cut their cells for")
        return self.slices

    def __repr__(self) -> str:
        return f"CountedOnSpark(shape={self.space.shape}, counts=<private>)"


@contextmanager
def counted_on_spark(frame: DataFrame, request: CountRequest) -> Iterator[CountedOnSpark | CountedRows]:
    """Count the rows of a DataFrame. Cells stay on the workers, unless all are needed in one memory."""
    domain, measure, nodes, entropy = request.domain, request.measure, request.nodes, request.entropy
    spark = session_of(frame)
    check_frame(frame)
    check_row_by_row(request)
    room = MEMORY if request.memory is None else as_bytes(request.memory)
    # What workers cannot draw a part of is drawn here, from all cells.
    whole = nodes is not None and not nodes.structure.sliced
    tree, line = (None, None)
    if nodes is not None and nodes.axes and not whole:
        tree, line = nodes.axes[0].tree, nodes.axes[0].line
    reading = Reading(domain, measure, request.where, request.query, room, line=line)
    rows = columns_read(frame, reading)
    salt = int(KeyStream().words(1)[0])
    reading = reading._replace(columns=tuple(rows.columns), salt=salt)
    reading = checked(reading, ran(rows.limit(0).toArrow))
    with ExitStack() as stack:
        # Removed last: when it goes, no job is at work that would write to it again.
        staging = stack.enter_context(staging_folder(spark))
        watch = Watch(spark, stack.enter_context(at_work(spark)), request.progress)
        runs = runs_of(rows, reading, entropy)
        with watch.step("Reading", stages=1 if measure.unit is None else 2):
            found = _kept(runs, stack, "size", "sample", "mark")
        workers = spark.sparkContext.defaultParallelism
        cut: Cut
        if domain.unlisted:
            rows_read = sum(run["size"] or 0 for run in found)
            cut = TextCut(domain, max(1, ceil(rows_read / target_of(rows_read, workers=workers))))
        else:
            cut = _cut(reading.space, tree, found, request.drawn, workers=workers)
        slices = cut.starts.shape[1]
        pieces = runs.mapInArrow(partial(silent, partial(deal_runs, cut, salt)), SCHEMA)
        every = pieces.unionAll(_one_for_each(spark, slices))
        counted = every.repartitionById(slices, "slice").mapInArrow(
            partial(silent, partial(count_slices, cut)), SCHEMA
        )
        with watch.step("Counting", stages=2):
            facts = _kept(counted, stack, "slice", "total", "occupied", "digest", "mark")
        # A worker that was lost may have made others read again, after some slices had been counted.
        if (sum(row["mark"] or 0 for row in found) - sum(row["mark"] for row in facts)) % (1 << 64):
            raise changed()
        facts.sort(key=lambda row: int(row["slice"]))
        sums = [int(row["total"]) for row in facts]
        occupied = [np.frombuffer(row["occupied"], dtype=np.int64).tolist() for row in facts]
        digests = [bytes(row["digest"]) for row in facts]
        above = lifted_above(cut.tree, cut.blocks, sums) if isinstance(cut, NodeCut) else []
        numbering = Numbering(domain, list(map(sum, occupied))) if domain.unlisted else None
        there = CountedOnSpark(
            reading.space if numbering is None else numbering.space,
            SlicesOnSpark(
                spark, counted, cut, occupied, digests, SlicesHere(above), staging, watch, numbering
            ),
            tally=_tally(heard(row["told"]) for row in found if row["told"] is not None),
            sums=sum(sums),
            sensitivity=measure.sensitivities,
        )
        yield _gathered(there, request) if whole else there


def _gathered(counted: CountedOnSpark, request: CountRequest) -> CountedRows:
    """Return a table with all cells in the driver's memory: before anything is paid for."""
    cells = sum(map(sum, counted.slices.occupied))
    if cells * 8 * (counted.slices.words + 1) * _COPIES > default_memory():
        raise LowMemory(_DRIVER)
    parts = split(counted.table(), parts=request.workers)
    here = SlicesHere(parts, request.workers, request.progress)
    return CountedRows(counted.space, here, counted.tally, counted.sensitivity)


def session_of(frame: DataFrame) -> SparkSession:
    """Return the session of a DataFrame."""
    if not hasattr(frame, "repartitionById"):
        import pyspark

        fact = f"pyspark {pyspark.__version__} is too old, and may be that of the cluster"
        raise BadData(fact, "Publishing on Spark needs 4.1 or newer.")
    check_ends(frame)
    return frame.sparkSession


def check_ends(frame: DataFrame) -> None:
    """Raise if a DataFrame is a stream."""
    if frame.isStreaming:
        raise BadData("this DataFrame is a stream, which has no end", "Publish what it has written so far.")


def check_row_by_row(request: CountRequest) -> None:
    """Raise where a query would need more rows than a worker sees."""
    if request.query is not None and request.rows_are_units:
        fact = "a query over whole tables cannot run on workers: each worker sees only a part of the rows"
        raise BadQuery(fact, "Prepare the rows with Spark itself, and pass that DataFrame without a query.")


def columns_read(frame: DataFrame, reading: Reading) -> DataFrame:
    """Return the columns that may be read, of a frame that has none of their names twice."""
    check_distinct(frame.columns, "the data have")
    needed, there = ({folded(name) for name in names} for names in (reading.names, frame.columns))
    # Where one is missing, all others are kept: the message tells what there is.
    if reading.query is not None or not needed <= there:
        return frame
    wanted = needed.union(folded(word) for word in words_of(reading.where))
    names = [name for name in frame.columns if folded(name) in wanted]
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in names))


def runs_of(
    rows: DataFrame, reading: Reading, entropy: BitSource, after: Callable[[Work], Work] = lambda work: work
) -> DataFrame:
    """Return sorted runs of keys, of each unit as much as it may count. `after` adds to what tasks do."""
    unit = reading.measure.unit
    rows = rows.toDF(*(f"c{place}" for place in range(len(reading.columns))))
    if unit is None:
        return rows.mapInArrow(partial(silent, after(partial(read_runs, reading))), SCHEMA)
    schema = ", ".join(f"{name} {kind}" for name, kind in unit_columns(reading).items())
    keyed = partial(silent, partial(read_units, reading), tell=partial(tell_by_unit, reading))
    bounded = after(partial(bound_units, reading, unit, drawn_salt(entropy)))
    return rows.mapInArrow(keyed, schema).repartition("unit").mapInArrow(partial(silent, bounded), SCHEMA)


def _cut(
    space: KeySpace, tree: DyadicTree | HaarTree | None, runs: Sequence[Any], drawn: float, *, workers: int
) -> CellCut | NodeCut:
    """Cut the domain, or the line of a tree, by what the runs tell of their keys."""
    words, runs = len(space.bounds), [run for run in runs if run["size"]]
    samples = [keys_in(run["sample"], words) for run in runs]
    each = [
        np.full(sample.shape[1], run["size"] / sample.shape[1])
        for run, sample in zip(runs, samples, strict=True)
    ]
    sample, order = sorted_with_places(np.concatenate([no_keys(words), *samples], axis=1))
    weights = np.concatenate([np.zeros(0), *each])[order]
    target = target_of(sum(run["size"] for run in runs) + drawn, workers=workers)
    if tree is None:
        return CellCut(boxes_over(space.bounds, sample, weights, drawn=drawn, target=target))
    return NodeCut(tree, blocks_over(space.cells_total, sample, weights, drawn=drawn, target=target))


def _one_for_each(spark: SparkSession, slices: int) -> DataFrame:
    """Return an empty piece of each slice, so that all are there."""
    values = {"slice": "CAST(id AS INT)", "size": "0L", "mark": "0L", "keys": "CAST('' AS BINARY)"}
    columns = [f"{values.get(name, f'CAST(NULL AS {kind})')} AS {name}" for name, kind in FIELDS.items()]
    return spark.range(0, slices, 1, 1).selectExpr(*columns)


def _kept(frame: DataFrame, stack: ExitStack, *names: str) -> list[Any]:
    """Keep what a frame holds on the workers' disks until the work ends, and return some of its columns."""
    from pyspark import StorageLevel

    frame.persist(StorageLevel.DISK_ONLY)
    stack.callback(undone, frame.unpersist)
    return _heard(frame, *names)


def _heard(frame: DataFrame, *names: str) -> list[Any]:
    """Return some columns of a frame; raise what a task told of."""
    rows: list[Any] = ran(frame.select(*names, "told").collect)
    said = [heard(row["told"]) for row in rows if row["told"] is not None]
    errors = [thing for thing in said if isinstance(thing, HushtableError)]
    if errors:
        raise min(errors, key=str)
    return rows


def _tally(said: Iterable[HushtableError | Tally]) -> Tally:
    """Add up what tasks told of rows."""
    parts = [thing for thing in said if isinstance(thing, Tally)]
    return Tally(sum(part.counted for part in parts), sum(part.dropped for part in parts))
