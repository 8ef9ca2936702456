"""Slices of Spark cover the domain once and in order, with equal work, whatever the rows are like."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace, places_of, sorted_keys
from hushtable.engines.spark.cutting import boxes_over, target_of
from hushtable.engines.spark.tasks import Box, CellCut


def boxes_of(
    bounds: tuple[int, ...], keys: Keys, weights: NDArray[np.float64], *, drawn: float, target: float
) -> list[Box]:
    """Cut a domain, and check that the boxes are one after the other from its first cell to its last."""
    boxes = boxes_over(bounds, keys, weights, drawn=drawn, target=target)
    assert sum(prod(box.bounds) for box in boxes) == prod(bounds)
    after = 0
    for box in boxes:
        first = last = 0
        for start, size, bound in zip(box.start, box.bounds, bounds, strict=True):
            assert 0 <= start <= start + size - 1 < bound
            first, last = first * bound + start, last * bound + start + size - 1
        # With its first and its last cell as far apart as it has cells, a box holds all between them.
        assert (first, last) == (after, after + prod(box.bounds) - 1)
        after = last + 1
    assert np.array_equal(CellCut(boxes).starts, np.array([box.start for box in boxes], dtype=np.uint64).T)
    return boxes


def works_of(
    boxes: list[Box], bounds: tuple[int, ...], keys: Keys, weights: NDArray[np.float64], drawn: float
) -> list[float]:
    """Return the rows in each box, and what will be drawn from it."""
    places = [*places_of(keys, CellCut(boxes).starts).tolist(), keys.shape[1]]
    return [
        float(weights[begin:end].sum()) + drawn * (prod(box.bounds) / prod(bounds))
        for box, begin, end in zip(boxes, places[:-1], places[1:], strict=True)
    ]


def heaviest_cell(keys: Keys, weights: NDArray[np.float64]) -> float:
    _, inverse = np.unique(keys, axis=1, return_inverse=True)
    return float(np.bincount(inverse.ravel(), weights).max(initial=0.0))


@st.composite
def domains(draw: st.DrawFn) -> tuple[tuple[int, ...], Keys, NDArray[np.float64]]:
    bounds = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    cells = list(product(*(range(bound) for bound in bounds)))
    some = draw(st.lists(st.sampled_from(cells), max_size=20))
    keys = np.array(some, dtype=np.uint64).reshape(len(some), len(bounds)).T.copy()
    weights = draw(st.lists(st.sampled_from([1.0, 5.0, 300.0]), min_size=len(some), max_size=len(some)))
    return bounds, sorted_keys(keys), np.array(weights)


@given(domains(), st.sampled_from([0.0, 3.0, 200.0, 1e4]), st.sampled_from([1.0, 2.5, 40.0, 1e6]))
def test_boxes_cover_small_domains_once(
    world: tuple[tuple[int, ...], Keys, NDArray[np.float64]], drawn: float, target: float
) -> None:
    bounds, keys, weights = world
    boxes = boxes_of(bounds, keys, weights, drawn=drawn, target=target)
    cells = [
        cell
        for box in boxes
        for cell in product(*(range(s, s + size) for s, size in zip(box.start, box.bounds, strict=True)))
    ]

    assert cells == list(product(*(range(bound) for bound in bounds)))
    of_one_cell = max(heaviest_cell(keys, weights), target) + drawn / prod(bounds)
    for box, work in zip(boxes, works_of(boxes, bounds, keys, weights, drawn), strict=True):
        # A cell is never split, and what follows a heavy one may come with it.
        assert prod(box.bounds) == 1 or work <= of_one_cell + target + 1e-6


LARGE = (10**18, 10**12)
THREE = (10**18, 10**18, 10**18, 10**6)


def random_keys(bounds: tuple[int, ...], count: int, seed: int = 1) -> Keys:
    generator = np.random.default_rng(seed)
    return np.stack([generator.integers(0, bound, count, dtype=np.uint64) for bound in bounds])


def skewed(name: str) -> tuple[tuple[int, ...], Keys, float]:
    """Rows of a kind, and how many empty cells will be drawn."""
    keys = random_keys(LARGE, 20_000)
    match name:
        case "even":
            return LARGE, keys, 10_000.0
        case "nothing occupied":
            return LARGE, keys[:, :0], 50_000.0
        case "drawn dominates":
            return LARGE, keys[:, :500], 100_000.0
        case "rows dominate":
            return LARGE, keys, 0.0
        case "few cells hold most rows":
            keys[:, :15_000] = keys[:, 15_000:15_003].take(np.arange(15_000) % 3, axis=1)
            return LARGE, keys, 1000.0
        case "one first word holds most rows":
            keys[0, :16_000] = 123_456_789
            return LARGE, keys, 1000.0
        case "the last first word holds most rows":
            keys[0, :16_000] = 10**18 - 1
            return LARGE, keys, 1000.0
        case "two words hold most rows":
            keys = random_keys(THREE, 20_000)
            keys[0, :18_000] = 77
            keys[1, :17_000] = 0
            return THREE, keys, 1000.0
        case "few values in the first word":
            return (3, *LARGE), random_keys((3, *LARGE), 20_000), 90_000.0
        case _:
            return LARGE, np.array([[2**59], [0]], dtype=np.uint64).repeat(20_000, axis=1), 0.0


NAMES = [
    "even",
    "nothing occupied",
    "drawn dominates",
    "rows dominate",
    "few cells hold most rows",
    "one first word holds most rows",
    "the last first word holds most rows",
    "two words hold most rows",
    "few values in the first word",
    "one cell",
]


@pytest.mark.parametrize("name", NAMES)
def test_slices_have_equal_work(name: str) -> None:
    bounds, keys, drawn = skewed(name)
    keys, weights, target = sorted_keys(keys), np.ones(keys.shape[1]), 1000.0
    boxes = boxes_of(bounds, keys, weights, drawn=drawn, target=target)
    works = works_of(boxes, bounds, keys, weights, drawn)

    heavy = heaviest_cell(keys, weights)
    assert max(works) <= (2 * target if heavy <= target else heavy + target) * 1.0001
    # Not many more slices than there is work for, so that none is too little for a task.
    assert len(boxes) <= 2.5 * sum(works) / target + 3


def test_a_first_word_of_2_to_the_64_is_cut_to_its_end() -> None:
    bounds = KeySpace((1 << 32, 1 << 32, 1000)).bounds
    assert bounds == (1 << 64, 1000)
    keys = random_keys((1 << 32, 1000), 6000)
    keys[0, :5000] = (1 << 64) - 1
    keys = sorted_keys(keys)

    boxes = boxes_of(bounds, keys, np.ones(6000), drawn=0.0, target=500.0)

    assert max(works_of(boxes, bounds, keys, np.ones(6000), 0.0)) <= 1000


@pytest.mark.parametrize(
    ("work", "workers", "target"),
    [
        (0, 2, 1 << 16),
        (3e6, 2, 500_000),
        (1e9, 2, 1 << 20),
        (3e8, 500, 200_000),
        (1e12, 2, 1e12 / 2048),  # more slices would cut runs into pieces that are too small
    ],
)
def test_there_are_three_slices_for_each_worker(work: float, workers: int, target: float) -> None:
    assert target_of(work, workers=workers) == target
