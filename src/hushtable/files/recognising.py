"""Recognise files that hushtable wrote beside releases by their content: only those are overwritten.

Promise: a file is taken for ours only by a mark that we put there, or, where a format has no room for one
(CSV and JSON), by the names of its columns, quoted as we quote them: an export has all columns of what takes
its place, answers end in four that are ours. A file that cannot be read, or whose first line is too long, is
not ours.
Cost: the first and the last megabyte of a file are read.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

MARK = b"hushtable.file"  # a key in the metadata of Arrow and Parquet files; a release has others

WORKBOOK_CREATOR = "hushtable export"  # in the properties of a workbook

REPORT_MARK = "hushtable report"
CARD_HEADING = "# A record for the registry of differential privacy deployments, made by hushtable card."
CARD_CREDIT = "Described by hushtable card."

_MOST = 1 << 20  # bytes at either end of a file
_QUOTED = re.compile(rb'"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*')
_PICTURES = {
    ".png": (b"\x89PNG\r\n\x1a\n", b"Software\0hushtable"),
    ".svg": (b"<?xml", b"<dc:title>hushtable</dc:title>"),
    ".pdf": (b"%PDF-", b"/Creator (hushtable)"),
}
_PAGE = re.compile(
    rb'<!doctype html>\n<html lang="en">\n<head>.{0,2000}<meta name="generator" content="hushtable ',
    re.DOTALL,
)
_REPORT = re.compile(_PAGE.pattern.replace(b"hushtable ", REPORT_MARK.encode() + b'"'), re.DOTALL)
_EMPTY = {"json": b"[\n]\n", "jsonl": b""}
_OF_ANSWERS = ["estimate", "standard_error", "low", "high"]


def is_picture(kind: str) -> Callable[[Path], bool]:
    """Return how to recognise a picture that we drew: of the kind .png, .svg or .pdf."""
    start, mark = _PICTURES[kind]

    def is_ours(path: Path) -> bool:
        found = _ends(path)
        return found.startswith(start) and mark in found

    return is_ours


def is_page(path: Path) -> bool:
    """Return whether a file is a page that we made."""
    return _PAGE.match(_start(path)) is not None


def is_report(kind: str) -> Callable[[Path], bool]:
    """Return how to recognise a report that we made: .html, .md or .pdf."""

    def is_ours(path: Path) -> bool:
        if kind == ".pdf":
            found = _ends(path)
            return found.startswith(b"%PDF-") and found.endswith(f"%{REPORT_MARK}\n".encode())
        if kind == ".md":
            return _start(path).startswith(f"<!-- {REPORT_MARK} -->\n".encode())
        return _REPORT.match(_start(path)) is not None

    return is_ours


def is_card(path: Path) -> bool:
    """Return whether a file is a card that we made: YAML with our first line, or JSON with our credit."""
    found = _start(path)
    credit = f'\n "creditText": {json.dumps(CARD_CREDIT)},\n'
    return found.startswith(f"{CARD_HEADING}\n".encode()) or (
        found.startswith(b'{\n "@context": {\n') and credit.encode() in found
    )


def is_table(kind: str, what: str | None, names: Sequence[str] = ()) -> Callable[[Path], bool]:
    """Return how to recognise a table of ours: csv, json, jsonl, arrow, parquet or xlsx.

    `what` it is: an "export", which has the columns `names`, or "answers". With None the columns are the
    asker's own, so CSV and JSON are never recognised.
    """

    def is_ours(path: Path) -> bool:
        if kind in ("arrow", "parquet"):
            return _is_marked(path, kind)
        if what is None:
            return False
        if kind == "xlsx":
            return _is_our_workbook(path)
        if kind == "json" and _start(path).startswith(b'{"hushtable": "answers"'):
            return what == "answers"
        if kind in _EMPTY and _start(path) == _EMPTY[kind]:
            return True  # without rows it says no names, and nothing else
        found = list(_names(path, kind) or ())
        if what == "export":
            return found == list(names)
        # An attribute may have one of the names; then ours has a line behind it.
        return [name.rstrip("_") for name in found[-len(_OF_ANSWERS) :]] == _OF_ANSWERS

    return is_ours


def _names(path: Path, kind: str) -> Sequence[str] | None:
    """Return the names of the columns of a CSV or JSON file as we write them; None where it is none."""
    text = _start(path)
    lines = text.split(b"\n")
    if len(lines) < 2:
        return None
    try:
        if kind == "csv":
            whole = _QUOTED.fullmatch(lines[0])
            return next(csv.reader([lines[0].decode()])) if whole else None
        if kind == "json" and lines[0] != b"[":
            return None
        row = json.loads(lines[0] if kind == "jsonl" else lines[1].rstrip(b","))
    except (ValueError, csv.Error, RecursionError):
        return None
    return list(row) if isinstance(row, dict) else None


def _is_marked(path: Path, kind: str) -> bool:
    """Return whether an Arrow or Parquet file has our mark."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if kind == "parquet":
            found = pq.read_schema(path).metadata
        else:
            with pa.OSFile(str(path)) as file:
                found = pa.ipc.open_file(file).schema.metadata
    except (pa.ArrowException, OSError):
        return False
    return MARK in (found or {})


def _is_our_workbook(path: Path) -> bool:
    """Return whether a workbook of Excel says that we wrote it."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as file:
            return WORKBOOK_CREATOR.encode() in file.open("docProps/core.xml").read(_MOST)
    except (OSError, KeyError, BadZipFile, RuntimeError, NotImplementedError):
        return False


def _start(path: Path) -> bytes:
    """Return the first bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST)
    except OSError:
        return b""


def _ends(path: Path) -> bytes:
    """Return the first and the last bytes of a file."""
    try:
        with open(path, "rb") as file:
            first = file.read(_MOST)
            file.seek(0, 2)
            file.seek(max(len(first), file.tell() - _MOST))
            return first + file.read()
    except OSError:
        return b""
