r"""How far a sum over cells chosen at random lies from the truth, on average.

The error of a cell has mean :math:`\mu` and variance :math:`\sigma^2`: the error of cells of one count
(*within*), and its mean among counts (*between*). Over R of the m cells, the sum of errors has

====================  ==============================  ===========================================
answers               mean                            variance
====================  ==============================  ===========================================
sums of weights       R mu                            R within + R (1 - R/m) between
corrected by a total  0                               R (1 - R/m) sigma^2 + (R/m)^2 var(total)
====================  ==============================  ===========================================

Sets of cells of a sparse table mostly hold nothing, so sums are far from normal, and their mean size is
far below their deviation. It follows from the characteristic function of one cell's error, a finite
formula, by :math:`E|S| = \frac{2}{\pi} \int_0^\infty (1 - Re\, \psi(t)) t^{-2} dt`, where :math:`\psi` is its
power that gives the variance above.

Promise: the mean size of the error within about a per cent, for independent cells, sparse or not.
Cost: one product of a matrix of counts times frequencies, kept between rules, with six columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log, log10, pi, sqrt

import numpy as np

from hushtable.laws.floats import Array, Complex, FloatView
from hushtable.planning.moments import Outcomes

_A_DECADE = 24  # frequencies in each
_DECADES = 6  # spans are multiples of it, so that most rules share one
_FAR = 40.0  # noise reaches farther with a chance of exp(-40): nothing lies there
_FASTEST = 1e3
_SURE = 6.0  # deviations: a mean farther from 0 than that is the mean size


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """How sums over cells become answers: `absent` is what an absent cell counts, by the `total` if given."""

    absent: float = 0.0
    total: FloatView | None = None


class AlikeCells:
    """The cells of a table by their count: `cells[i]` of `cells_total` hold `counts[i]`."""

    def __init__(self, counts: Array, cells: Array) -> None:
        self.counts, self.cells = counts, cells
        self.cells_total = float(cells.sum())
        self.share = cells / self.cells_total
        self.mean = float((self.share * counts).sum())
        self._turns = lru_cache(maxsize=8)(self._turned)

    def mean_errors(self, outcomes: Outcomes, answer: Answer, sizes: Sequence[int]) -> dict[int, float]:
        """Return the mean size of the error for sets of so many cells."""
        first, second = outcomes.errors(absent=answer.absent)
        mean = float((self.share * first).sum())
        between = float((self.share * (first - mean) ** 2).sum())
        within = max(float((self.share * (second - first**2)).sum()), 0.0)
        parts = [size / self.cells_total for size in sizes]
        found: dict[int, float] = {}
        span = self._span(outcomes, answer, sizes, mean, sqrt(between + within))
        times, log_size, phase = self._logarithm(outcomes, answer, span)
        for size, part in zip(sizes, parts, strict=True):
            kept = 1 - part if answer.total else 1 - part * between / max(between + within, 1e-300)
            bias, extra = (0.0, part**2 * answer.total.variance) if answer.total else (size * mean, 0.0)
            variance = size * kept * (between + within) + extra
            if abs(bias) > _SURE * sqrt(variance):
                found[size] = abs(bias)
                continue
            power, turn = size * kept * log_size, size * kept * phase
            if answer.total:
                power = power - np.log1p(answer.total.waves(times * part))
            else:
                turn = turn + (size - size * kept) * mean * times
            lost = (
                -np.expm1(power) * np.cos(turn) + 2 * np.sin(turn / 2) ** 2
            )  # 1 - Re psi, to the last digit
            found[size] = mean_size(times, lost, variance + bias**2)
        return found

    def _span(
        self, outcomes: Outcomes, answer: Answer, sizes: Sequence[int], mean: float, deviation: float
    ) -> tuple[int, int]:
        """Return the decades of frequency that matter: from the largest sums to the smallest."""
        most, least = max(sizes), min(sizes)
        jump = max(outcomes.rule.sampled, float(self.counts[-1])) + outcomes.noise.distance(_FAR)
        large = jump + most * abs(mean) + 10 * sqrt(most) * deviation
        small = least * max(abs(answer.absent), abs(mean), 1e-3 * self.mean)
        if answer.total:
            large += most / self.cells_total * answer.total.distance(_FAR)
            small = max(small, least / self.cells_total * sqrt(answer.total.variance))
        low, high = -log10(large) - 2, 2 - log10(min(max(small, 1e-290), 1.0))
        return floor(low / _DECADES) * _DECADES, ceil(high / _DECADES) * _DECADES

    def _turned(self, span: tuple[int, int]) -> tuple[Array, Array, Array]:
        """Return frequencies t, and 1 - exp(-i t M) for the lower ones and each count, as two matrices."""
        low, high = span
        times = frequencies(low, high)
        angles = np.outer(times[times <= _FASTEST], self.counts)
        return times, 2 * np.sin(angles / 2) ** 2, np.sin(angles)

    def _logarithm(
        self, outcomes: Outcomes, answer: Answer, span: tuple[int, int]
    ) -> tuple[Array, Array, Array]:
        """Return frequencies, with the logarithm of the characteristic function of one cell's error."""
        times, real, imaginary = self._turns(span)
        lost = self._lost(outcomes, answer, times, real, imaginary)
        with np.errstate(divide="ignore"):
            size = np.log1p(np.maximum(-2 * lost.real + lost.real**2 + lost.imag**2, -1.0)) / 2
        # It is never above 0 but by rounding, which would be multiplied by the cells of a set.
        return times, np.minimum(size, 0.0), np.arctan2(-lost.imag, 1 - lost.real)

    def _lost(
        self, outcomes: Outcomes, answer: Answer, times: Array, real: Array, imaginary: Array
    ) -> Complex:
        """Return 1 - E exp(i t error), where every term is small when it should be: nothing cancels."""
        noise, rule, counts = outcomes.noise, outcomes.rule, self.counts
        if rule.everything:
            waves = noise.waves(times)
            return np.asarray(waves / (1 + waves), dtype=np.complex128)
        certain = noise.waves_beyond(counts, self.share, certain=float(rule.certain))
        parts = (
            (self.share * outcomes.absent_chance, answer.absent),
            (self.share * outcomes.up, rule.sampled),
            (self.share * outcomes.down, -rule.sampled),
            *certain.parts,
        )
        weights = np.stack([weight for weight, _ in parts], axis=1)
        sums = weights.sum(axis=0)
        # Whole counts turn so fast at high frequencies that they cancel; what is left there is `absent`.
        turned = np.tile(weights[counts > 0].sum(axis=0).astype(np.complex128), (times.size, 1))
        turned[: len(real)] = real @ weights + 1j * (imaginary @ weights)
        # 1 - exp(i t (place - M)), added up over counts.
        shifts = [_turn(times * place) for _, place in parts]
        moved = [u * sums[i] + (1 - u) * turned[:, i] for i, u in enumerate(shifts)]
        return np.asarray(moved[0] + moved[1] + moved[2] + certain.lost(times, moved[3:], sums[3:]))


def frequencies(low: int, high: int) -> Array:
    """Return frequencies from 10^low to 10^high, even in logarithm."""
    return np.asarray(10.0 ** np.linspace(low, high, (high - low) * _A_DECADE + 1))


def _turn(angle: Array) -> Complex:
    """Return 1 - exp(i angle)."""
    return np.asarray(2 * np.sin(angle / 2) ** 2 - 1j * np.sin(angle))


def mean_size(times: Array, lost: Array, square: float) -> float:
    """Return the mean size of a sum, from 1 - Re psi at frequencies even in logarithm, and its square."""
    inner = lost / times
    step = log(10) / _A_DECADE
    middle = step * float(inner.sum() - (inner[0] + inner[-1]) / 2)
    below = float(times[0]) * square / 2
    above = float(lost[-_A_DECADE:].mean() / times[-1])
    return 2 / pi * (below + middle + above)
