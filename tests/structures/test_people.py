"""What one person who is in few cells changes in all nodes: by brute force, for every structure."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import KeyStream
from hushtable.structures.cells import Cells
from hushtable.structures.sketch import CountSketch, SketchSpace
from hushtable.summaries.draws import drawn_keys
from hushtable.table.adding import sketched
from tests.harness.nodes import node_space
from tests.structures.naive import naive_values
from tests.structures.test_sensitivity import BY_CELL, MEASURES, contributions
from tests.table.several import added, tables_over

SHAPE = (4, 2)
DOMAIN = ht.Domain(
    attributes=tuple(
        Attribute(name=name, values=Integers(low=0, high=size - 1))
        for name, size in zip("ab", SHAPE, strict=True)
    )
)
CELLS = list(product(*map(range, SHAPE)))


class Nodes(NamedTuple):
    """Nodes with the part that each cell has in them, and their shares of epsilon."""

    space: Any
    parts: NDArray[np.int64]  # of nodes and cells
    shares: NDArray[np.int64]

    def moved(self, measure: Measure) -> tuple[int, int, int]:
        """The most that one unit moves: all nodes times their shares, squares of all, and one node."""
        every = np.array([[added.get(cell, 0) for cell in CELLS] for added in contributions(measure, CELLS)])
        changes = np.abs(every @ self.parts.T)
        squares = (changes**2).sum(axis=1)
        return int((changes @ self.shares).max()), int(squares.max()), int(changes.max())


def one_cell(cell: tuple[int, ...]) -> ht.SparseTable:
    return ht.SparseTable(shape=SHAPE, codes=[list(cell)], counts=[1])


def dense(tables: list[ht.SparseTable]) -> NDArray[np.int64]:
    """The counts of all cells of tables, one after the other."""
    found = []
    for table in tables:
        values = np.zeros(table.shape, dtype=np.int64)
        values[tuple(table.space.unpack(table.keys).T)] = table.counts
        found.append(values.ravel())
    return np.concatenate(found)


def of_tables(sets: list[list[int]]) -> Nodes:
    space = tables_over(SHAPE, sets)
    shares = [each.share for each in space.marginals for _ in range(each.domain.cells_total)]
    return Nodes(
        space, np.stack([dense(added(one_cell(cell), space)) for cell in CELLS], 1), np.array(shares)
    )


def of_lines(structure: Any) -> Nodes:
    space = node_space(structure, DOMAIN)
    values = [naive_values({cell: 1}, space) for cell in CELLS]
    nodes = sorted({node for each in values for node in each})
    parts = np.array([[each.get(node, 0) for each in values] for node in nodes])
    return Nodes(space, parts, np.ones(len(nodes), dtype=np.int64))


def of_a_tree() -> Nodes:
    space = node_space(ht.Tree(branching=2), DOMAIN)
    addresses, rows, shares = space.tree.addresses.of(np.array(CELLS)), [], []
    for shift, share in zip(space.tree.shifts, space.tree.shares, strict=True):
        for prefix in np.unique(addresses >> shift):
            rows.append((addresses >> shift) == prefix)
            shares.append(share)
    return Nodes(space, np.array(rows).astype(np.int64), np.array(shares))


def of_a_sketch() -> Nodes:
    structure = CountSketch(width=3, depth=2)
    space = SketchSpace(structure, DOMAIN.space, drawn_keys(structure, KeyStream()))
    parts = np.stack([dense([sketched(one_cell(cell), space)]) for cell in CELLS], 1)
    return Nodes(space, parts, np.ones(len(parts), dtype=np.int64))


EVERY = {
    "cells": lambda: Nodes(
        node_space(Cells(), DOMAIN),
        np.eye(len(CELLS), dtype=np.int64),
        np.ones(len(CELLS), dtype=np.int64),
    ),
    "tables": lambda: of_tables([[0], [1], [0, 1]]),
    "one coarse table": lambda: of_tables([[1]]),
    "dyadic": lambda: of_lines(ht.Dyadic()),
    "product of dyadic": lambda: of_lines(ht.ProductDyadic()),
    "haar": lambda: of_lines(ht.Haar()),
    "tree": of_a_tree,
    "sketch": of_a_sketch,
}
SIGNED = ("haar", "sketch")  # cells of a person may cancel out


@pytest.mark.parametrize("measure", [*BY_CELL, *MEASURES], ids=repr)
@pytest.mark.parametrize("name", EVERY)
def test_one_person_moves_all_nodes_by_no_more_than_is_stated(name: str, measure: Measure) -> None:
    nodes = EVERY[name]()
    stated = nodes.space.changed(measure.sensitivities)
    most = measure.sensitivity * nodes.space.per_cell  # what the terms of a release say

    moved = nodes.moved(measure)

    assert moved[0] <= most == stated.l1
    assert moved[1] <= stated.l2_squared
    assert moved[2] <= stated.per_cell
    if name not in SIGNED:
        assert moved[0] == most


@pytest.mark.parametrize("measure", [*BY_CELL, *MEASURES], ids=repr)
def test_what_is_stated_of_cells_is_reached(measure: Measure) -> None:
    cells, stated = EVERY["cells"](), measure.sensitivities

    assert cells.moved(measure) == tuple(map(int, (stated.l1, stated.l2_squared, stated.per_cell)))


def test_all_cells_of_a_person_may_meet_in_a_coarser_table() -> None:
    """Factors do not multiply upwards: once in each of 3 cells is three times in their sum."""
    measure = Measure(unit=ht.Unit("person", max_cells=3))

    assert measure.sensitivities == Sensitivities(
        l1=Fraction(3), l2_squared=Fraction(3), per_cell=Fraction(1)
    )
    assert EVERY["one coarse table"]().moved(measure) == (3, 9, 3)
