"""The shortcut in exact fractions: for every outcome on a small domain, the same chance as the long way."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.integers import Binomial, TwoSidedGeometric
from hushtable.laws.powers import RationalPowers
from hushtable.summaries.candidates import band_rules

NOISE = TwoSidedGeometric(RationalPowers(Fraction(1, 2)))
EMPTY = 3

RULES = [
    Acceptance(cutoff=2),
    Acceptance(cutoff="1.5", two_sided=False),
    Acceptance(threshold="2.5"),
    Acceptance(cutoff=2, threshold="3.5"),
    Acceptance(cutoff=3, threshold=2),
    Acceptance(cutoff=2, edge_chance=Fraction(1, 3)),
]


def value_law(rule: Acceptance | Band, v: int) -> Fraction:
    """The chance that the shortcut gives an accepted cell the value v: a magnitude, and a fair sign."""
    if not rule.two_sided:
        return Fraction(rule.magnitude(NOISE).mass(v)) if v > 0 else Fraction(0)
    return Fraction(rule.magnitude(NOISE).mass(abs(v))) / 2


@pytest.mark.parametrize("rule", RULES)
def test_one_rule(rule: Acceptance) -> None:
    p = rule.pass_probability(NOISE)
    outcomes = [None, -3, -2, 1, 2, 3, 4]  # not accepted, or accepted with this value
    for cells in product(outcomes, repeat=EMPTY):
        values = [v for v in cells if v is not None]
        k = len(values)
        shortcut = Binomial(EMPTY, p).mass(k) / comb(EMPTY, k) * prod(value_law(rule, v) for v in values)
        laborious = prod(NOISE.mass(v) * rule.chance(v) if v is not None else 1 - p for v in cells)
        assert shortcut == laborious


@pytest.mark.parametrize(
    "rules",
    [
        [Acceptance(threshold="6.5"), Acceptance(threshold=4)],
        [Acceptance(threshold=9), Acceptance(threshold="2.5"), Acceptance()],
        [Acceptance(cutoff=2, threshold=9), Acceptance(cutoff=2)],
        [Acceptance(cutoff=4, edge_chance=Fraction(1, 2)), Acceptance(cutoff=3, edge_chance=Fraction(1, 4))],
        [Acceptance(cutoff=2, edge_chance=Fraction(1, 2)), Acceptance(cutoff=2), Acceptance(cutoff=1)],
        [Acceptance(threshold=5, two_sided=False), Acceptance(threshold=1, two_sided=False)],
    ],
)
def test_an_extension_by_bands(rules: list[Acceptance]) -> None:
    bands = band_rules(rules)
    chances = [rule.pass_probability(NOISE) for rule in bands]
    values = [-2, 1, 2, 4]
    states: list[tuple[int, int] | None] = [None, *product(range(len(rules)), values)]
    for cells in product(states, repeat=2):
        shortcut, left = Fraction(1), len(cells)
        for band, rule in enumerate(bands):
            found = [state[1] for state in cells if state is not None and state[0] == band]
            k = len(found)
            shortcut *= Binomial(left, chances[band]).mass(k) / comb(left, k)
            shortcut *= prod((value_law(rule, v) for v in found), start=Fraction(1))
            left -= k
        laborious = Fraction(1)
        for state in cells:
            if state is None:
                laborious *= 1 - rules[-1].pass_probability(NOISE)
            else:
                band, v = state
                before = rules[band - 1].chance(v) if band else Fraction(0)
                laborious *= NOISE.mass(v) * (rules[band].chance(v) - before)
        assert shortcut == laborious


def test_slices_multiply() -> None:
    # Two slices of 1 and 2 empty cells against one of 3: the same chance for every outcome.
    rule = RULES[3]
    p = rule.pass_probability(NOISE)
    for cells in product([False, True], repeat=3):
        whole = Binomial(3, p).mass(sum(cells)) / comb(3, sum(cells))
        first, second = sum(cells[:1]), sum(cells[1:])
        parts = Binomial(1, p).mass(first) / comb(1, first) * Binomial(2, p).mass(second) / comb(2, second)
        assert whole == parts


def test_redrawing_until_large_enough_would_be_another_law() -> None:
    # Trap 1 of the design: what re-running does to the number of accepted cells.
    p = RULES[0].pass_probability(NOISE)
    law = Binomial(EMPTY, p)
    redrawn = law.mass(2) / (law.mass(2) + law.mass(3))

    assert redrawn != law.mass(2)
