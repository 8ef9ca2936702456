"""The worst case of suppressed counts, against tables whose counts are known."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.answers.estimation.suppressed import spread
from hushtable.answers.estimation.tails import noise
from hushtable.laws.geometric import Geometric
from hushtable.noise import two_sided_geometric
from tests.harness.statistics import replay

CELLS = 200_000


def heavy_tailed() -> NDArray[np.int64]:
    """Few large counts, most of them 0 or 1, as in commuting."""
    ranks = np.arange(1, CELLS + 1)
    return (30_000 / ranks**0.9).astype(np.int64) % 400


def equal(count: int, density: float) -> NDArray[np.int64]:
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[: int(CELLS * density)] = count
    return counts


def spread_of(
    counts: NDArray[np.int64], rate: Fraction, cutoff: int, *, two_sided: bool
) -> tuple[float, float]:
    """What `spread` says, and the variance among the cells that are absent."""
    noisy = counts + two_sided_geometric(rate, replay(610), count=CELLS)
    kept = (np.abs(noisy) if two_sided else noisy) >= cutoff
    absent = counts[~kept]
    said = spread(
        noise(Geometric(rate), cutoff=cutoff, two_sided=two_sided),
        counts=noisy[kept].astype(float),
        stands_for=np.ones(int(kept.sum())),
        cells=CELLS,
        mean=float(absent.mean()),
        negative=False,
    )
    return said, float(absent.var())


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("cutoff", [30, 60, 100, 150])
@pytest.mark.parametrize(
    "counts",
    [heavy_tailed(), equal(5, 0.3), equal(30, 0.02), equal(100, 0.1), equal(100, 1.0)],
    ids=["heavy-tailed", "5 in 0.3", "30 in 0.02", "100 in 0.1", "100 everywhere"],
)
def test_the_variance_of_absent_cells_is_within_the_bound(
    counts: NDArray[np.int64], cutoff: int, two_sided: bool
) -> None:
    said, true = spread_of(counts, Fraction(1, 10), cutoff, two_sided=two_sided)

    # Cells that lie far above the cutoff and were thrown under it by noise may pass the bound by a little.
    assert said >= 0.7 * true


def test_the_bound_is_reached_where_all_occupied_cells_hold_the_same() -> None:
    said, true = spread_of(equal(100, 0.1), Fraction(1, 10), 150, two_sided=True)

    assert true <= said <= 1.3 * true


def test_counts_near_the_cutoff_would_have_shown() -> None:
    counts = equal(5, 0.3)  # mean 1.5: as a few counts of 60 would have too
    said, true = spread_of(counts, Fraction(1, 10), 60, two_sided=True)

    assert true < said < 0.5 * 1.5 * 60


def test_without_missing_counts_nothing_is_spread() -> None:
    law = noise(Geometric(Fraction(1, 10)), cutoff=50)

    assert spread(law, counts=np.zeros(0), stands_for=np.zeros(0), cells=1e12, mean=0.0, negative=False) == 0


def test_negative_counts_are_bounded_by_what_would_have_shown() -> None:
    rate, cutoff = Fraction(1, 10), 50
    counts = equal(-30, 0.02) + equal(0, 0)
    noisy = counts + two_sided_geometric(rate, replay(611), count=CELLS)
    kept = np.abs(noisy) >= cutoff
    said = spread(
        noise(Geometric(rate), cutoff=cutoff),
        counts=noisy[kept].astype(float),
        stands_for=np.ones(int(kept.sum())),
        cells=CELLS,
        mean=0.0,
        negative=True,
    )

    assert float(counts[~kept].var()) < said < 50**2 / 4
