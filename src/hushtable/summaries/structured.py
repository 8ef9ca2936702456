"""Summaries of structures: of nodes of trees instead of cells, and of buckets of sketches.

Promise: noise is for all sums that a row is part of. Trees whose nodes are published only with those above
them are drawn from the root down (`rooted`); nodes of all others are summarised like cells (`flat`).
Cost: that of the nodes that hold an occupied cell, plus the rows published.
Source: Cormode, Procopiuc, Srivastava, Tran, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from hushtable.errors import BadChoice, BadNumber, InternalError
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.methods.settings import Filter, FilterPriority, FilterThreshold, Method
from hushtable.methods.weights import weights_of
from hushtable.noise import BitSource
from hushtable.release.terms import as_taken, check_together
from hushtable.structures.addresses import LineAddresses, Numbers
from hushtable.structures.branching import BranchingTree, least_cutoff
from hushtable.structures.fitting import own_masses
from hushtable.structures.nodes import Nodes, NodeSpace, PrunedSpace, as_structure, nodes_over
from hushtable.structures.settings import MORTON, Cells, CountSketch, Marginals, Structure
from hushtable.structures.sketches import WORDS_OF_A_KEY, SketchSpace, keys_of
from hushtable.summaries.candidates import accepts, noisy
from hushtable.summaries.flat import acceptance_of, summarize_slices, summarize_table
from hushtable.summaries.priorities import largest_priorities
from hushtable.summaries.rooted import Occupied, Rooted, known_cutoff, rooted_tree
from hushtable.summaries.summary import Summary
from hushtable.table.adding import sketched
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import SlicesHere
from hushtable.table.sparse import SparseTable


def nodes_of(
    structure: Structure | str, table: SparseTable, method: Method, entropy: BitSource
) -> tuple[Nodes | SketchSpace | None, Method]:
    """Return what a structure publishes of a table, whose attributes have no names, and the method for it."""
    structure = as_structure(structure)
    method = as_taken(structure, method)
    if isinstance(structure, Cells):
        return None, method
    check_together(structure, method)
    if isinstance(structure, CountSketch):
        return SketchSpace(structure, table.space, drawn_keys(structure, entropy)), method
    if isinstance(structure, Marginals):
        fact = "a table of codes has no names of attributes, so there are no marginals of it"
        raise BadChoice(fact, "Publish rows with `ht.publish`, or add up the codes that you want.")
    if structure.order not in (None, MORTON):
        fact = "a table of codes has no names of attributes, so there is no order of them"
        raise BadChoice(fact, "Leave `order` out, and give codes in the order that you want.")
    return nodes_over(structure, table.shape, places=range(len(table.shape))), method


def drawn_keys(structure: Structure, entropy: BitSource) -> tuple[str, ...]:
    """Draw the keys of a sketch, which are public; other structures have none."""
    if not isinstance(structure, CountSketch):
        return ()
    return keys_of(structure, entropy.words(WORDS_OF_A_KEY * structure.depth))


def draw_nodes(
    table: SparseTable,
    nodes: Nodes | SketchSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw] = Geometric,
    threads: int = 1,
    first_guess: Acceptance | None = None,
    progress: Progress = unheard,
) -> Summary:
    """Draw a summary of nodes; `sensitivity` is what one person changes in all of them together."""
    if isinstance(nodes, SketchSpace):
        buckets = sketched(table, nodes)
        drawn = summarize_table(
            buckets, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy, law=law
        )
        return replace(drawn, nodes=nodes)
    if isinstance(nodes, PrunedSpace):
        return _summarize_pruned(
            table, nodes, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy, law=law
        )
    if nodes.consistent_tree is not None:
        return _summarize_consistent(
            table, nodes, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy, law=law
        )
    drawn = summarize_slices(
        SlicesHere(lifted(table, nodes), threads, progress),
        nodes.space,
        method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        entropy=entropy,
        law=law,
        first_guess=first_guess,
    )
    return replace(drawn, nodes=nodes)


def _summarize_consistent(
    table: SparseTable,
    nodes: NodeSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw],
) -> Summary:
    """Draw a summary of a tree in which no node is kept without its ancestors."""
    if nodes.consistent_tree is None or not isinstance(method, Filter | FilterThreshold | FilterPriority):
        raise InternalError("no filter of a consistent tree was asked for")
    noise = law_to_draw(law, epsilon=epsilon, l1=sensitivity)
    (axis,) = nodes.axes
    rule = Acceptance(cutoff=method.cutoff, two_sided=False)
    if isinstance(method, FilterThreshold):
        rule = acceptance_of(method, cells_total=nodes.nodes_total, law=noise)
    binary = BranchingTree(LineAddresses(axis.line), branching=2)  # the same nodes, with other numbers
    by_size = method.size if isinstance(method, Filter) else None
    found = _rooted(table, binary, [noise] * binary.levels, entropy, cutoff=rule.lowest, size=by_size)
    levels = binary.level_of(found.numbers)
    numbers = found.numbers - np.array(binary.offsets)[levels] + np.array(axis.tree.offsets)[levels]
    counts, threshold = found.counts, None
    cutoff = found.cutoff if by_size is not None else rule.cutoff
    # Sampling is of what the check left over, and sees nothing of where nodes lie.
    if isinstance(method, FilterThreshold):
        rows = np.flatnonzero(accepts(rule, counts, entropy))
        numbers, counts, threshold = numbers[rows], counts[rows], float(rule.threshold or 0)
    elif isinstance(method, FilterPriority):
        bands = np.full(counts.size, -1, dtype=np.int8)
        rows, tau = largest_priorities(counts, bands, [rule], entropy, size=method.size)
        numbers, counts, threshold = numbers[rows], counts[rows], float(tau)
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=numbers[:, np.newaxis],
        counts=counts,
        weights=weights_of(counts, threshold),
        threshold=threshold,
        cutoff=None if cutoff is None else float(cutoff),
        nodes=nodes,
        law_name=law.name,
    )


def _summarize_pruned(
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
    if not isinstance(method, Filter):
        raise InternalError("no filter of a pruned tree was asked for")
    laws = [law_to_draw(law, epsilon=epsilon * share, l1=sensitivity) for share in nodes.tree.shares]
    check_cutoff(nodes, method, law=laws[-1])
    least = least_cutoff(nodes.tree.branching, laws[-1])
    cutoff = Acceptance(cutoff=method.cutoff).cutoff
    lowest = least if cutoff is None else ceil(cutoff)
    found = _rooted(table, nodes.tree, laws, entropy, cutoff=lowest, size=method.size, root_stays=True)
    reached = known_cutoff(found.counts, float(lowest if found.cutoff is None else found.cutoff))
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=found.numbers[:, np.newaxis],
        counts=found.counts,
        weights=own_masses(nodes.tree, found.numbers, found.counts, laws=laws, cutoff=reached),
        threshold=None,
        cutoff=reached,
        nodes=nodes,
        law_name=law.name,
    )


def _rooted(
    table: SparseTable,
    tree: BranchingTree,
    laws: Sequence[NoiseLaw],
    entropy: BitSource,
    *,
    cutoff: int,
    size: int | None,
    root_stays: bool = False,
) -> Rooted:
    """Draw a tree from the root down, with noise of its own law on each level."""

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, laws[level], entropy)

    addresses = tree.addresses.of(table.space.unpack(table.keys))
    occupied = Occupied(addresses, table.counts)
    return rooted_tree(occupied, tree, noised, entropy, cutoff=cutoff, size=size, root_stays=root_stays)


def check_cutoff(nodes: PrunedSpace, method: Filter, *, law: NoiseLaw) -> None:
    """Raise where noise alone would make a pruned tree grow: by public numbers."""
    least, cutoff = least_cutoff(nodes.tree.branching, law), Acceptance(cutoff=method.cutoff).cutoff
    if cutoff is not None and cutoff < least:
        hint = f"Give {least:,} or more, a size instead, or more epsilon."
        said = str(cutoff)
        raise BadNumber(
            name="cutoff", value=said, allowed="is so low that noise makes a tree grow", hint=hint
        )
