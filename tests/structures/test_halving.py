"""Trees read by halves: kinds of division against integrals; nothing is lost; flat stretches are averaged."""

from __future__ import annotations

from fractions import Fraction
from math import inf, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.structures.addresses import LineAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.halving import Believed, Halves, left_by_kind, own_masses, sums_by_kind
from hushtable.structures.lines import Line
from tests.structures.pruned import World, level_laws, pruned

Array = NDArray[np.float64]


def one(left: tuple[float, float], right: tuple[float, float], part: float) -> Halves:
    known = [Believed(np.array([mean]), np.array([variance])) for mean, variance in (left, right)]
    return Halves(known[0], known[1], np.array([part]))


def normal(values: Array, variance: float) -> Array:
    return np.asarray(np.exp(-0.5 * values**2 / variance) / np.sqrt(2 * pi * variance))


EVEN = range(5)  # kinds that vary around even halves
SIDES = -2, -1
SPREADS = [1 / 32, 1 / 16, 1 / 8, 1 / 4]


def spread(kind: int, count: float, part: float) -> float:
    """The variance of a left half: people one by one, or so many times a count."""
    chance = max(count, 1.0) * part * (1 - part)
    return chance if kind == 0 else max((2 * SPREADS[kind - 1] * count) ** 2 * part * (1 - part), chance)


CASES = [
    ((30.0, 40.0), (60.0, 90.0), 0.5),
    ((30.0, 40.0), (55.0, 10.0), 0.25),
    ((60.0, 6.0), (-4.0, 25.0), 0.5),
]


@pytest.mark.parametrize(("left", "right", "part"), CASES)
def test_what_halves_tell_of_a_sum(
    left: tuple[float, float], right: tuple[float, float], part: float
) -> None:
    # Every sum and every left half on a grid, sums being as likely anywhere.
    found = sums_by_kind(one(left, right, part))
    sums, lefts = np.meshgrid(np.linspace(-150, 400, 701), np.linspace(-150, 400, 701), indexing="ij")
    step = 550 / 700
    seen = normal(left[0] - lefts, left[1]) * normal(right[0] - (sums - lefts), right[1])
    for kind in EVEN:
        around = spread(kind, max(left[0] + right[0], 0.0), part)
        joint = seen * normal(lefts - part * sums, around) * step**2
        total = joint.sum()
        mean = (joint * sums).sum() / total

        assert found.likely[kind, 0] == pytest.approx(np.log(total), abs=1e-3)
        assert found.means[kind, 0] == pytest.approx(mean, rel=1e-4)
        assert found.variances[kind, 0] == pytest.approx((joint * (sums - mean) ** 2).sum() / total, rel=1e-3)
    for kind, (all_, none) in zip(SIDES, ((left, right), (right, left)), strict=True):
        assert found.likely[kind, 0] == pytest.approx(np.log(normal(np.array(none[0]), none[1])))
        assert (found.means[kind, 0], found.variances[kind, 0]) == all_


@pytest.mark.parametrize(("left", "right", "part"), CASES)
def test_how_a_count_is_divided(left: tuple[float, float], right: tuple[float, float], part: float) -> None:
    count = 120.0
    found = left_by_kind(one(left, right, part), np.array([count]))
    lefts = np.linspace(-300, 420, 72_001)
    seen = normal(left[0] - lefts, left[1]) * normal(right[0] - (count - lefts), right[1])
    # Of all kinds, the halves' sum is as far from the count: only how they compare is told.
    totals = []
    for kind in EVEN:
        joint = seen * normal(lefts - part * count, spread(kind, count, part))
        totals.append(joint.sum() * 0.01)

        assert found.means[kind, 0] == pytest.approx((joint * lefts).sum() / joint.sum(), rel=1e-6)
    totals += [np.interp(count, lefts, seen), np.interp(0.0, lefts, seen)]
    likely = np.append(found.likely[list(EVEN), 0], found.likely[list(SIDES), 0])
    assert np.diff(likely) == pytest.approx(np.diff(np.log(totals)), abs=1e-6)
    assert found.means[list(SIDES), 0].tolist() == [count, 0.0]


@given(pruned(), st.floats(1e-3, 5), st.floats(1, 10**4))
def test_masses_are_not_negative_and_stay_where_they_are_published(
    world: World, rate: float, cutoff: float
) -> None:
    tree = world.tree
    own = own_masses(tree, world.numbers, world.counts, laws=level_laws(tree, rate), cutoff=cutoff)

    assert own.shape == world.numbers.shape
    assert np.isfinite(own).all()
    assert (own >= 0).all()
    levels = tree.level_of(world.numbers)
    for level in range(tree.levels - 1):
        # Where all children are published, a node keeps nothing for itself.
        some = world.numbers[levels == level] - tree.offsets[level]
        every, real = tree.children(some, level)
        there = np.isin(every[real] + tree.offsets[level + 1], world.numbers)
        missing = np.bincount(real[~there] // tree.width(level), minlength=some.size)
        assert (own[levels == level][missing == 0] == 0).all()


@given(st.lists(st.integers(0, 1000), min_size=40, max_size=40), st.sampled_from([2, 4, 16]))
def test_a_whole_tree_without_noise_stays_as_it_is(counts: list[int], branching: int) -> None:
    tree = BranchingTree(LineAddresses(Line((40,), places=(0,))), branching=branching)
    sums = [np.bincount(np.arange(40) >> shift, weights=counts).astype(np.int64) for shift in tree.shifts]
    numbers = [np.arange(each.size) + offset for each, offset in zip(sums, tree.offsets, strict=True)]
    own = own_masses(
        tree, np.concatenate(numbers), np.concatenate(sums), laws=level_laws(tree, 700.0), cutoff=1000.0
    )

    assert own[-40:] == pytest.approx(counts, abs=1e-6)


def test_what_absent_children_hold_stays_with_their_node() -> None:
    # A root of 100 and one leaf of 40 of four, next to no noise: 60 lie on the three others.
    tree = BranchingTree(LineAddresses(Line((4,), places=(0,))), branching=4)
    own = own_masses(tree, np.array([0, 2]), np.array([100, 40]), laws=level_laws(tree, 50.0), cutoff=30.0)

    assert own == pytest.approx([60, 40], abs=1e-3)


@pytest.mark.parametrize(("count", "mass"), [(75, 75.0), (0, 0.0), (-3, 0.0)])
def test_a_root_alone_keeps_what_it_has(count: int, mass: float) -> None:
    tree = BranchingTree(LineAddresses(Line((40,), places=(0,))), branching=4)
    laws = level_laws(tree, 0.5)

    assert own_masses(tree, np.array([0]), np.array([count]), laws=laws, cutoff=max(1.0, count)) == mass


RATE, CUTOFF = 0.1, 21  # the smallest cutoff of sixteen branches


def published(cells: NDArray[np.int64]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Add noise to the sums of a line and prune them: masses and noisy counts of leaves, and their places."""
    random = np.random.default_rng(1)
    tree = BranchingTree(LineAddresses(Line((cells.size,), places=(0,))), branching=16)
    numbers, counts, kept = [np.zeros(1, dtype=np.int64)], [cells.sum(keepdims=True)], np.zeros(1, np.int64)
    for level in range(1, tree.levels):
        every, real = tree.children(kept, level - 1)
        sums = np.add.reduceat(cells, np.arange(0, cells.size, 1 << tree.shifts[level]))
        noisy = sums[every[real]] + np.rint(random.laplace(0, 1 / RATE, real.size)).astype(np.int64)
        kept = every[real][noisy >= CUTOFF]
        numbers.append(kept + tree.offsets[level])
        counts.append(noisy[noisy >= CUTOFF])
    laws = level_laws(tree, RATE)
    own = own_masses(tree, np.concatenate(numbers), np.concatenate(counts), laws=laws, cutoff=CUTOFF)
    return own[-kept.size :], counts[-1].astype(float), kept


def test_flat_stretches_are_averaged() -> None:
    # Stretches of 256 even cells, of 50 or 400: their counts are known as well as those of their sums.
    cells = np.repeat([50, 400, 400, 50] * 4, 256)
    masses, noisy, places = published(cells)
    off = np.abs(masses - cells[places])

    assert places.size > 3900
    # Cells might vary as people do who come one by one: nobody can tell that they do not.
    assert off.mean() < 0.5 * np.abs(noisy - cells[places]).mean()


def test_few_cells_that_hold_everything_keep_their_counts() -> None:
    cells = np.zeros(4096, dtype=np.int64)
    cells[5::64] = 200
    masses, _, places = published(cells)
    there = cells[places] > 0

    assert there.sum() == 64
    assert masses[there].mean() > 190
    # Some others are there, lifted by noise: nearly all of what they show is not believed.
    assert (~there).sum() > 20
    assert masses[~there].mean() < 12


def test_numbers_of_no_release_do_not_overflow() -> None:
    tree = BranchingTree(LineAddresses(Line((4,), places=(0,))), branching=2)
    for counts in ([1 << 62, -(1 << 62)], [-(1 << 62), 1 << 62], [0, 0], [1 << 62, 1 << 62]):
        for rate in (Fraction(1, 10**400), Fraction(10**400), 1e-300, 1e300, 1.0):
            for cutoff in (5e-324, 1.0, 1e300, inf):
                laws = level_laws(tree, rate)
                own = own_masses(tree, np.array([0, 1]), np.array(counts), laws=laws, cutoff=cutoff)
                assert np.isfinite(own).all()
                assert (own >= 0).all()


def test_the_deepest_tree() -> None:
    tree = BranchingTree(LineAddresses(Line((1 << 62,), places=(0,))), branching=2)
    numbers = np.array(tree.offsets)
    own = own_masses(tree, numbers, np.full(numbers.size, 1000), laws=level_laws(tree, 0.5), cutoff=20.0)

    assert own[-1] == pytest.approx(1000, abs=20)
    assert own.sum() == pytest.approx(1000, abs=20)
