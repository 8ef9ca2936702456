"""Profiles: what is kept, what is read, and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.domain import Domain
from hushtable.errors import BadPlan
from hushtable.methods.settings import FilterPriority, Priority
from hushtable.planning.profile import Profile
from hushtable.planning.reading import profile_like, read_profile
from tests.release.examples import rows, terms, write

CELLS = Domain.from_dict({"attribute": [{"name": "cell", "integers": {"low": 0, "high": 999_999}}]})


def test_a_normal_profile_has_its_cells_and_mean() -> None:
    found = Profile.normal(cells=100_000, mean=100, sd=20)

    assert found.occupied == pytest.approx(100_000)
    assert found.people == pytest.approx(1e7, rel=1e-6)
    spread = (found.cells * (found.counts - 100) ** 2).sum() / found.occupied
    assert spread**0.5 == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize(("mean", "sd"), [(1, 0), (2.5, 0), (1e12, 1e3), (57, 150), (3, 0.01)])
def test_normal_profiles_of_any_width_are_whole_counts(mean: float, sd: float) -> None:
    found = Profile.normal(cells=1000, mean=mean, sd=sd)

    assert found.occupied == pytest.approx(1000)
    assert (found.counts >= 1).all()
    assert (found.counts == np.round(found.counts)).all()
    if sd < mean / 3:
        assert found.people == pytest.approx(1000 * mean, rel=1e-3)


@pytest.mark.parametrize(("mean", "sd"), [(57, 150), (2, 3), (10, 9), (1.5, 1.2), (1000, 5000)])
def test_a_wide_profile_has_the_mean_and_the_deviation_that_were_given(mean: float, sd: float) -> None:
    found = Profile.normal(cells=1000, mean=mean, sd=sd)
    variance = (found.cells * (found.counts - mean) ** 2).sum() / found.occupied

    assert found.occupied == pytest.approx(1000)
    assert found.people == pytest.approx(1000 * mean, rel=0.02)
    assert sqrt(variance) == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize(("mean", "sd"), [(1, 1e6), (1, 0.5), (3, 100)])
def test_what_counts_cannot_be_is_refused(mean: float, sd: float) -> None:
    with pytest.raises(BadPlan, match="do not have a standard deviation"):
        Profile.normal(cells=1000, mean=mean, sd=sd)


def test_many_counts_are_joined_without_losing_cells_or_people() -> None:
    counts = np.arange(1.0, 50_001.0)
    cells: NDArray[np.float64] = 1e6 / counts**2

    found = Profile(counts=counts, cells=cells, words="made up")

    assert found.counts.size <= 300
    assert (found.counts == np.round(found.counts)).all()
    assert found.occupied == pytest.approx(cells.sum())
    assert found.people == pytest.approx((counts * cells).sum())


@pytest.mark.parametrize(
    ("counts", "cells", "words", "said"),
    [
        ([1, 2], [3], "x", "not two lists of the same length"),
        ([], [], "x", "not two lists of the same length"),
        (["a"], [1], "x", "something that is not a number"),
        ([0, 1], [5, 5], "x", "a count of 0"),
        ([1], [-5], "x", "a number of cells of -5"),
        ([1], [float("nan")], "x", "a number of cells of nan"),
        ([float("inf")], [1], "x", "a count of inf"),
        ([1], [0], "x", "no occupied cell"),
        ([1], [1], " ", "where it comes from"),
    ],
)
def test_what_is_no_profile_is_refused(
    counts: list[float], cells: list[float], words: str, said: str
) -> None:
    with pytest.raises(ht.BadPlan, match=re.escape(said)):
        Profile(counts=counts, cells=cells, words=words)


@pytest.mark.parametrize(
    ("name", "value"), [("cells", 0), ("mean", 0.5), ("sd", -1), ("mean", float("nan")), ("cells", True)]
)
def test_expectations_that_make_no_sense_are_refused(name: str, value: float) -> None:
    with pytest.raises(ht.BadPlan, match=f"an expected {name} of {value} makes no sense"):
        Profile.normal(**{"cells": 10, "mean": 5, "sd": 1} | {name: value})


def test_a_profile_is_read_from_csv(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text(
        "\ufeffcells, count\n60000, 1\n20000,2\n400.5,50\n", encoding="utf-8"
    )

    found = read_profile(tmp_path / "counts.csv")

    assert dict(zip(found.counts, found.cells, strict=True)) == {1: 60_000, 2: 20_000, 50: 400.5}
    assert found.words == "the counts in counts.csv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "its first line is ''"),
        (b"count;cells\n1;2\n", "its first line is 'count;cells'"),
        (b"count,cells\n", "no line below its first"),
        (b"count,cells\n1\n", "line 2: it does not have two values"),
        (b"count,cells\n1,2,3\n", "line 2: it does not have two values"),
        (b"count,cells\n1,2\nmany,3\n", "line 3: count = 'many' is not a whole number from 1"),
        (b"count,cells\n1.5,2\n", "line 2: count = '1.5' is not a whole number"),
        (b"count,cells\n0,2\n", "line 2: count = '0' is not a whole number"),
        (b"count,cells\n1,-2\n", "line 2: cells = '-2' is not a number from 0"),
        (b"count,cells\n1,nan\n", "line 2: cells = 'nan' is not a number"),
        (b"count,cells\n1,0\n", "no occupied cell"),
        (b"\xff\xfe\x00", "not CSV in UTF-8"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "counts.csv").write_bytes(text)

    with pytest.raises(ht.BadPlan, match=re.escape(said)):
        read_profile(tmp_path / "counts.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ht.BadPlan, match="cannot be read: No such file"):
        read_profile(tmp_path / "none.csv")


def older(path: Path, counts: list[int], **changes: object) -> Path:
    """A release with these counts."""
    made = terms(CELLS, **{"epsilon": Fraction(1), "total_budget": Fraction(1, 50)} | changes)
    codes = np.arange(len(counts))[:, None]
    write(path, made, rows(made, codes, np.array(counts)), overwrite=True)
    return path


def test_sampled_rows_stand_for_several_cells(tmp_path: Path) -> None:
    changes = {"method": FilterPriority(cutoff=40, size=9), "cutoff": 40.0, "threshold": 100.0, "total": 900}
    path = older(tmp_path / "old.parquet", [50, -80, 200, 50, 100], **changes)

    found = profile_like(path)

    # Each 50 stands for two cells; a negative count for none; the total leaves 400 below the cutoff.
    above = found.counts >= 40
    assert dict(zip(found.counts[above], found.cells[above], strict=True)) == pytest.approx(
        {50: 4, 100: 1, 200: 1}, rel=1e-6
    )
    assert found.people == pytest.approx(900)
    below = (found.counts * found.cells)[~above]
    assert below.size == 39
    assert below == pytest.approx(np.full(39, 400 / 39), rel=1e-6)
    assert "old.parquet" in found.words
    assert "400 more by its noisy total, put below its cutoff of 40" in found.words


def test_rows_that_noise_explains_are_taken_off_the_smallest(tmp_path: Path) -> None:
    # At this rate, 10^6 empty cells send 5.67 of them over a cutoff of 12 on the upper side.
    changes = {"method": FilterPriority(cutoff=12, size=99), "cutoff": 12.0, "threshold": 0.0, "total": 0}
    expected = 1e6 * np.exp(-0.98 * 12) / (1 + np.exp(-0.98))
    assert 5.6 < expected < 5.7

    found = profile_like(older(tmp_path / "old.parquet", [12] * 3 + [30] * 5 + [13] * 4, **changes))

    kept = dict(zip(found.counts, found.cells, strict=True))
    assert kept == pytest.approx({13: 7 - expected, 30: 5}, rel=1e-9)


def test_more_below_the_cutoff_than_cells_are_free_fills_them_all(tmp_path: Path) -> None:
    few = Domain.from_dict({"attribute": [{"name": "cell", "integers": {"low": 0, "high": 9}}]})
    made = terms(few, epsilon=Fraction(3), total_budget=Fraction(1), cutoff=20.0, threshold=0.0, total=140)
    write(tmp_path / "old.parquet", made, rows(made, np.array([[3]]), np.array([50])))

    found = profile_like(tmp_path / "old.parquet")

    assert found.occupied == pytest.approx(10)
    assert found.people == pytest.approx(140)


def test_a_release_of_noise_alone_is_refused(tmp_path: Path) -> None:
    changes = {"method": Priority(size=9), "cutoff": None, "threshold": 0.0}

    with pytest.raises(ht.BadPlan, match="noise alone explains all its rows"):
        profile_like(older(tmp_path / "old.parquet", [1, 2, -3], **changes))


def test_of_several_tables_the_cells_are_read_and_whole_tables_tell_the_total(tmp_path: Path) -> None:
    ages = np.repeat([3, 4, 5], [5000, 700, 40])
    told = {"age": ages, "sex": ages % 2, "town": ages % 7}
    domain = ht.Domain(age=ht.integers(0, 199), sex=ht.integers(0, 9), town=ht.integers(0, 199))
    options: dict[str, Any] = {"domain": domain, "epsilon": 100, "size": 50, "ledger": False}
    ht.publish(pa.table(told), output=tmp_path / "old.parquet", **options)

    found = profile_like(tmp_path / "old.parquet")  # single attributes are whole, the cells have a cutoff
    assert dict(zip(found.counts, found.cells, strict=True)) == pytest.approx({5000: 1, 700: 1, 40: 1}, abs=9)
    assert found.people == pytest.approx(5740, abs=20)
    ht.publish(pa.table(told), output=tmp_path / "few.parquet", structure=ht.Tables("age", "sex"), **options)
    with pytest.raises(ht.BadPlan, match="none of its tables has all attributes"):
        profile_like(tmp_path / "few.parquet")


def test_a_file_that_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.parquet").write_text("count,cells\n")

    with pytest.raises(ht.BadRelease, match=r"old\.parquet"):
        profile_like(tmp_path / "old.parquet")


def test_a_profile_for_more_people_has_the_same_shape() -> None:
    made = Profile(counts=[1, 5], cells=[30, 10], words="as in DC")
    found = made.for_people(800)

    assert found.people == pytest.approx(800)
    assert found.cells.tolist() == [300, 100]
    assert found.words == "as in DC, for 800 people"


@pytest.mark.parametrize("people", [0, -3, float("nan"), 1e16, "9", True])
def test_a_profile_for_no_number_of_people_is_refused(people: Any) -> None:
    with pytest.raises(ht.BadPlan, match="people makes no sense"):
        Profile(counts=[1], cells=[30], words="as in DC").for_people(people)


def test_a_profile_made_of_a_profile_is_the_same() -> None:
    """So that what a release records leads to the same plan."""
    counts = np.random.default_rng(2).integers(1, 10**6, 5000)
    made = Profile(counts=counts, cells=np.full(5000, 1 / 3), words="wide")
    again = Profile(counts=made.counts, cells=made.cells, words=made.words)

    assert made.counts.size > 150
    assert again.counts.tolist() == made.counts.tolist()
    assert again.cells.tolist() == made.cells.tolist()
