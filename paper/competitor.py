r"""Synthetic people by Dirichlet resampling: the competitor of the OnTheMap comparison.

Each of m cells holds x people and gets alpha more, a prior. The cells' shares are drawn from
Dirichlet(x + alpha), then `rows` synthetic people from these shares. Moving one person changes the chance of
a synthetic table by a factor of at most :math:`e^\varepsilon`, unless a cell of it has more than
:math:`(e^\varepsilon - 1)(\max(x - 1, 0) + \alpha)` people. How many it has follows a beta-binomial law, and
T(x) is the chance that they are too many. The chance of a table with such a cell is, wherever the N people
are, at most the sum of T over the cells, and so (by the steepest line from T(0) to any T(x))

.. math:: m\,T(0) + N \max_{1 \le x \le N} \frac{T(x) - T(0)}{x}.

Promise: `failure_bound` is this bound, to the rounding of floats; the maximum is over all x. Where it is at
most delta, privacy is (epsilon, delta)-probabilistic: weaker than the pure epsilon of hushtable, and N is
public. Draws come from NumPy: for experiments, not for releases.
Cost: a bound takes milliseconds, also for large N; a resampled table takes time and memory of all m cells.
Source: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber (2008), Privacy: theory meets practice on the map.
"""

from __future__ import annotations

from math import exp, expm1, log

import numpy as np
from numpy.typing import NDArray

SMALLEST_ALPHA, LARGEST_ALPHA = 1e-6, 1e6  # what `smallest_alpha` tries

_DECADES = range(-6, 6)
_FEW_PEOPLE = 2 ** np.arange(7)  # enough of them to refuse almost every alpha that is too small
_SHIFT = 16  # from here on, the five terms of Stirling's series below leave less than 2e-16
_CHUNK = 32
_NEGLIGIBLE = 1e-16

_Floats = NDArray[np.float64]


def smallest_alpha(
    counts: NDArray[np.int64], *, cells: int, epsilon: float, delta: float, rows: int | None = None
) -> float | None:
    """Return the smallest number of three digits that, as prior of each cell, keeps the bound within `delta`.

    Guarantee: no smaller number of three digits, from `SMALLEST_ALPHA` on, does. They are tried in order:
    people are counted in integers, so the bound may be a sawtooth in alpha (where cells hold many people
    each), and bisection could miss a tooth.

    =======================================  ================================================================
    case                                     result
    =======================================  ================================================================
    `rows` is None                           as many synthetic people as there are people
    none up to `LARGEST_ALPHA` does          None; never if `rows / (exp(epsilon) - 1)` lies below it, since
                                             from there on no cell can have too many people
    `counts` has not one entry a cell, is    `ValueError`
    negative or holds nobody
    =======================================  ================================================================
    """
    people = _people(counts, cells)
    rows = people if rows is None else rows
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not between 0 and 1. It is a chance; a usual value is 1e-4.")
    _check_size(people=people, cells=cells, rows=rows)
    _check_epsilon(epsilon)
    few = _FEW_PEOPLE[people >= _FEW_PEOPLE]
    for decade in _DECADES:
        alphas = np.array([float(f"{digits}e{decade - 2}") for digits in range(100, 1000)])
        law = _Tails(alphas[:, None], people=people, cells=cells, rows=rows, epsilon=epsilon)
        at_least = _total(law, law.steepness(few, few).max(axis=1, keepdims=True))[:, 0]
        for alpha in map(float, alphas[at_least <= log(delta)]):
            if failure_bound(alpha, people=people, cells=cells, rows=rows, epsilon=epsilon) <= delta:
                return alpha
    bound = failure_bound(LARGEST_ALPHA, people=people, cells=cells, rows=rows, epsilon=epsilon)
    return LARGEST_ALPHA if bound <= delta else None


def failure_bound(alpha: float, *, people: int, cells: int, rows: int, epsilon: float) -> float:
    """Return the bound on delta; it may exceed 1, and is 0 where no cell can have too many people."""
    _check_alpha(alpha)
    _check_size(people=people, cells=cells, rows=rows)
    _check_epsilon(epsilon)
    law = _Tails(np.array([alpha]), people=people, cells=cells, rows=rows, epsilon=epsilon)
    return exp(_total(law, np.array([_steepest(law)])).item())


def resampled(
    counts: NDArray[np.int64], *, cells: int, alpha: float, rows: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many of `rows` synthetic people are in each cell; `counts` has one entry a cell."""
    _check_alpha(alpha)
    _check_size(people=_people(counts, cells), cells=cells, rows=rows)
    shares = random.standard_gamma(counts + alpha)
    shares /= shares.sum()
    return random.multinomial(rows, shares)


class _Tails:
    """T(x) for one alpha, or for a column of them, in logarithms."""

    def __init__(self, alpha: _Floats, *, people: int, cells: int, rows: int, epsilon: float) -> None:
        self.alpha, self.people, self.cells, self.rows = alpha, people, cells, rows
        self.excess = expm1(epsilon)
        self.empty = self.log_tail(np.zeros(1), np.zeros(1))

    def log_tail(self, people: _Floats, allowed_for: _Floats) -> _Floats:
        """Return log P[a cell of `people` gets more than is allowed for one of `allowed_for`]."""
        allowed = np.floor(self.excess * (np.maximum(allowed_for - 1, 0) + self.alpha))
        first = np.minimum(allowed, self.rows) + 1
        own = people + self.alpha
        others = (self.people - people) + (self.cells - 1) * self.alpha
        return _log_reaches(*np.broadcast_arrays(first, own, others), rows=self.rows)

    def steepness(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> _Floats:
        """Return a bound on log((T(x) - T(0)) / x) for `low` <= x <= `high`; its value where they are equal.

        More people in a cell get more synthetic ones (the law is stochastically increasing), and are allowed
        more. So T(x) is at most the chance that `high` people get more than is allowed for `low`.
        """
        tail = self.log_tail(high.astype(float), low.astype(float))
        with np.errstate(divide="ignore", invalid="ignore"):  # the logarithm of 0, and differences of two
            behind = np.where(tail > self.empty, self.empty - tail, 0.0)
            return np.where(behind < 0, tail + np.log(-np.expm1(behind)) - np.log(low), -np.inf)


def _total(law: _Tails, steepest: _Floats) -> _Floats:
    """Return the logarithm of the bound, given that of the steepest line."""
    return np.logaddexp(log(law.cells) + law.empty, log(law.people) + steepest)


def _steepest(law: _Tails) -> float:
    """Return the maximum of log((T(x) - T(0)) / x) over all x from 1 to N.

    Branch and bound: ranges of x are halved, and those that cannot hold the maximum dropped. None is missed.
    """
    low = 2 ** np.arange(law.people.bit_length())
    high = np.minimum(2 * low - 1, law.people)
    best = -np.inf
    while low.size:
        best = max(best, float(law.steepness(low, low).max()))
        open_ = (low < high) & (law.steepness(low, high) > best)
        low, high = low[open_], high[open_]
        middle = (low + high) // 2
        low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
    return best


def _log_reaches(first: _Floats, own: _Floats, others: _Floats, *, rows: int) -> _Floats:
    """Return log P[X >= first] of beta-binomial laws of `rows` draws, where 1 <= first <= rows + 1."""
    result = np.full(first.shape, -np.inf)
    possible = first <= rows
    # Sums run away from the mean, where terms fall. Below it, take what is missing to 1: by symmetry,
    # it is the chance that at least rows - first + 1 draws fall elsewhere.
    above = possible & (first * (own + others) > rows * own)
    result[above] = _log_tail_sum(first[above], own[above], others[above], rows)
    below = possible & ~above
    missing = _log_tail_sum(rows - first[below] + 1, others[below], own[below], rows)
    with np.errstate(divide="ignore"):
        result[below] = np.log(np.maximum(-np.expm1(missing), 0.0))
    return result


def _log_tail_sum(first: _Floats, own: _Floats, others: _Floats, rows: int) -> _Floats:
    """Return log P[X >= first], summed from `first` upwards by the ratio of neighbours until it stands."""
    # P[X = first] is rows! / (first! (rows - first)!) B(first + own, rows - first + others) / B(own, others).
    # Its logarithm is arranged so that no large ones cancel.
    start = (
        _log_rising(rows - first + 1, first)
        - _log_rising(np.ones_like(first), first)
        + _log_rising(own, first)
        + _log_rising(others, own)
        - _log_rising(rows - first + others, own + first)
    )
    sums, term, last = np.ones_like(first), np.ones_like(first), first.copy()
    open_ = np.arange(first.size)
    while open_.size:
        steps = last[open_, None] + np.arange(_CHUNK)
        a, b = own[open_, None], others[open_, None]
        left = np.maximum(rows - steps, 0)
        terms = term[open_, None] * np.cumprod(
            left / (np.maximum(left, 1) - 1 + b) * ((steps + a) / (steps + 1)), axis=1
        )
        sums[open_] += terms.sum(axis=1)
        term[open_], last[open_] = terms[:, -1], steps[:, -1] + 1
        # From here on, the first factor falls if b >= 1, and exceeds 1 if not; the second falls to 1 if
        # a >= 1, and is below 1 if not. So if this ratio is below 1, the rest is at most a geometric series.
        at, a, b = last[open_], own[open_], others[open_]
        left = np.maximum(rows - at, 0)
        ratio = left / (np.maximum(left, 1) - 1 + b) * np.maximum((at + a) / (at + 1), 1)
        small = term[open_] * ratio <= _NEGLIGIBLE * (1 - ratio) * sums[open_]
        open_ = open_[~small & (at < rows)]
    return np.minimum(start + np.log(sums), 0.0)


def _log_rising(base: _Floats, steps: _Floats) -> _Floats:
    """Return log(gamma(base + steps) / gamma(base)) for `base` > 0 and `steps` >= 0, by Stirling's series."""
    shifts = np.arange(_SHIFT)
    shrink = np.prod((base[:, None] + shifts) / ((base + steps)[:, None] + shifts), axis=1)
    low = base + _SHIFT
    high = low + steps
    smooth = (low - 0.5) * np.log1p(steps / low) + steps * (np.log(high) - 1)
    return np.asarray(smooth + _stirling(high) - _stirling(low) + np.log(shrink))


def _stirling(z: _Floats) -> _Floats:
    """Return what log(gamma(z)) has beyond (z - 1/2) log z - z + log(2 pi) / 2."""
    square = 1 / z**2
    series = 1 / 1680 - square / 1188
    series = 1 / 1260 - square * series
    series = 1 / 360 - square * series
    return np.asarray((1 / 12 - square * series) / z)


def _people(counts: NDArray[np.int64], cells: int) -> int:
    """Return how many people the table holds, or say what is wrong with it."""
    if counts.shape != (cells,):
        raise ValueError(f"`counts` has shape {counts.shape}, not one entry for each of {cells} cells.")
    if counts.min(initial=0) < 0:
        raise ValueError("a count is negative. Pass how many people are in each cell.")
    return int(counts.sum())


def _check_size(*, people: int, cells: int, rows: int) -> None:
    if people < 1:
        raise ValueError("the table holds nobody. There must be at least one person to resample.")
    if cells < 2:
        raise ValueError(f"cells={cells} is below 2. With one cell there is nothing to resample.")
    if rows < 1:
        raise ValueError(f"rows={rows} is below 1. Draw at least one synthetic person.")


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= 100:
        raise ValueError(f"epsilon={epsilon!r} is not above 0 and at most 100. A usual value is 1.")


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < float("inf"):
        raise ValueError(f"alpha={alpha!r} is not a number above 0. `smallest_alpha` finds one.")
