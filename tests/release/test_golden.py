"""Files of every released format open for ever, with the values written here. make_golden.py made them."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.domain.measure import Measure, Unit

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.parquet"))

VALUES = [
    ("north", -5, 0.3, 0, date(1969, 12, 1), datetime(2024, 1, 1, 0, 0)),
    ("north", 120, 0.9, 100, date(2024, 12, 1), datetime(2024, 1, 1, 23, 45)),
    ("söuth", 2, 0.0, 100, date(1970, 1, 1), datetime(2024, 1, 1, 1, 0)),
    ("unknown", 0, 0.7, 0, date(1994, 12, 1), datetime(2024, 1, 1, 1, 0)),
]
CODES = [[0, 0, 3, 0, 0, 0], [0, 125, 9, 1, 660, 95], [1, 7, 0, 1, 1, 4], [3, 5, 7, 0, 300, 4]]
COUNTS = [-30, 500, 0, 25]


def test_no_golden_file_went_away() -> None:
    assert NAMES == ["v1-counted", "v1-empty", "v1-packed", "v1-people"]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("v1-")])
def test_format_1(name: str) -> None:
    release = ht.open(GOLDEN / f"{name}.parquet")
    rows = 0 if name == "v1-empty" else 4

    assert len(release) == rows
    assert release.codes.tolist() == CODES[:rows]
    assert release.counts.tolist() == COUNTS[:rows]
    assert [tuple(row.values())[:6] for row in release.to_arrow().to_pylist()] == VALUES[:rows]
    assert release.to_arrow().column_names[6:] == ["count", "weight"]
    assert release.domain.title == "People"
    assert release.domain.names == ("region", "person.age", "hours", "income", "day", "minute")
    assert release.domain.shape == (4, 126, 10, 2, 661, 96)
    assert release.terms.version == "0.1.0"
    assert release.terms.structure == "cells"


def test_format_1_people() -> None:
    release = ht.open(GOLDEN / "v1-people.parquet")
    terms = release.terms

    assert release.weights.tolist() == [-123.5, 500.0, 0.0, 123.5]
    assert terms.measure == Measure(unit=Unit("person_id", max_rows=3))
    assert (terms.epsilon, terms.total_epsilon, terms.sensitivity) == (Fraction(1, 10), Fraction(1, 500), 3)
    assert (terms.where, terms.query, terms.rows_are_units) == (None, None, False)
    assert terms.method == ht.FilterPriority(cutoff=20, size=1000)
    assert (terms.rule, terms.cutoff, terms.threshold, terms.total) == ("auto-cutoff-1", 20.0, 123.5, 10_023)
    assert terms.domain.digest == "e3bcaa74200cd3e0dd3f013bb74b5872b33c9524ad05a88d3b4f49c5d5edccfd"


def test_format_1_counted() -> None:
    release = ht.open(GOLDEN / "v1-counted.parquet")
    terms = release.terms

    assert release.weights.tolist() == [-30.0, 500.0, 0.0, 25.0]
    assert terms.measure == Measure(count_column="S000")
    assert (terms.epsilon, terms.total_epsilon, terms.sensitivity) == (Fraction(1, 3), Fraction(0), 1)
    assert (terms.where, terms.query, terms.rows_are_units) == ("state = 'RI'", None, False)
    assert terms.method == ht.Everything()
    assert (terms.rule, terms.cutoff, terms.threshold, terms.total) == (None, None, None, None)


def test_format_1_packed() -> None:
    terms = ht.open(GOLDEN / "v1-packed.parquet").terms

    assert (terms.where, terms.query) == (None, "SELECT * FROM a JOIN b USING (id)")
    assert terms.rows_are_units
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain
