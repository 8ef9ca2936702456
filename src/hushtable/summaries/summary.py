"""What is published: rows, and the public numbers that say how they were drawn.

Promise: everything here is safe to publish; thinning it further is post-processing, which costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.later import Later
from hushtable.laws.rationals import Rational
from hushtable.laws.registry import DEFAULT_LAW
from hushtable.methods.settings import Method

if TYPE_CHECKING:  # a summary of cells does not wait for structures
    from hushtable.structures import structure as structured
else:
    structured = Later("hushtable.structures.structure")


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A private summary of a table: public.

    `weights` are sign * max(|count|, threshold), so that their sum over any cells estimates the sum of the
    noisy counts; they equal `counts` where nothing was sampled. Rows are in the order of their codes. With a
    structure, `nodes` are its nodes, rows are nodes of it, and `codes` are their numbers; `shape` is always
    the number of different codes in each column. `law_name` is the name of the law of its noise.

    >>> import hushtable as ht
    >>> table = ht.SparseTable(shape=(10**6,), codes=[3, 5], counts=[9000, 70])
    >>> ht.summarize(table, ht.Filter(cutoff=500), epsilon=1).codes.tolist()
    [[3]]
    """

    shape: tuple[int, ...]
    method: Method
    epsilon: Fraction
    sensitivity: Fraction
    codes: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    threshold: float | None
    cutoff: float | None
    nodes: structured.NodeSpace | None = None
    law_name: str = field(default=DEFAULT_LAW, repr=False)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def structure(self) -> structured.Structure:
        """Which sums of cells the rows are."""
        from hushtable.structures.cells import Cells

        return Cells() if self.nodes is None else self.nodes.structure

    def thin(
        self, *, size: int | None = None, cutoff: Rational | None = None, threshold: Rational | None = None
    ) -> Summary:
        """Return a smaller summary of the same noisy table. This is post-processing and costs no privacy.

        ================  ================================================================================
        setting           result
        ================  ================================================================================
        size              the largest counts of a filter; of a sample, a priority sample, with the law that
                          it would have had if so many rows had been asked for at first
        cutoff            the rows that reach it; it must not lie below the summary's own
        threshold         a threshold sample at this threshold; it must not lie below the summary's own
        none, or several  `BadSettings`
        ================  ================================================================================

        A consistent tree stays one: "largest" and "reach" then speak of the smallest count on the path from
        the root. A sample of one can take no higher cutoff, since nodes of the path may be missing.

        >>> import hushtable as ht
        >>> table = ht.SparseTable(shape=(10**6,), codes=[3, 5], counts=[9000, 70])
        >>> len(ht.summarize(table, ht.Priority(size=1000), epsilon=1).thin(size=10))
        10
        """
        from hushtable.summaries.thinning import thinned

        return thinned(self, size=size, cutoff=cutoff, threshold=threshold)
