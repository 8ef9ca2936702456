"""Dyadic ranges of which none is published without all ranges around it.

Promise: the law of adding noise to every node, filtering, dropping nodes with an absent ancestor, and
sampling what is left. Nodes are drawn from the root down (`rooted`): few of the empty ones are looked at.
Cost: that of the nodes that hold an occupied cell, plus the rows published.
Source: Cormode, Procopiuc, Srivastava, Tran, section 3, whose consistency check this is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hushtable.errors import InternalError
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.methods.settings import Method
from hushtable.methods.tuning import threshold_for
from hushtable.methods.weights import weights_of
from hushtable.noise import BitSource
from hushtable.structures.addresses import LineAddresses, Numbers
from hushtable.structures.axes import AxisSpace
from hushtable.structures.branching import BranchingTree
from hushtable.summaries.candidates import accepts
from hushtable.summaries.flat import check_changes
from hushtable.summaries.priorities import largest_priorities
from hushtable.summaries.rooted import rooted_sums
from hushtable.summaries.summary import Summary
from hushtable.table.sparse import SparseTable


def draw_consistent(
    table: SparseTable,
    nodes: AxisSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw],
) -> Summary:
    """Draw a summary of a tree in which no node is kept without its ancestors."""
    check_changes(table.sensitivity, sensitivity, law, nodes)
    noise = law_to_draw(law, budget=epsilon, change=sensitivity)
    found = method.chosen_by(_Choice(table, nodes, noise, entropy))
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=found.numbers[:, np.newaxis],
        counts=found.counts,
        weights=weights_of(found.counts, found.threshold),
        threshold=found.threshold,
        cutoff=None if found.cutoff is None else float(found.cutoff),
        nodes=nodes,
        law_name=law.name,
    )


class _Nodes(NamedTuple):
    """Nodes that are kept, and what they met."""

    numbers: Numbers
    counts: Numbers
    cutoff: Fraction | int | None
    threshold: float | None = None


class _Choice(NamedTuple):
    """The ways in which nodes of a consistent tree are chosen: by filters of counts above 0."""

    table: SparseTable
    nodes: AxisSpace
    noise: NoiseLaw
    entropy: BitSource

    def everything(self, *, nonnegative: bool) -> _Nodes:
        raise InternalError("no filter of a consistent tree was asked for")

    def largest(self, size: int, *, two_sided: bool) -> _Nodes:
        return self._filtered(Acceptance(two_sided=False), size=size)

    def accepted(self, rule: Acceptance, *, expected: int | None) -> _Nodes:
        if expected is not None:
            rule = threshold_for(expected, cells=self.nodes.nodes_total, law=self.noise, rule=rule)
        found = self._filtered(rule)
        if rule.threshold is None and expected is None:
            return found
        # Sampling is of what the check left over, and sees nothing of where nodes lie.
        rows = np.flatnonzero(accepts(rule, found.counts, self.entropy))
        return _Nodes(found.numbers[rows], found.counts[rows], found.cutoff, float(rule.threshold or 0))

    def priorities(self, size: int, rule: Acceptance) -> _Nodes:
        found = self._filtered(rule)
        bands = np.full(found.counts.size, -1, dtype=np.int8)
        rows, tau = largest_priorities(found.counts, bands, [rule], self.entropy, size=size)
        return _Nodes(found.numbers[rows], found.counts[rows], found.cutoff, float(tau))

    def _filtered(self, rule: Acceptance, *, size: int | None = None) -> _Nodes:
        """Draw the nodes that reach a cutoff with all ranges around them, or the largest of those."""
        (axis,) = self.nodes.axes
        binary = BranchingTree(LineAddresses(axis.line), branching=2)  # the same nodes, with other numbers
        laws = [self.noise] * binary.levels
        found = rooted_sums(self.table, binary, laws, self.entropy, cutoff=rule.lowest, size=size)
        levels = binary.level_of(found.numbers)
        numbers = found.numbers - np.array(binary.offsets)[levels] + np.array(axis.tree.offsets)[levels]
        return _Nodes(numbers, found.counts, found.cutoff if size is not None else rule.cutoff)
