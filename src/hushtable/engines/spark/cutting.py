"""Where slices begin: as much work in each, whatever the rows are like.

The work of a slice is its rows and the empty cells that will be drawn from it, which lie evenly. Slices are
cut along the first word of keys. Where one value of it holds too much, it is cut along the next word, and so
on: the slices are boxes, one after the other in the order of keys. A line of cells under a tree is halved
instead, again and again where there is too much work.

Promise: boxes cover the domain once, in order, and blocks the line. Where cuts lie does not change any law,
so floats do for finding them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.engines.spark.tasks import Box
from hushtable.table.lifting import Block

_SLICES = 1 << 11  # for more, the pieces of runs would be too many and too small
_LEAST, _MOST = 1 << 16, 1 << 20  # work of a slice: worth a task's start, and little enough for its memory


def target_of(work: float, *, workers: int) -> float:
    """Return how much of some work a slice should have: three for each worker, if that is not too much."""
    return max(min(max(work / (3 * workers), _LEAST), _MOST), work / _SLICES)


def boxes_over(
    bounds: Sequence[int], sample: Keys, weights: NDArray[np.float64], *, drawn: float, target: float
) -> list[Box]:
    """Cut a domain into boxes with about `target` work each.

    `sample` are keys in ascending order, each of which stands for as many rows as `weights` says; `drawn` is
    how many empty cells will be drawn.
    """
    return [
        Box((*prefix, start, *(0,) * (len(bounds) - len(prefix) - 1)), (*(1,) * len(prefix), size, *later))
        for prefix, start, size, later in _cut((), bounds, sample, weights, drawn, target)
    ]


def _cut(
    prefix: tuple[int, ...],
    bounds: Sequence[int],
    sample: Keys,
    weights: NDArray[np.float64],
    drawn: float,
    target: float,
) -> list[tuple[tuple[int, ...], int, int, tuple[int, ...]]]:
    """Return boxes below a prefix: it, where they begin in the next word, how long they are, the rest."""
    bound, later = bounds[0], tuple(bounds[1:])
    values, firsts = np.unique(sample[0], return_index=True)
    totals = np.add.reduceat(weights, firsts) if firsts.size else weights
    edges = [0, *_edges(values, totals, bound, drawn, target, isolate=bool(later)), bound]
    found = []
    for low, high in pairwise(edges):
        share = drawn * ((high - low) / bound)
        inner = slice(*(int(np.searchsorted(sample[0], np.uint64(low), side)) for side in ("left", "right")))
        if later and high - low == 1 and weights[inner].sum() + share > 2 * target:
            found += _cut((*prefix, low), later, sample[1:, inner], weights[inner], share, target)
        else:
            found.append((prefix, low, high - low, later))
    return found


def _edges(
    values: NDArray[np.uint64],
    weights: NDArray[np.float64],
    bound: int,
    drawn: float,
    target: float,
    *,
    isolate: bool,
) -> list[int]:
    """Return where to cut, for equal steps of rows before a value plus what is drawn there."""
    step = drawn / bound
    before = np.concatenate([[0.0], np.cumsum(weights)])
    reached = before[1:] + step * values.astype(np.float64)  # up to each sampled value, and with it
    edges: set[int] = set()
    for wanted in np.arange(target, before[-1] + drawn, target):
        place = int(np.searchsorted(reached, wanted))
        ahead = int(min((wanted - before[place]) / step, float(bound))) if step else bound
        if place < values.size and ahead >= int(values[place]):
            ahead = int(values[place])
            if isolate and weights[place] > target:
                edges.add(ahead + 1)
        edges.add(ahead)
    return sorted(edge for edge in edges if 0 < edge < bound)


def blocks_over(
    cells: int, sample: Keys, weights: NDArray[np.float64], *, drawn: float, target: float
) -> list[Block]:
    """Cut a line into blocks with no more than `target` work, or of one cell."""
    found: list[Block] = []
    before = np.concatenate([[0.0], np.cumsum(weights)])
    waiting = [Block(0, (cells - 1).bit_length())]
    while waiting:
        block = waiting.pop()
        end = min(block.start + (1 << block.shift), cells)
        first, last = np.searchsorted(sample[0], np.array([block.start, end], dtype=np.uint64))
        work = before[last] - before[first] + drawn * ((end - block.start) / cells)
        if work <= target or not block.shift:
            found.append(block)
            continue
        half = block.shift - 1
        halves = [Block(block.start, half), Block(block.start + (1 << half), half)]
        waiting += [each for each in reversed(halves) if each.start < cells]
    return found
