"""What Spark alone can do wrong: errors that quote rows, a session left changed, what stays behind."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.engines.sliced.counting import CountRequest
from hushtable.engines.spark import counting, cutting, tasks, watching
from hushtable.noise import KeyStream
from hushtable.summaries import flat
from tests.engines.contracts.flow import CERTAIN, DOMAIN, failing, planted, publish, rows
from tests.engines.contracts.refusals import CANARY, check_silence, left_in, spills, texts_of
from tests.spark.test_contract import OnSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spills"]


def test_a_query_over_whole_tables_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    data = spark.createDataFrame(rows(10))

    with pytest.raises(ht.BadQuery, match="Prepare the rows with Spark itself"):
        publish(tmp_path, data, query="SELECT DISTINCT * FROM data", rows_are_units=True, ledger=ledger)

    assert ledger.spent == 0


def test_what_spark_says_of_a_row_is_not_repeated(spark: SparkSession, tmp_path: Path, spills: Path) -> None:
    """The owner's own expression fails on a row: before anything is spent, not in our words, not printed."""
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    data = spark.createDataFrame(planted())
    odd = data.selectExpr("home", "CAST(name AS INT) AS age")
    for frame in (odd, data.select("home", data.name.cast("int").alias("age"))):
        with pytest.raises(ht.BadData, match="a job of Spark failed") as caught:
            publish(tmp_path, frame, ledger=ledger)

        check_silence([*texts_of(caught.value), OnSpark(spark).said()])
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert ledger.spent == 0
    assert left_in(spills) == []
    from pyspark.errors import NumberFormatException

    with pytest.raises(NumberFormatException):
        odd.collect()
    assert CANARY in OnSpark(spark).said()  # pyspark prints it there, which shows that this would be seen


def test_it_is_told_how_far_jobs_have_come(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_SECONDS", 0.01)
    told = list[tuple[str, float]]()
    frame = spark.range(0, 100_000, 1, 30).selectExpr("CAST(id % 100 AS INT) AS age", "'north' AS home")
    with counting.counted_on_spark(
        frame,
        CountRequest(
            domain=DOMAIN,
            measure=Measure(),
            rows_are_units=True,
            entropy=KeyStream(),
            progress=lambda step, share: told.append((step, share)),
        ),
    ) as counted:
        settings: dict[str, Any] = {
            "epsilon": Fraction(1),
            "sensitivity": Fraction(1),
            "entropy": KeyStream(),
        }
        flat.summarize_slices(counted.slices, counted.space, ht.Filter(cutoff=20), **settings)

    steps = {step: [share for name, share in told if name == step] for step, _ in told}
    assert list(steps) == ["Reading", "Counting", "Drawing", "Gathering"]
    for shares in steps.values():
        assert shares == sorted(shares)
        assert shares[-1] == 1
    assert any(0 < share < 1 for share in steps["Reading"])
    assert any(0 < share < 1 for share in steps["Counting"])


def state_of(spark: SparkSession) -> Any:
    """All that our work may change in a session."""
    context = spark.sparkContext
    settings = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    kept = context._jsc.getPersistentRDDs().size()
    return settings, context.pythonExec, context.getJobTags(), kept


@pytest.mark.parametrize("fails", [False, True])
def test_the_session_is_as_it_was(
    fails: bool, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state_of(spark)
    if fails:
        monkeypatch.setattr(flat, "draw_candidates", failing)
        with pytest.raises(ht.BadData, match="a task of hushtable failed on a worker"):
            publish(tmp_path, spark.createDataFrame(rows(100)))
    else:
        publish(tmp_path, spark.createDataFrame(rows(100)))

    assert state_of(spark) == before


def test_candidates_come_to_the_driver_in_the_order_of_slices(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few slices at a time, and parts without rows among them."""
    for name in ("_LEAST", "_MOST"):
        monkeypatch.setattr(cutting, name, 200)
    monkeypatch.setattr(counting, "_READ_AT_ONCE", 50)
    table = rows(2000)
    data = spark.createDataFrame(table).repartition(3).where("age < 90 OR home = 'x'").coalesce(2)
    data = data.union(spark.createDataFrame(table).where("age >= 90")).union(data.limit(0))

    release = publish(tmp_path, data, summary=ht.Everything(), epsilon=CERTAIN, total_share=0)

    homes = np.array([["north", "south", "harbour"].index(home) for home in table["home"].to_pylist()])
    expected = np.bincount(homes * 100 + table["age"].to_numpy(), minlength=300)
    assert np.array_equal(release.counts, expected)
    assert np.array_equal(release.codes @ np.array([100, 1]), np.arange(300))


def test_names_of_columns_are_quoted(spark: SparkSession) -> None:
    names = ["a`b", "a.b", "a b", 'a"b', "select"]
    attributes = [
        ht.Domain.from_dict(
            {"attribute": [{"name": f"x{i}", "column": name, "integers": {"low": 0, "high": 9}}]}
        ).attributes[0]
        for i, name in enumerate(names)
    ]
    data = spark.createDataFrame(pa.table({name: [i] for i, name in enumerate([*names, CANARY])}))

    table = ht.count(data, domain=ht.Domain(attributes=tuple(attributes)))

    assert table.space.unpack(table.keys).tolist() == [[0, 1, 2, 3, 4]]


def test_slices_of_two_readings_are_not_published_together(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if a worker was lost while slices were counted, and its rows were others when they were read again.
    deal = tasks.deal_runs

    def other_rows(starts: Any, salt: int, batches: Any) -> Any:
        for batch in deal(starts, salt, batches):
            yield batch.slice(1)

    monkeypatch.setattr(counting, "deal_runs", other_rows)
    values = Integers(low=0, high=9)
    domain = ht.Domain(attributes=(Attribute(name="x", values=values),))
    with pytest.raises(ht.BadData, match="the data changed while they were read"):
        ht.count(spark.createDataFrame(pa.table({"x": [1, 2, 3]})), domain=domain)
