"""Pruned trees to test with: any that are closed towards the root, with any counts."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.laws.geometric import Geometric
from hushtable.structures.addresses import LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.lines import Line

Numbers = NDArray[np.int64]
SHAPES = [(1,), (5,), (16,), (40,), (6, 5), (4, 4, 3)]


class World(NamedTuple):
    """A tree over cells of this shape, and its published nodes."""

    shape: tuple[int, ...]
    tree: BranchingTree
    numbers: Numbers
    counts: Numbers


def every_cell(shape: tuple[int, ...]) -> Numbers:
    """The codes of all cells."""
    return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)


@st.composite
def trees(draw: st.DrawFn) -> tuple[tuple[int, ...], BranchingTree]:
    """Return a small tree: over a line in any order, or in z-order."""
    shape = draw(st.sampled_from(SHAPES))
    places = draw(st.permutations(range(len(shape))))
    lined = draw(st.booleans())
    addresses = LineAddresses(Line(shape, places=places)) if lined else MortonAddresses(shape)
    return shape, BranchingTree(addresses, branching=draw(st.sampled_from([2, 4, 16])))


@st.composite
def pruned(draw: st.DrawFn) -> World:
    """Return any nodes of a tree that come with all nodes above them."""
    shape, tree = draw(trees())
    prefixes = np.zeros(1, dtype=np.int64)
    numbers = [0]
    for level in range(tree.levels - 1):
        every, real = tree.children(prefixes, level)
        kept = draw(st.lists(st.booleans(), min_size=real.size, max_size=real.size))
        prefixes = every[real][np.array(kept, dtype=np.bool_)]
        numbers += (prefixes + tree.offsets[level + 1]).tolist()
    counts = draw(st.lists(st.integers(-50, 10**6), min_size=len(numbers), max_size=len(numbers)))
    return World(shape, tree, np.array(numbers), np.array(counts))


def level_laws(tree: BranchingTree, rate: float | Fraction) -> list[Geometric]:
    """Return the laws of the noise on all levels: at this rate, but that of the root."""
    return [Geometric(Fraction(rate) * share / tree.least_share) for share in tree.shares]
