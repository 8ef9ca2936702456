"""Fitted tables without negative numbers, which still add up.

The total first, then tables of one attribute at its coarsest level, and so on: each is moved as little as
possible so that no number is below 0 and it adds up to those before it, which are better known and stay.

Promise: numbers are 0 or more, and a table adds up to every coarser one, as closely as the rounds get (a
millionth of the total where that can be at all, as of two attributes it always can). They are no longer right
on average: small counts are raised.
Cost: some hundred passes over the cells of each table.
Source: the projection is by Dykstra's algorithm (Boyle and Dykstra 1986).
"""

from __future__ import annotations

import numpy as np

from hushtable.structures.lattice import Array, Depths, FittedTables, TableLattice

_ROUNDS = 300
_CLOSE = 1e-6


class NonnegativeTables:
    """Fitted tables, made non-negative when they are first asked for."""

    def __init__(self, fitted: FittedTables) -> None:
        self._fitted, self._lattice = fitted, fitted.lattice
        self._made: dict[Depths, Array] = {}

    def table(self, table: Depths) -> Array:
        """Return a fitted table without negative numbers."""
        if table not in self._made:
            self._made[table] = self._projected(table)
        return self._made[table]

    def _projected(self, table: Depths) -> Array:
        values = self._fitted.table(table)
        if not table:
            return np.maximum(values, 0.0)
        base = self._lattice.joined({each: self.table(each) for each in _coarser(table)}).table(table)
        close = _CLOSE * max(float(self.table(())), 1.0)
        carried = np.zeros_like(values)
        for _ in range(_ROUNDS):
            fits = base + _own(self._lattice, table, values)
            raised = fits + carried
            values = np.maximum(raised, 0.0)
            carried = raised - values
            if np.abs(values - fits).max() < close:
                break
        return values


def _coarser(table: Depths) -> list[Depths]:
    """Return the tables that are one level coarser in one attribute."""
    found = []
    for number, (place, depth) in enumerate(table):
        less = ((place, depth - 1),) if depth > 1 else ()
        found.append((*table[:number], *less, *table[number + 1 :]))
    return found


def _own(lattice: TableLattice, table: Depths, values: Array) -> Array:
    """Return what a table says beyond all coarser ones."""
    for axis, (place, depth) in enumerate(table):
        values = lattice.chains[place].centered(values, axis, depth)
    return values
