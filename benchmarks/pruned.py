"""Pruned trees, drawn and fitted; with other shares of epsilon, or by least squares alone.

Promise: trees are drawn by the package's own engine, and fitted by its own fits.
"""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.noise import KeyStream
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.summarize import draw_summary
from tests.harness.nodes import nodes_over

Array = NDArray[np.float64]


class Drawn(NamedTuple):
    """A tree that was drawn, with the cutoff that it reached, and what it has by least squares."""

    tree: BranchingTree
    fit: Fit
    cutoff: float
    squares: Fit

    @property
    def rows(self) -> int:
        """The nodes that are published."""
        return sum(own.size for own in self.fit.own)

    def cells(self, *, squares: bool = False) -> Array:
        """Return what every address has: own masses, spread evenly over the cells of absent children."""
        found, fit = np.zeros(1), self.squares if squares else self.fit
        for number, (level, masses) in enumerate(zip(fit.levels, fit.own, strict=True)):
            if number:
                found = np.repeat(found, self.tree.width(number - 1))
            room = np.ones(masses.size) if level.below is None else np.maximum(level.absent_cells, 1.0)
            found[level.prefixes] = masses / room
        return found


def drawn(table: ht.SparseTable, nodes: PrunedSpace, *, epsilon: Fraction, size: int) -> Drawn:
    """Draw a tree and fit it."""
    found = draw_summary(
        table,
        ht.Filter(size=size, two_sided=False),
        epsilon=epsilon,
        sensitivity=Fraction(nodes.per_cell),
        entropy=KeyStream(),
        nodes=nodes,
    )
    assert isinstance(found.nodes, PrunedSpace)
    tree, cutoff = found.nodes.tree, found.cutoff or 1.0
    laws = [Geometric(epsilon * share / nodes.per_cell) for share in tree.shares]
    squares = fitted(tree, found.codes[:, 0], found.counts, laws=laws, cutoff=cutoff)
    return Drawn(tree, squares.with_own(found.weights), cutoff, squares)


def over(shape: tuple[int, ...], structure: ht.Tree, *, shares: tuple[int, ...] | None = None) -> PrunedSpace:
    """Return the nodes of a tree over attributes of these sizes, with other shares of its levels if given."""
    nodes: PrunedSpace = nodes_over(replace(structure, shares=shares), shape, places=range(len(shape)))
    return nodes
