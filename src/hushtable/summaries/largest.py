"""The `size` largest noisy counts, ties broken by chance.

Promise: among cells whose counts tie at the cut, every set of the needed size has the same chance; nothing
depends on the order in which they come. (With integer noise, hundreds of cells tie.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.noise import BitSource, uniform_subset


def largest_counts(
    magnitudes: NDArray[np.int64], entropy: BitSource, *, size: int
) -> tuple[NDArray[np.intp], int | None]:
    """Return which `size` magnitudes are the largest, and the smallest of them.

    All of them, and None, if there are no more than `size`.
    """
    if magnitudes.size <= size:
        return np.arange(magnitudes.size), None
    cut = int(np.partition(magnitudes, magnitudes.size - size)[magnitudes.size - size])
    chosen = magnitudes > cut
    ties = np.flatnonzero(magnitudes == cut)
    chosen[ties[uniform_subset(ties.size, entropy, count=size - int(np.count_nonzero(chosen)))]] = True
    return np.flatnonzero(chosen), cut
