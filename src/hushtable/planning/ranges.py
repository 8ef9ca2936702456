r"""How far sums over ranges lie from the truth, if they are answered from a pruned tree.

A range covers nodes wholly, but for those on the paths to its two ends. A path goes down as far as nodes are
kept, and stops in an absent one. Let a kept node on it have the count T, and its children errors e and
variances v. The children share T out by their variances, so that what is covered of them is off by

    sum (a - A) e,      A = sum a v / sum v,

where a is the covered share of each child. In an absent child that is covered in part, its cells are taken to
lie evenly, and that is off too. Which children are kept, and where a range lies, is a matter of chance.

Errors of two kinds add up. Those of noise are normal. Those of cells that nobody sees are mostly next to
nothing and sometimes large: a Poisson number of cells of one size, of which the mean deviation is known.

Promise: expectations by formula, under the profile; ranges lie at fixed places, so that nothing is drawn.
Cost: some milliseconds for each length.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.floats import Array
from hushtable.planning.pruning import Known, PrunedTree

_PLACES = 256  # of a range of each length
_GOLDEN = 0x9E3779B97F4A7C15  # of 2^64, the golden share: its multiples lie evenly, and in no step with nodes
_LEAST = 1e-100  # so that nothing is divided by 0, and squares of what comes out are numbers
_SURE = 1e-12
_KINDS = 3  # of sums: the variance by noise, that by hidden cells, and how many of them there are


class Within(NamedTuple):
    """The variance of what is covered of the children of a node: own * sum a^2 + shared * (sum a)^2."""

    own: float
    shared: float


def within(known: Known, children: int) -> tuple[Within, Within]:
    """Return the variance within a node by the errors of its kept children, and by those of absent ones."""
    number = np.arange(children + 1.0)  # of kept ones
    chance = _binomial(children, known.kept_share)
    spread = np.maximum(number * known.kept.taken + (children - number) * known.absent.taken, _LEAST)
    kept, absent = known.kept.taken / spread, known.absent.taken / spread  # shares of one child
    squares = number * kept**2 + (children - number) * absent**2

    def part(count: Array, share: Array, true: float) -> Within:
        off = count * true
        # Of one child times itself, and of one child times another, on average over all their orders.
        same = float(chance @ (off * (1 - 2 * share + squares))) / children
        other = float(chance @ (off * (2 * share - 1 - squares))) / (children * max(children - 1, 1))
        return Within(same - other, other)

    return part(number, kept, known.divided), part(children - number, absent, known.absent.true)


def _binomial(number: int, chance: float) -> Array:
    """Return the binomial law, for a chance that is next to 0 or 1 as well."""
    ways = np.arange(1.0, number + 1)
    logs = np.append(0.0, np.cumsum(np.log((number + 1 - ways) / ways)))
    share = min(max(chance, _SURE), 1 - _SURE)
    places = np.append(0.0, ways)
    return np.asarray(np.exp(logs + places * np.log(share) + (number - places) * np.log1p(-share)))


class _End(NamedTuple):
    """One end of ranges on one level: what is covered of the children of the node that it lies in.

    While both ends lie in one node, all between them belongs to the first.
    """

    part: Array  # of the child that the end lies in
    whole: Array  # other children
    both: Array  # all of it, added up


class RangeErrors:
    """Errors of sums over ranges of a pruned tree."""

    def __init__(self, pruned: PrunedTree) -> None:
        self._pruned, table = pruned, pruned.table
        self._cells, self._shifts = table.cells_total, table.tree.shifts
        self._within = [within(*each) for each in zip(pruned.known, table.children, strict=True)]
        reached = np.array([*pruned.reached, 0.0])
        self._reached, self._stops = reached, -np.diff(reached)  # stops[i]: absent below level i

    def mean_errors(self, sizes: Sequence[int]) -> dict[int, float]:
        """Return the mean size of the error over ranges of so many cells."""
        return {size: self._mean_error(size) for size in sizes}

    def _mean_error(self, size: int) -> float:
        span = self._cells - size + 1
        starts = np.array([(place * _GOLDEN % 2**64) * span >> 64 for place in range(1, _PLACES + 1)])
        lasts = starts + (size - 1)
        levels = len(self._shifts)
        one, two = np.zeros((2, _KINDS, levels, _PLACES))
        common = np.zeros(_PLACES, dtype=np.intp)  # the deepest node that holds all of the range
        for level, known in enumerate(self._pruned.known):
            joint = starts >> self._shifts[level] == lasts >> self._shifts[level]
            common[joint] = level
            for sums, end in zip((one, two), self._ends(level, starts, lasts, joint), strict=True):
                self._add(sums, level, known, end)
        one[0] += self._pruned.root * (size / self._cells) ** 2
        # Up to the common node, both ends stop together; below it each for itself.
        depth = np.arange(levels)[:, np.newaxis]
        stops = self._stops[:, np.newaxis]
        together = np.where(depth < common, stops, 0.0)
        apart = np.where(depth < common, 0.0, stops)
        found = (together * _mean_size(*one)).sum(axis=0)
        pairs = apart[:, np.newaxis] * apart / np.maximum(self._reached[common], _LEAST)
        found += (pairs * _mean_size(*(one[:, :, np.newaxis] + two[:, np.newaxis]))).sum(axis=(0, 1))
        return float(found.mean())

    def _ends(
        self, level: int, starts: NDArray[np.int64], lasts: NDArray[np.int64], joint: NDArray[np.bool_]
    ) -> tuple[_End, _End]:
        """Return what ranges cover of the children of nodes on a level, at both of their ends."""
        shift, children = self._shifts[level + 1], 1 << (self._shifts[level] - self._shifts[level + 1])
        cells, first, last = 2.0**shift, starts >> shift, lasts >> shift
        alone = joint & (first == last)
        left = np.where(alone, lasts - starts + 1, (first + 1 << shift) - starts) / cells
        right = np.where(alone, 0, lasts + 1 - (last << shift)) / cells
        between = np.where(joint, np.maximum(last - first - 1, 0), children - 1 - first % children)
        before = np.where(joint, 0, last % children)
        return (
            _End(left, between, left + between + np.where(joint, right, 0.0)),
            _End(right, before, np.where(joint, 0.0, right + before)),
        )

    def _add(self, sums: Array, level: int, known: Known, end: _End) -> None:
        """Add what a level contributes: to paths that stop right below it, and to those that go on."""
        (kept, absent), square = self._within[level], end.part**2
        noise = kept.own * end.whole + kept.shared * end.both**2
        hidden = absent.own * end.whole + absent.shared * end.both**2
        # The child that the end lies in is kept where the path goes on, and absent where it stops.
        share = min(max(known.kept_share, _SURE), 1 - _SURE)
        on = noise + kept.own / share * square
        stopped = hidden + absent.own / (1 - share) * square + known.uneven * end.part * (1 - end.part)
        sums[:, level] += noise, stopped, np.maximum(stopped, 0.0) / known.jump**2
        beyond = np.stack([on, hidden, np.maximum(hidden, 0.0) / known.jump**2])
        sums[:, level + 1 :] += beyond[:, np.newaxis]


def _mean_size(noise: Array, hidden: Array, number: Array) -> Array:
    """Return the mean size of a normal error beside a Poisson number of hidden cells."""
    few = 2 * number * np.exp(-number)
    many = np.sqrt(2 * number / pi) * (1 - 1 / (12 * np.maximum(number, 1.0)))
    deviation = np.where(number < 1, few, many) ** 2 / np.maximum(number, _LEAST)
    return np.sqrt(np.maximum(hidden, 0.0) * deviation + np.maximum(noise, 0.0) * 2 / pi)
