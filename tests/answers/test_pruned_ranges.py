"""Bounds of ranges from pruned trees hold at the edges of data, and are no wider than they have to be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.answers.nodes.ranges import Ranges
from hushtable.answers.pruned.bounds import TreeBounds
from hushtable.answers.pruned.coverage import LineCoverage
from hushtable.answers.pruned.walking import covered_share, walked
from hushtable.laws.law import law_to_draw
from hushtable.laws.registry import law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.fitting import fitted
from hushtable.structures.pruned import PrunedSpace
from hushtable.summaries.summarize import draw_summary
from tests.harness.cases import few
from tests.harness.nodes import nodes_over
from tests.harness.statistics import replay, runs

CELLS = 1024
Array = NDArray[np.float64]
Counts = NDArray[np.int64]
TWENTY = np.arange(1, 21) * 50


def spiky() -> Counts:
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[TWENTY] = TWENTY
    return counts


def stairs() -> Counts:
    return np.repeat([0, 20, 100, 3], [205, 300, 300, 219])


def heavy() -> Counts:
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[341] = 20_000
    return counts


TABLES = {
    "spiky": spiky(),
    "stairs": stairs(),
    "heavy": heavy(),
    "empty": np.zeros(CELLS, dtype=np.int64),
    # Of many nodes, noise decides whether they are published.
    "at the cutoff": np.full(CELLS, 2),
    "near the cutoff": np.full(CELLS, 7),
    "full": np.full(CELLS, 500),
}


def ranges(counts: Counts) -> tuple[Counts, Counts]:
    """Ranges of all lengths, and ranges that end where data end."""
    random = np.random.default_rng(2)
    some = np.flatnonzero(np.diff(counts, prepend=0)) if counts.any() else np.array([0, CELLS // 2])
    low, high = np.sort(random.integers(0, CELLS, (2, 60)), axis=0)
    starts = random.integers(0, CELLS - 40, 40)
    edges = random.choice(some, 60)
    others = random.integers(0, CELLS, 60)
    first, last = np.minimum(edges, others), np.maximum(edges, others)
    return np.concatenate([low, starts, first]), np.concatenate([high + 1, starts + 16, last + 1])


class Bounded(NamedTuple):
    """Answers to all ranges by some releases."""

    held: dict[float, NDArray[np.bool_]]  # by the chance to fail
    complete: NDArray[np.bool_]
    widths: Array
    errors: Array


def bounded(counts: Counts, epsilon: str, law: str, *, releases: int) -> Bounded:
    """Draw releases and ask them for ranges."""
    starts, stops = ranges(counts)
    before = np.append(0, np.cumsum(counts))
    truth = before[stops] - before[starts]
    coverage = LineCoverage(Ranges(np.arange(starts.size), starts, stops, starts.size))
    space: PrunedSpace = nodes_over(ht.Tree(), (CELLS,), places=[0])
    kind, some = law_named(law), np.flatnonzero(counts)
    budget = Fraction(epsilon) if law == "geometric" else Fraction(epsilon) ** 2 / 2
    change = space.change(kind, Sensitivities.of_rows(Fraction(1)))
    table = ht.SparseTable(shape=(CELLS,), codes=some[:, np.newaxis], counts=counts[some])
    held: dict[float, list[NDArray[np.bool_]]] = {0.05: [], 0.5: []}
    found = []
    for number in range(releases):
        drawn = draw_summary(
            table,
            ht.Filter(size=10_000, two_sided=False),
            epsilon=budget,
            sensitivity=change,
            entropy=replay(2300 + number),
            law=kind,
            nodes=space,
        )
        assert isinstance(drawn.nodes, PrunedSpace)
        tree, cutoff = drawn.nodes.tree, drawn.cutoff or 1.0
        laws = [law_to_draw(kind, budget=budget * share, change=change) for share in tree.shares]
        fit = fitted(tree, drawn.codes[:, 0], drawn.counts, laws=laws, cutoff=cutoff)
        bounds = TreeBounds(
            covered_share(tree, coverage),
            root=float(drawn.counts[0]),
            laws=laws,
            cutoffs=[tree.cutoff_at(level, cutoff) for level in range(tree.levels)],
        )
        value = walked(tree, fit.with_own(drawn.weights), coverage, bounds=bounds).value
        for chance, those in reversed(held.items()):
            low, high = bounds.limits(chance)
            low, high = np.minimum(low, value), np.maximum(high, value)
            those.append((low <= truth) & (truth <= high))
        found.append((bounds.complete, high - low, value - truth))
    by_chance = {chance: np.array(those) for chance, those in held.items()}
    return Bounded(by_chance, *map(np.array, zip(*found, strict=True)))


CASES = [*product(TABLES, ("0.1", "1", "3"), ("geometric", "gaussian"))]


@pytest.mark.parametrize(("name", "epsilon", "law"), few(CASES, every=5))
def test_bounds_of_ranges_hold(name: str, epsilon: str, law: str) -> None:
    found = bounded(TABLES[name], epsilon, law, releases=runs(4))

    # Ranges of one release share noise.
    assert all(held.mean() >= 1 - chance - 0.02 for chance, held in found.held.items())


@pytest.mark.parametrize("law", ["geometric", "gaussian"])
def test_where_all_is_published_intervals_are_as_wide_as_least_squares_allow(law: str) -> None:
    found = bounded(TABLES["full"], "1", law, releases=runs(6))

    assert found.complete.mean() > 0.9
    assert 0.93 <= found.held[0.05][found.complete].mean() <= 0.99
    # What lies inside added up, or taken off the root, is twice as wide.
    assert np.median(found.widths) < 6.5 * np.sqrt((found.errors**2).mean())


def test_without_noise_a_whole_tree_says_what_is_there() -> None:
    found = bounded(TABLES["full"], "1000", "geometric", releases=1)

    assert found.complete.all()
    assert found.held[0.05].all()
    assert found.widths.max() < 1
