"""Text cut into records: where one ends is decided by that record alone.

A record of CSV ends at the first line end outside quotes, a line of JSON at the first line end. A quote opens
a quoted field at the start of a field only; inside, a quote is written twice (RFC 4180).

Promise: the records of a file are the same in whatever blocks it is read, and what is wrong with one record
is never a reason to stop:

==========================================  =================================================================
record                                      what becomes of it
==========================================  =================================================================
quotes within an unquoted field             the quotes are text
text after a closing quote, or a quote      the line with the opening quote is dropped; the next line is the
that is never closed                        next record
longer than `LONGEST`                       dropped whole, up to its own end
==========================================  =================================================================

A quote that opens in one record and is properly closed in a later one makes one record of both: nothing in
the text tells it from a quoted field that has line ends in it. No writer that quotes fields makes such text.
Cost: one pass. Blocks in which all quotes stand as RFC 4180 wants are found so by a few sums in NumPy; the
others are read record by record in Python.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

LONGEST = 1 << 23  # bytes of a record, with its line end
BLOCK = 1 << 22  # bytes that are read at a time; no more than `LONGEST`
_QUOTE, _LF, _CR = 34, 10, 13


class TextFormat(NamedTuple):
    """How records are written: the delimiter, empty where lines are not cut into fields, and line ends.

    `end` is LF, or CR where the first line ends so. `returns` CRs before an LF belong to the line end, as
    many as are there in the first line; any further ones are text.
    """

    delimiter: bytes = b""
    end: bytes = b"\n"
    returns: int = 0


class Limits(NamedTuple):
    """Sizes in bytes, which only tests change."""

    longest: int = LONGEST
    block: int = BLOCK


class TextRecord(NamedTuple):
    """One record of a text: its fields, or None where its quotes are wrong, and where it ends.

    `end` is -1 where the text ends, or gets too long, before that is decided.
    """

    fields: list[bytes] | None
    end: int


class TextPiece(NamedTuple):
    """A text of whole records, or a mark that one record was too long.

    `records` is None where any reader of RFC 4180 finds the same ones.
    """

    text: bytes
    records: list[TextRecord] | None = None
    too_long: bool = False


class DamagedFile(OSError):
    """A compressed file is cut off or damaged. What it says is told from other errors by its words."""


def opened(file: str) -> Any:
    """Open a file for reading bytes, decompressed as its name says."""
    name = file.lower()
    if name.endswith((".gz", ".zst")) and not os.path.getsize(file):
        raise DamagedFile("gzip stream: data corruption detected")
    if name.endswith(".gz"):
        return gzip.open(file)
    if name.endswith(".zst"):
        import pyarrow as pa

        return pa.input_stream(file, compression="zstd")
    return open(file, "rb")


def blocks(stream: Any, size: int) -> Iterator[bytes]:
    """Yield the bytes of a stream; raise `DamagedFile` where it is not what it should be."""
    failed = ""
    try:
        while block := stream.read(size):
            yield block
    except EOFError:
        failed = "unexpected end of gzip stream"
    except (OSError, zlib.error) as error:
        if getattr(error, "errno", None) is not None:
            raise  # of the disk, not of what is on it
        failed = "gzip stream: data corruption detected"
    if failed:
        raise DamagedFile(failed)


class Reader:
    """Cuts text of one format into records."""

    def __init__(self, form: TextFormat, limits: Limits | None = None) -> None:
        self.form, self.limits = form, limits or Limits()
        delimiter, end, returns = re.escape(form.delimiter), re.escape(form.end), form.returns
        self._quoted = re.compile(rb'"((?:[^"]++|"")*+)"')
        self._behind = re.compile(rb"(%s)|(\r{0,%d}%s)|\r{0,%d}\Z" % (delimiter, returns, end, returns))
        self._stops = re.compile(rb"[%s%s]" % (delimiter, end))

    def pieces(self, stream: Any, *, skip: int = 0) -> Iterator[TextPiece]:
        """Yield all records of a stream behind its first `skip` bytes, in order."""
        text, tail = b"", None
        for block in blocks(stream, self.limits.block):
            skipped = min(skip, len(block))
            skip -= skipped
            text += block[skipped:]
            while text:
                if tail is not None:  # of a record that is too long
                    end = tail.end_in(text)
                    if end < 0:
                        text = b""
                        break
                    text, tail = text[end:], None
                    continue
                piece = self._whole(text, final=False)
                if piece is None:
                    break
                if piece.too_long:
                    tail = _Tail(self)
                text = text[len(piece.text) :]
                yield piece
        while text and tail is None:
            piece = self._whole(text, final=True)
            if piece is None:  # cannot be: at the end of a file every record is decided
                raise AssertionError("a record without an end")
            yield piece
            end = _Tail(self).end_in(text) if piece.too_long else len(piece.text)
            text = b"" if end < 0 else text[end:]

    def records(self, text: bytes) -> Iterator[TextRecord]:
        """Yield the records of a text that holds whole ones."""
        place = 0
        while place < len(text):
            record = self.record(text, place, final=True)
            yield record
            place = record.end

    def record(self, text: bytes, start: int, *, final: bool) -> TextRecord:
        """Return the record that starts at `start`; `final` says that nothing comes behind the text."""
        form = self.form
        end = text.find(form.end, start)
        line = text[start:] if end < 0 else text[start:end]
        if not form.delimiter or _QUOTE not in line:
            if end < 0 and not final:
                return TextRecord(None, -1)
            return self._short(start, TextRecord(self._fields(line), len(text) if end < 0 else end + 1))
        # Looked at are only as many bytes as a record may have, so that blocks make no difference.
        stop = min(len(text), start + self.limits.longest)
        final = final and stop == len(text)
        fields: list[bytes] = []
        place = start
        while True:
            if text[place : place + 1] == b'"' and place < stop:
                closed = self._quoted.match(text, place, stop)
                behind = None if closed is None else self._behind.match(text, closed.end(), stop)
                at_stop = closed is None or (behind is not None and behind.lastindex is None)
                if at_stop and not final:
                    return TextRecord(None, -1)
                if closed is None or behind is None:
                    end = text.find(form.end, place, stop)
                    if end < 0 and not final:
                        return TextRecord(None, -1)
                    return TextRecord(None, len(text) if end < 0 else end + 1)
                fields.append(closed[1].replace(b'""', b'"'))
                place = behind.end()
                if behind.lastindex != 1:
                    return TextRecord(fields, place)
            else:
                found = self._stops.search(text, place, stop)
                if found is None and not final:
                    return TextRecord(None, -1)
                end = stop if found is None else found.start()
                if found is None or found[0] == form.end:
                    fields.append(self._without_returns(text[place:end]))
                    return TextRecord(fields, stop if found is None else found.end())
                fields.append(text[place:end])
                place = found.end()

    def _short(self, start: int, record: TextRecord) -> TextRecord:
        """Return a record, undecided if it is too long."""
        return record if record.end - start <= self.limits.longest else TextRecord(None, -1)

    def _without_returns(self, line: bytes) -> bytes:
        """Return a line, or its last field, without the CRs that belong to its end."""
        for _ in range(self.form.returns):
            line = line.removesuffix(b"\r")
        return line

    def _fields(self, line: bytes) -> list[bytes]:
        """Return the fields of a line that has no quotes."""
        line = self._without_returns(line)
        return line.split(self.form.delimiter) if self.form.delimiter else [line]

    def _whole(self, text: bytes, *, final: bool) -> TextPiece | None:
        """Return the records that end within a text, or that its first one is too long; None for none."""
        longest = self.limits.longest
        # Blocks are not longer than a record may be: of several that end in a text, only the first can be.
        if len(text) > longest and self.record(text, 0, final=final).end < 0:
            return TextPiece(b"", too_long=True)
        cut = self._regular(text, final=final)
        if cut is not None:
            return TextPiece(text[:cut]) if cut else None
        found: list[TextRecord] = []
        place = 0
        while place < len(text):
            record = self.record(text, place, final=final)
            if record.end < 0:
                break
            found.append(record)
            place = record.end
        return TextPiece(text[:place], found) if found else None

    def _regular(self, text: bytes, *, final: bool) -> int | None:
        """Return where the last whole record ends, or None where it takes a closer look to tell.

        Where every other quote stands at the start of a field and the ones between at the end of one, or
        side by side, the number of quotes before a place tells whether it is within quotes.
        """
        form = self.form
        if not form.delimiter:
            return len(text) if final else text.rfind(form.end) + 1
        if form.end != b"\n" or form.returns > 1:
            return None
        array = np.frombuffer(text, dtype=np.uint8)
        quotes = np.flatnonzero(array == _QUOTE) if _QUOTE in text else np.empty(0, dtype=np.int64)
        if len(quotes):
            delimiter = form.delimiter[0]
            openers, closers, last = quotes[0::2], quotes[1::2], len(array) - 1
            before = array[np.maximum(openers - 1, 0)]
            starts = (before == delimiter) | (before == _LF) | (before == _QUOTE) | (openers == 0)
            behind = array[np.minimum(closers + 1, last)]
            ends = (behind == delimiter) | (behind == _LF) | (behind == _QUOTE) | (closers == last)
            if form.returns:
                ends |= behind == _CR
            if not (starts.all() and ends.all()):
                return None
        cut = len(text)
        if not final:
            cut = text.rfind(b"\n") + 1
            while cut and (before_cut := int(np.searchsorted(quotes, cut))) % 2:
                cut = text.rfind(b"\n", 0, int(quotes[before_cut - 1])) + 1
        elif len(quotes) % 2:
            return None  # never closed
        if _CR in text:
            returns = np.flatnonzero(array[:cut] == _CR)
            returns = returns[np.searchsorted(quotes, returns) % 2 == 0]
            if len(returns) and not form.returns:
                return None
            if (array[np.minimum(returns + 1, len(array) - 1)] != _LF).any():
                return None
        return cut


class _Tail:
    """Finds the end of a record that is too long, block by block."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._state = "start"

    def end_in(self, text: bytes) -> int:
        """Return where the record ends in the next part of its text, -1 where it does not."""
        reader, place = self._reader, 0
        if not reader.form.delimiter:
            return text.find(reader.form.end) + 1 or -1
        while place < len(text):
            quote = text[place] == _QUOTE
            match self._state:
                case "start" if quote:
                    self._state, place = "quoted", place + 1
                case "quoted":
                    place = text.find(b'"', place) + 1
                    if not place:
                        return -1
                    self._state = "quote"
                case "quote" if quote:
                    self._state, place = "quoted", place + 1
                case _:
                    found = reader._stops.search(text, place)
                    self._state = "text"
                    if found is None:
                        return -1
                    place = found.end()
                    if found[0] == reader.form.end:
                        return place
                    self._state = "start"
        return -1
