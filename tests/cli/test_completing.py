"""What a shell offers after TAB, asked as a shell asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import hushtable as ht
from hushtable.cli.main import app

DOMAIN = """\
[[attribute]]
name = "town"
categories = ["a", "b"]
[[attribute]]
name = "age"
bins = { start = 0, stop = 100, step = 5, levels = [10, 50] }
"""
RECIPES = """\
[defaults]
domain = "people.toml"
epsilon = 1
[[release]]
name = "towns-{year}"
[[release]]
name = "ages-{year}"
"""


@pytest.fixture(autouse=True)
def people(folder: Path) -> None:
    (folder / "people.toml").write_text(DOMAIN)
    (folder / "releases.toml").write_text(RECIPES)
    (folder / "rows.csv").write_text("town,age\na,3\n")
    ht.publish("rows.csv", domain="people.toml", epsilon=1, size=9, ledger=False, output="out.parquet")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("publish rows.csv --domain people.toml --ask t", ["town"]),
        ("publish rows.csv --domain people.toml --ask town,", ["town,age", "town,10(age)", "town,50(age)"]),
        ("publish rows.csv --domain people.toml --level a", ["age=10", "age=50"]),
        ("query out.parquet --by a", ["age"]),
        ("run releases.toml --set year=2025 to", ["towns-2025"]),
        ("publish rows.csv --domain missing.toml --ask t", []),
        ("query rows.csv --by a", []),
        ("run missing.toml to", []),
    ],
)
def test_a_shell_is_offered_names(line: str, offered: list[str]) -> None:
    asked = {"_HUSHTABLE_COMPLETE": "bash_complete", "COMP_WORDS": f"hushtable {line}"}
    asked["COMP_CWORD"] = str(len(line.split()))
    done = CliRunner().invoke(app, [], prog_name="hushtable", env=asked)

    found = [each.removeprefix("plain,") for each in done.stdout.split()]
    assert set(offered) <= set(found) or not offered, (done.stdout, done.stderr)
    assert [each for each in found if each not in offered] == [], found
