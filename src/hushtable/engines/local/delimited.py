"""Rows of CSV and TSV files: text in all columns, each record read by itself.

Promise: what is in a record decides how that record is read, and nothing else. One that cannot be read is
dropped; a value that is not UTF-8 is missing, as an empty one is. `Unread` says how many, to the owner alone.
The first line belongs to the file: where it does not name columns, nothing is read.
Cost: Arrow's reader takes pieces in which nothing is odd, several at a time; other pieces are read in Python.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.domain.columns import cast
from hushtable.engines.local.records import (
    DamagedFile,
    Limits,
    Reader,
    TextFormat,
    TextPiece,
    TextRecord,
    blocks,
    opened,
)
from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.rows import Unread
from hushtable.errors import BadData

if TYPE_CHECKING:
    import pyarrow as pa

_MARK = b"\xef\xbb\xbf"  # of byte order


class Header(NamedTuple):
    """The first line of a file: the names in it, how long it is, and how it is written."""

    names: tuple[str, ...]
    length: int
    form: TextFormat


def read_header(file: str, delimiter: str, limits: Limits | None = None) -> Header:
    """Return the first line of a file."""
    limits = limits or Limits()
    text, failed = b"", False
    try:
        with closing(opened(file)) as stream:
            for block in blocks(stream, limits.block):
                text += block
                if _first(text, delimiter, limits, final=False).record.end >= 0 or len(text) > limits.longest:
                    break
    except DamagedFile:
        failed = True  # raised below: these errors quote the file, and so would the chain
    if failed:
        fact = f"{said(file)} is damaged, cut off, or not compressed as its name says"
        raise BadData(fact, "Copy it or make it again.")
    mark, form, record = _first(text, delimiter, limits, final=True)
    try:
        names = [name.decode() for name in record.fields or []]
    except UnicodeDecodeError:
        names = ["\0"]
    if any("\0" in name for name in names) or text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        hint = "Save the file as CSV in UTF-8; UTF-16 and Latin-1 are not read."
        raise BadData(f"the first line of {said(file)} is not text in UTF-8", hint)
    if record.fields is None:
        hint = "A quote that is not closed is a frequent cause; the first line must name the columns."
        raise BadData(f"the first line of {said(file)} is not CSV", hint)
    if not names or not all(names):
        raise BadData(f"the first line of {said(file)} does not name every column", "Give each a name.")
    if len(set(map(folded, names))) < len(names):
        hint = "Give each its own; upper and lower case make no difference."
        raise BadData(f"the first line of {said(file)} names a column twice", hint)
    return Header(tuple(names), mark + record.end, form)


class _First(NamedTuple):
    """The bytes before the first record, how lines end, and the record itself."""

    mark: int
    form: TextFormat
    record: TextRecord


def _first(text: bytes, delimiter: str, limits: Limits, *, final: bool) -> _First:
    """Return the first record of a file: how it ends is how all lines of the file end."""
    mark = len(_MARK) if text.startswith(_MARK) else 0
    form, text = TextFormat(delimiter.encode()), text[mark:]
    # Fields up to the first line end outside quotes; CRs that end the text may have an LF behind them.
    stop = re.escape(form.delimiter)
    one = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%s\r\n]*+' % stop
    found = re.match(rb"%s(?:%s%s)*+(\r*+)(\n?)" % (one, stop, one), text)
    if found is not None and (found[1] or found[2]):
        if found[2]:
            form = form._replace(returns=len(found[1]))
        elif found.end() < len(text) or final:
            form = form._replace(end=b"\r")
        else:
            return _First(mark, form, TextRecord(None, -1))
    return _First(mark, form, Reader(form, limits).record(text, 0, final=final))


class TextRows:
    """The rows of files, as a stream of Arrow that can be read again; the columns that are not used are NULL.

    `tally` is of the last reading that came to its end.
    """

    def __init__(
        self,
        files: Mapping[str, Header],
        *,
        used: Iterable[str] | None = None,
        constants: Mapping[str, Mapping[str, str | None]] | None = None,
        threads: int = 1,
        limits: Limits | None = None,
    ) -> None:
        """Read the columns `used` of `files`, or all; `constants` are further columns of a file."""
        import pyarrow as pa

        self._files, self._threads, self._limits = dict(files), threads, limits
        self._constants = constants or {}
        wanted = None if used is None else set(map(folded, used))
        self.columns: dict[str, str] = {}  # by their folded names
        for header in files.values():
            for name in header.names:
                self.columns.setdefault(folded(name), name)
        for file in self._constants:
            for name in self._constants[file]:
                self.columns.setdefault(folded(name), name)
        self._read = [name for name in self.columns if wanted is None or name in wanted]
        # Rows without columns cannot be told to Arrow.
        self._read = self._read or list(self.columns)[:1]
        self.schema = pa.schema([(self.columns[name], pa.string()) for name in self._read])
        self.tally: Unread | None = None

    @property
    def not_read(self) -> list[str]:
        """The columns that the stream does not have."""
        return [spelled for name, spelled in self.columns.items() if name not in self._read]

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, and keep the tally of those that were dropped."""
        tally = Unread()
        with ThreadPoolExecutor(self._threads) as pool:
            waiting: deque[Future[tuple[pa.RecordBatch, Unread]]] = deque()
            try:
                for parser, piece in self._pieces():
                    waiting.append(pool.submit(parser.parsed, piece))
                    while len(waiting) > self._threads:
                        batch, dropped = waiting.popleft().result()
                        tally.add(dropped)
                        yield batch
                while waiting:
                    batch, dropped = waiting.popleft().result()
                    tally.add(dropped)
                    yield batch
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        self.tally = tally

    def _pieces(self) -> Iterator[tuple[_Parser, TextPiece]]:
        """Yield all records, with what parses them."""
        for file, header in self._files.items():
            parser = _Parser(header, self._read, self.schema, self._constants.get(file, {}), self._limits)
            with closing(opened(file)) as stream:
                for piece in parser.reader.pieces(stream, skip=header.length):
                    yield parser, piece


class _Parser:
    """Makes rows of the records of one file."""

    def __init__(
        self,
        header: Header,
        names: Sequence[str],
        schema: pa.Schema,
        constants: Mapping[str, str | None],
        limits: Limits | None,
    ) -> None:
        self.reader = Reader(header.form, limits)
        self._width, self._schema = len(header.names), schema
        places = {folded(name): place for place, name in enumerate(header.names)}
        self._places = [places.get(name) for name in names]
        beside = {folded(name): value for name, value in constants.items()}
        self._constants = [beside.get(name) for name in names]

    def parsed(self, piece: TextPiece) -> tuple[pa.RecordBatch, Unread]:
        """Return the rows of a piece, and how many records could not be read."""
        import pyarrow as pa

        if piece.too_long:
            return self._batch({}, 0), Unread(too_long=1)
        # Arrow takes a mark of byte order at the start of a piece for none of its text.
        if piece.records is None and not piece.text.startswith(_MARK):
            try:
                if (quickly := self._quickly(piece.text)) is not None:
                    return quickly
            except pa.ArrowException:
                pass  # it takes a closer look, and what Arrow says may quote a row
        return self._slowly(piece.records or self.reader.records(piece.text))

    def _quickly(self, text: bytes) -> tuple[pa.RecordBatch, Unread] | None:
        """Return the rows of a text in which all quotes and line ends stand as RFC 4180 wants.

        None, or an error of Arrow, where some record is odd in another way.
        """
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        tally, odd = Unread(), False

        def handle(row: Any) -> str:
            nonlocal odd
            odd |= row.actual_columns == self._width + 1  # perhaps nothing but a delimiter at its end
            tally.fields += row.text.strip("\r\n") != '""'  # as blank as a blank line
            return "skip"

        used = [place for place in self._places if place is not None] or [0]
        all_text = _is_text(text)
        table = pa_csv.read_csv(
            pa.BufferReader(text),
            read_options=pa_csv.ReadOptions(
                use_threads=False,
                block_size=len(text) + 1,
                column_names=[str(place) for place in range(self._width)],
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.reader.form.delimiter.decode(),
                newlines_in_values=True,
                ignore_empty_lines=self._width > 1,
                # Arrow would tell the handler of a row that is not UTF-8 by a word to the terminal.
                invalid_row_handler=handle if all_text else None,
            ),
            convert_options=pa_csv.ConvertOptions(
                check_utf8=False,
                column_types={str(place): pa.string() if all_text else pa.binary() for place in used},
                include_columns=[str(place) for place in used],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        ).combine_chunks()
        if odd:
            return None
        columns = {place: _text(_one_chunk(table.column(str(place)))) for place in used}
        return self._batch(columns, table.num_rows), tally

    def _slowly(self, records: Iterable[TextRecord]) -> tuple[pa.RecordBatch, Unread]:
        """Return the rows of records, taken one by one."""
        import pyarrow as pa

        tally, width = Unread(), self._width
        rows: list[list[bytes]] = []
        for record in records:
            fields = record.fields
            if fields is None:
                tally.quotes += 1
            elif len(fields) == width or (len(fields) == width + 1 and not fields[-1]):
                rows.append(fields)
            elif fields != [b""]:  # a blank line
                tally.fields += 1
        columns = {
            place: _text(pa.array([row[place] or None for row in rows], pa.binary()))
            for place in self._places
            if place is not None
        }
        return self._batch(columns, len(rows)), tally

    def _batch(self, columns: Mapping[int, pa.Array], rows: int) -> pa.RecordBatch:
        """Return columns of the file, by their places, as rows of the stream."""
        import pyarrow as pa

        arrays = [
            pa.repeat(pa.scalar(constant, pa.string()), rows)
            if place is None
            else columns.get(place, pa.nulls(0, pa.string()))
            for place, constant in zip(self._places, self._constants, strict=True)
        ]
        return pa.record_batch(arrays, schema=self._schema)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    import pyarrow as pa

    chunks = column.chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks or [pa.nulls(0, column.type)])


def _is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    import pyarrow as pa

    offsets = pa.py_buffer(b"".join(place.to_bytes(8, "little") for place in (0, len(data))))
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        cast(whole, pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _text(values: pa.Array) -> pa.Array:
    """Return bytes as text, NULL where they are not UTF-8."""
    import pyarrow as pa

    try:
        return cast(values, pa.string())
    except pa.ArrowInvalid:
        pass

    def readable(value: bytes | None) -> str | None:
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None

    return pa.array([readable(value) for value in values.to_pylist()], pa.string())
