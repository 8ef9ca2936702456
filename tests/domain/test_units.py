"""The name of a unit: one name for one kind of unit, whatever columns are called and queries say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.domain.measure import Measure, Unit
from hushtable.domain.units import unit_name
from hushtable.errors import HushtableError
from tests.harness.statistics import tries

PEOPLE = Measure(unit=Unit("person_id", max_rows=3))
COUNTED = Measure(count_column="people")


def named(measure: Measure, query: str | None = None, *, prepared: bool = False) -> str:
    return unit_name(measure, rows_are_units=prepared, query=query)


def test_what_releases_protect_has_names() -> None:
    assert named(Measure()) == "row"
    assert named(Measure(sum_column="pay", clamp=(0, 9))) == "row"
    assert named(COUNTED) == "counted person (people)"
    assert named(PEOPLE) == "person_id"
    assert named(Measure(unit=Unit("person_id", max_cells=3))) == "person_id"
    assert named(Measure(unit=Unit("person_id", max_rows=9), sum_column="pay", clamp=(0, 9))) == "person_id"
    assert named(Measure(), prepared=True) == "row (prepared table)"
    assert named(PEOPLE, prepared=True) == "person_id (prepared table)"


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({}, "exactly one of `max_rows` and `max_cells`"),
        ({"max_rows": 3, "max_cells": 3}, "exactly one of `max_rows` and `max_cells`"),
        ({"max_per_cell": 3}, "exactly one of"),
        ({"max_rows": 3, "max_per_cell": 1}, "max_per_cell=1 goes with `max_cells` alone"),
        ({"max_rows": 0}, "max_rows=0 must be from 1"),
        ({"max_cells": 0}, "max_cells=0 must be from 1"),
        ({"max_cells": 3, "max_per_cell": 0}, "max_per_cell=0 must be from 1"),
        ({"max_cells": True}, "max_cells=True is not a whole number"),
        ({"max_cells": 2.0}, "max_cells=2.0 is not a whole number"),
        ({"max_cells": -1}, "max_cells=-1 is below 0"),
        ({"max_cells": 2**40 + 1}, "must be from 1 to 2"),
        ({"max_cells": 2**30, "max_per_cell": 2**11}, "divided by `max_per_cell`, which is 2048"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, int], said: str) -> None:
    with pytest.raises(HushtableError, match=said):
        Unit("person_id", **bounds)


def test_what_one_unit_changes_follows_from_its_bounds() -> None:
    def changes(**words: Any) -> tuple[int, ...]:
        summed = {word: words.pop(word) for word in ("sum_column", "clamp") if word in words}
        measure = Measure(unit=Unit("id", **words), **summed)
        found = measure.sensitivities
        assert measure.sensitivity == found.l1
        return tuple(map(int, (found.l1, found.l2_squared, found.per_cell)))

    pay: dict[str, Any] = {"sum_column": "pay", "clamp": (-7, 5)}
    assert changes(max_rows=3) == (3, 9, 3)
    assert changes(max_cells=3) == (3, 3, 1)
    assert changes(max_cells=3, max_per_cell=2) == (6, 12, 2)
    assert changes(max_rows=3, **pay) == (21, 441, 21)
    assert changes(max_cells=3, **pay) == (21, 147, 7)
    assert changes(max_cells=3, max_per_cell=2, **pay) == (42, 588, 14)
    assert Unit("id", max_cells=3) == Unit("id", max_cells=3, max_per_cell=1) != Unit("id", max_rows=3)


def test_a_query_of_single_rows_leaves_rows_as_they_are() -> None:
    assert named(Measure(), "SELECT lower(home) AS home FROM data") == "row"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM visits",
        "select *\nfrom visits;",
        'SELECT * FROM "all visits"',
        "SELECT * FROM visits WHERE age > 3 AND home = 'x'",
    ],
)
def test_a_query_that_passes_all_columns_on_leaves_units_as_they_are(query: str) -> None:
    assert named(PEOPLE, query) == "person_id"
    assert named(COUNTED, query) == "counted person (people)"


@pytest.mark.parametrize("names", [("person_id", PEOPLE), ("people", COUNTED)], ids=["unit", "counts"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT {} FROM data",
        "select\n  {},\n  upper(trim(code))[1:3] AS code\nfrom visits\nwhere day >= '2024-01-01';",
        "SELECT {}, home FROM data AS data(household)",
    ],
)
def test_a_query_that_begins_with_the_unit_leaves_it_as_it_is(query: str, names: tuple[str, Measure]) -> None:
    column, measure = names
    assert named(measure, query.format(column)) == named(measure)
    assert named(measure, query.format(column), prepared=True) != named(measure, prepared=True)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT household AS person_id FROM data",
        "SELECT household person_id FROM data",
        "SELECT person_id AS person_id FROM data",
        "SELECT person_id + 1, home FROM data",
        "SELECT (person_id), home FROM data",
        "SELECT home, person_id FROM data",
        "SELECT person_id, household AS PERSON_ID FROM data",
        'SELECT person_id, household AS U&"p\\0065rson_id" FROM data',
        "SELECT person_id, COLUMNS(*) FROM data",
        "SELECT person_id, * FROM data",
        "SELECT person_id, home FROM data AS data(household, person_id)",
        "SELECT person_id, home FROM (SELECT household AS person_id, home FROM data)",
        "SELECT person_id, home FROM data -- person_id",
        "SELECT PERSON_ID, home FROM data",
        "SELECT other.person_id, home FROM other",
        "SELECT DISTINCT person_id FROM data",
        "SELECT person_id_2, home FROM data",
        "SELECT * REPLACE (household AS person_id) FROM data",
        "SELECT * EXCLUDE (x) FROM data",
        "SELECT * FROM data AS data(household, person_id)",
        "SELECT * FROM data data(household, person_id) WHERE true",
        "SELECT *, 1 AS x FROM data",
        "SELECT * FROM data, more WHERE true",
        "SELECT * FROM (SELECT household AS person_id FROM data)",
        "WITH data AS (SELECT household AS person_id FROM data) SELECT * FROM data",
        "FROM data",
    ],
)
def test_a_query_that_may_compute_the_unit_has_a_unit_of_its_own(query: str) -> None:
    for measure in (PEOPLE, COUNTED):
        assert named(measure, query).startswith(f"{named(measure)} (query ")
        assert named(measure, query) != named(measure, f"{query} ")


def test_a_prepared_table_differs_by_its_query() -> None:
    names = {named(Measure(), query, prepared=True) for query in (None, "SELECT 1 AS x", "SELECT 2 AS x")}

    assert len(names) == 3
    assert "row" not in names


COLUMNS = st.one_of(
    st.sampled_from(
        ["row", "counted person", "id", "people", "column 'row'", "column row", "id (prepared table)"]
    ),
    st.sampled_from(
        ["row (prepared table)", "counted person (people)", "id (query 9b1038b65cd3a10e)", "", " id"]
    ),
    st.text(max_size=6),
    st.builds(lambda text: f"{text} (prepared table)", st.text(max_size=3)),
    st.builds(lambda text: f"counted person ({text})", st.text(max_size=3)),
    st.builds(lambda text: f"column {text!r}", st.text(max_size=3)),
)
MEASURES = st.one_of(
    st.just(Measure()),
    st.builds(lambda name: Measure(count_column=name), COLUMNS),
    st.builds(lambda name: Measure(unit=Unit(name, max_rows=1)), COLUMNS),
)
QUERIES = st.sampled_from([None, "SELECT 1 AS x FROM data", "SELECT DISTINCT home, age FROM data"])
RELEASES = st.tuples(MEASURES, QUERIES, st.booleans())


@settings(max_examples=tries(500))
@given(one=RELEASES, other=RELEASES)
def test_two_kinds_of_unit_never_share_a_name(
    one: tuple[Measure, str | None, bool], other: tuple[Measure, str | None, bool]
) -> None:
    def kind(release: tuple[Measure, str | None, bool]) -> object:
        measure, query, prepared = release
        rows = measure == Measure()
        return measure, (query if prepared or not rows else None), prepared and query is None

    names = [named(measure, query, prepared=prepared) for measure, query, prepared in (one, other)]

    # With a query that may compute it, a unit is that of the query, prepared or not.
    assert (names[0] == names[1]) == (kind(one) == kind(other))
    for name in names:
        assert name.isprintable()
        assert name == name.strip() != ""
