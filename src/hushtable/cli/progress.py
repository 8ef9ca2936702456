"""A bar for long work, on standard error, where somebody looks on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushtable.table.progress import Progress


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress]:
    """Give a function that shows how far a step has come; it shows nothing where nobody looks on."""
    if quiet or not sys.stderr.isatty():
        from hushtable.table.progress import unheard

        yield unheard
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description:<9}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        steps: dict[str, TaskID] = {}

        def show(step: str, share: float) -> None:
            if step not in steps:
                for task in steps.values():
                    bars.update(task, completed=1)
                steps[step] = bars.add_task(step, total=1)
            bars.update(steps[step], completed=min(1, max(0, share)))

        yield show
