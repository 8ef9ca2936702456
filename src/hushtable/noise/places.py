"""Which empty cells pass: distinct cells drawn out of a domain of any size.

Promise: every set of `count` distinct empty cells has the same chance, given fair bits, and is
returned in ascending order, so that the order tells nothing.
Proof: PROOF.md beside this file.
Cost: at most about two draws and one search a cell while the domain is at least half empty of
occupied and chosen cells; otherwise the domain itself is no longer than twice their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import (
    Keys,
    KeySpace,
    ascending,
    contains,
    merged_keys,
    no_keys,
    repeats,
    sorted_keys,
)
from hushtable.errors import InternalError
from hushtable.laws.rationals import as_count
from hushtable.noise.entropy import BitSource
from hushtable.noise.uniform import uniform_below

_MAP_CELLS = 16  # a map of the domain is used up to this many bytes a cell that is occupied or asked for


def empty_cells(bounds: Sequence[int], occupied: Keys, entropy: BitSource, *, count: int) -> Keys:
    """Draw `count` distinct keys, each word below its bound, that are not among the ascending `occupied`.

    Guarantee: the set is uniform among all such sets, given that `entropy` returns fair bits.

    >>> from hushtable.noise import KeyStream
    >>> space = KeySpace((3, 2))
    >>> occupied = space.pack(np.array([[0, 0], [2, 1]]))
    >>> space.unpack(empty_cells(space.bounds, occupied, KeyStream(), count=4)).tolist()
    [[0, 1], [1, 0], [1, 1], [2, 0]]
    """
    count = as_count(count, name="count")
    # How many cells are occupied or asked for is private: these messages name the rule, not the number.
    if not ascending(occupied):
        raise InternalError("occupied cells came out of order or twice")
    cells_total = prod(bounds)
    unavailable = occupied.shape[1] + count
    if unavailable > cells_total:
        raise InternalError("more empty cells were asked for than the domain has")
    if not count:
        return no_keys(len(bounds))  # of a full table, too, which has no empty cell
    if cells_total > _MAP_CELLS * unavailable:
        return _draw_until_distinct(bounds, occupied, entropy, count)
    # The domain is small enough for a map of its cells, in one line, whatever words their keys have.
    line = KeySpace(bounds)
    taken = np.zeros(cells_total, dtype=np.bool_)
    taken[line.pack(occupied.T)[0]] = True
    if 2 * unavailable <= cells_total:
        chosen = _mark_until_distinct(taken, entropy, count)
    else:
        # Few cells are free: list them and choose by index.
        free = np.flatnonzero(~taken)
        chosen = free[uniform_subset(free.size, entropy, count=count)]
    keys = line.unpack(chosen.astype(np.uint64)[np.newaxis]).T
    return np.ascontiguousarray(keys).view(np.uint64)


def uniform_subset(size: int, entropy: BitSource, *, count: int) -> NDArray[np.intp]:
    """Draw `count` distinct indices below `size`, ascending, each set with the same chance.

    >>> from hushtable.noise import KeyStream
    >>> uniform_subset(3, KeyStream(), count=3).tolist()
    [0, 1, 2]
    """
    # The complement, where that is smaller.
    few = min(count, size - count)
    marked = np.zeros(size, dtype=np.bool_)
    if few == count:
        return _mark_until_distinct(marked, entropy, few)
    marked[_mark_until_distinct(marked, entropy, few)] = True
    return np.flatnonzero(~marked)


def _mark_until_distinct(taken: NDArray[np.bool_], entropy: BitSource, count: int) -> NDArray[np.intp]:
    """Draw uniform cells until `count` distinct ones that are not `taken` are marked on the map."""
    before = taken.copy()
    full = int(np.count_nonzero(taken)) + count
    # No round draws more than are missing: with none to throw away, no choice can favour a cell.
    while missing := full - int(np.count_nonzero(taken)):
        taken[uniform_below(taken.size, entropy, count=missing)] = True
    return np.flatnonzero(taken & ~before)


def _draw_until_distinct(bounds: Sequence[int], occupied: Keys, entropy: BitSource, count: int) -> Keys:
    """Draw uniform cells, as many as are missing, drop occupied ones and repeats, until `count` are found."""
    found = no_keys(len(bounds))
    while missing := count - found.shape[1]:
        drawn = sorted_keys(np.stack([uniform_below(bound, entropy, count=missing) for bound in bounds]))
        taken = repeats(drawn) | contains(occupied, drawn) | contains(found, drawn)
        drawn = drawn.compress(~taken, axis=1)  # not drawn[:, ~taken], which would interleave the words
        found = merged_keys(found, drawn) if found.shape[1] else drawn
    return found
