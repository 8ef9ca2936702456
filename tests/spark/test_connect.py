"""What is special about Spark Connect: nothing but questions to a server, and cells that come here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.engines.registry import engine_of
from hushtable.engines.sliced import bounding as here
from hushtable.engines.sliced.keying import Tally
from hushtable.engines.sliced.runs import KeyRows, counted
from hushtable.engines.spark import counting as there
from hushtable.engines.spark import merging
from hushtable.engines.spark.blocks import blocks, packed, rows_in, told
from hushtable.engines.spark.gathering import Arrivals
from hushtable.engines.spark.merging import KeyPacking, merged_runs
from hushtable.engines.spark.remote import asked
from tests.engines.contracts.engine import count_with
from tests.engines.contracts.flow import DOMAIN, planted, publish, rows
from tests.engines.contracts.refusals import CANARY, check_silence, left_in, spills, texts_of
from tests.spark.test_unlisted import DOMAIN as TEXTS
from tests.spark.test_unlisted import searches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spills"]


def with_names(table: pa.Table) -> pa.Table:
    """Units as text, of which every engine keeps the same rows under the same salt."""
    return table.set_column(2, "person", table["person"].cast(pa.string()))


@pytest.mark.parametrize(
    "unit", [None, ht.Unit("person", max_rows=2), ht.Unit("person", max_cells=3, max_per_cell=2)]
)
def test_the_table_is_that_of_one_machine_and_of_a_classic_session(
    connected: Any, spark: SparkSession, unit: ht.Unit | None
) -> None:
    table = with_names(rows(5000))
    frames = [table, *(session.createDataFrame(table).repartition(3) for session in (spark, connected))]

    one, classic, found = (count_with(frame, DOMAIN, unit=unit, seed=5) for frame in frames)

    assert engine_of(frames[2]).name == "spark-connect"
    assert found == one == classic
    if unit is not None:
        assert found != count_with(frames[2], DOMAIN, unit=unit, seed=6)


PUBLICATIONS: dict[str, dict[str, Any]] = {
    "rows of a person": {"summary": ht.Everything(), "unit": ht.Unit("person", max_rows=2)},
    "people in cells": {"summary": ht.Filter(cutoff=1), "unit": ht.Unit("person", max_cells=2)},
    "several tables": {"ask": ["home", "age"], "size": 300},
    "a tree": {"structure": ht.Tree(order=["age", "home"]), "size": 400},
    "a line": {"structure": ht.Dyadic(order=["age", "home"]), "summary": ht.Everything()},
    "a hierarchy": {"structure": ht.Hierarchy("home", "age"), "size": 290},
    "a sketch": {"structure": ht.CountSketch(width=64), "size": None},
}


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_it_is_published_as_from_one_machine(
    connected: Any, tmp_path: Path, spills: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where epsilon is large, noise is 0: all counts are the same."""
    for module in (here, there):
        monkeypatch.setattr(module, "drawn_salt", lambda entropy: "salt")
    table = with_names(rows(3000))
    settings = {"epsilon": 1000, "anyway": True, "ledger": False, **PUBLICATIONS[name]}
    one = publish(tmp_path, table, **settings, output=tmp_path / "one.parquet")
    unit = "person" if "unit" in settings else None
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1000, about="people", unit=unit)
    found = publish(tmp_path, connected.createDataFrame(table), **{**settings, "ledger": ledger})

    assert found.terms.structure == one.terms.structure
    if isinstance(found.terms.structure, ht.CountSketch):  # whose keys are drawn
        assert found.total() == one.total()
    else:
        assert found.to_arrow().equals(one.to_arrow())
    assert ledger.spent == 1000
    assert left_in(spills) == []
    assert connected.getTags() == set()


def test_texts_that_nobody_lists_are_published(
    connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (here, there):
        monkeypatch.setattr(module, "drawn_salt", lambda entropy: "salt")
    words: dict[str, Any] = {
        "domain": TEXTS,
        "unit": ht.Unit("person", max_cells=3),
        "epsilon": 300,
        "delta": "1e-6",
        "law": "truncated-geometric",
        "ledger": False,
    }
    table = searches(3000)
    one = ht.publish(table, output=tmp_path / "one.parquet", **words)
    found = ht.publish(
        connected.createDataFrame(table).repartition(3), output=tmp_path / "out.parquet", **words
    )

    assert len(one) > 50
    assert found.to_arrow().equals(one.to_arrow())
    assert found.terms == one.terms


def test_what_a_server_says_of_a_row_is_not_repeated(
    connected: Any, spark: SparkSession, tmp_path: Path, spills: Path
) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    odd = connected.createDataFrame(planted()).selectExpr("home", "CAST(name AS INT) AS age")
    with pytest.raises(ht.BadData, match="a job of Spark failed") as caught:
        publish(tmp_path, odd, ledger=ledger)

    check_silence(list(texts_of(caught.value)))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert ledger.spent == 0
    assert left_in(spills) == []
    assert connected.getTags() == set()
    from pyspark.errors import NumberFormatException

    with pytest.raises(NumberFormatException, match=CANARY):
        odd.collect()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows by home, in folders."""
    pq.write_to_dataset(rows(60), tmp_path / "rows", partition_cols=["home"])
    return tmp_path / "rows"


def test_files_are_told_from_versions_of_a_table(connected: Any, folder: Path, tmp_path: Path) -> None:
    frame = connected.read.parquet(folder.as_uri())

    assert ht.count(frame, domain=DOMAIN).counts.sum() == 60
    with pytest.raises(ht.BadOutput, match="it lies in data that rows are read from"):
        publish(tmp_path, frame, output=folder / "out.parquet")
    cached = frame.where("age >= 0").cache()
    with pytest.raises(ht.BadData, match="was cached, and Spark Connect does not say which files"):
        ht.count(cached, domain=DOMAIN)
    cached.unpersist()
    assert ht.count(cached, domain=DOMAIN).counts.sum() == 60
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log" / "0.json").touch()
    for data in (frame, frame.where("home = 'north'").union(frame)):
        with pytest.raises(ht.BadData, match=r"'.*/rows' belongs to a Delta table"):
            ht.count(data, domain=DOMAIN)


def test_what_cannot_be_counted_is_refused(connected: Any, tmp_path: Path) -> None:
    frame = connected.createDataFrame(rows(10))

    with pytest.raises(ht.BadQuery, match="Prepare the rows with Spark itself"):
        ht.count(frame, domain=DOMAIN, query="SELECT DISTINCT * FROM data", rows_are_units=True)
    with pytest.raises(ht.BadData, match="is a stream"):
        ht.count(connected.readStream.format("rate").load(), domain=DOMAIN)
    with pytest.raises(ht.BadChoice, match="who is left out is not counted on Spark"):
        publish(tmp_path, frame, left_out_share="1/10")


WORDS = {
    "what the workers counted is more": "Total size of serialized results of 3 tasks (1 GiB) is bigger",
    "workers lack hushtable": "pickle.loads ModuleNotFoundError: No module named 'hushtable'",
    "the Spark Connect server is gone": "[RESPONSE_ALREADY_RECEIVED] INVALID_HANDLE.SESSION_NOT_FOUND",
}


@pytest.mark.parametrize("fact", WORDS)
def test_what_a_server_says_is_replaced(fact: str) -> None:
    def failing() -> None:
        raise RuntimeError(f"{WORDS[fact]} {CANARY}")

    with pytest.raises(ht.BadData, match=fact) as caught:
        asked(failing)

    check_silence(list(texts_of(caught.value)))


def test_workers_without_the_package_are_told(connected: Any, tmp_path: Path) -> None:
    (tmp_path / "hushtable.py").write_text("raise ModuleNotFoundError(\"No module named 'hushtable'\")")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    name = "spark.sql.execution.pyspark.python"
    connected.conf.set(name, str(python))
    try:
        with pytest.raises(ht.BadData, match="workers lack hushtable") as caught:
            ht.count(connected.createDataFrame(rows(10)), domain=DOMAIN)
    finally:
        connected.conf.unset(name)

    assert "spark.addArtifacts" in str(caught.value)


def test_no_part_of_an_answer_counts_twice() -> None:
    """A client may ask for all again when a connection was lost."""
    from pyspark.sql import Row

    def answer(*places: tuple[int, int]) -> Any:
        sent = [Row(slice=place, mark=number, size=1, told=None) for place, number in places]
        return SimpleNamespace(toLocalIterator=lambda: iter(sent))

    assert len(list(Arrivals().pieces(answer((0, 0), (0, 1), (1, 0))))) == 3
    with pytest.raises(ht.BadData, match="came twice"):
        list(Arrivals().pieces(answer((0, 0), (1, 0), (0, 0))))


def test_runs_are_added_up_on_workers_and_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: SimpleNamespace(partitionId=lambda: 7))
    monkeypatch.setattr(merging, "PIECE_ROWS", 30)
    monkeypatch.setattr(merging, "_HELD", 200)
    random = np.random.default_rng(1)
    # Of the same few cells, then of ever others.
    drawn = [random.integers(0, high, 90).astype(np.uint64) for high in (50,) * 9 + (10**6,) * 9]
    found = [np.sort(each)[np.newaxis] for each in drawn]

    def work(batches: object) -> Iterator[pa.RecordBatch]:
        for keys in found:
            yield blocks([{"keys": packed(keys)}])
        yield told(Tally(counted=1))

    sent = list(rows_in(merged_runs(work, KeyPacking(1), iter([]))))

    assert {row["slice"] for row in sent} == {7}
    assert [row["mark"] for row in sent] == list(range(len(sent)))
    pieces = [KeyPacking(1).unpacked(row) for row in sent if row["size"]]
    assert len(sent) == len(pieces) + 1
    assert all(piece.keys.size <= 30 for piece in pieces)
    assert sum(piece.keys.size for piece in pieces) < 1000  # of 1620 rows
    expected = counted([KeyRows(keys, None) for keys in found], 1)
    for one, other in zip(counted(pieces, 1), expected, strict=True):
        assert np.array_equal(one, other)
