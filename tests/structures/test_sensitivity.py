"""What one person changes in all nodes together: by brute force, for every way of counting people."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.structures.axes import AxisSpace
from hushtable.structures.axes import Ordered as Lifted
from tests.harness.nodes import nodes_over
from tests.structures.naive import Cell, naive_values
from tests.structures.refined import Refined, named, refined

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


HIERARCHIES = [
    refined(ht.Domain(attributes=(named("town", ["a1", "a2", "b1"], county=1),)), "county(town)", "town"),
    refined(ht.Domain(attributes=(named("town", ["a1", "a2", "b1"], county=1),)), "county(town)"),
    refined(
        ht.Domain(attributes=(named("a", ["x", "y"]), named("b", ["u", "v"]))), "a", "b", shares=[1, 4, 2]
    ),
]


def paid(law: type[NoiseLaw], world: Refined, measure: Measure, added: dict[Cell, int]) -> Fraction:
    """What the noise of all levels together costs for what one unit adds, of a budget of 1."""
    change, cost = world.nodes.change(law, measure.sensitivities), Fraction(0)
    for share, at in zip(world.nodes.tree.shares, world.levels, strict=True):
        sums: dict[Cell, int] = {}
        for cell, amount in added.items():
            sums[at(cell)] = sums.get(at(cell), 0) + amount
        moved = [abs(each) for each in sums.values()]
        size = sum(each**2 for each in moved) if law is Gaussian else sum(moved)
        cost += law.calibrated(budget=Fraction(share), change=change).loss(change=Fraction(size))
    return cost


@pytest.mark.parametrize("measure", [*MEASURES, *BY_CELL], ids=repr)
@pytest.mark.parametrize("law", [Geometric, Gaussian])
@pytest.mark.parametrize("world", HIERARCHIES, ids=lambda world: repr(world.nodes.structure))
def test_one_unit_of_a_hierarchy(world: Refined, law: type[NoiseLaw], measure: Measure) -> None:
    most = max(paid(law, world, measure, added) for added in contributions(measure, world.cells))

    assert most <= 1
    if law is Geometric:
        assert most == 1
        assert measure.sensitivity * world.nodes.per_cell == world.nodes.change(law, measure.sensitivities)
