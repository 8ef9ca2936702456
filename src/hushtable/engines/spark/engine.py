"""The engine of Spark: DataFrames, counted by its workers.

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
        kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
        return any(module.startswith("pyspark.sql") and name == "DataFrame" for module, name in kinds)

    def inputs(self, data: Any) -> Kept:
        """Return the local files and folders that the plan of a DataFrame names."""
        from hushtable.engines.spark.sources import local_paths

        return kept_paths(local_paths(data))

    def counted(self, data: Any, request: CountRequest) -> AbstractContextManager[Counted]:
        """Count the rows; slices stay on the workers until the block ends."""
        from hushtable.engines.spark.counting import counted_on_spark

        return counted_on_spark(data, request)


SPARK = SparkEngine()
