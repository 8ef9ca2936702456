"""Keys: packing loses nothing, and order, search and merge are those of Python's tuples."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.keys import (
    Keys,
    KeySpace,
    ascending,
    contains,
    merged_keys,
    no_keys,
    repeats,
    sorted_keys,
    sorted_with_places,
    sorting_order,
)
from hushtable.errors import BadNumber

sizes = st.integers(1, 2**63 - 1) | st.integers(1, 12)
shapes = st.lists(sizes, min_size=1, max_size=30)


@st.composite
def cells(draw: st.DrawFn) -> tuple[KeySpace, list[tuple[int, ...]]]:
    """A domain and some of its cells, many of them alike in their leading attributes."""
    shape = draw(shapes)
    code = [st.sampled_from([0, size - 1, size // 2]) | st.integers(0, size - 1) for size in shape]
    return KeySpace(shape), draw(st.lists(st.tuples(*code), max_size=12))


def packed(space: KeySpace, chosen: list[tuple[int, ...]]) -> Keys:
    return space.pack(np.array(chosen, dtype=np.int64).reshape(len(chosen), len(space.shape)))


def tuples(keys: Keys) -> list[tuple[int, ...]]:
    return [tuple(int(word) for word in key) for key in keys.T]


@given(cells())
def test_packing_loses_nothing(case: tuple[KeySpace, list[tuple[int, ...]]]) -> None:
    space, chosen = case
    keys = packed(space, chosen)

    assert [tuple(codes) for codes in space.unpack(keys).tolist()] == chosen
    assert all(word < bound for key in tuples(keys) for word, bound in zip(key, space.bounds, strict=True))


@given(cells())
def test_keys_sort_as_codes_do(case: tuple[KeySpace, list[tuple[int, ...]]]) -> None:
    space, chosen = case
    in_order = sorted_keys(packed(space, chosen))

    assert [tuple(codes) for codes in space.unpack(in_order).tolist()] == sorted(chosen)
    assert repeats(in_order).tolist() == [
        i > 0 and sorted(chosen)[i - 1] == c for i, c in enumerate(sorted(chosen))
    ]
    assert ascending(in_order) == (len(set(chosen)) == len(chosen))
    assert ascending(packed(space, chosen)) == (chosen == sorted(set(chosen)))


@pytest.mark.parametrize("few_runs", [-1, 100])  # 12 cells are never more than 100 runs
@given(case=cells())
def test_sorted_keys_know_their_places(case: tuple[KeySpace, list[tuple[int, ...]]], few_runs: int) -> None:
    space, chosen = case
    given_keys = packed(space, chosen)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hushtable.domain.keys._FEW_RUNS", few_runs)
        found, places = sorted_with_places(given_keys)
        order = sorting_order(given_keys)

    assert [tuple(codes) for codes in space.unpack(found).tolist()] == sorted(chosen)
    assert sorted(places.tolist()) == list(range(len(chosen)))
    assert [chosen[place] for place in places] == sorted(chosen)
    assert [chosen[place] for place in order] == sorted(chosen)


@pytest.mark.parametrize("few_ties", [0, 1])  # sort all again, or the tied rows alone
@given(
    words=st.lists(st.tuples(st.sampled_from([0, 2**63, 2**64 - 4]), st.integers(0, 3), st.integers(0, 3))),
)
def test_words_of_64_bits_are_sorted_by_their_last_bits_too(
    words: list[tuple[int, int, int]], few_ties: int
) -> None:
    chosen = [(high + low, later) for high, low, later in words]
    given_keys = np.array([[c[0] for c in chosen], [c[1] for c in chosen]], dtype=np.uint64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hushtable.domain.keys._FEW_RUNS", -1)
        patched.setattr("hushtable.domain.keys._FEW_TIES", few_ties)
        one, two = given_keys[:1], given_keys

        assert tuples(sorted_with_places(one)[0]) == sorted((c[0],) for c in chosen)
        assert [chosen[place][0] for place in sorting_order(one)] == sorted(c[0] for c in chosen)
        assert tuples(sorted_with_places(two)[0]) == sorted(chosen)
        assert tuples(sorted_keys(two)) == sorted(chosen)


@given(cells(), st.data())
def test_search_and_merge_are_those_of_sets(
    case: tuple[KeySpace, list[tuple[int, ...]]], data: st.DataObject
) -> None:
    space, chosen = case
    in_first = data.draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    first = sorted({c for c, there in zip(chosen, in_first, strict=True) if there})
    keys = packed(space, first)

    assert contains(keys, packed(space, chosen)).tolist() == [c in set(first) for c in chosen]
    others = sorted(set(chosen) - set(first))
    assert tuples(merged_keys(keys, packed(space, others))) == tuples(packed(space, sorted(set(chosen))))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1,), 1),
        ((10**6, 10**6), 1),
        ((2**32, 2**32), 1),
        ((2**32, 2**32, 2), 2),
        ([10] * 30, 2),
        ([10**6] * 5, 2),
        ([2**63 - 1] * 3, 3),
    ],
)
def test_keys_take_few_words(shape: list[int], words: int) -> None:
    space = KeySpace(shape)

    assert len(space.bounds) == words
    assert space.cells_total == prod(shape) == prod(space.bounds)


@pytest.mark.parametrize("shape", [(), (0,), (3, -1), (2**63,), (2.0,), ("3",)])
def test_bad_shapes_are_one_clear_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadNumber, match="shape="):
        KeySpace(shape)


def test_the_last_of_three_words_counts() -> None:
    keys = np.array([[1, 1, 1, 2], [4, 4, 5, 4], [7, 9, 7, 7]], dtype=np.uint64)
    sought = np.array([[1, 1, 1, 1, 2, 2], [4, 4, 4, 5, 4, 4], [7, 8, 9, 9, 7, 8]], dtype=np.uint64)

    assert ascending(keys)
    assert contains(keys, sought).tolist() == [True, False, True, False, True, False]
    assert tuples(sorted_keys(keys[:, ::-1])) == tuples(keys)
    assert repeats(np.repeat(keys, 2, axis=1)).tolist() == [False, True] * 4


def test_no_keys_are_ascending() -> None:
    assert ascending(np.array([[3]], dtype=np.uint64))
    assert ascending(no_keys(3))
    assert contains(no_keys(2), no_keys(2)).tolist() == []
