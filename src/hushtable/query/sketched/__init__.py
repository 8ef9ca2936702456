"""Placeholder."""

from typing import Any


class SketchAnswers:
    """Placeholder."""

    def __init__(self, release: Any, nodes: Any) -> None:
        raise NotImplementedError

    total: Any
    cell: Any
    groups: Any
