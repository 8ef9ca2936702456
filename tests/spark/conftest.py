"""Tests that need Spark: a session for each process, and no test that is skipped.

They are collected where pyspark is absent too, so pyspark is imported inside of fixtures and tests.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Of the contract of engines, those that others of it come close to; `make test-long` runs them too.
LONG = {
    "test_a_bounded_sum_moves_by_at_most_the_bound_times_the_clamp",
    "test_a_count_column_is_added_up",
    "test_a_person_with_10_000_rows_moves_the_table_by_at_most_the_bound",
    "test_a_query_that_fails_on_a_row_is_told_without_it",
    "test_amounts_of_many_rows_are_added_up",
    "test_bounded_units_pay_with_more_noise",
    "test_it_is_known_whether_rules_dropped_rows",
    "test_noise_is_even_over_slices_of_every_word",
    "test_rows_become_a_release",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.spark)
    if getattr(item, "originalname", None) in LONG:
        item.add_marker(pytest.mark.long)


# Whoever runs these has pyspark and Java, so a test that is skipped would be one that nobody ever runs.
def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"A test of Spark must not be skipped, but this one was: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Generator[SparkSession]:
    """Two threads in one small Java process, which is gone when the tests are over."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").config(
        map={
            # The quick compiler alone: tests end before what the other one makes is worth its time.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "512m",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
    )
    # Spark reads these when it starts. They are taken back, so that no test leans on them.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session

    # `stop` leaves the Java process running until this one ends; it ends by itself when its input does.
    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None
