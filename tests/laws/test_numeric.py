"""Floats that are found from a law's own chances, against closed forms and against sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.laws.balls import nearest_float
from hushtable.laws.floats import FloatView
from hushtable.laws.geometric import Geometric, GeometricFloats
from hushtable.laws.law import at_law
from hushtable.laws.numeric import NumericView, numeric_view
from hushtable.laws.thresholds import TruncatedGeometric

Array = NDArray[np.float64]
RATES = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(5)]


@pytest.fixture(scope="module", params=RATES, ids=str)
def views(request: pytest.FixtureRequest) -> tuple[NumericView, GeometricFloats]:
    return numeric_view(Geometric(request.param)), Geometric(request.param).floats


def places(view: GeometricFloats) -> Array:
    """Whole numbers on both sides of 0, up to where chances are about exp(-20)."""
    some = np.array([0, 1, 2, 5, 100, *(np.array([0.5, 1, 3, 10, 20]) / view.rate)]).round()
    return np.concatenate([some[some * view.rate <= 21], -some[some * view.rate <= 21]])


@pytest.mark.parametrize("power", [0, 1, 2])
def test_tails_are_those_of_the_closed_form(views: tuple[NumericView, GeometricFloats], power: int) -> None:
    ours, closed = views

    assert ours.tail(places(closed), power) == pytest.approx(closed.tail(places(closed), power), rel=1e-4)
    assert ours.tail(np.array([np.inf])) == 0


def test_masses_and_variance_are_those_of_the_closed_form(views: tuple[NumericView, GeometricFloats]) -> None:
    ours, closed = views

    assert ours.mass(places(closed)) == pytest.approx(closed.mass(places(closed)), rel=1e-4)
    assert ours.variance == pytest.approx(closed.variance, rel=1e-8)
    assert ours.least_fall == pytest.approx(closed.rate, rel=1e-6)
    assert ours.largest_tilt == pytest.approx(closed.rate, rel=1e-6)


def test_distances_are_those_of_the_closed_form(views: tuple[NumericView, GeometricFloats]) -> None:
    ours, closed = views
    start = np.ceil(5 / closed.rate)

    for folds in (5.0, 40.0, 1e3):  # P[|X| >= x] is exp(-rate x) up to a factor of 2
        assert closed.distance(folds) <= ours.distance(folds) <= closed.distance(folds + 0.7)
    for chance in (1e-3, 1e-9, 1e-200):
        assert ours.quantile(chance) == pytest.approx(closed.quantile(chance), rel=1e-6)
    assert ours.farther(start, 1e4) == pytest.approx(closed.farther(start, 1e4), rel=1e-4)


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("tilt", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("far", [0, 4])
def test_tilted_sums_are_those_of_the_closed_form(
    views: tuple[NumericView, GeometricFloats], far: int, tilt: float, two_sided: bool
) -> None:
    ours, closed = views
    cutoff = 1 + int(far / closed.rate)
    found, wanted = (
        each.tilted(tilt * closed.rate, cutoff=cutoff, two_sided=two_sided) for each in (ours, closed)
    )

    assert found == pytest.approx(wanted, rel=0.01, abs=1e-12 / closed.rate**2)


def test_waves_are_those_of_the_closed_form(views: tuple[NumericView, GeometricFloats]) -> None:
    ours, closed = views
    times = 10.0 ** np.linspace(-4, 0, 30) * closed.rate
    counts = np.array([0.0, 1, 5, 30]) * max(1.0, round(1 / closed.rate))
    share = np.array([0.9, 0.06, 0.03, 0.01])
    certain = float(np.ceil(8 / closed.rate))

    assert np.log1p(ours.waves(times)) == pytest.approx(np.log1p(closed.waves(times)), rel=1e-3)
    found, wanted = (lost(each, counts, share, certain, times) for each in (ours, closed))
    assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()
    assert np.abs(found / wanted - 1).max() < 0.02


def lost(
    view: FloatView, counts: Array, share: Array, certain: float, times: Array
) -> NDArray[np.complex128]:
    waves = view.waves_beyond(counts, share, certain=certain)
    turned = [
        (weights * (1 - np.exp(1j * times[:, np.newaxis] * (place - counts)))).sum(axis=1)
        for weights, place in waves.parts
    ]
    return waves.lost(times, turned, np.array([weights.sum() for weights, _ in waves.parts]))


def test_waves_beyond_a_place_are_sums_over_the_noise() -> None:
    # By the definition: counts 0 and 30, of which noise beyond 20 in size is seen.
    rate, counts, share = 0.3, np.array([0.0, 30.0]), np.array([0.75, 0.25])
    x, times = np.arange(-200.0, 201.0), np.array([1e-6, 0.01, 0.3, 2.0])
    mass = GeometricFloats(rate).mass(x)
    seen = np.abs(counts[:, np.newaxis] + x) >= 20
    wanted = [((share @ (seen * mass)) * (1 - np.exp(1j * t * x))).sum() for t in times]

    for view in (GeometricFloats(rate), numeric_view(Geometric(Fraction(3, 10)))):
        assert lost(view, counts, share, 20.0, times) == pytest.approx(np.array(wanted), rel=1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 3), Fraction(2), Fraction(40)], ids=str)
def test_nothing_of_a_bounded_law_is_lost_at_its_end(epsilon: Fraction) -> None:
    law = TruncatedGeometric.calibrated(budget=epsilon, change=Fraction(2), delta=Fraction(1, 10**6))
    view = numeric_view(law)
    last = law.highest
    exact = [mass(law, x) for x in (0, 1, last - 1, last)]

    assert view.mass(np.array([0.0, 1, last - 1, last])) == pytest.approx(exact, rel=1e-4)
    assert view.tail(np.array([float(last)])) == pytest.approx(exact[-1], rel=1e-6)
    assert not view.mass(np.array([last + 1.0]))
    assert not view.tail(np.array([last + 1.0]))
    assert np.sum(view.mass(np.arange(-last, last + 1.0))) == pytest.approx(1, rel=1e-3)


def mass(law: TruncatedGeometric, x: int) -> float:
    return nearest_float(at_law(lambda noise: noise.mass(x), law))
