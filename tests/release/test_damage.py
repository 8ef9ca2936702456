"""Files that are no release, or no whole one: always `BadRelease`, never another error or other values."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadRelease
from hushtable.release import checksum
from hushtable.release.footer import entries_of
from hushtable.release.layout import rows_of, schema_of
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.product_dyadic import ProductDyadic
from tests.harness.statistics import LONG, tries
from tests.release.examples import all_nodes, people, terms, tree_terms, write
from tests.release.forging import rewritten


@pytest.fixture(scope="module", params=["people", "trips"])
def whole(request: pytest.FixtureRequest) -> bytes:
    tree = tree_terms(ProductDyadic())
    release = people() if request.param == "people" else (tree, all_nodes(tree))
    with TemporaryDirectory() as folder:
        write(Path(folder) / "x.parquet", *release)
        return (Path(folder) / "x.parquet").read_bytes()


def read_all(path: Path) -> None:
    release = ht.open(path)
    release.to_arrow()
    assert len(release.codes) == len(release.counts) == len(release.weights) == len(release)


def test_every_changed_byte_is_noticed(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    # Each seventh, which meets every bit of a byte; all of them in `make test-long`, and all at both ends.
    inner = range(16, len(whole) - 64, 1 if LONG else 7)
    for place in (*range(16), *inner, *range(len(whole) - 64, len(whole))):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)

        with pytest.raises(BadRelease, match=r"^\S*x\.parquet: "):
            read_all(path)


def test_cuts_are_noticed(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for length in (*range(0, len(whole), 7), *range(len(whole) - 150, len(whole))):
        path.write_bytes(whole[:length])

        with pytest.raises(BadRelease):
            read_all(path)


@given(data=st.data())
def test_larger_damage_is_noticed(data: st.DataObject, whole: bytes) -> None:
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    changed = whole[:start] + data.draw(st.binary(max_size=20)) + whole[stop:]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        path.write_bytes(changed)
        if changed == whole:
            read_all(path)
        else:
            with pytest.raises(BadRelease):
                read_all(path)


@given(data=st.data())
@settings(max_examples=tries(300))
def test_a_forged_checksum_gives_values_or_one_error(data: st.DataObject, whole: bytes) -> None:
    # Whoever changes a file on purpose can compute the checksums anew; then Parquet's reader meets the bytes.
    changed = bytearray(whole)
    places = st.integers(4, len(whole) - 9)
    for place in data.draw(st.lists(places, min_size=1, max_size=3)):
        changed[place] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        path.write_bytes(changed)
        try:
            with path.open("r+b") as file:
                checksum.fill(file)
            read_all(path)
        except BadRelease:
            pass


def test_columns_of_another_domain_are_refused(tmp_path: Path) -> None:
    made, given = people()
    entries = entries_of(made)
    table = pa.table({"a": [1]})
    with pytest.raises(BadRelease, match="columns"):
        ht.open(rewritten(tmp_path / "x.parquet", table, entries))

    write(tmp_path / "y.parquet", made, given)
    table = pq.read_table(tmp_path / "y.parquet").replace_schema_metadata(None)
    assert len(ht.open(rewritten(tmp_path / "x.parquet", table, entries))) == 4
    with pytest.raises(BadRelease, match="columns"):
        ht.open(rewritten(tmp_path / "x.parquet", table.drop(["weight"]), entries))
    nullable = table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
    with pytest.raises(BadRelease, match="columns"):
        ht.open(rewritten(tmp_path / "x.parquet", nullable, entries))


def test_values_outside_the_domain_are_refused_when_codes_are_asked_for(tmp_path: Path) -> None:
    age = ht.Domain.from_dict({"attribute": [{"name": "age", "integers": {"low": 0, "high": 9}}]})
    made = terms(age)
    table = pa.Table.from_arrays(
        [pa.array([3, 10]), pa.array([1, 2]), pa.array([123.5, 123.5])], schema=schema_of(made)
    )
    release = ht.open(rewritten(tmp_path / "x.parquet", table, entries_of(made)))

    with pytest.raises(BadRelease, match=r"x\.parquet: its column 'age' holds values"):
        release.codes  # noqa: B018


def test_columns_of_another_structure_are_refused(tmp_path: Path) -> None:
    tree = tree_terms(Dyadic())
    table = rows_of(tree, *all_nodes(tree))
    assert len(ht.open(rewritten(tmp_path / "x.parquet", table, entries_of(tree)))) == 44

    for other in (terms(tree.domain), tree_terms(ProductDyadic())):
        with pytest.raises(BadRelease, match="columns are not those of its domain and structure"):
            ht.open(rewritten(tmp_path / "x.parquet", table, entries_of(other)))
    level = table.column_names.index("level")
    wide = table.set_column(
        level, pa.field("level", pa.int64(), nullable=False), table.column(level).cast("int64")
    )
    with pytest.raises(BadRelease, match="columns"):
        ht.open(rewritten(tmp_path / "x.parquet", wide, entries_of(tree)))


def test_intervals_that_are_no_nodes_are_refused_when_codes_are_asked_for(tmp_path: Path) -> None:
    tree = tree_terms(Dyadic())
    table = rows_of(tree, *all_nodes(tree))
    level = table.column_names.index("level")
    table = table.set_column(level, table.field(level), pa.array([9] * table.num_rows, pa.int32()))
    release = ht.open(rewritten(tmp_path / "x.parquet", table, entries_of(tree)))

    with pytest.raises(BadRelease, match=r"x\.parquet: its rows hold intervals that are no nodes"):
        release.codes  # noqa: B018


def test_a_table_made_of_a_release_is_none(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *people())
    table = pq.read_table(tmp_path / "x.parquet")
    assert b"hushtable" in table.schema.metadata
    pq.write_table(table.slice(1), tmp_path / "y.parquet")
    pq.write_table(ht.open(tmp_path / "x.parquet").to_arrow(), tmp_path / "z.parquet")

    with pytest.raises(BadRelease, match="changed after it was published"):
        ht.open(tmp_path / "y.parquet")
    with pytest.raises(BadRelease, match="not a whole release"):
        ht.open(tmp_path / "z.parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"home,work\n1,2\n", "not a Parquet file"),
        (b"PAR1", "cut off"),
        (b"PAR1PAR1", "cut off"),
        (b"PAR1" + bytes(4) + b"PAR1", "not a whole release"),
        (b"PAR1" + b"\xff" * 4 + b"PAR1", "cut off"),
    ],
)
def test_other_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)

    with pytest.raises(BadRelease, match=message):
        ht.open(path)


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRelease, match="there is no such file"):
        ht.open(tmp_path / "absent.parquet")
    with pytest.raises(BadRelease, match="it is a folder, and holds no parts of a release"):
        ht.open(tmp_path)
    with pytest.raises(BadRelease, match="cannot be read"):
        ht.open("a\0b")


def test_a_file_that_was_replaced_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    made, given = people()
    write(path, made, given)
    release = ht.open(path)
    write(path, *people(epsilon=made.budget * 2), overwrite=True)

    with pytest.raises(BadRelease, match="Open it again"):
        release.to_arrow()
    os.unlink(path)
    with pytest.raises(BadRelease, match="no such file"):
        release.to_arrow()


def test_rows_stay_once_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    made, given = people()
    write(path, made, given)
    release = ht.open(path)
    release.to_arrow()
    os.unlink(path)

    assert np.array_equal(release.codes, given.codes)
