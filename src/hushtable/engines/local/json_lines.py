"""Rows of JSON lines: each line read by itself, and of it the keys that are used.

Promise: what is on a line decides how that line is read, and nothing else. A line is a row if it is one JSON
object in UTF-8, of at most 8 MiB, that has each used key at most once, upper and lower case being alike.
Other lines are dropped, and counted for the owner; blank ones are no rows. A key is spelled as it is named:
`ID` is not `id`. Values stay JSON text, so that no number of any length is rounded to another.
Cost: lines pass through Python as blocks; DuckDB parses each of them three times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from hushtable.domain.columns import cast
from hushtable.engines.local.records import Limits, Reader, TextFormat, blocks, opened
from hushtable.engines.sliced.engine import fetched, quiet
from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.quoting import name_sql, text_sql
from hushtable.engines.sliced.rows import Unread
from hushtable.errors import BadData

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_MARK = b"\xef\xbb\xbf"  # of byte order
_LF = 10
_LINES = "lines of json"
_SPACES = "' ' || chr(9) || chr(10) || chr(13)"


class LineRows:
    """The lines of files, with the columns of their folders beside them, as a stream that can be read again.

    `tally` is of the last reading that came to its end.
    """

    def __init__(
        self,
        files: Sequence[str],
        *,
        constants: Mapping[str, Mapping[str, str | None]] | None = None,
        limits: Limits | None = None,
    ) -> None:
        import pyarrow as pa

        self._limits = limits
        self._constants = constants or {}
        self._marks = {file: quiet(_mark, file) for file in files}
        self.folders = list(dict.fromkeys(name for found in self._constants.values() for name in found))
        # Numbered: a folder may have any name, even that of the lines.
        self.schema = pa.schema([(f"c{place}", pa.string()) for place in range(len(self.folders) + 1)])
        self.tally: Unread | None = None

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all lines that are text and not too long, and keep the tally of the others."""
        import pyarrow as pa

        tally, reader = Unread(), Reader(TextFormat(), self._limits)
        for file, mark in self._marks.items():
            values = self._constants.get(file, {})
            with closing(opened(file)) as stream:
                for piece in reader.pieces(stream, skip=mark):
                    if piece.too_long:
                        tally.too_long += 1
                        continue
                    lines = _lines(piece.text)
                    tally.not_text += lines.null_count
                    lines = lines.drop_null()
                    folders = [
                        pa.repeat(pa.scalar(values.get(name), pa.string()), len(lines))
                        for name in self.folders
                    ]
                    yield pa.record_batch([lines, *folders], schema=self.schema)
        self.tally = tally


def lines_sql(rows: LineRows, names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> str:
    """Let DuckDB read lines, and return SQL for their rows: the columns `names`, and those of folders."""
    connection.register(_LINES, rows)
    folders = set(map(folded, rows.folders))
    keys = [name for name in names if folded(name) not in folders]
    pointers = ", ".join(text_sql(f"/{name.replace('~', '~0').replace('/', '~1')}") for name in keys)
    values = f"json_extract(c0, [{pointers}]::VARCHAR[])" if keys else "CAST([] AS JSON[])"
    beside = "".join(f", c{place + 1}" for place in range(len(folders)))
    rows_sql = f"SELECT * FROM {name_sql(_LINES)} WHERE {_readable([*keys, *rows.folders], rows.folders)}"
    # Asked again: where DuckDB moves a filter of the owner before ours, it must not fail on other text.
    inner = f"SELECT CASE WHEN json_valid(c0) THEN {values} END AS found{beside} FROM ({rows_sql}) AS lines"
    columns = [f"nullif(found[{place + 1}], 'null') AS {name_sql(name)}" for place, name in enumerate(keys)]
    columns += [f"c{place + 1} AS {name_sql(name)}" for place, name in enumerate(rows.folders)]
    return f"SELECT {', '.join(columns) or '1 AS nothing'} FROM ({inner}) AS objects"


def _readable(names: Sequence[str], folders: Sequence[str] = ()) -> str:
    """Return the condition that a line is a row. The condition never fails, whatever the line holds."""
    checks = ["WHEN NOT json_valid(c0) THEN FALSE", "WHEN json_type(c0) <> 'OBJECT' THEN FALSE"]
    if names:
        known = ", ".join(f"lower({text_sql(name)})" for name in names)
        keys = "list_transform(json_keys(c0), lambda key: lower(key))"
        used = f"list_filter({keys}, lambda key: key IN ({known}))"
        if folders:
            taken = ", ".join(f"lower({text_sql(name)})" for name in folders)
            checks.append(f"WHEN list_has_any({used}, [{taken}]) THEN FALSE")
        # Quick, and true of most lines: no used key stands in it twice, in quotes. `_` and `%` in a name only
        # make it true of fewer lines; with a backslash in a line, a key may be spelled by its code.
        twice = " OR ".join(_twice(name) for name in names)
        checks.append(f"WHEN NOT contains(c0, '\\') AND NOT ({twice}) THEN TRUE")
        checks.append(f"WHEN list_unique({used}) < len({used}) THEN FALSE")
    return f"CASE {' '.join(checks)} ELSE TRUE END"


def _twice(name: str) -> str:
    """Return the condition that a name stands in a line twice, in quotes."""
    quoted = text_sql(f'%"{name}"%"{name}"%')
    return f"lower(c0) LIKE lower({quoted})"


def unreadable_lines(rows: LineRows, names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> Unread:
    """Return how many lines are no rows, and not blank. Private. Reads all lines once more."""
    bad = f"NOT {_readable([*names, *rows.folders], rows.folders)}"
    sql = f"SELECT count(*) FROM {name_sql(_LINES)} WHERE {bad} AND trim(c0, {_SPACES}) <> ''"
    ((count,),) = fetched(sql, connection)
    tally = rows.tally or Unread()
    return Unread(too_long=tally.too_long, not_text=tally.not_text, keys=count)


def keys_of(rows: LineRows, connection: duckdb.DuckDBPyConnection, *, limit: int | None = None) -> list[str]:
    """Return all keys of the lines that are rows, in the order in which they mostly come."""
    connection.register(_LINES, rows)
    some = "" if limit is None else f" LIMIT {limit}"
    lines = f"SELECT CASE WHEN {_readable([])} THEN json_keys(c0) END AS keys FROM {name_sql(_LINES)}{some}"
    places = f"SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place FROM ({lines}) AS lines"
    sql = f"SELECT key FROM ({places}) AS places GROUP BY key ORDER BY min(place), key"
    return [key for (key,) in fetched(sql, connection) if key]


def _mark(file: str) -> int:
    """Return how long the mark of byte order is that a file begins with."""
    with closing(opened(file)) as stream:
        first = next(blocks(stream, len(_MARK)), b"")
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadData(f"{said(file)} is in UTF-16, not UTF-8", "Save the data in UTF-8.")
    return len(_MARK) if first == _MARK else 0


def _lines(text: bytes) -> pa.Array:
    """Return the lines of a text, each with its line end, which is a space to JSON; NULL for other bytes."""
    import pyarrow as pa

    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _LF) + 1
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    try:
        return cast(lines, pa.string())
    except pa.ArrowInvalid:
        pass

    def readable(line: bytes) -> str | None:
        try:
            return line.decode()
        except UnicodeDecodeError:
            return None

    return pa.array([readable(line) for line in lines.to_pylist()], pa.string())
