"""What happens to one cell in a summary: the chance that it is published, and how far off it then is.

With noise X, a cell of count M becomes v = M + X. If |v| reaches `certain` it is published as it is, and is
off by X. Between `cutoff` and `certain` it is published with a chance, as `sampled` with the sign of v. Else
it is absent and stands for `absent`. Every chance and moment follows from those of X beyond some place.

Promise: chances and moments of the laws in `laws.acceptance`, in floats; nothing is drawn.
Cost: a few operations on arrays with one entry a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from hushtable.laws.floats import Array, FloatView


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Publish v if |v| >= cutoff: surely, or below a threshold with chance |v|/threshold.

    `edge` below 1 is the chance of counts right at the cutoff, for the largest counts of a number.
    `everything` publishes 0 too.
    """

    cutoff: int = 1
    threshold: float = 0.0
    edge: float = 1.0
    everything: bool = False

    @property
    def certain(self) -> int:
        """The smallest size that is published surely."""
        if self.threshold > self.cutoff:
            return ceil(self.threshold)
        return self.cutoff + (self.edge < 1)

    @property
    def sampled(self) -> float:
        """What is published of a size that is not published surely."""
        return max(self.threshold, float(self.cutoff))

    @property
    def biased(self) -> bool:
        """Whether sums over published rows miss something on average."""
        return (self.cutoff > 1 or self.edge < 1) and not self.everything


class Outcomes:
    """What a rule makes of cells with each of these counts; one entry a count in every array."""

    def __init__(self, counts: Array, noise: FloatView, rule: Rule) -> None:
        self.counts, self.noise, self.rule = counts, noise, rule
        certain, zero = float(rule.certain), np.zeros_like(counts)
        self.up = self.down = zero  # sampled, above and below 0
        if rule.everything:
            self.published, self.weight = zero + 1, counts.copy()
            self.absent_chance = zero
            return
        self._above, self._below = certain - counts, certain + counts  # where certain noise starts
        sure_up, sure_down = (noise.tail(start, 0) for start in (self._above, self._below))
        if rule.threshold > rule.cutoff:
            self.up = self._sizes(rule.cutoff - counts, self._above, counts) / rule.threshold
            self.down = self._sizes(rule.cutoff + counts, self._below, -counts) / rule.threshold
        elif rule.edge < 1:
            self.up = rule.edge * noise.mass(rule.cutoff - counts)
            self.down = rule.edge * noise.mass(rule.cutoff + counts)
        self.published = np.minimum(self.up + self.down + sure_up + sure_down, 1.0)
        self.absent_chance = 1 - self.published
        sure = counts * (sure_up + sure_down) + noise.tail(self._above, 1) - noise.tail(self._below, 1)
        self.weight = sure + rule.sampled * (self.up - self.down)  # published of a cell, on average

    def _sizes(self, start: Array, end: Array, shift: Array) -> Array:
        """Return the sum of (x + shift) P[x] from start up to end, which is not below 0."""
        first, last = (self.noise.tail(each, 1) + shift * self.noise.tail(each, 0) for each in (start, end))
        return np.maximum(first - last, 0.0)

    def errors(self, *, absent: float) -> tuple[Array, Array]:
        """Return the means of the error and of its square, where absent cells stand for `absent`."""
        if self.rule.everything:
            return np.zeros_like(self.counts), np.full_like(self.counts, self.noise.variance)
        off = absent - self.counts
        first = self.weight + self.absent_chance * absent - self.counts
        second = (
            self.absent_chance * off**2
            + self.up * (self.rule.sampled - self.counts) ** 2
            + self.down * (self.rule.sampled + self.counts) ** 2
            + self.noise.tail(self._above, 2)
            + self.noise.tail(self._below, 2)
        )
        return first, second
