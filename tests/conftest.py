"""Settings of every run, and the alarm rate that its statistical assertions add up to."""

import gc
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import hypothesis
import pytest

import hushtable
from tests.harness import statistics

# Tests that several files share; without this, their failed assertions would show no values.
pytest.register_assert_rewrite("tests.engines.contracts")

# Hypothesis tries constants that it finds in imported modules. With some modules imported later, its examples
# would depend on which tests had run before in the same process.
for each in walk_packages(hushtable.__path__, "hushtable."):
    if not each.name.endswith("__main__"):
        import_module(each.name)

# A shared machine may stall any single example; the whole run has its own limit.
hypothesis.settings.register_profile("hushtable", deadline=None, max_examples=statistics.tries(100))
hypothesis.settings.load_profile("hushtable")


def pytest_collection_finish() -> None:
    # What is there by now stays: looking at ten thousand tests whenever garbage is collected takes a while.
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()  # else DuckDB's binding reports at the end that nobody freed what it made
    # Where tests run in several processes, each tells how many assertions it made.
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["asked"] = statistics.asked


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    statistics.asked += getattr(node, "workeroutput", {}).get("asked", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = statistics.asked * statistics.ALARM
    terminalreporter.write_line(
        f"alarm rate: {statistics.asked} statistical assertions x {statistics.ALARM:g} = {total:.2g} chance "
        f"that a correct sampler turns this run red (seed {statistics.SEED})"
    )
