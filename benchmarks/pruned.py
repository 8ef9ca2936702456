"""Pruned trees, drawn and fitted; with other shares of epsilon, or with parts of the fit left out.

Promise: trees are drawn by the package's own engine. What is left out is left out of the package's own fit,
so that what a part is worth can be measured.
"""

from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.noise import KeyStream
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import Estimates, Fit, Given, Level, fitted
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.summarize import draw_summary
from tests.harness.nodes import nodes_over

Array = NDArray[np.float64]
_LINKS = "above", "below"


class Drawn(NamedTuple):
    """A tree that was drawn, with the cutoff that it reached."""

    tree: BranchingTree
    fit: Fit
    cutoff: float

    @property
    def rows(self) -> int:
        """The nodes that are published."""
        return sum(own.size for own in self.fit.own)

    def cells(self, kind: type[Level] = Level) -> Array:
        """Return what every address has: own masses, spread evenly over the cells of absent children."""
        found = np.zeros(1)
        levels = self.fit.levels if kind is Level else _again(self.fit.levels, kind)
        own = self.fit.own if kind is Level else _own_masses(levels)
        for number, (level, masses) in enumerate(zip(levels, own, strict=True)):
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
    return Drawn(tree, fitted(tree, found.codes[:, 0], found.counts, laws=laws, cutoff=cutoff), cutoff)


def over(shape: tuple[int, ...], structure: ht.Tree, *, shares: tuple[int, ...] | None = None) -> PrunedSpace:
    """Return the nodes of a tree over attributes of these sizes, with other shares of its levels if given."""
    nodes: PrunedSpace = nodes_over(replace(structure, shares=shares), shape, places=range(len(shape)))
    return nodes


class Counted(Level):
    """No fit: a node has its noisy count, or a part of it where its parent has less."""

    @cached_property
    def estimates(self) -> Estimates:
        return Estimates(self.counts, np.ones(self.cells.size))

    def bounded(self, masses: Array) -> tuple[Array, Array]:
        if self.below is None:
            return np.zeros(0), masses
        given = np.maximum(self.below.counts, 0.0)
        together = self.sums(given)
        scale = masses / np.maximum(together, 1e-300)
        given *= np.where((together > masses) | (self.absent <= 0), scale, 1.0)[self.below.parents]
        return given, np.maximum(masses - self.sums(given), 0.0)


class Unbounded(Level):
    """Masses may be negative."""

    def bounded(self, masses: Array) -> tuple[Array, Array]:
        return self.shared(masses)


class Unexpected(Level):
    """Nothing is known of children but their counts, and that those of absent ones lie around 0."""

    @cached_property
    def others(self) -> Given:
        none = np.zeros(self.cells.size)
        return Given(none, none, self.absent * self.cutoff**2)

    @property
    def expected(self) -> Estimates:
        assert self.below is not None
        return Estimates(np.zeros(self.below.cells.size), np.full(self.below.cells.size, 1e30))


def _again(levels: list[Level], kind: type[Level]) -> list[Level]:
    """Return levels of another kind, with the same nodes."""
    found: list[Level] = []
    for level in levels:
        published = {
            each.name: getattr(level, each.name) for each in fields(Level) if each.name not in _LINKS
        }
        found.append(kind(**published | {"sparing": True}, above=found[-1] if found else None))
    return found


def _own_masses(levels: list[Level]) -> list[Array]:
    masses, own = np.maximum(levels[0].estimates.means, 0.0), []
    for level in levels:
        masses, kept = level.bounded(masses)
        own.append(kept)
    return own
