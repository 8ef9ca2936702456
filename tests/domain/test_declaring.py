"""Domains declared in Python equal those of files, and what is wrong is refused in words."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import hushtable as ht
from hushtable.domain.domain import as_domain

Domain: Any = ht.Domain  # which is handed what its types forbid

TEXT = """
title = "Commuters"

[[attribute]]
name = "home"
column = "h_geocode"
categories = { values = ["44-01", "44-02", "45-01"], labels = ["a", "b", "c"], levels = { county = 2 } }
missing = { other = "unknown" }

[[attribute]]
name = "age"
integers = { low = 0, high = 99 }
outside = "clamp"

[[attribute]]
name = "income"
bins = { start = 0, stop = 100000, step = 5000, levels = [10000, 50000] }
missing = "error"

[[attribute]]
name = "hours"
bins = { edges = [0, 0.5, 40] }

[[attribute]]
name = "start day"
times = { start = "2024-01-01", stop = "2025-01-01", every = "1 day", levels = ["1 month"] }
"""


def declared() -> ht.Domain:
    home = ht.categories(
        {"44-01": "a", "44-02": "b", "45-01": "c"},
        levels={"county": 2},
        column="h_geocode",
        missing={"other": "unknown"},
    )
    return ht.Domain(
        {
            "home": home,
            "age": ht.integers(0, 99, outside="clamp"),
            "income": ht.bins(0, 100_000, step=5_000, levels=[10_000, 50_000], missing="error"),
            "hours": ht.bins(edges=[0, 0.5, 40]),
            "start day": ht.times("2024-01-01", date(2025, 1, 1), every="1 day", levels=["1 month"]),
        },
        title="Commuters",
    )


def test_a_domain_in_python_is_the_one_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "commute.toml"
    path.write_text(TEXT)
    loaded, made = ht.Domain.load(path), declared()

    assert made == loaded
    assert made.digest == loaded.digest
    assert made.levels == loaded.levels
    assert made.at({"home": "county"}) == loaded.at({"home": "county"})


def test_categories_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "homes.csv").write_text("code,name\n06001,Alameda\n06003,Alpine\n")
    domain = ht.Domain(home=ht.categories(file=tmp_path / "homes.csv", codes="code", labels="name"))

    assert domain.attribute("home").values.code_of("06003") == 1
    # A release must not be written over it.
    assert [Path(origin.path).name for origin in domain.origins] == ["homes.csv"]


@pytest.mark.parametrize("values", [("a", "b"), np.array(["a", "b"]), (each for each in "ab")])
def test_whatever_lists_texts_is_a_list(values: Any) -> None:
    assert ht.Domain(x=ht.categories(values)) == ht.Domain(x=ht.categories(["a", "b"]))


def test_attributes_can_still_be_handed_over() -> None:
    made = declared()

    assert ht.Domain(attributes=made.attributes, title="Commuters") == made


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ht.integers(9, 5), "Swap them"),
        (lambda: ht.categories("abc"), "not a list of text"),
        (lambda: ht.categories(), "by a list or by a file"),
        (lambda: ht.categories(["a"], codes="code"), "names a column of a file"),
        (lambda: ht.categories({"a": "A"}, labels=["A"]), "given twice"),
        (lambda: ht.bins(0, 100), "bins need `step`"),
        (lambda: ht.bins(0, 100, step=5, edges=[0, 1]), "and by another setting"),
        (lambda: ht.bins(0, 100, step=7), "Take stop = 98 or stop = 105"),
        (lambda: ht.times("2024-01-01", "2025-01-01", every="day"), "not a step of time"),
        (lambda: ht.integers(0, 9, outside="nearest"), "not a rule"),
        (lambda: ht.integers(0, 9, column=""), "is not text"),
        (lambda: Domain(), "one or more attributes"),
        (lambda: Domain(age=(0, 99)), "attribute 'age': (0, 99) declares no values"),
        (lambda: ht.Domain({"age": ht.integers(0, 9)}, age=ht.integers(0, 9)), "two attributes"),
        (lambda: Domain(title=ht.categories(["a"])), 'as ht.Domain({"title": ...})'),
        (lambda: Domain(age=ht.integers(0, 9), title=ht.categories(["a"])), "is about the domain"),
        (lambda: Domain("people.toml"), "not a dict of attributes"),
        (lambda: ht.Domain(count=ht.integers(0, 9)), "taken by a column"),
        (lambda: ht.Domain(age=ht.integers(0, 9), attributes=declared().attributes), "given twice"),
        (lambda: as_domain(cast(Any, 7)), "of type int"),
        (lambda: as_domain({"age": (0, 99)}), "has no key 'age'"),
    ],
)
def test_what_is_wrong_is_said(call: Any, said: str) -> None:
    with pytest.raises(ht.BadDomain) as caught:
        call()

    assert said in str(caught.value)


def test_a_dict_is_a_domain() -> None:
    made = declared()

    assert as_domain(made.to_dict()) == made
    assert as_domain({"age": ht.integers(0, 99)}) == ht.Domain(age=ht.integers(0, 99))
