"""Nodes by number, and ranges as sums of nodes, against their definitions."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.lines import Line
from hushtable.structures.registry import as_structure
from hushtable.structures.trees import DyadicTree, HaarTree
from tests.harness.nodes import node_space, nodes_over, published_units
from tests.structures.naive import dyadic_nodes, haar_nodes

TREES = [DyadicTree, HaarTree]


def integers(name: str, size: int) -> Attribute:
    return Attribute(name=name, values=Integers(low=0, high=size - 1))


@pytest.mark.parametrize("make", TREES)
def test_numbers_of_nodes_are_those_of_the_definition(make: type[DyadicTree] | type[HaarTree]) -> None:
    for cells in range(1, 21):
        tree = make(cells)
        expected = (dyadic_nodes if make is DyadicTree else haar_nodes)(cells)
        numbers = np.arange(tree.nodes_total)
        found = list(zip(tree.firsts(numbers).tolist(), tree.lasts(numbers).tolist(), strict=True))

        assert found == [(min(node), max(node)) for node in expected]
        levels = tree.level_of(numbers)
        assert np.array_equal(tree.nodes_at(levels, tree.firsts(numbers)), numbers)
        assert np.array_equal(tree.nodes_at(levels, tree.lasts(numbers)), numbers)


def test_parents_and_children_are_those_that_hold_each_other() -> None:
    for cells in range(1, 21):
        tree, nodes = DyadicTree(cells), dyadic_nodes(cells)
        for level in range(1, tree.levels):
            numbers = np.arange(tree.counts[level]) + tree.offsets[level]
            parents = tree.parents(numbers, level)
            pairs = zip(numbers, parents, strict=True)
            assert all(nodes[child].keys() <= nodes[parent].keys() for child, parent in pairs)
            upper = np.arange(tree.counts[level - 1]) + tree.offsets[level - 1]
            assert tree.children(upper, level - 1).tolist() == numbers.tolist()


@pytest.mark.parametrize("make", TREES)
@given(data=st.data(), cells=st.integers(1, 1 << 60))
def test_long_lines_have_the_nodes_they_count(
    make: type[DyadicTree] | type[HaarTree], cells: int, data: st.DataObject
) -> None:
    tree = make(cells)
    assert tree.nodes_total < 1 << 62
    assert sum(tree.counts) == tree.nodes_total
    # One split less than cells, and the total; dyadic ranges at most twice as many, and one a level.
    assert tree.nodes_total == cells if make is HaarTree else tree.nodes_total < 2 * cells + tree.levels
    positions = np.array([data.draw(st.integers(0, cells - 1)), cells - 1])
    for level in range(tree.levels):
        nodes = tree.nodes_at(np.full(2, level), positions)
        inside = nodes < tree.offsets[level] + tree.counts[level]
        assert (tree.firsts(nodes[inside]) <= positions[inside]).all()
        assert (tree.lasts(nodes[inside]) >= positions[inside]).all()


@cache
def fewest(cells: int) -> dict[frozenset[int], int]:
    """For each range, the smallest number of dyadic nodes that make it up, by trying all first nodes."""
    nodes = {frozenset(node) for node in dyadic_nodes(cells)}
    found = {frozenset[int](): 0}
    for width in range(1, cells + 1):
        for start in range(cells - width + 1):
            wanted = frozenset(range(start, start + width))
            first = [node for node in nodes if node <= wanted and start in node]
            found[wanted] = 1 + min(found[wanted - node] for node in first)
    return found


@pytest.mark.parametrize("cells", range(1, 18))
def test_dyadic_ranges_take_the_fewest_nodes(cells: int) -> None:
    tree, nodes = DyadicTree(cells), dyadic_nodes(cells)
    ranges = [(a, b) for a, b in product(range(cells + 1), repeat=2) if a <= b]
    found = tree.combination(np.array([a for a, _ in ranges]), np.array([b for _, b in ranges]))
    for owner, (start, stop) in enumerate(ranges):
        mine = found.nodes[found.owners == owner].tolist()
        wanted = frozenset(range(start, stop))
        assert sorted(cell for node in mine for cell in nodes[node]) == sorted(wanted)
        assert len(mine) == fewest(cells)[wanted]


@pytest.mark.parametrize("make", TREES)
@given(data=st.data(), cells=st.integers(1, 300))
def test_sums_over_nodes_are_sums_over_cells(
    make: type[DyadicTree] | type[HaarTree], cells: int, data: st.DataObject
) -> None:
    tree = make(cells)
    counts = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=cells, max_size=cells)))
    nodes = (dyadic_nodes if make is DyadicTree else haar_nodes)(cells)
    values = np.array([sum(factor * counts[cell] for cell, factor in node.items()) for node in nodes])
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, cells)] * 2).map(sorted), min_size=1, max_size=5))
    starts, stops = np.array(ends).T
    found = tree.combination(starts, stops)
    sums = np.bincount(found.owners, found.factors * values[found.nodes], minlength=len(ends))
    before = np.concatenate([[0], np.cumsum(counts)])

    assert np.allclose(sums, before[stops] - before[starts])
    pairs = list(zip(found.owners.tolist(), found.nodes.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert found.factors.all()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_a_line_is_the_lexicographic_order(shape: list[int], data: st.DataObject) -> None:
    places = data.draw(st.permutations(range(len(shape))))
    line = Line(shape, places=places)
    cells = np.array(list(product(*(range(shape[place]) for place in places))))
    codes = np.empty_like(cells)
    codes[:, places] = cells

    assert line.positions(codes).tolist() == list(range(line.cells))
    assert line.codes(np.arange(line.cells)).tolist() == cells.tolist()


@pytest.mark.parametrize(
    ("structure", "total", "levels"),
    [(ht.Dyadic(), 30, 5), (ht.Haar(), 15, 5), (ht.ProductDyadic(), 11 * 6, 4 * 3)],
    ids=repr,
)
def test_a_domain_has_these_nodes(structure: Lifted, total: int, levels: int) -> None:
    domain = ht.Domain(attributes=(integers("a", 5), integers("b", 3)))

    assert published_units(structure, domain)[:2] == (total, levels)
    assert node_space(structure, domain).space.cells_total == total


def test_an_order_puts_the_other_attributes_last() -> None:
    domain = ht.Domain(attributes=(integers("a", 5), integers("b", 3), integers("c", 2)))

    assert node_space(ht.Haar(order=["c"]), domain).axes[0].line.places == (2, 0, 1)
    assert node_space(ht.Dyadic(order=["b", "a", "c"]), domain).axes[0].line.places == (1, 0, 2)


def test_structures_that_do_not_fit_are_refused() -> None:
    one, two = ht.Domain(attributes=(integers("a", 5),)), (1 << 40, 1 << 40)
    with pytest.raises(ht.BadChoice, match="'product-dyadic' needs two attributes, and the domain has 1"):
        node_space(ht.ProductDyadic(), one)
    with pytest.raises(ht.BadChoice, match="the order names 'home', which is not an attribute"):
        node_space(ht.Dyadic(order=["home"]), one)
    with pytest.raises(ht.BadChoice, match=r"'dyadic' takes up to 2\^60 cells in a line"):
        nodes_over(ht.Dyadic(), two, places=(0, 1))
    assert nodes_over(ht.ProductDyadic(), two, places=(0, 1)).per_cell == 41 * 41


@pytest.mark.parametrize("choice", ["wavelets", "", 5, [], ht.Dyadic, object()])
def test_what_is_no_structure_is_refused(choice: object) -> None:
    with pytest.raises(ht.BadChoice, match=r"there is no structure .* a name: cells, dyadic"):
        as_structure(choice)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (ht.Dyadic, {"consistent": 1}, "consistent=1 is not allowed"),
        (ht.Dyadic, {"order": "work"}, "order='work' is not an order"),
        (ht.Haar, {"order": ["a", "a"]}, "is not an order"),
        (ht.ProductDyadic, {"order": []}, r"order=\[\] is not an order"),
        (ht.Haar, {"order": [3]}, r"order=\[3\] is not an order"),
    ],
)
def test_bad_settings_are_refused(kind: type[ht.Dyadic], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.BadChoice, match=message):
        kind(**settings)
