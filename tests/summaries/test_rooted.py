"""Trees from the root down: they are what noising every node and looking at all of them would give."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.noise import BitSource, KeyStream, two_sided_geometric
from hushtable.structures.addresses import LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree, least_cutoff
from hushtable.structures.halving import own_masses
from hushtable.structures.lines import Line
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.candidates import noisy
from hushtable.summaries.laborious import ranked_nodes
from hushtable.summaries.rooted import Occupied, rooted_tree
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from tests.harness.cases import chosen
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    chernoff_follows,
    fits,
    follows,
    from_masses,
    replay,
    runs,
)
from tests.structures.pruned import level_laws

Numbers = NDArray[np.int64]
Noised = Callable[[int, Numbers, Numbers], Numbers]


def line(cells: int, branching: int) -> BranchingTree:
    return BranchingTree(LineAddresses(Line((cells,), places=(0,))), branching=branching)


def fixed_noise(tree: BranchingTree, noise: Numbers) -> tuple[Noised, list[int]]:
    """Return noise that every node of the tree has of its own, and a list of the nodes that asked for it."""
    asked: list[int] = []

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        nodes = prefixes + tree.offsets[level]
        asked.extend(nodes.tolist())
        return counts + noise[nodes]

    return noised, asked


@st.composite
def worlds(draw: st.DrawFn) -> tuple[BranchingTree, Numbers, Numbers, Numbers]:
    """Return a small tree, the codes and counts of occupied cells, and noise for every node."""
    branching = draw(st.sampled_from([2, 4, 16]))
    shape = draw(st.sampled_from([(1,), (2,), (7,), (16,), (17,), (40,), (3, 5), (4, 4), (2, 3, 3)]))
    tree = BranchingTree(
        LineAddresses(Line(shape, places=range(len(shape))))
        if draw(st.booleans())
        else MortonAddresses(shape),
        branching=branching,
    )
    cells = draw(st.sets(st.integers(0, int(np.prod(shape)) - 1)))
    codes = np.stack(np.unravel_index(np.array(sorted(cells), dtype=np.int64), shape), axis=1)
    counts = np.array(draw(st.lists(st.integers(1, 9), min_size=len(cells), max_size=len(cells))), dtype=int)
    noise = draw(st.lists(st.integers(-6, 6), min_size=tree.nodes_total, max_size=tree.nodes_total))
    return tree, codes, counts, np.array(noise)


@given(worlds(), st.integers(1, 12), st.none() | st.integers(1, 30), st.booleans())
def test_it_is_the_tree_of_noise_everywhere(
    world: tuple[BranchingTree, Numbers, Numbers, Numbers], cutoff: int, size: int | None, root_stays: bool
) -> None:
    # The same noise for each node, whoever asks: nodes and counts must be the same, but for ties at the end.
    tree, codes, counts, noise = world
    addresses = tree.addresses.of(codes)
    noised, asked = fixed_noise(tree, noise)
    found = rooted_tree(
        Occupied(addresses, counts),
        tree,
        noised,
        KeyStream(),
        cutoff=cutoff,
        size=size,
        root_stays=root_stays,
    )
    cells = dict(zip(addresses.tolist(), counts.tolist(), strict=True))
    values, ranks = ranked_nodes(cells, tree, lambda node: int(noise[node]), root_stays=root_stays)
    in_order = [node for node in ranks if ranks[node][0] >= cutoff]
    in_order.sort(key=lambda node: (-ranks[node][0], ranks[node][1]))
    wanted = in_order if size is None else in_order[:size]

    assert len(set(asked)) == len(asked)
    assert found.counts.tolist() == [values[node] for node in found.numbers.tolist()]
    assert np.all(np.diff(found.numbers) > 0)
    assert sorted(ranks[node] for node in found.numbers.tolist()) == sorted(ranks[node] for node in wanted)
    cut = size is not None and len(in_order) > size
    assert found.cutoff == (min(ranks[wanted[-1]][0], 1 << 62) if cut else None)
    parents = {0, *found.numbers.tolist()}
    levels = tree.level_of(found.numbers)
    for node, level in zip(found.numbers.tolist(), levels.tolist(), strict=True):
        if level:
            step = tree.shifts[level - 1] - tree.shifts[level]
            assert ((node - tree.offsets[level]) >> step) + tree.offsets[level - 1] in parents


def test_nodes_without_cells_are_never_examined() -> None:
    tree = BranchingTree(MortonAddresses((5, 3)), branching=4)
    noised, _ = fixed_noise(tree, np.full(tree.nodes_total, 50))
    everywhere = np.stack(np.unravel_index(np.arange(15), (5, 3)), axis=1)
    occupied = Occupied(tree.addresses.of(everywhere), np.ones(15, dtype=np.int64))
    found = rooted_tree(occupied, tree, noised, KeyStream(), cutoff=1)

    leaves = found.numbers[tree.level_of(found.numbers) == tree.levels - 1]
    assert sorted(leaves - tree.offsets[-1]) == sorted(tree.addresses.of(everywhere))


def test_ties_are_broken_by_chance_and_never_by_place() -> None:
    # Four equal children of the root, of which two are taken.
    tree = line(4, 4)
    occupied = Occupied(np.arange(4), np.full(4, 5))
    times = runs(1200)
    taken = np.zeros(5, dtype=np.int64)
    for number in range(times):
        found = rooted_tree(
            occupied,
            tree,
            lambda level, prefixes, counts: counts,
            replay(number),
            cutoff=1,
            size=3,
            root_stays=True,
        )
        taken[found.numbers] += 1

    assert taken[0] == times
    assert all(chernoff_follows(int(each), times, 0.5) > ALARM for each in taken[1:])


def test_sums_of_large_counts_are_saturated_and_never_wrap() -> None:
    most = 1 << 60
    occupied = Occupied(np.arange(32), np.full(32, most))
    low = Occupied(np.arange(32), np.full(32, -most))
    begins, ends = np.array([0, 1, 7]), np.array([1, 32, 7])

    assert occupied.sums(begins, ends).tolist() == [most, most, 0]
    assert low.sums(begins, ends).tolist() == [-most, -most, 0]


@pytest.mark.parametrize("branching", [2, 16])
def test_noise_alone_does_not_make_a_tree_grow(branching: int) -> None:
    rate = Fraction(1, 20)
    tree = line(1 << 40, branching)
    stream = replay(3)

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, Geometric(rate), stream)

    nothing = Occupied(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    least = least_cutoff(branching, Geometric(rate), levels=tree.levels)
    sizes = [
        rooted_tree(nothing, tree, noised, stream, cutoff=least, size=10**6, root_stays=True).numbers.size
        for _ in range(runs(50))
    ]
    # Each node has less than 1/e kept children on average, so that a tree has less than 1.6 nodes.
    assert np.mean(sizes) < 3


def test_private_counts_are_not_printed() -> None:
    assert repr(Occupied(np.arange(3), np.arange(3))) == "Occupied(counts=<private>)"


# Laws of whole summaries, through `draw_summary`: the root, and the nodes below it with four times its rate.

RATE = Fraction(1, 3)  # of all levels but the root's
MORE, LESS = Fraction(1, 3), Fraction(3)


def space(cells: int) -> PrunedSpace:
    return ht.Tree(branching=2).over_codes((cells,))


def drawn(counts: list[int], method: ht.Filter, entropy: BitSource, *, rate: Fraction = RATE) -> Summary:
    table = ht.SparseTable(shape=(len(counts),), codes=list(range(len(counts))), counts=counts)
    nodes, most = space(len(counts)), Fraction(space(len(counts)).per_cell)
    return draw_summary(
        table, method, epsilon=rate * most / 4, sensitivity=most, entropy=entropy, nodes=nodes
    )


def all_noised(counts: list[int], method: ht.Filter, entropy: BitSource) -> dict[int, int]:
    """Noise on every node, the rates as they are written down, and the first nodes in their order."""
    tree = space(len(counts)).tree

    def noise(node: int) -> int:
        rate = RATE / 4 if node == 0 else RATE
        return int(two_sided_geometric(rate, entropy, count=1)[0])

    values, ranks = ranked_nodes(dict(enumerate(counts)), tree, noise, root_stays=True)
    least = 3 if method.cutoff is None else Fraction(method.cutoff)  # (ln(b/2) + 1)/rate
    order = {node: int(entropy.words(1)[0]) for node in ranks}
    in_order = sorted(
        (node for node in ranks if ranks[node][0] >= least),
        key=lambda node: (-ranks[node][0], ranks[node][1], order[node]),
    )
    return {node: values[node] for node in in_order[: method.size]}


def masses(rate: Fraction, reach: int = 200) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    values = np.arange(-reach, reach + 1)
    a = np.exp(-float(rate))
    return values, (1 - a) / (1 + a) * a ** np.abs(values)


def filter_law(counts: list[int], cutoff: int) -> Callable[[Fraction], FloatLaw]:
    """Of the set of published nodes, as bits: each node whose parent is there passes by itself."""
    tree = space(len(counts)).tree
    total: dict[int, int] = {}
    for shift, offset in zip(tree.shifts, tree.offsets, strict=True):
        for cell, count in enumerate(counts):
            total[(cell >> shift) + offset] = total.get((cell >> shift) + offset, 0) + count
    parents = {
        node: int(tree.parents(np.array([node]), int(tree.level_of(np.array([node]))[0]))[0])
        for node in total
        if node
    }

    def law(rate: Fraction) -> FloatLaw:
        values, chances = masses(rate)
        passes = {node: float(chances[values + count >= cutoff].sum()) for node, count in total.items()}
        found: dict[int, Fraction] = {}
        for passing in product([False, True], repeat=len(parents)):
            kept = {0, *(node for node, on in zip(parents, passing, strict=True) if on)}
            if all(parents[node] in kept for node in kept if node):
                chance = 1.0
                for node, parent in parents.items():
                    if parent in kept:
                        chance *= passes[node] if node in kept else 1 - passes[node]
                found[sum(1 << node for node in kept)] = Fraction(chance)
        return from_masses(found)

    return law


def largest_law(counts: list[int]) -> Callable[[Fraction], FloatLaw]:
    """Of two cells and two rows: the root, and the larger cell if it reaches the least cutoff."""

    def law(rate: Fraction) -> FloatLaw:
        values, chances = masses(rate, 80)
        one, two = np.meshgrid(values + counts[0], values + counts[1], indexing="ij")
        both = np.outer(chances, chances)
        least = 1  # in a tree of two levels, at ln(2/2) folds
        seen = np.maximum(one, two) >= least
        first = float((both * seen * np.where(one == two, 0.5, one > two)).sum())
        none = float((both * ~seen).sum())
        return from_masses({1: Fraction(none), 3: Fraction(first), 5: 1 - Fraction(none) - Fraction(first)})

    return law


LAWS: list[tuple[list[int], ht.Filter, Callable[[Fraction], FloatLaw]]] = [
    ([4, 0], ht.Filter(cutoff=9, two_sided=False), filter_law([4, 0], 9)),
    ([6, 0, 7], ht.Filter(cutoff=10, two_sided=False), filter_law([6, 0, 7], 10)),
    ([4, 2], ht.Filter(size=2, two_sided=False), largest_law([4, 2])),
]


@pytest.mark.parametrize(
    ("counts", "method", "law", "way"),
    chosen([(*each, way) for each, way in product(LAWS, ["shortcut", "long way"])], [0, 3, 4]),
    ids=lambda value: "law" if callable(value) else repr(value),
)
def test_small_trees_have_their_law(
    counts: list[int], method: ht.Filter, law: Callable[[Fraction], FloatLaw], way: str
) -> None:
    entropy, sample = replay(840), []
    for _ in range(runs(500)):
        if way == "shortcut":
            kept: list[int] = drawn(counts, method, entropy).codes[:, 0].tolist()
        else:
            kept = list(all_noised(counts, method, entropy))
        sample.append(sum(1 << node for node in kept))

    assert follows(sample, law(RATE)) > ALARM
    assert fits(sample, law(RATE * MORE)) < ALARM
    assert fits(sample, law(RATE * LESS)) < ALARM


def test_the_noise_of_the_root_has_a_quarter_of_the_rate_of_others() -> None:
    counts, entropy = [1000, 1000], replay(841)
    found = np.array(
        [drawn(counts, ht.Filter(size=3, two_sided=False), entropy).counts for _ in range(runs(1500))]
    )

    def law(rate: Fraction) -> FloatLaw:
        values, chances = masses(rate, 800)
        return from_masses(dict(zip(values.tolist(), map(Fraction, chances.tolist()), strict=True)))

    for noise, rate in ((found[:, 0] - 2000, RATE / 4), (found[:, 1:].ravel() - 1000, RATE)):
        assert follows(noise, law(rate)) > ALARM
        assert fits(noise, law(rate / 2)) < ALARM
        assert fits(noise, law(rate * 2)) < ALARM


# What a summary says of itself, and thinning it.


def summary_of(method: ht.Filter, structure: ht.Tree | None = None, *, epsilon: int = 2) -> Summary:
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 30, (600, 2))
    table = ht.SparseTable(shape=(64, 50), codes=codes, counts=np.full(600, 50))
    return ht.summarize(table, method, epsilon=epsilon, structure=structure or ht.Tree(branching=4))


def rows(summary: Summary) -> dict[int, int]:
    return dict(zip(summary.codes[:, 0].tolist(), summary.counts.tolist(), strict=True))


def check(summary: Summary) -> None:
    """All ancestors, counts that reach the cutoff but for the root's, and weights that follow."""
    assert isinstance(summary.nodes, PrunedSpace)
    assert summary.cutoff is not None
    assert summary.nodes.are_rooted(summary.codes)
    assert summary.nodes.have_cells(summary.codes)
    tree, levels = summary.nodes.tree, summary.nodes.tree.level_of(summary.codes[1:, 0])
    cutoffs = np.array([tree.cutoff_at(level, summary.cutoff) for level in range(tree.levels)])
    assert (summary.counts[1:] >= cutoffs[levels] * (1 - 1e-12)).all()
    tree, rate = summary.nodes.tree, summary.epsilon * summary.nodes.share / summary.sensitivity
    weights = own_masses(
        tree, summary.codes[:, 0], summary.counts, laws=level_laws(tree, rate), cutoff=summary.cutoff
    )
    assert np.array_equal(summary.weights, weights)
    assert (weights >= 0).all()


@pytest.mark.parametrize("structure", [ht.Tree(branching=4), ht.Tree(), ht.Tree(order="morton")], ids=repr)
@pytest.mark.parametrize("method", [ht.Filter(size=100), ht.Filter(cutoff=60)], ids=repr)
def test_thinning_keeps_what_a_smaller_filter_would_publish(method: ht.Filter, structure: ht.Tree) -> None:
    summary = summary_of(method, structure)
    assert summary.method == ht.Filter(cutoff=method.cutoff, size=method.size, two_sided=False)
    assert len(summary) > 40
    check(summary)
    assert summary.weights.sum() == pytest.approx(30_000, rel=0.1)
    for smaller in (
        summary.thin(size=40),
        summary.thin(size=1),
        summary.thin(cutoff=2_000),
        summary.thin(size=7),
    ):
        assert 0 < len(smaller) <= 40
        check(smaller)
        assert rows(smaller).items() <= rows(summary).items()
        assert smaller.weights.sum() == pytest.approx(30_000, rel=0.1)
    assert len(summary.thin(size=40)) == 40
    alone = summary.thin(cutoff=10**6)
    assert (len(alone), alone.cutoff) == (1, 10**6)
    assert summary.thin(size=1).cutoff == summary.counts[0]
    assert summary.thin(size=10**6) is summary
    with pytest.raises(ht.BadNumber, match="is below the summary's own"):
        summary.thin(cutoff=1)


def test_a_cutoff_that_lets_noise_grow_is_refused() -> None:
    table = ht.SparseTable(shape=(1000,), codes=[3], counts=[4])
    # Ten bits are four levels of up to 16 children: the rate is 4/13, and ln 8 13/4 is 6.76.
    with pytest.raises(
        ht.BadNumber, match=r"cutoff='6' is so low that noise makes a tree grow\. Give 7 or more"
    ):
        ht.summarize(table, ht.Filter(cutoff=6), epsilon=1, structure="tree")
    assert len(ht.summarize(table, ht.Filter(cutoff=7), epsilon=1, structure="tree")) >= 1


@pytest.mark.parametrize(
    ("structure", "method", "message"),
    [
        ("tree", ht.Everything(), "a pruned tree takes a filter of counts above 0. Use ht.Filter"),
        ("tree", ht.Priority(size=5), "a pruned tree takes a filter"),
        ("tree", ht.Threshold(size=5, two_sided=False), "a pruned tree takes a filter"),
        ("tree", ht.FilterPriority(cutoff=50, size=5, two_sided=False), "a pruned tree takes a filter"),
        (ht.Tree(order=["x"]), ht.Filter(size=5), "has no names of attributes"),
    ],
)
def test_what_makes_no_sense_is_refused(structure: object, method: ht.Filter, message: str) -> None:
    table = ht.SparseTable(shape=(9,), codes=[3], counts=[4])
    with pytest.raises(ht.BadChoice, match=message):
        ht.summarize(table, method, epsilon=1, structure=structure)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(1,), (2,), (1 << 60,), (4,) * 30, (1 << 31, (1 << 31) - 1)], ids=len)
@pytest.mark.parametrize("counts", [[], [3], [5000]], ids=len)
def test_any_domain(shape: tuple[int, ...], counts: list[int]) -> None:
    order = "morton" if len(shape) > 1 else None
    codes = np.zeros((len(counts), len(shape)), dtype=np.int64)
    table = ht.SparseTable(shape=shape, codes=codes, counts=counts)
    summary = ht.summarize(table, ht.Filter(size=50), epsilon=1, structure=ht.Tree(order=order))

    check(summary)
    assert 1 <= len(summary) <= 50
    assert summary.codes[0] == 0
