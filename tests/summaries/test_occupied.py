"""Occupied cells along a line: in order whatever their counts are, and sums of ranges."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hushtable.summaries.rooted import Occupied

CELLS = st.dictionaries(st.integers(0, 1 << 61), st.integers(-(1 << 60), 1 << 60), max_size=8)
SMALL = st.dictionaries(st.integers(0, 1 << 40), st.integers(0, 1 << 20), max_size=8)


@given(CELLS | SMALL, st.randoms(use_true_random=False))
def test_cells_are_in_order_with_their_own_counts(cells: dict[int, int], random: object) -> None:
    addresses = list(cells)
    random.shuffle(addresses)  # type: ignore[attr-defined]
    counts = [cells[each] for each in addresses]
    made = Occupied(np.array(addresses, dtype=np.int64), np.array(counts, dtype=np.int64))
    each = np.stack([np.arange(len(cells)), np.arange(1, len(cells) + 1)], axis=1)

    assert made.addresses.tolist() == sorted(cells)
    assert made.sums(*each.T).tolist() == [cells[address] for address in sorted(cells)]
    most = 1 << 60
    assert made.total.tolist() == [min(max(sum(counts), -most), most)]


@given(SMALL, st.integers(21, 22), st.booleans())
def test_packed_cells_are_the_same(cells: dict[int, int], bits: int, huge: bool) -> None:
    bits = 62 if huge else bits  # then sums may wrap, and are kept in two halves
    cells = {address % 2: count << 36 for address, count in cells.items()} if huge else cells
    packed = np.array([(address << bits) + count for address, count in cells.items()], dtype=np.int64)
    made = Occupied.of_packed(packed, bits=bits)
    each = np.stack([np.arange(len(cells)), np.arange(1, len(cells) + 1)], axis=1)

    assert made.addresses.tolist() == sorted(cells)
    assert made.sums(*each.T).tolist() == [cells[address] for address in sorted(cells)]
