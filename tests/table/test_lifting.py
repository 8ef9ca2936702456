"""Lifted tables against naive sums: every node, whatever the order, the signs and the slices."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.structures.axes import AxisSpace
from hushtable.structures.axes import Ordered as Lifted
from hushtable.table import lifting
from hushtable.table.lifting import Block, block_levels, lifted, lifted_above, lifted_block
from hushtable.table.slices import Slice
from tests.harness.nodes import nodes_over
from tests.harness.statistics import tries
from tests.structures.naive import Cell, naive_values

MOST = 1 << 60


def table_of(shape: tuple[int, ...], counts: Mapping[Cell, int]) -> ht.SparseTable:
    codes = np.array(list(counts), dtype=np.int64).reshape(len(counts), len(shape))
    return ht.SparseTable(shape=shape, codes=codes, counts=list(counts.values()))


def listed(slices: list[Slice], nodes: AxisSpace) -> dict[Cell, int]:
    """All listed nodes; the slices cover the space once, and say how many nodes each lists."""
    found: dict[Cell, int] = {}
    end = 0
    for part in slices:
        assert part.start == (end, *(0,) * (len(part.bounds) - 1))
        assert part.bounds[1:] == nodes.space.bounds[1:]
        end += part.bounds[0]
        keys, values = part.load()
        assert values.dtype == np.int64
        assert values.size == keys.shape[1] == part.cells_occupied
        assert ((keys[0] >= part.start[0]) & (keys[0] < end)).all()
        codes = list(map(tuple, nodes.space.unpack(keys).tolist()))
        assert codes == sorted(set(codes))
        found |= dict(zip(codes, values.tolist(), strict=True))
    assert end == nodes.space.bounds[0]
    assert sum(part.cells_empty for part in slices) == nodes.nodes_total - len(found)
    return found


@pytest.fixture(params=[1, 3, 1 << 18], ids=lambda size: f"slices of {size}")
def _small_slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifting, "_SLICE", request.param)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Lifted, tuple[int, ...], list[int], dict[Cell, int]]:
    structures: list[Lifted] = [ht.Dyadic(), ht.Haar(), ht.ProductDyadic()]
    structure = draw(st.sampled_from(structures))
    attributes = 2 if isinstance(structure, ht.ProductDyadic) else draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=attributes, max_size=attributes)))
    amounts = st.sampled_from([1, 2, 3, -1, -2]) | st.sampled_from([MOST, -MOST, 7])
    cells = st.tuples(*(st.integers(0, size - 1) for size in shape))
    counts = draw(st.dictionaries(cells, amounts, max_size=8))
    return structure, shape, draw(st.permutations(range(attributes))), counts


@pytest.mark.usefixtures("_small_slices")
@settings(max_examples=tries(60))
@given(worlds())
def test_nodes_have_the_sums_of_their_cells(
    world: tuple[Lifted, tuple[int, ...], list[int], dict[Cell, int]],
) -> None:
    structure, shape, places, counts = world
    nodes = nodes_over(structure, shape, places=places)
    found = listed(lifted(table_of(shape, counts), nodes), nodes)
    expected = {node: min(max(sum_, -MOST), MOST) for node, sum_ in naive_values(counts, nodes).items()}

    assert {node: value for node, value in found.items() if value} == {
        node: value for node, value in expected.items() if value
    }
    assert found.keys() <= expected.keys(), "no node of padding"


def test_saturation_takes_no_two_values_apart() -> None:
    # One person more in a table whose sums pass 2^60: no node moves by more than that person.
    nodes = nodes_over(ht.Haar(), (4,), places=(0,))
    base: dict[Cell, int] = {(0,): MOST, (1,): MOST - 1, (2,): 3}
    before = naive_listed(base, nodes)
    for cell in range(4):
        after = naive_listed({**base, (cell,): min(base.get((cell,), 0) + 1, MOST)}, nodes)
        moved = [abs(after.get(node, 0) - before.get(node, 0)) for node in before.keys() | after.keys()]
        assert max(moved) <= 1
        assert sum(moved) <= nodes.per_cell


def naive_listed(counts: dict[Cell, int], nodes: AxisSpace) -> dict[Cell, int]:
    return listed(lifted(table_of((4,), counts), nodes), nodes)


@pytest.mark.parametrize("structure", [ht.Dyadic(), ht.Haar()], ids=repr)
def test_the_longest_line(structure: Lifted) -> None:
    nodes = nodes_over(structure, (1 << 60,), places=(0,))
    cells: dict[Cell, int] = {(0,): 5, (1,): 6, ((1 << 60) - 1,): 7}
    found = listed(lifted(table_of((1 << 60,), cells), nodes), nodes)
    tree = nodes.axes[0].tree

    assert found[(0,)] == 18
    assert found[(1,)] == (11 if isinstance(structure, ht.Dyadic) else 4)
    last = (tree.nodes_total - 1,)
    assert found[last] == (7 if isinstance(structure, ht.Dyadic) else -7)


def test_two_axes_of_keys_of_two_words() -> None:
    shape = (1 << 40, 1 << 40)
    nodes = nodes_over(ht.ProductDyadic(), shape, places=(0, 1))
    assert len(nodes.space.bounds) == 2
    cells = [(0, 0), (0, (1 << 40) - 1), ((1 << 40) - 1, 5)]
    found = listed(lifted(table_of(shape, dict.fromkeys(cells, 3)), nodes), nodes)
    levels = np.arange(41)
    expected: dict[Cell, int] = {}
    for cell in cells:
        paths = [
            axis.tree.nodes_at(levels, np.full(41, place)).tolist()
            for axis, place in zip(nodes.axes, cell, strict=True)
        ]
        for node in product(*paths):
            expected[node] = expected.get(node, 0) + 3

    assert found == expected


def test_many_cells_in_any_order_of_attributes() -> None:
    generator = np.random.default_rng(5)
    shape = (300, 70, 11)
    codes = np.stack([generator.integers(0, size, 5000) for size in shape], axis=1)
    table = ht.SparseTable(shape=shape, codes=codes, counts=generator.integers(-3, 9, 5000))
    dense = np.zeros(shape, dtype=np.int64)
    dense[tuple(table.space.unpack(table.keys).T)] = table.counts
    for places in ((0, 1, 2), (2, 0, 1)):
        nodes = nodes_over(ht.Dyadic(), shape, places=places)
        tree = nodes.axes[0].tree
        before = np.concatenate([[0], np.cumsum(dense.transpose(places).ravel())])
        numbers = np.arange(tree.nodes_total)
        sums = before[tree.lasts(numbers) + 1] - before[tree.firsts(numbers)]
        found = np.zeros(tree.nodes_total, dtype=np.int64)
        for part in lifted(table, nodes):
            keys, values = part.load()
            found[keys[0]] = values

        assert np.array_equal(found, sums)


def test_slices_tell_nothing() -> None:
    nodes = nodes_over(ht.Dyadic(), (100,), places=(0,))
    (part,) = lifted(table_of((100,), {(31,): 918_273}), nodes)

    assert "918273" not in repr(part)
    assert "31" not in repr(part)


@st.composite
def blocked_worlds(draw: st.DrawFn) -> tuple[Lifted, int, dict[Cell, int], list[Block]]:
    """A line with counts, cut into blocks by halving some of them."""
    cells = draw(st.integers(1, 40))
    amounts = st.sampled_from([1, 2, 3, -1, -2]) | st.sampled_from([MOST, -MOST, 7])
    places: st.SearchStrategy[Cell] = st.tuples(st.integers(0, cells - 1))
    counts = draw(st.dictionaries(places, amounts, max_size=12))
    waiting, found = [Block(0, (cells - 1).bit_length())], []
    while waiting:
        block = waiting.pop()
        if not block.shift or not draw(st.booleans()):
            found.append(block)
            continue
        half = block.shift - 1
        halves = [Block(block.start + (1 << half), half), Block(block.start, half)]
        waiting += [each for each in halves if each.start < cells]
    structures: list[Lifted] = [ht.Dyadic(), ht.Haar()]
    return draw(st.sampled_from(structures)), cells, counts, found


@settings(max_examples=tries(200))
@given(blocked_worlds())
def test_blocks_and_what_is_above_them_are_the_whole_tree(
    world: tuple[Lifted, int, dict[Cell, int], list[Block]],
) -> None:
    structure, cells, counts, blocks = world
    nodes = nodes_over(structure, (cells,), places=(0,))
    tree, parts, sums = nodes.axes[0].tree, [], []
    for block in blocks:
        own = sorted(
            (cell, count) for (cell,), count in counts.items() if 0 <= cell - block.start < 1 << block.shift
        )
        keys = np.array([[cell for cell, _ in own]], dtype=np.uint64)
        sums.append(sum(count for _, count in own))
        made = lifted_block(tree, block, (keys, np.array([count for _, count in own], dtype=np.int64)))
        ranges = [range(part.start[0], part.start[0] + part.bounds[0]) for part in made]
        assert ranges == list(block_levels(tree, block).values())
        parts += made
    parts += lifted_above(tree, blocks, sums)
    parts.sort(key=lambda part: part.start)
    found = listed(parts, nodes)
    expected = {node: min(max(sum_, -MOST), MOST) for node, sum_ in naive_values(counts, nodes).items()}

    assert {node: value for node, value in found.items() if value} == {
        node: value for node, value in expected.items() if value
    }
