"""Addresses: prefixes are boxes, and no two cells share one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.structures.addresses import Addresses, LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.lines import Line

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda shape: np.prod(shape) <= 600)


@st.composite
def addressed(draw: st.DrawFn) -> tuple[tuple[int, ...], Addresses]:
    shape = tuple(draw(SHAPES))
    if draw(st.booleans()):
        return shape, MortonAddresses(shape)
    places = draw(st.permutations(range(len(shape))))
    return shape, LineAddresses(Line(shape, places=places))


def every_cell(shape: tuple[int, ...]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)


@given(addressed())
def test_no_two_cells_share_an_address(world: tuple[tuple[int, ...], Addresses]) -> None:
    shape, addresses = world
    found = addresses.of(every_cell(shape))

    assert len(set(found.tolist())) == len(found)
    assert found.min() >= 0
    assert found.max() < 1 << addresses.bits


@given(addressed(), st.sampled_from([2, 4, 8, 16]))
def test_nodes_hold_the_cells_of_their_boxes(
    world: tuple[tuple[int, ...], Addresses], branching: int
) -> None:
    shape, addresses = world
    tree = BranchingTree(addresses, branching=branching)
    found = addresses.of(every_cell(shape))
    for level, shift in enumerate(tree.shifts):
        prefixes = np.arange(1 << (addresses.bits - shift))
        held = np.bincount(found >> shift, minlength=prefixes.size)
        assert tree.cells_of(prefixes, level).tolist() == held.tolist()


@given(SHAPES)
def test_a_prefix_of_a_z_order_is_a_box(shape: list[int]) -> None:
    addresses = MortonAddresses(shape)
    cells = every_cell(tuple(shape))
    found = addresses.of(cells)
    for shift in range(addresses.bits + 1):
        prefixes = np.arange(1 << (addresses.bits - shift))
        starts, stops = addresses.boxes(prefixes, shift)
        inside = np.all((cells >= starts[found >> shift]) & (cells < stops[found >> shift]), axis=1)
        assert inside.all()


@given(addressed(), st.sampled_from([2, 4, 8, 16]))
def test_children_share_the_cells_of_their_parent(
    world: tuple[tuple[int, ...], Addresses], branching: int
) -> None:
    _, addresses = world
    tree = BranchingTree(addresses, branching=branching)
    prefixes = np.zeros(1, dtype=np.int64)
    for level in range(tree.levels - 1):
        every, real = tree.children(prefixes, level)
        assert real.size <= branching * prefixes.size
        assert every.size == tree.width(level) * prefixes.size
        cells = tree.cells_of(every, level + 1).reshape(-1, tree.width(level))
        assert cells.sum(axis=1).tolist() == tree.cells_of(prefixes, level).tolist()
        assert (cells > 0).sum(axis=1).tolist() == tree.branches(prefixes, level).tolist()
        prefixes = every[real]
    assert tree.cells_of(prefixes, tree.levels - 1).tolist() == [1.0] * prefixes.size


def test_thirty_attributes_fit_one_address() -> None:
    addresses = MortonAddresses([4] * 30)
    codes = np.tile(np.array([[3, 1, 0]]), 10)

    assert addresses.bits == 60
    starts, stops = addresses.boxes(addresses.of(codes), 0)
    assert starts.tolist() == codes.tolist()
    assert np.all(stops - starts == 1)


@pytest.mark.parametrize("cells", [1, 2, 1 << 60])
def test_levels_of_a_line(cells: int) -> None:
    tree = BranchingTree(LineAddresses(Line((cells,), places=(0,))), branching=16)

    assert tree.shifts[0] == tree.addresses.bits
    assert tree.shifts[-1] == 0
    assert tree.levels == -(-tree.addresses.bits // 4) + 1
    assert tree.nodes_total < 1 << 62
