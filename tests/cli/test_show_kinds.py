"""`hushtable show` of data cubes and of sketches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht
from tests.cli.commands import run
from tests.cli.terminals import run_on_terminal

PEOPLE = """\
title = "People"
[[attribute]]
name = "home"
integers = { low = 0, high = 99 }
[[attribute]]
name = "work"
integers = { low = 0, high = 99 }
[[attribute]]
name = "sex"
categories = ["a", "b"]
"""
LARGE = """\
[[attribute]]
name = "first"
integers = { low = 0, high = 999_999_999_999 }
[[attribute]]
name = "second"
integers = { low = 0, high = 9 }
"""


@pytest.fixture(autouse=True)
def domains(folder: Path) -> None:
    Path("people.toml").write_text(PEOPLE)
    Path("large.toml").write_text(LARGE)


def rows() -> pa.Table:
    """Return 400 people, four in a pair of places for each of 50 homes and both sexes."""
    numbers = range(400)
    sexes = ["ab"[number % 2] for number in numbers]
    homes = [number // 2 % 50 for number in numbers]
    return pa.table({"home": homes, "work": homes, "sex": sexes})


def publish(structure: ht.CountSketch | ht.Marginals, **settings: object) -> ht.Release:
    chosen: dict[str, object] = {"domain": "people.toml", "epsilon": 1, "output": "out.parquet"}
    return ht.publish(rows(), structure=structure, **(chosen | settings))  # type: ignore[arg-type]


def shown(*options: object, width: int = 120) -> str:
    done = run("show", "out.parquet", *options, width=width)

    assert done.exit_code == 0, done.output
    return "\n".join(line.rstrip() for line in done.output.splitlines())


def line_of(text: str, start: str) -> list[str]:
    """Return the words of the first line that starts so; marginals come before attributes and rows."""
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_every_marginal_has_its_own_line() -> None:
    release = publish(ht.Marginals(["sex"], ["home", "work"], weights=[1, 3]), size=100)
    text = shown()

    assert "a data cube of 2 marginals, listed below" in text
    assert "of the marginals, 1 by everything, 1 by filter-priority of at most 100 rows each" in text
    assert "chosen from public facts: all cells where there is room for them (whole-1); a cutoff" in text
    assert "at most about a tenth of the rows are noise alone (auto-cutoff-1)" in " ".join(text.split())
    assert "1, of which 0.02 for the noisy total, the rest for the cells, split as listed below" in text
    assert "4: the most that one unit can change all counts together (each count is multiplied by" in text
    header = line_of(text, "marginal  ")
    assert header == ["marginal", "cells", "rows", "epsilon", "noise", "cutoff", "threshold", "summary"]
    # epsilon 0.98/4, and 3 times that; noise of standard deviation sqrt(2a)/(1-a) with a = exp(-epsilon)
    assert line_of(text, "sex     ")[:-1] == ["sex", "2", "2", "0.245", "5.76"]
    pairs = line_of(text, "home, work ")
    (_, part) = release.terms.parts
    assert pairs[:-3] == ["home,", "work", "10,000", f"{len(release) - 2:,}", "0.735", "1.88"]
    assert pairs[-3:] == [f"{part.cutoff:g}", f"{part.threshold:.6g}", "filter-priority"]


def test_columns_of_limits_are_left_out_where_no_marginal_has_any() -> None:
    publish(ht.Marginals("all-1"), summary=ht.Everything())
    text = shown()

    assert "everything: all cells of every marginal" in text
    assert "settings" not in text.split("declared")[0]
    assert line_of(text, "marginal  ")[:5] == ["marginal", "cells", "rows", "epsilon", "noise"]
    assert "cutoff" not in text
    assert "sampled" not in text
    assert "3: the most that one unit can change all counts together\n" in text


def test_values_that_a_marginal_lacks_are_blank() -> None:
    publish(ht.Marginals(["sex"], ["home", "sex"]), summary=ht.Everything())

    first = shown("--rows", 2)
    both = shown("--rows", 3)
    assert "None" not in both
    assert line_of(first, "marginal  sex  ") == ["marginal", "sex", "count", "weight"]
    assert line_of(both, "marginal   home") == ["marginal", "home", "sex", "count", "weight"]
    assert "... 200 more" in first
    assert "Every marginal counts everybody, so add up `weight` within one" in first


def test_of_many_marginals_the_first_are_shown() -> None:
    text = "".join(
        f'[[attribute]]\nname = "x{number:02}"\nintegers = {{ low = 0, high = 1 }}\n' for number in range(32)
    )
    Path("many.toml").write_text(text)
    data = pa.table({f"x{number:02}": [0, 1] for number in range(32)})
    ht.publish(
        data, domain="many.toml", epsilon=1, size=2, structure=ht.Marginals("all-1"), output="out.parquet"
    )

    text = shown("--rows", 0)
    assert line_of(text, "x29  ")[:3] == ["x29", "2", "2"]
    assert "\nx30  " not in text.split("declared")[0]
    assert "... 2 more" in text


def test_large_marginals_take_little_room() -> None:
    data = pa.table({"first": [1, 2], "second": [1, 2]})
    structure = ht.Marginals("all-1", "all-2")
    ht.publish(
        data, domain="large.toml", epsilon=1, size=5, structure=structure, output="out.parquet", anyway=True
    )

    assert line_of(shown(width=80), "first, second  ")[2] == "10^13.0"


def test_a_sketch_shows_its_seeds() -> None:
    release = publish(ht.CountSketch(width=500, depth=3))
    text = shown(width=200)

    assert "1,500 of 1,500 buckets" in text
    assert "a count sketch, 3 rows of 500 buckets, over home, work, sex" in text
    seeds = "SipHash-1-3 under a public key for each row, drawn before any row was read: "
    assert seeds + ", ".join(release.terms.keys) in text
    # epsilon 0.98/3 for each row
    assert "two-sided geometric, standard deviation 4.31, in every bucket" in text
    assert "3: the most that one unit can change all counts together" in text
    assert "It says nothing by itself: ask `hushtable query`." in text
    assert line_of(text, "row  bucket") == ["row", "bucket", "count", "weight"]


def test_of_many_seeds_the_first_are_shown() -> None:
    release = publish(ht.CountSketch(width=2, depth=6))
    text = shown(width=300)

    assert f"{release.terms.keys[3]}, ..." in text
    assert release.terms.keys[4] not in text


def test_on_a_terminal_of_80_columns_no_line_is_longer() -> None:
    publish(ht.Marginals("all-1", "all-2"), size=150)
    seen = run_on_terminal("show", "out.parquet")

    assert seen.code == 0
    assert max(map(len, seen.screen.splitlines())) <= 80
    for label in ("home, work", "home, sex", "work, sex"):
        assert label in seen.screen
