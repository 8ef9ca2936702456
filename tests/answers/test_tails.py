"""How far noise reaches, against laws that are added up by convolution."""

from fractions import Fraction
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
import pytest

from hushtable.answers.estimation.tails import SeenNoise, noise, normal_reach
from hushtable.laws.geometric import Geometric


def seen(rate: float, cutoff: int = 1, two_sided: bool = True) -> SeenNoise:
    return SeenNoise(Geometric(Fraction(rate)), cutoff, two_sided)


def rate_of(noise: SeenNoise) -> float:
    assert isinstance(noise.law, Geometric)
    return float(noise.law.rate)


class Reach(NamedTuple):
    below: float
    above: float


def convolved(noise: SeenNoise, cells: int, chance: float) -> Reach:
    """The same distances from the exact law of a sum: the law of one cell, to the power `cells` by FFT."""
    a, c = exp(-rate_of(noise)), noise.cutoff
    farthest = int(60 / rate_of(noise)) + c
    x = np.arange(-farthest, farthest + 1)
    mass = (1 - a) / (1 + a) * a ** np.abs(x)
    seen = (np.abs(x) >= c) if noise.two_sided else (x >= c)
    one = np.where(seen, mass, 0)
    one[farthest] += mass[~seen].sum()
    mean = float((one * x).sum())
    length = (
        1 << int(2 * (farthest + 12 * sqrt(cells * float((one * x * x).sum())) + cells * mean)).bit_length()
    )
    wrapped = np.zeros(length)
    np.add.at(wrapped, x % length, one)
    total = np.maximum(np.fft.irfft(np.fft.rfft(wrapped) ** cells, length), 0)
    values = np.fft.fftfreq(length, 1 / length)
    order = np.argsort(values)
    values, total = values[order], total[order]
    beyond = np.append(np.cumsum(total[::-1])[::-1][1:], 0)  # P[sum > x]
    above = values[np.argmax(beyond <= chance / 2)] - cells * mean
    below = cells * mean - values[np.argmax(np.cumsum(total) > chance / 2)]
    return Reach(below, above)


def reached(noise: SeenNoise, cells: int, chance: float) -> Reach:
    below, above = noise.reach(np.array([float(cells)]), chance)
    return Reach(float(below[0]), float(above[0]))


@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-3, 1e-7])
@pytest.mark.parametrize("cells", [1, 2, 3, 10, 100, 3000])
@pytest.mark.parametrize("rate", [2.0, 0.5, 0.05])
def test_noise_of_every_cell(rate: float, cells: int, chance: float) -> None:
    noise = seen(rate)
    exact, ours = convolved(noise, cells, chance), reached(noise, cells, chance)

    # Never short of the exact distance, which is a whole number, and at most one number or 3 % beyond it.
    assert exact.above - 1e-6 <= ours.above <= exact.above * 1.03 + 1
    assert ours.below == ours.above


@pytest.mark.parametrize("chance", [0.05, 1e-3, 1e-7])
@pytest.mark.parametrize("expected", [0.2, 1, 5, 50])  # cells lifted over the cutoff
@pytest.mark.parametrize(("rate", "cutoff"), [(1.0, 8), (0.1, 65)])
@pytest.mark.parametrize("two_sided", [True, False])
def test_noise_beyond_a_cutoff(
    rate: float, cutoff: int, expected: float, chance: float, two_sided: bool
) -> None:
    noise = seen(rate, cutoff, two_sided)
    cells = round(expected / noise.chance)
    exact, ours = convolved(noise, cells, chance), reached(noise, cells, chance)

    # Sums of few lifted cells jump by the cutoff; the smooth formula passes between the jumps.
    jump = 0.5 * cutoff if expected < 5 else 0.1 * cutoff
    assert exact.above - jump <= ours.above <= exact.above * 1.05 + jump
    assert ours.below >= exact.below - jump


@pytest.mark.parametrize("noise", [seen(0.3), seen(0.3, 5), seen(0.3, 5, two_sided=False), seen(3.0, 2)])
def test_mean_and_variance(noise: SeenNoise) -> None:
    a = exp(-rate_of(noise))
    x = np.arange(-400, 401)
    mass = (1 - a) / (1 + a) * a ** np.abs(x)
    seen = np.where((np.abs(x) if noise.two_sided else x) >= noise.cutoff, x, 0)

    assert noise.mean == pytest.approx((mass * seen).sum(), abs=1e-12)
    assert noise.variance == pytest.approx((mass * seen**2).sum() - (mass * seen).sum() ** 2)
    assert noise.chance == pytest.approx(mass[seen != 0].sum())


def test_many_cells_are_nearly_normal() -> None:
    noise = seen(0.1)
    cells = 1e30

    assert reached(noise, int(cells), 0.05).above == pytest.approx(
        normal_reach(0.05) * sqrt(cells * noise.variance), rel=1e-3
    )


@pytest.mark.parametrize("noise", [seen(0.1), seen(0.1, 65), seen(2.0, 20), seen(1.0, 8, two_sided=False)])
@pytest.mark.parametrize("most", [1e3, 1e6, 1e18])
def test_many_different_numbers_of_cells_are_interpolated(noise: SeenNoise, most: float) -> None:
    cells = np.append(0.0, np.unique(np.geomspace(1, most, 3000).astype(int)).astype(float))
    below, above = noise.reach(cells, 0.05)
    exact = noise.reach(cells[::300], 0.05)

    # At the first cells that matter at all, reach jumps from nothing to the cutoff.
    assert above[::300] == pytest.approx(exact[1], rel=0.05, abs=0.5 * noise.cutoff)
    assert below[::300] == pytest.approx(exact[0], rel=0.05, abs=0.5 * noise.cutoff)


def test_no_cells_and_no_noise() -> None:
    assert reached(seen(0.1), 0, 0.05) == (0, 0)
    assert reached(seen(700.0), 1000, 0.05) == (0, 0)


def test_the_reference_notices_a_wrong_variance() -> None:
    exact = convolved(seen(0.1), 100, 0.05)

    assert not exact.above - 1e-6 <= reached(seen(0.11), 100, 0.05).above <= exact.above * 1.03 + 1
    assert not exact.above - 1e-6 <= reached(seen(0.09), 100, 0.05).above <= exact.above * 1.03 + 1


def test_no_cutoff_is_too_large() -> None:
    """A file that somebody made up may state a cutoff that no float holds on a deeper level."""
    law = Geometric(Fraction(2, 495))

    assert noise(law, cutoff=float("inf"), two_sided=False).cutoff == 1 << 60
    assert noise(law, cutoff=1e308, two_sided=False).variance == 0
    assert [noise(law, cutoff=each).cutoff for each in (None, 0.5, 1, 1.2, 7)] == [1, 1, 1, 2, 7]
