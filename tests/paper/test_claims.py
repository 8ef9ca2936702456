"""Verdicts follow from numbers: made-up results on both sides of every rule that is used."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from paper import claims, drawing, measuring
from paper.claims import Claim, Verdict, above, below, judged, within
from paper.experiments import comparison, parameters, ranges, throughput
from paper.measuring import Measured, Numbers, Results, Setting, measured, ratio
from paper.releasing import sizes_of

HOLDS, IN_PART, DOES_NOT = Verdict.HOLDS, Verdict.IN_PART, Verdict.DOES_NOT


@pytest.mark.parametrize(
    ("mean", "error", "verdict"),
    [(0.9, 0.04, HOLDS), (0.9, 0.06, IN_PART), (1.1, 0.06, IN_PART), (1.1, 0.04, DOES_NOT)],
)
def test_below_needs_two_standard_errors(mean: float, error: float, verdict: Verdict) -> None:
    assert below(Measured(mean, error, 10), 1) is verdict
    assert above(Measured(2 - mean, error, 10), 1) is verdict


@pytest.mark.parametrize(("mean", "verdict"), [(0.7, DOES_NOT), (0.85, HOLDS), (1.5, HOLDS), (2.3, DOES_NOT)])
def test_within_allows_for_chance(mean: float, verdict: Verdict) -> None:
    assert within(Measured(mean, 0.1, 10), 1, 2) is verdict


def test_within_says_nothing_of_what_is_known_badly() -> None:
    assert within(Measured(1.5, 0.24, 10), 1, 2) is HOLDS
    assert within(Measured(1.5, 0.26, 10), 1, 2) is IN_PART
    assert within(measured([1.5]), 1, 2) is IN_PART


def test_parts_make_a_verdict() -> None:
    assert judged([HOLDS, True]) is HOLDS
    assert judged([HOLDS, False]) is IN_PART
    assert judged([IN_PART]) is IN_PART
    assert judged([False, DOES_NOT]) is DOES_NOT
    with pytest.raises(ValueError, match="at least one"):
        judged([])


@pytest.mark.parametrize("module", [claims, drawing, measuring], ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_one_run_proves_nothing() -> None:
    assert below(measured([0.1]), 1) is IN_PART
    assert below(ratio([0.1], [1.0]), 1) is IN_PART


def test_ratios_are_paired() -> None:
    noise = np.random.default_rng(1).uniform(1, 9, 20)
    assert ratio((2 * noise).tolist(), noise.tolist()) == Measured(2.0, 0.0, 20)
    assert ratio(noise.tolist(), noise[::-1].tolist()).error > 0.1


def test_runs_are_paired_whatever_their_order() -> None:
    rows: list[tuple[Setting, Numbers]] = [
        ({"arm": "one", "run": run}, {"error": 2.0 * (run + 1)}) for run in range(5)
    ]
    rows += [({"arm": "other", "run": run}, {"error": 1.0 * (run + 1)}) for run in (3, 1, 4, 0, 2)]
    assert Results(rows).ratio("error", {"arm": "one"}, {"arm": "other"}) == Measured(2.0, 0.0, 5)


def results_of(module: object, numbers: Callable[[Setting, int], dict[str, float]]) -> Results:
    """Return results of the quick settings, by made-up numbers for each size."""
    rows = []
    for setting in module.settings(True):  # type: ignore[attr-defined]
        found: dict[str, float] = {}
        for size in sizes_of(setting) if "sizes" in setting else (1,):
            found |= {
                f"{name} {size}" if "sizes" in setting else name: v
                for name, v in numbers(setting, size).items()
            }
        rows.append((setting, {**found, "rows": 1e4, "occupied share": 1.0, "empty rows": 0.0}))
    return Results(rows)


def verdicts(found: list[Claim]) -> dict[str, Verdict]:
    return {claim.says: claim.verdict for claim in found}


def compared(factors: dict[str, float]) -> Results:
    def numbers(setting: Setting, size: int) -> dict[str, float]:
        error = factors.get(str(setting["arm"]), 1.0) * size**0.5 * (1 + 0.01 * int(str(setting["run"])))
        return {"error": error, "relative": error / size / 2}

    return results_of(comparison, numbers)


def test_comparison_on_both_sides() -> None:
    says = "filter-priority with cutoff 50 outperforms the geometric mechanism at all subset sizes"
    for factor, verdict in ((0.5, HOLDS), (1.0, IN_PART), (2.0, DOES_NOT)):
        found = verdicts(comparison.claims(compared({"filter-priority": factor}), True))
        assert found[says] is verdict
    good = verdicts(
        comparison.claims(compared({"filter": 0.5, "priority": 5.0, "uniform sample": 50.0}), True)
    )
    bad = verdicts(
        comparison.claims(
            compared({"filter": 9.0, "filter of the same size": 9.0, "priority": 5.0, "uniform sample": 0.5}),
            True,
        )
    )
    for says, one, other in (
        ("for small and medium queries, filtering with cutoff 50 performs best", HOLDS, DOES_NOT),
        ("filtering outperforms sampling across a range of sizes", HOLDS, DOES_NOT),
        ("sampling is preferable to filtering when the range is large enough", DOES_NOT, HOLDS),
        ("a uniform sample of cells is virtually useless", HOLDS, DOES_NOT),
    ):
        assert (good[says], bad[says]) == (one, other), says


def test_parameters_on_both_sides() -> None:
    def numbers(best: int) -> Callable[[Setting, int], dict[str, float]]:
        def made(setting: Setting, size: int) -> dict[str, float]:
            cutoff = int(str(setting.get("cutoff", 40)))
            error = (1 + (cutoff - best) ** 2 / 100) * (1 + 0.001 * int(str(setting["run"])))
            return {"error": error, "relative": error / 100, "bias": 0.0, "truth": 100.0, "over": 0.5}

        return made

    says = "a cutoff of 40 is about optimal, half of the mean of the non-zero values"
    assert verdicts(parameters.claims(results_of(parameters, numbers(35)), True))[says] is HOLDS
    assert verdicts(parameters.claims(results_of(parameters, numbers(5)), True))[says] is DOES_NOT


def test_ranges_on_both_sides() -> None:
    def numbers(factors: dict[str, float], growth: int) -> Callable[[Setting, int], dict[str, float]]:
        def made(setting: Setting, size: int) -> dict[str, float]:
            jitter = 1 + 0.001 * int(str(setting["run"]))
            if setting["figure"] == "growth":
                height = int(str(setting["height"]))
                return {"variance": (height + 1) ** 2 * height**growth * jitter}
            if setting["figure"] == "zeros":
                return {"error": jitter, "checked": jitter, "zeros": 0.001}
            if setting["figure"] == "probes":
                return {"nodes": 20.0}
            return {"error": factors.get(str(setting["arm"]), 1.0) * jitter}

        return made

    def found(factors: dict[str, float], growth: int = 1) -> dict[str, Verdict]:
        results = results_of(ranges, numbers(factors, growth))
        rows = [(s, {**n, "zeros": 0.001}) for s, n in results.rows]
        return verdicts(ranges.claims(Results(rows), True))

    grows = "the variance of range queries grows as log^3 m, for dyadic ranges and wavelets"
    check = "consistency checks reduce the errors of both techniques by 30 % to 60 %"
    worst = "priority sampling is the worst of the filtering and sampling techniques"
    one = found({"priority": 4.0, "filter, checked": 0.5, "filter-priority, checked": 0.6})
    assert (one[grows], one[check], one[worst]) == (HOLDS, HOLDS, HOLDS)
    other = found({"priority": 0.5, "filter, checked": 0.9, "filter-priority, checked": 0.1}, growth=4)
    assert (other[grows], other[check], other[worst]) == (DOES_NOT, DOES_NOT, DOES_NOT)


def test_throughput_on_both_sides() -> None:
    def found(seconds: float) -> dict[str, Verdict]:
        rows = []
        for setting in throughput.settings(True):
            arms = throughput._ARMS[str(setting["figure"])]
            times = {arm: (1.0 if arm.startswith("geometric") else seconds) for arm in arms}
            jitter = 1 + 0.001 * int(str(setting["run"]))
            numbers = {f"seconds, {arm}": value * jitter for arm, value in times.items()}
            rows.append(
                (setting, numbers | {f"throughput, {arm}": 1 / value for arm, value in times.items()})
            )
        return verdicts(throughput.claims(Results(rows), True))

    says = "on sparser data all techniques are faster than the geometric mechanism, by orders of magnitude"
    same = "at density 0.1, priority sampling takes about as long as the geometric mechanism"
    gain = "there the gain at smaller densities is only 2 to 4 times, since all build the dyadic ranges"
    assert [found(0.001)[each] for each in (says, same, gain)] == [HOLDS, DOES_NOT, DOES_NOT]
    assert [found(0.4)[each] for each in (says, same, gain)] == [DOES_NOT, DOES_NOT, HOLDS]
    assert [found(0.9)[each] for each in (says, same, gain)] == [DOES_NOT, HOLDS, DOES_NOT]
