"""`hushtable publish --structure`: names, orders and the check for consistency."""

from __future__ import annotations

from pathlib import Path

import pytest

import hushtable as ht
from hushtable.structures.structure import Structure
from tests.cli.commands import run

GRID = """\
[[attribute]]
name = "home"
integers = { low = 0, high = 29 }
[[attribute]]
name = "work"
integers = { low = 0, high = 19 }
"""
PUBLISH = ["publish", "grid.csv", "--domain", "grid.toml", "--epsilon", "9", "--output", "out.parquet"]
PUBLISH += ["--no-ledger", "--quiet"]


@pytest.fixture(autouse=True)
def grid(folder: Path) -> None:
    (folder / "grid.toml").write_text(GRID)
    lines = [f"{x % 30},{x % 7}" for x in range(2000)]
    (folder / "grid.csv").write_text("\n".join(["home,work", *lines]))


@pytest.mark.parametrize(
    ("options", "structure"),
    [
        (["--structure", "dyadic"], ht.Dyadic()),
        (["--structure", "dyadic", "--order", "work,home"], ht.Dyadic(order=["work", "home"])),
        (["--structure", "dyadic", "--consistent"], ht.Dyadic(consistent=True)),
        (["--structure", "haar", "--order", " work "], ht.Haar(order=["work"])),
        (["--structure", "product-dyadic"], ht.ProductDyadic()),
        (["--structure", "tree"], ht.Tree()),
        (["--structure", "tree", "--order", "work"], ht.Tree(order=["work"])),
        (
            ["--structure", "tree", "--order", "morton", "--branching", "8"],
            ht.Tree(branching=8, order="morton"),
        ),
    ],
)
def test_options_reach_the_release(options: list[str], structure: Structure) -> None:
    done = run(*PUBLISH, "--size", "40", *options)

    assert (done.exit_code, done.output) == (0, "")
    terms = ht.open("out.parquet").terms
    assert terms.structure == structure
    assert terms.total is None
    assert terms.rule is None
    assert isinstance(terms.method, ht.Filter)
    assert terms.method.two_sided == ("--consistent" not in options and "tree" not in options)


def test_cells_are_what_is_left_out() -> None:
    assert run(*PUBLISH, "--size", "40", "--structure", "cells").exit_code == 0

    assert ht.open("out.parquet").noisy_total is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--order", "work"], "the structure 'cells' takes no --order. It goes with 'dyadic' and 'haar' and"),
        (["--consistent"], "the structure 'cells' takes no --consistent. It goes with 'dyadic'."),
        (["--structure", "haar", "--consistent"], "the structure 'haar' takes no --consistent"),
        (["--structure", "haar", "--one-sided"], "Use a two-sided summary"),
        (["--structure", "dyadic", "--order", "where"], "the order names 'where', which is not an attribute"),
        (
            ["--structure", "dyadic", "--order", "work,"],
            ("is not an order of attributes|which is not an attribute"),
        ),
        (["--structure", "dyadic", "--total-share", "1/9"], "a tree has its total as its root"),
        (["--branching", "4"], "the structure 'cells' takes no --branching. It goes with 'tree'."),
        (["--structure", "dyadic", "--branching", "4"], "the structure 'dyadic' takes no --branching"),
        (["--structure", "tree", "--branching", "3"], "branching=3 is not allowed. Give a power of 2"),
        (["--structure", "tree", "--consistent"], "the structure 'tree' takes no --consistent"),
        (["--structure", "tree", "--order", "z"], "the order names 'z', which is not an attribute"),
        (
            ["--structure", "dyadic", "--order", "morton"],
            "the order names 'morton', which is not an attribute",
        ),
        (["--structure", "tree", "--summary", "priority"], "a pruned tree takes a filter of counts above 0"),
        (["--structure", "tree", "--total-share", "1/9"], "a tree has its total as its root"),
        (["--structure", "tree", "--cutoff", "auto"], "a tree has no automatic cutoff. Give a size alone"),
        (
            ["--structure", "dyadic", "--consistent", "--summary", "priority"],
            "a consistent tree needs a filter",
        ),
        (
            ["--structure", "dyadic", "--consistent", "--summary", "filter-threshold"],
            "Give a threshold, or use FilterPriority with that size",
        ),
    ],
)
def test_what_does_not_fit_is_one_clear_error(options: list[str], message: str, folder: Path) -> None:
    done = run(*PUBLISH, "--size", "40", *options)

    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert any(each in " ".join(done.stderr.split()) for each in message.split("|")), done.stderr
    assert not (folder / "out.parquet").exists()


def test_an_unknown_name_lists_those_there_are() -> None:
    done = run(*PUBLISH, "--size", "40", "--structure", "forest")

    assert done.exit_code == 2
    assert "product-dyadic" in done.stderr


def test_a_tree_is_shown_asked_and_thinned() -> None:
    assert run(*PUBLISH, "--size", "40", "--structure", "tree", "--order", "morton").exit_code == 0
    shown = run("show", "out.parquet")
    assert "a pruned tree of branching 16, in z-order, over home, work" in " ".join(shown.output.split())

    asked = run("query", "out.parquet", "--where", "home < 10 AND work >= 3")
    assert asked.exit_code == 0
    assert "Nodes with noisy counts below" in " ".join(asked.output.split())
    total = ht.open("out.parquet").total()
    found = run("sql", "out.parquet", "SELECT round(sum(weight)) AS people FROM release")
    assert f"{total.value:.0f}" in found.output.replace(",", "")

    assert run("thin", "out.parquet", "--size", "5", "--output", "few.parquet").exit_code == 0
    few = ht.open("few.parquet")
    assert len(few) == 5
    assert few.weights.sum() == pytest.approx(few.total().value)


def test_a_cutoff_of_a_tree() -> None:
    done = run(*PUBLISH, "--structure", "tree", "--summary", "filter", "--cutoff", "30")
    assert (done.exit_code, done.output) == (0, "")
    assert ht.open("out.parquet").cutoff == 30

    noisier = ["1" if each == "9" else each for each in PUBLISH]
    low = run(*noisier, "--overwrite", "--structure", "tree", "--summary", "filter", "--cutoff", "1")
    assert low.exit_code == 2
    assert "is so low that noise makes a tree grow" in low.stderr
