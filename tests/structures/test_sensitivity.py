"""What one person changes in all nodes together: by brute force, for every way of counting people."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, combinations_with_replacement, product

import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.structures.axes import AxisSpace
from hushtable.structures.axes import Ordered as Lifted
from tests.harness.nodes import nodes_over
from tests.structures.naive import Cell, naive_values

MEASURES = [
    Measure(),
    Measure(count_column="people"),
    Measure(sum_column="age", clamp=(-2, 3)),
    Measure(unit=ht.Unit("person", max_rows=2)),
    Measure(sum_column="age", clamp=(-3, 1), unit=ht.Unit("person", max_rows=2)),
]
BY_CELL = [
    Measure(unit=ht.Unit("person", max_cells=1)),
    Measure(unit=ht.Unit("person", max_cells=2)),
    Measure(unit=ht.Unit("person", max_cells=3)),
    Measure(unit=ht.Unit("person", max_cells=2, max_per_cell=2)),
    Measure(sum_column="age", clamp=(-2, 1), unit=ht.Unit("person", max_cells=2)),
]


def contributions(measure: Measure, cells: list[Cell]) -> Iterable[dict[Cell, int]]:
    """Everything that one unit may add to the table."""
    low, high = measure.clamp or (1, 1)
    amounts = sorted({low, high, 0} if measure.clamp else {1})
    unit = measure.unit
    if unit is not None and unit.max_cells is not None and unit.max_per_cell is not None:
        sums = {sum(rows) for rows in combinations_with_replacement([*amounts, 0], unit.max_per_cell)}
        for count in range(1, 1 + min(unit.max_cells, len(cells))):
            for places in combinations(cells, count):
                yield from (dict(zip(places, values, strict=True)) for values in product(sums, repeat=count))
        return
    rows = list(product(cells, amounts))
    for count in range(1, 1 + (unit.max_rows or 0 if unit else 1)):
        for chosen in combinations_with_replacement(rows, count):
            added: dict[Cell, int] = {}
            for cell, amount in chosen:
                added[cell] = added.get(cell, 0) + amount
            yield added


def change(added: dict[Cell, int], nodes: AxisSpace) -> int:
    """How far all nodes together move. They are linear, so what was there before is no matter."""
    return sum(abs(value) for value in naive_values(added, nodes).values())


def largest_change(nodes: AxisSpace, shape: tuple[int, ...], measure: Measure) -> int:
    cells = list(product(*map(range, shape)))
    return max(change(added, nodes) for added in contributions(measure, cells))


@pytest.mark.parametrize("structure", [ht.Dyadic(), ht.Haar()], ids=repr)
def test_one_row_of_a_line(structure: Lifted) -> None:
    for cells in range(1, 21):
        nodes = nodes_over(structure, (cells,), places=(0,))

        assert largest_change(nodes, (cells,), Measure()) == nodes.per_cell
        assert nodes.per_cell == (cells - 1).bit_length() + 1


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("structure", [ht.Dyadic(), ht.Haar()], ids=repr)
@pytest.mark.parametrize("cells", [1, 2, 5, 6])
def test_one_unit_of_a_line(structure: Lifted, measure: Measure, cells: int) -> None:
    nodes = nodes_over(structure, (cells,), places=(0,))

    assert largest_change(nodes, (cells,), measure) == measure.sensitivity * nodes.per_cell


@pytest.mark.parametrize("measure", MEASURES[:4], ids=repr)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 3), (5, 2)])
def test_one_unit_of_two_attributes(measure: Measure, shape: tuple[int, int]) -> None:
    worlds: list[tuple[Lifted, Cell]] = [
        (ht.ProductDyadic(), (1, 0)),
        (ht.Dyadic(), (1, 0)),
        (ht.Haar(), (0, 1)),
    ]
    for structure, places in worlds:
        nodes = nodes_over(structure, shape, places=places)

        assert largest_change(nodes, shape, measure) == measure.sensitivity * nodes.per_cell


def test_a_count_of_levels_that_leaves_out_the_root_would_be_caught() -> None:
    nodes = nodes_over(ht.Dyadic(), (8,), places=(0,))

    assert largest_change(nodes, (8,), Measure()) > nodes.axes[0].tree.height
