r"""Answers from a release of a count sketch.

For a set S of R cells, the sum of sign times bucket over its cells is right on average, in every row of w
buckets. With counts M, the sum F of all their squares, F(S) of those in S, and noise of variance v in a
bucket, its variance over keys and noise is

    R (F/w + v) + (T^2 - 2 F(S))/w,    T the sum of M over S:

two cells share a bucket with chance 1/w. A pair of i in S and j outside it adds M_j^2, two of S add
(M_i + M_j)^2. F/w + v is the mean square of what a bucket holds, which the published ones show; T is the
answer itself; and F(S) is at least T^2/R. So what is unknown only makes the variance smaller.

Promise: any set of up to 10^7 cells is answered, in a domain of any size. Intervals hold for the true answer
of cells that were chosen without looking at the rows: they follow from the law of buckets (`laws`), together
with what two cells of the set do to each other.
Cost: hashing every cell of the question for each row (`listing`, `structures.hashing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.cells import total_answer
from hushtable.answers.estimation.groups import group_codes
from hushtable.answers.estimation.law import Assumption, PublishedLaw
from hushtable.answers.estimation.notes import groups_note
from hushtable.answers.estimation.parts import Answers, Array, Parts
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.estimation.tails import normal_reach
from hushtable.answers.question import Question
from hushtable.answers.sketched.laws import BucketLaw
from hushtable.answers.sketched.listing import check_listable, listed
from hushtable.answers.sketched.rows import Combine, chance_of_a_row, median_variance
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery, shown
from hushtable.structures.sketch import SketchSpace

_FEWER_GROUPS = "Group by fewer attributes, or select fewer of their values with `where`."
_CELLS = (
    "The estimate is unbiased, from buckets that other cells share{}. "
    "The interval covers the true answer for cells that were chosen without looking at the rows."
)
_CELL = (
    "The estimate comes from the cell's buckets, which other cells share{}. "
    "The interval covers the true count of a cell that was chosen without looking at the rows."
)


class SketchAnswers(Answerer):
    """The buckets of a sketch, ready to answer by the mean or the median of its rows."""

    def __init__(self, release: Opened, nodes: SketchSpace, combine: Combine = "mean") -> None:
        self._terms = release.terms
        self._nodes = nodes
        self._buckets = release.counts.reshape(nodes.space.shape)
        self._law = PublishedLaw(release.terms)
        self._shared = BucketLaw(release.counts, self._law.noise)
        self._combine = _checked(combine)

    def combined(self, combine: Combine) -> SketchAnswers:
        """Return the same buckets, with rows put together this way."""
        other = copy(self)
        other._combine = _checked(combine)
        return other

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells; over all of them, by the noisy total if there is one."""
        self._check(corrected, assume)
        if not selection.attributes and self._terms.total is not None and corrected is None:
            return total_answer(self._terms, chance=chance)
        return Answered(self._listed(selection, chance), self._promise(_CELLS))

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection."""
        return Answered(self._listed(selection, chance), self._promise(_CELL))

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""
        selection, places = question.selection, question.places
        self._check(question.corrected, question.assume)
        check_listable(selection)
        codes = group_codes(selection, places, hint=_FEWER_GROUPS)[: None if selection.cells else 0]
        cells = selection.cells_of(places, codes)
        some = np.flatnonzero(cells > 0)
        number = max(some.size, 1)
        sums = self._sums(selection, places, number=len(codes))[:, some]
        found = self._answers(sums, cells[some], question.chance_of_one(number))
        words = groups_note(self._promise(_CELLS), question, groups=number)
        return GroupsAnswered(codes[some], found, words, some.size)

    def _listed(self, selection: Selection, chance: float) -> Answers:
        """Return the estimate for one set of cells."""
        check_listable(selection)
        sums = self._sums(selection, (), number=1)
        return self._answers(sums, np.array([float(selection.cells)]), chance)

    def _sums(self, selection: Selection, places: Sequence[int], *, number: int) -> Array:
        """Return the sums of each group's buckets with their signs, of shape (rows of the sketch, groups)."""
        sums = np.zeros((len(self._buckets), number))
        for keys, groups in listed(selection, places) if selection.cells else ():
            for row, counts in enumerate(self._buckets):
                buckets, signs = self._nodes.buckets(keys, row)
                signs *= counts.take(buckets)
                sums[row] += np.bincount(groups, weights=signs, minlength=number)
        return sums

    def _answers(self, sums: Array, cells: Array, chance: float) -> Answers:
        """Return estimates for sets of cells, given their sums in each row."""
        rows, width = self._buckets.shape
        by_median = self._combine == "median" and rows > 2  # of two rows it is the mean
        value = np.median(sums, axis=0) if by_median else sums.mean(axis=0)
        square = value**2 / width
        variance = row_variance(cells, square, self._shared.mean_square, self._law.noise.variance)
        among = square * np.maximum(1 - 1 / np.maximum(cells, 1), 0)  # what cells of a set do to each other
        if by_median:
            variance = variance * median_variance(rows)
            own = chance_of_a_row(chance, rows)
            distance = np.hypot(self._reach(cells, own), normal_reach(own) * np.sqrt(among))
        else:
            variance = variance / rows
            others = self._reach(cells * rows, chance) / rows
            distance = np.hypot(others, normal_reach(chance) * np.sqrt(among / rows))
        parts = Parts(chance)
        parts.add(1.0, variance, below=distance, above=distance)
        return parts.around(value)

    def _reach(self, draws: Array, chance: float) -> Array:
        """Return how far other cells and noise reach; nothing is off where there is no cell."""
        found = np.zeros(draws.shape)
        some = draws > 0
        if some.any():
            found[some] = self._shared.reach(draws[some], chance)
        return found

    def _check(self, corrected: bool | None, assume: Assumption | None) -> None:
        self._law.kind(corrected, assume)
        if corrected:
            fact = "a noisy total cannot correct answers from a sketch"
            raise BadQuery(fact, "Leave `corrected` out, or give corrected=False.")

    def _promise(self, words: str) -> str:
        return words.format(", by the median of the sketch's rows" * (self._combine == "median"))


def row_variance(cells: Array, square: Array, mean_square: float, least: float) -> Array:
    """Return the largest variance that sums over so many cells may have in one row.

    `square` is that of the sum, divided by the width; `mean_square` is of what a bucket holds, and the noise
    in it has the variance `least`.
    """
    return np.maximum(cells * mean_square + (1 - 2 / np.maximum(cells, 1)) * square, cells * least)


def _checked(combine: object) -> Combine:
    if combine == "mean" or combine == "median":
        return combine
    raise BadQuery(f"combine={shown(combine)} is not allowed", "Give 'mean' or 'median'.")
