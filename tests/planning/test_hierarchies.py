"""Plans of hierarchies: the errors that releases have, level by level, and what was spent on each."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.summaries.hierarchies import draw_hierarchy
from tests.cli.commands import run
from tests.harness.statistics import replay

LEVELS = ht.Hierarchy("100(day)", "10(day)", "day")
DAYS = ht.Domain(day=ht.bins(0, 10_000, step=1, levels=[10, 100]))


def test_a_plan_says_what_a_release_will_have(tmp_path: Path) -> None:
    found = ht.plan(DAYS, epsilon=1, size=2_000, structure=LEVELS)

    assert isinstance(found, ht.HierarchyPlan)
    assert [(each.level, each.nodes, each.complete) for each in found.levels] == [
        ("all", 1, True),
        ("100(day)", 100, True),
        ("10(day)", 1_000, True),
        ("day", 10_000, False),
    ]
    assert [each.share for each in found.levels] == [Fraction(part, 39) for part in (1, 16, 16, 6)]
    rows = DAYS.decode(np.arange(3_000)[:, np.newaxis])
    release = ht.publish(
        rows,
        domain=DAYS,
        epsilon=1,
        size=2_000,
        structure=LEVELS,
        ledger=False,
        output=tmp_path / "a.parquet",
    )
    assert release.terms.structure == found.structure
    # No count is published that the plan says is never shown.
    counts = [row["count"] for row in release.to_arrow().to_pylist() if row["level"] == "day"]
    assert found.levels[-1].cutoff is not None
    assert min(counts, default=10**6) >= found.levels[-1].cutoff


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "0.1"}])
def test_errors_are_those_of_drawn_counts(cost: dict[str, Any]) -> None:
    """Large counts, so that nothing is drawn together: errors are those of least squares."""
    domain = ht.Domain(day=ht.bins(0, 256, step=1, levels=[4, 64]))
    structure = ht.Hierarchy("64(day)", "4(day)", "day")
    found = ht.plan(domain, size=1_000, structure=structure, **cost)
    truth = 1_000_000 + 5_000 * np.arange(256)
    table = ht.SparseTable(shape=(256,), codes=np.arange(256), counts=truth)
    nodes = found.structure.over(domain)
    assert isinstance(nodes, HierarchySpace)
    law = Geometric if "epsilon" in cost else Gaussian
    off: list[list[float]] = [[] for _ in range(4)]
    for seed in range(60):
        drawn = draw_hierarchy(
            table,
            nodes,
            ht.Filter(size=1_000, two_sided=False),
            epsilon=found.budget,
            sensitivity=nodes.change(law, Sensitivities.of_rows(1)),
            entropy=replay(100 + seed),
            law=law,
        )
        cells = drawn.weights[-256:]
        for level, width in enumerate([256, 64, 4, 1]):
            sums, true = (each.reshape(-1, width).sum(axis=1) for each in (cells, truth))
            off[level] += np.abs(sums - true).tolist()

    for errors, planned in zip(off, found.levels, strict=True):
        assert np.mean(errors) == pytest.approx(planned.error, rel=0.03 + 3.5 / len(errors) ** 0.5)
    # By least squares, the total is better known than by its own noise, and much so.
    alone = ht.plan(domain, size=1_000, structure=ht.Hierarchy("day", shares=[1, 48]), **cost)
    assert found.levels[0].error < 0.5 * alone.levels[0].error


def test_questions_say_how_a_plan_shares() -> None:
    found = ht.plan(DAYS, epsilon=1, size=2_000, structure=LEVELS, ask=["10(day)"])

    assert max(found.levels, key=lambda each: each.share).level == "10(day)"
    with pytest.raises(ht.BadChoice, match="the questions ask for ranges"):
        ht.plan(DAYS, epsilon=1, size=2_000, structure=LEVELS, ask=["day:ranges"])


def test_what_a_plan_of_a_hierarchy_does_not_take() -> None:
    with pytest.raises(ht.BadPlan, match="only a hierarchy on its own"):
        ht.plan(DAYS, epsilon=1, size=100, structure=ht.Tree())
    with pytest.raises(ht.BadPlan, match="assumes nothing"):
        ht.plan(DAYS, epsilon=1, size=100, structure=LEVELS, expect_cells=5, expect_mean=5, expect_sd=1)


def test_the_command_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("days.toml").write_text(
        '[[attribute]]\nname = "day"\nbins = { start = 0, stop = 10000, step = 1, levels = [10, 100] }\n'
    )
    base = ("plan", "--domain", "days.toml", "--epsilon", "1", "--size", "2000")
    levels = ("--hierarchy", "100(day) > 10(day) > day")
    found = ht.plan("days.toml", epsilon=1, size=2_000, structure=LEVELS)

    assert run(*base, *levels).stdout == f"{found}\n"
    assert json.loads(run(*base, *levels, "--json").stdout) == found.to_dict()
    assert "--hierarchy is planned alone" in run(*base, *levels, "--sweep").stderr


def test_a_delta_buys_the_law_that_is_published(tmp_path: Path) -> None:
    cost: dict[str, Any] = {"epsilon": 1, "delta": "1e-9", "size": 2_000, "structure": LEVELS}
    found = ht.plan(DAYS, **cost)
    rows = DAYS.decode(np.arange(300)[:, np.newaxis])
    release = ht.publish(rows, domain=DAYS, ledger=False, output=tmp_path / "a.parquet", **cost)

    assert release.terms.structure == found.structure
    assert release.terms.rows_budget == found.budget
