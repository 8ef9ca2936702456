"""What the owner asks for, as the settings of a summary.

Promise: settings follow from what the owner declares and from public facts (the number of cells, the size,
epsilon), or from a plan; the table is not there yet. A choice that is made for the owner has a name, which a
release records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational
from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.methods.tuning import AUTO_CUTOFF, auto_cutoff, marginal_method
from hushtable.planning.plan import PLAN_RULE, Plan
from hushtable.structures.cubes import CubeSpace, cube_space
from hushtable.structures.nodes import as_structure, published_units
from hushtable.structures.settings import (
    STRUCTURES,
    Cells,
    CountSketch,
    Dyadic,
    Marginals,
    Structure,
    Tree,
)

AUTO = "auto"
_CELLS = Cells()
SUMMARIES = (AUTO, "everything", "filter", "threshold", "priority", "filter-threshold", "filter-priority")
# What each summary takes beside `one_sided`.
_TAKES: dict[str, tuple[str, ...]] = {
    AUTO: ("size",),
    "everything": (),
    "filter": ("cutoff", "size"),
    "threshold": ("threshold", "size"),
    "priority": ("size",),
    "filter-threshold": ("cutoff", "threshold", "size"),
    "filter-priority": ("cutoff", "size"),
}
# Which structures take each of their settings.
_OF: dict[str, tuple[str, ...]] = {
    "order": ("dyadic", "haar", "product-dyadic", "tree"),
    "consistent": ("dyadic",),
    "branching": ("tree",),
    "width": ("sketch",),
    "depth": ("sketch",),
    "marginals": ("marginals",),
    "weights": ("marginals",),
}
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
    """Return the summary of that name. A cutoff that is not given is the plan's, or that of `auto_cutoff`.

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
        if isinstance(structure, Tree) and summary != "filter":
            fact = f"a tree is pruned by a filter, and {summary!r} is another summary"
            raise BadChoice(fact, "Leave the summary out, or take another structure.")
        if plan is None and isinstance(structure, Tree):
            # The rule counts nodes that noise sends over a cutoff, of which a tree examines few.
            hint = "Give a size alone: a tree stops by itself where noise would make it grow."
            raise BadChoice("a tree has no automatic cutoff", hint)
        if plan is None or isinstance(structure, Marginals):  # whose cells are not those of the plan
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
    epsilon: Fraction,
    sensitivity: int,
    size: int | None = None,
    cutoff: Rational | None = None,
    threshold: Rational | None = None,
    one_sided: bool = False,
    plan: Plan | None = None,
    law: type[NoiseLaw] = Geometric,
) -> Choice:
    """Return a summary over a domain, by its name or the structure's usual one: of each marginal of a cube.

    `epsilon` is for all that is published but a total, and `sensitivity` that of a table of cells. A marginal
    that a size alone has room for is published whole; a plan judges that, and has a size where none is given.
    """
    if isinstance(structure, CountSketch) and size is not None:
        raise BadChoice("a sketch has no size", "Its width and its depth say how many buckets it has.")

    def chosen(cells: int, noise: NoiseLaw) -> Choice:
        return choice(
            summary or default_summary(structure),
            size=size,
            cutoff=cutoff,
            threshold=threshold,
            one_sided=one_sided or needs_one_side(structure),
            cells=cells,
            law=noise,
            plan=plan,
            structure=structure,
        )

    units, for_each = published_units(structure, domain)
    most = Fraction(sensitivity * for_each)
    if not isinstance(structure, Marginals):
        return chosen(units, law.calibrated(epsilon=epsilon, l1=most))
    if summary == AUTO and plan is None:
        raise BadChoice("a summary of `auto` needs an assumption about the table", _ASSUME)
    cube, parts = cube_space(structure, domain), []
    alone = summary in (None, AUTO) and cutoff is None and threshold is None
    if size is None and plan is not None and alone:
        size = plan.size
    if size is not None:
        size = Priority(size=size).size  # checked before it is used
    for each in cube.marginals:
        cells, own = each.domain.cells_total, law.calibrated(epsilon=epsilon * each.share, l1=most)
        if alone and size is not None:
            method, rule = marginal_method(size, cells=cells, law=own, two_sided=not one_sided)
            parts.append(Choice(method, rule, plan))
        else:
            parts.append(chosen(cells, own))
    return over_cube(cube, parts)


def over_cube(cube: CubeSpace, parts: Sequence[Choice]) -> Choice:
    """Return the choices for marginals as one."""
    return parts[cube.largest]._replace(parts=tuple(parts))


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
    if isinstance(structure, Tree) and plan.tree is not None:
        return Choice(plan.tree.method, PLAN_RULE, plan)
    if one_sided:
        raise BadChoice("a plan recommends two-sided summaries only", "Name a summary, or leave that out.")
    return Choice(plan.recommended.method, PLAN_RULE, plan)


def _planned_cutoff(plan: Plan, structure: Structure) -> int:
    return plan.cutoff if plan.tree is None or not isinstance(structure, Tree) else plan.tree.cutoff


def _method(
    summary: str,
    size: int | None,
    cutoff: Rational | None,
    threshold: Rational | None,
    *,
    two_sided: bool,
) -> Method:
    """Return the summary of that name with these settings."""
    if summary == "everything":
        return Everything(nonnegative=not two_sided)
    if summary == "filter":
        return Filter(cutoff=cutoff, size=size, two_sided=two_sided)
    if summary == "threshold":
        return Threshold(threshold=threshold, size=size, two_sided=two_sided)
    if summary == "filter-threshold":
        assert cutoff is not None
        return FilterThreshold(cutoff=cutoff, threshold=threshold, size=size, two_sided=two_sided)
    if size is None:
        raise BadChoice(f"the summary {summary!r} needs a size", "Give the number of rows you want.")
    if summary == "priority":
        return Priority(size=size, two_sided=two_sided)
    assert cutoff is not None
    return FilterPriority(cutoff=cutoff, size=size, two_sided=two_sided)


def default_summary(structure: Structure) -> str:
    """Return the summary for a size alone: of nodes the largest, which ranges are made of best."""
    if isinstance(structure, CountSketch):
        return "everything"
    return "filter-priority" if isinstance(structure, Cells | Marginals) else "filter"


def structure_choice(
    name: str,
    *,
    order: Sequence[str] | str | None = None,
    consistent: bool = False,
    branching: int | None = None,
    width: int | None = None,
    depth: int | None = None,
    marginals: Sequence[Sequence[str] | str] | None = None,
    weights: Sequence[Rational] | str | None = None,
) -> Structure:
    """Return the structure of that name, with what it takes.

    >>> structure_choice("dyadic", order=["work"])
    Dyadic(consistent=False, order=('work',))
    """
    if name not in STRUCTURES:
        raise BadChoice(f"there is no structure {name!r}", f"There are {', '.join(STRUCTURES)}.")
    settings: dict[str, Any] = {}
    given = {
        "order": order,
        "consistent": consistent or None,
        "branching": branching,
        "width": width,
        "depth": depth,
        "marginals": marginals,
        "weights": weights,
    }
    for setting, value in given.items():
        if value is not None:
            if name not in _OF[setting]:
                own = " and ".join(map(repr, _OF[setting]))
                fact = f"the structure {name!r} takes no `{setting}`"
                raise BadChoice(fact, f"It goes with {own}.")
            settings[setting] = value
    if name == "sketch" and width is None:
        raise BadChoice("a sketch needs a width", "Give the number of buckets in a row.")
    if name == "marginals":
        return Marginals(*settings.pop("marginals", ()), **settings)
    made: Structure = STRUCTURES[name](**settings)
    return made


def planned_structure(plan: Plan | None, summary: object = None) -> Structure:
    """Return what the plan takes for ranges: cells, or a tree. It brings its summary."""
    if plan is None:
        raise BadChoice("a structure of `auto` needs an assumption about the table", _ASSUME)
    if summary not in (None, AUTO):
        fact = "a structure of `auto` brings its own summary, and another was given"
        raise BadChoice(fact, "Leave the summary out, or name the structure.")
    return as_structure(plan.structure)


def needs_one_side(structure: Structure) -> bool:
    """Return whether a structure takes filters of counts above 0 only."""
    return isinstance(structure, Tree) or (isinstance(structure, Dyadic) and structure.consistent)


def name_of(method: Method) -> str:
    """Return the name of a summary as the owner gives it.

    >>> name_of(FilterPriority(cutoff=20, size=1000))
    'filter-priority'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(method).__name__).lower()
