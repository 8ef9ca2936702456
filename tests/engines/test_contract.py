"""One machine keeps the contract of engines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engines.contract import *  # noqa: F403
from tests.engines.contracts.engine import Engine, OneMachine


@pytest.fixture
def engine() -> Engine:
    return OneMachine()


def test_no_test_of_the_contract_hides_another() -> None:
    folder = Path(__file__).parent / "contracts"
    names = [
        name
        for path in folder.glob("*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert len(names) == len(set(names)) > 40
    assert set(names) <= set(globals())
