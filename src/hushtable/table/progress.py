"""How far long work has come.

Promise: what is told is the name of a step and the share of it that is done, never a number of rows or cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, float], None]


def unheard(step: str, share: float) -> None:
    """Tell nobody."""
