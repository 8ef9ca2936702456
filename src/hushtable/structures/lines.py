"""Cells in a line: the product of some attributes, in lexicographic order.

Promise: every combination of codes has one position from 0 on, and neighbours in the last attribute are
neighbours in the line. Positions are exact; a line has at most 2^60 cells.
Cost: one multiplication or division a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

LARGEST_LINE = 1 << 60  # cells: all nodes of a tree over them have numbers below 2^62

Positions = NDArray[np.int64]


class Line:
    """The attributes at `places` of a domain, in this order.

    >>> line = Line((2, 3, 5), places=(2, 0))
    >>> line.cells, line.positions(np.array([[1, 0, 4]])).tolist()
    (10, [9])
    >>> line.codes(np.array([9])).tolist()
    [[4, 1]]
    """

    def __init__(self, shape: Sequence[int], *, places: Sequence[int]) -> None:
        self.places = tuple(places)
        self.sizes = tuple(shape[place] for place in self.places)
        self.cells = prod(self.sizes)

    def __repr__(self) -> str:
        return f"Line(places={self.places}, sizes={self.sizes})"

    def positions(self, codes: NDArray[np.integer]) -> Positions:
        """Return the positions of cells, whose codes of all attributes of the domain are rows of `codes`."""
        found = np.zeros(len(codes), dtype=np.int64)
        for place, size in zip(self.places, self.sizes, strict=True):
            found *= size
            found += codes[:, place]
        return found

    def codes(self, positions: Positions) -> NDArray[np.int64]:
        """Return the codes at positions, of the line's attributes, in its order."""
        codes = np.empty((len(positions), len(self.sizes)), dtype=np.int64)
        for number in reversed(range(len(self.sizes))):
            rest = positions // self.sizes[number]
            codes[:, number] = positions - rest * self.sizes[number]
            positions = rest
        return codes
