"""The mean size of an error, against laws that were added up and tables that were drawn."""

from __future__ import annotations

from math import exp, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.laws.geometric import GeometricFloats
from hushtable.planning.moments import Outcomes, Rule
from hushtable.planning.sums import AlikeCells, Answer

Array = NDArray[np.float64]
HUGE = 1e9  # cells, so that a set takes next to nothing of them


def law_of_an_error(counts: Array, shares: Array, rate: float, rule: Rule) -> tuple[Array, int]:
    """The chances of each whole error of one cell, and the place of 0; absent cells count 0."""
    reach = int(45 / rate) + int(rule.sampled + counts.max()) + 2
    law = np.zeros(2 * reach + 1)
    noise = np.arange(-int(45 / rate), int(45 / rate) + 1)
    chance_of = (1 - exp(-rate)) / (1 + exp(-rate)) * np.exp(-rate * np.abs(noise))
    for count, share in zip(counts.astype(int), shares, strict=True):
        size = np.abs(count + noise)
        kept = np.where(size >= rule.cutoff, 1.0, 0.0)
        if rule.threshold > rule.cutoff:
            kept *= np.minimum(size / rule.threshold, 1)
        weight = np.sign(count + noise) * np.maximum(size, rule.threshold).astype(int)
        np.add.at(law, weight - count + reach, share * chance_of * kept)
        law[reach - count] += share * float((chance_of * (1 - kept)).sum())
    return law, reach


def mean_size(law: Array, zero: int, size: int) -> float:
    """The mean size of the sum of `size` draws, by convolution."""
    width = (law.size - 1) * size + 1
    length = 1 << (width - 1).bit_length()
    powered = np.fft.irfft(np.fft.rfft(law, length) ** size, length)[:width]
    return float((powered * np.abs(np.arange(width) - zero * size)).sum())


@pytest.mark.parametrize("density", [1e-4, 0.02, 0.5])
@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("rule", [Rule(cutoff=15), Rule(cutoff=10, threshold=60), Rule(threshold=200)])
def test_sums_of_weights_are_off_as_their_law_says(density: float, rate: float, rule: Rule) -> None:
    counts = np.array([0.0, 3, 20, 90])
    cells = HUGE * np.array([1 - density, density / 2, density / 3, density / 6])
    table = AlikeCells(counts, cells)
    law, zero = law_of_an_error(counts, cells / HUGE, rate, rule)

    found = table.mean_errors(Outcomes(counts, GeometricFloats(rate), rule), Answer(), [1, 10, 100])

    for size, error in found.items():
        assert error == pytest.approx(mean_size(law, zero, size), rel=0.012)


def test_a_large_error_is_normal_or_its_bias() -> None:
    counts, cells = np.array([0.0, 50]), np.array([9e5, 1e5])
    table, noise = AlikeCells(counts, cells), GeometricFloats(0.1)

    noisy = table.mean_errors(Outcomes(counts, noise, Rule(everything=True)), Answer(), [10**5])
    blind = table.mean_errors(Outcomes(counts, noise, Rule(cutoff=2000)), Answer(), [10**5])

    assert noisy[10**5] == pytest.approx(sqrt(10**5 * noise.variance * 2 / pi), rel=1e-3)
    assert blind[10**5] == pytest.approx(10**5 * 5, rel=1e-6)


def test_the_total_alone_leaves_what_cells_differ_by() -> None:
    counts, cells = np.array([0.0, 50]), np.array([9e5, 1e5])
    table = AlikeCells(counts, cells)
    nothing = Outcomes(counts, GeometricFloats(0.1), Rule(cutoff=10_000))

    found = table.mean_errors(nothing, Answer(absent=5.0, total=GeometricFloats(0.01)), [10**4, 5 * 10**5])

    for size, error in found.items():
        part = size / 1e6
        variance = size * (1 - part) * 0.1 * 0.9 * 50**2 + part**2 * GeometricFloats(0.01).variance
        assert error == pytest.approx(sqrt(variance * 2 / pi), rel=2e-3)


def test_sparse_sets_mostly_hold_nothing() -> None:
    # With 10^5 of 10^12 cells occupied, answering the mean is off by it, and again by what is there.
    counts, cells = np.array([0.0, 100]), np.array([1e12 - 1e5, 1e5])
    table = AlikeCells(counts, cells)
    nothing = Outcomes(counts, GeometricFloats(0.1), Rule(cutoff=10_000))

    found = table.mean_errors(nothing, Answer(absent=1e-5, total=GeometricFloats(10.0)), [100, 1000])

    assert found == pytest.approx({100: 2e-3, 1000: 2e-2}, rel=5e-3)
