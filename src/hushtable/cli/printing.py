"""Tables on the screen, as wide as the terminal; without a terminal they are never cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDTH_OF_FILES = 160


def console() -> Console:
    """Return the console of standard output. Text is shown as it is, without markup."""
    from rich.console import Console

    free = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(markup=False, emoji=False, highlight=False, width=None if free else _WIDTH_OF_FILES)


def table(*headers: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return an empty table; columns in `numbers` are set to the right."""
    from rich import box
    from rich.table import Table

    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False
    )
    for header in headers:
        if header in numbers:
            made.add_column(header, justify="right", no_wrap=True, vertical="top")
        else:
            made.add_column(header, overflow="fold", vertical="top")
    return made


def grid(facts: Iterable[tuple[str, str]]) -> Table:
    """Return names and what is said about each, in two columns."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, min_width=11)
    made.add_column(overflow="fold")
    for name, text in facts:
        made.add_row(name, text)
    return made


def print_json(document: object) -> None:
    """Print one document for scripts; fractions are exact text, as in 1/10."""
    import json

    import click

    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_line(document: object) -> None:
    """Print one document on a line of its own, and let whoever waits for it have it at once."""
    import json

    import click

    click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, default=str))
    sys.stdout.flush()


def reading() -> AbstractContextManager[object]:
    """Show that rows are being read, as long as they are, where somebody looks on."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("Reading rows ...")
