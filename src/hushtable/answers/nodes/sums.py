"""Sums over the nodes of covers: what estimates and their errors need.

Promise: published nodes count with their weights; those that are absent, or shown as 0, by their factors. A
node is sampled where its count is below the threshold: then it weighs as much as the threshold.
Cost: some passes over the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.parts import Array
from hushtable.answers.estimation.sampling import Sampled
from hushtable.answers.nodes.covers import Cover
from hushtable.methods.weights import weights_of


@dataclass(frozen=True, slots=True)
class NodeSums:
    """One entry for each group of cells."""

    value: Array  # the sum of weights, and of the counts themselves
    seen: Array
    nodes: Array  # how many make up the group, with the squares and fourth powers of their factors
    squares: Array
    fourths: Array
    largest: Array  # factor in size
    absent: Array  # how many of them are not published, with the sizes and squares of their factors
    absent_sizes: Array
    absent_squares: Array
    up: Array  # of the sampled nodes that raise the sum: weights, counts, and the variance
    up_seen: Array
    up_variance: Array
    down: Array  # of those that lower it, in size
    down_seen: Array
    down_variance: Array
    ranges: Array

    @property
    def sampled(self) -> tuple[Sampled, Sampled]:
        """The sampled nodes that raise the sum, and those that lower it."""
        up = Sampled(self.up, self.up_seen, self.up_variance)
        return up, Sampled(self.down, self.down_seen, self.down_variance)


def sums_of(cover: Cover, counts: NDArray[np.int64], threshold: float) -> NodeSums:
    """Add up the nodes of each group; `counts` are those of the published rows."""
    number = len(cover.ranges)
    sizes = np.abs(cover.factors)
    published = np.flatnonzero(cover.rows >= 0)
    rows = cover.rows[published]
    published, rows = published[counts[rows] != 0], rows[counts[rows] != 0]
    groups, factors = cover.groups[published], cover.factors[published]
    seen = counts[rows].astype(np.float64)

    def added(values: Array, of: NDArray[np.intp], many: int = number) -> Array:
        return np.bincount(of, weights=values, minlength=many).astype(np.float64)

    absent = np.ones(len(sizes))
    absent[published] = 0.0
    sampled = np.flatnonzero(np.abs(seen) < threshold)
    sign = (factors[sampled] * seen[sampled] < 0).astype(np.intp)
    sides = groups[sampled] * 2 + sign
    factor, count = np.abs(factors[sampled]), np.abs(seen[sampled])
    totals = [
        added(each, sides, 2 * number).reshape(number, 2).T
        for each in (factor * threshold, factor * count, factor**2 * threshold * (threshold - count))
    ]
    largest = np.zeros(number)
    np.maximum.at(largest, cover.groups, sizes)
    return NodeSums(
        value=added(factors * weights_of(counts[rows], threshold), groups),
        seen=added(factors * seen, groups),
        nodes=added(np.ones_like(sizes), cover.groups),
        squares=added(sizes**2, cover.groups),
        fourths=added(sizes**4, cover.groups),
        largest=largest,
        absent=added(absent, cover.groups),
        absent_sizes=added(absent * sizes, cover.groups),
        absent_squares=added(absent * sizes**2, cover.groups),
        up=totals[0][0],
        up_seen=totals[1][0],
        up_variance=totals[2][0],
        down=totals[0][1],
        down_seen=totals[1][1],
        down_variance=totals[2][1],
        ranges=cover.ranges.astype(np.float64),
    )
