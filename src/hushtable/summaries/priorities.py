"""The `size` largest priorities, compared exactly.

The priority of an accepted cell is P = |v| / U. Selection works on Q = 1/P, which is uniform between two
rational ends: 0, or 1/threshold of the band before, and 1 / max(|v|, threshold of its own band). An integer
bound of each Q settles all cells but a few near the cut; these are ordered exactly, bit by bit.

Promise: the chosen cells are exactly those with the largest priorities, and the published threshold is the
next priority, rounded up to 40 significant bits with certainty. No float, and no tie: lazily drawn uniforms
differ. Proof: PROOF.md beside this file, steps 5 to 7.
Cost: some 25 ns and 24 bytes a candidate.
Source: Duffield, Lund, Thorup (2007), "Priority sampling for estimation of arbitrary subset sums".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance
from hushtable.methods.tuning import rounded_up
from hushtable.noise import BitSource, LazyUniform

_CHUNK = 1 << 18  # candidates at a time: the bounds take many arrays of this length
_BITS = 31  # of an end of Q and of U: their product fits 62 bits
_GAP = 1 << 36  # how far the true value may lie above its lower bound: some 2^-26 of the whole range


class _Range(NamedTuple):
    """Where Q * reference lies for one band: from `low` to min(top, reference / |v|)."""

    low: Fraction
    top: Fraction

    def high(self, magnitude: int, reference: Fraction) -> Fraction:
        return min(self.top, reference / magnitude)


def largest_priorities(
    counts: NDArray[np.int64],
    bands: NDArray[np.int8],
    rules: Sequence[Acceptance],
    entropy: BitSource,
    *,
    size: int,
) -> tuple[NDArray[np.intp], Fraction]:
    """Return which `size` candidates have the largest priorities, and the next priority, rounded up.

    All of them, and 0, if there are no more than `size`.
    """
    if counts.size <= size:
        return np.arange(counts.size), Fraction(0)
    return chosen(counts, bands, drawn_bounds(counts, bands, rules, entropy), rules, entropy, size=size)


class Bounds(NamedTuple):
    """What is drawn of each candidate's U, and the lower bound of its Q that follows."""

    words: NDArray[np.uint64]
    low: NDArray[np.int64]

    def only(self, rows: NDArray[np.intp]) -> Bounds:
        """Return those of some candidates."""
        return Bounds(self.words[rows], self.low[rows])


def drawn_bounds(
    counts: NDArray[np.int64], bands: NDArray[np.int8], rules: Sequence[Acceptance], entropy: BitSource
) -> Bounds:
    """Draw the first bits of priorities."""
    reference, ranges = _ranges(rules)
    words = entropy.words(counts.size)
    low = np.empty(counts.size, dtype=np.int64)
    for start in range(0, counts.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        for band, where in ranges.items():
            members = start + np.flatnonzero(bands[part] == band)
            low[members] = _lower_bounds(np.abs(counts[members]), words[members], where, reference)
    return Bounds(words, low)


def hopeful(bounds: Bounds, *, size: int) -> NDArray[np.intp]:
    """Return which of more than `size` candidates can be among the `size` + 1 with the largest priorities."""
    # So many have a lower bound of at most `cut`, and lie below cut + _GAP: who lies above it is out.
    return np.flatnonzero(bounds.low <= np.partition(bounds.low, size)[size] + _GAP)


def chosen(
    counts: NDArray[np.int64],
    bands: NDArray[np.int8],
    bounds: Bounds,
    rules: Sequence[Acceptance],
    entropy: BitSource,
    *,
    size: int,
) -> tuple[NDArray[np.intp], Fraction]:
    """Return which `size` of more candidates have the largest priorities, and the next one, rounded up."""
    reference, ranges = _ranges(rules)
    words, low = bounds
    # 5. The next Q after the `size` smallest lies from `cut` to cut + _GAP; who is clear of that is settled.
    cut = np.partition(low, size)[size]
    settled = low < cut - _GAP
    doubtful = np.flatnonzero(~settled & (low <= cut + _GAP))
    # 6. The rest are put in order by as many bits as it takes.
    exact = [
        _ExactQ(int(i), abs(int(counts[i])), ranges[int(bands[i])], reference, int(words[i]), entropy)
        for i in doubtful
    ]
    _put_in_order(exact)
    missing = size - int(np.count_nonzero(settled))
    settled[[item.place for item in exact[:missing]]] = True
    # 7. The threshold is the priority of the next one.
    return np.flatnonzero(settled), _rounded_threshold(exact[missing], reference)


def _ranges(rules: Sequence[Acceptance]) -> tuple[Fraction, dict[int, _Range]]:
    """Return the smallest threshold, and the range of each band; -1 stands for occupied cells."""
    thresholds = [rule.threshold or Fraction(rule.lowest) for rule in rules]
    reference = thresholds[-1]
    ranges = {-1: _Range(Fraction(0), Fraction(1)), 0: _Range(Fraction(0), reference / thresholds[0])}
    for band in range(1, len(rules)):
        ranges[band] = _Range(reference / thresholds[band - 1], reference / thresholds[band])
    return reference, ranges


def _lower_bounds(
    magnitudes: NDArray[np.int64], words: NDArray[np.uint64], where: _Range, reference: Fraction
) -> NDArray[np.int64]:
    """Return integers below 2^62 Q * reference, by less than `_GAP` (PROOF.md, step 5)."""
    # reference / |v| from below, in units of 2^-31; of both only the leading bits, where they are long.
    drop = max(0, floor(reference).bit_length() - _BITS)
    whole = floor(reference * (1 << _BITS) / (1 << drop))
    leading = magnitudes >> drop
    end = np.minimum(whole // (leading + (drop > 0)), floor(where.top * (1 << _BITS)))
    start = ceil(where.low * (1 << 2 * _BITS))
    width = np.maximum((end << _BITS) - start, 0) >> _BITS
    uniform = (words >> np.uint64(64 - _BITS)).astype(np.int64)
    bounds: NDArray[np.int64] = width * uniform + (start - 1)
    return bounds


class _ExactQ:
    """Q * reference of one candidate, known to as many bits as were needed."""

    def __init__(
        self, place: int, magnitude: int, where: _Range, reference: Fraction, word: int, entropy: BitSource
    ) -> None:
        self.place = place
        self._low, self._width = where.low, where.high(magnitude, reference) - where.low
        self._uniform = LazyUniform(entropy, value=word, bits=64)

    def interval(self) -> tuple[Fraction, Fraction]:
        low, high = self._uniform.interval()
        return self._low + self._width * low, self._low + self._width * high

    def reveal(self) -> None:
        self._uniform.reveal()


def _put_in_order(items: list[_ExactQ]) -> None:
    """Sort by Q, drawing bits until no two intervals overlap."""
    while True:
        items.sort(key=lambda item: item.interval())
        clashing = [pair for pair in pairwise(items) if pair[0].interval()[1] > pair[1].interval()[0]]
        if not clashing:
            return
        for item in {item for pair in clashing for item in pair}:
            item.reveal()


def _rounded_threshold(item: _ExactQ, reference: Fraction) -> Fraction:
    """Return the priority reference / Q, rounded up, once its bits make the rounding certain."""
    while True:
        low, high = item.interval()
        if low > 0 and (tau := rounded_up(reference / low)) == rounded_up(reference / high):
            return tau
        item.reveal()
