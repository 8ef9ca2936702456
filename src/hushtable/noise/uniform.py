"""Uniform integers below any bound.

Promise: every integer from 0 to bound - 1 has the same chance, given fair bits: as many bits as
the bound has are drawn, and drawn again where they reach it. Nothing is folded or rounded.
Cost: at most two words an integer on average, vectorised up to 2^64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadNumber
from hushtable.laws.rationals import as_count
from hushtable.noise.entropy import BitSource
from hushtable.noise.tables import CHUNK


def uniform_below(bound: int, entropy: BitSource, *, count: int) -> NDArray[np.uint64]:
    """Draw `count` integers from 0 to bound - 1, each with the same chance.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    ================  =====================================
    bound             result
    ================  =====================================
    1 to 2^64         an array of uint64
    above 2^64        `BadNumber`; see `uniform_integer`
    0 or below        `BadNumber`
    ================  =====================================

    >>> from hushtable.noise import KeyStream
    >>> uniform_below(10**12, KeyStream(), count=3)   # your values will differ
    array([...], dtype=uint64)
    """
    bound = _as_bound(bound)
    if bound > 1 << 64:
        hint = "Draw each attribute's code on its own, or use `uniform_integer`."
        raise BadNumber(name="bound", value=bound, allowed="is above 2^64", hint=hint)
    numbers = np.empty(as_count(count, name="count"), dtype=np.uint64)
    shift = np.uint64(64 - max(1, (bound - 1).bit_length()))
    for start in range(0, numbers.size, CHUNK):
        part = numbers[start : start + CHUNK]
        np.right_shift(entropy.words(part.size), shift, out=part)
        over = np.flatnonzero(part >= bound)
        while over.size:
            again = entropy.words(over.size) >> shift
            part[over] = again
            over = over[again >= bound]
    return numbers


def uniform_integer(bound: int, entropy: BitSource) -> int:
    """Draw one integer from 0 to bound - 1, for a bound of any size.

    >>> from hushtable.noise import KeyStream
    >>> uniform_integer(10**30, KeyStream()) < 10**30
    True
    """
    bits = (_as_bound(bound) - 1).bit_length()
    while True:
        number = int.from_bytes(entropy.words(-(-bits // 64)).tobytes(), "little") >> (-bits % 64)
        if number < bound:
            return number


def _as_bound(bound: int) -> int:
    if as_count(bound, name="bound") == 0:
        raise BadNumber(name="bound", value=bound, allowed="leaves nothing to draw", hint="Use 1 or more.")
    return int(bound)
