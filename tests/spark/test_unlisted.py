"""Texts that nobody can list, counted by workers: the same cells as on one machine, however dealt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.engines.sliced import bounding as here
from hushtable.engines.spark import counting as there
from tests.engines.test_unlisted import ODD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOMAIN = ht.Domain(
    word=ht.any_text(longest=4, outside={"other": "…"}),
    day=ht.integers(0, 2),
    head=ht.any_text(longest=6, column="word"),
    town=ht.categories(["a", "b"]),
)


def searches(rows: int = 6_000) -> pa.Table:
    random = np.random.default_rng(3)
    texts = [
        *ODD,
        None,
        "abcde",
        "abcdefg",
        *(f"w{n}" for n in range(40)),
        *(f"once {n}" for n in range(900)),
    ]
    chances = 1 / np.arange(1, len(texts) + 1)
    chosen = random.choice(len(texts), size=rows, p=chances / chances.sum())
    return pa.table(
        {
            "word": pa.array([texts[place] for place in chosen], pa.string()),
            "day": random.integers(0, 4, rows),
            "town": random.choice(["a", "b", "c"], rows),
            "person": random.integers(0, 700, rows),
        }
    )


@pytest.mark.parametrize(("unit", "slices"), [(None, 25), (ht.Unit("person", max_cells=3), 1)])
def test_texts_are_counted_as_on_one_machine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: ht.Unit | None, slices: int
) -> None:
    """Where epsilon is large, noise is 0: the file shows all cells of two or more, and their counts."""
    for module in (here, there):
        monkeypatch.setattr(module, "drawn_salt", lambda entropy: "salt")
    monkeypatch.setattr(there, "target_of", lambda work, *, workers: work / slices)
    monkeypatch.setattr(there, "_READ_AT_ONCE", 100)  # so that slices come to the driver in several groups
    words: dict[str, Any] = {
        "domain": DOMAIN,
        "unit": unit,
        "epsilon": 300,
        "delta": "1e-6",
        "law": "truncated-geometric",
        "ledger": False,
    }
    rows = searches()
    one = ht.publish(rows, output=tmp_path / "here.parquet", **words)
    many = ht.publish(spark.createDataFrame(rows).repartition(3), output=tmp_path / "there.parquet", **words)

    assert one.cutoff == many.cutoff == 2
    assert len(one) > 150
    assert many.to_arrow().equals(one.to_arrow())
    assert many.terms == one.terms
