"""What trees of all kinds are asked: boxes, and groups of boxes.

Promise: a question is a product of conditions on single attributes; anything else is a `BadQuery`. Groups are
all there are, published or not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.groups import group_codes
from hushtable.answers.estimation.law import Assumption, PublishedLaw
from hushtable.answers.estimation.notes import groups_note
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.question import Question
from hushtable.conditions.selection import Selection
from hushtable.errors import BadQuery

FEWER_GROUPS = "Group by fewer attributes, or select fewer of their values with `where`."


class BoxAnswers(Answerer):
    """The rows of a release whose rows are nodes of a tree, ready to answer."""

    def __init__(self, law: PublishedLaw) -> None:
        self._law = law

    @abstractmethod
    def _promise(self, assumes: Assumption | None) -> str:
        """Return what an interval promises."""

    def _assumes(self, assume: Assumption | None) -> Assumption | None:
        """Return what intervals rest on if that is asked for: nothing, unless a tree has such intervals."""
        return None

    @abstractmethod
    def _answers(
        self, selection: Selection, places: Sequence[int], chance: float, assumes: Assumption | None
    ) -> Answers:
        """Return estimates for all groups, in the order of their codes, of a box that holds a cell."""

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells."""
        self._law.kind(corrected, assume)
        assumes = self._assumes(assume)
        return Answered(self._checked(selection, (), chance, assumes), self._promise(assumes), assumes)

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""
        selection, places = question.selection, question.places
        self._law.kind(question.corrected, question.assume)
        codes = group_codes(selection, places, hint=FEWER_GROUPS)[: None if selection.cells else 0]
        number = max(len(codes), 1)
        assumes = self._assumes(question.assume)
        found = self._checked(selection, places, question.chance_of_one(number), assumes)
        words = groups_note(self._promise(assumes), question, groups=number)
        return GroupsAnswered(codes, found, words, len(codes), assumes)

    def _checked(
        self, selection: Selection, places: Sequence[int], chance: float, assumes: Assumption | None
    ) -> Answers:
        if not selection.is_product:
            fact = "a tree answers boxes, one condition for each attribute"
            raise BadQuery(fact, "Join conditions by AND; of an OR, ask for parts that do not overlap.")
        if not selection.cells:
            return Answers(*np.zeros((4, 0 if places else 1)))
        return self._answers(selection, places, chance, assumes)
