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
from hushtable.structures.halving import Believed, Halves, divided, left_of, own_masses, sums, sums_by_kind
from hushtable.structures.lines import Line
from tests.structures.pruned import World, level_laws, pruned

Array = NDArray[np.float64]


def one(left: tuple[float, float], right: tuple[float, float], part: float) -> Halves:
    known = [Believed(np.array([mean]), np.array([variance])) for mean, variance in (left, right)]
    return Halves(known[0], known[1], np.array([part]))


def normal(values: Array, variance: float) -> Array:
    return np.asarray(np.exp(-0.5 * values**2 / variance) / np.sqrt(2 * pi * variance))


EVEN = range(5)  # kinds that vary around even halves
SIDES = 6, 7
ONLY = np.eye(8)  # how common kinds are, where there is one
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
    halves = one(left, right, part)
    kinds = sums_by_kind(halves)
    sums_, lefts = np.meshgrid(np.linspace(-150, 400, 701), np.linspace(-150, 400, 701), indexing="ij")
    step = 550 / 700
    seen = normal(left[0] - lefts, left[1]) * normal(right[0] - (sums_ - lefts), right[1])
    totals, expected = [], []
    for kind in EVEN:
        around = spread(kind, max(left[0] + right[0], 0.0), part)
        joint = seen * normal(lefts - part * sums_, around) * step**2
        totals.append(joint.sum())
        mean = (joint * sums_).sum() / totals[-1]
        expected.append((mean, (joint * (sums_ - mean) ** 2).sum() / totals[-1]))
        found = sums(halves, kinds, ONLY[kind])

        assert found.means == pytest.approx(mean, rel=1e-4)
        assert found.variances == pytest.approx(expected[-1][1], rel=1e-3)
    for kind, (all_, none) in zip(SIDES, ((left, right), (right, left)), strict=True):
        totals.append(float(normal(np.array(none[0]), none[1])))
        expected.append(all_)
        found = sums(halves, kinds, ONLY[kind])

        assert (found.means[0], found.variances[0]) == pytest.approx(all_)
    some = [*EVEN, *SIDES]
    assert np.diff(np.log(kinds.likely[some, 0])) == pytest.approx(np.diff(np.log(totals)), abs=1e-3)
    # Of all kinds together: weighed means, and variances within them and between them.
    common = np.array([0.3, 0.2, 0.1, 0.05, 0.05, 0.1, 0.1, 0.1])
    anyhow = kinds.likely[5, 0] / kinds.likely[0, 0] * totals[0]
    weights = common[[*some, 5]] * [*totals, anyhow]
    weights /= weights.sum()
    means, variances = np.transpose([*expected, (left[0] + right[0], left[1] + right[1])])
    mean = weights @ means
    found = sums(halves, kinds, common)
    assert found.means == pytest.approx(mean, rel=1e-4)
    assert found.variances == pytest.approx(weights @ (variances + (means - mean) ** 2), rel=1e-3)


@pytest.mark.parametrize(("left", "right", "part"), CASES)
def test_how_a_count_is_divided(left: tuple[float, float], right: tuple[float, float], part: float) -> None:
    count = 120.0
    halves, counts = one(left, right, part), np.array([count])
    kinds = left_of(halves, counts)[1]
    lefts = np.linspace(-300, 420, 72_001)
    seen = normal(left[0] - lefts, left[1]) * normal(right[0] - (count - lefts), right[1])
    # Of all kinds, the halves' sum is as far from the count: only how they compare is told.
    totals, means = [], []
    for kind in EVEN:
        joint = seen * normal(lefts - part * count, spread(kind, count, part))
        totals.append(joint.sum() * 0.01)
        means.append((joint * lefts).sum() / joint.sum())

        assert divided(halves, counts, ONLY[kind]) == pytest.approx(means[-1], rel=1e-6)
    totals += [np.interp(count, lefts, seen), np.interp(0.0, lefts, seen)]
    means += [count, 0.0]
    for kind in SIDES:
        assert divided(halves, counts, ONLY[kind]) == pytest.approx(means[kind - 1])
    some = [*EVEN, *SIDES]
    assert np.diff(np.log(kinds.likely[some, 0])) == pytest.approx(np.diff(np.log(totals)), abs=1e-6)
    common = ONLY[some].mean(axis=0)
    assert divided(halves, counts, common) == pytest.approx(np.average(means, weights=totals), rel=1e-6)


def plain(
    left: tuple[float, float], right: tuple[float, float], part: float, noise: float, count: float
) -> Array:
    """How likely each kind makes halves: logarithms, by the words of the module."""
    apart = (1 - part) * left[0] - part * right[0]
    variances = [noise + spread(kind, count, part) for kind in EVEN]
    even = [-(apart**2) / variance / 2 - np.log(2 * pi * variance) / 2 for variance in variances]
    below = sum(min(mean, 0.0) ** 2 / variance for mean, variance in (left, right))
    anyhow = -np.log(count + 1.9 * np.sqrt((left[1] + right[1]) / 2)) - below / 2
    sides = [-(mean**2) / variance / 2 - np.log(2 * pi * variance) / 2 for mean, variance in (right, left)]
    return np.array([*even, anyhow, *sides])


def test_many_halves_at_once_are_as_likely_as_one_by_one() -> None:
    random = np.random.default_rng(3)
    means, variances = random.normal(0, 300, (2, 300)), np.exp(random.uniform(-4, 12, (2, 300)))
    part = np.concatenate([random.uniform(0, 1, 290), np.zeros(5), np.ones(5)])
    halves = Halves(Believed(means[0], variances[0]), Believed(means[1], variances[1]), part)
    counts = random.uniform(0, 500, part.size)
    noise = (1 - part) ** 2 * variances[0] + part**2 * variances[1]
    guess = np.maximum(means.sum(axis=0), 0.0)
    known, divided_ = left_of(halves, counts)
    around = known.left.variances
    for halved, kinds, noises, about in (
        (halves, sums_by_kind(halves), noise, guess),
        (known, divided_, around, counts),
    ):
        rows = zip(*halved.left, *halved.right, part, noises, about, strict=True)
        likely = np.array([plain((a, b), (c, d), *rest) for a, b, c, d, *rest in rows]).T
        likely = np.exp(likely - likely.max(axis=0))
        found = kinds.likely / kinds.likely.sum(axis=0)

        assert found == pytest.approx(likely / likely.sum(axis=0), rel=1e-9, abs=1e-12)


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
