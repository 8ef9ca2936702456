r"""What larger cells hold, if smaller ones with a known profile are put together.

Which cells are occupied is not known, so they are taken to lie at random: a larger cell holds the sum of g
independent smaller ones. Laws of sums of 1, 2, 4, 8, ... cells are added up by the binary digits of g; a g
between two whole numbers becomes a mixture of both. After each addition neighbouring values are joined at
their mean, on a scale of logarithms, so that counts of one person and of a million have their place.

Promise: the people are all there, but for rounding. Nothing is drawn. Real tables cluster, so that their
larger cells are fewer and fuller than here, and tell more beyond the total.
Cost: about a millisecond for each binary digit of g.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.planning.profile import Array, Profile

_MOST = 120  # different values in a law
_NEVER = 1e-12  # of the chance to be occupied: what lies farther out is joined


class CountLaw(NamedTuple):
    """The law of a count: values above 0, each with its chance. What is left to 1 is the chance of 0."""

    values: Array
    chances: Array


class Merging:
    """A profile of so many cells, ready to be put into fewer."""

    def __init__(self, profile: Profile, *, cells_total: int) -> None:
        self.profile, self.cells_total = profile, cells_total
        self._powers = [CountLaw(profile.counts, profile.cells / cells_total)]  # sums of 2^i cells

    def into(self, cells_total: int) -> Profile:
        """Return the profile of fewer cells that hold the same people."""
        whole, rest = divmod(Fraction(self.cells_total, cells_total), 1)
        fewer, more = self.law(whole), self.law(whole + 1)
        return Profile(
            counts=np.append(fewer.values, more.values),
            cells=np.append(fewer.chances * float(1 - rest), more.chances * float(rest)) * cells_total,
            words=f"{self.profile.words}, put at random into {cells_total:,} cells",
        )

    def law(self, cells: int) -> CountLaw:
        """Return the law of the sum of so many cells, 1 or more."""
        found = None
        for place in range(cells.bit_length()):
            if place == len(self._powers):
                self._powers.append(_added(self._powers[-1], self._powers[-1]))
            if cells >> place & 1:
                power = self._powers[place]
                found = power if found is None else _added(found, power)
        assert found is not None
        return found


def _added(one: CountLaw, two: CountLaw) -> CountLaw:
    """Return the law of the sum of two independent counts."""
    empty_one, empty_two = (max(1 - float(each.chances.sum()), 0.0) for each in (one, two))
    return _joined(
        np.concatenate([one.values, two.values, np.add.outer(one.values, two.values).ravel()]),
        np.concatenate(
            [
                one.chances * empty_two,
                two.chances * empty_one,
                np.multiply.outer(one.chances, two.chances).ravel(),
            ]
        ),
    )


def _joined(values: Array, chances: Array) -> CountLaw:
    """Return a law of few values: neighbours are joined at their mean, and so is what hardly ever happens."""
    order = np.argsort(values)
    below = np.cumsum(chances[order])
    ends = np.searchsorted(below, [_NEVER * below[-1], (1 - _NEVER) * below[-1]])
    low, high = values[order[np.minimum(ends, values.size - 1)]]
    bins = np.searchsorted(np.geomspace(low, high, _MOST), values)
    together, sums = (_summed(bins, each) for each in (chances, chances * values))
    some = together > 0
    return CountLaw(sums[some] / together[some], together[some])


def _summed(bins: NDArray[np.intp], values: Array) -> Array:
    return np.asarray(np.bincount(bins, weights=values), dtype=np.float64)
