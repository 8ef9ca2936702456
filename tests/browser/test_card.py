"""Cards as their readers read them: the library of Croissant itself finds the rows of a release."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import hushtable as ht
from tests.pages.clinic import in_parts

KNOWN: dict[str, Any] = {
    "curator": "Ministry of Health",
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "url": "https://example.org/clinics",
    "date": "2026-01-31",
}


def read(card: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return what the library warns of in a card, and the first rows that it finds by it."""
    import mlcroissant

    found = mlcroissant.Dataset(jsonld=str(card))
    rows = list(islice(found.records("rows"), 300))
    return found.metadata.issues.report(), [
        {name: plain(value) for name, value in each.items()} for each in rows
    ]


def plain(value: Any) -> Any:
    """A value as Python has it; the library gives bytes for text, and times for days."""
    value = value.decode() if isinstance(value, bytes) else value
    return value.date() if isinstance(value, datetime) else value


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library and what it rests on
@pytest.mark.parametrize("made", ["several tables", "parts", "harmful"])
def test_rows_are_found_by_the_card(made: str, folder: Path, release: ht.Release, harm: ht.Release) -> None:
    shown = {"several tables": release, "harmful": harm}.get(made) or in_parts(folder)
    shown.card(folder / f"{made}.json", **KNOWN)
    warned, found = read(folder / f"{made}.json")

    assert re.findall(r'Property "(.*?)"', warned) == ["https://schema.org/version"], (
        "which a release has not"
    )
    rows = shown.to_arrow().slice(0, 300).to_pylist()
    assert found == [{f"rows/{quote(name, safe='')}": value for name, value in row.items()} for row in rows]
