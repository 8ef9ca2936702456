r"""Bounds for sums over any cells, whatever a cutoff hid.

A cell holds x and has noise X. V = x + X is published if it reaches the cutoff c: in size or, one-sided, from
above. The rows of a set of k cells say more than the truth by the sum of Y over the cells: Y is X where V is
published, and -x where it is not.

*From below* (`_least`), where no count is negative. The mean of Y is -h(x), with h(x) = E[V if it is absent].
Two-sided, that is the sum over 0 < v < c of v (P[X = v - x] - P[X = v + x]), which is not below 0: noise is
symmetric, and no value is likelier than one that is nearer to 0. One-sided it is not below -e, where e is
what noise from c on adds to an empty cell on average. So the truth is at least the sum of the rows less k e,
but for chance: the noise of cells that passed, and noise from c on of empty cells that might have. A count
just below the cutoff varies more, by up to c^2/4, but is hidden about half of the time: what it adds to Y on
one occasion it takes on another, so that E exp(tY) is at most that of noise, or of an empty cell, unless t is
large. Large t matter for few cells only; one cell more than those that passed makes good for them.
Where empty cells have no noise, their Y is 0, and e with it: an occupied cell holds 1 or more, and then the
mean of V below c is not below 0 (`tests/answers/test_unlisted.py`).

*From above* (`_most`). The sum of V is what was seen, and at most c - 1 for each absent cell; the truth is
the sum of V less the noise of all k cells. Where counts may be negative, this is the bound from below too.

*From around* (`Around`). The sum over a larger set may be known: over all cells, by the noisy total, or by a
table that is published whole. The truth is that sum less the rest. So it is at most the upper limit of the
sum less `_least` of the rest, and at least its lower limit less `_most` of the rest. Where no count is
negative, it is at most the upper limit of the sum itself: the nearer one where the rest's rows are noise.

The nearest limit is taken. Each may fail, so they share the chance. Most of it goes to the limit that is the
nearest as a rule: below, that of the rows themselves; above, that from around. A set without a rest is its
own surroundings, and where all cells are published nothing is hidden: there one limit has all of the chance.

Promise: intervals hold with at least the stated chance for any cells that were chosen without looking at the
rows, whatever counts are hidden and wherever. The standard error is the root mean square error if all that
may be hidden is there, or if none of it is, whichever is larger.
Cost: some operations on arrays with one entry a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.law import PublishedLaw
from hushtable.answers.estimation.parts import Answers, Array, Parts
from hushtable.answers.estimation.sums import Sums
from hushtable.domain.texts import MOST_TEXTS

Places = NDArray[np.intp]
RowsLimit: TypeAlias = "Callable[[Sums, Array, float], list[_SumLimit]]"

_LIKELY = 7 / 8  # of the chance to fail, for the limit that is near as a rule
_WITHOUT_REST = 1 / 8  # of the chance of a larger set, for its own upper limit
_ENDLESS = MOST_TEXTS / 2  # of cells; a question that names its values has fewer
_DEVIATIONS = 2.0  # by which limits are compared where the confidence must not matter


class NoiseOfSums(Protocol):
    """Noise of sums of draws: how much it varies for each, and how far it reaches."""

    @property
    def variance(self) -> float:
        """The variance of one draw."""

    def reach(self, draws: Array, chance: float) -> tuple[Array, ...]:
        """Return how far so many draws fall below, and rise above, their mean."""


@dataclass(frozen=True, slots=True)
class Around:
    """A larger set of cells around each group: its noisy sum, and the rows of its cells outside the group.

    The sum has the noise of so many draws (`draws`) of `noise`.
    """

    total: Array
    noise: NoiseOfSums
    draws: Array
    rest: Sums
    rest_cells: Array

    def taken(self, places: Places) -> Around:
        """Return what is around some of the groups."""
        rest = self.rest.taken(places)
        return Around(self.total[places], self.noise, self.draws[places], rest, self.rest_cells[places])


class _SumLimit(NamedTuple):
    """A limit of the truth: where it lies without chance, and how far chance may move it."""

    centre: Array
    variance: Array
    reach: Array


class GroupBounds:
    """The law of a release, ready to bound sums over groups of its cells."""

    def __init__(self, law: PublishedLaw) -> None:
        self._law = law

    def answers(
        self, value: Array, sums: Sums, cells: Array, *, around: Sequence[Around] = (), chance: float
    ) -> Answers:
        """Return the estimates with intervals that fail with `chance` at most, and hold the estimates."""
        certain = np.zeros(cells.shape, dtype=np.bool_)
        for each in around:
            certain |= each.rest_cells <= 0
        complete = ((sums.rows >= cells) | (not around)) & ~certain
        error, low, high = np.zeros((3, *cells.shape))
        for chosen, shares in (
            (certain, (0.0, 0.0)),
            (complete, (1.0, 1.0)),
            (~certain & ~complete, (_LIKELY, 1 - _LIKELY)),
        ):
            places = np.flatnonzero(chosen)
            if places.size:
                larger = [each.taken(places) for each in around]
                here = value[places], sums.taken(places), cells[places]
                error[places], low[places], high[places] = self._bounded(*here, larger, shares, chance)
        if not self._law.negative:
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        # Of more cells than any data have rows, nothing bounds how many hold something that is hidden.
        endless = (cells >= _ENDLESS) & self._law.unlisted
        error, high = np.where(endless, np.inf, error), np.where(endless, np.inf, high)
        return Answers(value, error, np.minimum(low, value), np.maximum(high, value))

    def _bounded(
        self,
        value: Array,
        sums: Sums,
        cells: Array,
        around: Sequence[Around],
        shares: tuple[float, float],
        chance: float,
    ) -> tuple[Array, Array, Array]:
        """Return standard errors and both ends; `shares` of the chance go to limits of the groups' own."""
        lows: list[_SumLimit] = []
        highs: list[_SumLimit] = []
        for own, limits, limit in ((shares[0], lows, self._least), (shares[1], highs, self._most)):
            if own:
                limits.extend(limit(sums, cells, chance * own))
        for each in around:
            part = chance / len(around)
            lows.extend(self._less_rest(each, self._most, 1, part * (1 - shares[0])))
            above = part * (1 - shares[1])
            if 0 < shares[1] < 1 and not self._law.negative:  # else there is no rest, or it may be below 0
                reach = each.noise.reach(each.draws, above * _WITHOUT_REST)[0]
                highs.append(_SumLimit(each.total, each.draws * each.noise.variance, reach))
                above *= 1 - _WITHOUT_REST
            highs.extend(self._less_rest(each, self._least, 0, above))
        low = np.max([each.centre - each.reach for each in lows], axis=0)
        high = np.min([each.centre + each.reach for each in highs], axis=0)
        squares = np.maximum(_worst(value, lows, -1), _worst(value, highs, 1))
        return np.sqrt(squares), low, high

    def _less_rest(self, around: Around, limit: RowsLimit, side: int, chance: float) -> Iterator[_SumLimit]:
        """Yield limits of groups by what is around them, less a limit of the rest; none without a chance."""
        if not chance:
            return
        reach = around.noise.reach(around.draws, chance)[side]
        for rest in limit(around.rest, around.rest_cells, chance):
            variance = rest.variance + around.draws * around.noise.variance
            yield _SumLimit(around.total - rest.centre, variance, np.hypot(reach, rest.reach))

    def _least(self, sums: Sums, cells: Array, chance: float) -> list[_SumLimit]:
        """Return the limits from below that the rows of these cells give; the nearest is taken."""
        law, middle = self._law, _middle(sums, _absent(sums, cells))
        if law.negative or not law.threshold:
            return [self._below(middle, self._sampling(sums, cells, chance), sums, cells)]
        # A sample may have missed nothing: what was seen is there, but for noise. As a floor of the sampling
        # error it would take that noise with it, since errors are added in quadrature.
        sampled = self._sampling(sums, cells, chance, floor=0.0)
        return [
            self._below(middle, sampled, sums, cells),
            self._below(sums.seen, Parts(chance), sums, cells),
        ]

    def _below(self, centre: Array, parts: Parts, sums: Sums, cells: Array) -> _SumLimit:
        """Return the limit from below where rows say `centre`, with noise put to the other errors."""
        law, absent = self._law, _absent(sums, cells)
        if not law.negative:
            # Whole numbers, of which there are few, are quick.
            parts.add_noise(1.0, law.noise, np.minimum(np.ceil(sums.reached) + 1, cells))
            hidden = np.zeros_like(cells)
            if law.noises_empty:
                parts.add_noise(1.0, law.beyond, cells)
                hidden = cells * law.beyond.mean
        else:
            parts.add_noise(1.0, law.noise, cells)
            # What lies below 0 leaves no trace on one side.
            hidden = absent * law.most_filtered if law.two_sided else np.where(absent > 0, np.inf, 0.0)
        spread = parts.around(np.zeros_like(cells))
        return _SumLimit(centre - hidden, spread.standard_error**2, -spread.low)

    def _most(self, sums: Sums, cells: Array, chance: float) -> list[_SumLimit]:
        """Return the limit from above that the rows of these cells give."""
        law, absent = self._law, _absent(sums, cells)
        parts = self._sampling(sums, cells, chance)
        parts.add_noise(1.0, law.noise, cells)
        spread = parts.around(np.zeros_like(cells))
        found = _SumLimit(
            _middle(sums, absent) + absent * law.most_filtered, spread.standard_error**2, spread.high
        )
        if not law.threshold:
            return [found]
        # Sampled or not, each absent count is below the threshold.
        sure = sums.seen + absent * max(law.threshold, law.most_filtered)
        reach, variance = law.noise.reach(cells, chance)[0], cells * law.noise.variance
        nearer = sure + reach < found.centre + found.reach
        both = zip((sure, variance, reach), found, strict=True)
        return [_SumLimit(*(np.where(nearer, *each) for each in both))]

    def _sampling(self, sums: Sums, cells: Array, chance: float, *, floor: float = 1.0) -> Parts:
        """Return what sampling may have missed, which is nothing where all cells are published.

        It is never more below than down to `floor` times what was seen.
        """
        parts, absent = Parts(chance), _absent(sums, cells)
        if tau := self._law.threshold:
            up, down = sums.sampled
            sides = [(up._replace(seen=floor * up.seen), absent), (down, absent)][: 1 + self._law.two_sided]
            parts.add_sampling(np.where(absent > 0, 1.0, 0.0), sides, threshold=tau)
        return parts


def _absent(sums: Sums, cells: Array) -> Array:
    return np.maximum(cells - sums.rows, 0)


def _middle(sums: Sums, absent: Array) -> Array:
    """Return what the rows say of counts that passed the cutoff."""
    return np.where(absent > 0, sums.weight, sums.seen)


def _worst(value: Array, limits: Sequence[_SumLimit], side: int) -> Array:
    """Return the mean square error where the truth lies at the nearest of the limits on one side."""
    far = [side * each.centre + _DEVIATIONS * np.sqrt(each.variance) for each in limits]
    nearest = np.argmin(far, axis=0)[None]
    squares = [each.variance + (each.centre - value) ** 2 for each in limits]
    return np.asarray(np.take_along_axis(np.array(squares), nearest, axis=0)[0])
