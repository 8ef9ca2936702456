"""How unevenly suppressed counts may lie, judged by published ones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.answers.estimation.unevenness import unevenness


def weights(sums: list[float]) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """Ten rows for each value, which add up to these sums."""
    return np.repeat(np.arange(len(sums), dtype=np.uint16), 10), np.repeat(np.array(sums) / 10, 10)


def test_the_relative_variance_of_published_weights() -> None:
    sums = [50.0, 150.0] * 500
    codes, given = weights(sums)
    found = unevenness(codes, given, values=1000, variance=0.0, suppressed=1e9)

    assert found == pytest.approx(0.25, rel=0.06)  # (50/100)^2, and one standard deviation of care


def test_noise_is_taken_off() -> None:
    noisy = np.random.default_rng(5).normal(1000, 30, 5000).tolist()
    codes, given = weights(noisy)
    found = unevenness(codes, given, values=5000, variance=5000 * 30.0**2, suppressed=1e9)

    assert 0 <= found < 0.1 * (30 / 1000) ** 2


def test_values_without_rows_count() -> None:
    codes, given = weights([100.0])
    found = unevenness(codes, given, values=10_000, variance=0.0, suppressed=1e9)

    assert found == pytest.approx(10_000, rel=0.02)  # one value of ten thousand holds all


def test_the_last_run_may_be_shorter() -> None:
    codes, given = weights([100.0, 100.0, 100.0, 25.0])

    assert unevenness(codes, given, values=4, variance=0.0, suppressed=1e9, last=0.25) == 0
    assert unevenness(codes, given, values=4, variance=0.0, suppressed=1e9) > 0.1


def test_many_values_are_found_by_sorting() -> None:
    codes = np.repeat(np.array([5, 7_000_000_000, 2**40], dtype=np.uint64), 4)
    found = unevenness(codes, np.ones(12), values=2**41, variance=0.0, suppressed=1e9)

    assert found == pytest.approx(2**41 / 3, rel=1e-3)


def test_where_all_hold_the_same_suppressed_counts_mirror_published_ones() -> None:
    sums = np.random.default_rng(6).normal(1000, 100, 2000)
    codes, given = weights(sums.tolist())
    suppressed = float(sum(1300 - sums))

    found = unevenness(codes, given, values=2000, variance=0.0, suppressed=suppressed)
    assert found == pytest.approx((100 / 300) ** 2, rel=0.2)


def test_little_is_suppressed_of_values_that_differ_much() -> None:
    codes, given = weights([1000.0, 3000.0])

    assert unevenness(codes, given, values=2, variance=0.0, suppressed=10.0) >= 1


def test_one_value_has_no_unevenness() -> None:
    assert unevenness(np.zeros(3, dtype=np.uint8), np.ones(3), values=1, variance=0.0, suppressed=1.0) == 0


def test_without_published_weight_anything_is_possible() -> None:
    codes, given = weights([100.0, -100.0])

    assert unevenness(codes, given, values=2, variance=0.0, suppressed=1.0) == np.inf


def test_numbers_beyond_floats_are_no_error() -> None:
    codes, given = weights([1e200, 3e200])

    assert unevenness(codes, given, values=2, variance=0.0, suppressed=1e-200) == np.inf
    assert unevenness(codes, given, values=10, variance=0.0, suppressed=5e-324) == np.inf
