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
from hushtable.structures.trees import DyadicTree, Numbers


class Paths(NamedTuple):
    """The smallest noisy count on the path from the root to each node, and the node's level."""

    minima: NDArray[np.int64]
    levels: NDArray[np.intp]


RootedTree: TypeAlias = DyadicTree | BranchingTree


def paths(tree: RootedTree, nodes: Numbers, counts: NDArray[np.int64]) -> Paths:
    """Return the paths of ascending nodes that come with all their ancestors."""
    minima, levels = counts.copy(), tree.level_of(nodes)
    edges = np.searchsorted(levels, np.arange(1, tree.levels + 1))
    for level, (low, high) in enumerate(pairwise(edges), start=1):
        above = np.searchsorted(nodes[:low], tree.parents(nodes[low:high], level))
        np.minimum(minima[low:high], minima[above], out=minima[low:high])
    return Paths(minima, levels)
