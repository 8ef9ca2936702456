"""Releases for questions about ranges: what is published for them, and that answers hold."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.planning.sharing import ranges_of

TOWNS = ["north", "south", "harbour"]
AGES = 500
DOMAIN = ht.Domain.from_dict(
    {
        "attribute": [
            {"name": "town", "categories": {"values": TOWNS}},
            {"name": "age", "integers": {"low": "0", "high": str(AGES - 1)}},
            {"name": "day", "times": {"start": "2024-01-01", "stop": "2025-01-01", "every": "1 day"}},
        ]
    }
)
# Common and rare values, at the ends, along runs of 16 and across them, single ones and all.
ENDS = [(0, 0), (0, 9), (0, AGES - 1), (16, 31), (17, 290), (100, 100), (470, AGES - 1), (AGES - 1, AGES - 1)]
_random = np.random.default_rng(5)


def rows(number: int = 20_000) -> pa.Table:
    towns = np.array(TOWNS)[np.minimum(_random.geometric(0.6, number) - 1, 2)]
    ages = np.minimum((_random.pareto(1.1, number) * 9).astype(np.int64), AGES - 1)
    days = np.datetime64("2024-01-01") + _random.integers(0, 366, number)
    return pa.table({"town": towns, "age": ages, "day": days})


def publish(folder: Path, data: pa.Table, **settings: Any) -> ht.Release:
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "size": 2000, "overwrite": True}
    return ht.publish(data, output=folder / "out.parquet", **chosen | settings)


def test_ranges_are_answered_by_runs_and_their_intervals_hold(tmp_path: Path) -> None:
    data = rows()
    plan = ht.plan(DOMAIN, epsilon=1, size=2000, ask=["age:ranges", "town"])
    tables = [each["table"] for each in plan.to_dict()["tables"]]
    assert {"age", "16(age)", "town"} <= set(tables)

    ages = np.asarray(data["age"])
    asked = [*ENDS, *(ranges_of(AGES) - [0, 1]).tolist()]
    held, squares, wide = [], [], []
    for _ in range(8):
        release = publish(tmp_path, data, ask=["age:ranges", "town"])
        for first, last in asked:
            found = release.total(f"age BETWEEN {first} AND {last}")
            truth = int(((ages >= first) & (ages <= last)).sum())
            held.append(found.low <= truth <= found.high)
            if [first, last] in asked[len(ENDS) :]:
                squares.append((found.value - truth) ** 2)
                wide.append(found.standard_error**2)
    # Of 448 answers of 8 releases, which are not independent: 5 standard deviations of as many that are.
    assert np.mean(held) > 0.95 - 5 * sqrt(0.05 * 0.95 / len(held))
    expected = plan.error("age:ranges")
    assert expected is not None
    assert sqrt(np.mean(wide)) == pytest.approx(expected, rel=0.01)  # exact, for the ranges of the plan
    assert sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.5)


def test_runs_make_ranges_much_closer_than_a_table_of_values_alone() -> None:
    plan = ht.plan(DOMAIN, epsilon=1, size=2000, ask=["age:ranges"])
    flat = ht.plan(DOMAIN, epsilon=1, size=2000, ask=["age"])
    by_runs, by_values = plan.error("age:ranges"), flat.error("age:ranges")
    assert by_runs is not None
    assert by_values is not None
    assert by_runs < 0.75 * by_values
    assert plan.error("age") > flat.error("age")


def test_groups_with_ranges(tmp_path: Path) -> None:
    data = rows(2000)
    release = publish(tmp_path, data, ask=["town,age:ranges"], epsilon=100)
    found = release.by("town", where="age BETWEEN 3 AND 40")
    towns, ages = np.asarray(data["town"]), np.asarray(data["age"])
    truth = [int(((towns == each) & (ages >= 3) & (ages <= 40)).sum()) for each in TOWNS]
    assert np.allclose(found["estimate"].to_numpy(), truth, atol=1)


LARGE = ht.Domain(income=ht.integers(0, 99_999), town=ht.integers(0, 2))


def test_a_condition_that_cuts_through_runs_has_bounds(tmp_path: Path) -> None:
    """The truth lies between the runs inside and those around; with next to no noise, both ends are these."""
    incomes = np.minimum((_random.pareto(1.0, 3000) * 3000).astype(np.int64), 99_999)
    towns = incomes % 3
    data = pa.table({"income": incomes, "town": towns})
    ask = ["16(income):ranges", "256(income),town"]
    release = publish(tmp_path, data, domain=LARGE, ask=ask, size=3000, epsilon=1000)

    def runs(first: int, last: int, width: int, where: Any = True) -> tuple[int, int]:
        start, stop = first // width, last // width
        inside = (incomes // width >= -(-first // width)) & (incomes // width < (last + 1) // width) & where
        return int(inside.sum()), int(
            ((incomes // width >= start) & (incomes // width <= stop) & where).sum()
        )

    for first, last in ((3, 12), (5, 4000), (16, 31), (1600, 99_999), (17, 90_000)):
        found = release.total(f"income BETWEEN {first} AND {last}")
        truth = int(((incomes >= first) & (incomes <= last)).sum())
        assert (found.low, found.high) == pytest.approx(runs(first, last, 16), abs=0.1)
        assert found.low - 0.1 <= truth <= found.high + 0.1
        assert found.low <= found.value <= found.high
        assert found.standard_error >= (found.high - found.low) / 2 - 0.1
        assert ("cuts through values" in found.note) is (found.high - found.low > 0.1)
    by_town = release.by("town", where="income BETWEEN 300 AND 9000")
    ends = [runs(300, 9000, 256, towns == town) for town in range(3)]
    assert np.allclose(by_town["low"].to_numpy(), [low for low, _ in ends], atol=0.1)
    assert np.allclose(by_town["high"].to_numpy(), [high for _, high in ends], atol=0.1)
    by_run = release.by("256(income)", where="income BETWEEN 300 AND 9000").to_pandas()
    assert by_run["estimate"].sum() == pytest.approx(
        release.total("income BETWEEN 300 AND 9000").value, rel=0.2
    )
    assert (by_run["low"] <= by_run["estimate"]).all()


def test_a_condition_that_cuts_through_runs_has_no_bounds_where_amounts_may_be_negative(
    tmp_path: Path,
) -> None:
    data = pa.table({"income": [5, 70, 400], "town": [0, 1, 2], "gain": [-3, 2, 1]})
    sums = {"sum_column": "gain", "clamp": (-5, 5)}
    release = publish(tmp_path, data, domain=LARGE, ask=["16(income):ranges", "town"], size=3000, **sums)
    assert "published whole. It is unbiased" in release.total("income < 32").note
    with pytest.raises(ht.BadQuery, match=r"no table of this release has 'income'\."):
        release.total("income < 33")


@pytest.mark.long
def test_bounds_of_a_condition_that_cuts_through_runs_hold(tmp_path: Path) -> None:
    incomes = np.arange(0, 99_999, 37)
    data, held = pa.table({"income": incomes, "town": incomes % 3}), []
    for _ in range(200):
        release = publish(tmp_path, data, domain=LARGE, ask=["16(income):ranges", "town"], size=3000)
        for first, last in ((31, 33), (15, 48), (1, 99_998), (1000, 5000)):
            found = release.total(f"income BETWEEN {first} AND {last}")
            held.append(found.low <= ((incomes >= first) & (incomes <= last)).sum() <= found.high)
    assert np.mean(held) > 0.95 - 5 * sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(
    ("of", "ask", "structure"),
    [
        ({"a": 10**6}, "a:ranges", ht.Tree()),
        ({"a": 1000, "b": 1000}, "a,b:ranges", ht.Tree(order=["a", "b"])),
        ({"a": 1000, "b": 1000}, "b,a:ranges", ht.Tree(order=["b", "a"])),
        ({"a": 1000, "b": 1000}, "a:ranges,b:ranges", ht.Tree(order="morton")),
    ],
)
def test_a_space_too_large_for_whole_tables_is_a_tree(
    of: dict[str, int], ask: str, structure: ht.Tree, tmp_path: Path
) -> None:
    names = [{"name": name, "integers": {"low": "0", "high": str(size - 1)}} for name, size in of.items()]
    domain = ht.Domain.from_dict({"attribute": names})
    plan = ht.plan(domain, epsilon=1, size=1000, ask=[ask])
    assert plan.structure == structure
    assert "tree" in repr(plan)
    assert plan.error(ask) is None
    data = pa.table({name: np.arange(100) for name in of})
    release = ht.publish(
        data, domain=domain, epsilon=1, size=1000, ask=[ask], output=tmp_path / "tree.parquet"
    )
    assert release.terms.structure == structure


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (["town:ranges"], "have no order and no ranges"),
        (["age:ranges,day", "town"], "ranges are asked for in 183,000 cells"),
        (["age:ranges,day", "town"], "Ask at a coarser level, raise the size"),
        (["age:ranges,day:ranges", "town"], r"Ask for ranges of runs, as in '16\(age\):ranges,"),
        (["age:ranges", "age:ranges"], "named twice"),
    ],
)
def test_ranges_that_cannot_be_are_refused(ask: list[str], words: str) -> None:
    with pytest.raises(ht.HushtableError, match=words):
        ht.plan(DOMAIN, epsilon=1, size=2000, ask=ask)
