"""From which count on rows of a release are no noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hushtable as ht
from hushtable.answers.noise_share import sure_from
from hushtable.methods.settings import Method
from tests.answers.drawn import draw
from tests.harness.statistics import replay

DOMAIN = ht.Domain.from_dict({"attribute": [{"name": "zone", "integers": {"low": 0, "high": 19_999}}]})
METHODS: dict[str, Method] = {
    "filter": ht.Filter(cutoff=20),
    "above": ht.Filter(cutoff=20, two_sided=False),
    "threshold": ht.Threshold(threshold=60),
    "both": ht.FilterThreshold(cutoff=20, threshold=60),
    "priority": ht.Priority(size=2000),
    "largest": ht.Filter(size=2000),
}


@pytest.mark.parametrize("name", METHODS)
def test_hardly_a_row_from_there_on_is_an_empty_cell(name: str) -> None:
    counts = np.zeros(20_000, dtype=np.int64)
    counts[:500] = np.arange(500)
    made = draw(DOMAIN, counts, METHODS[name], entropy=replay(31), epsilon=Fraction(1, 5))
    sure = made.counts >= sure_from(made.terms, made.counts)
    empty = counts[made.codes[:, 0]] == 0

    assert np.sum(sure & empty) <= 0.1 * np.sum(sure)
    assert np.sum(sure & ~empty) >= 100  # most of the 400 counts above the noise
    assert np.sum(empty) > np.sum(sure & empty)


@pytest.mark.parametrize("name", METHODS)
def test_no_row_of_an_empty_table_stands_out(name: str) -> None:
    counts = np.zeros(20_000, dtype=np.int64)
    made = draw(DOMAIN, counts, METHODS[name], entropy=replay(32), epsilon=Fraction(1, 5))

    assert made.counts.max() > 0
    assert sure_from(made.terms, made.counts) > made.counts.max()
