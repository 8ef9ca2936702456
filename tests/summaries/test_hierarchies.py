"""Hierarchies from the root down: what noising every node and looking at all of them would give."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.noise import KeyStream
from hushtable.structures.refining import growing_at
from hushtable.summaries import hierarchies
from hushtable.summaries.candidates import noisy
from hushtable.summaries.hierarchies import draw_hierarchy
from hushtable.summaries.laborious import Node, ranked_levels
from hushtable.summaries.rooted import Occupied, rooted_tree
from tests.harness.statistics import ALARM, chernoff_follows, replay, runs
from tests.structures.refined import HIERARCHIES, Refined, refined

Numbers = NDArray[np.int64]


class World(NamedTuple):
    """A hierarchy, counts of all its cells, and noise for every node."""

    hierarchy: Refined
    counts: dict[Node, int]
    noise: dict[Node, int]
    complete: int


@st.composite
def worlds(draw: st.DrawFn) -> World:
    attributes, levels = draw(st.sampled_from(HIERARCHIES))
    shares = draw(st.lists(st.integers(1, 4), min_size=len(levels) + 1, max_size=len(levels) + 1))
    complete = draw(st.integers(1, len(levels) + 1))
    world = refined(ht.Domain(attributes=attributes), *levels, shares=shares, complete=complete)
    numbers = draw(st.lists(st.integers(0, 6), min_size=len(world.cells), max_size=len(world.cells)))
    counts = dict(zip(world.cells, numbers, strict=True))
    nodes = {(level, *at(cell)) for level, at in enumerate(world.levels) for cell in counts}
    drawn = draw(st.lists(st.integers(-6, 6), min_size=len(nodes), max_size=len(nodes)))
    return World(world, counts, dict(zip(sorted(nodes), drawn, strict=True)), complete)


def fixed_noise(world: World) -> tuple[Callable[[int, Numbers, Numbers], Numbers], list[int]]:
    """Return noise that every node has of its own, and a list of the nodes that asked for it."""
    asked: list[int] = []
    by_number = {world.hierarchy.number(node): noise for node, noise in world.noise.items()}

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        nodes = (prefixes + world.hierarchy.nodes.tree.offsets[level]).tolist()
        asked.extend(nodes)
        return counts + np.array([by_number[node] for node in nodes], dtype=np.int64)

    return noised, asked


@given(worlds(), st.integers(1, 2000), st.none() | st.integers(1, 30))
def test_it_is_the_hierarchy_of_noise_everywhere(world: World, cutoff: int, size: int | None) -> None:
    # The same noise for each node, whoever asks: nodes and counts must be the same, but for ties at the end.
    hierarchy, tree = world.hierarchy, world.hierarchy.nodes.tree
    noised, asked = fixed_noise(world)
    some = [cell for cell, count in world.counts.items() if count]
    positions = tree.of(np.array(some).reshape(-1, len(hierarchy.domain.shape)), hierarchy.nodes.places)
    occupied = Occupied(positions, np.array([world.counts[cell] for cell in some], dtype=np.int64))
    found = rooted_tree(occupied, tree, noised, KeyStream(), cutoff=cutoff, size=size, root_stays=True)

    values, ranks = ranked_levels(
        world.counts, hierarchy.levels, tree.weights, world.noise.__getitem__, complete=world.complete
    )
    numbers = {hierarchy.number(node): node for node in values}
    in_order = [node for node in ranks if ranks[node] >= cutoff]
    in_order.sort(key=lambda node: (-ranks[node], node[0]))
    wanted = in_order if size is None else in_order[:size]
    kept = [numbers[number] for number in found.numbers.tolist()]

    assert len(set(asked)) == len(asked)
    assert found.counts.tolist() == [values[node] for node in kept]
    assert np.all(np.diff(found.numbers) > 0)
    assert sorted((ranks[node], node[0]) for node in kept) == sorted(
        (ranks[node], node[0]) for node in wanted
    )
    assert (found.cutoff is not None) == (size is not None and len(in_order) > size)
    if size is None:
        assert hierarchy.nodes.are_rooted(found.numbers[:, np.newaxis])


@pytest.mark.parametrize("shares", [None, (1, 4, 1)])
def test_noise_alone_does_not_make_a_hierarchy_grow(shares: tuple[int, ...] | None) -> None:
    # 300 children of one value, 3 of the other: each node has less than 1/e kept children on average.
    values = [f"a{number:03}" for number in range(300)] + ["b000", "b001", "b002"]
    town = ht.Domain(home=ht.categories(values, levels={"county": 1}))
    tree, stream = ht.Hierarchy("county(home)", "home", shares=shares).over(town).tree, replay(3)
    laws = [Geometric(Fraction(share, 20)) for share in tree.shares]
    nothing = Occupied(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, laws[level], stream)

    sizes = [
        rooted_tree(
            nothing, tree, noised, stream, cutoff=growing_at(tree, laws), size=10**6, root_stays=True
        ).numbers.size
        for _ in range(runs(50))
    ]
    assert np.mean(sizes) < 3


def test_empty_nodes_pass_as_often_as_they_should() -> None:
    """Thousands of empty children: those that noise lifts are as many as by noise in each, and anywhere."""
    domain = ht.Domain(home=ht.bins(0, 4000, step=1, levels=[1000]))
    nodes = ht.Hierarchy("1000(home)", "home", shares=[1, 1, 2], complete=2).over(domain)
    table = ht.SparseTable(shape=domain.shape, codes=[[7], [3007]], counts=[1000, 1000])
    law, times, published = Geometric(Fraction(1, 2)), runs(150), []
    least = -(-growing_at(nodes.tree, [law, law, law]) // nodes.tree.weights[2])
    for number in range(times):
        drawn = draw_hierarchy(
            table,
            nodes,
            ht.Filter(size=4000, two_sided=False),
            epsilon=Fraction(1),
            sensitivity=Fraction(4),
            entropy=replay(40 + number),
            law=Geometric,
        )
        assert drawn.codes[:5, 0].tolist() == [0, *(nodes.tree.offsets[1] + np.arange(4) * 1000)]
        published += (drawn.codes[5:, 0] - nodes.tree.offsets[2]).tolist()
    empty = [place for place in published if place not in (7, 3007)]
    assert len(published) - len(empty) == 2 * times
    # With a share of 2 of 4, the rate is 1/2: a^c/(1 + a) of the 3,998 empty ones pass.
    for rate, right in ((0.5, True), (0.5 * 3 / 4, False), (0.5 * 5 / 4, False)):
        a = float(np.exp(-rate))
        found = chernoff_follows(len(empty), 3998 * times, a**least / (1 + a))
        assert (found > ALARM) == right
    assert chernoff_follows(sum(place < 2000 for place in empty), len(empty), 0.5) > ALARM


def test_questions_say_how_levels_share_epsilon(tmp_path: Path) -> None:
    values = ["a1", "a2", "b1"]
    domain = ht.Domain(home=ht.categories(values, levels={"county": 1}), sex=ht.categories(["f", "m"]))
    data = domain.decode(np.array([[0, 0], [1, 1], [2, 0]] * 200))
    levels = ("county(home)", "home", "sex")

    def shares(*ask: object) -> tuple[int, ...] | None:
        structure = ht.Hierarchy(*levels)
        output = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        release = ht.publish(
            data,
            domain=domain,
            epsilon=1,
            size=10,
            structure=structure,
            ask=list(ask),
            output=output,
            ledger=False,
        )
        made = release.terms.structure
        assert isinstance(made, ht.Hierarchy)
        assert release.terms.sensitivity == sum(made.shares or ())
        return made.shares

    # A level that nobody asks has a tenth of the mean; the total counts a fifth of a question.
    assert shares("county(home)", "home", "home,sex") == (6, 31, 31, 31)
    assert shares({"ask": "county(home)", "weight": 3}, "county(home),sex") == (6, 68, 3, 23)
    structure = ht.Hierarchy(*levels, shares=[1, 2, 2, 2])
    words = {"domain": domain, "epsilon": 1, "size": 10, "output": tmp_path / "no.parquet", "ledger": False}
    with pytest.raises(ht.BadChoice, match="so do shares"):
        ht.publish(data, structure=structure, ask=["home"], **words)  # type: ignore[arg-type]
    with pytest.raises(ht.BadChoice, match="no level of the hierarchy is as fine"):
        ht.publish(data, structure=ht.Hierarchy("home"), ask=["sex"], **words)  # type: ignore[arg-type]
    with pytest.raises(ht.BadChoice, match="Leave structure or the questions out"):
        ht.publish(data, structure=ht.Tree(), ask=["home"], **words)  # type: ignore[arg-type]


def test_a_size_with_room_for_all_nodes_hides_nothing(tmp_path: Path) -> None:
    domain = ht.Domain(home=ht.categories(["a1", "a2", "b1"], levels={"county": 1}))
    data = domain.decode(np.array([[0], [1], [2]] * 200))

    def levels(size: int) -> tuple[int | None, int]:
        structure = ht.Hierarchy("county(home)", "home")
        output = tmp_path / f"{size}.parquet"
        words = {"domain": domain, "epsilon": 1, "structure": structure, "output": output, "ledger": False}
        release = ht.publish(data, size=size, **words)  # type: ignore[arg-type]
        made = release.terms.structure
        assert isinstance(made, ht.Hierarchy)
        return made.complete, release.to_arrow().num_rows

    # The total, two counties and three homes are six. Three quarters of five have room for the counties.
    assert levels(3)[0] == 1
    assert levels(5)[0] == 2
    assert levels(6) == levels(1000) == (3, 6)


def test_shares_follow_from_public_sizes() -> None:
    domain = ht.Domain(
        home=ht.bins(0, 10_000, step=1, levels=[10, 100, 1_000]), sex=ht.categories(["f", "m"])
    )

    def shares(size: int | None, *levels: str, **settings: Any) -> tuple[tuple[int, ...] | None, int | None]:
        made = ht.Hierarchy(*levels, **settings).sized(domain, size)
        return made.shares, made.complete

    levels = ("1000(home)", "100(home)", "10(home)", "home", "sex")
    # 1 + 10 + 100 nodes are within three quarters of 200 rows, and 1,000 more are not.
    assert shares(200, *levels) == ((3, 48, 48, 6, 6, 6), 3)
    # The two coarsest levels have as much as whole ones, whether they are whole or not.
    assert shares(20, *levels[:3]) == ((1, 16, 16, 6), 2)
    # A whole level is never among those that share the rest.
    assert shares(1_500, *levels) == ((2, 32, 32, 32, 6, 6), 4)
    assert shares(10**6, *levels) == ((1, 16, 16, 16, 16, 16), 6)
    # Without a size the root alone is whole.
    assert shares(None, *levels) == (None, 1)
    assert shares(200, *levels[:2], shares=[1, 2, 3]) == ((1, 2, 3), 3)
    assert shares(200, *levels[:2], complete=2) == ((1, 16, 16), 2)


def test_what_is_spent_is_for_the_shares_of_the_file(tmp_path: Path) -> None:
    """Shares that follow from a size are in the terms, so that noise is for all that one row changes."""
    domain = ht.Domain(home=ht.bins(0, 10_000, step=1, levels=[100]))
    rows = domain.decode(np.arange(500)[:, np.newaxis])
    structure = ht.Hierarchy("100(home)", "home")
    output = tmp_path / "a.parquet"
    release = ht.publish(
        rows, domain=domain, epsilon=1, size=500, structure=structure, output=output, ledger=False
    )
    made = ht.open(output).terms.structure

    assert isinstance(made, ht.Hierarchy)
    assert made.shares == (1, 16, 16)
    assert release.terms.sensitivity == 33


@pytest.mark.parametrize("at_once", [1, 3, 1 << 16])
def test_nodes_that_are_drawn_some_at_a_time_are_those_of_all(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise to speak of, each node has its own count, however many are looked at together."""
    monkeypatch.setattr(hierarchies, "_AT_ONCE", at_once)
    domain = ht.Domain(home=ht.bins(0, 1_000, step=1, levels=[10, 100]))
    codes = np.concatenate([np.arange(5), np.arange(100, 125), np.arange(990, 1000)])[:, np.newaxis]
    table = ht.SparseTable(shape=(1_000,), codes=codes, counts=10 + np.arange(40))
    nodes = ht.Hierarchy("100(home)", "10(home)", "home", complete=2).over(domain)
    drawn = draw_hierarchy(
        table,
        nodes,
        ht.Filter(cutoff=3, two_sided=False),
        epsilon=Fraction(2_000),
        sensitivity=Fraction(nodes.per_cell),
        entropy=replay(5),
        law=Geometric,
    )
    tree = nodes.tree
    levels = tree.level_of(drawn.codes[:, 0])
    for level, width in enumerate([1_000, 100, 10, 1]):
        sums = np.bincount(codes[:, 0] // width, weights=10 + np.arange(40), minlength=1_000 // width)
        kept = np.flatnonzero(sums) if level > 1 else np.arange(sums.size)
        assert drawn.codes[levels == level, 0].tolist() == (kept * width + tree.offsets[level]).tolist()
        assert drawn.counts[levels == level].tolist() == sums[kept].tolist()


def test_a_space_keeps_its_shares() -> None:
    """What one unit changes is told before the size: whole levels may follow from it, and not shares."""
    domain = ht.Domain(home=ht.bins(0, 100, step=1, levels=[10]))
    nodes = ht.Hierarchy("10(home)", "home").over(domain)

    assert nodes.of_size(1_000).staying == 111
    assert nodes.of_size(1_000).tree.shares == nodes.tree.shares == (1, 4, 4)


@pytest.mark.parametrize("largest", [1, 1 << 40, 1 << 60])
def test_cells_have_their_counts_however_large(largest: int) -> None:
    domain = ht.Domain(home=ht.bins(0, 10**9, step=1, levels=[1_000]))
    nodes = ht.Hierarchy("1000(home)", "home").over(domain)
    codes = np.array([7, 12_345, 99_999_999])
    counts = np.array([5, largest, 3])
    table = ht.SparseTable(shape=(10**9,), codes=codes, counts=counts)
    found = hierarchies.occupied_along(table, nodes)

    assert found.addresses.tolist() == codes.tolist()
    assert found.sums(np.arange(3), np.arange(1, 4)).tolist() == counts.tolist()
