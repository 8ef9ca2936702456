"""Every value of a file is placed where the slow reference places it; `contract` tests tables."""

from __future__ import annotations

import csv
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import hushtable as ht
from tests.engines.contracts.counting import tables
from tests.engines.reference import counts_of, slow_counts
from tests.harness.statistics import tries


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows as Python values; float32 as the float64 that equals it."""
    return table.to_pylist()  # type: ignore[no-any-return]


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables())
def test_a_parquet_file_is_counted_as_its_rows(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.parquet"
    pq.write_table(table, path)

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows_of(pq.read_table(path)))


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables(kinds=[pa.string()]))
def test_a_csv_file_is_counted_as_its_texts(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.csv"
    rows = [
        {name: None if text is None else text.replace("\0", "") or None for name, text in row.items()}
        for row in rows_of(table)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(table.column_names)
        writer.writerows(["" if text is None else text for text in row.values()] for row in rows)

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows)


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(40))
@given(tables(kinds=[pa.string()]))
def test_json_lines_are_counted_as_their_values(
    tmp_path_factory: pytest.TempPathFactory, world: tuple[ht.Domain, pa.Table]
) -> None:
    domain, table = world
    path = tmp_path_factory.mktemp("files") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(table)), encoding="utf-8")

    assert counts_of(ht.count(path, domain=domain)) == slow_counts(domain, rows_of(table))
