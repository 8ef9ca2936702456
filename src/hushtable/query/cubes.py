"""Answers from a data cube: from the marginal that knows best.

Promise: a question is answered by one of the marginals that have all attributes which it asks about, as a
release of that marginal alone would answer it; which one follows from what is published, and the note names
it. An answer whose interval holds for the truth goes before one that does not; then the smallest standard
error decides, of several groups their root mean square.
Cost: that of asking each marginal that can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.errors import BadQuery, shown
from hushtable.query.answerer import Answered, GroupsAnswered
from hushtable.query.cells.selection import Selection
from hushtable.query.estimation.cells import CellAnswers
from hushtable.query.estimation.law import Kind, Law
from hushtable.query.estimation.sums import Opened
from hushtable.release.terms import Terms
from hushtable.structures.cubes import CubeSpace, Marginal

_SHOWN_MARGINALS = 12
_Answer = TypeVar("_Answer", Answered, GroupsAnswered)


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one marginal, as a release of cells."""

    terms: Terms
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def domain(self) -> Domain:
        return self.terms.domain

    @cached_property
    def answers(self) -> CellAnswers:
        return CellAnswers(self)

    def is_bare(self, corrected: bool | None) -> bool:
        """Return whether an interval leaves out what the cutoff did."""
        return Law(self.terms).kind(corrected) is Kind.BARE


class CubeAnswers:
    """The rows of a data cube, ready to answer."""

    def __init__(self, release: Opened, cube: CubeSpace) -> None:
        self._cube = cube
        self._release = release
        self._rows = cube.rows(release.codes)
        self._parts: dict[int, _Part] = {}

    def total(self, selection: Selection, *, chance: float, corrected: bool | None) -> Answered:
        """Estimate the sum over a set of cells."""

        def ask(part: _Part, marginal: Marginal) -> Answered:
            within = selection.within(marginal.domain, marginal.places)
            return part.answers.total(within, chance=chance, corrected=corrected)

        return self._best(selection, (), ask, corrected)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection, which needs a marginal of all attributes."""

        def ask(part: _Part, marginal: Marginal) -> Answered:
            return part.answers.cell(selection.within(marginal.domain, marginal.places), chance=chance)

        return self._best(selection, range(len(self._cube.domain.names)), ask, None)

    def groups(
        self,
        selection: Selection,
        places: Sequence[int],
        *,
        chance: float,
        corrected: bool | None,
        together: bool,
        top: int | None,
    ) -> GroupsAnswered:
        """Estimate the sum for each combination of codes of the attributes at `places`."""

        def ask(part: _Part, marginal: Marginal) -> GroupsAnswered:
            return part.answers.groups(
                selection.within(marginal.domain, marginal.places),
                [marginal.places.index(place) for place in places],
                chance=chance,
                corrected=corrected,
                together=together,
                top=top,
            )

        return self._best(selection, places, ask, corrected)

    def _best(
        self,
        selection: Selection,
        places: Sequence[int],
        ask: Callable[[_Part, Marginal], _Answer],
        corrected: bool | None,
    ) -> _Answer:
        """Return the best answer of marginals with the attributes at `places`, and those of the condition."""
        wanted = {*places, *(selection.attributes if selection.cells else ())}
        found: list[tuple[bool, float, int, _Answer]] = []
        refusal: BadQuery | None = None
        for number, marginal in enumerate(self._cube.marginals):
            if wanted.issubset(marginal.places):
                part = self._part(number)
                try:
                    answer = ask(part, marginal)
                except BadQuery as error:  # such as a correction, which not every marginal has
                    refusal = error
                    continue
                found.append((part.is_bare(corrected), _error_of(answer), number, answer))
        if found:
            *_, number, answer = min(found, key=lambda each: each[:3])
            label = self._cube.marginals[number].label
            return replace(answer, note=f"from the marginal of {label}: {answer.note}")
        raise refusal or self._refused(wanted)

    def _part(self, number: int) -> _Part:
        if number not in self._parts:
            release, rows = self._release, self._rows[number]
            codes = self._cube.own_codes(number, release.codes[rows])
            self._parts[number] = _Part(release.terms.part(number), codes, release.counts[rows])
        return self._parts[number]

    def _refused(self, wanted: set[int]) -> BadQuery:
        names = ", ".join(shown(self._cube.domain.names[place]) for place in sorted(wanted))
        labels = [f"({each.label})" for each in self._cube.marginals[:_SHOWN_MARGINALS]]
        more = len(self._cube.marginals) - len(labels)
        labels += [f"{more:,} more"] * bool(more)
        fact = f"no marginal of this release has {names} together"
        return BadQuery(fact, f"Ask about the attributes of one of {', '.join(labels)}.")


def _error_of(answer: Answered | GroupsAnswered) -> float:
    """Return the root mean square of the standard errors; 0 where there is no group."""
    errors = answer.answers.standard_error
    return float(np.sqrt(np.mean(np.square(errors)))) if errors.size else 0.0
