"""Planned trees: which nodes are kept, and how far ranges are off, against brute force and drawn trees."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import comb, isfinite

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.answers.nodes.ranges import Ranges
from hushtable.answers.pruned.coverage import LineCoverage
from hushtable.answers.pruned.walking import walked
from hushtable.errors import BadChoice
from hushtable.laws.geometric import Geometric, GeometricFloats
from hushtable.methods.settings import Filter
from hushtable.planning.predictions import Prediction
from hushtable.planning.profile import Profile
from hushtable.planning.pruning import Known, Off, ProfileTree, PrunedTree
from hushtable.planning.ranges import within
from hushtable.planning.trees import fits_a_tree, predict_tree
from hushtable.structures.branching import least_cutoff
from hushtable.structures.fitting import fitted
from hushtable.structures.pruned import PrunedSpace, Tree
from hushtable.summaries.summarize import draw_summary
from hushtable.table.sparse import SparseTable
from tests.harness.cases import chosen
from tests.harness.nodes import nodes_over
from tests.harness.statistics import SEED, replay
from tests.structures.pruned import level_laws

PAPER = Profile.normal(cells=6_554, mean=100, sd=20)


def predicted(
    profile: Profile = PAPER,
    cells: int = 1 << 16,
    rate: Fraction = Fraction(1, 10),
    sizes: tuple[int, ...] = (100, 1000, 10_000),
    branching: int = 16,
    **setting: int,
) -> Prediction:
    return predict_tree(
        profile,
        Tree(branching=branching),
        Filter(**setting or {"size": 10_000}, two_sided=False),
        cells_total=cells,
        law_for=lambda share: Geometric(rate * share),
        domain_bytes=0,
        sizes=sizes,
    )


def test_nodes_are_kept_with_all_above_them_by_their_laws() -> None:
    # Half of 64 cells hold 3; of a tree with four branches, a leaf has two nodes above it beside the root.
    table = ProfileTree(Profile(counts=[3], cells=[32], words="half"), cells_total=64, branching=4)
    noise, cutoff = GeometricFloats(0.4), 5
    found = table.chances([noise] * 4, cutoff)

    def lifted(count: int) -> float:
        return float(noise.tail(np.array([cutoff - 3.0 * count]), 0)[0])

    def law(cells: int) -> list[float]:
        return [comb(cells, some) / 2**cells for some in range(cells + 1)]

    def kept(own: int, level: int) -> float:
        """The chance by the counts of a node, its siblings, and the siblings of its parent."""
        if level == 1:
            return lifted(own)
        others = 3 * 4 ** (3 - level)
        above = sum(chance * kept(own + some, level - 1) for some, chance in enumerate(law(others)))
        return lifted(own) * above

    for level in (1, 2, 3):
        cells = 4 ** (3 - level)
        assert table.laws[level].values == pytest.approx([3 * some for some in range(cells + 1)])
        assert table.laws[level].chances == pytest.approx(law(cells))
        expected = [kept(some, level) for some in range(cells + 1)]
        assert found[level].kept == pytest.approx(expected, rel=1e-9)
    real, empty = table.rows(found)
    assert empty == pytest.approx(64 / 2 * kept(0, 3) + 16 / 2**4 * kept(0, 2) + 4 / 2**16 * kept(0, 1))
    assert real > empty


def test_the_variance_within_a_node_is_that_of_all_orders_of_its_children() -> None:
    known = Known(kept_share=0.3, kept=Off(5.0, 9.0), divided=7.0, absent=Off(2.0, 3.0), uneven=0.0, jump=1.0)
    shares = np.array([1.0, 1.0, 0.4, 0.0])
    sums = np.zeros(2)
    for states in product((0, 1), repeat=4):
        chance = 0.3 ** sum(states) * 0.7 ** (4 - sum(states))
        kept = np.array(states)
        taken, true = np.where(kept, 5.0, 2.0), np.where(kept, 7.0, 3.0)
        for order in permutations(range(4)):
            placed = shares[list(order)]
            squares = (placed - placed @ taken / taken.sum()) ** 2 * true
            sums += chance / 24 * np.array([squares[kept == 1].sum(), squares[kept == 0].sum()])

    found = [each.own * (shares**2).sum() + each.shared * shares.sum() ** 2 for each in within(known, 4)]

    assert found == pytest.approx(sums.tolist())


def test_a_size_is_kept_to_unless_noise_would_fill_it() -> None:
    rate = Fraction(1)
    table = ProfileTree(PAPER, cells_total=1 << 16, branching=16)
    level_rate = rate * 4 / sum(table.tree.shares)
    least = least_cutoff(16, Geometric(level_rate), levels=table.tree.levels)

    few, all_of_it = predicted(rate=rate, size=2000), predicted(rate=rate, size=60_000)

    assert few.rows == pytest.approx(2000)
    assert few.cutoff > least == all_of_it.cutoff
    assert all_of_it.rows < 15_000
    assert PrunedTree(table, laws=level_laws(table.tree, level_rate), cutoff=least).rows == all_of_it.rows
    by_cutoff = predicted(rate=rate, cutoff=few.cutoff)
    assert by_cutoff.rows == pytest.approx(2000, rel=0.02)
    assert by_cutoff.errors == few.errors


FLOWS = Profile(counts=[1, 2, 5, 20, 100, 900], cells=[2000, 900, 500, 200, 60, 10], words="flows")
SPARSE = Profile.normal(cells=2000, mean=60, sd=15)
DRAWN = [
    (PAPER, 1 << 16, Fraction(1, 10), 10_000, (100, 1000, 10_000)),
    (PAPER, 1 << 16, Fraction(1, 10), 1500, (100, 1000, 10_000)),
    (FLOWS, 40_000, Fraction(1, 2), 5000, (100, 1000, 10_000)),
    (SPARSE, 10**7, Fraction(1), 8000, (10_000, 100_000, 10**6)),
]


@pytest.mark.parametrize(
    ("profile", "cells", "rate", "size", "sizes"), DRAWN, ids=["paper", "few rows", "flows", "sparse"]
)
def test_errors_and_rows_are_those_of_drawn_trees(
    profile: Profile, cells: int, rate: Fraction, size: int, sizes: tuple[int, ...]
) -> None:
    said = predicted(profile, cells, rate, sizes, size=size)
    errors, rows = measured(profile, cells, rate, sizes, size)

    assert said.rows == pytest.approx(rows, rel=0.05)
    for width, error in zip(sizes, errors, strict=True):
        assert 0.75 < error / said.errors[width] < 1.33, width


def measured(
    profile: Profile, cells: int, rate: Fraction, sizes: tuple[int, ...], size: int
) -> tuple[list[float], float]:
    """Return the mean errors over ranges of drawn trees with occupied cells anywhere, and their rows."""
    random = np.random.default_rng(SEED)
    nodes = nodes_over(Tree(), (cells,), places=(0,))
    counts = np.repeat(profile.counts, np.rint(profile.cells).astype(int)).astype(np.int64)
    releases, errors, rows = 6, np.zeros(len(sizes)), 0.0
    for number in range(releases):
        places = np.sort(random.choice(cells, counts.size, replace=False))
        random.shuffle(counts)
        table = SparseTable(shape=(cells,), codes=places, counts=counts.copy())
        drawn = draw_summary(
            table,
            Filter(size=size, two_sided=False),
            epsilon=rate,
            sensitivity=Fraction(nodes.per_cell),
            entropy=replay(number),
            nodes=nodes,
        )
        assert isinstance(drawn.nodes, PrunedSpace)
        tree = drawn.nodes.tree
        laws = level_laws(tree, rate * tree.least_share / nodes.per_cell)
        fit = fitted(tree, drawn.codes[:, 0], drawn.counts, laws=laws, cutoff=drawn.cutoff or 1.0)
        fit = fit.with_own(drawn.weights)
        rows += len(drawn) / releases
        running = np.append(0, np.cumsum(counts))
        for place, width in enumerate(sizes):
            starts = random.integers(cells - width + 1, size=200)
            truths = running[np.searchsorted(places, [starts, starts + width])]
            asked = LineCoverage(Ranges(np.arange(200), starts, starts + width, 200))
            answers = walked(tree, fit, asked).value
            errors[place] += np.abs(answers - np.diff(truths, axis=0)[0]).mean() / releases
    return errors.tolist(), rows


@pytest.mark.parametrize("cells", chosen([2, 3, 17, 1000, 2**20 + 1, 10**12, 2**60], [0, 2, 4, 6]))
@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1), Fraction(5000)])
@pytest.mark.parametrize("size", [1, 1000])
def test_numbers_stay_numbers(cells: int, rate: Fraction, size: int) -> None:
    some = min(cells / 2, 1e4)
    for profile in (
        Profile(counts=[1], cells=[some], words="one in each"),
        Profile(counts=[1, 10**12], cells=[some, some], words="one or very many"),
    ):
        widths: NDArray[np.int64] = np.unique([1, cells // 3 + 1, cells // 2])
        found = predicted(profile, cells, rate, tuple(widths.tolist()), size=size)

        assert found.rows >= 1
        assert 0 <= found.suppressed <= profile.occupied
        for width, error in found.errors.items():
            assert isfinite(error)
            assert 0 <= error < 100 * (width * profile.people / cells + 1e3 / float(rate)) + 1e14


def test_more_epsilon_is_never_worse() -> None:
    errors = [predicted(rate=Fraction(rate)).errors for rate in ("0.03", "0.1", "0.3", "1", "3")]

    for width in (100, 1000, 10_000):
        assert (np.diff([each[width] for each in errors]) < 0).all()


def test_other_branchings_are_known_and_other_orders_are_not() -> None:
    assert predicted(branching=4).errors[1000] == pytest.approx(predicted().errors[1000], rel=0.7)
    with pytest.raises(BadChoice, match="this one is in z-order"):
        predict_tree(
            PAPER,
            Tree(order="morton"),
            Filter(size=100, two_sided=False),
            cells_total=1 << 16,
            law_for=Geometric,
            domain_bytes=0,
            sizes=[100],
        )
    assert [fits_a_tree(cells) for cells in (1, 2, 2**60, 2**60 + 1)] == [False, True, True, False]
