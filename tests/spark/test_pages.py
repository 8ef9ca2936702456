"""The code on pages about Spark runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.architecture.test_docs import ON_SPARK, ROOT, run_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("path", ON_SPARK, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_on_the_page_runs(
    path: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    run_page(path)
