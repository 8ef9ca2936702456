"""What tests of ledgers share: the file opened by hand, refusals, and publishers in processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from hushtable.errors import BadLedger


@contextmanager
def by_hand(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file as its owner could, without us."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@contextmanager
def refused(fact: str, hint: str) -> Iterator[None]:
    """Expect a `BadLedger` that says the fact and what to do, and suggests no second ledger."""
    with pytest.raises(BadLedger) as caught:
        yield
    assert fact in caught.value.fact
    assert hint in caught.value.hint
    assert not any(
        word in str(caught.value).lower() for word in ("another ledger", "new ledger", "second ledger")
    )


def files_beside(path: Path) -> list[str]:
    """What lies in the ledger's folder beside it, but for reports of the nursery."""
    return sorted(name for name in os.listdir(path.parent) if name not in (path.name, "reports"))


class Nursery:
    """Starts publishers, each a process of its own."""

    def __init__(self, process: subprocess.Popen[str], reports: Path) -> None:
        self.process, self.reports, self.numbers = process, reports, count()
        self.children = set[int]()

    def start(self, task: str, path: Path) -> tuple[int, Path]:
        """Start a process, and return its id and the file of what it was told."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        report = self.reports / str(next(self.numbers))
        report.touch()
        self.process.stdin.write(f"{task}\t{path}\t{report}\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        self.children.add(child)
        return child, report

    def kill(self, child: int) -> None:
        """Kill a process, unless it has ended, and wait until it is gone."""
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        self.wait(child)

    def wait(self, child: int) -> None:
        """Wait until a process is gone."""
        for _ in range(60_000):
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                self.children.discard(child)
                return
            time.sleep(0.001)
        pytest.fail("a publisher did not end within a minute")
