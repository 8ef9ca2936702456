"""The files that a path, a folder or a pattern names, and what is in them by their names.

Promise: every file that is given back is there, can be read and is of a known format; a compressed one that
was cut off is refused where the engine would count its first part. No message tells the value in the name of
a folder such as `person=...`, which is one of its rows' values.
"""

from __future__ import annotations

import os
import re
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.quoting import text_sql
from hushtable.engines.sliced.versions import check_local_versions
from hushtable.errors import BadData

_PACKED = (".gz", ".zst")
_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")
_ADDRESS = re.compile(r"[a-zA-Z][\w+.-]*://")
_DATABASES = (".duckdb", ".ddb", ".db", ".db3", ".sqlite", ".sqlite3")
_KNOWN = (
    "Parquet (.parquet), CSV (.csv, .tsv, also .gz, .zst), JSON lines (.jsonl), Arrow (.arrow, .feather), "
    "and one database of DuckDB or SQLite"
)


def is_sqlite(data: Any) -> bool:
    """Return whether `data` is the path of a SQLite file."""
    return _magic(data)[:16] == b"SQLite format 3\0"


def is_duckdb(data: Any) -> bool:
    """Return whether `data` is the path of a DuckDB file."""
    return _magic(data)[8:12] == b"DUCK"


def _magic(data: Any) -> bytes:
    """Return the first bytes of a file, nothing if there is none."""
    if not isinstance(data, str | os.PathLike) or not os.path.isfile(data):
        return b""  # to open a pipe would wait for a writer
    try:
        with open(data, "rb") as file:
            return file.read(16)
    except OSError:
        return b""


def files_sql(files: list[str]) -> str:
    """Return files as a list in SQL; DuckDB would take the brackets of a name for a pattern."""
    return "[" + ", ".join(text_sql(escape(file)) for file in files) + "]"


def files_of(path: str) -> list[str]:
    """Return the files that a path, folder or pattern names."""
    if (scheme := _ADDRESS.match(path)) is not None and not os.path.exists(path):
        fact = f"an address of the kind {scheme[0]} is not read"  # the rest may hold a password
        raise BadData(fact, f"hushtable reads {_KNOWN}; and PostgreSQL, as postgresql://user@host/clinic.")
    if os.path.isdir(path):
        check_local_versions([path])
        inside = sorted(str(file) for file in Path(path).rglob("*") if file.is_file())
        found = [file for file in inside if not _hidden(os.path.relpath(file, path))]
        if not found:
            raise BadData(f"the folder {path!r} holds no files", f"It may hold {_KNOWN}.")
    elif os.path.exists(path):
        found = [path]
    elif has_magic(path):
        found = sorted(file for file in glob(path, recursive=True) if os.path.isfile(file))
        if not found:
            raise BadData(f"no file matches {path!r}", "Check the pattern; put it in quotes in a shell.")
    else:
        raise BadData(f"there is no file {said(path)}", "Check the path.")
    check_local_versions(found)
    for file in found:
        _check_access(file)
    # DuckDB and Arrow would take the start of such a name for a place: `file:`, `s3:`.
    return [os.path.join(os.curdir, file) if _SCHEME.match(file) else file for file in found]


def format_of(file: str) -> str:
    """Return the format that a file's name says."""
    path = Path(file.lower())
    kind = _FORMATS.get(Path(path.stem).suffix if packed(file) else path.suffix)
    if is_sqlite(file) or is_duckdb(file):
        raise BadData(
            f"the database {said(file)} is given with others", "Give the path of one database only."
        )
    if path.suffix in _DATABASES:
        hint = "Make it again, or give the file another name if it holds something else."
        raise BadData(f"{said(file)} is not a database of DuckDB or SQLite, or is damaged", hint)
    if kind is None or (packed(file) and kind in ("parquet", "arrow")):
        raise BadData(f"the name of {said(file)} does not say what is in it", f"hushtable reads {_KNOWN}.")
    if kind != "json" and not os.path.getsize(file):
        raise BadData(f"the file {said(file)} is empty", "Even without rows it must name its columns.")
    if path.suffix == ".zst" and not _whole_zstandard(file):
        raise BadData(f"{said(file)} is not Zstandard, or is cut off", "Copy it or make it again.")
    return kind


def packed(file: str) -> bool:
    """Return whether a file is compressed, by its name."""
    return file.lower().endswith(_PACKED)


def _check_access(file: str) -> None:
    """Raise unless a file can be opened."""
    if not os.path.isfile(file):
        raise BadData(f"{said(file)} is a pipe or a device", "Save its rows in a file first.")
    if not os.access(file, os.R_OK):
        raise BadData(f"the file {said(file)} may not be read by you", "Ask its owner, or change its mode.")
    if any("\ud800" <= character <= "\udfff" for character in file):
        raise BadData(f"the name of {said(file)} is not UTF-8", "Rename the file or its folder.")


def _hidden(path: str) -> bool:
    """Return whether a file in a folder is none of its data: .crc files, _SUCCESS and their like."""
    return any(part.startswith((".", "_")) for part in Path(path).parts)


def _whole_zstandard(file: str) -> bool:
    """Return whether a file ends where a frame of it ends. DuckDB takes what is cut off for the end.

    Source: RFC 8878, sections 3.1.1 and 3.1.2.
    """
    place, size = 0, os.path.getsize(file)
    with open(file, "rb") as stream:

        def number(count: int) -> int:
            """Return the next bytes as a number, and step behind them."""
            nonlocal place
            stream.seek(place)
            place += count
            return int.from_bytes(stream.read(count), "little")

        while place < size:
            magic = number(4)
            if magic >> 4 == 0x184D2A5:  # to be skipped
                length = number(4)
                place += length
                continue
            if magic != 0xFD2FB528:
                return False
            flags = number(1)
            single = flags >> 5 & 1
            place += (not single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
            last = 0
            while not last and place < size:
                block = number(3)
                last = block & 1
                place += 1 if block >> 1 & 3 == 1 else block >> 3
            place += 4 * (flags >> 2 & 1)
            if not last:
                return False
    return place == size
