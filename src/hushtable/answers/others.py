"""What is left of a total beside the largest groups.

Promise: if the interval of the total and those of all groups hold, so does that of the rest, whichever groups
are taken away. Where counts cannot be negative, neither can the rest, nor can a group have less than nothing.
"""

from __future__ import annotations

import numpy as np

from hushtable.answers.answerer import Answered, GroupsAnswered
from hushtable.answers.estimation.notes import together
from hushtable.answers.estimation.parts import Answers


def without(total: Answered, groups: GroupsAnswered, *, signed: bool) -> Answered:
    """Return the total less these groups, whose intervals hold together with those of all others.

    The standard error is the largest that there can be: how errors of the two go together is not known.
    """
    everything, taken = total.answers, groups.answers
    low, high = everything.low[0] - taken.high.sum(), everything.high[0] - taken.low.sum()
    if not signed:
        low = max(low, 0.0)
        high = max(everything.high[0] - np.maximum(taken.low, 0).sum(), low)
    error = everything.standard_error[0] + taken.standard_error.sum()
    value = everything.value[0] - taken.value.sum()
    many = f"{len(taken.value):,} largest of {groups.number:,} groups"
    promise = groups.note.removesuffix(f" {together(groups.number)}")
    return Answered(
        answers=Answers(*(np.array([each], np.float64) for each in (value, error, low, high))),
        note=f"This is all but the {many}, and its interval holds whichever groups these are. {promise}",
        assumes=groups.assumes or total.assumes,
    )
