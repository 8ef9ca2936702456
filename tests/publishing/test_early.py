"""What can be refused without Spark is refused before Java is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.engines.spark import sessions, sources

X = ht.Domain(x=ht.integers(0, 9))


@pytest.fixture(autouse=True)
def without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"x": [1]}), "rows.parquet")
    monkeypatch.setattr(sources, "files_are_here", lambda: True)
    monkeypatch.setattr(sessions, "session", lambda master: pytest.fail("Spark was started"))


def publish(data: Any = "rows.parquet", **words: Any) -> None:
    usual: dict[str, Any] = {"ledger": False, "output": "out.parquet"}
    ht.publish(data, domain=X, epsilon=1, size=10, engine="spark", **(usual | words))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("none.parquet", "there is no file 'none.parquet'"),
        ("some/person=Jane Roe", "there is no file 'some/person=...'"),
        ("rows.csv", "'rows.csv' is text, in which no column has a type"),
        (["rows.parquet", "none.parquet"], "there is no file 'none.parquet'"),
        ("s3a://bucket/rows.jsonl", "is text, in which no column has a type"),
    ],
)
def test_data_that_are_not_there_or_no_table(data: Any, told: str) -> None:
    with pytest.raises(ht.BadData) as caught:
        publish(data)
    assert told in str(caught.value)


def test_an_output_that_is_there() -> None:
    Path("out.parquet").write_text("mine")
    with pytest.raises(ht.OutputExists):
        publish()


def test_a_ledger_that_cannot_pay() -> None:
    ledger = ht.Ledger.create("people.ledger", epsilon="0.5", about="people", unit="row")
    with pytest.raises(ht.BudgetExceeded):
        publish(ledger=ledger)


@pytest.mark.parametrize("data", ["rows.parquet", "clinic.visits", "hdfs://x/none", "*.parquet"])
def test_all_else_starts_it(data: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="Spark was started"):
        publish(data)


def test_where_paths_may_be_of_another_file_system_spark_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "files_are_here", lambda: False)
    with pytest.raises(pytest.fail.Exception, match="Spark was started"):
        publish("none.parquet")
