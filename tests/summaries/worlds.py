"""Exact laws of whole summaries on small tables, by adding up what the long way can do.

Cells are independent, so what a sample of fixed size shows has a law in closed form: its threshold is at
most t exactly if no more than `size` cells have a priority above t, and a sum of independent coins has a law
that is convolved in a line. Floats, but nothing is approximated beyond their last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.summaries import laborious
from hushtable.summaries.flat import acceptance_of
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from tests.harness.statistics import FloatLaw, from_masses

Rates = Fraction | tuple[Fraction, ...] | NoiseLaw  # of geometric noise, or other noise
ABSENT = -10_000  # stands for a cell that is not shown
REACH = 400  # noise beyond this has no mass at the rates of these tests


def table_of(counts: dict[int, int], cells_total: int) -> ht.SparseTable:
    return ht.SparseTable(shape=(cells_total,), codes=list(counts), counts=list(counts.values()))


def shortcut(
    counts: dict[int, int],
    cells_total: int,
    method: Method,
    rate: Fraction,
    entropy: BitSource,
    **options: object,
) -> Summary:
    table = table_of(counts, cells_total)
    summary = draw_summary(
        table,
        method,
        epsilon=rate,
        sensitivity=Fraction(1),
        entropy=entropy,
        **options,  # type: ignore[arg-type]
    )

    cells = summary.codes[:, 0].tolist()
    assert cells == sorted(set(cells)), "every cell once, in order"
    return summary


def rows_of(summary: Summary) -> dict[int, int]:
    return dict(zip(summary.codes[:, 0].tolist(), summary.counts.tolist(), strict=True))


def long_way(
    counts: dict[int, int], cells_total: int, method: Method, law: NoiseLaw, entropy: BitSource
) -> tuple[dict[int, int], float | None]:
    """The rows and the threshold of a summary, by the slow reference."""
    noisy = laborious.noisy_table(counts, cells_total, law, entropy)
    match method:
        case ht.Everything(nonnegative=nonnegative):
            return {cell: max(value, 0) if nonnegative else value for cell, value in noisy.items()}, None
        case ht.Filter(size=int(size)):
            return laborious.largest(noisy, size=size, two_sided=method.two_sided, entropy=entropy), None
        case ht.Priority(size=size) | ht.FilterPriority(size=size):
            cutoff = getattr(method, "cutoff", None)
            rows, tau = laborious.priority_sample(
                noisy, size=size, cutoff=cutoff, two_sided=method.two_sided, entropy=entropy
            )
            return rows, float(tau)
        case _:
            rule = acceptance_of(method, cells_total=cells_total, law=law)
            return laborious.accepted_cells(noisy, rule, entropy), float(rule.threshold or 0)


@cache
def noise_masses(rates: Rates) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Geometric noise at a rate; at several, each with the same chance; or noise of a law."""
    values = np.arange(-REACH, REACH + 1)
    if isinstance(rates, NoiseLaw):
        return values, rates.floats.mass(np.abs(values))
    a = np.exp(-np.array(rates, dtype=np.float64).reshape(-1, 1))
    return values, ((1 - a) / (1 + a) * a ** np.abs(values)).mean(axis=0)


def coins_at_most(chances: list[float], size: int, *, others: int, chance: float) -> float:
    """The chance that no more than `size` coins come up: these, and so many `others` with one chance."""
    law = np.zeros(size + 1)
    law[0] = (1 - chance) ** others
    for k in range(min(size, others)):
        law[k + 1] = law[k] * (others - k) / (k + 1) * chance / (1 - chance)
    for own in chances:
        law[1:] = law[1:] * (1 - own) + law[:-1] * own
        law[0] *= 1 - own
    return float(law.sum())


def chance_above(
    count: int, rate: Rates, chance: Callable[[NDArray[np.int64]], NDArray[np.float64]]
) -> float:
    """The chance that a cell with this true count passes."""
    values, masses = noise_masses(rate)
    return float((masses * chance(values + count)).sum())


def threshold_cdf(
    counts: dict[int, int], cells_total: int, size: int, rule: Acceptance, rate: Rates
) -> Callable[[float], float]:
    """The law of the threshold of a priority sample of the cells that the plain rule accepts."""

    def cdf(t: float) -> float:
        def passes(values: NDArray[np.int64]) -> NDArray[np.float64]:
            magnitudes = np.abs(values) if rule.two_sided else np.maximum(values, 0)
            share = np.minimum(magnitudes / t, 1.0) if t > 0 else (magnitudes > 0).astype(float)
            return np.where(magnitudes >= rule.lowest, share, 0.0)

        empty = chance_above(0, rate, passes)
        chances = [chance_above(count, rate, passes) for count in counts.values()]
        return coins_at_most(chances, size, others=cells_total - len(counts), chance=empty)

    return cdf


def cut_cdf(
    counts: dict[int, int], cells_total: int, size: int, two_sided: bool, rate: Rates
) -> Callable[[float], float]:
    """The law of the smallest of the `size` largest magnitudes; 0 where fewer are not 0."""

    def cdf(c: float) -> float:
        def passes(values: NDArray[np.int64]) -> NDArray[np.float64]:
            magnitudes = np.abs(values) if two_sided else values
            return (magnitudes > max(c, 0)).astype(float)

        empty = chance_above(0, rate, passes)
        chances = [chance_above(count, rate, passes) for count in counts.values()]
        return coins_at_most(chances, size - 1, others=cells_total - len(counts), chance=empty)

    return cdf


@cache
def cell_law(count: int, rule: Acceptance | None, rate: Rates) -> FloatLaw:
    """What a summary shows of one cell with this count: a value, or nothing. No rule: noise only."""
    values, masses = noise_masses(rate)
    law = {ABSENT: 0.0}
    for noise, mass in zip(values.tolist(), masses.tolist(), strict=True):
        chance = 1.0 if rule is None else float(rule.chance(noise + count))
        law[noise + count] = mass * chance
        law[ABSENT] += mass * (1 - chance)
    return from_masses(law)
