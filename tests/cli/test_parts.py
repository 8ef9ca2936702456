"""Every command that takes a release takes a folder of parts, and says the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hushtable as ht
from tests.cli.commands import run
from tests.release.examples import TRIPS, TRIPS_DOMAIN, rows, terms, write


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders with a release of the same name: one file, and seven parts."""
    made = terms(TRIPS_DOMAIN, method=ht.Everything(), rule=None, cutoff=None, threshold=None, total=1_470)
    given = rows(made, np.array(list(np.ndindex(TRIPS_DOMAIN.shape))), np.arange(21) * 17 - 100)
    for name, rows_in_a_file in (("whole", None), ("parts", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trips.toml").write_text(TRIPS, encoding="utf-8")
        write(tmp_path / name / "trips.parquet", made, given, rows_in_a_file=rows_in_a_file)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["show", "trips.parquet"],
        ["show", "trips.parquet", "--rows", "3"],
        ["query", "trips.parquet", "--where", "home = 's'"],
        ["query", "trips.parquet", "--by", "hour", "--format", "csv"],
        ["sql", "trips.parquet", "SELECT home, sum(weight) FROM release GROUP BY home ORDER BY home"],
        ["export", "trips.parquet", "-o", "trips.csv"],
        ["thin", "trips.parquet", "--size", "3", "--output", "small.parquet"],
        ["plot", "trips.parquet", "--by", "hour", "-o", "trips.svg"],
        ["plan", "--domain", "trips.toml", "--epsilon", "1", "--size", "9", "--like", "trips.parquet"],
    ],
    ids=lambda command: command[0],
)
def test_the_same_words_and_files(command: list[str], base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, made = [], []
    for name in ("whole", "parts"):
        monkeypatch.chdir(base / name)
        result = run(*command)
        assert result.exit_code == 0, result.output
        said.append(result.output)
        made.append(
            {each.name: each.read_bytes() for each in Path().iterdir() if each.name != "trips.parquet"}
        )

    assert (base / "parts" / "trips.parquet").is_dir()
    assert said[0] == said[1]
    assert made[0] == made[1]


def test_a_release_in_parts_is_thinned_in_its_place(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base / "parts")
    command = ["thin", "trips.parquet", "--size", "3", "--output", "trips.parquet"]
    refused = run(*command)
    assert refused.exit_code == 6
    assert "there is a folder of this name already" in refused.output

    assert run(*command, "--overwrite").exit_code == 0
    assert len(ht.open("trips.parquet")) == 3
    assert Path("trips.parquet").is_file()


def test_a_part_and_a_damaged_folder_are_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base / "parts")
    one = run("show", "trips.parquet/part-00003.parquet")
    Path("trips.parquet/part-00003.parquet").unlink()
    damaged = run("show", "trips.parquet")

    assert (one.exit_code, damaged.exit_code) == (3, 3)
    assert "it is part 4 of 7 of a release" in " ".join(one.output.split())
    assert "part-00003.parquet is missing" in " ".join(damaged.output.split())
