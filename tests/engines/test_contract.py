"""One machine keeps the contract of engines."""

from __future__ import annotations

import pytest

from tests.engines.contract import *  # noqa: F403
from tests.engines.contracts.engine import Engine, OneMachine


@pytest.fixture
def engine() -> Engine:
    return OneMachine()
