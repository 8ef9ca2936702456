"""A session of Spark Connect keeps the contract of engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hushtable.engines.sliced import runs
from hushtable.table.slices import Slices
from tests.engines.contract import *  # noqa: F403
from tests.engines.contracts.engine import Engine
from tests.spark.test_contract import OnSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OnConnect(OnSpark):
    """Spark behind a server; its cells are counted together here."""

    def __init__(self, connected: SparkSession, spark: SparkSession) -> None:
        super().__init__(spark)
        self.classic, self.spark = spark, connected

    def cut_finely(self, monkeypatch: pytest.MonkeyPatch, *, work: int = 1 << 12) -> None:
        monkeypatch.setattr(runs, "SLICE_ROWS", work // 4)

    def again(self, slices: Slices) -> Slices:
        return slices

    def said(self) -> str:
        return OnSpark(self.classic).said()


@pytest.fixture
def engine(connected: SparkSession, spark: SparkSession) -> Engine:
    return OnConnect(connected, spark)
