"""Fitted trees: nothing is lost, nothing is negative, and without noise nothing is changed."""

from __future__ import annotations

import inspect
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.structures.addresses import LineAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.lines import Line
from tests.structures.pruned import World, level_laws, pruned


@given(pruned(), st.floats(1e-3, 5), st.floats(1, 10**4))
def test_masses_are_not_negative_and_add_up(world: World, rate: float, cutoff: float) -> None:
    fit = fitted(world.tree, world.numbers, world.counts, laws=level_laws(world.tree, rate), cutoff=cutoff)
    root = fit.masses[0][0]

    assert all((own >= 0).all() for own in fit.own)
    assert all((mass >= 0).all() for mass in fit.masses)
    assert np.isclose(sum(own.sum() for own in fit.own), root, rtol=1e-9, atol=1e-9)
    for level, mass, own in zip(fit.levels, fit.masses, fit.own, strict=True):
        if level.below is not None:
            children = fit.masses[fit.levels.index(level) + 1]
            assert np.allclose(level.sums(children) + own, mass, rtol=1e-9, atol=1e-9)
            assert np.all(own[level.absent <= 0] <= 1e-9 * (1 + mass[level.absent <= 0]))


@given(st.lists(st.integers(0, 1000), min_size=40, max_size=40), st.sampled_from([2, 4, 16]))
def test_a_whole_tree_without_noise_stays_as_it_is(counts: list[int], branching: int) -> None:
    tree = BranchingTree(LineAddresses(Line((40,), places=(0,))), branching=branching)
    numbers, values = [], []
    for shift, offset in zip(tree.shifts, tree.offsets, strict=True):
        sums = np.bincount(np.arange(40) >> shift, weights=counts)
        numbers += (np.arange(sums.size) + offset).tolist()
        values += sums.astype(int).tolist()
    fit = fitted(tree, np.array(numbers), np.array(values), laws=level_laws(tree, 700.0), cutoff=1000.0)

    assert np.allclose(fit.own[-1], counts, atol=1e-6)


def test_a_node_gives_what_its_absent_children_hold_to_their_cells() -> None:
    # A root of 100 and one leaf of 40 of four, next to no noise: 60 lie on the three others.
    tree = BranchingTree(LineAddresses(Line((4,), places=(0,))), branching=4)
    fit = fitted(tree, np.array([0, 2]), np.array([100, 40]), laws=level_laws(tree, 50.0), cutoff=30.0)

    assert np.allclose(fit.own[0], [60], atol=1e-3)
    assert np.allclose(fit.own[1], [40], atol=1e-3)
    assert fit.levels[0].absent_cells.tolist() == [3.0]


def test_numbers_of_no_release_do_not_overflow() -> None:
    tree = BranchingTree(LineAddresses(Line((4,), places=(0,))), branching=2)
    numbers, counts = np.array([0, 1]), np.array([1 << 62, -(1 << 62)])
    for rate in (Fraction(1, 10**400), Fraction(10**400), 1e-300, 1e300):
        for cutoff in (1.0, 1e300):
            fit = fitted(tree, numbers, counts, laws=level_laws(tree, rate), cutoff=cutoff)
            assert all(np.isfinite(own).all() for own in fit.own)
            assert np.isclose(sum(own.sum() for own in fit.own), fit.masses[0][0])


def test_a_cutoff_of_no_release_does_not_divide_by_zero() -> None:
    tree = BranchingTree(LineAddresses(Line((1 << 60,), places=(0,))), branching=2)
    for cutoff in (5e-324, 1e-300):
        for counts in ([0, 0], [1 << 62, 0], [-5, 3], [1, -(1 << 62)]):
            fit = fitted(
                tree, np.array([0, 1]), np.array(counts), laws=level_laws(tree, 300.0), cutoff=cutoff
            )
            assert all(np.isfinite(own).all() for own in fit.own)


def test_the_deepest_tree_needs_no_deep_stack() -> None:
    tree = BranchingTree(LineAddresses(Line((1 << 62,), places=(0,))), branching=2)
    numbers, before = np.array(tree.offsets), sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        fit = fitted(tree, numbers, np.full(numbers.size, 1000), laws=level_laws(tree, 0.5), cutoff=20.0)
    finally:
        sys.setrecursionlimit(before)

    assert len(fit.levels) == 63
    assert np.isclose(fit.own[-1].sum(), 1000, atol=50)


def test_sums_that_saturate_do_not_overflow() -> None:
    # As a table of counts of 2^60 has them: sums of many such cells are 2^60 too.
    tree = BranchingTree(LineAddresses(Line((100,), places=(0,))), branching=16)
    numbers = np.concatenate([[0], 1 + np.arange(7), tree.offsets[2] + np.arange(100)])
    for rate in (1.0, 300.0, 690.0, 1e4):
        fit = fitted(tree, numbers, np.full(numbers.size, 1 << 60), laws=level_laws(tree, rate), cutoff=1.0)
        assert all(np.isfinite(own).all() for own in fit.own)
        assert fit.masses[0][0] > 1 << 60


def test_the_root_has_a_quarter_of_the_rate_of_others() -> None:
    tree = BranchingTree(LineAddresses(Line((16,), places=(0,))), branching=4)
    fit = fitted(tree, np.array([0, 1, 5]), np.array([90, 80, 70]), laws=level_laws(tree, 0.4), cutoff=60.0)

    assert [level.noise for level in fit.levels] == pytest.approx(list(map(variance, (0.1, 0.4, 0.4))))


def variance(rate: float) -> float:
    """The variance of geometric noise, by adding up its law."""
    x = np.arange(1, 2000)
    weights = np.exp(-rate * x)
    return float(2 * (x**2 * weights).sum() / (1 + 2 * weights.sum()))


def test_a_root_alone_keeps_what_it_has() -> None:
    tree = BranchingTree(LineAddresses(Line((40,), places=(0,))), branching=4)
    for count, mass in ((75, 75.0), (0, 0.0), (-3, 0.0)):
        fit = fitted(
            tree, np.array([0]), np.array([count]), laws=level_laws(tree, 0.5), cutoff=max(1.0, count)
        )
        assert [own.sum() for own in fit.own] == pytest.approx([mass, 0, 0, 0])


# What is expected of children is what their level is like: even shares, or few that hold everything.

RATE, CUTOFF = 0.1, 31  # the smallest cutoff of sixteen branches


def published(cells: NDArray[np.int64]) -> Fit:
    """Add noise to the sums of a line, prune them at the cutoff, and fit what is left."""
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
    return fitted(
        tree, np.concatenate(numbers), np.concatenate(counts), laws=level_laws(tree, RATE), cutoff=CUTOFF
    )


def test_even_children_are_drawn_to_shares_of_their_own_parent() -> None:
    # Blocks of 16 even cells, 40 to 400 each: far from the mean of the level, and close to their own.
    cells = np.repeat(np.arange(40, 404, 6)[:61], 16)
    fit = published(cells)
    leaves = fit.levels[-1]
    off, noise = fit.masses[-1] - cells[leaves.prefixes], leaves.counts - cells[leaves.prefixes]

    assert leaves.prefixes.size > 900
    assert np.abs(off).mean() < 0.5 * np.abs(noise).mean()


def test_few_cells_that_hold_everything_keep_their_counts() -> None:
    cells = np.zeros(4096, dtype=np.int64)
    cells[5::64] = 200
    fit = published(cells)
    leaves = fit.levels[-1]
    there = cells[leaves.prefixes] > 0

    assert there.sum() == 64
    # Not all of them is kept: some 20 other leaves, which noise has lifted, have their part of the sums.
    assert fit.masses[-1][there].mean() > 180
    holders = fit.levels[-2].sums(np.ones(leaves.prefixes.size)) > 0
    start, slope, _ = (each[holders] for each in fit.levels[-2].trend)
    assert np.concatenate([start, slope]) == pytest.approx(0, abs=0.02)


def test_counts_that_noise_has_lifted_are_not_believed() -> None:
    # All cells hold 10: those above the cutoff are there by their noise.
    cells = np.full(4096, 10, dtype=np.int64)
    fit = published(cells)
    leaves = fit.levels[-1]

    assert leaves.prefixes.size > 100
    assert leaves.counts.mean() > 35
    assert fit.masses[-1].mean() < 14
    assert fit.levels[-2].trend.slope.min() > 0.5
