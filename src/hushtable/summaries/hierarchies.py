"""A hierarchy that is published from the root down, to where noise hides the counts.

Promise: the law of adding noise to every node of every level, and keeping all nodes of the whole levels and
those below them whose ranks are the largest, with all nodes above them (`laborious.ranked_levels`); noise of
each level is for its share of epsilon. Proof: PROOF.md here, steps 10 to 12, 17 and 18.
Cost: time and memory follow the occupied cells and the nodes published: of the empty children of a kept node,
those that pass are drawn, and no others (as empty cells are, steps 1 to 4). Complete levels are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np

from hushtable.domain.keys import KeySpace
from hushtable.errors import BadChoice, BadNumber, InternalError
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw, at_law, law_to_draw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, binomial
from hushtable.structures.chains import Numbers
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.structures.paths import weighed_counts
from hushtable.structures.refining import RefinedTree, growing_at
from hushtable.summaries.candidates import draw_candidates, noisy
from hushtable.summaries.flat import LARGEST_FULL_TABLE, check_changes
from hushtable.summaries.rooted import Nodes, Occupied, children_of, known_cutoff, rooted_tree
from hushtable.summaries.summary import Summary
from hushtable.table.slices import Slice
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

    occupied = occupied_along(table.keys, table.counts, table.space, nodes)
    cutoff = method.rule.cutoff
    lowest = growing_at(tree, laws) if cutoff is None else ceil(cutoff * tree.unit)

    def examine(parents: Nodes, level: int) -> Nodes:
        if level + 1 < tree.staying:
            return children_of(parents, level, occupied, tree, noised, root_stays=True)
        least = -(-lowest // tree.weights[level + 1])
        return _passing(parents, level, occupied, tree, laws[level + 1], entropy, least=least)

    found = rooted_tree(
        occupied,
        tree,
        noised,
        entropy,
        cutoff=lowest,
        size=method.size,
        root_stays=True,
        examine=examine,
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


def _passing(
    parents: Nodes,
    level: int,
    occupied: Occupied,
    tree: RefinedTree,
    law: NoiseLaw,
    entropy: BitSource,
    *,
    least: int,
) -> Nodes:
    """Draw the children of nodes whose noisy counts are `least` or more, the empty ones too.

    All children of these nodes are the cells of a table, numbered node by node (PROOF.md, step 18).
    """
    # 1. Which children hold occupied cells, and which of those.
    lengths = parents.ends - parents.begins
    owners = np.repeat(np.arange(lengths.size), lengths)
    cells = np.repeat(parents.begins - np.cumsum(lengths) + lengths, lengths) + np.arange(owners.size)
    firsts = tree.holding(occupied.addresses[cells], level + 1)
    new = np.ones(firsts.size, dtype=np.bool_)  # no two nodes begin with the same cell
    np.not_equal(firsts[1:], firsts[:-1], out=new[1:])
    fresh = np.flatnonzero(new)
    begins, ends = cells[fresh], np.append(cells[fresh[1:] - 1], cells[-1:]) + 1
    counts = occupied.sums(begins, ends)
    numbers = tree.branches(parents.prefixes, level)
    before = np.cumsum(numbers) - numbers
    taken = before[owners[fresh]] + tree.places_among(firsts[fresh], level)
    # 2. Those that pass: the occupied ones, and how many of the empty ones, which, and with what counts.
    rule = Acceptance(cutoff=least, two_sided=False)
    total = int(numbers.sum())
    part = Slice((0,), (total,), taken.size, lambda: (taken.astype(np.uint64)[np.newaxis], counts))
    passed = binomial(total - taken.size, at_law(rule.pass_probability, law), entropy)
    drawn = draw_candidates(part, [passed], entropy, rules=[rule], law=law)
    # 3. As nodes, with the cells that they hold.
    keys = drawn.keys[0].astype(np.int64)
    mine = np.searchsorted(before, keys, side="right") - 1
    prefixes = tree.child_at(parents.prefixes[mine], level, keys - before[mine])
    place = np.searchsorted(taken, keys)
    holds = drawn.bands < 0
    begins_of, ends_of = parents.begins[mine], parents.begins[mine]
    begins_of[holds], ends_of[holds] = begins[place[holds]], ends[place[holds]]
    weighed = weighed_counts(drawn.counts, tree.weights[level + 1])
    return Nodes(prefixes, drawn.counts, np.minimum(parents.ranks[mine], weighed), begins_of, ends_of)


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
    if nodes.structure.complete is not None:
        check_complete(nodes, method)
    check_growth(nodes.of_size(method.size), method, law_at=law_at)


def check_complete(nodes: HierarchySpace, method: Method) -> None:
    """Raise where somebody asked for more complete levels than the size, or a table, has room for."""
    stay = nodes.staying
    if method.size is not None and method.size < stay:
        fact = f"is fewer than the {stay:,} rows of its complete levels"
        hint = f"Give {stay:,} or more, or leave `complete` out of the hierarchy."
        raise BadNumber(name="size", value=method.size, allowed=fact, hint=hint)
    if stay > LARGEST_FULL_TABLE:
        fact = f"{nodes.tree.staying} complete levels have {stay:,} rows"
        raise BadChoice(fact, f"Up to {LARGEST_FULL_TABLE:,} are allowed: leave `complete` out.")


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
