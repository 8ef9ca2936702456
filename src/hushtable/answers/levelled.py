"""Groups at coarser levels, of releases that know only the finest: each as a set of cells.

Promise: a group has the answer that a `total` over its cells has, and an interval of the same kind.
Cost: a total for each group, of which there are at most 10^4.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hushtable.answers.answerer import Answerer, GroupsAnswered
from hushtable.answers.estimation.notes import groups_note
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.question import Question
from hushtable.conditions.formulas import And, Leaf
from hushtable.conditions.ranges import runs_of
from hushtable.domain.items import codes_at
from hushtable.errors import BadQuery

MOST_GROUPS = 10_000


def grouped_by_level(answerer: Answerer, question: Question) -> GroupsAnswered:
    """Estimate the sum for each group, one after another."""
    selection, domain = question.selection, question.selection.domain
    own = [selection.codes(place).all() for place in question.places]
    coarse = [
        codes_at(domain.attributes[place], level, codes)
        for (place, level), codes in zip(question.items, own, strict=True)
    ]
    values = [np.unique(each) for each in coarse]
    number = prod(map(len, values))
    if not number:
        raise BadQuery("no cell meets the condition", "Ask about values that the release has.")
    if number > MOST_GROUPS:
        fact = f"there are {number:,} groups, and at most {MOST_GROUPS:,} can be asked for at coarser levels"
        raise BadQuery(fact, "Group by fewer attributes, or publish a table at that level.")
    grid = np.stack([each.ravel() for each in np.meshgrid(*values, indexing="ij")], axis=1)
    chance, found = question.chance_of_one(number), []
    for group in grid:
        parts = [
            Leaf(place, runs_of(codes[level_codes == code]))
            for place, codes, level_codes, code in zip(question.places, own, coarse, group, strict=True)
        ]
        within = selection.narrowed(And(tuple(parts)))
        found.append(answerer.total(within, chance=chance, corrected=question.corrected))
    each = [answered.answers for answered in found]
    answers = Answers(
        np.concatenate([one.value for one in each]),
        np.concatenate([one.standard_error for one in each]),
        np.concatenate([one.low for one in each]),
        np.concatenate([one.high for one in each]),
    )
    note = groups_note(found[0].note if found else "", question, groups=number)
    return GroupsAnswered(grid, answers, note, number)
