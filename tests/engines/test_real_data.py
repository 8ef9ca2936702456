"""Counts of real data sets equal a plain GROUP BY of DuckDB, value for value."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Categories, Integers, Kind, Times
from tests.engines.reference import decoded, differences

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs real data that are not part of the project")


def plain(sql: str) -> set[tuple[Any, ...]]:
    """Return the rows of a query of plain DuckDB."""
    return set(duckdb.connect().sql(sql).fetchall())


def declared(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"{name}.domain.json").read_text())  # type: ignore[no-any-return]


def texts(values: list[str]) -> Categories:
    return Categories(values=tuple(values))


def codes(codebook: str, digits: int) -> Categories:
    """Return census codes of so many digits, from the list of blocks."""
    path = DATA / "codebooks" / f"{codebook}.parquet"
    column = duckdb.connect().sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()[0][0]
    rows = plain(f"SELECT DISTINCT left({column}, {digits}) FROM '{path}'")
    return texts(sorted(row[0] for row in rows))


def domain_of(**values: Kind) -> ht.Domain:
    return ht.Domain(attributes=tuple(Attribute(name=name, values=kind) for name, kind in values.items()))


def days(start: str, stop: str) -> Times:
    return Times(
        start=datetime.fromisoformat(start), stop=datetime.fromisoformat(stop), every=86_400, unit="second"
    )


def hours(start: str, stop: str) -> Times:
    return Times(
        start=datetime.fromisoformat(start), stop=datetime.fromisoformat(stop), every=3600, unit="second"
    )


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("lodes_dc_main_2023", 15),
        ("lodes_dc_main_2023", 12),
        ("lodes_ri_main_2019", 12),
        ("lodes_ri_main_2019", 11),
        # The same again, in the other state.
        pytest.param("lodes_ri_main_2019", 15, marks=pytest.mark.long),
        pytest.param("lodes_dc_main_2023", 11, marks=pytest.mark.long),
    ],
)
def test_commuters_between_blocks_block_groups_and_tracts(name: str, digits: int) -> None:
    book = "dc_blocks_2020" if "dc" in name else "ri_blocks_2010"
    places = codes(book, digits)
    domain = domain_of(home=places, work=places)
    path = DATA / f"{name}.parquet"
    home, work = f"left(h_geocode, {digits})", f"left(w_geocode, {digits})"

    table = ht.count(
        path,
        domain=domain,
        query=f"SELECT {home} AS home, {work} AS work, S000 FROM data",
        count_column="S000",
    )

    assert not differences(
        decoded(domain, table),
        f"SELECT {home}, {work}, sum(S000)::BIGINT FROM '{path}' GROUP BY ALL",
    )
    if digits == 12:
        cells = duckdb.connect().sql(f"SELECT count(*) FROM '{DATA / name}.cells0.parquet'").fetchall()[0][0]
        assert table.counts.size == cells


def test_adult_over_seven_attributes() -> None:
    attributes = list(declared("adult")["attrs"].items())[:7]
    kinds = {name: texts(values) for name, values in attributes}
    domain = domain_of(**kinds)
    path = DATA / "adult.parquet"

    table = ht.count(path, domain=domain, where="split = 'train'")

    columns = ", ".join(kinds)
    assert table.counts.size == 6816
    assert not differences(
        decoded(domain, table),
        f"SELECT {columns}, count(*) FROM '{path}' WHERE split = 'train' GROUP BY ALL",
    )


def test_county_flows() -> None:
    places = texts(declared("acs_county_flows_2011_2015")["home,work"])
    domain = domain_of(home_county=places, work_county=places)
    path = DATA / "acs_county_flows_2011_2015.parquet"

    table = ht.count(path, domain=domain, count_column="workers")

    listed = ", ".join(f"'{place}'" for place in places.values)
    assert not differences(
        decoded(domain, table),
        f"SELECT home_county, work_county, sum(workers)::BIGINT FROM '{path}' "
        f"WHERE home_county IN ({listed}) AND work_county IN ({listed}) GROUP BY ALL",
    )


def test_bay_area_worker_flows() -> None:
    places = texts(declared("workflow2000_bayarea")["tracts"])
    domain = domain_of(h_tract=places, w_tract=places)
    path = DATA / "workflow2000_bayarea.parquet"

    table = ht.count(path, domain=domain, count_column="workers")

    assert not differences(
        decoded(domain, table),
        f"SELECT h_tract, w_tract, sum(workers)::BIGINT FROM '{path}' GROUP BY ALL",
    )


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("date < DATE '2001-02-01'", id="january"),
        pytest.param("true", id="all", marks=pytest.mark.long),  # three million rows
    ],
)
def test_flights_by_day_and_delay(where: str) -> None:
    airports = texts(declared("flights_3m")["airports"])
    delay = Bins(start=Fraction(-60), stop=Fraction(255), step=Fraction(15))
    domain = domain_of(
        origin=airports, destination=airports, date=days("2001-01-01", "2001-07-02"), delay=delay
    )
    path = DATA / "flights_3m.parquet"

    table = ht.count(path, domain=domain, where=where)

    assert not differences(
        decoded(domain, table),
        "SELECT origin, destination, date::DATE, (floor(delay / 15) * 15)::BIGINT, count(*) "
        f"FROM '{path}' WHERE delay >= -60 AND delay < 255 AND {where} GROUP BY ALL",
    )
    assert table.counts.size > 100_000


def test_government_employees() -> None:
    lists = declared("gov_census")
    domain = domain_of(
        age=Bins(start=Fraction(15), stop=Fraction(65), step=Fraction(5)),
        economic_region=texts(lists["economic_region"]),
        occupation=texts(lists["occupation"]),
        salary=Bins(start=Fraction(0), stop=Fraction(720_000), step=Fraction(10_000)),
    )
    path = DATA / "gov_census.parquet"

    table = ht.count(path, domain=domain)

    assert not differences(
        decoded(domain, table),
        "SELECT age // 5 * 5, economic_region, occupation, salary // 10000 * 10000, count(*) "
        f"FROM '{path}' WHERE age >= 15 AND age < 65 AND salary >= 0 AND salary < 720000 GROUP BY ALL",
    )


@pytest.mark.parametrize("step", ["1", "0.5"])
def test_loop_detectors(step: str) -> None:
    devices = texts(declared("metr_la_week")["deviceId"])
    speed = Bins(start=Fraction(0), stop=Fraction(80), step=Fraction(step))
    domain = domain_of(deviceId=devices, timestamp=hours("2012-03-01", "2012-03-08"), val=speed)
    path = DATA / "metr_la_week.parquet"
    query = "SELECT CAST(deviceId AS VARCHAR) AS deviceId, timestamp, val FROM data"

    with pytest.raises(ht.BadData, match="leading zeros"):
        ht.count(path, domain=domain)
    table = ht.count(path, domain=domain, query=query)

    floor = f"floor(val::DOUBLE / {step}) * {step}"
    assert not differences(
        decoded(domain, table),
        f"SELECT deviceId::VARCHAR, date_trunc('hour', timestamp), ({floor})::DOUBLE, count(*) "
        f"FROM '{path}' WHERE val >= 0 AND val < 80 GROUP BY ALL",
    )


def test_monitored_series() -> None:
    series = texts(declared("nab_real")["series"])
    value = Bins(start=Fraction(0), stop=Fraction(1000), step=Fraction(1, 10))
    path = DATA / "nab_real.parquet"
    first, last = duckdb.connect().sql(f"SELECT min(timestamp), max(timestamp) FROM '{path}'").fetchall()[0]
    spread = days(f"{first:%Y-%m-%d}", f"{last.replace(year=last.year + 1):%Y-%m-%d}")
    domain = domain_of(deviceId=series, timestamp=spread, value=value)

    table = ht.count(path, domain=domain)

    # The bin of a float lies between the nearest floats of the edges k/10: found by comparing, not by floor.
    edges = "SELECT k / 10.0::DOUBLE AS low, (k + 1) / 10.0::DOUBLE AS high FROM range(10000) AS r(k)"
    assert not differences(
        decoded(domain, table),
        f"SELECT deviceId, timestamp::DATE, low, count(*) FROM '{path}' JOIN ({edges}) AS e "
        "ON value >= low AND value < high GROUP BY ALL",
    )


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("dpbench/*.parquet")), ids=lambda path: path.stem if path else "none"
)
def test_histograms_of_dpbench(path: Path) -> None:
    described: Callable[[str], list[Any]] = lambda q: duckdb.connect().sql(q).fetchall()  # noqa: E731
    names = [row[0] for row in described(f"DESCRIBE SELECT * FROM '{path}'")]
    size = 4096 if len(names) == 2 else 256
    attributes = [
        Attribute(name=f"x{place}", column=name, values=Integers(low=0, high=size - 1))
        for place, name in enumerate(names[:-1])
    ]
    domain = ht.Domain(attributes=tuple(attributes))

    table = ht.count(path, domain=domain, count_column=names[-1])

    cells = ", ".join(f'"{name}"' for name in names[:-1])
    assert not differences(
        decoded(domain, table),
        f"SELECT {cells}, sum(\"{names[-1]}\")::BIGINT AS total FROM '{path}' GROUP BY ALL HAVING total > 0",
    )
