"""A folder with rows and their domain, in which each test runs."""

from pathlib import Path

import pytest

from tests.cli.commands import DOMAIN, ROWS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "commute.toml").write_text(DOMAIN)
    (tmp_path / "people.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path
