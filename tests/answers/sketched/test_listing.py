"""Cells one by one: against DuckDB's own WHERE, in chunks of any length."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import hushtable as ht
from hushtable.answers.sketched import listing
from hushtable.answers.sketched.listing import check_listable, listed
from hushtable.conditions.conditions import selected
from tests.answers.enumerated import cells_where
from tests.answers.test_trees import domain_of
from tests.harness.cases import few

CONDITIONS = [
    "a = 3",
    "a >= 2 AND b IN (0, 3)",
    "a = 1 OR b = 2",
    "(a = 1 OR b = 2) AND c < 2",
    "a = 1 OR b = 2 OR c = 0",
    "a = 0 AND a = 1",
]


@pytest.mark.parametrize(
    ("chunk", "condition", "places"),
    few(product([1, 7, 1 << 16], CONDITIONS, [(), (1,), (2, 0)]), every=5),
)
def test_cells_are_those_of_the_condition(
    condition: str, places: tuple[int, ...], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_CHUNK", chunk)
    domain = domain_of(5, 4, 3)
    selection = selected(domain, condition)
    parts = list(listed(selection, places)) if selection.cells else []
    found = [tuple(cell) for keys, _ in parts for cell in domain.space.unpack(keys).tolist()]

    assert found == [tuple(cell) for cell in cells_where(domain, condition).tolist()]
    values = [selection.codes(place).all().tolist() for place in places]
    for (_, groups), keys in zip(parts, (keys for keys, _ in parts), strict=True):
        for cell, group in zip(domain.space.unpack(keys).tolist(), groups.tolist(), strict=True):
            sizes = [len(each) for each in values]
            index = np.unravel_index(group, sizes) if places else ()
            own = [each[int(where)] for each, where in zip(values, index, strict=True)]
            assert own == [cell[place] for place in places]


def test_codes_of_any_size_are_listed() -> None:
    domain = domain_of(1 << 62, 1 << 62)
    selection = selected(domain, {"a": ht.between((1 << 62) - 3, 1 << 62), "b": [0, 7]})
    ((keys, _),) = listed(selection, ())

    last = (1 << 62) - 1
    cells = [[a, b] for a in (last - 2, last - 1, last) for b in (0, 7)]
    assert domain.space.unpack(keys).tolist() == cells


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "a < 5000",
            "these are 20,000,000 cells.\nA sketch answers for cells that are listed, up to 10,000,000. "
            "Ask for fewer values of the attributes.",
        ),
        (
            "a = 1 OR b = 1",
            "these cells lie among 40,000,000 combinations of values, and each would be looked at.\n"
            "A sketch answers for cells that are listed, up to 10,000,000. "
            "Of an OR, ask for parts that do not overlap.",
        ),
    ],
)
def test_too_many_cells(condition: str, message: str) -> None:
    with pytest.raises(ht.BadQuery) as caught:
        check_listable(selected(domain_of(10_000, 4000), condition))

    assert str(caught.value) == message


def test_as_many_as_are_allowed() -> None:
    check_listable(selected(domain_of(10_000, 4000), "a < 2500"))
    with pytest.raises(ht.BadQuery):
        check_listable(selected(domain_of(10_000, 4000), "a < 2501"))
