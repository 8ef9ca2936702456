"""What the owner asks for, as the settings of a summary.

Promise: settings follow from what the owner declares and from public facts (the number of cells, the size,
epsilon); the table is not there yet. A choice that is made for the owner has a name, which a release records.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from hushtable.errors import BadChoice
from hushtable.exact.rationals import Rational
from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.methods.tuning import AUTO_CUTOFF, auto_cutoff

AUTO = "auto"
SUMMARIES = ("everything", "filter", "threshold", "priority", "filter-threshold", "filter-priority")
# What each summary takes beside `one_sided`.
_TAKES: dict[str, tuple[str, ...]] = {
    "everything": (),
    "filter": ("cutoff", "size"),
    "threshold": ("threshold", "size"),
    "priority": ("size",),
    "filter-threshold": ("cutoff", "threshold", "size"),
    "filter-priority": ("cutoff", "size"),
}


class Choice(NamedTuple):
    """The settings of a summary, and the name of the rule that made some of them, if one did."""

    method: Method
    rule: str | None


def choice(
    summary: str = "filter-priority",
    *,
    size: int | None = None,
    cutoff: Rational | None = None,
    threshold: Rational | None = None,
    one_sided: bool = False,
    cells: int,
    rate: Fraction,
) -> Choice:
    """Return the summary of that name. A cutoff that is not given is chosen by `auto_cutoff` for the size.

    ====================  ==================================================
    summary               takes
    ====================  ==================================================
    everything            nothing
    filter                cutoff (a number), or size; auto needs a size too
    threshold             threshold (a number), or size
    priority              size
    filter-threshold      cutoff, and threshold or size
    filter-priority       size, cutoff (auto if left out)
    ====================  ==================================================
    """
    if summary not in _TAKES:
        raise BadChoice(f"there is no summary {summary!r}", f"There are {', '.join(SUMMARIES)}.")
    given = {"size": size, "cutoff": cutoff, "threshold": threshold}
    for name, value in given.items():
        if value is not None and name not in _TAKES[summary]:
            takes = ", ".join(f"`{each}`" for each in _TAKES[summary]) or "none of these"
            raise BadChoice(f"the summary {summary!r} has no {name}", f"It takes {takes}.")
    if threshold == AUTO:
        threshold = None  # the threshold for a size is what the method itself does
        if size is None:
            raise BadChoice("a threshold of `auto` needs a size", "Give the number of rows you want.")
    rule = None
    if cutoff == AUTO or (cutoff is None and summary.startswith("filter-")):
        if size is None:
            raise BadChoice("a cutoff of `auto` needs a size", "Give the number of rows you want.")
        size = Priority(size=size).size  # checked before it is used
        cutoff, rule = auto_cutoff(size, cells=cells, rate=rate, two_sided=not one_sided), AUTO_CUTOFF
        if summary == "filter":
            size = None
    two_sided = not one_sided
    if summary == "everything":
        return Choice(Everything(nonnegative=one_sided), None)
    if summary == "filter":
        return Choice(Filter(cutoff=cutoff, size=size, two_sided=two_sided), rule)
    if summary == "threshold":
        return Choice(Threshold(threshold=threshold, size=size, two_sided=two_sided), rule)
    if size is None and summary != "filter-threshold":
        raise BadChoice(f"the summary {summary!r} needs a size", "Give the number of rows you want.")
    if summary == "priority":
        return Choice(Priority(size=_number(size), two_sided=two_sided), rule)
    assert cutoff is not None
    if summary == "filter-threshold":
        if rule is not None and threshold is not None:
            size = None  # it chose the cutoff
        method = FilterThreshold(cutoff=cutoff, threshold=threshold, size=size, two_sided=two_sided)
        return Choice(method, rule)
    return Choice(FilterPriority(cutoff=cutoff, size=_number(size), two_sided=two_sided), rule)


def name_of(method: Method) -> str:
    """Return the name of a summary as the owner gives it.

    >>> name_of(FilterPriority(cutoff=20, size=1000))
    'filter-priority'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(method).__name__).lower()


def _number(size: int | None) -> int:
    assert size is not None
    return size
