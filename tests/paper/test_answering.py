"""What is read off a summary, against slow definitions, the truth, and hushtable's own answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from paper.answering import cell_values, consistent, priority_sample, range_sums
from paper.data import Ranges, Subsets, Table

CELLS = 300  # no power of two, so that there is padding
STRUCTURES = [None, ht.Dyadic(), ht.Haar(), ht.Tree(branching=4)]


@pytest.fixture(scope="module")
def table() -> Table:
    random = np.random.default_rng(3)
    places = random.choice(CELLS, 60, replace=False)
    return Table(CELLS, places, random.integers(1, 1000, 60))


@pytest.fixture(scope="module")
def ranges(table: Table) -> Ranges:
    return Ranges.by_chance(table, (1, 7, 64, 150, CELLS), number=30, run=1)


@pytest.mark.parametrize("structure", STRUCTURES[:3], ids=repr)
def test_without_noise_answers_are_the_truth(
    table: Table, ranges: Ranges, structure: ht.Dyadic | ht.Haar | None
) -> None:
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon=1_000, structure=structure)
    assert np.allclose(range_sums(summary, ranges, CELLS), ranges.truths)


def test_without_noise_a_tree_down_to_the_leaves_is_the_truth(table: Table, ranges: Ranges) -> None:
    summary = ht.summarize(
        table.sparse, ht.Filter(size=10_000), epsilon=1_000, structure=ht.Tree(branching=4)
    )
    assert np.allclose(range_sums(summary, ranges, CELLS), ranges.truths, atol=1)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_answers_are_those_of_a_release_with_the_same_rows(
    table: Table, ranges: Ranges, structure: ht.Dyadic | ht.Haar | ht.Tree | None, tmp_path: Path
) -> None:
    domain = {"attribute": [{"name": "cell", "integers": {"low": 0, "high": CELLS - 1}}]}
    method = ht.Filter(size=40) if isinstance(structure, ht.Tree) else ht.Priority(size=40)
    release = ht.publish(
        pa.table({"cell": table.places, "people": table.counts}),
        domain=ht.Domain.from_dict(domain),
        epsilon=1,
        count_column="people",
        summary=method,
        structure=structure,
        output=tmp_path / "released.parquet",
    )
    summary = ht.summarize(table.sparse, method, epsilon=1, structure=structure)
    same = replace(
        summary, codes=release.codes, weights=release.weights, counts=summary.counts[: len(release.codes)]
    )
    found = range_sums(same, ranges, CELLS)
    for width in range(found.shape[0]):
        for number in range(0, found.shape[1], 10):
            start, stop = int(ranges.starts[width, number]), int(ranges.stops[width, number])
            asked = release.total(cell=ht.between(start, stop)).value
            assert found[width, number] == pytest.approx(asked, abs=1e-6)


def test_dyadic_answers_are_sums_of_the_fewest_nodes(table: Table, ranges: Ranges) -> None:
    summary = ht.summarize(table.sparse, ht.Priority(size=100), epsilon="0.1", structure=ht.Dyadic())
    assert summary.nodes is not None
    assert hasattr(summary.nodes, "intervals")  # as a sketch has not
    levels, firsts, _ = summary.nodes.intervals(summary.codes)
    weights = dict(
        zip(zip(levels[:, 0].tolist(), firsts[:, 0].tolist(), strict=True), summary.weights, strict=True)
    )

    def slow(start: int, stop: int, level: int = 0, first: int = 0) -> float:
        """Walk from the root down; a node that lies wholly inside is taken as it is."""
        end = first + (512 >> level)
        if stop <= first or start >= min(end, CELLS):
            return 0.0
        if start <= first and min(end, CELLS) <= stop:
            return float(weights.get((level, first), 0.0))
        middle = first + (256 >> level)
        return slow(start, stop, level + 1, first) + slow(start, stop, level + 1, middle)

    found = range_sums(summary, ranges, CELLS)
    for answer, start, stop in zip(found.flat, ranges.starts.flat, ranges.stops.flat, strict=True):
        assert answer == pytest.approx(slow(int(start), int(stop)))


def test_tree_values_are_those_of_the_deepest_row(table: Table) -> None:
    summary = ht.summarize(table.sparse, ht.Filter(size=60), epsilon="0.5", structure=ht.Tree(branching=4))
    assert summary.nodes is not None
    assert hasattr(summary.nodes, "intervals")  # as a sketch has not
    _, firsts, lasts = (each[:, 0].tolist() for each in summary.nodes.intervals(summary.codes))
    deepest = [max(k for k in range(len(summary)) if firsts[k] <= cell <= lasts[k]) for cell in range(CELLS)]
    room = [deepest.count(k) for k in range(len(summary))]
    slow = [summary.weights[k] / room[k] for k in deepest]
    assert np.allclose(cell_values(summary, CELLS), slow)


def test_the_check_drops_what_lies_in_an_absent_range(table: Table) -> None:
    summary = ht.summarize(table.sparse, ht.Filter(cutoff=300), epsilon="0.1", structure=ht.Dyadic())
    assert summary.nodes is not None
    assert hasattr(summary.nodes, "intervals")  # as a sketch has not
    levels, firsts, _ = (each[:, 0].tolist() for each in summary.nodes.intervals(summary.codes))
    present = set(zip(levels, firsts, strict=True))
    kept = [
        code
        for code, level, first in zip(summary.codes[:, 0].tolist(), levels, firsts, strict=True)
        if all((up, first >> (9 - up) << (9 - up)) in present for up in range(level))
    ]
    found = consistent(summary)
    assert found.codes[:, 0].tolist() == kept
    assert 0 < len(kept) < len(summary)


def test_a_priority_sample_keeps_its_size_and_the_sum(table: Table) -> None:
    summary = ht.summarize(table.sparse, ht.Filter(cutoff=5), epsilon=10)
    random = np.random.default_rng(4)
    sums = [priority_sample(summary, 30, random).weights.sum() for _ in range(400)]
    assert len(priority_sample(summary, 30, random)) == 30
    assert np.mean(sums) == pytest.approx(summary.counts.sum(), rel=4 * np.std(sums) / 20 / np.mean(sums))
    assert priority_sample(summary, 10_000, random) is summary


def test_subsets_are_windows_around_the_ends(table: Table) -> None:
    subsets = Subsets(table, (1, 150, CELLS), number=50, run=5)
    assert (subsets.truths[2] == table.people).all()
    ones = subsets.sums(np.ones(CELLS))
    assert ones.tolist() == [[size] * 50 for size in (1, 150, CELLS)]
    assert np.array_equal(
        Subsets(table, (150,), number=3, run=5).truths, Subsets(table, (150,), number=3, run=5).truths
    )
    assert not np.array_equal(
        Subsets(table, (150,), number=3, run=5).truths, Subsets(table, (150,), number=3, run=6).truths
    )
