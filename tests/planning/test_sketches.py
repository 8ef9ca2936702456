"""Planned count sketches: standard errors and mean errors against drawn sketches, and beside cells."""

from __future__ import annotations

import json
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.noise import two_sided_geometric
from hushtable.planning.plan import Plan
from hushtable.planning.sketches import SketchErrors
from tests.harness import cases
from tests.harness.cases import chosen, few
from tests.harness.statistics import SEED, replay

UNIFORM = ht.Profile(counts=range(1, 101), cells=[10] * 100, words="uniform")
ZIPF = ht.Profile(counts=np.maximum(5000 // np.arange(1, 2001), 1), cells=np.ones(2000), words="Zipf")
FEW = ht.Profile(counts=[700], cells=[30], words="few and large")
CELLS = 20_000


def planned(profile: ht.Profile = ZIPF, cells: int = CELLS, **settings: Any) -> Plan:
    domain = ht.Domain.from_dict({"attribute": [{"name": "a", "integers": {"low": 0, "high": cells - 1}}]})
    chosen: dict[str, Any] = {"epsilon": 1, "size": 500, "profile": profile}
    plan: Plan = ht.plan(domain, **chosen | settings)
    return plan


@pytest.mark.parametrize("profile", cases.chosen([UNIFORM, ZIPF, FEW], [1]), ids=["uniform", "zipf", "few"])
@pytest.mark.parametrize(("width", "depth"), few([(200, 3), (500, 1)], every=2))
def test_errors_are_those_of_drawn_sketches(profile: ht.Profile, width: int, depth: int) -> None:
    structure, sizes, rate = ht.CountSketch(width=width, depth=depth), (1, 100, 1000), Fraction(1, depth)
    said = SketchErrors(profile, structure, cells_total=CELLS, law=Geometric(rate))

    squares, errors = measured(profile, structure, rate, sizes)

    for place, size in enumerate(sizes):
        assert said.standard_error(size) == pytest.approx(sqrt(squares[place]), rel=0.05), size
        assert said.mean_error(size) == pytest.approx(errors[place], rel=0.05), size


def measured(
    profile: ht.Profile, structure: ht.CountSketch, rate: Fraction, sizes: tuple[int, ...]
) -> tuple[list[float], list[float]]:
    """Return mean squares and mean sizes of errors of sums of estimates, over many sketches."""
    random = np.random.default_rng(SEED)
    width, depth, sketches = structure.width, structure.depth, 400
    counts = np.zeros(CELLS)
    occupied = np.repeat(profile.counts, np.rint(profile.cells).astype(int))
    counts[: occupied.size] = occupied
    noise = two_sided_geometric(rate, replay(1), count=sketches * depth * width).reshape(-1, depth, width)
    found = np.zeros((2, len(sizes)))
    for number in range(sketches):
        off = -counts
        for row in range(depth):
            buckets, signs = random.integers(width, size=CELLS), random.choice([-1.0, 1.0], CELLS)
            held = np.bincount(buckets, weights=signs * counts, minlength=width) + noise[number, row]
            off = off + signs * held[buckets] / depth
        for place, size in enumerate(sizes):
            sums = random.permutation(off).reshape(-1, size).sum(axis=1)
            found[:, place] += np.mean(np.square(sums)) / sketches, np.mean(np.abs(sums)) / sketches
    return found[0].tolist(), found[1].tolist()


def test_the_standard_error_is_the_formula() -> None:
    plan = planned(unit=ht.Unit("person", max_rows=2))
    found = plan.sketch(ht.CountSketch(width=300, depth=2))
    decay = np.exp(-0.98 / 4)
    noise = 2 * decay / (1 - decay) ** 2
    squares = float(ZIPF.cells @ ZIPF.counts**2)

    assert found.standard_errors[1] == pytest.approx(sqrt(((squares - squares / CELLS) / 300 + noise) / 2))
    # Beyond independent estimates, there is only what two cells of the sum do to each other.
    pairs = 100 * 99 * (ZIPF.people**2 - squares) / (CELLS * (CELLS - 1)) / 300 / 2
    assert found.standard_errors[100] == pytest.approx(sqrt(100 * found.standard_errors[1] ** 2 + pairs))


def test_many_errors_together_are_normal() -> None:
    said = SketchErrors(UNIFORM, ht.CountSketch(width=500), cells_total=CELLS, law=Geometric(Fraction(1)))

    assert said.mean_error(10_000) == pytest.approx(said.standard_error(10_000) * sqrt(2 / pi), rel=1e-3)


def test_depth_one_is_best_and_deeper_sketches_are_told_so() -> None:
    deep = planned().sketch(ht.CountSketch(width=400, depth=4))
    flat = planned().sketch(deep.best)

    assert deep.best == flat.best == ht.CountSketch(width=1600)
    assert flat.standard_errors[1] < deep.standard_errors[1]
    assert "--width 1600 --depth 1 would have as many buckets, and smaller errors" in deep.warnings
    assert not any("--width" in each for each in flat.warnings)


def test_a_sketch_is_compared_with_cells_of_as_many_rows() -> None:
    found = planned(size=10).sketch(ht.CountSketch(width=200, depth=3))
    same = planned(size=600)

    assert found.plan.size == found.structure.rows_published == 600
    assert found.cells.method == same.recommended.method
    assert found.cells.errors[100] == pytest.approx(same.recommended.errors[100])
    assert found.occupied_error == same.predictor.occupied_error(same.recommended.method)
    assert list(found.errors) == [1, *same.zero_errors]


def test_the_error_of_an_occupied_cell_is_that_of_drawn_ones() -> None:
    cells = 2500  # few of them empty, so that absent ones stand for much
    plan = planned(cells=cells, epsilon="1/2")
    method = ht.FilterPriority(cutoff=12, size=300)
    counts = np.repeat(ZIPF.counts, np.rint(ZIPF.cells).astype(int)).astype(np.int64)
    table = ht.SparseTable(shape=(cells,), codes=np.arange(counts.size)[:, None], counts=counts)
    errors = []
    for _ in range(40):
        drawn = ht.summarize(table, method, epsilon=plan.rate)
        answers = np.full(cells, (counts.sum() - drawn.weights.sum()) / (cells - len(drawn)))
        answers[drawn.codes[:, 0]] = drawn.weights
        errors.append(np.abs(answers[: counts.size] - counts).mean())

    assert plan.predictor.occupied_error(method) == pytest.approx(np.mean(errors), rel=0.05)


def test_sampling_wins_and_that_is_said() -> None:
    found = planned().sketch(ht.CountSketch(width=2000))

    assert found.loses
    assert not found.worth
    assert found.reason.startswith("cells, by ")
    assert any(
        each.startswith("cells by ") and "are better, with as many rows" in each for each in found.warnings
    )


def test_a_sketch_may_see_what_few_rows_do_not() -> None:
    # As many large cells as there is no room for, and buckets whose cells mostly cancel out.
    alike = ht.Profile(counts=[1000], cells=[400], words="alike")
    found = planned(alike, size=100, total_share=0).sketch(ht.CountSketch(width=100))

    assert found.wasted
    assert found.relative > 1
    assert not found.worth
    large = planned(FEW).sketch(ht.CountSketch(width=3000))
    assert large.wasted == ()
    assert large.relative < 0.1


def test_the_page_and_json_have_both_beside_answering_0() -> None:
    found = planned().sketch(ht.CountSketch(width=400, depth=2))
    text = str(found)

    for start in ("sketch, standard error", "sketch  ", "cells, ", "answering 0", "sets of so many cells"):
        assert any(line.startswith(start) for line in text.splitlines()), start
    assert "A count sketch, 2 rows of 400 buckets" in text
    assert "Recommended: cells" in text
    assert max(map(len, text.splitlines())) <= 100
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["best"] == {"width": 800, "depth": 1}
    assert document["standard_errors"]["100"] == found.standard_errors[100]
    assert document["cells"]["occupied_error"] == found.occupied_error


@pytest.mark.parametrize(
    ("width", "depth"), chosen([(1, 1), (1, 64), (10**8, 1), (10**6, 64), (7, 5)], [0, 3])
)
@pytest.mark.parametrize("epsilon", ["1/1000", "1000"])
@pytest.mark.parametrize("cells", [2, 10**18])
def test_numbers_stay_numbers(width: int, depth: int, epsilon: str, cells: int) -> None:
    for profile in (
        ht.Profile(counts=[1], cells=[2], words="few"),
        ht.Profile(counts=[1, 10**12], cells=[1, 1], words="one very large"),
    ):
        found = planned(profile, cells, epsilon=epsilon).sketch(ht.CountSketch(width=width, depth=depth))
        json.dumps(found.to_dict(), allow_nan=False)
        assert str(found)
        for size, error in found.errors.items():
            assert 0 <= error <= found.standard_errors[size] * 1.02
