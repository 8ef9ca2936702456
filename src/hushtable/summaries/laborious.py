"""The slow reference: noise on every cell, one at a time, then the summary by its definition.

Promise: nothing clever. Every cell of the domain is visited; every comparison is made in exact numbers; each
summary is a few lines that read like the paper. It shares the noise with the shortcut and nothing else:
no binomial, no empty cells drawn, no conditional law, no bands, no vectorised comparison.
Cost: everything grows with the domain. For tests and for small tables only.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.1, "the laborious approach".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np

from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw
from hushtable.methods.tuning import rounded_up
from hushtable.noise import BitSource, LazyUniform, cell_noise
from hushtable.structures.branching import BranchingTree

Rows = dict[int, int]  # cell -> noisy count
Parents = dict[int, int]  # node of a tree -> the node above it; the root has none


def noisy_table(counts: Rows, cells_total: int, law: NoiseLaw, entropy: BitSource) -> Rows:
    """Add noise to every cell, the empty ones too."""
    noise = cell_noise(law, entropy, count=cells_total)
    return {cell: counts.get(cell, 0) + int(noise[cell]) for cell in range(cells_total)}


def accepted_cells(table: Rows, rule: Acceptance, entropy: BitSource) -> Rows:
    """Flip a coin for each noisy count."""
    return {
        cell: value
        for cell, value in table.items()
        if (chance := rule.chance(value)) > 0 and LazyUniform(entropy).below(chance)
    }


def largest(table: Rows, *, size: int, two_sided: bool, entropy: BitSource) -> Rows:
    """Take the largest counts that are not 0, ties in an order drawn for each cell."""
    seen = {cell: value for cell, value in table.items() if _magnitude(value, two_sided) > 0}
    shuffled = _sorted_by_uniform(seen, lambda cell: (Fraction(0), Fraction(1)), entropy)
    in_order = sorted(shuffled, key=lambda cell: -_magnitude(seen[cell], two_sided))
    return {cell: seen[cell] for cell in in_order[:size]}


def priority_sample(
    table: Rows, *, size: int, cutoff: Fraction | None, two_sided: bool, entropy: BitSource
) -> tuple[Rows, Fraction]:
    """Give each count v that reaches the cutoff the priority |v|/U; the next one is the threshold."""
    rule = Acceptance(cutoff=cutoff, two_sided=two_sided)
    seen = {cell: abs(value) for cell, value in table.items() if rule.chance(value)}
    # 1/priority is uniform from 0 to 1/|v|: the smallest of these are the largest priorities.
    ends: dict[int, LazyUniform] = {}
    in_order = _sorted_by_uniform(seen, lambda cell: (Fraction(0), Fraction(1, seen[cell])), entropy, ends)
    chosen = {cell: table[cell] for cell in in_order[:size]}
    if len(in_order) <= size:
        return chosen, Fraction(0)
    last = in_order[size]
    while True:
        low, high = ends[last].interval()
        if low > 0 and rounded_up(seen[last] / low) == rounded_up(seen[last] / high):
            return chosen, rounded_up(seen[last] / low)
        ends[last].reveal()


def ranked_nodes(
    cells: Rows, tree: BranchingTree, noise: Callable[[int], int], *, root_stays: bool
) -> tuple[Rows, dict[int, tuple[float, int]]]:
    """Add noise to every node of a tree; return all counts, and the rank and the level of each node.

    `cells` are given by their addresses. A rank is the smallest count on the way down; that of a root which
    stays does not count.
    """
    values: Rows = {}
    ranks: dict[int, tuple[float, int]] = {}
    for level, (shift, offset) in enumerate(zip(tree.shifts, tree.offsets, strict=True)):
        for prefix in range(1 << (tree.addresses.bits - shift)):
            starts, stops = tree.addresses.boxes(np.array([prefix]), shift)
            if not np.all(starts < stops):
                continue  # padding
            inside = (count for cell, count in cells.items() if cell >> shift == prefix)
            values[offset + prefix] = sum(inside) + noise(offset + prefix)
            rank = inf if root_stays else values[offset + prefix]
            if level:
                above = (prefix >> (tree.shifts[level - 1] - shift)) + tree.offsets[level - 1]
                rank = min(ranks[above][0], values[offset + prefix])
            ranks[offset + prefix] = (rank, level)
    return values, ranks


Node = tuple[int, ...]  # of a hierarchy: its level, and then the codes that it has there


def ranked_levels(
    counts: dict[Node, int],
    levels: Sequence[Callable[[Node], Node]],
    weights: Sequence[int],
    noise: Callable[[Node], int],
    *,
    complete: int,
) -> tuple[dict[Node, int], dict[Node, float]]:
    """Add noise to every node of a hierarchy; return all counts, and the rank of each node.

    `counts` has every cell, the empty ones too. Each level says which codes a cell has there. A rank is the
    smallest weighed count on the way down; nodes of complete levels do not count.
    """
    values: dict[Node, int] = {}
    ranks: dict[Node, float] = {}
    above: dict[Node, Node] = {}
    for level, at in enumerate(levels):
        for cell, count in counts.items():
            node = (level, *at(cell))
            values[node] = values.get(node, 0) + count
            if level:
                above[node] = (level - 1, *levels[level - 1](cell))
    for node in values:  # level by level
        values[node] += noise(node)
        own = inf if node[0] < complete else values[node] * weights[node[0]]
        ranks[node] = min(own, ranks[above[node]]) if node in above else own
    return values, ranks


def rooted(table: Rows, parents: Parents) -> Rows:
    """Drop every node of a tree with an ancestor that is absent."""
    return {node: table[node] for node in table if all(each in table for each in path(node, parents))}


def largest_rooted(table: Rows, parents: Parents, *, size: int, entropy: BitSource) -> Rows:
    """Take the nodes whose smallest count on the path from the root is largest, and above 0.

    Ties in the order of depths, then in an order drawn for each node.
    """
    smallest = {node: min(table[each] for each in path(node, parents)) for node in table}
    seen = [node for node in table if smallest[node] > 0]
    shuffled = _sorted_by_uniform(seen, lambda node: (Fraction(0), Fraction(1)), entropy)
    in_order = sorted(shuffled, key=lambda node: (-smallest[node], len(path(node, parents))))
    return {node: table[node] for node in in_order[:size]}


def path(node: int, parents: Parents) -> list[int]:
    """Return a node of a tree and all its ancestors."""
    return [node, *path(parents[node], parents)] if node in parents else [node]


def _magnitude(value: int, two_sided: bool) -> int:
    return abs(value) if two_sided else value


def _sorted_by_uniform(
    cells: Iterable[int],
    span: Callable[[int], tuple[Fraction, Fraction]],
    entropy: BitSource,
    uniforms: dict[int, LazyUniform] | None = None,
) -> list[int]:
    """Draw a uniform number in the span of each cell; sort the cells by it, with all the bits it takes."""
    uniforms = {} if uniforms is None else uniforms
    uniforms.update({cell: LazyUniform(entropy, value=int(entropy.words(1)[0]), bits=64) for cell in cells})

    def known(cell: int) -> tuple[Fraction, Fraction]:
        low, high = span(cell)
        first, second = uniforms[cell].interval()
        return low + (high - low) * first, low + (high - low) * second

    while True:
        in_order = sorted(uniforms, key=known)
        unclear = [pair for pair in pairwise(in_order) if known(pair[0])[1] > known(pair[1])[0]]
        if not unclear:
            return in_order
        for cell in {cell for pair in unclear for cell in pair}:
            uniforms[cell].reveal()
