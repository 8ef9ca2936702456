"""A summary of fixed size has the law of the long way, exactly, whatever rules it tried on the way.

The guesses here stop in some cases and go on in others. Whether one stops depends on empty cells only; so if
the final choice forgot which rule let a cell in, the law would depend on the guess.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.keys import KeySpace
from hushtable.engines.spark import tasks
from hushtable.engines.spark.blocks import blocks, candidates_in, packed, rows_in
from hushtable.engines.spark.tasks import Box, CellCut
from hushtable.laws.acceptance import Acceptance
from hushtable.noise import BitSource
from hushtable.summaries import finishing, priorities
from hushtable.summaries.flat import summarize_slices
from hushtable.table.slices import Candidates, Task
from tests.audit.drawing import (
    Counts,
    Guess,
    drawn_law,
    guessing,
    long_way_law,
    outcome,
    uniform_among_all_ties,
)
from tests.harness import statistics
from tests.harness.branching import Branching, law_of

Sized = ht.Filter | ht.Priority | ht.FilterPriority


def edge(cutoff: int, share: str = "1") -> Acceptance:
    return Acceptance(cutoff=cutoff, edge_chance=Fraction(share))


def tau(threshold: str, cutoff: int | None = None) -> Acceptance:
    return Acceptance(cutoff=cutoff, threshold=threshold)


CASES: list[tuple[Sized, Guess, Counts]] = [
    (ht.Filter(size=1), [edge(1, "1/2")], (0, 1, 0)),
    (ht.Filter(size=1), [edge(1, "1/16")], (0, 0, 1)),
    (ht.Filter(size=1), [edge(2, "1/3"), edge(1, "1/4"), edge(1, "1/2")], (0, 1, 0)),
    (ht.Filter(size=1), [edge(2), edge(1, "2/5")], (0, 2, 0)),
    (ht.Filter(size=2), [edge(1, "1/2")], (1, 0, 0, 0)),
    (ht.Priority(size=1), [tau("3")], (0, 1, 0)),
    (ht.Priority(size=1), [tau("9"), tau("3/2")], (0, 1, 0)),
    (ht.FilterPriority(cutoff=1, size=1), [tau("4", 1), tau("3/2", 1)], (0, 1, 0)),
    (ht.FilterPriority(cutoff=2, size=1), [tau("5", 2)], (0, 2, 0)),
]


# Priorities have the most outcomes: here with smaller counts, and with these in `make test-long`.
SAMPLES, FILTERS = CASES[5:], CASES[:5]
QUICK = [
    *((*case, 2, False) for case in FILTERS),
    *((*case, 1, True) for case in FILTERS[:2]),
    *((*case, 1, False) for case in SAMPLES[:3]),
]
SLOW = [*((*case, 2, True) for case in CASES), *((*case, 2, False) for case in SAMPLES)]
SOME_FILTERS = [QUICK[0], QUICK[2], QUICK[3], QUICK[5]]
ALL = [*QUICK, *(pytest.param(*case, marks=pytest.mark.long) for case in SLOW)]


def with_sides(method: Sized, rules: Guess, two_sided: bool) -> tuple[Sized, Guess]:
    return replace(method, two_sided=two_sided), [
        Acceptance(
            cutoff=rule.cutoff,
            threshold=rule.threshold,
            edge_chance=rule.edge_chance,
            two_sided=two_sided,
        )
        for rule in rules
    ]


@pytest.mark.parametrize(("method", "rules", "counts", "most", "two_sided"), ALL)
def test_the_law_is_that_of_the_long_way(
    method: Sized, rules: Guess, counts: Counts, most: int, two_sided: bool
) -> None:
    method, rules = with_sides(method, rules, two_sided)
    widened: list[int] = []

    law, walked = drawn_law(counts, method, most=most, guess=rules, widened=widened)

    assert law == long_way_law(counts, method, most=most)
    assert walked == len(widened)
    assert walked > widened.count(1) > 0, "the guess stops in some cases, and goes on in others"


@st.composite
def sized_methods(draw: st.DrawFn) -> tuple[Sized, Guess]:
    """A method of fixed size, and rules from narrow to wide."""
    size, two_sided = draw(st.integers(1, 2)), draw(st.booleans())
    if draw(st.booleans()):
        shares = st.fractions(Fraction(1, 9), 1, max_denominator=9)
        edges = draw(st.lists(st.tuples(st.sampled_from([-2, -1]), shares), min_size=1, max_size=3))
        rules = [
            Acceptance(cutoff=-cutoff, edge_chance=share, two_sided=two_sided)
            for cutoff, share in sorted(edges)
        ]
        return ht.Filter(size=size, two_sided=two_sided), rules
    cutoff = draw(st.sampled_from([None, 1, 2]))
    thresholds = draw(st.lists(st.fractions(1, 9, max_denominator=4), min_size=1, max_size=2))
    rules = [
        Acceptance(cutoff=cutoff, threshold=each, two_sided=two_sided)
        for each in sorted(thresholds, reverse=True)
    ]
    if cutoff is None:
        return ht.Priority(size=size, two_sided=two_sided), rules
    return ht.FilterPriority(cutoff=cutoff, size=size, two_sided=two_sided), rules


@pytest.mark.long
@settings(max_examples=statistics.tries(60))
@given(sized_methods(), st.lists(st.integers(-1, 2), min_size=1, max_size=3), st.integers(1, 2))
def test_no_guess_changes_the_law(case: tuple[Sized, Guess], counts: list[int], slices: int) -> None:
    """Whatever rules are tried, and whatever the table."""
    method, rules = case

    law, _ = drawn_law(tuple(counts), method, most=2, guess=rules, slices=slices)

    assert law == long_way_law(tuple(counts), method, most=2)


@pytest.mark.parametrize("few_slices", [16, 1], ids=["a draw for each", "one for all"])
@pytest.mark.parametrize(("method", "rules"), [CASES[0][:2], CASES[5][:2]])
def test_slices_do_not_change_the_law(method: Sized, rules: Guess, few_slices: int) -> None:
    """However the empty cells of slices are counted."""
    method, rules = with_sides(method, rules, False)
    law, _ = drawn_law((1, 1, 0), method, most=1, guess=rules, slices=2, few_slices=few_slices)

    assert law == long_way_law((1, 1, 0), method, most=1)


@pytest.mark.parametrize(("method", "rules", "counts", "most", "two_sided"), SOME_FILTERS)
def test_ties_that_forget_their_bands_are_caught(
    method: Sized,
    rules: Guess,
    counts: Counts,
    most: int,
    two_sided: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finishing, "largest_candidates", uniform_among_all_ties)
    method, rules = with_sides(method, rules, two_sided)

    law, _ = drawn_law(counts, method, most=most, guess=rules)

    assert law != long_way_law(counts, method, most=most)


class OnWorkers:
    """Two slices of three cells that come back as workers of Spark write them."""

    def __init__(self, counts: Counts, *, forget: bool) -> None:
        self._cells = [(place, each) for place, each in enumerate(counts) if each]
        self._cut = CellCut([Box((0,), (2,)), Box((2,), (1,))])
        self._forget = forget

    def _rows(self, number: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        here = [(place, each) for place, each in self._cells if (place >= 2) == number]
        return np.array([[place for place, _ in here]], dtype=np.uint64), np.array([each for _, each in here])

    @property
    def cells_empty(self) -> list[int]:
        return [2 - self._rows(0)[1].size, 1 - self._rows(1)[1].size]

    def map_slices(
        self, task: Task, accepted: Sequence[Sequence[int]], entropy: BitSource
    ) -> Iterator[Candidates]:
        dealt = [[each] for each in accepted]
        for number in (0, 1):
            keys, counts = self._rows(number)
            row = {"slice": number, "keys": packed(keys), "counts": packed(counts.astype(np.int64))}
            digests = [tasks.digest_of(row)] * 2
            drawn = tasks.draw_slices(task, self._cut, digests, dealt, iter([blocks([row])]))
            (written,) = rows_in(drawn)
            found = candidates_in(written, 1)
            yield found._replace(bands=np.zeros_like(found.bands)) if self._forget else found


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize(("method", "rules"), [FILTERS[0][:2], SAMPLES[0][:2]])
def test_bands_come_back_from_workers(
    method: Sized, rules: Guess, forget: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With them the law is that of the long way; without, it is another."""
    method, rules = with_sides(method, rules, False)
    counts, space = (0, 1, 0), KeySpace((3,))

    def run(source: Branching) -> Hashable:
        monkeypatch.setattr(tasks, "KeyStream", lambda: source)
        slices = OnWorkers(counts, forget=forget)
        one = Fraction(1)
        return outcome(summarize_slices(slices, space, method, epsilon=one, sensitivity=one, entropy=source))

    with guessing(rules, method):
        law, _ = law_of(run, most=1)

    assert (law == long_way_law(counts, method, most=1)) is not forget


def test_priorities_that_forget_their_bands_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    own = priorities._ranges

    def forgetful(rules: Guess) -> tuple[Fraction, dict[int, Any]]:
        reference, ranges = own(rules)
        return reference, dict.fromkeys(ranges, ranges[-1])

    monkeypatch.setattr(priorities, "_ranges", forgetful)
    method, rules = with_sides(*CASES[5][:2], two_sided=False)

    law, _ = drawn_law((0, 1, 0), method, most=1, guess=rules)

    assert law != long_way_law((0, 1, 0), method, most=1)


def test_where_in_a_part_a_priority_lies_does_not_matter() -> None:
    """So one number of each part stands for all: what the harness rests on."""
    method, rules = with_sides(*CASES[5][:2], two_sided=False)
    laws = [
        drawn_law((0, 1, 0), method, most=1, guess=rules, options={"positions": each})[0]
        for each in (lambda x: x, lambda x: x * x, lambda x: 1 - (1 - x) ** 3)
    ]

    assert laws[0] == laws[1] == laws[2]


def test_a_law_that_is_not_walked_through_is_noticed() -> None:
    """The harness itself: bits from elsewhere, and code that does another thing after the same draws."""
    with pytest.raises(AssertionError, match="not injected"):
        law_of(lambda source: source.words(1).size, most=1)
    turns = iter([2, 3, 2, 3])
    with pytest.raises(AssertionError, match="something else"):
        law_of(lambda source: source.choose([(0, Fraction(1, 2))] * next(turns)), most=1)
