"""What is known of nodes that are not published.

An absent node did not reach the cutoff, so a bound on its own value is known. In a consistent tree it may
also be absent because a node above it is missing. The topmost missing node is then the one that did not reach
the cutoff: what it bounds are all absent nodes below it together, if counts are not negative.

Promise: in a consistent tree, absent nodes below one missing node are bounded once. Where nodes were sampled
after the check, nobody can tell which of them the check removed: each is then bounded by itself.
Cost: one look-up for each absent node and level of a consistent tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.parts import Array
from hushtable.answers.nodes.covers import Cover, PublishedNodes
from hushtable.answers.nodes.sums import NodeSums
from hushtable.structures.trees import DyadicTree, Numbers


@dataclass(frozen=True, slots=True)
class Hidden:
    """One entry for each group of cells."""

    bounds: Array  # how many times the cutoff bounds what absent nodes hold
    own: Array  # how many nodes are published, or absent for their own noisy count
    above: Array  # how many missing nodes above them hide the others, at most
    paths: Array  # how many paths to the root hold all nodes above
    depth: int = 0  # how many nodes a path has above, at most


def hidden_alone(sums: NodeSums) -> Hidden:
    """Return what is known where every node stands for itself."""
    none = np.zeros_like(sums.nodes)
    return Hidden(bounds=sums.absent_sizes, own=sums.nodes, above=none, paths=none)


def hidden_by_sample(sums: NodeSums, tree: DyadicTree) -> Hidden:
    """Return what is known in a consistent tree whose nodes were sampled."""
    paths = _paths(sums)
    return Hidden(
        bounds=sums.absent,
        own=sums.nodes,
        above=np.minimum(sums.absent, paths),
        paths=paths,
        depth=tree.levels - 1,
    )


def hidden_by_ancestors(sums: NodeSums, cover: Cover, tree: DyadicTree, passed: PublishedNodes) -> Hidden:
    """Return what is known in a consistent tree that was not sampled; `passed` are nodes beyond its cutoff.

    A published node right at the cutoff may be the reason why others below it, which tie by it, are absent.
    """
    absent = np.flatnonzero(cover.rows < 0)
    groups, nodes = cover.groups[absent], cover.nodes[absent]
    tops = topmost(tree, passed, nodes)
    order = np.lexsort((tops, groups))
    fresh = np.ones(order.size, dtype=np.bool_)
    fresh[1:] = (np.diff(groups[order]) != 0) | (np.diff(tops[order]) != 0)
    first = order[fresh]
    below = tops != nodes

    def counted(of: NDArray[np.intp]) -> Array:
        return np.bincount(of, minlength=len(cover.ranges)).astype(np.float64)

    return Hidden(
        bounds=counted(groups[first]),
        own=sums.nodes - counted(groups[below]),
        above=counted(groups[first[below[first]]]),
        paths=_paths(sums),
        depth=tree.levels - 1,
    )


def topmost(tree: DyadicTree, passed: PublishedNodes, nodes: Numbers) -> Numbers:
    """Return, for each absent node, the topmost one on its path to the root that is not beyond the cutoff."""
    tops, path, levels = nodes.copy(), nodes.copy(), tree.level_of(nodes)
    for level in reversed(range(1, tree.levels)):
        here = np.flatnonzero(levels >= level)
        path[here] = tree.parents(path[here], level)
        short = here[~passed.holds(path[here])]
        tops[short] = path[short]
    return tops


def _paths(sums: NodeSums) -> Array:
    """Return how many paths to the root hold all nodes above those of a group: two for each range."""
    return np.minimum(2 * sums.ranges, sums.nodes)
