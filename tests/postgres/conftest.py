"""Tests on a real PostgreSQL server, started for them on a socket in a temporary folder.

They are collected where there is none too. A test that is skipped is an error: whoever runs them has one.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

import pytest

from tests.engines.contracts.refusals import refuse, spills
from tests.postgres.server import Server, programs, running
from tests.postgres.tables import NOT_HELD

__all__ = ["refuse", "spills"]

# What runs each time of tests with many cases, or that others come close to; `make test-long` runs all.
EVERY_TIME = {
    "test_bad_rows_are_one_clear_error_without_a_word_of_them",
    "test_columns_of_every_type_are_counted_as_the_reference_places_them",
    "test_every_type_at_its_ends",
    "test_no_value_of_a_row_is_told",
    "test_odd_rows_are_counted",
    "test_rows_are_counted",
    "test_units_of_every_type_are_told_apart",
    "test_units_that_may_be_rounded_are_refused",
    "test_what_counts_of_a_person_is_what_the_slow_way_chooses",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.postgres)
    if item.path.name == "test_contract.py" and getattr(item, "originalname", None) not in EVERY_TIME:
        item.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and NOT_HELD not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"A test of PostgreSQL must not be skipped, but this one was: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server, and nothing in it."""
    binaries = programs()
    assert binaries is not None, "install PostgreSQL's server, or name its programs by HUSHTABLE_POSTGRES"
    with running(binaries) as server:
        yield server


def check_nobody(server: Server) -> None:
    """After a while nobody is connected: who left is still seen for a moment."""
    for _ in range(400):
        if server.clients() == 0:
            return
        time.sleep(0.05)
    raise AssertionError("somebody is connected")


@pytest.fixture(autouse=True)
def nothing_left(server: Server) -> Iterator[None]:
    """After each test nobody is connected, so no transaction is open."""
    yield
    check_nobody(server)
