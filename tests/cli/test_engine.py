"""`--engine spark` where there is no Spark: what is refused before it would start, and how."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import run

PUBLISH = [
    *["publish", "people.csv", "--domain", "commute.toml", "--epsilon", "1", "--size", "5"],
    *["--no-ledger", "--output", "out.parquet"],
]


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)


def test_without_pyspark_the_install_line_is_shown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"home": [1]}), tmp_path / "people.parquet")
    done = run("publish", str(tmp_path / "people.parquet"), *PUBLISH[2:], "--engine", "spark")

    assert done.exit_code == 1
    assert done.stderr == (
        "error: --engine spark needs the package pyspark, which is not installed. "
        "Run: pip install 'hushtable[spark]'\n"
    )


@pytest.mark.parametrize("options", [["--master", "yarn"], ["--master", "yarn", "--engine", "local"]])
def test_a_master_goes_with_spark(options: list[str]) -> None:
    done = run(*PUBLISH, *options)

    assert done.exit_code == 2
    assert "--engine spark" in done.stderr


def test_an_unknown_engine_is_wrong_usage() -> None:
    assert run(*PUBLISH, "--engine", "dask").exit_code == 2


def test_the_engine_of_one_machine_is_the_default() -> None:
    assert run(*PUBLISH).exit_code == 0
    assert run(*PUBLISH, "--engine", "local", "--overwrite").exit_code == 0
