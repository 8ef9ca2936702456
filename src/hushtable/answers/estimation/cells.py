"""Answers from a release of cells.

Promise: rows are those of the cells asked for, and groups are all there are, published or not.
Cost: that of finding rows (`selection`), of groups (`groups`), and some operations on arrays.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, hypot

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.answers import Answering
from hushtable.answers.estimation.groups import MOST_GROUPS, all_groups, number_of_groups, published_groups
from hushtable.answers.estimation.law import Assumption, Kind, PublishedLaw
from hushtable.answers.estimation.notes import NOISY_TOTAL, SHOWN_ALONE, about, cell_note, groups_note, note
from hushtable.answers.estimation.parts import Answers, Parts
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.estimation.tails import noise
from hushtable.answers.question import Question
from hushtable.conditions.selection import Selection
from hushtable.release.terms import Terms


class CellAnswers(Answerer):
    """The rows of a release whose rows are cells, ready to answer."""

    def __init__(self, release: Opened) -> None:
        self._answering = Answering(release)
        self._law = self._answering.law

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells."""
        kind = self._law.kind(corrected, assume)
        published = self._answering.published
        sums = published.selected(selection)
        cells = np.array([float(selection.cells)])
        uneven = self._answering.uneven(selection) if kind is Kind.EVEN else 0.0
        found = self._answering.answers(sums, cells, kind=kind, chance=chance, uneven=uneven)
        share = Fraction(selection.cells, selection.domain.cells_total)
        error = float(found.standard_error[0])
        words = note(self._law, kind, share=share, standard_error=error)
        return Answered(found, words, kind.assumes if share < 1 else None)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection."""
        published = self._answering.published
        counts = published.counts[selection.rows(published.columns)]
        return cell_answer(self._law, int(counts[0]) if counts.size else None, chance=chance)

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""
        selection, places = question.selection, question.places
        kind = self._law.kind(question.corrected, question.assume)
        unlisted = not set(places).isdisjoint(selection.domain.unlisted)
        few = number_of_groups(selection, places) <= MOST_GROUPS or (question.top is None and not unlisted)
        ask = all_groups if few else published_groups
        groups = ask(self._answering.published, selection, places)
        number = max(groups.number, 1)
        found = self._answering.answers(
            groups.sums,
            groups.cells,
            kind=kind,
            chance=question.chance_of_one(number),
            uneven=self._answering.uneven(selection, places) if kind is Kind.EVEN else 0.0,
        )
        told, promise = groups.number, about(self._law, kind)
        if unlisted and groups.shown is not None:
            # Of groups that nobody can list, those that are shown are all that can be told.
            found = self._as_shown(found, *groups.shown, chance=question.chance_of_one(number))
            told, promise = len(groups.codes), f"{promise} {SHOWN_ALONE}"
        words = groups_note(promise, question, groups=max(told, 1))
        return GroupsAnswered(groups.codes, found, words, told, kind.assumes)

    def _as_shown(
        self, found: Answers, counts: NDArray[np.int64], groups: NDArray[np.intp], *, chance: float
    ) -> Answers:
        """Return answers about groups that are asked about because they have rows.

        A row is there where noise lifted its count, so that count is too large on average, and by much where
        the truth is below the cutoff. So each row has a limit of its own that holds for what is shown; those
        of a group share its chance, and are added up.
        """
        law = self._law
        seen = max(law.beyond.cutoff, ceil(law.threshold))
        share = chance / 2 / np.bincount(groups)[groups]
        least = np.bincount(groups, weights=law.noise.least(counts, seen, share))
        return replace(found, low=np.minimum(found.low, least))


def cell_answer(law: PublishedLaw, count: int | None, *, chance: float) -> Answered:
    """Estimate one cell by its published count; without one, within what is known of absent cells."""
    reach = float(law.noise.reach(np.ones(1), chance)[0][0])
    if count is not None and (count or not law.biased):
        found = (float(count), law.noise.variance**0.5, count - reach, count + reach)
        return Answered(_one(*found), cell_note(law, published=True))
    high = law.largest_absent + reach
    low = -high if law.two_sided else -np.inf
    low = low if law.negative else max(low, 0.0)
    found = (0.0, hypot(law.largest_absent, law.noise.variance**0.5), low, high)
    return Answered(_one(*found), cell_note(law, published=False))


def total_answer(terms: Terms, *, chance: float) -> Answered:
    """Estimate the sum over all cells by the noisy total, which the terms must have."""
    assert terms.total is not None
    assert terms.total_law is not None
    parts = Parts(chance)
    parts.add_noise(1.0, noise(terms.total_law), np.ones(1))
    return Answered(parts.around(np.array([float(terms.total)])), NOISY_TOTAL)


def _one(value: float, standard_error: float, low: float, high: float) -> Answers:
    return Answers(*(np.array([each]) for each in (value, standard_error, low, high)))
