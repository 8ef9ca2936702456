"""Made-up tables to summarise: few large counts and many small ones, cells spread evenly, in no order."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

_generator = np.random.default_rng()


def made_up(shape: Sequence[int], cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return codes of distinct cells, and counts that reach x with chance x^-1.25, as flows often do.

    At least half of the domain stays empty. Beyond 2^63 cells, two equal ones are too unlikely to look for.
    """
    counts = np.minimum((1 - _generator.random(cells)) ** -0.8, 1e9).astype(np.int64)
    codes = np.empty((cells, len(shape)), dtype=np.int64)
    if prod(shape) < 1 << 63:
        places = _distinct(prod(shape), cells)
        for attribute in reversed(range(len(shape))):
            places, codes[:, attribute] = np.divmod(places, shape[attribute])
    else:
        for attribute, size in enumerate(shape):
            codes[:, attribute] = _generator.integers(size, size=cells)
    return codes, counts


def _distinct(below: int, count: int) -> NDArray[np.int64]:
    """Return distinct numbers in no order."""
    found = np.empty(0, dtype=np.int64)
    while found.size < count:
        found = np.unique(np.concatenate([found, _generator.integers(below, size=count + 1000)]))
    _generator.shuffle(found)
    return found[:count]
