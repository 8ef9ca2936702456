"""Marginals and buckets against a dictionary of Python's integers: exact sums, and saturated at 2^60."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.keys import KeySpace
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.sketch import SketchSpace
from hushtable.table import adding
from hushtable.table.adding import held, sketched
from hushtable.table.sparse import SparseTable
from tests.harness.statistics import tries
from tests.structures.naive import Cell
from tests.table.several import added, tables_over

MOST = 1 << 60
KEYS = ("000102030405060708090a0b0c0d0e0f", "f0e0d0c0b0a090807060504030201000", "5a" * 16)


def table_of(shape: Sequence[int], counts: Mapping[Cell, int]) -> ht.SparseTable:
    codes = np.array(list(counts), dtype=np.int64).reshape(len(counts), len(shape))
    return ht.SparseTable(shape=shape, codes=codes, counts=list(counts.values()))


def within(sums: Mapping[Cell, int]) -> dict[Cell, int]:
    """Sums that are not 0, saturated."""
    return {cell: min(max(value, -MOST), MOST) for cell, value in sums.items() if value}


def slow_marginal(counts: Mapping[Cell, int], places: Sequence[int]) -> dict[Cell, int]:
    found: dict[Cell, int] = {}
    for cell, count in counts.items():
        own = tuple(cell[place] for place in places)
        found[own] = found.get(own, 0) + count
    return within(found)


def slow_buckets(counts: Mapping[Cell, int], sketch: SketchSpace) -> dict[Cell, int]:
    found: dict[Cell, int] = {}
    for cell, count in counts.items():
        for row in range(sketch.structure.depth):
            bucket, sign = sketch.buckets(sketch.cells.pack(np.array([cell])), row)
            place = (row, int(bucket[0]))
            found[place] = found.get(place, 0) + int(sign[0]) * count
    return within(found)


def listed(table: ht.SparseTable) -> dict[Cell, int]:
    """The cells of a table, which are in order, each once and none with 0."""
    codes = list(map(tuple, table.space.unpack(table.keys).tolist()))
    assert codes == sorted(set(codes))
    assert table.counts.dtype == np.int64
    assert table.counts.all()
    assert not table.counts.flags.writeable
    return dict(zip(codes, table.counts.tolist(), strict=True))


def some_sets(shape: Sequence[int]) -> list[tuple[int, ...]]:
    return [each for size in range(1, len(shape) + 1) for each in combinations(range(len(shape)), size)]


# Sums of few cells are made in one pass, and those of many by sorting: both for the same tables.
@pytest.fixture(params=[0, 7, 1 << 20], ids=lambda cells: f"few means {cells}")
def _few_cells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "_FEW_CELLS", request.param)


AMOUNTS = st.integers(-3, 5).filter(bool) | st.sampled_from([MOST, -MOST, MOST - 1, 1 << 59])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[Cell, int]]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    cells = st.tuples(*(st.integers(0, size - 1) for size in shape))
    return shape, draw(st.dictionaries(cells, AMOUNTS, max_size=10))


@pytest.mark.usefixtures("_few_cells")
@settings(max_examples=tries(60))
@given(worlds())
def test_marginals_are_the_sums_of_their_cells(world: tuple[tuple[int, ...], dict[Cell, int]]) -> None:
    shape, counts = world
    sets = some_sets(shape)
    found = list(added(table_of(shape, counts), tables_over(shape, sets)))

    assert [each.shape for each in found] == [tuple(shape[place] for place in places) for places in sets]
    assert [listed(each) for each in found] == [slow_marginal(counts, places) for places in sets]


@settings(max_examples=tries(60))
@given(worlds(), st.integers(1, 9), st.integers(1, 3))
def test_buckets_are_the_sums_of_their_cells_with_signs(
    world: tuple[tuple[int, ...], dict[Cell, int]], width: int, depth: int
) -> None:
    shape, counts = world
    sketch = SketchSpace(ht.CountSketch(width=width, depth=depth), KeySpace(shape), KEYS[:depth])
    found = sketched(table_of(shape, counts), sketch)

    assert found.shape == (depth, width)
    assert listed(found) == slow_buckets(counts, sketch)


def random_cells(shape: Sequence[int], number: int, seed: int) -> dict[Cell, int]:
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, size, number) for size in shape], axis=1)
    counts = generator.integers(-9, 50, number)
    return {tuple(code): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True) if count}


@pytest.mark.usefixtures("_few_cells")
@pytest.mark.parametrize(
    "shape", [(30, 7, 2), (1 << 40, 1 << 40, 3), (10,) * 30], ids=["small", "two words", "10^30 cells"]
)
def test_domains_of_any_size(shape: tuple[int, ...]) -> None:
    counts = random_cells(shape, 400, 3)
    table = table_of(shape, counts)
    last = len(shape) - 1
    sets = [(0,), (last,), (0, last), (0, 1, last), tuple(range(len(shape)))]
    sketch = SketchSpace(ht.CountSketch(width=50, depth=2), table.space, KEYS[:2])

    for places, found in zip(sets, added(table, tables_over(table.shape, sets)), strict=True):
        assert listed(found) == slow_marginal(counts, places)
    assert listed(sketched(table, sketch)) == slow_buckets(counts, sketch)


@pytest.mark.usefixtures("_few_cells")
def test_an_empty_table() -> None:
    table = table_of((3, 4), {})
    sketch = SketchSpace(ht.CountSketch(width=5), table.space, KEYS[:1])

    for found in (*added(table, tables_over(table.shape, [(0,), (0, 1)])), sketched(table, sketch)):
        assert listed(found) == {}
        assert found.counts.dtype == np.int64


@pytest.mark.usefixtures("_few_cells")
def test_sums_that_cancel_are_empty_cells() -> None:
    table = table_of((2, 3), {(0, 0): 5, (0, 1): -5, (1, 1): 2, (1, 2): -1})
    home, work = added(table, tables_over(table.shape, [(0,), (1,)]))

    assert listed(home) == {(1,): 1}
    assert listed(work) == {(0,): 5, (1,): -3, (2,): -1}


@pytest.mark.usefixtures("_few_cells")
def test_one_marginal_does_not_change_the_next() -> None:
    counts = random_cells((9, 8), 60, 4)
    table = table_of((9, 8), counts)
    before = table.keys.copy(), table.counts.copy()
    first, *_, last = added(table, tables_over(table.shape, [(0,), (1,), (0, 1), (0,)]))

    assert listed(first) == listed(last)
    assert np.array_equal(table.keys, before[0])
    assert np.array_equal(table.counts, before[1])


class Neighbours:
    """Nodes of somebody else's structure: pairs of neighbours by the first attribute, of two kinds."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.space = KeySpace((2, shape[0] // 2 + 1))

    def holding(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The pair of each kind that holds a cell."""
        return np.stack([[[kind, (code[0] + kind) // 2] for kind in range(2)] for code in codes.tolist()])

    def changed(self, cells: Sensitivities) -> Sensitivities:
        """One of each kind."""
        return cells.added_up().repeated(2)


@pytest.mark.usefixtures("_few_cells")
@pytest.mark.parametrize("shape", [(9, 4), (1 << 40, 1 << 40)], ids=["small", "two words"])
@pytest.mark.parametrize("bounded", [False, True])
def test_nodes_of_any_kind_have_the_sums_of_the_cells_they_hold(
    shape: tuple[int, ...], bounded: bool
) -> None:
    counts = {**random_cells(shape, 60, 5), (1, 1): MOST, (1, 2): MOST}  # which meet above 2^60
    wanted: dict[Cell, int] = {}
    for cell, count in counts.items():
        for kind in range(2):
            node = kind, (cell[0] + kind) // 2
            wanted[node] = wanted.get(node, 0) + count
    table = table_of(shape, counts)
    if bounded:
        each = Sensitivities(l1=Fraction(3), l2_squared=Fraction(9), per_cell=Fraction(3))
        table = SparseTable.from_cells(table.space, table.keys, table.counts, sensitivity=each)
    found = held(table, cast(Any, Neighbours(shape)))  # which has all that is asked of it here

    assert listed(found) == within(wanted)
    assert found.sensitivity == (Neighbours(shape).changed(each) if bounded else None)


def moved(before: Mapping[Cell, int], after: Mapping[Cell, int]) -> int:
    return sum(abs(after.get(cell, 0) - before.get(cell, 0)) for cell in before.keys() | after.keys())


@pytest.mark.usefixtures("_few_cells")
@settings(max_examples=tries(60))
@given(worlds(), st.data())
def test_one_person_never_changes_more_than_the_sensitivity(
    world: tuple[tuple[int, ...], dict[Cell, int]], data: st.DataObject
) -> None:
    # Sums beyond 2^60 saturate, which must not take neighbours further apart than one person does.
    shape, counts = world
    cell = data.draw(st.tuples(*(st.integers(0, size - 1) for size in shape)))
    more = {**counts, cell: min(counts.get(cell, 0) + 1, MOST)}
    more = {each: count for each, count in more.items() if count}
    sets, sketch = some_sets(shape), SketchSpace(ht.CountSketch(width=2, depth=3), KeySpace(shape), KEYS)
    tables = table_of(shape, counts), table_of(shape, more)

    each = [[listed(found) for found in added(table, tables_over(table.shape, sets))] for table in tables]
    assert all(moved(before, after) <= 1 for before, after in zip(*each, strict=True))
    buckets = [listed(sketched(table, sketch)) for table in tables]
    assert moved(*buckets) <= sketch.per_cell
