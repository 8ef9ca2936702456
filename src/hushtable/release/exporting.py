"""A release as CSV, JSON or Arrow, with labels, for tools that want another file.

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

from hushtable.domain.attributes import Categories
from hushtable.errors import BadOutput
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import MARK, is_table
from hushtable.release.record import ReleaseFile

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1 << 16


def export_release(release: ReleaseFile, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release as the file that the end of `path` names: .csv, .json, .jsonl or .arrow."""
    kind = Path(path).suffix.lower()
    if kind not in _WRITERS:
        hint = f"Give it a name that ends in {', '.join(_WRITERS)}."
        raise BadOutput("its name does not say which format it is to have", hint, file=str(path))
    check = only(is_table(kind[1:], "export"), f"an export of a release as {kind[1:]}")
    with new_file(Path(path), overwrite=overwrite, check=check) as file:
        _WRITERS[kind](labelled(release), file)


def labelled(release: ReleaseFile) -> pa.Table:
    """Return the rows with a column of labels behind each column of categories that have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    terms, rows = release.terms, release.to_arrow()
    for number, column in reversed(list(enumerate(terms.nodes.columns(terms.domain)))):
        if not column.valued:
            continue
        values = terms.domain.attributes[column.place].values
        if isinstance(values, Categories) and values.labels is not None:
            every = values.decode(np.arange(values.size))
            codes = pc.index_in(rows.column(column.name), value_set=every)
            labels = pa.array(values.labels, type=pa.string()).take(codes)
            name = f"{column.name}_label"
            while name in rows.column_names:
                name += "_"
            field = pa.field(name, pa.string(), nullable=column.holds == "some")
            rows = rows.add_column(number + 1, field, labels)
    return rows


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


_WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".arrow": _arrow,
}
