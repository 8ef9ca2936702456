"""What a plan says of a release of each structure, by the structure's name.

Promise: a structure without a judge is refused where a plan is asked about it, and published without a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hushtable.errors import BadChoice
from hushtable.methods.settings import LARGEST_SIZE, Method
from hushtable.structures.structure import Structure

if TYPE_CHECKING:
    from hushtable.planning.judging import Verdict
    from hushtable.planning.plan import Plan


class Judge(Protocol):
    """Says what speaks for and against a release; with several tables, there is a method for each.

    Without methods, they are those that the structure takes for the plan's size.
    """

    def __call__(self, plan: Plan, structure: Any, methods: Sequence[Method] | None, /) -> Verdict:
        """Return the verdict."""


JUDGES: dict[str, Judge] = {}


def register_judge(structure: str, judge: Judge) -> None:
    """Let a plan speak of the structure of that name."""
    JUDGES[structure] = judge


def check_covered(structure: Structure) -> None:
    """Raise unless plans know this structure."""
    if structure.name not in JUDGES:
        fact = "a plan is about cells, trees, sketches and cubes, not about other structures"
        raise BadChoice(fact, "Take a tree, publish cells, or leave the plan and what it assumes out.")


def judged(plan: Plan, structure: Structure, methods: Sequence[Method] | None = None) -> Verdict:
    """Return what a plan says of a release."""
    check_covered(structure)
    return JUDGES[structure.name](plan, structure, methods)


def planned_size(structure: Structure, size: int | None) -> int | None:
    """Return how many rows a plan is for: as many as the structure has, or as the owner wants."""
    rows = structure.rows_published
    return size if rows is None else min(rows, LARGEST_SIZE)


def _of_cells(plan: Plan, structure: Structure, methods: Sequence[Method] | None) -> Verdict:
    return plan.judgement if methods is None else plan.judge(methods[0])


def _of_a_tree(plan: Plan, structure: Any, methods: Sequence[Method] | None) -> Verdict:
    from hushtable.planning.trees import judge_tree

    return judge_tree(plan, structure, methods)


def _of_a_cube(plan: Plan, structure: Any, methods: Sequence[Method] | None) -> Verdict:
    return plan.cube(structure, methods)


def _of_a_sketch(plan: Plan, structure: Any, methods: Sequence[Method] | None) -> Verdict:
    return plan.sketch(structure)


register_judge("cells", _of_cells)
register_judge("tree", _of_a_tree)
register_judge("marginals", _of_a_cube)
register_judge("sketch", _of_a_sketch)
