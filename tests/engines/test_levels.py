"""Counting at a level is counting at the finest level and adding cells up, for every source and rule."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Times
from hushtable.domain.levels import category_levels
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.local.checking import check_rows
from hushtable.engines.sliced.counting import CountRequest
from tests.domain import examples
from tests.engines.contracts.counting import ODD_TEXT, clocks, numbers
from tests.engines.reference import Counts, counts_of, decoded, differences, distance, slow_counts
from tests.harness.statistics import replay, tries

DATA = Path(__file__).parents[3] / "shared" / "data"


@st.composite
def worlds(draw: st.DrawFn, *, text: bool = False) -> tuple[ht.Domain, dict[str, str], pa.Table]:
    """A domain, levels for some of its attributes, and rows; `text` makes all columns text."""
    attributes: list[Attribute] = []
    columns: dict[str, pa.Array] = {}
    length = draw(st.integers(0, 12))
    errors = draw(st.integers(0, 4)) == 0  # seldom: one error hides all counts
    for place in range(draw(st.integers(1, 3))):
        attribute = draw(examples.with_levels(name=f"a{place}", errors=errors))
        values = attribute.values
        if isinstance(values, Categories):
            coarser = [each for level in attribute.levels for each in level.values.values]  # type: ignore[union-attr]
            kind, cells = pa.string(), st.sampled_from(values.values) | st.sampled_from(coarser) | ODD_TEXT
        elif isinstance(values, Times):
            kind, cells = draw(clocks(values).filter(lambda each: not text or each[0] == pa.string()))
        else:
            kind, cells = draw(numbers(values).filter(lambda each: not text or each[0] == pa.string()))
        columns[attribute.name] = pa.array(
            draw(st.lists(st.none() | cells, min_size=length, max_size=length)), type=kind
        )
        attributes.append(attribute)
    domain = ht.Domain(attributes=tuple(attributes))
    levels = {
        each.name: draw(st.sampled_from([level.name for level in each.levels]))
        for each in attributes
        if draw(st.booleans()) or each is attributes[0]
    }
    return domain, levels, pa.table(columns)


def added_up(counts: Counts, domain: ht.Domain, levels: dict[str, str]) -> Counts:
    """Counts of the finest cells, added up in the cells at these levels."""
    coarse = domain.at(levels)
    added: Counter[tuple[int, ...]] = Counter()
    for cell, count in counts.items():
        code = []
        for finer, coarser, place in zip(domain.attributes, coarse.attributes, cell, strict=True):
            found = coarser.place(examples.first_of(finer, place))
            assert found is not None
            code.append(found)
        added[tuple(code)] += count
    return dict(added)


def counted(count: Callable[[], Counts]) -> Counts | str:
    """Counts, or the words of the error that a rule of the domain raised."""
    try:
        return count()
    except ht.BadRows as error:
        return str(error)


def check_levels(data: Any, domain: ht.Domain, levels: dict[str, str], **measure: Any) -> None:
    """Check that adding up after counting is counting at the levels."""
    finest = counted(lambda: counts_of(ht.count(data, domain=domain, **measure)))
    coarse = counted(lambda: counts_of(ht.count(data, domain=domain.at(levels), **measure)))

    assert coarse == (finest if isinstance(finest, str) else added_up(finest, domain, levels))


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(20))
@given(worlds())
def test_arrow_columns_of_every_type(world: tuple[ht.Domain, dict[str, str], pa.Table]) -> None:
    domain, levels, table = world

    check_levels(table, domain, levels)
    coarse = domain.at(levels)
    fast = counted(lambda: counts_of(ht.count(table, domain=coarse)))
    slow = counted(lambda: slow_counts(coarse, table.to_pylist()))
    assert fast == slow or (
        isinstance(fast, str) and isinstance(slow, str)
    )  # each may meet another rule first


def as_parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path / "rows.parquet")
    return path / "rows.parquet"


def as_csv(table: pa.Table, path: Path) -> Path:
    with (path / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(table.column_names)
        writer.writerows(
            [(text or "").replace("\0", "") for text in row.values()] for row in table.to_pylist()
        )
    return path / "rows.csv"


def as_lines(table: pa.Table, path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (path / "rows.jsonl").write_text(lines, encoding="utf-8")
    return path / "rows.jsonl"


def as_duckdb(table: pa.Table, path: Path) -> Path:
    with duckdb.connect(str(path / "rows.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return path / "rows.duckdb"


def as_sqlite(table: pa.Table, path: Path) -> Path:
    connection = sqlite3.connect(path / "rows.sqlite")
    names = table.column_names
    connection.execute(f"CREATE TABLE people ({', '.join(f'{name} TEXT' for name in names)})")
    marks = ", ".join("?" for _ in names)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    connection.executemany(f"INSERT INTO people VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    return path / "rows.sqlite"


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(6))
@given(world=worlds(text=True))
@pytest.mark.parametrize("write", [as_parquet, as_csv, as_lines, as_duckdb, as_sqlite])
def test_every_source(
    write: Callable[[pa.Table, Path], Path],
    world: tuple[ht.Domain, dict[str, str], pa.Table],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    domain, levels, table = world

    check_levels(write(table, tmp_path_factory.mktemp("source")), domain, levels)


def grouped(groups: dict[str, list[str] | int], *values: str, **rules: Any) -> Attribute:
    listed = Categories(values=values)
    return Attribute(name="x", values=listed, levels=category_levels(listed, groups), **rules)


CITIES = ht.Domain(attributes=(grouped({"side": ["n", "n", "s"]}, "a", "b", "c"),))
ROWS = pa.table(
    {
        "x": ["a", "b", "c", "n", None, "a"] * 500,
        "n": [3, 4, None, 9, 9, -1] * 500,
        "who": [f"p{row % 31}" for row in range(2997)] + ["busy"] * 3,
    }
)


@pytest.mark.parametrize("measure", [{"count_column": "n"}, {"sum_column": "n", "clamp": (-2, 3)}])
def test_amounts_are_added_up(measure: dict[str, Any]) -> None:
    check_levels(ROWS, CITIES, {"x": "side"}, **measure)


def test_many_rows_of_few_cells_are_added_up() -> None:
    """So many that equal rows are taken together before they are coded, or after."""
    draws = np.random.default_rng(1).integers(0, 40, (300_000, 2))
    ages = {"name": "age", "bins": {"start": 0, "stop": 40, "step": 1, "levels": [4]}}
    domain = ht.Domain(
        attributes=(*CITIES.attributes, ht.Domain.from_dict({"attribute": [ages]}).attributes[0])
    )
    table = pa.table({"x": np.array(["a", "b", "c", "n"])[draws[:, 0] % 4], "age": draws[:, 1]})

    check_levels(table, domain, {"x": "side", "age": "4"})
    check_levels(table, ht.Domain(attributes=domain.attributes[1:]), {"age": "4"})


@pytest.mark.parametrize("bound", [1, 3])
def test_a_unit_moves_a_coarse_table_by_at_most_its_bound(bound: int) -> None:
    """Which rows of a unit are kept is drawn by cells, so a level keeps others, but as many."""
    unit = ht.Unit("who", max_rows=bound)
    coarse = CITIES.at({"x": "side"})

    def count(rows: pa.Table, domain: ht.Domain) -> Counts:
        with counted_rows(
            rows, CountRequest(domain=domain, measure=Measure(unit=unit), entropy=replay(3))
        ) as found:
            return counts_of(found.table())

    without = ROWS.filter(pa.compute.not_equal(ROWS["who"], "p7"))

    assert distance(count(ROWS, coarse), count(without, coarse)) == bound
    assert sum(count(ROWS, coarse).values()) == sum(count(ROWS, CITIES).values())


def test_the_look_of_the_owner_is_that_at_the_finest_level() -> None:
    fine, coarse = (check_rows(ROWS, domain=each) for each in (CITIES, CITIES.at({"x": "side"})))

    def fates(look: Any) -> tuple[int, ...]:
        return look.inside, look.missing, look.unreadable, look.below, look.above

    assert fates(fine.attributes[0]) == fates(coarse.attributes[0]) == (2000, 500, 0, 500, 0)
    assert (fine.rows_read, fine.rows_counted) == (coarse.rows_read, coarse.rows_counted) == (3000, 2000)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs real data that are not part of the project")
@pytest.mark.parametrize(
    ("name", "book"),
    [
        ("lodes_dc_main_2023", "dc_blocks_2020"),
        pytest.param("lodes_ri_main_2019", "ri_blocks_2010", marks=pytest.mark.long),
    ],
)
def test_commuters_between_tracts_are_those_between_blocks(name: str, book: str, tmp_path: Path) -> None:
    shutil.copy(DATA / "codebooks" / f"{book}.parquet", tmp_path)
    place = (
        f'categories = {{ file = "{book}.parquet", column = "block", '
        "levels = { block_group = 12, tract = 11, county = 5 } }"
    )
    (tmp_path / "blocks.toml").write_text(
        f'[[attribute]]\nname = "home"\ncolumn = "h_geocode"\n{place}\n'
        f'[[attribute]]\nname = "work"\ncolumn = "w_geocode"\n{place}\n'
    )
    blocks = ht.Domain.load(tmp_path / "blocks.toml")
    path = DATA / f"{name}.parquet"

    for levels, digits in (
        ({"home": "block_group", "work": "block_group"}, (12, 12)),
        ({"work": "tract"}, (15, 11)),
    ):
        domain = blocks.at(levels)
        table = ht.count(path, domain=domain, count_column="S000")
        assert not differences(
            decoded(domain, table),
            f"SELECT left(h_geocode, {digits[0]}), left(w_geocode, {digits[1]}), sum(S000)::BIGINT "
            f"FROM '{path}' GROUP BY ALL",
        )


@pytest.mark.skipif(not DATA.is_dir(), reason="needs real data that are not part of the project")
@pytest.mark.long
def test_flights_by_month_are_those_by_day() -> None:
    airports = json.loads((DATA / "flights_3m.domain.json").read_text())["airports"]
    half = [["A-K", "L-Z"][airport > "L"] for airport in airports]
    days = {"start": "2001-01-01", "stop": "2001-07-01", "every": "1 day", "levels": ["1 month"]}
    delays = {"start": -60, "stop": 255, "step": 15, "levels": [105]}
    domain = ht.Domain.from_dict(
        {
            "attribute": [
                {"name": "origin", "categories": {"values": airports, "levels": {"half": half}}},
                {"name": "date", "times": days},
                {"name": "delay", "bins": delays, "outside": "clamp"},
            ]
        }
    )
    levels = {"origin": "half", "date": "1 month", "delay": "105"}
    path = DATA / "flights_3m.parquet"

    coarse = counts_of(ht.count(path, domain=domain.at(levels)))
    expected = duckdb.connect().sql(
        f"""
        SELECT (origin > 'L')::INT, month(date) - 1, least(greatest((delay + 60) // 105, 0), 2), count(*)
        FROM '{path}' WHERE date < DATE '2001-07-01' AND delay IS NOT NULL GROUP BY ALL
        """
    )
    first = int(half[0] == "L-Z")  # codes follow the first appearance
    assert coarse == {
        (side ^ first, month, int(delay)): count for side, month, delay, count in expected.fetchall()
    }
