"""Sketches: what is read off them, what a run measures, and verdicts on both sides of their rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.structures.sketch import SketchSpace
from paper.claims import Verdict
from paper.data import Subsets, Table
from paper.experiments import sketches
from paper.measuring import Results, Setting, measured
from paper.releasing import sizes_of
from paper.sketching import TENFOLD, Row, buckets_of, depth_run, rows_of, subset_run, table_of, time_run

HOLDS, IN_PART, DOES_NOT = Verdict.HOLDS, Verdict.IN_PART, Verdict.DOES_NOT
CELLS = 300
SMALL: Setting = {
    "figure": "depth",
    "table": "normal",
    "cells": 2000,
    "density": 0.1,
    "mean": 100,
    "sd": 20,
    "width": 40,
    "depth": 3,
    "epsilon": "0.1",
    "run": 0,
}


@pytest.fixture(scope="module")
def table() -> Table:
    random = np.random.default_rng(3)
    places = random.choice(CELLS, 60, replace=False)
    return Table(CELLS, places, random.integers(1, 1000, 60))


def test_a_row_counts_each_cell_in_its_bucket() -> None:
    row = Row(np.array([2, 0, 2]), np.array([1, -1, -1]), 4)
    buckets = row.fill(np.array([5, 7, 11]))
    assert buckets.tolist() == [-7, 0, -6, 0]
    assert row.read(buckets).tolist() == [-6, 7, 6]


def test_without_noise_buckets_are_those_of_the_table(table: Table) -> None:
    structure = ht.CountSketch(width=20, depth=3)
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon=1_000, structure=structure)
    filled = [row.fill(table.values) for row in rows_of(summary, CELLS)]
    assert np.array_equal(buckets_of(summary), filled)


@pytest.mark.parametrize("combine", ["mean", "median"])
def test_answers_are_those_of_a_release_with_the_same_buckets(
    table: Table, combine: str, tmp_path: Path
) -> None:
    structure = ht.CountSketch(width=20, depth=3)
    domain = {"attribute": [{"name": "cell", "integers": {"low": 0, "high": CELLS - 1}}]}
    release = ht.publish(
        pa.table({"cell": table.places, "people": table.counts}),
        domain=ht.Domain.from_dict(domain),
        epsilon=1,
        count_column="people",
        structure=structure,
        output=tmp_path / "released.parquet",
    )
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon=1, structure=structure)
    assert isinstance(summary.nodes, SketchSpace)
    nodes = replace(summary.nodes, keys=tuple(release.terms.keys))
    same = replace(summary, counts=release.counts, nodes=nodes)
    read = np.array(
        [row.read(counts) for row, counts in zip(rows_of(same, CELLS), buckets_of(same), strict=True)]
    )
    together = np.mean if combine == "mean" else np.median
    found = release.by("cell", combine=combine)  # type: ignore[arg-type]
    assert np.allclose(found["estimate"].to_numpy(), together(read, axis=0))
    some = [3, 50, 51, 299]
    asked = release.total(cell=some, combine=combine).value  # type: ignore[arg-type]
    assert asked == pytest.approx(float(together(read[:, some].sum(axis=1))))


def test_other_summaries_are_refused(table: Table) -> None:
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon=1)
    with pytest.raises(ValueError, match="no sketch"):
        rows_of(summary, CELLS)
    with pytest.raises(ValueError, match="no sketch"):
        buckets_of(summary)


def test_a_run_without_noise_has_sharing_alone() -> None:
    found = depth_run({**SMALL, "epsilon": "1000"})
    assert found["noise"] == found["noise of a bucket"] == found["noise of a bucket, first approach"] == 0
    assert found["variance"] == found["sharing"] > 0
    assert found["error"] == pytest.approx(found["error of the first approach"])
    assert (found["rows"], found["sensitivity"]) == (120, 3)
    assert (found["change by coming"], found["change by moving"]) == (3, 6)


def test_variances_are_the_stated_ones() -> None:
    runs = [depth_run({**SMALL, "run": run}) for run in range(60)]
    cells_in_a_bucket = 2000 / 40
    for name, stated in (
        ("variance", runs[0]["stated"]),
        ("noise of a bucket", 200 * 3**2),
        ("noise of a bucket, first approach", 200 * cells_in_a_bucket),
        ("noise of a count", 200),
    ):
        share = measured([found[name] / stated for found in runs])
        assert abs(share.mean - 1) < 7 * share.error < 0.4, name
    wide = [depth_run({**SMALL, "width": 2000, "run": run}) for run in range(60)]  # noise is more there
    share = measured([found["variance"] / found["stated"] for found in wide])
    assert abs(share.mean - 1) < 7 * share.error < 0.1


def test_zipf_has_as_many_people() -> None:
    names = ("normal", "Zipf", TENFOLD)
    found = {name: table_of({**SMALL, "table": name}) for name in names}
    ranked = np.sort(found["Zipf"].counts)[::-1]
    assert ranked[0] == pytest.approx(2 * ranked[1], rel=0.01)
    assert found["Zipf"].people == pytest.approx(found["normal"].people, rel=0.02)
    assert found[TENFOLD].people == 10 * found["normal"].people


def test_subsets_are_answered_by_the_median_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[np.ndarray] = []
    real = Subsets.sums

    def spied(self: Subsets, values: np.ndarray) -> np.ndarray:
        found = real(self, values)
        asked.append(found)
        return found

    monkeypatch.setattr(Subsets, "sums", spied)
    setting: Setting = {**SMALL, "figure": "subsets", "sizes": "10 100", "questions": 50}
    found = subset_run(setting)
    truths, *rows = asked[-4:]
    slow = np.abs(np.median(rows, axis=0) - truths).mean(axis=1)
    assert [found["error 10"], found["error 100"]] == pytest.approx(slow.tolist())


def test_times_are_measured_for_each_step() -> None:
    setting: Setting = {"figure": "time", "doubled": "rows", "first": 64, "steps": 2, "rounds": 1, "run": 0}
    found = time_run(setting)
    assert list(found) == ["seconds, step 0", "seconds, step 1", "seconds, step 2"]
    assert all(value > 0 for value in found.values())


# Verdicts, by numbers that are made up.

Made = dict[str, float]


def made(
    *,
    sharing: Callable[[int, int], float] = lambda width, depth: 1e7 / (width * depth),
    noise: Callable[[int, int], float] = lambda width, depth: 200.0 * depth,
    squared: bool = True,
    first: float = 10.0,
    growth: float = 2.0,
    worse: float = 4.0,
    person: float = 1.0,
) -> Results:
    """Return results of the quick settings, with hardly any spread."""
    rows: list[tuple[Setting, Made]] = []
    for setting in sketches.settings(True):
        jitter = 1 + 0.0001 * int(str(setting["run"]))
        if setting["figure"] == "time":
            factor = 1.0 if setting["doubled"] == "cells" else growth
            rows.append((setting, {f"seconds, step {step}": jitter * factor**step for step in range(4)}))
            continue
        if setting["figure"] == "subsets":
            factor = worse if "depth" in setting else 1.0
            errors = {
                f"{name} {size}": factor * jitter
                for name in ("error", "relative")
                for size in sizes_of(setting)
            }
            rows.append((setting, {**errors, "rows": 1.0, "error of an occupied cell": factor}))
            continue
        width, depth = int(str(setting["width"])), int(str(setting["depth"]))
        parts = sharing(width, depth), noise(width, depth)
        tenfold = (100 if squared else 1) if setting["table"] == TENFOLD else 1
        both = sum(parts) * tenfold * jitter
        found = {
            "rows": float(width * depth),
            "sensitivity": float(depth),
            "change by coming": person * depth,
            "change by moving": 2.0 * depth,
            "variance": both,
            "sharing": parts[0] * jitter,
            "noise": parts[1] * jitter,
            "stated": sum(parts) * tenfold,
            "printed": 1.0,
            "bias": 0.01 * jitter,
            "error": both**0.5,
            "error of the first approach": 2 * both**0.5,
            "noise of a bucket": 1.0 * jitter,
            "noise of a bucket, first approach": first * jitter,
            "noise of a count": 1.0 * jitter,
        }
        if depth > 2:
            found |= {"sharing of the median": parts[0] * jitter, "error of the median": 1.1 * both**0.5}
        rows.append((setting, found))
    return Results(rows)


def verdicts(results: Results) -> dict[str, Verdict]:
    return {claim.says: claim.verdict for claim in sketches.claims(results, True)}


def rising(width: int, depth: int) -> float:
    return 1e9 * depth


def falling(width: int, depth: int) -> float:
    return 0.01 / depth


TIME = "it is made in time O((n + w) d)"
PRINTED = "the variance of point estimates is O(‖M‖₂/(wd) + d/ε²)"
PERSON = "over d rows of the sketch, the sensitivity is 2d"
TRADE = "there is a trade-off: more rows reduce the sketching error, and increase the privacy error"
LARGE = "w can be so large that the second term, of privacy, dominates"
SMALL_D = "small values of d are the best setting, such as d = 1"
FIRST = "the sketch of the noisy table has significant noise in each bucket"
GAIN = "noise on the sketch itself improves on this considerably"
SAMPLES = "the error is considerably higher than for sampling or filtering"


@pytest.mark.parametrize(
    ("says", "one", "other"),
    [
        (TIME, {"growth": 2.0}, {"growth": 4.0}),
        (PRINTED, {"squared": False}, {"squared": True}),
        (PERSON, {"person": 2.0}, {"person": 1.0}),
        (TRADE, {"sharing": falling}, {"sharing": rising, "noise": falling}),
        (LARGE, {"noise": rising}, {"noise": falling}),
        (SMALL_D, {"noise": rising}, {"noise": falling, "sharing": falling}),
        (FIRST, {"first": 10.0}, {"first": 1.0}),
        (GAIN, {"first": 10.0}, {"first": 0.5}),
        (SAMPLES, {"worse": 4.0}, {"worse": 1.2}),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_verdicts_on_both_sides(says: str, one: dict[str, float], other: dict[str, float]) -> None:
    holds, fails = verdicts(made(**one)), verdicts(made(**other))  # type: ignore[arg-type]
    assert holds[says] is HOLDS
    if says is TIME:
        assert fails[says] is IN_PART  # wider domains still cost nothing
    else:
        assert fails[says] is DOES_NOT


def test_a_given_size_has_no_trade_off() -> None:
    """As theory has it: rows of a given size share buckets as before, so the claim holds in part."""
    assert verdicts(made())[TRADE] is IN_PART


def test_wrong_formulas_are_seen() -> None:
    says = next(claim.says for claim in sketches.claims(made(), True) if "squared norm" in claim.says)
    assert verdicts(made())[says] is HOLDS
    rows = [
        (setting, {**found, "stated": 1.2 * found["stated"]} if "stated" in found else found)
        for setting, found in made().rows
    ]
    assert verdicts(Results(rows))[says] is DOES_NOT


def test_bias_and_size_are_seen() -> None:
    biased, unbiased = "the bucket times the sign is an unbiased estimate", "the sketch has size w x d"
    fewer = "the mean or median of d rows reduces the variance further"
    good = verdicts(made())
    assert [good[says] for says in (biased, unbiased, fewer)] == [HOLDS, HOLDS, HOLDS]
    rows = [
        (setting, {**found, "bias": 5.0 + found["bias"], "rows": 7.0} if "bias" in found else found)
        for setting, found in made(sharing=lambda width, depth: 1e7 * depth).rows
    ]
    bad = verdicts(Results(rows))
    assert [bad[says] for says in (biased, unbiased, fewer)] == [DOES_NOT, DOES_NOT, DOES_NOT]
