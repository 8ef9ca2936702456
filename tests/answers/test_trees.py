"""Answers from trees: what they add up to, from which nodes, and how often their intervals hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import ceil, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.answers.nodes.answering import NodeAnswers
from hushtable.answers.nodes.covers import PublishedNodes
from hushtable.answers.nodes.hidden import topmost
from hushtable.answers.nodes.ranges import Ranges, ranges_of
from hushtable.answers.question import Question
from hushtable.answers.release import Release, open_release
from hushtable.conditions.conditions import selected
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item
from hushtable.domain.measure import Measure
from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.release.terms import Terms
from hushtable.structures.axes import AxisSpace
from hushtable.structures.axes import Ordered as Structured
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.lines import Line
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.trees import DyadicTree
from tests.answers.lifted import Lifted, exactly, passed, simulated, terms_of, true_values
from tests.harness.cases import chosen, few
from tests.harness.nodes import node_space
from tests.harness.statistics import ALARM, SEED, draws, tries
from tests.release.examples import Rows, random_releases, random_tree_terms, rows, write


def domain_of(*sizes: int) -> Domain:
    """Attributes a, b, c of these sizes."""
    return Domain.from_dict(
        {
            "attribute": [
                {"name": name, "integers": {"low": 0, "high": size - 1}}
                for name, size in zip("abc", sizes, strict=False)
            ]
        }
    )


TRIPS = domain_of(5, 7)
STRUCTURES: list[Structured] = [
    Dyadic(),
    Dyadic(order=["b"]),
    Haar(),
    Haar(order=["b", "a"]),
    ProductDyadic(),
    ProductDyadic(order=["b"]),
]


def table(domain: Domain = TRIPS) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 60, domain.shape)


def answering(release: Lifted) -> NodeAnswers:
    assert isinstance(release.terms.nodes, AxisSpace)
    return NodeAnswers(release, release.terms.nodes)


def opened(path: Path, made: Lifted) -> Release:
    write(path, made.terms, rows(made.terms, made.codes, made.counts), overwrite=True)
    return open_release(path)


def by_hand(path: Path, made: Terms, counts: dict[Any, int]) -> Release:
    """A release with these counts of nodes."""
    codes = np.array(sorted(counts)).reshape(len(counts), -1)
    return opened(path, Lifted(made, made.domain, codes, np.array([counts[key] for key in sorted(counts)])))


@st.composite
def questions(draw: st.DrawFn) -> tuple[Structured, Domain, NDArray[np.int64], dict[str, list[int]]]:
    """A structure, a small table whose counts may be negative, and values of each attribute."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    domain = domain_of(*sizes)
    order = draw(st.none() | st.permutations(domain.names).map(lambda names: names[:2]))
    kinds: list[Structured] = [Dyadic(order=order), Haar(order=order)]
    structure = draw(st.sampled_from([*kinds, ProductDyadic(order=order)] if len(sizes) == 2 else kinds))
    counts = np.random.default_rng(draw(st.integers(0, 99))).integers(-9, 99, sizes)
    values = {
        name: sorted(draw(st.sets(st.integers(0, size - 1))))
        for name, size in zip("abc", sizes, strict=False)
    }
    return structure, domain, counts, values


@given(questions())
@settings(max_examples=tries(150))
def test_without_noise_every_box_is_exact(asked: Any) -> None:
    structure, domain, counts, values = asked
    asker = answering(exactly(structure, domain, counts))
    true = counts[np.ix_(*values.values())]

    found = asker.total(selected(domain, values), chance=0.05, corrected=None).answers
    assert found.value[0] == pytest.approx(true.sum(), abs=1e-9)
    for places in ([0], list(reversed(range(len(domain.shape))))):
        items = list(map(Item, places))
        groups = asker.groups(
            Question(
                selected(domain, values),
                items,
                chance=0.05,
                corrected=None,
                together=False,
                top=None,
            )
        )
        others = tuple(place for place in range(len(domain.shape)) if place not in places)
        expected = true.sum(axis=others) if len(places) == 1 else true.transpose(places)
        listed = list(product(*(values["abc"[place]] for place in places))) if true.size else []
        assert groups.codes.tolist() == [list(each) for each in listed]
        assert groups.number == len(listed)
        assert groups.answers.value == pytest.approx(expected.ravel()[: len(listed)], abs=1e-9)


@given(questions(), st.data())
@settings(max_examples=tries(60))
def test_without_noise_every_cell_is_exact(asked: Any, data: st.DataObject) -> None:
    structure, domain, counts, _ = asked
    cell = [data.draw(st.integers(0, size - 1)) for size in domain.shape]
    release = exactly(structure, domain, counts)
    selection = selected(domain, dict(zip(domain.names, cell, strict=True)))

    found = answering(release).cell(selection, chance=0.05)
    assert found.answers.value[0] == pytest.approx(counts[tuple(cell)], abs=1e-9)


@given(questions())
@settings(max_examples=tries(100))
def test_ranges_hold_the_cells_and_do_not_touch(asked: Any) -> None:
    _, domain, _, values = asked
    selection = selected(domain, values)
    assume(selection.cells)
    order = list(reversed(range(len(domain.shape))))
    line = Line(domain.shape, places=order)
    cells = np.array(list(product(*values.values())))

    for places in ([], [0], order):
        found = ranges_of(selection, line, places=places)
        parts = list(zip(found.groups.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True))
        made = sorted((group, cell) for group, start, stop in parts for cell in range(start, stop))
        keys = [tuple(cell[[place for place in order if place in places]]) for cell in cells]
        numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
        positions = line.positions(cells).tolist()

        assert made == sorted(zip([numbers[key] for key in keys], positions, strict=True))
        assert found.number == len(numbers)
        assert parts == sorted(parts)
        assert all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(parts))


@given(st.integers(1, 400), st.integers(1, 60))
def test_parts_hold_whole_groups(number: int, most: int) -> None:
    groups = np.sort(np.append(np.arange(number), np.arange(1000) % number))
    ranges = Ranges(groups, np.arange(len(groups)), np.arange(len(groups)) + 1, number)
    parts = list(ranges.parts(most))

    assert np.array_equal(np.concatenate([each.starts for each in parts]), ranges.starts)
    assert sum(each.number for each in parts) == number
    for each in parts:
        assert set(each.groups.tolist()) == set(range(each.number))
        assert each.number == 1 or len(each.groups) <= most


def cover_sizes(structure: Structured, domain: Domain, *asked: tuple[int, int]) -> int:
    """How many nodes a box is put together from."""
    release = exactly(structure, domain, np.ones(domain.shape, dtype=np.int64))
    condition = {name: ht.between(*ends) for name, ends in zip(domain.names, asked, strict=True)}
    found = answering(release).total(selected(domain, condition), chance=0.05, corrected=None)
    a = exp(-min(float(release.terms.rate), 700))
    return round(float(found.answers.standard_error[0]) ** 2 / (2 * a / (1 - a) ** 2))


@pytest.mark.parametrize("cells", [1, 5, 8, 13])
def test_ranges_are_put_together_from_the_fewest_nodes(cells: int) -> None:
    tree = DyadicTree(cells)
    nodes = np.arange(tree.nodes_total)
    spans = set(zip(tree.firsts(nodes).tolist(), (tree.lasts(nodes) + 1).tolist(), strict=True))
    for start in range(cells):
        fewest = {start: 0}
        for stop in range(start + 1, cells + 1):
            fewest[stop] = 1 + min(fewest[a] for a, b in spans if b == stop and a in fewest)
            assert cover_sizes(Dyadic(), domain_of(cells), (start, stop)) == fewest[stop]


def test_boxes_are_products_of_ranges() -> None:
    one, other = domain_of(13), domain_of(9)
    for first, second in (((1, 12), (3, 8)), ((0, 13), (1, 9)), ((4, 5), (0, 9))):
        sizes = [cover_sizes(Dyadic(), *each) for each in ((one, first), (other, second))]
        assert cover_sizes(ProductDyadic(), domain_of(13, 9), first, second) == sizes[0] * sizes[1]


def test_the_order_of_attributes_decides_what_is_a_range() -> None:
    assert cover_sizes(Dyadic(), domain_of(8, 8), (2, 4), (0, 8)) == 1
    assert cover_sizes(Dyadic(order=["b"]), domain_of(8, 8), (2, 4), (0, 8)) == 8
    assert cover_sizes(Dyadic(order=["b"]), domain_of(8, 8), (0, 8), (2, 4)) == 1


@pytest.mark.parametrize(
    ("structure", "method"),
    few(product(STRUCTURES, [Priority(size=20), Filter(cutoff=25)]), every=5),
    ids=repr,
)
def test_groups_agree_with_totals(structure: Structured, method: Method, tmp_path: Path) -> None:
    made = terms_of(structure, TRIPS, method, epsilon=Fraction(3))
    assert isinstance(made.nodes, AxisSpace)
    noisy = simulated(made, true_values(made.nodes, table()), np.random.default_rng(2))
    release = opened(tmp_path / "r.parquet", noisy)

    assert np.array_equal(release.codes, noisy.codes)
    for names, where in (("a", None), ("b", "a <> 2"), (["b", "a"], {"b": ht.between(2, 6)})):
        groups = release.by(names, where=where).to_pylist()
        assert len(groups) == {"a": 5, "b": 7}.get(str(names), 20)
        for group in groups:
            given = {name: group[name] for name in ([names] if isinstance(names, str) else names)}
            one = release.total(where if isinstance(where, str) else None, **given)
            assert (one.value, one.standard_error, one.low, one.high) == pytest.approx(
                tuple(group[name] for name in ("estimate", "standard_error", "low", "high")), rel=1e-4
            )
    largest = release.by("b", top=3)["estimate"].to_pylist()
    assert largest == sorted(release.by("b")["estimate"].to_pylist(), reverse=True)[:3]
    together, alone = release.by("b", simultaneous=True), release.by("b")
    assert together["high"][2].as_py() == pytest.approx(release.total(b=2, confidence=1 - 0.05 / 7).high)
    assert all(np.asarray(together["high"]) >= np.asarray(alone["high"]))
    assert b"All 7 intervals hold simultaneously." in together.schema.metadata[b"note"]


def test_no_cells_hold_nothing(tmp_path: Path) -> None:
    for structure in STRUCTURES:
        release = opened(tmp_path / "r.parquet", exactly(structure, TRIPS, table()))
        answer = release.total(a=[])
        assert (answer.value, answer.low, answer.high, answer.standard_error) == (0, 0, 0, 0)
        assert release.by(["a", "b"], where="FALSE").num_rows == 0


LINE = domain_of(8)  # its nodes: 0 | 1 2 | 3 4 5 6 | 7 .. 14
QUARTER = {"epsilon": Fraction(1)}  # four levels: the rate is 1/4
A = exp(-1 / 4)
VARIANCE = 2 * A / (1 - A) ** 2


def test_a_sample_has_the_noise_of_every_node_and_the_sampling_of_those_published(tmp_path: Path) -> None:
    made = terms_of(Dyadic(), LINE, Threshold(threshold=50), **QUARTER)
    release = by_hand(tmp_path / "r.parquet", made, {2: 90, 4: 20, 8: -10})
    answer = release.total(a=ht.between(1, 8))  # of nodes 8, 4 and 2

    assert answer.value == 90 + 50 - 50
    assert answer.standard_error == pytest.approx(sqrt(3 * VARIANCE + 50 * 30 + 50 * 40))
    assert answer.note == "The estimate is unbiased, and the interval covers the true answer."


def test_noise_of_haar_wavelets_comes_with_their_factors(tmp_path: Path) -> None:
    made = terms_of(Haar(), LINE, Everything(), **QUARTER)
    release = by_hand(tmp_path / "r.parquet", made, dict(enumerate([80, -8, 4, 2, 1, 0, 1, 3])))
    answer = release.total(a=ht.between(0, 2))  # the total, two splits of four and eight

    assert answer.value == 80 / 4 - 8 / 4 + 4 / 2
    assert answer.standard_error == pytest.approx(sqrt((1 / 16 + 1 / 16 + 1 / 4) * VARIANCE))
    cell = release.at(a=0)
    assert cell.value == 80 / 8 - 8 / 8 + 4 / 4 + 1 / 2
    assert cell == release.total(a=0)


def test_a_filter_answers_within_what_absent_nodes_may_hold(tmp_path: Path) -> None:
    made = terms_of(Dyadic(), LINE, Filter(cutoff="20.5"), **QUARTER)
    release = by_hand(tmp_path / "r.parquet", made, {0: 300, 2: 90, 8: 30})
    noise = release.total(confidence=0.95)
    answer = release.total(a=ht.between(1, 8))  # 8 and 2 are published, 4 is not

    one = log(2 / (1 + A) / 0.05) * 4
    assert (noise.low, noise.high) == pytest.approx((300 - one, 300 + one))
    assert answer.value == 120
    assert answer.standard_error == pytest.approx(sqrt(3 * VARIANCE + ceil(20.5) ** 2))
    reach = answer.high - 120 - 20  # what is absent is at most 20
    assert one < reach < sqrt(3) * one
    # Noise lifts empty nodes over the cutoff: the sum of j a^j (1-a)/(1+a) from 21 on, for each of three.
    assert 120 - answer.low == pytest.approx(reach + 3 * A**21 * (21 + A / (1 - A)) / (1 + A))
    assert answer.note == (
        "Ranges with noisy counts below 20.5 in absolute value are not in this file. The interval "
        "covers the true answer, whatever they hold."
    )
    assert release.total(a=4).low == 0
    assert release.total(a=4).value == 0
    assert release.total(a=4, corrected=False) == release.total(a=4)
    assert release.total(a=1).value == release.at(a=1).value == 30
    assert "as published" in release.at(a=1).note
    assert (release.at(a=4).value, release.at(a=4).low) == (0, 0)
    assert "did not reach the cutoff of 20.5" in release.at(a=4).note


def test_negative_estimates_of_filters_stay_in_their_intervals(tmp_path: Path) -> None:
    made = terms_of(Dyadic(), LINE, Filter(cutoff=20), **QUARTER)
    answer = by_hand(tmp_path / "r.parquet", made, {8: -30}).total(a=1)

    assert answer.low == answer.value == -30 < answer.high


def test_absent_nodes_of_a_consistent_tree_share_what_hides_them(tmp_path: Path) -> None:
    asked = {"a": ht.between(1, 4)}  # nodes 8 and 4
    highs = []
    for consistent in (False, True):
        made = terms_of(Dyadic(consistent=consistent), LINE, Filter(cutoff=100, two_sided=False), **QUARTER)
        release = by_hand(tmp_path / "r.parquet", made, {0: 300, 2: 250})
        highs.append(release.total(asked).high)
        assert release.total(asked).low == release.total(asked).value == 0
        assert release.at(a=1).high < 99 + (40 if consistent else 20)
    assert highs[0] > 2 * 99  # each by itself
    assert 99 < highs[1] < 99 + 40  # together, by what is missing above them


def test_a_range_right_at_the_cutoff_may_hide_what_ties_by_it(tmp_path: Path) -> None:
    asked = {"a": ht.between(0, 2)}  # node 3, in node 1, whose count is the cutoff
    highs = []
    for method in (Filter(cutoff=100, two_sided=False), Filter(size=2, two_sided=False)):
        made = terms_of(Dyadic(consistent=True), LINE, method, cutoff=100.0, **QUARTER)
        highs.append(by_hand(tmp_path / "r.parquet", made, {0: 300, 1: 100}).total(asked).high)

    assert 99 < highs[0] < 99 + 20  # by its own count, which does not reach the cutoff
    assert highs[0] + 5 < highs[1] < 100 + 40  # by that of node 1, which was picked: its own may be any


def test_who_hides_absent_nodes_of_a_consistent_sample_is_not_known(tmp_path: Path) -> None:
    method = FilterThreshold(cutoff=100, threshold=200, two_sided=False)
    made = terms_of(Dyadic(consistent=True), LINE, method, **QUARTER)
    release = by_hand(tmp_path / "r.parquet", made, {0: 300, 2: 250})

    assert 2 * 99 < release.total(a=ht.between(1, 4)).high < 2 * 200 + 80


@given(st.integers(1, 40), st.integers(0, 99))
def test_the_topmost_missing_node(cells: int, seed: int) -> None:
    nodes = node_space(Dyadic(consistent=True), domain_of(cells))
    tree = nodes.axes[0].tree
    assert isinstance(tree, DyadicTree)
    kept = passed(nodes, np.random.default_rng(seed).random(tree.nodes_total) < 0.8)
    published = PublishedNodes(nodes.axes, np.flatnonzero(kept)[:, np.newaxis])
    missing = np.flatnonzero(~kept)

    for node, top in zip(missing.tolist(), topmost(tree, published, missing).tolist(), strict=True):
        path, level = [node], int(tree.level_of(np.array([node]))[0])
        for here in range(level, 0, -1):
            path.append(int(tree.parents(np.array(path[-1:]), here)[0]))
        assert top == next(each for each in reversed(path) if not kept[each])


def test_sums_that_may_be_negative(tmp_path: Path) -> None:
    signed = Measure(sum_column="amount", clamp=(-1, 1))
    counts = {0: 300, 2: 250}

    def asked(structure: Structured, method: Method) -> ht.Estimate:
        made = terms_of(structure, LINE, method, measure=signed, epsilon=Fraction(1))
        return by_hand(tmp_path / "r.parquet", made, counts).total(a=ht.between(1, 4))

    two_sided = asked(Dyadic(), Filter(cutoff=100))
    assert two_sided.low == -two_sided.high < -2 * 99
    one_sided = asked(Dyadic(), Filter(cutoff=100, two_sided=False))
    assert one_sided.low == -np.inf
    assert one_sided.high == pytest.approx(two_sided.high)
    consistent = asked(Dyadic(consistent=True), Filter(cutoff=100, two_sided=False))
    assert (consistent.low, consistent.high) == (-np.inf, np.inf)


def test_one_sided_noise_on_every_node(tmp_path: Path) -> None:
    made = terms_of(Dyadic(), LINE, Everything(nonnegative=True), **QUARTER)
    release = by_hand(tmp_path / "r.parquet", made, dict.fromkeys(range(15), 0) | {0: 50})
    answer = release.total(a=ht.between(1, 4))

    assert (answer.value, answer.low) == (0, 0)
    assert answer.high > 0
    assert answer.note.startswith("Ranges with noisy counts of 0 or less are not in this file.")
    assert "is not above 0" in release.at(a=3).note


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
    release = opened(tmp_path / "r.parquet", exactly(Dyadic(), TRIPS, table()))

    assert release.total("a = 1 AND (b < 2 OR b = 4)").value == table()[1, [0, 1, 4]].sum()
    with pytest.raises(ht.HushtableError) as caught:
        call(release)
    assert message in str(caught.value)


def test_more_ranges_than_can_be_put_together(tmp_path: Path) -> None:
    wide = domain_of(1 << 22, 1 << 22)
    for structure in (Dyadic(), Haar()):
        made = terms_of(structure, wide, Filter(cutoff=100))
        release = by_hand(tmp_path / "r.parquet", made, {0: 5000})
        assert release.total("a < 3000000").high > 0
        with pytest.raises(ht.BadQuery, match="in the order 'a', 'b', these cells lie in 4,194,304 ranges"):
            release.total("b < 7")
        with pytest.raises(ht.BadQuery, match=r"Each value of 'a' has .* whose order has 'b' first"):
            release.by("b", where="b < 40")
        with pytest.raises(ht.BadQuery, match="there are 4,194,304 groups, and at most 1,000,000"):
            release.by("a", top=3)
        assert release.by("b", where="a = 3 AND b < 40", top=3).num_rows == 3


def test_the_largest_lines_are_answered(tmp_path: Path) -> None:
    half = 1 << 59
    for structure in (Dyadic(), Haar()):
        made = terms_of(structure, domain_of(1 << 60), Filter(cutoff=100))
        release = by_hand(tmp_path / "r.parquet", made, {0: 1000, 1: 600})
        expected = {"dyadic": 600, "haar": 800}[structure.name]
        assert release.total(a=ht.between(0, half)).value == expected
        assert release.total(a=ht.between(12345, half - 98765)).high > 0


@given(random_releases(random_tree_terms()), st.floats(0.001, 0.999))
@settings(max_examples=tries(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_release_is_answered(tmp_path: Path, made: tuple[Terms, Rows], confidence: float) -> None:
    assume(not len(made[1].counts) or (made[0].threshold or 0) < 1e150)  # whose square is a number
    path = tmp_path / "r.parquet"
    write(path, *made, overwrite=True)
    release = open_release(path)

    answer = release.total(confidence=confidence)
    assert answer.low <= answer.value <= answer.high
    assert answer.standard_error >= 0
    cells = release.domain.decode(np.array([[size // 2 for size in release.domain.shape]])).to_pylist()
    for one in (release.at(cells[0]), release.total(cells[0], confidence=confidence)):
        assert one.low <= one.value <= one.high
    (group,) = release.by(list(release.domain.names), where=cells[0], top=3).to_pylist()
    assert group["low"] <= group["estimate"] <= group["high"]


CELLS = 200
ONE, TWO = domain_of(CELLS), domain_of(12, 17)
SIZES = {1: (1, 12, 120), 2: (1, 3, 9)}


def misses(
    structure: Structured,
    method: Method,
    *,
    chance: float,
    releases: int,
    noise: float = 1.0,
    counts: NDArray[np.int64] | None = None,
    start: int | None = None,
) -> tuple[int, int]:
    """How many intervals lie above and below the truth: one random box of each release, of three sizes.

    `noise` is how much larger it is than the terms say; `start` fixes the box, of the largest size.
    """
    domain = TWO if isinstance(structure, ProductDyadic) or structure.order else ONE
    cell = np.arange(domain.cells_total)
    if counts is None:
        counts = np.where(cell % 3 == 0, cell * 7919 % 31, 0) + np.where((cell // 50) % 2 == 0, 12, 0)
    counts = counts.reshape(domain.shape)
    nodes = node_space(structure, domain)
    made = terms_of(structure, domain, method, epsilon=Fraction(nodes.per_cell, 4))
    random = np.random.default_rng([SEED, 700])
    values, missed = true_values(nodes, counts), np.zeros(2, dtype=np.int64)
    for number in range(releases):
        release = simulated(made, values, random, rate=0.25 / noise)
        length = SIZES[len(domain.shape)][number % 3 if start is None else 2]
        last = [size - length for size in domain.shape]
        starts = [int(random.integers(0, each + 1)) if start is None else start for each in last]
        box = {
            name: ht.between(start, start + length) for name, start in zip(domain.names, starts, strict=True)
        }
        found = answering(release).total(selected(domain, box), chance=chance, corrected=None).answers
        truth = counts[tuple(slice(start, start + length) for start in starts)].sum()
        missed += (int(truth < found.low[0]), int(truth > found.high[0]))
    return int(missed[0]), int(missed[1])


def most(releases: int, chance: float) -> int:
    """So many failures, of chance at most `chance` each, happen with chance ALARM or less (Chernoff)."""
    return next(
        k
        for k in range(int(releases * chance) + 1, releases)
        if releases * divergence(k / releases, chance) > -log(ALARM)
    )


def divergence(p: float, q: float) -> float:
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


METHODS = [
    Everything(),
    Threshold(threshold=48),
    Priority(size=60),
    Filter(cutoff=16),
    FilterThreshold(cutoff=16, threshold=48),
    FilterPriority(cutoff=8, size=60),
]
ONE_SIDED = [
    Everything(nonnegative=True),
    Threshold(threshold=48, two_sided=False),
    Filter(cutoff=3, two_sided=False),
    Filter(cutoff=16, two_sided=False),
    FilterThreshold(cutoff=16, threshold=48, two_sided=False),
    FilterPriority(cutoff=8, size=60, two_sided=False),
]
PAIRS = [
    *product([Dyadic(), ProductDyadic()], [*METHODS, *ONE_SIDED]),
    *product([Haar()], METHODS),
    *product([Dyadic(consistent=True)], ONE_SIDED[2:]),
    (Dyadic(consistent=True, order=["b"]), Filter(cutoff=16, two_sided=False)),  # of many ranges
]


@pytest.mark.parametrize(("structure", "method"), chosen(PAIRS, [0, 7, 14, 20, 25, 31, 34]), ids=repr)
def test_intervals_hold_at_least_as_often_as_they_say(structure: Structured, method: Method) -> None:
    releases = draws(200)

    assert sum(misses(structure, method, chance=0.2, releases=releases)) < most(releases, 0.2)


@pytest.mark.parametrize("count", few([16, 20, 24, 28], every=4))
@pytest.mark.parametrize("structure", [Dyadic(), Dyadic(consistent=True)], ids=repr)
def test_a_count_that_may_go_missing_at_every_level(structure: Structured, count: int) -> None:
    nodes = node_space(structure, ONE)
    made = terms_of(structure, ONE, Filter(cutoff=16, two_sided=False), epsilon=Fraction(nodes.per_cell, 4))
    random = np.random.default_rng([SEED, 701])
    releases, above = draws(200), 0
    for number in range(releases):
        cell = int(random.integers(0, CELLS - 5))
        values = true_values(nodes, np.where(np.arange(CELLS) == cell, count, 0))
        asked = selected(ONE, {"a": ht.between(cell, cell + (1, 2, 5)[number % 3])})
        found = answering(simulated(made, values, random)).total(asked, chance=0.2, corrected=None).answers
        above += int(found.high[0] < count)

    assert above < most(releases, 0.1)


@pytest.mark.parametrize(
    ("cutoff", "count"),
    few(product([1, 3, 16], [0, 4, 16, 40]), every=5),  # (1, 0), (3, 4), (16, 16)
)
def test_noise_that_lifts_nodes_over_a_cutoff(cutoff: int, count: int) -> None:
    releases = draws(200)
    counts = np.where(np.arange(CELLS) % 8 == 0, count, 0)
    method = Filter(cutoff=cutoff, two_sided=False)

    below, _ = misses(Dyadic(), method, chance=0.2, releases=releases, counts=counts, start=1)
    assert below < most(releases, 0.1)


@pytest.mark.parametrize("structure", chosen([Dyadic(), Haar(), ProductDyadic()], [1]), ids=repr)
def test_unbiased_intervals_hold_as_often_as_they_say(structure: Structured) -> None:
    releases, fewer = draws(300), draws(150)  # fewer tell what is wrong

    def failed(noise: float, releases: int) -> int:
        return sum(misses(structure, Everything(), chance=0.5, releases=releases, noise=noise))

    # Whole numbers make limits careful: from 0.42 to 0.53 of intervals for 0.5 fail.
    assert releases - most(releases, 0.58) < failed(1.0, releases) < most(releases, 0.53)
    assert failed(8.0, fewer) >= most(fewer, 0.53)  # more noise than is claimed
    assert failed(0.125, fewer) <= fewer - most(fewer, 0.58)  # less noise than is claimed


def test_a_cutoff_hides_no_missing_noise() -> None:
    releases = draws(300)
    one_sided = Filter(cutoff=16, two_sided=False)

    for structure in (Dyadic(), Dyadic(consistent=True)):
        counts = np.full(CELLS, 100)  # above any cutoff
        high = misses(structure, one_sided, chance=0.2, releases=releases, counts=counts, noise=8.0)
        assert sum(high) >= most(releases, 0.2)


@pytest.mark.long
@pytest.mark.parametrize(("structure", "method"), PAIRS, ids=repr)
def test_the_usual_intervals_hold(structure: Structured, method: Method) -> None:
    releases = 4000
    missed = sum(misses(structure, method, chance=0.05, releases=releases)) / releases

    assert missed < 0.07
    if isinstance(method, Everything) and not method.nonnegative:
        assert missed > 0.02


def test_sql_reads_the_nodes(tmp_path: Path) -> None:
    release = opened(tmp_path / "r.parquet", exactly(Dyadic(), TRIPS, table()))
    found = release.sql("SELECT sum(weight) AS people FROM release WHERE level = 6")

    assert found["people"].to_pylist() == [table().sum()]


def test_pictures_of_trees(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    release = opened(tmp_path / "r.parquet", exactly(Haar(), TRIPS, table()))
    release.plot("b", output=tmp_path / "b.png")

    assert (tmp_path / "b.png").stat().st_size > 1000


def test_the_note_of_wavelets() -> None:
    made = terms_of(Haar(), LINE, Filter(cutoff=20), **QUARTER)
    release = Lifted(made, LINE, np.array([[0]]), np.array([500]))
    note = answering(release).total(selected(LINE, {"a": 1}), chance=0.05, corrected=None).note

    assert note.startswith("Differences of halves with noisy counts below 20 in absolute value are not in")
