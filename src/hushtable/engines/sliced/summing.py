"""Keys of rows into sums by place, where those are few: nothing is sorted.

Each batch is added to one array of counts: of all cells of the domain, or of the tables that will be drawn.

Promise: the same counts as of `runs`, and the same tables as of `table.adding.marginals` of those.
Cost: a few nanoseconds a row for each array; memory for the arrays, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import NamedTuple, NoReturn

import numpy as np

from hushtable.domain.keys import KeySpace
from hushtable.engines.sliced.keying import Tally
from hushtable.engines.sliced.runs import KeyRows, ahead, exact_sum
from hushtable.errors import InternalError
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.axes import AxisSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table.adding import TableSums
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells, Slice, Slices, same
from hushtable.table.sparse import SparseTable

_FEW_CELLS = 1 << 20  # counts of so many stay in the cache
_SLICE = 1 << 16  # cells
_FEW_BLOCKS = 8  # adding a row to more takes longer than sorting it


class CountedTables(NamedTuple):
    """Rows counted in the tables that were announced, all of coarser cells than the domain's. Private.

    Cells of the domain were never told apart.
    """

    space: KeySpace
    found: Mapping[int, SparseTable]  # by the number of a table
    tally: Tally
    sensitivity: Sensitivities
    units: tuple[int, int] | None = None
    texts: None = None

    @property
    def slices(self) -> Slices:
        """There are none."""
        _apart()

    def table(self) -> SparseTable:
        """There is none."""
        _apart()

    def cells(self) -> Iterator[Cells]:
        """There are none."""
        _apart()

    def lifted(self, nodes: AxisSpace) -> Slices:
        """There are none."""
        _apart()

    def marginals(self, cube: TableSpace, numbers: Iterable[int]) -> list[SparseTable]:
        """Return the sums of cells in those tables."""
        return [self.found[number] for number in numbers]

    def total(self) -> int:
        """Return the sum of all counts."""
        return exact_sum(next(iter(self.found.values())).counts)

    def __repr__(self) -> str:
        return f"CountedTables(shape={self.space.shape}, counts=<private>)"


def _apart() -> NoReturn:
    raise InternalError("cells were asked for where only coarser tables were counted")


def few_cells(space: KeySpace) -> bool:
    """Return whether there is a count for each cell, by public numbers alone."""
    return space.cells_total <= _FEW_CELLS


def table_sums(space: KeySpace, cube: TableSpace | None, room: int) -> TableSums | None:
    """Return the sums that rows are added to at once, within so many bytes; None where cells come first."""
    if cube is None:
        return None
    numbers = range(len(cube.marginals))
    if any(map(cube.is_finest, numbers)):
        return None
    sums = TableSums(space, cube, numbers)
    return sums if sums.blocks is not None and sums.blocks <= _FEW_BLOCKS and 8 * sums.cells <= room else None


def counted_places(
    batches: Iterable[KeyRows], space: KeySpace, *, threads: int, progress: Progress = unheard
) -> list[Slice]:
    """Count the rows of all batches, in a domain of few cells."""
    (size,) = space.bounds
    counts, lock = np.zeros(size, dtype=np.int64), Lock()

    def add(rows: KeyRows) -> None:
        with lock:
            np.add.at(counts, rows.keys[0].view(np.int64), 1 if rows.amounts is None else rows.amounts)

    _each(add, batches, threads)
    slices: list[Slice] = []
    for low, high in pairwise([*range(0, size, _SLICE), size]):
        progress("Counting", low / size)
        places = np.flatnonzero(counts[low:high])
        cells = (places + low).view(np.uint64)[np.newaxis], counts[low:high][places]
        slices.append(Slice((low,), (high - low,), places.size, partial(same, cells)))
    return slices


def counted_sums(batches: Iterable[KeyRows], sums: TableSums, *, threads: int) -> list[SparseTable]:
    """Count the rows of all batches in tables."""
    _each(lambda rows: sums.add(rows.keys, rows.amounts), batches, threads)
    return sums.tables(None)


def _each(add: Callable[[KeyRows], None], batches: Iterable[KeyRows], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for _ in ahead(pool, add, batches, threads):
            pass
