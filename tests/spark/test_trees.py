"""Trees on Spark: blocks on the workers and the nodes above them are one tree, with one law."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.engines.spark import counting, cutting
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.rationals import as_rate
from hushtable.structures.axes import AxisSpace
from hushtable.table.lifting import lifted
from tests.harness.nodes import node_space
from tests.harness.statistics import ALARM, fits, follows, law_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="x", values=Integers(low=0, high=499)),
        Attribute(name="y", values=Integers(low=0, high=29)),
    )
)
STRUCTURES = [
    ht.Haar(order=["y"]),
    pytest.param(ht.Dyadic(), marks=pytest.mark.long),
    pytest.param(ht.Dyadic(order=["y", "x"]), marks=pytest.mark.long),
    pytest.param(ht.Haar(), marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    # Half of the rows lie in one cell, others close to it, and a few anywhere.
    generator = np.random.default_rng(3)
    x = np.concatenate([np.full(2000, 17), generator.integers(15, 19, 1500), generator.integers(0, 500, 500)])
    y = np.concatenate([np.full(2000, 5), generator.integers(4, 8, 1500), generator.integers(0, 30, 500)])
    return pa.table({"x": x, "y": y})


@pytest.fixture
def _many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_LEAST", 1500)
    monkeypatch.setattr(cutting, "_MOST", 1500)


def publish(data: Any, path: Path, structure: ht.Structure, epsilon: int) -> ht.Release:
    return ht.publish(
        data,
        domain=DOMAIN,
        epsilon=epsilon,
        summary=ht.Everything(),
        structure=structure,
        output=path,
        overwrite=True,
    )


def true_sums(rows: pa.Table, nodes: AxisSpace) -> np.ndarray[Any, np.dtype[np.int64]]:
    sums = np.zeros(nodes.nodes_total, dtype=np.int64)
    for part in lifted(ht.count(rows, domain=DOMAIN), nodes):  # as on one machine
        keys, values = part.load()
        sums[keys[0]] = values
    return sums


@pytest.mark.usefixtures("_many_blocks")
@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_all_nodes_of_a_tree_have_their_sums_and_noise_of_one_law(
    structure: ht.Structure, spark: SparkSession, rows: pa.Table, tmp_path: Path
) -> None:
    release = publish(spark.createDataFrame(rows), tmp_path / "tree.parquet", structure, 3)
    nodes = node_space(structure, DOMAIN)
    assert isinstance(nodes, AxisSpace)

    assert np.array_equal(release.codes[:, 0], np.arange(nodes.nodes_total))
    noise = release.counts - true_sums(rows, nodes)
    rate = as_rate(release.rate)
    assert follows(noise, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(noise, law_at(TwoSidedGeometric, rate * 3 / 4)) < ALARM
    assert fits(noise, law_at(TwoSidedGeometric, rate * 5 / 4)) < ALARM


@pytest.mark.parametrize(
    ("structure", "summary"),
    [
        (ht.Tree(order=["x", "y"]), ht.Filter(cutoff=1, two_sided=False)),
        (ht.Dyadic(consistent=True), ht.Filter(cutoff=1, two_sided=False)),
        (ht.ProductDyadic(), ht.Filter(cutoff=1)),
        (ht.Hierarchy("y", "x"), ht.Filter(cutoff=1, two_sided=False)),
        (ht.Marginals(["x"], ["y"]), ht.Everything()),
    ],
    ids=repr,
)
def test_structures_that_need_all_cells_are_drawn_by_the_driver(
    structure: ht.Structure, summary: ht.Method, spark: SparkSession, rows: pa.Table, tmp_path: Path
) -> None:
    """Where epsilon is large, noise is 0, but once in 10^8: they are those of one machine."""
    settings: dict[str, Any] = {
        "domain": ht.Domain(x=ht.integers(0, 49), y=ht.integers(0, 9)),
        "epsilon": 1000,
        "summary": summary,
        "structure": structure,
        "anyway": True,
    }
    here = ht.publish(rows, output=tmp_path / "here.parquet", **settings)
    there = ht.publish(spark.createDataFrame(rows), output=tmp_path / "there.parquet", **settings)

    assert len(there) > 10
    assert there.to_arrow().equals(here.to_arrow())


def test_cells_beyond_the_memory_of_the_driver_stop_before_the_charge(
    spark: SparkSession, rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "default_memory", lambda: 1000)
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    with pytest.raises(ht.LowMemory, match=r"need all occupied cells in the driver's memory.*ht\.Dyadic"):
        ht.publish(
            spark.createDataFrame(rows),
            domain=DOMAIN,
            epsilon=1,
            summary=ht.Filter(cutoff=100, two_sided=False),
            structure=ht.Tree(),
            output=tmp_path / "tree.parquet",
            ledger=ledger,
        )

    assert ledger.spent == 0
