"""Answers from hierarchies: what they are made of, and that their intervals hold at every level."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.answers.hierarchies.answering import HierarchyAnswers
from hushtable.answers.hierarchies.asked import covered
from hushtable.answers.hierarchies.walking import Side, walked
from hushtable.answers.question import Question
from hushtable.conditions.conditions import selected
from hushtable.domain.items import codes_at, item_of, items_in, items_of
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.fitting import fitted
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.summaries.hierarchies import draw_hierarchy
from tests.answers.drawn import Draw
from tests.harness.statistics import replay, runs
from tests.release.examples import terms
from tests.structures.refined import HIERARCHIES, Refined, refined


class Drawn:
    """A hierarchy with any nodes below its complete levels, and any counts."""

    def __init__(self, world: Refined, complete: int, kept: list[bool], counts: list[int]) -> None:
        tree = world.nodes.tree
        self.world, self.complete = world, complete
        numbers, here = [0], np.zeros(1, dtype=np.int64)
        choices, values = iter(kept), iter(counts)
        for level in range(tree.levels - 1):
            children, _ = tree.family(here, level)
            stay = np.array([next(choices) or level + 1 < complete for _ in children], dtype=np.bool_)
            here = children[stay]
            numbers += (here + tree.offsets[level + 1]).tolist()
        self.numbers = np.array(numbers)
        self.counts = np.array([next(values) for _ in numbers])
        laws = [Geometric(Fraction(share, 10)) for share in tree.shares]
        self.fit = fitted(tree, self.numbers, self.counts, laws=laws, cutoff=20.0)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    attributes, levels = draw(st.sampled_from(HIERARCHIES))
    complete = draw(st.integers(1, len(levels)))
    world = refined(ht.Domain(attributes=attributes), *levels, complete=complete)
    number = world.nodes.nodes_total
    kept = draw(st.lists(st.booleans(), min_size=number, max_size=number))
    counts = draw(st.lists(st.integers(-50, 10**5), min_size=number, max_size=number))
    return Drawn(world, complete, kept, counts)


@given(drawn(), st.randoms(use_true_random=False))
def test_a_group_is_made_of_what_brute_force_finds(made: Drawn, random: Random) -> None:
    world, tree = made.world, made.world.nodes.tree
    domain, places = world.domain, world.nodes.places
    # A random set of values of each attribute that the hierarchy has, at the finest level it has.
    wanted: dict[int, set[int]] = {}
    for chain, place in zip(tree.chains, places, strict=True):
        finest = codes_at(domain.attributes[place], chain.levels[-1], np.arange(domain.shape[place]))
        some = [value for value in range(chain.size) if random.random() < 0.6] or [0]
        wanted[place] = {code for code, value in enumerate(finest.tolist()) if value in some}
    kinds = {place: domain.attributes[place].values for place in places}
    where = {
        domain.names[place]: kinds[place].decode(np.array(sorted(codes))).to_pylist()
        for place, codes in wanted.items()
    }
    axes = [
        covered(selected(domain, where), chain, place, None)
        for chain, place in zip(tree.chains, places, strict=True)
    ]
    found = walked(tree, made.fit, axes, [np.zeros(1, dtype=np.int64) for _ in axes])

    inside = {cell for cell in world.cells if all(cell[place] in wanted[place] for place in places)}
    positions = tree.of(np.array(world.cells), places)
    chosen = {int(position) for cell, position in zip(world.cells, positions, strict=True) if cell in inside}
    count = dict(zip(made.numbers.tolist(), made.counts.tolist(), strict=True))
    own = dict(zip(made.numbers.tolist(), np.concatenate(made.fit.own).tolist(), strict=True))
    # What each position has: of the deepest published node above it, an even share of what that keeps.
    value = 0.0
    keepers: dict[int, list[int]] = {}
    for position in range(tree.cells):
        for level in reversed(range(tree.levels)):
            node = int(tree.positions(list(tree.boxes(np.array([position]), tree.levels - 1)[0].T), level)[0])
            if node + tree.offsets[level] in count:
                keepers.setdefault(node + tree.offsets[level], []).append(position)
                break
    for node, mine in keepers.items():
        value += own[node] * len(chosen.intersection(mine)) / len(mine)
    assert found.value[0] == pytest.approx(value, rel=1e-9, abs=1e-6)

    # Nodes by side, level by level.
    sides = {
        name: np.zeros((tree.levels, 2)) for name in ("complete", "around", "inside", "outside", "across")
    }
    sums = dict.fromkeys(sides, 0)

    def look(level: int, first: int) -> None:
        size = int(tree.cells_of(np.array([first]), level)[0])
        held = len(chosen.intersection(range(first, first + size)))
        node = first + tree.offsets[level]
        side = "inside" if held == size else "across" if held else "outside"
        if level < made.complete:
            if side == "inside":
                sides["complete"][level] += [1, 1]
                sums["complete"] += count[node]
                return
            if side == "across" and level == made.complete - 1:
                sides["around"][level] += [1, 1]
                sums["around"] += count[node]
        else:
            sides[side][level] += [1, node in count]
            sums[side] += count.get(node, 0)
        if side == "across" and node in count and level + 1 < tree.levels:
            for child in tree.family(np.array([first]), level)[0].tolist():
                look(level + 1, child)

    look(0, 0)
    for name, numbers in sides.items():
        side = getattr(found, name)
        assert side.seen[:, 0].tolist() == numbers[:, 0].tolist(), name
        assert side.kept[:, 0].tolist() == numbers[:, 1].tolist(), name
        assert side.counts[0] == pytest.approx(sums[name]), name


def people(domain: ht.Domain, number: int, seed: int) -> NDArray[np.int64]:
    """People who live and work in few places, mostly."""
    random = np.random.default_rng(seed)
    homes, works = domain.shape
    likely = np.outer(random.dirichlet(np.full(homes, 0.3)), random.dirichlet(np.full(works, 0.3)))
    cells = random.choice(homes * works, number, p=likely.ravel())
    counts: NDArray[np.int64] = np.bincount(cells, minlength=homes * works).reshape(homes, works)
    return counts


def places(number: int) -> ht.Domain:
    """Blocks in tracts in counties, of uneven sizes."""
    values = [
        f"{county}{tract}{block:02}"
        for county in "ABC"
        for tract in "xyz"[: 1 + "ABC".index(county)]
        for block in range(number * (1 + "xyz".index(tract)))
    ]
    levels = {"tract": 2, "county": 1}
    return ht.Domain(home=ht.categories(values, levels=levels), work=ht.categories(values, levels=levels))


LEVELS = ht.Hierarchy("county(home), county(work)", "tract(home), tract(work)", "home, work")
ASKED = [
    *("county(home)", "county(home), county(work)", "tract(home)", "tract(home), tract(work)"),
    *("home", "work, county(home)", "home, work"),
]


class Asked(NamedTuple):
    """What a release says of groups, and what is true."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    truth: NDArray[np.float64]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which intervals hold."""
        found: NDArray[np.bool_] = (self.low <= self.truth) & (self.truth <= self.high)
        return found


def answered(
    counts: NDArray[np.int64],
    domain: ht.Domain,
    structure: ht.Hierarchy,
    seed: int,
    *,
    size: int,
    law: type[NoiseLaw] = Geometric,
    budget: Fraction = Fraction(1),
) -> dict[str, Asked]:
    """Draw a release from replayable bits, and ask it."""
    codes = np.argwhere(counts)
    table = ht.SparseTable(shape=domain.shape, codes=codes, counts=counts[tuple(codes.T)])
    method = ht.Filter(size=size, two_sided=False)
    nodes = structure.over(domain)
    change = nodes.change(law, Sensitivities.of_rows(1))
    drawn = draw_hierarchy(
        table, nodes, method, epsilon=budget, sensitivity=change, entropy=replay(seed), law=law
    )
    assert isinstance(drawn.nodes, HierarchySpace)
    spent = {"epsilon": budget} if law is Geometric else {"epsilon": None, "rho": budget}
    made = terms(
        domain,
        structure=drawn.structure,
        sensitivity=nodes.per_cell,
        method=method,
        rule=None,
        cutoff=drawn.cutoff,
        threshold=None,
        total=None,
        total_budget=Fraction(0),
        law_name=law.name,
        **spent,
    )
    answers = HierarchyAnswers(Draw(made, domain, drawn.codes, drawn.counts, drawn.weights), drawn.nodes)
    found = {}
    for asked in ASKED:
        items = [item_of(domain, each) for each in items_in(asked)]
        groups = answers.groups(Question(selected(domain, None), items, chance=0.05)).answers
        truth = truth_of(domain, counts, asked)
        found[asked] = Asked(groups.low, groups.high, groups.value, groups.standard_error, truth)
    return found


def least(held: list[bool]) -> float:
    """Return the share of intervals that must hold: what chance takes from so few groups is allowed for."""
    return 0.93 - 2.5 * sqrt(0.05 * 0.95 / len(held))


@pytest.mark.parametrize(("law", "budget"), [(Geometric, Fraction(1)), (Gaussian, Fraction(1, 8))])
def test_intervals_hold_at_every_level_for_common_and_rare_groups(
    law: type[NoiseLaw], budget: Fraction
) -> None:
    domain = places(3)
    held: dict[tuple[str, bool], list[bool]] = {
        (asked, common): [] for asked in ASKED for common in (False, True)
    }
    ratios: dict[str, list[float]] = {asked: [] for asked in ASKED}
    for number in range(runs(30)):
        counts = people(domain, 30_000, number)
        for asked, found in answered(
            counts, domain, LEVELS, 700 + number, size=300, law=law, budget=budget
        ).items():
            common = found.truth >= np.median(found.truth)
            for each in (False, True):
                held[asked, each] += found.right[common == each].tolist()
            assert np.all((found.low <= found.value) & (found.value <= found.high))
            # Beside noise, an error is no larger than the interval leaves room for.
            farther = np.maximum(found.value - found.low, found.high - found.value)
            assert np.all((found.error > 1) & (found.error <= 1.2 * farther + 10))
            ratios[asked].append(float(np.mean(((found.value - found.truth) / found.error) ** 2)))
    assert {key: np.mean(each) for key, each in held.items() if np.mean(each) < least(each)} == {}
    assert {asked: np.mean(each) for asked, each in ratios.items() if np.mean(each) > 1.3} == {}
    # Where all nodes are there, intervals are no wider than they should be.
    complete = ASKED[:4]
    assert np.mean([right for key, each in held.items() if key[0] in complete for right in each]) < 0.99


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_intervals_hold_where_everybody_hides_below_the_cutoff(epsilon: str) -> None:
    """All are in small counts: little is published below the counties, and bounds say so."""
    domain = places(3)
    counts = np.full(domain.shape, 3)
    structure = ht.Hierarchy(*LEVELS.levels, complete=2)
    held: dict[str, list[bool]] = {asked: [] for asked in ASKED}
    for number in range(runs(10)):
        found = answered(counts, domain, structure, 900 + number, size=100, budget=Fraction(epsilon))
        for asked in ASKED:
            held[asked] += found[asked].right.tolist()
    assert {asked: np.mean(each) for asked, each in held.items() if np.mean(each) < least(each)} == {}


def test_intervals_that_leave_out_what_is_absent_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Side, "absent", property(lambda self: np.zeros_like(self.seen)))
    domain = places(3)
    found = answered(np.full(domain.shape, 8), domain, LEVELS, 900, size=300)

    assert found["home"].right.mean() < 0.5


def truth_of(domain: ht.Domain, counts: NDArray[np.int64], asked: str) -> NDArray[np.float64]:
    """The counts of all groups, in the order of their codes."""
    items = items_of(domain, asked)
    in_order = asked.split(", ")
    found = counts
    sizes = []
    for axis in range(2):
        item = next((each for each in items if each.place == axis), None)
        codes = np.zeros(counts.shape[axis], dtype=np.int64)
        if item is not None:
            codes = codes_at(domain.attributes[axis], item.level, np.arange(counts.shape[axis]))
        sizes.append(int(codes.max()) + 1)
        summed = np.zeros((sizes[-1], *np.moveaxis(found, axis, 0).shape[1:]))
        np.add.at(summed, codes, np.moveaxis(found, axis, 0))
        found = np.moveaxis(summed, 0, axis)
    if len(in_order) == 2 and "work" in in_order[0]:
        found = found.T
    ravelled: NDArray[np.float64] = found.ravel().astype(np.float64)
    return ravelled


def test_sums_of_weights_are_the_estimates(tmp_path: Path) -> None:
    domain = places(2)
    counts = people(domain, 5_000, 1)
    rows = domain.decode(np.argwhere(counts).repeat(counts[counts > 0], axis=0))
    release = ht.publish(
        rows,
        domain=domain,
        structure=LEVELS,
        epsilon=1,
        size=300,
        output=tmp_path / "a.parquet",
        ledger=False,
    )

    assert release.total().value == pytest.approx(sum(release.to_arrow()["weight"].to_pylist()))
    summed = release.sql(
        'SELECT "county(home)" AS county, sum(weight) AS n FROM release GROUP BY ALL ORDER BY 1'
    ).to_pylist()
    groups = {row["county(home)"]: row["estimate"] for row in release.by("county(home)").to_pylist()}
    assert {row["county"]: row["n"] for row in summed if row["county"] is not None} == pytest.approx(groups)


def test_what_a_hierarchy_does_not_know_is_refused(tmp_path: Path) -> None:
    domain = places(2)
    counts = people(domain, 1_000, 1)
    rows = domain.decode(np.argwhere(counts).repeat(counts[counts > 0], axis=0))
    output = tmp_path / "a.parquet"
    release = ht.publish(
        rows,
        domain=domain,
        structure=ht.Hierarchy("tract(home)"),
        epsilon=1,
        size=7,
        output=output,
        ledger=False,
    )

    assert release.by("county(home)").num_rows == 3
    assert release.total(home=["Ax00", "Ax01"]).value >= 0  # all blocks of a tract
    with pytest.raises(ht.BadQuery, match="ends at 'tract' of 'home'"):
        release.total(home="Ax00")
    with pytest.raises(ht.BadQuery, match="ends at 'tract' of 'home'"):
        release.by("home")
    with pytest.raises(ht.BadQuery, match="does not have the attribute 'work'"):
        release.by("work")
    with pytest.raises(ht.BadQuery, match="products of conditions"):
        release.total("home = 'Ax00' OR work = 'Ax00'")
