"""A hierarchy that is published from the root down, to where noise hides the counts.

Promise: the law of adding noise to every node of every level, and keeping all nodes of the whole levels and
those below them whose ranks are the largest, with all nodes above them (`laborious.ranked_levels`); noise of
each level is for its share of epsilon. Proof: PROOF.md here, steps 10 to 12, 17 and 18.
Cost: time and memory follow the occupied cells and the nodes published: of the empty children of a kept node,
those that pass are drawn, and no others (as empty cells are, steps 1 to 4). Complete levels are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Protocol

import numpy as np

from hushtable.domain.keys import KeySpace
from hushtable.errors import BadChoice, BadNumber, InternalError
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw, at_law, law_to_draw
from hushtable.laws.sensitivities import Sensitivities
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
from hushtable.table.slices import Cells, Slice

_AT_ONCE = 1 << 16  # cells that are looked at together, so that little memory is taken


class CellsInSlices(Protocol):
    """A counted table that comes slice by slice. Private."""

    @property
    def space(self) -> KeySpace:
        """The cells of the domain."""

    @property
    def sensitivity(self) -> Sensitivities | None:
        """What one unit changes in the cells, if that is known."""

    def cells(self) -> Iterator[Cells]:
        """Yield the occupied cells of each slice."""


def draw_hierarchy(
    table: CellsInSlices,
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

    occupied = occupied_along(table, nodes)
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

    All children of these nodes are the cells of a table, numbered node by node (PROOF.md, step 18). That is
    done for some nodes at a time, with about so many occupied cells that little memory is taken.
    """
    parts = np.cumsum(parents.ends - parents.begins) // _AT_ONCE
    edges = np.flatnonzero(np.append(True, parts[1:] != parts[:-1])).tolist()
    found = [
        _passing_of(
            Nodes(*(each[start:stop] for each in parents)), level, occupied, tree, law, entropy, least
        )
        for start, stop in pairwise([*edges, parts.size])
    ]
    return Nodes(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _passing_of(
    parents: Nodes,
    level: int,
    occupied: Occupied,
    tree: RefinedTree,
    law: NoiseLaw,
    entropy: BitSource,
    least: int,
) -> Nodes:
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


def occupied_along(table: CellsInSlices, nodes: HierarchySpace) -> Occupied:
    """Return occupied cells by their positions, some cells at a time: no two copies of all stay in memory."""
    bits = 63 - nodes.tree.cells.bit_length()  # that a position leaves for a count beside it
    packed: list[Numbers] = []
    large: list[tuple[Numbers, Numbers]] = []
    for positions, counts in _located(table, nodes):
        if counts.min(initial=0) < 0 or int(counts.max(initial=0)) >> bits:
            large.append((positions, counts))
        else:
            positions <<= bits
            positions |= counts
            packed.append(positions)
    together = np.concatenate([np.empty(0, dtype=np.int64), *packed])
    packed.clear()
    if not large:
        return Occupied.of_packed(together, bits=bits)
    large.append((together >> bits, together & ((1 << bits) - 1)))
    return Occupied(*(np.concatenate(each) for each in zip(*large, strict=True)))


def _located(table: CellsInSlices, nodes: HierarchySpace) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the positions of occupied cells, and their counts, some at a time."""
    for keys, counts in table.cells():
        for start in range(0, counts.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            yield nodes.tree.of(table.space.unpack(keys[:, part]), nodes.places), counts[part]


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
