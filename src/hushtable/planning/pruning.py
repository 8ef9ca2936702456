r"""A pruned tree under a profile: which nodes are kept, and how well their counts are known.

Occupied cells are taken to lie at random, so that a node holds the sum of independent cells (`merging`), and
its siblings hold another. A node of count x is kept if its noisy count reaches the cutoff, and if its parent
is kept, which holds x and what the siblings hold:

    kept(x) = P[x + noise >= cutoff] E[kept above(x + siblings)], and the root always is.

What a reader makes of the nodes is `structures.fitting`: from the leaves up, noisy counts are weighed against
the sums of children and against even shares of their parents, by variances that are taken from the published
counts. Where cells lie at random, an even share is close to the mean of the level, which stands for it here.
What the variances come to follows from the laws of counts and noise, and so does how far estimates are off in
truth: kept nodes are often those that their noise has lifted.

Promise: expectations by formula, under the profile; nothing is drawn.
Cost: some milliseconds for each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from hushtable.laws.floats import Array, FloatView
from hushtable.laws.law import NoiseLaw
from hushtable.planning.merging import CountLaw, Merging
from hushtable.planning.profile import Profile
from hushtable.structures.addresses import LineAddresses
from hushtable.structures.branching import BranchingTree, lowest_rank
from hushtable.structures.fitting import ALIKE
from hushtable.structures.lines import Line

_LEAST = 1e-300  # so that nothing is divided by 0
_CHANCE = 1.0  # people: nobody is told from noise better than that
_UNTOLD = 1.25  # by simulation: which of them are which is not known
_CLOSE = 500  # a cutoff is searched for to so many parts of it


class Chances(NamedTuple):
    """By the count of a node: the chance that all nodes above it are kept, and that it is kept with them."""

    above: Array
    kept: Array


class Off(NamedTuple):
    """How far the estimates of nodes are off: the variance that a fit takes, and the mean square in truth."""

    taken: float
    true: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of the children of kept nodes, on one level."""

    kept_share: float
    kept: Off  # as what they tell of their parent
    divided: float  # the same in truth, as their part of what their parent has
    absent: Off
    uneven: float  # the mean sum of squares of the cells in an absent child
    jump: float  # of the occupied cells in absent children: the size that matters


class ProfileTree:
    """A profile in the nodes of a tree over cells in a line: the law of counts on each level."""

    def __init__(self, profile: Profile, *, cells_total: int, branching: int) -> None:
        self.profile, self.cells_total = profile, cells_total
        line = Line((cells_total,), places=(0,))
        self.tree = BranchingTree(LineAddresses(line), branching=branching)
        shifts = self.tree.shifts
        self.nodes = [1.0, *(cells_total / 2**shift for shift in shifts[1:])]
        # The last child of the root may be cut off by the end of the line; others have their full width.
        self.children = [-(-cells_total >> shifts[1]), *map(self.tree.width, range(1, len(shifts) - 1))]
        merging = Merging(profile, cells_total=cells_total)
        self.laws = [CountLaw(np.array([profile.people]), np.ones(1))]
        self.siblings = [CountLaw(np.zeros(1), np.ones(1))]
        for shift, children in zip(shifts[1:], self.children, strict=True):
            self.laws.append(_with_zero(merging.law(1 << shift)))
            self.siblings.append(_with_zero(merging.law(max(children - 1, 1) << shift)))

    def chances(self, noises: Sequence[FloatView], cutoff: float) -> list[Chances]:
        """Return which nodes are kept, level by level."""
        found = [Chances(np.ones(1), np.ones(1))]
        for level in range(1, self.tree.levels):
            counts, siblings = self.laws[level].values, self.siblings[level]
            above = np.ones(counts.size)
            if level > 1:
                parents = np.add.outer(counts, siblings.values)
                above = np.interp(parents, self.laws[level - 1].values, found[-1].kept) @ siblings.chances
            least = self.tree.cutoff_at(level, cutoff)
            found.append(Chances(above, above * noises[level].tail(np.ceil(least - counts), 0)))
        return found

    def rows(self, chances: list[Chances]) -> tuple[float, float]:
        """Return how many nodes are kept: of those that hold something, and of empty ones."""
        real, empty = 1.0, 0.0
        for number, law, each in zip(self.nodes[1:], self.laws[1:], chances[1:], strict=True):
            kept = number * law.chances * each.kept
            real, empty = real + float(kept[1:].sum()), empty + float(kept[0])
        return real, empty


def _with_zero(law: CountLaw) -> CountLaw:
    """Return a law with its chance of 0 as well."""
    empty = max(1 - float(law.chances.sum()), 0.0)
    return CountLaw(np.append(0.0, law.values), np.append(empty, law.chances))


def least_of(tree: BranchingTree, laws: Sequence[NoiseLaw]) -> int:
    """Return the smallest cutoff of a tree of some size, that of its noisiest level."""
    return ceil(lowest_rank(tree, laws) / tree.unit)


class PrunedTree:
    """The tree of a profile, pruned at a cutoff: which nodes are kept, and how well they are known."""

    def __init__(self, table: ProfileTree, *, laws: Sequence[NoiseLaw], cutoff: int) -> None:
        self.table, self.cutoff = table, cutoff
        self.noises = [law.floats for law in laws]
        self.cutoffs = [table.tree.cutoff_at(level, cutoff) for level in range(table.tree.levels)]
        self.chances = table.chances(self.noises, cutoff)

    @classmethod
    def of_size(cls, table: ProfileTree, *, laws: Sequence[NoiseLaw], size: int) -> PrunedTree:
        """Return the tree of about so many rows, or of fewer where noise alone would add the others."""

        def at(cutoff: int) -> PrunedTree:
            return cls(table, laws=laws, cutoff=cutoff)

        low = high = least_of(table.tree, laws)
        while at(high).rows > size:
            low, high = high, 2 * high
        while high - low > max(1, high // _CLOSE):
            middle = (low + high) // 2
            low, high = (middle, high) if at(middle).rows > size else (low, middle)
        return at(high)

    @property
    def rows(self) -> float:
        """The nodes that are kept."""
        return sum(self.table.rows(self.chances))

    @property
    def reached(self) -> list[float]:
        """The chance that the node of a level that holds a given cell is kept, for a cell by chance."""
        laws = zip(self.table.laws, self.chances, strict=True)
        return [float(law.chances @ each.kept) for law, each in laws]

    @cached_property
    def known(self) -> list[Known]:
        """The children of kept nodes, from those of the root on."""
        found: list[Known] = []
        for level in reversed(range(1, self.table.tree.levels)):
            found.insert(0, self._known(level, found[0] if found else None))
        return found

    @property
    def root(self) -> float:
        """The mean square by which the root is off."""
        noise = self.noises[0]
        trust, off = _from_below(self.known[0], self.table.children[0], noise)
        return trust**2 * noise.variance + (1 - trust) ** 2 * off

    def _known(self, level: int, below: Known | None) -> Known:
        """Return what is known of children on a level, by what is known of theirs."""
        noise, children, law = self.noises[level], self.table.children[level - 1], self.table.laws[level]
        cutoff = self.cutoffs[level]
        counts, examined = law.values, law.chances * self.chances[level].above
        lifted, first, second = (noise.tail(np.ceil(cutoff - counts), power) for power in range(3))
        kept, absent = examined * lifted, examined * (1 - lifted)
        some = max(float(kept.sum()), _LEAST)
        # 1. Moments of kept children, around the mean of all children, and of their noise.
        apart = counts - self._mean_noisy(level - 1) / children
        square_apart, both = float(kept @ apart**2) / some, float((examined * first) @ apart) / some
        square_noise = float((examined @ second) / some)
        least = (ALIKE * cutoff) ** 2
        around = max(square_apart + 2 * both + square_noise - noise.variance, least)
        # 2. What the fit makes of a kept child: noise and what lies below it first, then the mean.
        trust, off, variance = 1.0, 0.0, noise.variance
        if below is not None:
            trust, off = _from_below(below, self.table.children[level], noise)
            variance = trust * noise.variance
        own = around / (around + variance)
        true = own**2 * (trust**2 * square_noise + (1 - trust) ** 2 * off)
        true += (1 - own) ** 2 * square_apart - 2 * own * (1 - own) * trust * both
        # What is far from an even share is told from noise, and what is near to it is drawn there: each child
        # by itself, so that errors are little more than those of the nearer one.
        noisy = trust**2 * second / np.maximum(lifted, _LEAST) + (1 - trust) ** 2 * off
        squares = np.maximum(apart**2, _CHANCE)
        divided = _UNTOLD * float(kept @ (squares * noisy / (squares + noisy))) / some
        # 3. Absent children: the fit takes what lifted the kept ones for a difference of the others.
        share = float(kept.sum() / max(examined.sum(), _LEAST))
        mean = float(absent @ counts) / max(float(absent.sum()), _LEAST)
        spread = float(absent @ (counts - mean) ** 2) / max(float(absent.sum()), _LEAST)
        extra = share / max(1 - share, _LEAST) * (square_noise - noise.variance)
        taken = min(max(spread + extra, least), cutoff**2)
        uneven, jump = self._hidden(level, absent)
        return Known(
            kept_share=share,
            kept=Off(own * variance, max(true, 0.0)),
            divided=min(divided, max(true, 0.0)),
            absent=Off(taken, spread),
            uneven=uneven,
            jump=jump,
        )

    def _mean_noisy(self, level: int) -> float:
        """Return the mean noisy count of kept nodes."""
        if level == 0:
            return self.table.profile.people
        law, chances = self.table.laws[level], self.chances[level]
        examined, start = law.chances * chances.above, np.ceil(self.cutoffs[level] - law.values)
        noise = self.noises[level]
        lifted = float(examined @ (law.values * noise.tail(start, 0) + noise.tail(start, 1)))
        return lifted / max(float(law.chances @ chances.kept), _LEAST)

    def _hidden(self, level: int, absent: Array) -> tuple[float, float]:
        """Return the mean sum of squares of the cells in an absent child, and that as a share of their sum.

        The latter is a mean size: of cells by chance, a larger one counts for more.
        """
        law, profile = self.table.laws[level], self.table.profile
        away = np.divide(absent, law.chances, out=np.zeros_like(absent), where=law.chances > 0)
        # The chance that a child with one more cell of each count is absent.
        chance = np.interp(np.add.outer(profile.counts, law.values), law.values, away) @ law.chances
        cells = profile.cells / self.table.nodes[level] * chance / max(float(absent.sum()), _LEAST)
        people, squares = float(cells @ profile.counts), float(cells @ profile.counts**2)
        single = self.table.tree.shifts[level] == 0
        return 0.0 if single else squares, max(squares / max(people, _LEAST), 1.0)


def _from_below(below: Known, children: int, noise: FloatView) -> tuple[float, float]:
    """Return the share of a node's estimate that is its own noisy count, and how far its children are off."""
    kept = children * below.kept_share
    spread, off = (
        kept * one + (children - kept) * two for one, two in zip(below.kept, below.absent, strict=True)
    )
    return spread / max(spread + noise.variance, _LEAST), off
