"""Thrift's compact protocol, as far as Parquet's footers and page headers use it.

Promise: reading takes time in proportion to the bytes, and makes nothing but what is asked for; bytes that
are no record of this protocol are one `BadRelease`. Parquet's own readers reserve memory for whatever number
a list states, so numbers are looked at here first.
Format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Iterator

from hushtable.errors import BadRelease

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)

_DEEPEST = 16
_LONGEST_LIST = 64  # of what is passed over: encodings of a column, their numbers of pages
_FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}


class Record:
    """Bytes, and a place in them: what comes next is read from there."""

    def __init__(self, data: bytes | bytearray, place: int = 0) -> None:
        self._data, self.place = data, place

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of each field of a record; whoever asks reads its value before the next."""
        number = 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            before, number = number, number + step if step else self.number()
            if number <= before:  # so that none comes twice
                raise _damaged("fields are not in ascending order")
            yield number, kind

    def number(self) -> int:
        """Return a whole number."""
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)

    def binary(self) -> bytes:
        """Return bytes or text."""
        length = self._unsigned()
        start = self._move(length)
        return bytes(self._data[start : start + length])

    def list_of(self, kind: int, *, most: int) -> int:
        """Return the length of a list of such values, which come next."""
        header = self._byte()
        length = header >> 4 if header >> 4 < 15 else self._unsigned()
        if length > most:
            raise _damaged(f"a list holds {length:,} values where up to {most:,} belong")
        if length and header & 15 != kind:
            raise _damaged("a list holds values of another type")
        return length

    def take(self, kind: int, wanted: int) -> None:
        """Raise unless a value has the type that is read next."""
        if kind != wanted:
            raise _damaged("a field has another type")

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value."""
        if depth > _DEEPEST:
            raise _damaged("records lie too deep within each other")
        if kind in _FIXED:
            self._move(_FIXED[kind])
        elif kind in (INT16, INT32, INT64):
            self._unsigned()
        elif kind == BINARY:
            self._move(self._unsigned())
        elif kind in (LIST, SET):
            inner = self._data[self._move(0)] & 15 if self.place < len(self._data) else 0
            for _ in range(self.list_of(inner, most=_LONGEST_LIST)):
                self.skip(BYTE if inner in (TRUE, FALSE) else inner, depth + 1)
        elif kind == STRUCT:
            for _, each in self.fields():
                self.skip(each, depth + 1)
        else:
            raise _damaged("a field has a type that Parquet does not use")

    def _byte(self) -> int:
        return self._data[self._move(1)]

    def _unsigned(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise _damaged("a number has more than 64 bits")

    def _move(self, length: int) -> int:
        """Return the place, and go on by so many bytes."""
        place = self.place
        self.place = place + length
        if self.place > len(self._data):
            raise _damaged("it ends too early")
        return place


def _damaged(fact: str) -> BadRelease:
    return BadRelease(f"its Parquet metadata are odd: {fact}", "Get the file again from its publisher.")
