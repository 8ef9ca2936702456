"""A release as CSV, JSON, Arrow or a workbook of Excel, with labels, for tools that want another file.

Promise: the same rows in the same order with the same values; columns of categories that have labels get
another column `<name>_label` behind them. The file appears whole or not at all, and replaces an export alone.
It holds rows alone: the guarantee and the settings stay with the release.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from hushtable.domain.attributes import Categories, Kind
from hushtable.domain.domain import Domain
from hushtable.errors import BadOutput, MissingPackage
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import MARK, WORKBOOK_CREATOR, is_table
from hushtable.release.record import ReleaseFile

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1 << 16
_ROWS_OF_A_SHEET = 1 << 20
_SHEET = "export to .xlsx"
_AS_CSV = "Export it as .csv."


def export_release(release: ReleaseFile, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release as the file that the end of `path` names: .csv, .json, .jsonl, .arrow or .xlsx."""
    kind = Path(path).suffix.lower()
    if kind not in _WRITERS:
        hint = f"Give it a name that ends in {', '.join(_WRITERS)}."
        raise BadOutput("its name does not end in a known format", hint, file=str(path))
    rows = labelled(release)
    known = f"an export of a release as {kind[1:]} with the same columns"
    check = only(is_table(kind[1:], "export", rows.column_names), known)
    with new_file(Path(path), overwrite=overwrite, check=check) as file:
        _WRITERS[kind](rows, file)


def labelled(release: ReleaseFile) -> pa.Table:
    """Return the rows with a column of labels behind each column of categories that have them."""
    terms, rows = release.terms, release.to_arrow()
    for number, column in reversed(list(enumerate(terms.nodes.columns(terms.domain)))):
        if column.valued:
            values = column.values_over(terms.domain)
            rows = _with_labels(rows, number, values, some=column.holds == "some")
    return rows


def labelled_groups(groups: pa.Table, domain: Domain) -> pa.Table:
    """Return estimates of groups with a column of labels behind each attribute that has them."""
    for number, name in reversed(list(enumerate(groups.column_names))):
        if name in domain.names:
            groups = _with_labels(groups, number, domain.attribute(name).values, some=False)
    return groups


def _with_labels(rows: pa.Table, number: int, values: Kind, *, some: bool) -> pa.Table:
    """Return rows with the labels of a column behind it, if its values have labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(values, Categories) or values.labels is None:
        return rows
    codes = pc.index_in(rows.column(number), value_set=values.decode(np.arange(values.size)))
    labels = pa.array(values.labels, type=pa.string()).take(codes)
    name = f"{rows.column_names[number]}_label"
    while name in rows.column_names:
        name += "_"
    return rows.add_column(number + 1, pa.field(name, pa.string(), nullable=some), labels)


def _csv(rows: pa.Table, file: IO[bytes]) -> None:
    from pyarrow import csv

    csv.write_csv(rows, file)


def _arrow(rows: pa.Table, file: IO[bytes]) -> None:
    import pyarrow as pa

    marked = rows.replace_schema_metadata({**(rows.schema.metadata or {}), MARK: b"export"})
    with pa.ipc.new_file(file, marked.schema) as writer:
        writer.write_table(marked)


def _json_lines(rows: pa.Table, file: IO[bytes]) -> None:
    for batch in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
        text = "".join(_object(row) + "\n" for row in batch.to_pylist())
        file.write(text.encode())


def _json(rows: pa.Table, file: IO[bytes]) -> None:
    file.write(b"[")
    mark = "\n"
    for batch in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
        text = ",\n".join(_object(row) for row in batch.to_pylist())
        if text:
            file.write((mark + text).encode())
            mark = ",\n"
    file.write(b"\n]\n")


def _object(row: dict[str, Any]) -> str:
    """Return a row as a JSON object; times as ISO text."""
    said = {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}
    return json.dumps(said, ensure_ascii=False, allow_nan=False)


def _xlsx(rows: pa.Table, file: IO[bytes]) -> None:
    """Write a workbook with one sheet. Text is text, whatever it starts with: no cell is a formula."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise MissingPackage(_SHEET, "openpyxl", install="'hushtable[xlsx]'") from None
    if rows.num_rows >= _ROWS_OF_A_SHEET:
        raise BadOutput(f"a sheet has room for {_ROWS_OF_A_SHEET - 1:,} rows", _AS_CSV, file=_SHEET)
    book = Workbook(write_only=True)
    book.properties.creator = WORKBOOK_CREATOR
    sheet = book.create_sheet("release")

    def cell(value: object) -> Any:
        made = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            made.data_type = "s"
        return made

    try:
        sheet.append([cell(name) for name in rows.column_names])
        for batch in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append([cell(value) for value in row])
    except IllegalCharacterError:
        raise BadOutput("a value has a character that Excel lacks", _AS_CSV, file=_SHEET) from None
    book.save(file)


_WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".arrow": _arrow,
    ".xlsx": _xlsx,
}
