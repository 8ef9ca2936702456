"""Draws from any law of noise, by a table of its chances.

The size of the noise is drawn, then its sign. The sizes are cut into slots of as many neighbouring values as
keep the table short: mostly one. In a slot of several, a place is proposed evenly, and kept with chance
weight / most, where `most` is a bound on the weights of the slot. A law's masses never grow with the size and
a rule's weights are linear on each slot, so the ends of a slot bound what lies between: a proposal below the
lower bound is kept at once, and only the few between both bounds need their own weight, in ball arithmetic.

Promise: values follow the law exactly, given fair bits, and are saturated at the ends of int64.
Proof: PROOF.md beside this file.
Cost: at most some 8,000 slots, each a few ball evaluations to build; 2 to 20 ns a draw where slots are single
values, and a few hundred where they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.balls import Real, scaled_bounds
from hushtable.laws.integers import Piece, times, weight_at
from hushtable.laws.law import ExactView, NoiseLaw
from hushtable.laws.magnitudes import WeightedNoise
from hushtable.laws.powers import Number
from hushtable.noise.entropy import BitSource, signs
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.tables import CHUNK, CertifiedLaw, CertifiedTable
from hushtable.noise.uniform import uniform_below

_TAIL = Fraction(1, 1 << 32)  # left to the scalar path at an open end: too rare to cost anything
_SLOTS = 8_192
_CHANCE_BITS = 62
_LARGEST = (1 << 63) - 1

# |X| has weight 1/2 at 0 and 1 elsewhere; with a fair sign, that is X.
_WHOLE = (Piece(0, 1, Fraction(1, 2)), Piece(1, None, Fraction(1)))


class TabledSampler:
    """Draws noise of a law (`pieces` None), or its size given a rule with these pieces."""

    def __init__(self, law: NoiseLaw, pieces: tuple[Piece, ...] | None) -> None:
        self._law, self._signed = law, pieces is None
        self._pieces = _WHOLE if pieces is None else pieces
        self._views: dict[int, ExactView] = {}  # by precision
        certified = self._certified()
        assert certified.lowest is not None
        last = certified.quantile(1 - _TAIL)
        width = -(-(last + 1 - certified.lowest) // _SLOTS)
        ends = list(_slot_ends(self._pieces, last, width))
        self._firsts = np.array([certified.lowest, *(end + 1 for end in ends)], dtype=np.int64)
        open_high = ends[-1] != certified.highest
        self._table = CertifiedTable(certified, ends if open_high else ends[:-1], open_high=open_high)
        self._widths = np.diff(self._firsts, append=self._firsts[-1] + 1)  # 1 for the open end, where values
        self._single = bool((self._widths == 1).all())  # are found by the table itself
        self._sure = self._surely_kept() if not self._single else self._widths

    def draw(self, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
        """Return `count` independent values."""
        values = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = values[start : start + CHUNK]
            slots, strays = self._table.slots(entropy, count=part.size)
            np.take(self._firsts, slots, out=part, mode="clip")
            if not self._single:
                part += self._places(slots, entropy)
            for position, value in strays:
                part[position] = min(value, _LARGEST)
        return values * signs(entropy, count=count) if self._signed else values

    def _places(self, slots: NDArray[np.int16], entropy: BitSource) -> NDArray[np.int64]:
        """Return a place in each slot, with chance proportional to its weight."""
        places = np.zeros(slots.size, dtype=np.int64)
        open_places = np.flatnonzero(self._widths.take(slots) > 1)
        while open_places.size:
            within = slots[open_places]
            places[open_places] = _evenly(self._widths.take(within), entropy)
            words = (entropy.words(within.size) >> np.uint64(64 - _CHANCE_BITS)).astype(np.int64)
            kept = words < self._sure.take(within)
            for i in np.flatnonzero(~kept):
                chance = self._chance(int(within[i]), int(places[open_places[i]]))
                kept[i] = LazyUniform(entropy, value=int(words[i]), bits=_CHANCE_BITS).below(chance)
            open_places = open_places[~kept]
        return places

    def _certified(self) -> CertifiedLaw:
        # As many bits more as the noise's deviation has, so that differences of tails keep theirs.
        precision = 192 + 2 * int(self._law.floats.variance).bit_length()
        return CertifiedLaw(lambda: WeightedNoise(self._pieces, self._law.exact()), precision=precision)

    def _ends(self, slot: int) -> tuple[int, int]:
        first = int(self._firsts[slot])
        return first, first + int(self._widths[slot]) - 1

    def _chance(self, slot: int, place: int) -> Real:
        """Return the chance to keep a place: weight times mass, over the largest of each in its slot."""
        first, last = self._ends(slot)
        return self._ratio(first, first + place, self._weight(first + place) / self._most(first, last))

    def _surely_kept(self) -> NDArray[np.int64]:
        """Return 2^62 times a chance with which every place of a slot is kept at least, rounded down."""
        sure = np.zeros(self._widths.size, dtype=np.int64)
        for slot in np.flatnonzero(self._widths > 1):
            first, last = self._ends(int(slot))
            least = min(self._weight(first), self._weight(last)) / self._most(first, last)
            bound = self._ratio(first, last, least)
            sure[slot] = max(scaled_bounds(bound, precision=128, bits=_CHANCE_BITS)[0], 0)
        return sure

    def _weight(self, value: int) -> Fraction:
        return weight_at(self._pieces, value)

    def _most(self, first: int, last: int) -> Fraction:
        """Return the largest weight of a slot: it is linear there."""
        return max(self._weight(first), self._weight(last))

    def _ratio(self, first: int, at: int, share: Fraction) -> Real:
        """Return P[X = at] / P[X = first] times a share."""

        def real(precision: int) -> Number:
            if precision not in self._views:
                self._views[precision] = self._law.exact()
            noise = self._views[precision]
            return times(noise.mass(at) / noise.mass(first), share)

        return real


def _slot_ends(pieces: Sequence[Piece], last: int, width: int) -> Iterator[int]:
    """Yield the last value of each slot, up to `last` or a little further; no slot lies in two pieces."""
    for piece in pieces:
        if piece.low > last:
            return
        stop = last + 1 if piece.high is None else piece.high
        for start in range(piece.low, min(stop, last + 1), width):
            yield min(start + width, stop) - 1


def _evenly(widths: NDArray[np.int64], entropy: BitSource) -> NDArray[np.int64]:
    """Return a uniform number below each width."""
    places = np.empty(widths.size, dtype=np.int64)
    for width in np.unique(widths).tolist():
        same = np.flatnonzero(widths == width)
        places[same] = uniform_below(width, entropy, count=same.size).astype(np.int64)
    return places
