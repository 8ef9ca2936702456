"""Discrete Gaussian noise: sums of balls against brute force, floats against balls, draws against the law."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.balls import rational_ball, working_precision
from hushtable.laws.gaussian import ExpandedView, Gaussian, GaussianFloats, SummedView
from hushtable.laws.numeric import numeric_view
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import cell_noise
from hushtable.noise.geometric import accepted_noise
from tests.harness.statistics import ALARM, FloatLaw, accepted_at, draws, fits, follows, replay

VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(53, 3), Fraction(50**2)]
BITS = 256


def float_law(law: Gaussian) -> FloatLaw:
    """The law in floats, by sums over all that matters."""
    reach = ceil(12 * sqrt(law.variance)) + 10
    places = np.arange(-reach, reach + 1)
    heights = np.exp(-(places.astype(float) ** 2) / (2 * float(law.variance)))
    chances = heights / heights.sum()
    sums = np.cumsum(chances)

    def mass(x: int) -> float:
        return float(chances[x + reach]) if abs(x) <= reach else 0.0

    def cdf(x: int) -> float:
        return 0.0 if x < -reach else float(sums[min(x, reach) + reach])

    return FloatLaw(mass=mass, cdf=cdf)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_chances_are_those_of_all_terms_added_up(variance: Fraction) -> None:
    deviation = ceil(sqrt(variance))
    with working_precision(BITS):
        view, s = Gaussian(variance).exact(), rational_ball(variance)
        heights = [(-rational_ball(Fraction(j * j)) / (2 * s)).exp() for j in range(60 * deviation + 60)]
        total = 2 * sum(heights[1:], start=heights[0] * 0) + heights[0]
        for x in (0, 1, 2, deviation, 5 * deviation, 11 * deviation, 13 * deviation, 20 * deviation):
            tail = sum(heights[x:], start=heights[0] * 0)
            weighted = sum((j * heights[j] for j in range(x, len(heights))), start=heights[0] * 0)
            for found, wanted in (
                (view.mass(x), heights[x]),
                (view.tail(x), tail),
                (view.weighted_tail(x), weighted),
            ):
                assert found.rel_accuracy_bits() > 200
                # What the brute force leaves out is below one part in 2^200 of what it has.
                assert abs(float((found * total / wanted - 1).mid())) < 2.0**-200


@pytest.mark.parametrize("variance", [Fraction(16), Fraction(53, 3), Fraction(700**2)], ids=str)
def test_the_series_is_the_sum(variance: Fraction) -> None:
    deviation = sqrt(variance)
    with working_precision(BITS):
        added, series = SummedView(variance, BITS), ExpandedView(variance)
        for x in sorted({0, 1, *(int(z * deviation) for z in (0.5, 1, 3, 8, 12, 15, 30, 200))}):
            for one, other in (
                (added.tail(x), series.tail(x)),
                (added.weighted_tail(x), series.weighted_tail(x)),
            ):
                assert one.overlaps(other)
                assert min(one.rel_accuracy_bits(), other.rel_accuracy_bits()) > 200


@pytest.mark.parametrize("deviation", [7_000, 10**6, 2**29])
def test_wide_noise_has_normal_tails_to_any_precision(deviation: int) -> None:
    with working_precision(BITS):
        view = Gaussian(Fraction(deviation**2)).exact()
        for z, chance in ((0, 0.5), (1, 0.15865525393145705), (6, 9.865876450376946e-10)):
            tail = view.tail(z * deviation)
            assert tail.rel_accuracy_bits() > 240
            assert float(tail.mid()) == pytest.approx(chance, rel=20 / deviation)
        assert float(view.tail(1 << 61).mid()) < 1e-300 or deviation > 10**9


@pytest.mark.parametrize(
    "variance", [*VARIANCES, Fraction(255**2), Fraction(300**2), Fraction(10**14)], ids=str
)
def test_floats_are_those_of_the_exact_law(variance: Fraction) -> None:
    floats, deviation = GaussianFloats(variance), sqrt(variance)
    places = sorted({max(1, round(z * deviation)) for z in (0.01, 0.5, 1, 3, 6, 12, 30)})
    with working_precision(BITS):
        view = Gaussian(variance).exact()
        exact = {
            x: [float(each.mid()) for each in (view.mass(x), view.tail(x), view.weighted_tail(x))]
            for x in places
        }
    for x, (mass, tail, weighted) in exact.items():
        at = np.array([float(x)])
        assert floats.mass(at)[0] == pytest.approx(mass, rel=1e-9)
        assert floats.tail(at)[0] == pytest.approx(tail, rel=1e-4)
        assert floats.tail(at, 1)[0] == pytest.approx(weighted, rel=1e-4)
    if variance >= 1:
        assert floats.variance == pytest.approx(float(variance), rel=1e-6)


def test_floats_are_those_that_any_law_has() -> None:
    law = Gaussian(Fraction(53, 3))
    own, found = law.floats, numeric_view(law)
    at = np.array([1.0, 5.0, 20.0])

    assert own.variance == pytest.approx(found.variance, rel=1e-6)
    assert own.tail(at, 2) == pytest.approx(found.tail(at, 2), rel=1e-4)
    assert own.quantile(1e-9) == pytest.approx(found.quantile(1e-9), rel=1e-4)
    assert own.tilted(0.3, cutoff=5, two_sided=True) == pytest.approx(
        found.tilted(0.3, cutoff=5, two_sided=True), rel=1e-4
    )


@pytest.mark.parametrize(
    "variance", [Fraction(1, 4), Fraction(25), Fraction(50**2), Fraction(5_000**2)], ids=str
)
def test_draws_follow_the_law(variance: Fraction) -> None:
    law = Gaussian(variance)
    sample = cell_noise(law, replay(341), count=draws(20_000))

    assert follows(sample, float_law(law)) > ALARM
    assert fits(sample, float_law(Gaussian(variance * 2))) < ALARM
    assert fits(sample, float_law(Gaussian(variance / 2))) < ALARM


@pytest.mark.parametrize("cutoff", [1, 12, 30])
def test_noise_of_accepted_empty_cells_follows_its_law(cutoff: int) -> None:
    law, rule = Gaussian(Fraction(100)), Acceptance(cutoff=cutoff, two_sided=False)
    sample = accepted_noise(rule, law, replay(342), count=draws(10_000))

    assert follows(sample, accepted_at(rule, law)) > ALARM
    assert fits(sample, accepted_at(rule, Gaussian(Fraction(150)))) < ALARM
    assert fits(sample, accepted_at(rule, Gaussian(Fraction(60)))) < ALARM


def test_it_costs_what_its_squares_say() -> None:
    law = Gaussian.calibrated(budget=Fraction(3, 200), change=Fraction(10))

    assert law.variance == Fraction(1000, 3)
    assert law.loss(change=Fraction(10)) == Fraction(3, 200)
    assert (
        Gaussian.change(Sensitivities(l1=Fraction(10), l2_squared=Fraction(10), per_cell=Fraction(1))) == 10
    )
    with pytest.raises(ht.BadNumber, match="variance"):
        Gaussian(Fraction(1, 1000)).checked()
    with pytest.raises(ht.BadChoice, match="paid with rho, or with epsilon and delta"):
        Gaussian.price(ht.Cost(epsilon=1))
