"""What the command reads on Spark: files and tables, each row once, with the types that they declare."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.engines.spark import sources
from hushtable.engines.spark.sources import check_frame, frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CANARY = "Zyx-Canary-4711"
ROWS = pa.table({"x": [1, 2, 3]})
FILES = (
    "a.parquet",
    "b[1].parquet",
    "two/1.parquet",
    "two/2.parquet",
    "nested/1.parquet",
    "nested/deep/2.parquet",
    "by/y=06001/1.parquet",
    "by/y=7/1.parquet",
    "delta/1.parquet",
    "lakes/hudi/day=1/1.parquet",
    "lakes/iceberg/data/1.parquet",
    "lakes/plain/1.parquet",
    "hive/base_0000002/1.parquet",
    "disagree/1.parquet",
    "unnamed/part-0",
)


@pytest.fixture(scope="module", autouse=True)
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("sources")
    for name in FILES:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(ROWS, made / name)
    pq.write_table(pa.table({"x": ["text"]}), made / "disagree" / "2.parquet")
    (made / "both" / f"X={CANARY}").mkdir(parents=True)
    pq.write_table(ROWS, made / "both" / f"X={CANARY}" / "1.parquet")
    pyarrow.orc.write_table(ROWS, made / "a.orc")
    (made / "a.csv").write_text("x\n1\n")
    (made / "lines").mkdir()
    (made / "lines" / "1.jsonl").write_text('{"x": 1}\n')
    (made / "bad.parquet").write_text(CANARY)
    (made / "empty" / "_temporary").mkdir(parents=True)
    (made / "delta" / "_delta_log").mkdir()
    (made / "two" / "_SUCCESS").touch()
    (made / "lakes" / "hudi" / ".hoodie").mkdir()
    (made / "lakes" / "iceberg" / "metadata").mkdir()
    (made / "lakes" / "iceberg" / "metadata" / "v1.metadata.json").touch()
    (made / "hard").mkdir()
    os.link(made / "two" / "1.parquet", made / "hard" / "3.parquet")
    (made / "link.parquet").symlink_to("a.parquet")
    (made / f"empty-by/person={CANARY}").mkdir(parents=True)
    for name in ("one", "other"):
        spark.range(3).coalesce(1).write.saveAsTable(name)
    spark.range(3).selectExpr("CAST(id AS STRING) AS id").coalesce(1).write.saveAsTable("text")
    where = spark.sql("DESCRIBE EXTENDED one").where("col_name = 'Location'").first()
    assert where is not None
    spark.sql(f"CREATE TABLE same USING parquet LOCATION '{where['data_type']}'")
    spark.sql("CREATE VIEW grouped AS SELECT count(*) AS id FROM one")
    yield made
    spark.sql("DROP VIEW grouped")
    for name in ("same", "one", "other", "text"):
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    ("data", "rows", "columns"),
    [
        (["a.parquet"], 3, {"x": "bigint"}),
        (["./two"], 6, {"x": "bigint"}),
        (["two/"], 6, {"x": "bigint"}),
        (["*o/?.parquet"], 6, {"x": "bigint"}),
        (["b[1].parquet"], 3, {"x": "bigint"}),  # a name with brackets, which is there
        (["[ab].parquet"], 3, {"x": "bigint"}),  # a pattern
        (["nested"], 6, {"x": "bigint"}),  # Spark alone would leave the deeper file out
        (["a.parquet", "two", "nested"], 15, {"x": "bigint"}),
        (["by"], 6, {"x": "bigint", "y": "string"}),  # 06001 is not a number
        (["by/y=06001"], 3, {"x": "bigint", "y": "string"}),
        (["by/y=*"], 6, {"x": "bigint", "y": "string"}),
        (["a.orc"], 3, {"x": "bigint"}),
        (["one"], 3, {"id": "bigint"}),
        (["spark_catalog.default.one", "other"], 6, {"id": "bigint"}),
    ],
)
def test_rows_are_those_of_the_files_or_tables(
    data: list[str],
    rows: int,
    columns: dict[str, str],
    spark: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    # Java has a working folder of its own; of a real command it is the same.
    absolute = [name if columns == {"id": "bigint"} else os.path.join(folder, name) for name in data]

    frame = frame_of(spark, absolute)

    assert dict(frame.dtypes) == columns
    assert frame.count() == rows


def test_values_in_names_of_folders_are_text(spark: SparkSession, folder: Path) -> None:
    found = frame_of(spark, [f"{folder}/by"]).select("y").distinct().collect()

    assert {row.y for row in found} == {"06001", "7"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["/nope.parquet"], "there is no file '.*/nope.parquet'"),
        (["/nope*"], r"no file matches '.*/nope\*'"),
        (["/empty"], "the folder '.*/empty' holds no files"),
        (["/empty-by/*"], r"the folder '.*/empty-by/person=\.\.\.' holds no files"),
        (["/unnamed"], "the name of '.*/unnamed/part-0' does not say what is in it"),
        (["/a.csv"], "'.*/a.csv' is text, .* without --engine spark.* ht.publish"),
        (["/lines"], "'.*/lines/1.jsonl' is text"),
        (["/delta"], "'.*/delta' belongs to a Delta table"),
        (["/delta/1.parquet"], "'.*/delta' belongs to a Delta table"),
        (["/delta/*"], "'.*/delta' belongs to a Delta table"),
        (["/lakes"], "'.*/lakes/hudi' belongs to a Hudi table"),
        (["/lakes/iceberg/data"], "'.*/lakes/iceberg' belongs to an Iceberg table"),
        (["/lakes/*/data/*.parquet"], "'.*/lakes/iceberg' belongs to an Iceberg table"),
        (["/hive"], "belongs to a transactional Hive table"),
        (["/two/1.parquet", "/hard"], "the file '.*/.*.parquet' is given twice"),
        (["/disagree"], "a column has not the same type in all files"),
        (["/both"], "the files have a column .X., and lie in a folder that names it too"),
        (["/bad.parquet"], "cannot be read by Spark"),
        (["/a.parquet", "/a.parquet"], "the file '.*/a.parquet' is given twice"),
        (["/a.parquet", "/link.parquet"], "the file '.*/a.parquet' is given twice"),
        (["/two/1.parquet", "/two"], "the file '.*/two/1.parquet' is given twice"),
        (["/by", "/by/y=7"], r"the file '.*/by/y=\.\.\.' is given twice"),
        (["/by/y=7", "/a.parquet"], "columns in the names of folders"),
        (["/a.parquet", "/a.orc"], "of several kinds: orc, parquet"),
        (["/a.parquet", "one"], "paths and tables are given together"),
        (["nope"], "there is no table 'nope'"),
        (["nope.nope.nope"], "there is no table 'nope.nope.nope'"),
        (["no name"], "there is no table 'no name'"),
        (["one", "default.one"], "the table 'default.one' is given twice"),
        (["one", "same"], "the file '.*' is given twice"),
        (["one", "text"], "the tables 'one' and 'text' have different columns"),
        (["grouped"], "'grouped' is a view, which may join or group"),
        (["nofs://there/a.parquet"], "cannot read from nofs"),
        (["hdfs://127.0.0.1:1/a.parquet"], "does not answer"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    data: list[str], message: str, spark: SparkSession, folder: Path
) -> None:
    given = [f"{folder}{name}" if name.startswith("/") else name for name in data]

    with pytest.raises(ht.BadData, match=message) as caught:
        frame_of(spark, given)

    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in str(caught.value)
    assert "org.apache" not in str(caught.value).replace("org.apache.hadoop:hadoop-aws", "")


def test_a_view_may_be_what_is_protected(spark: SparkSession) -> None:
    assert frame_of(spark, ["grouped"], rows_are_units=True).count() == 1


def test_marks_are_seen_through_hadoop_too(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on HDFS and in object stores, where this machine's own look at its disks finds nothing."""
    monkeypatch.setattr(sources, "_is_local", lambda path: False)

    for name in ("delta", "delta/1.parquet", "lakes", "lakes/iceberg/data", "lakes/hudi/day=1"):
        with pytest.raises(ht.BadData, match="rows that were replaced or deleted"):
            frame_of(spark, [f"file:{folder}/{name}"])
    assert frame_of(spark, [f"file:{folder}/lakes/plain", f"file:{folder}/b[1].parquet"]).count() == 6


def test_versions_are_refused_whoever_names_their_files(spark: SparkSession, folder: Path) -> None:
    """A table `USING parquet` over the folder of a Delta table, or a DataFrame that reads plain files."""
    spark.sql(f"CREATE TABLE versions USING parquet LOCATION '{folder}/delta'")
    try:
        plain = spark.read.parquet(f"{folder}/lakes/iceberg/data")
        for frame in (frame_of(spark, ["versions"]), plain.where("x > 0").union(plain)):
            with pytest.raises(ht.BadData, match="rows that were replaced or deleted"):
                check_frame(frame)
    finally:
        spark.sql("DROP TABLE versions")
    check_frame(frame_of(spark, ["one", "other"]))
    check_frame(spark.range(3).toDF("x"))
