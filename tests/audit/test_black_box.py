"""Files of neighbouring inputs tell no more apart than was promised; weaker noise is found out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any

import pytest
from numpy.typing import NDArray

from hushtable.engines.sliced import bounding
from hushtable.engines.sliced.choosing import Chooser
from hushtable.laws import thresholds
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.noise import BitSource
from hushtable.summaries import candidates
from tests.audit.black_box import Attack, Finding, attacked, attacks, least_chance
from tests.harness import statistics
from tests.harness.statistics import ALARM

ATTACKS = {attack.name: attack for attack in attacks()}
FEW = [
    "geometric, max_rows=2",
    "gaussian-stability, max_cells=2, both alone",
]


def found_by(attack: Attack, *, publications: int = 4) -> Finding:
    """Attack a little: the publication has fresh bits, so what is right fails once in a billion runs."""
    statistics.asked += 2
    return attacked(attack, publications=publications if attack.copies > 1 else 80, confidence=1 - ALARM)


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.long) for name in ATTACKS if name not in FEW)]
)
def test_nothing_above_the_promise_is_shown(name: str) -> None:
    found = found_by(ATTACKS[name])

    assert found.holds, found


@pytest.mark.parametrize(
    "name",
    [
        "geometric, max_rows=2",
        "truncated-geometric, a row among others",
        pytest.param("geometric, tables", marks=pytest.mark.long),
        pytest.param("gaussian, max_cells=2", marks=pytest.mark.long),
    ],
)
def test_half_of_the_noise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = candidates.noisy

    def halved(law: NoiseLaw) -> NoiseLaw:
        if isinstance(law, Gaussian):
            return Gaussian(law.variance / 4)
        if isinstance(law, Geometric):
            return Geometric(2 * law.rate)
        assert isinstance(law, thresholds.TruncatedGeometric)
        return thresholds.TruncatedGeometric(2 * law.rate, law.largest)

    def quieter(counts: NDArray[Any], law: NoiseLaw, entropy: BitSource) -> NDArray[Any]:
        return own(counts, halved(law), entropy)

    monkeypatch.setattr(candidates, "noisy", quieter)

    assert not found_by(ATTACKS[name]).holds


def test_rows_beyond_a_bound_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cells: each person counts once in all cells where they have rows, and not in two of them."""
    own = bounding._few_cells

    def all_cells(rows: Any, keyed: Any, most: int, each: int, salt: str) -> Any:
        return own(rows, keyed, 99, each, salt)

    own_here = Chooser._few_cells

    def all_cells_here(chooser: Any, pieces: Any, number: int) -> Any:
        chooser._unit = replace(chooser._unit, max_cells=99)
        return own_here(chooser, pieces, number)

    monkeypatch.setattr(bounding, "_few_cells", all_cells)
    monkeypatch.setattr(Chooser, "_few_cells", all_cells_here)  # where people are whole numbers

    assert not found_by(ATTACKS["geometric, max_cells=2 of 4"], publications=16).holds


def test_a_threshold_that_is_lower_by_one_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    least = property(lambda law: law.largest)
    monkeypatch.setattr(thresholds.TruncatedGeometric, "least_cutoff", least)

    # Its delta is not far above the stated one.
    assert not found_by(ATTACKS["truncated-geometric, a row alone in its cell"], publications=12).holds


@pytest.mark.parametrize(("count", "runs"), [(1, 10), (9, 10), (10, 10), (30, 100)])
def test_bounds_of_chances_are_those_of_clopper_and_pearson(count: int, runs: int) -> None:
    """At the bound, so many or more are seen with just the stated chance: by exact sums."""
    error = 1e-3
    found = Fraction(least_chance(count, runs, error))

    def tail(p: Fraction) -> Fraction:
        return sum((comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(count, runs + 1)), Fraction())

    assert tail(found) <= error * (1 + 1e-6)
    assert tail(found + Fraction(1, 10**6)) > error
    assert least_chance(0, runs, error) == 0
