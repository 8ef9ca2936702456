"""Smaller cells put into larger ones by chance: the law of their sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.planning.merging import Merging

COUNTS, CELLS = [1, 2, 3, 10, 200], [6000, 2000, 500, 100, 5]
FEW = ht.Profile(counts=COUNTS, cells=CELLS, words="made up")


@pytest.mark.parametrize("groups", [2, 7, 100, 1000, 31_250])
def test_sums_have_the_law_of_independent_cells(groups: int) -> None:
    cells = 10**6 // groups
    one = np.zeros(1 << 16)
    one[COUNTS] = np.array(CELLS) / 10**6
    one[0] = 1 - one.sum()
    law = np.fft.irfft(np.fft.rfft(one) ** (10**6 / cells), one.size)
    values = np.arange(law.size)

    found = Merging(FEW, cells_total=10**6).into(cells)

    assert found.people == pytest.approx(FEW.people, rel=1e-9)
    assert found.occupied / cells == pytest.approx(1 - law[0], rel=1e-5)
    square = float((found.cells * found.counts**2).sum()) / cells
    variance = square - (found.people / cells) ** 2
    assert variance == pytest.approx(float((law * values**2).sum() - (law * values).sum() ** 2), rel=0.01)
    for reached in (2, 5, 20, 150):
        chance = float(found.cells[found.counts >= reached].sum()) / cells
        assert chance == pytest.approx(float(law[reached:].sum()), rel=0.03, abs=1e-9)


@given(
    counts=st.lists(st.integers(1, 10**9), min_size=1, max_size=20, unique=True),
    cells_total=st.integers(10**3, 10**30),
    share=st.floats(1e-6, 1),
)
def test_people_are_kept_in_any_domain(counts: list[int], cells_total: int, share: float) -> None:
    profile = ht.Profile(counts=counts, cells=[10.0] * len(counts), words="made up")
    into = max(1, int(cells_total * share))

    found = Merging(profile, cells_total=cells_total).into(into)

    assert found.people == pytest.approx(profile.people, rel=1e-9)
    assert found.occupied <= into * (1 + 1e-9)
    assert found.occupied <= profile.occupied * (1 + 1e-9)


def test_rare_cells_of_a_huge_domain_stay_alone_until_they_meet() -> None:
    merging = Merging(FEW, cells_total=10**30)

    assert merging.into(10**20).occupied == pytest.approx(FEW.occupied)
    assert merging.into(1).occupied == pytest.approx(1)
