"""An output on Spark stays away from the files that a DataFrame reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.laws.sensitivities import Sensitivities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOMAIN = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))
SETTINGS: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "summary": ht.Filter(cutoff=5), "total_share": 0}


def test_an_output_is_not_among_the_files_that_a_frame_reads(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "the data"
    for name in ("year=2023/a.parquet", "year=2024/a.parquet"):
        (folder / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1, 2]}), folder / name)
    ht.publish(pa.table({"x": [1]}), output=tmp_path / "own.parquet", **SETTINGS)
    os.symlink(folder, tmp_path / "linked")
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    frame = spark.read.parquet(str(folder)).where("x > 0").select("x")
    for place in (
        "the data/new.parquet",
        "the data/year=2024/new.parquet",
        "linked/new.parquet",
        "people.ledger",
    ):
        with pytest.raises(ht.BadOutput):
            ht.publish(frame, output=tmp_path / place, overwrite=True, ledger=ledger, **SETTINGS)
    own = spark.read.parquet(str(tmp_path / "own.parquet"))
    with pytest.raises(ht.BadOutput, match="it is data that rows are read from"):
        ht.publish(own, output=tmp_path / "own.parquet", overwrite=True, ledger=ledger, **SETTINGS)
    assert ledger.spent == 0

    ht.publish(frame, output=tmp_path / "own.parquet", overwrite=True, ledger=ledger, **SETTINGS)
    assert ledger.spent == 1


def test_rows_that_a_frame_reads_are_no_list_of_categories(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["a", "b"]}), tmp_path / "rows.parquet")
    (tmp_path / "domain.toml").write_text(
        '[[attribute]]\nname = "x"\ncategories = { file = "rows.parquet" }\n'
    )
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))

    with pytest.raises(ht.BadDomain, match="is among the data that rows are read from"):
        ht.count(frame, domain=ht.Domain.load(tmp_path / "domain.toml"))


def test_a_table_counted_on_spark_knows_what_a_unit_changes(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 7, 50), (1, 8, 3)], "person INT, x INT, amount INT")
    table = ht.count(
        frame, domain=DOMAIN, sum_column="amount", clamp=(-5, 20), unit=ht.Unit("person", max_rows=3)
    )

    assert table.sensitivity == Sensitivities.of_rows(60)
    with pytest.raises(ht.BadNumber, match="is below 60"):
        ht.summarize(table, ht.Filter(cutoff=5), epsilon=1, sensitivity=20)
