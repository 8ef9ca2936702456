"""The file's layout follows from domain, structure and number of rows, its footer from the terms alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers, Kind
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import type_of
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from tests.domain.examples import kinds
from tests.release.examples import all_nodes, people, rows, terms, tree_terms, write

TWO_TEXTS = Domain(
    attributes=(
        Attribute(name="few", values=Categories(values=tuple(f"{n:05}" for n in range(2**16)))),
        Attribute(name="many", values=Categories(values=tuple(f"{n:x}" for n in range(2**16 + 1)))),
        Attribute(name="a.b", values=Integers(low=0, high=2**16)),
    )
)


def layout(path: Path) -> list[Any]:
    """All of a file's structure but its values, their sizes and what follows from them."""
    metadata = pq.read_metadata(path)
    columns = [
        (group.num_rows, column.path_in_schema, column.encodings, column.compression, column.physical_type)
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for column in map(group.column, range(group.num_columns))
    ]
    return [metadata.created_by, metadata.format_version, metadata.schema.to_arrow_schema(), columns]


def test_layout_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    made = terms(TWO_TEXTS, method=ht.Everything(), cutoff=None, threshold=None)
    many = 100_000
    places = np.arange(many)
    first = np.stack([places * 0, places >> 16, places % 2**16], axis=1)
    second = np.stack([places * 2**16 // many, places % 2**16, -places % 2**16], axis=1)
    second = second[np.lexsort(second.T[::-1])]
    write(tmp_path / "x.parquet", made, rows(made, first, np.ones(many, dtype=np.int64)))
    write(tmp_path / "y.parquet", made, rows(made, second, np.arange(many) * 10**6))
    metadata = [pq.read_metadata(tmp_path / name).metadata for name in ("x.parquet", "y.parquet")]

    assert layout(tmp_path / "x.parquet") == layout(tmp_path / "y.parquet")
    assert metadata[0][b"hushtable"] == metadata[1][b"hushtable"]
    assert metadata[0].keys() == metadata[1].keys() == {b"hushtable", b"hushtable.checksum"}


@pytest.mark.parametrize("structure", [Dyadic(), Haar(order=["few"]), ProductDyadic()], ids=repr)
def test_layout_of_a_tree_does_not_depend_on_the_rows(structure: Lifted, tmp_path: Path) -> None:
    domain = Domain(attributes=(TWO_TEXTS.attributes[0], TWO_TEXTS.attributes[2]))
    made = tree_terms(structure, domain)
    many = 70_000
    first = np.zeros((many, len(made.space.shape)), dtype=np.int64)
    first[:, -1] = np.arange(many)
    second = made.space.unpack(np.linspace(0, made.space.cells_total - 1, many).astype(np.uint64)[None, :])
    write(tmp_path / "x.parquet", made, rows(made, first, np.ones(many, dtype=np.int64)))
    write(tmp_path / "y.parquet", made, rows(made, second, np.arange(many) * 10**6))
    metadata = [pq.read_metadata(tmp_path / name).metadata for name in ("x.parquet", "y.parquet")]

    assert layout(tmp_path / "x.parquet") == layout(tmp_path / "y.parquet")
    assert metadata[0][b"hushtable"] == metadata[1][b"hushtable"]
    assert metadata[0].keys() == metadata[1].keys() == {b"hushtable", b"hushtable.checksum"}


def dictionaries(path: Path) -> set[str]:
    """Return the columns that have a dictionary."""
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {each.compression for each in columns} == {"ZSTD"}
    return {each.path_in_schema for each in columns if "RLE_DICTIONARY" in each.encodings}


def test_few_values_have_a_dictionary_and_many_have_none(tmp_path: Path) -> None:
    made = terms(TWO_TEXTS)
    write(tmp_path / "x.parquet", made, rows(made, np.array([[0, 0, 0]]), np.array([1])))

    assert dictionaries(tmp_path / "x.parquet") == {"few", "count", "weight"}


def test_levels_and_few_last_values_have_a_dictionary(tmp_path: Path) -> None:
    made = tree_terms(Dyadic(), TWO_TEXTS)
    write(tmp_path / "x.parquet", made, rows(made, np.array([[0]]), np.array([20])))
    assert dictionaries(tmp_path / "x.parquet") == {"level", "few", "few_last", "count", "weight"}

    pair = Domain(attributes=(TWO_TEXTS.attributes[0], TWO_TEXTS.attributes[2]))
    made = tree_terms(ProductDyadic(), pair)
    write(tmp_path / "y.parquet", made, rows(made, np.array([[0, 0]]), np.array([20])))
    few = {"few_level", "few", "few_last", "a.b_level", "count", "weight"}
    assert dictionaries(tmp_path / "y.parquet") == few


def test_columns_are_never_missing(tmp_path: Path) -> None:
    tree = tree_terms(Haar())
    write(tmp_path / "x.parquet", *people())
    write(tmp_path / "y.parquet", tree, all_nodes(tree))

    for name in ("x.parquet", "y.parquet"):
        assert not any(field.nullable for field in pq.read_schema(tmp_path / name))


def test_the_file_knows_nothing_of_where_and_when(tmp_path: Path) -> None:
    # The same bytes from another folder, process, time and order of hashing.
    code = "from tests.release.examples import *; import sys; print(write(Path(sys.argv[1]), *people()))"
    (tmp_path / "canary-folder").mkdir()
    digests = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        ).stdout
        for name, seed in (("canary.parquet", "1"), ("canary-folder/x.parquet", "2"))
    ]

    assert digests[0] == digests[1]
    assert b"canary" not in (tmp_path / "canary.parquet").read_bytes()


def test_every_tool_reads_the_same_values(tmp_path: Path) -> None:
    made, given = people()
    path = tmp_path / "x.parquet"
    write(path, made, given)
    wanted = [tuple(row.values()) for row in ht.open(path).to_arrow().to_pylist()]
    release = ht.open(path)

    assert len(wanted) == len(given.counts)
    assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == wanted
    with duckdb.connect() as connection:
        assert connection.execute(f"FROM '{path}'").fetchall() == wanted
    assert pl.read_parquet(path).rows() == wanted
    assert release.to_polars().rows() == wanted
    assert list(pd.read_parquet(path).itertuples(index=False, name=None)) == wanted
    frame = release.to_pandas()
    assert frame.dtypes.astype(str).to_dict() == {
        "region": "str",
        "person.age": "int64",
        "hours": "float64",
        "income": "int64",
        "day": "datetime64[ms]",
        "minute": "datetime64[us]",
        "count": "int64",
        "weight": "float64",
    }
    frame["day"] = frame["day"].dt.date
    assert list(frame.itertuples(index=False, name=None)) == wanted


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_an_absent_package_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x.parquet", *people())
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ht.MissingPackage, match=f"to_{package} needs .* pip install {package}"):
        getattr(ht.open(tmp_path / "x.parquet"), f"to_{package}")()


def test_opening_loads_only_what_it_needs(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *people())
    code = f"import sys, hushtable as ht; ht.open({str(tmp_path / 'x.parquet')!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert "pyarrow" in loaded.split()
    assert not {"duckdb", "flint", "pandas", "polars", "cryptography"} & set(loaded.split())


@given(values=kinds)
def test_types_are_those_of_decoded_values(values: Kind) -> None:
    assert type_of(values) == values.decode(np.zeros(1, dtype=np.int64)).type
