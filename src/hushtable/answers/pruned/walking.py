r"""Sums over the cells of questions, from a fitted tree, with their variances.

A question covers a node wholly, not at all, or in part. Only nodes in part are walked into. Let the answer
within a child c of such a node be alpha T_c and a rest of variance R: 1 and 0 if it is covered, 0 and 0 if
not; the covered share and the unevenness of an absent child, if that is covered in part. Given the count T
of their parent, children follow it by f_c T, and share what is left by their variances v_c
(`structures.fitting.Given`); so that within the parent

    alpha = sum alpha_c f_c + (1 - sum f_c) A
    R = sum R_c + sum (alpha_c - A)^2 v_c, where A = sum alpha_c v_c / sum v_c.

Absent children together are one such child: within it, each has the variance that is usual. At the root, the
variance of the answer is alpha^2 v + R. Where an absent child has its cells is not known: half of what it
would be if they were all in one place is taken for its unevenness.

Promise: the estimate is the sum of own masses, each times the covered share of the cells that it lies in.
Cost: `branching` boxes for each group and each node that the group covers in part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.pruned.bounds import LookedAt, TreeBounds
from hushtable.answers.pruned.coverage import Coverage, Places
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import Fit, Level

Array = NDArray[np.float64]
_UNEVEN = 0.5


class _Step(NamedTuple):
    """The children of the nodes that groups cover in part, on one level."""

    nodes: Places  # the nodes of the pairs of group and node that were walked into, as places in their level
    parents: Places  # places among these pairs
    shares: Array  # covered, from 0 to 1
    whole: NDArray[np.bool_]  # covered to the last cell, which shares do not tell of many
    sizes: Array  # cells, as a multiple of the mean of their parent's children
    rows: Places  # their places in the level, -1 if they are not kept
    inside: Places  # which of them are walked into


class Walked(NamedTuple):
    """Of each group, the sum of published masses; what least squares alone say, and its variance."""

    value: Array
    free: Array
    variance: Array


def walked(tree: BranchingTree, fit: Fit, coverage: Coverage, *, bounds: TreeBounds | None = None) -> Walked:
    """Return the answer for each group, and tell `bounds` of the nodes that were looked at."""
    groups = np.arange(coverage.number)
    rows = np.zeros(coverage.number, dtype=np.intp)
    value, free = np.zeros(coverage.number), np.zeros(coverage.number)
    covered = covered_share(tree, coverage)
    steps: list[_Step] = []
    for level in range(tree.levels - 1):
        above, below = fit.levels[level], fit.levels[level + 1]
        step, owners = _step(tree, level, above, below, coverage, groups, rows)
        kept = step.rows >= 0
        counted = ~kept | step.whole
        if bounds is not None:
            counts = np.append(below.counts, 0.0)[step.rows]
            parents = covered[step.parents]
            bounds.add(LookedAt(owners, step.shares, parents, step.whole, counts, kept))
        for found, masses, own in ((value, fit.masses, fit.own), (free, fit.free_masses, fit.free_own)):
            density = own[level][rows] / np.maximum(above.absent[rows], 1e-300)
            here = density[step.parents] * step.sizes
            here[kept] = masses[level + 1][step.rows[kept]]
            found += np.bincount(
                owners[counted], weights=(here * step.shares)[counted], minlength=coverage.number
            )
        steps.append(step)
        groups, rows, covered = owners[step.inside], step.rows[step.inside], step.shares[step.inside]
    alpha, rest = np.zeros(0), np.zeros(0)
    for level in reversed(range(tree.levels - 1)):
        alpha, rest = _climbed(fit.levels[level], steps[level], alpha, rest)
    root = fit.levels[0].estimates.variances[0]
    if tree.levels == 1:
        return Walked(covered * fit.masses[0][0], covered * fit.free_masses[0][0], covered * root)
    return Walked(value, free, alpha**2 * root + rest)


def covered_share(tree: BranchingTree, coverage: Coverage) -> Array:
    """Return which part of all cells each group covers."""
    groups, root = np.arange(coverage.number), np.zeros(coverage.number, dtype=np.int64)
    starts, stops = tree.addresses.boxes(root, tree.shifts[0])
    found: Array = coverage.cells(groups, starts, stops) / np.prod(stops[:1] - starts[:1])
    return found


def _step(
    tree: BranchingTree,
    level: int,
    above: Level,
    below: Level,
    coverage: Coverage,
    groups: Places,
    rows: Places,
) -> tuple[_Step, Places]:
    """Look at all children of the nodes at `rows`, for the group beside each."""
    prefixes, real = tree.children(above.prefixes[rows], level)
    parents = real // tree.width(level)
    prefixes, owners = prefixes[real], groups[parents]
    starts, stops = tree.addresses.boxes(prefixes, tree.shifts[level + 1])
    cells, covered = np.prod(stops - starts, axis=1), coverage.cells(owners, starts, stops)
    whole = covered == cells
    places = np.searchsorted(below.prefixes, prefixes)
    same = np.zeros(prefixes.size, dtype=np.bool_)
    if below.prefixes.size:
        same = below.prefixes.take(places, mode="clip") == prefixes
    found: NDArray[np.intp] = np.where(same, places, -1)
    inside = np.flatnonzero(same & (covered > 0) & ~whole)
    sizes = cells / above.child_cells[rows][parents]
    return _Step(rows, parents, covered / cells, whole, sizes, found, inside), owners


def _climbed(above: Level, step: _Step, alpha: Array, rest: Array) -> tuple[Array, Array]:
    """Return what the answer within each parent is, from what it is within the children walked into."""
    kept, absent = np.flatnonzero(step.rows >= 0), np.flatnonzero(step.rows < 0)
    alphas, rests = step.shares.copy(), np.zeros(step.shares.size)
    alphas[step.inside], rests[step.inside] = alpha, rest
    start, slope, variance = (each[step.nodes][step.parents] for each in above.trend)
    means = start + slope * above.followed[step.nodes][step.parents]
    uneven = _UNEVEN * step.sizes * (variance + means**2) * alphas * (1 - alphas)
    rests[absent] = uneven[absent]
    # Absent children together are one more child.
    number = step.nodes.size
    others, others_rest = _among(
        step.parents[absent], number, alphas[absent], rests[absent], (step.sizes * variance)[absent]
    )
    parents = np.append(step.parents[kept], np.arange(number))
    alphas, rests = np.append(alphas[kept], others), np.append(rests[kept], others_rest)
    rows = step.rows[kept]
    _, follows, variances = (
        np.append(own[rows], together[step.nodes])
        for own, together in zip(above.children, above.others, strict=True)
    )
    shared, among = _among(parents, number, alphas, rests, variances)
    following = np.bincount(parents, weights=follows, minlength=number)
    alone = np.bincount(parents, weights=alphas * follows, minlength=number)
    return alone + (1 - following) * shared, among


def _among(
    parents: Places, number: int, alphas: Array, rests: Array, variances: Array
) -> tuple[Array, Array]:
    """Return the answer within parents whose children share a rest by their variances."""

    def sums(values: Array) -> Array:
        return np.asarray(np.bincount(parents, weights=values, minlength=number), dtype=np.float64)

    together = np.maximum(sums(variances), 1e-300)
    shared = sums(alphas * variances) / together
    return shared, sums(rests) + sums((alphas - shared[parents]) ** 2 * variances)
