"""Coarser levels: which of them a plan lists, and from where on they are useful."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

import hushtable as ht
from hushtable.planning.merging import Merging
from hushtable.planning.plan import Plan

SMALL = ht.Profile(counts=[1, 2, 5], cells=[60_000, 20_000, 3_000], words="made up")
PLACES = {"start": 0, "stop": 8000, "step": 1, "levels": [10, 100, 1000]}


def domain(attributes: int = 2, **bins: Any) -> ht.Domain:
    each = [{"name": f"a{i}", "bins": PLACES | bins} for i in range(attributes)]
    return ht.Domain.from_dict({"attribute": each})


def small(declared: ht.Domain | None = None, **settings: Any) -> Plan:
    chosen: dict[str, Any] = {"epsilon": 1, "size": 1000, "profile": SMALL} | settings
    plan: Plan = ht.plan(domain() if declared is None else declared, **chosen)
    return plan


def test_a_plan_lists_coarser_levels_from_many_cells_to_few() -> None:
    found = small()

    assert not found.worth
    assert all(one.cells_total > other.cells_total for one, other in pairwise(found.rollups))
    assert found.rollups[-1].level == {"a0": "1000", "a1": "1000"}
    assert found.rollups[-1].cells_total == 64
    assert [each.worth for each in found.rollups] == sorted(each.worth for each in found.rollups)
    for each in found.rollups:
        assert domain().at(each.level).cells_total == each.cells_total
        assert each.rows_real == pytest.approx(each.rows * each.real_share)


def test_a_rollup_is_worth_what_a_plan_at_its_level_says() -> None:
    found = small()
    useful = found.useful_from

    assert useful is not None
    assert useful == next(each for each in found.rollups if each.worth)
    # The same people as the roll-up takes them to be, by a plan that tries more cutoffs.
    merged = Merging(SMALL, cells_total=found.cells_total).into(useful.cells_total)
    again = small(level=useful.level, profile=merged)
    assert again.worth
    assert again.against_zero == pytest.approx(useful.against_zero, rel=0.05)


def test_a_level_that_is_planned_with_is_kept() -> None:
    found = small(level={"a0": "100"}, profile=ht.Profile(counts=[1], cells=[50_000], words="made up"))

    assert found.cells_total == 80 * 8000
    assert {each.level["a0"] for each in found.rollups} <= {"100", "1000"}
    assert all(
        "--level a0=1000" in each.options or "--level a0=100" in each.options for each in found.rollups
    )


def test_a_size_is_lowered_to_the_cells_there_are() -> None:
    few = small().rollups[-1]

    assert few.size == 64
    assert few.options == "--level a0=1000 --level a1=1000 --size 64"
    assert small().rollups[0].size is None


def test_many_combinations_are_not_all_examined() -> None:
    declared = domain(20, stop=4000)
    found = small(declared, epsilon=3)

    assert declared.cells_total > 10**70
    assert 2 <= len(found.rollups) <= 12
    assert found.rollups[-1].cells_total == 4**20


def test_a_page_and_json_say_from_where_on_levels_are_useful() -> None:
    found = small()
    text = found.details

    assert found.useful_from is not None
    assert f"Useful from: {found.useful_from.options}\n" in text
    assert f"coarser levels help, from {found.useful_from.options} on" in found.warnings
    assert "Real tables cluster" in " ".join(text.split())
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [each["options"] for each in document["rollups"]] == [each.options for each in found.rollups]
    assert document["rollups"][0]["level"] == found.rollups[0].level


def test_a_plan_that_is_worth_it_lists_them_briefly() -> None:
    large = ht.Profile(counts=[500], cells=[2000], words="made up")
    text = small(size=5000, profile=large).details

    assert "coarser levels " in text
    assert "Useful from" not in text


def test_nothing_is_said_without_levels() -> None:
    declared = ht.Domain.from_dict({"attribute": [{"name": "a", "integers": {"low": 0, "high": 9_999_999}}]})
    found = small(declared)

    assert found.rollups == ()
    assert found.useful_from is None
    assert "coarser levels " not in found.details.partition("warning:")[0]


def test_where_no_level_helps_that_is_said() -> None:
    found = small(epsilon="0.0001", total_share=0)

    assert found.useful_from is None
    assert "Useful from: none of these" in found.details
