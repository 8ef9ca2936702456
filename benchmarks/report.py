"""What a benchmark prints: a sheet of rows, in which a figure may have a bar to meet.

A group of benchmarks is a module with a tuple of functions, each of which measures one `Sheet`; name it
in `__main__.GROUPS`.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

Say: TypeAlias = Callable[[str], None]  # tells a waiting person what is measured now
_HOLDS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure has to satisfy, such as `Bar("<=", 0.5)`."""

    relation: Literal["<=", "<", ">=", ">"]
    limit: float

    def __str__(self) -> str:
        return f"{self.relation} {self.limit:g}"

    def holds(self, value: float) -> bool:
        """Whether the value satisfies it."""
        return bool(_HOLDS[self.relation](value, self.limit))


@dataclass(frozen=True, slots=True)
class Within:
    """A range that a figure has to lie in, such as `Within(93, 97)`."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"in {self.low:g}..{self.high:g}"

    def holds(self, value: float) -> bool:
        """Whether the value lies in the range."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number, and the bar it is held against if there is one."""

    value: float
    bar: Bar | Within | None = None

    @property
    def missed(self) -> bool:
        """Whether there is a bar and the number does not satisfy it."""
        return self.bar is not None and not self.bar.holds(self.value)

    @property
    def number(self) -> str:
        """The number with about three digits."""
        return f"{self.value:.{2 if self.value < 10 else 1 if self.value < 100 else 0}f}"

    def __str__(self) -> str:
        return (
            self.number
            if self.bar is None
            else f"{self.number} {self.bar} {'missed' if self.missed else 'met'}"
        )


@dataclass(frozen=True, slots=True)
class Sheet:
    """One printed table: text on the left, figures on the right, and a note on how to read it."""

    title: str
    columns: tuple[str, ...]
    note: str
    rows: list[tuple[str | Figure, ...]] = field(default_factory=list)

    def add(self, *cells: str | Figure) -> None:
        """Add a row."""
        self.rows.append(cells)

    def barred(self) -> Iterator[tuple[str, Figure]]:
        """Return the figures that have a bar, each with the place where it stands."""
        for row in self.rows:
            label = " ".join(cell for cell in row if isinstance(cell, str))
            for column, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, Figure) and cell.bar is not None:
                    yield f"{self.title}: {label}: {' '.join(column.split())}", cell

    def __rich__(self) -> Group:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, column in enumerate(self.columns):
            numeric = any(isinstance(row[i], Figure) for row in self.rows)
            table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(_rendered, row))
        return Group(Text(self.title, style="bold"), table, Text(self.note, style="dim"), "")


def _rendered(cell: str | Figure) -> Text:
    """Return a cell in the colour of its verdict."""
    if isinstance(cell, str) or cell.bar is None:
        return Text(str(cell))
    return Text(str(cell), style="bold red" if cell.missed else "green")
