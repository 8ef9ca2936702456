"""The `size` largest noisy counts, ties broken at random.

Every cell has a uniform number U; among counts that tie at the cut, the smallest U are chosen. What is known
of the U of a candidate is the band that accepted it: U lies between the chances of the rule before and of its
own rule. So ties of an earlier band come first. U of an occupied cell lies anywhere below the chance of the
last rule; in which band's range it lies is drawn.

Promise: ties are chosen as by one uniform number for each cell, drawn before anything else. So the law
depends neither on how often a rule was widened, nor on the order in which ties come. (With integer noise,
hundreds of cells tie.) No float: coins of rational chances, and uniform sets. Proof: PROOF.md here, step 9.
Cost: some 20 ns and 15 bytes a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance
from hushtable.noise import BitSource, bernoulli, uniform_subset


def largest_candidates(
    magnitudes: NDArray[np.int64],
    bands: NDArray[np.int8],
    rules: Sequence[Acceptance],
    entropy: BitSource,
    *,
    size: int,
) -> tuple[NDArray[np.intp], int | None]:
    """Return which `size` candidates have the largest magnitudes, and the smallest of these.

    All of them, and None, if there are no more than `size`. Bands say which rule was the first to accept
    each; -1 stands for occupied cells, which only the last rule has seen.
    """
    if magnitudes.size <= size:
        return np.arange(magnitudes.size), None
    cut, chosen, ties = _cut(magnitudes, size)
    ranges = _ranges(bands[ties], [rule.chance(cut) for rule in rules], entropy)
    first, _ = largest_counts(-ranges, entropy, size=size - int(np.count_nonzero(chosen)))
    chosen[ties[first]] = True
    return np.flatnonzero(chosen), cut


def largest_counts(
    magnitudes: NDArray[np.signedinteger], entropy: BitSource, *, size: int
) -> tuple[NDArray[np.intp], int | None]:
    """Return which `size` magnitudes are the largest, and the smallest of them: every set of ties alike.

    All of them, and None, if there are no more than `size`. This is for ties of which nothing is known that
    tells their uniform numbers apart. Of candidates their bands are known: see `largest_candidates`.
    """
    if magnitudes.size <= size:
        return np.arange(magnitudes.size), None
    cut, chosen, ties = _cut(magnitudes, size)
    missing = size - int(np.count_nonzero(chosen))
    chosen[ties[uniform_subset(ties.size, entropy, count=missing)]] = True
    return np.flatnonzero(chosen), cut


def _cut(magnitudes: NDArray[np.signedinteger], size: int) -> tuple[int, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the smallest of the `size` largest magnitudes, which lie above it, and which tie with it."""
    cut = int(np.partition(magnitudes, magnitudes.size - size)[magnitudes.size - size])
    return cut, magnitudes > cut, np.flatnonzero(magnitudes == cut)


def _ranges(bands: NDArray[np.int8], chances: Sequence[Fraction], entropy: BitSource) -> NDArray[np.int8]:
    """Return in which range the U of each tie lies; a range ends at its chance, where the next one begins."""
    ranges = bands.copy()
    left, low = np.flatnonzero(bands < 0), Fraction(0)
    for number, high in enumerate(chances[:-1]):
        if high > low and left.size:
            # U is uniform up to the last chance, and no range before this one has it.
            inside = bernoulli((high - low) / (chances[-1] - low), entropy, count=left.size)
            ranges[left[inside]] = number
            left = left[~inside]
        low = high
    ranges[left] = len(chances) - 1
    return ranges
