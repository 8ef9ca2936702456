"""A ledger, and a nursery of publishers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hushtable.ledger.ledger import Ledger
from tests.ledger.books import Nursery


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "commuters.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1, about="commuters 2024")


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    reports = tmp_path / "reports"
    reports.mkdir()
    command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        nursery = Nursery(process, reports)
        yield nursery
        for child in tuple(nursery.children):
            nursery.kill(child)
