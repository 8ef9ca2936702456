"""The private table: in order, added up, and silent about what it holds."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.table.sparse import LARGEST_COUNT

CANARY = 918_273_645


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-5, 5)), max_size=40),
    st.sampled_from([np.int64, np.int8, np.int32]),
)
def test_rows_of_a_cell_are_added_and_zeros_are_empty(
    rows: list[tuple[int, int, int]], dtype: type[np.signedinteger]
) -> None:
    table = ht.SparseTable(
        shape=(4, 5),
        codes=np.array([row[:2] for row in rows], dtype=dtype).reshape(-1, 2),
        counts=np.array([row[2] for row in rows], dtype=dtype),
    )
    sums: Counter[tuple[int, int]] = Counter()
    for first, second, count in rows:
        sums[first, second] += count
    expected = {cell: total for cell, total in sums.items() if total}

    cells = [tuple(code) for code in table.space.unpack(table.keys).tolist()]
    assert cells == sorted(expected)
    assert dict(zip(cells, table.counts.tolist(), strict=True)) == expected


def test_one_attribute_may_be_a_plain_list() -> None:
    table = ht.SparseTable(shape=(10,), codes=[7, 3], counts=[1, 2])

    assert table.keys.tolist() == [[3, 7]]
    assert table.counts.tolist() == [2, 1]
    assert table.cells_total == 10


def test_an_empty_table_is_a_table() -> None:
    assert ht.SparseTable(shape=(10, 10), codes=np.empty((0, 2), int), counts=[]).counts.size == 0
    assert ht.SparseTable(shape=(10,), codes=[], counts=[]).counts.size == 0


def test_large_sums_do_not_wrap() -> None:
    most = LARGEST_COUNT
    table = ht.SparseTable(shape=(3,), codes=[1] * 5, counts=[most, -most, most, -most, 7])
    assert table.counts.tolist() == [7]
    table = ht.SparseTable(shape=(3,), codes=[1, 1], counts=[most // 2, most // 2 - 1])
    assert table.counts.tolist() == [most - 1]
    for sign in (1, -1):
        table = ht.SparseTable(shape=(3,), codes=[1, 1], counts=[sign * most, 0])
        assert table.counts.tolist() == [sign * most]
        table = ht.SparseTable(shape=(3,), codes=[1, 1], counts=[sign * most, sign])
        assert table.counts.tolist() == [sign * most]
        table = ht.SparseTable(shape=(3,), codes=[1] * 40 + [2], counts=[sign * most] * 40 + [1])
        assert table.counts.tolist() == [sign * most, 1]


def test_the_callers_arrays_stay_his() -> None:
    codes, counts = np.array([[1, 2]]), np.array([5])
    table = ht.SparseTable(shape=(3, 3), codes=codes, counts=counts)
    counts[0] = 99

    assert table.counts.tolist() == [5]
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 1


BAD = [
    ({"codes": [[0, 1, 2]]}, "codes do not have one column for each of 2 attributes"),
    ({"codes": [1]}, "codes do not have one column for each of 2 attributes"),
    ({"counts": [1, 2]}, "there are not as many counts as rows of codes"),
    ({"counts": [[1]]}, "there are not as many counts as rows of codes"),
    ({"codes": [[CANARY, 1]]}, r"codes of attribute 0 lie outside 0\.\.9"),
    ({"codes": [[1, -CANARY]]}, r"codes of attribute 1 lie outside 0\.\.19"),
    ({"codes": [[1.5, 2]]}, "codes are not an array of whole numbers"),
    ({"codes": [["a", "b"]]}, "codes are not an array of whole numbers"),
    ({"counts": [CANARY + 0.5]}, "counts are not an array of whole numbers"),
    ({"counts": [float("nan")]}, "counts are not an array of whole numbers"),
    ({"counts": [str(CANARY)]}, "counts are not an array of whole numbers"),
    ({"counts": [None]}, "counts are not an array of whole numbers"),
    ({"counts": [True]}, "counts are not an array of whole numbers"),
    ({"counts": [2**70 + CANARY]}, "counts are not an array of whole numbers"),
    ({"counts": [2**63 + CANARY]}, r"counts lie beyond 2\^60"),
    ({"counts": [-(2**62)]}, r"counts lie beyond 2\^60"),
    ({"codes": [[1, 2], [3]]}, "codes are not an array of whole numbers"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_one_clear_error_that_quotes_nothing(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"shape": (10, 20), "codes": [[1, 2]], "counts": [3]}
    with pytest.raises(ht.BadTable, match=message) as caught:
        ht.SparseTable(**(good | change))  # type: ignore[arg-type]

    error: BaseException | None = caught.value
    while error is not None:
        assert str(CANARY) not in f"{error!r} {error}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("shape", [(), (0,), (10, 2**63), (2.5,)])
def test_bad_shapes_are_one_clear_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ht.BadNumber, match="shape="):
        ht.SparseTable(shape=shape, codes=np.empty((0, len(shape)), int), counts=[])


def test_a_table_prints_its_shape_only() -> None:
    table = ht.SparseTable(shape=(10, 20), codes=[[1, 2]], counts=[CANARY])

    assert repr(table) == str(table) == "SparseTable(shape=(10, 20), counts=<private>)"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_table_cannot_be_pickled(duplicate: object) -> None:
    table = ht.SparseTable(shape=(10,), codes=[1], counts=[1])
    with pytest.raises(ht.HushtableError, match="holds private counts"):
        duplicate(table)  # type: ignore[operator]
