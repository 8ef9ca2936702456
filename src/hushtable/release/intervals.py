"""Rows of a release as intervals of cells, and back.

A cell is an interval of one cell, without a level. A node has, along each axis, a level, a first and a last
cell.

Promise: `nodes_of` is the inverse of `intervals_of`, and None for intervals that are no nodes.
Cost: a few operations on whole arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import KeySpace
from hushtable.errors import BadTable
from hushtable.structures.nodes import Intervals, Nodes, PrunedSpace

if TYPE_CHECKING:
    from hushtable.release.terms import Terms


def intervals_of(terms: Terms, codes: NDArray[np.int64]) -> Intervals:
    """Return the intervals of the rows with these codes, of cells or of nodes."""
    if terms.nodes is None:
        return Intervals(np.empty((len(codes), 0), dtype=np.int32), codes, codes)
    assert isinstance(terms.nodes, Nodes)
    check_codes(terms.nodes.space, codes)
    if isinstance(terms.nodes, PrunedSpace) and not terms.nodes.have_cells(codes):
        raise BadTable("codes of nodes are of padding", "They come from another domain or structure.")
    return terms.nodes.intervals(codes)


def nodes_of(nodes: Nodes, given: Intervals) -> NDArray[np.int64] | None:
    """Return the codes of the nodes that have these intervals, or None if some have none."""
    codes = nodes.nodes_at(given.levels, given.firsts)
    found = nodes.intervals(codes)
    same = (np.array_equal(getattr(found, name), getattr(given, name)) for name in Intervals._fields)
    return codes if all(same) else None


def check_codes(space: KeySpace, codes: NDArray[np.int64]) -> None:
    """Raise unless these are codes of a space of nodes, buckets or marginals."""
    shape = space.shape
    if codes.ndim != 2 or codes.shape[1] != len(shape):
        fact = f"codes do not have one column for each of {len(shape)} axes"
        raise BadTable(fact, "Pass codes of shape (nodes, axes).")
    for size, column in zip(shape, codes.T, strict=True):
        if column.size and not (column.min() >= 0 and column.max() < size):
            fact = f"codes of nodes lie outside 0..{size - 1}"
            raise BadTable(fact, "They come from another domain or structure.")
