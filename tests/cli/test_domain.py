"""`hushtable domain`: a draft that is private until reviewed, and a look at a public file."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

import hushtable as ht
from tests.cli.commands import DOMAIN, run, run_script


def test_show() -> None:
    done = run("domain", "show", "commute.toml")

    assert (done.exit_code, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for part in (
        "Commuters",
        "home integers 0 to 999,999 1,000,000 dropped dropped",
        "column h_geocode",
        "sector 4 categories: farming, industry, services, unknown 4 to 'unknown' dropped",
        "age 20 bins of 5 from 0 to 100 20 dropped clamped",
        "when 366 steps of 1 day from 2024-01-01, UTC 366 dropped dropped",
        "cells 29,280,000,000 (about 10^10.5)",
        "reviewed yes",
        f"digest {ht.Domain.load('commute.toml').digest}",
    ):
        assert part in shown


def test_show_every_kind(folder: Path) -> None:
    (folder / "kinds.toml").write_text(
        """
        reviewed = false
        [[attribute]]
        name = "one"
        categories = ["a"]
        outside = "error"
        [[attribute]]
        name = "many"
        categories = ["a\\u001b[31m", "[red]b", "", "a text that is longer than one would like", "e", "f"]
        [[attribute]]
        name = "edges"
        bins = { edges = [0, 0.5, 18, 65, 100] }
        [[attribute]]
        name = "small"
        bins = { start = 0.1, stop = 0.4, step = 0.1 }
        [[attribute]]
        name = "huge"
        integers = { low = -1000000000000, high = 1000000000000 }
        [[attribute]]
        name = "hours"
        times = { start = "2024-01-01", stop = "2024-01-02", every = "1 hour", timezone = "Europe/Berlin" }
        """
    )

    done = run("domain", "show", "kinds.toml")

    assert done.exit_code == 0
    shown = " ".join(done.stdout.split())
    for part in (
        "kinds.toml",
        "1 category: a 1 dropped error",
        r"6 categories: a\x1b[31m, [red]b, '', a text that is longer..., ...",
        "4 bins with edges 0, 0.5, 18, 65, ...",
        "3 bins of 0.1 from 0.1 to 0.4",
        "integers -1,000,000,000,000 to 1,000,000,000,000",
        "24 steps of 1 hour from 2024-01-01 00:00:00, Europe/Berlin",
        "(about 10^15.5)",
        "reviewed no",
    ):
        assert part in shown


def test_show_lists_levels(folder: Path) -> None:
    (folder / "levels.toml").write_text(
        """
        [[attribute]]
        name = "home"
        categories = { values = ["011", "012", "021"], levels = { tract = 2, "[red]" = ["n", "n", "n"] } }
        outside = { other = "?" }
        [[attribute]]
        name = "age"
        bins = { start = 0, stop = 10000, step = 1, levels = [5, 2500] }
        [[attribute]]
        name = "when"
        times = { start = "2024-01-01", stop = "2025-01-01", every = "1 hour", levels = ["1 day", "1 month"] }
        """
    )

    done = run("domain", "show", "levels.toml")

    assert done.exit_code == 0
    shown = " ".join(done.stdout.split())
    for part in (
        "4 categories: 011, 012, 021, ? 4 dropped to '?' level tract 3 level [red] 2 age",
        "10,000 dropped dropped level 5 2,000 level 2500 4 when",
        "8,784 dropped dropped level 1 day 366 level 1 month 12 cells 351,360,000",
    ):
        assert part in shown


def test_show_fits_a_narrow_screen_and_is_not_cut() -> None:
    done = run("domain", "show", "commute.toml", width=80)

    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    assert "services, unknown" in done.stdout


def test_a_draft_goes_to_standard_output() -> None:
    done = run("domain", "draft", "people.csv")

    assert done.exit_code == 0
    assert done.stdout.startswith("# PRIVATE until reviewed")
    assert "reviewed = false\n" in done.stdout
    assert "PRIVATE until reviewed" in done.stderr


def test_a_draft_goes_to_a_file_of_the_owner(folder: Path) -> None:
    done = run("domain", "draft", "people.csv", "--output", "people.toml")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "people.toml is PRIVATE until reviewed" in done.stderr
    assert stat.S_IMODE((folder / "people.toml").stat().st_mode) == 0o600
    assert not ht.Domain.load("people.toml").reviewed

    checked = run("check", "people.csv", "--domain", "people.toml", "--format", "json")
    looks = json.loads(checked.stdout)["attributes"].values()
    assert {(look["below"], look["above"], look["unreadable"]) for look in looks} == {(0, 0, 0)}


def test_a_file_that_exists_is_kept(folder: Path) -> None:
    done = run("domain", "draft", "people.csv", "--output", "commute.toml")

    assert done.exit_code == 6
    assert "--overwrite" in done.stderr
    assert (folder / "commute.toml").read_text() == DOMAIN

    done = run("domain", "draft", "people.csv", "--output", "commute.toml", "--overwrite")
    assert done.exit_code == 3
    assert "not a draft that nobody has reviewed" in " ".join(done.stderr.split())
    assert (folder / "commute.toml").read_text() == DOMAIN

    assert run("domain", "draft", "people.csv", "--output", "draft.toml").exit_code == 0
    assert run("domain", "draft", "people.csv", "--output", "draft.toml", "--overwrite").exit_code == 0
    assert not ht.Domain.load("draft.toml").reviewed


def test_a_folder_that_is_not_there_is_told() -> None:
    done = run("domain", "draft", "people.csv", "--output", "nowhere/people.toml")

    assert done.exit_code == 3
    assert "nowhere/people.toml: its folder is not there" in " ".join(done.stderr.split())


def test_a_draft_of_a_query_and_of_some_rows() -> None:
    done = run("domain", "draft", "people.csv", "--query", "SELECT age FROM data", "--rows", 1)

    assert done.stdout.count("\n[[attribute]]\n") == 1
    assert 'name = "age"' in done.stdout


@pytest.mark.long  # both commands run in this process above
def test_the_script_drafts_and_shows(folder: Path) -> None:
    drafted = run_script("domain", "draft", "people.csv")
    (folder / "people.toml").write_text(drafted.stdout)
    shown = run_script("domain", "show", "people.toml")

    assert (drafted.returncode, shown.returncode, shown.stderr) == (0, 0, "")
    assert "reviewed  no" in shown.stdout
