"""`hushtable plan`, and pictures of a sweep."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import hushtable as ht
from tests.cli.commands import run
from tests.release.examples import people, write

DOMAIN = '[[attribute]]\nname = "home"\nintegers = { low = 0, high = 99999 }\n'
BASE = ("plan", "--domain", "homes.toml", "--epsilon", "0.5", "--size", "500")
EXPECTED = ("--expect-cells", "1000", "--expect-mean", "80", "--expect-sd", "20")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "homes.toml").write_text(DOMAIN)
    (tmp_path / "counts.csv").write_text("count,cells\n1,5000\n90,800\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_prints_the_plan() -> None:
    done = run(*BASE, *EXPECTED)

    assert (done.exit_code, done.stderr) == (0, "")
    found = ht.plan("homes.toml", epsilon="0.5", size=500, expect_cells=1000, expect_mean=80, expect_sd=20)
    assert done.stdout == f"{found}\n"
    assert run(*BASE, *EXPECTED, "--details").stdout == f"{found.details}\n"


def test_without_an_assumption_the_answer_comes_first_and_details_are_asked_for(folder: Path) -> None:
    (folder / "homes.toml").write_text(DOMAIN + '[[attribute]]\nname = "sex"\ncategories = ["a", "b"]\n')
    asked = (*BASE[:3], "--epsilon", "1", "--size", "50", "--ask", "sex", "--ask", "home,sex")
    short, whole = run(*asked), run(*asked, "--details")
    found = ht.plan("homes.toml", epsilon=1, size=50, ask=["sex", "home,sex"])
    error = found.error("sex")

    assert error is not None
    lead = (
        f"With epsilon = 1, the count of a group will typically be off by {error:.3g} (one standard "
        "deviation). That"
    )
    assert " ".join(short.stdout.split()).startswith(lead)
    assert "holds for 1 of 2 questions; the others need a table that leaves small counts out" in " ".join(
        short.stdout.split()
    )
    assert (f"For counts of {10 * error:.3g} or more, the error is below 10 %.") in " ".join(
        short.stdout.split()
    )
    assert ("share of epsilon" in short.stdout, "share of epsilon" in whole.stdout) == (False, True)


def test_options_reach_the_plan(folder: Path) -> None:
    write(folder / "old.parquet", *people())
    settings = ("--unit", "person", "--max-rows", "3", "--total-share", "0", "--format", "json")

    done = run(*BASE, "--like", "old.parquet", *settings)

    document = json.loads(done.stdout)
    assert (document["sensitivity"], document["total_epsilon"], document["total_errors"]) == (3, "0", None)
    assert document["assumed"]["words"].startswith("counts as in the older release old.parquet")


def test_warnings_are_shown_and_are_no_failure() -> None:
    done = run(*BASE[:-1], "100000", "--profile", "counts.csv")

    assert done.exit_code == 0
    assert "warning: about " in done.stdout


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "a plan of them needs an assumption"),
        ((*EXPECTED, "--profile", "counts.csv"), 2, "a plan was given more than one assumption"),
        (EXPECTED[:4], 2, "mean and standard deviation, and one is missing"),
        (("--profile", "none.csv"), 2, "none.csv: it cannot be read"),
        ((*EXPECTED, "-o", "a.png"), 2, "--output goes with --sweep"),
        ((*EXPECTED, "--sweep", "-o", "a.txt"), 3, "ends in .png or .svg"),
        ((*EXPECTED, "--unit", "person"), 2, "--unit goes with --max-rows or --max-cells"),
        ((*EXPECTED, "--level", "home"), 2, "not of the form NAME=LEVEL"),
    ],
)
def test_wrong_use_is_told(options: tuple[str, ...], code: int, said: str) -> None:
    done = run(*BASE, *options, width=300)

    assert done.exit_code == code
    assert said in done.stderr


def test_a_sweep_is_a_table_and_a_picture(folder: Path) -> None:
    done = run(*BASE, *EXPECTED, "--sweep", "-o", "a.png")

    assert done.exit_code == 0
    tables = done.stdout.partition("Errors of the recommended summary")[2]
    assert [line.split()[0] for line in tables.splitlines() if line[:1].isdigit()] == [
        "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "50", "100", "250", "500", "1,000", "2,500", "5,000",
    ]  # fmt: skip
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    again = run(*BASE, *EXPECTED, "--sweep", "-o", "a.png")
    assert (again.exit_code, "there is a file of this name already" in again.stderr) == (6, True)


def test_a_sweep_is_data_and_the_same_picture_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = ht.plan("homes.toml", epsilon=1, size=2000, profile="counts.csv").sweep()

    document = json.loads(json.dumps(swept.to_dict(), allow_nan=False))
    errors = [each["relative_errors"]["100"] for each in document["epsilon"]]
    assert errors == sorted(errors, reverse=True)
    assert [each["size"] for each in document["size"]] == [200, 400, 1000, 2000, 4000, 10_000, 20_000]
    for name in ("a.svg", "b.svg"):
        swept.draw(folder / name)
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    assert (folder / "a.svg").read_bytes().startswith(b"<?xml")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ht.MissingPackage, match="pip install matplotlib"):
        swept.draw(folder / "c.svg")
    assert not (folder / "c.svg").exists()


def test_the_help_has_examples_and_fits_a_page() -> None:
    shown = run("plan", "--help", width=80).output

    assert "  hushtable plan --domain commute.toml --epsilon 0.1 --size 100000" in shown
    assert max(map(len, shown.splitlines())) <= 81


PLACES = DOMAIN + '[[attribute]]\nname = "sex"\ncategories = ["a", "b"]\n'


def test_a_cube_is_a_table_of_its_marginals(folder: Path) -> None:
    (folder / "homes.toml").write_text(PLACES)
    cube = ("--marginals", "all-1", "--marginals", "home,sex", "--weights", "1,1/2")

    done = run(*BASE, *EXPECTED, *cube)
    document = json.loads(run(*BASE, *EXPECTED, *cube, "--format", "json").stdout)

    assert (done.exit_code, done.stderr) == (0, "")
    found = ht.plan("homes.toml", epsilon="0.5", size=500, expect_cells=1000, expect_mean=80, expect_sd=20)
    predicted = found.cube(ht.Marginals("all-1", ["home", "sex"], weights=[1, "1/2"]))
    assert done.stdout == f"{predicted}\n"
    assert [each["marginal"] for each in document["cube"]["marginals"]] == ["home", "sex", "home, sex"]
    assert document["recommended"] == found.to_dict()["recommended"]


def test_a_sketch_is_a_table_beside_cells() -> None:
    without = BASE[:-2]
    done = run(*without, *EXPECTED, "--structure", "sketch", "--width", "250", "--depth", "2")

    assert (done.exit_code, done.stderr) == (0, "")
    found = ht.plan("homes.toml", epsilon="0.5", size=500, expect_cells=1000, expect_mean=80, expect_sd=20)
    assert done.stdout == f"{found.sketch(ht.CountSketch(width=250, depth=2))}\n"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((*BASE[:-2], *EXPECTED), 2, "Give --size N"),
        ((*BASE, *EXPECTED, "--structure", "sketch", "--width", "9"), 2, "A sketch has no --size"),
        ((*BASE[:-2], *EXPECTED, "--structure", "sketch"), 2, "a sketch needs a width"),
        (
            (*BASE[:-2], *EXPECTED, "--structure", "sketch", "--marginals", "home"),
            2,
            "Give one of --structure",
        ),
        ((*BASE, *EXPECTED, "--width", "9"), 2, "the structure 'cells' takes no --width"),
        ((*BASE, *EXPECTED, "--weights", "1"), 2, "the structure 'cells' takes no --weights"),
        ((*BASE, *EXPECTED, "--marginals", "work"), 2, "a marginal names 'work', which is not an attribute"),
        ((*BASE, *EXPECTED, "--marginals", "home", "--sweep"), 2, "--sweep is about cells"),
        ((*BASE, *EXPECTED, "--marginals", "home", "--weights", "x"), 2, "weights='x'"),
    ],
)
def test_wrong_use_of_structures_is_told(options: tuple[str, ...], code: int, said: str) -> None:
    done = run(*options, width=300)

    assert done.exit_code == code
    assert said in done.stderr
