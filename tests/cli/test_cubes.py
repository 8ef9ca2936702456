"""`hushtable publish --marginals` and `--structure sketch`, and what show and query say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hushtable as ht
from hushtable.structures.structure import Structure
from tests.cli.commands import run

GRID = """\
title = "Trips"
[[attribute]]
name = "home"
integers = { low = 0, high = 29 }
[[attribute]]
name = "work"
integers = { low = 0, high = 19 }
[[attribute]]
name = "age, years"
column = "age"
integers = { low = 0, high = 3 }
"""
PUBLISH = ["publish", "grid.csv", "--domain", "grid.toml", "--epsilon", "9", "--output", "out.parquet"]
QUIET = ["--no-ledger", "--quiet"]
SIZE = ["--size", "100"]


@pytest.fixture(autouse=True)
def grid(folder: Path) -> None:
    (folder / "grid.toml").write_text(GRID)
    lines = [f"{x % 30},{x % 7},{x % 4}" for x in range(2000)]
    (folder / "grid.csv").write_text("\n".join(["home,work,age", *lines]))


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "structure"),
    [
        (["--marginals", "home"], ht.Marginals(["home"])),
        (
            ["--marginals", "home", "--marginals", "work", "--marginals", "home,work"],
            ht.Marginals(["home"], ["work"], ["home", "work"]),
        ),
        (["--marginals", " work , home "], ht.Marginals(["work", "home"])),
        (["--marginals", "age, years"], ht.Marginals(["age, years"])),
        (["--marginals", "all-1"], ht.Marginals("all-1")),
        (["--marginals", "all-2", "--marginals", "all-1"], ht.Marginals("all-2", "all-1")),
        (["--marginals", "all-1", "--marginals", "home,work"], ht.Marginals("all-1", ["home", "work"])),
        (
            ["--marginals", "all-1", "--marginals", "home,work", "--weights", "1,3/2"],
            ht.Marginals("all-1", ["home", "work"], weights=[1, "3/2"]),
        ),
        (
            ["--marginals", "all-1", "--marginals", "work,home", "--weights", "0.5, 2"],
            ht.Marginals("all-1", ["work", "home"], weights=["1/2", 2]),
        ),
        (["--marginals", "all-1", "--structure", "cells"], ht.Marginals("all-1")),
    ],
)
def test_marginals_reach_the_release(options: list[str], structure: Structure) -> None:
    done = run(*PUBLISH, *QUIET, *SIZE, *options)

    assert (done.exit_code, done.output) == (0, "")
    terms = ht.open("out.parquet").terms
    assert terms.structure == structure
    assert terms.total is not None
    assert {part.rule for part in terms.parts} <= {"whole-1", "auto-cutoff-1"}
    assert "whole-1" in {part.rule for part in terms.parts} or len(terms.parts) == 1


@pytest.mark.parametrize(
    ("options", "methods"),
    [
        (["--size", "25"], {ht.Everything, ht.FilterPriority}),
        (["--size", "25", "--one-sided"], {ht.Everything, ht.FilterPriority}),
        (["--size", "25", "--summary", "priority"], {ht.Priority}),
        (["--size", "25", "--cutoff", "7"], {ht.FilterPriority}),
        (["--summary", "everything"], {ht.Everything}),
        (["--summary", "filter", "--cutoff", "5"], {ht.Filter}),
        (["--summary", "filter-threshold", "--cutoff", "5", "--threshold", "40"], {ht.FilterThreshold}),
    ],
)
def test_a_summary_is_that_of_every_marginal(options: list[str], methods: set[type]) -> None:
    done = run(*PUBLISH, *QUIET, "--marginals", "all-1", *options)

    assert (done.exit_code, done.output) == (0, "")
    parts = ht.open("out.parquet").terms.parts
    assert {type(part.method) for part in parts} == methods
    one_sided = [getattr(part.method, "nonnegative", False) for part in parts]
    one_sided += [not getattr(part.method, "two_sided", True) for part in parts]
    assert any(one_sided) == ("--one-sided" in options)


@pytest.mark.parametrize(
    ("options", "structure"),
    [
        (["--width", "50"], ht.CountSketch(width=50)),
        (["--width", "50", "--depth", "3"], ht.CountSketch(width=50, depth=3)),
        (["--width", "50", "--summary", "everything"], ht.CountSketch(width=50)),
    ],
)
def test_a_sketch_needs_no_size(options: list[str], structure: ht.CountSketch) -> None:
    done = run(*PUBLISH, *QUIET, "--structure", "sketch", *options)

    assert (done.exit_code, done.output) == (0, "")
    release = ht.open("out.parquet")
    assert release.terms.structure == structure
    assert len(release) == structure.width * structure.depth
    assert release.noisy_total is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--marginals", "where"],
            "a marginal names 'where', which is not an attribute. There are 'home', 'work',",
        ),
        (["--marginals", "home,"], "a marginal names '', which is not an attribute"),
        (["--marginals", ""], "a marginal names '', which is not an attribute"),
        (["--marginals", "all-0"], "a marginal names 'all-0', which is not an attribute"),
        (["--marginals", "all-4"], "'all-4' asks for 4 attributes at a time, and the domain has 3"),
        (["--marginals", "home,home"], "['home', 'home'] is not a marginal"),
        (["--marginals", "home", "--marginals", "all-1"], "the marginal of 'home' is named twice"),
        (["--marginals", "all-1", "--weights", "1,2"], "are not one for each of 1 entries"),
        (["--marginals", "all-1", "--weights", "0"], "weights='0' is not above 0"),
        (["--marginals", "all-1", "--weights", "half"], "weights='half' is not a finite number"),
        (["--marginals", "all-1", "--weights", ""], "weights='' is not a finite number"),
        (["--marginals", "all-1", "--width", "9"], "'marginals' takes no --width. It goes with 'sketch'."),
        (["--marginals", "all-1", "--order", "home"], "the structure 'marginals' takes no --order"),
        (["--marginals", "all-1", "--consistent"], "the structure 'marginals' takes no --consistent"),
        (["--marginals", "all-1", "--total-share", "1"], "must be from 0 to below 1"),
        (["--weights", "1"], "the structure 'cells' takes no --weights. It goes with 'marginals'."),
        (["--width", "9"], "the structure 'cells' takes no --width. It goes with 'sketch'."),
        (["--depth", "2"], "the structure 'cells' takes no --depth. It goes with 'sketch'."),
        (["--structure", "tree", "--depth", "2"], "the structure 'tree' takes no --depth"),
        (["--structure", "sketch"], "a sketch needs a width. Give the number of buckets in a row."),
        (["--structure", "sketch", "--depth", "2"], "a sketch needs a width"),
        (["--structure", "sketch", "--width", "0"], "width=0 is not allowed"),
        (["--structure", "sketch", "--width", "9", "--depth", "65"], "depth=65 is not allowed"),
        (["--structure", "sketch", "--width", "9", "--order", "home"], "'sketch' takes no --order"),
        (["--structure", "sketch", "--width", "9"], "a sketch has no size. Give its width and its depth"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(options: list[str], message: str, folder: Path) -> None:
    done = run(*PUBLISH, *QUIET, *SIZE, *options)

    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert message in in_one_line(done.stderr), done.stderr
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--summary", "priority"], "the summary 'priority' needs a size"),
        (["--summary", "filter", "--cutoff", "9"], "a sketch publishes all of its buckets"),
        (["--one-sided"], "a sketch publishes all of its buckets"),
        (["--cutoff", "9"], "the summary 'everything' has no cutoff"),
    ],
)
def test_a_sketch_takes_no_other_summary(options: list[str], message: str, folder: Path) -> None:
    done = run(*PUBLISH, *QUIET, "--structure", "sketch", "--width", "9", *options)

    assert done.exit_code == 2
    assert message in in_one_line(done.stderr), done.stderr
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--marginals", "all-1"], "Give --size"),
        ([*SIZE, "--marginals", "all-1", "--structure", "haar"], "Give one of --structure and --marginals."),
        ([*SIZE, "--marginals", "all-1", "--structure", "auto"], "Give one of --structure and --marginals."),
        (
            [*SIZE, "--structure", "auto", "--width", "9"],
            "settings of a structure go with one that is named.",
        ),
        ([*SIZE, "--structure", "sketch", "--width", "many"], "Invalid value for '--width'"),
        ([*SIZE, "--structure", "marginals"], "Invalid value for '--structure'"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str, folder: Path) -> None:
    done = run(*PUBLISH, *QUIET, *options)

    assert done.exit_code == 2
    assert message in in_one_line(done.stderr.replace("│", " ")), done.stderr
    assert not (folder / "out.parquet").exists()


def test_the_ledger_pays_once_for_all_marginals(folder: Path) -> None:
    ledger = ht.Ledger.create(folder / "people.ledger", epsilon=10, about="people")
    done = run(*PUBLISH, "--quiet", *SIZE, "--ledger", "people.ledger", "--marginals", "all-2")

    assert (done.exit_code, done.output) == (0, "")
    assert [entry.epsilon for entry in ledger.entries()] == [9]


def test_a_cube_is_shown_asked_thinned_and_exported(folder: Path) -> None:
    cube = ["--marginals", "all-1", "--marginals", "home,work", "--weights", "1,2"]
    assert run(*PUBLISH, *QUIET, *SIZE, *cube).exit_code == 0

    shown = in_one_line(run("show", "out.parquet", width=200).output)
    release = ht.open("out.parquet")
    assert f"rows {len(release):,} of 654 cells" in shown
    assert "a data cube of 4 marginals, listed below" in shown
    change = "the most that one unit can change all counts together"
    change += " (each count is multiplied by the share of its marginal)"
    assert f"sensitivity 5: {change}" in shown
    assert "`count` is the noisy count of one cell." in shown
    assert "None" not in shown

    asked = run("query", "out.parquet", "--where", "home < 10")
    assert asked.exit_code == 0
    assert "tables that are published whole. It is unbiased" in in_one_line(asked.output)
    grouped = run("query", "out.parquet", "--by", "home,work", "--top", "3")
    assert grouped.exit_code == 0
    assert "from the table of home, work" in in_one_line(grouped.output)
    refused = run("query", "out.parquet", "--where", 'home < 10 AND "age, years" = 1')
    assert refused.exit_code == 2
    assert "no marginal of this release has 'home', 'age, years' together" in in_one_line(refused.stderr)
    found = run("sql", "out.parquet", "SELECT count(*) AS n FROM release WHERE marginal = 'home'")
    assert "30" in found.output

    assert run("thin", "out.parquet", "--size", "5", "--output", "few.parquet").exit_code == 0
    few = ht.open("few.parquet")
    assert len(few) == 5 + 5 + 4 + 5
    assert run("export", "out.parquet", "-o", "out.csv").exit_code == 0
    assert len((folder / "out.csv").read_text().splitlines()) == len(release) + 1


def test_equal_weights_are_not_spoken_of() -> None:
    assert run(*PUBLISH, *QUIET, *SIZE, "--marginals", "all-1").exit_code == 0

    shown = in_one_line(run("show", "out.parquet", width=200).output)
    assert "in every cell;" not in shown
    assert "largest marginal" not in shown
    assert "sensitivity 3: the most that one unit can change all counts together made by" in shown


def test_a_sketch_is_shown_and_exported_and_not_thinned(folder: Path) -> None:
    assert run(*PUBLISH, *QUIET, "--structure", "sketch", "--width", "50", "--depth", "2").exit_code == 0

    shown = in_one_line(run("show", "out.parquet", width=200).output)
    assert "rows 100 of 100 buckets" in shown
    assert "a count sketch, 2 rows of 50 buckets, over home, work, age, years" in shown
    assert "summary everything: all buckets" in shown
    assert "in every bucket noisy total" in shown
    assert "`count` is a noisy sum over the cells of a bucket, half of them counted as negative" in shown

    refused = run("thin", "out.parquet", "--size", "5", "--output", "few.parquet")
    assert refused.exit_code == 2
    assert "a sketch needs all of its buckets" in refused.stderr
    assert run("export", "out.parquet", "-o", "out.csv").exit_code == 0
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == "row,bucket,count,weight"
    assert len(lines) == 101
