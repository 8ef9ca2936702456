"""Attributes at levels: how they are written, what they mean, and which codes they have."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

import hushtable as ht
from hushtable.domain.items import (
    Item,
    attribute_at,
    attribute_named,
    codes_at,
    items_of,
    label_of,
    parents_between,
)

DOMAIN = ht.Domain.from_dict(
    {
        "attribute": [
            {
                "name": "home",
                "categories": {
                    "values": ["a-1", "b-1", "a-2"],
                    "levels": {"county": 1, "all of it": ["s", "s", "s"]},
                },
            },
            {
                "name": "day",
                "times": {
                    "start": "2024-01-01",
                    "stop": "2025-01-01",
                    "every": "1 day",
                    "levels": ["1 month", "1 year"],
                },
            },
            {"name": "age", "bins": {"start": "0", "stop": "100", "step": "5", "levels": ["10", "50"]}},
            {"name": "a, b", "integers": {"low": "0", "high": "3"}},
        ]
    }
)


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("home", (Item(0),)),
        ("age, home", (Item(0), Item(2))),
        ("month(day),home", (Item(0), Item(1, 1))),
        ('"1 month"(day)', (Item(1, 1),)),
        ("county(home)", (Item(0, 1),)),
        ("10(age)", (Item(2, 1),)),
        ("a, b", (Item(3),)),
        ('"a, b",home', (Item(0), Item(3))),
        (["home", "a, b"], (Item(0), Item(3))),
        ({"day": "1 year", "home": None}, (Item(0), Item(1, 2))),
    ],
)
def test_a_text_names_items(said: object, items: tuple[Item, ...]) -> None:
    assert items_of(DOMAIN, said) == items


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("hom", "Did you mean 'home'"),
        ("month(home)", "Its levels are 'county', 'all of it'"),
        ("year(age)", "has no level 'year'"),
        ("level(a)", "there is no attribute 'a'"),
        ("home,home", "named twice"),
        ("home,county(home)", "named twice"),
        ("", "not a list of attributes"),
        ("home,", "ends with a comma"),
        ("month(day", "not a list of attributes"),
        ("day:ranges", "ranges of 'day'"),
        (3, "names no attributes"),
    ],
)
def test_what_names_nothing_is_refused_with_what_there_is(said: object, words: str) -> None:
    with pytest.raises(ht.BadChoice, match=words.replace("(", r"\(")):
        items_of(DOMAIN, said)


def test_labels_name_their_items_again() -> None:
    for place, attribute in enumerate(DOMAIN.attributes[:3]):
        for level in range(len(attribute.levels) + 1):
            assert items_of(DOMAIN, label_of(DOMAIN, Item(place, level))) == (Item(place, level),)


@pytest.mark.parametrize("name", ["a(b)", "a,b", "a:ranges", 'a"b', "county(home)"])
def test_a_label_names_its_item_whatever_its_letters(name: str) -> None:
    odd = {
        "name": name,
        "categories": {"values": ["a-1", "b-1"], "levels": {"county": 1, "x, (y)": ["s", "s"]}},
    }
    domain = ht.Domain.from_dict({"attribute": [{"name": "home", "integers": {"low": 0, "high": 3}}, odd]})

    for level in range(3):
        item = Item(1, level)
        label = label_of(domain, item)
        assert items_of(domain, label) == items_of(domain, [label]) == (item,)
        assert attribute_named(domain, label).name == label
    with pytest.raises(ht.BadChoice, match="names 2 attributes"):
        attribute_named(domain, "home,b")


def test_codes_at_a_level_are_those_of_counting_there() -> None:
    days = np.arange(366, dtype=np.int64)
    months = codes_at(DOMAIN.attributes[1], 1, days)
    decoded = DOMAIN.attributes[1].values.decode(days).to_pylist()
    assert months.tolist() == [each.month - 1 for each in decoded]
    assert attribute_at(DOMAIN, Item(1, 1)).values.decode(months).to_pylist() == [
        date(each.year, each.month, 1) for each in decoded
    ]
    assert codes_at(DOMAIN.attributes[0], 1, np.arange(3)).tolist() == [0, 1, 0]
    assert codes_at(DOMAIN.attributes[2], 1, np.arange(20)).tolist() == [code // 2 for code in range(20)]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_levels_lie_within_each_other(place: int) -> None:
    attribute = DOMAIN.attributes[place]
    own = np.arange(attribute.size, dtype=np.int64)
    between = parents_between(attribute, 1, 2)
    assert np.array_equal(between[codes_at(attribute, 1, own)], codes_at(attribute, 2, own))


def test_a_description_keeps_levels_if_it_is_to() -> None:
    # As a footer writes it, which sorts names.
    text = json.dumps(DOMAIN.to_dict(levels=True), sort_keys=True)
    again = ht.Domain.from_dict(json.loads(text))
    assert again.levels == DOMAIN.levels
    assert again.digest == DOMAIN.digest
    for one, two in zip(again.attributes, DOMAIN.attributes, strict=True):
        for level in range(1, len(one.levels) + 1):
            own = np.arange(one.size, dtype=np.int64)
            assert np.array_equal(codes_at(one, level, own), codes_at(two, level, own))
    assert not any(ht.Domain.from_dict(DOMAIN.to_dict()).levels.values())
