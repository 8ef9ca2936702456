"""`hushtable publish` with an assumption: settings by a plan, refusals, warnings, and what `show` says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.cli.commands import run

DOMAIN = """\
title = "Homes"
[[attribute]]
name = "home"
bins = { start = 0, stop = 100000, step = 1, levels = [100, 10000] }
"""
PUBLISH = ["publish", "rows.parquet", "--domain", "homes.toml", "--epsilon", "1/2", "--output", "out.parquet"]
LARGE, SMALL = ["--profile", "large.csv"], ["--profile", "small.csv"]


@pytest.fixture(autouse=True)
def rows(folder: Path) -> Path:
    (folder / "homes.toml").write_text(DOMAIN)
    (folder / "large.csv").write_text("count,cells\n20,300\n80,100\n400,40\n")
    (folder / "small.csv").write_text("count,cells\n1,3000\n")
    pq.write_table(pa.table({"home": [each % 300 * 11 for each in range(30_000)]}), "rows.parquet")
    return folder


def test_an_automatic_summary_is_what_the_plan_recommends() -> None:
    done = run(*PUBLISH, "--no-ledger", "--summary", "auto", "--size", "400", *LARGE)

    assert done.exit_code == 0, done.stderr
    terms = ht.open("out.parquet").terms
    plan = ht.plan("homes.toml", epsilon="1/2", size=400, profile="large.csv")
    assert terms.method == plan.recommended.method
    assert terms.rule == "plan-1"
    assert [f"warning: {each}." for each in plan.warnings] == done.stderr.splitlines()
    shown = " ".join(run("show", "out.parquet").output.split())
    assert "settings by a plan (plan-1), assuming the counts in large.csv; declared public by the" in shown


def test_an_assumption_alone_means_what_the_plan_recommends() -> None:
    done = run(*PUBLISH, "--no-ledger", "--size", "400", *LARGE)

    assert done.exit_code == 0, done.stderr
    plan = ht.plan("homes.toml", epsilon="1/2", size=400, profile="large.csv")
    assert ht.open("out.parquet").summary == plan.recommended.method


@pytest.mark.parametrize("options", [["--summary", "filter-priority"], ["--cutoff", "auto"]])
def test_a_cutoff_left_open_is_the_plans(options: list[str]) -> None:
    done = run(*PUBLISH, "--no-ledger", "--size", "400", *LARGE, *options)

    assert done.exit_code == 0, done.stderr
    plan = ht.plan("homes.toml", epsilon="1/2", size=400, profile="large.csv")
    assert ht.open("out.parquet").summary == ht.FilterPriority(cutoff=plan.cutoff, size=400)


def test_a_wasted_release_costs_nothing_and_is_made_anyway(folder: Path) -> None:
    ht.Ledger.create("homes.ledger", epsilon=1, about="homes")
    (folder / "rows.parquet").write_text("no Parquet: who reads this, fails")
    asked = [*PUBLISH, "--ledger", "homes.ledger", "--size", "400", "--summary", "auto", *SMALL]

    done = run(*asked)

    assert done.exit_code == 5
    assert "error: this release would be wasted, so nothing was read and nothing was charged:" in done.stderr
    assert "of the rows would be real; the others would be noise on empty cells." in done.stderr
    assert "--anyway" in done.stderr
    assert not ht.Ledger.open("homes.ledger").entries()
    pq.write_table(pa.table({"home": [1, 2, 3]}), "rows.parquet")
    done = run(*asked, "--anyway")
    assert done.exit_code == 0, done.stderr
    assert "warning: only " in done.stderr


def test_a_level_that_helps_is_named_and_helps(folder: Path) -> None:
    done = run(*PUBLISH, "--no-ledger", "--size", "400", "--epsilon", "2", *SMALL)

    assert done.exit_code == 5
    assert "Coarser levels help, from --level home=100 on." in done.stderr
    coarser = ["--level", "home=100", "--expect-cells", "950", "--expect-mean", "3", "--expect-sd", "1.7"]
    done = run(*PUBLISH, "--no-ledger", "--size", "400", "--epsilon", "2", *coarser)
    assert done.exit_code == 0, done.stderr


def test_an_automatic_structure_is_a_tree_for_ranges_of_many_cells() -> None:
    rows = pa.table({"home": [each * 9 for each in range(10_000)], "people": [100] * 10_000})
    pq.write_table(rows, "rows.parquet")
    many = ["--expect-cells", "10000", "--expect-mean", "100", "--expect-sd", "20", "--size", "10000"]
    many += ["--epsilon", "1/10", "--count-column", "people"]

    done = run(*PUBLISH, "--no-ledger", "--structure", "auto", *many)

    assert done.exit_code == 0, done.stderr
    terms = ht.open("out.parquet").terms
    assert (terms.structure, terms.rule) == (ht.Tree(), "plan-1")
    expected = ht.Profile.normal(cells=10_000, mean=100, sd=20)
    plan = ht.plan("homes.toml", epsilon="1/10", size=10_000, profile=expected)
    assert plan.tree is not None
    assert terms.method == plan.tree.method
    judged = plan.judge(terms.method, terms.structure)
    assert [f"warning: {each}." for each in judged.warnings] == done.stderr.splitlines()
    for options in (["--summary", "auto"], []):
        done = run(*PUBLISH, "--no-ledger", "--overwrite", "--structure", "tree", *many, *options)
        assert done.exit_code == 0, done.stderr
        assert ht.open("out.parquet").terms.rule == "plan-1"


def test_an_automatic_structure_is_cells_where_a_tree_is_worse(folder: Path) -> None:
    (folder / "few.csv").write_text("count,cells\n100,50\n")
    done = run(*PUBLISH, "--no-ledger", "--structure", "auto", "--size", "400", "--profile", "few.csv")

    assert done.exit_code == 0, done.stderr
    terms = ht.open("out.parquet").terms
    plan = ht.plan("homes.toml", epsilon="1/2", size=400, profile="few.csv")
    assert plan.structure == "cells"
    assert (terms.structure.name, terms.method) == ("cells", plan.recommended.method)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ["--structure", "auto", "--size", "9"],
            2,
            "a structure of `auto` needs an assumption about the table",
        ),
        (["--structure", "auto", *LARGE], 2, "Give --size"),
        (["--structure", "auto", "--order", "home", "--size", "9"], 2, "go with one that is named"),
        (
            ["--structure", "auto", "--size", "9", *LARGE, "--summary", "priority"],
            2,
            "a structure of `auto` brings its own summary",
        ),
        (["--structure", "haar", "--size", "9", *LARGE], 2, "a plan is about cells, trees, sketches and"),
        (["--summary", "auto", "--size", "9"], 2, "a summary of `auto` needs an assumption about the table"),
        (["--summary", "auto", *LARGE], 2, "Give --size"),
        (["--summary", "filter", "--cutoff", "9", *LARGE], 2, "Give --size"),
        (["--size", "9", *LARGE, "--like", "old.parquet"], 2, "more than one assumption"),
        (["--size", "9", *LARGE, "--one-sided"], 2, "a plan knows two-sided summaries only"),
        (["--structure", "cells", "--size", "100001"], 5, "is more than the 100,000 cells there are"),
    ],
)
def test_what_does_not_go_together_is_told(options: list[str], code: int, said: str) -> None:
    done = run(*PUBLISH, "--no-ledger", *options, width=200)

    assert done.exit_code == code
    assert said in done.stderr


@pytest.mark.parametrize("options", [["--summary", "everything"], ["--summary", "filter", "--cutoff", "9"]])
def test_a_size_may_be_for_the_plan_alone(options: list[str]) -> None:
    done = run(*PUBLISH, "--no-ledger", "--size", "400", *LARGE, *options, "--anyway")

    assert done.exit_code == 0, done.output
    assert getattr(ht.open("out.parquet").summary, "size", None) is None


PLACES = DOMAIN + '[[attribute]]\nname = "sex"\ncategories = ["a", "b"]\n'


@pytest.fixture
def with_sex(folder: Path) -> None:
    (folder / "homes.toml").write_text(PLACES)
    each = range(30_000)
    rows = pa.table({"home": [one % 300 * 11 for one in each], "sex": ["ab"[one % 2] for one in each]})
    pq.write_table(rows, "rows.parquet")


@pytest.mark.usefixtures("with_sex")
def test_a_cube_is_judged_and_its_warnings_are_those_of_the_plan() -> None:
    cube = ["--marginals", "sex", "--marginals", "home,sex", "--weights", "1,3"]
    done = run(*PUBLISH, "--no-ledger", "--size", "400", *LARGE, *cube, width=300)

    assert done.exit_code == 0, done.output
    terms = ht.open("out.parquet").terms
    assert terms.plan is not None
    plan = ht.plan("homes.toml", epsilon="1/2", size=400, profile="large.csv")
    judged = plan.cube(ht.Marginals(["sex"], ["home", "sex"], weights=[1, 3]))
    assert [part.method for part in terms.parts] == [each.prediction.method for each in judged.marginals]
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: {each}." for each in judged.warnings]
    wasted = run(*PUBLISH, "--no-ledger", "--size", "400", *SMALL, "--marginals", "home,sex", "--overwrite")
    assert wasted.exit_code == 5
    assert "would be wasted" in wasted.stderr


@pytest.mark.usefixtures("with_sex")
def test_a_sketch_is_judged_beside_cells_of_as_many_rows() -> None:
    sketch = ["--structure", "sketch", "--width", "2000", "--depth", "2"]
    done = run(*PUBLISH, "--no-ledger", *LARGE, *sketch, "--anyway", width=300)

    assert done.exit_code == 0, done.output
    terms = ht.open("out.parquet").terms
    assert terms.plan is not None
    assert terms.plan.size == 4000
    assert "are better, with as many rows" in done.stderr
    assert "--width 4000 --depth 1 would have as many buckets" in done.stderr
    refused = run(*PUBLISH, "--no-ledger", *LARGE, *sketch, "--size", "9", "--overwrite", width=300)
    assert (refused.exit_code, "a sketch has no size" in refused.stderr) == (2, True)
