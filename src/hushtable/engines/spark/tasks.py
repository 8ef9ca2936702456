"""What Spark's workers do: the steps of one machine, each on a part of the rows or of the domain.

    read (rows to sorted runs of keys) -> deal (runs to slices) -> count (slices) -> draw (candidates)

Promise: the same rows give the same counts, however often and wherever a task runs. Only `draw` draws, each
attempt under a key of its own. An error of ours is told to the driver; of whatever else fails only the name
is said, for the rest may quote rows, and Spark writes it to its logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from hushtable.domain.attributes import AnyText
from hushtable.domain.columns import as_column, as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import Keys, KeySpace, places_of
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.sliced.bounding import bounded
from hushtable.engines.sliced.coding import broken_rules, word_columns
from hushtable.engines.sliced.engine import fetched
from hushtable.engines.sliced.keying import Keyed, KeyReader, Tally, keyed_rows
from hushtable.engines.sliced.quoting import text_sql
from hushtable.engines.sliced.rows import OpenedRows, Wanted, opened_object
from hushtable.engines.sliced.runs import KeyRows, condensed, counted, exact_sum, sorted_rows
from hushtable.engines.spark.blocks import blocks, heard, keys_in, numbers_in, packed, rows_in, told
from hushtable.engines.spark.texts import (
    TextCut,
    TextRun,
    counted_texts,
    packed_texts,
    shown_texts,
    texts_told,
)
from hushtable.errors import BadData, HushtableError
from hushtable.noise import KeyStream
from hushtable.structures.lines import Line
from hushtable.structures.trees import DyadicTree, HaarTree
from hushtable.table.lifting import Block, block_levels, lifted_block, positions_of
from hushtable.table.slices import Candidates, Cells, Slice, Task, same

if TYPE_CHECKING:
    import pyarrow as pa

    Batches = Iterator[pa.RecordBatch]

Work: TypeAlias = "Callable[[Batches], Batches]"
MEMORY = 1 << 29  # of DuckDB in a task: beyond it, which only bounding of units needs, it spills
_RUN = 1 << 20  # rows of a run
_SAMPLED = 256  # keys of a run that tell the driver where its rows lie


class Reading(NamedTuple):
    """How rows become keys: all that a publication says of them.

    `columns` are the names of their columns: Spark's functions take simple ones alone.
    """

    domain: Domain
    measure: Measure
    where: str | None
    query: str | None
    memory: int
    salt: int = 0  # of marks
    columns: tuple[str, ...] = ()
    zone: str | None = None  # of times that have none: the driver's, for workers may have others
    line: Line | None = None  # cells are known by their places in it
    rows: int = _RUN  # of a run

    @property
    def readers(self) -> list[str]:
        """The columns that are read for cells and units."""
        return [*(attribute.column for attribute in self.domain.attributes), *self.measure.readers]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*(attribute.column for attribute in self.domain.attributes), *self.measure.columns]

    @property
    def space(self) -> KeySpace:
        """The cells of the domain, or of the line."""
        return self.domain.space if self.line is None else KeySpace((self.line.cells,))

    @property
    def words(self) -> list[str]:
        """The columns that say which cell a row is in."""
        return word_columns(self.domain)

    @property
    def run_rows(self) -> int:
        """How many rows a run has: of long texts fewer, for Arrow wants less than 2 GiB of a column."""
        longest = [each.values.longest for each in self.domain.attributes if isinstance(each.values, AnyText)]
        return min(self.rows, self.rows * 64 // max(longest, default=1))

    def run(self, batch: pa.RecordBatch, reader: KeyReader) -> pa.RecordBatch:
        """Return rows as a sorted run; with some of its keys for the driver, unless they hold texts."""
        if self.domain.unlisted:
            run = TextRun.read(batch, self.domain)
            return blocks([{**run.columns, "mark": mark(run.mixed, self.salt)}])
        rows = reader.rows(batch)
        if self.line is not None:
            rows = rows._replace(keys=positions_of(rows.keys, self.domain.space, self.line))
        keys, amounts = sorted_rows(rows)
        size = keys.shape[1]
        # Rows that add nothing leave no key, and that none is left must not tell.
        sample = keys[:, :: max(1, -(-size // _SAMPLED))]
        columns = {"keys": packed(keys), "counts": packed(amounts), "sample": packed(sample)}
        return blocks([{"size": size, **columns, "mark": mark(KeyRows(keys, amounts), self.salt)}])


class Box(NamedTuple):
    """The cells whose words lie from those of `start`, as many as `bounds` says of each. Private."""

    start: tuple[int, ...]
    bounds: tuple[int, ...]

    def __repr__(self) -> str:
        return "Box(<private>)"  # cuts follow the occupied cells


class CellCut(NamedTuple):
    """A domain that is cut into boxes: each is one slice of cells."""

    boxes: Sequence[Box]

    @property
    def starts(self) -> Keys:
        """The first key of each box."""
        return np.array([box.start for box in self.boxes], dtype=np.uint64).T.copy()

    def sizes(self, number: int) -> list[int]:
        """Return how many cells the slices of a box have."""
        return [prod(self.boxes[number].bounds)]

    def slices(self, number: int, cells: Cells) -> list[Slice]:
        """Return the slices of a box, by its cells."""
        return [Slice(*self.boxes[number], cells[1].size, partial(same, cells))]


class NodeCut(NamedTuple):
    """A line that is cut into blocks: each has a slice of nodes for each level."""

    tree: DyadicTree | HaarTree
    blocks: Sequence[Block]

    @property
    def starts(self) -> Keys:
        """The first cell of each block."""
        return np.array([[block.start for block in self.blocks]], dtype=np.uint64)

    def sizes(self, number: int) -> list[int]:
        """Return how many nodes the slices of a block have."""
        return [len(numbers) for numbers in block_levels(self.tree, self.blocks[number]).values()]

    def slices(self, number: int, cells: Cells) -> list[Slice]:
        """Return the slices of a block, by its cells."""
        return lifted_block(self.tree, self.blocks[number], cells)


Cut: TypeAlias = CellCut | NodeCut | TextCut


def checked(reading: Reading, rows: pa.Table) -> Reading:
    """Raise what tasks would, by the columns alone: `rows` has none. Return how they are to read."""
    import pyarrow as pa

    nothing = pa.RecordBatch.from_pylist([], schema=rows.schema)
    with _opened(reading, iter([nothing])) as opened:
        assert opened is not None
        keyed_rows(opened, reading.domain, reading.measure)
        return reading._replace(zone=fetched("SELECT current_setting('TimeZone')", opened.connection)[0][0])


def silent(
    work: Work,
    batches: Batches,
    tell: Callable[[HushtableError | Tally], pa.RecordBatch] = told,
) -> Batches:
    """Run a task."""
    failed = ""
    try:
        yield from work(batches)
    except HushtableError as error:
        yield tell(error)
    except Exception as error:
        failed = type(error).__name__
    if failed:  # raised here, so that no chain leads to the other error
        raise RuntimeError(f"a task of hushtable stopped at {failed}")


def read_runs(reading: Reading, batches: Batches) -> Batches:
    """Yield sorted runs of the keys of rows."""
    reader = KeyReader(len(reading.words), broken_rules(reading.domain))
    for batch in _keyed(reading, reader, batches):
        yield reading.run(batch, reader)
    yield told(reader.tally)


def read_units(reading: Reading, batches: Batches) -> Batches:
    """Yield the keys of rows, each with its unit, for Spark to bring those of a unit together."""
    import pyarrow as pa

    reader, names = KeyReader(len(reading.words), broken_rules(reading.domain)), unit_columns(reading)
    for batch in _keyed(reading, reader, batches, further=", CAST(unit AS VARCHAR) AS unit"):
        columns = [
            batch.column(name)
            if kind == "string"
            else as_column(as_numbers(batch.column(name)).view(np.int64))
            for name, kind in names.items()
            if name != "told"
        ]
        columns.append(pa.nulls(batch.num_rows, pa.binary()))
        yield pa.RecordBatch.from_arrays(columns, names=list(names))
    yield tell_by_unit(reading, Tally(dropped=reader.tally.dropped))


def unit_columns(reading: Reading) -> dict[str, str]:
    """Return the columns of rows that Spark deals out by unit, with their types."""
    unlisted = [f"k{place}" for place in reading.domain.unlisted]
    columns = {word: "string" if word in unlisted else "long" for word in reading.words}
    columns |= {} if reading.measure.amount_column is None else {"amount": "long"}
    return {**columns, "unit": "string", "told": "binary"}


def tell_by_unit(reading: Reading, thing: HushtableError | Tally) -> pa.RecordBatch:
    """Return a row among those with units that tells the driver something."""
    import pyarrow as pa

    types = {"long": pa.int64(), "string": pa.string()}
    names = unit_columns(reading)
    nulls = [pa.nulls(1, types[kind]) for name, kind in names.items() if name != "told"]
    return pa.RecordBatch.from_arrays([*nulls, told(thing).column("told")], names=list(names))


def bound_units(reading: Reading, unit: Unit, salt: str, batches: Batches) -> Batches:
    """Yield sorted runs of the keys of rows that stay, of those of whole units."""
    messages: list[pa.Array] = []

    def rows() -> Batches:
        for batch in batches:
            said = batch.column("told")
            messages.append(said.drop_null())
            yield batch.filter(said.is_null()) if len(messages[-1]) else batch

    reader, columns = KeyReader(len(reading.words)), list(unit_columns(reading))
    with _opened(reading, rows(), columns=columns) as opened:
        if opened is not None:
            keyed = bounded(Keyed(opened.sql, columns[:-2]), unit, salt=salt)
            with closing(keyed.batches(opened.connection, reading.run_rows)) as found:
                for batch in reader.kept(found):
                    yield reading.run(batch, reader)
    yield told(Tally(counted=reader.tally.counted))
    for each in messages:
        yield from (blocks([{"told": thing}]) for thing in each.to_pylist())


def _keyed(reading: Reading, reader: KeyReader, batches: Batches, further: str = "") -> Batches:
    """Yield the keys of rows, by DuckDB, as they come."""
    named = (batch.rename_columns(list(reading.columns)) for batch in batches)
    with _opened(reading, named) as opened:
        if opened is not None:
            keyed = keyed_rows(opened, reading.domain, reading.measure)
            with closing(keyed.batches(opened.connection, reading.run_rows, further)) as found:
                yield from reader.kept(found)


@contextmanager
def _opened(
    reading: Reading, batches: Batches, columns: Sequence[str] | None = None
) -> Iterator[OpenedRows | None]:
    """Open the rows of a task for DuckDB, or nothing, where there are none.

    They are the owner's, or have `columns` of ours: then no query and no filter is left to be applied.
    """
    first = next(batches, None)
    if first is None:
        yield None
        return
    import pyarrow as pa

    rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    wanted = Wanted(names=columns or ())
    if columns is None:
        wanted = Wanted(
            names=reading.readers,
            amount=reading.measure.amount_column,
            query=reading.query,
            where=reading.where,
        )
    with opened_object(rows, wanted, memory=reading.memory, threads=1) as opened:
        if reading.zone is not None:
            opened.connection.execute(f"SET TimeZone = {text_sql(reading.zone)}")
        yield opened


def deal_runs(cut: Cut, salt: int, batches: Batches) -> Batches:
    """Yield the pieces of runs that lie in each slice."""
    for row in rows_in(batches):
        if row["told"] is not None:
            said = heard(row["told"])
            if isinstance(said, HushtableError):  # which the first reading did not come to
                raise said
            continue
        dealt = _by_text(cut, row) if isinstance(cut, TextCut) else _by_key(cut.starts, row)
        yield blocks(
            [{"slice": number, **columns, "mark": mark(piece, salt)} for number, columns, piece in dealt]
        )


def _by_key(starts: Keys, row: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], KeyRows]]:
    """Yield each piece of a run: its slice, packed, as it is. `starts` has the first key of each slice."""
    keys, amounts = keys_in(row["keys"], len(starts)), numbers_in(row["counts"])
    edges = [*places_of(keys, starts).tolist(), keys.shape[1]]
    for number, (begin, end) in enumerate(pairwise(edges)):
        if end > begin:
            piece = KeyRows(keys[:, begin:end], None if amounts is None else amounts[begin:end])
            few = condensed(piece)  # one cell may hold most rows of a piece, if not of a run
            columns = {"size": few.keys.shape[1], "keys": packed(few.keys), "counts": packed(few.amounts)}
            yield number, columns, piece


def _by_text(cut: TextCut, row: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], KeyRows]]:
    """Yield the same of rows that hold texts."""
    for number, piece in cut.pieces(TextRun.unpacked(row, cut.domain)):
        yield number, piece.columns, piece.mixed


def mark(rows: KeyRows, salt: int) -> int:
    """Return a number that tells rows from others, and adds up: that of all is the sum of parts, modulo 2^64.

    So it tells whether what was dealt to slices is what was read, in whatever pieces it came.
    """
    mixed = np.full(rows.keys.shape[1], salt, dtype=np.uint64)
    for word in rows.keys:  # the end of splitmix64, by Steele, Lea and Flood (2014)
        mixed ^= word
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    if rows.amounts is not None:
        mixed *= rows.amounts.view(np.uint64)
    return int(mixed.sum(dtype=np.uint64).view(np.int64))


def count_slices(cut: Cut, batches: Batches) -> Batches:
    """Yield the counted cells of boxes or blocks, of which all pieces are here."""
    words = len(cut.starts)
    pieces: dict[int, list[Any]] = {}
    marks: dict[int, int] = {}
    for row in rows_in(batches):
        if row["told"] is not None:
            yield blocks([{"told": row["told"].to_pybytes()}])
            continue
        found = pieces.setdefault(row["slice"], [])
        marks[row["slice"]] = marks.get(row["slice"], 0) + row["mark"]
        if row["size"] and isinstance(cut, TextCut):
            found.append(TextRun.unpacked(row, cut.domain))
        elif row["size"]:
            found.append(KeyRows(keys_in(row["keys"], words), numbers_in(row["counts"])))
    for number in sorted(pieces):
        columns: dict[str, Any] = {}
        if isinstance(cut, TextCut):
            (keys, counts), texts = counted_texts(pieces.pop(number), cut.domain)
            columns["texts"] = packed_texts(texts.values())
        else:
            keys, counts = counted(pieces.pop(number), words)
        occupied = [part.cells_occupied for part in cut.slices(number, (keys, counts))]
        facts = {"total": str(exact_sum(counts)), "occupied": packed(np.array(occupied, dtype=np.int64))}
        columns |= {"keys": packed(keys), "counts": packed(counts)}
        signs = {"digest": digest_of(columns), "mark": (marks[number] + (1 << 63)) % (1 << 64) - (1 << 63)}
        yield blocks([{"slice": number, "size": counts.size, **columns, **facts, **signs}])


def draw_slices(
    task: Task,
    cut: Cut,
    digests: Sequence[bytes],
    accepted: Sequence[Sequence[Sequence[int]]],
    batches: Batches,
) -> Batches:
    """Yield what a task draws from slices, each attempt from bits of its own.

    For each slice of each box or block it is known how many of the empty cells each band has `accepted`. It
    was drawn for the counts that have those `digests`.
    """
    entropy = KeyStream()
    for row in rows_in(batches):
        number = row["slice"]
        # Counted again from other rows, a unit could be in the cells of two slices.
        if digest_of(row) != digests[number]:
            raise changed()
        parts = cut.slices(number, cells_in(row, len(cut.starts)))
        drawn = [task(part, counts, entropy) for part, counts in zip(parts, accepted[number], strict=True)]
        found = Candidates.joined(drawn)
        if all(len(counts) <= 1 for counts in accepted[number]):
            # With one rule, nobody asks which cells were occupied: then no file says it.
            found.bands[:] = 0
        columns = {"keys": packed(found.keys), "counts": packed(found.counts), "bands": packed(found.bands)}
        if isinstance(cut, TextCut):
            columns["texts"] = shown_texts(row["texts"], found.keys[list(cut.domain.unlisted)])
        yield blocks([{"slice": number, "size": found.counts.size, **columns}])


def changed() -> BadData:
    """Return the error of rows that were other ones when they were read again."""
    fact = "the data changed while they were read"
    hint = "Publish from a table that stays as it is, such as a copy of it, and is read the same each time."
    return BadData(fact, hint)


def digest_of(row: Mapping[str, Any]) -> bytes:
    """Return what tells counted cells from others."""
    digest = sha256(row["keys"])
    digest.update(row["counts"])
    for part in [] if row.get("texts") is None else texts_told(row["texts"]):
        digest.update(part)
    return digest.digest()


def cells_in(row: dict[str, Any], words: int) -> Cells:
    """Return the cells of a counted box or block."""
    counts = numbers_in(row["counts"])
    assert counts is not None
    return keys_in(row["keys"], words), counts
