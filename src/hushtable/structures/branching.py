"""A tree over addresses: every node has up to `branching` children, which share its cells.

Promise: a node of level l is a prefix of addresses. The leaves are single cells; the split of the root is the
narrow one, where the bits do not divide evenly. Nodes are numbered from 0 at the root, level by level, in the
order of their prefixes; prefixes without cells have numbers too, and are no children of anything.
Cost: a few operations on arrays; nothing is listed.
"""

from __future__ import annotations

from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.law import NoiseLaw
from hushtable.structures.addresses import Addresses, Numbers


class BranchingTree:
    """Levels of prefixes.

    >>> from hushtable.structures.addresses import LineAddresses
    >>> from hushtable.structures.lines import Line
    >>> tree = BranchingTree(LineAddresses(Line((40,), places=(0,))), branching=16)
    >>> tree.shifts, tree.levels, tree.nodes_total
    ((6, 4, 0), 3, 69)
    >>> prefixes, real = tree.children(np.array([0]), 0)
    >>> prefixes.tolist(), real.tolist(), tree.cells_of(prefixes, 1).tolist()
    ([0, 1, 2, 3], [0, 1, 2], [16, 16, 8, 0])
    >>> tree.branches(np.array([0, 2]), 1).tolist()
    [16, 8]
    """

    def __init__(self, addresses: Addresses, *, branching: int) -> None:
        self.addresses, self.branching = addresses, branching
        step = branching.bit_length() - 1
        self.shifts: tuple[int, ...] = tuple(reversed([*range(0, addresses.bits, step), addresses.bits]))
        counts = [1 << (addresses.bits - shift) for shift in self.shifts]
        self.offsets = tuple(sum(counts[:level]) for level in range(len(counts)))
        self.nodes_total: int = sum(counts)

    @property
    def levels(self) -> int:
        """The number of levels, root and leaves included: every cell lies in one node of each."""
        return len(self.shifts)

    @property
    def shares(self) -> tuple[int, ...]:
        """How levels share epsilon: the root, which few answers need, has a quarter of another's share."""
        return (1, *(4,) * (self.levels - 1))

    def __repr__(self) -> str:
        return f"BranchingTree(branching={self.branching}, levels={self.levels})"

    def level_of(self, nodes: Numbers) -> NDArray[np.intp]:
        """Return the level of each node, 0 at the root."""
        return np.searchsorted(np.array(self.offsets), nodes, side="right") - 1

    def parents(self, nodes: Numbers, level: int) -> Numbers:
        """Return the parents of nodes of a level >= 1, by their numbers."""
        step = self.shifts[level - 1] - self.shifts[level]
        found: Numbers = (nodes - self.offsets[level] >> step) + self.offsets[level - 1]
        return found

    def width(self, level: int) -> int:
        """Return how many children a node of a level has, padding included."""
        return 1 << (self.shifts[level] - self.shifts[level + 1])

    def children(self, prefixes: Numbers, level: int) -> tuple[Numbers, NDArray[np.intp]]:
        """Return the prefixes of all children, node by node, and the places of those that have cells."""
        width = self.width(level)
        every: Numbers = ((prefixes * width)[:, np.newaxis] + np.arange(width)).ravel()
        return every, np.flatnonzero(self.cells_of(every, level + 1))

    def branches(self, prefixes: Numbers, level: int) -> Numbers:
        """Return how many children of each node have cells."""
        starts, stops = self.addresses.boxes(prefixes, self.shifts[level])
        found: Numbers = np.prod(-((starts - stops) // self.addresses.sides(self.shifts[level + 1])), axis=1)
        return found

    def cells_of(self, prefixes: Numbers, level: int) -> Numbers:
        """Return how many cells each node has."""
        starts, stops = self.addresses.boxes(prefixes, self.shifts[level])
        found: Numbers = np.prod(np.maximum(stops - starts, 0), axis=1)
        return found


def least_cutoff(branching: int, law: NoiseLaw) -> int:
    """Return the smallest cutoff at which noise alone does not make a tree grow: public.

    An empty node sends b P[X >= c] of its b children over a cutoff c on average. At a distance of ln(b/2) + 1
    folds, that is about 1/e.

    >>> from fractions import Fraction
    >>> from hushtable.laws.geometric import Geometric
    >>> least_cutoff(16, Geometric(Fraction(1, 60)))
    185
    """
    return ceil(law.floats.distance(log(branching / 2) + 1))
