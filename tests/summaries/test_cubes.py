"""Summaries of marginals: each has the law of its own, with its own part of epsilon and its own noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.marginals import cube_space
from hushtable.summaries import cubes, summarize
from hushtable.summaries.cubes import draw_marginals
from hushtable.summaries.draws import TableHere
from hushtable.summaries.flat import summarize_slices
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, fits, follows, law_at, replay, runs
from tests.table.several import added

SIZE = 1000
MORE, LESS = Fraction(3, 4), Fraction(5, 4)  # 25 % too much noise, and too little
WEIGHTED = ht.Marginals(["a"], ["b"], weights=[1, "3/2"])


def domain_of(*sizes: int) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=name, values=Integers(low=0, high=size - 1))
            for name, size in zip("abc", sizes, strict=False)
        )
    )


def diagonal(size: int = SIZE) -> ht.SparseTable:
    """A table whose marginals of `a` and of `b` are the same: cell k has k people."""
    codes = np.repeat(np.arange(size)[:, np.newaxis], 2, axis=1)
    return ht.SparseTable(shape=(size, size), codes=codes, counts=np.arange(size))


def drawn(
    structure: ht.Marginals,
    table: ht.SparseTable,
    methods: list[Method],
    entropy: BitSource,
    *,
    epsilon: Fraction = Fraction(1),
    sensitivity: int = 1,
) -> list[Summary]:
    cube = cube_space(structure, domain_of(*table.shape))
    return draw_marginals(
        TableHere(table), cube, methods, epsilon=epsilon, sensitivity=Fraction(sensitivity), entropy=entropy
    )


def noise_in(summaries: list[Summary]) -> list[NDArray[np.int64]]:
    """The noise of whole marginals of the diagonal."""
    for each in summaries:
        assert each.codes[:, 0].tolist() == list(range(SIZE))
    return [each.counts - np.arange(SIZE) for each in summaries]


def test_the_noise_of_each_marginal_follows_its_own_weight() -> None:
    # Of epsilon = 2, 2/5 and 3/5; one person changes each marginal by up to 3.
    entropy, found = replay(850), []
    for _ in range(runs(20)):
        both = drawn(WEIGHTED, diagonal(), [ht.Everything()] * 2, entropy, epsilon=Fraction(2), sensitivity=3)
        found.append(noise_in(both))
    samples = [np.concatenate(each) for each in zip(*found, strict=True)]

    for sample, rate in zip(samples, [Fraction(4, 15), Fraction(2, 5)], strict=True):
        assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
        assert fits(sample, law_at(TwoSidedGeometric, rate * MORE)) < ALARM
        assert fits(sample, law_at(TwoSidedGeometric, rate * LESS)) < ALARM


def test_marginals_that_are_alike_get_noise_of_their_own() -> None:
    rate = Fraction(1, 2)
    entropy = replay(851)
    alike = cells = 0
    for _ in range(runs(10)):
        first, second = noise_in(drawn(ht.Marginals("all-1"), diagonal(), [ht.Everything()] * 2, entropy))
        assert not np.array_equal(first, second)
        alike, cells = alike + int((first == second).sum()), cells + SIZE
    law = law_at(TwoSidedGeometric, rate)
    chance = sum(law.mass(value) ** 2 for value in range(-200, 201))

    assert chernoff_follows(alike, cells, chance) > ALARM
    assert chernoff(cells, cells, chance) < ALARM  # noise that is used twice


METHODS: list[Method] = [
    ht.Filter(cutoff=5),
    ht.Priority(size=9, two_sided=False),
    ht.FilterPriority(cutoff=3, size=8),
    ht.Everything(nonnegative=True),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_marginal_is_drawn_as_it_would_be_alone(method: Method) -> None:
    """From the same bits come the same rows, one marginal after the other."""
    structure = ht.Marginals(["a"], ["a", "c"], ["b"], weights=[1, 2, 3])
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, size, 200) for size in (6, 5, 30)], axis=1)
    table = ht.SparseTable(shape=(6, 5, 30), codes=codes, counts=generator.integers(1, 9, 200))
    methods = [ht.Everything(), method, ht.Filter(cutoff=2)]
    found = drawn(structure, table, methods, replay(852), epsilon=Fraction(3), sensitivity=2)

    entropy, cube = replay(852), cube_space(structure, domain_of(6, 5, 30))
    parts = added(table, cube)
    for summary, part, own, epsilon in zip(
        found, parts, methods, (Fraction(1, 2), Fraction(1), Fraction(3, 2)), strict=True
    ):
        alone = draw_summary(part, own, epsilon=epsilon, sensitivity=Fraction(2), entropy=entropy)
        assert (summary.shape, summary.method) == (part.shape, own)
        assert (summary.epsilon, summary.sensitivity) == (epsilon, Fraction(2))
        assert np.array_equal(summary.codes, alone.codes)
        assert np.array_equal(summary.counts, alone.counts)
        assert (summary.cutoff, summary.threshold) == (alone.cutoff, alone.threshold)


def test_what_is_passed_on_is_what_the_shares_say(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[tuple[int, ...], Method, Fraction, Fraction]] = []

    def watched(table: ht.SparseTable, method: Method, **settings: Any) -> Summary:
        seen.append((table.shape, method, settings["epsilon"], settings["sensitivity"]))
        return draw_summary(table, method, **settings)

    def by_slices(slices: Any, space: Any, method: Method, **settings: Any) -> Summary:
        seen.append((space.shape, method, settings["epsilon"], settings["sensitivity"]))
        return summarize_slices(slices, space, method, **settings)

    monkeypatch.setattr(cubes, "summarize_table", watched)
    monkeypatch.setattr(cubes, "summarize_slices", by_slices)
    heard: list[float] = []
    structure = ht.Marginals(["b"], ["a"], ["a", "b"], weights=["1/3", "1/6", "1/2"])
    cube = cube_space(structure, domain_of(4, 6))
    table = ht.SparseTable(shape=(4, 6), codes=[[1, 2]], counts=[7])
    methods: list[Method] = [ht.Everything(), ht.Filter(cutoff=1), ht.Priority(size=3)]
    draw_marginals(
        TableHere(table),
        cube,
        methods,
        epsilon=Fraction(1, 7),
        sensitivity=Fraction(5),
        entropy=replay(853),
        progress=lambda _, share: heard.append(share),
    )

    assert seen == [
        ((6,), methods[0], Fraction(1, 21), Fraction(5)),
        ((4,), methods[1], Fraction(1, 42), Fraction(5)),
        ((4, 6), methods[2], Fraction(1, 14), Fraction(5)),
    ]
    assert sum(epsilon for _, _, epsilon, _ in seen) == Fraction(1, 7)
    assert heard == [1 / 3, 2 / 3, 1]


def test_every_marginal_takes_one_method() -> None:
    with pytest.raises(ValueError, match="zip"):
        drawn(ht.Marginals("all-1"), diagonal(3), [ht.Everything()], replay(854))


def test_an_empty_table_has_marginals_of_noise() -> None:
    table = ht.SparseTable(shape=(50, 50), codes=np.empty((0, 2), dtype=np.int64), counts=[])
    for summary in drawn(ht.Marginals("all-1"), table, [ht.Everything()] * 2, replay(855)):
        assert len(summary) == 50
        assert summary.counts.any()


# Sketches.


def test_buckets_are_the_sums_and_the_noise_that_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """One person changes one bucket in each of two rows, so that half of epsilon is for each."""
    entropy = replay(856)
    monkeypatch.setattr(summarize, "KeyStream", lambda: entropy)
    table = ht.SparseTable(shape=(40,), codes=np.arange(0, 40, 2), counts=np.arange(1, 21) * 10)
    samples = []
    for _ in range(runs(20)):
        found = ht.summarize(
            table, ht.Everything(), epsilon="1/2", structure=ht.CountSketch(width=500, depth=2)
        )
        sketch = found.nodes
        assert found.shape == (2, 500)
        assert found.sensitivity == 2
        assert len(found) == 1000
        true: dict[tuple[int, int], int] = {}
        for cell, count in zip(range(0, 40, 2), range(10, 210, 10), strict=True):
            for row in range(2):
                bucket, sign = sketch.buckets(sketch.cells.pack(np.array([[cell]])), row)  # type: ignore[union-attr]
                place = row, int(bucket[0])
                true[place] = true.get(place, 0) + int(sign[0]) * count
        samples += [
            count - true.get((row, bucket), 0)
            for (row, bucket), count in zip(found.codes.tolist(), found.counts.tolist(), strict=True)
        ]

    rate = Fraction(1, 4)
    assert follows(np.array(samples), law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(np.array(samples), law_at(TwoSidedGeometric, rate * MORE)) < ALARM
    assert fits(np.array(samples), law_at(TwoSidedGeometric, rate * LESS)) < ALARM


def test_a_sketch_is_hashed_by_keys_of_its_own() -> None:
    table = ht.SparseTable(shape=(40,), codes=[3], counts=[5])
    keys = [
        key
        for _ in range(20)
        for key in ht.summarize(
            table, ht.Everything(), epsilon=1, structure=ht.CountSketch(width=4, depth=3)
        ).nodes.keys  # type: ignore[union-attr]
    ]

    assert len(set(keys)) == 60


def test_counts_below_0_multiply_what_is_declared() -> None:
    table = ht.SparseTable(shape=(40,), codes=[3, 5], counts=[5, -900])
    sketch = ht.CountSketch(width=4, depth=3)
    with pytest.raises(ht.BadTable, match="need a sensitivity of their own"):
        ht.summarize(table, ht.Everything(), epsilon=1, structure=sketch)

    assert ht.summarize(table, ht.Everything(), epsilon=1, sensitivity=7, structure=sketch).sensitivity == 21


@pytest.mark.parametrize(
    ("structure", "method", "message"),
    [
        (
            ht.Marginals("all-1"),
            ht.Everything(),
            "a table of codes has no names of attributes, so there are no marginals of it. Publish rows",
        ),
        ("marginals", ht.Everything(), "the structure 'marginals' needs settings"),
        ("sketch", ht.Everything(), r"the structure 'sketch' needs settings. Give ht.CountSketch\(width="),
        (ht.CountSketch(width=9), ht.Priority(size=3), "a sketch publishes all of its buckets"),
        (ht.CountSketch(width=9), ht.Everything(nonnegative=True), "a sketch publishes all of its buckets"),
    ],
)
def test_what_makes_no_summary_is_refused(structure: Any, method: Method, message: str) -> None:
    table = ht.SparseTable(shape=(40,), codes=[3], counts=[5])

    with pytest.raises(ht.BadChoice, match=message):
        ht.summarize(table, method, epsilon=1, structure=structure)


def test_a_sketch_is_not_thinned() -> None:
    table = ht.SparseTable(shape=(40,), codes=[3], counts=[5])
    found = ht.summarize(table, ht.Everything(), epsilon=1, structure=ht.CountSketch(width=9))

    for setting in ({"size": 3}, {"cutoff": 2}, {"threshold": 2}):
        with pytest.raises(ht.BadChoice, match=r"a sketch needs all of its buckets\. Publish a narrower one"):
            found.thin(**setting)
