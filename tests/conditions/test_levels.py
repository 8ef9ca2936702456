"""Conditions on levels: the same cells as conditions on the values that lie in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.conditions.conditions import selected

DOMAIN = ht.Domain.from_dict(
    {
        "attribute": [
            {
                "name": "town",
                "categories": {"values": ["a1", "b1", "a2", "b2"], "levels": {"county": 1}},
            },
            {
                "name": "day",
                "times": {
                    "start": "2024-01-01",
                    "stop": "2025-01-01",
                    "every": "1 day",
                    "levels": ["1 month"],
                },
            },
            {"name": "age", "integers": {"low": "0", "high": "99"}},
            {"name": "f(age)", "integers": {"low": "0", "high": "4"}},
        ]
    }
)


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ({"county(town)": "a"}, {"town": ["a1", "a2"]}),
        ("\"county(town)\" = 'a'", {"town": ["a1", "a2"]}),
        ("NOT \"county(town)\" = 'a'", {"town": ["b1", "b2"]}),
        ("\"county(town)\" LIKE 'b%' AND age < 3", "town IN ('b1', 'b2') AND age IN (0, 1, 2)"),
        ({"month(day)": "2024-02-01"}, "day >= '2024-02-01' AND day < '2024-03-01'"),
        ("\"month(day)\" >= '2024-11-01'", "day >= '2024-11-01'"),
        ({"16(age)": 96}, "age >= 96"),
        ({"16(age)": [0, 32]}, "age < 16 OR age BETWEEN 32 AND 47"),
        ('"f(age)" = 2', {"f(age)": 2}),
    ],
)
def test_a_level_stands_for_the_values_in_it(where: Any, same: Any) -> None:
    one, two = selected(DOMAIN, where), selected(DOMAIN, same)
    assert one.cells == two.cells > 0
    for place in range(len(DOMAIN.names)):
        assert np.array_equal(one.codes(place).all(), two.codes(place).all())


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"county(town)": "c"}, "county"),
        ({"week(day)": "2024-01-01"}, "there is no attribute 'week"),
        ({"month": "2024-01-01"}, "Write a level with its attribute, as in 'month(day"),
        ('"month(day)" = day', "ties 'day' and 'month"),
        ("\"month(day)\" = '2024-01-15'", "month"),
    ],
)
def test_what_is_no_value_of_a_level_is_refused(where: Mapping[str, object] | str, words: str) -> None:
    with pytest.raises(ht.BadQuery, match=words.replace("(", r"\(")):
        selected(DOMAIN, where)
