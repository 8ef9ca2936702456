"""Each record of a text file alone decides how it is read: against a slow reader, and with real writers."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories
from hushtable.engines.local.checking import check_rows
from hushtable.engines.local.delimited import Header, TextRows, read_header
from hushtable.engines.local.json_lines import LineRows, lines_sql, unreadable_lines
from hushtable.engines.local.records import Limits, Reader, TextFormat
from hushtable.engines.sliced.rows import Unread
from tests.engines.reference import counts_of, distance
from tests.engines.slow_records import Outcome, slow_record, slow_records
from tests.harness.statistics import tries

Row = tuple[str | None, ...]
WIDTH = 2
MARK = b"\xef\xbb\xbf"

# Bytes that mean something to CSV, and some that do not.
SCRAPS = [b'"', b",", b"\n", b"\r", b"\r\n", b"a", b"\0", b"\xff", b'""', b',"', b'",', b'"\n', b'"b', MARK]
scraps = st.lists(st.sampled_from(SCRAPS), max_size=60).map(b"".join)
forms = st.sampled_from(
    [TextFormat(b","), TextFormat(b",", returns=1), TextFormat(b",", returns=2), TextFormat(b",", b"\r")]
)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    block = draw(st.integers(1, 40))
    return Limits(longest=draw(st.integers(block, 80)), block=block)


@settings(max_examples=tries(400))
@given(scraps, forms, limits())
@example(b'a,"b\n' * 20, TextFormat(b","), Limits(30, 7))
@example(b'"' + b"a,b\n" * 30 + b'"\na,b\n', TextFormat(b","), Limits(20, 20))
@example(b'"a"\r\n"b"\r\n', TextFormat(b",", returns=1), Limits(8, 4))
def test_records_do_not_depend_on_the_blocks_they_come_in(
    data: bytes, form: TextFormat, sizes: Limits
) -> None:
    reader = Reader(form, sizes)
    found: list[list[bytes] | None] = []
    for piece in reader.pieces(io.BytesIO(data)):
        assert len(piece.text) <= sizes.longest + sizes.block
        records = reader.records(piece.text) if piece.records is None else piece.records
        found += [None] if piece.too_long else [record.fields for record in records]

    assert found == [outcome.fields for outcome in slow_records(data, form, sizes.longest)]


def slow_rows(outcomes: list[Outcome], width: int = WIDTH) -> tuple[list[Row], Unread]:
    """Return the rows of records, and how many are none."""
    rows: list[Row] = []
    tally = Unread()
    for outcome in outcomes:
        fields = outcome.fields
        if outcome.too_long:
            tally.too_long += 1
        elif fields is None:
            tally.quotes += 1
        elif len(fields) == width or (len(fields) == width + 1 and fields[-1] == b""):
            rows.append(tuple(slow_text(field) for field in fields[:width]))
        elif fields != [b""]:
            tally.fields += 1
    return rows, tally


def slow_text(field: bytes) -> str | None:
    try:
        return field.decode() or None
    except UnicodeDecodeError:
        return None


def read(path: Path, delimiter: str = ",", sizes: Limits | None = None) -> tuple[list[Row], Unread]:
    """Return the rows of a file, as a count reads them."""
    rows = TextRows({str(path): read_header(str(path), delimiter)}, threads=2, limits=sizes)
    table = pa.Table.from_batches(list(rows.batches()), schema=rows.schema)
    assert rows.tally is not None
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)), rows.tally


@settings(max_examples=tries(150), suppress_health_check=list(HealthCheck))
@given(scraps, st.sampled_from([b"\n", b"\r\n", b"\r"]), limits(), st.booleans())
def test_rows_are_those_of_the_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, end: bytes, sizes: Limits, packed: bool
) -> None:
    assume(end != b"\r" or not data.startswith((b"\r", b"\n")))  # else the first line ends otherwise
    header = b"x,y" + end
    path = tmp_path_factory.mktemp("text") / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(header + data) if packed else header + data)
    sizes = sizes._replace(longest=max(sizes.longest, len(header)))
    form = TextFormat(b",", end=end[-1:], returns=len(end) - 1)

    assert read_header(str(path), ",") == Header(("x", "y"), len(header), form)
    assert read(path, sizes=sizes) == slow_rows(slow_records(data, form, sizes.longest))


# What real writers write is read as it was, whatever the values are.

texts = st.one_of(
    st.text(st.sampled_from('ab",\n\r\t \0\ufeff;\\é'), max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(
        ["north,34\n" * 9, '"', '""', '","', "\r", "x\r", "\n", "\ufeff", '",\n"', "NULL", "nan"]
    ),
)
tables = st.lists(st.tuples(texts, texts), max_size=8)


def module(rows: Sequence[tuple[str, ...]], delimiter: str, **options: Any) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, **options)
    writer.writerow(["x", "y"])
    writer.writerows(rows)
    return text.getvalue().encode()


def by_pandas(rows: Sequence[tuple[str, ...]], delimiter: str, **options: Any) -> bytes:
    frame = pd.DataFrame(rows, columns=["x", "y"], dtype=object)
    return str(frame.to_csv(index=False, sep=delimiter, **options)).encode()


def by_polars(rows: Sequence[tuple[str, ...]], delimiter: str, **options: Any) -> bytes:
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String}, orient="row")
    return str(frame.write_csv(separator=delimiter, **options)).encode()


def by_arrow(rows: Sequence[tuple[str, ...]], delimiter: str, **options: Any) -> bytes:
    table = pa.table([pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)], names=["x", "y"])
    sink = io.BytesIO()
    pa_csv.write_csv(table, sink, pa_csv.WriteOptions(delimiter=delimiter, **options))
    return bytes(sink.getvalue())


def by_duckdb(rows: Sequence[tuple[str, ...]], delimiter: str, folder: Path) -> bytes:
    table = pa.table([pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)], names=["x", "y"])
    with duckdb.connect() as connection:
        connection.register("given", table)
        sql = f"COPY given TO '{folder / 'written'}' (FORMAT csv, HEADER, DELIMITER '{delimiter}')"
        connection.execute(sql).fetchall()
    return (folder / "written").read_bytes()


WRITERS: dict[str, Any] = {
    "csv": module,
    "csv, LF": lambda rows, delimiter: module(rows, delimiter, lineterminator="\n"),
    "csv, all quoted": lambda rows, delimiter: module(rows, delimiter, quoting=csv.QUOTE_ALL),
    "pandas": by_pandas,
    "pandas, CRLF": lambda rows, delimiter: by_pandas(rows, delimiter, lineterminator="\r\n"),
    "pandas, all quoted": lambda rows, delimiter: by_pandas(rows, delimiter, quoting=csv.QUOTE_ALL),
    "Polars": by_polars,
    "Polars, CRLF": lambda rows, delimiter: by_polars(rows, delimiter, line_terminator="\r\n"),
    "Polars, all quoted": lambda rows, delimiter: by_polars(rows, delimiter, quote_style="always"),
    "Arrow, all quoted": lambda rows, delimiter: by_arrow(rows, delimiter, quoting_style="all_valid"),
    "Arrow": by_arrow,
    "DuckDB": by_duckdb,
}


@settings(max_examples=tries(40), suppress_health_check=list(HealthCheck))
@given(tables, limits(), st.sampled_from([",", "\t"]))
@pytest.mark.parametrize("writer", WRITERS)
def test_values_come_back_from_every_writer(
    tmp_path_factory: pytest.TempPathFactory,
    writer: str,
    rows: list[tuple[str, ...]],
    sizes: Limits,
    delimiter: str,
) -> None:
    folder = tmp_path_factory.mktemp("text")
    write = WRITERS[writer]
    data = write(rows, delimiter, folder) if write is by_duckdb else write(rows, delimiter)
    path = folder / ("rows.csv" if delimiter == "," else "rows.tsv")
    path.write_bytes(data)

    found, tally = read(path, delimiter, sizes._replace(longest=1 << 20))
    assert found == [tuple(value or None for value in row) for row in rows]
    assert tally == Unread()


# One record more, whatever it is, is one row more or none.


def own(record: bytes, form: TextFormat) -> bool:
    """Return whether a record is decided by its own bytes: it opens no quote that others could close."""
    for behind in (b"", b'"', b'"\n', b'""\n', b"a\n"):
        outcome = slow_record(record + behind, 0, form, 1 << 20)
        if outcome.end != len(record):
            return False
    return True


@settings(max_examples=tries(150), suppress_health_check=list(HealthCheck))
@given(tables, scraps, st.integers(0, 8), limits(), st.booleans())
def test_one_record_more_is_one_row_more_or_none(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, ...]],
    record: bytes,
    place: int,
    sizes: Limits,
    quoted: bool,
) -> None:
    form = TextFormat(b",")
    record = record.replace(b"\n", b"") + b"\n"
    assume(own(record, form))
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    written = [module([row], ",", lineterminator="\n", quoting=quoting) for row in rows]
    header = module([], ",", lineterminator="\n", quoting=quoting)
    records = [each.removeprefix(header) for each in written]
    folder = tmp_path_factory.mktemp("text")
    sizes = sizes._replace(longest=max(sizes.longest, len(header)))

    def counted(parts: list[bytes]) -> Counter[Row]:
        (folder / "rows.csv").write_bytes(header + b"".join(parts))
        return Counter(read(folder / "rows.csv", sizes=sizes)[0])

    before, after = counted(records), counted([*records[:place], record, *records[place:]])
    assert before <= after
    assert after.total() - before.total() <= 1


@pytest.mark.parametrize("bad", [b'x,"a\n', b'"\n', b'x,"a""\n', b'"x"y,a\n', b'x,"\n'])
def test_a_quote_that_is_never_closed_loses_its_own_line_alone(tmp_path: Path, bad: bytes) -> None:
    good = [b"a,b\n"] * 5
    for others in (good, [b'"a","b"\n'] * 5, [b'a,"b"\n'] * 5):
        (tmp_path / "rows.csv").write_bytes(b"x,y\n" + b"".join([*others[:2], bad, *others[2:]]))
        assert read(tmp_path / "rows.csv") == ([("a", "b")] * 5, Unread(quotes=1))


def test_a_long_value_is_dropped_whole_and_forges_no_rows(tmp_path: Path) -> None:
    """A record beyond the limit ends where its quotes say, however far that is."""
    sizes = Limits(longest=64, block=16)
    for length in range(1, 40):
        rows = [("a", "b"), ("x", "a,b\n" * length), ("a", "b")]
        (tmp_path / "rows.csv").write_bytes(module(rows, ",", lineterminator="\n"))
        found, tally = read(tmp_path / "rows.csv", sizes=sizes)
        assert found == [row for row in rows if len(row[1]) + len('x,""\n') <= sizes.longest]
        assert tally == Unread(too_long=len(rows) - len(found))


# JSON lines.

KEYS = ["id", "ID", "x", "a/b~c", "é"]
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from(KEYS), st.integers(0, 3), max_size=2),
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draw a line: an object, perhaps with a key several times, or anything else."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(
            [b"", b"  ", b"null", b"[1]", b'{"id": 1', b'{"id": 1} {"id": 2}', b'{"id": "\xff"}', b"{}",
             b'{"id": "\\ud800"}', b'"id"', b"\r", b'{"id": 1}x', MARK + b"{}",
             b'{"\\u0069d": 1, "id": 2}', b'{"\\u0049d": 1, "id": 2}', b'{"id":"\\u0000"}',
             b"[" * 3000 + b"]" * 3000, b"{'id': 1}"]
        ))  # fmt: skip
    pairs = draw(st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=4))
    ascii = draw(st.booleans())
    inside = ", ".join(
        f"{json.dumps(k, ensure_ascii=ascii)}: {json.dumps(v, ensure_ascii=ascii)}" for k, v in pairs
    )
    return f"{{{inside}}}".encode()


def slow_line(line: bytes, names: list[str]) -> dict[str, Any] | None:
    """Return the object on a line, None where it is no row."""
    try:
        text = line.decode()
        pairs = json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs))
        text.encode()
        json.dumps(pairs, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # the second for an array of arrays of arrays
        return None
    if not isinstance(pairs, tuple):
        return None
    known = Counter(key.lower() for key, _ in pairs[1])
    if any(known[name.lower()] > 1 for name in names):
        return None
    return {key: value for key, value in pairs[1] if key in names}


def plain(value: Any) -> Any:
    """Return a value as JSON has it, without the marks of objects."""
    if isinstance(value, tuple):
        return {key: plain(each) for key, each in value[1]}
    return [plain(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=tries(60), suppress_health_check=list(HealthCheck))
@given(st.lists(lines(), max_size=8), limits(), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_lines_of_json_are_those_of_the_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, given: list[bytes], sizes: Limits, end: bytes, ended: bool
) -> None:
    assume(not given or not given[0].startswith(b"\xef"))
    names = ["id", "a/b~c", "é", "absent"]
    path = tmp_path_factory.mktemp("text") / "rows.jsonl"
    path.write_bytes(end.join(given) + (end if ended and given else b""))
    rows = LineRows([str(path)], limits=sizes._replace(longest=1 << 20))
    with duckdb.connect() as connection:
        found = connection.sql(lines_sql(rows, names, connection)).fetchall()
        unreadable = unreadable_lines(rows, names, connection).records
    expected = [slow_line(line, names) for line in given]

    assert unreadable == sum(
        row is None and line.strip() != b"" for row, line in zip(expected, given, strict=True)
    )
    assert [[None if value is None else json.loads(value) for value in row] for row in found] == [
        [plain(row.get(name)) for name in names] for row in expected if row is not None
    ]


# Through the front door.

PLACES = Categories(values=("a", "b", 'x,"y"\n\r', "é"))
DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="x", values=PLACES, missing="drop", outside="drop"),
        Attribute(name="y", values=PLACES),
    )
)


def test_a_long_text_with_quoted_line_ends_stops_nothing(tmp_path: Path) -> None:
    """Over every border of every block there are quotes, delimiters and line ends, all inside of values."""
    note = 'said: "a,b"\r\n' * 30_000
    rows = [("a", "b", note[i:]) for i in range(13)]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("x", "y", "note"), *rows])

    assert counts_of(ht.count(tmp_path / "rows.csv", domain=DOMAIN)) == {(0, 1): 13}
    assert check_rows(tmp_path / "rows.csv", domain=DOMAIN).unreadable == Unread()


@settings(max_examples=tries(12), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", 'x,"y"\n\r', "é", "", "other"])] * 2), max_size=5), scraps
)
def test_a_count_changes_by_one_at_most(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], record: bytes
) -> None:
    record = record.replace(b"\n", b"") + b"\n"
    assume(own(record, TextFormat(b",")))
    path = tmp_path_factory.mktemp("text") / "rows.csv"
    data = module(rows, ",", lineterminator="\n")
    path.write_bytes(data)
    before = counts_of(ht.count(path, domain=DOMAIN))
    path.write_bytes(data.replace(b"\n", b"\n" + record, 1))

    assert distance(before, counts_of(ht.count(path, domain=DOMAIN))) <= 1
