"""What the owner takes the table to look like: how many cells hold how much.

Promise: a profile is typed in, read from a public file, or taken from an older public release. It is never
drawn from the rows that are to be published. Numbers of cells and of people are kept as they are given.
Cost: at most some hundred different counts are kept; more are joined with their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, isfinite, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import BadPlan, shown

PLAN_RULE = "plan-1"  # the name and version of what a plan recommends, as a release records it

Array = NDArray[np.float64]

LARGEST_DOMAIN = 10**300  # beyond which floats do not count
LARGEST = 1e15  # of a count, so that floats hold it exactly; of cells, 10^300

_MOST = 300  # different counts; where there are more, joined ones are half as many at first
_WIDEST = 8.0  # standard deviations of a normal profile
_NEAR = 0.02  # by how much of the mean a normal profile may miss it
_WIDEST_RATIO = 20.0  # of deviation and mean: beyond it, a few cells that hardly exist make up the deviation
_HINT = "Give counts of 1 or more, and a number of cells for each."


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Profile:
    """Occupied cells by their count: `cells[i]` of them hold `counts[i]`.

    `words` says where it comes from; a plan repeats it.

    >>> import hushtable as ht
    >>> ht.Profile(counts=[1, 2, 50], cells=[60_000, 20_000, 400], words="as in the census of 2011")
    Profile(80,400 occupied cells with 120,000 in all: as in the census of 2011)
    """

    counts: Array
    cells: Array
    words: str

    def __init__(self, *, counts: ArrayLike, cells: ArrayLike, words: str) -> None:
        kept = _whole(*_joined(*_checked(counts, cells)))
        for name, values in zip(("counts", "cells"), kept, strict=True):
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        line = " ".join(str(words).split())
        if not line:
            raise BadPlan("a profile does not say where it comes from", "Give `words`, in one line.")
        object.__setattr__(self, "words", line)

    def __repr__(self) -> str:
        return f"Profile({self.occupied:,.0f} occupied cells with {self.people:,.0f} in all: {self.words})"

    @property
    def occupied(self) -> float:
        """The number of occupied cells."""
        return float(self.cells.sum())

    @property
    def people(self) -> float:
        """The sum of all counts."""
        return float((self.counts * self.cells).sum())

    def for_people(self, people: float) -> Profile:
        """Return the same shape with so many people in all: of another region, but as many as yours has.

        >>> Profile(counts=[1, 2], cells=[60, 20], words="as in DC").for_people(1000)
        Profile(800 occupied cells with 1,000 in all: as in DC, for 1,000 people)
        """
        if not _is_number(people) or not 1 <= people <= LARGEST:
            hint = f"Give a number from 1 to {LARGEST:g}."
            raise BadPlan(f"a profile for {shown(people)} people makes no sense", hint)
        cells = self.cells * (people / self.people)
        return Profile(counts=self.counts, cells=cells, words=f"{self.words}, for {people:,.10g} people")

    @classmethod
    def normal(cls, *, cells: float, mean: float, sd: float) -> Profile:
        """Return the profile of so many cells whose whole counts from 1 on have this mean and deviation.

        They are normal. Where a normal law would have a part below 1 that moves the mean, they are 1 and a
        log-normal law instead, which has the mean and the deviation that were given.

        >>> Profile.normal(cells=1000, mean=100, sd=20)
        Profile(1,000 occupied cells with 100,000 in all: 1,000 occupied cells with counts of mean 100, ...)
        >>> Profile.normal(cells=1000, mean=57, sd=150)
        Profile(1,000 occupied cells with 57,000 in all: 1,000 occupied cells with log-normal counts of ...)
        """
        numbers = (("cells", cells, 1.0, 1e300), ("mean", mean, 1.0, LARGEST), ("sd", sd, 0.0, LARGEST))
        for name, value, least, most in numbers:
            if not _is_number(value) or not least <= value <= most:
                hint = f"Give a number from {least:g} to {most:g}."
                raise BadPlan(f"an expected {name} of {shown(value)} makes no sense", hint)
        words = (
            f"{cells:,.10g} occupied cell{'s' * (cells != 1)} with counts of mean {mean:,.10g}, standard "
            f"deviation {sd:,.10g}"
        )
        if sd == 0:
            return cls(counts=np.array([mean]), cells=np.array([cells]), words=words)
        first, last = max(1.0, round(mean - _WIDEST * sd)), round(mean + _WIDEST * sd) + 1.0
        step = max(1.0, (last - first) // _MOST)
        counts = np.arange(first, last + step, step)
        edges = (np.append(counts, counts[-1] + step) - step / 2 - mean) / sd / sqrt(2)
        shares = np.diff([erf(edge) for edge in edges])  # what lies below 1 is left out
        if shares.sum() > 0 and abs(float(counts @ shares / shares.sum()) - mean) <= _NEAR * mean:
            return cls(counts=counts, cells=cells * shares / shares.sum(), words=words)
        counts, shares = _log_normal(mean, sd)
        return cls(counts=counts, cells=cells * shares, words=words.replace("counts", "log-normal counts"))


def _log_normal(mean: float, sd: float) -> tuple[Array, Array]:
    """Return counts and their shares: 1 and a log-normal number, in steps that keep the mean."""
    if mean <= 1 or sd > _WIDEST_RATIO * (mean - 1):
        fact = f"counts from 1 on with a mean of {mean:,.10g} do not have a standard deviation of {sd:,.10g}"
        most = _WIDEST_RATIO * (mean - 1)
        hint = f"Give up to {most:,.10g}, or a profile that says how many cells hold which count."
        raise BadPlan(fact, hint if mean > 1 else "Give a larger mean, or a standard deviation of 0.")
    spread = sqrt(log1p((sd / (mean - 1)) ** 2))
    middle = log(mean - 1) - spread**2 / 2
    # Squares of counts lie around 2 spreads above the middle.
    edges = np.linspace(-_WIDEST, 2 * spread + _WIDEST, _MOST)
    below = np.array([(1 + erf(edge / sqrt(2))) / 2 for edge in edges])
    held = np.array([(1 + erf((edge - spread) / sqrt(2))) / 2 for edge in edges])
    shares = np.diff(np.concatenate([[0.0], below[1:-1], [1.0]]))
    parts = np.diff(np.concatenate([[0.0], held[1:-1], [1.0]])) * exp(middle + spread**2 / 2)
    some = shares > 0
    return 1 + parts[some] / shares[some], shares[some]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _checked(given_counts: ArrayLike, given_cells: ArrayLike) -> tuple[Array, Array]:
    """Return two lists of numbers that fit."""
    try:
        counts, cells = (np.array(each, dtype=np.float64) for each in (given_counts, given_cells))
    except (TypeError, ValueError):
        raise BadPlan("a profile holds something that is not a number", _HINT) from None
    if counts.ndim != 1 or counts.shape != cells.shape or not counts.size:
        raise BadPlan("a profile is not two lists of the same length", _HINT)
    for name, values, least, most in (
        ("count", counts, 1.0, LARGEST),
        ("number of cells", cells, 0.0, 1e300),
    ):
        wrong = values[~((values >= least) & (values <= most))]
        if wrong.size:
            raise BadPlan(f"a profile has a {name} of {wrong[0]:g}, outside {least:g}..{most:g}", _HINT)
    if not cells.sum() > 0 or not isfinite(float((cells * counts).sum())):
        raise BadPlan("a profile has no occupied cell, or far too many", _HINT)
    return counts, cells


def _joined(counts: Array, cells: Array) -> tuple[Array, Array]:
    """Return the profile in order of counts; of too many, large ones are joined by size, at their mean."""
    counts, places = np.unique(counts, return_inverse=True)
    cells = _added(places, cells)
    if counts.size > _MOST:
        edges = np.geomspace(counts[0], counts[-1], _MOST // 2)
        bins = np.unique(np.searchsorted(edges, counts), return_inverse=True)[1]
        together = _added(bins, cells)
        counts = _added(bins, cells * counts) / np.where(together > 0, together, 1.0)
        cells = together
    return counts[cells > 0], cells[cells > 0]


def _whole(counts: Array, cells: Array) -> tuple[Array, Array]:
    """Return the same with whole counts: a mean between two of them becomes both, with the same sum."""
    low = np.floor(counts)
    upper = cells * (counts - low)
    values, places = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
    together = _added(places, np.concatenate([cells - upper, upper]))
    return values[together > 0], together[together > 0]


def _added(places: NDArray[np.intp], values: Array) -> Array:
    """Return the sum of the values at each place."""
    return np.asarray(np.bincount(places, weights=values), dtype=np.float64)
