"""The owner's report, further: what each bound keeps, and the commonest values that are not declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht

ROWS = {
    "person": ["a", "a", "a", "b", "b", "c", "d", None],
    "age": ["34", "35", "n/a", "n/a", "n/a", "210", "-3", "40"],
    "home": ["north", "nort", "north", "Nort", "nort", "north", "south", "south"],
}
DOMAIN = ht.Domain(age=ht.integers(0, 120, outside="clamp"), home=ht.categories(["north", "south"]))


def as_csv(folder: Path) -> Path:
    lines = [",".join(each or "" for each in row) for row in zip(*ROWS.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join([",".join(ROWS), *lines]) + "\n")
    return folder / "rows.csv"


@pytest.mark.parametrize("kind", ["table", "stream", "csv"])
def test_stray_values_are_told_if_asked_for(kind: str, tmp_path: Path) -> None:
    table = pa.table(ROWS)
    data = {"table": table, "stream": table.to_reader(), "csv": as_csv(tmp_path)}[kind]
    report = ht.check(data, domain=DOMAIN, stray=2)

    assert report.attributes[0].stray == (("n/a", 3), ("-3", 1))
    assert report.attributes[1].stray == (("nort", 2), ("Nort", 1))
    assert "  stray: 'n/a', 3 rows" in report.to_text().splitlines()
    assert report.to_dict()["attributes"]["home"]["stray"][0] == {"value": "nort", "rows": 2}


def test_no_value_is_told_otherwise(tmp_path: Path) -> None:
    report = ht.check(as_csv(tmp_path), domain=DOMAIN)

    assert [look.stray for look in report.attributes] == [(), ()]
    assert "nort" not in report.to_text().replace("north", "")
    assert "n/a" not in repr(ht.check(as_csv(tmp_path), domain=DOMAIN, stray=2))


def test_each_bound_tells_what_it_keeps() -> None:
    people = ht.Unit("person", max_rows=2)
    report = ht.check(pa.table(ROWS), domain=ht.Domain(home=ht.categories(["north", "south"])), unit=people)

    # Of the rows with a known home, a has two, c and d have one each; b has none.
    assert report.unit is not None
    assert dict(report.unit.kept) == {1: 3} | dict.fromkeys(range(2, 11), 4)
    assert report.rows_counted == report.unit.kept[2]
    assert "  a bound of 1 keeps 3 rows" in report.to_text().splitlines()
