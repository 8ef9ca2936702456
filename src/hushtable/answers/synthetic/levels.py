"""Whole numbers of a hierarchy, and where those stand that no published node has.

From the root down, the whole number of a node is shared out among its published children and the rest, in
proportion to their fitted masses (`rounding.shared`). The rest stands evenly in the cells of absent children.

Promise: whole numbers are 0 or more. Those of the published children of a node add up to its own, or to less,
and then the rest stands in absent children. Each lies within 1 of its part of the number above it.
Cost: one sort for each level; an entry for each row that is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushtable.answers.synthetic.rounding import Numbers, shared, spread
from hushtable.structures.fitting import Fit
from hushtable.structures.refining import RefinedTree


class WholeLevel(NamedTuple):
    """Of each published node of a level, its whole number, and how much of it stands in absent children."""

    numbers: Numbers
    rest: Numbers


def whole_levels(fit: Fit, *, total: int) -> list[WholeLevel]:
    """Return the whole numbers of all published nodes, with this one at the root."""
    numbers = np.array([total], dtype=np.int64)
    found: list[WholeLevel] = []
    for level, below, masses, own in zip(
        fit.levels, [*fit.levels[1:], None], [*fit.masses[1:], None], fit.own, strict=True
    ):
        if below is None or masses is None:
            found.append(WholeLevel(numbers, numbers))
            break
        hidden = np.flatnonzero(level.absent_cells > 0)
        owners = np.concatenate([below.parents, hidden])
        given = shared(
            numbers, owners, np.concatenate([np.maximum(masses, 0.0), np.maximum(own[hidden], 0.0)])
        )
        rest = np.zeros_like(numbers)
        rest[hidden] = given[below.parents.size :]
        found.append(WholeLevel(numbers, rest))
        numbers = given[: below.parents.size]
    return found


def positions(tree: RefinedTree, fit: Fit, levels: list[WholeLevel]) -> Numbers:
    """Return the positions of all that the whole numbers count, one each, in ascending order."""
    found = [np.repeat(fit.levels[-1].prefixes, levels[-1].numbers)]
    for number, (level, whole) in enumerate(zip(fit.levels[:-1], levels, strict=False)):
        below = fit.levels[number + 1]
        absent = level.cells.copy()
        np.subtract.at(absent, below.parents, below.cells)
        owners, places = spread(whole.rest, absent)
        # A place among the absent cells of a node, and of all nodes before it; children cut these cells.
        before = np.cumsum(absent) - absent
        kept = np.cumsum(below.cells) - below.cells
        first_child = np.searchsorted(below.parents, np.arange(level.cells.size))
        kept_before = np.append(kept, below.cells.sum())[first_child]  # cells of children of earlier nodes
        inside = below.prefixes - level.prefixes[below.parents] - (kept - kept_before[below.parents])
        cuts = before[below.parents] + inside
        passed = np.searchsorted(cuts, before[owners] + places, side="right")
        skipped = np.append(kept, below.cells.sum())[passed] - kept_before[owners]
        found.append(level.prefixes[owners] + places + skipped)
    return np.sort(np.concatenate(found))
