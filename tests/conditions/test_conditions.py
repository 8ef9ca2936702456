"""What values mean in a condition: one code, several, a range, or an error that says what to write."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.conditions.conditions import Between, between, selected
from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Kind, Times
from tests.answers.enumerated import all_codes, in_columns
from tests.harness.effort import calls_of

TENTHS = Bins(start=Fraction(-1), stop=Fraction(1), step=Fraction(1, 10))
THIRDS = Bins(start=Fraction(0), stop=Fraction(5), step=Fraction(1, 3))
FIVES = Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5))
INCOMES = Edges(edges=(Fraction(0), Fraction(1, 3), Fraction(10), Fraction(1 << 60)))
SHARES = Edges(edges=(Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1)))
NUMBERS = Integers(low=-5, high=20)
COLOURS = Categories(values=("red", "green", "blue", "", "06001"))
DAYS = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second")
MONTHS = Times(start=datetime(2023, 11, 1), stop=datetime(2025, 2, 1), every=3, unit="month")
HOURS = Times(
    start=datetime(2024, 3, 30),
    stop=datetime(2024, 4, 2),
    every=3_600,
    unit="second",
    timezone="Europe/Berlin",
)


def codes(values: Kind, value: object) -> list[int]:
    """The codes that a condition on an attribute x selects, from its rows."""
    domain = ht.Domain(attributes=(Attribute(name="x", values=values),))
    selection = selected(domain, {"x": value})
    found: list[int] = np.arange(values.size)[selection.rows(in_columns(domain, all_codes(domain)))].tolist()
    assert selection.cells == len(found)
    return found


def refusal(values: Kind, value: object) -> str:
    """What is said of a value."""
    domain = ht.Domain(attributes=(Attribute(name="x", values=values),))
    with pytest.raises(ht.BadQuery) as caught:
        selected(domain, {"x": value})
    assert caught.value.__cause__ is None
    return str(caught.value).replace("\n", " ")


@pytest.mark.parametrize(
    ("values", "value", "code"),
    [
        (NUMBERS, -5, 0),
        (NUMBERS, 3.0, 8),
        (NUMBERS, np.int8(3), 8),
        (NUMBERS, np.uint64(3), 8),
        (NUMBERS, np.float32(3), 8),
        (NUMBERS, Decimal("3.00"), 8),
        (NUMBERS, Fraction(6, 2), 8),
        (COLOURS, "green", 1),
        (COLOURS, np.str_("blue"), 2),
        (COLOURS, "", 3),
        (COLOURS, "06001", 4),
        (FIVES, 30, 6),
        (FIVES, 30.0, 6),
        (FIVES, Decimal(95), 19),
        (TENTHS, 0.3, 13),
        (TENTHS, np.float32(0.1), 11),
        (TENTHS, "0.1", 11),
        (TENTHS, Decimal("-0.7"), 3),
        (TENTHS, -1, 0),
        (THIRDS, 1 / 3, 1),
        (THIRDS, Fraction(1, 3), 1),
        (THIRDS, "7/3", 7),
        (THIRDS, float(Fraction(14, 3)), 14),
        (INCOMES, 1 / 3, 1),
        (INCOMES, 10, 2),
        (SHARES, 1 / 7, 1),
        (SHARES, np.float64(0.5), 2),
        (DAYS, "2024-01-05", 4),
        (DAYS, date(2024, 2, 29), 59),
        (DAYS, datetime(2024, 12, 31), 365),
        (DAYS, np.datetime64("2024-01-05"), 4),
        (DAYS, np.datetime64("2024-01-05T00:00:00.000000000"), 4),
        (DAYS, pd.Timestamp("2024-01-05"), 4),
        (MONTHS, "2024-02-01", 1),
        (MONTHS, date(2023, 11, 1), 0),
        (HOURS, "2024-03-30 01:00", 1),
        (HOURS, "2024-03-31T02:00:00", 26),  # an hour that the clock skips, and that a release may show
        (HOURS, datetime(2024, 3, 31, 1, tzinfo=UTC), 27),  # the first after it
        (HOURS, datetime(2024, 3, 31, 0, tzinfo=timezone(timedelta(hours=1))), 24),
    ],
)
def test_one_value_is_one_code(values: Kind, value: object, code: int) -> None:
    assert codes(values, value) == [code]
    assert codes(values, [value]) == [code]


@pytest.mark.parametrize(
    "values", [NUMBERS, COLOURS, TENTHS, THIRDS, FIVES, INCOMES, SHARES, DAYS, MONTHS, HOURS]
)
def test_what_a_release_shows_names_its_code(values: Kind) -> None:
    column = values.decode(np.arange(values.size))

    for code, value in enumerate(column.to_pylist()):
        assert codes(values, value) == [code]
    for several in (column, pa.chunked_array([column, column]), column.to_numpy(zero_copy_only=False)):
        assert codes(values, several) == list(range(values.size))
        assert codes(values, several[1:3]) == [1, 2]


@pytest.mark.parametrize(
    "several",
    [
        [30, 40, 30],
        (30, 40, 30),
        {30, 40},
        frozenset({30.0, 40}),
        range(30, 50, 10),
        np.array([30, 40], dtype=np.uint8),
        np.array([30, 40], dtype=np.float32),
        np.array([30, "40"], dtype=object),
        pa.array([30, 40]),
        pd.Series([30, 40]),
        [np.int16(30), Decimal(40)],
    ],
)
def test_a_list_is_any_of_its_values(several: object) -> None:
    assert codes(FIVES, several) == [6, 8]
    assert codes(Integers(low=0, high=99), several) == [30, 40]


@pytest.mark.parametrize("nothing", [[], (), set(), range(0), np.array([]), pa.array([], pa.int64())])
@pytest.mark.parametrize("values", [NUMBERS, COLOURS, FIVES, INCOMES, DAYS])
def test_an_empty_list_selects_nothing(values: Kind, nothing: object) -> None:
    assert codes(values, nothing) == []


def test_categories_may_come_as_a_dictionary_column() -> None:
    assert codes(COLOURS, pa.array(["blue", "red", "blue"]).dictionary_encode()) == [0, 2]


@pytest.mark.parametrize(
    ("values", "low", "high", "expected"),
    [
        (FIVES, 30, 45, range(6, 9)),
        (FIVES, 0, 100, range(20)),
        (FIVES, None, 10.0, range(2)),
        (FIVES, 90, None, range(18, 20)),
        (FIVES, None, None, range(20)),
        (FIVES, 30, 30, range(0)),
        (FIVES, 100, 100, range(0)),
        (TENTHS, 0.1, 0.4, range(11, 14)),
        (TENTHS, Fraction(-1), "1", range(20)),
        (THIRDS, 1 / 3, Fraction(2, 3), range(1, 2)),
        (THIRDS, 1, 5, range(3, 15)),
        (INCOMES, 1 / 3, 1 << 60, range(1, 3)),
        (SHARES, None, 1, range(3)),
        (NUMBERS, 3, 5, range(8, 10)),
        (NUMBERS, -(10**30), 10**30, range(26)),
        (NUMBERS, 100, 200, range(0)),
        (NUMBERS, -5, 21, range(26)),
        (DAYS, "2024-01-30", "2024-03-01", range(29, 60)),
        (DAYS, date(2024, 12, 31), "2025-01-01", range(365, 366)),
        (MONTHS, "2024-02-01", None, range(1, 5)),
        (HOURS, "2024-03-31", "2024-04-01", range(24, 48)),
    ],
)
def test_a_range_is_half_open(values: Kind, low: object, high: object, expected: range) -> None:
    assert codes(values, between(low, high)) == list(expected)


def test_a_range_prints_as_it_is_written() -> None:
    assert between(30, None) == Between(30, None)
    assert repr(between("2024-01-01", None)) == "between('2024-01-01', None)"


@pytest.mark.parametrize(
    ("values", "value", "message"),
    [
        (FIVES, 32, "x = 32 is not an edge of its bins; the nearest are 30 and 35. A bin cannot be cut"),
        (FIVES, -5, "x = -5 is not an edge of its bins; the nearest are 0 and 5"),
        (FIVES, 105, "x = 105 is not an edge of its bins; the nearest are 95 and 100"),
        (FIVES, 100, "x = 100 is where its last bin ends. The last one starts at 95."),
        (FIVES, between(30, 44), "x = 44 is not an edge of its bins; the nearest are 40 and 45"),
        (FIVES, between(-5, 45), "x = -5 is not an edge"),
        (FIVES, between(0, 101), "x = 101 is not an edge"),
        (FIVES, between(45, 30), "x has the bounds of between(45, 30) the wrong way round"),
        (FIVES, [30, 31], "x = 31 is not an edge"),
        (FIVES, np.array([30.0, 31.5]), "x = 31.5 is not an edge"),
        (FIVES, np.array([30.0, np.nan, np.inf]), "x = nan is not a number"),
        (FIVES, 10**400, "is not an edge of its bins; the nearest are 95 and 100"),
        (FIVES, Decimal("1e300"), "x = 1E+300 is not an edge"),
        (TENTHS, 0.15, "the nearest are 0.1 and 0.2"),
        (TENTHS, np.nextafter(0.3, 1), "the nearest are 0.3 and 0.4"),
        (THIRDS, 0.33, "the nearest are 0 and 1/3"),
        (INCOMES, (1 << 60) + 1, "is not an edge of its bins"),
        (INCOMES, 5, "the nearest are 1/3 and 10"),
        (
            DAYS,
            "2024-01-05 12:00",
            "x = '2024-01-05 12:00' is not an edge of its intervals; the nearest are "
            "2024-01-05 and 2024-01-06. An interval cannot be cut",
        ),
        (DAYS, "2023-12-31", "the nearest are 2024-01-01 and 2024-01-02"),
        (
            DAYS,
            datetime(2031, 1, 1),
            "x = 2031-01-01 00:00:00 is not an edge of its intervals; the nearest are 2024-12-31 and "
            "2025-01-01",
        ),
        (
            DAYS,
            "2025-01-01",
            "x = '2025-01-01' is where its last interval ends. The last one starts at 2024-12-31",
        ),
        (DAYS, pd.Timestamp("2024-01-05 00:00:00.000000001"), "is not an edge of its intervals"),
        (DAYS, [pd.Timestamp("2024-01-05 00:00:00.000000001")], "is not an edge of its intervals"),
        (DAYS, np.datetime64("2024-01-05T00:00:00.000000001"), "is not a time"),
        (DAYS, np.datetime64("NaT"), "x = NaT is not a time"),
        (DAYS, "5 January", "x = '5 January' is not a time. Write it as"),
        (DAYS, 20_240_105, "x = 20240105 is not a time"),
        (MONTHS, "2024-01-01", "the nearest are 2023-11-01 and 2024-02-01"),
        (HOURS, "2024-03-30 01:30", "the nearest are 2024-03-30 01:00:00 and 2024-03-30 02:00:00"),
        (NUMBERS, 21, "x = 21 lies outside its domain. Its values are the integers from -5 to 20."),
        (NUMBERS, [3, 2**70], "lies outside its domain"),
        (NUMBERS, 2.5, "x = 2.5 is not a whole number. Its values are integers: write 2 or 3."),
        (
            NUMBERS,
            between(-2.5, 3),
            "x = -2.5 is not a whole number. Its values are integers: write -3 or -2.",
        ),
        (NUMBERS, np.array([1, 2**63], dtype=np.uint64), "x = 9223372036854775808 lies outside"),
        (NUMBERS, None, "x = None is not a number. Write it as 30"),
        (NUMBERS, True, "x = True is not a number"),
        (NUMBERS, np.True_, "x = True is not a number"),
        (NUMBERS, [1, True], "x = True is not a number"),
        (NUMBERS, np.array([True]), "x = True is not a number"),
        (NUMBERS, float("nan"), "x = nan is not a number"),
        (NUMBERS, float("inf"), "x = inf is not a number"),
        (NUMBERS, {"a": 1}, "x = {'a': 1} is not a number"),
        (NUMBERS, 1j, "x = 1j is not a number"),
        (NUMBERS, "one", "x = 'one' is not a number"),
        (NUMBERS, b"1", "x = b'1' is not a number"),
        (NUMBERS, [[1]], "x = [1] is not a number"),
        (NUMBERS, np.array([[1]]), "x is given an array of 2 dimensions"),
        (NUMBERS, np.array(1), "x is given an array of 0 dimensions"),
        (NUMBERS, list, "is not a number"),
        (NUMBERS, pa.array([1, None]), "x = None is not a number"),
        (COLOURS, "gren", "x = 'gren' is not one of its categories. Did you mean 'green'?"),
        (COLOURS, ["red", "Red"], "x = 'Red' is not one of its categories. Did you mean 'red'?"),
        (COLOURS, 6001, "x = 6001 is not text, and 'x' has categories. Write the value in quotes."),
        (COLOURS, None, "x = None is not text"),
        (
            COLOURS,
            between("blue", "red"),
            "the categories of 'x' have no order, so they have no ranges. Give a list",
        ),
        (COLOURS, between(None, None), "have no order"),
        (Categories(values=tuple(map(str, range(50)))), "x", "'4', '5', ... (50 in all)."),
    ],
)
def test_anything_else_is_refused_with_what_to_write(values: Kind, value: object, message: str) -> None:
    assert message in refusal(values, value)


def test_messages_stay_short() -> None:
    many = Categories(values=tuple(f"{'x' * 500}{number}" for number in range(10)))

    assert len(refusal(many, "x" * 10_000)) < 2_000
    assert len(refusal(NUMBERS, "9" * 5_000)) < 300
    assert len(refusal(FIVES, 10**3_000)) < 300


TWO = ht.Domain(attributes=(Attribute(name="home", values=COLOURS), Attribute(name="a ge", values=FIVES)))


def test_conditions_hold_together() -> None:
    assert selected(TWO, None).cells == 100
    assert selected(TWO, {}).cells == 100
    assert selected(TWO, None).attributes == ()
    assert selected(TWO, {"home": "red"}, {"a ge": between(0, 50)}).cells == 10
    assert selected(TWO, {"home": ["red", "blue"]}, {"home": ["green", "blue"]}).cells == 20
    assert selected(TWO, {"home": "red"}, {"home": "blue"}).cells == 0
    assert selected(TWO, "home = 'red' OR home = 'blue'", {"home": "red", "a ge": 5}).cells == 1


@pytest.mark.parametrize("name", ["hom", "Home", "", 5])
def test_unknown_attributes_are_named(name: Any) -> None:
    with pytest.raises(ht.BadQuery, match="there is no attribute") as caught:
        selected(TWO, {name: 1})

    assert "The attributes are 'home', 'a ge'." in str(caught.value)
    assert ("Did you mean 'home'?" in str(caught.value)) == (name in ("hom", "Home"))


@pytest.mark.parametrize("where", [5, ["home"], b"home = 1", {"home"}])
def test_a_condition_is_a_mapping_or_text(where: Any) -> None:
    with pytest.raises(ht.BadQuery, match="is neither a mapping nor text"):
        selected(TWO, where)


@given(st.data())
def test_lists_read_at_once_mean_what_single_values_mean(data: st.DataObject) -> None:
    kinds: list[Kind] = [NUMBERS, FIVES, TENTHS, THIRDS, INCOMES, SHARES]
    values = data.draw(st.sampled_from(kinds))
    chosen = data.draw(st.lists(st.integers(0, values.size - 1), max_size=5))
    shown = values.decode(np.arange(values.size)).to_pylist()
    kind = data.draw(st.sampled_from([float, Fraction, np.float64, Decimal]))
    several = [kind(shown[code]) for code in chosen]

    assert codes(values, several) == sorted(set(chosen))
    assert sorted({code for value in several for code in codes(values, value)}) == sorted(set(chosen))


def long_list(kind: str, length: int) -> tuple[Kind, Any]:
    """Return an attribute's values, and a list of so many of them."""
    cases: dict[str, tuple[Kind, Any]] = {
        "integers": (Integers(low=0, high=10**15), list(range(0, 10 * length, 10))),
        "array": (Integers(low=0, high=10**15), np.arange(0, 10 * length, 10)),
        "texts": (Categories(values=tuple(map(str, range(length)))), list(map(str, range(length)))),
        "floats": (
            Bins(start=Fraction(0), stop=Fraction(10**5), step=Fraction(1, 10)),
            list(np.arange(length) * 0.5),
        ),
        "days": (
            Times(start=datetime(1, 1, 1), stop=datetime(9000, 1, 1), every=86_400, unit="second"),
            [date(1, 1, 1) + timedelta(days=day) for day in range(0, 3 * length, 3)],
        ),
    }
    return cases[kind]


def with_numbers(values: Kind) -> ht.Domain:
    return ht.Domain(attributes=(Attribute(name="x", values=values), Attribute(name="y", values=NUMBERS)))


@pytest.mark.parametrize("kind", ["integers", "array", "texts", "floats", "days"])
def test_a_long_list_of_values_takes_few_steps_each(kind: str) -> None:
    values, several = long_list(kind, 5_000)
    domain = with_numbers(values)

    cells, calls = calls_of(lambda: selected(domain, {"x": several}).cells)

    assert cells == 26 * 5_000
    assert calls < 30 * 5_000


@pytest.mark.parametrize("kind", ["integers", "array", "texts", "floats", "days"])
def test_a_list_of_100_000_values_takes_no_time_of_its_square(kind: str) -> None:
    values, several = long_list(kind, 100_000)
    domain = with_numbers(values)

    start = process_time()
    cells = selected(domain, {"x": several}).cells

    assert cells == 26 * 10**5
    assert process_time() - start < 10  # measured: 1.04 s beside other work


def test_two_numbers_in_brackets_are_no_range() -> None:
    with pytest.raises(ht.BadQuery, match=r"ht\.between\(30, 40\) for the range .*, or \[30, 40\] for two"):
        codes(FIVES, (30, 40))

    assert codes(Categories(values=("a", "b", "c")), ("a", "b")) == [0, 1]  # which have no ranges


def test_a_label_names_its_category() -> None:
    counties = Categories(
        values=("06001", "06003", "b", "x", "y"), labels=("Alameda", "b", "Alpine", "z", "z")
    )

    assert codes(counties, "Alameda") == [0]
    assert codes(counties, ["Alpine", "06003"]) == [1, 2]
    assert codes(counties, "b") == [2]  # a value comes before a label
    with pytest.raises(ht.BadQuery, match=r"the label of 2 categories\.\nWrite their values: 'x', 'y'"):
        codes(counties, "z")
    with pytest.raises(ht.BadQuery, match="Did you mean 'Alpine'"):
        codes(counties, "Alpin")
