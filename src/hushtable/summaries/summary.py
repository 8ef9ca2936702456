"""What is published: rows, and the public numbers that say how they were drawn.

Promise: everything here is safe to publish; thinning it further is post-processing, which costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadNumber, BadSettings
from hushtable.exact.rationals import Rational, as_count, as_fraction
from hushtable.methods.acceptance import Acceptance
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, KeyStream, bernoulli, kept
from hushtable.summaries.largest import largest_counts
from hushtable.summaries.priorities import largest_priorities


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A private summary of a table: public.

    `weights` are sign * max(|count|, threshold), so that their sum over any cells estimates the sum of the
    noisy counts; they equal `counts` where nothing was sampled. Rows are in the order of their codes.

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

    def __len__(self) -> int:
        return len(self.counts)

    def thin(
        self, *, size: int | None = None, cutoff: Rational | None = None, threshold: Rational | None = None
    ) -> Summary:
        """Return a smaller summary of the same noisy table: post-processing, free.

        ================  ================================================================================
        setting           result
        ================  ================================================================================
        size              the largest counts of a filter; of a sample, a priority sample, with the law that
                          it would have had if so many rows had been asked for at first
        cutoff            the rows that reach it; it must not lie below the summary's own
        threshold         a threshold sample at this threshold; it must not lie below the summary's own
        none, or several  `BadSettings`
        ================  ================================================================================

        >>> import hushtable as ht
        >>> table = ht.SparseTable(shape=(10**6,), codes=[3, 5], counts=[9000, 70])
        >>> len(ht.summarize(table, ht.Priority(size=1000), epsilon=1).thin(size=10))
        10
        """
        if sum(setting is not None for setting in (size, cutoff, threshold)) != 1:
            raise BadSettings("thin", ("size", "cutoff", "threshold"))
        if size is not None:
            return self._of_size(as_count(size, name="size"), KeyStream())
        if cutoff is not None:
            return self._above_cutoff(self._raised("cutoff", cutoff, self.cutoff))
        return self._at_threshold(self._raised("threshold", threshold, self.threshold), KeyStream())

    def _of_size(self, size: int, entropy: BitSource) -> Summary:
        if len(self) <= size:
            return self
        if self.threshold is None:
            rows, cut = largest_counts(np.abs(self.counts), entropy, size=size)
            return self._only(rows, cutoff=None if cut is None else float(cut))
        # Given what is published, 1 / priority is uniform up to 1 / max(|v|, threshold): drawing it now gives
        # the law of the priorities that chose these rows (PROOF.md, step 8).
        rule = Acceptance(threshold=Fraction(self.threshold) or None)
        occupied = np.full(len(self), -1, dtype=np.int8)
        rows, tau = largest_priorities(self.counts, occupied, [rule], entropy, size=size)
        return self._only(rows, threshold=float(tau))

    def _above_cutoff(self, cutoff: Fraction) -> Summary:
        return self._only(np.flatnonzero(np.abs(self.counts) >= ceil(cutoff)), cutoff=float(cutoff))

    def _at_threshold(self, threshold: Fraction, entropy: BitSource) -> Summary:
        # A row that was kept at the own threshold is kept at a higher one with chance
        # max(|v|, own) / max(|v|, higher).
        own = Fraction(self.threshold or 0)
        magnitudes = np.abs(self.counts)
        passed = kept(magnitudes, threshold, entropy)
        small = np.flatnonzero(magnitudes < ceil(own))
        passed[small] = bernoulli(own / threshold, entropy, count=small.size)
        return self._only(np.flatnonzero(passed), threshold=float(threshold))

    def _only(
        self, rows: NDArray[np.intp], *, cutoff: float | None = None, threshold: float | None = None
    ) -> Summary:
        """Return the chosen rows, under a new cutoff or threshold where one is given."""
        threshold = self.threshold if threshold is None else threshold
        counts = self.counts[rows]
        return replace(
            self,
            codes=self.codes[rows],
            counts=counts,
            weights=weights_of(counts, threshold),
            threshold=threshold,
            cutoff=self.cutoff if cutoff is None else cutoff,
        )

    @staticmethod
    def _raised(name: str, value: Rational | None, own: float | None) -> Fraction:
        """Return a cutoff or threshold that is above 0 and not below the summary's own."""
        exact = as_fraction(value if value is not None else 0, name=name)
        least = Fraction(own or 0)
        if exact <= 0 or exact < least:
            hint = "What was not published cannot be brought back."
            raise BadNumber(
                name=name, value=value, allowed=f"is below the summary's own {float(least):g}", hint=hint
            )
        return exact


def weights_of(counts: NDArray[np.int64], threshold: float | None) -> NDArray[np.float64]:
    """Return sign * max(|count|, threshold)."""
    weights = counts.astype(np.float64)
    if threshold:
        np.abs(weights, out=weights)
        np.maximum(weights, threshold, out=weights)
        np.negative(weights, out=weights, where=counts < 0)
        weights[counts == 0] = 0.0
    return weights
