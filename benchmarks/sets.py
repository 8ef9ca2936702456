"""The paper's questions, sums over sets of cells by chance: what the default loses to cells alone.

Two attributes with 10^6 to 10^12 cells together: made-up tables, with cells spread evenly or crowded where
values are frequent, and commuters of Rhode Island. LODES is read from ../shared/data; without it, its rows
are left out and the sheet says so.

Promise: answers are those of `Release.by` and `Release.total`. Up to 10^6 cells, each cell is asked for. Of
more, those with a row are, and all others have an even share of the rest of the total: of a set by chance,
what matters is what they are together.
Cost: some two minutes.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyarrow.parquet import read_table

from benchmarks.drawn import Off
from benchmarks.grouped import SIZE, published
from benchmarks.real import DATA, MISSING, Array, AskedTable, real_table, two_attributes
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.tables import made_up

_CELLS = 10**6, 10**8, 10**10, 10**12
_OCCUPIED = 100_000
_EPSILONS = Fraction(1, 10), Fraction(1)
_SHARES = 0.001, 0.01, 0.1  # of the domain, in a set
_SETS, _RELEASES = 2000, 5
_MOST_GROUPS = 10**6  # that `Release.by` lists
_THIRD = 100 / 3

_random = np.random.default_rng(21)


def losses(say: Say) -> Sheet:
    """Measure how much larger errors of the default are than those of cells alone."""
    sheet = Sheet(
        title="Sets of cells by chance: error of the default, in percent above that of cells alone",
        columns=("table", "cells", "epsilon", *(f"{100 * share:g} % of cells" for share in _SHARES), "mean"),
        note=(
            f"Mean size of errors, over {_SETS:,} sets of each size and {_RELEASES} releases of size "
            f'{SIZE:,}, against structure="cells". The mean is geometric, of the\nthree ratios.'
        ),
    )
    for name, table in _tables():
        for epsilon in _EPSILONS:
            found = {}
            for structure in ("cells", None):
                say(f"{name}, {table.domain.cells_total:.0e} cells, epsilon {float(epsilon):g}, {structure}")
                found[structure] = _errors(table, epsilon, structure)
            ratios = (found[None] / found["cells"]).tolist()
            above = [100 * (ratio - 1) for ratio in (*ratios, geometric_mean(ratios))]
            figures = [Figure(each) for each in above[:-1]]
            cells = f"{table.domain.cells_total:.1e}"
            sheet.add(name, cells, f"{float(epsilon):g}", *figures, Figure(above[-1], Bar("<=", _THIRD)))
    if MISSING:
        sheet.add(MISSING, *[""] * (len(sheet.columns) - 1))
    return sheet


def _tables() -> Iterator[tuple[str, AskedTable]]:
    """Yield tables of two attributes."""
    for cells in _CELLS:
        values = isqrt(cells)
        yield "zipf, even", two_attributes(values, *made_up((values, values), _OCCUPIED))
        yield "log-normal, crowded", _crowded(values)
    if not MISSING:
        flows = read_table(DATA / "lodes_ri_main_2019.cells0.parquet")
        home, work, counts = (np.asarray(each.to_numpy(), dtype=np.int64) for each in flows.columns)
        yield "LODES RI, block groups", two_attributes(815, np.stack([home, work], axis=1), counts)
        yield "LODES RI, blocks", _without_levels(real_table("LODES RI"))


def _crowded(values: int) -> AskedTable:
    """Return counts whose logarithms are normal, in cells of which most have frequent values."""
    places = (values ** _random.random((2 * _OCCUPIED, 2))).astype(np.int64) - 1  # density 1 / value
    codes = np.unique(places, axis=0)
    codes = codes[_random.permutation(len(codes))[:_OCCUPIED]]
    counts = np.rint(np.exp(_random.normal(2, 1.5, len(codes)))).astype(np.int64) + 1
    return two_attributes(values, codes, counts)


def _without_levels(table: AskedTable) -> AskedTable:
    """Return the cells of a table of two attributes alike, over numbers."""
    return two_attributes(table.domain.shape[0], table.codes, table.counts)


def _errors(table: AskedTable, epsilon: Fraction, structure: str | None) -> Array:
    """Return the mean size of errors for sets of each share of the domain, over several releases."""
    found = np.zeros(len(_SHARES))
    with TemporaryDirectory() as folder:
        for _ in range(_RELEASES):
            output = Path(folder) / "release.parquet"
            release = published(table, epsilon=epsilon, output=output, structure=structure)
            found += _mean_sizes(_off(release, table), table.domain.cells_total) / _RELEASES
    return found


def _off(release: Any, table: AskedTable) -> Off:
    """Return how far answers for cells are off."""
    names, shape = list(table.domain.names), table.domain.shape
    truth = np.ravel_multi_index(tuple(table.codes.T), shape)
    if table.domain.cells_total <= _MOST_GROUPS:
        somewhere = release.by(names).column("estimate").to_numpy().copy()
        somewhere[truth] -= table.counts
        return Off(somewhere, 0.0)
    groups = release.by(names, top=_MOST_GROUPS)
    cells = np.ravel_multi_index([groups.column(name).to_numpy() for name in names], shape)
    estimates = groups.column("estimate").to_numpy()
    elsewhere = (release.total().value - estimates.sum()) / (table.domain.cells_total - cells.size)
    some = np.union1d(truth, cells)
    somewhere = np.full(some.size, elsewhere)
    somewhere[np.searchsorted(some, cells)] = estimates
    somewhere[np.searchsorted(some, truth)] -= table.counts
    return Off(somewhere, elsewhere)


def _mean_sizes(off: Off, cells_total: int) -> Array:
    """Return the mean size of errors of sets, in which each cell is with the same chance."""
    mixed = _random.permutation(off.somewhere)
    sums = np.append(0.0, np.cumsum(np.append(mixed, mixed)))
    found = []
    for share in _SHARES:
        hits = _random.binomial(mixed.size, share, _SETS)
        starts = _random.integers(0, mixed.size, _SETS)
        others = share * (cells_total - mixed.size) * off.elsewhere
        found.append(np.abs(sums[starts + hits] - sums[starts] + others).mean())
    return np.array(found)
