"""Whole summaries: the exact law passes, other noise is caught, slices and guesses do not matter."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count as count_up
from itertools import product
from math import comb

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.thresholds import TruncatedGeometric
from hushtable.methods.settings import Method
from hushtable.summaries.flat import acceptance_of, check_method
from hushtable.summaries.thinning import at_threshold, of_size
from tests.harness import statistics
from tests.harness.cases import chosen, few
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    chernoff,
    chernoff_follows,
    fits,
    follows,
    from_masses,
    replay,
    runs,
)
from tests.summaries.worlds import (
    ABSENT,
    cell_law,
    cut_cdf,
    long_way,
    noise_masses,
    rows_of,
    shortcut,
    threshold_cdf,
)

MORE, LESS = Fraction(3, 4), Fraction(5, 4)
COUNTS = {1: 7, 4: 1, 7: 3, 8: 25}
CELLS = 24


def fits_curve(sample: list[float], cdf: Callable[[float], float]) -> float:
    """The bound of Dvoretzky, Kiefer, Wolfowitz and Massart for a law with jumps at most at 0."""
    values = np.sort(np.array(sample))
    steps = np.arange(1, values.size + 1) / values.size
    distance = 0.0
    for i in range(0, values.size, max(1, values.size // 500)):
        below = steps[i] - 1 / values.size
        at = cdf(float(values[i]))
        if values[i] == 0:
            distance = max(distance, abs(float((values == 0).mean()) - at))
        else:
            distance = max(distance, abs(at - below), abs(at - steps[i]))
    # Looking at some points only can make the distance smaller, never larger.
    return min(1.0, 2 * float(np.exp(-2 * values.size * distance**2)))


def curve_follows(sample: list[float], cdf: Callable[[float], float]) -> float:
    statistics.asked += 1
    return fits_curve(sample, cdf)


INDEPENDENT: list[Method] = [
    ht.Everything(),
    ht.Filter(cutoff=4),
    ht.Filter(cutoff="2.5", two_sided=False),
    ht.Threshold(threshold="6.5"),
    ht.Threshold(threshold=5, two_sided=False),
    ht.Threshold(size=4),
    ht.FilterThreshold(cutoff=2, threshold="8.5"),
    ht.FilterThreshold(cutoff=5, threshold=2),
    ht.FilterThreshold(cutoff=2, size=3, two_sided=False),
]


# tests/audit computes these laws exactly on smaller tables. Here each kind of rule will do once, each way.
@pytest.mark.parametrize(
    ("way", "method"),
    [
        *chosen(product(["shortcut"], INDEPENDENT), [0, 2, 8]),
        *chosen(product(["long way"], INDEPENDENT), [4]),
        *chosen(product(["five slices"], INDEPENDENT), [5]),
    ],
    ids=repr,
)
def test_every_cell_shows_its_law(way: str, method: Method) -> None:
    every_cell_shows_its_law(way, method, Geometric, Fraction(1, 3), more=MORE, less=LESS)


@pytest.mark.parametrize(
    ("way", "method"),
    [
        *chosen(product(["shortcut"], INDEPENDENT), [1, 6]),
        *chosen(product(["long way"], INDEPENDENT), []),
        *chosen(product(["five slices"], INDEPENDENT), [5]),
    ],
    ids=repr,
)
def test_every_cell_shows_its_gaussian_law(way: str, method: Method) -> None:
    # A deviation of 4; it follows the root of rho.
    every_cell_shows_its_law(way, method, Gaussian, Fraction(1, 32), more=MORE**2, less=LESS**2)


def every_cell_shows_its_law(
    way: str, method: Method, kind: type[NoiseLaw], budget: Fraction, *, more: Fraction, less: Fraction
) -> None:
    entropy = replay(800)
    law, noisier, quieter = (
        kind.calibrated(budget=budget * factor, change=Fraction(1)) for factor in (Fraction(1), more, less)
    )
    # One-sided samples by a threshold tell rates apart least.
    faint = isinstance(method, ht.Threshold | ht.FilterThreshold) and not method.two_sided
    rounds = runs(150 if way == "long way" else 900 if faint else 450)
    rule = None
    if not isinstance(method, ht.Everything):
        rule = acceptance_of(method, cells_total=CELLS, law=law)
    shown: dict[int, list[int]] = {cell: [] for cell in range(CELLS)}
    for _ in range(rounds):
        if way == "long way":
            rows, _ = long_way(COUNTS, CELLS, method, law, entropy)
        else:
            slices = 5 if way == "five slices" else 1
            rows = rows_of(shortcut(COUNTS, CELLS, method, budget, entropy, slices=slices, law=kind))
        for cell in range(CELLS):
            shown[cell].append(rows.get(cell, ABSENT))
    empty = np.array([v for cell in range(CELLS) if cell not in COUNTS for v in shown[cell]])

    assert follows(empty, cell_law(0, rule, law)) > ALARM
    if way != "long way" or statistics.LONG:
        assert fits(empty, cell_law(0, rule, noisier)) < ALARM
        assert fits(empty, cell_law(0, rule, quieter)) < ALARM
    for cell, count in COUNTS.items():
        assert follows(shown[cell], cell_law(count, rule, law)) > ALARM
        assert fits(shown[cell], cell_law(count + 12, rule, law)) < ALARM


SIZED = [
    (ht.Priority(size=5), {}),
    (ht.Priority(size=5), {"slices": 6}),
    (ht.Priority(size=3, two_sided=False), {}),
    (ht.FilterPriority(cutoff="2.5", size=4), {}),
    (ht.FilterPriority(cutoff=6, size=4, two_sided=False), {"slices": 3}),
    (ht.Priority(size=5), {"first_guess": Acceptance(threshold=4000)}),
    (ht.Priority(size=5), {"first_guess": Acceptance(threshold=60), "slices": 4}),
    (ht.Priority(size=5), {"first_guess": Acceptance(threshold="0.5")}),
    (ht.FilterPriority(cutoff=3, size=4), {"first_guess": Acceptance(cutoff=3, threshold=500)}),
]


@pytest.mark.parametrize(("method", "options"), chosen(SIZED, [4, 6]), ids=repr)
def test_the_threshold_of_a_priority_sample_has_its_law(
    method: ht.Priority | ht.FilterPriority, options: dict[str, object]
) -> None:
    rate, entropy = Fraction(1, 3), replay(801)
    plain = Acceptance(cutoff=getattr(method, "cutoff", None), two_sided=method.two_sided)
    sample = []
    for _ in range(runs(600)):
        summary = shortcut(COUNTS, CELLS, method, rate, entropy, **options)
        assert summary.threshold is not None
        assert (summary.threshold == 0) == (len(summary) < method.size) or len(summary) == method.size
        sample.append(summary.threshold)

    assert curve_follows(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rate)) > ALARM
    assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rate * Fraction(1, 2))) < ALARM
    assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rate * 2)) < ALARM
    assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size + 1, plain, rate)) < ALARM


# Guesses that stop too early, so that bands of Gaussian noise are drawn; and the long way.
@pytest.mark.parametrize(
    ("method", "options"),
    [
        *chosen(SIZED, [8]),
        pytest.param(ht.Priority(size=5), None, marks=pytest.mark.long),
    ],
    ids=repr,
)
def test_the_threshold_of_a_priority_sample_has_its_gaussian_law(
    method: ht.Priority | ht.FilterPriority, options: dict[str, object] | None
) -> None:
    rho, entropy = Fraction(1, 32), replay(812)
    law = Gaussian.calibrated(budget=rho, change=Fraction(1))
    plain = Acceptance(cutoff=getattr(method, "cutoff", None), two_sided=method.two_sided)
    sample: list[float] = []
    for _ in range(runs(600)):
        if options is None:
            sample.append(float(long_way(COUNTS, CELLS, method, law, entropy)[1] or 0))
        else:
            summary = shortcut(COUNTS, CELLS, method, rho, entropy, law=Gaussian, **options)
            sample.append(float(summary.threshold or 0))

    assert curve_follows(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, law)) > ALARM
    for factor in (Fraction(1, 4), Fraction(4)):  # half and twice the deviation
        other = Gaussian.calibrated(budget=rho * factor, change=Fraction(1))
        assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, other)) < ALARM
    assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size + 1, plain, law)) < ALARM


@pytest.mark.parametrize(
    "method", [ht.Priority(size=5), ht.FilterPriority(cutoff=3, size=4, two_sided=False)], ids=repr
)
def test_the_slow_reference_has_the_same_law_of_thresholds(method: ht.Priority | ht.FilterPriority) -> None:
    rate, entropy = Fraction(1, 3), replay(802)
    law = Geometric(rate)
    plain = Acceptance(cutoff=getattr(method, "cutoff", None), two_sided=method.two_sided)
    sample = [float(long_way(COUNTS, CELLS, method, law, entropy)[1] or 0) for _ in range(runs(200))]

    assert curve_follows(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rate)) > ALARM
    assert fits_curve(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rate * 2)) < ALARM


@pytest.mark.parametrize(
    "options", chosen([{}, {"first_guess": Acceptance(threshold=10**6)}, {"slices": 9}], [1]), ids=repr
)
def test_a_priority_sample_of_a_large_domain_has_its_law(options: dict[str, object]) -> None:
    rate, entropy, size, cells = Fraction(1, 3), replay(803), 40, 50_000
    counts = {97 * i: 1 + i % 7 for i in range(1, 300)} | {5: 90, 6: 300}
    plain = Acceptance()
    sample = []
    for _ in range(runs(100)):
        summary = shortcut(counts, cells, ht.Priority(size=size), rate, entropy, **options)
        assert len(summary) == size
        sample.append(float(summary.threshold or 0))
    law = sampled_curve(threshold_cdf(counts, cells, size, plain, rate), sample)

    assert curve_follows(sample, law) > ALARM
    assert (
        fits_curve(sample, sampled_curve(threshold_cdf(counts, cells, size, plain, rate * MORE), sample))
        < ALARM
    )
    assert (
        fits_curve(sample, sampled_curve(threshold_cdf(counts, cells, size, plain, rate * LESS), sample))
        < ALARM
    )


def sampled_curve(cdf: Callable[[float], float], sample: list[float]) -> Callable[[float], float]:
    """The curve at 60 points and straight lines between: within 1/100 of a smooth law, and much quicker."""
    points = np.quantile(np.array(sample), np.linspace(0, 1, 60))
    values = [cdf(float(t)) for t in points]
    return lambda t: float(np.interp(t, points, values))


@pytest.mark.parametrize(
    ("two_sided", "options"),
    few(product([True, False], [{}, {"slices": 5}, {"guess": 40}, {"guess": 1}]), every=5),
    ids=repr,
)
def test_the_cut_of_the_largest_counts_has_its_law(two_sided: bool, options: dict[str, int]) -> None:
    rate, entropy, size = Fraction(1, 3), replay(804), 6
    method = ht.Filter(size=size, two_sided=two_sided)
    extra: dict[str, object] = dict(options)
    if "guess" in extra:
        extra = {"first_guess": Acceptance(cutoff=extra["guess"], two_sided=two_sided)}  # type: ignore[arg-type]
    sample = []
    for _ in range(runs(700)):
        summary = shortcut(COUNTS, CELLS, method, rate, entropy, **extra)
        sample.append(int(np.abs(summary.counts).min()) if len(summary) == size else 0)

    def law(g: Fraction, s: int = size) -> FloatLaw:
        curve = cut_cdf(COUNTS, CELLS, s, two_sided, g)
        at = {c: curve(c) for c in range(-1, 120)}
        return FloatLaw(
            lambda c: at[c] - at.get(c - 1, 0.0) if c else at[0], lambda c: at[c] if c >= 0 else 0.0, 0, 118
        )

    assert follows(sample, law(rate)) > ALARM
    assert fits(sample, law(rate * Fraction(1, 2))) < ALARM
    assert fits(sample, law(rate * 2)) < ALARM
    assert fits(sample, law(rate, size + 1)) < ALARM


def best_of_two(counts: list[int], rate: Fraction) -> dict[int, Fraction]:
    """P(a cell wins with value v) in a priority sample of 1 out of 2 cells, under the key 1000 cell + v."""
    values, masses = noise_masses(rate)
    law: dict[int, Fraction] = {}
    nothing = 0.0
    for i in (0, 1):
        mine, theirs = values + counts[i], values + counts[1 - i]
        for v, p in zip(mine.tolist(), masses.tolist(), strict=True):
            if abs(v) > 150 or p < 1e-13:
                continue
            if v == 0:
                nothing += p * float(masses[theirs == 0].sum()) / 2
                continue
            other = np.abs(theirs)
            # Q is uniform up to 1/|v|: the chance that mine is the smaller of the two.
            win = np.where(other <= abs(v), 1 - other / (2 * abs(v)), abs(v) / (2 * np.maximum(other, 1)))
            law[1000 * i + v] = Fraction(p * float((masses * win).sum()))
    law[ABSENT] = Fraction(nothing)
    return law


@pytest.mark.parametrize("way", ["shortcut", "long way"])
def test_who_wins_a_priority_sample(way: str) -> None:
    rate, entropy, counts = Fraction(1, 4), replay(805), [3, 9]
    cells = dict(enumerate(counts))
    sample = []
    for _ in range(runs(1200)):
        if way == "shortcut":
            rows = rows_of(shortcut(cells, 2, ht.Priority(size=1), rate, entropy))
        else:
            rows, _ = long_way(cells, 2, ht.Priority(size=1), Geometric(rate), entropy)
        sample.append(next((1000 * cell + v for cell, v in rows.items()), ABSENT))

    assert follows(sample, from_masses(best_of_two(counts, rate))) > ALARM
    assert fits(sample, from_masses(best_of_two([9, 3], rate))) < ALARM
    assert fits(sample, from_masses(best_of_two(counts, rate / 2))) < ALARM


@pytest.mark.parametrize("way", ["shortcut", "long way"])
def test_ties_are_broken_evenly(way: str) -> None:
    # At rate 3 nearly all magnitudes are 0 or 1: which tied cell is shown must not follow their order.
    rate, entropy, cells, size = Fraction(3), replay(806), 60, 2
    seen = np.zeros(cells, dtype=np.int64)
    rounds = runs(150)
    shown = 0
    for _ in range(rounds):
        if way == "shortcut":
            rows = rows_of(shortcut({}, cells, ht.Filter(size=size), rate, entropy))
        else:
            rows, _ = long_way({}, cells, ht.Filter(size=size), Geometric(rate), entropy)
        shown += len(rows)
        seen[list(rows)] += 1

    assert shown > rounds
    law = from_masses({cell: Fraction(1, cells) for cell in range(cells)})
    places = np.repeat(np.arange(cells), seen)
    assert follows(places, law) > ALARM
    first_served = np.sort(places)[: places.size // 2]
    assert fits(first_served, law) < ALARM


@pytest.mark.parametrize("way", ["shortcut", "long way"])
def test_ties_do_not_favour_occupied_cells(way: str) -> None:
    # 300 occupied cells of count 1 and 19,700 empty ones: at rate 3 some 2,000 tie at magnitude 1, and only
    # some of these are shown. An occupied one must be shown no more often than its share of the ties.
    rate, entropy, cells, size = Fraction(3), replay(810), 20_000, 400
    counts = {7 * i: 1 for i in range(300)}
    values, masses = noise_masses(rate)
    occupied = 300 * float(masses[np.abs(values + 1) == 1].sum())
    empty = (cells - 300) * float(masses[np.abs(values) == 1].sum())
    shown = hits = 0
    for _ in range(runs(3 if way == "long way" else 30)):
        if way == "shortcut":
            rows = rows_of(shortcut(counts, cells, ht.Filter(size=size), rate, entropy))
        else:
            rows, _ = long_way(counts, cells, ht.Filter(size=size), Geometric(rate), entropy)
        ties = [cell for cell, value in rows.items() if abs(value) == 1]
        shown += len(ties)
        hits += sum(cell in counts for cell in ties)

    share = occupied / (occupied + empty)
    assert shown > 200
    assert chernoff_follows(hits, shown, share) > ALARM
    if way == "shortcut":
        assert chernoff(hits, shown, share * 1.25) < ALARM


def chance_that_one_of_these_wins(count: int, number: int, others: int, rate: Fraction) -> float:
    """How likely the largest magnitude of all is of one of `number` cells with this count, ties by chance."""
    values, masses = noise_masses(rate)
    won = 0.0
    for x in range(1, 40):
        (tie, below), (other, others_below) = [
            (float(masses[np.abs(values + c) == x].sum()), float(masses[np.abs(values + c) < x].sum()))
            for c in (count, 0)
        ]
        for i, j in product(range(number + 1), range(others + 1)):
            if i + j:
                mine = comb(number, i) * tie**i * below ** (number - i)
                theirs = comb(others, j) * other**j * others_below ** (others - j)
                won += mine * theirs * i / (i + j)
    return won


@pytest.mark.long
def test_ties_keep_their_bands_when_a_guess_stops_half_of_the_time() -> None:
    # Four of 40 cells are occupied. Broken evenly among all ties, one of them would win with chance 0.53.
    # tests/audit/test_guesses.py compares such laws exactly, on smaller tables; here is the real noise.
    rate, entropy, counts = Fraction(3), replay(811), {3: 1, 14: 1, 15: 1, 39: 1}
    guess = Acceptance(cutoff=1, edge_chance=Fraction(1, 2))
    right = chance_that_one_of_these_wins(1, 4, 36, rate)
    wins, rounds = 0, 30_000
    for _ in range(rounds):
        rows = rows_of(shortcut(counts, 40, ht.Filter(size=1), rate, entropy, first_guess=guess))
        wins += any(cell in counts for cell in rows)

    assert right == pytest.approx(0.559, abs=0.001)
    assert chernoff_follows(wins, rounds, right) > ALARM
    assert chernoff(wins, rounds, right - 0.034) < ALARM
    assert chernoff(wins, rounds, right + 0.034) < ALARM


@pytest.mark.parametrize(
    "method", chosen([ht.Priority(size=30), ht.Threshold(threshold=9), ht.Filter(size=30)], [2]), ids=repr
)
def test_thinning_gives_the_law_of_the_smaller_summary(method: Method) -> None:
    rate, entropy = Fraction(1, 3), replay(807)
    thresholds, cuts = [], []
    for _ in range(runs(650)):
        summary = shortcut(COUNTS, 60, method, rate, entropy)
        thinned = of_size(summary, 5, entropy)
        assert len(thinned) == min(5, len(summary))
        if summary.threshold is None:
            cuts.append(int(np.abs(thinned.counts).min()))
        elif len(summary) > 5:
            thresholds.append(float(thinned.threshold or 0))
    if thresholds:
        assert len(thresholds) > runs(640)
        assert curve_follows(thresholds, threshold_cdf(COUNTS, 60, 5, Acceptance(), rate)) > ALARM
        assert fits_curve(thresholds, threshold_cdf(COUNTS, 60, 6, Acceptance(), rate)) < ALARM
    else:
        curve = cut_cdf(COUNTS, 60, 5, True, rate)
        at = {c: curve(c) for c in range(-1, 120)}
        law = FloatLaw(lambda c: at[c] - at.get(c - 1, 0.0), lambda c: at[c] if c >= 0 else 0.0, 0, 118)
        assert follows(cuts, law) > ALARM


def test_raising_a_threshold_gives_the_law_of_the_higher_one() -> None:
    rate, entropy = Fraction(1, 3), replay(808)
    empty, higher = [], Acceptance(threshold=12)
    for _ in range(runs(80)):
        summary = shortcut(COUNTS, CELLS, ht.Threshold(threshold="4.5"), rate, entropy)
        rows = rows_of(at_threshold(summary, Fraction(12), entropy))
        empty += [rows.get(cell, ABSENT) for cell in range(CELLS) if cell not in COUNTS]

    assert follows(empty, cell_law(0, higher, rate)) > ALARM
    assert fits(empty, cell_law(0, Acceptance(threshold=24), rate)) < ALARM


@pytest.mark.parametrize("method", few([ht.Priority(size=6), ht.Threshold(threshold=5)], every=2), ids=repr)
def test_weights_are_unbiased(method: Method) -> None:
    # Threshold and priority samples: the mean weight of a cell is its count. Weights are not bounded, so
    # this is a check at six standard errors (chance 2e-9 for a normal mean), counted as one assertion.
    rate, entropy = Fraction(1, 2), replay(809)
    statistics.asked += 1
    sums = []
    for _ in range(runs(1500)):
        summary = shortcut(COUNTS, CELLS, method, rate, entropy)
        sums.append([float(summary.weights[summary.codes[:, 0] == cell].sum()) for cell in (8, 1, 2)])
    means, errors = np.mean(sums, axis=0), np.std(sums, axis=0) / np.sqrt(len(sums))

    assert (np.abs(means - [25, 7, 0]) < 6.2 * errors).all()


def test_the_exact_laws_are_laws() -> None:
    law = best_of_two([3, 9], Fraction(1, 4))
    assert float(sum(law.values())) == pytest.approx(1, abs=1e-6)
    curve = threshold_cdf(COUNTS, CELLS, 5, Acceptance(), Fraction(1, 3))
    assert 0 <= curve(0.01) <= curve(5) <= curve(50) <= curve(10**6) == pytest.approx(1)
    assert next(k for k in count_up() if curve(k) > 0.5) < 100


def test_no_cutoff_below_its_threshold_is_drawn() -> None:
    """Of a law that hides empty cells by a threshold alone: whoever asks for the draw, by whatever way."""
    law = TruncatedGeometric.calibrated(budget=Fraction(1), change=Fraction(1), delta=Fraction(1, 10**6))
    fits = [ht.Filter(cutoff=15, two_sided=False), ht.FilterPriority(cutoff=20, size=5, two_sided=False)]
    others: list[Method] = [
        ht.Filter(cutoff=14, two_sided=False),
        ht.Filter(cutoff="14.9", two_sided=False),
        ht.Filter(cutoff=15),
        ht.Filter(size=5, two_sided=False),
        ht.FilterPriority(cutoff=14, size=5, two_sided=False),
        ht.FilterThreshold(cutoff=15, size=5, two_sided=False),
        ht.Threshold(threshold=15, two_sided=False),
        ht.Everything(),
    ]

    assert law.least_cutoff == 15
    for method in fits:
        check_method(method, cells_total=10**30, law=law)
    for method in others:
        with pytest.raises(ht.BadChoice, match="a cutoff of 15 or more"):
            check_method(method, cells_total=10, law=law)
