"""Rows come from whatever holds them in Python: each kind of frame counts the same, and exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import hushtable as ht

ROWS = {
    "person": ["a", "a", "b", None],
    "home": ["north", "south", "north", "moon"],
    "age": [34, 61, 7, None],
}
DOMAIN = ht.Domain(home=ht.categories(["north", "south"]), age=ht.bins(0, 100, step=10))


class Batches:
    """A table that hands over batches, as those of ibis do."""

    def to_pyarrow_batches(self) -> Any:
        return pa.table(ROWS).to_reader()


def relation() -> duckdb.DuckDBPyRelation:
    rows = pa.table(ROWS)
    return duckdb.connect().from_arrow(rows)


def narwhals(frame: Any) -> Any:
    return pytest.importorskip("narwhals").from_native(frame)


KINDS: dict[str, Callable[[], Any]] = {
    "table": lambda: pa.table(ROWS),
    "batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "stream": lambda: pa.table(ROWS).to_reader(),
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy polars": lambda: pl.LazyFrame(ROWS),
    "relation": relation,
    "batches": Batches,
    "narwhals of pandas": lambda: narwhals(pd.DataFrame(ROWS)),
    "narwhals of lazy polars": lambda: narwhals(pl.LazyFrame(ROWS)),
    "narwhals of a relation": lambda: narwhals(relation()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_counts_the_same(kind: str) -> None:
    person = ht.Unit("person", max_rows=1)
    table = ht.count(KINDS[kind](), domain=DOMAIN)
    report = ht.check(KINDS[kind](), domain=DOMAIN, unit=person, where="age < 100")

    assert DOMAIN.space.unpack(table.keys).tolist() == [[0, 0], [0, 3], [1, 6]]
    assert table.counts.tolist() == [1, 1, 1]
    assert (report.rows_read, report.rows_counted) == (3, 2)


@pytest.mark.parametrize("sql", ["5::UHUGEINT", "'12:00:00+02'::TIMETZ", "[5::UHUGEINT]"])
def test_what_a_relation_would_hand_over_with_a_loss_is_refused(sql: str) -> None:
    rows = duckdb.sql(f"SELECT 'north' AS home, 7 AS age, {sql} AS odd")

    assert ht.count(rows, domain=DOMAIN).counts.tolist() == [1]  # where it is not used, it is no matter
    for used in ({"unit": ht.Unit("odd", max_rows=1)}, {"where": "odd IS NOT NULL"}):
        with pytest.raises(ht.BadData, match="does not hand over exactly"):
            ht.count(rows, domain=DOMAIN, **used)


def test_ids_of_127_bits_are_told_apart() -> None:
    ids = "170141183460469231731687303715884105727::HUGEINT - i"
    rows = duckdb.sql(f"SELECT 'north' AS home, 7 AS age, {ids} AS id FROM range(3) t(i)")
    report = ht.check(rows, domain=DOMAIN, unit=ht.Unit("id", max_rows=1))

    assert report.unit is not None
    assert report.unit.units == 3


def test_an_object_that_fails_quotes_no_row() -> None:
    rows = duckdb.sql("SELECT CAST(v AS INTEGER) AS age, 'north' AS home FROM (VALUES ('Jane Roe')) t(v)")

    with pytest.raises(ht.BadData) as caught:
        ht.count(rows, domain=DOMAIN)

    assert "Jane" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_what_holds_no_rows_is_refused() -> None:
    with pytest.raises(ht.BadData, match="holds no rows") as caught:
        ht.count(7, domain=DOMAIN)

    assert "DuckDB relation" in str(caught.value)


def test_datasets_of_arrow_are_read_with_their_folders(tmp_path: Path) -> None:
    whole = pa.table({"home": ["north", "south", "north"], "age": [34, 61, 7]})
    homes = ds.partitioning(pa.schema([("home", pa.string())]), flavor="hive")
    ds.write_dataset(whole, tmp_path / "rows", format="parquet", partitioning=homes)
    rows = ds.dataset(tmp_path / "rows", partitioning=homes)
    parts = [ds.dataset(tmp_path / "rows" / f"home={home}") for home in ("north", "south")]
    ages = ht.Domain(age=ht.bins(0, 100, step=10))

    counted = ht.count(whole, domain=DOMAIN)
    for data in (rows, str(tmp_path / "rows")):
        again = ht.count(data, domain=DOMAIN)
        assert (again.keys == counted.keys).all()
        assert (again.counts == counted.counts).all()
    assert ht.count(rows.filter(ds.field("age") > 30), domain=DOMAIN).counts.sum() == 2
    assert ht.count(ds.dataset(parts), domain=ages).counts.sum() == 3
    with pytest.raises(ht.BadData, match="is given twice"):
        ht.count(ds.dataset([parts[0], parts[0]]), domain=ages)
    (tmp_path / "rows" / "_delta_log").mkdir()
    with pytest.raises(ht.BadData, match="Delta"):
        ht.count(rows, domain=DOMAIN)
