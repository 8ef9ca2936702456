"""A tree over addresses: every node has up to `branching` children, which share its cells.

Promise: a node of level l is a prefix of addresses. The leaves are single cells; the split of the root is the
narrow one, where the bits do not divide evenly. Nodes are numbered from 0 at the root, level by level, in the
order of their prefixes; prefixes without cells have numbers too, and are no children of anything.
Cost: a few operations on arrays; nothing is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, gcd, log

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.law import NoiseLaw
from hushtable.structures.addresses import Addresses, Numbers

_USUAL = 4  # the share of a level, where the root has 1
# By simulation on lines and squares (docs/decisions/041). A node of a line should hold `_FEW` deviations of
# the noise; where it holds less, shares fall as this power of it. In trees of `_MANY` levels none falls.
_FEW, _FALLING, _MANY = 34.0, 0.75, 8
_SHALLOW = 4  # levels below the root, up to which noise alone may keep one child of each empty node


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

    def __init__(self, addresses: Addresses, *, branching: int, shares: Sequence[int] | None = None) -> None:
        self.addresses, self.branching = addresses, branching
        step = branching.bit_length() - 1
        self.shifts: tuple[int, ...] = tuple(reversed([*range(0, addresses.bits, step), addresses.bits]))
        counts = [1 << (addresses.bits - shift) for shift in self.shifts]
        self.offsets = tuple(sum(counts[:level]) for level in range(len(counts)))
        self.nodes_total: int = sum(counts)
        # How levels share epsilon: the root, which few answers need, has a quarter of another's share.
        self.shares: tuple[int, ...] = (
            (1, *(_USUAL,) * (self.levels - 1)) if shares is None else tuple(shares)
        )

    @property
    def levels(self) -> int:
        """The number of levels, root and leaves included: every cell lies in one node of each."""
        return len(self.shifts)

    staying = 1  # so many levels are kept whole, whatever their counts are, where the root stays

    @property
    def least_share(self) -> int:
        """The smallest share of epsilon that a level has, the root's excepted: its nodes have the cutoff."""
        return min(self.shares[1:], default=self.shares[0])

    @property
    def weights(self) -> tuple[int, ...]:
        """What counts of each level are multiplied by where they are compared: their shares, made short."""
        unit = gcd(*self.shares[1:])
        return (1, *(share // unit for share in self.shares[1:]))

    @property
    def unit(self) -> int:
        """The smallest of the weights, the root's excepted."""
        return min(self.weights[1:], default=1)

    def cutoff_at(self, level: int, cutoff: float) -> float:
        """Return the cutoff of a level: as much lower as its noise is, where the largest is given."""
        return cutoff * self.least_share / self.shares[level] if level else cutoff

    def shared_by(self, total: float) -> BranchingTree:
        """Return the tree with shares that suit its noisy total, in deviations of noise at all of epsilon."""
        return BranchingTree(self.addresses, branching=self.branching, shares=shares_by(self, total))

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

    def _unpadded(self, level: int) -> bool:
        """Return whether all prefixes of a level have cells; of the lowest one, that nothing is padding."""
        shift = self.shifts[level]
        return self.addresses.prefixes(shift) == 1 << (self.addresses.bits - shift)

    def children(self, prefixes: Numbers, level: int) -> tuple[Numbers, NDArray[np.intp]]:
        """Return the prefixes of all children, node by node, and the places of those that have cells."""
        width = self.width(level)
        every: Numbers = ((prefixes * width)[:, np.newaxis] + np.arange(width)).ravel()
        if self._unpadded(level + 1):
            return every, np.arange(every.size)
        if self.addresses.dimensions == 1:  # padding is at the end
            return every, np.flatnonzero(every < self.addresses.prefixes(self.shifts[level + 1]))
        return every, np.flatnonzero(self.cells_of(every, level + 1))

    def family(self, prefixes: Numbers, level: int) -> tuple[Numbers, NDArray[np.intp]]:
        """Return the prefixes of children that have cells, node by node, and the places of their parents."""
        every, real = self.children(prefixes, level)
        return every[real], real // self.width(level)

    def first_addresses(self, prefixes: Numbers, level: int) -> Numbers:
        """Return the first address of each prefix."""
        return prefixes << self.shifts[level]

    def boxes(self, prefixes: Numbers, level: int) -> tuple[Numbers, Numbers]:
        """Return where each prefix starts and stops along each dimension."""
        return self.addresses.boxes(prefixes, self.shifts[level])

    def branches(self, prefixes: Numbers, level: int) -> Numbers:
        """Return how many children of each node have cells."""
        starts, stops = self.addresses.boxes(prefixes, self.shifts[level])
        found: Numbers = np.prod(-((starts - stops) // self.addresses.sides(self.shifts[level + 1])), axis=1)
        return found

    def cells_of(self, prefixes: Numbers, level: int) -> Numbers:
        """Return how many cells each node has."""
        if self._unpadded(self.levels - 1):
            return np.full(prefixes.size, 1 << self.shifts[level], dtype=np.int64)
        starts, stops = self.addresses.boxes(prefixes, self.shifts[level])
        found: Numbers = np.prod(np.maximum(stops - starts, 0), axis=1)
        return found


def least_cutoff(branching: int, law: NoiseLaw, *, levels: int, weight: int = 1) -> int:
    """Return the smallest cutoff at which noise alone does not make a tree grow, of weighed counts: public.

    An empty node sends b P[X >= c] of its b children over a cutoff c on average. At a distance of ln(b/2)
    folds, that is one, which adds few nodes where levels are few; at ln(b/2) + 1 folds, which deep trees
    have, it is 1/e.

    >>> from fractions import Fraction
    >>> from hushtable.laws.geometric import Geometric
    >>> [least_cutoff(16, Geometric(Fraction(1, 60)), levels=levels) for levels in (4, 16)]
    [125, 185]
    """
    folds = log(branching / 2) + min(max((levels - 1) / _SHALLOW - 1, 0.0), 1.0)
    return max(ceil(law.floats.distance(folds) * weight), 1)


def lowest_rank(tree: BranchingTree, laws: Sequence[NoiseLaw]) -> int:
    """Return the smallest weighed count at which noise alone makes no level grow: public."""
    if tree.levels == 1:
        return least_cutoff(tree.branching, laws[0], levels=1)
    levels = zip(laws[1:], tree.weights[1:], strict=True)
    return max(least_cutoff(tree.branching, law, levels=tree.levels, weight=weight) for law, weight in levels)


def shares_by(tree: BranchingTree, total: float) -> tuple[int, ...]:
    r"""Return how levels should share epsilon, by a noisy total in deviations of noise: public.

    A question cuts nodes along its border: of B nodes of a level over d dimensions some B^((d-1)/d), each
    with children that are added up. Noise adds up to least if shares are as the cube roots of how many these
    are (Cormode, Procopiuc, Srivastava, Shen, Yu 2012). A level whose nodes would hold little beside the
    noise, if people were everywhere, gets less; but in deep trees hardly, where they must be close together.
    All shares are whole numbers with the sum that they usually have: so the root's own is always the same.

    >>> from hushtable.structures.addresses import LineAddresses
    >>> from hushtable.structures.lines import Line
    >>> tree = BranchingTree(LineAddresses(Line((4096,), places=(0,))), branching=16)
    >>> shares_by(tree, 10.0**6), shares_by(tree, 70.0)
    ((1, 4, 4, 4), (1, 9, 2, 1))
    """
    number = tree.levels - 1
    if number < 2:
        return tree.shares
    dimensions = tree.addresses.dimensions
    nodes = 2.0 ** (tree.addresses.bits - np.array(tree.shifts[:-1], dtype=np.float64))
    children = -np.diff(np.array(tree.shifts, dtype=np.float64))
    cut = np.cbrt(2.0**children * nodes ** ((dimensions - 1) / dimensions))
    reached = np.minimum(max(total, 1.0) / (_FEW / dimensions**2 * nodes), 1.0)
    wanted = cut * reached**_FALLING
    wanted = np.maximum(wanted, wanted.max() * min((number / _MANY) ** 3, 1.0))
    # One for each level, and the rest by the largest remainders; of equal ones the upper level comes first.
    parts = wanted / wanted.sum() * (_USUAL * number)
    shares = np.maximum(np.floor(parts), 1.0)
    for _ in range(int(_USUAL * number - shares.sum())):
        shares[np.argmax(parts - shares)] += 1
    while shares.sum() > _USUAL * number:
        shares[np.argmax(np.where(shares > 1, shares - parts, -np.inf))] -= 1
    return (1, *(int(share) for share in shares))
