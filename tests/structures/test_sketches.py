"""Buckets of a count sketch: against the definition, what one person changes, and how evenly cells fall."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.keys import KeySpace
from hushtable.structures.sketch import CountSketch, SketchSpace
from tests.harness.statistics import ALARM, FloatLaw, fits, from_masses
from tests.structures.sipping import slow_siphash

KEYS = ("000102030405060708090a0b0c0d0e0f", "f0e0d0c0b0a090807060504030201000", "5a" * 16)


def even(number: int) -> FloatLaw:
    """The law under which all numbers are equally likely."""
    return from_masses({value: Fraction(1, number) for value in range(number)})


def sketch(width: int, depth: int = 1, shape: tuple[int, ...] = (1000, 1000)) -> SketchSpace:
    return SketchSpace(CountSketch(width=width, depth=depth), KeySpace(shape), KEYS[:depth])


def test_a_sketch_says_how_many_buckets_it_has() -> None:
    nodes = sketch(7, 3)

    assert (nodes.nodes_total, nodes.per_cell, nodes.share, nodes.space.shape) == (21, 3, 1, (3, 7))


@given(st.lists(st.integers(0, 10**30 - 1), min_size=1, max_size=5), st.integers(1, 10**8 // 3))
def test_buckets_are_those_of_the_definition(cells: list[int], width: int) -> None:
    nodes = sketch(width, 3, (10,) * 30)
    codes = [[cell // 10**place % 10 for place in reversed(range(30))] for cell in cells]
    for row, key in enumerate(KEYS):
        buckets, signs = nodes.buckets(nodes.cells.pack(np.array(codes)), row)

        for cell, bucket, sign in zip(cells, buckets.tolist(), signs.tolist(), strict=True):
            words = divmod(cell, prod(nodes.cells.groups[-1]))
            message = b"".join(word.to_bytes(8, "little") for word in words)
            hashed = slow_siphash(message, bytes.fromhex(key), rounds=1, last_rounds=3)
            assert (bucket, sign) == ((hashed >> 32) * width >> 32, -1 if hashed % 2 else 1)


def test_one_person_changes_one_bucket_of_each_row_by_one() -> None:
    nodes = sketch(5, 3, (50,))
    for cell in range(50):
        table = np.zeros(nodes.space.shape, dtype=np.int64)
        for row in range(3):
            bucket, sign = nodes.buckets(nodes.cells.pack(np.array([[cell]])), row)
            table[row, bucket] += sign

        assert np.abs(table).sum() == nodes.per_cell


@pytest.mark.parametrize("width", [1, 7, 64, 1000])
def test_cells_fall_evenly_into_buckets_and_signs(width: int) -> None:
    nodes = sketch(width, 2, (300, 300))
    keys = nodes.cells.pack(np.stack(np.unravel_index(np.arange(90_000), (300, 300)), axis=1))
    (first, signs), (second, others) = nodes.buckets(keys, 0), nodes.buckets(keys, 1)

    for buckets, side in ((first, signs), (second, others)):
        assert fits(2 * buckets + (side > 0), even(2 * width)) > ALARM
    # Rows are independent of each other.
    assert fits(2 * (signs > 0) + (others > 0), even(4)) > ALARM


def test_the_lowest_bits_of_a_key_would_fall_unevenly() -> None:
    keys = np.arange(0, 90_000 * 12, 12)

    assert fits(keys % 7 * 2 + keys % 2, even(14)) < ALARM


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"width": 0}, "width=0 is not allowed. Give a whole number from 1 to 100,000,000."),
        ({"width": 10**8 + 1}, "width=100000001 is not allowed. Give a whole number from 1 to 100,000,000."),
        ({"width": 10.0}, "width=10.0 is not allowed. Give a whole number from 1 to 100,000,000."),
        ({"width": True}, "width=True is not allowed. Give a whole number from 1 to 100,000,000."),
        ({"width": 9, "depth": 0}, "depth=0 is not allowed. Give a whole number from 1 to 64."),
        ({"width": 9, "depth": 65}, "depth=65 is not allowed. Give a whole number from 1 to 64."),
        (
            {"width": 50_000_001, "depth": 2},
            "a sketch of 2 rows of 50,000,001 buckets is too large. "
            "Width times depth may be up to 100,000,000.",
        ),
        ({"width": 9, "depth": "3"}, "depth='3' is not allowed. Give a whole number from 1 to 64."),
    ],
)
def test_settings_that_make_no_sketch(settings: dict[str, int], fact: str) -> None:
    with pytest.raises(ht.BadChoice) as caught:
        CountSketch(**settings)

    assert str(caught.value) == fact


@pytest.mark.parametrize(
    ("keys", "fact"),
    [
        ((), "a sketch with 2 rows has 0 keys. Each row takes one key."),
        (KEYS, "a sketch with 2 rows has 3 keys. Each row takes one key."),
        (
            (KEYS[0], "5a"),
            "'5a' is not a key of a sketch's row. A key has 32 hexadecimal digits, in lower case.",
        ),
        (
            (KEYS[0], "5A" * 16),
            f"'{'5A' * 16}' is not a key of a sketch's row. A key has 32 hexadecimal digits, in lower case.",
        ),
        ((KEYS[0], 5), "5 is not a key of a sketch's row. A key has 32 hexadecimal digits, in lower case."),
    ],
)
def test_keys_that_fit_no_sketch(keys: tuple[str, ...], fact: str) -> None:
    with pytest.raises(ht.BadChoice) as caught:
        SketchSpace(CountSketch(width=9, depth=2), KeySpace((5,)), keys)

    assert str(caught.value) == fact
