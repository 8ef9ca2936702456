"""Sets of codes of one attribute, kept as runs.

Promise: a set of up to 2^63 - 1 codes is held by the places where it starts and stops, never code by code;
unions, intersections and complements are exact.
Cost: sorting the runs. Looking up a column of codes takes one or two comparisons a code where the runs
are few, else one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.generic)

_SMALL_TABLE = 1 << 16  # entries that are always worth a table


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Codes in runs [start, stop), in ascending order, with gaps between them.

    >>> run(3, 5), runs_of(np.array([7, 3, 4, 3]))
    (Runs(3..4), Runs(3..4, 7..7))
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def __repr__(self) -> str:
        few = [f"{start}..{stop - 1}" for start, stop in zip(self.starts[:6], self.stops[:6], strict=True)]
        return f"Runs({', '.join(few)}{', ...' if len(self.starts) > 6 else ''})"

    @property
    def size(self) -> int:
        """The number of codes."""
        return int((self.stops - self.starts).sum())

    def all(self) -> NDArray[np.int64]:
        """Return all codes in order, of which there must be few enough."""
        lengths = self.stops - self.starts
        firsts = np.repeat(self.starts - np.cumsum(lengths) + lengths, lengths)
        return firsts + np.arange(len(firsts), dtype=np.int64)

    def holds(self, codes: NDArray[Any], *, size: int) -> NDArray[np.bool_]:
        """Return which of `codes` are in the set; `size` is the number of codes there are.

        The runs are brought to the type of `codes`: a column of 10^6 small codes is never widened.
        """
        lows, lasts = self.starts.astype(codes.dtype), (self.stops - 1).astype(codes.dtype)
        if len(lows) <= 2:
            found = [_between(codes, low, last) for low, last in zip(lows, lasts, strict=True)]
            if not found:
                return np.zeros(len(codes), dtype=np.bool_)
            return found[0] if len(found) == 1 else found[0] | found[1]
        if worth_a_table(size, looked_up=len(codes)):
            changes = np.zeros(size + 1, dtype=np.int8)
            changes[self.starts], changes[self.stops] = 1, -1
            return np.cumsum(changes[:-1], dtype=np.int8).view(np.bool_).take(codes)
        places = np.searchsorted(lows, codes, side="right")
        return (places > 0) & (codes <= lasts[places - 1])


def _between(codes: NDArray[Any], low: Any, last: Any) -> NDArray[np.bool_]:
    """Return which codes lie from `low` to `last`."""
    if low == last:
        return np.asarray(codes == low)
    if low == 0:
        return np.asarray(codes <= last)
    if codes.dtype.kind == "u":
        return np.asarray(codes - low <= last - low)  # codes below `low` wrap around to large numbers
    return np.asarray((codes >= low) & (codes <= last))


def worth_a_table(size: int, *, looked_up: int) -> bool:
    """Whether a table over all `size` codes is quicker than a search for each code looked up."""
    return size <= max(_SMALL_TABLE, 8 * looked_up)


def distinct(codes: NDArray[_Number]) -> NDArray[_Number]:
    """Return the codes, or other numbers, in ascending order, each once.

    `np.unique` takes ten times as long on few of them, and loads masked arrays when it is first called.
    """
    codes = np.sort(codes)
    return codes[fresh(codes)]


def fresh(ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values, or rows of values, differ from the one before."""
    found = np.ones(len(ascending), dtype=np.bool_)
    differ = ascending[1:] != ascending[:-1]
    found[1:] = differ if differ.ndim == 1 else differ.any(axis=1)
    return found


def run(low: int, high: int) -> Runs:
    """Return the codes from `low` to below `high`."""
    if low >= high:
        return Runs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Runs(np.array([low], dtype=np.int64), np.array([high], dtype=np.int64))


def runs_of(codes: NDArray[np.int64]) -> Runs:
    """Return the set of these codes, which may repeat and need no order."""
    codes = distinct(codes)
    gaps = np.flatnonzero(np.diff(codes) > 1)
    firsts, lasts = np.append(0, gaps + 1), np.append(gaps, len(codes) - 1)
    return Runs(codes[firsts], codes[lasts] + 1) if len(codes) else run(0, 0)


def runs_where(truth: NDArray[np.bool_]) -> Runs:
    """Return the set of codes at which an array over all codes is true."""
    changes = np.diff(truth.astype(np.int8), prepend=0, append=0)
    return Runs(np.flatnonzero(changes == 1), np.flatnonzero(changes == -1))


def complement(runs: Runs, size: int) -> Runs:
    """Return the codes below `size` that are not in the set."""
    starts, stops = np.append(0, runs.stops), np.append(runs.starts, size)
    some = starts < stops
    return Runs(starts[some], stops[some])


def union(sets: Sequence[Runs]) -> Runs:
    """Return the codes in any of the sets."""
    if len(sets) == 1:
        return sets[0]
    starts = np.concatenate([runs.starts for runs in sets])
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.concatenate([runs.stops for runs in sets])[order]
    if not len(starts):
        return run(0, 0)
    np.maximum.accumulate(reach, out=reach)
    fresh = np.flatnonzero(starts[1:] > reach[:-1]) + 1  # runs that touch become one
    return Runs(starts[np.append(0, fresh)], reach[np.append(fresh - 1, len(reach) - 1)])


def intersection(sets: Sequence[Runs], size: int) -> Runs:
    """Return the codes in all of the sets."""
    if len(sets) == 1:
        return sets[0]
    return complement(union([complement(runs, size) for runs in sets]), size)
