"""Tables for questions: which are chosen, how they share epsilon, and the errors that are promised."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.items import Item
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.sensitivities import Sensitivities
from hushtable.planning.questions import (
    AskedQuestion,
    QuestionPlan,
    asked_questions,
    planned_by_default,
    planned_for,
)
from hushtable.planning.sharing import Budget
from tests.harness.cases import few

ONE = Budget(Fraction(1), 1)


def domain(*sizes: int) -> ht.Domain:
    attributes = [
        {"name": f"a{place}", "integers": {"low": "0", "high": str(size - 1)}}
        for place, size in enumerate(sizes)
    ]
    return ht.Domain.from_dict({"attribute": attributes})


def asked(of: ht.Domain, *texts: str, size: int = 1000, budget: Budget = ONE) -> QuestionPlan:
    return planned_for(of, asked_questions(of, list(texts)), size=size, budget=budget)


def test_a_question_has_a_table_of_its_own() -> None:
    plan = asked(domain(10, 20, 30), "a0", "a1,a2")
    assert plan.tables == ((Item(0),), (Item(1), Item(2)))
    assert plan.shares == pytest.approx((500, 500), abs=5)  # they share what they say of the total


def test_shares_are_the_best_there_are() -> None:
    of = domain(4, 9, 25)
    plan = asked(of, "a0", "a0,a1", "a1,a2", "a2")

    def mean_of_logarithms(shares: tuple[int, ...]) -> float:
        other = QuestionPlan(of, ONE, plan.questions, plan.tables, shares, plan.size)
        errors = [other.error([f"a{item.place}" for item in each.items]) for each in plan.questions]
        return float(np.log(np.array(errors, dtype=np.float64)).mean())

    best = mean_of_logarithms(plan.shares)
    for one, two in combinations(range(len(plan.shares)), 2):
        for step in (-60, 60):
            moved = list(plan.shares)
            moved[one], moved[two] = moved[one] + step, moved[two] - step
            if min(moved) > 0:
                assert mean_of_logarithms(tuple(moved)) > best - 1e-4


def test_a_question_that_counts_more_has_a_smaller_error() -> None:
    of = domain(10, 10, 10)
    light = planned_for(of, asked_questions(of, ["a0", "a1"]), size=100, budget=ONE)
    heavy = planned_for(of, asked_questions(of, [{"ask": "a0", "weight": 3}, "a1"]), size=100, budget=ONE)
    errors = [(plan.error("a0") or 0.0, plan.error("a1") or 0.0) for plan in (light, heavy)]
    assert errors[1][0] < errors[0][0]
    assert errors[1][1] > errors[0][1]


def test_with_an_assumption_a_plan_says_how_much_an_error_is_of_what_a_group_holds() -> None:
    of, wanted = domain(10, 500), ["a0", "a0,a1", "a0:ranges"]
    alone = ht.plan(of, epsilon="1/10", size=2000, ask=wanted)
    plan = ht.plan(of, epsilon="1/10", size=2000, ask=wanted, expect_cells=1000, expect_mean=2, expect_sd=1)
    assert (plan.tables, plan.shares) == (alone.tables, alone.shares)  # an assumption chooses no table
    told = plan.to_dict()["questions"]
    assert [round(each["held"], 6) for each in told[:2]] == [200, 0.4]
    assert 200 < told[2]["held"] < 2000
    assert told[1]["error"] > 0.4
    assert "some answers are lost in noise: a0,a1. Ask" in " ".join(str(plan).split())
    assert "held" not in str(alone.to_dict())
    assert f"{100 * told[0]['error'] / 200:.2g} %"[:2] in str(plan)


def test_tables_of_three_attributes_may_be_a_tenth_worse_than_noise_on_every_cell_so_that_all_gain() -> None:
    of = domain(9, 16, 7, 15, 6, 5, 2)
    three = [",".join(each) for each in combinations(of.names, 3)]
    plan = asked(of, *(",".join(each) for many in (1, 2) for each in combinations(of.names, many)), *three)
    equal = QuestionPlan(of, ONE, plan.questions, plan.tables, (1,) * len(plan.tables), plan.size)

    def errors(some: QuestionPlan) -> np.ndarray:
        return np.array([some.error(plan.asked(each)) for each in plan.questions], dtype=np.float64)

    dense = [(ONE.variance(1.0) * of.cells_total / plan.groups(each)) ** 0.5 for each in plan.questions]
    few = np.array([len(each.items) < 3 for each in plan.questions])
    ratios = errors(plan) / np.array(dense)
    assert ratios[few].max() < 1
    assert 1 < ratios[~few].max() < 1.105
    assert np.log(errors(plan)).mean() < np.log(errors(equal)).mean()
    assert (errors(plan) ** 2).mean() < 1.03 * (errors(equal) ** 2).mean()


SHAPES = [(9, 16, 7, 15, 6, 5, 2), (229, 229, 24), (207, 168, 80), (10, 9, 518, 72), (10, 10, 10), (4, 5)]


@pytest.mark.parametrize(("epsilon", "sizes"), few(product(["1/10", "1", "3"], SHAPES), every=5))
def test_no_question_by_one_or_two_is_worse_off_than_from_noise_on_every_cell(
    sizes: tuple[int, ...], epsilon: str
) -> None:
    of, budget = domain(*sizes), Budget(Fraction(epsilon), 1)
    plan = planned_by_default(of, size=20_000, budget=budget)
    assert plan is not None
    dense = budget.variance(1.0)
    for number in (1, 2):
        for places in combinations(range(len(sizes)), number):
            if number == len(sizes):
                continue
            error = plan.error([f"a{place}" for place in places])
            cells = of.cells_total / prod(sizes[place] for place in places)
            assert error is not None
            assert error <= (dense * cells) ** 0.5 * 1.001


@pytest.mark.parametrize("ask", [None, ["a0", "a1", "a0,a1", "a1,a2"], ["a0,a1,a2"]])
@pytest.mark.parametrize("cost", [{"rho": "0.02"}, {"epsilon": 1, "delta": "1e-6"}, {"epsilon": 1}], ids=str)
def test_errors_are_predicted_where_a_unit_changes_sums_by_more_than_cells(
    cost: dict[str, Any], ask: list[str] | None, tmp_path: Path
) -> None:
    of, unit = domain(12, 15, 20), ht.Unit("person", max_cells=10)
    plan = ht.plan(of, size=2000, unit=unit, ask=ask, **cost)
    people = pa.table({name: [0, 1] for name in ("person", *of.names)})
    words: dict[str, Any] = {
        "size": 2000,
        "unit": unit,
        "ask": ask,
        "ledger": False,
        "output": tmp_path / "r.parquet",
    }
    release = ht.publish(people, domain=of, **words, **cost)
    assert release.terms.law_name == plan.budget.law.name
    for names in ("a0", "a1", "a0,a1", "a1,a2", "a0,a1,a2"):
        expected = plan.error(names)
        if expected is not None:
            errors = release.by(names).column("standard_error").to_numpy()
            assert np.sqrt(np.mean(errors**2)) == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("size", [100, 2000, 10_000])  # with the last, all tables are whole
@pytest.mark.parametrize("cells", [3, 10])
def test_where_sums_change_by_more_no_question_is_more_than_a_tenth_worse_off(cells: int, size: int) -> None:
    of, one = domain(40, 30, 24), Sensitivities.of_cells(cells, 1)
    budget = Budget.of(Fraction("0.02"), one, Gaussian)
    dense = budget.in_cells.variance(1.0)
    assert dense == pytest.approx(cells / 0.04, rel=0.01)
    for ask in (None, ["a0", "a1", "a2", "a0,a1"]):
        plan = planned_by_default(of, size=size, budget=budget) if ask is None else None
        plan = plan or asked(of, *ask or (), size=size, budget=budget)
        for each in plan.questions:
            error = plan.error(plan.asked(each))
            if error is not None and len(each.items) < 3:
                assert error <= 1.105 * (dense * of.cells_total / plan.groups(each)) ** 0.5


def test_cells_that_nobody_asked_for_get_a_table_where_sums_of_few_cells_are_dear() -> None:
    of = domain(40, 30, 4)
    budget = Budget.of(Fraction("0.02"), Sensitivities.of_cells(10, 1), Gaussian)
    plan = asked(of, "a0", "a1", "a0,a1", size=10_000, budget=budget)
    assert set(plan.tables) == {(Item(0),), (Item(1),), (Item(0), Item(1), Item(2))}
    dense = budget.in_cells.variance(1.0)
    worse = [
        (plan.error(name) or 0.0) / (dense * cells) ** 0.5 for name, cells in (("a0,a1", 4), ("a0", 120))
    ]
    assert worse[0] < 1.105
    assert worse[1] < 0.75


@pytest.mark.parametrize("epsilon", [10, 100, 1000])
def test_a_plan_with_next_to_no_noise_is_a_plan(epsilon: int) -> None:
    plan = planned_by_default(domain(40, 30, 50), size=1000, budget=Budget(Fraction(epsilon), 1))
    assert plan is not None
    assert all(plan.shares)
    assert all((plan.error(f"a{place}") or 0.0) < 10 for place in range(3))


def test_a_small_domain_is_one_whole_table() -> None:
    plan = planned_by_default(domain(10, 10, 10), size=20_000, budget=ONE)
    assert plan is not None
    assert plan.tables == ((Item(0), Item(1), Item(2)),)


def test_the_cells_are_part_of_the_default() -> None:
    two = planned_by_default(domain(1000, 1000), size=1000, budget=ONE)
    assert two is not None
    assert dict(zip(two.tables, two.shares, strict=True))[Item(0), Item(1)] == 800
    assert planned_by_default(domain(10**6), size=1000, budget=ONE) is None


def test_levels_have_tables_too() -> None:
    day = {"start": "2024-01-01", "stop": "2025-01-01", "every": "1 day", "levels": ["1 month"]}
    of = ht.Domain.from_dict(
        {"attribute": [{"name": "day", "times": day}, {"name": "job", "integers": {"low": "0", "high": "9"}}]}
    )
    plan = asked(of, "month(day),job", size=100)
    assert plan.tables == ((Item(0, 1), Item(1)),)
    assert plan.structure == ht.Tables("month(day),job", shares=[1000])
    assert plan.error("month(day)") is not None
    assert plan.error("day") is None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ([], "names no questions"),
        (3, "names no questions"),
        (["a0", "a0"], "named twice"),
        (["a9"], "there is no attribute 'a9'"),
        ([{"ask": "a0", "weight": -1}], "weight"),
    ],
)
def test_questions_that_are_none_are_refused(ask: object, words: str) -> None:
    with pytest.raises(ht.HushtableError, match=words):
        asked_questions(domain(3, 4), ask)


def test_a_plan_reads_as_a_page_and_as_json() -> None:
    plan = ht.plan(domain(10, 20, 3000), epsilon=1, size=1000, ask=["a0", "a0,a2"])
    assert isinstance(plan, ht.QuestionPlan)
    assert "a0,a2" in repr(plan)
    assert "depends on the counts" in repr(plan)
    told = plan.to_dict()
    assert [each["question"] for each in told["questions"]] == ["a0", "a0,a2"]
    assert told["questions"][1]["error"] is None
    assert sum(Fraction(each["epsilon"]) for each in told["tables"]) == 1


def test_questions_are_frozen_records() -> None:
    assert asked_questions(domain(3, 4), "a0,a1") == (AskedQuestion((Item(0), Item(1))),)


def test_a_plan_with_an_assumption_leads_to_tables_where_they_are_better() -> None:
    of = domain(120, 100, 24)
    plan = ht.plan(of, epsilon=1, size=5000, expect_cells=30_000, expect_mean=8, expect_sd=10)
    compared = plan.against_questions()
    assert set(compared) == {"a0", "a1", "a2", "a0,a1", "a0,a2", "a1,a2"}
    assert all(tables < cells for tables, cells in compared.values())
    expected = plan.questions.error("a0")
    assert compared["a0"][0] == pytest.approx(0.8 * expected)
    assert "Several tables answer 6 of 6 questions better" in plan.details
    assert "Several tables answer 6 of 6 usual questions better than these cells." in repr(plan)
    assert plan.to_dict()["questions"]["a0"]["tables"] == compared["a0"][0]


def test_a_plan_of_cells_alone_compares_no_questions() -> None:
    plan = ht.plan(domain(10**7), epsilon=1, size=1000, expect_cells=2000, expect_mean=50, expect_sd=10)
    assert plan.questions is None
    assert plan.against_questions() == {}
    assert "Several tables" not in repr(plan)
