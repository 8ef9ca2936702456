"""What the owner asks for, as the settings of a summary.

Promise: settings follow from what the owner declares and from public facts (the number of cells, the size,
epsilon), or from a plan; the table is not there yet. A choice that is made for the owner has a name, which a
release records.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import METHODS, Method, Priority
from hushtable.methods.tuning import AUTO_CUTOFF, auto_cutoff, marginal_method
from hushtable.planning.profile import PLAN_RULE
from hushtable.planning.questions import (
    QuestionPlan,
    asked_questions,
    planned_by_default,
    planned_for,
    weighed_groups,
)
from hushtable.planning.sharing import Budget
from hushtable.structures.cells import Cells
from hushtable.structures.registry import as_structure, is_structure
from hushtable.structures.structure import NodeSpace, Structure
from hushtable.structures.table_space import largest_of

if TYPE_CHECKING:  # who publishes without a plan does not wait for it
    from hushtable.planning.plan import Plan

AUTO = "auto"
THRESHOLD = "threshold-1"  # the rule by which a cutoff follows from epsilon and delta
_CELLS = Cells()
_SETTINGS = ("cutoff", "threshold", "size")
# What each summary takes beside `one_sided`.
_TAKES: dict[str, tuple[str, ...]] = {
    AUTO: ("size",),
    **{name: tuple(each for each in _SETTINGS if each in kind.settings()) for name, kind in METHODS.items()},
}
SUMMARIES = tuple(_TAKES)
_ASSUME = "Give one: expected cells, mean and sd; a profile; or an older release that it is like."


class Choice(NamedTuple):
    """The settings of a summary; the rule that made some of them, and the plan that judges them, if any.

    Of a data cube, `parts` are those of its marginals, and the others are those of the largest one.
    """

    method: Method
    rule: str | None
    plan: Plan | None = None
    parts: tuple[Choice, ...] = ()


def choice(
    summary: str = "filter-priority",
    *,
    size: int | None = None,
    cutoff: Rational | None = None,
    threshold: Rational | None = None,
    one_sided: bool = False,
    cells: int,
    law: NoiseLaw,
    plan: Plan | None = None,
    structure: Structure = _CELLS,
) -> Choice:
    """Return the summary of that name. Without a cutoff, it gets the plan's, or that of `auto_cutoff`.

    ====================  ==================================================
    summary               takes
    ====================  ==================================================
    auto                  size; it is what the plan recommends
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
    if summary == AUTO:
        return recommended(plan, structure, one_sided=one_sided)
    rule = None
    if cutoff == AUTO or (cutoff is None and summary.startswith("filter-")):
        if size is None:
            raise BadChoice("a cutoff of `auto` needs a size", "Give the number of rows you want.")
        size = Priority(size=size).size  # checked before it is used
        if structure.prunes and summary != "filter":
            fact = f"a tree is pruned by a filter, and {summary!r} is another summary"
            raise BadChoice(fact, "Leave the summary out, or use another structure.")
        if plan is None and structure.prunes:
            # The rule counts nodes that noise sends over a cutoff, of which a tree examines few.
            hint = "Give a size alone: a tree stops growing by itself where only noise is left."
            raise BadChoice("a tree has no automatic cutoff", hint)
        if plan is None or structure.several:  # whose cells are not those of the plan
            cutoff, rule = auto_cutoff(size, cells=cells, law=law, two_sided=not one_sided), AUTO_CUTOFF
        else:
            cutoff, rule = _planned_cutoff(plan, structure), PLAN_RULE
        if summary == "filter" or threshold is not None:
            size = None  # it chose the cutoff
    method = _method(summary, size, cutoff, threshold, two_sided=not one_sided)
    return Choice(method, rule, plan)


def choice_over(
    structure: Structure,
    domain: Domain,
    *,
    summary: str | None,
    budget: Fraction,
    one: Sensitivities,
    size: int | None = None,
    cutoff: Rational | None = None,
    threshold: Rational | None = None,
    one_sided: bool = False,
    plan: Plan | None = None,
    law: type[NoiseLaw] = Geometric,
    whole: int | None = None,
) -> Choice:
    """Return a summary over a domain, by its name or the structure's usual one: of each marginal of a cube.

    `budget` is for all that is published but a total, `one` what one unit changes in the cells. A marginal
    that a size alone has room for, or of no more cells than `whole`, is published whole; a plan judges that,
    and has a size where none is given.
    """
    check_size(structure, size)

    def chosen(cells: int, noise: NoiseLaw) -> Choice:
        return choice(
            summary or structure.default_method,
            size=size,
            cutoff=cutoff,
            threshold=threshold,
            one_sided=one_sided or structure.rooted,
            cells=cells,
            law=noise,
            plan=plan,
            structure=structure,
        )

    if not structure.several:
        sizes = structure.sizes(domain)
        return chosen(sizes.nodes_total, law.calibrated(budget=budget, change=sizes.change(law, one)))
    if summary == AUTO and plan is None:
        raise BadChoice("a summary of `auto` needs an assumption about the table", _ASSUME)
    nodes, parts = structure.over(domain), []
    change = nodes.change(law, one)
    alone = summary in (None, AUTO) and cutoff is None and threshold is None
    if size is None and plan is not None and alone:
        size = plan.size
    if size is not None:
        size = Priority(size=size).size  # checked before it is used
    for each in nodes.marginals:
        cells, own = each.domain.cells_total, law.calibrated(budget=budget * each.share, change=change)
        if alone and size is not None:
            method, rule = marginal_method(size, cells=cells, law=own, two_sided=not one_sided, whole=whole)
            parts.append(Choice(method, rule, plan))
        else:
            parts.append(chosen(cells, own))
    return joined_choices(nodes, parts)


def threshold_choice(law: NoiseLaw, *, size: int | None, wanted: Any = None) -> Choice:
    """Return the filter of a law that noises occupied cells alone, from its least cutoff on.

    With a size, a sample of what passes, by priority. A filter may have a higher cutoff, if that is given.
    """
    least = law.least_cutoff
    assert least is not None
    name = getattr(wanted, "name", None) or ("filter" if size is None else "filter-priority")
    given = getattr(wanted, "cutoff", None)
    if name not in ("filter", "filter-priority") or (name == "filter") != (size is None):
        fact = f"noise of the law {law.name!r} goes with filter, or with filter-priority and a size"
        raise BadChoice(fact, "Leave `summary` out.")
    if given not in (None, AUTO) and given < least:
        fact = f"a cutoff of {given} is below {least:,}, which epsilon and delta ask for"
        raise BadChoice(fact, "Leave it out, or give a higher one.")
    cutoff = least if given in (None, AUTO) else given
    rule = THRESHOLD if cutoff == least else None
    return Choice(_method(name, size, cutoff, None, two_sided=False), rule)


def joined_choices(nodes: NodeSpace, parts: Sequence[Choice]) -> Choice:
    """Return the choices for several tables as one."""
    return parts[largest_of(nodes.marginals)]._replace(parts=tuple(parts))


def check_size(structure: Structure, size: int | None) -> None:
    """Raise where a size is given for a structure that has its own."""
    if structure.rows_published is not None and size is not None:
        raise BadChoice(
            "a sketch has no size", "Give its width and its depth: they say how many buckets it has."
        )


def takes_size(summary: str, *, cutoff: Rational | None, threshold: Rational | None) -> bool:
    """Return whether a summary with these settings has use for a size.

    >>> takes_size("filter", cutoff="auto", threshold=None), takes_size("filter", cutoff=3, threshold=None)
    (True, False)
    """
    if summary == "filter":
        return cutoff is None or cutoff == AUTO
    if summary in ("threshold", "filter-threshold"):
        return threshold is None or threshold == AUTO or (summary != "threshold" and cutoff in (None, AUTO))
    return summary != "everything"


def recommended(plan: Plan | None, structure: Structure = _CELLS, *, one_sided: bool = False) -> Choice:
    """Return what the plan recommends: a summary of cells, or of a tree."""
    if plan is None:
        raise BadChoice("a summary of `auto` needs an assumption about the table", _ASSUME)
    if structure.prunes and plan.tree is not None:
        return Choice(plan.tree.method, PLAN_RULE, plan)
    if one_sided:
        raise BadChoice("a plan recommends two-sided summaries only", "Name a summary, or leave that out.")
    return Choice(plan.recommended.method, PLAN_RULE, plan)


def _planned_cutoff(plan: Plan, structure: Structure) -> int:
    return plan.tree.cutoff if structure.prunes and plan.tree is not None else plan.cutoff


def _method(
    summary: str,
    size: int | None,
    cutoff: Rational | None,
    threshold: Rational | None,
    *,
    two_sided: bool,
) -> Method:
    """Return the summary of that name with these settings."""
    kind = METHODS[summary]
    if size is None and "priority" in summary:
        raise BadChoice(f"the summary {summary!r} needs a size", "Give the number of rows you want.")
    return kind.made(size=size, cutoff=cutoff, threshold=threshold, two_sided=two_sided)


class Usual(NamedTuple):
    """What is published where nobody says how: a structure, the share of the total, and what is whole.

    A total is bought where whole tables do not tell it well enough (a share of None is the usual one). Tables
    of up to `whole` cells are published whole.
    """

    structure: Structure
    total_share: Rational | None
    whole: int | None


def usual_plan(
    domain: Domain, *, ask: object, size: int | None, distributed: bool, budget: Budget
) -> QuestionPlan | None:
    """Return the tables for questions, or for those that people usually ask; None where cells do."""
    if ask is not None:
        if size is None:
            raise BadChoice("questions need a size, and none is given", "Give the rows of each table.")
        size = Priority(size=size).size  # checked before it is used
        return planned_for(domain, asked_questions(domain, ask), size=size, budget=budget)
    if size is None:
        return None
    rows = Priority(size=size).size  # checked
    return planned_by_default(domain, size=rows, budget=budget, whole_only=distributed)


def usual_structure(
    domain: Domain,
    *,
    ask: object,
    size: int | None,
    distributed: bool,
    budget: Budget,
) -> Usual:
    """Return what is published for questions, or for those that people usually ask."""
    found = usual_plan(domain, ask=ask, size=size, distributed=distributed, budget=budget)
    if found is None:
        return Usual(_CELLS, None, None)
    return Usual(found.structure, found.total_share, found.whole)


def shared_for(structure: object, domain: Domain, ask: object) -> Structure | None:
    """Return a structure whose nodes share epsilon for questions; None where questions say something else."""
    if ask is None or not is_structure(structure) or not structure.asks:  # type: ignore[attr-defined]
        return None
    found: Structure = structure.for_questions(domain, weighed_groups(domain, ask))  # type: ignore[attr-defined]
    return found


def check_ask(ask: object, **others: object) -> None:
    """Raise where questions are asked, and something else says what is published."""
    for name, value in others.items():
        if ask is not None and value is not None:
            fact = f"the questions choose what is published, and so does {name}"
            raise BadChoice(fact, f"Leave {name} or the questions out.")


def planned_structure(plan: Plan | None, summary: object = None) -> Structure:
    """Return what the plan takes for ranges: cells, or a tree. It brings its summary."""
    if plan is None:
        raise BadChoice("a structure of `auto` needs an assumption about the table", _ASSUME)
    if summary not in (None, AUTO):
        fact = "a structure of `auto` brings its own summary, and another was given"
        raise BadChoice(fact, "Leave the summary out, or name the structure.")
    return as_structure(plan.structure)
