"""Which summary to take: the one with the least errors among those that publish something real.

Promise: a choice among predictions, which follow from public facts; nothing is drawn.
Cost: some dozen predictions for a cutoff.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from hushtable.methods.settings import FilterPriority, Method
from hushtable.planning.judging import HALF
from hushtable.planning.predictions import Prediction, Predictor

CUTOFFS = 24  # that are tried, at first; half as many then

_ALIKE = 1.02  # errors within this factor are the same; then more rows are better
_NEARLY = 0.9
_POINTS = 12  # of the curve


def recommended(predictions: Sequence[Prediction], alike: float = 1.0) -> Prediction:
    """Return the first prediction close to the smallest error, among those that publish mostly real rows.

    That is, of whose rows at least half are real, and that have one real row, or nearly as much as can be.
    Where no summary has so many real rows, it is the least errors of all.
    """
    fit = [each for each in predictions if each.real_share >= HALF]
    if fit:
        most = max(each.rows_real for each in fit)
        fit = [each for each in fit if each.rows_real >= min(1.0, _NEARLY * most)]
    least = min(each.score for each in fit or predictions)
    return next(each for each in fit or predictions if each.score <= least + log(alike))


def best_cutoff(
    predictor: Predictor, size: int, sizes: Sequence[int], *, most: int, cutoffs: int = CUTOFFS
) -> Prediction:
    """Return the filter-priority sample with least errors, of cutoffs up to `most` or beyond the noise."""

    def at(tried: Sequence[int]) -> list[Prediction]:
        return [predictor.predict(FilterPriority(cutoff=each, size=size), sizes=sizes) for each in tried]

    # From `silent` on, not even one empty cell is expected to pass.
    silent = int(predictor.noise.distance(log(4 * predictor.table.cells_total)))
    highest = max(4, silent, most)
    grid = _spaced(np.geomspace(1, highest, cutoffs))
    coarse = at(grid)
    near = grid.index(recommended(coarse, _ALIKE).cutoff)
    low, high = grid[max(near - 1, 0)], grid[min(near + 1, len(grid) - 1)]
    fine = at([each for each in _spaced(np.linspace(low, high, cutoffs // 2)) if each not in grid])
    return recommended(sorted([*coarse, *fine], key=lambda each: each.cutoff), _ALIKE)


def _spaced(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    return sorted({round(each) for each in values.tolist()})


def curve(predictor: Predictor, method: Method) -> dict[int, float]:
    """Return the chance that a cell of so many is published, up to where it is nearly sure."""
    most = 2 * int(predictor.profile.counts[-1])
    low, high = 0, 1
    while high < most and predictor.chances(method, np.array([float(high)]))[0] < 0.99:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        short = predictor.chances(method, np.array([float(middle)]))[0] < 0.99
        low, high = (middle, high) if short else (low, middle)
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(each for each in steps if high <= _POINTS * each)
    counts = np.arange(step, high + step, step, dtype=np.float64)
    chances = predictor.chances(method, counts)
    return {int(count): float(chance) for count, chance in zip(counts, chances, strict=True)}
