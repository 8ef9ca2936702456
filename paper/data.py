"""Tables, real and made up, and the questions that are asked of them.

**Uniform** tables: any cell may be occupied, all alike. **Skewed** ones (the paper does not say which skew):
occupied cells lie around 100 centres, which are anywhere; a cell is a centre chosen at random plus a Laplace
distance of scale m/2000, around the ends of the line. Counts are normal, rounded to a whole number of at
least 1.

**Subsets** of R cells: the cells are put in an order by chance, anew for each run, and any R neighbours in
that order (around its ends) are a subset. **Ranges** are R neighbours in the line.

Promise: the same seed gives the same table and the same questions, whatever is asked about them. Real tables
are not part of the project, and experiments without them say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht

Numbers = NDArray[np.int64]
Array = NDArray[np.float64]

SHARED = Path(__file__).parents[2] / "shared" / "data"
_CENTRES, _NARROW = 100, 2000


class Table:
    """The occupied cells of a line, and what is true of it."""

    def __init__(self, cells: int, places: Numbers, counts: Numbers) -> None:
        order = np.argsort(places)
        self.cells, self.places, self.counts = cells, places[order], counts[order]

    @cached_property
    def sparse(self) -> ht.SparseTable:
        """The table as hushtable takes it."""
        return ht.SparseTable(shape=(self.cells,), codes=self.places, counts=self.counts)

    @cached_property
    def values(self) -> Numbers:
        """The count of every cell."""
        found = np.zeros(self.cells, dtype=np.int64)
        found[self.places] = self.counts
        return found

    @property
    def people(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    @property
    def density(self) -> float:
        """The share of cells that are occupied."""
        return self.places.size / self.cells


class Subsets:
    """Subsets of several sizes, for one run: windows of an order by chance."""

    def __init__(self, table: Table, sizes: tuple[int, ...], *, number: int, run: int) -> None:
        random = np.random.default_rng([run, 11])
        self.sizes = sizes
        self._order = random.permutation(table.cells)
        self._starts = random.integers(table.cells, size=(len(sizes), number))
        self.truths = self.sums(table.values)

    def sums(self, values: Numbers | Array) -> Array:
        """Return the sums of the values over all subsets, a row for each size."""
        mixed = values[self._order].astype(np.float64)
        before = np.concatenate([np.zeros(1), np.cumsum(mixed)])
        stops = self._starts + np.array(self.sizes)[:, np.newaxis]
        around = stops > mixed.size
        found: Array = before[np.where(around, stops - mixed.size, stops)] - before[self._starts]
        return found + np.where(around, before[-1], 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Cells from `starts` to below `stops`, a row for each width, and their true sums."""

    sizes: tuple[int, ...]
    starts: Numbers
    stops: Numbers
    truths: Array

    @classmethod
    def by_chance(cls, table: Table, widths: tuple[int, ...], *, number: int, run: int) -> Ranges:
        """Return ranges of several widths, for one run."""
        random = np.random.default_rng([run, 12])
        starts = np.stack([random.integers(table.cells - width + 1, size=number) for width in widths])
        return cls.over(table, widths, starts, starts + np.array(widths)[:, np.newaxis])

    @classmethod
    def over(cls, table: Table, sizes: tuple[int, ...], starts: Numbers, stops: Numbers) -> Ranges:
        """Return these ranges, with what is true of them."""
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(table.values)])
        return cls(sizes, starts, stops, (before[stops] - before[starts]).astype(np.float64))


@lru_cache(maxsize=2)
def synthetic(*, cells: int, density: float, mean: float, sd: float, skewed: bool = False) -> Table:
    """Return a made-up table: the same for the same arguments."""
    random = np.random.default_rng([6, int(skewed)])
    occupied = round(cells * density)
    if skewed:
        near = np.empty(0, dtype=np.int64)
        centres = random.integers(cells, size=_CENTRES)
        while near.size < occupied:
            distances = np.rint(random.laplace(0, cells / _NARROW, 10_000)).astype(np.int64)
            near = np.union1d(near, (random.choice(centres, 10_000) + distances) % cells)
        places = random.choice(near, occupied, replace=False)
    else:
        places = random.choice(cells, occupied, replace=False)
    counts = np.maximum(np.rint(random.normal(mean, sd, occupied)), 1).astype(np.int64)
    return Table(cells, places, counts)


def missing() -> str | None:
    """Return what to say if the real data are not there."""
    if (SHARED / "lodes_ri_main_2019.parquet").exists():
        return None
    return "It needs real data that are not part of the project; it was left out."


@lru_cache(maxsize=1)
def commuters(name: str) -> Table:
    """Return a table of commuters, cells in the order of work places, then of homes."""
    if name == "counties":
        flows = pq.read_table(SHARED / "acs_county_flows_2011_2015.cells0.parquet")
        home, work, count = (flows[column].to_numpy().astype(np.int64) for column in flows.column_names)
        locations = 3142
        return Table(locations**2, work * locations + home, count)
    flows, locations = _rhode_island()
    pair = flows["work"] * locations + flows["home"]
    pairs, owner = np.unique(pair, return_inverse=True)
    if name == "block groups":
        counts = np.bincount(owner, weights=flows["S000"]).astype(np.int64)
        return Table(locations**2, pairs, counts)
    if name == "block groups, 27 kinds":
        kinds = _kinds(flows, owner, pairs.size)
        rows, kind = np.nonzero(kinds)
        return Table(locations**2 * 27, pairs[rows] * 27 + kind, kinds[rows, kind])
    raise ValueError(f"there is no table of commuters {name!r}")


def _rhode_island() -> tuple[dict[str, Numbers], int]:
    """Return the flows of Rhode Island by codes of block groups, and how many of these there are."""
    flows = pq.read_table(SHARED / "lodes_ri_main_2019.parquet")
    blocks = pq.read_table(SHARED / "codebooks" / "ri_blocks_2010.parquet")
    groups = pc.unique(pc.utf8_slice_codeunits(blocks.column(0), 0, 12)).sort()
    found = {
        side: pc.index_in(pc.utf8_slice_codeunits(flows[column], 0, 12), value_set=groups)
        for side, column in (("home", "h_geocode"), ("work", "w_geocode"))
    }
    codes = {side: np.asarray(each.to_numpy(), dtype=np.int64) for side, each in found.items()}
    numbers = {
        name: flows[name].to_numpy().astype(np.int64) for name in flows.column_names if name.startswith("S")
    }
    return codes | numbers, len(groups)


def _kinds(flows: dict[str, Numbers], owner: NDArray[np.intp], pairs: int) -> Numbers:
    """Return how many commuters of each pair are of each of 27 kinds.

    LODES tells the ages, earnings and industries of a flow, each for itself. The kinds here are made up from
    them: independent within a flow of block groups, then drawn by a multinomial of a fixed seed.
    """
    shares = np.ones((pairs, 1))
    for splits in (("SA01", "SA02", "SA03"), ("SE01", "SE02", "SE03"), ("SI01", "SI02", "SI03")):
        sums = np.stack([np.bincount(owner, weights=flows[name], minlength=pairs) for name in splits], axis=1)
        shares = (shares[:, :, np.newaxis] * (sums / sums.sum(axis=1, keepdims=True))[:, np.newaxis]).reshape(
            pairs, -1
        )
    counts = np.bincount(owner, weights=flows["S000"], minlength=pairs).astype(np.int64)
    random = np.random.default_rng([6, 27])
    found: Numbers = random.multinomial(counts, shares / shares.sum(axis=1, keepdims=True))
    return found


def columns(path: str, *names: str) -> pa.Table:
    """Return columns of a real data file; all of them if none is named."""
    return pq.read_table(SHARED / path, columns=list(names) or None)
