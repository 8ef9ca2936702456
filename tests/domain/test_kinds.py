"""Kinds of attributes: what is read and what is not, and that decoding and reading undo each other."""

from __future__ import annotations

import copy
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import floor, inf, nan, nextafter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.attributes import Bins, Categories, Edges, Fate, Integers, Kind, Times
from hushtable.domain.kinds import FINEST
from hushtable.errors import BadDomain
from tests.domain import examples

MISSING, UNREADABLE, OUTSIDE, LOW, HIGH = (
    Fate.MISSING,
    Fate.UNREADABLE,
    Fate.OUTSIDE,
    Fate.OUTSIDE_LOW,
    Fate.OUTSIDE_HIGH,
)


@given(examples.kinds, st.data())
def test_reading_undoes_decoding(kind: Kind, data: st.DataObject) -> None:
    codes = data.draw(examples.codes_below(kind.size))
    column = kind.decode(np.array(codes, dtype=np.int64))

    assert isinstance(column, pa.Array)
    assert column.null_count == 0
    assert [kind.code_of(value) for value in column.to_pylist()] == codes


@given(examples.kinds)
def test_decoding_gives_the_declared_type(kind: Kind) -> None:
    found = kind.decode(np.zeros(1, dtype=np.int64)).type
    match kind:
        case Integers():
            wanted = pa.int64()
        case Categories():
            wanted = pa.string()
        case Bins():
            wanted = pa.int64() if kind.grid[2] == 1 else pa.float64()
        case Edges():
            wanted = pa.int64() if kind.whole else pa.float64()
        case Times():
            wanted = pa.date32() if kind.whole_days else pa.timestamp("us")

    assert found == wanted == kind.decode(np.empty(0, dtype=np.int64)).type


@given(examples.kinds)
def test_kinds_are_equal_and_hash_by_value(kind: Kind) -> None:
    again = copy.deepcopy(kind)

    assert kind == again
    assert hash(kind) == hash(again)


@given(examples.kinds)
def test_none_and_nan_are_missing(kind: Kind) -> None:
    assert {kind.code_of(value) for value in (None, nan, Decimal("NaN"), Decimal("sNaN"))} == {MISSING}


@given(examples.kinds)
def test_other_types_are_unreadable(kind: Kind) -> None:
    assert {kind.code_of(value) for value in (True, b"1", [1], 1j, Fraction(1))} == {UNREADABLE}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (-5, 0),
        (5, 10),
        (-6, LOW),
        (6, HIGH),
        (10**400, HIGH),
        (0.0, 5),
        (-0.0, 5),
        (0.5, UNREADABLE),
        (1e300, HIGH),
        (inf, HIGH),
        (-inf, LOW),
        (Decimal("3.00"), 8),
        (Decimal("3.01"), UNREADABLE),
        (Decimal("1E-999999"), UNREADABLE),
        (Decimal("-1E+999999"), LOW),
        (Decimal("Infinity"), HIGH),
        (Decimal("3." + "0" * 60), 8),
        (Decimal("3." + "0" * 60 + "1"), UNREADABLE),
        ("3", 8),
        (" +3 ", 8),
        ("003", 8),
        ("3.", 8),
        ("3.000", 8),
        ("-0", 5),
        ("3.5", UNREADABLE),
        ("3.5.0", UNREADABLE),
        ("\t3", UNREADABLE),
        ("3\n", UNREADABLE),
        ("3\u00a0", UNREADABLE),
        ("+ 3", UNREADABLE),
        ("3e0", UNREADABLE),
        ("3_0", UNREADABLE),
        ("0x3", UNREADABLE),
        ("٣", UNREADABLE),
        (".0", UNREADABLE),
        ("", UNREADABLE),
        ("nan", UNREADABLE),
        ("inf", UNREADABLE),
        ("9" * 5000, HIGH),
        ("-" + "9" * 5000, LOW),
        (date(2024, 1, 1), UNREADABLE),
    ],
)
def test_integers_read(value: object, code: object) -> None:
    assert Integers(low=-5, high=5).code_of(value) == code


def test_integers_are_exact_at_the_ends_of_64_bits() -> None:
    kind = Integers(low=2**62, high=2**63 - 1)

    assert kind.code_of(2**63 - 1) == kind.size - 1
    assert kind.code_of(str(2**63 - 2)) == kind.size - 2
    assert kind.code_of(float(2**63)) is HIGH
    assert Integers(low=-(2**63), high=-2).decode(np.array([2**63 - 2])).to_pylist() == [-2]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("06001", 0),
        ("6001", 1),
        (" 6001", 2),
        ("", 3),
        ("6001 ", OUTSIDE),
        ("é", 4),
        ("e\u0301", OUTSIDE),
        ("A\0B", 5),
        (6001, UNREADABLE),
        (6001.0, UNREADABLE),
        (date(2024, 1, 1), UNREADABLE),
    ],
)
def test_categories_read_to_the_letter(value: object, code: object) -> None:
    assert Categories(values=("06001", "6001", " 6001", "", "é", "A\0B")).code_of(value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0, 0),
        (0.1, 1),
        (0.3, 3),  # 0.3 / 0.1 is 2.9999999999999996
        (nextafter(0.3, 0), 2),
        (0.7, 7),
        (nextafter(1.0, 0), 9),
        (1, HIGH),
        (1.0, HIGH),
        (-1e-300, LOW),
        (-0.0, 0),
        (inf, HIGH),
        (-inf, LOW),
        (10**400, HIGH),
        (-(10**400), LOW),
        (Decimal("0.3"), 3),
        (Decimal("0.29999999999999999999999999"), 3),  # as float64 it is 0.3
        (Decimal("0.299"), 2),
        (Decimal("1E+999999"), HIGH),
        (Decimal("-Infinity"), LOW),
        ("0.3", 3),
        (" .3 ", 3),
        ("3e-1", 3),
        ("+3.E-1", 3),
        ("1e999", HIGH),
        ("-1e999", LOW),
        ("0,3", UNREADABLE),
        (".", UNREADABLE),
        ("e1", UNREADABLE),
        ("0.3 \t", UNREADABLE),
        ("1_0", UNREADABLE),
        ("inf", UNREADABLE),
        ("nan", UNREADABLE),
        ("", UNREADABLE),
        (date(2024, 1, 1), UNREADABLE),
    ],
)
def test_bins_read(value: object, code: object) -> None:
    tenths = tuple(Fraction(k, 10) for k in range(11))

    assert Bins(start=Fraction(0), stop=Fraction(1), step=Fraction(1, 10)).code_of(value) == code
    assert Edges(edges=tenths).code_of(value) == code


def test_an_int_meets_whole_edges_exactly() -> None:
    kind = Edges(edges=(Fraction(0), Fraction(2**60 + 1), Fraction(2**62)))

    assert kind.code_of(2**60) == 0
    assert kind.code_of(2**60 + 1) == 1
    assert kind.code_of(float(2**60)) == 1  # the nearest float64 of the edge is 2^60
    assert kind.code_of(str(2**60)) == 1
    assert kind.decode(np.array([1])).to_pylist() == [2**60 + 1]


@given(examples.bins() | examples.edges(), st.data())
def test_bins_are_half_open_between_nearest_floats(kind: Bins | Edges, data: st.DataObject) -> None:
    code = data.draw(st.integers(0, kind.size - 1))
    if isinstance(kind, Bins):
        low, high = (float(kind.start + k * kind.step) for k in (code, code + 1))
        first, width, shared = kind.grid
        assert float(first + code * width) / float(shared) == low
        assert Fraction(first + code * width, shared) == kind.start + code * kind.step
    else:
        low, high = float(kind.edges[code]), float(kind.edges[code + 1])

    assert low < high
    assert kind.code_of(low) == code
    assert kind.code_of(nextafter(high, -inf)) == code
    assert kind.code_of(nextafter(low, -inf)) == (code - 1 if code else LOW)
    assert kind.code_of(high) == (code + 1 if code + 1 < kind.size else HIGH)
    assert kind.decode(np.array([code])).to_pylist() == [low if not whole(kind) else round(exact(kind, code))]


def whole(kind: Bins | Edges) -> bool:
    return kind.grid[2] == 1 if isinstance(kind, Bins) else kind.whole


def exact(kind: Bins | Edges, code: int) -> Fraction:
    return kind.start + code * kind.step if isinstance(kind, Bins) else kind.edges[code]


def test_the_grid_has_the_least_denominator() -> None:
    assert Bins(start=Fraction(1, 4), stop=Fraction(13, 4), step=Fraction(1, 6)).grid == (3, 2, 12)
    assert Bins(start=Fraction(-10), stop=Fraction(10), step=Fraction(5)).grid == (-10, 5, 1)


def test_the_finest_bins_still_differ_as_floats() -> None:
    shared = FINEST - 4
    start, step = Fraction(shared + 1, shared), Fraction(1, shared)
    kind = Bins(start=start, stop=start + 2 * step, step=step)

    assert [kind.code_of(value) for value in kind.decode(np.arange(2)).to_pylist()] == [0, 1]
    with pytest.raises(BadDomain, match="too fine"):
        Bins(start=Fraction(0), stop=Fraction(FINEST), step=Fraction(1))
    with pytest.raises(BadDomain, match="too fine"):
        Bins(start=Fraction(0), stop=Fraction(1, FINEST), step=Fraction(1, FINEST))


@given(examples.bins(), st.data())
def test_a_bin_guessed_in_floats_is_at_most_one_off(kind: Bins, data: st.DataObject) -> None:
    # Engines rely on it: they guess, then compare with the edges beside the guess.
    first, width, shared = kind.grid
    code = data.draw(st.integers(0, kind.size - 1))
    low, high = ((first + k * width) / shared for k in (code, code + 1))
    for value in (low, nextafter(high, -inf), data.draw(st.floats(low, high, exclude_max=True))):
        guess = floor((value * float(shared) - float(first)) / float(width))
        assert abs(guess - code) <= 1


def test_floats_mean_their_shortest_text() -> None:
    kind = Bins(start=0.1, stop=0.7, step=0.2)  # type: ignore[arg-type]

    assert (kind.start, kind.step, kind.size) == (Fraction(1, 10), Fraction(1, 5), 3)


def test_long_lists_print_short() -> None:
    many = Categories(values=tuple(str(i) for i in range(10**5)))

    assert repr(many) == "Categories('0', '1', '2', '3', '4', '5', ... 100000 values)"
    assert repr(Categories(values=("a", "b"))) == "Categories('a', 'b')"


@pytest.mark.parametrize(
    ("kind", "fields", "fact"),
    [
        (Integers, {"low": 0, "high": 2**63}, "too many"),
        (Integers, {"low": -1, "high": 2**63 - 2}, "too many"),
        (Integers, {"low": 0, "high": 10**30}, "does not fit 64 bits"),
        (Integers, {"low": 0, "high": True}, "not a finite number"),
        (Categories, {"values": "north"}, "not a list of text"),
        (Categories, {"values": ("\ud800",)}, "not Unicode"),
        (Categories, {"values": ("a",), "labels": ("A", "B")}, "2 labels for 1 categories"),
        (Edges, {"edges": (0, 2**63)}, "beyond 2^63"),
        (Edges, {"edges": (2**60, 2**60 + 1)}, "is not above"),
        (Edges, {"edges": (0, "1e-4000")}, "does not fit 64 bits"),
        (Times, {"start": 1, "stop": datetime(2025, 1, 1), "every": 1, "unit": "second"}, "start = 1"),
        (
            Times,
            {"start": datetime(2024, 1, 1), "stop": datetime(2025, 1, 1), "every": 1, "unit": "day"},
            "the unit 'day' is unknown",
        ),
    ],
)
def test_records_check_themselves(kind: type[Kind], fields: dict[str, object], fact: str) -> None:
    with pytest.raises(BadDomain) as caught:
        kind(**fields)  # type: ignore[arg-type]

    assert fact in str(caught.value)
