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
        (["age:ranges", "age:ranges"], "named twice"),
    ],
)
def test_ranges_that_cannot_be_are_refused(ask: list[str], words: str) -> None:
    with pytest.raises(ht.HushtableError, match=words):
        ht.plan(DOMAIN, epsilon=1, size=2000, ask=ask)
