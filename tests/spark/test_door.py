"""Two inputs that differ in one unit, on Spark: the tables differ by no more than is stated.

As `tests/engines/test_door.py`, with DataFrames made of Arrow tables and of Parquet files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hushtable.engines.spark.sources import frame_of
from tests.engines.door import trying
from tests.engines.door.stored import Stored
from tests.engines.door.trying import Examiner, Unwritable, world_of
from tests.engines.door.worlds import World
from tests.engines.reference import Counts
from tests.harness.statistics import SEED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS, CHUNKS = 300, 20  # in `make test-long`
EVERY_TIME = 8
FORMS = {"arrow": 3, "parquet": 2}
# What Spark stores as it is: it has no unsigned numbers, and counts all times in microseconds.
NAMES = ("int8", "int16", "int32", "int64", "text", "bool", "bytes", "date32", "clock us", "instant us UTC")
FAMILIES = ("decimal", "list", "struct", "map")


def kept(kind: Stored) -> bool:
    """Return whether Spark stores a type as it is."""
    if kind.family == "decimal":
        return bool(kind.arrow.precision <= 38)
    return kind.name in (*NAMES, "float32", "float64") or kind.family in FAMILIES


def tried(spark: SparkSession, folder: Path, seed: int, *, pairs: int) -> Examiner:
    """Try worlds until there were so many pairs."""

    def through(data: Any, world: World, *, salt: int) -> Counts:
        if isinstance(data, pa.Table):
            frame = _frame(spark, data)
        else:
            frame = frame_of(spark, data if isinstance(data, list) else [data])
        return trying.door(frame, world, salt=salt)

    examiner = Examiner(folder, through=through, most=6)
    number = 0
    while examiner.pairs < pairs:
        finding = examiner.examined(*world_of(seed, number, forms=FORMS, kinds=kept))
        assert finding is None, (
            f"seed {seed}, number {number}: {examiner.smallest(finding, number, tries=40)}"
        )
        number += 1
    return examiner


def _frame(spark: SparkSession, table: pa.Table) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        return spark.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    except Exception as error:
        raise Unwritable from error


def test_one_unit_moves_the_table_by_no_more_than_is_stated(spark: SparkSession, tmp_path: Path) -> None:
    tried(spark, tmp_path, 30, pairs=EVERY_TIME)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_one_unit_of_many_inputs_moves_the_table_by_no_more_than_is_stated(
    chunk: int, spark: SparkSession, tmp_path: Path
) -> None:
    examiner = tried(spark, tmp_path, SEED * CHUNKS + chunk + 1000, pairs=PAIRS // CHUNKS)

    assert examiner.counting
    assert examiner.skipped <= examiner.pairs
