r"""Bounds for groups of a hierarchy, whatever its absent nodes hold and wherever.

On complete levels every node has a count, whatever that is: sums of them are right on average, with the noise
of so many nodes. Below, a node is there only if its noisy count, weighed, reached the cutoff: of a group,

- *at least*, the published nodes inside hold their counts, less noise that lifted some over the cutoff;
- *at most*, each absent node inside or across holds the cutoff of its level, less its noise. Those across
  were looked at one below another until one was absent: their noise counts as far as it may raise a sum;
- *from around*, it is the sum of the nodes of the last complete level that lie across it, less what of these
  lies outside of it.

The argument is that of `answers.pruned.bounds`: which nodes are looked at inside and outside follows from the
noise of those across alone. The nearest limits are taken, and share the chance evenly. Where nothing is
absent, one limit has it all.

Promise: intervals hold with at least the stated chance for any group that was chosen without looking at the
rows. The standard error is that of the noise, and half of the most that absent nodes may hold, or the way to
the farther end of an interval of 95 %, if that is less: what lies around a group may leave them less room.
Cost: some operations on arrays with one entry a group, for each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushtable.answers.estimation.parts import Answers, Array, Parts
from hushtable.answers.estimation.tails import noise
from hushtable.answers.hierarchies.walking import Found, Side
from hushtable.laws.law import NoiseLaw

_CHANCE = 0.05  # of the interval that standard errors go by


def bounded(found: Found, *, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float) -> Answers:
    """Return estimates with intervals that hold; the laws and cutoffs are those of the levels."""
    low, high = _ends(found, laws, cutoffs, chance)
    return Answers(found.value, _error(found, laws, cutoffs), low, high)


def _ends(
    found: Found, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float
) -> tuple[Array, Array]:
    hidden = found.inside.absent.sum(axis=0) + found.across.absent.sum(axis=0) > 0
    sure = _answers(found, laws, cutoffs, chance)
    both = _answers(found, laws, cutoffs, chance / 2)
    around = _around(found, laws, cutoffs, chance / 2)
    low = np.where(hidden, np.maximum(both.low, around.low), sure.low)
    high = np.where(hidden, np.minimum(both.high, around.high), sure.high)
    return np.minimum(np.maximum(low, 0.0), found.value), np.maximum(np.maximum(high, 0.0), found.value)


def _error(found: Found, laws: Sequence[NoiseLaw], cutoffs: Sequence[float]) -> Array:
    """Return standard errors; they are the same whatever chance is asked for."""
    low, high = _ends(found, laws, cutoffs, _CHANCE)
    farther = np.maximum(found.value - low, high - found.value)
    farther = np.maximum(farther, laws[-1].floats.variance ** 0.5)  # both ends may be 0
    absent = found.inside.absent + found.across.absent
    held = (np.array(cutoffs)[:, np.newaxis] * absent).sum(axis=0)
    variance = _variance(found.complete.seen + found.inside.kept, laws)
    error: Array = np.sqrt(variance + np.minimum(held / 2, farther) ** 2)
    return error


def _answers(found: Found, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float) -> Answers:
    """Return what the nodes of groups themselves tell."""
    least, low = _least(found.inside, laws, cutoffs, chance)
    most, high = _most(found, found.inside, laws, cutoffs, chance)
    for parts in (low, high):
        _add_noise(parts, found.complete.seen, laws)
    low_end = low.around(least + found.complete.counts).low
    high_end = high.around(most + found.complete.counts).high
    return Answers(found.value, np.zeros_like(low_end), low_end, high_end)


def _around(found: Found, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float) -> Answers:
    """Return what the nodes around groups tell, less what lies outside of groups."""
    sums = found.complete.counts + found.around.counts
    least, below = _least(found.outside, laws, cutoffs, chance)
    most, above = _most(found, found.outside, laws, cutoffs, chance)
    zero = np.zeros_like(sums)
    # What is taken away is turned round: what it may fall short of is what the group may have more.
    low, high = Parts(chance), Parts(chance)
    high.add(1.0, zero, below=0.0, above=least - below.around(least).low)
    low.add(1.0, zero, below=above.around(most).high - most, above=0.0)
    for parts in (low, high):
        _add_noise(parts, found.complete.seen, laws)
        _add_noise(parts, found.around.seen, laws)
    return Answers(sums, zero, low.around(sums - most).low, high.around(sums - least).high)


def _least(
    side: Side, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float
) -> tuple[Array, Parts]:
    """Return what a side holds at least, and how far chance goes around it."""
    parts, centre = Parts(chance), side.counts
    for law, cutoff, kept, seen in zip(laws, cutoffs, side.kept, side.seen, strict=True):
        if not seen.any():
            continue
        beyond = noise(law, cutoff=cutoff, two_sided=False)
        parts.add_noise(1.0, noise(law), np.minimum(kept + 1, seen))
        parts.add_noise(1.0, beyond, seen)
        centre = centre - seen * beyond.mean
    return centre, parts


def _most(
    found: Found, side: Side, laws: Sequence[NoiseLaw], cutoffs: Sequence[float], chance: float
) -> tuple[Array, Parts]:
    """Return what a side holds at most, and how far chance goes around it."""
    parts, centre = Parts(chance), side.counts
    levels = zip(laws, cutoffs, side.seen, side.absent, found.across.seen, found.across.absent, strict=True)
    for law, cutoff, seen, absent, across, ended in levels:
        if not (seen.any() or across.any()):
            continue
        centre = centre + cutoff * (absent + ended)
        rising = noise(law, two_sided=False)
        parts.add_noise(1.0, noise(law), seen)
        up = rising.reach(across, chance)[1] if across.any() else across
        parts.add(1.0, across * rising.variance, below=0.0, above=up)
        centre = centre + across * rising.mean
    return centre, parts


def _add_noise(parts: Parts, seen: Array, laws: Sequence[NoiseLaw]) -> None:
    for law, number in zip(laws, seen, strict=True):
        if number.any():
            parts.add_noise(1.0, noise(law), number)


def _variance(kept: Array, laws: Sequence[NoiseLaw]) -> Array:
    variances = np.array([law.floats.variance for law in laws])
    found: Array = (variances[:, np.newaxis] * kept).sum(axis=0)
    return found
