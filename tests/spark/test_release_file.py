"""Spark reads a release as it is: the rows and the types that pyarrow sees."""

from __future__ import annotations

import math
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.release.examples import PEOPLE_DOMAIN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = sorted((Path(__file__).parents[1] / "release" / "golden").glob("*.parquet"))


def by_spark(session: SparkSession, path: Path) -> pa.Table:
    frame = session.read.parquet(str(path))
    # Spark reads the largest file of a folder first.
    parts = [str(part) for part in sorted(path.glob("*.parquet"))] if path.is_dir() else [str(path)]
    found = pa.concat_tables(session.read.parquet(part).toArrow() for part in parts)
    assert frame.count() == found.num_rows
    assert found.schema == frame.limit(0).toArrow().schema
    return found


def by_pyarrow(path: Path) -> pa.Table:
    """Read a file as Spark does, which takes every column for one that may hold nulls."""
    table = pq.read_table(path).replace_schema_metadata()
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_spark_reads_every_kind_of_release(path: Path, spark: SparkSession) -> None:
    assert by_spark(spark, path).equals(by_pyarrow(path))


def test_spark_reads_what_was_just_published(tmp_path: Path, spark: SparkSession) -> None:
    people = pa.table(
        {
            "region": ["north"] * 400 + ["söuth"] * 300,
            "person.age": [-5] * 400 + [120] * 300,
            "hours": [0.35] * 700,
            "income": [50] * 400 + [2_000] * 300,
            "day": [date(1970, 1, 15)] * 700,
            "minute": [datetime(2024, 1, 1, 12, 20)] * 700,
        }
    )
    path = tmp_path / "release.parquet"

    ht.publish(people, domain=PEOPLE_DOMAIN, epsilon=1, size=100, output=path)

    assert by_spark(spark, path).equals(by_pyarrow(path))
    weights = pq.read_table(path)["weight"].to_pylist()
    (row,) = spark.read.parquet(str(path)).agg({"weight": "sum"}).collect()
    assert row[0] == pytest.approx(math.fsum(weights), rel=1e-12)
