"""Answers from pruned trees: against masses cell by cell, and against one large normal law of all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import exp, inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.answers.estimation.law import Assumption
from hushtable.answers.nodes.ranges import Ranges, ranges_of
from hushtable.answers.pruned.answering import PrunedAnswers
from hushtable.answers.pruned.coverage import BoxCoverage, Coverage, LineCoverage
from hushtable.answers.pruned.walking import walked
from hushtable.answers.release import Release, open_release
from hushtable.conditions.conditions import selected
from hushtable.conditions.selection import Selection
from hushtable.domain.domain import Domain
from hushtable.methods.settings import Filter
from hushtable.structures.addresses import LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.lines import Line
from hushtable.structures.pruned import PrunedSpace, Tree
from hushtable.summaries.summarize import draw_summary
from tests.answers.drawn import Draw
from tests.answers.test_trees import domain_of, most
from tests.harness.cases import few
from tests.harness.nodes import node_space
from tests.harness.statistics import draws, replay, tries
from tests.release.examples import rows, tree_terms, write
from tests.structures.pruned import Numbers, World, every_cell, level_laws, pruned

Array = NDArray[np.float64]


def coverage(tree: BranchingTree, selection: Selection, places: list[int]) -> Coverage:
    """What answers cover, in the order of groups."""
    if isinstance(tree.addresses, LineAddresses):
        return LineCoverage(ranges_of(selection, tree.addresses.line, places=places))
    codes = list(product(*(selection.codes(place).all().tolist() for place in places)))
    return BoxCoverage(selection, places, np.array(codes, dtype=np.int64).reshape(len(codes), len(places)))


@st.composite
def selections(draw: st.DrawFn, shape: tuple[int, ...]) -> Selection:
    """Return some values of each attribute, at least one."""
    chosen = {
        name: sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)))
        for name, size in zip("abc", shape, strict=False)
    }
    return selected(domain_of(*shape), chosen)


def held(selection: Selection, codes: Numbers) -> NDArray[np.bool_]:
    """Which cells a selection holds, one condition at a time."""
    inside = [np.isin(codes[:, place], selection.codes(place).all()) for place in range(codes.shape[1])]
    return np.logical_and.reduce(inside)  # type: ignore[no-any-return]


# How many cells of a question lie in a box.


@given(st.data())
def test_cells_of_ranges_in_a_line(data: st.DataObject) -> None:
    groups: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    number = data.draw(st.integers(1, 4))
    for group in range(number):
        cells = data.draw(st.sets(st.integers(0, 30), min_size=1))
        first = sorted(each for each in cells if each - 1 not in cells)
        last = sorted(each + 1 for each in cells if each + 1 not in cells)
        groups += [group] * len(first)
        starts += first
        stops += last
    ranges = Ranges(np.array(groups), np.array(starts), np.array(stops), number)
    asked = [(group, low, high) for group in range(number) for low in range(32) for high in range(low, 34)]
    group, low, high = np.array(asked).T
    found = LineCoverage(ranges).cells(group, low[:, np.newaxis], high[:, np.newaxis])

    parts = list(zip(groups, starts, stops, strict=True))
    inside = [[cell for own, a, b in parts if own == each for cell in range(a, b)] for each in range(number)]
    assert found.tolist() == [sum(a <= cell < b for cell in inside[each]) for each, a, b in asked]


@given(st.data(), st.sampled_from([(5,), (6, 5), (4, 4, 3), (2, 1, 3)]))
def test_cells_of_conditions_in_boxes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    selection = data.draw(selections(shape))
    places = data.draw(st.permutations(range(len(shape))).map(lambda each: list(each[: len(shape) - 1])))
    asked = coverage(BranchingTree(MortonAddresses(shape), branching=2), selection, places)
    ends = [sorted(data.draw(st.tuples(*[st.integers(0, size)] * 2))) for size in shape]
    starts, stops = np.repeat(np.array(ends).T[:, np.newaxis], asked.number, axis=1)
    found = asked.cells(np.arange(asked.number), starts, stops)

    cells = every_cell(shape)
    inside = held(selection, cells) & np.all((cells >= starts[0]) & (cells < stops[0]), axis=1)
    values = list(product(*(selection.codes(place).all().tolist() for place in places)))
    expected = [int((inside & (cells[:, places] == value).all(axis=1)).sum()) for value in values]
    assert found.tolist() == expected


def test_one_line_may_be_all_of_2_to_the_60_cells() -> None:
    whole = 1 << 60
    ranges = Ranges(np.array([0, 0]), np.array([0, whole - 1]), np.array([5, whole]), 1)
    found = LineCoverage(ranges).cells(
        np.zeros(2, dtype=np.intp), np.array([[0], [3]]), np.full((2, 1), whole)
    )

    assert found.tolist() == [6, 3]


def test_one_cell_counts_among_2_to_the_60() -> None:
    # All mass in one cell, at the end of the first half: a range that stops before it has none of it.
    cell, tree = (1 << 59) - 1, BranchingTree(LineAddresses(Line((1 << 60,), places=(0,))), branching=16)
    numbers = [(cell >> shift) + offset for shift, offset in zip(tree.shifts, tree.offsets, strict=True)]
    own = np.zeros(tree.levels)
    own[-1] = 1000
    fit = fitted(
        tree, np.array(numbers), np.full(tree.levels, 1000), laws=level_laws(tree, 1.0), cutoff=20.0
    ).with_own(own)
    stops = np.array([cell, cell + 1, 1 << 60, 1 << 60, 1 << 60])
    starts = np.array([0, 0, 0, cell, cell + 1])
    value, *_ = walked(tree, fit, LineCoverage(Ranges(np.arange(5), starts, stops, 5)))

    assert value.tolist() == [0, 1000, 1000, 1000, 0]


# The sum over any cells is that of own masses, each spread evenly over the cells of absent children.


def spread(world: World, fit: Fit) -> Array:
    """What each cell has, by giving every node's own mass to its cells without a kept child, one by one."""
    addresses = world.tree.addresses.of(every_cell(world.shape))
    found = np.zeros(addresses.size)
    for level, shift in enumerate(world.tree.shifts):
        for prefix, own in zip(fit.levels[level].prefixes.tolist(), fit.own[level].tolist(), strict=True):
            alone = addresses >> shift == prefix
            if level + 1 < world.tree.levels:
                kept = fit.levels[level + 1].prefixes
                alone &= ~np.isin(addresses >> world.tree.shifts[level + 1], kept)
            if alone.any():
                found[alone] += own / alone.sum()
            else:
                assert own == pytest.approx(0, abs=1e-6)
    return found


@given(pruned(), st.data(), st.floats(0.01, 2), st.floats(1, 10**4))
def test_an_estimate_is_the_sum_of_masses_in_its_cells(
    world: World, data: st.DataObject, rate: float, cutoff: float
) -> None:
    fit = fitted(world.tree, world.numbers, world.counts, laws=level_laws(world.tree, rate), cutoff=cutoff)
    selection = data.draw(selections(world.shape))
    places = data.draw(st.sampled_from([[], [0], list(range(len(world.shape)))]))
    value, _, variance = walked(world.tree, fit, coverage(world.tree, selection, places))

    cells, masses = every_cell(world.shape), spread(world, fit)
    inside = held(selection, cells)
    order = places
    if isinstance(world.tree.addresses, LineAddresses):
        order = [place for place in world.tree.addresses.line.places if place in places]
    groups = list(product(*(selection.codes(place).all().tolist() for place in order)))
    expected = [masses[inside & (cells[:, order] == group).all(axis=1)].sum() for group in groups]
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert (variance >= 0).all()


# The variance is that of one normal law of all parts, given all counts: nothing is approximated on the way.


class Dense(NamedTuple):
    """Parts of a tree, its leaves and absent children: their boxes, their law, and how uneven they are."""

    starts: Numbers
    stops: Numbers
    means: Array
    covariance: Array
    uneven: Array

    def shares(self, asked: Coverage) -> Array:
        """What the only group covers of each part."""
        cells = np.prod(self.stops - self.starts, axis=1)
        covered = asked.cells(np.zeros(cells.size, dtype=np.intp), self.starts, self.stops)
        return np.asarray(covered / cells, dtype=np.float64)

    def mean(self, asked: Coverage) -> float:
        """The mean of the answer to the only group."""
        return float(self.shares(asked) @ self.means)

    def variance(self, asked: Coverage) -> float:
        """The variance of the answer to the only group."""
        shares = self.shares(asked)
        uneven = self.uneven * shares * (1 - shares)
        return float((np.outer(shares, shares) * self.covariance).sum() + uneven.sum())


class Part(NamedTuple):
    prefix: int
    level: int
    absent: float  # as a multiple of the mean of all children of the same node; 0 of a leaf


def sizes_of(tree: BranchingTree, children: Numbers, level: int) -> dict[int, float]:
    """The cells of all children of some nodes, as multiples of the mean of the same node's."""
    cells = dict(zip(children.tolist(), tree.cells_of(children, level + 1).tolist(), strict=True))
    step, together = tree.shifts[level] - tree.shifts[level + 1], defaultdict[int, list[int]](list)
    for prefix, own in cells.items():
        together[prefix >> step].append(own)
    return {prefix: own / float(np.mean(together[prefix >> step])) for prefix, own in cells.items()}


def noise(rate: float) -> float:
    return 2 * exp(-rate) / (1 - exp(-rate)) ** 2


def spread_of(even: Array, counts: Array, noise: float, *, cutoff: float, coarser: float) -> float:
    """How far kept children lie from even shares, if that is `coarser` of larger nodes."""
    if not even.size:
        return coarser
    squares = ((counts - even) ** 2 - noise).sum() + sqrt(5 * even.size) * noise
    seen = max(squares / even.sum(), (0.1 * cutoff) ** 2 * even.size / even.sum(), 1.0)
    lifted = min(1.0, sqrt(noise / 2) / max(counts.mean() - cutoff, 1e-300))
    return float(seen if seen <= coarser else lifted * coarser + (1 - lifted) * seen)


def dense(world: World, *, rate: float, cutoff: float) -> Dense:
    """Put the model of `structures.fitting` into one matrix: a term for each thing that is known of a sum."""
    tree = world.tree
    fit = fitted(tree, world.numbers, world.counts, laws=level_laws(tree, rate), cutoff=cutoff)
    levels = tree.level_of(world.numbers)
    kept = [(world.numbers[levels == level] - tree.offsets[level]).tolist() for level in range(tree.levels)]
    counts = [world.counts[levels == level].astype(float) for level in range(tree.levels)]
    noises = [noise(rate / 4 if level == 0 and tree.levels > 1 else rate) for level in range(tree.levels)]
    parts = [Part(prefix, tree.levels - 1, 0.0) for prefix in kept[-1]]
    shares: list[dict[int, float]] = []  # even shares of a whole child, by the prefix of its parent
    spreads: list[dict[int, float]] = [{}]  # the variance of each kept node around an even share
    guesses, coarser = {0: counts[0][0]}, inf
    for level in range(tree.levels - 1):
        every, real = tree.children(np.array(kept[level], dtype=np.int64), level)
        absent = [prefix for prefix in every[real].tolist() if prefix not in kept[level + 1]]
        step, sizes = tree.shifts[level] - tree.shifts[level + 1], sizes_of(tree, every[real], level)
        parts += [Part(prefix, level + 1, sizes[prefix]) for prefix in absent]
        number = Counter(prefix >> step for prefix in sizes)
        shares.append({each: max(guesses[each], 0.1 * cutoff) / number[each] for each in kept[level]})
        even = np.array([shares[level][each >> step] * sizes[each] for each in kept[level + 1]])
        coarser = spread_of(even, counts[level + 1], noises[level + 1], cutoff=cutoff, coarser=coarser)
        spreads.append(dict(zip(kept[level + 1], (coarser * even).tolist(), strict=True)))
        trust = coarser * even / (coarser * even + noises[level + 1])
        guesses = dict(zip(kept[level + 1], even + trust * (counts[level + 1] - even), strict=True))
    precision, pull = np.zeros((len(parts), len(parts))), np.zeros(len(parts))

    def known(vector: Array, mean: float, variance: float, *, told: int = 1) -> None:
        nonlocal precision, pull
        precision = precision + np.outer(vector, vector) * (told / variance)
        pull = pull + vector * (told * mean / variance)

    def inside(prefix: int, level: int) -> Array:
        """Which parts lie in a node."""
        shift = tree.shifts[level]
        return np.array(
            [
                part.level >= level and part.prefix >> shift - tree.shifts[part.level] == prefix
                for part in parts
            ],
            dtype=np.float64,
        )

    for level in range(tree.levels):
        for prefix, count in zip(kept[level], counts[level], strict=True):
            known(inside(prefix, level), count, noises[level])
            if level:
                above = prefix >> tree.shifts[level - 1] - tree.shifts[level]
                cells = [
                    tree.cells_of(np.array([each]), at)[0]
                    for each, at in ((prefix, level), (above, level - 1))
                ]
                even_share = inside(above, level - 1) * float(cells[0] / cells[1])
                known(inside(prefix, level) - even_share, 0.0, spreads[level][prefix])
    uneven = np.zeros(len(parts))
    for level in range(tree.levels - 1):
        for place, above in enumerate(kept[level]):
            # Absent children have a sum, which varies, and their shares of it.
            here = inside(above, level) * [part.level == level + 1 and part.absent > 0 for part in parts]
            if not here.any():
                continue
            sizes_here = here * [part.absent for part in parts]
            # Then kept ones do not tell of their parent by being multiples of its even share.
            for row in np.flatnonzero(fit.levels[level + 1].parents == place):
                child, known_of = kept[level + 1][row], fit.levels[level + 1].estimates
                share = float(fit.levels[level + 1].cells[row] / fit.levels[level].cells[place])
                variance = spreads[level + 1][child] + float(known_of.variances[row])
                known(share * inside(above, level), float(known_of.means[row]), variance, told=-1)
            mean, follows, variance = (float(each[place]) for each in fit.levels[level].others)
            known(here - follows * inside(above, level), mean, variance)
            start, slope, variance = (float(each[place]) for each in fit.levels[level].trend)
            for row in np.flatnonzero(here):
                part = np.eye(len(parts))[row] - here * (sizes_here[row] / sizes_here.sum())
                known(part, 0.0, sizes_here[row] * variance)
            usual = start + slope * min(shares[level][above], cutoff)
            uneven += 0.5 * sizes_here * (variance + usual**2)
    boxes = [tree.addresses.boxes(np.array([part.prefix]), tree.shifts[part.level]) for part in parts]
    covariance: Array = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    return Dense(
        np.concatenate([starts for starts, _ in boxes]),
        np.concatenate([stops for _, stops in boxes]),
        covariance @ pull,
        covariance,
        uneven,
    )


@given(pruned(), st.data(), st.floats(0.02, 2), st.floats(1, 10**3))
@settings(max_examples=tries(200))
def test_a_variance_is_that_of_the_whole_model(
    world: World, data: st.DataObject, rate: float, cutoff: float
) -> None:
    fit = fitted(world.tree, world.numbers, world.counts, laws=level_laws(world.tree, rate), cutoff=cutoff)
    asked = coverage(world.tree, data.draw(selections(world.shape)), [])
    _, free, variance = walked(world.tree, fit, asked)
    model = dense(world, rate=rate, cutoff=cutoff)

    assert variance[0] == pytest.approx(model.variance(asked), rel=1e-5, abs=1e-6)
    assert free[0] == pytest.approx(model.mean(asked), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("branching", [2, 4])
@pytest.mark.parametrize("shape", [(16,), (13,), (4, 4), (5, 3)])
def test_free_masses_are_the_means_of_the_whole_model(shape: tuple[int, ...], branching: int) -> None:
    addresses = (
        LineAddresses(Line(shape, places=range(len(shape)))) if len(shape) == 1 else MortonAddresses(shape)
    )
    tree = BranchingTree(addresses, branching=branching)
    random = np.random.default_rng(3)
    cells = addresses.of(every_cell(shape))
    true = np.bincount(cells, weights=random.integers(200, 300, cells.size), minlength=1 << addresses.bits)
    numbers, counts, above = [0], [true.sum()], {0}
    for level in range(1, tree.levels):
        step = tree.shifts[level - 1] - tree.shifts[level]
        sums = true.reshape(-1, 1 << tree.shifts[level]).sum(axis=1)
        here = [
            each for each in np.flatnonzero(sums).tolist() if each >> step in above and random.random() < 0.7
        ]
        numbers += [each + tree.offsets[level] for each in here]
        counts += sums[here].tolist()
        above = set(here)
    world = World(
        shape,
        tree,
        np.array(numbers),
        np.array(counts).astype(np.int64) + random.integers(-9, 9, len(counts)),
    )
    fit = fitted(tree, world.numbers, world.counts, laws=level_laws(tree, 0.2), cutoff=200.0)
    model = dense(world, rate=0.2, cutoff=200.0)

    assert len(fit.levels[-1].prefixes)
    leaves = len(fit.levels[-1].prefixes)
    assert fit.free_own[-1] == pytest.approx(model.means[:leaves])
    assert fit.free_masses[0][0] == pytest.approx(model.means.sum())
    assert sum(own.sum() for own in fit.free_own[:-1]) == pytest.approx(model.means[leaves:].sum())


# Whole releases.

GRID = domain_of(13, 9)
TREES = [Tree(), Tree(branching=2, order=["b"]), Tree(order="morton"), Tree(branching=2, order="morton")]


def table() -> Numbers:
    found: Numbers = np.random.default_rng(1).integers(0, 30, GRID.shape)
    found[4:7, 2:5] += 400
    return found


def drawn(
    path: Path,
    structure: Tree,
    domain: Domain = GRID,
    counts: Numbers | None = None,
    method: Filter | None = None,
    epsilon: Fraction = Fraction(2),
) -> Release:
    """A release of a table given cell by cell."""
    made = simulated(structure, domain, table() if counts is None else counts, method, epsilon, seed=900)
    write(path, made.terms, rows(made.terms, made.codes, made.counts), overwrite=True)
    return open_release(path)


def simulated(
    structure: Tree,
    domain: Domain,
    counts: Numbers,
    method: Filter | None = None,
    epsilon: Fraction = Fraction(2),
    *,
    seed: int,
) -> Draw:
    nodes = node_space(structure, domain)
    method = method or Filter(size=40, two_sided=False)
    codes = np.argwhere(counts)
    sparse = ht.SparseTable(shape=domain.shape, codes=codes, counts=counts[tuple(codes.T)])
    summary = draw_summary(
        sparse,
        method,
        epsilon=epsilon,
        sensitivity=Fraction(nodes.per_cell),
        entropy=replay(seed),
        nodes=nodes,
    )
    made = tree_terms(
        structure, domain, method=method, rule=None, epsilon=epsilon, cutoff=summary.cutoff, threshold=None
    )
    return Draw(made, domain, summary.codes, summary.counts, summary.weights)


@pytest.mark.parametrize("structure", few(TREES, every=4, first=1), ids=repr)
def test_groups_are_many_totals(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure)
    for names in (["a"], ["b"], ["b", "a"]):
        for where in (None, "a < 7 AND b >= 2", "a IN (1, 5, 6)"):
            found = release.by(names, where=where)
            assert found.num_rows
            for row in found.to_pylist()[:: len(names) ** 2]:
                condition = " AND ".join(
                    [f"{name} = {row[name]}" for name in names] + ([where] if where else [])
                )
                one = release.total(condition)
                expected = (one.value, one.standard_error, one.low, one.high)
                assert (row["estimate"], row["standard_error"], row["low"], row["high"]) == pytest.approx(
                    expected
                )


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_the_whole_domain_is_all_weights(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure)
    whole = release.total()

    assert whole.value == pytest.approx(release.weights.sum())
    assert whole.value == pytest.approx(table().sum(), rel=0.05)
    assert sum(release.by("a")["estimate"].to_pylist()) == pytest.approx(whole.value)
    assert whole.low <= whole.value <= whole.high
    assert whole.low < whole.high
    assert f"Nodes with noisy counts below {release.cutoff:,.10g} are not in this file." in whole.note
    assert "covers the true answer of any box, whatever they hold." in whole.note
    assumed = release.total(assume="even")
    assert (whole.assumes, assumed.assumes) == (None, "even")
    assert "The interval assumes that what they hold is spread evenly over their cells" in assumed.note
    assert release.by("a", assume="even").column_names[-2:] == ["low_if_even", "high_if_even"]


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_cells_add_up_and_are_not_negative(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure)
    cells = release.by(["a", "b"])

    assert sum(cells["estimate"].to_pylist()) == pytest.approx(release.weights.sum())
    assert min(cells["estimate"].to_pylist()) >= 0
    assert min(cells["low"].to_pylist()) >= 0
    assert release.by("a", top=3).num_rows == 3


@pytest.mark.parametrize("structure", few(TREES, every=2), ids=repr)
def test_a_published_cell_is_answered_by_its_count(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure, epsilon=Fraction(10))
    nodes = release.terms.nodes
    assert isinstance(nodes, PrunedSpace)
    leaves = nodes.tree.addresses.of(every_cell(GRID.shape)) + nodes.tree.offsets[-1]
    counts = dict(zip(release.codes[:, 0].tolist(), release.counts.tolist(), strict=True))
    published = 0
    for (a, b), leaf in zip(every_cell(GRID.shape).tolist(), leaves.tolist(), strict=True):
        one, total = release.at(a=a, b=b), release.total(a=a, b=b)
        if leaf in counts:
            published += 1
            assert one.value == counts[leaf]
            assert one.standard_error == pytest.approx(sqrt(noise(float(release.terms.rate))))
            assert one.high - one.value == pytest.approx(one.value - one.low)
            assert one.note.startswith("This is the cell's noisy count, as published.")
        else:
            assert one == total
    assert published > 5


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_nothing_is_asked_for(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure)
    none = release.total("a < 3 AND a > 7")

    assert (none.value, none.standard_error, none.low, none.high) == (0, 0, 0, 0)
    assert release.by("b", where="a < 3 AND a > 7").num_rows == 0


@pytest.mark.parametrize("structure", [Tree(), Tree(order="morton")], ids=repr)
def test_one_cell(structure: Tree, tmp_path: Path) -> None:
    release = drawn(
        tmp_path / "r.parquet", structure, domain_of(1), np.array([500]), Filter(size=1, two_sided=False)
    )

    assert len(release) == 1
    answers = [release.total(), release.at(a=0), release.total(a=0)]
    assert {each.value for each in answers} == {float(release.weights[0])}
    assert 480 < answers[0].low <= answers[0].value <= answers[0].high < 520
    assert release.by("a").num_rows == 1


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_a_root_alone_is_spread_evenly(structure: Tree, tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", structure, method=Filter(size=1, two_sided=False))

    assert len(release) == 1
    assert release.cutoff == release.counts[0]
    assert release.total(a=ht.between(0, 5)).value == pytest.approx(release.weights[0] * 5 / 13)
    assert release.at(a=3, b=4).value == pytest.approx(release.weights[0] / (13 * 9))
    # Nothing says where the people are, and the interval knows it.
    part = release.total(a=ht.between(0, 5))
    assert part.standard_error > release.weights[0] / 10


def test_nothing_was_there(tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", Tree(), counts=np.zeros(GRID.shape, dtype=np.int64))

    assert release.total().value >= 0
    assert release.by("a").num_rows == 13


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.total("a = 1 OR b = 2"), "a tree answers boxes"),
        (lambda r: r.by("a", where="a = 1 OR b = 2"), "a tree answers boxes"),
        (lambda r: r.total(corrected=True), "no noisy total"),
        (lambda r: r.by("a", corrected="no"), "is not allowed"),
        (lambda r: r.total(c=1), "there is no attribute 'c'"),
        (lambda r: r.at(a=1), "none is given for 'b'"),
    ],
)
def test_what_cannot_be_asked_says_what_can(tmp_path: Path, call: Any, message: str) -> None:
    release = drawn(tmp_path / "r.parquet", Tree(order="morton"))

    assert release.total("a = 1 AND (b < 2 OR b = 4)").value >= 0
    with pytest.raises(ht.HushtableError) as caught:
        call(release)
    assert message in str(caught.value)


def test_the_largest_domains_are_answered(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    worlds: list[tuple[Tree, tuple[int, ...]]] = [
        (Tree(), (1 << 60,)),
        (Tree(order="morton"), (1 << 31, 1 << 31)),
    ]
    for structure, sizes in worlds:
        domain = domain_of(*sizes)
        codes = np.stack([generator.integers(0, 1 << 20, 500) for _ in sizes], axis=1)
        nodes = node_space(structure, domain)
        summary = ht.summarize(
            ht.SparseTable(shape=sizes, codes=codes, counts=np.full(500, 100)),
            Filter(size=200),
            epsilon=3,
            structure=structure,
        )
        made = tree_terms(
            structure, domain, method=summary.method, rule=None, epsilon=Fraction(3), cutoff=summary.cutoff
        )
        write(tmp_path / "r.parquet", made, rows(made, summary.codes, summary.counts), overwrite=True)
        release = open_release(tmp_path / "r.parquet")
        assert made.nodes is not None
        assert nodes.nodes_total == made.nodes.nodes_total
        low = {name: ht.between(0, 1 << 20) for name in domain.names}
        assert release.total(low).value == pytest.approx(50_000, rel=0.05)
        assert release.total({domain.names[-1]: ht.between(1 << 20, sizes[-1])}).value < 5_000


CELLS = 1000
LINE = domain_of(CELLS)


def misses(structure: Tree, *, releases: int, chance: float, assume: Assumption | None = "even") -> int:
    """How many intervals miss the truth, one of each release, of three lengths; people are in clusters."""
    random = np.random.default_rng(5)
    centres = random.integers(0, CELLS - 25, 12)[:, np.newaxis]
    cells = np.unique(centres + random.integers(0, 25, (12, 25)))
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[cells] = random.normal(100, 20, cells.size).astype(np.int64)
    method, missed = Filter(size=100, two_sided=False), 0
    for number in range(releases):
        made = simulated(structure, LINE, counts, method, Fraction(1, 2), seed=910 + number)
        assert isinstance(made.terms.nodes, PrunedSpace)
        length = (30, 150, 500)[number % 3]
        start = int(random.integers(0, CELLS - length))
        asked = selected(LINE, {"a": ht.between(start, start + length)})
        answers = PrunedAnswers(made, made.terms.nodes)
        found = answers.total(asked, chance=chance, corrected=None, assume=assume).answers
        missed += not found.low[0] <= counts[start : start + length].sum() <= found.high[0]
    return missed


@pytest.mark.parametrize("structure", few([Tree(branching=4), Tree()], every=2), ids=repr)
def test_intervals_hold_about_as_often_as_they_say(structure: Tree) -> None:
    releases = draws(90)

    assert misses(structure, releases=draws(30), chance=0.05, assume=None) < most(draws(30), 0.05)
    assert misses(structure, releases=releases, chance=0.05) < most(releases, 0.07)
    # And they are not wider than they need: of 20 % intervals, four in five miss.
    assert misses(structure, releases=releases, chance=0.8) > releases - most(releases, 0.4)


@pytest.mark.long
@pytest.mark.parametrize("structure", [Tree(branching=4), Tree()], ids=repr)
def test_the_usual_intervals_hold(structure: Tree) -> None:
    releases = 3000

    assert misses(structure, releases=releases, chance=0.05) / releases < 0.07


def test_wider_intervals_for_more_confidence(tmp_path: Path) -> None:
    release = drawn(tmp_path / "r.parquet", Tree())
    widths = [
        (each := release.total(a=3, confidence=c)).high - each.value for c in (0.1, 0.5, 0.9, 0.99, 0.9999)
    ]

    assert widths == sorted(widths)
    assert widths[0] > 0
    together = release.by("a", simultaneous=True)["high"].to_pylist()
    alone = release.by("a")["high"].to_pylist()
    assert all(a > b for a, b in zip(together, alone, strict=True))
