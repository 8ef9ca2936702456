"""One row, or one unit, changes the counted table by no more than the sensitivity, however it comes."""

from __future__ import annotations

import gzip
import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Times
from tests.engines.reference import counts_of
from tests.harness.cases import few

CITIES = ht.Domain(attributes=(Attribute(name="city", values=Categories(values=("a", "A", "b"))),))
NUMBERS = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))


@pytest.mark.parametrize("odd", ["[]", "1", '"x"', "true", "null"])
@pytest.mark.parametrize("before", [10, 5000])
def test_a_line_that_is_no_object_does_not_change_how_others_are_read(
    odd: str, before: int, tmp_path: Path
) -> None:
    lines = ['{"city": "a"}'] * before + [odd] + ['{"city": "b"}'] * before
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")

    try:
        counts = counts_of(ht.count(tmp_path / "rows.jsonl", domain=CITIES))
    except ht.BadData:
        return  # a file that breaks its format is an error, whatever the other lines say
    assert counts == {(0,): before, (2,): before}


def test_a_collation_does_not_count_a_row_in_several_cells(tmp_path: Path) -> None:
    table = pa.table({"city": ["a"]})
    query = "SELECT city COLLATE NOCASE AS city FROM data"
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE people (city VARCHAR COLLATE NOCASE)").fetchall()
        connection.execute("INSERT INTO people SELECT 'a' FROM range(200000)").fetchall()
        connection.execute("INSERT INTO people VALUES ('A')").fetchall()

    assert counts_of(ht.count(table, domain=CITIES, query=query)) == {(0,): 1}
    assert counts_of(ht.count(tmp_path / "rows.duckdb", domain=CITIES)) == {(0,): 200_000, (1,): 1}


def test_a_collation_does_not_join_units() -> None:
    table = pa.table({"x": [1, 2], "person": ["p", "P"]})
    query = "SELECT x, person COLLATE NOCASE AS person FROM data"
    unit = ht.Unit("person", max_rows=1)

    assert counts_of(ht.count(table, domain=NUMBERS, query=query, unit=unit)) == {(1,): 1, (2,): 1}


def test_no_name_of_a_column_is_taken_for_one_of_ours() -> None:
    for name in ("rows taken together", "rows_taken_together", "amount", "unit", "k0", "r0", "code0"):
        domain = ht.Domain(attributes=(Attribute(name="x", column=name, values=Integers(low=0, high=10**6)),))
        table = pa.table({name: [1] * 200_000 + [10**6]})

        assert counts_of(ht.count(table, domain=domain)) == {(1,): 200_000, (10**6,): 1}


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    (tmp_path / "link.parquet").symlink_to(path)

    for data in ([path, path], [path, str(tmp_path / "rows.*")], str(tmp_path / "*.parquet")):
        with pytest.raises(ht.BadData, match="twice"):
            ht.count(data, domain=NUMBERS)


def test_a_file_and_its_packed_copy_are_one(tmp_path: Path) -> None:
    """`gzip -k` leaves both."""
    (tmp_path / "rows.csv").write_text("x\n1\n")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"x\n1\n"))
    (tmp_path / "other.csv.gz").write_bytes(gzip.compress(b"x\n1\n"))

    with pytest.raises(ht.BadData, match=r"'.*/rows.csv.gz' is given twice"):
        ht.count(tmp_path, domain=NUMBERS)
    (tmp_path / "rows.csv").unlink()
    assert counts_of(ht.count(tmp_path, domain=NUMBERS)) == {(1,): 2}


@pytest.mark.parametrize("place", ["file:", "s3:", "md:"])
def test_a_path_is_never_taken_for_another_place(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB and Arrow read `file:/x` as /x, which nobody has looked at."""
    monkeypatch.chdir(tmp_path)
    folder = Path(place, str(tmp_path).lstrip("/"))
    folder.mkdir(parents=True)
    for number, where in enumerate((Path(), folder)):
        pq.write_table(pa.table({"x": [number]}), str(tmp_path / where / "rows.parquet"))
        pa.feather.write_feather(pa.table({"x": [number]}), str(tmp_path / where / "rows.arrow"))
        with duckdb.connect(str(tmp_path / where / "rows.duckdb")) as connection:
            connection.execute(f"CREATE TABLE people AS SELECT {number} AS x").fetchall()

    for kind in ("parquet", "arrow", "duckdb"):
        found = ht.count(f"{folder}/rows.{kind}", domain=NUMBERS)
        assert counts_of(found) == {(1,): 1}


@pytest.mark.parametrize("where", ["length(data::VARCHAR) > 0", "hash(data) IS NOT NULL"])
def test_no_value_of_a_column_that_files_do_not_share_stops_a_count(where: str, tmp_path: Path) -> None:
    """DuckDB would convert it to the first file's type, and stop at a value that does not fit."""
    tables = [
        pa.table({"x": [1], "odd": [7], "s": [{"a": 7}]}),
        pa.table({"x": [2], "odd": ["seven"], "s": [{"a": "seven"}]}),
        pa.table({"x": [3]}),
    ]
    paths = [tmp_path / f"{number}.parquet" for number in range(len(tables))]
    for table, path in zip(tables, paths, strict=True):
        pq.write_table(table, path)
    for files, counts in ((paths[:2], {(1,): 1, (2,): 1}), (paths[::-1], {(1,): 1, (2,): 1, (3,): 1})):
        assert counts_of(ht.count(files, domain=NUMBERS, where=where)) == counts


def test_macros_of_a_database_do_not_take_the_place_of_functions(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1.0::DOUBLE AS x FROM range(3)").fetchall()
        connection.execute("CREATE MACRO isnan(x) AS (SELECT count(*) > 2 FROM people)").fetchall()
        connection.execute("CREATE MACRO trunc(x) AS 5").fetchall()

    assert counts_of(ht.count(path, domain=NUMBERS)) == {(1,): 3}


@pytest.mark.parametrize("name", ["lookup0", "registered_rows", "hushtable lookup", "rows", "keyed"])
def test_tables_of_a_database_may_have_any_name(name: str, tmp_path: Path) -> None:
    quoted = f'"{name}"'
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {quoted} AS SELECT 'b' AS city, 'b' AS value, 0 AS code").fetchall()
    with sqlite3.connect(tmp_path / "rows.db") as lite:
        lite.execute(f"CREATE TABLE {quoted} (city TEXT, value TEXT, code INTEGER)")
        lite.execute(f"INSERT INTO {quoted} VALUES ('b', 'b', 0)")
    lite.close()

    for file in ("rows.duckdb", "rows.db"):
        assert counts_of(ht.count(tmp_path / file, domain=CITIES)) == {(2,): 1}


def test_units_of_json_are_told_by_their_value(tmp_path: Path) -> None:
    ids = ["1", "1", '"1"', '"1"', "1.0", "1e0", "true", '"true"', "null", "2", '"two"', "{}", "[2]"]
    ids += ["18446744073709551615", "-1", "123456789012345678901", "123456789012345678902"]
    lines = [f'{{"x": {place % 10}, "person": {text}}}\n' for place, text in enumerate(ids)]
    (tmp_path / "rows.jsonl").write_text("".join(lines))

    counts = counts_of(ht.count(tmp_path / "rows.jsonl", domain=NUMBERS, unit=ht.Unit("person", max_rows=1)))

    # Whole numbers are 1, 2, -1 and three long ones; texts are "1", "true" and "two"; others are nobody's.
    assert sum(counts.values()) == 9


def test_units_of_sqlite_are_told_by_their_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as lite:
        lite.execute("CREATE TABLE people (x INTEGER, person, number INTEGER, name TEXT, day DATE)")
        rows: list[Any] = [
            (1, 1, 1, "a", 1),
            (2, 1.0, 1.5, "A", "1"),
            (3, "1", 2, "a\0b", "one"),
            (4, 2, 2.4, "a\0c", 1.5),
        ]
        rows += [(5, 1, 1, b"a", "one"), (6, "1", 2, None, 1)]
        lite.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        lite.execute("INSERT INTO people VALUES (7, NULL, NULL, CAST(x'ff41' AS TEXT), NULL)")
        lite.execute("INSERT INTO people VALUES (8, NULL, NULL, CAST(x'fe41' AS TEXT), NULL)")
    lite.close()

    def counted(column: str) -> int:
        unit = ht.Unit(column, max_rows=1)
        return sum(counts_of(ht.count(tmp_path / "rows.db", domain=NUMBERS, unit=unit)).values())

    assert counted("person") == 3  # 1, "1" and 2; SQLite keeps 1.0 as a real
    assert counted("number") == 2  # 1.5 and 2.4 are no whole numbers: nobody's rows
    assert counted("name") == 4  # bytes and what is not UTF-8 are no text
    assert counted("day") == 2  # "1" became 1, and a real is nobody's


def test_one_more_counted_person_changes_one_count() -> None:
    largest = 1 << 60
    for count in (-2, -1, 0, 5, largest - 1, largest, largest + 1, 2**63 - 2):
        sums = []
        for people in (count, count + 1):
            table = pa.table({"x": [1], "n": pa.array([people], type=pa.int64())})
            sums.append(counts_of(ht.count(table, domain=NUMBERS, count_column="n")).get((1,), 0))
        assert abs(sums[1] - sums[0]) <= 1


def test_times_beyond_all_clocks_are_dropped(tmp_path: Path) -> None:
    from datetime import datetime

    times = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second")
    domain = ht.Domain(attributes=(Attribute(name="t", values=times),))
    good = 1_704_067_200
    for kind, scale in (
        (pa.timestamp("s"), 1),
        (pa.timestamp("ms"), 10**3),
        (pa.timestamp("us"), 10**6),
        (pa.timestamp("us", tz="UTC"), 10**6),
        (pa.timestamp("ns", tz="UTC"), 10**9),
    ):
        for extreme in (-(2**63) + 2, 2**63 - 2):
            values = pa.array([good * scale, extreme], type=pa.int64()).cast(kind)
            table = pa.table({"t": values, "x": [1, 2]})
            assert counts_of(ht.count(table, domain=domain)) == {(0,): 1}
            if kind.unit == "s":  # which Parquet keeps as milliseconds
                continue
            pq.write_table(table, tmp_path / "rows.parquet")
            assert counts_of(ht.count(tmp_path / "rows.parquet", domain=domain)) == {(0,): 1}
            assert counts_of(ht.count(tmp_path / "rows.parquet", domain=NUMBERS)) == {(1,): 1, (2,): 1}
    days = pa.array([good // 86_400, -(2**31) + 2, 2**31 - 2], type=pa.int32()).cast(pa.date32())
    assert counts_of(ht.count(pa.table({"t": days}), domain=domain)) == {(0,): 1}


# Values that break no type of Arrow, but that DuckDB would convert, and stop at: one row would decide.
_FAR = 1 << 62
_CONVERTED: dict[str, pa.Array] = {
    "durations": pa.array([1, _FAR], pa.duration("s")),
    "durations in milliseconds": pa.array([1, -_FAR], pa.duration("ms")),
    "dates in milliseconds": pa.array([86_400_000, _FAR], pa.int64()).view(pa.date64()),
    "times in a list": pa.array([[1], [_FAR]], pa.list_(pa.timestamp("s", "UTC"))),
    "times in a struct": pa.array([{"a": 1}, {"a": _FAR}], pa.struct([("a", pa.timestamp("ms", "UTC"))])),
    "local times in a struct": pa.array([{"a": 1}, {"a": _FAR}], pa.struct([("a", pa.timestamp("ms"))])),
    "times in a dictionary": pa.array([1, _FAR], pa.timestamp("s", "UTC")).dictionary_encode(),
    "durations in a map": pa.array([[("a", 1)], [("a", _FAR)]], pa.map_(pa.string(), pa.duration("s"))),
    "a key twice in a map": pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
    "times of day": pa.array([1, 1 << 61], pa.int64()).view(pa.time64("us")),
    "times of day in nanoseconds": pa.array([1, -5], pa.int64()).view(pa.time64("ns")),
    "times of day in milliseconds": pa.array([1, (1 << 31) - 1], pa.int32()).view(pa.time32("ms")),
}


@pytest.mark.parametrize(
    ("odd", "form"), few(product(_CONVERTED, ["table", "stream", "arrow", "parquet"]), every=7)
)
def test_no_value_of_a_type_that_is_converted_stops_a_count(odd: str, form: str, tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2], "odd": _CONVERTED[odd]})

    def rows(table: pa.Table) -> Any:
        path = tmp_path / f"rows.{form}"
        if form == "arrow":
            pa.feather.write_feather(table, str(path), compression="uncompressed")
        elif form == "parquet":
            pq.write_table(table, path)
        return {"table": table, "stream": table.to_reader()}.get(form, path)

    try:
        rows(table)
    except pa.ArrowException:
        pytest.skip("Parquet has no such type, or does not hold such a value")
    assert counts_of(ht.count(rows(table), domain=NUMBERS)) == {(1,): 1, (2,): 1}
    whole = "hash(data) IS NOT NULL"
    assert counts_of(ht.count(rows(table), domain=NUMBERS, where=whole)) == {(1,): 1, (2,): 1}
    outcomes = []
    for part in (table.slice(0, 1), table):
        try:
            table_of_part = ht.count(rows(part), domain=NUMBERS, where="odd IS NOT NULL")
            outcomes.append(str(counts_of(table_of_part).get((1,))))
        except ht.BadData as error:
            outcomes.append(error.fact)  # by its type, whatever the values are
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] == "1" or outcomes[0].endswith("which is not read")


def test_old_files_that_name_milliseconds_in_the_old_way_are_no_exception(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2], "t": pa.array([1, _FAR], pa.timestamp("ms"))})
    pq.write_table(table, tmp_path / "rows.parquet", store_schema=False)
    data = (tmp_path / "rows.parquet").read_bytes()
    logical = b"\x4c\x8c"  # the field of the logical type, of which a timestamp is the 8th
    assert data.count(logical) == 1
    (tmp_path / "rows.parquet").write_bytes(data.replace(logical, b"\x5c\x8c"))  # a field that nobody knows

    settings: list[dict[str, Any]] = [{}, {"where": "t IS NOT NULL"}, {"query": "SELECT x, t FROM data"}]
    for each in settings:
        counts = counts_of(ht.count(tmp_path / "rows.parquet", domain=NUMBERS, **each))
        assert counts == {(1,): 1, (2,): 1}


def _dictionary(values: list[int], places: pa.DataType, kind: pa.DataType) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), places), pa.array(values, kind))


# Types of one column in two files, each with a value that the other one cannot hold.
_TWO_TYPES: dict[str, tuple[pa.Array, pa.Array]] = {
    "dictionaries": (
        _dictionary([1, -1], pa.int8(), pa.int64()),
        _dictionary([2, -2], pa.int32(), pa.int64()),
    ),
    "dictionaries of other signs": (
        _dictionary([1, (1 << 64) - 1], pa.int8(), pa.uint64()),
        _dictionary([2, -1], pa.int32(), pa.int64()),
    ),
    "a dictionary": (_dictionary([1, (1 << 64) - 1], pa.int8(), pa.uint64()), pa.array([2, -1], pa.int64())),
    "bytes": (pa.array([b"aa", b"bb"], pa.binary(2)), pa.array([b"cc", b"d"])),
    "times": (pa.array([1, _FAR], pa.timestamp("s", "UTC")), pa.array([2, 3], pa.timestamp("us", "UTC"))),
    "zones": (
        pa.array([1, _FAR], pa.timestamp("s", "UTC")),
        pa.array([2, 3], pa.timestamp("us", "Asia/Tokyo")),
    ),
    "times of day": (pa.array([1, 2], pa.time32("s")), pa.array([10**6, 3], pa.time64("us"))),
    "durations": (pa.array([1, _FAR], pa.duration("s")), pa.array([2, 3], pa.duration("us"))),
}


@pytest.mark.parametrize(
    ("kinds", "turned", "where"),
    few(product(_TWO_TYPES, [False, True], ["odd IS NOT NULL", None]), every=3),
)
def test_no_value_stops_files_of_two_types_of_arrow(
    kinds: str, turned: bool, where: str | None, tmp_path: Path
) -> None:
    outcomes = []
    files = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
    for rows in (1, 2):
        for file, odd in zip(files, _TWO_TYPES[kinds], strict=True):
            table = pa.table({"x": [1, 2][:rows], "odd": odd.slice(0, rows)})
            pa.feather.write_feather(table, str(file), compression="uncompressed")
        try:
            counted = ht.count(files[::-1] if turned else files, domain=NUMBERS, where=where)
            outcomes.append(str(counts_of(counted)[(1,)]))
        except ht.BadData as error:
            outcomes.append(error.fact)  # by the types, whatever the values are
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] == "2" or ("have no common type" in outcomes[0] and where is not None)


def test_dates_in_milliseconds_are_no_units() -> None:
    """DuckDB keeps their day alone, in 32 bits: two people would share a bound."""
    ids = pa.array([0, 1, 86_400_000 << 32], pa.int64()).view(pa.date64())

    with pytest.raises(ht.BadData, match="cannot tell units apart"):
        ht.count(pa.table({"x": [1, 1, 1], "id": ids}), domain=NUMBERS, unit=ht.Unit("id", max_rows=1))


def test_no_note_on_a_column_makes_something_else_of_its_values() -> None:
    """DuckDB would take the bytes of these texts, and of what lies behind them, for numbers."""
    texts, unit = pa.array(["1", "2", "x"]), ht.Unit("id", max_rows=1)
    said = {"ARROW:extension:name": "arrow.opaque"}
    said["ARROW:extension:metadata"] = '{"type_name": "hugeint", "vendor_name": "DuckDB"}'
    noted = pa.schema([pa.field("x", pa.int64()), pa.field("id", pa.string(), metadata=said)])
    assert counts_of(ht.count(pa.table([[1, 1, 1], texts], schema=noted), domain=NUMBERS, unit=unit)) == {
        (1,): 3
    }
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "hugeint", "DuckDB"), texts)
    ids: Any
    for ids in (opaque, pa.StructArray.from_arrays([opaque], ["a"])):
        table = pa.table({"x": [1, 1, 1], "id": ids})
        assert counts_of(ht.count(table, domain=NUMBERS)) == {(1,): 3}
        with pytest.raises(ht.BadData, match="which is not read"):
            ht.count(table, domain=NUMBERS, unit=unit)


NAN = float("nan")


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize(
    "values",
    [Integers(low=0, high=5), Bins(start=0, stop=6, step=1), Edges(edges=(0, 1, 5))],  # type: ignore[arg-type]
    ids=lambda values: type(values).__name__,
)
@pytest.mark.parametrize("outside", ["drop", "clamp"])
def test_statistics_of_a_file_decide_about_no_row(
    kind: pa.DataType, values: Any, outside: Any, tmp_path: Path
) -> None:
    """Parquet's speak of the other numbers where some are NaN: one row more must not settle what NaN is."""
    domain = ht.Domain(attributes=(Attribute(name="x", values=values, outside=outside),))
    path = tmp_path / "rows.parquet"
    for others in ([], [2.0], [2.0, 3.0], [-1e30, 1e30]):
        pq.write_table(pa.table({"x": pa.array([NAN] * 20 + others, type=kind)}), path)
        counted = len(others) if outside == "clamp" or others != [-1e30, 1e30] else 0
        assert sum(counts_of(ht.count(path, domain=domain)).values()) == counted


@pytest.mark.parametrize("kind", few([pa.float32(), pa.float64()], every=2), ids=str)
@pytest.mark.parametrize(
    ("where", "kept"), [("n > 4", 20), ("isnan(n)", 20), ("NOT n <= 4", 20), ("n <> 2", 20), ("n = 2", 0)]
)
def test_statistics_of_a_file_let_a_filter_pass_over_no_row(
    kind: pa.DataType, where: str, kept: int, tmp_path: Path
) -> None:
    """NaN is above all numbers in DuckDB, and in no statistics."""
    path = tmp_path / "rows.parquet"
    for others in ([], [2.0], [2.0, 3.0]):
        table = pa.table({"x": [1] * 20 + [2] * len(others), "n": pa.array([NAN] * 20 + others, type=kind)})
        pq.write_table(table, path)
        for asked in ({"where": where}, {"query": f"SELECT x FROM data WHERE {where}"}):
            assert counts_of(ht.count(path, domain=NUMBERS, **asked)).get((1,), 0) == kept  # type: ignore[arg-type]


def test_counts_that_are_no_numbers_are_dropped_whatever_the_others_are(tmp_path: Path) -> None:
    counts = pa.array([0.5, 100, NAN], type=pa.float32())
    pq.write_table(pa.table({"x": [1, 2, 3], "people": counts}), tmp_path / "rows.parquet")

    found = ht.count(tmp_path / "rows.parquet", domain=NUMBERS, count_column="people")

    assert counts_of(found) == {(2,): 100}


@pytest.mark.parametrize(
    ("nested", "form", "unit"), few(product([False, True], ["arrow", "ipc", "duckdb"], ["s", "ms"]), every=5)
)
def test_the_owner_s_words_read_a_time_beyond_all_clocks_as_missing(
    unit: str, form: str, nested: bool, tmp_path: Path
) -> None:
    """DuckDB took it for a bug of its own where such a time was to be text, which TRY does not catch."""
    times = pa.array([1_704_067_200, 9_300_000_000_000_000, -9_300_000_000_000_000], type=pa.int64())
    column = times.cast(pa.timestamp(unit))
    if nested:
        column = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], type=pa.int32()), column)
    table: Any = pa.table({"x": [1, 2, 3], "t": column})
    data: Any = table
    if form == "ipc":
        data = tmp_path / "rows.arrow"
        with pa.ipc.new_file(data, table.schema) as writer:
            writer.write_table(table)
    elif form == "duckdb":
        data = tmp_path / "rows.duckdb"
        with duckdb.connect(str(data)) as connection:
            connection.execute('CREATE TABLE data AS SELECT * FROM "table"').fetchall()
    text = "CAST(t AS VARCHAR)"

    assert counts_of(ht.count(data, domain=NUMBERS, where=f"length({text}) > 9")) == {(1,): 1}
    asked = f"SELECT CASE WHEN {text} LIKE '%19%' THEN 4 ELSE x END AS x FROM data"
    assert sum(counts_of(ht.count(data, domain=NUMBERS, query=asked)).values()) == 3


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("form", ["arrow", "parquet", "parquet by duckdb", "duckdb"])
def test_a_time_in_nanoseconds_is_not_rounded_into_the_next_hour(
    zone: str | None, form: str, tmp_path: Path
) -> None:
    from datetime import datetime

    hour = 3600 * 10**9
    ticks = [base * hour + more for base in (0, 1, -2) for more in (0, 400, 999, hour - 1, hour - 400)]
    column = pa.array(ticks, type=pa.int64()).cast(pa.timestamp("ns", tz=zone))
    table: Any = pa.table({"t": column})
    data: Any = table
    if form == "parquet":
        data = tmp_path / "rows.parquet"
        pq.write_table(table, data)
    elif form != "arrow":
        data = tmp_path / ("rows.duckdb" if form == "duckdb" else "rows.parquet")
        with duckdb.connect(str(data) if form == "duckdb" else ":memory:") as connection:
            kept = "CREATE TABLE data AS FROM" if form == "duckdb" else "COPY"
            to = "" if form == "duckdb" else f" TO '{data}'"
            connection.execute(f'{kept} "table"{to}').fetchall()
    hours = Times(start=datetime(1969, 12, 31, 22), stop=datetime(1970, 1, 1, 2), every=3600, unit="second")
    domain = ht.Domain(attributes=(Attribute(name="t", values=hours),))

    assert counts_of(ht.count(data, domain=domain)) == {(0,): 5, (2,): 5, (3,): 5}


def test_text_of_sqlite_that_is_not_unicode_is_one_bad_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as lite:
        lite.execute("CREATE TABLE people (city TEXT)")
        lite.execute("INSERT INTO people VALUES ('a'), (CAST(x'ff41' AS TEXT))")
    lite.close()

    assert counts_of(ht.count(tmp_path / "rows.db", domain=CITIES)) == {(0,): 1}


def test_bins_take_the_place_of_no_value(tmp_path: Path) -> None:
    """Values in one bin are grouped together or not, with the same result."""
    bins = ht.Domain(attributes=(Attribute(name="x", values=Bins(start=0, stop=10, step=5)),))  # type: ignore[arg-type]
    few: Any = pa.table({"x": [0.0, -0.0, 4.999, 5.0] * 50_000})

    assert counts_of(ht.count(few, domain=bins)) == {(0,): 150_000, (1,): 50_000}
