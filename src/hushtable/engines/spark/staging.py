"""Where noisy candidates wait, once drawn: a folder that all workers write to.

Promise: what is drawn from a slice is written by one attempt, whole, and read as often as needed; no failure
makes it be drawn again. Only this user can read the folder. It is removed when the work ends; if this process
is killed, on this machine by the next start, elsewhere by Spark's Java process, which ends then. If that is
killed, it is removed where it is on this machine, and named where it is not.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.engines.sliced.spills import spill_folder
from hushtable.engines.spark.jobs import ran, undone
from hushtable.errors import BadData
from hushtable.noise import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def staging_folder(spark: SparkSession) -> Iterator[str]:
    """Give a new folder for candidates, as Spark names it: on this machine, or where checkpoints go."""
    shared = spark.sparkContext.getCheckpointDir() or spark.conf.get("spark.checkpoint.dir", None)
    if shared is None:
        if not spark.sparkContext.master.startswith("local"):
            fact = "workers on other machines need a folder that all of them reach, for what they draw"
            raise BadData(
                fact, "Set spark.checkpoint.dir to one that is private, as in hdfs:///user/me/private."
            )
        with spill_folder() as folder:
            yield (folder / "candidates").as_uri()
        return
    files, path = ran(lambda: _private_folder(spark, shared))
    name = path.toString()
    try:
        _check_reached(spark, name)
        yield f"{name}/candidates"
    finally:
        if not undone(lambda: _removed(files, path)):
            _removed_without_java(name)


def _private_folder(spark: SparkSession, parent: str) -> tuple[Any, Any]:
    """Make a folder, and return where it is and its file system, as Java has them."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    path = hadoop.Path(parent, f"hushtable-{KeyStream().words(2).tobytes().hex()}")
    files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    private = hadoop.permission.FsPermission("700")
    if not files.mkdirs(path, private):
        raise BadData(f"no folder can be made in {parent!r}", "Check spark.checkpoint.dir.")
    files.setPermission(path, private)
    files.deleteOnExit(path)
    return files, path


def _check_reached(spark: SparkSession, folder: str) -> None:
    """Raise unless what workers write to a folder is there for all: before anything is spent."""
    tasks = 2 * spark.sparkContext.defaultParallelism
    ran(lambda: spark.range(0, tasks, 1, tasks).write.parquet(f"{folder}/reached"))
    if ran(lambda: spark.read.schema("id long").parquet(f"{folder}/reached").count()) != tasks:
        fact = "what workers write to the folder of spark.checkpoint.dir does not come to the driver"
        raise BadData(fact, "Set it to a folder that all of them share, as in hdfs:///user/me/private.")


def _removed_without_java(name: str) -> None:
    """Remove a folder that Java, which is gone, can no longer remove; or name it."""
    here = re.fullmatch("file:/+(.*)", name)
    folder = Path("/", here[1]) if here is not None else None
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()  # Spark made it for this session, and it is empty
    if folder is None or folder.exists():
        fact = f"the Java process of Spark is gone, and has left the folder {name!r}"
        raise BadData(fact, "Remove it: it says which cells are occupied.")


def _removed(files: Any, path: Any) -> None:
    """Remove a folder, or say that it is still there: it tells more than a release does."""
    if not files.delete(path, True):
        fact = f"the folder {path.toString()!r} could not be removed"
        raise BadData(fact, "Remove it: it says which cells are occupied.")
