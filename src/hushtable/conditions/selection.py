"""A set of cells: how many they are, and which rows of a release are among them.

Promise: the number of cells is exact for any formula and any size of domain; rows are found by code, so they
are those of the cells counted.
Cost: parts of the formula without an attribute in common are counted apart, on the grid of each (`grids`).
Finding rows searches the leading attributes, whose codes ascend, and compares a column for each other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.formulas import FALSE, TRUE, Formula, factors
from hushtable.conditions.grids import Grid
from hushtable.conditions.ranges import Runs, run
from hushtable.domain.domain import Domain

_Places: TypeAlias = NDArray[np.intp]


class Selection:
    """A set of cells: a boolean combination of conditions, each on one attribute.

    Guarantee: `cells` is exact, and `rows` finds the rows of those cells and no others.
    """

    def __init__(self, domain: Domain, formula: Formula) -> None:
        self.domain = domain
        self._grids = [Grid(factor, domain.shape) for factor in factors(formula)]

    def within(self, domain: Domain, places: Sequence[int]) -> Selection:
        """Return the same condition on a domain that has the attributes at these ascending places alone.

        All that matter must be among them.
        """
        moved = Selection(domain, TRUE if self._any else FALSE)
        if self._any:
            moved._grids = [
                grid.moved({place: number for number, place in enumerate(places)}) for grid in self._grids
            ]
        return moved

    def __repr__(self) -> str:
        return f"Selection(attributes={self.attributes}, cells={self.cells})"

    @cached_property
    def cells(self) -> int:
        """The number of cells."""
        return self._outside(()) * prod(int(grid.cells(()).item()) for grid in self._grids)

    @property
    def attributes(self) -> tuple[int, ...]:
        """The places of the attributes that matter: none if all cells are selected, all if no cell is."""
        return tuple(sorted(self._places_of_grids)) if self._any else tuple(range(len(self.domain.shape)))

    @property
    def is_product(self) -> bool:
        """Whether the cells are all those that each attribute allows by itself."""
        return not self._any or all(grid.is_product for grid in self._grids)

    @cached_property
    def _places_of_grids(self) -> set[int]:
        return {axis.place for grid in self._grids for axis in grid.axes}

    @cached_property
    def _any(self) -> bool:
        return all(grid.truth.any() for grid in self._grids)

    def rows(self, columns: Sequence[NDArray[Any]]) -> _Places | slice:
        """Return the positions of the rows in the selection, ascending, as an array or a slice.

        `columns` holds the codes of each attribute as an unsigned array; rows ascend lexicographically.
        """
        if not self._any:
            return slice(0, 0)
        kept: _Places | slice = slice(0, len(columns[0]))
        fixed = 0  # so many leading attributes have one code in all rows kept, so that the next one ascends
        pairs = [pair for grid in self._grids for pair in zip(grid.axes, grid.alone, strict=True)]
        for axis, accepted in sorted(pairs, key=lambda pair: pair[0].place):
            if accepted.all():
                continue
            runs = axis.runs(accepted)
            if isinstance(kept, slice) and axis.place == fixed:
                kept = _searched(columns[axis.place], kept, runs)
                fixed += runs.size == 1
            else:
                kept = _where(kept, runs.holds(columns[axis.place][kept], size=axis.size))
        for grid in self._grids:
            if not grid.is_product:
                kept = _where(kept, grid.truth_at([columns[axis.place][kept] for axis in grid.axes]))
        return kept

    def codes(self, place: int) -> Runs:
        """Return the codes of one attribute that occur among the cells."""
        for grid in self._grids:
            for axis, accepted in zip(grid.axes, grid.alone, strict=True):
                if axis.place == place:
                    return axis.runs(accepted)
        return run(0, self.domain.shape[place])

    def cells_of_groups(self, places: Sequence[int]) -> NDArray[np.float64]:
        """Return the number of cells for each combination of codes of the attributes at `places`, in order.

        Numbers are exact up to 2^53, and right to about 15 digits above. Every combination has one, so there
        must be few enough to list.
        """
        places = list(places)
        shape = [self.domain.shape[place] for place in places]
        cells = np.full(shape, _nearest(np.array(self._outside(places), dtype=object)))
        for grid in self._grids:
            index = []
            for axis in grid.axes:
                if axis.place in places:
                    along = [1] * len(places)
                    along[places.index(axis.place)] = axis.size
                    index.append(axis.class_of_all().reshape(along))
            cells = _times(cells, _nearest(grid.cells(places))[tuple(index)])
        return cells.ravel()

    def cells_of(self, places: Sequence[int], codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the number of cells for each group given by its codes, of shape (groups, places).

        Numbers are exact up to 2^53, and right to about 15 digits above.
        """
        places = list(places)
        cells = np.full(len(codes), _nearest(np.array(self._outside(places), dtype=object)))
        for grid in self._grids:
            inside = [axis for axis in grid.axes if axis.place in places]
            index = tuple(axis.class_of(codes[:, places.index(axis.place)]) for axis in inside)
            cells = _times(cells, _nearest(grid.cells(places))[index])
        return cells

    def _outside(self, places: Sequence[int]) -> int:
        """Return the number of combinations of attributes that neither matter nor are at `places`."""
        inner = self._places_of_grids.union(places)
        return prod(size for place, size in enumerate(self.domain.shape) if place not in inner)


def _searched(column: NDArray[Any], kept: slice, runs: Runs) -> _Places | slice:
    """Return the rows of `kept` whose code is in `runs`, where the column ascends in `kept`."""
    part = column[kept]
    # Both bounds are codes, so they fit the column's type; searching for a wider one would copy the column.
    lows = np.searchsorted(part, runs.starts.astype(part.dtype), side="left") + kept.start
    highs = np.searchsorted(part, (runs.stops - 1).astype(part.dtype), side="right") + kept.start
    if len(lows) == 1:
        return slice(int(lows[0]), int(highs[0]))
    lengths = highs - lows
    ends = np.cumsum(lengths)
    places: _Places = np.repeat(lows - ends + lengths, lengths) + np.arange(ends[-1], dtype=np.intp)
    return places


def _where(kept: _Places | slice, truth: NDArray[np.bool_]) -> _Places:
    """Return those of the rows kept for which it is true."""
    if isinstance(kept, slice):
        found: _Places = np.flatnonzero(truth) + kept.start
        return found
    return kept[truth]


def _nearest(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return whole numbers as the nearest float64, infinite beyond its range."""
    try:
        return counts.astype(np.float64)
    except OverflowError:
        beyond = counts > int(np.finfo(np.float64).max)
        return np.where(beyond, np.inf, np.where(beyond, 0, counts).astype(np.float64))


def _times(cells: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products of counts, in which nothing times infinity is nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(cells * factor, nan=0.0, posinf=np.inf)
