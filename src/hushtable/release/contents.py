"""What a Parquet file says it holds, looked at before a reader of Parquet sees it.

Promise: after `contents_of`, the columns are flat and few, every group has all of them with as many values as
it has rows, groups add up to the rows, all lies within the file, and what is said of a column takes so many
bytes that describing it was no trick. After `check_pages`, no page of a column unpacks to more than its rows
can fill, and its values are encoded as releases are. So a reader of Parquet needs memory in proportion to the
rows and columns that are stated, which others compare with the terms. Anything else is one `BadRelease`.
Cost: a microsecond a number of the footer; one look into the file for each page.
"""

from __future__ import annotations

from typing import BinaryIO, NamedTuple, NoReturn

from hushtable.domain.limits import (
    LARGEST_METADATA,
    LEAST_BYTES_OF_A_CHUNK,
    LEAST_ROWS_IN_A_GROUP,
    MOST_ATTRIBUTES,
    MOST_ENTRIES,
    MOST_ROWS,
    MOST_ROWS_IN_A_GROUP,
)
from hushtable.errors import BadRelease, shown
from hushtable.release.thrift import BINARY, INT32, INT64, LIST, STRUCT, Record

_MOST_COLUMNS = 2 * MOST_ATTRIBUTES + 4  # of a tree, each attribute has two, or three where it has two
_END = 8  # bytes behind the metadata: their length, and PAR1
_LONGEST_HEADER = 1 << 14  # bytes of what is said before a page; smallest and largest value among them
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_SAID_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
_ENCODINGS = (0, 2, 8)  # plain, and places in a dictionary by their old and their new name
_NOT_OURS = (b"ARROW:schema",)  # which lets a file name types of its own; releases have none


class Chunk(NamedTuple):
    """Where the values of one column of one group lie."""

    start: int
    size: int


class Group(NamedTuple):
    """Rows that are stored together."""

    rows: int
    chunks: tuple[Chunk, ...]


class Contents(NamedTuple):
    """What a file says it holds."""

    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    entries: dict[bytes, bytes]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(group.rows for group in self.groups)


def contents_of(footer: bytes | bytearray, start: int) -> Contents:
    """Return what a footer says, which begins in its file at `start`; or raise if it does not add up."""
    record = Record(footer)
    columns: tuple[str, ...] | None = None
    rows, groups, entries = -1, list[Group](), dict[bytes, bytes]()
    for number, kind in record.fields():
        match number:
            case 2:
                record.take(kind, LIST)
                columns = _columns(record)
            case 3:
                record.take(kind, INT64)
                rows = record.number()
                if not 0 <= rows <= MOST_ROWS:
                    _refuse(f"it states {rows:,} rows; a release has up to {MOST_ROWS:,}")
            case 4:
                record.take(kind, LIST)
                most = 1 + rows // LEAST_ROWS_IN_A_GROUP
                length = record.list_of(STRUCT, most=most)
                for _ in range(length):
                    groups.append(_group(record, len(columns or ()), start))
                    if record.place > LARGEST_METADATA:
                        _refuse(f"its Parquet metadata are longer than {LARGEST_METADATA:,} bytes")
            case 5:
                record.take(kind, LIST)
                entries = _entries(record)
            case 7:
                record.take(kind, LIST)  # the order of each column's values
                for _ in range(record.list_of(STRUCT, most=len(columns or ()))):
                    record.skip(STRUCT)
            case 1 | 6:
                record.skip(kind)
            case _:
                _refuse("its Parquet metadata hold more than a release has")
    if record.place != len(footer) - _END:
        _refuse("its Parquet metadata do not end where they should")
    if columns is None or rows != sum(group.rows for group in groups):
        _refuse("its Parquet metadata do not add up to its rows")
    if sum(chunk.size for group in groups for chunk in group.chunks) > start:
        _refuse("its columns lie upon each other")
    own = len(footer) - sum(map(len, entries.values()))
    if own < LEAST_BYTES_OF_A_CHUNK * len(groups) * len(columns):
        _refuse("its Parquet metadata say too little of each column")
    return Contents(columns, tuple(groups), entries)


def check_pages(file: BinaryIO, contents: Contents, widths: tuple[int, ...]) -> frozenset[str]:
    """Raise where a page holds more than its rows can fill, each up to its column's width in bytes.

    Returns the columns that have a dictionary of values somewhere.
    """
    coded = set[str]()
    for group in contents.groups:
        for name, width, chunk in zip(contents.columns, widths, group.chunks, strict=True):
            if _check_chunk(file, chunk, group.rows, width):
                coded.add(name)
    return frozenset(coded)


def _columns(record: Record) -> tuple[str, ...]:
    """Return the names of columns: a root, and what lies right below it."""
    length = record.list_of(STRUCT, most=1 + _MOST_COLUMNS)
    names = list[str]()
    for place in range(length):
        children, name = 0, b""
        for number, kind in record.fields():
            if number == 4:
                record.take(kind, BINARY)
                name = record.binary()
            elif number == 5:
                record.take(kind, INT32)
                children = record.number()
            else:
                record.skip(kind)
        if children != (length - 1 if place == 0 else 0):
            _refuse("its columns are not flat")
        names.append(name.decode("utf-8", errors="replace"))
    if not names:
        _refuse("it has no columns")
    return tuple(names[1:])


def _group(record: Record, columns: int, start: int) -> Group:
    """Return a group of rows, all of whose columns lie before `start`."""
    chunks, rows, values = list[Chunk](), -1, list[int]()
    for number, kind in record.fields():
        if number == 1:
            record.take(kind, LIST)
            if record.list_of(STRUCT, most=columns) != columns:
                _refuse("a group of its rows does not have all columns")
            for _ in range(columns):
                chunk, found = _chunk(record, start)
                chunks.append(chunk)
                values.append(found)
        elif number == 3:
            record.take(kind, INT64)
            rows = record.number()
        else:
            record.skip(kind)
    if not 1 <= rows <= MOST_ROWS_IN_A_GROUP:
        _refuse(f"a group of its rows states {rows:,} of them; up to {MOST_ROWS_IN_A_GROUP:,} are allowed")
    if len(chunks) != columns or any(found != rows for found in values):
        _refuse("a group of its rows does not have a value of each column for each row")
    return Group(rows, tuple(chunks))


def _chunk(record: Record, start: int) -> tuple[Chunk, int]:
    """Return where the values of a column lie, and how many there are."""
    chunk, values = None, -1
    for number, kind in record.fields():
        if number == 3:
            record.take(kind, STRUCT)
            chunk, values = _column(record)
        elif number in (1, 8, 9):
            _refuse("a column of it lies in another file, or is encrypted")
        else:
            record.skip(kind)
    if chunk is None or not 4 <= chunk.start <= chunk.start + chunk.size <= start:
        _refuse("a column of it does not lie before its footer")
    return chunk, values


def _column(record: Record) -> tuple[Chunk, int]:
    """Return the same of what is said of a column."""
    numbers = {5: -1, 7: -1, 9: -1, 11: 0}  # values, bytes, where pages of data and of a dictionary begin
    for number, kind in record.fields():
        if number in numbers:
            record.take(kind, INT64)
            numbers[number] = record.number()
        else:
            record.skip(kind)
    values, size, first, dictionary = numbers.values()
    begin = dictionary if 0 < dictionary < first else first
    if size < 0:
        _refuse("a column of it states no size")
    return Chunk(begin, size), values


def _entries(record: Record) -> dict[bytes, bytes]:
    """Return the entries of a footer, each once."""
    found = dict[bytes, bytes]()
    for _ in range(record.list_of(STRUCT, most=MOST_ENTRIES)):
        pair = {1: b"", 2: b""}
        for number, kind in record.fields():
            if number not in pair:
                _refuse("an entry of its footer is odd")
            record.take(kind, BINARY)
            pair[number] = record.binary()
        if pair[1] in found or pair[1] in _NOT_OURS:
            _refuse(f"its footer has an entry {shown(pair[1].decode('utf-8', errors='replace'))} too many")
        found[pair[1]] = pair[2]
    return found


def _check_chunk(file: BinaryIO, chunk: Chunk, rows: int, width: int) -> bool:
    """Raise unless pages are as they should be; return whether the first is a dictionary."""
    most_bytes, most_pages = 1024 + rows * (width + 8), 8 + rows // LEAST_ROWS_IN_A_GROUP
    place, stop, values, coded = chunk.start, chunk.start + chunk.size, 0, False
    for page in range(most_pages + 1):
        if place >= stop:
            break
        if page == most_pages:
            _refuse("a column of it has very many pages")
        file.seek(place)
        header = _Page(Record(file.read(_LONGEST_HEADER)))
        place += header.length + header.packed
        if header.packed < 0 or place > stop or not 0 <= header.unpacked <= most_bytes:
            _refuse("a page of it unpacks to more than its rows can fill")
        if header.encoding not in _ENCODINGS:
            _refuse("a page of it is encoded as no release is")
        if not 0 <= header.values <= rows:
            _refuse("a page of it states more values than there are rows")
        if header.kind == _DICTIONARY and page == 0:
            coded = True
        elif header.kind in (_DATA, _DATA_V2):
            values += header.values
        else:
            _refuse("a page of it is of no kind that a release has")
    if place != stop or values != rows:
        _refuse("a column of it does not have a value for each row")
    return coded


class _Page:
    """What is said before a page: its kind, its sizes, how many values it holds and how."""

    def __init__(self, record: Record) -> None:
        numbers = {1: -1, 2: -1, 3: -1}
        self.values = self.encoding = -1
        for number, kind in record.fields():
            if number in numbers:
                record.take(kind, INT32)
                numbers[number] = record.number()
            elif number == _SAID_OF.get(numbers[1]):  # the one that readers look at
                record.take(kind, STRUCT)
                self._read_values(record, encoding=4 if numbers[1] == _DATA_V2 else 2)
            else:
                record.skip(kind)
        self.kind, self.unpacked, self.packed = numbers.values()
        self.length = record.place

    def _read_values(self, record: Record, *, encoding: int) -> None:
        for number, kind in record.fields():
            if number in (1, encoding):
                record.take(kind, INT32)
                if number == 1:
                    self.values = record.number()
                else:
                    self.encoding = record.number()
            else:
                record.skip(kind)


def _refuse(fact: str) -> NoReturn:
    raise BadRelease(fact, "Get the file again from its publisher, or ask whoever made it.")
