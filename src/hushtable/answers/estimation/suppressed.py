r"""What a cutoff took away, as far as the published rows and the noisy total tell.

The noisy total minus the published weights is what the absent cells hold together. How it is spread among
them is not published; but counts near the cutoff would have shown, since noise lifts some of them over it.
Noise beyond the cutoff has the same shape whatever lies below, so the excess of published rows over those
of empty cells is all that rows tell of it. For given mean and excess, the mean square of counts below the
cutoff is largest if all occupied cells hold the same count B: for geometric noise (exp(rate B) - 1)/B is
convex, so a line in this curve bounds B from above and touches it once. `spread` takes the largest B that
the rows leave possible.

Promise: the variance among absent cells is at most about `spread`, whatever the counts are.
Cost: some operations on a grid, once for each release.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.tails import SeenNoise

_GRID = 2000
_FARTHEST = 20.0  # above the cutoff, in units of the noise's scale: nothing larger stays away
_WINDOWS = (2.0, np.inf)
_DEVIATIONS = 2.0  # of more rows than were seen: chance alone must not hide what is there


def spread(
    noise: SeenNoise,
    *,
    counts: NDArray[np.float64],
    stands_for: NDArray[np.float64],
    cells: float,
    mean: float,
    negative: bool,
) -> float:
    """Return the largest variance of the counts of absent cells that the published rows leave possible.

    `counts` are those published, each standing for some cells; `mean` is that of absent cells, and `negative`
    says whether cells may hold less than 0: then the mean tells nothing, and only the excess is used.
    """
    scale = noise.floats.distance(1.0)
    grid = np.linspace(0, noise.cutoff + _FARTHEST * scale, _GRID + 1)[1:]
    absent = 1 - _passes(noise, grid, np.inf, lower_side=noise.two_sided)
    possible = np.ones(_GRID, dtype=np.bool_)
    share = np.ones(_GRID)  # of the cells that may hold each count
    for window in _WINDOWS:
        upper = noise.cutoff + window * scale
        # Counts above 0 lift the upper side alone, so it shows them best.
        seen = np.abs(counts) if negative and noise.two_sided else counts
        inside = stands_for[(seen >= noise.cutoff) & (seen < upper)]
        rows = inside.sum() + _DEVIATIONS * sqrt(float((inside**2).sum()) + 1)
        sides = _passes(noise, np.append(0, grid), upper, lower_side=negative and noise.two_sided)
        shown, excess = sides[1:] - sides[0], max(float(rows) / cells - float(sides[0]), 0.0)
        possible &= mean * shown <= excess * grid * absent
        share = np.minimum(share, np.divide(excess, shown, out=np.ones(_GRID), where=shown > excess))
    if negative:
        return float((share * grid**2 * absent).max())
    return max(mean * float(grid[possible].max(initial=min(1.0, float(grid[0])))) - mean**2, 0.0)


def _passes(
    noise: SeenNoise, counts: NDArray[np.float64], upper: float, *, lower_side: bool
) -> NDArray[np.float64]:
    """Return the chance that a cell with each count is seen from the cutoff up to `upper`."""
    chance = noise.floats.tail(noise.cutoff - counts) - noise.floats.tail(upper - counts)
    if lower_side:
        chance += noise.floats.tail(noise.cutoff + counts) - noise.floats.tail(upper + counts)
    return chance
