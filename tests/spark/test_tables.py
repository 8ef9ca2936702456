"""Several tables on Spark: the same default as on one machine, added up from slices on workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.engines.spark import counting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = {"town": 40, "job": 30, "age": 50}
DOMAIN = ht.Domain.from_dict(
    {
        "attribute": [
            {"name": name, "integers": {"low": "0", "high": str(size - 1)}} for name, size in SIZES.items()
        ]
    }
)


def rows(number: int = 20_000) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {name: np.minimum(random.geometric(0.1, number) - 1, size - 1) for name, size in SIZES.items()}
    )


def publish(data: Any, path: Path, **settings: Any) -> ht.Release:
    return ht.publish(data, domain=DOMAIN, size=1000, output=path, **{"epsilon": 500, **settings})


def truth(data: pa.Table, *names: str) -> list[int]:
    shape = [SIZES[name] for name in names]
    places = np.ravel_multi_index([np.asarray(data[name]) for name in names], shape)
    return [int(each) for each in np.bincount(places, minlength=int(np.prod(shape)))]


@pytest.mark.parametrize("ask", [None, ["town", "job,age", "age:ranges"]])
def test_tables_are_those_of_one_machine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: list[str] | None
) -> None:
    monkeypatch.setattr(counting, "_READ_AT_ONCE", 100)  # so that slices come to the driver in several groups
    data = rows()
    here = publish(data, tmp_path / "here.parquet", ask=ask)
    there = publish(spark.createDataFrame(data), tmp_path / "there.parquet", ask=ask)

    assert there.terms.structure == here.terms.structure
    methods = [[(part.method, part.rule) for part in each.terms.parts] for each in (here, there)]
    assert methods[0] == methods[1]
    for names in (["town"], ["job", "age"]):
        found = there.by(names)
        assert found.schema.metadata[b"source"] == b"whole tables"
        assert np.allclose(found["estimate"].to_numpy(), truth(data, *names), atol=1.5)


def test_tables_that_are_not_whole_stay_out_of_a_default(spark: SparkSession, tmp_path: Path) -> None:
    """The driver would hold their sums."""
    wide = ht.Domain.from_dict(
        {
            "attribute": [
                {"name": name, "integers": {"low": "0", "high": "999"}} for name in ("town", "job", "age")
            ]
        }
    )
    data = spark.createDataFrame(rows(1000))
    release = ht.publish(data, domain=wide, epsilon=1, size=1000, output=tmp_path / "out.parquet")
    labels = [each.label for each in release.terms.nodes.marginals]
    assert labels == ["town", "job", "age", "town, job, age"]
