"""Nodes of a tree that come with all their ancestors, and what lies on the way to them.

Promise: a function of published nodes and counts.
Cost: one search a node.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.structures.branching import BranchingTree
from hushtable.structures.refining import RefinedTree
from hushtable.structures.trees import DyadicTree, Numbers

LARGEST_RANK = 1 << 62  # above all noisy counts: the rank of a root that stays


class Paths(NamedTuple):
    """The smallest weighed count on the path from the root to each node, and the node's level."""

    minima: NDArray[np.int64]
    levels: NDArray[np.intp]


PrunableTree: TypeAlias = BranchingTree | RefinedTree
RootedTree: TypeAlias = DyadicTree | PrunableTree


def weighed_counts(counts: NDArray[np.int64], weights: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return counts times the weights of their levels, within what 64 bits hold."""
    most = LARGEST_RANK // np.asarray(weights)
    weighed: NDArray[np.int64] = np.clip(counts, -most, most) * weights
    return weighed


def paths(tree: RootedTree, nodes: Numbers, counts: NDArray[np.int64]) -> Paths:
    """Return the paths of ascending nodes that come with all their ancestors."""
    levels = tree.level_of(nodes)
    minima = weighed_counts(counts, np.array(tree.weights)[levels])
    edges = np.searchsorted(levels, np.arange(1, tree.levels + 1))
    for level, (low, high) in enumerate(pairwise(edges), start=1):
        above = np.searchsorted(nodes[:low], tree.parents(nodes[low:high], level))
        np.minimum(minima[low:high], minima[above], out=minima[low:high])
    return Paths(minima, levels)
