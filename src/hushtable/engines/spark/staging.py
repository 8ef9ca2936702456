"""Where noisy candidates wait, once drawn: a folder that all workers write to.

Promise: what is drawn from a slice is written by one attempt, whole, and read as often as needed; no failure
makes it be drawn again. Only this user can read the folder. It is removed when the work ends; if this process
is killed, on this machine by the next start, elsewhere by Spark's Java process, which ends then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hushtable.engines.spark.jobs import undone
from hushtable.engines.spills import spill_folder
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
    name = f"hushtable-{KeyStream().words(2).tobytes().hex()}"
    path = spark._jvm.org.apache.hadoop.fs.Path(shared, name)
    files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    private = spark._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
    files.mkdirs(path, private)
    files.setPermission(path, private)
    files.deleteOnExit(path)
    try:
        yield f"{path.toString()}/candidates"
    finally:
        undone(lambda: files.delete(path, True))
