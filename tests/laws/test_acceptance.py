"""Acceptance laws against brute force and, for whole numbers, against the paper's own formulas."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hushtable.errors import BadNumber
from hushtable.laws import acceptance
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.balls import nearest_float
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric, WeightedGeometric
from hushtable.laws.law import at_law
from hushtable.laws.powers import ExponentialPowers, RationalPowers

bases = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=30)
cutoffs = st.none() | st.fractions(min_value=1, max_value=12, max_denominator=4)
thresholds = st.none() | st.fractions(min_value=Fraction(1, 3), max_value=15, max_denominator=4)
rules = st.builds(Acceptance, cutoff=cutoffs, threshold=thresholds, two_sided=st.booleans())


def geometric(a: Fraction) -> TwoSidedGeometric:
    return TwoSidedGeometric(RationalPowers(a))


def designed_tail(u: int, threshold: Fraction, a: Fraction) -> Fraction:
    """W(u) of the design: the sum over j >= u of min(j/tau, 1) (1-a)/(1+a) a^j, in its closed form."""
    t = floor(threshold)
    f = threshold - t
    if u > t:
        return a**u / (1 + a)
    return (u * a**u - (u - 1) * a ** (u + 1) - a ** (t + 1) * (1 - f * (1 - a))) / (threshold * (1 - a**2))


@given(rules, st.integers(-30, 30))
def test_chance_is_what_the_rule_says(rule: Acceptance, value: int) -> None:
    magnitude = abs(value) if rule.two_sided else value
    reached = magnitude > 0 and magnitude >= (rule.cutoff or 0)
    share = Fraction(1) if rule.threshold is None else min(Fraction(magnitude) / rule.threshold, Fraction(1))

    assert rule.chance(value) == (share if reached else 0)
    assert all(
        piece.weight(value) == rule.chance(value)
        for piece in rule.pieces
        if piece.low <= value and (piece.high is None or value < piece.high)
    )


@given(rules, bases)
def test_pass_probability_is_the_chance_of_accepted_noise(rule: Acceptance, a: Fraction) -> None:
    noise = geometric(a)
    # Beyond `end` every count of a seen sign passes, so the rest of the sum is a tail of the noise.
    end = max(rule.lowest, ceil(rule.threshold or 0)) + 1
    sides = 2 if rule.two_sided else 1
    brute = sum(noise.mass(x) * rule.chance(x) for x in range(-end + 1, end)) + sides * noise.cdf(-end)

    assert rule.pass_probability(geometric(a)) == brute


@given(rules, bases, st.integers(0, 25))
def test_magnitude_is_noise_given_accepted(rule: Acceptance, a: Fraction, x: int) -> None:
    noise = geometric(a)
    sides = 2 if rule.two_sided else 1

    conditional = sides * noise.mass(x) * rule.chance(x) / rule.pass_probability(geometric(a))

    assert rule.magnitude(geometric(a)).mass(x) == conditional


@given(rules, bases, st.integers(1, 25))
def test_tails_equal_the_closed_form_of_the_design(rule: Acceptance, a: Fraction, u: int) -> None:
    assume(u >= rule.lowest)
    threshold = rule.threshold if rule.threshold is not None else Fraction(1)
    tail = rule.magnitude(geometric(a)).tail(u)
    if threshold <= rule.lowest:  # plain filtering
        assert tail == a ** (u - rule.lowest)
    else:
        assert tail == designed_tail(u, threshold, a) / designed_tail(rule.lowest, threshold, a)


@given(rules.filter(lambda rule: rule.threshold is not None), bases, st.integers(1, 20))
def test_magnitude_is_the_mixture_of_the_design(rule: Acceptance, a: Fraction, x: int) -> None:
    assert rule.threshold is not None
    c, t = rule.lowest, floor(rule.threshold)
    starts = {i: a ** max(i, c) for i in range(1, t + 1)}
    starts[t + 1] = (rule.threshold - t) * a ** max(t + 1, c)
    total = sum(starts.values())

    mixture = sum(w / total * (1 - a) * a ** (x - max(i, c)) for i, w in starts.items() if x >= max(i, c))

    assert rule.magnitude(geometric(a)).mass(x) == mixture


@given(bases, st.integers(1, 12))
def test_filter_chance_is_the_papers(a: Fraction, cutoff: int) -> None:
    noise = geometric(a)

    assert Acceptance(cutoff=cutoff, two_sided=False).pass_probability(noise) == a**cutoff / (1 + a)
    assert Acceptance(cutoff=cutoff).pass_probability(noise) == 2 * a**cutoff / (1 + a)


@given(bases, st.integers(1, 12), st.integers(-15, 15))
def test_threshold_law_is_the_papers_four_pieces(a: Fraction, tau: int, v: int) -> None:
    rule = Acceptance(threshold=tau)
    magnitude = rule.magnitude(geometric(a))
    constant = 1 / (2 * a * (1 - a**tau))
    if v <= -tau:
        paper = tau * a**-v * constant * (1 - a)
    elif v <= 0:
        paper = constant * (-v * a**-v + (v + 1) * a ** (-v + 1) - a ** (tau + 1))
    elif v <= tau:
        paper = Fraction(1, 2) + a * constant * (1 - (v + 1) * a**v + v * a ** (v + 1))
    else:
        paper = Fraction(1, 2) + a * constant * (1 - a**tau - tau * a**v * (1 - a))
    ours = magnitude.tail(-v) / 2 if v < 0 else 1 - magnitude.tail(v + 1) / 2

    assert rule.pass_probability(geometric(a)) == 2 * a * (1 - a**tau) / (tau * (1 - a**2))
    assert ours == paper


@st.composite
def bands(draw: st.DrawFn) -> Band:
    """A narrower rule, and a wider one with a lower threshold, a lower cutoff or both."""
    two_sided = draw(st.booleans())
    tau = draw(st.fractions(min_value=Fraction(1, 3), max_value=15, max_denominator=4))
    cutoff = draw(cutoffs)
    wide_tau = tau * draw(st.fractions(min_value=Fraction(1, 4), max_value=1, max_denominator=4))
    wide_cutoff = cutoff
    if cutoff is not None and draw(st.booleans()):
        wide_cutoff = max(Fraction(1), cutoff / 2)
    narrower = Acceptance(cutoff=cutoff, threshold=tau, two_sided=two_sided)
    try:
        return Band(
            wider=Acceptance(cutoff=wide_cutoff, threshold=wide_tau, two_sided=two_sided), narrower=narrower
        )
    except BadNumber:
        assume(False)
        raise


@given(bands(), bases)
def test_a_band_is_what_the_wider_rule_adds(band: Band, a: Fraction) -> None:
    noise = geometric(a)
    narrow, wide = band.narrower.pass_probability(noise), band.wider.pass_probability(noise)
    law = band.magnitude(noise)
    sides = 2 if band.two_sided else 1

    assert band.pass_probability(noise) == (wide - narrow) / (1 - narrow)
    for x in range(25):
        added = sides * noise.mass(x) * (band.wider.chance(x) - band.narrower.chance(x))
        assert law.mass(x) == added / (wide - narrow)
        assert law.tail(x) - law.tail(x + 1) == law.mass(x)
    assert law.highest is None or law.mass(law.highest) > 0, "a last value without mass is never certified"


@given(bands(), bases)
def test_a_band_after_its_narrower_rule_is_its_wider_rule(band: Band, a: Fraction) -> None:
    # Accepted at once with chance p, else by the band: together the wider rule's chance and law.
    noise = geometric(a)
    p = band.narrower.pass_probability(noise)
    q = (1 - p) * band.pass_probability(noise)

    for x in range(20):
        both = p * band.narrower.magnitude(noise).mass(x) + q * band.magnitude(noise).mass(x)
        assert both == band.wider.pass_probability(noise) * band.wider.magnitude(noise).mass(x)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cutoff": -1}, r"cutoff=-1 is below 0\. Use 1 or more"),
        ({"cutoff": "0.5", "two_sided": False}, "below 1, where a one-sided filter would pass empty cells"),
        ({"cutoff": float("nan")}, "cutoff=nan is not a finite number"),
        ({"cutoff": 2**62}, r"cutoff=.* is above 2\^61"),
        ({"threshold": 0}, "threshold=0 is not above 0"),
        ({"threshold": -3}, "threshold=-3 is not above 0"),
        ({"threshold": "many"}, "threshold='many' is not a finite number"),
    ],
)
def test_bad_settings_are_one_clear_error(settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadNumber, match=message):
        Acceptance(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        (Acceptance(threshold=8), Acceptance(threshold=4)),
        (Acceptance(threshold=4), Acceptance(threshold=4)),
        (Acceptance(cutoff=5), Acceptance(cutoff=4)),
        (Acceptance(cutoff=5, threshold=6), Acceptance(cutoff=4, threshold=60)),
        (Acceptance(threshold=4, two_sided=False), Acceptance(threshold=8)),
    ],
)
def test_a_band_must_widen(wider: Acceptance, narrower: Acceptance) -> None:
    with pytest.raises(BadNumber, match="accepts no more than the narrower rule"):
        Band(wider=wider, narrower=narrower)


def test_a_two_sided_cutoff_of_0_passes_every_count_but_0() -> None:
    assert Acceptance(cutoff=0).pieces == Acceptance(cutoff=1).pieces == Acceptance().pieces
    assert Acceptance(cutoff=0).chance(0) == 0


@pytest.mark.parametrize("rate", ["1/1000000", "0.1", "50"])
@pytest.mark.parametrize("cutoff", [None, 1, "2.5", 10**6])
@pytest.mark.parametrize("threshold", [None, "0.5", "7.25", 10**26])
def test_laws_hold_together_at_the_edges(rate: str, cutoff: str | None, threshold: str | None) -> None:
    rule = Acceptance(cutoff=cutoff, threshold=threshold)
    g = Fraction(rate)
    log_free = nearest_float(at_law(rule.pass_probability, Geometric(g)))

    def moments(precision: int) -> WeightedGeometric:
        return WeightedGeometric(rule.pieces, ExponentialPowers(g))

    mean = nearest_float(lambda precision: moments(precision).mean())
    variance = nearest_float(lambda precision: moments(precision).variance())

    assert 0 <= log_free < 1
    assert rule.lowest <= mean < rule.lowest + 3 / float(g) + 2
    assert 0 < variance < 4 * (1 + 1 / float(g)) ** 2


@given(
    rule=rules | st.builds(Acceptance, cutoff=st.integers(1, 4), edge_chance=st.just(Fraction(1, 3))),
    a=bases,
    most=st.integers(1, 6),
)
def test_rules_see_counts_as_they_are_published(rule: Acceptance, a: Fraction, most: int) -> None:
    """Saturated: an empty cell, whose noise is drawn given that it passed, and an occupied one must agree."""
    assume(rule.lowest <= most)
    noise = geometric(a)
    with patch.object(acceptance, "LARGEST_NOISY", most):
        beyond = noise.cdf(-most) * (rule.chance(most) + rule.chance(-most))
        within = sum(noise.mass(x) * rule.chance(x) for x in range(1 - most, most))

        assert rule.chance(most + 1) == rule.chance(10**30) == rule.chance(most)
        assert rule.pass_probability(geometric(a)) == within + beyond
        assert rule.magnitude(geometric(a)).tail(most) == beyond / (within + beyond)


@given(rules | bands(), bases, st.integers(0, 25))
def test_the_law_from_tails_equals_the_closed_form_of_geometric_noise(
    rule: Acceptance | Band, a: Fraction, x: int
) -> None:
    ours, closed = rule.magnitude(geometric(a)), WeightedGeometric(rule.pieces, RationalPowers(a))

    assert ours.total == closed.total * (1 - a) / (1 + a)
    assert (ours.lowest, ours.highest) == (closed.lowest, closed.highest)
    assert (ours.mass(x), ours.tail(x), ours.cdf(x)) == (closed.mass(x), closed.tail(x), closed.cdf(x))
