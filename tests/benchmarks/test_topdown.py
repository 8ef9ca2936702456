"""The dense top-down baseline: nearest numbers of 0 or more that add up, against a search over all faces."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.topdown import nearest, top_down

NUMBERS = st.lists(st.floats(-50, 50), min_size=1, max_size=5)


@given(st.lists(st.tuples(NUMBERS, st.floats(0, 80)), min_size=1, max_size=3))
def test_children_are_the_nearest_that_add_up(groups: list[tuple[list[float], float]]) -> None:
    owners = np.repeat(np.arange(len(groups)), [len(values) for values, _ in groups])
    totals = np.array([total for _, total in groups])
    found = nearest(np.array([each for values, _ in groups for each in values]), owners, totals)

    assert found.min() >= 0
    assert np.allclose(np.bincount(owners, weights=found), totals, atol=1e-9)
    for number, (values, total) in enumerate(groups):
        faces = (some for some in product([0, 1], repeat=len(values)) if any(some))
        best = min(_squares(values, total, some) for some in faces)
        mine = float(((found[owners == number] - values) ** 2).sum())
        assert mine <= best + 1e-6


def _squares(values: list[float], total: float, some: tuple[int, ...]) -> float:
    """Return how far the nearest point with these entries above 0 alone is, if there is one."""
    inside = np.array(some, dtype=bool)
    point = np.zeros(len(values))
    given = np.array(values)
    point[inside] = given[inside] - (given[inside].sum() - total) / inside.sum()
    return float("inf") if (point < -1e-12).any() else float(((point - given) ** 2).sum())


def test_levels_add_up_from_the_root_down() -> None:
    random = np.random.default_rng(1)
    parents = [np.repeat(np.arange(1), 3), np.repeat(np.arange(3), [2, 1, 4])]
    found = top_down([np.array([90.0]), random.normal(30, 20, 3), random.normal(10, 20, 7)], parents)

    for above, below, owners in zip(found, found[1:], parents, strict=False):
        assert np.allclose(np.bincount(owners, weights=below), above)
    assert min(each.min() for each in found) >= 0
