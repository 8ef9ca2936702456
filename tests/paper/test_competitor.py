"""The bound of the competitor against sums in exact fractions, what it promises, and the law of its draws."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb, expm1, inf, log, prod
from typing import TypeVar

import numpy as np
import pytest

from paper.competitor import LARGEST_ALPHA, failure_bound, resampled, smallest_alpha
from tests.harness.cases import chosen, few
from tests.harness.statistics import ALARM, SEED, draws, fits, follows, from_masses

Number = TypeVar("Number", float, Fraction)


def rising(base: Number, steps: int) -> list[Number]:
    """Return base (base + 1) ... (base + k - 1) for each k from 0 to `steps`."""
    result = [base / base]
    for step in range(steps):
        result.append(result[-1] * (base + step))
    return result


def beta_binomial(rows: int, own: Number, others: Number) -> list[Number]:
    """Return the chance of each count from 0 to `rows`."""
    here, elsewhere, anywhere = rising(own, rows), rising(others, rows), rising(own + others, rows)[rows]
    return [comb(rows, k) * here[k] * elsewhere[rows - k] / anywhere for k in range(rows + 1)]


def allowed(x: int, alpha: Number, epsilon: float) -> Number:
    return type(alpha)(expm1(epsilon)) * (max(x - 1, 0) + alpha)


def tails(alpha: Number, *, people: int, cells: int, rows: int, epsilon: float) -> list[Number]:
    """Return T(0) to T(people), from the definition; a `Fraction` gives exact values."""
    result = []
    for x in range(people + 1):
        masses = beta_binomial(rows, x + alpha, people - x + (cells - 1) * alpha)
        limit = allowed(x, alpha, epsilon)
        result.append(sum((mass for k, mass in enumerate(masses) if k > limit), start=alpha * 0))
    return result


def slow_bound(alpha: Number, *, people: int, cells: int, rows: int, epsilon: float) -> Number:
    chances = tails(alpha, people=people, cells=cells, rows=rows, epsilon=epsilon)
    empty = chances[0]
    lines = [(tail - empty) / x for x, tail in enumerate(chances[1:], 1)]
    steepest = max(lines)
    return cells * empty + people * steepest


def three_digits(*decades: int) -> Iterator[float]:
    return (float(f"{digits}e{decade - 2}") for decade in decades for digits in range(100, 1000))


def table(people: int, cells: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a table of so many people; the bound does not ask where they are."""
    counts = np.zeros(cells, dtype=np.int64)
    counts[0] = people
    return counts


@pytest.mark.parametrize(
    ("epsilon", "alpha", "people", "cells", "rows"),
    few(
        (
            (epsilon, alpha, *sizes)
            for epsilon, alpha, sizes in product(
                [0.1, 0.5, 0.9, 1.0, 2.0, 5.0],
                ["0.0001", "0.03", "0.4", "1", "3", "7.7", "40"],
                [(1, 2, 1), (5, 3, 5), (9, 40, 4), (3, 2, 120)],
            )
        ),
        every=5,
    ),
)
def test_the_bound_is_that_of_exact_fractions(
    epsilon: float, alpha: str, people: int, cells: int, rows: int
) -> None:
    exact = slow_bound(Fraction(alpha), people=people, cells=cells, rows=rows, epsilon=epsilon)

    bound = failure_bound(float(alpha), people=people, cells=cells, rows=rows, epsilon=epsilon)

    assert bound == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("alpha", "epsilon", "at"),
    [("1/2", 1.0, 1), ("100", 0.08, 5), ("250", 0.1, 7), ("200", 0.1, 10), ("200", 0.05, 15)],
)
def test_no_steepest_line_is_missed_among_many(alpha: str, epsilon: float, at: int) -> None:
    size = {"people": 60, "cells": 7, "rows": 60}  # several rounds of halving
    empty, *others = tails(Fraction(alpha), **size, epsilon=epsilon)
    lines = [(tail - empty) / x for x, tail in enumerate(others, 1)]
    exact = slow_bound(Fraction(alpha), **size, epsilon=epsilon)

    assert lines.index(max(lines)) + 1 == at
    assert failure_bound(float(Fraction(alpha)), **size, epsilon=epsilon) == pytest.approx(
        float(exact), rel=1e-12
    )


def test_long_tails_are_summed_to_their_end() -> None:
    size = {"people": 2, "cells": 20, "rows": 400}  # neighbours in the tail differ by a few per cent
    exact = slow_bound(Fraction(1), **size, epsilon=3.0)

    assert failure_bound(1.0, **size, epsilon=3.0) == pytest.approx(float(exact), rel=1e-12)


def test_small_chances_are_not_lost() -> None:
    size = {"people": 60, "cells": 1000, "rows": 60}
    exact = slow_bound(Fraction(30), **size, epsilon=1.0)

    assert 0 < exact < 1e-60
    assert failure_bound(30.0, **size, epsilon=1.0) == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 1.5])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.9])
def test_what_the_bound_promises(alpha: float, epsilon: float) -> None:
    """Over all tables and all synthetic tables: what stays within e^epsilon, and how seldom one does not."""
    people, cells, rows = 3, 3, 4
    worst = 0.0
    for counts in compositions(people, cells):
        failed = 0.0
        for drawn in compositions(rows, cells):
            limits = [allowed(x, alpha, epsilon) for x in counts]
            if any(k > limit for k, limit in zip(drawn, limits, strict=True)):
                failed += chance(drawn, counts, alpha)
                continue
            for neighbour in moved(counts):
                change = log(chance(drawn, counts, alpha) / chance(drawn, neighbour, alpha))
                assert abs(change) <= epsilon + 1e-12
        worst = max(worst, failed)

    assert worst <= failure_bound(alpha, people=people, cells=cells, rows=rows, epsilon=epsilon) + 1e-12


def compositions(total: int, cells: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(total + 1), repeat=cells) if sum(counts) == total]


def moved(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Each table in which one person is elsewhere."""
    for i, j in product(range(len(counts)), repeat=2):
        if i != j and counts[i]:
            yield tuple(x - (k == i) + (k == j) for k, x in enumerate(counts))


def chance(drawn: tuple[int, ...], counts: tuple[int, ...], alpha: float) -> float:
    """The Dirichlet-multinomial law."""
    rows, ways = sum(drawn), 1
    for i, k in enumerate(drawn):
        ways *= comb(rows - sum(drawn[:i]), k)
    pieces = prod(rising(x + alpha, k)[k] for x, k in zip(counts, drawn, strict=True))
    return ways * pieces / rising(sum(counts) + len(counts) * alpha, rows)[rows]


@pytest.mark.parametrize(
    ("people", "cells", "rows", "epsilon", "delta"),
    [(4, 3, 4, 1.0, 1e-3), (4, 3, 4, 0.5, 0.3), (2, 5, 7, 2.0, 1e-4), (6, 2, 3, 5.0, 0.5)],
)
def test_the_smallest_alpha_is_the_first_of_three_digits_that_does(
    people: int, cells: int, rows: int, epsilon: float, delta: float
) -> None:
    size = {"people": people, "cells": cells, "rows": rows}

    found = smallest_alpha(table(people, cells), cells=cells, epsilon=epsilon, delta=delta, rows=rows)

    assert found == next(
        alpha for alpha in three_digits(*range(-6, 6)) if slow_bound(alpha, **size, epsilon=epsilon) <= delta
    )


def test_the_bound_is_a_sawtooth_so_bisection_could_miss_the_smallest_alpha() -> None:
    size = {"people": 400, "cells": 10, "rows": 400}

    assert smallest_alpha(table(400, 10), cells=10, epsilon=1.0, delta=1e-4) == 28.6
    for alpha, holds in [(28.5, False), (28.6, True), (28.7, False), (28.9, False), (29.7, True)]:
        assert (failure_bound(alpha, **size, epsilon=1.0) <= 1e-4) == holds


def test_a_table_of_real_size_has_the_alpha_that_the_bound_says() -> None:
    people, cells = 406_052, 815 * 815
    found = smallest_alpha(table(people, cells), cells=cells, epsilon=1.0, delta=1e-4)

    assert found == 6.99
    for alpha, holds in [(6.99, True), (6.98, False), (6.5, False)]:
        bound = failure_bound(alpha, people=people, cells=cells, rows=people, epsilon=1.0)
        assert (bound <= 1e-4) == holds


def test_alpha_grows_as_epsilon_and_delta_fall_and_always_exists() -> None:
    def alpha(epsilon: float, delta: float) -> float:
        found = smallest_alpha(table(400, 600), cells=600, epsilon=epsilon, delta=delta)
        assert found is not None
        return found

    by_epsilon = [alpha(epsilon, 1e-4) for epsilon in (5.0, 2.0, 1.0, 0.5, 0.1, 0.01)]
    by_delta = [alpha(1.0, delta) for delta in (0.1, 1e-2, 1e-4, 1e-8)]

    assert by_epsilon == sorted(by_epsilon)
    assert by_delta == sorted(by_delta)
    assert all(np.diff(by_epsilon) > 0)
    assert all(np.diff(by_delta) > 0)


def test_no_cell_can_have_too_many_people_from_rows_over_the_excess_on() -> None:
    rows, epsilon = 50, 0.2
    enough = rows / expm1(epsilon)

    assert failure_bound(enough * 1.001, people=80, cells=3, rows=rows, epsilon=epsilon) == 0
    assert failure_bound(enough * 0.999, people=80, cells=3, rows=rows, epsilon=epsilon) > 0


def test_an_alpha_beyond_the_limit_is_not_found() -> None:
    counts = table(1000, 2)

    assert smallest_alpha(counts, cells=2, epsilon=1e-6, delta=1e-4) is None
    assert failure_bound(LARGEST_ALPHA, people=1000, cells=2, rows=1000, epsilon=1e-6) > 1e-4


def test_rows_are_as_many_as_people_unless_told() -> None:
    counts = table(40, 30)

    default = smallest_alpha(counts, cells=30, epsilon=1.0, delta=1e-4)
    assert default == smallest_alpha(counts, cells=30, epsilon=1.0, delta=1e-4, rows=40)
    assert default != smallest_alpha(counts, cells=30, epsilon=1.0, delta=1e-4, rows=400)


COUNTS = np.array([0, 7, 1, 2], dtype=np.int64)
ALPHA, ROWS = Fraction(3, 2), 12


def law_of(cells: slice, alpha: Fraction = ALPHA) -> dict[int, Fraction]:
    """How many synthetic people are in some cells together."""
    own = Fraction(int(COUNTS[cells].sum())) + len(COUNTS[cells]) * alpha
    masses = beta_binomial(ROWS, own, Fraction(int(COUNTS.sum())) + COUNTS.size * alpha - own)
    return dict(enumerate(masses))


def test_the_law_has_the_mean_and_variance_of_a_dirichlet_multinomial() -> None:
    law, share = law_of(slice(1, 2)), Fraction(17, 32)  # (7 + 3/2) / (10 + 4 * 3/2)
    mean = sum(k * mass for k, mass in law.items())
    variance = sum((k - mean) ** 2 * mass for k, mass in law.items())

    assert mean == ROWS * share
    assert variance == ROWS * share * (1 - share) * Fraction(ROWS + 16, 1 + 16)


@pytest.mark.parametrize(
    "cells", chosen([slice(0, 1), slice(1, 2), slice(0, 2), slice(2, 4)], [1, 2]), ids=str
)
def test_resampled_cells_follow_their_law(cells: slice) -> None:
    random = np.random.default_rng([SEED, 1, cells.start, cells.stop])
    tables = [
        resampled(COUNTS, cells=4, alpha=float(ALPHA), rows=ROWS, random=random) for _ in range(draws(20_000))
    ]
    sample = np.array([drawn[cells].sum() for drawn in tables])
    law = law_of(cells)
    mean = sum((k * mass for k, mass in law.items()), start=Fraction(0)) / ROWS
    unspread = {k: comb(ROWS, k) * mean**k * (1 - mean) ** (ROWS - k) for k in range(ROWS + 1)}

    assert all(drawn.sum() == ROWS and drawn.shape == (4,) for drawn in tables)
    assert follows(sample, from_masses(law)) > ALARM
    assert fits(sample, from_masses(unspread)) < ALARM  # the same mean without the spread of the shares
    assert fits(sample, from_masses(law_of(cells, ALPHA * 2))) < ALARM
    assert fits(sample, from_masses(law_of(cells, ALPHA / 2))) < ALARM


def test_a_small_alpha_keeps_empty_cells_empty() -> None:
    counts = np.array([0, 5, 0, 3], dtype=np.int64)
    drawn = resampled(counts, cells=4, alpha=1e-9, rows=1000, random=np.random.default_rng(2))

    assert drawn.dtype == np.int64
    assert drawn.sum() == 1000
    assert drawn[[0, 2]].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1000.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"people": 0}, "nobody"),
        ({"cells": 1}, "cells"),
        ({"rows": 0}, "rows"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": inf}, "alpha"),
    ],
)
def test_a_bound_outside_of_its_range_is_refused(change: dict[str, float], words: str) -> None:
    good = {"alpha": 1.0, "people": 5, "cells": 3, "rows": 5, "epsilon": 1.0}

    assert failure_bound(**good) > 0  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=words):
        failure_bound(**good | change)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
def test_a_delta_that_is_no_chance_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        smallest_alpha(table(5, 3), cells=3, epsilon=1.0, delta=delta)


@pytest.mark.parametrize(
    ("counts", "words"), [([1, 2], "shape"), ([1, -1, 2], "negative"), ([0, 0, 0], "nobody")]
)
def test_a_table_that_is_none_is_refused(counts: list[int], words: str) -> None:
    array = np.array(counts, dtype=np.int64)

    with pytest.raises(ValueError, match=words):
        smallest_alpha(array, cells=3, epsilon=1.0, delta=1e-4)
    with pytest.raises(ValueError, match=words):
        resampled(array, cells=3, alpha=1.0, rows=5, random=np.random.default_rng(3))


def test_a_bound_above_one_is_told_as_it_is() -> None:
    assert failure_bound(0.1, people=400, cells=600, rows=400, epsilon=1.0) > 1
