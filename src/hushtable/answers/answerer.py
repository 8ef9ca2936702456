"""What a release is asked, whether it holds cells or the nodes of a tree, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.law import Assumption
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.question import Question
from hushtable.answers.sketched.rows import Combine
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery


@dataclass(frozen=True, slots=True)
class Answered:
    """One estimate, what its interval promises, and the assumption that it rests on, if any."""

    answers: Answers
    note: str
    assumes: Assumption | None = None


@dataclass(frozen=True, slots=True)
class GroupsAnswered:
    """Estimates of groups of cells, with the codes of the attributes that were asked for."""

    codes: NDArray[np.int64]  # of shape (groups, attributes asked for)
    answers: Answers
    note: str
    number: int  # of groups there are, listed or not
    assumes: Assumption | None = None
    nonnegative: NDArray[np.float64] | None = None  # estimates that are 0 or more and add up, if asked for
    source: str = ""  # which tables the numbers come from, where there are several

    def taken(self, places: NDArray[np.intp]) -> GroupsAnswered:
        """Return some of the groups."""
        above = None if self.nonnegative is None else self.nonnegative[places]
        return replace(self, codes=self.codes[places], answers=self.answers.taken(places), nonnegative=above)


class Answerer(Protocol):
    """The rows of a release, ready to answer; each interval fails with `chance`.

    An interval rests on an assumption only if that is asked for, and the answer then says so.
    """

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells."""

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection."""

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""

    def combined(self, combine: Combine) -> Answerer:
        """Return what answers with rows of a sketch put together this way."""
        fact = "this release is no sketch, so there are no rows of one to combine"
        raise BadQuery(fact, "Leave `combine` out.")
