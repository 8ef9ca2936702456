"""Empty cells: every set equally likely, counted exactly on small domains, and at every density."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.keys import Keys, KeySpace, ascending, contains, no_keys, sorted_keys
from hushtable.errors import BadNumber, InternalError
from hushtable.noise import BitSource, empty_cells, places, uniform_below
from tests.harness.scripted import outcomes
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, draws, replay


def as_keys(cells: list[int]) -> Keys:
    return np.array([cells], dtype=np.uint64)


def as_set(keys: Keys) -> tuple[int, ...]:
    return tuple(keys[0].tolist())


CASES = [(8, [3], 2), (8, [], 1), (8, [0, 7], 2), (4, [], 2), (4, [], 3), (4, [1], 2), (4, [0, 1, 2], 1)]


@pytest.mark.parametrize("bytes_a_cell", [16, 0], ids=["by a map", "by searching"])
@pytest.mark.parametrize(("cells", "occupied", "count"), CASES)
def test_every_set_has_the_same_chance_exactly(
    cells: int, occupied: list[int], count: int, bytes_a_cell: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_MAP_CELLS", bytes_a_cell)
    empty = [cell for cell in range(cells) if cell not in occupied]

    law, left = outcomes(
        lambda s: as_set(empty_cells((cells,), as_keys(occupied), s, count=count)),
        bits=(cells - 1).bit_length(),
        depth=4,
    )

    assert len(set(law.values())) == 1
    assert set(law) == set(combinations(empty, count))
    assert sum(law.values()) + left == 1


def test_drawing_too_many_and_keeping_the_first_would_be_noticed() -> None:
    # The shortcut that looks harmless: draw three, sort, keep two.
    def greedy(source: BitSource) -> tuple[int, ...]:
        return as_set(np.unique(uniform_below(8, source, count=3))[np.newaxis, :2])

    law, _ = outcomes(greedy, bits=3, depth=3)

    assert len(set(law.values())) > 1


@pytest.mark.parametrize(
    ("cells", "occupied_count", "count"), [(60, 10, 10), (60, 30, 12), (60, 30, 25), (60, 0, 55), (60, 59, 1)]
)
def test_every_empty_cell_is_drawn_equally_often(cells: int, occupied_count: int, count: int) -> None:
    space, entropy = KeySpace((cells,)), replay(700)
    occupied = sorted(uniform_sample(cells, occupied_count))
    rounds = draws(2_000)
    seen: Counter[int] = Counter()
    pairs = 0
    for _ in range(rounds):
        chosen = as_set(empty_cells(space.bounds, as_keys(occupied), entropy, count=count))
        assert len(set(chosen)) == count
        seen.update(chosen)
        pairs += chosen[:2] == tuple(sorted(set(range(cells)) - set(occupied)))[:2]
    empty = cells - occupied_count
    share = count / empty

    assert not set(seen) & set(occupied)
    for cell in set(range(cells)) - set(occupied):
        assert chernoff_follows(seen[cell], rounds, share) > ALARM
    if count >= 2:
        assert chernoff_follows(pairs, rounds, comb(empty - 2, count - 2) / comb(empty, count)) > ALARM
    if share < 1:
        assert chernoff(seen[min(set(range(cells)) - set(occupied))], rounds, share / 2) < ALARM


def uniform_sample(cells: int, count: int) -> set[int]:
    return set(np.random.default_rng(1).choice(cells, size=count, replace=False).tolist())


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4) | st.lists(
    st.integers(1, 2**62), min_size=2, max_size=5
)


@pytest.mark.parametrize("count", [1, 3])
def test_keys_of_several_words_may_lie_in_a_small_range(count: int) -> None:
    # A slice of a large domain: two words, few cells. Each empty one must come up.
    occupied = np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint64)
    entropy = replay(708)
    seen = set()
    for _ in range(60):
        chosen = empty_cells((2, 3), occupied, entropy, count=count)
        assert chosen.shape == (2, count)
        assert chosen.flags["C_CONTIGUOUS"]
        assert ascending(chosen)
        seen |= {tuple(key) for key in chosen.T.tolist()}

    assert seen == {(0, 0), (0, 1), (1, 2)}


@given(shapes, st.data())
def test_cells_are_distinct_empty_and_in_order(shape: list[int], data: st.DataObject) -> None:
    space = KeySpace(shape)
    entropy = replay(701)
    most = min(space.cells_total, 60)
    taken = data.draw(st.integers(0, most))
    occupied = empty_cells(space.bounds, no_keys(len(space.bounds)), entropy, count=taken)
    count = data.draw(st.integers(0, min(space.cells_total - taken, 60)))

    chosen = empty_cells(space.bounds, occupied, entropy, count=count)

    assert chosen.shape == (len(space.bounds), count)
    assert ascending(chosen)
    assert not contains(occupied, chosen).any()
    assert (space.unpack(chosen) < np.array(shape)).all()


def test_a_domain_beyond_64_bits_has_uniform_words() -> None:
    space, entropy = KeySpace([10] * 30), replay(702)
    codes = space.unpack(empty_cells(space.bounds, no_keys(2), entropy, count=draws(20_000)))

    for attribute in (0, 18, 19, 29):
        digits = np.bincount(codes[:, attribute], minlength=10)
        for digit in digits:
            assert chernoff_follows(int(digit), len(codes), 0.1) > ALARM


def test_occupied_cells_beyond_64_bits_are_avoided() -> None:
    # A crowded corner: all cells share their first word, so that only the second tells them apart.
    space = KeySpace((1, 2**63 - 1, 2, 40))
    assert len(space.bounds) == 2
    entropy = replay(703)
    occupied = empty_cells(space.bounds, no_keys(2), entropy, count=3000)
    occupied[0] = 5
    occupied[1] %= np.uint64(space.bounds[1])
    occupied = sorted_keys(np.unique(occupied, axis=1))

    crowded = np.stack([np.full(40, 5, dtype=np.uint64), np.arange(40, dtype=np.uint64)])
    assert contains(occupied, crowded).sum() == occupied.shape[1] if space.bounds[1] == 40 else True
    assert not contains(occupied, empty_cells(space.bounds, occupied, entropy, count=1000)).any()


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_the_smallest_domains(cells: int) -> None:
    space = KeySpace((cells,))

    assert as_set(empty_cells(space.bounds, no_keys(1), replay(704), count=cells)) == tuple(range(cells))
    assert as_set(empty_cells(space.bounds, no_keys(1), replay(704), count=0)) == ()
    assert as_set(empty_cells(space.bounds, as_keys(list(range(cells))), replay(704), count=0)) == ()
    assert as_set(empty_cells(space.bounds, as_keys(list(range(1, cells))), replay(704), count=1)) == (0,)


def test_nearly_full_domains_end() -> None:
    space, entropy = KeySpace((300_000,)), replay(705)
    occupied = empty_cells(space.bounds, no_keys(1), entropy, count=299_990)

    assert empty_cells(space.bounds, occupied, entropy, count=10).shape[1] == 10
    assert empty_cells(space.bounds, occupied, entropy, count=9).shape[1] == 9


@pytest.mark.parametrize(
    ("occupied", "count", "message"),
    [
        ([3, 2], 1, "occupied cells came out of order or twice"),
        ([2, 2], 1, "occupied cells came out of order or twice"),
        ([1, 2, 3], 6, "more empty cells were asked for than the domain has"),
    ],
)
def test_a_bug_of_the_caller_is_noticed_and_names_no_number(
    occupied: list[int], count: int, message: str
) -> None:
    with pytest.raises(InternalError, match=message) as caught:
        empty_cells((8,), as_keys(occupied), replay(706), count=count)

    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_a_bad_count_is_one_clear_error() -> None:
    with pytest.raises(BadNumber, match="count=-1 is below 0"):
        empty_cells((8,), no_keys(1), replay(707), count=-1)
