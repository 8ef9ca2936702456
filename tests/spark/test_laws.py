"""Noise of other laws on Spark: people counted cell by cell; what is published has the stated noise.

Also of texts that nobody lists.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, fits, follows, noise_from

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 1_500  # of 10^6
CELLS = 2  # of a person, who has three rows in each
WORDS: dict[str, Any] = {
    "domain": ht.Domain(key=ht.integers(0, 10**6 - 1)),
    "unit": ht.Unit("person", max_cells=CELLS),
    "epsilon": 1,
    "delta": "1e-3",
    "ledger": False,
}


def people(each: int) -> pa.Table:
    """So many people in each key: no other bound would leave them all there."""
    keys = np.repeat(np.arange(KEYS), each)
    person = keys // CELLS * each + np.tile(np.arange(each), KEYS)
    return pa.table({"person": np.repeat(person, 3), "key": np.repeat(keys * 600, 3)})


@pytest.mark.parametrize("name", ["truncated-geometric", "gaussian-stability", "gaussian"])
def test_noise_of_workers_has_the_stated_law(name: str, spark: SparkSession, tmp_path: Path) -> None:
    words = WORDS | {"law": name}
    if name == "gaussian":
        words |= {"structure": "cells", "summary": ht.Filter(cutoff=12, two_sided=False), "total_share": 0}
    here = ht.publish(people(20), output=tmp_path / "here.parquet", **words)
    cutoff = int(here.terms.method.cutoff or 0)
    count = cutoff + 2  # so that noise decides

    rows = spark.createDataFrame(people(count)).repartition(3)
    if name == "gaussian-stability":  # of numbers that are taken for texts
        words["domain"] = ht.Domain(key=ht.any_text(longest=8))
        words["query"] = "SELECT person, CAST(key AS VARCHAR) AS key FROM data"
    there = ht.publish(rows, output=tmp_path / "there.parquet", **words)

    assert (there.terms.law, there.terms.method, there.terms.cost) == (
        here.terms.law,
        here.terms.method,
        here.terms.cost,
    )
    found = there.to_arrow()
    occupied = np.asarray(found["key"].cast(pa.int64())) % 600 == 0
    noise = np.asarray(found["count"])[occupied] - count
    law = there.terms.law
    chance, left = noise_from(law, cutoff - count)
    twice = noise_from(type(here.terms.law).calibrated(**budget(name, cells=2 * CELLS)), cutoff - count)
    assert follows(noise, left) > ALARM
    assert fits(noise, twice[1]) < ALARM
    assert chernoff_follows(noise.size, KEYS, chance) > ALARM
    assert chernoff(noise.size - KEYS // 8, KEYS, chance) < ALARM
    empty = len(found) - noise.size
    if law.noises_empty:
        assert chernoff_follows(empty, 10**6 - KEYS, noise_from(law, cutoff)[0]) > ALARM
    else:
        assert empty == 0


def budget(name: str, *, cells: int) -> dict[str, Any]:
    """What buys noise for another number of cells."""
    from fractions import Fraction

    from hushtable.laws.curves import gaussian_rho

    epsilon, delta = Fraction(1), Fraction(1, 1_000)
    paid = gaussian_rho(epsilon, delta=delta, cells=cells) if name == "gaussian" else epsilon
    return {"budget": paid, "change": Fraction(cells), "delta": delta}
