"""Every kind of source gives the same counts for the same rows."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.engines.sliced.engine import LEAST_MEMORY, closed_at_last, connect
from tests.engines.reference import counts_of

DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="place", values=Categories(values=("01", "02", "x y"))),
        Attribute(name="age", values=Integers(low=0, high=99)),
    )
)
ROWS: list[dict[str, Any]] = [
    {"place": "01", "age": 3, "person": "a"},
    {"place": "01", "age": 3, "person": "b"},
    {"place": "x y", "age": 99, "person": "b"},
    {"place": "1", "age": 5, "person": "c"},
    {"place": "02", "age": None, "person": "d"},
    {"place": None, "age": 7, "person": "e"},
    {"place": "02", "age": 7, "person": None},
]
EXPECTED = {(0, 3): 2, (2, 99): 1, (1, 7): 1}
TABLE = pa.Table.from_pylist(ROWS)


def parquet(folder: Path) -> Any:
    pq.write_table(TABLE, folder / "rows.parquet")
    return folder / "rows.parquet"


def comma(folder: Path) -> Any:
    pa_csv.write_csv(TABLE, folder / "rows.csv")
    return str(folder / "rows.csv")


def tab(folder: Path) -> Any:
    pa_csv.write_csv(TABLE, folder / "rows.tsv", pa_csv.WriteOptions(delimiter="\t"))
    return folder / "rows.tsv"


def packed(folder: Path) -> Any:
    text = Path(comma(folder)).read_bytes()
    (folder / "rows.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text))
    return folder / "rows.csv.gz"


def zstandard(folder: Path) -> Any:
    with pa.output_stream(folder / "rows.jsonl.zst", compression="zstd") as file:
        file.write(lines(folder).read_bytes())
    return folder / "rows.jsonl.zst"


def lines(folder: Path) -> Any:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder / "rows.jsonl"


def arrow_file(folder: Path) -> Any:
    with pa.ipc.new_file(folder / "rows.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    return folder / "rows.arrow"


def arrow_stream(folder: Path) -> Any:
    with pa.ipc.new_stream(folder / "rows.arrows", TABLE.schema) as file:
        file.write_table(TABLE)
    return folder / "rows.arrows"


def several(folder: Path) -> Any:
    pq.write_table(TABLE.slice(0, 3), folder / "one.parquet")
    pq.write_table(TABLE.slice(3), folder / "two.pq")
    return [folder / "one.parquet", str(folder / "two.pq")]


def pattern(folder: Path) -> Any:
    several(folder)
    return str(folder / "*.p*q*")


def nested(folder: Path) -> Any:
    """A folder as Spark writes it: a column in the names of folders, and files that hold no data."""
    for place in ("01", "02", "x y", "1", None):
        part = folder / "all" / f"place={place or '__HIVE_DEFAULT_PARTITION__'}"
        part.mkdir(parents=True)
        rows = [{"age": row["age"], "person": row["person"]} for row in ROWS if row["place"] == place]
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLE.schema.remove(0)), part / "part-0.parquet")
    (folder / "all" / "_SUCCESS").touch()
    (folder / "all" / ".part-0.parquet.crc").write_bytes(b"crc")
    return folder / "all"


def other_columns(folder: Path) -> Any:
    """CSV files whose columns come in another order, and with others beside them."""
    pa_csv.write_csv(TABLE.slice(0, 3), folder / "one.csv")
    pa_csv.write_csv(TABLE.slice(3).select(["person", "age", "place"]), folder / "two.csv")
    return str(folder / "*.csv")


def database(folder: Path) -> Any:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given").fetchall()
    return folder / "rows.duckdb"


def sqlite(folder: Path) -> Any:
    with sqlite3.connect(folder / "rows.db") as connection:
        connection.execute("CREATE TABLE people (place TEXT, age INTEGER, person)")
        connection.executemany("INSERT INTO people VALUES (:place, :age, :person)", ROWS)
    connection.close()
    return folder / "rows.db"


def in_memory(folder: Path) -> Any:
    return TABLE


def reader(folder: Path) -> Any:
    return TABLE.to_reader()


def capsule(folder: Path) -> Any:
    class Anything:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return TABLE.to_reader().__arrow_c_stream__(requested_schema)

    return Anything()


def record_batch(folder: Path) -> Any:
    return TABLE.combine_chunks().to_batches()[0]


def pandas(folder: Path) -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(ROWS)


def polars(folder: Path) -> Any:
    return pytest.importorskip("polars", reason="Polars is not installed").DataFrame(ROWS)


SOURCES = [
    parquet, comma, tab, packed, zstandard, lines, arrow_file, arrow_stream, several, pattern, nested,
    other_columns, database, sqlite, in_memory, reader, capsule, record_batch, pandas, polars,
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_every_source_gives_the_same_counts(source: Callable[[Path], Any], tmp_path: Path) -> None:
    assert counts_of(ht.count(source(tmp_path), domain=DOMAIN)) == EXPECTED


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_filters_and_units_work_on_every_source(source: Callable[[Path], Any], tmp_path: Path) -> None:
    unit = ht.Unit("person", max_rows=1)
    data = source(tmp_path)
    where = "CAST(person AS VARCHAR) NOT IN ('b', '\"b\"')"

    assert counts_of(ht.count(data, domain=DOMAIN, where=where, unit=unit)) == {(0, 3): 1}


@pytest.mark.parametrize("source", [database, sqlite])
def test_queries_name_a_table_of_a_database(source: Callable[[Path], Any], tmp_path: Path) -> None:
    query = "SELECT place, age + 1 AS age FROM people WHERE age < 50"

    assert counts_of(ht.count(source(tmp_path), domain=DOMAIN, query=query)) == {(0, 4): 2, (1, 8): 1}
    grouped = "SELECT place, max(age) AS age FROM people GROUP BY place"
    with pytest.raises(ht.BadQuery, match="GROUP BY"):
        ht.count(_again(source, tmp_path), domain=DOMAIN, query=grouped)
    table = ht.count(_again(source, tmp_path), domain=DOMAIN, query=grouped, rows_are_units=True)
    assert counts_of(table) == {(0, 3): 1, (1, 7): 1, (2, 99): 1}


def _again(source: Callable[[Path], Any], folder: Path) -> Any:
    """Make the same file in a new folder."""
    new = folder / f"again{len(list(folder.iterdir()))}"
    new.mkdir()
    return source(new)


def test_queries_call_the_rows_of_files_data(tmp_path: Path) -> None:
    query = "SELECT place, TRY_CAST(age AS INTEGER) // 10 AS age FROM data;"

    assert counts_of(ht.count(comma(tmp_path), domain=DOMAIN, query=query)) == {
        (0, 0): 2,
        (2, 9): 1,
        (1, 0): 1,
    }


def test_views_of_a_database_are_no_tables(tmp_path: Path) -> None:
    """A view may join or group unseen."""
    path = database(tmp_path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW grouped AS SELECT DISTINCT place, age FROM people").fetchall()
    lite = sqlite(tmp_path)
    with sqlite3.connect(lite) as other:
        other.execute("CREATE VIEW grouped AS SELECT DISTINCT place, age FROM people")
    other.close()

    for data in (path, lite):
        with pytest.raises(ht.BadQuery, match="grouped"):
            ht.count(data, domain=DOMAIN, query="SELECT * FROM grouped")
        assert counts_of(ht.count(data, domain=DOMAIN)) == EXPECTED


def test_sqlite_keeps_text_apart_from_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (place, age)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?)",
            [
                ("01", 3),
                (1, 3),
                ("02", "7"),
                ("02", 7.0),
                (b"02", 7),
                ("x y", 1e300),
                ("x y", None),
                ("x y", "x"),
            ],
        )
    connection.close()

    assert counts_of(ht.count(path, domain=DOMAIN)) == {(0, 3): 1, (1, 7): 2}


def test_sqlite_columns_of_numbers_are_no_categories(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (place INTEGER, age)")
    connection.close()

    with pytest.raises(ht.BadData, match="leading zeros"):
        ht.count(path, domain=DOMAIN)


def test_a_query_in_sqlite_is_run_by_the_engine_that_checked_it(tmp_path: Path) -> None:
    """SQLite reads `x IN table` as a subquery and 'now' as the clock; DuckDB, which checks, does not."""
    path = sqlite(tmp_path)
    for query in (
        "SELECT place, age FROM people WHERE place IN people",
        "SELECT place, CAST(strftime('%s', 'now') AS INTEGER) AS age FROM people",
        "SELECT place, oid AS age FROM people",
    ):
        with pytest.raises(ht.HushtableError):
            ht.count(path, domain=DOMAIN, query=query)


def test_rows_that_come_as_a_stream_are_looked_up_and_not_kept(tmp_path: Path) -> None:
    """DuckDB does not know how long a stream is, and would take it for the shorter side of a join."""
    schema = pa.schema([("place", pa.string())])
    stream = pa.RecordBatchReader.from_batches(schema, iter(()))
    places = pa.table({"value": [str(number) for number in range(1000)], "code": range(1000)})
    sql = "SELECT code FROM stream LEFT JOIN places ON stream.place = places.value"

    def plan(*, enabled: bool) -> str:
        with closed_at_last(connect(memory=LEAST_MEMORY, threads=1, folder=tmp_path)) as connection:
            connection.register("stream", stream)
            connection.register("places", places)
            if enabled:
                connection.execute("RESET disabled_optimizers")
            ((_, text),) = connection.execute(f"EXPLAIN {sql}").fetchall()
            return str(text)

    assert "LEFT" in plan(enabled=False)
    assert "RIGHT" in plan(enabled=True)  # else this test sees nothing
