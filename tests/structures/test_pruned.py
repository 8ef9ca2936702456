"""The nodes of pruned trees: their numbers and intervals, what one row changes, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.laws.geometric import Geometric
from hushtable.structures import branching
from hushtable.structures.addresses import LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.lines import Line
from hushtable.structures.pruned import PrunedSpace
from hushtable.structures.registry import as_structure
from tests.harness.nodes import node_space, nodes_over, published_units
from tests.structures.pruned import World, every_cell, pruned, trees
from tests.structures.test_sensitivity import contributions

Shape = tuple[int, ...]


def domain_of(*sizes: int) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=name, values=Integers(low=0, high=size - 1))
            for name, size in zip("abcd", sizes, strict=False)
        )
    )


@given(trees())
def test_intervals_are_the_cells_of_nodes_and_nodes_are_found_by_them(made: Any) -> None:
    shape, tree = made
    nodes = PrunedSpace(ht.Tree(), tree)
    cells = every_cell(shape)
    addresses = tree.addresses.of(cells)
    for level, shift in enumerate(tree.shifts):
        inside: dict[int, list[int]] = {}
        for row in np.argsort(addresses).tolist():
            inside.setdefault(int(addresses[row]) >> shift, []).append(row)
        codes = np.array(sorted(inside))[:, np.newaxis] + tree.offsets[level]
        found = nodes.intervals(codes)

        assert found.levels.tolist() == [[level]] * len(codes)
        assert found.firsts.tolist() == [cells[inside[prefix][0]].tolist() for prefix in sorted(inside)]
        assert found.lasts.tolist() == [cells[inside[prefix][-1]].tolist() for prefix in sorted(inside)]
        assert np.array_equal(nodes.nodes_at(found.levels, found.firsts), codes)
        assert np.array_equal(nodes.nodes_at(found.levels, found.lasts), codes)
        assert nodes.have_cells(codes)
        padding = np.setdiff1d(np.arange(1 << (tree.addresses.bits - shift)), sorted(inside))
        assert not any(nodes.have_cells(np.array([[each + tree.offsets[level]]])) for each in padding)


@given(pruned(), st.data())
def test_a_tree_that_lost_a_node_above_others_has_a_hole(world: World, data: st.DataObject) -> None:
    nodes = PrunedSpace(ht.Tree(), world.tree)
    codes = world.numbers[:, np.newaxis]
    assert nodes.are_rooted(codes)

    levels = world.tree.level_of(world.numbers)
    above = [
        int(world.tree.parents(world.numbers[levels == level], level)[0])
        for level in range(1, world.tree.levels)
        if (levels == level).any()
    ]
    lost = data.draw(st.sampled_from([0, *above]))
    assert not nodes.are_rooted(codes[world.numbers != lost])


def weighted_change(added: dict[Shape, int], tree: BranchingTree) -> int:
    """How far all nodes together move, each level times its share: by adding up cells one by one."""
    moved = 0
    for share, shift in zip(tree.shares, tree.shifts, strict=True):
        sums: dict[int, int] = {}
        for cell, amount in added.items():
            prefix = int(tree.addresses.of(np.array([cell]))[0]) >> shift
            sums[prefix] = sums.get(prefix, 0) + amount
        moved += share * sum(map(abs, sums.values()))
    return moved


MEASURES = [
    Measure(),
    Measure(count_column="people"),
    Measure(sum_column="age", clamp=(0, 3)),
    Measure(unit=ht.Unit("person", max_rows=2)),
    Measure(sum_column="age", clamp=(0, 3), unit=ht.Unit("person", max_rows=2)),
]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (2, 3), (3, 1, 2)])
@pytest.mark.parametrize("structure", [ht.Tree(branching=2), ht.Tree(branching=4, order="morton")], ids=repr)
def test_one_unit_changes_shares_by_the_sensitivity_and_no_more(
    structure: ht.Tree, shape: Shape, measure: Measure
) -> None:
    # A node's noise has the rate epsilon * share / sensitivity, so this sum bounds what all of them tell.
    nodes = nodes_over(structure, shape, places=range(len(shape)))
    added: Iterable[dict[Shape, int]] = contributions(measure, list(product(*map(range, shape))))

    most = max(weighted_change(each, nodes.tree) for each in added)
    assert most == measure.sensitivity * nodes.per_cell


def test_shares() -> None:
    nodes = node_space(ht.Tree(), domain_of(1 << 20))

    assert nodes.tree.shares == (1, 4, 4, 4, 4, 4)
    assert (nodes.per_cell, nodes.share) == (21, 4)
    alone = node_space(ht.Tree(), domain_of(1))
    assert (alone.tree.shares, alone.per_cell, alone.share) == ((1,), 1, 1)


def test_orders() -> None:
    domain = domain_of(5, 3, 2)

    assert node_space(ht.Tree(order=["c"]), domain).tree.addresses.of(np.array([[4, 2, 1]])).tolist() == [29]
    assert node_space(ht.Tree(order=["c"]), domain).tree.addresses.of(np.array([[0, 0, 1]])).tolist() == [15]
    # 100, 10, 1 in turn: 1 1 1, 0 0, 0.
    morton = node_space(ht.Tree(order="morton"), domain).tree
    assert morton.addresses.of(np.array([[4, 2, 1]])).tolist() == [0b111000]
    assert published_units(ht.Tree(branching=2), domain_of(4))[:2] == (7, 9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"branching": 3}, "branching=3 is not allowed. Give a power of 2: 2, 4, 8"),
        ({"branching": 1}, "branching=1 is not allowed"),
        ({"branching": 2048}, "branching=2048 is not allowed"),
        ({"branching": True}, "branching=True is not allowed"),
        ({"branching": 16.0}, "branching=16.0 is not allowed"),
        ({"branching": None}, "branching=None is not allowed"),
        ({"order": "hilbert"}, "order='hilbert' is not an order"),
        ({"order": []}, r"order=\[\] is not an order"),
        ({"order": ["a", "a"]}, "is not an order"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.BadChoice, match=message):
        ht.Tree(**settings)


def test_trees_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ht.BadChoice, match="the order names 'home', which is not an attribute"):
        node_space(ht.Tree(order=["home"]), domain_of(5))
    with pytest.raises(ht.BadChoice, match=r"'tree' takes up to 2\^60 cells in a line"):
        node_space(ht.Tree(), domain_of(1 << 31, 1 << 31))
    with pytest.raises(ht.BadChoice, match="have 63 bits, and z-order takes up to 62"):
        node_space(ht.Tree(order="morton"), domain_of(1 << 31, 1 << 31, 2))
    assert node_space(ht.Tree(order="morton"), domain_of(1 << 31, 1 << 31)).tree.levels == 17


def test_a_tree_has_a_name() -> None:
    assert as_structure("tree") == ht.Tree() == ht.Tree(branching=16, order=None)
    assert repr(ht.Tree(order=["a"])) == "Tree(branching=16, order=('a',))"


@given(trees(), st.floats(-1e6, 1e30))
def test_shares_always_cost_the_same(made: Any, total: float) -> None:
    _, tree = made
    found = tree.shared_by(total).shares

    assert len(found) == tree.levels
    assert found[0] == tree.shares[0] == 1
    assert sum(found) == sum(tree.shares)
    assert min(found) >= 1


@pytest.mark.parametrize("sides", [(2**12,), (256, 256), (2**7,) * 3, (2**40,), (3,) * 30])
@pytest.mark.parametrize("branching", [2, 4, 16, 256])
def test_shares_of_large_trees_cost_the_same(sides: tuple[int, ...], branching: int) -> None:
    tree = BranchingTree(MortonAddresses(sides), branching=branching)
    for total in (-5.0, 0.0, 1.0, 300.0, 1e4, 1e7, 1e300, float("inf")):
        shares = tree.shared_by(total).shares

        assert (shares[0], sum(shares)) == (1, sum(tree.shares))
        assert min(shares) >= 1


@pytest.mark.parametrize("shares", [(1, 9, 3, 1), (2, 9, 2, 1), (1, 8, 2, 1), (1, 9, 3, 0)])
def test_shares_that_cost_another_epsilon_are_never_drawn(
    shares: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = node_space(ht.Tree(), domain_of(4096))

    def law_at(share: int) -> Geometric:
        return Geometric(Fraction(share, 100))

    assert nodes.shared_by(70.0, law_at).tree.shares != nodes.tree.shares
    monkeypatch.setattr(branching, "shares_by", lambda tree, total: shares)
    with pytest.raises(ht.InternalError, match="another epsilon than was paid"):
        nodes.shared_by(70.0, law_at)


def test_few_people_get_upper_levels_and_many_in_boxes_get_lower_ones() -> None:
    line = BranchingTree(LineAddresses(Line((4096,), places=(0,))), branching=16)
    square = BranchingTree(MortonAddresses((256, 256)), branching=16)

    assert line.shared_by(70.0).shares == (1, 9, 2, 1)
    assert line.shared_by(1e6).shares == line.shares == (1, 4, 4, 4)
    assert square.shared_by(70.0).shares == (1, 7, 7, 1, 1)
    assert square.shared_by(1e6).shares == (1, 2, 3, 4, 7)
    # The noisiest level has the cutoff, and others have one as much lower as their noise is.
    assert [square.shared_by(1e6).cutoff_at(level, 70.0) for level in (1, 4)] == [70.0, 20.0]


@pytest.mark.parametrize("shares", [(), (1, 0, 3), (1, 2.0), (1, True), (1, 2000)])
def test_shares_are_whole_numbers(shares: Any) -> None:
    with pytest.raises(ht.BadChoice, match=r"Give whole numbers from 1 to 1,000|for each level"):
        ht.Tree(shares=shares).over_codes((4096,))


def test_shares_are_one_for_each_level() -> None:
    with pytest.raises(ht.BadChoice, match="does not fit a tree of 4 levels"):
        ht.Tree(shares=(1, 4, 4)).over_codes((4096,))


def test_a_release_has_the_shares_that_it_was_drawn_with(tmp_path: Path) -> None:
    rows = pa.table({"a": np.arange(60) % 40 * 6, "b": np.arange(60)})
    made = ht.publish(
        rows,
        domain=domain_of(256, 256),
        epsilon="0.5",
        size=100,
        structure=ht.Tree(order="morton"),
        ledger=False,
        output=tmp_path / "tree.parquet",
    )
    opened = ht.open(tmp_path / "tree.parquet")

    assert isinstance(opened.terms.structure, ht.Tree)
    assert opened.terms.structure.shares not in (None, (1, 4, 4, 4, 4))
    assert isinstance(made.terms.structure, ht.Tree)
    assert opened.terms.structure.shares == made.terms.structure.shares
    law = opened.terms.law_at(opened.terms.structure.shares[1])
    assert law.loss(change=Fraction(1)) == Fraction(1, 2) * opened.terms.structure.shares[1] / 17
    # With another share, what is published would not be what answers.
    assert opened.total() == made.total()
    own = opened.terms.nodes.weights(
        opened.codes, opened.counts, law_at=opened.terms.law_at, cutoff=opened.terms.cutoff, threshold=None
    )
    assert np.allclose(own, opened.weights)
