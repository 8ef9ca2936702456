"""Delta by brute force: of Gaussian noise, and of thresholds, at the threshold and one beside it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.balls import working_precision
from hushtable.laws.conversions import largest_rho
from hushtable.laws.curves import gaussian_delta, gaussian_rho, stability, threshold_delta
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.sensitivities import Sensitivities
from hushtable.laws.thresholds import GaussianStability, TruncatedGeometric
from tests.harness.cases import chosen

Array = NDArray[np.float64]
SMALL = Fraction(1, 10**6)


def divergence(one: Array, other: Array, epsilon: float) -> float:
    """The least delta for which `one` is within exp(epsilon) of `other`."""
    return float(np.maximum(one - exp(epsilon) * other, 0).sum())


def both(one: Array, other: Array, epsilon: float) -> float:
    return max(divergence(one, other, epsilon), divergence(other, one, epsilon))


def gaussian(variance: float) -> Array:
    reach = ceil(40 * sqrt(variance)) + 40
    heights = np.exp(-(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * variance))
    return np.asarray(heights / heights.sum())


def joint(laws: list[Array]) -> Array:
    """The law of several independent outcomes, as one row."""
    found = np.ones(1)
    for law in laws:
        found = np.outer(found, law).ravel()
    return found


@pytest.mark.parametrize("variance", [0.3, 1.0, 4.0, 9.5, 40.0])
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_delta_of_gaussian_noise_is_that_of_all_outcomes(variance: float, cells: int, epsilon: float) -> None:
    noise = gaussian(variance)
    moved = np.roll(noise, 1)
    wanted = both(joint([noise] * cells), joint([moved] * cells), epsilon)
    found = gaussian_delta(epsilon, variance=variance, cells=cells)

    assert wanted * (1 - 1e-9) <= found <= wanted * (1 + 1e-6) + 1e-17


def test_sums_that_are_folded_are_those_that_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    normal = gaussian_delta(1.0, variance=12.0, cells=7)
    monkeypatch.setattr("hushtable.laws.curves._NORMAL", 1e9)

    assert gaussian_delta(1.0, variance=12.0, cells=7) == pytest.approx(normal, rel=1e-9)


@pytest.mark.parametrize(
    ("cells", "deviation"), [(1, 4.23), (3, 7.31), (10, 13.36), (28, 22.35), (100, 42.25)]
)
def test_deviations_are_the_published_ones(cells: int, deviation: float) -> None:
    rho = gaussian_rho(Fraction(1), delta=SMALL, cells=cells)

    assert sqrt(cells / (2 * rho)) == pytest.approx(deviation, abs=0.01)
    assert rho > largest_rho(Fraction(1), delta=SMALL)  # less noise than zCDP alone would ask for
    assert gaussian_delta(1.0, variance=float(cells / (2 * rho)), cells=cells) <= float(SMALL)


def truncated(law: TruncatedGeometric) -> Array:
    with working_precision(128):
        view = law.exact()
        half = np.array([float(view.mass(x).mid()) for x in range(law.largest + 1)])
    return np.concatenate([half[:0:-1], half])


def published(noise: Array, count: int, cutoff: int, room: int) -> Array:
    """The law of what is seen of a cell: nothing first, then counts from the cutoff on."""
    found = np.zeros(room + 1)
    if count == 0:
        found[0] = 1.0
        return found
    middle = noise.size // 2
    for place, chance in enumerate(noise):
        value = count + place - middle
        found[value - cutoff + 1 if value >= cutoff else 0] += chance
    return found


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**6)])
def test_truncated_noise_keeps_its_delta_and_no_smaller_threshold_does(
    epsilon: Fraction, delta: Fraction
) -> None:
    def worst(law: TruncatedGeometric) -> float:
        noise, room = truncated(law), 3 * law.least_cutoff + 5
        return max(
            both(
                published(noise, count, law.least_cutoff, room),
                published(noise, count + 1, law.least_cutoff, room),
                float(epsilon),
            )
            for count in range(2 * law.largest + 3)
        )

    law = TruncatedGeometric.calibrated(budget=epsilon, change=Fraction(1), delta=delta)
    at = {shift: TruncatedGeometric(law.rate, law.largest + shift) for shift in (-1, 0, 1)}

    assert worst(at[0]) <= float(delta) * (1 + 1e-9)
    assert worst(at[1]) <= worst(at[0])
    assert worst(at[-1]) > float(delta)


@pytest.mark.parametrize("cells", [1, 2])
def test_thresholds_of_gaussian_noise_keep_their_delta_on_all_neighbours(cells: int) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 100)
    law = GaussianStability.calibrated(budget=epsilon, change=Fraction(cells), delta=delta)
    noise = gaussian(float(law.variance))

    def worst(cutoff: int) -> float:
        room = noise.size + 10
        laws = {count: published(noise, count, cutoff, room) for count in (0, 1, 2, 30)}
        return max(
            both(
                joint([laws[count] for count in counts]),
                joint([published(noise, count + 1, cutoff, room) for count in counts]),
                float(epsilon),
            )
            for counts in product(laws, repeat=cells)
        )

    bound = {
        shift: threshold_delta(
            1.0, variance=float(law.variance), cells=cells, threshold=law.least_cutoff + shift
        )
        for shift in (-1, 0, 1)
    }
    for shift, found in bound.items():
        assert worst(law.least_cutoff + shift) <= found * (1 + 1e-9)
        assert worst(law.least_cutoff + shift) >= found * 0.9  # it is no idle bound
    assert bound[0] <= float(delta) < bound[-1]


@pytest.mark.parametrize(("cells", "threshold"), [(1, 22), (3, 38), (10, 72), (28, 123), (100, 239)])
def test_thresholds_are_the_published_ones(cells: int, threshold: int) -> None:
    variance, found = stability(Fraction(1), delta=SMALL, cells=cells)

    assert abs(found - threshold) <= 1
    assert threshold_delta(1.0, variance=float(variance), cells=cells, threshold=found) <= float(SMALL)


@pytest.mark.parametrize(("cells", "threshold"), [(1, 15), (3, 41), (10, 133), (28, 369), (100, 1314)])
def test_truncated_thresholds_are_the_published_ones(cells: int, threshold: int) -> None:
    law = TruncatedGeometric.calibrated(budget=Fraction(1), change=Fraction(cells), delta=SMALL)

    assert abs(law.least_cutoff - threshold) <= 1


def test_thresholds_are_for_changes_of_one() -> None:
    people = Sensitivities(l1=Fraction(10), l2_squared=Fraction(10), per_cell=Fraction(1))

    assert GaussianStability.change(people) == 10
    for law in (GaussianStability, TruncatedGeometric):
        with pytest.raises(ht.BadChoice, match="change up to 100 cells by 1 each"):
            law.change(Sensitivities.of_rows(2))
        with pytest.raises(ht.BadChoice, match="paid with epsilon and delta"):
            law.price(ht.Cost(rho="0.1"))
        with pytest.raises(ht.BadChoice, match="for a table of cells"):
            law.calibrated(budget=Fraction(1), change=Fraction(1))


@pytest.mark.parametrize(
    ("epsilon", "delta", "cells"),
    [(28, "1e-15", 1), (50, "1e-20", 1), ("59/2", "1e-15", 1), (17, "1e-9", 2), (40, "1e-6", 3)],
)
def test_a_rho_at_an_atom_of_the_loss_keeps_its_delta(epsilon: object, delta: str, cells: int) -> None:
    """Losses are whole multiples of one number: at a large epsilon, a rho beyond one of them costs a lot."""
    at, goal = Fraction(str(epsilon)), Fraction(delta)
    variance = cells / (2 * gaussian_rho(at, delta=goal, cells=cells))
    chances, exact = gaussian(float(variance)), Fraction(0)
    sums = chances
    for _ in range(cells - 1):
        sums = np.convolve(sums, chances)
    middle = sums.size // 2
    for place, chance in enumerate(sums.tolist()):
        loss = (2 * (place - middle) + cells) / (2 * variance)
        if loss > at:  # exactly
            exact += Fraction(chance * -np.expm1(float(at - loss)))

    assert exact <= goal


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1/100", "9.87587293724e-07"), ("1/50", "1e-7"), ("1/200", "1e-6")]
)
def test_wide_thresholds_keep_their_delta(epsilon: str, delta: str) -> None:
    variance, threshold = stability(Fraction(epsilon), delta=Fraction(delta), cells=1)
    with working_precision(128):
        appears = Gaussian(variance).exact().tail(threshold - 1)

    assert float(appears.upper()) <= float(Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    chosen([("1", "1e-400"), ("1e-9", "1e-6"), ("1e5", "1e-6"), ("1e-5", "1e-6")], range(3)),
)
def test_thresholds_that_cannot_be_found_are_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(ht.BadChoice, match="Gaussian noise"):
        stability(Fraction(epsilon), delta=Fraction(delta), cells=1)
