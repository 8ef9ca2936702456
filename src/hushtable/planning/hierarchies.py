r"""What each level of a hierarchy will be worth: its share, and how far a count will be off.

Counts of complete levels are those of least squares. With b children a node on average and noise of variance
v on each level, what a node and all below it say has the variance w, and what everything says the variance V:

    1/w = 1/v + 1/(b w'),        V' = w' - w'/b + V/b^2,

where w' and V' are those of a child, w = v at the lowest complete level, and V = w at the root. Below
complete levels, a count that is shown has the noise of its level.

Promise: what follows from public sizes alone. No row is read, nothing is drawn, nothing is assumed. Where
counts are small, masses that are not negative, and what is typical of a level, make errors smaller than that.
Cost: some operations for each level.
Source: Hay, Rastogi, Miklau, Suciu (2010), for trees whose nodes all have as many children.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import pi, sqrt
from typing import Any

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.laws.costs import amount
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.planning.questions import weighed_groups
from hushtable.planning.wording import aligned, number, paragraph, percent
from hushtable.structures.hierarchy import Hierarchy, HierarchySpace
from hushtable.structures.refining import growing_at

_NORMAL = sqrt(2 / pi)  # the mean size of a normal error, in deviations
_SOON = 4.0  # times the part of the variance that is averaged away: from 1 on, errors are taken to be normal


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedLevel:
    """What to expect of one level."""

    level: str
    nodes: int
    complete: bool  # whether all of its nodes are published
    share: Fraction  # of the cost
    error: float  # by which a published count is off on average
    cutoff: float | None  # smaller counts are never shown; None where all are


@dataclass(frozen=True, kw_only=True, repr=False)
class HierarchyPlan:
    """What to expect of a hierarchy, level by level, before it is paid for. Public.

    Made by `ht.plan` with a hierarchy as `structure`.

    >>> import hushtable as ht
    >>> days = ht.Domain(day=ht.bins(0, 364, step=1, levels=[7]))
    >>> found = ht.plan(days, epsilon=1, size=100, structure=ht.Hierarchy("7(day)", "day"))
    >>> [(each.level, each.nodes, each.complete) for each in found.levels]
    [('all', 1, True), ('7(day)', 52, True), ('day', 364, False)]
    """

    title: str
    budget: Fraction
    word: str  # what that is: epsilon, or rho
    size: int
    structure: Hierarchy  # with the shares and the complete levels that it will have
    levels: tuple[PlannedLevel, ...]  # the total first

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(_text(self))}</pre>"

    @property
    def options(self) -> str:
        """The options of `hushtable publish` that make it, without questions."""
        return f'--hierarchy "{" > ".join(self.structure.levels)}" --size {self.size}'

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        return {
            "title": self.title,
            self.word: str(self.budget),
            "size": self.size,
            "levels": [
                {
                    "level": each.level,
                    "nodes": each.nodes,
                    "complete": each.complete,
                    "share": str(each.share),
                    "error": each.error,
                    "cutoff": each.cutoff,
                }
                for each in self.levels
            ],
            "options": self.options,
        }


def planned_hierarchy(
    domain: Domain,
    structure: Hierarchy,
    *,
    size: int,
    budget: Fraction,
    law: type[NoiseLaw],
    one: Sensitivities,
    ask: object = None,
) -> HierarchyPlan:
    """Return the plan of a hierarchy of so many rows; `one` is what one unit changes in the cells."""
    if ask is not None:
        structure = structure.for_questions(domain, weighed_groups(domain, ask))
    structure = structure.sized(domain, size)
    nodes = structure.over(domain)
    change = nodes.change(law, one)
    laws = [law.calibrated(budget=budget * share, change=change).checked() for share in nodes.tree.shares]
    lowest = growing_at(nodes.tree, laws)
    off = _errors(nodes, laws)
    levels = tuple(
        PlannedLevel(
            level=each.label,
            nodes=each.nodes,
            complete=each.complete,
            share=Fraction(each.share, nodes.per_cell),
            error=error,
            cutoff=None if each.complete else float(-(-lowest // weight)),
        )
        for each, error, weight in zip(nodes.strata, off, nodes.tree.weights, strict=True)
    )
    word = "epsilon" if law.currency == "pure" else "rho"
    return HierarchyPlan(
        title=domain.title, budget=budget, word=word, size=size, structure=structure, levels=levels
    )


# Structures that are planned on their own, without an assumption.
PLANNERS = {Hierarchy.name: planned_hierarchy}


def _errors(nodes: HierarchySpace, laws: list[NoiseLaw]) -> list[float]:
    """Return the mean size of the error of a count on each level."""
    tree, noises = nodes.tree, [law.floats.variance for law in laws]
    last = tree.staying - 1
    from_below = noises[: last + 1]
    children = [below / above for above, below in zip(tree.nodes_at, tree.nodes_at[1:], strict=False)]
    for level in reversed(range(last)):
        from_below[level] = 1 / (1 / noises[level] + 1 / (children[level] * from_below[level + 1]))
    by_all = from_below[:1]
    for level in range(1, last + 1):
        number = children[level - 1]
        by_all.append(from_below[level] * (1 - 1 / number) + by_all[-1] / number**2)
    by_all += noises[last + 1 :]
    found = []
    for law, variance, noise in zip(laws, by_all, noises, strict=True):
        # Of noise alone, the mean size is the law's own. Means of several draws are soon nearly normal.
        alone = 2 * float(law.floats.tail(np.ones(1), 1)[0]) / sqrt(noise)
        averaged = min(_SOON * (1 - variance / noise), 1.0)
        found.append(sqrt(variance) * (alone + averaged * (_NORMAL - alone)))
    return found


def _text(plan: HierarchyPlan) -> str:
    """Return the plan as a page."""
    head = f"Plan for {plan.title!r}: a hierarchy of {len(plan.levels) - 1} levels, {plan.word} "
    head += f"{amount(plan.budget)}, size {plan.size:,}."
    lines = [["level", "counts", "published", "share", "typical error", "smallest count"]]
    for each in plan.levels:
        cutoff = "" if each.cutoff is None else f"{each.cutoff:,.0f}"
        published = "all" if each.complete else "the largest"
        lines.append(
            [each.level, f"{each.nodes:,}", published, percent(float(each.share)), number(each.error), cutoff]
        )
    said = [
        "The share is the part of the cost that is spent on a level. The typical error is by how much a "
        "published count is off on average, whatever it holds; where counts are smaller than that, fitted "
        "answers are closer."
    ]
    if not all(each.complete for each in plan.levels):
        said.append(
            "Of levels without all of their counts, smaller counts than the smallest one are never shown, "
            "and more may be left out if the size has no room for them. Groups of them are answered from "
            "the levels above, and intervals say how far off that may be."
        )
    publish = f"To publish it: hushtable publish ... {plan.options}"
    return "\n\n".join([paragraph(head), aligned(lines), *map(paragraph, said), publish])
