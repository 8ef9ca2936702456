"""Laws of buckets and of rows: against convolutions cell by cell, and known values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.answers.estimation.tails import noise, normal_reach
from hushtable.answers.sketched.laws import BucketLaw
from hushtable.answers.sketched.rows import chance_of_a_row, median_variance
from hushtable.laws.geometric import Geometric

QUIET = noise(Geometric(Fraction(600)))  # as good as none


def law_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chances of -largest..largest, if a bucket and a sign are drawn."""
    largest = int(np.abs(counts).max())
    found = np.zeros(2 * largest + 1)
    for count in counts.tolist():
        found[largest + count] += 0.5 / counts.size
        found[largest - count] += 0.5 / counts.size
    return found


def passed(counts: NDArray[np.int64], draws: int, distance: float) -> float:
    """The chance that a sum of draws lies further from 0, by convolution over all whole numbers."""
    law = law_of(counts)
    length = draws * (law.size - 1) + 1
    points = 1 << length.bit_length()
    total = np.fft.irfft(np.fft.rfft(law, points) ** draws, points)[:length]
    sizes = np.abs(np.arange(length) - length // 2)
    return float(total[sizes > distance].sum())


SHAPES = {
    "even": np.arange(-300, 700),
    "heavy": np.append(np.zeros(990, dtype=np.int64) + np.arange(990) % 7 - 3, np.arange(10) * 300),
    "one": np.append(np.arange(999) % 5, 2000),
}


@pytest.mark.parametrize("chance", [0.3, 0.05, 0.01])
@pytest.mark.parametrize("draws", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_draws_pass_their_reach_with_the_chance(shape: str, draws: int, chance: float) -> None:
    counts = SHAPES[shape]
    reach = float(BucketLaw(counts, QUIET).reach(np.array([float(draws)]), chance)[0])

    assert passed(counts, draws, reach) <= chance * 1.03
    # Nearer by a twentieth and two, the chance is passed: sizes are whole numbers.
    assert passed(counts, draws, 0.95 * reach - 2) > chance * 0.9


def test_many_different_numbers_of_draws_are_interpolated() -> None:
    law = BucketLaw(SHAPES["heavy"], QUIET)
    draws = np.arange(1.0, 400.0)
    found = law.reach(draws, 0.05)

    for each in (1, 2, 17, 150, 399):
        assert found[each - 1] == pytest.approx(float(law.reach(np.array([float(each)]), 0.05)[0]), rel=0.1)


def test_many_draws_are_normal() -> None:
    law = BucketLaw(SHAPES["even"], QUIET)

    assert float(law.reach(np.array([1e9]), 0.05)[0]) == pytest.approx(
        normal_reach(0.05) * (1e9 * law.mean_square) ** 0.5
    )


def test_noise_is_never_forgotten() -> None:
    rate = Fraction(1, 10)
    for counts in ([0] * 50, [0] * 49 + [3]):  # fewer than noise would leave, without and with a tail
        law = BucketLaw(np.array(counts), noise(Geometric(rate)))

        assert law.mean_square == pytest.approx(noise(Geometric(rate)).variance)
        for draws in (1.0, 30.0):
            reach = float(law.reach(np.array([draws]), 0.05)[0])
            assert reach >= float(noise(Geometric(rate)).reach_of(np.array([draws]), 0.05)[1][0])


def test_events_too_rare_to_be_seen_are_taken_for_two() -> None:
    counts = SHAPES["heavy"]
    law = BucketLaw(counts, noise(Geometric(Fraction(1, 10))))
    largest = int(np.abs(counts).max())

    # One in 1001 is seen at most; the rest of the chance is that of another event, one in 20.
    (reach,), (rest,) = law.reach(np.ones(1), 0.05 / 1001), law.reach(np.ones(1), 0.05)
    assert reach == pytest.approx(largest + rest)
    assert float(law.reach(np.ones(1), 1e-9)[0]) > max(2 * largest, 10 * log(1e9 / 2.2))


def test_tails_of_noise_go_on_as_they_are_seen() -> None:
    rate, shares = Fraction(1, 50), (np.arange(2000) + 0.5) / 2000
    law = BucketLaw(np.rint(-50 * np.log(shares)).astype(np.int64), noise(Geometric(rate)))  # its quantiles

    for chance in (1e-5, 1e-8, 1e-12):
        (exact,) = noise(Geometric(rate)).reach_of(np.ones(1), chance)[1]
        assert float(law.reach(np.ones(1), chance)[0]) == pytest.approx(exact, rel=0.15)


def test_variances_of_medians() -> None:
    # Sarhan, Greenberg (1962): order statistics of normal samples.
    known = {1: 1.0, 2: 0.5, 3: 0.44867, 4: 0.29820, 5: 0.28683, 6: 0.21472, 7: 0.21045}
    for rows, variance in known.items():
        assert median_variance(rows) == pytest.approx(variance, abs=2e-4)
    assert 64 * median_variance(64) == pytest.approx(np.pi / 2, rel=0.02)


@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize("chance", [0.5, 0.05, 1e-9])
def test_the_median_passes_what_rows_pass(rows: int, chance: float) -> None:
    own = chance_of_a_row(chance, rows)
    sides = {-1: own / 2, 0: 1 - own, 1: own / 2}  # below, within, above
    total = 0.0
    for each in product(sides, repeat=rows):
        if sorted(each)[rows // 2]:
            total += float(np.prod([sides[side] for side in each]))

    assert total == pytest.approx(chance, rel=1e-9)


@pytest.mark.parametrize("rows", [4, 6])
def test_the_median_of_an_even_number_passes_it_less_often(rows: int) -> None:
    random = np.random.default_rng(3)
    for errors in (random.normal(size=(200_000, rows)), random.standard_t(2, size=(200_000, rows))):
        distance = np.quantile(np.abs(errors), 1 - chance_of_a_row(0.05, rows))
        found = np.mean(np.abs(np.median(errors, axis=1)) > distance)
        assert 0.005 < found < 0.05


def test_the_lowest_count_that_a_file_can_hold_has_a_size() -> None:
    law = BucketLaw(np.array([-(2**63), 6, -(2**63), 1]), QUIET)

    assert np.isfinite(law.reach(np.array([1.0, 7.0, 5_000.0]), 0.05)).all()
    assert law.reach(np.array([1.0]), 0.3)[0] == 2.0**63
