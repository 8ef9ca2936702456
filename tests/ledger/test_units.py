"""A ledger protects one unit: others are refused, or cost what a declared bound makes of them."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import BadLedger, BadNumber, BudgetExceeded
from hushtable.ledger import storage
from hushtable.ledger.ledger import Ledger
from tests.harness.statistics import tries
from tests.ledger.books import by_hand, files_beside, refused


@pytest.fixture
def people(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1, about="commuters 2024", unit="person_id")


def test_a_ledger_says_whom_it_protects(people: Ledger) -> None:
    assert (people.unit, people.currency, people.version, people.bounds) == ("person_id", "pure", 2, {})


def test_a_release_for_another_unit_is_refused_before_anything_is_charged(path: Path, people: Ledger) -> None:
    people.charge("1/4", what="first", unit="person_id", name="first.parquet")
    before = path.read_bytes()

    for act in (
        lambda: people.can_pay("1/4", unit="row"),
        lambda: people.charge("1/4", what="second", unit="row"),
    ):
        with refused("protects each person_id, and this release each row", "--bound row=K"):
            act()
    assert path.read_bytes() == before
    assert [(entry.name, entry.unit, entry.most) for entry in people.entries()] == [
        ("first.parquet", "person_id", 1)
    ]


@pytest.mark.parametrize(
    "other", ["Person_ID", "person_id (prepared table)", "counted person (person_id)", "row"]
)
def test_names_that_are_alike_are_not_the_same(other: str, people: Ledger) -> None:
    with refused(f"this release each {other}", "declare it"):
        people.charge("1/4", what="a release", unit=other)


def test_the_first_release_states_the_unit_for_ever(path: Path, ledger: Ledger) -> None:
    assert ledger.unit is None
    ledger.can_pay(1, unit="visit")
    assert ledger.unit is None
    with pytest.raises(BudgetExceeded):
        ledger.charge(2, what="too much", unit="visit")
    assert ledger.unit is None

    ledger.charge("1/4", what="first", unit="person_id")

    assert Ledger.open(path).unit == "person_id"
    with refused("protects each person_id", "--bound row=K"):
        ledger.charge("1/4", what="second", unit="row")


def test_a_charge_that_names_no_unit_is_of_the_ledgers_or_of_rows(ledger: Ledger, people_at: Any) -> None:
    ledger.charge("1/4", what="by hand")
    other = people_at("other.ledger")
    other.charge("1/4", what="by hand")

    assert (ledger.unit, ledger.entries()[0].unit) == ("row", "row")
    assert other.entries()[0].unit == "person_id"
    with refused("protects each row", "--bound person_id=K"):
        ledger.can_pay("1/4", unit="person_id")


@pytest.fixture
def people_at(tmp_path: Path) -> Any:
    return lambda name: Ledger.create(tmp_path / name, epsilon=1, about="people", unit="person_id")


def test_of_first_releases_at_once_one_states_the_unit(path: Path, ledger: Ledger) -> None:
    start = Barrier(12)

    def publish(step: int) -> str | None:
        start.wait()
        try:
            ledger.charge("1/24", what=f"thread {step}", unit=f"unit {step % 3}")
        except BadLedger:
            return None
        return f"unit {step % 3}"

    with ThreadPoolExecutor(12) as pool:
        paid = [unit for unit in pool.map(publish, range(12)) if unit]

    assert paid == [ledger.unit] * 4
    assert [entry.unit for entry in ledger.entries()] == paid


# Declared bounds


def test_a_declared_bound_converts_exactly(people: Ledger) -> None:
    people.declare("row", most=12)
    people.can_pay("1/12", unit="row")
    with pytest.raises(BudgetExceeded, match=r"costs epsilon=6/5 \(1/10 for each row") as caught:
        people.can_pay("1/10", unit="row")
    number = people.charge("1/36", what="trips", unit="row")

    assert caught.value.needed == Fraction(6, 5)
    assert people.bounds == {"row": 12}
    entry = people.entries()[number - 1]
    assert (entry.epsilon, entry.most, entry.unit) == (Fraction(1, 3), 12, "row")
    assert people.left == Fraction(2, 3)


def test_bounds_may_be_declared_when_the_ledger_is_made(path: Path) -> None:
    ledger = Ledger.create(path, epsilon=1, about="x", unit="person_id", bounds={"row": 3, "visit": 1})

    assert Ledger.open(path).bounds == {"row": 3, "visit": 1}
    ledger.charge("1/3", what="all of it", unit="row")
    assert ledger.left == 0


def test_a_bound_is_declared_once_and_of_another_unit(path: Path, people: Ledger) -> None:
    people.declare("row", most=12)
    for most in (1, 12, 13):
        with refused("has at most 12 of row, as was declared", "never changed"):
            people.declare("row", most=most)
    with refused("protects each person_id itself", "another unit"):
        people.declare("person_id", most=1)
    bare = Ledger.create(path.with_name("bare"), epsilon=1, about="x")
    with refused("states no unit yet", "State it first"):
        bare.declare("row", most=2)
    with refused("states no unit yet", "State it first"):
        Ledger.create(path.with_name("other"), epsilon=1, about="x", bounds={"row": 2})
    assert people.bounds == {"row": 12}
    assert files_beside(path) == ["bare"]


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "12", None, (1 << 40) + 1])
def test_a_bound_is_a_whole_number_above_0(most: Any, path: Path, people: Ledger) -> None:
    with pytest.raises(BadNumber, match="most="):
        people.declare("row", most=most)
    with pytest.raises(BadNumber, match="most="):
        Ledger.create(path.with_name("other"), epsilon=1, about="x", unit="id", bounds={"row": most})
    assert people.bounds == {}
    assert files_beside(path) == []


@pytest.mark.parametrize("unit", ["", " ", " id", "id\n", "\x1b[2J", "a\u202eb", "\ud800", "x" * 1001, 7])
def test_a_unit_is_a_name_that_prints(unit: Any, path: Path, people: Ledger) -> None:
    for act in (
        lambda: Ledger.create(path.with_name("other"), epsilon=1, about="x", unit=unit),
        lambda: people.charge("1/4", what="a release", unit=unit),
        lambda: people.can_pay("1/4", unit=unit),
        lambda: people.declare(unit, most=2),
        lambda: Ledger.upgrade(path, unit=unit),
    ):
        with refused("unit=", "person_id"):
            act()
    assert files_beside(path) == []


def test_a_converted_cost_stays_exact_or_is_refused(path: Path) -> None:
    ledger = Ledger.create(path, epsilon=10**49, about="x", unit="person_id", bounds={"row": 1 << 40})
    cost = Fraction(1, 10**49 + 1)
    ledger.charge(cost, what="a release", unit="row")

    assert ledger.spent == cost * (1 << 40)
    assert Ledger.open(path).entries()[0].epsilon == cost * (1 << 40)
    long = Fraction(10**49 - 3, 10**49 + 1)
    with pytest.raises(BadNumber, match="longer than 300 digits"):
        ledger.charge(long, what="too long", unit="row")
    assert len(Ledger.open(path).entries()) == 1


UNITS = st.sampled_from(["row", "person_id", "visit"])
ACTS = st.one_of(
    st.tuples(st.just("charge"), UNITS, st.fractions("1/60", "1/4", max_denominator=60)),
    st.tuples(st.just("declare"), UNITS, st.integers(1, 5)),
)


@settings(max_examples=tries(100))
@given(stated=st.none() | UNITS, acts=st.lists(ACTS, max_size=10))
def test_a_ledger_adds_up_one_unit(
    stated: str | None, acts: list[tuple[str, str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("units") / "ledger"
    ledger = Ledger.create(path, epsilon=1, about="people", unit=stated)
    unit, bounds, spent = stated, dict[str, int](), Fraction(0)

    for act, other, value in acts:
        if act == "declare":
            if unit is None or other == unit or other in bounds:
                with pytest.raises(BadLedger):
                    ledger.declare(other, most=value)
            else:
                ledger.declare(other, most=value)
                bounds[other] = value
            continue
        most = 1 if unit in (None, other) else bounds.get(other)
        if most is None:
            with pytest.raises(BadLedger):
                ledger.charge(value, what="a release", unit=other)
        elif spent + value * most > 1:
            with pytest.raises(BudgetExceeded):
                ledger.charge(value, what="a release", unit=other)
        else:
            ledger.charge(value, what="a release", unit=other)
            unit, spent = unit or other, spent + value * most

    seen = Ledger.open(path)
    assert (seen.unit, seen.bounds, seen.spent) == (unit, bounds, spent)


# Files in other currencies, made by hand


COMING = {
    "zcdp": ("NULL", "NULL", "'1/10'"),
    "approximate": ("'1/1'", "'1/1000000'", "NULL"),
}
COSTS = {
    "zcdp": [("NULL", "NULL", "'3/200'")],
    "approximate": [
        ("'1/2'", "'1/1000000000'", "NULL"),
        ("NULL", "'0/1'", "'1/1000'"),
    ],
}
WRONG = {
    "zcdp": [("'1/10'", "NULL", "NULL"), ("NULL", "'1/9'", "'1/10'"), ("NULL", "NULL", "NULL")],
    "approximate": [("'1/10'", "NULL", "NULL"), ("NULL", "'1/9'", "NULL"), ("NULL", "NULL", "'1/10'")],
}


INSERT = "INSERT INTO entries VALUES ({}, 'now', NULL, 'x', 'person_id', 1, NULL, {}, {}, {}, NULL)"


def made_by_hand(path: Path, currency: str) -> None:
    """Make a ledger with entries by the statements of version 2, which never change."""
    with by_hand(path) as connection:
        connection.execute(f"PRAGMA application_id = {storage.APPLICATION}")
        connection.execute(f"PRAGMA user_version = {storage.VERSION}")
        for statement in storage.SCHEMA:
            connection.execute(statement)
        amounts = ", ".join(COMING[currency])
        connection.execute(f"INSERT INTO budget VALUES ('people', 'person_id', '{currency}', {amounts})")
        for number, costs in enumerate(COSTS[currency], start=1):
            connection.execute(INSERT.format(number, *costs))


@pytest.mark.parametrize("currency", ["zcdp", "approximate"])
def test_a_ledger_in_another_currency_is_read_as_its_tables_say(currency: str, path: Path) -> None:
    made_by_hand(path, currency)
    with by_hand(path) as connection:
        for costs in WRONG[currency]:
            with pytest.raises(sqlite3.IntegrityError, match="in the currency of the ledger"):
                connection.execute(INSERT.format(len(COSTS[currency]) + 1, *costs))
    ledger = Ledger.open(path)

    assert ledger.currency == currency
    assert [entry.rho for entry in ledger.entries()][-1] in (Fraction(3, 200), Fraction(1, 1000))
    assert ledger.charge("1/10", what="a release") == len(COSTS[currency]) + 1


def test_what_only_a_newer_version_adds_up_is_refused(path: Path) -> None:
    made_by_hand(path, "approximate")
    with by_hand(path) as connection:
        connection.execute(INSERT.format(3, "NULL", "'1/9'", "'1/9'"))
    before = path.read_bytes()

    for act in (
        lambda: Ledger.open(path),
        lambda: Ledger(path).charge("1/10", what="a release", unit="person_id"),
        lambda: Ledger(path).can_pay("1/10", unit="person_id"),
    ):
        with refused("holds an entry with rho and delta", "Install the newer hushtable"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "budget",
    [
        "'coins', '1/1', NULL, NULL",
        "'pure', NULL, NULL, NULL",
        "'pure', '1/1', '1/9', NULL",
        "'zcdp', '1/1', NULL, '1/1'",
        "'approximate', '1/1', NULL, NULL",
    ],
)
def test_a_budget_is_in_one_known_currency(budget: str, path: Path) -> None:
    with by_hand(path) as connection:
        connection.execute(storage.SCHEMA[0])
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute(f"INSERT INTO budget VALUES ('people', 'row', {budget})")
