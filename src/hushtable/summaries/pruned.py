"""A tree that is published from the root down, to where noise hides the counts.

Promise: the law of adding noise to every node and keeping those that reach the cutoff with all nodes above
them (`rooted`), or the best of those; noise of each level is for its share of epsilon.
Cost: that of the nodes looked at: all children of kept ones.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np

from hushtable.errors import BadNumber, InternalError
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.addresses import Numbers
from hushtable.structures.branching import least_cutoff, lowest_rank
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.candidates import noisy
from hushtable.summaries.flat import check_changes
from hushtable.summaries.rooted import known_cutoff, occupied_in, rooted_tree
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
    law: type[NoiseLaw],
) -> Summary:
    """Draw a tree from the root down, as far as it matters."""
    if not method.filters or method.samples:
        raise InternalError("no filter of a pruned tree was asked for")
    check_changes(table.sensitivity, sensitivity, law, nodes)

    def law_at(share: int) -> NoiseLaw:
        return law_to_draw(law, budget=epsilon * share, change=sensitivity)

    occupied = occupied_in(table, nodes.tree)
    # 1. The root: its share is the same whatever comes of it, and it tells how the levels share the rest. A
    #    cutoff that somebody gave was checked against the usual shares, which then stay.
    check_cutoff(nodes, method, law=law_at(nodes.share))
    root, cutoff = noisy(occupied.total, law_at(nodes.tree.shares[0]), entropy), method.rule.cutoff
    if cutoff is None:
        nodes = nodes.shared_by(float(root[0]), law_at)
    # 2. The nodes below it.
    tree, laws = nodes.tree, [law_at(share) for share in nodes.tree.shares]

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, laws[level], entropy) if level else root

    lowest = lowest_rank(tree, laws) if cutoff is None else ceil(cutoff * tree.unit)
    found = rooted_tree(occupied, tree, noised, entropy, cutoff=lowest, size=method.size, root_stays=True)
    reached = known_cutoff(found.counts, lowest if found.cutoff is None else found.cutoff, weight=tree.unit)
    codes = found.numbers[:, np.newaxis]
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=codes,
        counts=found.counts,
        weights=nodes.weights(codes, found.counts, law_at=law_at, cutoff=reached, threshold=None),
        threshold=None,
        cutoff=reached,
        nodes=nodes,
        law_name=law.name,
    )


def check_pruned(nodes: PrunedSpace, method: Method, *, law_at: Callable[[int], NoiseLaw]) -> None:
    """Raise where drawing would be refused."""
    # The smallest share has the most noise. Shares that follow from the root are no smaller than its own.
    law_at(min(nodes.tree.shares)).checked()
    check_cutoff(nodes, method, law=law_at(nodes.share))


def check_cutoff(nodes: PrunedSpace, method: Method, *, law: NoiseLaw) -> None:
    """Raise where noise alone would make a pruned tree grow: by public numbers."""
    levels, cutoff = nodes.tree.levels, method.rule.cutoff
    least = least_cutoff(nodes.tree.branching, law, levels=levels)
    if cutoff is not None and cutoff < least:
        hint = f"Give {least:,} or more, a size instead, or more epsilon."
        said = str(cutoff)
        raise BadNumber(
            name="cutoff", value=said, allowed="is so low that noise makes a tree grow", hint=hint
        )
