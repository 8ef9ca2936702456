r"""Bounds for boxes over a pruned tree, whatever its absent nodes hold and wherever.

A question cuts the tree: of the children of nodes that it covers in part, some lie inside of it, some outside
and some across. Published ones have noisy counts; an absent one has a noisy count below the cutoff c, and
what lies across may have all of its people on one side. Which children are looked at follows from the noise
of nodes across, so that inside and outside noise has its law (`estimation.bounds` has the argument).

- *At least*, the published nodes of one side hold their counts, less noise that lifted some over the cutoff.
- *At most*, each absent node of that side or across holds c, less its noise. Those across were looked at one
  below another until one was absent: their noise counts as far as it may raise a sum.
- *From the root*, a side is the root less the other side.

The nearest limits are taken, and share the chance evenly.

Promise: intervals hold with at least the stated chance for any box that was chosen without looking at the
rows.
Cost: some operations on arrays with one entry a group, for each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.parts import Array, Parts
from hushtable.answers.estimation.tails import noise
from hushtable.answers.pruned.coverage import Places
from hushtable.laws.law import NoiseLaw

Chosen = NDArray[np.bool_]


@dataclass(eq=False)
class _LookedAt:
    """The nodes that were looked at on one side, or across, for each group."""

    groups: int
    counts: Array = field(init=False)
    kept: list[Array] = field(default_factory=list)  # one entry a level below the root
    seen: list[Array] = field(default_factory=list)  # kept or absent

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.groups)

    def add(self, owners: Places, counts: Array, kept: Chosen) -> None:
        """Add nodes of the next level, with the group of each."""
        self.counts += self._added(owners, np.where(kept, counts, 0.0))
        self.kept.append(self._added(owners, kept))
        self.seen.append(self._added(owners, np.ones(owners.size)))

    @property
    def absent(self) -> list[Array]:
        """How many of each level are absent."""
        return [seen - kept for seen, kept in zip(self.seen, self.kept, strict=True)]

    def _added(self, owners: Places, values: Array | Chosen) -> Array:
        return np.bincount(owners, weights=values, minlength=self.groups).astype(np.float64)


class TreeBounds:
    """What groups cover of a pruned tree, level by level, and the bounds that follow."""

    def __init__(
        self, groups: int, *, root: float, laws: Sequence[NoiseLaw], cutoffs: Sequence[float]
    ) -> None:
        self._root, self._laws, self._cutoffs = root, laws, cutoffs
        self._groups = groups
        self._inside, self._outside, self._across = (_LookedAt(groups) for _ in range(3))

    def add(self, owners: Places, shares: Array, whole: Chosen, counts: Array, kept: Chosen) -> None:
        """Add the children that were looked at on the next level: covered shares, and counts if kept."""
        none = shares <= 0
        for part, chosen in (
            (self._inside, whole),
            (self._outside, none),
            (self._across, ~whole & ~none),
        ):
            part.add(owners[chosen], counts[chosen], kept[chosen])

    def limits(self, chance: float) -> tuple[Array, Array]:
        """Return the lower and the upper limits, which fail with `chance` at most."""
        half = chance / 2
        root = noise(self._laws[0]).reach(np.ones(self._groups), half)[0]
        if len(self._laws) == 1:  # a single cell
            return np.maximum(self._root - root, 0.0), np.maximum(self._root + root, 0.0)
        (least, below), (most, above) = self._least(self._inside, half), self._most(self._inside, half)
        (rest_least, rest_below), (rest_most, rest_above) = (
            self._least(self._outside, half),
            self._most(self._outside, half),
        )
        low = np.maximum(least - below, self._root - rest_most - np.hypot(root, rest_above))
        high = np.minimum(most + above, self._root - rest_least + np.hypot(root, rest_below))
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def _least(self, part: _LookedAt, chance: float) -> tuple[Array, Array]:
        """Return what a side holds at least, and how far chance goes below."""
        parts, centre = Parts(chance), part.counts
        levels = zip(self._laws[1:], self._cutoffs[1:], part.kept, part.seen, strict=True)
        for law, cutoff, kept, seen in levels:
            beyond = noise(law, cutoff=cutoff, two_sided=False)
            parts.add_noise(1.0, noise(law), np.minimum(kept + 1, seen))
            parts.add_noise(1.0, beyond, seen)
            centre = centre - seen * beyond.mean
        return centre, -parts.around(np.zeros(self._groups)).low

    def _most(self, part: _LookedAt, chance: float) -> tuple[Array, Array]:
        """Return what a side holds at most, and how far chance goes above."""
        parts = Parts(chance)
        centre = part.counts
        levels = zip(self._laws[1:], self._cutoffs[1:], part.seen, self._across.seen, strict=True)
        for place, (law, cutoff, seen, across) in enumerate(levels):
            centre = centre + cutoff * (part.absent[place] + self._across.absent[place])
            rising = noise(law, two_sided=False)
            parts.add_noise(1.0, noise(law), seen)
            up = rising.reach(across, chance)[1]
            parts.add(1.0, across * rising.variance, below=0.0, above=up)
            centre = centre + across * rising.mean
        return centre, parts.around(np.zeros(self._groups)).high
