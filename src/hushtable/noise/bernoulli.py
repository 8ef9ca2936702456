"""Coins: one chance for many flips, a chance of its own for each noisy count, and single flips.

Promise: every flip has its chance exactly, rational or irrational, given fair bits.
Cost: `bernoulli` and `kept` some nanoseconds a flip; `LazyUniform.below` a few microseconds.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadNumber, InternalError
from hushtable.laws.balls import Real, rational_real, scaled_bounds
from hushtable.laws.rationals import Rational, as_count, as_fraction, as_positive
from hushtable.noise.entropy import BitSource
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.tables import CHUNK

_CHANCE_BITS = 62  # of the uniform number that a chance is first compared with
_LEADING_BITS = 31  # of a count: as many as leave 31 bits of 1 / threshold in a product of 62


def bernoulli(chance: Rational | Real, entropy: BitSource, *, count: int) -> NDArray[np.bool_]:
    """Flip `count` coins that each come up True with the given chance.

    Guarantee: the chance is exact, given that `entropy` returns fair independent bits.

    ================================  =====================
    chance                            result
    ================================  =====================
    a number from 0 to 1              the flips
    a `Real` (a function of bits)     the flips
    a number outside, NaN, text       `BadNumber`
    ================================  =====================

    >>> from hushtable.noise import KeyStream
    >>> bernoulli("1/3", KeyStream(), count=4)   # your values will differ
    array([...])
    """
    count = as_count(count, name="count")
    exact = chance if callable(chance) else rational_real(as_chance(chance))
    low, high = scaled_bounds(exact, precision=192, bits=64)
    flips = np.empty(count, dtype=np.bool_)
    for start in range(0, count, CHUNK):
        part = flips[start : start + CHUNK]
        words = entropy.words(part.size)
        # A word below `low` lies below 2^64 chance with all its later bits; from `high` on, above.
        np.less(words, low, out=part)
        for i in np.flatnonzero((words < high) & ~part):
            part[i] = LazyUniform(entropy, value=int(words[i]), bits=64).below(exact)
    return flips


def kept(magnitudes: NDArray[np.int64], threshold: Rational, entropy: BitSource) -> NDArray[np.bool_]:
    """Flip a coin for each magnitude x >= 0, True with chance min(x / threshold, 1).

    Guarantee: each chance is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> kept(np.array([0, 7, 8]), "6.5", KeyStream()).tolist()
    [False, True, True]
    """
    tau = as_positive(threshold, name="threshold", hint="A count x is kept with chance x / threshold.")
    if magnitudes.size and magnitudes.min() < 0:
        raise InternalError("a magnitude below 0 was to be sampled")
    flips = magnitudes >= ceil(tau)
    for start in range(0, magnitudes.size if tau > 1 else 0, CHUNK):
        part = slice(start, start + CHUNK)
        _flip_chunk(magnitudes[part], tau, entropy, flips[part])
    return flips


def _flip_chunk(
    magnitudes: NDArray[np.int64], tau: Fraction, entropy: BitSource, flips: NDArray[np.bool_]
) -> None:
    """Add to the sure flips of a chunk those that 62 bits decide, and settle the few between two bounds."""
    # Where the flip is sure the magnitude does not matter, and 0 cannot overflow.
    counts = np.where(flips, 0, magnitudes).astype(np.uint64)
    drop = max(0, int(counts.max(initial=0)).bit_length() - _LEADING_BITS)
    # 2^62 x / tau is x 2^-drop times 2^(62 + drop) / tau. Both factors are rounded down by less than 1 (the
    # first not at all, where nothing is dropped): the product lies in low..high, and high - low <= 2^33.
    leading = counts >> np.uint64(drop)
    inverse = (tau.denominator << (_CHANCE_BITS + drop)) // tau.numerator
    low = leading * np.uint64(inverse)
    high = (leading + np.uint64(drop > 0)) * np.uint64(inverse + 1)
    words = entropy.words(counts.size) >> np.uint64(64 - _CHANCE_BITS)
    flips |= words < low
    for i in np.flatnonzero((words < high) & ~flips):
        flips[i] = LazyUniform(entropy, value=int(words[i]), bits=_CHANCE_BITS).below(int(counts[i]) / tau)


def as_chance(value: Rational) -> Fraction:
    """Return a probability as an exact rational from 0 to 1."""
    chance = as_fraction(value, name="chance")
    if not 0 <= chance <= 1:
        raise BadNumber(name="chance", value=value, allowed="is outside 0 to 1", hint="Pass a probability.")
    return chance
