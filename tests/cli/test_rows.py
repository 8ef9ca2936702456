"""`hushtable rows`: synthetic rows on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.cli.commands import run

TOWNS = ["A-1", "A-2", "B-1"]


@pytest.fixture
def levels(folder: Path) -> str:
    """A release of a hierarchy."""
    values = f"categories = {{ values = {TOWNS}, levels = {{ county = 1 }} }}"
    (folder / "towns.toml").write_text(f'[[attribute]]\nname = "town"\n{values}\n')
    (folder / "towns.csv").write_text("\n".join(["town", *TOWNS * 300]))
    options = ["--domain", "towns.toml", "--epsilon", "3", "--size", "6", "--no-ledger", "--quiet"]
    named = ["--hierarchy", "county(town) > town", "--output", "levels.parquet"]
    done = run("publish", "towns.csv", *options, *named)
    assert done.exit_code == 0, done.output
    return "levels.parquet"


def test_levels_are_shown(levels: str) -> None:
    shown = run("show", levels, width=120).output

    assert "a hierarchy of 2 levels: county(town) > town" in shown
    listed = shown.split("cutoff\n")[1].split("Noise is")[0].splitlines()[1:]
    rows = {line.split("  ")[0]: line.split()[1:] for line in listed}
    assert [rows[level][:2] for level in ("all", "county(town)", "town")] == [
        ["1", "1"],
        ["2", "2"],
        ["3", "3"],
    ]
    assert rows["all"][-2:] == ["all", "rows"]


def test_rows_are_written_and_said_to_be_synthetic(levels: str) -> None:
    done = run("rows", levels, "-o", "rows.parquet")
    number = pq.read_metadata("rows.parquet").num_rows

    assert done.exit_code == 0, done.output
    assert done.stdout == f"rows.parquet: {number:,} synthetic rows. None of them is a person.\n"
    assert pq.read_table("rows.parquet").to_pydict() == ht.open(levels).rows().to_pydict()

    assert run("rows", levels, "-o", "rows.parquet").exit_code != 0
    again = run("rows", levels, "-o", "rows.parquet", "--count", "7", "--overwrite", "--json")
    assert json.loads(again.stdout) == {"file": "rows.parquet", "rows": 7, "synthetic": True}
    assert "all of its attributes" in run("rows", levels, "-o", "more.parquet", "--by", "town").output


def test_a_release_is_never_overwritten(levels: str) -> None:
    refused = run("rows", levels, "-o", levels, "--overwrite")

    assert refused.exit_code != 0
    assert "only synthetic rows" in refused.output
