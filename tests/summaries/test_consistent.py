"""Consistent trees: given the noise, exactly what the long way publishes; and the laws of small trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.noise import BitSource
from hushtable.structures.axes import AxisSpace
from hushtable.structures.paths import paths
from hushtable.structures.trees import DyadicTree
from hushtable.summaries import laborious
from hushtable.summaries.laborious import largest_rooted, path, rooted
from hushtable.summaries.rooted import largest_paths
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from tests.harness.cases import chosen, few
from tests.harness.nodes import nodes_over
from tests.harness.statistics import ALARM, FloatLaw, fits, follows, from_masses, replay, runs

Filtered = ht.Filter | ht.FilterThreshold | ht.FilterPriority
TREE = ht.Dyadic(consistent=True)
MORE, LESS = Fraction(1, 3), Fraction(3)


def parents_of(tree: DyadicTree) -> dict[int, int]:
    return {
        node: int(tree.parents(np.array([node]), level)[0])
        for level in range(1, tree.levels)
        for node in range(tree.offsets[level], tree.offsets[level] + tree.counts[level])
    }


@st.composite
def noisy_trees(draw: st.DrawFn) -> tuple[DyadicTree, list[int]]:
    tree = DyadicTree(draw(st.integers(1, 20)))
    values = st.lists(st.integers(-2, 9), min_size=tree.nodes_total, max_size=tree.nodes_total)
    return tree, draw(values)


@given(noisy_trees())
def test_paths_are_those_of_the_definition(world: tuple[DyadicTree, list[int]]) -> None:
    tree, values = world
    kept = rooted({node: value for node, value in enumerate(values) if value >= 2}, parents_of(tree))
    nodes = np.array(sorted(kept), dtype=np.int64)
    found = paths(tree, nodes, np.array([kept[node] for node in nodes.tolist()], dtype=np.int64))
    above = [path(node, parents_of(tree)) for node in nodes.tolist()]

    assert found.minima.tolist() == [min(values[n] for n in each) for each in above]
    assert found.levels.tolist() == [len(each) - 1 for each in above]


def test_ties_are_broken_by_depth_and_then_by_chance() -> None:
    minima, levels = np.array([5, 3, 3, 3, 3, 2]), np.array([0, 1, 1, 2, 2, 2])
    chosen: Counter[tuple[int, ...]] = Counter()
    for _ in range(runs(400)):
        rows, cut = largest_paths(minima, levels, replay(830 + len(chosen)), size=4)
        assert cut == 3
        chosen[tuple(rows.tolist())] += 1
    assert set(chosen) <= {(0, 1, 2, 3), (0, 1, 2, 4)}

    entropy = replay(831)
    sample = [int(largest_paths(minima, levels, entropy, size=4)[0][3]) for _ in range(runs(800))]
    assert follows(sample, from_masses({3: Fraction(1, 2), 4: Fraction(1, 2)})) > ALARM
    assert fits(sample, from_masses({3: Fraction(9, 10), 4: Fraction(1, 10)})) < ALARM


# Laws of whole summaries, on a line of two cells: the root is node 0, the cells are nodes 1 and 2.

COUNTS = (4, 0)
TRUE = (4, 4, 0)
RATE = Fraction(1, 3)
REACH = 60


def outcomes(rate: Fraction) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """All noisy counts of the three nodes within reach, and their chances."""
    noise = np.arange(-REACH, REACH + 1)
    a = np.exp(-float(rate))
    masses = (1 - a) / (1 + a) * a ** np.abs(noise)
    values = [each.ravel() for each in np.meshgrid(*(noise + true for true in TRUE), indexing="ij")]
    chances = np.einsum("i,j,k->ijk", masses, masses, masses).ravel()
    return values, chances / chances.sum()


def law_of(shares: dict[int, NDArray[np.float64]], chances: NDArray[np.float64]) -> FloatLaw:
    """The law of the set of published nodes, as bits; `shares` are the chances of each given the counts."""
    law = {bits: Fraction(float((share * chances).sum())) for bits, share in shares.items()}
    return from_masses(law | {0: 1 - sum((law[bits] for bits in law if bits), Fraction(0))})


def kept(values: list[NDArray[np.int64]], cutoff: int) -> list[NDArray[np.bool_]]:
    root, left, right = (each >= cutoff for each in values)
    return [root, root & left, root & right]


def filter_law(rate: Fraction, cutoff: int) -> FloatLaw:
    values, chances = outcomes(rate)
    root, left, right = kept(values, cutoff)
    bits = root + 2 * left + 4 * right
    return law_of({b: (bits == b).astype(float) for b in (1, 3, 5, 7)}, chances)


def size_law(rate: Fraction, size: int) -> FloatLaw:
    """Of the root alone; or of the root and the child with the larger smallest count, ties by a coin."""
    values, chances = outcomes(rate)
    root = values[0] >= 1
    if size == 1:
        return law_of({1: root.astype(float)}, chances)
    left, right = (np.where(root, np.minimum(values[0], values[n]), 0) for n in (1, 2))
    seen = np.maximum(left, right) >= 1
    first = np.where(left > right, 1.0, np.where(left == right, 0.5, 0.0)) * seen
    return law_of({1: (root & ~seen).astype(float), 3: first, 5: seen - first}, chances)


def threshold_law(rate: Fraction, cutoff: int, tau: int) -> FloatLaw:
    values, chances = outcomes(rate)
    share = [
        np.where(k, np.minimum(v / tau, 1), 0.0) for k, v in zip(kept(values, cutoff), values, strict=True)
    ]
    shares = {}
    for bits in range(1, 8):
        on = [bits >> node & 1 for node in range(3)]
        shares[bits] = np.prod([s if o else 1 - s for s, o in zip(share, on, strict=True)], axis=0)
    return law_of(shares, chances)


def priority_law(rate: Fraction, cutoff: int) -> FloatLaw:
    """Of the node with the largest priority v/U, which is the one with the smallest U/v."""
    values, chances = outcomes(rate)
    sizes = [np.where(k, v, 0).astype(float) for k, v in zip(kept(values, cutoff), values, strict=True)]
    end = 1 / np.maximum(np.maximum(*sizes[:2]), np.maximum(sizes[2], 1))  # beyond it, one has come already
    shares = {}
    for node in range(3):
        one, two = (sizes[other] for other in range(3) if other != node)
        # The others come later than q with chances 1 - one q and 1 - two q, for q up to the end.
        later = end - (one + two) * end**2 / 2 + one * two * end**3 / 3
        shares[1 << node] = sizes[node] * later
    return law_of(shares, chances)


LAWS: list[tuple[Filtered, Callable[[Fraction], FloatLaw]]] = [
    (ht.Filter(cutoff=3, two_sided=False), lambda rate: filter_law(rate, 3)),
    (ht.Filter(cutoff="1.5", two_sided=False), lambda rate: filter_law(rate, 2)),
    (ht.Filter(size=1, two_sided=False), lambda rate: size_law(rate, 1)),
    (ht.Filter(size=2, two_sided=False), lambda rate: size_law(rate, 2)),
    (ht.FilterThreshold(cutoff=2, threshold=9, two_sided=False), lambda rate: threshold_law(rate, 2, 9)),
    (ht.FilterPriority(cutoff=2, size=1, two_sided=False), lambda rate: priority_law(rate, 2)),
]


def shortcut(method: Filtered, entropy: BitSource, *, rate: Fraction = RATE) -> Summary:
    table = ht.SparseTable(shape=(2,), codes=[0, 1], counts=COUNTS)
    nodes = nodes_over(TREE, (2,), places=(0,))
    return draw_summary(table, method, epsilon=rate, sensitivity=Fraction(1), entropy=entropy, nodes=nodes)


def long_way(method: Filtered, entropy: BitSource) -> dict[int, int]:
    """Noise on all nodes, the filter, the check, and then the sample."""
    noisy = laborious.noisy_table({0: 4, 1: 4}, 3, Geometric(RATE), entropy)
    parents = {1: 0, 2: 0}
    if isinstance(method, ht.Filter) and method.size is not None:
        return largest_rooted(noisy, parents, size=method.size, entropy=entropy)
    passed = laborious.accepted_cells(noisy, Acceptance(cutoff=method.cutoff, two_sided=False), entropy)
    left = rooted(passed, parents)
    if isinstance(method, ht.FilterPriority):
        rows, _ = laborious.priority_sample(
            left, size=method.size, cutoff=None, two_sided=False, entropy=entropy
        )
        return rows
    if isinstance(method, ht.FilterThreshold):
        return laborious.accepted_cells(left, Acceptance(threshold=method.threshold), entropy)
    return left


@pytest.mark.parametrize(
    ("way", "method", "law"),
    [
        *chosen(((way, *each) for way, each in product(["shortcut"], LAWS)), [0, 3, 4, 5]),
        *few(((way, *each) for way, each in product(["long way"], LAWS)), every=len(LAWS)),
    ],
    ids=lambda value: "law" if callable(value) else repr(value),
)
def test_small_trees_have_their_law(method: Filtered, law: Callable[[Fraction], FloatLaw], way: str) -> None:
    entropy = replay(832)
    sample = []
    times = 1500 if isinstance(method, ht.FilterThreshold) else 900  # this one tells rates apart least
    for _ in range(runs(times)):
        if way == "shortcut":
            rows: Any = shortcut(method, entropy).codes[:, 0].tolist()
        else:
            rows = long_way(method, entropy)
        sample.append(sum(1 << node for node in rows))

    assert follows(sample, law(RATE)) > ALARM
    assert fits(sample, law(RATE * MORE)) < ALARM
    assert fits(sample, law(RATE * LESS)) < ALARM


def test_values_are_published_as_they_were_drawn() -> None:
    # The root's count, given that it reaches the cutoff: noise around the total.
    entropy, cutoff = replay(833), 2

    def law(rate: Fraction) -> FloatLaw:
        a = float(np.exp(-float(rate)))
        masses = {v: Fraction((1 - a) / (1 + a) * a ** abs(v - 4)) for v in range(cutoff, 200)}
        return from_masses({v: mass / sum(masses.values()) for v, mass in masses.items()})

    method = ht.Filter(cutoff=cutoff, two_sided=False)
    drawn = [shortcut(method, entropy) for _ in range(runs(1500))]
    roots = [int(summary.counts[0]) for summary in drawn if len(summary)]

    assert follows(roots, law(RATE)) > ALARM
    assert fits(roots, law(RATE * Fraction(3, 5))) < ALARM
    assert fits(roots, law(RATE * Fraction(5, 3))) < ALARM


def rows(summary: Summary) -> dict[int, int]:
    return dict(zip(summary.codes[:, 0].tolist(), summary.counts.tolist(), strict=True))


def check(summary: Summary) -> None:
    """A tree with all ancestors, counts that reach the cutoff, in order."""
    assert summary.nodes is not None
    assert isinstance(summary.nodes, AxisSpace)
    tree = summary.nodes.consistent_tree
    assert tree is not None
    found = rows(summary)
    assert list(found) == sorted(found)
    for node in found:
        assert 0 <= node < tree.nodes_total
        level = int(tree.level_of(np.array([node]))[0])
        assert level == 0 or int(tree.parents(np.array([node]), level)[0]) in found
    assert (summary.counts >= (summary.cutoff or 1)).all()


@pytest.mark.parametrize("bits", [0, 1, 5, 20, 60])
@pytest.mark.parametrize("epsilon", ["0.01", 1, 100])
@pytest.mark.parametrize(
    "method", [ht.Filter(size=50, two_sided=False), ht.Filter(cutoff=30, two_sided=False)]
)
def test_any_line(method: ht.Filter, epsilon: str | int, bits: int) -> None:
    generator = np.random.default_rng(4)
    cells = (1 << bits) - (bits > 2)
    codes = generator.integers(0, cells, 200)
    table = ht.SparseTable(shape=(cells,), codes=codes, counts=np.full(200, 40))
    summary = ht.summarize(table, method, epsilon=epsilon, structure=TREE)

    check(summary)
    if method.size is not None:
        assert len(summary) <= method.size
        check(summary.thin(size=3))
        assert len(summary.thin(size=3)) == min(3, len(summary))
    higher = summary.thin(cutoff=(summary.cutoff or 1) + 25)
    check(higher)
    assert rows(higher).items() <= rows(summary).items()


def test_an_empty_table_gives_small_trees() -> None:
    table = ht.SparseTable(shape=(1 << 60,), codes=[], counts=[])
    for cutoff in (1, 50):
        summaries = [
            ht.summarize(table, ht.Filter(cutoff=cutoff, two_sided=False), epsilon="0.1", structure=TREE)
            for _ in range(20)
        ]
        assert sum(map(len, summaries)) < 20 * 61 * 100  # 20 * 61 expected, at most


@pytest.mark.parametrize("first", [ht.Filter(size=40, two_sided=False), ht.Filter(cutoff=8, two_sided=False)])
def test_thinning_keeps_what_a_smaller_filter_would_publish(first: ht.Filter) -> None:
    # Of one noisy tree, the ten largest paths: whether chosen at once or in two steps.
    generator = np.random.default_rng(6)
    codes = generator.integers(0, 64, 30)
    table = ht.SparseTable(shape=(64,), codes=codes, counts=np.full(30, 60))
    summary = ht.summarize(table, first, epsilon=2, structure=TREE)
    thinned = summary.thin(size=10)
    assert isinstance(summary.nodes, AxisSpace)
    minima, levels = paths(summary.nodes.axes[0].tree, summary.codes[:, 0], summary.counts)  # type: ignore[arg-type]
    ranks = sorted(zip(-minima, levels, strict=True))
    chosen = [summary.codes[:, 0].tolist().index(node) for node in rows(thinned)]

    assert sorted(zip(-minima[chosen], levels[chosen], strict=True)) == ranks[:10]
    assert thinned.cutoff == -ranks[9][0]


def test_samples_of_trees_are_thinned_as_samples() -> None:
    table = ht.SparseTable(shape=(256,), codes=list(range(100)), counts=[50] * 100)
    methods: list[Filtered] = [
        ht.FilterPriority(cutoff=10, size=30, two_sided=False),
        ht.FilterThreshold(cutoff=10, threshold=100, two_sided=False),
    ]
    for method in methods:
        summary = ht.summarize(table, method, epsilon=1, structure=TREE)
        assert summary.threshold
        assert len(summary.thin(size=5)) == 5
        assert summary.thin(threshold=10**4).threshold == 10**4
        with pytest.raises(ht.BadChoice, match="the cutoff of a sampled consistent tree cannot be raised"):
            summary.thin(cutoff=50)
