"""The engines of Spark: DataFrames, counted by its workers.

Of a session that runs here, cells stay on the workers; of a session of Spark Connect they come here.

Promise: whether data are a DataFrame is told by their type, without importing Spark.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.engines.sliced.paths import kept_paths
from hushtable.files.apart import Kept


class SparkEngine:
    """Workers of Spark, of which each holds a part of the cells."""

    name = "spark"
    distributed = True

    def takes(self, data: Any) -> bool:
        """Return whether data are a DataFrame of Spark."""
        return _is_frame(data, "pyspark.sql") and not _is_frame(data, _CONNECT)

    def inputs(self, data: Any) -> Kept:
        """Return the local files and folders that the plan of a DataFrame names."""
        from hushtable.engines.spark.sources import local_paths

        return kept_paths(local_paths(data))

    def counted(self, data: Any, request: CountRequest) -> AbstractContextManager[Counted]:
        """Count the rows; slices stay on the workers until the block ends."""
        from hushtable.engines.spark.counting import counted_on_spark

        return counted_on_spark(data, request)


class ConnectEngine:
    """Workers of Spark behind a server, and cells in this process."""

    name = "spark-connect"
    distributed = False

    def takes(self, data: Any) -> bool:
        """Return whether data are a DataFrame of Spark Connect."""
        return _is_frame(data, _CONNECT)

    def inputs(self, data: Any) -> Kept:
        """Return the local files and folders that the server names, if it is on this machine."""
        from hushtable.engines.spark.remote import remote_paths

        return kept_paths(remote_paths(data))

    def counted(self, data: Any, request: CountRequest) -> AbstractContextManager[Counted]:
        """Count the rows; what does not fit in memory lives in files until the block ends."""
        from hushtable.engines.spark.gathering import gathered

        return gathered(data, request)


def _is_frame(data: Any, package: str) -> bool:
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return any(module.startswith(package) and name == "DataFrame" for module, name in kinds)


_CONNECT = "pyspark.sql.connect"
SPARK = SparkEngine()
CONNECT = ConnectEngine()
