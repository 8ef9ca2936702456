"""Every name stands for one column, and every stored value for one unit, whatever the rows come from."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from tests.engines.contracts.engine import count_with
from tests.engines.reference import Counts, counts_of, distance
from tests.harness.statistics import LONG

DOMAIN = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))
SEVERAL = "several columns named"


def six(**columns: list[Any]) -> pa.Table:
    """Return six rows of one person."""
    return pa.table({"x": list(range(6)), **columns})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x, row AS id, person AS ID FROM data",
        "SELECT x, row AS ID, person AS id FROM data",
        "SELECT *, person AS X FROM data",
        "SELECT x, person AS id, row AS Id FROM data",
        "SELECT *, * FROM data",
        "SELECT x, x FROM data",
        "SELECT * RENAME (row AS PERSON) FROM data",
    ],
)
def test_a_query_gives_each_name_once(query: str) -> None:
    table = six(row=list(range(6)), person=[1] * 6)
    for unit in ("ID", "id", "person"):
        for prepared in (False, True):
            with pytest.raises(ht.BadData, match=SEVERAL):
                ht.count(
                    table,
                    domain=DOMAIN,
                    query=query,
                    unit=ht.Unit(unit, max_rows=1),
                    rows_are_units=prepared,
                )


def test_an_object_has_each_name_once() -> None:
    table = pa.table([range(6), range(6), [1] * 6], names=["x", "id", "ID"])
    for data in (table, table.to_reader(), table.to_batches()[0]):
        with pytest.raises(ht.BadData, match=SEVERAL):
            ht.count(data, domain=DOMAIN)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_a_file_has_each_name_once(kind: str, tmp_path: Path) -> None:
    table = pa.table([range(6), range(6), [1] * 6], names=["x", "id", "ID"])
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_text("x,id,ID\n" + "".join(f"{each},{each},1\n" for each in range(6)))

    with pytest.raises(ht.BadData, match=f"{SEVERAL}|names a column twice"):
        ht.count(path, domain=DOMAIN, unit=ht.Unit("ID", max_rows=1))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "object"])
def test_a_struct_has_each_field_once(kind: str, tmp_path: Path) -> None:
    """DuckDB finds `s.id` in `ID`, where that comes first."""
    twins = pa.StructArray.from_arrays([pa.array(["p"] * 6), pa.array(range(6))], ["ID", "id"])
    table = six(s=pa.StructArray.from_arrays([twins], ["inner"]))
    data: Any = table
    if kind != "object":
        data = tmp_path / f"rows.{kind}"
        pq.write_table(table, data) if kind == "parquet" else pa.feather.write_feather(table, str(data))
    query = "SELECT x, s.inner.id AS who FROM data"

    with pytest.raises(ht.BadData, match=f"column 's'.* has {SEVERAL} 'id'"):
        ht.count(data, domain=DOMAIN, query=query, unit=WHO)
    assert counts_of(ht.count(data, domain=DOMAIN)) == {(each,): 1 for each in range(6)}


def test_a_query_in_sqlite_gives_each_name_once(tmp_path: Path) -> None:
    """SQLite itself would call the second one `ID:1`, and the unit would be the row."""
    path = tmp_path / "rows.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute('CREATE TABLE people (x INT, "row" INT, person TEXT, "x:1" INT)')
        file.executemany("INSERT INTO people VALUES (1, ?, 'p', 2)", [(number,) for number in range(6)])
    query = 'SELECT x, "row" AS id, person AS ID FROM people'

    for prepared in (False, True):
        with pytest.raises(ht.BadData, match=f"{SEVERAL} 'ID'"):
            ht.count(
                path,
                domain=DOMAIN,
                query=query,
                rows_are_units=prepared,
                unit=ht.Unit("ID", max_rows=1),
            )
    assert counts_of(ht.count(path, domain=DOMAIN)) == {(1,): 6}  # with a column of such a name


@pytest.mark.parametrize("folder", ["person", "PERSON"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_does_not_take_the_place_of_a_column(kind: str, folder: str, tmp_path: Path) -> None:
    for value in range(6):
        place = tmp_path / "rows" / f"{folder}={value}"
        place.mkdir(parents=True)
        if kind == "parquet":
            pq.write_table(pa.table({"x": [value], "person": [1]}), place / "rows.parquet")
        else:
            (place / "rows.csv").write_text(f"x,person\n{value},1\n")

    with pytest.raises(ht.BadData, match="lies in a folder that names it too") as caught:
        ht.count(tmp_path / "rows", domain=DOMAIN, unit=ht.Unit("person", max_rows=1))
    assert "person=0" not in str(caught.value).lower()


def test_folders_name_a_column_once_and_all_alike(tmp_path: Path) -> None:
    for place in ("person=a/Person=b", "person=a"):
        (tmp_path / "rows" / place).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1]}), tmp_path / "rows" / place / "rows.parquet")

    with pytest.raises(ht.BadData, match=f"{SEVERAL}|do not name the same columns"):
        ht.count(tmp_path / "rows", domain=DOMAIN)
    with pytest.raises(ht.BadData, match=SEVERAL):
        ht.count(tmp_path / "rows/person=a/Person=b", domain=DOMAIN)
    assert counts_of(ht.count(tmp_path / "rows/person=a/rows.parquet", domain=DOMAIN)) == {(1,): 1}


def test_folders_may_hold_the_unit(tmp_path: Path) -> None:
    for person in ("a", "A", "a%20b"):
        place = tmp_path / "rows" / f"person={person}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1, 2, 3]}), place / "rows.parquet")

    counts = counts_of(ht.count(tmp_path / "rows", domain=DOMAIN, unit=ht.Unit("person", max_rows=1)))

    assert sum(counts.values()) == 3


@pytest.mark.parametrize("unit", ["id", "ID"])
def test_keys_of_json_are_told_apart(unit: str, tmp_path: Path) -> None:
    """Whatever else is on a line, one person counts once."""
    lines = [{"x": each, "id": each, "ID": 1} for each in range(6)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    for query in (None, "SELECT x, id, ID AS other FROM data", f"SELECT x, {unit} FROM data"):
        try:
            table = ht.count(
                tmp_path / "rows.jsonl", domain=DOMAIN, query=query, unit=ht.Unit(unit, max_rows=1)
            )
        except ht.BadData:
            continue
        assert sum(counts_of(table).values()) <= (6 if unit == "id" else 1)


# Units: two stored values are two people, in whatever files they lie.

IDS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [-1, 0, 1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1]),
    (pa.uint64(), [2**64 - 1, 0, 1, 2**63, 2**53 + 1]),
    (pa.int8(), [-1, 0, 1]),
    (pa.string(), ["1", "-1", "a", "A", "1.0", "01", ""]),
    (pa.dictionary(pa.int8(), pa.string()), ["1", "a"]),
    (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("1.01"), Decimal("-1.00")]),
    (pa.decimal128(20, 4), [Decimal("1.0000"), Decimal("1.0001"), Decimal("1.0149")]),
    (pa.decimal256(40, 2), [Decimal("1.00")]),
    (pa.timestamp("s"), [1, 2]),
    (pa.timestamp("ms"), [1_000, 1_001]),
    (pa.timestamp("ns"), [1_000_000_000, 1_000_000_001]),
    (pa.timestamp("ns", tz="UTC"), [1_000_000_000, 1_000_000_001]),
    (pa.date32(), [1, 2]),
    (pa.float64(), [1.0, 2.0**53]),
    (pa.float32(), [1.0]),
    (pa.float16(), [1.0]),
    (pa.bool_(), [True, False]),
    (pa.binary(), [b"1", b"\xff", b"\xfe"]),
    (pa.null(), [None]),
    (pa.duration("s"), [1]),
    (pa.time64("ns"), [1]),
    (pa.month_day_nano_interval(), [(1, 0, 0), (0, 30, 0)]),
    (pa.list_(pa.float64()), [[1.0]]),
]

# Those that might be brought together, and each beside a file of another kind or none.
PAIRS = [
    (first, second)
    for first, second in combinations(IDS, 2)
    if not {*map(str, first[1])} <= {*map(str, second[1])}
    and (str(first[0])[:4] == str(second[0])[:4] or {"int64", "string"} & {str(first[0]), str(second[0])})
]


def ids_of(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Return ids of a type; times are given by their steps."""
    if pa.types.is_temporal(kind) and not isinstance(values[0], tuple):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array(values, width).cast(kind)
    return pa.array(values, kind)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_units_of_two_files_are_never_taken_for_one(kind: str, tmp_path: Path) -> None:
    """Each person has 6 rows, of which 3 count; one who is in the first file alone is left out."""
    for number, (first, second) in enumerate(PAIRS[:: 1 if LONG else 6]):
        left_out = next(each for each in first[1] if each not in second[1])
        tables: list[Counts] = []
        for kept in (first[1], [each for each in first[1] if each != left_out]):
            folder = tmp_path / f"{number}-{len(tables)}-{left_out in kept}"
            folder.mkdir()
            for name, (form, values) in {"a": (first[0], kept), "b": second}.items():
                with suppress(pa.ArrowException):  # not a type of this format
                    rows = {"x": [*range(6)] * len(values), "id": _repeated(form, values)}
                    _written(pa.table(rows), folder / f"{name}.{kind}")
            with suppress(ht.BadData):
                tables.append(count_with(folder, DOMAIN, unit=ht.Unit("id", max_rows=3)))
        assert len(tables) != 1, (first, second)  # whether there is a table is no matter of one person
        assert not tables or distance(*tables) <= 3, (first, second)


def _repeated(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if not values:
        return pa.array([], kind)
    return pa.chunked_array([ids_of(kind, [value] * 6) for value in values]).combine_chunks()


def _written(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_whole_numbers_of_several_widths_are_one_kind(form: str, tmp_path: Path) -> None:
    """-1 and 2^64 - 1 are two people, 1 in both files is one."""
    _written(pa.table({"x": [1, 2], "id": pa.array([-1, 1], pa.int64())}), tmp_path / f"a.{form}")
    _written(pa.table({"x": [3, 4], "id": pa.array([2**64 - 1, 1], pa.uint64())}), tmp_path / f"b.{form}")

    counts = counts_of(ht.count(tmp_path, domain=DOMAIN, unit=ht.Unit("id", max_rows=1)))

    assert sum(counts.values()) == 3


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([2**53 + 1]), pa.array([1.5])),
        (pa.array([Decimal("1.00")]), pa.array([Decimal("1.0000")])),
        (pa.array([1]).cast(pa.timestamp("s")), pa.array([1]).cast(pa.timestamp("ns"))),
        (pa.array([1]), pa.array(["1"])),
        (pa.array([True]), pa.array(["true"])),
    ],
)
def test_types_are_brought_together_without_loss_only(
    left: pa.Array, right: pa.Array, tmp_path: Path
) -> None:
    for form in ("parquet", "arrow"):
        _written(pa.table({"x": left}), tmp_path / f"a.{form}")
        _written(pa.table({"x": right}), tmp_path / f"b.{form}")
        with pytest.raises(ht.BadData, match="Write it with one type in all files"):
            ht.count(str(tmp_path / f"*.{form}"), domain=DOMAIN)


@pytest.mark.parametrize("data", [pa.table({}), pa.table({"half": pa.array([1.5], pa.float16())})])
def test_rows_without_a_column_that_is_read_are_one_error(data: pa.Table) -> None:
    for rows in (data, data.to_reader()):
        with pytest.raises(ht.BadData, match="no column"):
            ht.count(rows, domain=DOMAIN)


def test_odd_types_of_other_columns_are_no_matter() -> None:
    odd = {
        "half": pa.array([1.5, 2.5], pa.float16()),
        "long": pa.array([Decimal(1), None], pa.decimal256(60, 2)),
    }
    union = pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])]
    )
    table = pa.table({"x": [1, 2], **odd, "union": union})

    for data in (table, table.to_reader()):
        assert counts_of(ht.count(data, domain=DOMAIN)) == {(1,): 1, (2,): 1}
    for name in ("half", "long", "union"):
        with pytest.raises(ht.BadData, match=f"column '{name}' holds .*, which is not read"):
            ht.count(table, domain=DOMAIN, unit=ht.Unit(name, max_rows=1))


WHO = ht.Unit("who", max_rows=1)


def test_text_that_is_not_unicode_is_nobody_s() -> None:
    """DuckDB would sort such ids by bytes that end early, and mix up what stands beside them."""
    raw = pa.array([b"a", b"\xff", b"\xff\xff", b"a\xff", None, b"b"], pa.binary())
    texts: list[Any] = [raw.view(pa.string()), raw.cast(pa.large_binary()).view(pa.large_string())]
    texts.append(pa.DictionaryArray.from_arrays(pa.array(range(6), pa.int8()), texts[0]))
    for ids in texts:
        table = pa.table({"x": [1] * 6, "id": ids, "v": [5] * 6})
        for data in (table, table.to_reader()):
            unit = ht.Unit("id", max_rows=1)
            assert counts_of(ht.count(data, domain=DOMAIN, unit=unit)) == {(1,): 2}
        summed = ht.count(table, domain=DOMAIN, unit=unit, sum_column="v", clamp=(0, 10))
        assert counts_of(summed) == {(1,): 10}
        read = ht.count(table, domain=DOMAIN, where="lower(id) <> 'q'")
        assert counts_of(read) == {(1,): 2}
        rows = ht.count(table, domain=DOMAIN, query="SELECT x, data::VARCHAR AS who FROM data", unit=WHO)
        assert counts_of(rows) == {(1,): 3}  # a, b, and those whose id is none


def test_values_of_folders_are_kept_apart_or_refused(tmp_path: Path) -> None:
    unit = ht.Unit("person", max_rows=1)
    for person in ("%FF", "%FE"):
        (tmp_path / "bytes" / f"person={person}").mkdir(parents=True)
        (tmp_path / "bytes" / f"person={person}" / "rows.csv").write_text("x\n1\n")
    with pytest.raises(ht.BadData, match="a value that is not UTF-8"):
        ht.count(tmp_path / "bytes", domain=DOMAIN, unit=unit)
    for person in "ab":
        folder = tmp_path / "slashes" / "year=2" / f"x\\person={person}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1], "person": ["p"]}), folder / "rows.parquet")
    with pytest.raises(ht.BadData, match="a backslash"):
        ht.count(tmp_path / "slashes", domain=DOMAIN, unit=unit)


def test_json_that_is_none_is_one_bad_value() -> None:
    values = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", '"1"', "{bad", "1"]))
    table = pa.table({"x": [1] * 4, "id": values})

    assert counts_of(ht.count(table, domain=DOMAIN, unit=ht.Unit("id", max_rows=1))) == {(1,): 2}


@pytest.mark.parametrize(
    "sql_type", ["INTERVAL", "TIMETZ", "DOUBLE", "BOOLEAN", "TIMESTAMP_NS", "STRUCT(a REAL)"]
)
def test_units_whose_equality_is_not_that_of_values_are_refused(sql_type: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people (x INTEGER, id {sql_type})").fetchall()

    with pytest.raises(ht.BadData, match="Units are whole numbers or text"):
        ht.count(tmp_path / "rows.duckdb", domain=DOMAIN, unit=ht.Unit("id", max_rows=1))


LETTERS = st.sampled_from(
    ["id", "ID", "Id", "x", "X", "ß", "ss", "É", "é", "k0", "unit", "amount", "data", "id_1"]
)


@given(names=st.lists(LETTERS, min_size=1, max_size=5), unit=LETTERS)
def test_any_names_find_one_column_or_none(names: list[str], unit: str) -> None:
    """All columns but the first hold one person: one of the six rows counts."""
    columns: list[Any] = [range(6), *([["p"] * 6] * len(names))]
    try:
        table = ht.count(
            pa.table(columns, names=["cell", *names]),
            domain=ht.Domain(
                attributes=(Attribute(name="c", column="cell", values=Integers(low=0, high=9)),)
            ),
            unit=ht.Unit(unit, max_rows=1),
        )
    except ht.BadData:
        folded = [name.casefold() for name in names]
        assert len(set(folded)) < len(folded) or unit.casefold() not in folded
        return
    assert sum(counts_of(table).values()) == 1
