"""Limits for sums of samples, against exact laws of Poisson and of binomial events."""

from math import exp, lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.answers.estimation.sampling import reach

TAU = 50.0


def poisson(mean: float, most: int) -> NDArray[np.float64]:
    k = np.arange(most)
    factorials = np.array([lgamma(each + 1) for each in k])
    return np.asarray(np.exp(k * log(mean) - mean - factorials))


def limits(
    rows: NDArray[np.int_], share: float, chance: float, cells: int = 10**6
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The limits after so many published rows, each of a count that is this share of the threshold."""
    total = TAU * rows.astype(float)
    variance = total * TAU * (1 - share)
    below, above = reach(
        total, total * share, variance, (cells - rows).astype(float), threshold=TAU, chance=chance
    )
    return total - below, total + above


@pytest.mark.parametrize("chance", [0.32, 0.05, 0.001])
@pytest.mark.parametrize("mean", [0.02, 0.1, 0.5, 1, 2, 3.5, 5, 10, 30, 100, 400])
def test_many_small_counts_are_covered(mean: float, chance: float) -> None:
    most = int(mean + 12 * mean**0.5 + 30)
    low, high = limits(np.arange(most), 1e-6, chance)
    truth = mean * TAU
    mass = poisson(mean, most)

    # Exactly: the sum of chances of all numbers of rows whose limits hold the truth.
    assert mass[(low <= truth) & (truth <= high)].sum() >= 1 - 1.3 * chance


def test_limits_are_not_much_wider_than_they_must_be() -> None:
    mean = 50.0
    mass = poisson(mean, 200)
    low, high = limits(np.arange(200), 1e-6, 0.05)

    assert mass[(low <= mean * TAU) & (mean * TAU <= high)].sum() < 0.97


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("cells", [1, 3, 10, 100])
def test_counts_near_the_threshold_are_covered(share: float, cells: int) -> None:
    k = np.arange(cells + 1)
    binomial = np.array([lgamma(cells + 1) - lgamma(each + 1) - lgamma(cells - each + 1) for each in k])
    mass = np.exp(binomial + k * log(share) + (cells - k) * log(1 - share))
    low, high = limits(k, share, 0.05, cells)
    truth = cells * share * TAU

    assert mass.sum() == pytest.approx(1)
    assert mass[(low <= truth + 1e-9) & (truth - 1e-9 <= high)].sum() >= 0.93


def nothing_seen(absent: list[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    none = np.zeros(len(absent))
    return reach(none, none, none, np.array(absent, dtype=float), threshold=TAU, chance=0.05)


def test_without_a_row_the_rule_of_three_holds() -> None:
    below, above = nothing_seen([1e6])

    assert below[0] == 0
    assert 0.04 < exp(-above[0] / TAU) < 0.05  # a sum so large stays without a row with that chance


def test_rows_that_were_nearly_certain_leave_little_open() -> None:
    total = np.array([1000.0])
    below, above = reach(total, total, np.zeros(1), np.array([1e6]), threshold=TAU, chance=0.05)

    assert below[0] == 0  # the counts themselves were seen
    assert TAU < above[0] < 4 * TAU


def test_absent_cells_are_below_the_threshold() -> None:
    below, above = nothing_seen([0, 1, 2, 100])

    assert below.tolist() == [0, 0, 0, 0]
    assert above[:3].tolist() == [0, TAU, 2 * TAU]
    assert above[3] < 4 * TAU
