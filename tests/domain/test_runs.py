"""Runs of values: they nest in one another and in declared levels, and are named and read back."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.encoding import encode
from hushtable.domain.items import (
    Item,
    attribute_at,
    coarse_first,
    codes_at,
    items_of,
    label_of,
    levels_of,
    parents_between,
)

WHOLE = {"integers": {"low": "-7", "high": "991"}}
DAYS = {"times": {"start": "2023-01-01", "stop": "2026-01-01", "every": "1 day"}}
MONTHS = {"times": {**DAYS["times"], "levels": ["1 month"]}}
MINUTES = {"times": {"start": "2024-01-01", "stop": "2024-02-10", "every": "1 minute", "levels": ["1 day"]}}
BINS = {"bins": {"start": "0", "stop": "1000", "step": "1/2", "levels": ["50"]}}


def domain(**values: Any) -> ht.Domain:
    return ht.Domain.from_dict({"attribute": [{"name": "a", **values}]})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (WHOLE, ["16", "256"]),
        (DAYS, ["16 days", "256 days"]),
        (MONTHS, ["1 month"]),  # which have now more days, now fewer
        (MINUTES, ["1 day", "16 minutes", "4 hours", "16 days"]),
        (BINS, ["50", "10"]),
        ({"integers": {"low": "0", "high": "31"}}, []),
        ({"categories": {"values": [f"c{each}" for each in range(99)]}}, []),
        ({"bins": {"edges": [str(each**2) for each in range(99)]}}, []),
    ],
)
def test_levels_that_an_attribute_has(values: dict[str, Any], names: list[str]) -> None:
    assert [each.name for each in levels_of(domain(**values).attributes[0])] == names


@pytest.mark.parametrize("values", [WHOLE, DAYS, MONTHS, MINUTES, BINS])
def test_levels_nest_and_their_values_are_read_back(values: dict[str, Any]) -> None:
    of = domain(**values)
    attribute = of.attributes[0]
    own = np.arange(attribute.size, dtype=np.int64)
    levels = coarse_first(attribute, range(len(levels_of(attribute)) + 1))
    for coarse, fine in combinations(levels, 2):
        parents = parents_between(attribute, fine, coarse)
        assert len(parents) == attribute_at(of, Item(0, fine)).size
        assert np.array_equal(parents[codes_at(attribute, fine, own)], codes_at(attribute, coarse, own))
    for level in levels:
        item, at = Item(0, level), attribute_at(of, Item(0, level)).values
        assert items_of(of, [label_of(of, item)]) == (item,)
        codes = np.arange(at.size, dtype=np.int64)
        assert codes_at(attribute, level, own).max() == at.size - 1
        found = encode(at, pa.chunked_array([at.decode(codes)]))
        assert found is not None
        assert np.array_equal(found, codes)
