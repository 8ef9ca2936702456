"""Lazy inversion of a certified CDF: the one primitive behind every integer law.

The integers are cut into slots at `edges`; slot i holds edges[i-1] < k <= edges[i]. For a uniform
U the slot is the first i with U < F(edges[i]). Each edge is kept as cut[i] = floor(2^64 F(edges[i])),
certified by ball arithmetic. The first 16 bits of U settle most draws in a guide table, 64 bits
settle all but those with U's word equal to a cut, and `LazyUniform` settles these.

Promise: slots follow the law exactly, given fair bits. Proof: PROOF.md beside this file.
Cost: about 2 ns a draw; the build takes one ball evaluation for each edge (some 3 microseconds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.balls import Real, rational_ball, scaled_floors, working_precision
from hushtable.laws.integers import IntegerLaw
from hushtable.noise.entropy import BitSource
from hushtable.noise.lazy import LazyUniform, smallest

CHUNK = 1 << 16  # draws at a time, so that what they touch stays in the second-level cache

_GUIDE_BITS = 16
_SEARCH = -1  # a guide entry whose cell holds a cut: look at more bits


class CertifiedLaw:
    """An integer law whose CDF can be had to any precision; `precision` makes a second try rare."""

    def __init__(self, at_working_precision: Callable[[], IntegerLaw], *, precision: int) -> None:
        self._make = at_working_precision
        self._at: dict[int, IntegerLaw] = {}
        self.precision = precision
        with working_precision(self.precision):
            law = self._law(self.precision)
            self.lowest, self.highest = law.lowest, law.highest

    def cdf(self, k: int) -> Real:
        """Return P[X <= k] as a real number."""
        return lambda precision: self._law(precision).cdf(k)

    def quantile(self, level: Fraction) -> int:
        """Return the smallest k with P[X <= k] > level, or a neighbour: good enough to end a table."""
        with working_precision(self.precision):
            law = self._law(self.precision)
            goal = rational_ball(level)
            return smallest(lambda k: bool(law.cdf(k) > goal), low=self.lowest, high=self.highest)

    def _law(self, precision: int) -> IntegerLaw:
        if precision not in self._at:
            self._at[precision] = self._make()
        return self._at[precision]


class CertifiedTable:
    """Slots of one law, drawn by lazy inversion."""

    def __init__(
        self, law: CertifiedLaw, edges: Sequence[int], *, open_low: bool = False, open_high: bool = False
    ) -> None:
        """Cut `law` at `edges`; an open first or last slot is one whose values the table is to find."""
        self._law = law
        self._edges = edges
        self._open_low, self._open_high = open_low, open_high
        self._last_slot = len(edges)
        cuts = scaled_floors(map(law.cdf, edges), precision=law.precision, bits=64)
        self._cuts = np.array(cuts, dtype=np.uint64)
        self._guide = self._build_guide()

    def slots(self, entropy: BitSource, *, count: int) -> tuple[NDArray[np.int16], list[tuple[int, int]]]:
        """Return `count` slots, at most `CHUNK`, and (position, value) of each draw in an open slot."""
        first_bits = entropy.words(-(-count // 4)).view(np.uint16)[:count]
        slots = self._guide.take(first_bits)
        strays: list[tuple[int, int]] = []
        rare = np.flatnonzero(slots == _SEARCH)
        if rare.size:
            words = entropy.words(rare.size) >> np.uint64(_GUIDE_BITS)
            words |= first_bits[rare].astype(np.uint64) << np.uint64(64 - _GUIDE_BITS)
            found = np.searchsorted(self._cuts, words, side="right")
            for i in np.flatnonzero(self._undecided(found, words)):
                found[i], value = self._resolve(int(words[i]), entropy)
                if value is not None:
                    strays.append((int(rare[i]), value))
            slots[rare] = found
        return slots, strays

    def _build_guide(self) -> NDArray[np.int16]:
        """Return the slot for each value of the first 16 bits, or `_SEARCH` where they do not settle it."""
        cells = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        guide = np.searchsorted(self._cuts, cells, side="left").astype(np.int16)
        open_ends = (guide == 0) & self._open_low | (guide == self._last_slot) & self._open_high
        guide[open_ends] = _SEARCH
        guide[self._cuts >> np.uint64(64 - _GUIDE_BITS)] = _SEARCH
        return guide

    def _undecided(self, found: NDArray[np.intp], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which draws need more than 64 bits: those that tie with a cut or fall in an open slot."""
        undecided: NDArray[np.bool_] = (found > 0) & (self._cuts[found - 1] == words)
        undecided |= (found == 0) & self._open_low | (found == self._last_slot) & self._open_high
        return undecided

    def _resolve(self, word: int, entropy: BitSource) -> tuple[int, int | None]:
        """Return the slot of the U that begins with `word`, and U's own value if the slot is open-ended."""
        uniform = LazyUniform(entropy, value=word, bits=64)
        edges = self._edges
        slot = uniform.invert(lambda i: self._law.cdf(edges[i]), low=0, high=self._last_slot)
        # An open slot is always settled by U itself, whether U tied or not, so its law stays whole.
        if slot == 0 and self._open_low:
            return slot, uniform.invert(self._law.cdf, low=self._law.lowest, high=edges[0])
        if slot == self._last_slot and self._open_high:
            return slot, uniform.invert(self._law.cdf, low=edges[-1] + 1, high=self._law.highest)
        return slot, None
