"""Cells by address: a number of some bits whose leading bits say which part of the domain a cell lies in.

In a line, addresses are positions: a prefix is a range of neighbours. In z-order (Morton 1966) the bits of
all attributes take turns, the highest first: a prefix is a box, which halves attribute by attribute.

Promise: different cells have different addresses; those with a common prefix are the cells of one box (in a
line: of one range). An address has at most 62 bits.
Cost: some look-ups in small tables an attribute of a cell; numbers of cells follow from sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.structures.lines import Line

MOST_BITS = 62
Numbers = NDArray[np.int64]
_BYTE = 8


class Addresses(Protocol):
    """What a tree needs to know of addresses. Prefixes are given with the number of bits below them."""

    bits: int
    dimensions: int

    def of(self, codes: NDArray[np.integer]) -> Numbers:
        """Return the addresses of cells, given by their codes of all attributes of the domain."""

    def prefixes(self, shift: int) -> int:
        """Return how many prefixes have cells."""

    def boxes(self, prefixes: Numbers, shift: int) -> tuple[Numbers, Numbers]:
        """Return where each prefix starts and stops, of shape (prefixes, dimensions), without padding.

        A prefix without cells stops where it starts, or before, in some dimension.
        """

    def sides(self, shift: int) -> Numbers:
        """Return how long a prefix is along each dimension, padding included."""

    def codes(self, points: Numbers) -> Numbers:
        """Return the codes of all attributes at points, of shape (points, dimensions)."""


class LineAddresses:
    """Positions in a line: one dimension.

    >>> addresses = LineAddresses(Line((2, 3), places=(1, 0)))
    >>> addresses.bits, addresses.of(np.array([[1, 2]])).tolist()
    (3, [5])
    >>> [each.tolist() for each in addresses.boxes(np.array([0, 1]), 2)]
    [[[0], [4]], [[4], [6]]]
    """

    dimensions = 1

    def __init__(self, line: Line) -> None:
        self.line = line
        self.bits = (line.cells - 1).bit_length()

    def of(self, codes: NDArray[np.integer]) -> Numbers:
        """Return the positions of cells."""
        return self.line.positions(codes)

    def boxes(self, prefixes: Numbers, shift: int) -> tuple[Numbers, Numbers]:
        """Return the first position of each prefix, and where it stops."""
        starts = prefixes << shift
        return starts[:, np.newaxis], np.minimum(starts + (1 << shift), self.line.cells)[:, np.newaxis]

    def prefixes(self, shift: int) -> int:
        """Return how many prefixes have cells."""
        return ((self.line.cells - 1) >> shift) + 1

    def sides(self, shift: int) -> Numbers:
        """Return how many positions a prefix has."""
        return np.array([1 << shift])

    def codes(self, points: Numbers) -> Numbers:
        """Return the codes at positions, each at the place of its attribute."""
        codes = np.empty((len(points), len(self.line.places)), dtype=np.int64)
        codes[:, list(self.line.places)] = self.line.codes(points[:, 0])
        return codes


class MortonAddresses:
    """Codes with their bits interleaved: a dimension for each attribute.

    >>> addresses = MortonAddresses((4, 3))
    >>> addresses.bits, addresses.of(np.array([[2, 1], [3, 2]])).tolist()
    (4, [9, 14])
    >>> [each.tolist() for each in addresses.boxes(np.array([2, 3]), 2)]
    [[[2, 0], [2, 2]], [[4, 2], [4, 3]]]
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.dimensions = len(self.shape)
        lengths = [(size - 1).bit_length() for size in self.shape]
        self.bits = sum(lengths)
        # The attribute and the bit of its code that each bit of an address stands for, highest first.
        turns = [
            (place, length - 1 - turn)
            for turn in range(max(lengths, default=0))
            for place, length in enumerate(lengths)
            if turn < length
        ]
        self._bits = turns[::-1]  # lowest first, as bits are numbered

    def of(self, codes: NDArray[np.integer]) -> Numbers:
        """Return the interleaved codes, a byte of a code at a time."""
        found = np.zeros(len(codes), dtype=np.int64)
        for place, tables in enumerate(self._spread):
            for number, table in enumerate(tables):
                found |= table[(codes[:, place] >> (_BYTE * number)) & 0xFF]
        return found

    @cached_property
    def _spread(self) -> list[list[Numbers]]:
        """For each attribute and each byte of its code: the address bits of every value of the byte."""
        tables: list[list[Numbers]] = []
        for place, size in enumerate(self.shape):
            length = (size - 1).bit_length()
            tables.append([np.zeros(1 << _BYTE, dtype=np.int64) for _ in range(-(-length // _BYTE))])
            values = np.arange(1 << _BYTE)
            for to, (attribute, bit) in enumerate(self._bits):
                if attribute == place:
                    table = tables[place][bit // _BYTE]
                    table |= (values >> (bit % _BYTE) & 1) << to
        return tables

    def prefixes(self, shift: int) -> int:
        """Return how many prefixes have cells."""
        lower = [place for place, _ in self._bits[:shift]]
        return prod(((size - 1) >> lower.count(place)) + 1 for place, size in enumerate(self.shape))

    def boxes(self, prefixes: Numbers, shift: int) -> tuple[Numbers, Numbers]:
        """Return the lowest codes of each prefix, and where its codes stop."""
        low = np.zeros((len(prefixes), len(self.shape)), dtype=np.int64)
        for to, (place, bit) in enumerate(self._bits[shift:]):
            low[:, place] |= (prefixes >> to & 1) << bit
        return low, np.minimum(low + self.sides(shift), np.array(self.shape))

    def sides(self, shift: int) -> Numbers:
        """Return how many codes of each attribute a prefix has."""
        places = np.array([place for place, _ in self._bits[:shift]], dtype=np.int64)
        found: Numbers = 1 << np.bincount(places, minlength=len(self.shape))
        return found

    def codes(self, points: Numbers) -> Numbers:
        """Return the points, which are codes."""
        return points
