"""Files that a stranger might make: footers of Parquet taken apart, changed and put together again.

Checksums hold in all of them: whoever changes a file on purpose can compute them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.release import checksum

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Fields = dict[int, list[Any]]  # number of a field -> its type and its value


def forged(path: Path, change: Callable[[Fields], object]) -> Path:
    """Change what a file's footer says of Parquet."""
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    said, _ = _read(data, start, STRUCT)
    change(said)
    return with_footer(path, data[:start], _written(STRUCT, said))


def with_footer(path: Path, before: bytes, footer: bytes) -> Path:
    """Write a file of these bytes, with checksums that hold."""
    path.write_bytes(before + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with path.open("r+b") as file:
        checksum.fill(file)
    return path


def rewritten(path: Path, table: pa.Table, entries: dict[str, str], **settings: Any) -> Path:
    """Write a file with checksums that hold, whatever else is in it."""
    groups = settings.pop("row_group_size", None)
    with path.open("w+b") as file:
        with pq.ParquetWriter(file, table.schema, **{"store_schema": False} | settings) as writer:
            if table.num_rows:
                writer.write_table(table, row_group_size=groups)
            writer.add_key_value_metadata(entries | {checksum.KEY: checksum.BLANK})
        checksum.fill(file)
    return path


def _unsigned(data: bytes, place: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[place]
        place += 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return found, place


def _read(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind in (TRUE, FALSE):
        return kind == TRUE, place
    if kind == BYTE:
        return data[place], place + 1
    if kind in (INT16, INT32, INT64):
        found, place = _unsigned(data, place)
        return (found >> 1) ^ -(found & 1), place
    if kind == BINARY:
        length, place = _unsigned(data, place)
        return data[place : place + length], place + length
    if kind in (LIST, SET):
        length, inner, place = data[place] >> 4, data[place] & 15, place + 1
        if length == 15:
            length, place = _unsigned(data, place)
        values = []
        for _ in range(length):
            value, place = _read(data, place, inner)
            values.append(value)
        return [inner, values], place
    assert kind == STRUCT
    fields: Fields = {}
    number = 0
    while data[place]:
        step, each, place = data[place] >> 4, data[place] & 15, place + 1
        if not step:
            found, place = _unsigned(data, place)
            step = ((found >> 1) ^ -(found & 1)) - number
        number += step
        value, place = _read(data, place, each)
        fields[number] = [each, value]
    return fields, place + 1


def varint(number: int) -> bytes:
    """Return a number from 0 on as Thrift writes it."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _written(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (INT16, INT32, INT64):
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner])
        length = b"" if len(values) < 15 else varint(len(values))
        return head + length + b"".join(_written(inner, each) for each in values)
    if isinstance(value, bytes):  # a record that is written already
        return value
    made, before = bytearray(), 0
    for number, (each, inner_value) in value.items():
        head = number - before
        made += bytes([head << 4 | each]) if 0 < head < 16 else bytes([each]) + varint(number << 1)
        made += _written(each, inner_value)
        before = number
    return bytes(made) + b"\0"
