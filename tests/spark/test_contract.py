"""Spark keeps the contract of engines."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hushtable.engines.spark import cutting
from hushtable.engines.spark.counting import SlicesOnSpark
from hushtable.table.slices import Slices
from tests.engines.contract import *  # noqa: F403
from tests.engines.contracts.engine import Engine, T

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OnSpark:
    """Spark, with few jobs: each takes a second."""

    examples = 1
    worlds = 12

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.draws = 0

    def data(self, table: pa.Table, *, parts: int = 2) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        frame = self.spark.createDataFrame(table, schema=schema)
        return frame if parts == 2 else frame.repartition(parts)

    def some(self, things: Sequence[T], few: int) -> Sequence[T]:
        return things[:few]

    def holds(self, kind: pa.DataType) -> bool:
        return not pa.types.is_uint64(kind)

    def cut_finely(self, monkeypatch: pytest.MonkeyPatch, *, work: int = 1 << 12) -> None:
        monkeypatch.setattr(cutting, "_LEAST", work)
        monkeypatch.setattr(cutting, "_MOST", work)

    def again(self, slices: Slices) -> Slices:
        assert isinstance(slices, SlicesOnSpark)
        self.draws += 1
        return replace(slices, staging=f"{slices.staging}-{self.draws}")

    def said(self) -> str:
        # Spark writes to where this process wrote when Spark was started: a file of pytest's.
        path = Path(f"/proc/{self.spark.sparkContext._gateway.proc.pid}/fd/2")
        assert stat.S_ISREG(os.stat(path).st_mode), "run without -s: what Spark prints must be seen"
        return path.read_text(errors="replace")


@pytest.fixture
def engine(spark: SparkSession) -> Engine:
    return OnSpark(spark)
