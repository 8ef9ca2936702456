"""From rows of a session of Spark Connect to a counted table in this process.

    rows -> sorted runs of keys, each unit bounded -> added up, on the workers -> counted slices, here

Such a session does not say where its workers may write, so nothing waits there: what they counted comes here,
and noise is drawn here, once, by the code of one machine.

Promise: what `sliced.counting` promises, by the same code. One job reads the rows, and of each of its tasks
one attempt is heard, once. All rows of a unit are in one task, where they are chosen by themselves and a salt
drawn here: so a task that runs again gives the same, and no unit is counted from two readings.
Cost: one pass over the data, and one shuffle where there are units. Cells come here once for each task that
has rows in them; beyond `memory`, files take them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.domain.columns import as_column
from hushtable.domain.keys import KeySpace
from hushtable.engines.sliced.closing import RunTexts
from hushtable.engines.sliced.counting import CountedRows, CountRequest
from hushtable.engines.sliced.engine import as_bytes, quiet
from hushtable.engines.sliced.keying import Tally
from hushtable.engines.sliced.runs import counted_slices
from hushtable.engines.sliced.spills import spill_folder
from hushtable.engines.spark.blocks import heard
from hushtable.engines.spark.counting import check_ends, check_row_by_row, columns_read, runs_of
from hushtable.engines.spark.merging import PIECE_ROWS, merged_runs, packing_of
from hushtable.engines.spark.remote import asked, check_remote, under_a_tag
from hushtable.engines.spark.tasks import MEMORY, Reading, checked
from hushtable.engines.spark.texts import TextRun, counted_texts
from hushtable.errors import BadChoice, BadData, HushtableError
from hushtable.table.slices import Slice, SlicesHere, split
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame


@contextmanager
def gathered(frame: DataFrame, request: CountRequest) -> Iterator[CountedRows]:
    """Count the rows of a DataFrame. What does not fit in memory lives in files until the block ends."""
    domain, measure = request.domain, request.measure
    check_row_by_row(request)
    if request.left_out:
        fact = "who is left out is not counted on Spark"
        raise BadChoice(fact, "Leave `left_out_share` out; or publish from files, on one machine.")
    if not hasattr(frame, "toArrow"):
        raise BadData("this pyspark is too old", "Publishing by Spark Connect needs 4.0 or newer.")
    asked(lambda: check_ends(frame))
    check_remote(frame)
    room = MEMORY if request.memory is None else as_bytes(request.memory)
    reading = Reading(domain, measure, request.where, request.query, room, rows=PIECE_ROWS)
    rows = asked(lambda: columns_read(frame, reading))
    reading = reading._replace(columns=tuple(asked(lambda: rows.columns)))
    reading = checked(reading, asked(lambda: rows.limit(0).toArrow()))
    packing, arrivals = packing_of(domain), Arrivals()
    with spill_folder() as folder:
        with under_a_tag(frame.sparkSession):
            work = asked(
                lambda: runs_of(
                    rows, reading, request.entropy, lambda work: partial(merged_runs, work, packing)
                )
            )
            request.progress("Reading", 0.0)
            with closing(arrivals.pieces(work)) as pieces:
                if domain.unlisted:
                    space, slices, texts = _of_texts([packing.unpacked(piece) for piece in pieces], request)
                else:
                    space, texts = domain.space, None
                    slices = quiet(
                        counted_slices,
                        map(packing.unpacked, pieces),
                        space,
                        folder=folder,
                        rows_in_memory=request.room // 2 // (16 * len(space.bounds) + 24),
                        threads=request.workers,
                        progress=request.progress,
                    )
        here = SlicesHere(slices, request.workers, request.progress)
        yield CountedRows(space, here, arrivals.tally, measure.sensitivities, texts)


class Arrivals:
    """What the tasks of a job send, as it comes. Private."""

    def __init__(self) -> None:
        self.tally = Tally()

    def pieces(self, work: DataFrame) -> Generator[dict[str, Any], None, None]:
        """Yield pieces of runs, each once; raise what a task told of."""
        seen: set[tuple[int, int]] = set()
        rows = asked(work.toLocalIterator)
        while (row := asked(lambda: next(rows, None))) is not None:
            if row["told"] is not None:
                said = heard(row["told"])
                if isinstance(said, HushtableError):
                    raise said
                self.tally = Tally(self.tally.counted + said.counted, self.tally.dropped + said.dropped)
            piece = (row["slice"], row["mark"])
            if piece in seen:  # of a connection that was lost, and of a client that asked for all again
                fact = "a part of the answer of Spark came twice"
                raise BadData(fact, "Start a new session, and publish again.")
            seen.add(piece)
            if row["size"]:
                yield row.asDict()


def _of_texts(found: list[TextRun], request: CountRequest) -> tuple[KeySpace, list[Slice], RunTexts]:
    """Return the cells of runs that hold texts, by numbers in the order of the texts; all are in memory."""
    domain = request.domain
    (keys, counts), texts = quiet(counted_texts, found, domain)
    known = {place: max(1, len(each.values)) for place, each in texts.items()}
    space = KeySpace([known.get(place, size) for place, size in enumerate(domain.shape)])
    table = SparseTable.from_cells(
        space, space.pack(keys.T), counts, sensitivity=request.measure.sensitivities
    )
    chosen = {place: partial(_chosen, each.values) for place, each in texts.items()}
    return space, split(table, parts=request.workers), RunTexts(chosen)


def _chosen(texts: pa.Array, own: NDArray[np.int64]) -> pa.Array:
    import pyarrow as pa

    return texts.take(as_column(own)).cast(pa.string())
