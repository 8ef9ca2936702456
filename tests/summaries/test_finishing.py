"""What is dropped on the way to the best candidates does not change which they are; little is held."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance
from hushtable.noise import Replay
from hushtable.summaries import finishing, priorities
from hushtable.summaries.finishing import finish, finish_largest, finish_priorities
from hushtable.summaries.largest import largest_candidates
from hushtable.summaries.priorities import Bounds, hopeful, largest_priorities
from hushtable.table.slices import Candidates, Gathered

FILTERS = [
    Acceptance(cutoff=12, edge_chance=Fraction(1, 3)),
    Acceptance(cutoff=2, edge_chance=Fraction(1, 2)),
    Acceptance(cutoff=1),
]
RULES = [Acceptance(threshold=40), Acceptance(threshold="7.5"), Acceptance(threshold=2)]


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates are held, and the first bits of priorities are so few that most are in doubt."""
    monkeypatch.setattr(finishing, "_ROOM", 4)
    monkeypatch.setattr(priorities, "_BITS", 8)
    monkeypatch.setattr(priorities, "_GAP", 1 << 13)


@st.composite
def slices(draw: st.DrawFn) -> list[Candidates]:
    """Candidates of some slices, many with equal counts."""
    largest = draw(st.sampled_from([2, 12, 10**6, 2**61]))
    counts = st.integers(1, largest) | st.integers(-largest, -1)
    rows = draw(
        st.lists(st.lists(st.tuples(counts, st.integers(-1, 2)), max_size=30), min_size=1, max_size=8)
    )
    found, place = [], 0
    for part in rows:
        keys = np.arange(place, place + len(part), dtype=np.uint64)
        place += len(part)
        magnitudes = np.array([count for count, _ in part], dtype=np.int64)
        bands = np.array([band for _, band in part], dtype=np.int8)
        found.append(Candidates(np.stack([keys // 7, keys]), magnitudes, bands))
    return found


def same(one: Candidates, other: Candidates) -> bool:
    pairs = ((one.keys, other.keys), (one.counts, other.counts), (one.bands, other.bands))
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


SIZES = st.integers(1, 40)


@given(parts=slices())
def test_all_candidates_are_joined_in_their_order(parts: list[Candidates]) -> None:
    found = finish(iter(parts))

    for name, axis in (("keys", 1), ("counts", 0), ("bands", 0)):
        given = [getattr(part, name) for part in parts]
        assert np.array_equal(getattr(found, name), np.concatenate(given, axis=axis))
        assert not any(np.shares_memory(getattr(found, name), each) for each in given)
    assert found.counts.base is None  # no memory lies behind what may be published


@pytest.mark.usefixtures("little_room")
@given(parts=slices(), size=SIZES, seed=st.integers(0, 10**6))
def test_the_largest_are_those_of_all_candidates(parts: list[Candidates], size: int, seed: int) -> None:
    whole = finish(parts)
    rows, least = largest_candidates(np.abs(whole.counts), whole.bands, FILTERS, Replay(seed), size=size)

    found, cut = finish_largest(iter(parts), FILTERS, Replay(seed), size=size)

    assert same(found, whole.only(rows))
    assert cut == least


@pytest.mark.usefixtures("little_room")
@given(parts=slices(), size=SIZES, seed=st.integers(0, 10**6), bands=st.integers(1, 3))
def test_the_best_priorities_are_those_of_all_candidates(
    parts: list[Candidates], size: int, seed: int, bands: int
) -> None:
    rules = RULES[:bands]
    parts = [part._replace(bands=np.minimum(part.bands, bands - 1).astype(np.int8)) for part in parts]
    whole = finish(parts)
    rows, tau = largest_priorities(whole.counts, whole.bands, rules, Replay(seed), size=size)

    found, threshold = finish_priorities(iter(parts), rules, Replay(seed), size=size)

    assert same(found, whole.only(rows))
    assert threshold == tau


@pytest.mark.usefixtures("little_room")
def test_first_bits_do_not_settle_what_they_leave_in_doubt() -> None:
    """In some of these cases, the best by the first bits alone are not the best."""
    for seed in range(300):
        generator = np.random.default_rng(seed)
        counts = generator.integers(1, 100, 60)
        bands = np.full(60, -1, dtype=np.int8)
        keys = np.arange(60, dtype=np.uint64)[np.newaxis]
        whole = Candidates(keys, counts, bands)
        rows, tau = largest_priorities(counts, bands, RULES, Replay(seed), size=5)

        parts = (whole.only(np.arange(start, start + 10)) for start in range(0, 60, 10))
        found, threshold = finish_priorities(parts, RULES, Replay(seed), size=5)

        assert same(found, whole.only(rows))
        assert threshold == tau


@given(
    low=st.lists(st.integers(0, 1 << 40), min_size=2, max_size=40).map(np.array),
    size=st.integers(1, 39),
)
def test_who_is_dropped_has_no_hope(low: NDArray[np.int64], size: int) -> None:
    """A true value lies less than the gap above its bound: who stays may be better than who goes, surely."""
    size = min(size, low.size - 1)

    stay = hopeful(Bounds(np.zeros(low.size, dtype=np.uint64), low), size=size)

    assert stay.size > size
    for gone in set(range(low.size)) - set(stay.tolist()):
        surely_better = low + priorities._GAP <= low[gone]
        assert np.count_nonzero(surely_better) > size


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("by", ["largest", "priorities"])
def test_few_candidates_are_held(by: str, ties: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory follows the size and one slice, not all slices; ties at the cut stay."""
    monkeypatch.setattr(finishing, "_ROOM", 100)
    joined = list[int]()

    class Watched(Gathered):
        def taken(self) -> Candidates:
            joined.append(self.number)
            return super().taken()

    monkeypatch.setattr(finishing, "Gathered", Watched)
    generator, size, in_a_slice = np.random.default_rng(1), 200, 500

    def slice_of(number: int) -> Candidates:
        keys = np.arange(number * in_a_slice, (number + 1) * in_a_slice, dtype=np.uint64)[np.newaxis]
        counts = generator.integers(1, 10**5, in_a_slice)
        if ties:
            counts[::10] = 10**5
        return Candidates(keys, counts, np.full(in_a_slice, -1, dtype=np.int8))

    parts = map(slice_of, range(60))
    if by == "largest":
        found, least = finish_largest(parts, [Acceptance()], Replay(3), size=size)
        assert (least == 10**5) == ties
    else:
        found, tau = finish_priorities(parts, [Acceptance(threshold=Fraction(5))], Replay(3), size=size)
        assert tau > 10**4

    assert found.counts.size == size
    assert len(joined) > 10
    # With ties, 50 of each slice stay whatever is drawn: all that could be chosen.
    assert max(joined) <= (
        100 + 2 * size + in_a_slice if not (ties and by == "largest") else 2 * 60 * 50 + in_a_slice
    )
