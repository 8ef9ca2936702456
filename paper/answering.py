"""What a recipient reads off a summary: values of cells, and sums over ranges.

Rows of a structure are nodes; `summary.nodes.intervals` tells their level and their first and last cell.

* Cells: a row is a cell with its weight; all others count 0.
* Haar: the total is split down to cells, by the published differences; an absent one splits evenly.
* Tree: a row's weight lies evenly on those of its cells that are in no published child.
* Dyadic: a range is the sum of the fewest nodes that make it up, absent ones counting 0. Cells alone do not
  say that, since nodes above them hold noise of their own.

`consistent` is the paper's check: it drops nodes that lie in a range which is not published.

Promise: agrees with `release.total` on what is published with the same rows.
Cost: time and memory follow the number of cells, which are few in experiments.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from paper.data import Ranges

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


def cell_values(summary: ht.Summary, cells: int) -> Array:
    """Return what every cell counts, by any summary but one of dyadic ranges."""
    match summary.structure:
        case ht.Haar():
            return _haar_values(summary, cells)
        case ht.Tree():
            return _tree_values(summary, cells)
        case ht.Dyadic():
            raise ValueError("dyadic ranges say nothing of single cells; ask for ranges")
    found = np.zeros(cells)
    found[summary.codes[:, 0]] = summary.weights
    return found


def range_sums(summary: ht.Summary, ranges: Ranges, cells: int) -> Array:
    """Return the sums over all ranges, in the shape of their starts."""
    if isinstance(summary.structure, ht.Dyadic):
        return _dyadic_sums(summary, ranges.starts, ranges.stops, cells)
    return value_sums(cell_values(summary, cells), ranges)


def value_sums(values: Array | Numbers, ranges: Ranges) -> Array:
    """Return the sums over all ranges, from the values of cells."""
    before = np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])
    found: Array = before[ranges.stops] - before[ranges.starts]
    return found


def consistent(summary: ht.Summary) -> ht.Summary:
    """Return a summary of dyadic ranges without the nodes of which some ancestor is missing."""
    levels, firsts, lasts = _nodes(summary)
    height = int(levels.max(initial=0))
    kept = levels == 0
    for level in range(1, height + 1):
        parents, rows = firsts[(levels == level - 1) & kept], np.flatnonzero(levels == level)
        last_parents = lasts[(levels == level - 1) & kept]
        if parents.size:
            above = np.searchsorted(parents, firsts[rows], side="right") - 1
            kept[rows] = (above >= 0) & (last_parents[above] >= firsts[rows])
    some = np.flatnonzero(kept)
    return replace(
        summary, codes=summary.codes[some], counts=summary.counts[some], weights=summary.weights[some]
    )


def priority_sample(summary: ht.Summary, size: int, random: np.random.Generator) -> ht.Summary:
    """Return a priority sample of the rows, in floats: for what is left after the check."""
    if len(summary) <= size:
        return summary
    values = np.abs(summary.counts).astype(np.float64)
    priorities = values / (1 - random.random(values.size))
    order = np.argsort(-priorities)
    threshold, some = float(priorities[order[size]]), np.sort(order[:size])
    weights = np.sign(summary.counts[some]) * np.maximum(values[some], threshold)
    return replace(
        summary, codes=summary.codes[some], counts=summary.counts[some], weights=weights, threshold=threshold
    )


def _nodes(summary: ht.Summary) -> tuple[Numbers, Numbers, Numbers]:
    """Return the level, the first cell and the last of each row of a line."""
    if summary.nodes is None or not hasattr(summary.nodes, "intervals"):
        raise ValueError("cells and sketches have no nodes in a line")
    levels, firsts, lasts = summary.nodes.intervals(summary.codes)
    return levels[:, 0].astype(np.int64), firsts[:, 0], lasts[:, 0]


def _dyadic_sums(summary: ht.Summary, starts: Numbers, stops: Numbers, cells: int) -> Array:
    height = (cells - 1).bit_length()
    levels, firsts, _ = _nodes(summary)
    found = np.zeros(starts.shape)
    # A range that ends with the line may as well end with its padding: that takes fewer nodes.
    low, high = starts.copy(), np.where(stops == cells, 1 << height, stops)
    for level in reversed(range(height + 1)):
        rows = levels == level
        values = np.zeros((1 << level) + 1)  # one more, for ends that take no node
        values[firsts[rows] >> (height - level)] = summary.weights[rows]
        inside = low < high
        # A right child at the lower end, or a left one at the upper end: its parent is not inside.
        found += values[np.where(inside & (low & 1 == 1), low, -1)]
        found += values[np.where(inside & (high & 1 == 1), high - 1, -1)]
        low, high = low + 1 >> 1, high >> 1
    return found


def _haar_values(summary: ht.Summary, cells: int) -> Array:
    height = (cells - 1).bit_length()
    levels, firsts, _ = _nodes(summary)
    sums = np.zeros(1)
    sums[0] = summary.weights[levels == 0].sum()
    for level in range(1, height + 1):
        width = 1 << (height - level + 1)
        rows = levels == level
        split = np.zeros(sums.size)
        split[firsts[rows] // width] = summary.weights[rows]
        # What lies wholly in the padding is known to be empty, so the left half has it all.
        alone = np.arange(sums.size) * width + width // 2 >= cells
        left = np.where(alone, sums, (sums + split) / 2)
        sums = np.stack([left, sums - left], axis=1).ravel()
    return sums[:cells]


def _tree_values(summary: ht.Summary, cells: int) -> Array:
    levels, firsts, lasts = _nodes(summary)
    here = lasts - firsts + 1
    above = np.zeros(firsts.size, dtype=np.intp)
    rooms = here.astype(np.float64)
    for level in range(1, int(levels.max()) + 1):
        parents, rows = np.flatnonzero(levels == level - 1), np.flatnonzero(levels == level)
        above[rows] = parents[np.searchsorted(firsts[parents], firsts[rows], side="right") - 1]
        np.subtract.at(rooms, above[rows], here[rows])
    each = np.where(rooms > 0, summary.weights / np.maximum(rooms, 1), 0.0)
    # A cell has what its deepest row gives: steps where rows begin and end, added up along the line.
    step = np.where(levels > 0, each - each[above], each)
    begun = np.bincount(firsts, weights=step, minlength=cells + 1)
    ended = np.bincount(lasts + 1, weights=step, minlength=cells + 1)
    found: Array = np.cumsum(begun - ended)[:cells]
    return found
