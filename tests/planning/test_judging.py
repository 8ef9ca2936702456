"""What a plan says of any method: whether it would be wasted, and what to be warned of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Method
from hushtable.planning.plan import Plan
from hushtable.planning.predictions import Predictor, Setting

DOMAIN = ht.Domain.from_dict({"attribute": [{"name": "home", "integers": {"low": 0, "high": 999_999}}]})


def paper(**settings: object) -> Plan:
    expected: dict[str, object] = {"expect_cells": 100_000, "expect_mean": 100, "expect_sd": 20}
    chosen = {"epsilon": "0.1", "size": 100_000} | expected | settings
    plan: Plan = ht.plan(DOMAIN, **chosen)  # type: ignore[arg-type]
    return plan


def test_the_recommended_method_is_judged_as_the_plan_is() -> None:
    found = paper()
    judged = found.judge(found.recommended.method)

    assert judged == found.judgement
    assert (judged.worth, judged.wasted, judged.warnings) == (True, (), ())
    assert judged.against_zero == found.against_zero


@pytest.mark.parametrize(("cutoff", "wasted"), [(10, "of the rows would be real"), (400, "")])
def test_a_worse_cutoff_is_told_apart(cutoff: int, wasted: str) -> None:
    found = paper()
    judged = found.judge(ht.Filter(cutoff=cutoff))

    assert judged.against_zero > 1.5 * found.against_zero
    assert judged.prediction.cutoff == cutoff
    assert bool(judged.wasted) == bool(wasted)
    assert wasted in " ".join(judged.wasted)


def test_the_noisy_total_alone_is_a_warning_and_no_waste() -> None:
    # Many cells alike: their number says it all.
    judged = paper(epsilon=1, size=1000, expect_mean=3, expect_sd=1).judgement

    assert not judged.worth
    assert judged.wasted == ()
    assert any("the rows add little to it" in each for each in judged.warnings)


@pytest.mark.parametrize(
    "method",
    [
        ht.Everything(),
        ht.Filter(cutoff="50.5"),
        ht.Threshold(threshold=300),
        ht.FilterThreshold(cutoff=60, threshold=90),
        ht.FilterThreshold(cutoff=60, size=90_000),
    ],
    ids=str,
)
def test_every_two_sided_method_is_judged(method: Method) -> None:
    judged = paper().judge(method)

    assert judged.prediction.method == method
    assert judged.against_zero > 0


@pytest.mark.parametrize(
    "method", [ht.Everything(nonnegative=True), ht.Priority(size=9, two_sided=False)], ids=str
)
def test_one_sided_methods_are_refused(method: Method) -> None:
    with pytest.raises(ht.BadChoice, match="two-sided summaries only"):
        paper().judge(method)


def test_a_filtered_threshold_sample_has_the_rows_that_are_drawn() -> None:
    random = np.random.default_rng(3)
    counts = np.maximum(np.rint(random.normal(100, 20, 10_000)), 1).astype(np.int64)
    table = ht.SparseTable(shape=(100_000,), codes=np.arange(10_000)[:, None], counts=counts)
    profile = ht.Profile.normal(cells=10_000, mean=100, sd=20)
    setting = Setting(cells_total=100_000, law=Geometric(Fraction(1)), total_law=None)
    predictor = Predictor(profile, setting)
    methods = ht.FilterThreshold(cutoff=60, threshold=300), ht.FilterThreshold(cutoff=8, size=20)

    for method in methods:
        rows = len(ht.summarize(table, method, epsilon=1).codes)
        assert rows == pytest.approx(predictor.predict(method, sizes=[100]).rows, abs=8 * rows**0.5)
