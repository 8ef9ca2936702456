"""Which engine counts which rows.

Promise: `engine_of` returns the first registered engine that takes the data, and the local one where no other
does; so what is counted never depends on more than the type of what was given.
To add an engine, write an object behind `Engine` and register it: docs/extending.md.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from hushtable.engines.local.engine import LOCAL
from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.engines.spark.engine import CONNECT, SPARK
from hushtable.files.apart import Kept


class Engine(Protocol):
    """What counts rows where they are, and knows no algorithm. Each keeps `tests/engines/contract.py`."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def distributed(self) -> bool:
        """Whether slices stay on workers: then only what is drawn slice by slice can be, in parts."""

    def takes(self, data: Any) -> bool:
        """Return whether these are rows of this engine, by the type of `data` and without reading them."""

    def inputs(self, data: Any) -> Kept:
        """Return the files and folders that the rows are read from, as far as `data` names them."""

    def counted(self, data: Any, request: CountRequest) -> AbstractContextManager[Counted]:
        """Count the rows. What does not fit in memory lives in files until the block ends."""


_ENGINES: list[Engine] = [CONNECT, SPARK]


def register(engine: Engine) -> None:
    """Let an engine count what it takes; one of the same name that was registered before is replaced.

    Engines are asked in the order of their registration, and the local one last.
    """
    unregister(engine.name)
    _ENGINES.append(engine)


def unregister(name: str) -> None:
    """Forget the engine of this name, if there is one."""
    _ENGINES[:] = [each for each in _ENGINES if each.name != name]


def engine_of(data: Any) -> Engine:
    """Return the engine that takes the data."""
    return next((engine for engine in _ENGINES if engine.takes(data)), LOCAL)


def inputs_of(data: Any) -> Kept:
    """Return the files and folders of `data`, so that nothing is written there."""
    return engine_of(data).inputs(data)
