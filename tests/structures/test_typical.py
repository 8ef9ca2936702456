"""Complete levels of a hierarchy: masses that add up, and that are close to the truth."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.noise import cell_noise
from hushtable.structures.typical import CompleteLevel, complete_masses, settled
from tests.harness.statistics import replay

Array = NDArray[np.float64]
PAIRS = st.tuples(st.floats(-50, 50), st.floats(0.1, 10))


@given(st.lists(st.tuples(st.lists(PAIRS, min_size=1, max_size=4), st.floats(0, 80)), min_size=1, max_size=3))
def test_settled_numbers_are_the_nearest_that_add_up(
    groups: list[tuple[list[tuple[float, float]], float]],
) -> None:
    owners = np.repeat(np.arange(len(groups)), [len(values) for values, _ in groups])
    means, variances = np.array([each for values, _ in groups for each in values]).T
    totals = np.array([total for _, total in groups])
    found = settled(means, variances, owners, totals)

    assert found.min() >= 0
    assert np.allclose(np.bincount(owners, weights=found), totals, atol=1e-9)
    for number, total in enumerate(totals.tolist()):
        rows = owners == number
        faces = (np.array(some, dtype=bool) for some in product([0, 1], repeat=int(rows.sum())) if any(some))
        best = min(_squares(means[rows], variances[rows], total, some) for some in faces)
        assert float(((found - means)[rows] ** 2 / variances[rows]).sum()) <= best * (1 + 1e-9) + 1e-6


def _squares(means: Array, variances: Array, total: float, some: NDArray[np.bool_]) -> float:
    """Return how far the nearest point with these entries above 0 alone is, if there is one."""
    point = np.zeros(means.size)
    shift = (total - means[some].sum()) / variances[some].sum()
    point[some] = means[some] + shift * variances[some]
    return float("inf") if (point < -1e-12).any() else float(((point - means) ** 2 / variances).sum())


class Drawn:
    """Three complete levels with noise: the total, groups, and their parts."""

    def __init__(self, truth: Array, groups: int, laws: list[NoiseLaw], seed: int) -> None:
        entropy = replay(seed)
        parents = np.repeat(np.arange(groups), truth.size // groups)
        self.truth = [
            np.array([truth.sum()]),
            np.bincount(parents, weights=truth, minlength=groups).astype(np.float64),
            truth,
        ]
        self.counts = [
            each + cell_noise(law, entropy, count=each.size)
            for each, law in zip(self.truth, laws, strict=True)
        ]
        places = [np.zeros(1, dtype=np.intp), np.zeros(groups, dtype=np.intp), parents]
        cells = [np.array([float(truth.size)]), np.full(groups, truth.size / groups), np.ones(truth.size)]
        self.known = [
            CompleteLevel(count.astype(np.float64), place, cell)
            for count, place, cell in zip(self.counts, places, cells, strict=True)
        ]
        self.found = complete_masses(self.known, laws)

    def error(self, level: int, values: list[Array] | None = None) -> float:
        """Return the root of the mean square of the error on a level."""
        found = self.found if values is None else values
        return float(np.sqrt(((found[level] - self.truth[level]) ** 2).mean()))


SPARSE = np.random.default_rng(1).permutation(np.repeat([0.0, 3.0, 8.0, 900.0], [3_600, 200, 150, 50]))
EVEN = np.repeat(np.random.default_rng(2).integers(20, 200, 40), 100).astype(np.float64)
LAWS: list[list[NoiseLaw]] = [
    [Geometric(Fraction(1, 20)) for _ in range(3)],
    [Geometric(Fraction(1, 2)) for _ in range(3)],
    [Gaussian(Fraction(200)) for _ in range(3)],
]


@pytest.mark.parametrize(("truth", "most"), [(SPARSE, 0.97), (EVEN, 0.999)], ids=["sparse", "even"])
@pytest.mark.parametrize("laws", LAWS, ids=["much noise", "little noise", "gaussian"])
def test_masses_add_up_and_are_closer_than_the_nearest_ones(
    truth: Array, most: float, laws: list[NoiseLaw]
) -> None:
    ratios = []
    for seed in range(6):
        made = Drawn(truth, 40, laws, 11 + seed)
        # A dense top-down release: each level the nearest to its noisy counts that adds up.
        nearest = [np.maximum(made.counts[0], 0.0)]
        for level in made.known[1:]:
            nearest.append(settled(level.counts, np.ones(level.counts.size), level.parents, nearest[-1]))
        for above, below, level in zip(made.found, made.found[1:], made.known[1:], strict=False):
            assert below.min() >= 0
            assert np.allclose(np.bincount(level.parents, weights=below), above)
        ratios.append([made.error(level) / made.error(level, nearest) for level in (1, 2)])

    upper, lower = np.mean(ratios, axis=0).tolist()
    assert upper < 1.03
    assert lower < most


def test_large_counts_stay_as_they_are() -> None:
    truth: Array = 10_000.0 * np.arange(1, 41, dtype=np.float64)
    law = Geometric(Fraction(1, 2))
    made = Drawn(truth, 4, [law, law, law], 3)

    # Least squares alone: noise of variance 7.8, and no prior that draws counts together.
    assert np.abs(made.found[2] - made.counts[2]).max() < 12


def test_numbers_that_somebody_made_up_are_taken() -> None:
    law = Geometric(Fraction(1, 10**9))
    huge = np.array([2.0**60, -(2.0**60), 0.0, 5.0])
    places = [np.zeros(1, dtype=np.intp), np.zeros(4, dtype=np.intp)]
    for total in (2.0**60, -(2.0**60), 0.0):
        known = [
            CompleteLevel(np.array([total]), places[0], np.array([4.0])),
            CompleteLevel(huge, places[1], np.ones(4)),
        ]
        for laws in ([law, law], [Geometric(Fraction(700)), Geometric(Fraction(700))]):
            found = complete_masses(known, laws)
            assert np.isfinite(found[1]).all()
            assert found[1].min() >= 0
            assert found[1].sum() == pytest.approx(found[0][0])
