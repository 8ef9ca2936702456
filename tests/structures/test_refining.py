"""Nodes of hierarchies: which there are, what they hold, and that they are ranges of one line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

import hushtable as ht
from hushtable.domain.items import codes_at
from hushtable.structures.chains import Chain
from hushtable.structures.refining import RefinedTree, Step
from tests.structures.refined import HOME, Refined, hierarchies, refined


@given(hierarchies())
def test_positions_are_a_line_without_gaps_in_which_nodes_are_ranges(world: Refined) -> None:
    tree, cells = world.nodes.tree, world.cells
    positions = tree.of(np.array(cells), world.nodes.places)

    assert sorted(set(positions.tolist())) == list(range(tree.cells))
    for level, at in enumerate(world.levels):
        nodes: dict[tuple[int, ...], set[int]] = {}
        for cell, position in zip(cells, positions.tolist(), strict=True):
            nodes.setdefault(at(cell), set()).add(position)
        assert len(nodes) == tree.nodes_at[level]
        firsts = np.array(sorted(min(each) for each in nodes.values()))
        sizes = {min(each): len(each) for each in nodes.values()}
        assert all(max(each) - min(each) == len(each) - 1 for each in nodes.values())
        assert tree.cells_of(firsts, level).tolist() == [sizes[first] for first in firsts.tolist()]
        every = np.arange(tree.cells)
        assert np.flatnonzero(tree.are_nodes(every, level)).tolist() == firsts.tolist()


@given(hierarchies())
def test_children_share_the_cells_of_their_parent(world: Refined) -> None:
    tree = world.nodes.tree
    here = np.zeros(1, dtype=np.int64)
    for level in range(tree.levels - 1):
        children, owners = tree.family(here, level)

        assert np.all(np.diff(children) > 0)
        assert np.bincount(owners).tolist() == tree.branches(here, level).tolist()
        sizes = np.bincount(owners, weights=tree.cells_of(children, level + 1))
        assert sizes.tolist() == tree.cells_of(here, level).tolist()
        parents = tree.parents(children + tree.offsets[level + 1], level + 1)
        assert (parents - tree.offsets[level]).tolist() == here[owners].tolist()
        assert set(tree.level_of(parents).tolist()) == {level}
        places = tree.places_among(children, level)
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        assert places.tolist() == (np.arange(owners.size) - starts[owners]).tolist()
        assert tree.child_at(here[owners], level, places).tolist() == children.tolist()
        inside = children + np.maximum(tree.cells_of(children, level + 1) - 1, 0)
        assert tree.holding(inside, level + 1).tolist() == children.tolist()
        # Siblings of a node by chance, rounded up for each attribute that is refined.
        mean = float((tree.branches(here, level)[owners]).mean())
        assert mean <= tree.siblings[level + 1] <= (mean + 1) ** len(tree.steps[level])
        here = children


@given(hierarchies())
def test_columns_say_which_node_a_row_is(world: Refined) -> None:
    tree, nodes = world.nodes.tree, world.nodes
    numbers = [np.zeros(1, dtype=np.int64)]
    for level in range(tree.levels - 1):
        numbers.append(tree.family(numbers[-1], level)[0])
    codes = np.concatenate([each + offset for each, offset in zip(numbers, tree.offsets, strict=True)])

    columns = nodes.columns(world.domain)
    table = dict(
        zip(
            [each.name for each in columns], nodes.to_columns(world.domain, codes[:, np.newaxis]), strict=True
        )
    )

    assert nodes.to_codes(world.domain, pa.table(table))[:, 0].tolist() == codes.tolist()
    assert nodes.nodes_total == codes.size
    # A row has the values of its node, and those above; what the cells of the node do not share is empty.
    for level, label in enumerate(nodes.labels):
        rows = pa.table(table).filter(pc.equal(table["level"], label)).to_pylist()
        assert len({tuple(row.items()) for row in rows}) == tree.nodes_at[level]
        for row in rows:
            some = [name for name, value in row.items() if value is not None and name != "level"]
            assert set(filter(None, label.split(", "))) - {"all"} <= set(some)


def test_ranges_of_numbers_and_times_are_searched_for_and_never_listed() -> None:
    domain = ht.Domain(
        day=ht.times("2023-11-01", "2025-02-01", every="1 hour", levels=["1 day", "1 month"]),
        age=ht.integers(0, 10**12 - 1),
    )
    day = domain.attributes[0]
    chain = Chain(day, (2, 1, 0))
    own = np.arange(day.size)
    for stage, level in ((1, 2), (2, 1)):
        coarse = codes_at(day, level, own)
        assert np.array_equal(chain.values(stage, own), coarse)
        assert np.array_equal(chain.starts(stage)[:-1], np.flatnonzero(np.diff(coarse, prepend=-1)))

    wide = RefinedTree([Chain(domain.attributes[1], (0,))], [[Step(0, 1)]])
    assert wide.cells == 10**12
    assert wide.parents(np.array([10**12 + 5]), 1).tolist() == [0]


def test_values_that_are_listed_out_of_order_come_back_as_they_are() -> None:
    chain = Chain(HOME, (2, 1, 0))
    for stage, level in ((1, 2), (2, 1), (3, 0)):
        codes = np.arange(chain.sizes[stage])
        places = chain.places(stage, codes)
        assert chain.codes(stage, places).tolist() == codes.tolist()
        own = np.arange(HOME.size)
        held = chain.codes(stage, chain.values(stage, chain.ranks(own)))
        assert held.tolist() == codes_at(HOME, level, own).tolist()


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (("tract(home)", "county(home)"), "is not finer than one before it"),
        (("county(home)", "county(home)"), "refines nothing"),
        (("county(town)",), "there is no attribute 'town'"),
        ((), "0 levels are named"),
    ],
)
def test_levels_that_are_none_are_refused(levels: tuple[str, ...], said: str) -> None:
    with pytest.raises(ht.BadChoice, match=said):
        refined(ht.Domain(attributes=(HOME,)), *levels)


def test_a_hierarchy_that_is_too_large_to_number_is_refused() -> None:
    each = ht.integers(0, 10**7)
    with pytest.raises(ht.BadChoice, match="end at a coarser level"):
        ht.Hierarchy("a, b, c").over(ht.Domain(a=each, b=each, c=each))
