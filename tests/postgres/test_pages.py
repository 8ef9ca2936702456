"""The code on the page about databases runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.test_docs import ON_POSTGRES, run_page
from tests.postgres.server import PORT, Server


def test_code_on_the_page_runs(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.sql("CREATE TABLE visits (clinic integer, age integer, person_id bigint)")
    server.sql("INSERT INTO visits SELECT n % 20, n % 7 * 10, n % 2000 FROM generate_series(1, 6000) AS n")
    server.sql("CREATE DATABASE clinic TEMPLATE postgres")
    for name, value in {"PGHOST": str(server.folder), "PGPORT": str(PORT), "PGUSER": "owner"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    run_page(ON_POSTGRES)
    server.sql("DROP TABLE visits")
