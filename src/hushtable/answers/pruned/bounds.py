r"""Bounds for boxes over a pruned tree, whatever its absent nodes hold and wherever.

A question cuts the tree: of the children of nodes that it covers in part, some lie inside of it, some outside
and some across. Give each node a weight: 1 inside, 0 outside, and across any w from 0 to 1 that follows from
the question alone. Children add up to their parent p, so that, added up over all nodes c that are looked at,

    truth = w_root x_root + sum over published c of (w_c - w_p) x_c
                          + sum over absent c of (what is covered of x_c, less w_p x_c).

In place of x, published nodes have a noisy count. An absent one has one below the cutoff k; it adds up to
(1 - w_p) x_c if it lies inside or across, and nothing outside. *At most*, then, the truth is that sum with k
for each absent node inside and across, but for noise:

- inside, noise has its law, times 1 - w_p: which nodes are looked at follows from the noise of nodes across;
- outside, noise is seen where it lifted a node over the cutoff (`estimation.bounds` has the argument),
  times w_p;
- across, noise decides itself whether a node is published. It counts as far as it may raise the sum: up,
  times w_p - w_c if that is above 0, and down, times 1 - w_p.

Of a published node far above the cutoff it is sure that noise did not decide: there it has its law.
*At least* follows for the other side, of which weights are 1 - w.

Three ways to weigh: w = 0 adds up what lies inside; w = 1 takes what lies outside off the root; w = the
covered share is the best where nearly all nodes are published: it is what least squares do. The nearest
limits are taken, and share the chance.

Noises of different weights are bounded by as many of the largest weight as have their variance: their other
cumulants are no larger, since those of geometric and Gaussian noise are not negative.

Promise: intervals hold with at least the stated chance for any box that was chosen without looking at the
rows.
Cost: some operations on arrays with one entry for each node that is looked at, and one a group and level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.parts import Array, Parts
from hushtable.answers.estimation.tails import SeenNoise, noise
from hushtable.answers.pruned.coverage import Places
from hushtable.laws.law import NoiseLaw

Chosen = NDArray[np.bool_]

_WAYS: tuple[tuple[Callable[[Array], Array], float], ...] = (
    (np.zeros_like, 1 / 4),
    (np.copy, 1 / 2),
    (np.ones_like, 1 / 4),
)  # weights across by covered shares, and parts of the chance
_ROUNDING = 2.0**-48  # of the root: sums of weighted counts, some taken off others, are not exact
_SURE = 16.0  # folds, beyond those of the chance to fail: noise that large is left out of account


@dataclass(frozen=True, slots=True)
class LookedAt:
    """Children of nodes that groups cover in part, on one level."""

    owners: Places  # the groups
    shares: Array  # covered
    parents: Array  # what is covered of their parents
    whole: Chosen  # covered to the last cell, which shares do not tell of many
    counts: Array  # if published
    kept: Chosen


@dataclass(eq=False, slots=True)
class _Draws:
    """Draws of some noise for each group, each times a weight: what they come to in draws of the largest."""

    squares: Array
    largest: Array
    sums: Array

    @classmethod
    def of(cls, groups: int, owners: Places, weights: Array) -> _Draws:
        """Return the draws of each group."""
        squares, sums = (
            np.bincount(owners, weights=each, minlength=groups).astype(np.float64)
            for each in (weights**2, weights)
        )
        largest = np.zeros(groups)
        np.maximum.at(largest, owners, weights)
        return cls(squares, largest, sums)

    def one_more(self, than: _Draws) -> _Draws:
        """Return one more draw of the largest weight, as far as there are so many of the others."""
        squares = np.minimum(self.squares + than.largest**2, than.squares)
        return _Draws(squares, np.maximum(self.largest, than.largest), self.sums)

    def add_to(self, parts: Parts, of: SeenNoise) -> None:
        """Add them as a part of an error."""
        if self.largest.any():
            number = self.squares / np.where(self.largest > 0, self.largest, 1.0) ** 2
            parts.add_noise(self.largest, of, number)


class _Noises(NamedTuple):
    """The noise of a level: as it is, above 0, and from the cutoff on."""

    law: NoiseLaw
    cutoff: float
    plain: SeenNoise
    rising: SeenNoise
    beyond: SeenNoise

    @classmethod
    def of(cls, law: NoiseLaw, cutoff: float) -> _Noises:
        """Return the noise of a law."""
        rising, beyond = noise(law, two_sided=False), noise(law, cutoff=cutoff, two_sided=False)
        return cls(law, cutoff, noise(law), rising, beyond)

    def sure(self, chance: float) -> float:
        """Return from which count on noise did not decide whether a node is published."""
        return self.cutoff + 2 * self.law.floats.distance(_SURE - log(chance))


class _UpperLimit:
    """At most so much: what is seen, level by level, and the noise around it."""

    def __init__(self, centre: Array, chance: float) -> None:
        self._centre, self._chance = centre, chance
        self.parts = Parts(chance)

    @property
    def value(self) -> Array:
        """The limit, which fails with half of the chance."""
        return self.parts.around(self._centre).high

    def add(self, nodes: LookedAt, noises: _Noises, *, own: Array, above: Array, inside: Chosen) -> None:
        """Add the nodes of a level, with their weights and those of their parents."""

        def draws(chosen: Chosen, weights: Array) -> _Draws:
            return _Draws.of(self._centre.size, nodes.owners[chosen], weights[chosen])

        outside = ~inside & (nodes.whole | (nodes.shares <= 0))
        across, rest = ~inside & ~outside, 1 - above
        sure = nodes.kept & (nodes.counts >= noises.sure(self._chance))
        self._centre += draws(nodes.kept, (own - above) * nodes.counts).sums
        self._centre += draws(~nodes.kept & ~outside, rest).sums * noises.cutoff
        # 1. Inside, and wherever it is sure that noise did not decide: noise as it is.
        draws(inside, rest).add_to(self.parts, noises.plain)
        draws(across & sure, np.abs(own - above)).add_to(self.parts, noises.plain)
        # 2. Outside: of published nodes, and what it lifted over the cutoff.
        lifted = draws(outside & ~sure, above)
        draws(outside & nodes.kept, above).one_more(draws(outside, above)).add_to(self.parts, noises.plain)
        lifted.add_to(self.parts, noises.beyond)
        self._centre += lifted.sums * noises.beyond.mean
        # 3. Across: up and down.
        for weights in (np.maximum(above - own, 0.0), rest):
            unsure = draws(across & ~sure, weights)
            unsure.add_to(self.parts, noises.rising)
            self._centre += unsure.sums * noises.rising.mean


class TreeBounds:
    """What groups cover of a pruned tree, level by level, and the bounds that follow.

    `shares` are what groups cover of the root.
    """

    def __init__(
        self,
        shares: Array,
        *,
        root: float,
        laws: Sequence[NoiseLaw],
        cutoffs: Sequence[float],
    ) -> None:
        self._shares, self._root, self._top = shares, root, noise(laws[0])
        self._noises = [_Noises.of(*each) for each in zip(laws[1:], cutoffs[1:], strict=True)]
        self._levels: list[LookedAt] = []

    def add(self, nodes: LookedAt) -> None:
        """Add the children that were looked at on the next level."""
        self._levels.append(nodes)

    @property
    def complete(self) -> Chosen:
        """Of which groups all nodes that were looked at are published: nothing is hidden from them."""
        found = np.ones(self._shares.size, dtype=np.bool_)
        for nodes in self._levels:
            found[nodes.owners[~nodes.kept]] = False
        return found

    def limits(self, chance: float) -> tuple[Array, Array]:
        """Return the lower and the upper limits, which fail with `chance` at most."""
        if not self._noises:  # a single cell
            reach = self._top.reach(np.ones(self._shares.size), chance)[0]
            ends = (np.maximum(self._root + each, 0.0) * self._shares for each in (-reach, reach))
            return next(ends), next(ends)
        low, high = np.zeros(self._shares.size), np.full(self._shares.size, np.inf)
        for weigh, part in _WAYS:
            above = self._at_most(weigh, chance * part, other=False)
            below = self._root - self._at_most(weigh, chance * part, other=True)
            low, high = np.maximum(low, below), np.minimum(high, above)
        return low, np.maximum(high, 0.0)

    def _at_most(self, weigh: Callable[[Array], Array], chance: float, *, other: bool) -> Array:
        """Return the upper limits of what groups have, or of what the noisy root has beside them."""
        top = weigh(self._shares)
        limit = _UpperLimit((1 - top if other else top) * self._root, chance)
        # Of the noisy root, either side has what groups have of its noise.
        limit.parts.add_noise(top, self._top, np.ones(top.size))
        for nodes, noises in zip(self._levels, self._noises, strict=True):
            none = nodes.shares <= 0
            own = np.where(nodes.whole, 1.0, np.where(none, 0.0, weigh(nodes.shares)))
            above = weigh(nodes.parents)
            if other:
                limit.add(nodes, noises, own=1 - own, above=1 - above, inside=none & ~nodes.whole)
            else:
                limit.add(nodes, noises, own=own, above=above, inside=nodes.whole)
        return limit.value + _ROUNDING * abs(self._root)
