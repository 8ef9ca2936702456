"""Planned data cubes: what each marginal would be worth, against drawn ones, and beside the full table."""

from __future__ import annotations

import json
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.methods.settings import Method
from hushtable.noise import two_sided_geometric
from hushtable.planning.cubes import CubePrediction
from hushtable.planning.plan import Plan
from hushtable.structures.marginals import cube_space
from hushtable.summaries.cubes import draw_marginals
from hushtable.summaries.draws import TableHere
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from hushtable.table.sparse import SparseTable
from tests.harness import cases
from tests.harness.statistics import SEED, replay

SHAPE = (60, 50, 40)
CUBE = ht.Marginals("all-1", "all-2", weights=[1, 2])


def domain(*sizes: int) -> ht.Domain:
    each = [{"name": f"a{i}", "integers": {"low": 0, "high": size - 1}} for i, size in enumerate(sizes)]
    return ht.Domain.from_dict({"title": "Made up", "attribute": each})


def zipf(cells: int, most: int) -> ht.Profile:
    counts = np.maximum(most / np.arange(1, cells + 1), 1).astype(int)
    return ht.Profile(counts=counts, cells=np.ones(cells), words="Zipf")


UNIFORM = ht.Profile(counts=range(1, 101), cells=[20] * 100, words="uniform")
ZIPF = zipf(3000, 4000)


def planned(profile: ht.Profile = UNIFORM, *sizes: int, **settings: Any) -> Plan:
    chosen: dict[str, Any] = {"epsilon": 1, "size": 2100, "profile": profile}
    plan: Plan = ht.plan(domain(*sizes or SHAPE), **chosen | settings)
    return plan


@pytest.mark.parametrize("profile", cases.chosen([UNIFORM, ZIPF], [1]), ids=["uniform", "zipf"])
def test_errors_and_rows_are_those_of_drawn_cubes(profile: ht.Profile) -> None:
    plan = planned(profile)
    said = plan.cube(CUBE)
    assert {type(each.prediction.method) for each in said.marginals} == {ht.Everything, ht.FilterPriority}

    errors, even, bare, rows = measured(plan, said)

    for place, each in enumerate(said.marginals):
        assert rows[place] == pytest.approx(each.prediction.rows, rel=0.05)
        assert each.error == pytest.approx(errors[place], rel=0.05), each.label
        assert each.from_even == pytest.approx(even[place], rel=0.05), each.label
        assert each.from_clustered == pytest.approx(bare[place], rel=0.05), each.label


def test_the_noise_is_that_of_units_that_change_sums_by_more_than_cells() -> None:
    plan = planned(UNIFORM, 40, 50, epsilon=None, rho="0.1", unit=ht.Unit("person", max_cells=10))
    cube = ht.Marginals(["a0"], ["a0", "a1"])
    said = plan.cube(cube)
    rows = plan.budget - plan.total_budget
    assert [each.epsilon / rows for each in said.marginals] == [Fraction(10, 11), Fraction(1, 11)]
    # Equal weights are equal noise: of variance (10^2 + 10) / (2 rho), whose mean size is 0.8 deviations.
    deviation = sqrt(110 / float(2 * rows))
    assert all(each.error == pytest.approx(sqrt(2 / pi) * deviation, rel=0.01) for each in said.marginals)


def measured(plan: Plan, said: CubePrediction) -> tuple[NDArray[np.float64], ...]:
    """Return mean errors of drawn marginals, of sums from the full table, corrected and not; and rows."""
    random = np.random.default_rng(SEED)
    cube = cube_space(CUBE, domain(*SHAPE))
    counts = np.repeat(plan.profile.counts, np.rint(plan.profile.cells).astype(int)).astype(np.int64)
    releases, found = 150, np.zeros((4, len(cube.marginals)))
    spent = plan.budget - plan.total_budget
    for number in range(releases):
        places = random.choice(plan.cells_total, counts.size, replace=False)
        codes = np.stack(np.unravel_index(places, SHAPE), axis=1)
        table = SparseTable(shape=SHAPE, codes=codes, counts=counts)
        entropy, one = replay(number), Fraction(1)
        total = int(counts.sum()) + int(two_sided_geometric(plan.total_budget, entropy, count=1)[0])
        methods = [each.prediction.method for each in said.marginals]
        drawn = draw_marginals(
            TableHere(table), cube, methods, epsilon=spent, sensitivity=one, entropy=entropy
        )
        recommended = plan.recommended.method
        whole = draw_summary(table, recommended, epsilon=spent, sensitivity=one, entropy=entropy)
        true = dense(codes, counts, SHAPE, 0.0)
        full = answers(whole, SHAPE, recommended, total), dense(whole.codes, whole.weights, SHAPE, 0.0)
        for place, (part, marginal) in enumerate(zip(drawn, cube.marginals, strict=True)):
            own = answers(part, marginal.domain.shape, methods[place], total)
            others = tuple({0, 1, 2}.difference(marginal.places))
            off = [own - true.sum(axis=others), *((each - true).sum(axis=others) for each in full)]
            found[:, place] += *(np.abs(each).mean() for each in off), len(part)
    return tuple(found / releases)


def answers(drawn: Summary, shape: tuple[int, ...], method: Method, total: int) -> NDArray[np.float64]:
    """Return what a recipient makes of each cell: what a cutoff misses of the total is spread evenly."""
    away = int(np.prod(shape)) - len(drawn)
    missed = total - float(drawn.weights.sum())
    spread = isinstance(method, ht.Filter | ht.FilterPriority) and away > 0
    return dense(drawn.codes, drawn.weights, shape, missed / away if spread else 0.0)


def dense(codes: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...], others: float) -> NDArray[Any]:
    made = np.full(shape, others)
    made[tuple(codes.T)] = values
    return made


def test_epsilon_is_split_by_weights_and_small_marginals_are_whole() -> None:
    found = planned().cube(CUBE)

    assert [each.label for each in found.marginals] == ["a0", "a1", "a2", "a0, a1", "a0, a2", "a1, a2"]
    assert sum(each.epsilon for each in found.marginals) == Fraction(49, 50)
    assert [each.epsilon * 9 / Fraction(49, 50) for each in found.marginals] == [1, 1, 1, 2, 2, 2]
    whole = [each.cells_total for each in found.marginals if each.prediction.method == ht.Everything()]
    assert whole == [60, 50, 40, 2000]
    for each in found.marginals:
        assert each.prediction.truths == {1: pytest.approx(UNIFORM.people / each.cells_total)}
        assert each.relative == each.occupied_error / each.occupied_mean
        if each.prediction.method == ht.Everything():  # all cells have the same noise
            assert each.occupied_error == pytest.approx(each.error, rel=1e-3)
        else:
            assert each.occupied_error > each.error
        assert each.occupied_mean >= UNIFORM.people / each.cells_total * (1 - 1e-9)


def test_a_marginal_of_all_attributes_is_a_release_of_cells() -> None:
    plan = planned()
    (alone,) = plan.cube(ht.Marginals(["a2", "a0", "a1"]), [plan.recommended.method]).marginals

    assert (alone.epsilon, alone.cells_total) == (plan.budget - plan.total_budget, plan.cells_total)
    assert (
        alone.error == alone.from_even == plan.predictor.predict(alone.prediction.method, sizes=[1]).errors[1]
    )
    assert not alone.better


def test_the_unit_and_the_total_are_those_of_the_plan() -> None:
    structure = ht.Marginals("all-1")
    plain, of_units = planned(), planned(epsilon=3, unit=ht.Unit("person", max_rows=3))
    without = planned(total_share=0)

    errors = [[each.error for each in plan.cube(structure).marginals] for plan in (plain, of_units)]
    assert errors[0] == pytest.approx(errors[1])
    assert without.cube(structure).marginals[0].epsilon == Fraction(1, 3)


def test_marginals_that_are_worth_nothing_are_told_and_waste_the_cube_only_if_all_are() -> None:
    sparse = ht.Profile(counts=[1], cells=[3000], words="one in each")
    plan = planned(sparse, 3000, 3000, 2, epsilon="1/10")
    some = plan.cube(ht.Marginals("all-1", ["a0", "a1"]))
    none = plan.cube(ht.Marginals(["a0", "a1"]))

    assert [each.worth for each in some.marginals] == [False, False, True, False]
    assert (some.worth, some.wasted) == (True, ())
    assert "3 of 4 marginals are not worth the epsilon: (a0), (a1), (a0, a1)" in some.warnings
    assert not none.worth
    assert none.wasted[0].startswith("of the best marginal, 'a0, a1', ")
    assert none.warnings[: len(none.wasted)] == none.wasted
    assert "not this cube" in none.reason


def test_the_page_and_json_have_every_marginal_beside_the_full_table() -> None:
    found = planned().cube(CUBE)
    text = str(found)

    for each in found.marginals:
        row = next(line for line in text.splitlines() if line.startswith(f"{each.label}  "))
        assert f"{each.error:.3g}" in row
        assert row.endswith("yes" if each.worth else "no")
    assert "The plan assumes uniform" in text
    assert "Recommended: the cube, for its own marginals" in text
    assert max(map(len, text.splitlines())) <= 100
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["worth"] is found.worth
    assert [each["marginal"] for each in document["marginals"]] == [each.label for each in found.marginals]
    assert document["marginals"][0]["from_clustered"] == found.marginals[0].from_clustered


def test_many_marginals_are_not_all_on_the_page_and_long_names_are_cut() -> None:
    plan = ht.plan(domain(*[3] * 20), epsilon=10, size=100, profile=zipf(1000, 500))
    found = plan.cube(ht.Marginals("all-2", "all-3", [f"a{i}" for i in range(20)]))

    assert len(found.marginals) == 190 + 1140 + 1
    text = str(found)
    assert "and 1,271 more marginals, which JSON lists." in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("sizes", "epsilon", "size"),
    [((2, 1), "1/1000", 1), ((1, 1, 7), "50", 1), ((10**9,) * 15, "1", 10), ((2,) * 40, "100", 10**6)],
)
def test_numbers_stay_numbers(sizes: tuple[int, ...], epsilon: str, size: int) -> None:
    for profile in (
        ht.Profile(counts=[1], cells=[2], words="few"),
        ht.Profile(counts=[10**12], cells=[1], words="one very large"),
    ):
        plan = planned(profile, *sizes, epsilon=epsilon, size=size)
        found = plan.cube(ht.Marginals("all-1", f"all-{len(sizes)}"))
        json.dumps(found.to_dict(), allow_nan=False)
        assert str(found)
        for each in found.marginals:
            assert 0 <= each.error < 1e13
            assert 0 <= each.from_even < 1e13
            assert 0 <= each.from_clustered < 1e13


@pytest.mark.parametrize(
    ("structure", "methods", "said"),
    [
        (ht.Marginals(["a9"]), None, "a marginal names 'a9', which is not an attribute"),
        (ht.Marginals("all-4"), None, "asks for 4 attributes at a time"),
        (ht.Marginals("all-1"), [ht.Everything()], "1 methods are given for 3 marginals"),
        (ht.Marginals("all-1"), [ht.Everything(nonnegative=True)] * 3, "two-sided summaries only"),
    ],
)
def test_what_makes_no_sense_is_refused(
    structure: ht.Marginals, methods: list[Method] | None, said: str
) -> None:
    with pytest.raises(ht.BadChoice, match=said):
        planned().cube(structure, methods)


def test_a_share_of_epsilon_may_be_too_small() -> None:
    with pytest.raises(ht.BadNumber, match="rate"):
        planned().cube(ht.Marginals("all-1", ["a0", "a1"], weights=[1, "1/10000000000000000"]))


def test_cubes_and_sketches_are_not_judged_as_cells() -> None:
    for structure in (CUBE, ht.CountSketch(width=10)):
        with pytest.raises(ht.BadChoice, match=r"judged by `Plan.cube` and `Plan.sketch`"):
            planned().judge(ht.Everything(), structure)
