"""Tests that need Spark: a session for each process, and no test that is skipped.

They are collected where pyspark is absent too, so pyspark is imported inside of fixtures and tests.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What runs each time of tests with many cases, or that others come close to; `make test-long` runs all.
EVERY_TIME = {
    "test_contract.py": {
        "test_a_failure_after_the_charge_leaves_it_spent",
        "test_bad_rows_are_one_clear_error_without_a_word_of_them",
        "test_domains_above_2_to_the_64_are_counted_exactly",
        "test_every_row_of_a_unit_has_the_same_chance",
        "test_no_value_of_a_row_is_told",
        "test_odd_rows_are_counted",
        "test_rows_are_counted",
        "test_slices_that_read_the_input_again_keep_the_same_rows",
        "test_the_file_is_the_same_whatever_the_engine_its_parts_and_slices",
        "test_what_counts_of_a_person_is_what_the_slow_way_chooses",
        "test_what_is_drawn_follows_its_law",
        "test_whoever_leaves_changes_no_more_than_is_stated",
        "test_whoever_leaves_moves_the_table_by_at_most_the_bound",
    },
    # Others are of what is done here, or in tasks that the classic session has too.
    "test_connect_contract.py": {
        "test_bad_rows_are_one_clear_error_without_a_word_of_them",
        "test_domains_above_2_to_the_64_are_counted_exactly",
        "test_no_value_of_a_row_is_told",
        "test_odd_rows_are_counted",
        "test_rows_are_counted",
        "test_the_file_is_the_same_whatever_the_engine_its_parts_and_slices",
        "test_what_counts_of_a_person_is_what_the_slow_way_chooses",
        "test_whoever_leaves_moves_the_table_by_at_most_the_bound",
    },
    "test_sources.py": {"test_values_in_names_of_folders_are_text"},
}


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.spark)
    chosen = EVERY_TIME.get(item.path.name)
    if chosen is not None and getattr(item, "originalname", None) not in chosen:
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

    from tests.spark.serving import SERVING

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").config(
        map=SERVING
        | {
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


@pytest.fixture(scope="session")
def connected(spark: SparkSession) -> Generator[Any]:
    """A session of Spark Connect, with a server in the same Java process."""
    from tests.spark.serving import connected_to

    session = connected_to(spark)
    yield session
    session.stop()
