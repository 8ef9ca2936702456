"""What a release is asked, whether it holds cells or the nodes of a tree, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.law import Assumption
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.question import Question
from hushtable.answers.sketched.rows import Combine
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from hushtable.answers.synthetic.rows import SyntheticRows


@dataclass(frozen=True, slots=True)
class Answered:
    """One estimate, what its interval promises, and the assumption that it rests on, if any."""

    answers: Answers
    note: str
    assumes: Assumption | None = None


@dataclass(frozen=True, slots=True)
class GroupsAnswered:
    """Estimates of groups of cells, with the codes of the attributes that were asked for.

    Of groups that nothing measured, numbers are not known (NaN); what a model says of them stands `beside`.
    """

    codes: NDArray[np.int64]  # of shape (groups, attributes asked for)
    answers: Answers
    note: str
    number: int  # of groups there are, listed or not
    assumes: Assumption | None = None
    beside: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  # further columns, by their names
    source: str = ""  # which tables the numbers come from, where there are several

    def taken(self, places: NDArray[np.intp]) -> GroupsAnswered:
        """Return some of the groups."""
        beside = {name: values[places] for name, values in self.beside.items()}
        return replace(self, codes=self.codes[places], answers=self.answers.taken(places), beside=beside)

    def largest(self, number: int) -> GroupsAnswered:
        """Return the groups with the largest estimates; where there are none, by what stands beside."""
        value = self.answers.value
        if self.beside and np.isnan(value).all():
            value = next(iter(self.beside.values()))
        return self.taken(np.argsort(-value, kind="stable")[:number])


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

    def rows(self, names: Sequence[str] | None, *, count: int | None) -> SyntheticRows:
        """Return synthetic rows: so many, or as many as were counted."""
        fact = "synthetic rows are made of several tables, or of a hierarchy, and this release is neither"
        raise BadQuery(fact, "Ask it, or publish with `ask`, or with ht.Hierarchy(...).")

    def whole(self) -> NDArray[np.int64]:
        """Return whole numbers for all rows of the release, which add up."""
        fact = "whole numbers add up along a hierarchy, and this release is of another structure"
        raise BadQuery(fact, "Publish with ht.Hierarchy(...).")

    def combined(self, combine: Combine) -> Answerer:
        """Return what answers with rows of a sketch put together this way."""
        fact = "this release is not a sketch, so it has no rows to combine"
        raise BadQuery(fact, "Leave `combine` out.")
