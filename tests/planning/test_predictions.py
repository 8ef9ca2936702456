"""Rows and errors of each method, against sums, sizes asked for, and releases that were drawn."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from hushtable.domain.domain import Domain
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Everything, Filter, FilterPriority, Method, Priority, Threshold
from hushtable.planning.predictions import Predictor, Setting
from hushtable.planning.profile import Profile
from tests.answers.drawn import draw
from tests.harness.cases import chosen
from tests.harness.statistics import SEED, replay

PROFILE = Profile(
    counts=np.array([1.0, 3, 10, 40, 120]), cells=np.array([300.0, 150, 90, 40, 20]), words="made up"
)
CELLS = 3000
RATE = Fraction(49, 500)


def predictor(rate: Fraction = RATE, total_rate: Fraction | None = Fraction(1, 500)) -> Predictor:
    total = None if total_rate is None else Geometric(total_rate)
    return Predictor(PROFILE, Setting(cells_total=CELLS, law=Geometric(rate), total_law=total))


@pytest.mark.parametrize("size", [1, 40, 500, 2000])
@pytest.mark.parametrize("rate", [Fraction(1, 1000), RATE, Fraction(3), Fraction(50)])
def test_a_size_is_the_rows_that_are_expected(size: int, rate: Fraction) -> None:
    ready = predictor(rate)
    most = ready.predict(FilterPriority(cutoff=1, size=CELLS), sizes=[10]).rows

    for method in (Filter(size=size), Priority(size=size), FilterPriority(cutoff=1, size=size)):
        assert ready.predict(method, sizes=[10]).rows == pytest.approx(min(size, most), rel=1e-6)


def test_the_size_of_a_threshold_sample_is_that_of_an_empty_table() -> None:
    found = predictor().predict(Threshold(size=200), sizes=[10])

    assert found.rows_noise / (CELLS - 600) * CELLS == pytest.approx(200, rel=1e-6)
    assert found.rows > 200


def test_fewer_rows_reach_a_cutoff_than_were_asked_for() -> None:
    found = predictor().predict(FilterPriority(cutoff=80, size=1000), sizes=[10])

    assert 10 < found.rows < 100
    assert found.threshold == 0
    assert found.rows_real + found.suppressed == pytest.approx(600)


@pytest.mark.parametrize("rate", [Fraction(1, 50), RATE, Fraction(1)])
def test_a_higher_cutoff_has_fewer_rows_of_which_more_are_real(rate: Fraction) -> None:
    ready = predictor(rate)
    found = [ready.predict(Filter(cutoff=cutoff), sizes=[10]) for cutoff in range(1, 100, 7)]

    assert (np.diff([each.rows for each in found]) < 0).all()
    assert (np.diff([each.real_share for each in found]) > -1e-12).all()


def test_more_epsilon_makes_errors_smaller() -> None:
    rates = [Fraction(1, 100), RATE, Fraction(1), Fraction(10)]
    for method in (Priority(size=300), Filter(size=300), Everything()):
        scores = [predictor(rate).predict(method, sizes=[10, 100]).score for rate in rates]

        assert (np.diff(scores) < 0).all()


def test_without_a_total_a_cutoff_leaves_a_bias() -> None:
    method = FilterPriority(cutoff=60, size=1000)
    bare, corrected = (
        predictor(total_rate=rate).predict(method, sizes=[1500]) for rate in (None, Fraction(1, 10))
    )

    assert bare.errors[1500] > 3 * corrected.errors[1500]
    assert predictor(total_rate=None).total_errors([10]) is None
    assert predictor().predict(method, sizes=[1500], corrected=False).errors == bare.errors


@pytest.mark.parametrize(
    ("method", "corrected"),
    chosen(
        [
            (Filter(cutoff=30), True),
            (Priority(size=300), True),
            (FilterPriority(cutoff=20, size=150), True),
            (FilterPriority(cutoff=20, size=150), False),
        ],
        [1, 3],
    ),
)
def test_errors_of_releases_are_as_predicted(method: Method, corrected: bool) -> None:
    domain = Domain.from_dict({"attribute": [{"name": "cell", "integers": {"low": 0, "high": CELLS - 1}}]})
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[: int(PROFILE.occupied)] = np.repeat(PROFILE.counts, PROFILE.cells.astype(int))
    budget = {"epsilon": Fraction(1, 10), "total_budget": Fraction(1, 500)}
    sizes, releases = [30, 300, 1500], 250
    random, entropy = np.random.default_rng(SEED * 10_000 + 11), replay(7300)
    errors: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(releases):
        release = draw(domain, counts, method, entropy=entropy, **budget)
        answers = np.zeros(CELLS)
        answers[release.codes[:, 0]] = release.weights
        if corrected and release.terms.cutoff:
            # What the weights miss of the noisy total is spread evenly over absent cells.
            absent = np.ones(CELLS, dtype=np.bool_)
            absent[release.codes[:, 0]] = False
            answers[absent] = ((release.terms.total or 0) - release.weights.sum()) / absent.sum()
        for size in sizes:
            # Cells are dealt into sets of one size.
            off = np.bincount(random.permutation(CELLS) // size, weights=answers - counts)
            errors[size].append(float(np.abs(off).mean()))

    predicted = predictor().predict(method, sizes=sizes, corrected=corrected).errors
    other = predictor(RATE / 2).predict(method, sizes=sizes, corrected=corrected).errors

    for size in sizes:
        # Six deviations: a chance of 10^-8 if means were normal; predictions are good to a per cent.
        reach = 6 * float(np.std(errors[size], ddof=1)) / sqrt(releases) + 0.01 * predicted[size]
        assert abs(np.mean(errors[size]) - predicted[size]) < reach
        assert abs(np.mean(errors[size]) - other[size]) > reach  # twice the noise is caught
