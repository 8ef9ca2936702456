"""A draft loads, holds all rows it was drawn from, and says that it was drawn."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.domain.attributes import Bins, Categories, Integers, Kind, Times
from hushtable.domain.domain import Domain
from hushtable.domain.syntax import domain_of
from hushtable.engines.local.checking import check_rows
from hushtable.engines.local.drafting import MOST_CATEGORIES, draft
from hushtable.errors import BadData, BadOutput
from tests.harness.statistics import tries

DAY = datetime(2024, 3, 5)
PEOPLE = pa.table(
    {
        "age": pa.array([18, 34, 97, None], pa.int32()),
        "income": [0.5, 1200.25, 83_000.0, 12.0],
        "home": ["06001", "06003", None, "44007"],
        "born": [date(1950, 1, 2), date(1999, 12, 31), date(2001, 5, 5), None],
        "seen": [DAY, DAY + timedelta(hours=30), DAY, DAY],
        "person_id": [1, 2, 3, 4],
    }
)


def loaded(text: str) -> Domain:
    return Domain(**domain_of(tomllib.loads(text), place=None))


def kinds(text: str) -> dict[str, Kind]:
    return {attribute.name: attribute.values for attribute in loaded(text).attributes}


def check_all_inside(text: str, data: Any, query: str | None = None) -> None:
    """Every row that has a value lies inside every attribute."""
    report = check_rows(data, domain=loaded(text), query=query, rows_are_units=query is not None)
    assert report.fits
    for look in report.attributes:
        assert (look.attribute.name, look.unreadable, look.outside) == (look.attribute.name, 0, 0)


def table_of(values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


def only_kind(values: Any, kind: Any = None) -> Kind | None:
    """Draft one column, check it, and return its kind, or None where it is commented out."""
    table = pa.table({"x": pa.array(values, kind), "other": pa.array([1] * len(values), pa.int8())})
    text = draft(table)
    check_all_inside(text, table)
    return kinds(text).get("x")


DRAFT = """\
reviewed = false
title = "Untitled"  # what the rows are about, in public words

[[attribute]]
name = "age"
integers = { low = 10, high = 100 }  # drawn from the data: replace by a public range

[[attribute]]
name = "income"
bins = { start = 0, stop = 85000, step = 5000 }  # drawn from the data: replace by a public range

[[attribute]]
name = "home"
categories = ["06001", "06003", "44007"]  # drawn from the data: replace by a public list

[[attribute]]
name = "born"
# drawn from the data: replace by a public period
times = { start = "1950-01-01", stop = "2002-01-01", every = "1 month", timezone = "UTC" }

[[attribute]]
name = "seen"
# drawn from the data: replace by a public period
times = { start = "2024-03-05", stop = "2024-03-07", every = "1 hour", timezone = "UTC" }

# Column "person_id" looks like an identifier: its name says so. If it tells whose row it is, leave
# it out here, and publish with --unit person_id --max-rows K, to count up to K rows of each.
# [[attribute]]
# name = "person_id"
# integers = { low = 1, high = 4 }  # drawn from the data: replace by a public range
"""


def test_what_a_draft_says() -> None:
    text = draft(PEOPLE)

    head, body = text[: text.index("reviewed = false")], text[text.index("\nreviewed = false") + 1 :]
    assert head.startswith("# PRIVATE until reviewed")
    assert body == DRAFT
    assert not loaded(text).reviewed
    check_all_inside(text, PEOPLE)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([*map(str, range(40)), "NA"], "integers = { low = 0, high = 39 }"),
        ([*(f"2024-01-{day:02}" for day in range(1, 29)), "03.04.2024"], "times = "),
        ([*map(str, range(10)), "NA"], "categories = ["),  # few: the word may be one of them
        ([*(f"{code:05}" for code in range(100, 140)), "NA"], "categories = ["),  # codes
        ([*map(str, range(44001, 44041)), "NA"], "categories = ["),  # as well
    ],
)
def test_a_few_odd_values_do_not_make_numbers_words(values: list[str], kind: str) -> None:
    text = draft(pa.table({"x": values * 5}))

    assert kind in text
    assert ("cannot be read so; they count as missing" in text) == ("categories" not in kind)


def as_text(table: pa.Table) -> list[dict[str, str | None]]:
    rows = table.to_pylist()
    return [{name: None if value is None else str(value) for name, value in row.items()} for row in rows]


def written(kind: str, folder: Path) -> Path:
    path = folder / f"people.{kind}"
    match kind:
        case "parquet":
            pq.write_table(PEOPLE, path)
        case "csv":
            pyarrow.csv.write_csv(PEOPLE, path)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in as_text(PEOPLE)))
        case "duckdb":
            with closing(duckdb.connect(path)) as connection:
                connection.register("rows", PEOPLE)
                connection.execute("CREATE TABLE people AS SELECT * FROM rows")
        case "arrow":
            with pa.ipc.new_stream(path, PEOPLE.schema) as file:
                file.write(PEOPLE)
        case _:
            declared = "age INTEGER, income REAL, home TEXT, born DATE, seen TIMESTAMP, person_id INTEGER"
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(f"CREATE TABLE people ({declared})")
                connection.executemany(
                    "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)",
                    [tuple(row.values()) for row in as_text(PEOPLE)],
                )
                connection.commit()
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "arrow", "duckdb", "sqlite"])
def test_every_source_gives_the_same_draft(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path)

    text = draft(path)

    assert kinds(text) == kinds(draft(PEOPLE))
    check_all_inside(text, path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "duckdb", "sqlite"])
def test_a_draft_of_a_query(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path)
    table = "people" if kind in ("duckdb", "sqlite") else "data"
    query = f"SELECT age AS years, * FROM {table} WHERE age IS NOT NULL"

    text = draft(path, query=query)

    assert list(kinds(text)) == ["years", "age", "income", "home", "born", "seen"]
    assert "SELECT" not in text
    check_all_inside(text, path, query)


def test_a_database_with_several_tables_needs_a_query(tmp_path: Path) -> None:
    path = written("sqlite", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pets (name TEXT)")

    with pytest.raises(BadData, match="several tables"):
        draft(path)


def test_the_first_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": 2, "b": 7}\n')

    assert kinds(draft(path, rows=1)) == {"a": Integers(low=1, high=1)}
    assert list(kinds(draft(path))) == ["a", "b"]


whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000)


@settings(max_examples=tries(15))
@given(st.lists(st.none() | whole, min_size=1, max_size=8))
def test_whole_numbers_lie_inside(values: list[int | None]) -> None:
    values_there = [value for value in values if value is not None]
    found = only_kind(values, pa.int64())

    if not values_there:
        assert found is None
    elif max(values_there) - min(values_there) < 900_000:
        assert isinstance(found, Integers)
    else:  # never so many integers
        assert found is None or isinstance(found, Bins) or found.size <= 10**6


finite = st.floats(-1e12, 1e12, allow_subnormal=False) | st.sampled_from([0.1, 0.3, 0.7, 1e-9, -0.3])


@settings(max_examples=tries(30))
@given(st.lists(st.none() | finite, min_size=1, max_size=8))
def test_numbers_lie_inside_bins(values: list[float | None]) -> None:
    there = [value for value in values if value is not None]
    found = only_kind(values, pa.float64())

    if isinstance(found, Bins):
        assert 10 <= found.size <= 50
    elif isinstance(found, Integers):
        assert all(value.is_integer() for value in there)
    else:
        assert found is None


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([0.5, 99.5], ("0", "100", "5")),
        ([0.1, 0.3], ("0.1", "0.32", "0.02")),
        ([-2.5, 7.25], ("-2.5", "7.5", "0.5")),
        ([1e-6, 3e-6], ("0.000001", "0.0000032", "0.0000002")),
        ([2.5], ("2", "12", "1")),
    ],
)
def test_bins_have_a_round_step(values: list[float], bins: tuple[str, str, str]) -> None:
    start, stop, step = bins

    assert only_kind(values) == Bins(start=start, stop=stop, step=step)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "integers"),
    [([1, 12], (1, 12)), ([17, 90], (10, 90)), ([-7, 123_456], (-10_000, 130_000)), ([5], (5, 5))],
)
def test_integers_are_rounded_outward(values: list[int], integers: tuple[int, int]) -> None:
    assert only_kind(values) == Integers(low=integers[0], high=integers[1])


@settings(max_examples=tries(15))
@given(st.lists(st.none() | st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)), min_size=1, max_size=6))
def test_times_lie_inside(values: list[datetime | None]) -> None:
    found = only_kind(values, pa.timestamp("us"))

    assert isinstance(found, Times) or not any(values)


@pytest.mark.parametrize(
    ("first", "last", "step", "start", "stop"),
    [
        (datetime(2024, 1, 5, 7), datetime(2024, 1, 6, 8), "1 hour", (2024, 1, 5), (2024, 1, 7)),
        (datetime(2024, 1, 5), datetime(2024, 1, 6), "1 day", (2024, 1, 1), (2024, 2, 1)),
        (datetime(2023, 11, 5, 7), datetime(2023, 12, 31, 8), "1 day", (2023, 11, 1), (2024, 1, 1)),
        (datetime(2010, 11, 5), datetime(2024, 1, 6), "1 month", (2010, 1, 1), (2025, 1, 1)),
        (datetime(1810, 11, 5), datetime(2024, 1, 6), "1 year", (1810, 1, 1), (2025, 1, 1)),
    ],
)
def test_the_step_of_times_suits_their_span(
    first: datetime, last: datetime, step: str, start: tuple[int, int, int], stop: tuple[int, int, int]
) -> None:
    found = only_kind([first, last])

    assert isinstance(found, Times)
    assert (found.step_text, found.start, found.stop) == (step, datetime(*start), datetime(*stop))


def test_instants_ask_for_a_time_zone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": "2024-03-05 10:00+01:00"}\n')
    instants = (table_of([DAY], pa.timestamp("us", "Asia/Tokyo")), table_of(["2024-03-05 10:00Z"]), path)
    clocks = (table_of([DAY]), table_of(["2024-03-05 10:00"]), table_of([date(2024, 3, 5)]))

    for data in instants:
        text = draft(data)
        assert "Europe/Berlin" in text
        assert isinstance(kinds(text)["x"], Times)
    assert not any("Europe/Berlin" in draft(data) for data in clocks)


@settings(max_examples=tries(15))
@given(st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=8))
def test_text_lies_inside(values: list[str | None]) -> None:
    only_kind(values, pa.string())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", " 12 ", "+7"], Integers),
        (["1.5", "2e3"], Bins),
        (["2024-01-05", "2024-02-29 10:00"], Times),
        (["06001", "6003"], Categories),
        (["00.5", "1.5"], Categories),
        (["44001", "44003", "44007"], Categories),
        (["1", "x"], Categories),
        (["2024-01-05", "05.01.2024"], Categories),
        (["NaN", "1"], Categories),
        (['say "a\\b"', "tab\t", "new\nline", "del\x7f", "nul\x00", "é 🙂", "#", "]"], Categories),
        ([Decimal("1.50"), Decimal("2.25")], Bins),
        ([1.0, 2.0, None], Integers),
        ([1e300, 2.0], None),
        (np.array([2**63, 2**64 - 1], np.uint64), None),
        ([True, False], None),
        ([[1], [2]], None),
        ([{"a": 1}, {"a": 2}], None),
        ([timedelta(days=1)], None),
        ([b"raw"], None),
        ([None, None], None),
        (["long " * 30], None),
    ],
)
def test_what_becomes_of_a_column(values: list[Any], kind: type | None) -> None:
    if values[0] == float("inf"):
        text = draft(table_of(values))
        assert isinstance(kinds(text)["x"], Bins)  # infinity lies outside all bins
        return
    table = pa.table(
        {"x": values if values[0] != 2**63 else pa.array(values, pa.uint64()), "other": [1] * len(values)}
    )
    text = draft(table)

    check_all_inside(text, table)
    found = kinds(text).get("x")
    assert found is None if kind is None else isinstance(found, kind)
    assert '[[attribute]]\nname = "x"' in text or '# [[attribute]]\n# name = "x"' in text


def test_a_boolean_says_how_to_make_it_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [True, False, None]}), path)
    text = draft(path)
    query = 'SELECT * REPLACE (CAST("x" AS VARCHAR) AS "x") FROM data'

    assert query in " ".join(text.replace("\n# ", " ").split())
    uncommented = text.replace("# [[", "[[").replace("# name", "name").replace("# categories", "categories")
    check_all_inside(uncommented, path, query)
    assert kinds(uncommented) == {"x": Categories(values=("false", "true"))}


def test_json_of_several_types(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"a": 1, "b": "x", "c": True, "d": "7", "e": [1], "f": 1.5},
        {"a": "y", "b": "z", "c": False, "d": 8, "e": {}, "f": None},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    text = draft(path)

    assert {name: type(values) for name, values in kinds(text).items()} == {
        "b": Categories,
        "d": Integers,
        "f": Bins,
    }
    check_all_inside(text, path)
    assert '# name = "a"' in text


@pytest.mark.parametrize("lines", ["", "[1]\n", '{"": 1}\n', "{}\n"])
def test_json_lines_without_names(lines: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(lines)

    with pytest.raises(BadData, match="JSON object with names"):
        draft(tmp_path / "rows.jsonl")


def test_json_names_that_differ_in_case_alone(tmp_path: Path) -> None:
    """A line that has both is no row, here as in a count."""
    (tmp_path / "rows.jsonl").write_text('{"age": 3, "Age": 90}\n{"age": 4}\n')

    assert kinds(draft(tmp_path / "rows.jsonl")) == {"age": Integers(low=4, high=4)}


def test_many_texts_are_commented_out() -> None:
    few = [f"v{i}" for i in range(MOST_CATEGORIES)] * 2
    many = [f"v{i}" for i in range(MOST_CATEGORIES + 1)] * 2

    assert isinstance(only_kind(few), Categories)
    assert only_kind(many) is None
    assert '# categories = { file = "x.csv" }' in draft(table_of(many))


def test_numbers_among_which_a_few_are_not_numbers() -> None:
    values = [str(i % 2000) for i in range(5000)] + ["unknown"]

    text = draft(table_of(values))

    assert kinds(text) == {"x": Integers(low=0, high=2000)}
    assert "they count as missing" in text


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "person_id", "personId", "PERSON-ID", "user id", "uuid", "ssn", "patientid", "id_of_home"],
)
def test_identifiers_by_name(name: str) -> None:
    text = draft(pa.table({name: ["Jane Roe", "John Doe"], "x": [1, 2]}))

    assert list(kinds(text)) == ["x"]
    assert "--unit" in text
    assert "Jane Roe" not in text


@pytest.mark.parametrize("name", ["humidity", "width", "paid", "side", "grid", "covid", "idea"])
def test_names_that_are_not_identifiers(name: str) -> None:
    assert list(kinds(draft(pa.table({name: [1, 2]})))) == [name]


def test_identifiers_by_their_values() -> None:
    texts = [f"Jane {i}" for i in range(200)]
    table = pa.table({"x": texts, "y": range(200), "z": [i / 7 for i in range(200)]})

    text = draft(table)

    assert list(kinds(text)) == ["z"]
    assert "Jane" not in text
    assert "nearly every row" in text


def test_odd_names() -> None:
    names = ["count", "Weight", 'say "x"', "new\nline", "a[0].b", "count_", "#", "ü", "select"]
    table = pa.table({name: [1] for name in names})

    text = draft(table)

    columns = [attribute.column for attribute in loaded(text).attributes]
    assert columns == names
    check_all_inside(text, table)


def test_odd_names_in_comments_stay_comments() -> None:
    name = 'id\n[[attribute]]\nname = "evil" id'

    text = draft(pa.table({name: [1], "x": [1]}))

    assert list(kinds(text)) == ["x"]


def test_a_table_without_rows_is_all_comments() -> None:
    text = draft(pa.table({"x": pa.array([], pa.int64())}))

    assert tomllib.loads(text).get("attribute") is None
    assert "has no value in any row" in text


def test_the_domain_file_itself(tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(draft(PEOPLE), encoding="utf-8")

    assert Domain.load(tmp_path / "people.toml").names == ("age", "income", "home", "born", "seen")


def test_some_columns_alone() -> None:
    rows = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [3, 4]})

    assert list(kinds(draft(rows, columns=["c", "B"]))) == ["c", "b"]
    with pytest.raises(BadData, match="no column 'd'"):
        draft(rows, columns=["d"])


def test_integers_without_end_are_no_proposal() -> None:
    text = draft(pa.table({"area": [0, 80_000_000_000, 5] * 5}))

    assert isinstance(kinds(text)["area"], Bins)
    assert "would be more than 1,000,000 integers" in " ".join(text.replace("# ", "").split())


def test_a_file_with_semicolons_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("region;age\nnorth;34\n")

    assert "has semicolons between names" in draft(tmp_path / "rows.csv").replace("\n# ", " ")


def test_a_draft_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "draft.toml"
    text = draft(pa.table({"a": [1, 2]}), output=path)

    assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600
    draft(pa.table({"a": [1, 2, 3]}), output=path, overwrite=True)
    path.write_text(text.replace("reviewed = false\n", ""))
    with pytest.raises(BadOutput):
        draft(pa.table({"a": [1, 2]}), output=path, overwrite=True)
