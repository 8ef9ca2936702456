"""What files show beside their rows: nothing; and a file that did show something would be noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.release import layout, writing
from tests.audit.side_channels import WAYS, Way, auc, looked_at, most_auc


@pytest.mark.parametrize("way", [WAYS[0], *(pytest.param(each, marks=pytest.mark.long) for each in WAYS[1:])])
def test_a_file_is_made_of_what_it_publishes(way: Way) -> None:
    found = looked_at(way, 3)

    assert found.again == 6


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_layout_does_not_tell_who_is_there(way: Way) -> None:
    found = looked_at(way, 150)

    assert found.again == 300
    assert found.auc <= found.most + 6 * found.error


@pytest.fixture
def leaking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Publish with pages that are packed in another way where the person is there."""
    own, there = layout.encodings_of, [False]

    def encodings(terms: Any) -> dict[str, Any]:
        return own(terms) | ({"compression_level": 9} if there[0] else {})

    def publish(data: pa.Table, **words: Any) -> ht.Release:
        there[0] = data.num_rows > 2_000
        release = ht.publish(data, **words)
        there[0] = False
        return release

    monkeypatch.setattr(writing, "encodings_of", encodings)
    return publish


def test_a_file_that_is_packed_by_what_was_read_is_noticed(leaking: Any) -> None:
    found = looked_at(WAYS[0], 8, publish=leaking)

    assert found.again == 8  # those without the person
    assert found.auc > 0.8
    assert not found.holds


def test_the_largest_auc_is_that_of_the_worst_mechanism() -> None:
    """Randomised response attains it: by its four chances."""
    for epsilon in (0.1, 1.0, 3.0):
        right = float(np.exp(epsilon) / (1 + np.exp(epsilon)))
        assert most_auc(epsilon) == pytest.approx(right * right + right * (1 - right))
        assert most_auc(epsilon) > 0.5


def test_auc_counts_pairs() -> None:
    above, below = np.array([1.0, 2.0, 2.0]), np.array([0.0, 2.0])
    pairs = [(a > b) + (a == b) / 2 for a in above for b in below]

    assert auc(above, below) == pytest.approx(sum(pairs) / len(pairs))
