"""Releases that count people cell by cell: all tables agree, and a ledger knows them as people."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht

DOMAIN = ht.Domain(town=ht.integers(0, 3), age=ht.integers(0, 4))
# Person p visits town p % 4 at four ages, thrice at each; so much epsilon leaves no noise.
VISITS = [
    (person, person % 4, (person + age) % 5) for person in range(40) for age in range(4) for _ in range(3)
]
ROWS = pa.table(dict(zip(("person", "town", "age"), map(list, zip(*VISITS, strict=True)), strict=True)))


def publish(folder: Path, unit: ht.Unit, **settings: Any) -> ht.Release:
    said: dict[str, Any] = {
        "epsilon": 400,
        "size": 100,
        "ledger": False,
        "output": folder / "x.parquet",
    } | settings
    return ht.publish(ROWS, domain=DOMAIN, unit=unit, **said)


def counts(release: ht.Release, *names: str) -> dict[tuple[int, ...], int]:
    """The estimates of groups, which are whole where there is no noise."""
    rows = release.by(list(names)).to_pylist()
    return {tuple(row[name] for name in names): round(row["estimate"]) for row in rows}


@pytest.mark.parametrize(("cells", "each"), [(4, 1), (2, 1), (1, 2), (2, 3)])
def test_all_tables_add_up_the_cells_in_which_people_count(cells: int, each: int, tmp_path: Path) -> None:
    release = publish(tmp_path, ht.Unit("person", max_cells=cells, max_per_cell=each))

    finest = counts(release, "town", "age")
    assert sum(finest.values()) == 40 * cells * each == round(release.total().value)
    for place, name in enumerate(("town", "age")):
        added: Counter[tuple[int, ...]] = Counter()
        for cell, count in finest.items():
            added[(cell[place],)] += count
        assert counts(release, name) == added
    assert counts(release, "town") == {(town,): 10 * cells * each for town in range(4)}
    assert ht.open(tmp_path / "x.parquet").terms == release.terms
    assert ht.Recipe.from_release(release).unit == release.terms.measure.unit


def test_cells_are_those_of_the_published_level(tmp_path: Path) -> None:
    """Of four ages that fall into one bin, a person counts once."""
    bins = ht.Domain(town=ht.integers(0, 3), age=ht.bins(0, 10, step=1, levels=[10]))
    said: dict[str, Any] = {
        "epsilon": 400,
        "size": 100,
        "ledger": False,
        "unit": ht.Unit("person", max_cells=3),
    }

    fine = ht.publish(ROWS, domain=bins, output=tmp_path / "fine.parquet", **said)
    coarse = ht.publish(ROWS, domain=bins, level={"age": "10"}, output=tmp_path / "coarse.parquet", **said)

    assert round(fine.total().value) == 120
    assert round(coarse.total().value) == 40


def test_people_of_both_kinds_of_bounds_share_a_ledger(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=2, about="people", unit="person")

    for number, bound in enumerate(({"max_rows": 3}, {"max_cells": 3}, {"max_cells": 3, "max_per_cell": 2})):
        output = tmp_path / f"{number}.parquet"
        publish(tmp_path, ht.Unit("person", **bound), epsilon="1/2", ledger=ledger, output=output)

    assert ledger.left == Fraction(1, 2)
    assert {entry.unit for entry in ledger.entries()} == {"person"}


@pytest.mark.parametrize("structure", ["cells", "tree", "dyadic", "haar", ht.Marginals("all-1"), None])
def test_every_structure_pays_for_all_cells_of_a_person(structure: Any, tmp_path: Path) -> None:
    rows, cells = (
        publish(tmp_path, unit, epsilon=1, structure=structure, size=10, output=tmp_path / name)
        for unit, name in (
            (ht.Unit("person", max_rows=6), "rows.parquet"),
            (ht.Unit("person", max_cells=3, max_per_cell=2), "cells.parquet"),
        )
    )

    assert cells.terms.sensitivity == rows.terms.sensitivity
    # The noise at one share: how many shares a level of a tree has follows from the noisy root.
    assert cells.terms.law_at(1) == rows.terms.law_at(1)
