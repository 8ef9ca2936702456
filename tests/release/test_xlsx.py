"""A release as a workbook: the same rows, text that is never a formula, and a file that is known as ours."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.files.recognising import is_table

DOMAIN = ht.Domain(
    home=ht.categories({"=1+1": "north", "s": "@south"}),
    day=ht.times("2024-01-01", "2024-01-05", every="1 day"),
)


@pytest.fixture
def release(tmp_path: Path) -> ht.Release:
    rows = pa.table({"home": ["=1+1", "s"] * 200, "day": ["2024-01-01", "2024-01-03"] * 200})
    return ht.publish(
        rows, domain=DOMAIN, epsilon=5, size=8, structure="cells", output=tmp_path / "made.parquet"
    )


def test_a_workbook_has_the_rows(release: ht.Release, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "made.xlsx"
    release.export(path)

    (sheet,) = openpyxl.load_workbook(path).worksheets
    head, *rows = sheet.iter_rows()
    assert [cell.value for cell in head] == ["home", "home_label", "day", "count", "weight"]
    assert [cell.value for row in rows for cell in row[3:4]] == release.counts.tolist()
    assert {cell.data_type for row in rows for cell in row[:2]} == {"s"}
    assert isinstance(rows[0][2].value, datetime)


def test_only_a_workbook_of_ours_is_replaced(release: ht.Release, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "made.xlsx"
    release.export(path)
    release.export(path, overwrite=True)
    other = tmp_path / "other.xlsx"
    openpyxl.Workbook().save(other)

    with pytest.raises(ht.BadOutput):
        release.export(other, overwrite=True)
    assert not is_table("xlsx", "export")(release.path)


def test_without_the_package_it_says_what_to_install(
    release: ht.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(ht.MissingPackage, match="openpyxl"):
        release.export(tmp_path / "made.xlsx")
    assert not (tmp_path / "made.xlsx").exists()
