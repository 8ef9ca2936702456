"""Exported files hold the same rows in the same order, with labels, whatever is in the texts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.release.exporting import export_release, labelled
from hushtable.release.record import Terms
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.product_dyadic import ProductDyadic
from tests.harness.statistics import tries
from tests.release.examples import (
    Rows,
    all_nodes,
    people,
    random_releases,
    random_tree_terms,
    rows,
    terms,
    tree_terms,
    write,
)

KINDS = [".csv", ".json", ".jsonl", ".arrow"]
ODD = (
    'a"b',
    "c,d",
    "e\nf",
    "g\r\nh",
    " i ",
    "",
    "-0",
    "NULL",
    "\u2028",
    "\t",
    "'",
    "\\",
    "é\U0001f600",
    "\x00",
)


def written(tmp_path: Path, made: Terms, given: Rows) -> ht.Release:
    write(tmp_path / "release.parquet", made, given, overwrite=True)
    return ht.open(tmp_path / "release.parquet")


def exported(release: ht.Release, kind: str, **options: Any) -> Path:
    path = release.path.with_name(f"exported{kind}")
    export_release(release, path, **options)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """Read an exported file by another's reader; of CSV, all values are text."""
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))
    if path.suffix == ".json":
        return list(json.loads(path.read_bytes()))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]
    return list(pa.ipc.open_file(path).read_all().to_pylist())


def as_json(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def odd_texts() -> tuple[Terms, Rows]:
    """Return a release with texts that a careless writer breaks, also in names of columns."""
    codes = Categories(values=ODD, labels=tuple(reversed(ODD)))
    domain = ht.Domain(
        title="Odd",
        attributes=(
            Attribute(name='say "x", é', values=codes),
            Attribute(name="y", values=Integers(low=-(2**61), high=2**61)),
        ),
    )
    made = terms(domain)
    cells = np.array([[code, 0] for code in range(len(ODD))])
    return made, rows(made, cells, np.arange(len(ODD)) * (2**62 // len(ODD)))


def test_every_kind_of_attribute_as_csv(tmp_path: Path) -> None:
    path = exported(written(tmp_path, *people()), ".csv")

    assert path.read_text(encoding="utf-8") == (
        '"region","region_label","person.age","hours","income","day","minute","count","weight"\n'
        '"north","N",-5,0.3,0,1969-12-01,2024-01-01 00:00:00.000000,-30,-123.5\n'
        '"north","N",120,0.9,100,2024-12-01,2024-01-01 23:45:00.000000,500,500\n'
        '"söuth","S",2,0,100,1970-01-01,2024-01-01 01:00:00.000000,0,0\n'
        '"unknown","unknown",0,0.7,0,1994-12-01,2024-01-01 01:00:00.000000,25,123.5\n'
    )


def test_every_kind_of_attribute_as_json(tmp_path: Path) -> None:
    release = written(tmp_path, *people())
    first = {"region": "north", "region_label": "N", "person.age": -5, "hours": 0.3, "income": 0}
    first |= {"day": "1969-12-01", "minute": "2024-01-01T00:00:00", "count": -30, "weight": -123.5}

    for kind in (".json", ".jsonl"):
        found = read(exported(release, kind))
        assert len(found) == 4
        assert found[0] == first
        assert list(found[0]) == list(first)


def test_every_kind_of_attribute_as_arrow(tmp_path: Path) -> None:
    release = written(tmp_path, *people())

    found = pa.ipc.open_file(exported(release, ".arrow")).read_all()

    assert found.drop_columns("region_label").equals(release.to_arrow())
    assert found.column("region_label").to_pylist() == ["N", "N", "S", "unknown"]
    assert not any(field.nullable for field in found.schema)


def test_other_tools_read_the_files(tmp_path: Path) -> None:
    release = written(tmp_path, *people())
    paths = {kind: exported(release, kind) for kind in KINDS}
    sums = [
        pd.read_csv(paths[".csv"])["weight"].sum(),
        pl.read_csv(paths[".csv"])["weight"].sum(),
        pd.read_json(paths[".json"])["weight"].sum(),
        pl.read_ndjson(paths[".jsonl"])["weight"].sum(),
        pl.read_ipc(paths[".arrow"])["weight"].sum(),
    ]
    for kind in (".csv", ".json", ".jsonl"):
        found = duckdb.connect().execute(f"SELECT sum(weight), max(region_label) FROM '{paths[kind]}'")
        total, label = found.fetchall()[0]
        assert label == "unknown"
        sums.append(total)

    assert sums == [release.weights.sum()] * len(sums)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_texts_come_through(kind: str, tmp_path: Path) -> None:
    made, given_rows = odd_texts()
    release = written(tmp_path, made, given_rows)

    found = read(exported(release, kind))

    assert [row['say "x", é'] for row in found] == list(ODD)
    assert [row['say "x", é_label'] for row in found] == list(reversed(ODD))
    assert [int(row["count"]) for row in found] == given_rows.counts.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_release(kind: str, tmp_path: Path) -> None:
    made, given_rows = people()
    none = Rows(given_rows.codes[:0], given_rows.counts[:0], given_rows.weights[:0])

    path = exported(written(tmp_path, made, none), kind)

    assert read(path) == []
    if kind in (".csv", ".arrow"):
        assert b"region_label" in path.read_bytes()


def test_a_name_that_is_taken_gets_a_longer_label(tmp_path: Path) -> None:
    texts = Categories(values=("a", "b"), labels=("A", "B"))
    names = ("home", "home_label", "home_label_")
    domain = ht.Domain(attributes=tuple(Attribute(name=name, values=texts) for name in names))
    made = terms(domain)

    table = labelled(written(tmp_path, made, rows(made, np.array([[0, 1, 1]]), np.array([70]))))

    assert len(set(table.column_names)) == len(table.column_names) == 8
    values = list(table.to_pylist()[0].values())
    assert values[:6] == ["a", "A", "b", "B", "b", "B"]


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        (
            Dyadic(),
            '"level","home","home_label","home_last","home_last_label","hour","hour_last","count","weight"\n'
            '0,"n","north","e","east",6,12,20,20\n'
            '1,"n","north","e","east",6,7,21,21\n'
            '1,"e","east","e","east",8,12,22,22\n',
        ),
        (
            ProductDyadic(order=["hour"]),
            '"home_level","home","home_label","home_last","home_last_label",'
            '"hour_level","hour","hour_last","count","weight"\n'
            '0,"n","north","e","east",0,6,12,20,20\n'
            '1,"n","north","s","south",0,6,12,21,21\n'
            '1,"e","east","e","east",0,6,12,22,22\n',
        ),
    ],
)
def test_both_ends_of_a_node_have_labels(structure: Lifted, text: str, tmp_path: Path) -> None:
    made = tree_terms(structure)

    path = exported(written(tmp_path, made, all_nodes(made)), ".csv")

    assert path.read_text(encoding="utf-8").startswith(text)


@given(release=random_releases() | random_releases(random_tree_terms()))
@settings(max_examples=tries(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_release_comes_through(release: tuple[Terms, Rows], tmp_path: Path) -> None:
    opened = written(tmp_path, *release)
    expected = labelled(opened).to_pylist()
    for before in tmp_path.glob("exported.*"):  # of another release, with other columns
        before.unlink()

    assert read(exported(opened, ".arrow")) == expected
    for kind in (".json", ".jsonl"):
        path = exported(opened, kind)
        assert read(path) == [{name: as_json(value) for name, value in row.items()} for row in expected]
        assert b"NaN" not in path.read_bytes().replace(b'"NaN', b"")
    texts = read(exported(opened, ".csv"))
    assert [(int(row["count"]), float(row["weight"])) for row in texts] == [
        (row["count"], row["weight"]) for row in expected
    ]


@pytest.mark.parametrize("name", ["rows", "rows.txt", "rows.parquet", ".csv", "rows.csv.gz"])
def test_the_name_says_the_format(name: str, tmp_path: Path) -> None:
    release = written(tmp_path, *people())

    with pytest.raises(ht.BadOutput, match=r"ends in \.csv, \.json, \.jsonl, \.arrow"):
        export_release(release, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_upper_case_endings_are_known(tmp_path: Path) -> None:
    release = written(tmp_path, *people())
    export_release(release, tmp_path / "ROWS.CSV")

    assert (tmp_path / "ROWS.CSV").read_bytes().startswith(b'"region"')


def test_a_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    release = written(tmp_path, *people())
    path = exported(release, ".csv")
    path.write_text("mine")

    with pytest.raises(ht.BadOutput, match="overwrite"):
        exported(release, ".csv")
    with pytest.raises(ht.BadOutput, match="what is there is not an export of a release as csv"):
        exported(release, ".csv", overwrite=True)
    assert path.read_text() == "mine"

    path.unlink()
    exported(release, ".csv")
    exported(release, ".csv", overwrite=True)
    assert path.read_text(encoding="utf-8").startswith('"region"')


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = written(tmp_path, *people())

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", fail)
    with pytest.raises(ht.BadOutput, match="No space left"):
        exported(release, ".csv")

    assert [path.name for path in tmp_path.iterdir()] == ["release.parquet"]
