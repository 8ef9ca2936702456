"""Trees by their definition: every node, every cell, one at a time. No arithmetic on numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from hushtable.structures.axes import AxisSpace
from hushtable.structures.haar import Haar

Cell = tuple[int, ...]
Factors = list[dict[int, int]]  # for each node in order, the cells in it by position, each with +1 or -1


def dyadic_nodes(cells: int) -> Factors:
    """All dyadic ranges of a line, from the root down, without those of padding alone."""
    width = 1
    while width < cells:
        width *= 2
    nodes = []
    while width:
        for start in range(0, cells, width):
            nodes.append(dict.fromkeys(range(start, min(start + width, cells)), 1))
        width //= 2
    return nodes


def haar_nodes(cells: int) -> Factors:
    """The total, and every range of two halves that both hold a cell, as left minus right."""
    width = 1
    while width < cells:
        width *= 2
    nodes = [dict.fromkeys(range(cells), 1)]
    while width > 1:
        for start in range(0, cells, width):
            middle, stop = start + width // 2, min(start + width, cells)
            if middle < cells:
                nodes.append({position: 1 if position < middle else -1 for position in range(start, stop)})
        width //= 2
    return nodes


def factors(nodes: AxisSpace) -> list[Factors]:
    """The nodes of each axis."""
    make = haar_nodes if isinstance(nodes.structure, Haar) else dyadic_nodes
    return [make(axis.line.cells) for axis in nodes.axes]


def position(nodes: AxisSpace, axis: int, cell: Cell) -> int:
    """Where a cell stands in the line of an axis: lexicographic in the order of places."""
    line = nodes.axes[axis].line
    found = 0
    for place, size in zip(line.places, line.sizes, strict=True):
        found = found * size + cell[place]
    return found


def naive_values(counts: Mapping[Cell, int], nodes: AxisSpace) -> dict[Cell, int]:
    """The value of every node, by adding up its cells."""
    axes = factors(nodes)
    values = {}
    for numbers in product(*(range(len(each)) for each in axes)):
        total = 0
        for cell, count in counts.items():
            share = count
            for axis, number in enumerate(numbers):
                share *= axes[axis][number].get(position(nodes, axis, cell), 0)
            total += share
        values[numbers] = total
    return values
