"""What is drawn through an engine follows its exact law.

A small world is there in many copies, side by side in one domain, so that one draw holds many repeats of it.
Samples of a fixed size are one draw of all copies together: above a value that is surely higher than their
threshold, they show all that there is, as a filter would, and the threshold itself has a known law.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.engines.sliced.counting import Counted
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.methods.settings import Method
from hushtable.publishing import publish as flow
from hushtable.summaries.flat import acceptance_of, summarize_slices
from hushtable.summaries.summary import Summary
from tests.engines.contracts.counting import whole
from tests.engines.contracts.engine import Engine, counted_with
from tests.harness import statistics
from tests.harness.statistics import ALARM, fits, follows, law_at, replay
from tests.summaries.worlds import ABSENT, cell_law, chance_above

RATE, MORE, LESS = Fraction(1, 3), Fraction(3, 4), Fraction(5, 4)
OCCUPIED = {1: 7, 4: 1, 7: 3, 8: 25}
CELLS, COPIES = 24, 10_000
DOMAIN = ht.Domain(attributes=(whole("copy", COPIES), whole("cell", CELLS)))

INDEPENDENT: list[Method] = [
    ht.Everything(),
    ht.Filter(cutoff=4),
    ht.Filter(cutoff="2.5", two_sided=False),
    ht.Threshold(threshold="6.5"),
    ht.Threshold(threshold=5, two_sided=False),
    ht.FilterThreshold(cutoff=2, threshold="8.5"),
    ht.FilterThreshold(cutoff=2, threshold=6, two_sided=False),
]
SIZED: list[ht.Filter | ht.Priority | ht.FilterPriority] = [
    ht.Filter(size=2 * COPIES),
    ht.Filter(size=3 * COPIES // 2, two_sided=False),
    ht.Priority(size=5 * COPIES),
    ht.Priority(size=4 * COPIES, two_sided=False),
    ht.FilterPriority(cutoff="2.5", size=5 * COPIES),
    ht.FilterPriority(cutoff=3, size=4 * COPIES, two_sided=False),
]
SURELY = 20  # above the threshold of these samples


@contextmanager
def copies(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """All copies of the world, counted in many slices."""
    engine.cut_finely(monkeypatch, work=1 << 15)
    one = np.repeat(list(OCCUPIED), list(OCCUPIED.values()))
    cells = np.tile(one, COPIES)
    table = pa.table({"copy": np.repeat(np.arange(COPIES), one.size), "cell": cells})
    order = np.random.default_rng(1).permutation(cells.size)
    drawn = float(CELLS * COPIES) / 2  # for slices of equal work: of cells, and of rows
    with counted_with(engine.data(table.take(order)), DOMAIN, drawn=drawn, entropy=replay(1200)) as counted:
        assert len(counted.slices.cells_empty) > 3
        yield counted


def drawn(engine: Engine, counted: Counted, method: Method, number: int) -> Summary:
    summary = summarize_slices(
        engine.again(counted.slices),
        counted.space,
        method,
        epsilon=RATE,
        sensitivity=Fraction(1),
        entropy=replay(number),
    )
    cells = summary.codes @ np.array([CELLS, 1])
    assert np.all(np.diff(cells) > 0), "every cell once, in order"
    return summary


def check_cells(summary: Summary, rule: Acceptance | None) -> None:
    """Check that each cell shows what the rule leaves of its noisy count, by the exact law and no other."""
    shown = np.full((COPIES, CELLS), ABSENT)
    shown[tuple(summary.codes.T)] = summary.counts
    if rule is not None:
        shown[(np.abs(shown) if rule.two_sided else shown) < rule.lowest] = ABSENT
    empty = shown[:, [cell for cell in range(CELLS) if cell not in OCCUPIED]].ravel()

    assert follows(empty, cell_law(0, rule, RATE)) > ALARM
    assert fits(empty, cell_law(0, rule, RATE * MORE)) < ALARM
    assert fits(empty, cell_law(0, rule, RATE * LESS)) < ALARM
    for cell, count in OCCUPIED.items():
        assert follows(shown[:, cell], cell_law(count, rule, RATE)) > ALARM
        if count > 20:  # others are seldom shown, which does not tell rates apart
            assert fits(shown[:, cell], cell_law(count, rule, RATE * MORE)) < ALARM
            assert fits(shown[:, cell], cell_law(count, rule, RATE * LESS)) < ALARM
            assert fits(shown[:, cell], cell_law(count + 2, rule, RATE)) < ALARM


def binomial_masses(size: int, chance: float) -> tuple[int, NDArray[np.float64]]:
    """Return the law of how many of some coins come up: the first number with mass, and masses from it."""
    if chance in (0.0, 1.0):
        return int(chance) * size, np.ones(1)
    k, logs = np.arange(size + 1), np.zeros(size + 1)
    np.cumsum(np.log(k[1:]), out=logs[1:])  # of factorials
    masses = np.exp(logs[-1] - logs - logs[::-1] + k * np.log(chance) + (size - k) * np.log1p(-chance))
    masses /= masses.sum()  # sums of a hundred thousand logarithms are off by some 10^-8
    some = np.flatnonzero(masses > 1e-30)
    return int(some[0]), masses[some[0] : some[-1] + 1]


def least_law(method: ht.Filter | ht.Priority | ht.FilterPriority, at: float, rate: Fraction) -> float:
    """Return the chance that no more cells than are chosen pass `at`: that the threshold is no higher."""
    lowest = Acceptance(cutoff=getattr(method, "cutoff", None)).lowest

    def passes(values: NDArray[np.int64]) -> NDArray[np.float64]:
        magnitudes = np.abs(values) if method.two_sided else np.maximum(values, 0)
        if isinstance(method, ht.Filter):
            return (magnitudes > at).astype(float)
        return np.where(magnitudes >= lowest, np.minimum(magnitudes / at, 1.0), 0.0)

    first, law = binomial_masses(COPIES * (CELLS - len(OCCUPIED)), chance_above(0, rate, passes))
    for count in OCCUPIED.values():
        begin, masses = binomial_masses(COPIES, chance_above(count, rate, passes))
        first, law = first + begin, np.convolve(law, masses)
    assert method.size is not None
    # A filter's cut is the last of those that are chosen, a threshold the first of those that are not.
    return float(law[: max(method.size + (not isinstance(method, ht.Filter)) - first, 0)].sum())


def least_fits(
    method: ht.Filter | ht.Priority | ht.FilterPriority, summary: Summary, rate: Fraction
) -> float:
    """Return a bound on the chance that the threshold lies as far out as it does."""
    if isinstance(method, ht.Filter):
        assert summary.cutoff is not None
        below, at = least_law(method, summary.cutoff - 1, rate), least_law(method, summary.cutoff, rate)
    else:
        assert summary.threshold is not None
        below = at = least_law(method, summary.threshold, rate)
    return 2 * min(at, 1 - below)


def check_no_bits_came_twice(summary: Summary) -> None:
    """Check that no 40 cells in a row have the noise of 40 others: slices share no stream of bits."""
    truth = np.zeros((COPIES, CELLS), dtype=np.int64)
    truth[:, list(OCCUPIED)] = list(OCCUPIED.values())
    noise = np.clip(summary.counts - truth.ravel(), -128, 127).astype(np.int8)
    runs = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(noise, 40)).view("V40")

    assert np.unique(runs).size == runs.size


def test_what_is_drawn_follows_its_law(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with copies(engine, monkeypatch) as counted:
        for number, method in enumerate(INDEPENDENT):
            summary = drawn(engine, counted, method, 1201 + number)
            rule = None
            if isinstance(method, ht.Everything):
                check_no_bits_came_twice(summary)
            else:
                rule = acceptance_of(method, cells_total=CELLS, law=Geometric(RATE))
            check_cells(summary, rule)

        for number, sized in enumerate(SIZED):
            summary = drawn(engine, counted, sized, 1211 + number)
            assert len(summary) == sized.size
            least = summary.cutoff if isinstance(sized, ht.Filter) else summary.threshold
            assert least is not None
            assert least < SURELY
            check_cells(summary, Acceptance(cutoff=SURELY, two_sided=sized.two_sided))
            statistics.asked += 1
            assert least_fits(sized, summary, RATE) > ALARM
            assert least_fits(sized, summary, RATE * MORE) < ALARM
            assert least_fits(sized, summary, RATE * LESS) < ALARM

        check_total(counted)


def check_total(counted: Counted) -> None:
    rate, entropy = Fraction(1), replay(1220)
    total = COPIES * sum(OCCUPIED.values())
    draws = np.array([flow.noisy_total(counted, Geometric(rate), entropy) - total for _ in range(12_000)])

    assert follows(draws, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(draws, law_at(TwoSidedGeometric, rate * MORE)) < ALARM
    assert fits(draws, law_at(TwoSidedGeometric, rate * LESS)) < ALARM
