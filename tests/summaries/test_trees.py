"""Summaries of nodes, by the engine for cells: every node shows its law, and padding never shows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.axes import AxisSpace
from hushtable.structures.axes import Ordered as Lifted
from hushtable.summaries.flat import acceptance_of, summarize_slices
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from hushtable.table import lifting
from hushtable.table.lifting import lifted
from hushtable.table.slices import SlicesHere
from tests.harness.cases import chosen, few
from tests.harness.nodes import nodes_over
from tests.harness.statistics import ALARM, fits, follows, replay, runs, tries
from tests.structures.naive import Cell, naive_values
from tests.summaries.test_laws import LESS, MORE, curve_follows, fits_curve
from tests.summaries.worlds import ABSENT, cell_law, long_way, threshold_cdf

RATE = Fraction(1, 3)  # of a node's noise
WORLDS: list[tuple[Lifted, tuple[int, ...], dict[Cell, int]]] = [
    (ht.Dyadic(), (21,), {(1,): 4, (2,): 9, (20,): 5}),
    (ht.Haar(), (42,), {(1,): 4, (2,): 9, (7,): 4, (40,): 5}),
    (ht.ProductDyadic(), (5, 3), {(0, 1): 4, (4, 0): 8}),
]


def drawn(
    structure: Lifted, shape: tuple[int, ...], counts: dict[Cell, int], method: Method, entropy: BitSource
) -> Summary:
    table = ht.SparseTable(shape=shape, codes=np.array(list(counts)), counts=list(counts.values()))
    nodes = nodes_over(structure, shape, places=range(len(shape)))
    return draw_summary(
        table,
        method,
        epsilon=RATE * nodes.per_cell,
        sensitivity=Fraction(nodes.per_cell),
        entropy=entropy,
        nodes=nodes,
    )


def values_in_line(nodes: AxisSpace, counts: dict[Cell, int]) -> dict[int, int]:
    """The values of all nodes that are not 0, by the places of the nodes in their order."""
    values = naive_values(counts, nodes)
    return {place: values[node] for place, node in enumerate(sorted(values)) if values[node]}


def rows_in_line(summary: Summary) -> dict[int, int]:
    places = np.ravel_multi_index(tuple(summary.codes.T), summary.shape).tolist()
    assert places == sorted(set(places)), "every node once, in order"
    return dict(zip(places, summary.counts.tolist(), strict=True))


@pytest.mark.parametrize("way", chosen(["shortcut", "long way"], [0]))  # tests of flat tables take both
@pytest.mark.parametrize(
    "method", [ht.Filter(cutoff=4), ht.FilterThreshold(cutoff=2, threshold="8.5")], ids=repr
)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world[0]).__name__)
def test_every_node_shows_its_law(
    world: tuple[Lifted, tuple[int, ...], dict[Cell, int]], method: Method, way: str
) -> None:
    structure, shape, counts = world
    nodes = nodes_over(structure, shape, places=range(len(shape)))
    values, total, entropy = values_in_line(nodes, counts), nodes.nodes_total, replay(820)
    rule = acceptance_of(method, cells_total=total, law=Geometric(RATE))
    shown: dict[int, list[int]] = {place: [] for place in range(total)}
    for _ in range(runs(160 if way == "shortcut" else 150)):
        if way == "shortcut":
            rows = rows_in_line(drawn(*world, method, entropy))
        else:
            rows, _ = long_way(values, total, method, Geometric(RATE), entropy)
        assert rows.keys() <= shown.keys()
        for place, seen in shown.items():
            seen.append(rows.get(place, ABSENT))
    empty = np.array([value for place, seen in shown.items() if place not in values for value in seen])

    assert follows(empty, cell_law(0, rule, RATE)) > ALARM
    if way == "shortcut":
        assert fits(empty, cell_law(0, rule, RATE * MORE)) < ALARM
        assert fits(empty, cell_law(0, rule, RATE * LESS)) < ALARM
    for place, value in values.items():
        assert follows(shown[place], cell_law(value, rule, RATE)) > ALARM
        assert fits(shown[place], cell_law(value + 12, rule, RATE)) < ALARM


@pytest.mark.parametrize(
    ("world", "method"),
    few(product(WORLDS, [ht.Priority(size=5), ht.FilterPriority(cutoff=3, size=4)]), every=3),
)
def test_the_threshold_of_a_priority_sample_has_its_law(
    world: tuple[Lifted, tuple[int, ...], dict[Cell, int]], method: ht.Priority | ht.FilterPriority
) -> None:
    structure, shape, counts = world
    nodes = nodes_over(structure, shape, places=range(len(shape)))
    values, total, entropy = values_in_line(nodes, counts), nodes.nodes_total, replay(821)
    plain = Acceptance(cutoff=getattr(method, "cutoff", None))
    sample = [float(drawn(*world, method, entropy).threshold or 0) for _ in range(runs(150))]

    assert curve_follows(sample, threshold_cdf(values, total, method.size, plain, RATE)) > ALARM
    assert fits_curve(sample, threshold_cdf(values, total, method.size, plain, RATE / 3)) < ALARM
    assert fits_curve(sample, threshold_cdf(values, total, method.size, plain, RATE * 3)) < ALARM


@pytest.mark.parametrize("slices", chosen([1, 18], [1]))
def test_many_slices_have_the_law_of_one(slices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Beyond 16 slices, how many empty nodes each accepts is drawn in another way.
    monkeypatch.setattr(lifting, "_SLICE", 1 << 18 if slices == 1 else 1)
    entropy, size, shape = replay(822), 6, (50,)
    counts: dict[Cell, int] = {(3,): 3, (20,): 8, (40,): 3}
    nodes = nodes_over(ht.Dyadic(), shape, places=(0,))
    table = ht.SparseTable(shape=shape, codes=np.array(list(counts)), counts=list(counts.values()))
    parts = lifted(table, nodes)
    assert len(parts) >= slices
    sample, placed = [], np.zeros(nodes.nodes_total)
    for _ in range(runs(200)):
        summary = summarize_slices(
            SlicesHere(parts),
            nodes.space,
            ht.Priority(size=size),
            epsilon=RATE,
            sensitivity=Fraction(1),
            entropy=entropy,
        )
        placed[summary.codes[:, 0]] += 1
        sample.append(float(summary.threshold or 0))
    values, total = values_in_line(nodes, counts), nodes.nodes_total

    assert curve_follows(sample, threshold_cdf(values, total, size, Acceptance(), RATE)) > ALARM
    assert fits_curve(sample, threshold_cdf(values, total, size, Acceptance(), RATE / 2)) < ALARM
    assert fits_curve(sample, threshold_cdf(values, total, size, Acceptance(), RATE * 2)) < ALARM
    empty = placed[[place for place in range(total) if place not in values]]
    assert (np.abs(empty - empty.mean()) < 8 * np.sqrt(empty.mean())).all()  # all alike


@pytest.mark.parametrize("cells", [1, 2, 5, 8, 9, 17])
@pytest.mark.parametrize("structure", [ht.Dyadic(), ht.Haar()], ids=repr)
def test_padding_is_never_published(structure: Lifted, cells: int) -> None:
    table = ht.SparseTable(shape=(cells,), codes=[[cells - 1]], counts=[3])
    whole = ht.summarize(table, ht.Everything(), epsilon="0.1", structure=structure)
    total = nodes_over(structure, (cells,), places=(0,)).nodes_total
    seen: set[int] = set()
    for _ in range(30):
        seen |= set(ht.summarize(table, ht.Filter(cutoff=1), epsilon="0.01", structure=structure).codes[:, 0])

    assert whole.codes[:, 0].tolist() == list(range(total))
    assert seen == set(range(total))


METHODS: list[Method] = [
    ht.Everything(),
    ht.Filter(cutoff=3),
    ht.Filter(size=7),
    ht.Threshold(size=7),
    ht.Priority(size=7),
    ht.FilterThreshold(cutoff=2, threshold=9),
    ht.FilterPriority(cutoff=2, size=7),
]


@settings(max_examples=tries(60))
@given(
    st.sampled_from([ht.Dyadic(), ht.Haar(), ht.ProductDyadic(), "dyadic", "haar", "product-dyadic", None]),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from(METHODS),
    st.data(),
)
def test_any_structure_any_method(
    structure: Lifted | str | None, shape: tuple[int, int], method: Method, data: st.DataObject
) -> None:
    cells = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in shape)), max_size=20))
    codes = np.array(cells, dtype=np.int64).reshape(-1, 2)
    table = ht.SparseTable(shape=shape, codes=codes, counts=np.ones(len(cells), dtype=np.int64))
    summary = ht.summarize(table, method, epsilon="0.5", structure=structure, sensitivity=3)

    assert summary.codes.shape == (len(summary), len(summary.shape))
    assert ((summary.codes >= 0) & (summary.codes < np.array(summary.shape))).all()
    rows = list(map(tuple, summary.codes.tolist()))
    assert rows == sorted(set(rows))
    assert summary.sensitivity == 3 * (1 if summary.nodes is None else summary.nodes.per_cell)
    if summary.nodes is not None:
        assert summary.shape == summary.nodes.space.shape
        assert summary.structure == summary.nodes.structure
    thinned = summary.thin(size=2) if not isinstance(method, ht.Everything) else summary
    assert thinned.nodes is summary.nodes


def test_large_counts_are_found_where_they_are() -> None:
    table = ht.SparseTable(shape=(1 << 40,), codes=[7, 1 << 39], counts=[10**9, 10**9])
    for structure in (ht.Dyadic(), ht.Haar()):
        summary = ht.summarize(table, ht.Filter(cutoff=10**7), epsilon=1, structure=structure)
        assert isinstance(summary.nodes, AxisSpace)
        tree = summary.nodes.axes[0].tree
        inside = [tree.nodes_at(np.arange(tree.levels), np.full(tree.levels, cell)) for cell in (7, 1 << 39)]
        expected = set(np.concatenate(inside).tolist())
        if isinstance(structure, ht.Haar):
            expected -= {1}  # the halves of the whole line are equal

        assert set(summary.codes[:, 0].tolist()) == expected


@pytest.mark.parametrize(
    ("structure", "method", "message"),
    [
        ("forest", ht.Filter(size=5), "there is no structure 'forest'"),
        (ht.Dyadic(order=["x"]), ht.Filter(size=5), "has no names of attributes"),
        ("product-dyadic", ht.Filter(size=5), "needs two attributes"),
        ("haar", ht.Filter(size=5, two_sided=False), "Use a two-sided summary"),
        ("haar", ht.Everything(nonnegative=True), "Use a two-sided summary"),
        (ht.Dyadic(consistent=True), ht.Filter(size=5), "a consistent tree needs a filter of counts above 0"),
        (
            ht.Dyadic(consistent=True),
            ht.Priority(size=5, two_sided=False),
            "a consistent tree needs a filter",
        ),
        (
            ht.Dyadic(consistent=True),
            ht.FilterThreshold(cutoff=5, size=5, two_sided=False),
            "may leave no node at all. Give a threshold, or use FilterPriority",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(structure: object, method: Method, message: str) -> None:
    table = ht.SparseTable(shape=(9,), codes=[3], counts=[4])
    with pytest.raises(ht.BadChoice, match=message):
        ht.summarize(table, method, epsilon=1, structure=structure)  # type: ignore[arg-type]


def test_too_many_nodes_are_refused_by_public_numbers() -> None:
    table = ht.SparseTable(shape=(1 << 60,), codes=[3], counts=[4])
    with pytest.raises(ht.TooManyRows):
        ht.summarize(table, ht.Filter(cutoff=5), epsilon=1, structure="dyadic")
    with pytest.raises(ht.TooManyCells):
        ht.summarize(table, ht.Everything(), epsilon=1, structure="haar")
