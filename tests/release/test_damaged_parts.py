"""Folders that are no release, or no whole one: always `BadRelease`, never another error or other values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadRelease
from hushtable.files.parts import FilePart, part_name
from hushtable.release import checksum
from hushtable.release.footer import entries_of
from hushtable.release.record import Terms
from hushtable.structures.dyadic import Dyadic
from tests.harness.statistics import tries
from tests.release.examples import TRIPS_DOMAIN, Rows, all_nodes, rows, terms, tree_terms, write

PARTS = 4


def trips(place: int = 0) -> tuple[Terms, Rows]:
    """Return a release of 10 rows; others have equal terms and other counts."""
    made = terms(TRIPS_DOMAIN, method=ht.Everything(), rule=None, cutoff=None, threshold=None)
    codes = np.array(list(np.ndindex(TRIPS_DOMAIN.shape)))[::2][:10]
    return made, rows(made, codes, np.arange(10) + 100 * place)


def read_all(path: Path) -> ht.Release:
    release = ht.open(path)
    release.to_arrow()
    assert len(release.codes) == len(release.counts) == len(release.weights) == len(release)
    return release


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of releases in four parts: ours; another with equal terms; others with other terms; a file."""
    base = tmp_path_factory.mktemp("made")
    write(base / "ours", *trips(), rows_in_a_file=3)
    write(base / "equal terms", *trips(1), rows_in_a_file=3)
    other = terms(TRIPS_DOMAIN, epsilon=trips()[0].budget * 3)
    write(base / "other terms", other, rows(other, *trips()[1][:2]), rows_in_a_file=3)
    tree = tree_terms(Dyadic())
    nodes = all_nodes(tree)
    write(base / "tree", tree, rows(tree, nodes.codes[:10], nodes.counts[:10]), rows_in_a_file=3)
    write(base / "six parts", *trips(), rows_in_a_file=2)
    write(base / "file", *trips())
    return base


@pytest.fixture
def ours(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "ours", tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def test_it_opens_as_it_is(ours: Path) -> None:
    assert len(list(ours.iterdir())) == PARTS
    assert read_all(ours).counts.tolist() == list(range(10))


@pytest.mark.parametrize("number", range(PARTS))
def test_a_missing_part(number: int, ours: Path) -> None:
    (ours / part_name(number)).unlink()

    with pytest.raises(
        BadRelease, match=r"x\.parquet: it (does not have all of its parts|has 3 parts, and .* 4)"
    ):
        ht.open(ours)


@pytest.mark.parametrize("first", range(PARTS))
@pytest.mark.parametrize("second", range(PARTS))
def test_swapped_and_doubled_parts(first: int, second: int, ours: Path) -> None:
    if first == second:
        shutil.copy(ours / part_name(first), ours / part_name(PARTS))
        with pytest.raises(BadRelease, match=r"has 5 parts, and its release has 4|name of another part"):
            ht.open(ours)
        return
    one, two = ours / part_name(first), ours / part_name(second)
    before = two.read_bytes()
    shutil.copy(one, two)
    with pytest.raises(
        BadRelease, match=r"part-0000\d\.parquet: it has the name of another part: it is part \d of 4"
    ):
        ht.open(ours)
    one.write_bytes(before)
    with pytest.raises(BadRelease, match=r"part-0000\d\.parquet: it has the name of another part"):
        ht.open(ours)


@pytest.mark.parametrize("other", ["equal terms", "other terms", "tree", "six parts", "file"])
@pytest.mark.parametrize("number", range(PARTS))
def test_parts_of_two_releases(other: str, number: int, ours: Path, made: Path) -> None:
    foreign = made / other if other == "file" else made / other / part_name(number)
    shutil.copy(foreign, ours / part_name(number))

    with pytest.raises(BadRelease, match=r"another release|by itself|its release has 5|columns"):
        ht.open(ours)


@pytest.mark.parametrize("split", range(1, PARTS))
def test_halves_of_two_releases(split: int, ours: Path, made: Path) -> None:
    for number in range(split, PARTS):
        shutil.copy(made / "equal terms" / part_name(number), ours / part_name(number))

    with pytest.raises(BadRelease, match=rf"part-0000{split}\.parquet: it is a part of another release"):
        ht.open(ours)


@pytest.mark.parametrize(
    "name",
    [
        "part-00004.parquet",
        "part-00000 (1).parquet",
        "part-0.parquet",
        "part-000000.parquet",
        "Part-00001.parquet",
        "other.parquet",
        "part-00001.parquet.bak",
        "readme.txt",
        "part-00000.parquet\n",
    ],
)
def test_an_additional_file(name: str, ours: Path) -> None:
    for content in (b"", b"not Parquet", (ours / part_name(1)).read_bytes()):
        (ours / name).write_bytes(content)
        with pytest.raises(BadRelease, match=r"x\.parquet"):
            ht.open(ours)


def test_an_additional_folder(ours: Path) -> None:
    (ours / "more").mkdir()
    with pytest.raises(BadRelease, match="also holds 'more'"):
        ht.open(ours)
    os.rename(ours / "more", ours / part_name(4))
    with pytest.raises(BadRelease, match=r"has 4|Is a directory"):
        ht.open(ours)
    (ours / part_name(2)).unlink()
    os.rename(ours / part_name(4), ours / part_name(2))
    with pytest.raises(BadRelease, match="Is a directory"):
        ht.open(ours)


@pytest.mark.parametrize("name", [".DS_Store", "_SUCCESS", "._part-00000.parquet", ".part-00000.parquet.crc"])
def test_files_that_every_reader_passes_over(name: str, ours: Path) -> None:
    (ours / name).write_bytes(b"anything")

    assert len(read_all(ours)) == 10
    assert pq.read_table(ours).num_rows == 10


def nothing(folder: Path) -> None:
    pass


def other_files(folder: Path) -> None:
    (folder / "rows.csv").write_text("home,work")


def whole_releases(folder: Path) -> None:
    for number in range(2):
        alone = folder / str(number) / "alone.parquet"
        alone.parent.mkdir()
        write(alone, *trips())
        alone.rename(folder / part_name(number))
        alone.parent.rmdir()


@pytest.mark.parametrize("filled", [nothing, other_files, whole_releases])
def test_folders_that_are_no_release(filled: Callable[[Path], None], tmp_path: Path) -> None:
    filled(tmp_path)

    with pytest.raises(BadRelease, match=r"holds no parts of a release|a release by itself"):
        ht.open(tmp_path)


def test_a_folder_that_cannot_be_listed(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(BadRelease, match=r"x\.parquet: it cannot be read: Permission denied"):
        ht.open(ours)


def test_every_changed_byte_of_a_part_is_noticed(ours: Path) -> None:
    path = ours / part_name(2)
    whole = path.read_bytes()
    for place in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)

        with pytest.raises(BadRelease, match=r"^\S*part-00002\.parquet: "):
            read_all(ours)


def test_a_folder_that_was_replaced_meanwhile_is_noticed(ours: Path) -> None:
    release = ht.open(ours)
    write(ours, *trips(1), overwrite=True, rows_in_a_file=3)
    with pytest.raises(BadRelease, match="Open it again"):
        release.to_arrow()

    release = ht.open(ours)
    write(ours, *trips(1), overwrite=True)
    with pytest.raises(BadRelease):
        release.to_arrow()

    release = ht.open(ours)
    write(ours, *trips(1), overwrite=True, rows_in_a_file=3)
    with pytest.raises(BadRelease):
        release.to_arrow()


def forged(path: Path, part: FilePart) -> None:
    """Let a part say that it is another, with checksums that hold."""
    table = pq.read_table(path).replace_schema_metadata(None)
    with path.open("w+b") as file:
        with pq.ParquetWriter(file, table.schema, store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(entries_of(trips()[0], part) | {checksum.KEY: checksum.BLANK})
        checksum.fill(file)


def test_forged_numbers_of_parts_end(ours: Path) -> None:
    first = (ours / part_name(0)).read_bytes()
    forged(ours / part_name(0), FilePart(number=0, of=10_000, before=None))
    with pytest.raises(BadRelease, match="it has 4 parts, and its release has 10,000"):
        ht.open(ours)
    with pytest.raises(BadRelease, match="it is part 0 of 10001"):
        FilePart(number=0, of=10_001, before=None)
    (ours / part_name(0)).write_bytes(first)
    forged(ours / part_name(3), FilePart(number=3, of=5, before="0" * 64))
    with pytest.raises(BadRelease, match="another release"):
        ht.open(ours)


OTHERS = ("equal terms", "other terms", "tree", "six parts")


@given(data=st.data())
@settings(max_examples=tries(150))
def test_any_damage_is_noticed(data: st.DataObject, made: Path) -> None:
    with TemporaryDirectory() as base:
        folder = Path(base) / "x.parquet"
        shutil.copytree(made / "ours", folder)
        wanted = {each.name: each.read_bytes() for each in folder.iterdir()}
        for _ in range(data.draw(st.integers(1, 3))):
            names = sorted(each.name for each in folder.iterdir())
            path = folder / data.draw(st.sampled_from([*names, part_name(4)]))
            content = path.read_bytes() if path.exists() else b""
            foreign = made / data.draw(st.sampled_from(OTHERS)) / part_name(data.draw(st.integers(0, 3)))
            match data.draw(st.sampled_from(["remove", "move", "cut", "change", "foreign", "empty"])):
                case "remove":
                    path.unlink(missing_ok=True)
                case "move" if path.exists():
                    os.replace(path, folder / part_name(data.draw(st.integers(0, 5))))
                case "cut":
                    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
                case "change" if content:
                    changed = bytearray(content)
                    changed[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
                    path.write_bytes(changed)
                case "foreign":
                    shutil.copy(foreign, path)
                case "empty":
                    path.write_bytes(b"")
        if {each.name: each.read_bytes() for each in folder.iterdir()} == wanted:
            assert read_all(folder).counts.tolist() == list(range(10))
        else:
            with pytest.raises(BadRelease):
                read_all(folder)
