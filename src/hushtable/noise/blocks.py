"""Draws from a geometric law of any length: single values where a table fits, blocks where it does not.

A short law gets one slot for each value. A long one (a small rate) gets slots of many values: a
block is drawn by its certified chance, and then a place in it. Inside a block the law is
proportional to h(x) a^r, with r the distance from the block's anchor and h linear, so r is proposed
with weight a^r, as the low digits of a geometric variable, which do not depend on the block, and
kept with chance h(x) / max h, a rational number.

Promise: values follow the law exactly, given fair bits, and are saturated at the ends of int64.
Proof: PROOF.md beside this file.
Cost: at most some 12,000 certified edges at any rate; 2 to 20 ns a draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import floor
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.integers import (
    LawFamily,
    Piece,
    TwoSidedGeometric,
    WeightedGeometric,
    truncated_geometric,
)
from hushtable.laws.powers import ExponentialPowers
from hushtable.noise.entropy import BitSource
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.tables import CHUNK, CertifiedLaw, CertifiedTable

_TAIL = Fraction(1, 1 << 32)  # left to the scalar path at an open end: too rare to cost anything
_LONGEST_TABLE = 12_000  # values with a slot of their own; beyond this, blocks build faster
_BLOCKS = 2_048  # about so many blocks: h is nearly flat in each, so few places are refused
_SHORTEST_SPLIT = 1_024  # a piece up to this length gets single values even among blocks
_DIGIT_BITS = 10  # of a digit's table: small enough that its guide settles almost every draw
_CHANCE_BITS = 62

_Places: TypeAlias = NDArray[np.int16] | NDArray[np.int64]  # int16 where it holds them: less memory to move
_LARGEST = (1 << 63) - 1


def certified(family: LawFamily, rate: Fraction) -> CertifiedLaw:
    """Return a law in powers of exp(-rate), to any precision."""
    # Differences of powers lose bits as the rate falls.
    precision = 192 + 4 * max(0, floor(1 / rate).bit_length())
    return CertifiedLaw(lambda: family(ExponentialPowers(rate)), precision=precision)


class GeometricSampler:
    """Draws from the two-sided geometric law (`pieces` None) or from a weighted geometric law."""

    def __init__(self, pieces: tuple[Piece, ...] | None, rate: Fraction) -> None:
        law = certified(TwoSidedGeometric if pieces is None else partial(WeightedGeometric, pieces), rate)
        last = law.quantile(1 - _TAIL)
        first = -last if law.lowest is None else law.lowest
        span = last - first + 1
        self._layout: _Singles | _Blocks
        if span <= _LONGEST_TABLE:
            self._layout = _Singles(law, first, last)
        else:
            width = 1 << (span // _BLOCKS).bit_length()
            blocks = _mirrored(last, width) if pieces is None else _split(pieces, last, width)
            self._layout = _Blocks(law, blocks, _LowDigits(rate, width))
        open_low, open_high = self._layout.open_ends
        self._table = CertifiedTable(law, self._layout.edges, open_low=open_low, open_high=open_high)

    def draw(self, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
        """Return `count` independent values."""
        values = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = values[start : start + CHUNK]
            slots, strays = self._table.slots(entropy, count=part.size)
            self._layout.fill(part, slots, entropy)
            for position, value in strays:
                part[position] = min(max(value, -_LARGEST), _LARGEST)
        return values


class _Singles:
    """One slot for each value from `first` to `last`; open ends stand for what lies beyond."""

    def __init__(self, law: CertifiedLaw, first: int, last: int) -> None:
        # Slot i is the value start + i, or all values up to `start` where the law goes on below it.
        self.open_ends = first != law.lowest, last != law.highest
        start = first - 1 if self.open_ends[0] else first
        self.edges = range(start, last + 1 if self.open_ends[1] else last)

    def fill(self, values: NDArray[np.int64], slots: NDArray[np.int16], entropy: BitSource) -> None:
        """Write the value of each slot."""
        values[:] = slots
        values += self.edges.start


class _Block(NamedTuple):
    """The values anchor + step * r for 0 <= r < width, with h = level + slope * r."""

    anchor: int
    width: int
    step: int = 1
    level: Fraction = Fraction(1)
    slope: Fraction = Fraction(0)

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest value of the block."""
        far = self.anchor + self.step * (self.width - 1)
        return min(self.anchor, far), max(self.anchor, far)

    @property
    def largest(self) -> Fraction:
        """The largest h in the block."""
        return max(self.level, self.level + self.slope * (self.width - 1))


_BEYOND = _Block(0, 1)  # stands for an open end, whose values the table itself finds


class _Blocks:
    """One slot for each block; a place inside is proposed until one is kept."""

    def __init__(self, law: CertifiedLaw, blocks: Sequence[_Block], digits: _LowDigits) -> None:
        self._digits = digits
        # Where every block is full and flat, no place is ever refused.
        self._flat = all(block.width == digits.width and not block.slope for block in blocks)
        self._blocks = list(blocks)
        self.edges = [block.ends[1] for block in blocks]
        self.open_ends = law.lowest is None, self.edges[-1] != law.highest
        if self.open_ends[0]:
            self.edges.insert(0, self._blocks[0].ends[0] - 1)
            self._blocks.insert(0, _BEYOND)
        if self.open_ends[1]:
            self._blocks.append(_BEYOND)
        else:
            self.edges.pop()
        scale = 1 << _CHANCE_BITS
        self._anchors = np.array([block.anchor for block in self._blocks], dtype=np.int64)
        self._steps = np.array([block.step for block in self._blocks], dtype=np.int8)
        self._widths = np.array([block.width for block in self._blocks], dtype=np.int64)
        self._levels = np.array(
            [block.level * scale // block.largest for block in self._blocks], dtype=np.int64
        )
        self._slopes = np.array(
            [block.slope * scale // block.largest for block in self._blocks], dtype=np.int64
        )

    def fill(self, values: NDArray[np.int64], slots: NDArray[np.int16], entropy: BitSource) -> None:
        """Write a value of each slot's block."""
        places = self._digits.draw(entropy, count=slots.size)
        if not self._flat:
            refused = np.flatnonzero(~self._kept(places, slots, entropy))
            while refused.size:
                again = self._digits.draw(entropy, count=refused.size)
                kept = self._kept(again, slots[refused], entropy)
                places[refused] = again
                refused = refused[~kept]
        places *= self._steps.take(slots)
        np.take(
            self._anchors, slots, out=values, mode="clip"
        )  # any other mode would take a detour by a buffer
        values += places

    def _kept(self, places: _Places, slots: NDArray[np.int16], entropy: BitSource) -> NDArray[np.bool_]:
        """Return which proposed places are kept: inside their block, and with chance h / max h."""
        widths = self._widths.take(slots)
        places[widths == 1] = 0
        inside = places < widths
        # Both parts are rounded down, so 2^62 * chance lies in low..low + places + 1. (Outside a block the
        # product may wrap, and does not matter.)
        low = self._slopes.take(slots)
        low *= places
        low += self._levels.take(slots)
        words = (entropy.words(slots.size) >> np.uint64(64 - _CHANCE_BITS)).astype(np.int64)
        kept: NDArray[np.bool_] = inside & (words < low)
        for i in np.flatnonzero(inside & ~kept & (words <= low + places)):
            block = self._blocks[slots[i]]
            chance = (block.level + block.slope * int(places[i])) / block.largest
            kept[i] = LazyUniform(entropy, value=int(words[i]), bits=_CHANCE_BITS).below(chance)
        return kept


class _LowDigits:
    """A geometric variable modulo `width`, a power of 2: its digits are independent, so each has a table."""

    def __init__(self, rate: Fraction, width: int) -> None:
        self.width = width
        self._digits = []
        for shift in range(0, width.bit_length() - 1, _DIGIT_BITS):
            size = min(1 << _DIGIT_BITS, width >> shift)
            law = certified(partial(truncated_geometric, size), rate * (1 << shift))
            self._digits.append((shift, CertifiedTable(law, range(size - 1))))

    def draw(self, entropy: BitSource, *, count: int) -> _Places:
        """Return `count` places, at most `CHUNK`."""
        places, _ = self._digits[0][1].slots(entropy, count=count)  # a digit has no open end
        if self.width > 1 << 15:
            places = places.astype(np.int64)
        for shift, table in self._digits[1:]:
            slots, _ = table.slots(entropy, count=count)
            places += slots.astype(places.dtype) << shift
        return places


def _mirrored(last: int, width: int) -> list[_Block]:
    """Return blocks of the two-sided law: x >= 0 counted up from 0, x < 0 counted down from -1."""
    starts = range(0, last + 1, width)
    return [_Block(-1 - start, width, -1) for start in reversed(starts)] + [
        _Block(start, width) for start in starts
    ]


def _split(pieces: tuple[Piece, ...], last: int, width: int) -> list[_Block]:
    """Return blocks of a weighted law that reach from its lowest value to `last` or a little further."""
    blocks = []
    for piece in pieces:
        full = -(-(last + 1 - piece.low) // width) * width
        length = full if piece.high is None else min(full, piece.high - piece.low)
        if length <= 0:
            break
        # Blocks of nearly equal width: a narrow one at the end would refuse almost every place.
        parts = length if length <= _SHORTEST_SPLIT else -(-length // width)
        starts = [length * i // parts for i in range(parts + 1)]
        for start, end in pairwise(starts):
            anchor = piece.low + start
            blocks.append(_Block(anchor, end - start, 1, piece.weight(anchor), piece.slope))
    return blocks
