"""A hierarchy that is published from the root down, as far as it matters.

Promise: the law of adding noise to every node of every level, and keeping all nodes of the whole levels and
those below them whose ranks are the largest, with all nodes above them (`laborious.ranked_levels`); noise of
each level is for its share of epsilon. Proof: PROOF.md here, steps 10 to 12 and 17.
Cost: that of the nodes looked at: all children of kept ones; one pass over the occupied cells.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np

from hushtable.domain.keys import KeySpace
from hushtable.errors import BadNumber, InternalError
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.chains import Numbers
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.structures.refining import growing_at
from hushtable.summaries.candidates import noisy
from hushtable.summaries.flat import check_changes
from hushtable.summaries.rooted import Occupied, known_cutoff, rooted_tree
from hushtable.summaries.summary import Summary
from hushtable.table.sparse import SparseTable

_AT_ONCE = 1 << 20  # cells whose positions are found together, so that little memory is taken


def draw_hierarchy(
    table: SparseTable,
    nodes: HierarchySpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw],
) -> Summary:
    """Draw a hierarchy from the root down, as far as it matters."""
    if not method.filters or method.samples:
        raise InternalError("no filter of a hierarchy was asked for")
    check_changes(table.sensitivity, sensitivity, law, nodes)

    def law_at(share: int) -> NoiseLaw:
        return law_to_draw(law, budget=epsilon * share, change=sensitivity)

    # Which levels are whole follows from the size: public.
    nodes = nodes.of_size(method.size)
    tree = nodes.tree
    laws = [law_at(share) for share in tree.shares]
    check_growth(nodes, method, law_at=law_at)

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, laws[level], entropy)

    cutoff = method.rule.cutoff
    lowest = growing_at(tree, laws) if cutoff is None else ceil(cutoff * tree.unit)
    found = rooted_tree(
        occupied_along(table.keys, table.counts, table.space, nodes),
        tree,
        noised,
        entropy,
        cutoff=lowest,
        size=method.size,
        root_stays=True,
    )
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


def occupied_along(keys: np.ndarray, counts: Numbers, space: KeySpace, nodes: HierarchySpace) -> Occupied:
    """Return occupied cells by their positions, some cells at a time."""
    found = np.empty(counts.size, dtype=np.int64)
    for start in range(0, counts.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        found[part] = nodes.tree.of(space.unpack(keys[:, part]), nodes.places)
    return Occupied(found, counts)


def check_hierarchy(nodes: HierarchySpace, method: Method, *, law_at: Callable[[int], NoiseLaw]) -> None:
    """Raise where drawing would be refused: by public numbers."""
    law_at(min(nodes.tree.shares)).checked()
    check_growth(nodes.of_size(method.size), method, law_at=law_at)


def check_growth(nodes: HierarchySpace, method: Method, *, law_at: Callable[[int], NoiseLaw]) -> None:
    """Raise where noise alone would make a hierarchy grow."""
    cutoff = method.rule.cutoff
    if cutoff is None:
        return
    tree = nodes.tree
    least = -(-growing_at(tree, [law_at(share) for share in tree.shares]) // tree.unit)
    if cutoff < least:
        hint = f"Give {least:,} or more, a size instead, or more epsilon."
        said = str(cutoff)
        raise BadNumber(
            name="cutoff", value=said, allowed="is so low that noise makes a hierarchy grow", hint=hint
        )
