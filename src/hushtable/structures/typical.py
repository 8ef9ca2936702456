r"""What the nodes of complete levels have: by their noisy counts, and by what is typical of their level.

1. From the lowest complete level up, the noisy count of a node is weighed against the sum of its children's,
   by their variances: that is least squares.
2. From the root down, a node's mass is divided among its children. Those that would have alike if the mass
   were spread evenly are of one class. How common each count is in a class is learned from the noisy counts,
   by expectation and maximisation: many classes hold mostly nothing and few large counts. That gives each
   child a mean and a variance. Counts far beyond the noise stay as they are.
3. What the means miss of the parent's mass goes to the children by their variances, and none comes out below
   0: that is the nearest point, in squares over variances, that is 0 or more and adds up.

Promise: a function of what is published. Masses are 0 or more; those of children add up to their parent's.
Cost: one sort for each level, and some hundred operations for each class and each count in it, in steps of a
part of the noise: not for each node.
Source: Hay, Rastogi, Miklau, Suciu (2010) for least squares; Robbins (1956) and Laird (1978) for means by
what is learned of all. What it is worth: docs/decisions/042.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.law import NoiseLaw

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_SPAN = 16.0  # deviations of the noise: up to there, counts are learned; beyond half of it, they stay
_STEP = 1 / 3  # of a deviation: how finely
_RISE = 1 / 8  # of a count: small ones are told apart better
_ROUNDED = 1 / 16  # of a deviation: noisy counts as close as that are taken for one
_LEAST_DEVIATION = 0.3
_CLASSES = 4  # in each doubling of an even share
_SMALLEST_CLASS, _LARGEST_CLASS = -12.0, 62.0  # doublings
_ENOUGH = 500  # nodes, to learn from
_ROUNDS = 40
_FAITH = 1.0  # as many nodes what is typical of all classes counts for in each
_FLOOR = 1e-4  # of the variance of the noise: no count is known better
_LEAST = 1e-280  # in place of 0, where it divides
_SMALLEST_VARIANCE, _LARGEST_VARIANCE = 1e-130, 2.0**105


class CompleteLevel(NamedTuple):
    """The nodes of a complete level: noisy counts, places of parents, and how many cells they have."""

    counts: Array
    parents: Places
    cells: Array


def complete_masses(levels: Sequence[CompleteLevel], laws: Sequence[NoiseLaw]) -> list[Array]:
    """Return the masses of the nodes of complete levels, the root's first; each level has its law."""
    noises = [min(max(law.floats.variance, _SMALLEST_VARIANCE), _LARGEST_VARIANCE) for law in laws]
    counts = [level.counts for level in levels]
    around = [np.full(level.counts.size, noise) for level, noise in zip(levels, noises, strict=False)]
    for above in reversed(range(len(levels) - 1)):
        below, number = levels[above + 1].parents, counts[above].size
        summed = np.bincount(below, weights=counts[above + 1], minlength=number)
        unsure = np.bincount(below, weights=around[above + 1], minlength=number)
        trust = unsure / (unsure + noises[above])
        counts[above] = trust * counts[above] + (1 - trust) * summed
        around[above] = trust * noises[above]
    found = [np.maximum(counts[0], 0.0)]
    for above, law in enumerate(laws[1 : len(levels)]):
        level, masses = levels[above + 1], found[-1]
        even = masses[level.parents] * (level.cells / levels[above].cells[level.parents])
        means, variances = _expected(counts[above + 1], even, law, noises[above + 1])
        variances *= around[above + 1] / noises[above + 1]
        found.append(settled(means, variances, level.parents, masses))
    return found


def settled(means: Array, variances: Array, owners: Places, totals: Array) -> Array:
    """Return the nearest numbers of 0 or more, in squares over variances, that add up to owners' totals.

    >>> owners = np.array([0, 0, 0, 1])
    >>> settled(np.array([5.0, 1.0, -3.0, 2.0]), np.ones(4), owners, np.array([4.0, 7.0])).tolist()
    [4.0, 0.0, 0.0, 7.0]
    """
    number = totals.size
    missing = totals - np.bincount(owners, weights=means, minlength=number)
    unsure = np.bincount(owners, weights=variances, minlength=number)
    found = means + (missing / np.maximum(unsure, _LEAST))[owners] * variances
    below = np.zeros(number, dtype=np.bool_)
    below[owners[found < 0]] = True
    rows = np.flatnonzero(below[owners])
    if rows.size:
        found[rows] = _above_zero(means[rows], variances[rows], owners[rows], totals)
    # Where rounding leaves nothing, or a little more or less than the total, all are scaled to it.
    found = np.maximum(found, 0.0)
    lost = np.bincount(owners, weights=found, minlength=number) <= 0
    found = np.where(lost[owners], variances, found)
    scale = np.maximum(totals, 0.0) / np.maximum(np.bincount(owners, weights=found, minlength=number), _LEAST)
    return found * scale[owners]


def _above_zero(means: Array, variances: Array, owners: Places, totals: Array) -> Array:
    """Return the same where some would come out below 0: these are 0, and others share what is missing."""
    # Those that reach 0 last come first: each owner keeps as many of them as stay above 0.
    ratios = means / variances
    order = np.lexsort((-ratios, owners))
    mine, ratios = owners[order], ratios[order]
    new = np.append(True, mine[1:] != mine[:-1])
    starts, group = np.flatnonzero(new), np.cumsum(new) - 1
    summed, unsure = (_since(values[order], starts, group) for values in (means, variances))
    shifts = (totals[mine] - summed) / unsure
    kept = np.bincount(group, weights=ratios > -shifts).astype(np.intp)
    shift = shifts[starts + np.maximum(kept, 1) - 1][group]
    found = np.empty_like(means)
    found[order] = np.maximum(means[order] + shift * variances[order], 0.0)
    return found


def _since(values: Array, starts: Places, group: Places) -> Array:
    """Add up values from the start of each group on."""
    sums = np.cumsum(values)
    found: Array = sums - np.append(0.0, sums)[starts][group]
    return found


def _expected(counts: Array, even: Array, law: NoiseLaw, noise: float) -> tuple[Array, Array]:
    """Return the means and variances of true counts, by noisy ones and even shares."""
    deviation = max(noise**0.5, _LEAST_DEVIATION)
    grid = _grid(deviation)
    # 1. Classes, and noisy counts in small steps: as many pairs as there are, however many nodes.
    step = max(1.0, float(np.floor(_ROUNDED * deviation)))
    near = counts <= grid[-1]
    if not near.any():
        return counts, np.full(counts.size, noise)
    steps = np.round(np.clip(counts[near], -grid[-1], grid[-1]) / step).astype(np.int64)
    with np.errstate(divide="ignore"):
        doublings = np.clip(np.log2(even[near]), _SMALLEST_CLASS, _LARGEST_CLASS)
    classes = np.floor(_CLASSES * (doublings - _SMALLEST_CLASS)).astype(np.int64)
    sizes = np.bincount(classes)
    classes = ((np.cumsum(sizes) - sizes) // _ENOUGH)[classes]  # small neighbours are one class
    width = 2 * round(grid[-1] / step) + 1
    pairs, places, number = np.unique(
        classes * width + steps + width // 2, return_inverse=True, return_counts=True
    )
    kinds, kind_of = np.unique(pairs // width, return_inverse=True)
    noisy = (pairs % width - width // 2) * step
    # 2. How common each count is, in all classes and in each.
    chances = np.maximum(law.floats.mass(noisy[:, np.newaxis] - grid), _LEAST)
    together = np.full(grid.size, 1 / grid.size)
    for _ in range(_ROUNDS):
        together = _learned(chances, together[np.newaxis], np.zeros(pairs.size, dtype=np.intp), number)[0]
        together /= together.sum()
    common = np.tile(together, (kinds.size, 1))
    for _ in range(_ROUNDS):
        common = _learned(chances, common, kind_of, number) + _FAITH * together
        common /= common.sum(axis=1, keepdims=True)
    # 3. What each pair has, then.
    likely = chances * common[kind_of]
    likely /= likely.sum(axis=1, keepdims=True)
    means = likely @ grid
    variances = np.maximum(likely @ grid**2 - means**2, _FLOOR * noise)
    found, around = counts.copy(), np.full(counts.size, noise)
    learned = np.flatnonzero(near)[counts[near] <= grid[-1] / 2]
    places = places.ravel()[counts[near] <= grid[-1] / 2]
    found[learned], around[learned] = means[places], variances[places]
    return found, around


def _learned(chances: Array, common: Array, kind_of: Places, number: NDArray[np.int64]) -> Array:
    """Return how many nodes of each class have each count, by how common counts were taken to be."""
    likely = chances * common[kind_of]
    likely *= (number / likely.sum(axis=1))[:, np.newaxis]
    # Pairs are in the order of their classes.
    starts = np.flatnonzero(np.append(True, kind_of[1:] != kind_of[:-1]))
    found: Array = np.add.reduceat(likely, starts, axis=0)
    return found


def _grid(deviation: float) -> Array:
    """Return the counts that are told apart."""
    found = [0.0]
    while found[-1] < _SPAN * deviation:
        found.append(found[-1] + max(1.0, min(found[-1] * _RISE, deviation * _STEP)))
    return np.array(found)
