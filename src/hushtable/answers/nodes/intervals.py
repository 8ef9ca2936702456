r"""NodeIntervals for sums over nodes, of which some are not published.

The answer is the sum of f T over K nodes: T is a node's true value and f its factor, which is 1 for dyadic
ranges. X is its noise, and V = T + X. The estimate adds f W over the published nodes, W being their weights.

*Nothing left out* (two-sided samples, or all nodes). W is V on average, so the errors are sampling and the
noise of all K nodes. Noise with factors reaches about as far as that of k equal nodes, with
k = (sum of f^2)^2 / (sum of f^4): variance and kurtosis are then the same.

*With a cutoff c*, or one-sided (c = 1), V <= c - 1 in each absent node, and \|V\| <= c - 1 where both sides
are seen. Let P be the published nodes and A the absent ones. Without sampling

    truth - estimate  =  sum over A of f V - sum over all of f X  =  sum over A of f T - sum over P of f X.

1. From above, the first form: at most (c - 1) times the sum of \|f\| over A, and the noise of K nodes.
2. From below, where counts are not negative and f is 1, the second form. The truth is below by the sum of Y:
   X in a published node, -T in an absent one. First, Y <= max(X, 0). Second, E max(Y - s, 0) is at most
   E max(X + e - s, 0) for every s, where e is the largest mean that Y can have: above -T, Y passes s only
   where X does; below, only means count. That mean is largest for T = 0, where it is what noise from c on
   adds to an empty node. So the sum of Y is, in this order of risks, at most that of K noises and K e; its
   tail follows it closely. The nearer of both limits is taken, which depends on K and c alone.
3. From below otherwise: as above. What lies below 0 leaves no trace on one side: there is no limit.

*In a consistent tree* an absent node is hidden by the topmost missing node u above it: all that u hides
together is at most T_u <= c - 1 - X_u, if counts are not negative. If u is one of the K nodes, X_u is among
their noise. Else u was picked, among the nodes above, for its noise. Those nodes lie on two paths for each
range, and a path has at most one such u. So let b of them be seen, on q paths of up to d nodes above.

4. Each is bounded by the largest noise of all q d nodes, which passes x with q d times the chance of one.
5. All b together are at most b t, and the noise of all nodes beyond t. Let t be such that q of the q d nodes
   are beyond it on average, and g the least by which the logarithm of the tail falls with each number. What
   they add has E exp(r g sum) <= exp(q r/(1 - r)), so that it passes (sqrt q + sqrt l)^2/g with chance
   exp(-l) at most (Chernoff, with the best r). The better of 4 and 5 is taken: it depends on q and d alone.

Whether a node of the K is hidden depends on the nodes above alone, so that the noise of the others has its
law. The chance is shared by both.

*With sampling* the estimate is right on average for what passed the cutoff, and sampling adds its error. What
is sure beside that: all V together are what was seen, and at most max(threshold, c - 1) for each absent one;
and where counts are not negative and f is 1, what lies below 0 is at most the noise that fell.

Promise: intervals hold for the true answer of any question asked before the rows were seen. With a cutoff
that is a bound whatever the absent nodes hold, and the standard error counts each as off by the cutoff.
Cost: some operations on arrays with one entry a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from hushtable.answers.estimation.law import PublishedLaw
from hushtable.answers.estimation.parts import Answers, Array, Parts
from hushtable.answers.estimation.sampling import Sampled
from hushtable.answers.estimation.tails import noise
from hushtable.answers.nodes.hidden import Hidden
from hushtable.answers.nodes.sums import NodeSums


@dataclass(frozen=True, slots=True)
class _Limit:
    """How far the truth may lie from what the nodes say: by noise as it comes, by more of it, by counts."""

    noise: Array
    more: Array | float = 0.0
    counts: Array | float = 0.0


@dataclass(frozen=True, slots=True)
class NodeIntervals:
    """Groups of cells, each of which gets an estimate and an interval that fails with `chance`.

    `differences` says that nodes are differences of halves, not sums of cells.
    """

    law: PublishedLaw
    sums: NodeSums
    hidden: Hidden
    differences: bool
    chance: float

    def answers(self) -> Answers:
        """Return the estimates."""
        law, sums = self.law, self.sums
        below, above = self._below(), self._above()
        parts = Parts(self.chance)
        if law.threshold:
            largest = law.threshold * np.where(sums.largest > 0, sums.largest, 1.0)
            parts.add_sampling(1.0, self._sides(largest), threshold=largest)
        parts.add(1.0, sums.squares * law.noise.variance, below=below.noise, above=above.noise)
        if law.biased:
            parts.add(1.0, sums.absent_squares * float(law.beyond.cutoff) ** 2, below=0.0, above=0.0)
        found = parts.around(sums.value)
        value, deviation = found.value, found.standard_error
        low, high = found.low - below.more - below.counts, found.high + above.more + above.counts
        if law.threshold:
            low, high = self._with_sure_cases(low, high, below, above)
        if law.threshold and law.biased:
            # With a cutoff, weights are right on average for nothing but what passed it. Where all nodes are
            # published, their counts say that without sampling.
            whole = sums.absent == 0
            value = np.where(whole, sums.seen, value)
            deviation = np.where(whole, np.sqrt(sums.squares * law.noise.variance), deviation)
            low = np.where(whole, sums.seen - below.noise - below.more, low)
            high = np.where(whole, sums.seen + above.noise + above.more, high)
        if law.biased and not law.negative:
            low = np.maximum(low, 0.0)
        return Answers(value, deviation, np.minimum(low, value), np.maximum(high, value))

    @property
    def _nonnegative(self) -> bool:
        """Whether no node holds less than 0."""
        return not (self.law.negative or self.differences)

    def _above(self) -> _Limit:
        """Return how far the truth may lie above."""
        reach = self._reach(self.chance)
        if not self.law.biased:
            return _Limit(reach)
        counts = self.law.most_filtered * self.hidden.bounds
        above = self.hidden.above > 0
        if not above.any():
            return _Limit(reach, counts=counts)
        if self.law.negative:  # what is hidden may be anything
            return _Limit(reach, more=np.where(above, np.inf, 0.0), counts=counts)
        shared = np.where(above, self._reach(self.chance / 2), reach)
        return _Limit(shared, more=self._picked(self.chance / 2), counts=counts)

    def _below(self) -> _Limit:
        """Return how far the truth may lie below."""
        law, hidden = self.law, self.hidden
        reach = self._reach(self.chance)
        if not law.biased:
            return _Limit(reach)
        if law.negative and not law.two_sided:
            return _Limit(reach, more=np.where(self.sums.absent > 0, np.inf, 0.0))
        if not self._nonnegative:
            return _Limit(reach, counts=law.most_filtered * hidden.bounds)
        lifted = hidden.own * noise(law.terms.law, cutoff=law.cutoff, two_sided=False).mean
        rises, mean = self._rises()
        nearer = rises + mean < reach + lifted
        return _Limit(np.where(nearer, rises, reach), more=np.where(nearer, mean, lifted))

    def _sides(self, largest: Array) -> list[tuple[Sampled, Array]]:
        """Return the sampled nodes of each sign, and how many of the largest weight are absent at most."""
        up, down = self.sums.sampled
        absent = self.law.threshold * self.sums.absent_sizes / largest
        if not self.law.two_sided:
            return [(up, absent)]
        if not self._nonnegative:
            return [(up, absent), (down, absent)]
        falls = sum(self._rises())  # the noise has the same law on both sides
        return [(up, absent), (down, np.clip((falls - down.seen) / largest, 0.0, absent))]

    def _with_sure_cases(self, low: Array, high: Array, below: _Limit, above: _Limit) -> tuple[Array, Array]:
        """Return limits that use what is sure of few sampled nodes."""
        law, sums = self.law, self.sums
        least, most = sums.seen - below.noise - below.more, sums.seen + above.noise + above.more
        all_seen = sums.absent == 0
        low = np.where(all_seen, np.minimum(low, least), low)
        high = np.where(all_seen, np.maximum(high, most), high)
        if law.biased:
            absent = sums.absent_sizes * max(law.threshold, law.most_filtered)
            high = np.minimum(high, most + absent)
            low = np.maximum(low, least - absent) if law.two_sided else low
        return low, high

    def _reach(self, chance: float) -> Array:
        """Return how far the noise of all nodes reaches, with their factors."""
        if not self.differences:
            return self.law.noise.reach(self.hidden.own, chance)[0]
        squares, fourths = self.sums.squares, self.sums.fourths
        some, none = fourths > 0, np.zeros_like(squares)
        equal = np.divide(squares**2, fourths, out=none.copy(), where=some)
        scale = np.divide(fourths, squares, out=none, where=some)
        return self.law.noise.reach(equal, chance)[0] * np.sqrt(scale)

    def _rises(self) -> tuple[Array, Array]:
        """Return how far the sum of all noise above 0 reaches above its mean, and this mean."""
        rising = noise(self.law.terms.law, two_sided=False)
        return rising.reach(self.hidden.own, self.chance)[1], self.hidden.own * rising.mean

    def _picked(self, chance: float) -> Array:
        """Return how far the noise of nodes above reaches that were picked for it, with half of `chance`."""
        law, hidden = self.law, self.hidden
        one = float(law.noise.reach(np.ones(1), chance)[0][0])
        floats = law.noise.floats
        fold = 1 / floats.least_fall  # in which the tail falls by a factor e, or in less
        largest = one + np.log(np.maximum(hidden.paths * hidden.depth, 1.0)) * fold
        usual = max(floats.quantile(1 / max(hidden.depth, 1)), 0.0)
        beyond = (np.sqrt(hidden.paths) + sqrt(log(2 / chance))) ** 2 * fold
        together = hidden.paths * usual + beyond < hidden.paths * largest
        found = np.where(together, hidden.above * usual + beyond, hidden.above * largest)
        return np.where(hidden.above > 0, found, 0.0)
