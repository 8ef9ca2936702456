"""Thinning: which rows are kept, and that the terms of the smaller release describe them honestly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.methods.settings import Method
from hushtable.methods.weights import weights_of
from hushtable.publishing.thinning import thin
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from tests.release.examples import (
    METHODS,
    STRUCTURES,
    TRIPS_DOMAIN,
    all_nodes,
    go_together,
    rows,
    terms,
    tree_terms,
    write,
)

LINE = ht.Domain(title="Line", attributes=(Attribute(name="x", values=Integers(low=0, high=999)),))


def written(tmp_path: Path, counts: list[int], **changes: Any) -> ht.Release:
    """Write a release of these counts, in cells 0, 1, ..., without a noisy total."""
    made = terms(LINE, total_budget=Fraction(0), total=None, **changes)
    codes = np.arange(len(counts)).reshape(-1, 1)
    write(tmp_path / "all.parquet", made, rows(made, codes, np.array(counts, dtype=np.int64)), overwrite=True)
    return ht.open(tmp_path / "all.parquet")


def thinned(release: ht.Release, size: int) -> ht.Release:
    return thin(release, size=size, output=release.path.with_name("few.parquet"), overwrite=True)


def test_a_filter_keeps_the_largest(tmp_path: Path) -> None:
    release = written(
        tmp_path, [30, -50, 25, 90, -20], method=ht.Filter(cutoff=20), cutoff=20.0, threshold=None
    )

    few = thinned(release, 3)

    assert few.to_arrow().to_pylist() == [
        {"x": 0, "count": 30, "weight": 30.0},
        {"x": 1, "count": -50, "weight": -50.0},
        {"x": 3, "count": 90, "weight": 90.0},
    ]
    assert few.summary == ht.Filter(size=3)
    assert (few.cutoff, few.threshold) == (30.0, None)


def test_a_sample_becomes_a_priority_sample(tmp_path: Path) -> None:
    method = ht.FilterPriority(cutoff=20, size=1000)
    release = written(tmp_path, [500] + [20, -25, 30] * 100, method=method, cutoff=20.0, threshold=40.0)

    few = thinned(release, 50)

    assert len(few) == 50
    assert few.summary == ht.FilterPriority(cutoff=20, size=50)
    assert few.cutoff == 20.0
    assert few.threshold is not None
    assert few.threshold > 40
    assert np.array_equal(few.weights, weights_of(few.counts, few.threshold))
    assert set(few.codes[:, 0]) <= set(release.codes[:, 0])
    assert np.array_equal(few.counts, release.counts[few.codes[:, 0]])


def test_weights_of_a_thinned_sample_keep_the_sum(tmp_path: Path) -> None:
    """The mean of 150 sums is within 8 of its standard errors: it fails by chance once in some 10^12 runs."""
    release = written(
        tmp_path, [40] * 100 + [400] * 20, method=ht.Threshold(threshold=60), cutoff=None, threshold=60.0
    )
    whole = float(release.weights.sum())

    sums = np.array([thinned(release, 30).weights.sum() for _ in range(150)])

    assert abs(sums.mean() - whole) < 8 * sums.std() / np.sqrt(len(sums))
    assert sums.std() > 0


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (ht.Everything(), ht.Filter(size=7)),
        (ht.Everything(nonnegative=True), ht.Filter(size=7, two_sided=False)),
        (ht.Filter(cutoff=20), ht.Filter(size=7)),
        (ht.Filter(size=30, two_sided=False), ht.Filter(size=7, two_sided=False)),
        (ht.Threshold(threshold="190.5"), ht.Priority(size=7)),
        (ht.Threshold(size=30, two_sided=False), ht.Priority(size=7, two_sided=False)),
        (ht.Priority(size=30, two_sided=False), ht.Priority(size=7, two_sided=False)),
        (ht.FilterThreshold(cutoff="2.5", threshold=9), ht.FilterPriority(cutoff="2.5", size=7)),
        (
            ht.FilterPriority(cutoff=3, size=30, two_sided=False),
            ht.FilterPriority(cutoff=3, size=7, two_sided=False),
        ),
    ],
)
def test_the_method_of_a_thinned_release(method: Method, expected: Method) -> None:
    assert method.thinned(7) == expected


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_summary_can_be_thinned(method: Method, tmp_path: Path) -> None:
    if isinstance(method, ht.Filter) and method.size is not None:
        method = replace(method, size=100_000)  # all of them are written
    sampled = not isinstance(method, ht.Everything | ht.Filter)
    release = written(
        tmp_path, list(range(25, 75)), method=method, cutoff=20.0, threshold=100.0 if sampled else None
    )

    few = thinned(release, 7)

    assert len(few) == 7
    assert few.summary == method.thinned(7)
    assert few.cutoff is not None
    assert few.cutoff <= np.abs(few.counts).min()
    assert few.epsilon == release.epsilon
    assert few.guarantee == release.guarantee
    assert few.domain == release.domain


TREES = [
    (structure, method)
    for structure in STRUCTURES
    for method in METHODS
    if go_together(structure, method, TRIPS_DOMAIN)
]


@pytest.mark.parametrize(("structure", "method"), TREES, ids=repr)
def test_every_tree_can_be_thinned(structure: Lifted, method: Method, tmp_path: Path) -> None:
    if isinstance(method, ht.Filter) and method.size is not None:
        method = replace(method, size=100_000)  # all of them are written
    sampled = not isinstance(method, ht.Everything | ht.Filter)
    made = tree_terms(structure, method=method, threshold=100.0 if sampled else None)
    whole = all_nodes(made)
    whole = rows(made, whole.codes, whole.counts[::-1].copy())  # so that a node is above those in it
    write(tmp_path / "all.parquet", made, whole)

    few = thinned(ht.open(tmp_path / "all.parquet"), 7)

    assert len(few) == 7
    assert few.summary == method.thinned(7)
    assert few.cutoff is not None
    assert few.cutoff <= np.abs(few.counts).min()
    assert few.terms.structure == structure
    assert few.terms.sensitivity == made.sensitivity
    published = {tuple(code): count for code, count in zip(whole.codes.tolist(), whole.counts, strict=True)}
    assert [published[tuple(code)] for code in few.codes.tolist()] == few.counts.tolist()
    assert np.array_equal(few.weights, weights_of(few.counts, few.threshold))


def test_a_filtered_tree_keeps_the_largest_nodes(tmp_path: Path) -> None:
    made = tree_terms(Dyadic())
    write(tmp_path / "all.parquet", made, all_nodes(made))

    few = thinned(ht.open(tmp_path / "all.parquet"), 3)

    assert few.codes.tolist() == [[41], [42], [43]]
    assert (few.counts.tolist(), few.cutoff) == ([61, 62, 63], 61.0)


def test_a_consistent_tree_stays_consistent(tmp_path: Path) -> None:
    """The root has 50, its children 40 and 90; the children of the first 95 and 21, that of the second 30."""
    made = tree_terms(Dyadic(consistent=True))
    nodes = np.array([[0], [1], [2], [3], [4], [5]])
    write(tmp_path / "all.parquet", made, rows(made, nodes, np.array([50, 40, 90, 95, 21, 30])))
    release = ht.open(tmp_path / "all.parquet")

    kept = {
        size: (few.codes[:, 0].tolist(), few.cutoff)
        for size in range(1, 7)
        for few in [thinned(release, size)]
    }

    # By the smallest count on the path from the root: 50, 40, 50, 40, 21, 30; of equal ones the upper first.
    assert kept == {
        1: ([0], 50.0),
        2: ([0, 2], 50.0),
        3: ([0, 1, 2], 40.0),
        4: ([0, 1, 2, 3], 40.0),
        5: ([0, 1, 2, 3, 5], 30.0),
        6: ([0, 1, 2, 3, 4, 5], 20.0),
    }


@pytest.mark.parametrize("nonnegative", [False, True])
def test_zeros_of_everything_are_no_rows_of_a_filter(nonnegative: bool, tmp_path: Path) -> None:
    counts = [0, 5, 0, 2 if nonnegative else -2, 0]
    method = ht.Everything(nonnegative=nonnegative)
    release = written(tmp_path, counts, method=method, cutoff=None, threshold=None, rule=None)

    few = thinned(release, 4)

    assert few.counts.tolist() == [each for each in counts if each]
    assert few.summary == ht.Filter(size=4, two_sided=not nonnegative)
    assert few.cutoff is None  # as a filter that found fewer rows than asked for


def test_enough_room_changes_nothing(tmp_path: Path) -> None:
    release = written(tmp_path, [30, 40, 0], method=ht.Everything(), cutoff=None, threshold=None)

    for size in (3, 1000):
        same = thinned(release, size)
        assert same.terms == replace(release.terms, version=ht.__version__)
        assert same.to_arrow().equals(release.to_arrow())


def test_an_automatic_choice_does_not_explain_other_settings(tmp_path: Path) -> None:
    release = written(tmp_path, [30, 40, 50], rule="auto-cutoff-1", threshold=0.0)

    assert thinned(release, 2).terms.rule is None
    assert thinned(release, 3).terms.rule == "auto-cutoff-1"


def test_the_file_says_who_wrote_it(tmp_path: Path) -> None:
    release = written(tmp_path, [30, 40, 50], version="0.0.1")

    assert thinned(release, 2).terms.version == ht.__version__


def test_the_noisy_total_stays(tmp_path: Path) -> None:
    made = terms(LINE)
    write(tmp_path / "all.parquet", made, rows(made, np.array([[1], [2], [3]]), np.array([30, -40, 50])))

    few = thinned(ht.open(tmp_path / "all.parquet"), 1)

    assert few.noisy_total == made.total
    assert few.terms.total_budget == made.total_budget


def test_thinning_again(tmp_path: Path) -> None:
    release = written(tmp_path, list(range(30, 130)))

    once = thin(release, size=50, output=tmp_path / "50.parquet")
    twice = thin(once, size=5, output=tmp_path / "5.parquet")

    assert len(twice) == 5
    assert twice.threshold is not None
    assert once.threshold is not None
    assert twice.threshold >= once.threshold


def test_an_empty_release(tmp_path: Path) -> None:
    assert len(thinned(written(tmp_path, []), 5)) == 0


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3"])
def test_sizes_that_are_none(size: Any, tmp_path: Path) -> None:
    release = written(tmp_path, [30, 40, 50])

    with pytest.raises(ht.BadNumber):
        thinned(release, size)
    assert not (tmp_path / "few.parquet").exists()


def test_a_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    release = written(tmp_path, [30, 40, 50])
    before = release.path.read_bytes()

    with pytest.raises(ht.BadOutput, match="overwrite"):
        thin(release, size=2, output=release.path)
    assert release.path.read_bytes() == before

    assert len(thin(release, size=2, output=release.path, overwrite=True)) == 2  # in its own place
