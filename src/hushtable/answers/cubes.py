"""Answers from a data cube: from the marginal that should know best.

Promise: a question is answered by one of the marginals that have all attributes which it asks about, as a
release of that marginal alone would answer it; the note names it. Which one follows from public facts, never
from rows: a sample that happened to miss what was asked for has a small error and a small sum, and must not
be chosen for that. Answers from which nothing is left out go before corrected ones, and those before ones
without a noisy total. Then the least noise decides: cells to add up, times the noise of each, times how many
cells there are for a row where rows are sampled.
Cost: that of asking one marginal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.cells import CellAnswers, total_answer
from hushtable.answers.estimation.law import Assumption, Kind, PublishedLaw
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.estimation.tails import noise
from hushtable.answers.question import Question
from hushtable.conditions.selection import Selection
from hushtable.domain.domain import Domain
from hushtable.errors import BadQuery, shown
from hushtable.release.terms import Terms
from hushtable.structures.marginals import CubeSpace, Marginal

_SHOWN_MARGINALS = 12
_RANKS = {Kind.UNBIASED: 0, Kind.CALIBRATED: 0, Kind.CORRECTED: 1, Kind.BARE: 2}
_Answer = TypeVar("_Answer", Answered, GroupsAnswered)


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one marginal, as a release of cells."""

    marginal: Marginal
    terms: Terms
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def domain(self) -> Domain:
        return self.terms.domain

    @cached_property
    def answers(self) -> CellAnswers:
        return CellAnswers(self)

    def expected(self, cells: int, corrected: bool | None) -> tuple[int, float]:
        """Return how an answer about so many cells ranks: its kind, and the logarithm of its noise."""
        law, size = PublishedLaw(self.terms), getattr(self.terms.method, "size", None)
        everyone = self.domain.cells_total
        sampled = log(everyone) - log(size) if size and size < everyone else 0.0
        return _RANKS[law.kind(corrected)], log(max(cells, 1)) + _log(law.noise.variance) + sampled


class CubeAnswers(Answerer):
    """The rows of a data cube, ready to answer."""

    def __init__(self, release: Opened, cube: CubeSpace) -> None:
        self._cube = cube
        self._release = release
        self._rows = cube.rows(release.codes)
        self._parts: dict[int, _Part] = {}

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells; over all of them, by the noisy total where that is closer."""

        def ask(part: _Part, within: Selection) -> Answered:
            return part.answers.total(within, chance=chance, corrected=corrected, assume=assume)

        terms, ranked = self._release.terms, self._ranked(selection, (), corrected)
        if not selection.attributes and terms.total_law is not None and corrected is None:
            (_, variance), *_ = ranked[0]
            if _log(noise(terms.total_law).variance) < variance:
                return total_answer(terms, chance=chance)
        return self._asked(ranked, ask)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection, which needs a marginal of all attributes."""

        def ask(part: _Part, within: Selection) -> Answered:
            return part.answers.cell(within, chance=chance)

        return self._asked(self._ranked(selection, range(len(self._cube.domain.names)), None), ask)

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""

        def ask(part: _Part, within: Selection) -> GroupsAnswered:
            places = [part.marginal.places.index(place) for place in question.places]
            return part.answers.groups(question.within(within, places))

        return self._asked(self._ranked(question.selection, question.places, question.corrected), ask)

    def _ranked(
        self, selection: Selection, places: Sequence[int], corrected: bool | None
    ) -> list[tuple[tuple[int, float], int, Selection]]:
        """Return the marginals with the attributes at `places` and those of the condition, the best first."""
        wanted = {*places, *(selection.attributes if selection.cells else ())}
        found, refusal = [], None
        for number, marginal in enumerate(self._cube.marginals):
            if wanted.issubset(marginal.places):
                within = selection.within(marginal.domain, marginal.places)
                try:
                    rank = self._part(number).expected(within.cells, corrected)
                except BadQuery as error:  # such as of a correction, which not every marginal has
                    refusal = error
                else:
                    found.append((rank, number, within))
        if not found:
            raise refusal or self._refused(wanted)
        return sorted(found, key=lambda each: each[:2])

    def _asked(
        self,
        ranked: list[tuple[tuple[int, float], int, Selection]],
        ask: Callable[[_Part, Selection], _Answer],
    ) -> _Answer:
        """Return the answer of the best marginal."""
        _, number, within = ranked[0]
        part = self._part(number)
        answer = ask(part, within)
        return replace(answer, note=f"from the marginal of {part.marginal.label}: {answer.note}")

    def _part(self, number: int) -> _Part:
        if number not in self._parts:
            release, rows = self._release, self._rows[number]
            terms, codes = release.terms.part(number), self._cube.own_codes(number, release.codes[rows])
            self._parts[number] = _Part(self._cube.marginals[number], terms, codes, release.counts[rows])
        return self._parts[number]

    def _refused(self, wanted: set[int]) -> BadQuery:
        names = ", ".join(shown(self._cube.domain.names[place]) for place in sorted(wanted))
        labels = [f"({each.label})" for each in self._cube.marginals[:_SHOWN_MARGINALS]]
        more = len(self._cube.marginals) - len(labels)
        labels += [f"{more:,} more"] * bool(more)
        fact = f"no marginal of this release has {names} together"
        return BadQuery(fact, f"Ask about the attributes of one of {', '.join(labels)}.")


def _log(variance: float) -> float:
    return log(max(variance, 1e-300))
