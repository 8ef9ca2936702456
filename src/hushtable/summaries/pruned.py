"""A tree that is published from the root down, as far as it matters.

Promise: the law of adding noise to every node and keeping those that reach the cutoff with all nodes above
them (`rooted`), or the best of those; noise of each level is for its share of epsilon.
Cost: that of the nodes looked at: all children of kept ones.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from hushtable.errors import BadNumber, InternalError
from hushtable.laws.rationals import as_rate
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.branching import least_cutoff
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.flat import check_sensitivity
from hushtable.summaries.rooted import known_cutoff, rooted_sums
from hushtable.summaries.summary import Summary
from hushtable.table.sparse import SparseTable


def draw_pruned(
    table: SparseTable,
    nodes: PrunedSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
) -> Summary:
    """Draw a tree from the root down, as far as it matters."""
    if not method.filters or method.samples:
        raise InternalError("no filter of a pruned tree was asked for")
    check_sensitivity(table, sensitivity, per_cell=nodes.per_cell)
    rates = [as_rate(epsilon * share / sensitivity) for share in nodes.tree.shares]
    check_cutoff(nodes, method, rate=rates[-1])
    least, cutoff = least_cutoff(nodes.tree.branching, rates[-1]), method.rule.cutoff
    lowest = least if cutoff is None else ceil(cutoff)
    found = rooted_sums(table, nodes.tree, rates, entropy, cutoff=lowest, size=method.size, root_stays=True)
    reached = known_cutoff(found.counts, float(lowest if found.cutoff is None else found.cutoff))
    codes = found.numbers[:, np.newaxis]
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=codes,
        counts=found.counts,
        weights=nodes.weights(codes, found.counts, rate=rates[-1], cutoff=reached, threshold=None),
        threshold=None,
        cutoff=reached,
        nodes=nodes,
    )


def check_pruned(nodes: PrunedSpace, method: Method, *, rate: Fraction) -> None:
    """Raise where drawing would be refused; `rate` is that of all levels but the root's, which is less."""
    shares = nodes.tree.shares
    as_rate(rate * shares[0] / shares[-1])
    check_cutoff(nodes, method, rate=rate)


def check_cutoff(nodes: PrunedSpace, method: Method, *, rate: Fraction) -> None:
    """Raise where noise alone would make a pruned tree grow: by public numbers."""
    least, cutoff = least_cutoff(nodes.tree.branching, rate), method.rule.cutoff
    if cutoff is not None and cutoff < least:
        hint = f"Give {least:,} or more, a size instead, or more epsilon."
        said = str(cutoff)
        raise BadNumber(
            name="cutoff", value=said, allowed="is so low that noise makes a tree grow", hint=hint
        )
