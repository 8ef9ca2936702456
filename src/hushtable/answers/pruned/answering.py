"""Answers from a release of a pruned tree.

Promise: a question is a product of conditions on single attributes. Its answer is what the fitted tree has in
its cells. The interval is a bound, whatever absent nodes hold (`bounds`). With `assume="even"` it is that of
least squares alone, as wide as the variance that they leave, with the tails of the noise of a single node. It
holds the answer. A single cell that is published is answered by its own count, and its noise.
Cost: follows the nodes that a question covers in part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from math import log, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.answerer import Answered
from hushtable.answers.estimation.cells import cell_answer
from hushtable.answers.estimation.groups import group_codes
from hushtable.answers.estimation.law import Assumption, PublishedLaw
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.estimation.tails import normal_reach
from hushtable.answers.nodes.boxes import FEWER_GROUPS, BoxAnswers
from hushtable.answers.nodes.ranges import order_of_groups, ranges_of
from hushtable.answers.pruned.bounds import TreeBounds
from hushtable.answers.pruned.coverage import BoxCoverage, Coverage, LineCoverage
from hushtable.answers.pruned.walking import covered_share, walked
from hushtable.conditions.selection import Selection
from hushtable.structures.addresses import LineAddresses
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.lines import Line
from hushtable.structures.pruned import PrunedSpace

_PROMISE = (
    "Nodes with noisy counts below {:,.10g} are not in this file. The interval covers the true answer "
    "of any box, whatever they hold. The estimate spreads what they hold evenly over their cells."
)
_IF_EVEN = (
    "Nodes with noisy counts below {:,.10g} are not in this file. The interval assumes that what they "
    "hold is spread evenly over their cells, or varies as the published counts do; the file cannot "
    "confirm it."
)
_AT_ONCE = 1 << 12  # groups


class Weighted(Opened, Protocol):
    """What answers need of a release, with its weights."""

    @property
    def weights(self) -> NDArray[np.float64]: ...  # noqa: D102


class PrunedAnswers(BoxAnswers):
    """The rows of a release whose rows are nodes of a pruned tree, ready to answer."""

    def __init__(self, release: Weighted, nodes: PrunedSpace) -> None:
        super().__init__(PublishedLaw(release.terms))
        self._release, self._tree = release, nodes.tree

    @cached_property
    def _fit(self) -> Fit:
        release, terms = self._release, self._release.terms
        numbers, cutoff = release.codes[:, 0], terms.cutoff or 1.0
        laws = [terms.law_at(share) for share in self._tree.shares]
        fit = fitted(self._tree, numbers, release.counts, laws=laws, cutoff=cutoff)
        return fit.with_own(release.weights)  # what is published answers, whichever version fitted it

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection, by its own noisy count if that is published."""
        codes = [selection.codes(place).all() for place in range(len(selection.domain.shape))]
        leaf = self._tree.offsets[-1] + self._tree.addresses.of(np.stack(codes, axis=1))
        rows = np.flatnonzero(self._release.codes[:, 0] == leaf)
        if rows.size and self._tree.levels > 1:  # a root is published whatever its count is
            return cell_answer(self._law, int(self._release.counts[rows[0]]), chance=chance)
        return self.total(selection, chance=chance, corrected=None)

    def _answers(
        self, selection: Selection, places: Sequence[int], chance: float, assumes: Assumption | None
    ) -> Answers:
        """Return estimates for all groups."""
        asked = self._assumed if assumes else self._bounded
        parts = [asked(part, chance) for part in self._coverages(selection, places)]
        found = Answers(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Answers))
        )
        if self._line is None or not places:
            return found
        return found.taken(order_of_groups(selection, self._line.places, places))

    def _bounded(self, part: Coverage, chance: float) -> Answers:
        """Return estimates with intervals that hold whatever absent nodes have."""
        laws = [self._release.terms.law_at(share) for share in self._tree.shares]
        root = float(self._fit.levels[0].counts[0])
        cutoff = self._release.terms.cutoff or 1.0
        cutoffs = [self._tree.cutoff_at(level, cutoff) for level in range(self._tree.levels)]
        shares = covered_share(self._tree, part)
        bounds = TreeBounds(shares, root=root, laws=laws, cutoffs=cutoffs)
        value, _, variance = walked(self._tree, self._fit, part, bounds=bounds)
        low, high = bounds.limits(chance)
        return Answers(value, np.sqrt(variance), np.minimum(low, value), np.maximum(high, value))

    def _assumed(self, part: Coverage, chance: float) -> Answers:
        """Return estimates with intervals that rest on the fit."""
        value, free, variance = walked(self._tree, self._fit, part)
        # The tails of one node's noise, or of the sum of many, whichever are longer.
        reach = max(-log(chance) / sqrt(2), normal_reach(chance))
        deviation = np.sqrt(variance)
        # What is published is not negative, and so too low where nearly all is in few places; what is free
        # is not.
        low, high = np.minimum(free - reach * deviation, value), np.maximum(free + reach * deviation, value)
        return Answers(value, deviation, np.maximum(low, 0.0), high)

    def _coverages(self, selection: Selection, places: Sequence[int]) -> Iterator[Coverage]:
        """Yield what groups cover, some groups at a time."""
        if self._line is not None:
            yield from map(LineCoverage, ranges_of(selection, self._line, places=places).parts(_AT_ONCE))
            return
        codes = np.zeros((1, 0), dtype=np.int64)
        if places:
            codes = group_codes(selection, places, hint=FEWER_GROUPS)
        for start in range(0, len(codes), _AT_ONCE):
            yield BoxCoverage(selection, places, codes[start : start + _AT_ONCE])

    @property
    def _line(self) -> Line | None:
        """The line that cells stand in, if they do."""
        addresses = self._tree.addresses
        return addresses.line if isinstance(addresses, LineAddresses) else None

    def _assumes(self, assume: Assumption | None) -> Assumption | None:
        return assume

    def _promise(self, assumes: Assumption | None) -> str:
        return (_IF_EVEN if assumes else _PROMISE).format(self._release.terms.cutoff or 1.0)
