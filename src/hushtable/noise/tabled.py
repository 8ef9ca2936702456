"""Draws from any law of noise, by a table of its chances.

The size of the noise is drawn, then its sign. The sizes are cut into slots: of single values while they are
few, else of many neighbouring ones. In a slot of several, a place is proposed evenly, and kept with chance
weight / most, where `most` is a bound on the weights of the slot. A law's masses never grow with the size and
a rule's weights are linear on each slot, so the ends of a part of a slot bound what lies between: a proposal
outside of these bounds is settled at once, and only the few within need their own weight, in ball arithmetic.

Promise: values follow the law exactly, given fair bits, and are saturated at the ends of int64.
Proof: PROOF.md beside this file.
Cost: at most some 12,000 single values, or 2,000 slots of 16 parts or more, each a ball evaluation or two to
build; 2 to 15 ns a draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.balls import Real, working_precision
from hushtable.laws.integers import Piece, times, weight_at
from hushtable.laws.law import ExactView, NoiseLaw
from hushtable.laws.magnitudes import WeightedNoise
from hushtable.laws.powers import Number
from hushtable.noise.entropy import BitSource, signs
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.tables import CHUNK, CertifiedLaw, CertifiedTable

_TAIL = Fraction(1, 1 << 32)  # left to the scalar path at an open end: too rare to cost anything
_SINGLES = 12_288  # up to so many sizes have a slot each
_SLOTS = 2_048  # of several sizes, beyond: the fewer there are, the fewer draws must be searched
_PARTS = 1 << 15  # of all slots together
_CHANCE_BITS = 24
_BOUNDS_PRECISION = 96
_LARGEST = (1 << 63) - 1

Slots: TypeAlias = NDArray[np.intp]

# |X| has weight 1/2 at 0 and 1 elsewhere; with a fair sign, that is X.
_WHOLE = (Piece(0, 1, Fraction(1, 2)), Piece(1, None, Fraction(1)))


class TabledSampler:
    """Draws noise of a law (`pieces` None), or its size given a rule with these pieces."""

    def __init__(self, law: NoiseLaw, pieces: tuple[Piece, ...] | None) -> None:
        self._law, self._signed = law, pieces is None
        self._pieces = _up_to(law.highest, _WHOLE if pieces is None else pieces)
        self._views: dict[int, ExactView] = {}  # by precision
        certified = self._certified()
        assert certified.lowest is not None
        last = certified.quantile(1 - _TAIL)
        sizes = last + 1 - certified.lowest
        width = 1 if sizes <= _SINGLES else -(-sizes // _SLOTS)
        width = 1 << (width - 1).bit_length()  # so that bits are places
        ends = list(_slot_ends(self._pieces, last, width))
        self._firsts = np.array([certified.lowest, *(end + 1 for end in ends)], dtype=np.int64)
        open_high = ends[-1] != certified.highest
        self._table = CertifiedTable(certified, ends if open_high else ends[:-1], open_high=open_high)
        self._widths = np.diff(self._firsts, append=self._firsts[-1] + 1)  # 1 for the open end, where values
        self._single = bool((self._widths == 1).all())  # are found by the table itself
        self._place_bits = (int(self._widths.max()) - 1).bit_length()
        if not self._single:
            self._bound_chances()

    def draw(self, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
        """Return `count` independent values."""
        values = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = values[start : start + CHUNK]
            narrow, strays = self._table.slots(entropy, count=part.size)
            slots = narrow.astype(np.intp)
            np.take(self._firsts, slots, out=part, mode="clip")
            if not self._single:
                part += self._places(slots, entropy)
            for position, value in strays:
                part[position] = min(value, _LARGEST)
            if self._signed:
                part *= signs(entropy, count=part.size)
        return values

    def _places(self, slots: Slots, entropy: BitSource) -> NDArray[np.int64]:
        """Return a place in each slot, with chance proportional to its weight."""
        places, again = self._proposed(slots, entropy)
        while again.size:
            proposed, refused = self._proposed(slots[again], entropy)
            places[again] = proposed
            again = again[refused]
        return places

    def _proposed(self, slots: Slots, entropy: BitSource) -> tuple[NDArray[np.int64], Slots]:
        """Propose a place in each slot; return them, and which are not kept.

        The last bits of a word are the place and the first ones settle whether it is kept; where places have
        many bits, they have words of their own.
        """
        words = entropy.words(-(-slots.size // 2)).view(np.uint32)[: slots.size]
        mask = (1 << self._place_bits) - 1
        if self._place_bits <= 32 - _CHANCE_BITS:
            places = (words & np.uint32(mask)).astype(np.int64)
        else:
            places = (entropy.words(slots.size) & np.uint64(mask)).view(np.int64)
        chances = words >> np.uint32(32 - _CHANCE_BITS)
        (unsure,) = np.nonzero(chances >= self._sure.take(slots, mode="clip"))
        slots, chances = slots[unsure], chances[unsure]
        places[unsure[self._widths[slots] == 1]] = 0
        parts = slots * self._parts + (places[unsure] >> self._part_bits)
        refused = chances >= self._high[parts]
        for i in np.flatnonzero(~refused & (chances >= self._low[parts])).tolist():
            slot, place = int(slots[i]), int(places[unsure[i]])
            uniform = LazyUniform(entropy, value=int(chances[i]), bits=_CHANCE_BITS)
            # A part may go on beyond the end of a slot that is narrower than others.
            refused[i] = place >= self._widths[slot] or not uniform.below(self._chance(slot, place))
        return places, unsure[refused]

    def _certified(self) -> CertifiedLaw:
        # As many bits more as the noise's deviation has, so that differences of tails keep theirs.
        self._precision = 192 + 2 * int(self._law.floats.variance).bit_length()
        return CertifiedLaw(lambda: WeightedNoise(self._pieces, self._law.exact()), precision=self._precision)

    def _ends(self, slot: int) -> tuple[int, int]:
        first = int(self._firsts[slot])
        return first, first + int(self._widths[slot]) - 1

    def _chance(self, slot: int, place: int) -> Real:
        """Return the chance to keep a place: weight times mass, over the largest of each in its slot."""
        first, last = self._ends(slot)
        if self._even[slot]:
            return self._ratio(first, first + place)
        return self._ratio(first, first + place, self._weight(first + place) / self._most(first, last))

    def _bound_chances(self) -> None:
        """Bound 2^24 times the chance with which a place is kept, for parts of slots and for whole ones.

        Slots of a single value keep whatever is proposed. Beyond the end of a slot all is refused, so where a
        part holds that end, no place is kept at once.
        """
        places = self._widths.size << self._place_bits
        self._part_bits = (-(-places // _PARTS) - 1).bit_length()
        self._parts = 1 << max(self._place_bits - self._part_bits, 0)
        part = 1 << self._part_bits
        bounds = np.zeros((2, self._widths.size, self._parts), dtype=np.uint32)
        bounds[:, self._widths == 1] = 1 << _CHANCE_BITS
        self._even = np.zeros(self._widths.size, dtype=np.bool_)  # whether all of a slot weighs alike
        with working_precision(self._precision):
            noise = self._view(self._precision)
        with working_precision(_BOUNDS_PRECISION):  # enough for bounds, and balls are right at any
            for slot in np.flatnonzero(self._widths > 1).tolist():
                first, last = self._ends(slot)
                most = self._most(first, last)
                even = self._even[slot] = min(self._weight(first), self._weight(last)) == most
                whole = (1 << _CHANCE_BITS) / noise.mass(first)
                for number, start in enumerate(range(first, last + 1, part)):
                    end = start + part - 1
                    high = whole * noise.mass(start)
                    low = high if part == 1 else whole * noise.mass(min(end, last))
                    if not even:
                        weights = self._weight(start) / most, self._weight(min(end, last)) / most
                        low, high = times(low, min(weights)), times(high, max(weights))
                    bounds[:, slot, number] = _rounded_down(low) if end <= last else 0, _rounded_up(high)
        self._low, self._high = bounds.reshape(2, -1)
        self._sure = np.where(self._widths == 1 << self._place_bits, bounds[0].min(axis=1), 0)

    def _weight(self, value: int) -> Fraction:
        return weight_at(self._pieces, value)

    def _most(self, first: int, last: int) -> Fraction:
        """Return the largest weight of a slot: it is linear there."""
        return max(self._weight(first), self._weight(last))

    def _ratio(self, first: int, at: int, share: Fraction | None = None) -> Real:
        """Return P[X = at] / P[X = first], times a share if there is one."""

        def real(precision: int) -> Number:
            # At the precision of the table, if that is more: a law may have to add up all of its chances.
            precision = max(precision, self._precision)
            with working_precision(precision):
                noise = self._view(precision)
                ratio = noise.mass(at) / noise.mass(first)
                return ratio if share is None else times(ratio, share)

        return real

    def _view(self, precision: int) -> ExactView:
        """Return the law's chances at the working precision, which is this one."""
        if precision not in self._views:
            self._views[precision] = self._law.exact()
        return self._views[precision]


def _rounded_down(number: Number) -> int:
    """Return a whole number that is 0 or surely no more."""
    found = number.lower().floor().unique_fmpz()
    return max(int(found), 0) if found is not None else 0


def _rounded_up(number: Number) -> int:
    """Return a whole number that is 2^24 or surely no less."""
    found = number.upper().ceil().unique_fmpz()
    return min(int(found), 1 << _CHANCE_BITS) if found is not None else 1 << _CHANCE_BITS


def _up_to(highest: int | None, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return pieces that end where a law does."""
    if highest is None:
        return pieces
    ended = [piece._replace(high=min(piece.high or highest + 1, highest + 1)) for piece in pieces]
    return tuple(piece for piece in ended if piece.low <= highest)


def _slot_ends(pieces: Sequence[Piece], last: int, width: int) -> Iterator[int]:
    """Yield the last value of each slot, up to `last` or a little further; no slot lies in two pieces."""
    for piece in pieces:
        if piece.low > last:
            return
        stop = last + 1 if piece.high is None else piece.high
        for start in range(piece.low, min(stop, last + 1), width):
            yield min(start + width, stop) - 1
