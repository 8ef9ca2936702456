"""Bad input: each mistake is one clear error of ours, and no value of a row is in anything that is said."""

from __future__ import annotations

import errno
import gzip
import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Edges, Integers, Kind, Times
from hushtable.engines.local.checking import check_rows
from tests.engines.contracts.refusals import (
    AGE,
    CANARY,
    COUNTS,
    DOMAIN,
    MISSING,
    NUMBER,
    PLACE,
    ROWS,
    TABLE,
    Case,
    Fine,
    Make,
    Refuse,
    as_params,
    check_silence,
    filtered,
    left_in,
    ruled,
    texts_of,
    value,
    with_column,
)
from tests.engines.reference import counts_of
from tests.harness.cases import chosen, few

HEADER = "place,age,name\n"
LINE = f"01,3,{CANARY}\n"
OBJECT = json.dumps(ROWS[0]) + "\n"
LATE = 30_000  # lines: beyond what any reader looks at first


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


# Makers of data.


def written(name: str, *parts: str | bytes) -> Make:
    """Return a maker of one file."""

    def make(folder: Path) -> Any:
        with (folder / name).open("wb") as file:
            for part in parts:
                file.write(part.encode() if isinstance(part, str) else part)
        return folder / name

    return make


def text(*parts: str | bytes) -> Make:
    return written("rows.csv", *parts)


def lines(*parts: str | bytes) -> Make:
    return written("rows.jsonl", *parts)


def several(*makes: Make) -> Make:
    """Return a maker of a folder of files, made in folders of their own that come in this order."""

    def make(folder: Path) -> Any:
        for place, each in enumerate(makes):
            (folder / "all" / str(place)).mkdir(parents=True)
            each(folder / "all" / str(place))
        return folder / "all"

    return make


def parquet_bytes(table: pa.Table = TABLE, **settings: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **settings)
    return bytes(sink.getvalue())


def arrow_bytes(table: pa.Table = TABLE, *, stream: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=20)
    return bytes(sink.getvalue())


def zstandard_bytes(text: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text.encode())
    return bytes(sink.getvalue())


def parquet(table: pa.Table = TABLE) -> Make:
    return written("rows.parquet", parquet_bytes(table))


def arrow(table: pa.Table = TABLE) -> Make:
    return written("rows.arrow", arrow_bytes(table))


def database(*statements: str, name: str = "rows.duckdb") -> Make:
    def make(folder: Path) -> Any:
        with duckdb.connect(str(folder / name)) as connection:
            for statement in statements:
                connection.execute(statement).fetchall()
        return folder / name

    return make


PEOPLE = f"""
    CREATE TABLE people AS SELECT CASE WHEN i % 3 = 0 THEN '{CANARY}' ELSE '01' END AS place, i % 100 AS age,
    '{CANARY}' AS name, {NUMBER} AS n FROM range(2000) AS numbers(i)
"""


def sqlite(*statements: str, name: str = "rows.db") -> Make:
    def make(folder: Path) -> Any:
        connection = sqlite3.connect(folder / name)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return folder / name

    return make


LITE_PEOPLE = (
    "CREATE TABLE people (place TEXT, age INTEGER, name TEXT)",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 2000) INSERT INTO people "
    f"SELECT CASE WHEN i % 3 = 0 THEN '{CANARY}' ELSE '01' END, i % 100, '{CANARY}' FROM r",
)


def edited(make: Make, edit: Callable[[bytes], bytes]) -> Make:
    """Return a maker of a file whose bytes are changed."""

    def make_edited(folder: Path) -> Any:
        path = make(folder)
        path.write_bytes(edit(path.read_bytes()))
        return path

    return make_edited


def cut(part: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(len(content) * part)]


def cut_by(count: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:-count]


def scrambled(begin: int, count: int = 8) -> Callable[[bytes], bytes]:
    """Return the change of some bytes to others."""
    return lambda content: (
        content[:begin]
        + bytes(byte ^ 0x55 for byte in content[begin : begin + count])
        + content[begin + count :]
    )


# Paths and files.


def fifo(folder: Path) -> Any:
    os.mkfifo(folder / "rows.csv")
    return folder / "rows.csv"


def hidden_only(folder: Path) -> Any:
    (folder / "_SUCCESS").touch()
    (folder / ".rows.csv").write_text(HEADER + LINE)
    return folder


def name_not_utf8(folder: Path) -> Any:
    path = os.fsencode(folder) + b"/rows\xff.parquet"
    Path(os.fsdecode(path)).write_bytes(parquet_bytes())
    return os.fsdecode(path)


def partitioned(header: str) -> Make:
    """Return a maker of a folder that is named after a person."""

    def make(folder: Path) -> Any:
        (folder / "all" / f"name={CANARY}").mkdir(parents=True)
        (folder / "all" / f"name={CANARY}" / "part-0.csv").write_text(header + f"01,3,{CANARY}\n")
        return folder / "all"

    return make


FILES = [
    Case("no file", lambda folder: folder / "rows.csv", "there is no file"),
    Case("no file of a list", lambda folder: [parquet()(folder), folder / "b.parquet"], "there is no file"),
    Case("empty path", value(""), "there is no file ''"),
    Case("path with NUL", value("rows\0.csv"), "there is no file"),
    Case("empty folder", lambda folder: folder, "holds no files"),
    Case("folder of hidden files", hidden_only, "holds no files"),
    Case("pattern without match", lambda folder: f"{folder}/*.csv", "no file matches"),
    Case("pipe", fifo, "is a pipe or a device"),
    Case("unknown ending", written("rows.xlsx", CANARY), "hushtable reads Parquet"),
    Case("no ending", written("rows", CANARY), "does not say what is in it"),
    Case("zipped CSV", written("rows.csv.zip", CANARY), "does not say what is in it"),
    Case("packed Parquet", written("rows.parquet.gz", CANARY), "does not say what is in it"),
    Case("several kinds", several(parquet(), text(HEADER, LINE)), "several kinds: csv, parquet"),
    Case("name not in UTF-8", name_not_utf8, "is not UTF-8"),
    Case("empty CSV", text(), "is empty"),
    Case("empty TSV", written("rows.tsv"), "is empty"),
    Case("empty Parquet", written("rows.parquet"), "is empty"),
    Case("empty Arrow", written("rows.arrow"), "is empty"),
    Case("empty gzip", written("rows.csv.gz"), "is empty"),
    Case("empty Zstandard", written("rows.csv.zst"), "is empty"),
    Case("empty gzip of JSON lines", written("rows.jsonl.gz"), "not what its name says"),
    Case("empty DuckDB", written("rows.duckdb"), "is not a database of DuckDB or SQLite"),
    Case("empty SQLite", written("rows.db"), "is not a database of DuckDB or SQLite"),
    Case("DuckDB in a folder", several(database(PEOPLE)), "Give the path of one database only"),
    Case(
        "SQLite in a list",
        lambda folder: [sqlite(*LITE_PEOPLE)(folder)],
        ("Give the path of one database only"),
    ),
    Case("folder of a person, bad header", partitioned("place,,age\n"), "name=.../part-0.csv"),
    Case("folder of a person, no header", partitioned(""), "Does the first line of the data name"),
]

# Parquet.

HALF_OF_PARQUET = several(parquet(), edited(parquet(), cut(0.5)))
DATE_TIMES = [datetime(2024, 1, 1)] * len(ROWS)
ZONED = pa.array(DATE_TIMES, type=pa.timestamp("us", tz="UTC"))

PARQUET = [
    Case("Parquet, first half", edited(parquet(), cut(0.5)), "not a Parquet file, or is damaged"),
    Case("Parquet, last bytes missing", edited(parquet(), cut_by(4)), "not a Parquet file, or is damaged"),
    Case("Parquet, three bytes", edited(parquet(), lambda all_of_it: all_of_it[:3]), "not a Parquet file"),
    Case(
        "Parquet, footer damaged",
        edited(parquet(), lambda content: scrambled(len(content) - 200, 150)(content)),
        "not a Parquet file, or is damaged",
    ),
    Case(
        "Parquet, middle missing",
        edited(parquet(), lambda content: content[:30] + content[130:]),
        "is damaged",
    ),
    Case("Parquet, pages damaged", edited(parquet(), scrambled(4, 60)), "is damaged"),
    Case("one Parquet of two is cut off", HALF_OF_PARQUET, "1/rows.parquet' is not a Parquet file"),
    Case("CSV named Parquet", written("rows.parquet", HEADER, LINE), "not a Parquet file"),
    Case("Arrow named Parquet", written("rows.parquet", arrow_bytes()), "not a Parquet file"),
    Case(
        "Parquet with text that is not UTF-8",
        written(
            "rows.parquet",
            parquet_bytes(compression="none", use_dictionary=False).replace(
                CANARY.encode(), CANARY.encode()[:-1] + b"\xff"
            ),
        ),
        "not UTF-8",
    ),
    Case(
        "second Parquet without a column",
        several(parquet(), parquet(TABLE.drop(["age"]))),
        "1/rows.parquet' has no column 'age'",
    ),
    Case(
        "first Parquet without a column",
        several(parquet(TABLE.drop(["age"])), parquet()),
        "0/rows.parquet' has no column 'age'",
    ),
    Case(
        "text after numbers in Parquet",
        several(parquet(), parquet(with_column("age", [CANARY] * len(ROWS)))),
        "column 'age' holds VARCHAR in",
    ),
    Case(
        "numbers after text in Parquet",
        several(parquet(), parquet(with_column("place", [NUMBER] * len(ROWS)))),
        "column 'place' holds BIGINT in",
    ),
    Case(
        "zoned times after others in Parquet",
        several(parquet(with_column("age", DATE_TIMES)), parquet(with_column("age", ZONED))),
        "column 'age' holds TIMESTAMP WITH TIME ZONE in",
    ),
    Case(
        "a name twice in Parquet",
        parquet(TABLE.rename_columns(["place", "age", "age", "n"])),
        "several columns named 'age'",
    ),
    Case(
        "a name in two cases in Parquet",
        parquet(TABLE.rename_columns(["place", "Age", "name", "age"])),
        "several columns named 'age'",
    ),
]

# CSV.

GZIP = gzip.compress((HEADER + LINE * 5_000).encode())
LARGE_GZIP = gzip.compress(HEADER.encode() + LINE.encode() * 500_000, 1)
ZSTANDARD = zstandard_bytes(
    HEADER + "".join(f"01,{i % 100},{CANARY}{i * 7919 % 10_007}\n" for i in range(50_000))
)


CSV = [
    Case("CSV without header", text(LINE * 3), "Does the first line of the data name the columns"),
    Case("CSV without header, of one line", text(f"{CANARY},{NUMBER}"), "Does the first line of the data"),
    Case("CSV with a blank line first", text("\n", HEADER, LINE), "does not name every column"),
    Case("CSV with an empty name", text("place,,age\n", LINE), "does not name every column"),
    Case("CSV with a name twice", text("place,age,age\n", LINE), "names a column twice"),
    Case("CSV with a name in two cases", text("place,age,Age\n", LINE), "names a column twice"),
    Case("CSV with semicolons", text("place;age;name\n", f"01;3;{CANARY}\n"), "with commas between"),
    Case("CSV named TSV", written("rows.tsv", HEADER, LINE), "tabs (.tsv)"),
    Case("CSV with a quote open in its header", text('place,age,"name\n', LINE * 3), "is not CSV"),
    Case("CSV with an endless header", text("place,age," + "x" * 20_000_000 + "\n", LINE), "is not CSV"),
    Case("CSV header in Latin-1", text("place,age,näme\n".encode("latin-1"), LINE), "is not text in UTF-8"),
    Case("CSV in UTF-16", text((HEADER + LINE).encode("utf-16")), "is not text in UTF-8"),
    Case("CSV in UTF-16 without mark", text((HEADER + LINE).encode("utf-16-be")), "is not text in UTF-8"),
    Case("Parquet named CSV", text(parquet_bytes()), "is not text in UTF-8"),
    Case("gzip named CSV", text(GZIP), "is not text in UTF-8"),
    Case(
        "second CSV without a column",
        several(text(HEADER, LINE), text("place,agee,name\n", LINE)),
        "1/rows.csv' has no column 'age'",
    ),
    Case(
        "CSV named gzip",
        written("rows.csv.gz", HEADER, LINE),
        "damaged, cut off, or not compressed as its name says",
    ),
    Case("gzip, first half", written("rows.csv.gz", cut(0.5)(GZIP)), "cut off"),
    Case(
        "gzip, last byte missing",
        written("rows.csv.gz", cut_by(1)(gzip.compress((HEADER + LINE * LATE).encode()))),
        "cut off",
    ),
    Case(
        "gzip, damaged",
        written("rows.csv.gz", scrambled(20)(GZIP)),
        "damaged, cut off, or not compressed as its name says",
    ),
    Case("gzip, with more behind it", written("rows.csv.gz", GZIP, b"x" * 100), "damaged, cut off, or not"),
    Case("CSV named Zstandard", written("rows.csv.zst", HEADER, LINE), "is not Zstandard, or is cut off"),
    *(
        Case(f"Zstandard, {part} of it", written("rows.csv.zst", cut(part)(ZSTANDARD)), "or is cut off")
        for part in (0.01, 0.3, 0.5, 0.9)
    ),
    *(
        Case(
            f"Zstandard, {count} bytes missing",
            written("rows.csv.zst", cut_by(count)(ZSTANDARD)),
            "or is cut off",
        )
        for count in (1, 4, 100)
    ),
    Case(
        "Zstandard, damaged",
        written("rows.csv.zst", scrambled(len(ZSTANDARD) // 2, 4_000)(ZSTANDARD)),
        "damaged",
    ),
]

# JSON lines.


JSON = [
    Case("JSON in UTF-16", lines((OBJECT * 3).encode("utf-16")), "not UTF-8"),
    Case("JSON named gzip", written("rows.jsonl.gz", OBJECT), "not what its name says"),
    Case(
        "JSON in half a gzip",
        written("rows.jsonl.gz", cut(0.5)(gzip.compress((OBJECT * 9).encode()))),
        "ends too early",
    ),
    Case(
        "gzip, other checksum",
        written("rows.csv.gz", GZIP[:-8], bytes(4), GZIP[-4:]),
        "damaged, cut off, or not compressed as its name says",
    ),
    Case(
        "large gzip, other checksum",
        written("rows.csv.gz", LARGE_GZIP[:-8], bytes(4), LARGE_GZIP[-4:]),
        "a compressed file is damaged",
    ),
    Case("JSON in half a Zstandard", written("rows.jsonl.zst", cut(0.5)(ZSTANDARD)), "or is cut off"),
]

# Arrow.


def ends_of_messages(stream: bytes) -> list[int]:
    """Return where each message of an Arrow stream ends."""
    source = pa.BufferReader(stream)
    return [source.tell() for _ in pa.ipc.MessageReader.open_stream(source)]


def wild_offsets(content: bytes) -> bytes:
    """Return an Arrow file with text that claims to begin far outside of it."""
    offsets = struct.pack("<4i", 0, 2, 4, 4 + len(CANARY))
    assert offsets in content
    return content.replace(offsets, struct.pack("<4i", 0, 2**31 - 256, -5000, 4 + len(CANARY)))


STREAM = arrow_bytes(stream=True)
MESSAGES = ends_of_messages(STREAM)
ARROW = [
    *(
        Case(f"Arrow, {part} of it", edited(arrow(), cut(part)), "or is cut off")
        for part in (0.01, 0.5, 0.99)
    ),
    Case("Arrow stream, half of it", written("rows.arrows", cut(0.5)(STREAM)), "or is cut off"),
    Case(
        "Arrow stream, one batch of three",
        written("rows.arrows", STREAM[: MESSAGES[1]]),
        "or is cut off",
    ),
    Case("Arrow stream, end missing", written("rows.arrows", cut_by(8)(STREAM)), "or is cut off"),
    Case(
        "Arrow stream, damaged", written("rows.arrows", scrambled(MESSAGES[0] + 8, 80)(STREAM)), "is damaged"
    ),
    Case("CSV named Arrow", written("rows.arrow", HEADER, LINE), "is not an Arrow file"),
    Case("Parquet named Arrow", written("rows.feather", parquet_bytes()), "is not an Arrow file"),
    Case("Arrow, offsets damaged", edited(arrow(), wild_offsets), "a file is damaged"),
    Case(
        "second Arrow without a column",
        several(arrow(), arrow(TABLE.drop(["age"]))),
        "1/rows.arrow' has no column 'age'",
    ),
    Case(
        "first Arrow without a column",
        several(arrow(TABLE.drop(["age"])), arrow()),
        "0/rows.arrow' has no column 'age'",
    ),
    Case(
        "text after numbers in Arrow",
        several(arrow(), arrow(with_column("age", [CANARY] * len(ROWS)))),
        "column 'age' holds VARCHAR in",
    ),
    Case(
        "numbers after text in Arrow",
        several(arrow(), arrow(with_column("place", [NUMBER] * len(ROWS)))),
        "column 'place' holds BIGINT in",
    ),
    Case(
        "a name in two cases in Arrow",
        arrow(TABLE.rename_columns(["place", "Age", "name", "age"])),
        "several columns named 'age'",
    ),
]

# Databases.


def hot_journal(folder: Path) -> Any:
    """A SQLite file that a process was writing to when it was killed."""
    path = sqlite(*LITE_PEOPLE)(folder)
    script = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA cache_size = 1')\n"
        "connection.execute('BEGIN EXCLUSIVE')\n"
        "connection.execute('UPDATE people SET age = 7, name = name || name')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    return path


def open_here(folder: Path) -> Any:
    path = database(PEOPLE)(folder)
    KEPT_OPEN.append(duckdb.connect(str(path)))
    return path


KEPT_OPEN: list[duckdb.DuckDBPyConnection] = []


@pytest.fixture(autouse=True)
def close_what_is_open() -> Iterator[None]:
    yield
    while KEPT_OPEN:
        KEPT_OPEN.pop().close()


DUCK = database(PEOPLE)
LITE = sqlite(*LITE_PEOPLE)
OTHER = "CREATE TABLE other (x INTEGER)"
VIEW = f"CREATE VIEW seen AS SELECT '01' AS place, 3 AS age, '{CANARY}' AS name"
DATABASES = [
    Case("text named DuckDB", written("rows.duckdb", HEADER, LINE), "is not a database of DuckDB or SQLite"),
    Case("DuckDB, several tables", database(PEOPLE, OTHER), "holds several tables: other, people"),
    Case("DuckDB, no table", database("SELECT 1"), "holds no table"),
    Case("DuckDB, a view alone", database(VIEW), "A view may join or group"),
    Case(
        "DuckDB, a table elsewhere",
        database("CREATE SCHEMA s", "CREATE TABLE s.t (age INTEGER)"),
        "no table in its main schema",
    ),
    *(
        Case(f"DuckDB, {part} of it", edited(DUCK, cut(part)), "is damaged")
        for part in (0.001, 0.1, 0.5, 0.99)
    ),
    *(
        Case(f"DuckDB, damaged at {place}", edited(DUCK, scrambled(place)), "is damaged")
        for place in (8, 20, 4_100, 12_300, 20_000)
    ),
    Case("DuckDB, open in this process", open_here, "is open in this process"),
    Case("text named SQLite", written("rows.db", HEADER, LINE), "is not a database of DuckDB or SQLite"),
    Case("SQLite, first bytes alone", written("rows.db", b"SQLite format 3\0", CANARY * 9), "is damaged"),
    Case("SQLite, several tables", sqlite(*LITE_PEOPLE, OTHER), "holds several tables: other, people"),
    Case("SQLite, no table", sqlite(OTHER, "DROP TABLE other"), "holds no table"),
    Case("SQLite, a view alone", sqlite(VIEW), "A view may join or group"),
    *(Case(f"SQLite, {part} of it", edited(LITE, cut(part)), "is damaged") for part in (0.01, 0.1, 0.5)),
    *(
        Case(f"SQLite, {count} bytes missing", edited(LITE, cut_by(count)), "is cut off")
        for count in (1, 100)
    ),
    Case("SQLite, last page missing", edited(LITE, cut_by(4_096)), "is damaged"),
    *(
        Case(f"SQLite, damaged at {place}", edited(LITE, scrambled(place)), "is damaged")
        for place in (16, 100, 4_096, 8_192)
    ),
    Case(
        "SQLite, zeros",
        edited(LITE, lambda content: content[:8_192] + bytes(len(content) - 8_192)),
        "is damaged",
    ),
    Case("SQLite, killed while writing", hot_journal, "left in the middle of a write"),
]

# Objects of Python.


class Raising:
    """An object that fails when it is asked for rows."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self.error


class RaisingArray:
    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        raise RuntimeError(CANARY)


class RaisingEarly:
    @property
    def __arrow_c_stream__(self) -> object:
        raise KeyError(CANARY)


class NoCapsule:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return CANARY


class OwnError(Exception):
    pass


def failing_reader(error: BaseException, *, after: int = 30) -> Make:
    """Return a maker of a stream that fails on the way."""

    def make(folder: Path) -> Any:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from TABLE.slice(0, after).to_batches(max_chunksize=10)
            raise error

        return pa.RecordBatchReader.from_batches(TABLE.schema, batches())

    return make


def failing_relation(folder: Path) -> Any:
    KEPT_OPEN.append(duckdb.connect())
    return KEPT_OPEN[-1].sql(
        f"SELECT '01' AS place, CAST(x AS INTEGER) AS age FROM (VALUES ('1'), ('{CANARY}')) AS t(x)"
    )


def other_schema(folder: Path) -> Any:
    def batches() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        yield pa.record_batch({CANARY: [CANARY]})

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


def pandas(**columns: Any) -> Make:
    def make(folder: Path) -> Any:
        frames = pytest.importorskip("pandas", reason="pandas is not installed")
        return frames.DataFrame(columns, dtype=object)

    return make


def pandas_doubled(folder: Path) -> Any:
    frames = pytest.importorskip("pandas", reason="pandas is not installed")
    return frames.DataFrame([["01", 3, CANARY]], columns=["place", "age", "age"])


def pandas_without_names(folder: Path) -> Any:
    """What `read_csv` makes of a file without a header."""
    frames = pytest.importorskip("pandas", reason="pandas is not installed")
    return frames.DataFrame([["01", 3]], columns=[CANARY, str(NUMBER)])


ERRORS: list[type[Exception]] = [
    ValueError, KeyError, RuntimeError, OSError, MemoryError, AttributeError, StopIteration, OwnError,
    pa.ArrowInvalid, duckdb.Error,
]  # fmt: skip
OBJECTS = [
    *(
        Case(f"a {type(data).__name__}", value(data), f"data is of type {type(data).__name__}")
        for data in (None, 99, 2.5, b"rows.csv", {CANARY}, (), iter([CANARY]), TABLE.schema, object())
    ),
    Case("a dict", value({"place": [CANARY], "age": [NUMBER]}), "pyarrow.table(data)"),
    Case("a list of dicts", value(ROWS), "pyarrow.Table.from_pylist(data)"),
    Case("an empty list", value([]), "data is of type list"),
    Case("a list of paths and more", value(["rows.csv", CANARY.encode()]), "data is of type list"),
    Case("a generator", lambda folder: (row for row in ROWS), "data is of type generator"),
    Case("an array", value(pa.array([CANARY])), "cannot be given as a table"),
    Case("a chunked array", value(pa.chunked_array([[CANARY]])), "cannot be given as a table"),
    Case(
        "pandas, mixed text", pandas(place=["01", NUMBER, CANARY], age=[1, 2, 3]), "Values of different types"
    ),
    Case(
        "pandas, mixed numbers", pandas(place=["01", "01"], age=[NUMBER, CANARY]), "Values of different types"
    ),
    Case("pandas, objects", pandas(place=["01"], age=[OwnError(CANARY)]), "Values of different types"),
    Case("pandas, a name twice", pandas_doubled, "one name for two columns"),
    Case("pandas, a row for names", pandas_without_names, "Does the first line of the data name"),
    *(
        Case(f"stream raises {error.__name__}", value(Raising(error(CANARY))), f"({error.__name__})")
        for error in ERRORS
    ),
    Case("array raises", value(RaisingArray()), "cannot be given as a table of Arrow (RuntimeError)"),
    Case("attribute raises", value(RaisingEarly()), "cannot be given as a table of Arrow (KeyError)"),
    Case("no capsule", value(NoCapsule()), "this NoCapsule cannot be given as a table of Arrow"),
    *(
        Case(f"reader raises {error.__name__}", failing_reader(error(CANARY)), "failed on the way")
        for error in ERRORS
    ),
    Case("reader raises at once", failing_reader(OwnError(CANARY), after=0), "failed on the way"),
    Case(
        "reader raises of text",
        failing_reader(UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY)),
        "not UTF-8",
    ),
    Case("reader of other columns", other_schema, "failed on the way"),
    Case(
        "a name in two cases, stream",
        lambda folder: TABLE.rename_columns(["place", "Age", "name", "age"]).to_reader(),
        "several columns named 'age'",
    ),
    Case(
        "failing rows of DuckDB",
        failing_relation,
        "cannot be given as a table of Arrow (ConversionException)",
    ),
]

# Columns.


COLUMNS = [
    Case(
        "no such column in CSV",
        text(HEADER, LINE),
        "they have 'place', 'age', 'name'",
        settings={"domain": MISSING},
    ),
    Case(
        "unit column of CSV without header",
        text(LINE),
        "no column 'place'",
        settings={"unit": ht.Unit("who", max_rows=1)},
    ),
]


RULES = [
    Case(
        "a value unreadable",
        text(HEADER, f"01,{CANARY},x\n"),
        'rule missing = "error"',
        ht.BadRows,
        ruled(missing="error"),
    ),
    Case(
        "a value outside, late",
        text(HEADER, LINE * LATE, f"01,{NUMBER},x\n"),
        'rule outside = "error"',
        ht.BadRows,
        ruled(outside="error"),
    ),
]

# Queries and filters.


def prepared(query: str, phrase: str) -> Case:
    return Case(
        f"prepared: {query}", value(TABLE), phrase, ht.BadQuery, {"query": query, "rows_are_units": True}
    )


# The types of these columns are made of values of rows.
TYPED = database(
    f"CREATE TABLE people AS SELECT '{CANARY}'::ENUM ('01', '{CANARY}') AS place, 3 AS age, "
    f"'{CANARY}' AS name, {{'{CANARY}': 1}} AS s, {{'{CANARY.replace('-', '')}': 1}} AS plain, "
    f"['{CANARY}']::ENUM ('{CANARY}')[] AS l, union_value(\"{CANARY}\" := 1) AS u, MAP {{'{CANARY}': 1}} AS m"
)

QUERIES = [
    Case(
        "query of a view",
        database(PEOPLE, VIEW),
        "reads `seen`",
        ht.BadQuery,
        {"query": "SELECT * FROM seen"},
    ),
    prepared("SELECT * FROM persons", "there is no table `persons`"),
    prepared("SELECT nope(name) AS age, place FROM data", "DuckDB has no `nope`"),
    prepared("SELECT place, age, count(*) FROM data", "neither grouped by nor in an aggregate"),
    prepared("SELECT * FROM data GROUP BY place", "neither grouped by nor in an aggregate"),
    prepared("SELECT age FROM data AS a, data AS b", "`age` may be a column of either table"),
    prepared("SELECT age FROM data AS a JOIN data AS b USING (zz)", "there is no column `zz`"),
    prepared("SELECT * FROM data UNION SELECT 1", "does not fit the data (BinderException)"),
    prepared("SELECT unnest(age) AS age FROM data", "does not fit the data (BinderException)"),
    prepared("SELECT * FROM data WHERE", "DuckDB cannot read the query"),
    prepared("DROP TABLE data", "not one SELECT statement"),
    Case(
        "prepared: error of a row",
        value(TABLE),
        "the query or filter fails on some row",
        settings={"query": "SELECT error(name) AS place, age FROM data", "rows_are_units": True},
    ),
    Case(
        "prepared: several rows for one",
        value(TABLE),
        "the query or filter fails on some row",
        settings={"query": "SELECT place, (SELECT age FROM data) AS age FROM data", "rows_are_units": True},
    ),
    Case(
        "prepared: no such file",
        value(TABLE),
        "names a file that is not there",
        settings={"query": "SELECT * FROM 'nothing-here.csv'", "rows_are_units": True},
    ),
    filtered("agee > 3 ", "there is no column `agee`", text(LINE)),
    *(
        filtered(condition, "does not fit the data", TYPED)
        for condition in (
            "place > 3",
            "place + 1 = 2",
            "s > 3 ",
            "plain > 3",
            "s.x = 1",
            "plain.x = 1",
            "lower(s) = 'x'",
            "lower(l) = 'x'",
            "l[1] + 1 = 2",
            "l || 3 = l",
            "list_contains(l, 3)",
            "u.x = 1",
            "u + 1 = 2",
            "coalesce(s, 1) = 1",
            "m[3] = 1",
            "struct_extract(s, 'x') = 1",
            "upper(m) = 'X'",
        )
    ),
    *(
        Case(
            f"column {column} made of rows",
            TYPED,
            f"column '{column}' holds {held}",
            settings={"domain": ht.Domain(attributes=(Attribute(name=column, values=PLACE.values),))},
        )
        for column, held in {
            "s": "STRUCT",
            "plain": "STRUCT",
            "l": "a list",
            "u": "UNION",
            "m": "MAP",
        }.items()
    ),
    Case("SQLite, no such table", LITE, "reads `persons`", ht.BadQuery, {"query": "SELECT * FROM persons"}),
    Case(
        "SQLite, no such column",
        LITE,
        "there is no column `agee`",
        ht.BadQuery,
        {"query": "SELECT agee FROM people"},
    ),
    Case(
        "SQLite's own query, no such table",
        LITE,
        "no such table: persons",
        ht.BadQuery,
        {"query": "SELECT * FROM persons", "rows_are_units": True},
    ),
    Case(
        "SQLite's own query, no such column",
        LITE,
        "no such column: agee",
        ht.BadQuery,
        {"query": "SELECT agee FROM people", "rows_are_units": True},
    ),
    Case(
        "SQLite's own query, syntax",
        LITE,
        "syntax error",
        ht.BadQuery,
        {"query": "SELEC agee FROM people", "rows_are_units": True},
    ),
    Case(
        "SQLite's own query, two statements",
        LITE,
        "SQLite does not take the query",
        ht.BadQuery,
        {"query": "SELECT 1); DROP TABLE people; --", "rows_are_units": True},
    ),
    Case(
        "SQLite's own query fails on a row",
        LITE,
        "SQLite fails on some row",
        settings={
            "query": "SELECT place, abs(-9223372036854775807 - 1) AS age FROM people",
            "rows_are_units": True,
        },
    ),
    Case(
        "SQLite's own query of no JSON",
        LITE,
        "was given text that is not JSON",
        settings={
            "query": "SELECT place, json_extract(name, '$.x') AS age FROM people",
            "rows_are_units": True,
        },
    ),
]

CASES = [
    *FILES,
    *PARQUET,
    *CSV,
    *JSON,
    *ARROW,
    *DATABASES,
    *OBJECTS,
    *COLUMNS,
    *RULES,
    *QUERIES,
]


@pytest.mark.parametrize("case", few(as_params(CASES), every=2))
def test_bad_input_is_one_clear_error_without_a_word_of_the_rows(
    case: Case, data: Path, refuse: Refuse
) -> None:
    error = refuse(case.make(data), **case.settings)

    assert type(error) is case.error
    assert case.phrase in str(error)


def chained(*, cause: bool) -> Exception:
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise ht.BadData("the data", "Mend them.") from (error if cause else None)
    except ht.BadData as error:
        return error


def noted() -> Exception:
    error = ht.BadData("the data", "Mend them.")
    error.add_note(f"at {CANARY}")
    return error


@pytest.mark.parametrize(
    "error",
    [
        ht.BadData(CANARY, "Mend them."),
        ht.BadNumber(name="n", value=NUMBER, allowed="is wrong", hint="Mend it."),
        chained(cause=True),
        chained(cause=False),
        noted(),
    ],
)
def test_the_search_for_private_words_finds_them(error: Exception) -> None:
    with pytest.raises(AssertionError):
        check_silence(list(texts_of(error)))


# What looks odd and is counted: a value that cannot be read is missing, and its row follows the rule.


def wal_left(folder: Path) -> Any:
    """A SQLite file whose last writes are in the log of a process that was killed."""
    path = sqlite("PRAGMA journal_mode = WAL", *LITE_PEOPLE)(folder)
    script = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('UPDATE people SET age = 7')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    assert Path(f"{path}-wal").stat().st_size
    return path


def duckdb_wal_left(folder: Path) -> Any:
    path = database(PEOPLE)(folder)
    script = (
        "import duckdb, os, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "connection.execute('UPDATE people SET age = 7').fetchall()\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    assert Path(f"{path}.wal").stat().st_size
    return path


def named_like_a_pattern(ending: str, content: bytes) -> Make:
    """Return a maker of a file whose name DuckDB would take for a pattern that fits another file."""

    def make(folder: Path) -> Any:
        (folder / f"rows1{ending}").write_bytes(content)
        (folder / f"rows[1]*{ending}").write_bytes(content)
        return folder / f"rows[1]*{ending}"

    return make


SMALL = ht.Domain(attributes=(PLACE,))
THREES = {(0, 3): 3}
FINE = [
    Fine("header alone", text(HEADER), {}),
    Fine("header without an end", text(HEADER.strip()), {}),
    Fine("last line without an end", text(HEADER, LINE * 2, LINE.strip()), THREES),
    Fine("mark first", text(b"\xef\xbb\xbf", HEADER, LINE * 3), THREES),
    Fine("lines end in CR", text((HEADER + LINE * 3).replace("\n", "\r")), THREES),
    Fine("lines end in CRLF", text((HEADER + LINE * 3).replace("\n", "\r\n")), THREES),
    Fine("line ends differ", text(HEADER, LINE, LINE.replace("\n", "\r\n") * 2), THREES),
    Fine("line ends differ the other way", text(HEADER.replace("\n", "\r\n"), LINE * 3), THREES),
    Fine("JSON with a mark first", lines((OBJECT * 3).encode("utf-8-sig")), THREES),
    Fine("JSON, lines end in CRLF", lines((OBJECT * 3).replace("\n", "\r\n")), THREES),
    Fine(
        "JSON, very deep",
        lines(OBJECT * 2, OBJECT.replace("}", f', "x": {"[" * 1_000_000}{"]" * 1_000_000}}}')),
        THREES,
    ),
    Fine("JSON, keys with a backslash", lines(OBJECT.replace("age", "\\u0061ge") * 3), THREES),
    Fine("blank lines between", text(HEADER, LINE, "\n\n", LINE * 2), THREES),
    Fine("a header of two lines", text('place,age,"na\nme"\n', LINE * 3), THREES),
    Fine("a quote within a value", text(HEADER, LINE * 2, f'01,3,{CANARY}"x\n'), THREES),
    Fine("one delimiter more at the end", text(HEADER, LINE * 2, f"01,3,{CANARY},\n"), THREES),
    Fine("NUL ends no text", text(HEADER, LINE * 3, "01\0,3,x\n", "01,3\0,x\n"), THREES),
    Fine("another column in Latin-1", text(HEADER, LINE * 2, f"01,3,{CANARY}ä\n".encode("latin-1")), THREES),
    Fine("a line of 5 MB", text(HEADER, LINE * 2, f"01,3,{'x' * 5_000_000}\n"), THREES),
    Fine(
        "gzip of two parts",
        written("rows.csv.gz", gzip.compress((HEADER + LINE).encode()), gzip.compress((LINE * 2).encode())),
        THREES,
    ),
    Fine(
        "Zstandard of two parts",
        written("rows.csv.zst", zstandard_bytes(HEADER + LINE), zstandard_bytes(LINE * 2)),
        THREES,
    ),
    Fine(
        "Zstandard with a frame to skip",
        written("rows.csv.zst", b"\x50\x2a\x4d\x18\x03\0\0\0abc", zstandard_bytes(HEADER + LINE * 3)),
        THREES,
    ),
    Fine(
        "gzip with little memory",
        written("rows.csv.gz", gzip.compress((HEADER + LINE * 3).encode())),
        THREES,
        {"memory": "256MiB"},
    ),
    Fine("JSON with little memory", lines(OBJECT * 3), THREES, {"memory": "256MiB"}),
    Fine("no lines of JSON", lines(), {}),
    Fine("blank lines of JSON", lines("\n", OBJECT * 3, "\n\n"), THREES),
    Fine("null on a line", lines(OBJECT * 3, "null\n"), THREES),
    Fine(
        "an object where a number is",
        lines(OBJECT * 3, f'{{"place": "01", "age": {{"x": "{CANARY}"}}}}\n'),
        THREES,
    ),
    Fine("a list where text is", lines(OBJECT * 3, f'{{"place": ["{CANARY}"], "age": 3}}\n'), THREES),
    Fine("a number where text is", lines(OBJECT * 3, '{"place": 1, "age": 3}\n'), THREES),
    Fine("a number beyond all", lines(OBJECT * 3, f'{{"place": "01", "age": {"9" * 400}}}\n'), THREES),
    Fine(
        "other spelling in a query of JSON",
        lines(OBJECT.replace("age", "Age") * 3),
        THREES,
        {"query": "SELECT place, CAST(Age AS BIGINT) AS age FROM data"},
    ),
    Fine(
        "a word of SQL that is a column of JSON",
        lines(OBJECT * 3),
        THREES,
        {"where": "CAST(AGE AS INTEGER) = 3"},
    ),
    Fine("SQLite with its log beside it", wal_left, {(0, 7): 1334}),
    Fine("DuckDB with its log beside it", duckdb_wal_left, {(0, 7): 1333}),
    Fine("a name like a pattern, CSV", named_like_a_pattern(".csv", (HEADER + LINE * 3).encode()), THREES),
    Fine("a name like a pattern, JSON", named_like_a_pattern(".jsonl", OBJECT.encode() * 3), THREES),
    Fine("a name like a pattern, Parquet", named_like_a_pattern(".parquet", parquet_bytes()), COUNTS),
    Fine("a name like a pattern, Arrow", named_like_a_pattern(".arrow", arrow_bytes()), COUNTS),
    Fine(
        "Parquet of other integers",
        several(parquet(with_column("age", pa.array([3] * 60, pa.int8()))), parquet()),
        {(0, 3): 40, (1, 3): 20, (1, 4): 20},
    ),
    Fine(
        "Arrow with text that is not UTF-8",
        edited(arrow(), lambda all_of_it: all_of_it.replace(CANARY.encode(), CANARY.encode()[:-1] + b"\xff")),
        COUNTS,
    ),
    Fine("a filter that fails on rows", parquet(), {(1, 4): 20}, {"where": "CAST(place AS INTEGER) > 1"}),
    Fine("a filter that compares text with a number", parquet(), {(1, 4): 20}, {"where": "place = 2"}),
    Fine(
        "nothing but NULL in one Parquet",
        several(parquet(with_column("place", pa.nulls(60))), parquet()),
        COUNTS,
    ),
    Fine(
        "columns in another order in Parquet",
        several(parquet(), parquet(TABLE.select(["n", "age", "place"]))),
        {(0, 3): 40, (1, 4): 40},
    ),
    Fine(
        "other columns differ in Parquet",
        several(parquet(), parquet(with_column("name", [1] * 60))),
        {(0, 3): 40, (1, 4): 40},
    ),
    Fine(
        "Arrow of other integers",
        several(arrow(with_column("age", pa.array([3] * 60, pa.int8()))), arrow()),
        {(0, 3): 40, (1, 3): 20, (1, 4): 20},
    ),
    Fine("Arrow stream and file", several(arrow(), written("rows.arrows", STREAM)), {(0, 3): 40, (1, 4): 40}),
    Fine(
        "other columns differ in Arrow",
        several(arrow(), arrow(with_column("name", [1] * 60))),
        {(0, 3): 40, (1, 4): 40},
    ),
    Fine("an unused table of Parquet alone", parquet(), {(0,): 20, (1,): 20}, {"domain": SMALL}),
]


@pytest.mark.parametrize("case", few(as_params(FINE), every=2))
def test_what_looks_odd_is_counted(case: Fine, data: Path, spills: Path) -> None:
    settings = {"domain": DOMAIN, **case.settings}

    assert counts_of(ht.count(case.make(data), **settings)) == case.counts
    assert left_in(spills) == []


# Records that cannot be read: each is dropped alone, wherever it stands, and `check` says how many.

BAD_LINES: dict[str, str | bytes] = {
    "too many values": f"01,3,x,{CANARY}\n",
    "too many values, not UTF-8": f"01,3,x,{CANARY}ä\n".encode("latin-1"),
    "too few values": f"01,{CANARY}\n",
    "one value": f"{CANARY}\n",
    "quote not closed": f'01,3,"{CANARY}\n',
    "text after a quote": f'01,3,"{CANARY}"x\n',
    "a quote after a quote": f'"{CANARY}" "x",3,4\n',
    "20 MB": f"01,3,{CANARY}{'x' * 20_000_000}\n",
    "20 MB in quotes": f'01,3,"{CANARY}{LINE * 1_000_000}"\n',
    "CR in the middle": f"01,3\r01,3,{CANARY},4\n",
}
BAD_OBJECTS: dict[str, str | bytes] = {
    "no JSON": f"{CANARY}, {NUMBER}",
    "an array": f'["{CANARY}", {NUMBER}]',
    "an array of objects": f'[{{"place": "{CANARY}", "age": 3}}]',
    "text": f'"{CANARY}"',
    "a number": f"{NUMBER}",
    "two objects": f'{{"place": "01", "age": 3}} {{"place": "{CANARY}", "age": 3}}',
    "an object and more": f'{{"place": "01", "age": 3}} {CANARY}',
    "half an object": f'{{"place": "{CANARY}", "ag',
    "a key twice": '{"place": "01", "age": 3, "age": 3}',
    "a key in two cases": '{"place": "01", "age": 3, "AGE": 3}',
    "a key in two spellings": '{"place": "01", "age": 3, "\\u0041ge": 3}',
    "single quotes": f"{{'place': '{CANARY}', 'age': 3}}",
    "half a character": f'{{"place": "01", "age": 3, "x": "{CANARY}\\ud800"}}',
    "NUL": f'{{"place": "01", "age": 3, "x": "{CANARY}\0"}}',
    "Latin-1": f'{{"place": "01", "age": 3, "x": "{CANARY}ä"}}'.encode("latin-1"),
    "a mark": '\ufeff{"place": "01", "age": 3}',
    "40 MB": f'{{"place": "01", "age": 3, "x": "{CANARY}{"x" * 40_000_000}"}}',
    "null": "null",
    "a tab alone within text": f'{{"place": "01", "age": 3, "x": "{CANARY}\t"}}',
}


def placed(line: str | bytes, good: str, where: str) -> tuple[list[str | bytes], int]:
    """Return a bad line among good ones, and how many those are."""
    if where == "first":
        return [line, good * 3], 3
    if where == "late":
        return [good * LATE, line, good * 3], LATE + 3
    return [good * 3, line], 3


@pytest.mark.parametrize(
    ("name", "where"),
    [
        *chosen(product(BAD_LINES, ["last", "first"]), [4 * n + n % 2 for n in range(len(BAD_LINES) // 2)]),
        *product(["quote not closed", "too few values"], ["late"]),
    ],
)
def test_a_record_of_csv_that_cannot_be_read_is_dropped_alone(
    name: str, where: str, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parts, good = placed(BAD_LINES[name], LINE, where)

    assert_dropped(text(HEADER, *parts)(data), good, 1, capfd)


@pytest.mark.parametrize(
    ("name", "where"),
    [*few(product(BAD_OBJECTS, ["last"]), every=2), ("no JSON", "first"), ("text", "late")],
)
def test_a_line_of_json_that_cannot_be_read_is_dropped_alone(
    name: str, where: str, data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = BAD_OBJECTS[name]
    line = line + b"\n" if isinstance(line, bytes) else line + "\n"
    parts, good = placed(line, OBJECT, where)

    assert_dropped(lines(*parts)(data), good, 1, capfd)


def assert_dropped(path: Path, good: int, bad: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Raise unless so many rows are counted, so many are told to the owner, and nothing is said."""
    assert counts_of(ht.count(path, domain=DOMAIN)) == {(0, 3): good}
    report = check_rows(path, domain=DOMAIN)
    assert report.fits
    assert (report.rows_read, report.unreadable.records) == (good, bad)
    assert capfd.readouterr() == ("", "")


def test_a_value_that_is_not_utf_8_is_missing(data: Path) -> None:
    path = text(HEADER, LINE * 3, "01\xe4,3,x\n".encode("latin-1"), LINE)(data)
    report = check_rows(path, domain=DOMAIN)

    assert counts_of(ht.count(path, domain=DOMAIN)) == {(0, 3): 4}
    assert (report.rows_read, report.attributes[0].missing, report.unreadable.records) == (5, 1, 0)


def test_the_last_line_of_a_compressed_file_is_dropped_if_it_is_too_long(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for end in ("", "\n"):
        content = gzip.compress((HEADER + LINE * 3 + f"01,3,{'x' * 20_000_000}{end}").encode(), 1)
        assert_dropped(written("rows.csv.gz", content)(data), 3, 1, capfd)


# Types of columns against kinds of attributes.

KINDS: dict[str, Kind] = {
    "categories": PLACE.values,
    "integers": AGE.values,
    "bins": Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5)),
    "edges": Edges(edges=(Fraction(0), Fraction(18), Fraction(65))),
    "times": Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second"),
}
NUMBERS: dict[str, Any] = {
    "TINYINT": "7", "SMALLINT": "7", "INTEGER": NUMBER, "BIGINT": NUMBER, "UBIGINT": NUMBER,
    "HUGEINT": NUMBER, "UHUGEINT": NUMBER, "FLOAT": NUMBER, "DOUBLE": NUMBER, "DECIMAL(18,3)": NUMBER,
}  # fmt: skip
CLOCKS = {
    "DATE": "'2024-03-01'", "TIMESTAMP": "'2024-03-01 10:00'", "TIMESTAMP_S": "'2024-03-01 10:00'",
    "TIMESTAMP_NS": "'2024-03-01 10:00'", "TIMESTAMP WITH TIME ZONE": "'2024-03-01 10:00+00'",
}  # fmt: skip
TEXTS = {"VARCHAR": f"'{CANARY}'", f"ENUM('{CANARY}')": f"'{CANARY}'", "JSON": f"'\"{CANARY}\"'"}
PLAIN = {
    "BOOLEAN": "true", "UUID": "'7f3a0000-0000-0000-0000-000000000000'", "BIT": "'101'", "TIME": "'10:00'",
    "INTERVAL": "'3 days'",
}  # fmt: skip
NESTED = {
    "BLOB": f"'{CANARY}'", "INTEGER[]": f"[{NUMBER}]", "DECIMAL(18,3)[]": f"[{NUMBER}]",
    "VARCHAR[1]": f"['{CANARY}']", f"ENUM('{CANARY}')[]": f"['{CANARY}']",
    "STRUCT(janeroe7f3a INTEGER)": f"row({NUMBER})", "UNION(janeroe7f3a INTEGER)": f"{NUMBER}",
    "MAP(VARCHAR, INTEGER)": f"MAP {{'{CANARY}': {NUMBER}}}",
}  # fmt: skip
TYPES = {**NUMBERS, **CLOCKS, **TEXTS, **PLAIN, **NESTED}
READ_BY: dict[str, Mapping[str, Any]] = {
    "categories": TEXTS,
    "integers": {**NUMBERS, **TEXTS},
    "bins": {**NUMBERS, **TEXTS},
    "edges": {**NUMBERS, **TEXTS},
    "times": {**CLOCKS, **TEXTS},
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table with a column of each type."""
    columns = [f"CAST({content} AS {kind}) AS c{i}" for i, (kind, content) in enumerate(TYPES.items())]
    return database(f"CREATE TABLE t AS SELECT {', '.join(columns)} FROM range(9)")(
        tmp_path_factory.mktemp("t")
    )


# Whole numbers, bins and edges read and refuse the same types. Of each group of types, one shows that bins
# and edges name themselves; all of them in `make test-long`.
ONE_OF_EACH = {next(iter(each)) for each in (NUMBERS, CLOCKS, TEXTS, PLAIN, NESTED)}


@pytest.mark.parametrize(
    ("sql_type", "kind"),
    [
        pytest.param(sql_type, kind, marks=pytest.mark.long if repeated else ())
        for sql_type in TYPES
        for kind in KINDS
        for repeated in [kind in ("bins", "edges") and sql_type not in ONE_OF_EACH]
    ],
)
def test_a_type_that_cannot_hold_the_values_is_refused(
    sql_type: str, kind: str, typed: Any, refuse: Refuse
) -> None:
    column = f"c{list(TYPES).index(sql_type)}"
    domain = ht.Domain(attributes=(Attribute(name="what", column=column, values=KINDS[kind]),))

    if sql_type in READ_BY[kind]:
        ht.count(typed, domain=domain)
        return
    error = refuse(typed, domain=domain)
    held = "a list" if sql_type.endswith("]") else sql_type.split("(")[0]
    assert type(error) is ht.BadData
    assert f"column '{column}' holds {held}, but attribute 'what' is of {kind}" in str(error)
    hint = "Name another column, declare another kind"
    if kind == "categories" and sql_type in NUMBERS:
        hint = "leading zeros: '06001' became 6001"
    elif kind == "categories" and sql_type not in NESTED:
        hint = f"select CAST({column} AS VARCHAR) in a query"
    elif kind == "times" and sql_type in NUMBERS and sql_type != "DECIMAL(18,3)":
        hint = f"select to_timestamp({column}) in a query"
    assert hint in str(error)


# Other processes, modes and disks.


@pytest.fixture
def other_process() -> Iterator[Callable[[str, Path], None]]:
    """Run a script on a file until the test ends; it prints a line when it has begun."""
    running = []

    def run(script: str, path: Path) -> None:
        code = f"{script}\nprint('ready', flush=True)\nsys.stdin.read()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

    yield run
    for process in running:
        process.kill()
        process.communicate()


def test_a_duckdb_file_that_is_written_to(
    data: Path, refuse: Refuse, other_process: Callable[[str, Path], None]
) -> None:
    path = DUCK(data)
    other_process("import duckdb, sys\nconnection = duckdb.connect(sys.argv[1])", path)

    assert "another process is writing to the database" in str(refuse(path))


def test_a_sqlite_file_that_is_written_to(
    data: Path, refuse: Refuse, other_process: Callable[[str, Path], None]
) -> None:
    path = LITE(data)
    script = (
        "import sqlite3, sys\nconnection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN EXCLUSIVE')\nconnection.execute('DELETE FROM people')"
    )
    other_process(script, path)

    assert "another process is writing to the database" in str(refuse(path))


@pytest.mark.parametrize("make", [text(HEADER, LINE), parquet(), DUCK, LITE])
def test_a_file_that_may_not_be_read(make: Make, data: Path, refuse: Refuse) -> None:
    path = make(data)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read every file")

    assert "may not be read by you" in str(refuse(path))


def test_a_file_of_a_folder_that_may_not_be_read(
    data: Path, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = several(parquet(), parquet())(data)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "/1/" not in str(path) and real(path, mode))

    assert "1/rows.parquet' may not be read by you" in str(refuse(folder))


MANY = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=10**9)),))


def many_rows() -> pa.Table:
    """More rows than fit in 256 MiB."""
    return pa.table({"x": pa.array(range(4_000_000), type=pa.int32())})


@pytest.mark.parametrize("place", ["pwrite", "preadv"])
def test_a_full_disk_is_told(place: str, refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, f"No space left on device, for {CANARY}")

    monkeypatch.setattr(os, place, full)
    error = refuse(many_rows(), domain=MANY, memory="256MiB")

    assert type(error) is ht.BadData
    assert "the disk of the temporary files is full. Set TMPDIR" in str(error)


def test_memory_that_runs_out_is_told(refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> NoReturn:
        raise MemoryError(CANARY)

    monkeypatch.setattr(os, "pwrite", exhausted)

    assert "there was too little memory. Allow more" in str(refuse(many_rows(), domain=MANY, memory="256MiB"))


def test_a_bug_of_ours_is_told_without_its_words(refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> NoReturn:
        raise LookupError(CANARY)

    monkeypatch.setattr(os, "pwrite", wrong)
    error = refuse(many_rows(), domain=MANY, memory="256MiB")

    assert type(error) is ht.InternalError
    assert "reading rows ended in LookupError" in str(error)


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))

    with pytest.raises(ht.BadData, match="no folder for temporary files can be made: No such file") as caught:
        ht.count(TABLE, domain=DOMAIN)
    check_silence(list(texts_of(caught.value)))


# Ctrl-C.


def test_an_interrupt_while_rows_are_kept_passes_through(
    spills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> NoReturn:
        assert left_in(spills)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "pwrite", interrupted)

    with pytest.raises(KeyboardInterrupt):
        ht.count(many_rows(), domain=MANY, memory="256MiB")
    assert left_in(spills) == []


@pytest.mark.parametrize("make", [value(Raising(KeyboardInterrupt())), failing_reader(KeyboardInterrupt())])
def test_an_interrupt_in_an_object_passes_through(make: Make, data: Path, spills: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ht.count(make(data), domain=DOMAIN)
    assert left_in(spills) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (duckdb.OutOfMemoryException(f"Failed to allocate block of 2048 bytes: {CANARY}"), ht.LowMemory),
        (RuntimeError("can't start new thread"), ht.LowMemory),
        (duckdb.InterruptException("Query interrupted"), KeyboardInterrupt),
        (
            duckdb.InvalidInputException("reading the schema of 'lookup' failed: KeyboardInterrupt: "),
            KeyboardInterrupt,
        ),
        (ht.LowMemory("Wait.", "Nothing was charged."), ht.LowMemory),
        (duckdb.BinderException("of some other kind"), duckdb.BinderException),
        (ValueError("a KeyboardInterrupt was spoken of"), ValueError),
    ],
)
def test_a_stop_or_too_little_memory_is_that_in_any_call(
    said: Exception,
    expected: type[BaseException],
    data: Path,
    spills: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB may run out of memory when it is opened, and hear of Ctrl-C when it is given a table."""

    def fail(**_: object) -> None:
        raise said

    monkeypatch.setattr("hushtable.engines.sliced.rows.connect", fail)
    rows = parquet(TABLE)(data)
    with pytest.raises(expected) as caught:
        ht.count(rows, domain=DOMAIN)
    if expected is not type(said):
        check_silence(traceback.format_exception(caught.value))
    assert not isinstance(said, ht.LowMemory) or "Nothing was charged." in str(caught.value)
    assert left_in(spills) == []


INTERRUPTED = f"""
import sys, time, traceback
import duckdb  # now: interrupted while it loads, it would say ImportError
import pyarrow as pa
import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories

domain = ht.Domain(attributes=(Attribute(name="place", values=Categories(values=("01", "02"))),))
batch = pa.record_batch({{"place": ["01", "{CANARY}"] * 500}})

def endless():
    while True:
        yield batch
        time.sleep(0.001)

data = sys.argv[1] if len(sys.argv) > 1 else pa.RecordBatchReader.from_batches(batch.schema, endless())
slow = f"levenshtein(lpad(place, 200, 'x'), '{{'y' * 200}}') > 0"
try:
    ht.count(data, domain=domain, where=slow if len(sys.argv) > 1 else None)
except KeyboardInterrupt:
    traceback.print_exc()
    sys.exit(42)
"""


@pytest.mark.parametrize(
    ("source", "wait"),
    chosen([("stream", 0.8), ("parquet", 0.8), ("csv", 0.8), ("sqlite", 0.8), ("parquet", 0.02)], [1, 4]),
)
def test_ctrl_c_ends_a_count_and_leaves_nothing(source: str, wait: float, data: Path, spills: Path) -> None:
    paths = []
    if source == "parquet":
        paths = [parquet(pa.concat_tables([TABLE] * 10_000))(data)]
    elif source == "csv":
        paths = [text(HEADER, LINE * 500_000)(data)]
    elif source == "sqlite":
        paths = [sqlite(*LITE_PEOPLE, *["INSERT INTO people SELECT * FROM people"] * 8)(data)]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *paths],
        env={**os.environ, "TMPDIR": str(spills)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # of a background job it is ignored
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while not left_in(spills):
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(wait)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()

    assert process.returncode == 42, err
    check_silence([out, err])
    assert left_in(spills) == []
