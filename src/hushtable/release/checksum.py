"""Checksums inside a Parquet file: two SHA-256 digests, of the rows and of the footer.

The footer's entry `hushtable.checksum` holds 128 hexadecimal digits. The first 64 are the digest of all bytes
before the footer; the last 64 are the digest of the footer, from its first byte to the end of the file, with
these last 64 digits written as zeros.

Promise: a byte that changed by accident is noticed before any reader of Parquet sees it. They are no
signature: whoever changes a file on purpose can compute them anew.
Cost: one pass over the footer to open a file, one over the rest before its rows are read.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, NamedTuple

from hushtable.domain.limits import LARGEST_FOOTER
from hushtable.errors import BadRelease

KEY = "hushtable.checksum"
BLANK = "0" * 128

# An entry as Parquet's footer stores it (Thrift's compact protocol): a text's length follows its tag.
_MARK = KEY.encode() + b"\x18\x80\x01"
_MAGIC = b"PAR1"
_AT_ONCE = 1 << 20
_AGAIN = "Get the file again from its publisher."


class Footer(NamedTuple):
    """Where the footer starts, and the digests that it holds."""

    start: int
    rows_digest: str
    digest: str


def fill(file: BinaryIO) -> str:
    """Write the checksums into a finished file that has the entry; return the digest of the whole file."""
    start, footer = _footer(file)
    place = _place(footer)
    whole = _digest_until(file, start)
    footer[place : place + 128] = whole.hexdigest().encode() + b"0" * 64
    footer[place + 64 : place + 128] = hashlib.sha256(footer).hexdigest().encode()
    file.seek(start)
    file.write(footer)
    whole.update(footer)
    return whole.hexdigest()


def check_footer(file: BinaryIO) -> Footer:
    """Return what the footer says, or raise unless it is whole."""
    return checked_footer(file)[0]


def checked_footer(file: BinaryIO) -> tuple[Footer, bytearray]:
    """Return what the footer says of checksums, and its bytes; or raise unless it is whole."""
    start, footer = _footer(file)
    place = _place(footer)
    rows_digest, digest = bytes(footer[place : place + 64]), bytes(footer[place + 64 : place + 128])
    footer[place + 64 : place + 128] = b"0" * 64
    if hashlib.sha256(footer).hexdigest().encode() != digest:
        raise BadRelease("its footer is damaged, or was changed after it was published", _AGAIN)
    return Footer(start, rows_digest.decode("latin-1"), digest.decode()), footer


def check_rows(file: BinaryIO, footer: Footer) -> None:
    """Raise unless the rows are whole."""
    if _digest_until(file, footer.start).hexdigest() != footer.rows_digest:
        raise BadRelease("its rows are damaged, or were changed after they were published", _AGAIN)


def _footer(file: BinaryIO) -> tuple[int, bytearray]:
    """Return where the footer of a Parquet file starts, and the bytes from there on."""
    file.seek(0)
    starts = file.read(4) == _MAGIC
    size = file.seek(0, 2)
    if not starts:
        fact = "it is empty" if size == 0 else "it is not a Parquet file"
        raise BadRelease(
            fact, "A release is a Parquet file, or a folder of them, made by `hushtable publish`."
        )
    file.seek(max(0, size - 8))
    end = file.read(8)
    start = size - 8 - int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or start < 4:
        raise BadRelease("it is cut off or damaged", _AGAIN)
    if size - start > LARGEST_FOOTER:
        fact = f"its footer is longer than {LARGEST_FOOTER:,} bytes"
        raise BadRelease(fact, "No release has such a footer: ask whoever made it.")
    file.seek(start)
    return start, bytearray(file.read(size - start))


def _place(footer: bytearray) -> int:
    """Return where the digits start. Entries come after all that depends on rows, so the last mark counts."""
    place = footer.rfind(_MARK) + len(_MARK)
    if place < len(_MARK) or place + 128 > len(footer):
        hint = f"It may be raw data, or a table that another tool made from a release. {_AGAIN}"
        raise BadRelease("it is a Parquet file, but not a whole release of hushtable", hint)
    return place


def _digest_until(file: BinaryIO, stop: int) -> hashlib._Hash:
    """Return the digest of the file up to `stop`."""
    digest = hashlib.sha256()
    file.seek(0)
    while stop > 0 and (part := file.read(min(stop, _AT_ONCE))):
        digest.update(part)
        stop -= len(part)
    return digest
