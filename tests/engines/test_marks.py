"""Marks of rows: they add up however rows are cut, and tell rows from others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.keys import Keys
from hushtable.engines.sliced.runs import KeyRows, condensed
from hushtable.engines.spark.tasks import mark


@st.composite
def some_rows(draw: st.DrawFn) -> KeyRows:
    words, size = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    word = st.integers(0, 3) | st.integers(0, (1 << 64) - 1)
    keys: Keys = np.array(
        draw(st.lists(st.lists(word, min_size=size, max_size=size), min_size=words, max_size=words)),
        dtype=np.uint64,
    )
    amounts = draw(st.none() | st.lists(st.integers(-(2**60), 2**60), min_size=size, max_size=size))
    return KeyRows(keys, None if amounts is None else np.array(amounts, dtype=np.int64))


@given(some_rows(), st.integers(0, (1 << 64) - 1), st.data())
def test_marks_of_pieces_add_up_in_any_order(rows: KeyRows, salt: int, data: st.DataObject) -> None:
    size = rows.keys.shape[1]
    order = np.array(data.draw(st.permutations(range(size))), dtype=np.intp)
    edges = sorted(data.draw(st.lists(st.integers(0, size), max_size=3)))
    pieces = [
        mark(KeyRows(rows.keys[:, part], None if rows.amounts is None else rows.amounts[part]), salt)
        for part in np.split(order, edges)
    ]

    assert (sum(pieces) - mark(rows, salt)) % (1 << 64) == 0


@given(some_rows(), st.integers(0, (1 << 64) - 1), st.integers(0, 63))
def test_another_key_has_another_mark(rows: KeyRows, salt: int, bit: int) -> None:
    one = KeyRows(rows.keys[:, :1], None)
    for word in range(len(one.keys)):
        other = one.keys.copy()
        other[word, 0] ^= np.uint64(1 << bit)
        assert mark(KeyRows(other, None), salt) != mark(one, salt)


@given(st.lists(st.integers(0, 3), max_size=30))
def test_condensed_rows_have_the_same_mark(values: list[int]) -> None:
    rows = KeyRows(np.array([sorted(values)], dtype=np.uint64), None)

    assert mark(condensed(rows), 7) == mark(rows, 7)
