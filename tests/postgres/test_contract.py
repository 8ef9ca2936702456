"""Rows of PostgreSQL keep the contract of engines."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.engines.contract import *  # noqa: F403
from tests.engines.contracts.engine import Engine, OneMachine
from tests.postgres.server import Server
from tests.postgres.tables import Tables, type_of


class OnPostgres(OneMachine):
    """Tables of a server, each put there for one test."""

    examples = 5

    def __init__(self, server: Server) -> None:
        self.tables = Tables(server)

    def data(self, table: pa.Table, *, parts: int = 2) -> Any:
        return self.tables.put(table)

    def holds(self, kind: pa.DataType) -> bool:
        return type_of(kind) is not None


@pytest.fixture
def engine(server: Server) -> Engine:
    return OnPostgres(server)
