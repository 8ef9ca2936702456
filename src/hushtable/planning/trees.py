"""What a pruned tree will be worth for ranges, under a profile.

Promise: expectations by formula, under the stated profile, of which occupied cells lie at random; nothing is
drawn and nothing is private. All of epsilon goes to the tree: it has its total as its root.
Cost: some ten milliseconds for each tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, sqrt
from typing import TYPE_CHECKING

from hushtable.errors import BadChoice
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Filter, Method
from hushtable.planning.judging import REAL_IN_TREES, Judgement
from hushtable.planning.predictions import BYTES, Prediction
from hushtable.planning.profile import Profile
from hushtable.planning.pruning import ProfileTree, PrunedTree, least_of
from hushtable.planning.ranges import RangeErrors
from hushtable.structures.branching import BranchingTree
from hushtable.structures.lines import LARGEST_LINE
from hushtable.structures.orders import MORTON
from hushtable.structures.pruned import Tree

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_BYTES_A_NODE = 13.0  # measured on releases of 10^3 to 10^5 rows; right within a quarter


def fits_a_tree(cells_total: int) -> bool:
    """Return whether there is a tree over so many cells in a line."""
    return 2 <= cells_total <= LARGEST_LINE


def judge_tree(plan: Plan, structure: Tree, methods: Sequence[Method] | None) -> Judgement:
    """Return what a plan says of a tree; errors are those of ranges, beside answering 0 alone."""
    method = Filter(size=plan.size, two_sided=False) if methods is None else methods[0]
    return judgement_of_tree(plan, predicted_tree(plan, structure, method))


def judgement_of_tree(plan: Plan, prediction: Prediction) -> Judgement:
    """Return a prediction of a tree beside what it is compared with."""
    return Judgement(
        prediction=prediction,
        cells_total=plan.cells_total,
        size=plan.size,
        total_errors=None,
        least_real=REAL_IN_TREES,
    )


def predicted_tree(plan: Plan, structure: Tree, method: Method) -> Prediction:
    """Return what to expect of a tree under the assumptions of a plan."""
    if not method.filters or method.samples:
        hint = "Take 'tree', publish cells, or leave the plan and what it assumes out."
        raise BadChoice("a plan knows cells and trees that a filter prunes, and no other structure", hint)
    return predict_tree(
        plan.profile,
        structure,
        method,
        cells_total=plan.cells_total,
        law_for=lambda share: plan.law_for(plan.budget * share, added_up=True),
        domain_bytes=plan.domain_bytes,
        sizes=list(plan.zero_errors),
    )


def predict_tree(
    profile: Profile,
    structure: Tree,
    method: Method,
    *,
    cells_total: int,
    law_for: Callable[[Fraction], NoiseLaw],
    domain_bytes: int,
    sizes: Sequence[int],
) -> Prediction:
    """Return what to expect of a tree; errors are those of ranges. `law_for` gives the noise at a share of
    epsilon."""
    if structure.order == MORTON:
        fact = "a plan knows trees over cells in a line, and this one is in z-order"
        raise BadChoice(fact, "Name attributes as its order, or publish without a plan.")
    table = ProfileTree(profile, cells_total=cells_total, branching=structure.branching)
    if structure.shares is None:
        table.tree = table.tree.shared_by(
            profile.people / max(sqrt(law_for(Fraction(1)).floats.variance), 1e-100)
        )
    else:
        tree = table.tree
        table.tree = BranchingTree(tree.addresses, branching=tree.branching, shares=structure.shares)
    shares = table.tree.shares
    laws = [law_for(Fraction(share, sum(shares))) for share in shares]
    if method.size is not None:
        pruned = PrunedTree.of_size(table, laws=laws, size=method.size)
    else:
        pruned = PrunedTree(table, laws=laws, cutoff=ceil(Fraction(method.cutoff or 1)))
    real, empty = table.rows(pruned.chances)
    if method.size is not None and pruned.cutoff > least_of(table.tree, laws):
        # The cutoff is that of the size, which is filled up by lot from nodes right below it.
        real, empty = (each * method.size / (real + empty) for each in (real, empty))
    leaves = table.laws[-1].chances * pruned.chances[-1].kept * table.nodes[-1]
    return Prediction(
        method=method,
        cutoff=pruned.cutoff,
        threshold=0.0,
        rows_real=real,
        rows_noise=empty,
        suppressed=max(profile.occupied - float(leaves[1:].sum()), 0.0),
        errors=RangeErrors(pruned).mean_errors(sizes),
        truths={size: size * profile.people / cells_total for size in sizes},
        bytes=BYTES + domain_bytes + (real + empty) * _BYTES_A_NODE,
    )
