"""Selections count cells exactly and find their rows, for any formula and any size of domain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.conditions import ranges
from hushtable.conditions.formulas import FALSE, TRUE, And, Formula, Leaf, Or, all_of, any_of, factors
from hushtable.conditions.ranges import Runs, complement, intersection, run, runs_of, runs_where, union
from hushtable.conditions.selection import Selection
from hushtable.domain.attributes import Attribute, Integers
from tests.answers.enumerated import all_codes, group_counts, in_columns


def domain_of(*sizes: int) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=f"a{place}", values=Integers(low=0, high=size - 1))
            for place, size in enumerate(sizes)
        )
    )


def members(runs: Runs) -> set[int]:
    pieces = zip(runs.starts.tolist(), runs.stops.tolist(), strict=True)
    return {code for start, stop in pieces for code in range(start, stop)}


def proper(runs: Runs) -> bool:
    """Whether runs are ascending, none is empty and none touches the next."""
    return bool(np.all(runs.starts < runs.stops) and np.all(runs.starts[1:] > runs.stops[:-1]))


SETS = st.sets(st.integers(0, 19)).map(lambda codes: runs_of(np.array(sorted(codes), dtype=np.int64)))


@given(st.lists(SETS, min_size=1, max_size=4))
def test_runs_behave_as_sets(several: list[Runs]) -> None:
    sets = [members(each) for each in several]
    cases = [
        (union(several), set.union(*sets)),
        (intersection(several, 20), set.intersection(*sets)),
        (complement(several[0], 20), set(range(20)) - sets[0]),
        (runs_where(np.isin(np.arange(20), list(sets[0]))), sets[0]),
    ]

    for runs, codes in cases:
        assert members(runs) == codes
        assert proper(runs)
        assert runs.size == len(codes)


@given(st.sets(st.integers(0, 255)), st.sampled_from([np.uint8, np.uint16, np.uint64, np.int64]))
@pytest.mark.parametrize("table", [True, False])
def test_runs_hold_their_codes_by_comparison_table_and_search(
    table: bool, codes: set[int], kind: type[np.integer]
) -> None:
    column = np.arange(256).astype(kind)
    runs = runs_of(np.array(sorted(codes), dtype=np.int64))

    held = runs.holds(column, size=256 if table else 1 << 62)

    assert set(np.flatnonzero(held).tolist()) == codes


def test_runs_reach_the_largest_code_there_is() -> None:
    size = (1 << 63) - 1
    last = run(size - 1, size)

    assert complement(last, size).size == size - 1
    assert last.holds(np.array([size - 1, size - 2], dtype=np.uint64), size=size).tolist() == [True, False]
    assert union([last, run(0, size - 1)]).size == size
    assert intersection([last, run(0, size - 1)], size).size == 0


def formulas(domain: ht.Domain) -> st.SearchStrategy[Formula]:
    """Formulas as they may be built, simplified or not."""
    leaves = st.integers(0, len(domain.shape) - 1).flatmap(
        lambda place: st.sets(st.integers(0, domain.shape[place] - 1)).map(
            lambda codes: Leaf(place, runs_of(np.array(sorted(codes), dtype=np.int64)))
        )
    )
    return st.recursive(
        leaves | st.sampled_from([TRUE, FALSE]),
        lambda parts: st.lists(parts, max_size=3).flatmap(
            lambda several: st.sampled_from(
                [And(tuple(several)), Or(tuple(several)), all_of(several, domain), any_of(several, domain)]
            )
        ),
        max_leaves=8,
    )


def is_true(formula: Formula, cell: Sequence[int]) -> bool:
    if isinstance(formula, Leaf):
        return cell[formula.place] in members(formula.codes)
    truths = [is_true(part, cell) for part in formula.parts]
    return all(truths) if isinstance(formula, And) else any(truths)


SMALL = domain_of(3, 1, 4, 2)


@given(formulas(SMALL), st.sets(st.integers(0, SMALL.cells_total - 1)), st.permutations(range(4)))
def test_any_formula_is_counted_and_found(formula: Formula, kept: set[int], order: list[int]) -> None:
    codes = all_codes(SMALL)
    inside = np.array([is_true(formula, cell) for cell in codes.tolist()], dtype=np.bool_)
    rows = np.array(sorted(kept), dtype=np.intp)

    selection = Selection(SMALL, formula)

    assert selection.cells == inside.sum()
    found = np.arange(len(rows))[selection.rows(in_columns(SMALL, codes[rows]))]
    assert found.tolist() == np.flatnonzero(inside[rows]).tolist()
    for places in (order[:1], order[:2], order):
        groups = selection.cells_of_groups(places)
        assert groups.tolist() == group_counts(SMALL, codes[inside], places)
        listed = all_codes(domain_of(*(SMALL.shape[place] for place in places)))
        assert selection.cells_of(places, listed[::-1]).tolist() == groups[::-1].tolist()


@given(formulas(SMALL))
def test_attributes_are_those_on_which_the_selection_depends(formula: Formula) -> None:
    truth = np.array([is_true(formula, cell) for cell in all_codes(SMALL).tolist()]).reshape(SMALL.shape)
    matter = tuple(place for place in range(4) if np.any(truth != truth.take([0], axis=place)))

    assert Selection(SMALL, formula).attributes == (matter if truth.any() else (0, 1, 2, 3))


@given(formulas(SMALL))
def test_factors_share_no_attribute(formula: Formula) -> None:
    parts = factors(formula)
    places = [set(Selection(SMALL, part).attributes) for part in parts if Selection(SMALL, part).cells]

    assert sum(map(len, places)) == len(set().union(*places))
    assert all(
        is_true(formula, cell) == all(is_true(part, cell) for part in parts)
        for cell in all_codes(SMALL).tolist()
    )


def test_cells_are_exact_in_a_domain_of_10_to_the_30() -> None:
    domain = domain_of(10**10, 10**10, 10**10)
    some = [Leaf(0, run(0, 7)), Leaf(1, run(5, 10**9)), Leaf(2, run(10**10 - 1, 10**10))]

    either = Selection(domain, any_of(some, domain))

    outside = (10**10 - 7) * (10**10 - 10**9 + 5) * (10**10 - 1)
    assert either.cells == 10**30 - outside
    assert Selection(domain, all_of(some, domain)).cells == 7 * (10**9 - 5)
    groups = either.cells_of([0], np.array([[6], [7]]))
    assert groups.tolist() == [1e20, float(10**20 - (10**10 - 10**9 + 5) * (10**10 - 1))]


@pytest.mark.parametrize("size", [10**4, 3 * 10**9, 10**10, 10**15, (1 << 63) - 1])
def test_cells_are_exact_on_both_sides_of_64_bits(size: int) -> None:
    domain = domain_of(size, size)
    either = any_of([Leaf(0, run(1, size)), Leaf(1, run(0, size - 1))], domain)

    assert Selection(domain, either).cells == size**2 - 1


def test_attributes_may_have_all_values_of_64_bits() -> None:
    size = (1 << 63) - 1
    domain = domain_of(size, size, 3)
    either = any_of([Leaf(0, run(size - 1, size)), Leaf(1, run(0, 1 << 62))], domain)

    selection = Selection(domain, either)
    columns: list[NDArray[Any]] = [
        np.array([0, 5, size - 1], dtype=np.uint64),
        np.array([1 << 62, 9, size - 1], dtype=np.uint64),
        np.array([0, 1, 2], dtype=np.uint8),
    ]

    assert selection.cells == 3 * (size + (size - 1) * (1 << 62))
    assert np.arange(3)[selection.rows(columns)].tolist() == [1, 2]
    assert selection.cells_of_groups([2]).tolist() == [float(selection.cells // 3)] * 3


def test_group_counts_beyond_float64_are_infinite_and_zeros_stay_zero() -> None:
    size = (1 << 63) - 1
    domain = domain_of(2, *[size] * 17)
    selection = Selection(domain, Leaf(0, run(1, 2)))

    assert selection.cells == size**17
    assert selection.cells_of_groups([0]).tolist() == [0.0, np.inf]
    assert selection.cells_of([0, 1], np.array([[0, 4], [1, 4]])).tolist() == [0.0, float(size**16)]


def test_one_cell_of_two_hundred_attributes_is_found() -> None:
    domain = domain_of(*[3] * 200)
    cell = all_of([Leaf(place, run(1, 2)) for place in range(200)], domain)
    codes = np.ones((3, 200), dtype=np.int64)
    codes[0, 150], codes[2, 199] = 0, 2

    selection = Selection(domain, cell)

    assert selection.cells == 1
    assert selection.attributes == tuple(range(200))
    assert np.arange(3)[selection.rows(in_columns(domain, codes))].tolist() == [1]


def test_without_groups_there_is_one_number() -> None:
    selection = Selection(SMALL, Leaf(0, run(1, 3)))

    assert selection.cells_of_groups([]).tolist() == [16.0]
    assert selection.cells_of([], np.empty((2, 0), dtype=np.int64)).tolist() == [16.0, 16.0]


def test_too_many_combinations_are_refused() -> None:
    domain = domain_of(*[3] * 20)
    either = any_of([Leaf(place, run(0, 1)) for place in range(20)], domain)

    with pytest.raises(ht.BadQuery, match=r"2 x 2 .* classes of cells\.\nAt most 1000000 can be counted"):
        Selection(domain, either)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_rows_are_found_whichever_attribute_leads(order: tuple[int, ...]) -> None:
    sizes = [1_000, 40, 300]
    domain = domain_of(*(sizes[place] for place in order))
    generator = np.random.default_rng(order)
    codes = np.unique(generator.integers(0, domain.shape, size=(5_000, 3)), axis=0)
    wanted = {0: run(10, 700), 1: run(7, 8), 2: runs_of(np.arange(0, 300, 7))}
    leaves = [Leaf(place, wanted[size]) for place, size in enumerate(order)]
    tests = [leaf.codes.holds(codes[:, leaf.place], size=1 << 62) for leaf in leaves]
    columns = in_columns(domain, codes)

    for number in range(1, 4):
        both = Selection(domain, all_of(leaves[:number], domain)).rows(columns)
        either = Selection(domain, any_of(leaves[:number], domain)).rows(columns)

        assert np.array_equal(np.arange(len(codes))[both], np.flatnonzero(np.all(tests[:number], axis=0)))
        assert np.array_equal(np.arange(len(codes))[either], np.flatnonzero(np.any(tests[:number], axis=0)))


def test_ranges_of_leading_attributes_are_slices() -> None:
    domain = domain_of(50, 50, 50)
    codes = np.unique(np.random.default_rng(1).integers(0, 50, size=(2_000, 3)), axis=0)
    columns = in_columns(domain, codes)
    leaves = [Leaf(0, run(7, 8)), Leaf(1, run(3, 4)), Leaf(2, run(10, 40))]

    for number in range(1, 4):
        assert isinstance(Selection(domain, all_of(leaves[:number], domain)).rows(columns), slice)


def test_groups_are_not_counted_one_by_one() -> None:
    domain = domain_of(1_000, 1_000, 10**9)
    formula = any_of(
        [Leaf(0, run(3, 700)), all_of([Leaf(1, run(5, 6)), Leaf(2, run(0, 17))], domain)], domain
    )
    selection = Selection(domain, formula)

    start = process_time()
    groups = selection.cells_of_groups([1, 0]).reshape(1_000, 1_000)

    assert process_time() - start < 5
    assert groups.sum() == selection.cells
    assert groups[5, 0] == 17
    assert groups[5, 3] == 10**9


def test_tables_are_used_for_small_attributes_only() -> None:
    assert ranges.worth_a_table(1_000, looked_up=1)
    assert not ranges.worth_a_table(1 << 40, looked_up=10**6)
