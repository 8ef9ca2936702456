"""Threshold releases by other libraries: `.venv-libraries/bin/python libraries_worker.py < settings`.

Reads {"counts", "cells", "epsilon", "delta"} as JSON: the count of each key, and how many keys one person
changes by 1. For each mechanism the least threshold is sought that the library's own accounting allows, and
the mechanism runs with it. Prints what came out, as one line of JSON. Nothing of hushtable is imported.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

_HIGHEST = 1 << 12  # of the thresholds that are tried
_WIDTHS = 41  # of Gaussian noise that are tried, up to half as wide again


class Setting(NamedTuple):
    """What is released, and at what cost."""

    counts: dict[str, int]
    cells: int
    epsilon: float
    delta: float


def laplace(setting: Setting) -> list[dict[str, Any]]:
    """Release by OpenDP's Laplace noise on integers."""
    import opendp.prelude as dp

    cells = setting.cells
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    space = domain, dp.l01inf_distance(dp.absolute_distance(T="i64"))

    def made(scale: float, threshold: int) -> Any:
        return dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)

    def keeps(scale: float, threshold: int) -> bool:
        epsilon, delta = made(scale, threshold).map((cells, cells, 1))
        return bool(epsilon <= setting.epsilon and delta <= setting.delta)

    return _released("OpenDP, Laplace", setting, [cells / setting.epsilon], made, keeps)


def gaussian(setting: Setting) -> list[dict[str, Any]]:
    """Release by OpenDP's Gaussian noise on integers; its zCDP is converted by OpenDP."""
    import opendp.prelude as dp
    from opendp.mod import OpenDPException

    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    space = domain, dp.l02inf_distance(dp.absolute_distance(T="f64"))
    change = setting.cells, setting.cells**0.5, 1.0

    def made(scale: float, threshold: int) -> Any:
        return dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)

    def keeps(scale: float, threshold: int) -> bool:
        approximate = dp.c.make_zCDP_to_approxDP(made(scale, threshold))
        try:
            epsilon, delta = dp.c.make_fix_delta(approximate, setting.delta).map(change)
        except OpenDPException:  # nothing is left of delta
            return False
        return bool(epsilon <= setting.epsilon and delta <= setting.delta)

    low, high = 0.1, 1e6
    while high / low > 1.0001:  # the least noise that has this epsilon
        middle = (low * high) ** 0.5
        low, high = (low, middle) if keeps(middle, 100 * int(middle + 1)) else (middle, high)
    scales = [high * (1 + step / (2 * _WIDTHS - 2)) for step in range(_WIDTHS)]
    return _released("OpenDP, Gaussian", setting, scales, made, keeps)


def _released(
    name: str,
    setting: Setting,
    scales: Sequence[float],
    made: Callable[[float, int], Any],
    keeps: Callable[[float, int], bool],
) -> list[dict[str, Any]]:
    """Release with the least threshold that is allowed, and with the one above it."""
    low, chosen = _HIGHEST, scales[0]
    for scale in scales:
        if keeps(scale, low - 1):
            low, chosen = _least(partial(keeps, scale), low - 1), scale
    thresholds = {"as its accounting allows": low, "raised by one": low + 1}
    return [
        {
            "name": f"{name}, {said}",
            "threshold": threshold,
            "scale": chosen,
            "kept": len(made(chosen, threshold)(setting.counts)),
        }
        for said, threshold in thresholds.items()
    ]


def geometric(setting: Setting) -> list[dict[str, Any]]:
    """Release by Tumult Core's geometric partition selection, on Spark."""
    from pyspark.sql import SparkSession
    from pyspark.sql.types import LongType, StructField, StructType
    from tmlt.core.domains.spark_domains import SparkDataFrameDomain, SparkIntegerColumnDescriptor
    from tmlt.core.measurements.spark_measurements import GeometricPartitionSelection
    from tmlt.core.utils.exact_number import ExactNumber

    domain = SparkDataFrameDomain({"key": SparkIntegerColumnDescriptor()})
    scale = ExactNumber(setting.cells) / ExactNumber.from_float(setting.epsilon, round_up=False)

    def made(threshold: int) -> Any:
        return GeometricPartitionSelection(domain, threshold=threshold, alpha=scale)

    def keeps(threshold: int) -> bool:
        epsilon, delta = made(threshold).privacy_function(setting.cells)
        return bool(
            epsilon.to_float(round_up=True) <= setting.epsilon
            and delta.to_float(round_up=True) <= setting.delta
        )

    threshold = _least(keeps, _HIGHEST)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    rows = [(int(key),) for key, count in setting.counts.items() for _ in range(count)]
    frame = spark.createDataFrame(rows, StructType([StructField("key", LongType(), nullable=False)]))
    kept = made(threshold)(frame).count()
    spark.stop()
    said = {"name": "Tumult Core, geometric", "threshold": threshold, "kept": kept}
    return [said | {"scale": scale.to_float(round_up=True)}]


def _least(keeps: Callable[[int], bool], high: int) -> int:
    """Return the least threshold that keeps what is allowed, as one of `high` does."""
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


if __name__ == "__main__":
    import opendp.prelude

    opendp.prelude.enable_features("contrib")
    given = Setting(**json.load(sys.stdin))
    print(json.dumps([*laplace(given), *gaussian(given), *geometric(given)]))
