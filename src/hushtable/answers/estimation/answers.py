r"""Estimates and intervals from sums over published rows.

Five kinds of answers, by what the release left out and what is asked for (`Kind`):

- *unbiased*: a two-sided sample, or all cells. The sum of weights is right on average. Errors: sampling,
  and the noise of every cell of the query, published or not.
- *calibrated*: the same, with what all weights miss of the noisy total shared out by the number of cells.
  It stays right on average, and large queries become as sure as the total.
- *bare*: with a cutoff, the sum of weights. Its interval is what rows, and a noisy total, leave room for
  (`bounds`).
- *corrected*: with a cutoff and a noisy total. What the weights miss of the total is spread evenly over
  absent cells. The value rests on that; its interval does not, and is a bound as above.
- *even*: the same value, with an interval that rests on it as well. Errors: sampling; the noise of cells that
  reached the cutoff; noise that lifted empty cells over it; counts of absent cells around their mean
  (`suppressed`), and of groups of them (`unevenness`).

The answer is W_Q + f (T - W): the weights in the query, and a share f of what all weights miss of the
total. With e = (what rows say) - (the truth), its error is (1-f) e_Q - f e_rest + f (the noise of T). Where
only counts above 0 are shown, noise lifts empty cells and never lowers them: what that adds on average is
known, and taken off cell by cell before anything is spread.

Promise: intervals hold for the true answer of any cells that were chosen without looking at the rows; those
of the kind *even* only where cells were chosen without regard to the suppressed counts.
Cost: some operations on arrays with one entry a group.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from hushtable.answers.estimation import suppressed
from hushtable.answers.estimation.bounds import Around, GroupBounds
from hushtable.answers.estimation.law import Kind, PublishedLaw
from hushtable.answers.estimation.parts import Answers, Parts
from hushtable.answers.estimation.sums import Array, Opened, PublishedRows, Sums
from hushtable.answers.estimation.tails import noise
from hushtable.answers.estimation.unevenness import unevenness
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery

MOST_CELLS = 10**300  # beyond which floats do not count


class Answering:
    """The rows and terms of a release, ready to answer."""

    def __init__(self, release: Opened) -> None:
        self.law = PublishedLaw(release.terms)
        self.bounds = GroupBounds(self.law)
        self.published = PublishedRows(release)
        if release.domain.cells_total > MOST_CELLS:
            fact = "this domain has more than 10^300 cells, and their noise would drown any answer"
            raise BadQuery(fact, "Use `sql` on the rows.")
        self.cells_total = float(release.domain.cells_total)
        self._known: dict[tuple[int, int], float] = {}  # unevenness of attributes

    def answers(self, sums: Sums, cells: Array, *, kind: Kind, chance: float, uneven: float = 0.0) -> Answers:
        """Return estimates for sets of `cells` cells whose published rows have these sums.

        Each interval fails with `chance`. `uneven` is the relative variance of what such sets of cells hold.
        """
        share = self._share(sums, cells, kind)
        if kind in (Kind.BARE, Kind.CORRECTED):
            value = self._value(sums, cells, share, kind)
            return self.bounds.answers(value, sums, cells, around=self._around(sums, cells), chance=chance)
        own = 1 - share
        parts = Parts(chance)
        if tau := self.law.threshold:
            sides = [(side, cells - sums.rows) for side in sums.sampled[: 1 + self.law.two_sided]]
            parts.add_sampling(own, sides, threshold=tau)
        if kind in (Kind.UNBIASED, Kind.CALIBRATED):
            parts.add_noise(own, self.law.noise, cells)
        if kind is Kind.EVEN:
            parts.add_noise(own, self.law.noise, np.minimum(sums.reached, cells))
            parts.add_noise(own, self.law.beyond, self._not_reached(sums, cells))
            parts.add_normal(own, (cells - sums.rows) * self._spread)
            parts.add_within(share * self._suppressed, uneven, most=self._suppressed)
        if kind in (Kind.CALIBRATED, Kind.EVEN):
            everything = self._variance(self.published.all, np.array([self.cells_total]))
            parts.add_normal(share, np.maximum(everything - self._variance(sums, cells), 0))
            assert self.law.terms.total_law is not None
            parts.add_noise(share, noise(self.law.terms.total_law), np.ones_like(cells))
        found = parts.around(self._value(sums, cells, share, kind))
        return self._with_sure_cases(found, sums, cells, kind, chance)

    def _value(self, sums: Sums, cells: Array, share: Array, kind: Kind) -> Array:
        """Return the estimates themselves."""
        value = sums.weight + share * self.missed
        if kind in (Kind.CORRECTED, Kind.EVEN):
            value = value - self._not_reached(sums, cells) * self.law.beyond.mean
        return value

    def _around(self, sums: Sums, cells: Array) -> list[Around]:
        """Return all cells, which are around any others, if their noisy total is known."""
        terms = self.law.terms
        if terms.total is None or terms.total_law is None:
            return []
        rest = self.published.all.without(sums)
        rest_cells = np.maximum(self.cells_total - cells, rest.rows)
        total = np.full(cells.shape, float(terms.total))
        return [Around(total, noise(terms.total_law), np.ones_like(cells), rest, rest_cells)]

    def _with_sure_cases(
        self, found: Answers, sums: Sums, cells: Array, kind: Kind, chance: float
    ) -> Answers:
        """Return the answers with intervals that hold what is sure of small sets.

        Quadrature is for errors that come and go. If all cells are published, nothing was sampled away, and
        the counts themselves are the noisy truth. One-sided noise that lifted none of few cells is not there.
        """
        low, high = found.low, found.high
        complete = (sums.rows >= cells) & (cells > 0)
        if self.law.threshold and complete.any():
            below, above = self.law.noise.reach(cells, chance)
            low = np.where(complete, np.minimum(low, sums.seen - above), low)
            high = np.where(complete, np.maximum(high, sums.seen + below), high)
        if kind is Kind.EVEN and not self.law.two_sided:
            high = np.maximum(high, sums.weight)
        return Answers(found.value, found.standard_error, low, high)

    @cached_property
    def missed(self) -> float:
        """What the published weights miss of the noisy total, without what lifted empty cells add to them."""
        everything = np.array([self.cells_total])
        lifted = float(self._not_reached(self.published.all, everything)[0]) * self.law.beyond.mean
        return float((self.law.terms.total or 0) - self.published.all.weight[0]) + lifted

    def _not_reached(self, sums: Sums, cells: Array) -> Array:
        """Return how many cells did not reach the cutoff."""
        return np.maximum(cells - sums.reached, 0)

    def _share(self, sums: Sums, cells: Array, kind: Kind) -> Array:
        """Return the share of what is missed that each set of cells gets."""
        if kind is Kind.CALIBRATED:
            return cells / self.cells_total
        absent = self.cells_total - self.published.all.rows[0]
        if kind not in (Kind.CORRECTED, Kind.EVEN) or absent <= 0:
            return np.zeros_like(cells)
        return np.asarray(np.clip((cells - sums.rows) / absent, 0, 1))

    @cached_property
    def _spread(self) -> float:
        """The variance of counts among absent cells, at most."""
        absent = self.cells_total - self.published.all.rows[0]
        if absent <= 0:
            return 0.0
        return suppressed.spread(
            self.law.beyond,
            counts=self.published.counts.astype(np.float64),
            stands_for=self.published.stands_for,
            cells=self.cells_total,
            mean=self._suppressed / absent,
            negative=self.law.negative,
        )

    @cached_property
    def _suppressed(self) -> float:
        """What absent cells hold together, which is not below 0 where counts are not."""
        return max(self.missed, 0.0)

    def uneven(self, selection: Selection, places: Collection[int] = ()) -> float:
        """Return the relative variance of what sets of cells hold, for the selection grouped by `places`.

        Neighbours may be alike, so a run of values is compared with other runs as long. Attributes multiply.
        """
        factor = 1.0
        for place in {*selection.attributes, *places}:
            runs, size = selection.codes(place), selection.domain.shape[place]
            chosen, parts = (1, 1) if place in places else (runs.size, len(runs.starts))
            if parts and chosen < size:
                factor *= 1 + self._unevenness(place, size, chosen // parts) / parts * (1 - chosen / size)
        return factor - 1

    def _unevenness(self, place: int, size: int, length: int) -> float:
        """Return the relative variance among runs of about `length` values of an attribute."""
        shift = length.bit_length() - 1  # runs of a power of 2, so that few are worth knowing
        if shift == 0 and len(self.published.columns) == 1:
            return 0.0  # single cells, whose spread is known better
        if (place, shift) not in self._known:
            everything = self._variance(self.published.all, np.array([self.cells_total]))
            spread = (self.cells_total - self.published.all.rows[0]) * self._spread
            runs = -(-size >> shift)
            self._known[place, shift] = unevenness(
                self.published.columns[place] >> shift,
                self.published.weights,
                values=runs,
                last=size / 2**shift - (runs - 1),
                variance=float(everything[0] - spread),
                suppressed=self._suppressed,
            )
        return self._known[place, shift]

    def _variance(self, sums: Sums, cells: Array) -> Array:
        """Return the variance of what the rows say around the truth, without correction."""
        if not self.law.biased:
            return sums.variance + cells * self.law.noise.variance
        return (
            sums.variance
            + np.minimum(sums.reached, cells) * self.law.noise.variance
            + self._not_reached(sums, cells) * self.law.beyond.variance
            + (cells - sums.rows) * self._spread
        )
