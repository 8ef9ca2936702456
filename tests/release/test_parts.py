"""A release in parts: the same answers as from one file, for us and for every other tool."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.errors import BadRelease, InternalError
from hushtable.files.parts import FilePart, digest_of_parts, part_name
from hushtable.release import footer
from hushtable.release.exporting import export_release
from hushtable.release.layout import ROWS_IN_A_GROUP
from hushtable.release.record import Terms
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.sketch import CountSketch
from hushtable.structures.structure import Structure as Hierarchy
from tests.harness.cases import few
from tests.release.examples import (
    CUBES,
    PRUNED,
    TRIPS_DOMAIN,
    Rows,
    all_buckets,
    all_cells,
    all_nodes,
    cube_terms,
    people,
    rows,
    sketch_terms,
    terms,
    tree_terms,
    write,
)


def cells() -> tuple[Terms, Rows]:
    """Return a release of 21 cells."""
    made = terms(TRIPS_DOMAIN)
    codes = np.array(list(np.ndindex(TRIPS_DOMAIN.shape)))
    return made, rows(made, codes, np.arange(21) * 17 - 100)


def releases() -> list[tuple[Terms, Rows]]:
    """Return a release of each kind."""
    structures: list[Hierarchy] = [Dyadic(), Haar(), ProductDyadic(), *PRUNED]
    trees = [tree_terms(structure) for structure in structures]
    sketch = sketch_terms(CountSketch(width=5, depth=2))
    cubes = [cube_terms(structure) for structure in CUBES]
    found = [cells(), people(), *((tree, all_nodes(tree)) for tree in trees), (sketch, all_buckets(sketch))]
    return found + [(cube, all_cells(cube)) for cube in cubes if len(all_cells(cube).counts) > 3]


@pytest.mark.parametrize("release", releases(), ids=lambda release: repr(release[0].structure))
@pytest.mark.parametrize("size", few([3, 1], every=2))
def test_a_folder_is_the_same_release_as_a_file(
    release: tuple[Terms, Rows], size: int, tmp_path: Path
) -> None:
    made, given = release
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    write(tmp_path / "whole" / "x.parquet", made, given)
    write(tmp_path / "parts" / "x.parquet", made, given, rows_in_a_file=size)
    whole, parts = (ht.open(tmp_path / kind / "x.parquet") for kind in ("whole", "parts"))

    assert (tmp_path / "parts" / "x.parquet").is_dir()
    assert parts.terms == whole.terms == made
    assert len(parts) == len(whole) == len(given.counts)
    assert repr(parts) == repr(whole)
    assert parts._repr_html_() == whole._repr_html_()
    assert parts.to_arrow().equals(whole.to_arrow(), check_metadata=True)
    assert parts.to_pandas().equals(whole.to_pandas())
    assert parts.to_polars().equals(whole.to_polars())
    for name in ("codes", "counts", "weights"):
        ours, theirs = getattr(parts, name), getattr(whole, name)
        assert np.array_equal(ours, theirs)
        assert (ours.dtype, ours.flags.writeable) == (theirs.dtype, False)


@pytest.mark.parametrize(
    "release", [cells(), *releases()[2:]], ids=lambda release: repr(release[0].structure)
)
def test_answers_are_the_same(release: tuple[Terms, Rows], tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *release)
    write(tmp_path / "y.parquet", *release, rows_in_a_file=2)
    whole, parts = ht.open(tmp_path / "x.parquet"), ht.open(tmp_path / "y.parquet")

    for name in whole.domain.names:
        value = {"home": "s", "hour": 7}[name]
        assert parts.total({name: value}) == whole.total({name: value})
        assert parts.by(name).equals(whole.by(name), check_metadata=True)
    query = "SELECT count(*), sum(count), sum(CAST(weight AS DECIMAL(30, 6))) FROM release"
    assert parts.sql(query).equals(whole.sql(query))
    for each, name in ((whole, "x.csv"), (parts, "y.csv")):
        export_release(each, tmp_path / name)
    assert (tmp_path / "x.csv").read_bytes() == (tmp_path / "y.csv").read_bytes()


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        (1, [1] * 21),
        (2, [2] * 10 + [1]),
        (7, [7, 7, 7]),
        (20, [20, 1]),
        (21, None),
        (22, None),
        (None, None),
    ],
)
def test_parts_have_a_fixed_size(size: int | None, parts: list[int] | None, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    digest = write(path, *cells(), rows_in_a_file=size)

    if parts is None:
        assert path.is_file()
        assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
        assert digest == write(tmp_path / "y.parquet", *cells())
        return
    names = sorted(each.name for each in path.iterdir())
    assert names == [f"part-{number:05}.parquet" for number in range(len(parts))]
    assert [pq.read_metadata(path / name).num_rows for name in names] == parts


def test_no_rows_are_one_file(tmp_path: Path) -> None:
    made = terms()
    write(
        tmp_path / "x.parquet",
        made,
        rows(made, np.empty((0, 6), np.int64), np.empty(0, np.int64)),
        rows_in_a_file=1,
    )

    assert (tmp_path / "x.parquet").is_file()
    with pytest.raises(InternalError, match="parts without rows"):
        write(tmp_path / "y.parquet", *cells(), rows_in_a_file=0)


def test_row_groups_start_anew_in_each_part(tmp_path: Path) -> None:
    made = terms(
        ht.Domain.from_dict({"attribute": [{"name": "home", "integers": {"low": 0, "high": 10**7}}]}),
        method=ht.FilterPriority(cutoff=20, size=10**6),
    )
    codes = np.arange(2 * ROWS_IN_A_GROUP + 9).reshape(-1, 1)
    given = rows(made, codes, np.arange(len(codes)))
    write(tmp_path / "x.parquet", made, given, rows_in_a_file=ROWS_IN_A_GROUP + 5)
    groups = [
        [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        for metadata in (pq.read_metadata(tmp_path / "x.parquet" / part_name(place)) for place in range(2))
    ]

    assert groups == [[ROWS_IN_A_GROUP, 5], [ROWS_IN_A_GROUP, 4]]
    assert np.array_equal(ht.open(tmp_path / "x.parquet").codes, codes)
    codes[ROWS_IN_A_GROUP + 5] = codes[ROWS_IN_A_GROUP + 4]  # the first row of the second part
    with pytest.raises(InternalError, match="order"):
        write(tmp_path / "y.parquet", made, given, rows_in_a_file=ROWS_IN_A_GROUP + 5)
    assert [each.name for each in tmp_path.iterdir()] == ["x.parquet"]


def test_a_footer_says_which_part_it_is_and_nothing_else_that_is_new(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    made, given = cells()
    write(tmp_path / "x.parquet", made, given)
    write(tmp_path / "y.parquet", made, given, rows_in_a_file=10)
    whole = json.loads(pq.read_metadata(tmp_path / "x.parquet").metadata[b"hushtable"])
    before = None
    for number in range(3):
        entries = pq.read_metadata(tmp_path / "y.parquet" / part_name(number)).metadata
        said = json.loads(entries[b"hushtable"])
        assert entries.keys() == {b"hushtable", b"hushtable.checksum"}
        assert said.pop("file_part") == {"number": number, "of": 3, "before": before}
        assert said == whole | {"format": 4}
        before = entries[b"hushtable.checksum"][64:].decode()
    assert all(f"`{key}`" in page for key in ("file_part", "number", "of", "before"))


def test_the_digest_is_that_of_the_list_of_digests(tmp_path: Path) -> None:
    digest = write(tmp_path / "x.parquet", *cells(), rows_in_a_file=2)
    command = "sha256sum part-*.parquet | sha256sum"
    if shutil.which("sha256sum"):
        said = subprocess.run(
            command, shell=True, cwd=tmp_path / "x.parquet", check=True, capture_output=True, text=True
        )
        assert said.stdout.split()[0] == digest
    files = sorted((tmp_path / "x.parquet").iterdir())
    assert digest_of_parts([hashlib.sha256(each.read_bytes()).hexdigest() for each in files]) == digest


def test_equal_releases_have_equal_bytes(tmp_path: Path) -> None:
    digests = {write(tmp_path / name, *cells(), rows_in_a_file=4) for name in ("x", "canary")}

    assert len(digests) == 1
    for each in (tmp_path / "x").iterdir():
        assert each.read_bytes() == (tmp_path / "canary" / each.name).read_bytes()
        assert b"canary" not in each.read_bytes()


def test_names_and_layout_follow_from_the_number_of_rows(tmp_path: Path) -> None:
    made, given = cells()
    made = terms(made.domain, method=ht.Everything(), rule=None, cutoff=None, threshold=None)
    write(tmp_path / "x", made, rows(made, given.codes[::2], np.arange(11) * 10**9), rows_in_a_file=4)
    write(tmp_path / "y", made, rows(made, given.codes[:11], np.ones(11, np.int64)), rows_in_a_file=4)

    def layout(folder: Path) -> list[object]:
        files = sorted(folder.iterdir())
        found: list[object] = [each.name for each in files]
        for each in files:
            metadata = pq.read_metadata(each)
            group = metadata.row_group(0)
            said = json.loads(metadata.metadata[b"hushtable"])
            said["file_part"].pop("before")  # a digest of what is published
            encodings = [group.column(place).encodings for place in range(group.num_columns)]
            found += [metadata.num_rows, metadata.num_row_groups, said, encodings]
        return found

    assert layout(tmp_path / "x") == layout(tmp_path / "y")


def test_a_part_by_itself_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *cells(), rows_in_a_file=10)

    for number in range(3):
        with pytest.raises(
            BadRelease, match=rf"part-0000{number}\.parquet: it is part {number + 1} of 3 of .*folder"
        ):
            ht.open(tmp_path / "x.parquet" / part_name(number))


def test_readers_that_do_not_know_parts_ask_for_an_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "x.parquet", *cells(), rows_in_a_file=10)
    monkeypatch.setattr(footer, "FORMAT", 3)

    for path in (tmp_path / "x.parquet", tmp_path / "x.parquet" / "part-00001.parquet"):
        with pytest.raises(BadRelease, match=r"format 4, .* up to 3\. Upgrade"):
            ht.open(path)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_format_that_does_not_fit_a_part_is_refused(number: int) -> None:
    part = FilePart(number=0, of=2, before=None)
    said = json.loads(footer.entries_of(terms(), part)["hushtable"])
    assert footer.terms_of({b"hushtable": json.dumps(said).encode()}) == terms()

    with pytest.raises(BadRelease, match="does not fit"):
        footer.terms_of({b"hushtable": json.dumps(said | {"format": number}).encode()})
    del said["file_part"]
    with pytest.raises(BadRelease, match="format is 4, which does not fit"):
        footer.terms_of({b"hushtable": json.dumps(said).encode()})


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"number": 2, "of": 2, "before": "a" * 64},
        {"number": -1, "of": 2, "before": "a" * 64},
        {"number": 0, "of": 1, "before": None},
        {"number": 0, "of": 2, "before": "a" * 64},
        {"number": 1, "of": 2, "before": None},
        {"number": 1, "of": 2, "before": "A" * 64},
        {"number": 1, "of": 2, "before": "a" * 63},
        {"number": 1, "of": 2, "before": 7},
        {"number": True, "of": 2, "before": "a" * 64},
        {"number": 1.0, "of": 2, "before": "a" * 64},
        {"number": 0, "of": "2", "before": None},
        {"number": 0, "of": None, "before": None},
        None,
        3,
        [0, 2],
    ],
    ids=repr,
)
def test_parts_that_cannot_be(table: object) -> None:
    said = json.loads(footer.entries_of(terms())["hushtable"]) | {"format": 4, "file_part": table}

    with pytest.raises(BadRelease):
        footer.said_by({b"hushtable": json.dumps(said).encode()})


def test_long_domains_are_in_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer, "_LARGEST_PLAIN_DOMAIN", 0)
    made, given = cells()
    write(tmp_path / "x.parquet", made, given, rows_in_a_file=10)
    release = ht.open(tmp_path / "x.parquet")

    assert b"hushtable.domain" in pq.read_metadata(tmp_path / "x.parquet" / part_name(2)).metadata
    assert release.terms == made
    assert np.array_equal(release.codes, given.codes)


def test_every_tool_reads_the_folder(tmp_path: Path) -> None:
    made, given = people()
    path = tmp_path / "x.parquet"
    write(path, made, given, rows_in_a_file=1)
    wanted = [tuple(row.values()) for row in ht.open(path).to_arrow().to_pylist()]

    assert len(wanted) == len(given.counts) == len(list(path.iterdir()))
    assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == wanted
    assert [tuple(row.values()) for row in ds.dataset(path).to_table().to_pylist()] == wanted
    with duckdb.connect() as connection:
        assert connection.execute(f"FROM read_parquet('{path}/*.parquet')").fetchall() == wanted
        assert connection.execute(f"FROM '{path}/*.parquet'").fetchall() == wanted
    for text in (path, path / "*.parquet"):
        assert pl.read_parquet(text).rows() == wanted
        assert pl.scan_parquet(text).collect().rows() == wanted
    assert list(pd.read_parquet(path).itertuples(index=False, name=None)) == wanted


def test_the_folder_that_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x.parquet", *cells(), rows_in_a_file=10)
    monkeypatch.chdir(tmp_path / "x.parquet")

    assert repr(ht.open(".")) == repr(ht.open(tmp_path / "x.parquet"))
    assert "x.parquet" in repr(ht.open(f"{tmp_path}/x.parquet/"))
