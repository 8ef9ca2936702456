"""Rows are read once: not through two names of one file, nor from all versions of a table."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.engines.sliced.versions import MARKS
from tests.engines.reference import counts_of
from tests.harness.statistics import tries

DOMAIN = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))
TABLE = pa.table({"x": [1, 2]})
WRITERS = {
    ".parquet": lambda path: pq.write_table(TABLE, path),
    ".csv": lambda path: path.write_text("x\n1\n2\n"),
    ".jsonl": lambda path: path.write_text('{"x": 1}\n{"x": 2}\n'),
    ".arrow": lambda path: pyarrow.feather.write_feather(TABLE, path),
}
COUNTS = {(1,): 1, (2,): 1}


def file_in(folder: Path, ending: str = ".parquet", name: str = "rows") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[ending](folder / f"{name}{ending}")
    return folder / f"{name}{ending}"


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_under_two_names_is_one_file(ending: str, tmp_path: Path) -> None:
    path = file_in(tmp_path / "a", ending)
    hard, soft = tmp_path / "a" / f"hard{ending}", tmp_path / f"soft{ending}"
    os.link(path, hard)
    soft.symlink_to(path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    copy = file_in(tmp_path / "c", ending)

    for data in (
        [path, path],
        [path, hard],
        [path, soft],
        [soft, hard],
        [path, tmp_path / "b" / path.name],
        [path, f"{tmp_path}/a/../a/{path.name}"],
        [path, f"{tmp_path}//a/{path.name}"],
        tmp_path / "a",
        f"{tmp_path}/a/*{ending}",
        [tmp_path / "c", tmp_path / "a"],
    ):
        with pytest.raises(ht.BadData, match="is given twice"):
            ht.count(data, domain=DOMAIN)
    hard.unlink()
    # What is in two files is in two files: nothing tells a copy from rows that are alike.
    assert counts_of(ht.count([path, copy], domain=DOMAIN)) == {(1,): 2, (2,): 2}


def test_a_mount_of_a_file_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may mount anything, but a mount of a folder has its devices and inodes."""
    path, other = file_in(tmp_path / "a"), file_in(tmp_path / "b")
    real = os.stat
    monkeypatch.setattr(
        os, "stat", lambda name, **more: real(path if str(name) == str(other) else name, **more)
    )

    with pytest.raises(ht.BadData, match="is given twice"):
        ht.count([path, other], domain=DOMAIN)


def marked(root: Path, mark: str) -> None:
    """Put a mark into a folder, as a folder where no file of that name makes sense."""
    path = root / mark.replace("*", "v7")
    path.parent.mkdir(parents=True, exist_ok=True)
    if "." in path.name[1:] or "/" in mark:
        path.write_text("{}")
    else:
        path.mkdir()


@settings(max_examples=tries(120), suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(MARKS)),
    st.sampled_from(sorted(WRITERS)),
    st.lists(st.sampled_from(["data", "2024", "a b", "bucket-0"]), max_size=3),
    st.integers(0, 5),
)
def test_versions_of_a_table_are_refused_however_they_are_named(
    tmp_path_factory: pytest.TempPathFactory, mark: str, ending: str, below: list[str], how: int
) -> None:
    top = tmp_path_factory.mktemp("lake")
    root = top / "outer" / "table"
    path = file_in(root.joinpath(*below), ending)
    data = [
        path,
        root,
        top / "outer",
        f"{root}/**/*{ending}",
        path.parent,
        [file_in(top / "other", ending, "more"), os.path.relpath(path)],
    ][how]
    assert counts_of(ht.count(data, domain=DOMAIN))  # without the mark they are plain files
    marked(root, mark)

    with pytest.raises(ht.BadData, match=r"replaced or deleted\. Write .* files of their own"):
        ht.count(data, domain=DOMAIN)


@pytest.mark.parametrize(
    "inside",
    [
        "t/base_0000005/rows",
        "t/delta_0000001_0000001/rows",
        "t/delta_0000001_0000001_0000/rows",
        "t/delete_delta_0000002_0000002/rows",
        "t/_delta_log/00000000000000000010.checkpoint",
        "t.lance/data/rows",
        "my.ducklake.files/main/people/rows",
        "t/ducklake-0191f2c8-6d4f-7a3a-9d3b-0a1b2c3d4e5f",
        "t/00000-0-x-00001-deletes",
    ],
)
def test_names_that_tell_it_by_themselves(inside: str, tmp_path: Path) -> None:
    path = file_in((tmp_path / inside).parent, name=Path(inside).name)

    with pytest.raises(ht.BadData, match="rows that were replaced or deleted"):
        ht.count(path, domain=DOMAIN)


def test_a_link_into_such_a_folder_is_no_way_in(tmp_path: Path) -> None:
    path = file_in(tmp_path / "lake" / "table")
    (tmp_path / "lake" / "table" / "_delta_log").mkdir()
    (tmp_path / "rows.parquet").symlink_to(path)
    (tmp_path / "folder").symlink_to(path.parent)

    for data in (tmp_path / "rows.parquet", tmp_path / "folder", tmp_path / "folder" / path.name):
        with pytest.raises(ht.BadData, match="a Delta table"):
            ht.count(data, domain=DOMAIN)


@pytest.mark.parametrize(
    "name", ["base_2020", "delta_1", "metadata", "snapshot", "deltas", "versions", "data"]
)
def test_other_folders_are_read(name: str, tmp_path: Path) -> None:
    file_in(tmp_path / name)

    assert counts_of(ht.count(tmp_path, domain=DOMAIN)) == COUNTS


def test_the_catalog_of_a_ducklake_is_refused(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "catalog.db")) as connection:
        connection.execute("CREATE TABLE ducklake_metadata (key VARCHAR)").fetchall()
        connection.execute("CREATE TABLE people AS SELECT 1 AS x").fetchall()

    with pytest.raises(ht.BadData, match="the catalog of a DuckLake"):
        ht.count(tmp_path / "catalog.db", domain=DOMAIN, query="SELECT * FROM people")


def test_a_message_does_not_tell_the_value_in_the_name_of_a_folder(tmp_path: Path) -> None:
    path = file_in(tmp_path / "person=Zyx-Canary" / "base_0000005")

    with pytest.raises(ht.BadData, match=r"person=\.\.\.") as caught:
        ht.count(path, domain=DOMAIN)
    assert "Canary" not in str(caught.value)
