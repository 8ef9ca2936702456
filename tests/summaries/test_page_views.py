"""Two designs of a daily release of page views: the short way has the law of noise on every key.

Keys are pages, countries and projects: 1.25 10^8 of them. One design is pure, with noise of scale 300 and a
cutoff of 3,500; the other Gaussian, with rho = 0.015, 10 pages a device and day, and a cutoff of 90. On a
small copy, with cutoffs that noise reaches more often, every key is compared, both ways; at full size and
with the real cutoffs, what is fabricated.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, prod

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.noise import BitSource
from hushtable.summaries import laborious
from hushtable.summaries.summarize import draw_summary
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    accepted_at,
    chernoff,
    chernoff_follows,
    fits,
    follows,
    from_masses,
    replay,
    runs,
)
from tests.summaries.worlds import rows_of

PURE = Geometric, Fraction(1), Fraction(300)  # a law, its budget and what one device changes
GAUSSIAN = Gaussian, Fraction("0.015"), Fraction(10)
Design = tuple[type[NoiseLaw], Fraction, Fraction]

KEYS = (2_500, 250, 200)
SMALL = 40
# Counts far below the cutoff, near it and far above, of both designs.
COUNTS = {3: 1, 8: 25, 17: 40, 20: 600, 39: 2_000}


def law_of(design: Design, factor: Fraction = Fraction(1)) -> NoiseLaw:
    """The noise of a design, for a budget that is larger by a factor."""
    kind, budget, change = design
    return kind.calibrated(budget=budget * factor, change=change)


def drawn(design: Design, table: ht.SparseTable, cutoff: int, entropy: BitSource) -> ht.Summary:
    kind, budget, change = design
    method = ht.Filter(cutoff=cutoff, two_sided=False)
    return draw_summary(table, method, epsilon=budget, sensitivity=change, entropy=entropy, law=kind)


def reached(law: NoiseLaw, least: int) -> float:
    """P[X >= least], for any sign."""
    if least > 0:
        return float(law.floats.tail(np.array([float(least)]))[0])
    return 1 - float(law.floats.tail(np.array([1.0 - least]))[0])


def shown_law(count: int, cutoff: int, law: NoiseLaw) -> FloatLaw:
    """What a filter shows of a key with this count, by definition; one below the cutoff is for nothing."""
    absent = cutoff - 1

    def cdf(value: int) -> float:
        return 1 - reached(law, value + 1 - count) if value >= absent else 0.0

    def mass(value: int) -> float:
        return cdf(value) if value == absent else float(law.floats.mass(np.array([value - count]))[0])

    return FloatLaw(mass, cdf, absent)


def number_law(number: int, chance: float) -> FloatLaw:
    """How many of so many keys pass, each by itself."""
    return from_masses(
        {k: comb(number, k) * chance**k * (1 - chance) ** (number - k) for k in range(number + 1)}
    )


@pytest.mark.parametrize("way", ["shortcut", "long way"])
@pytest.mark.parametrize(("design", "cutoff"), [(PURE, 350), (GAUSSIAN, 20)], ids=["pure", "Gaussian"])
def test_every_key_of_a_small_copy_shows_its_law(design: Design, cutoff: int, way: str) -> None:
    entropy, law = replay(820), law_of(design)
    # A Gaussian deviation follows the root of rho: these change both by a quarter or more.
    more, less = law_of(design, Fraction(1, 2)), law_of(design, Fraction(2))
    table = ht.SparseTable(shape=(SMALL,), codes=list(COUNTS), counts=list(COUNTS.values()))
    rule = Acceptance(cutoff=cutoff, two_sided=False)
    shown: dict[int, list[int]] = {key: [] for key in range(SMALL)}
    for _ in range(runs(600)):
        if way == "shortcut":
            rows = rows_of(drawn(design, table, cutoff, entropy))
        else:
            rows = laborious.accepted_cells(laborious.noisy_table(COUNTS, SMALL, law, entropy), rule, entropy)
        for key in range(SMALL):
            shown[key].append(rows.get(key, cutoff - 1))
    empty = np.array([shown[key] for key in range(SMALL) if key not in COUNTS])

    assert follows(empty.ravel(), shown_law(0, cutoff, law)) > ALARM
    assert fits(empty.ravel(), shown_law(0, cutoff, more)) < ALARM
    assert fits(empty.ravel(), shown_law(0, cutoff, less)) < ALARM
    for key, count in COUNTS.items():
        assert follows(shown[key], shown_law(count, cutoff, law)) > ALARM
    for key in (8, 20):
        assert fits(shown[key], shown_law(COUNTS[key] + 400, cutoff, law)) < ALARM
    # Keys pass each by itself: how many of a run is binomial.
    passed = (empty >= cutoff).sum(axis=0)
    assert follows(passed, number_law(len(empty), reached(law, cutoff))) > ALARM
    assert fits(passed, number_law(len(empty), reached(more, cutoff))) < ALARM
    assert fits(passed, number_law(len(empty), reached(less, cutoff))) < ALARM


@pytest.mark.parametrize(("design", "cutoff"), [(PURE, 3_500), (GAUSSIAN, 90)], ids=["pure", "Gaussian"])
def test_at_full_size_as_much_is_fabricated_as_by_noise_on_every_key(design: Design, cutoff: int) -> None:
    entropy, law, rounds = replay(821), law_of(design), runs(20)
    more, less = law_of(design, Fraction(4, 5)), law_of(design, Fraction(5, 4))
    table = ht.SparseTable(shape=KEYS, codes=[[7, 7, 7], [2_499, 249, 199]], counts=[10**6] * 2)
    fabricated: list[int] = []
    for _ in range(rounds):
        counts = drawn(design, table, cutoff, entropy).counts
        fabricated += counts[counts < 5 * 10**5].tolist()
    empty, rule = rounds * (prod(KEYS) - 2), Acceptance(cutoff=cutoff, two_sided=False)

    assert chernoff_follows(len(fabricated), empty, reached(law, cutoff)) > ALARM
    assert chernoff(len(fabricated), empty, reached(more, cutoff)) < ALARM
    assert chernoff(len(fabricated), empty, reached(less, cutoff)) < ALARM
    assert follows(np.array(fabricated), accepted_at(rule, law)) > ALARM
    assert fits(np.array(fabricated), accepted_at(rule, law_of(design, Fraction(1, 2)))) < ALARM
    assert fits(np.array(fabricated), accepted_at(rule, law_of(design, Fraction(2)))) < ALARM
