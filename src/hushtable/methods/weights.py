"""What a published count stands for.

Promise: weights follow from counts and the threshold alone, by the rule of the column `weight`.
Source: Duffield, Lund, Thorup (2007), "Priority sampling for estimation of arbitrary subset sums".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def weights_of(counts: NDArray[np.int64], threshold: float | None) -> NDArray[np.float64]:
    """Return sign * max(|count|, threshold), and 0 for a count of 0: the rule of the column `weight`."""
    weights = counts.astype(np.float64)
    if threshold:
        np.abs(weights, out=weights)
        np.maximum(weights, threshold, out=weights)
        np.negative(weights, out=weights, where=counts < 0)
        weights[counts == 0] = 0.0
    return weights
