"""The session that tests get: its workers are processes of the interpreter that runs the tests."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def interpreter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"path": [sys.executable], "process": [os.getpid()]})


def test_workers_run_the_interpreter_of_the_driver(spark: SparkSession) -> None:
    seen = spark.range(4, numPartitions=2).mapInArrow(interpreter, "path string, process long").collect()

    assert {row.path for row in seen} == {sys.executable}
    assert os.getpid() not in {row.process for row in seen}
