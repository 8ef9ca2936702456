"""Settings of every run, and the alarm rate that its statistical assertions add up to."""

import hypothesis
import pytest

from tests.harness import statistics

# A shared machine may stall any single example; the whole run has its own limit.
hypothesis.settings.register_profile("hushtable", deadline=None)
hypothesis.settings.load_profile("hushtable")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = statistics.asked * statistics.ALARM
    terminalreporter.write_line(
        f"alarm rate: {statistics.asked} statistical assertions x {statistics.ALARM:g} = {total:.2g} chance "
        f"that a correct sampler turns this run red (seed {statistics.SEED})"
    )
