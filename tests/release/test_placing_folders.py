"""Folders: whole or not at all, never over what is not a release; the old one stays until then."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.errors import BadOutput
from hushtable.files import exchanging, partials, placing
from hushtable.files.placing import new_file, new_folder
from hushtable.publishing.thinning import thin
from hushtable.release import writing
from hushtable.release.exporting import export_release
from hushtable.release.reading import read_head
from hushtable.release.record import check_output
from tests.harness import statistics
from tests.release.examples import people, write

ROOT = Path(__file__).parents[2]


def folder(path: Path, *, total: int = 10_023, overwrite: bool = False) -> str:
    """Write a release of four parts."""
    return write(path, *people(total=total), overwrite=overwrite, rows_in_a_file=1)


def file(path: Path, *, total: int = 10_023, overwrite: bool = False) -> str:
    return write(path, *people(total=total), overwrite=overwrite)


def nothing_to_exchange(*_: object) -> bool:
    return False


@pytest.fixture(params=["exchange", "two steps"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "two steps":
        monkeypatch.setattr(exchanging, "_exchanged", nothing_to_exchange)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take two steps")
def test_this_system_exchanges_names(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").write_text("y")

    assert exchanging._exchanged(tmp_path / "x", tmp_path / "y")
    assert (tmp_path / "y").is_dir()
    assert (tmp_path / "x").read_text() == "y"
    with pytest.raises(FileNotFoundError):
        exchanging._exchanged(tmp_path / "x", tmp_path / "absent")


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("old", [file, folder])
@pytest.mark.parametrize("new", [file, folder])
def test_every_kind_replaces_every_kind(
    old: Callable[..., str], new: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    old(path, total=1)
    with pytest.raises(BadOutput, match=r"x\.parquet: there is a \w+ of this name already\. .*overwrite"):
        new(path, total=2)
    assert ht.open(path).noisy_total == 1
    with pytest.raises(BadOutput, match="already"):
        check_output(path, overwrite=False)

    check_output(path, overwrite=True)
    assert new(path, total=2, overwrite=True) == new(tmp_path / "y", total=2)
    assert ht.open(path).noisy_total == 2
    assert len(ht.open(path).codes) == 4
    assert path.is_dir() == (new is folder)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.parquet", "y"]


@pytest.mark.usefixtures("either_way")
def test_fewer_parts_replace_more(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    folder(path)
    write(path, *people(total=2), overwrite=True, rows_in_a_file=3)

    assert sorted(each.name for each in path.iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    assert ht.open(path).noisy_total == 2


def users_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("mine")


def users_parts(path: Path) -> None:
    path.mkdir()
    (path / "part-00000.parquet").write_text("mine")


def empty(path: Path) -> None:
    path.mkdir()


def with_another(path: Path) -> None:
    folder(path)
    (path / "thesis.parquet").write_text("mine")


def with_a_hidden_one(path: Path) -> None:
    folder(path)
    (path / ".thesis").write_text("mine")


def with_a_folder(path: Path) -> None:
    folder(path)
    (path / "_thesis").mkdir()


def without_a_part(path: Path) -> None:
    folder(path)
    (path / "part-00002.parquet").unlink()


def damaged(path: Path) -> None:
    folder(path)
    with (path / "part-00002.parquet").open("r+b") as part:
        part.truncate(100)


def of_whole_releases(path: Path) -> None:
    path.mkdir()
    file(path / "part-00001.parquet")
    file(path / "part-00000.parquet")


def linked(path: Path) -> None:
    folder(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def contents(path: Path) -> dict[str, bytes | None]:
    return {
        str(each.relative_to(path)): each.read_bytes() if each.is_file() else None for each in path.rglob("*")
    }


@pytest.mark.parametrize("new", [file, folder])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        users_folder,
        users_parts,
        empty,
        with_another,
        with_a_hidden_one,
        with_a_folder,
        without_a_part,
        damaged,
        of_whole_releases,
        linked,
    ],
)
def test_folders_that_are_not_a_release_alone_are_let_be(
    made: Callable[[Path], None], overwrite: bool, new: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    made(path)
    before = contents(tmp_path)

    with pytest.raises(BadOutput, match=r"x\.parquet: it is a (folder|release)"):
        check_output(path, overwrite=overwrite)
    with pytest.raises(BadOutput, match=r"x\.parquet: it is a (folder|release)"):
        new(path, overwrite=overwrite)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("made", [users_folder, users_parts, with_a_hidden_one])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_that_appears_meanwhile_comes_back(
    made: Callable[[Path], None], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    folder(path)
    before: dict[str, bytes | None] = {}
    exchange_for = exchanging.exchange_for

    def late(*given: Any) -> None:
        if not before:
            os.rename(path, tmp_path / "moved")
            made(path)
            before.update(contents(tmp_path / "x.parquet"))
        exchange_for(*given)

    monkeypatch.setattr(placing, "exchange_for", late)
    with pytest.raises(BadOutput, match=r"x\.parquet: it is a (folder|release)"):
        (file if kind == "file" else folder)(path, overwrite=True)

    assert contents(path) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["moved", "x.parquet"]


@pytest.mark.parametrize("theirs", [file, folder])
def test_a_release_that_appears_meanwhile_is_not_overwritten(
    theirs: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"

    def late() -> None:
        with new_folder(path, overwrite=False) as ours:
            (ours / "part-00000.parquet").write_text("ours")
            theirs(path)

    with pytest.raises(BadOutput, match="already"):
        late()
    assert len(ht.open(path)) == 4
    assert list(tmp_path.iterdir()) == [path]

    def late_file() -> None:
        with new_file(tmp_path / "y", overwrite=False) as ours:
            ours.write(b"ours")
            theirs(tmp_path / "y")

    with pytest.raises(BadOutput, match="already"):
        late_file()
    assert len(ht.open(tmp_path / "y")) == 4


def test_links_are_neither_replaced_nor_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    (tmp_path / "theirs").write_text("theirs")
    file(tmp_path / "ours.parquet")
    for target in ("theirs", "absent", "ours.parquet"):
        path.symlink_to(tmp_path / target)
        for new in (file, folder):
            with pytest.raises(BadOutput, match="already"):
                new(path)
            with pytest.raises(BadOutput, match="it is a link"):
                new(path, overwrite=True)
        assert path.is_symlink()
        path.unlink()

    assert (tmp_path / "theirs").read_text() == "theirs"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ours.parquet", "theirs"]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("new", [file, folder])
def test_a_file_that_appears_meanwhile_and_is_not_ours_comes_back(
    new: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, exchange_for = tmp_path / "x.parquet", exchanging.exchange_for
    file(path)

    def late(*given: Any) -> None:
        path.unlink()
        path.write_text("theirs")
        exchange_for(*given)

    monkeypatch.setattr(placing, "exchange_for", late)
    with pytest.raises(BadOutput, match="what is there is not a release"):
        new(path, overwrite=True)

    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_other_writers_never_replace_a_release_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    folder(tmp_path / "x.parquet")
    os.rename(tmp_path / "x.parquet", path)
    with pytest.raises(BadOutput, match="it is a folder"):
        export_release(ht.open(path), path, overwrite=True)

    assert len(ht.open(path)) == 4


@pytest.mark.usefixtures("either_way")
def test_a_release_is_thinned_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    folder(path)
    smaller = thin(ht.open(path), size=1, output=path, overwrite=True)

    assert path.is_file()
    assert len(smaller.codes) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_left_after_an_error(error: type[BaseException], overwrite: bool, tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_folder(tmp_path / "x.parquet", overwrite=overwrite) as made:
            (made / "part-00000.parquet").write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["check", "rename"])
@pytest.mark.parametrize("new", [file, folder])
def test_an_error_between_two_steps_brings_the_old_one_back(
    step: str, new: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename, seen = tmp_path / "x.parquet", os.rename, list[Path]()
    folder(path, total=1)
    monkeypatch.setattr(exchanging, "_exchanged", nothing_to_exchange)

    def fail_once(source: Path, target: Path) -> None:
        seen.append(target)
        if seen.count(path) == 1 and target == path:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    if step == "rename":
        monkeypatch.setattr(os, "rename", fail_once)
        with pytest.raises(BadOutput, match="Input/output error"):
            new(path, overwrite=True, total=2)
        assert seen.count(path) == 2
    else:
        checks = iter([lambda _: None, interrupted])
        monkeypatch.setattr(writing, "_check_folder", lambda each: next(checks)(each))
        with pytest.raises(KeyboardInterrupt):
            new(path, overwrite=True, total=2)

    assert ht.open(path).noisy_total == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("theirs", [file, folder])
@pytest.mark.parametrize("new", [file, folder])
@pytest.mark.parametrize("old", [file, folder])
def test_between_two_steps_another_writer_is_done(
    old: Callable[..., str],
    new: Callable[..., str],
    theirs: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, rename, late = tmp_path / "x.parquet", os.rename, [theirs]
    old(path, total=1)
    monkeypatch.setattr(exchanging, "_exchanged", nothing_to_exchange)

    def watched(source: Path, target: Path) -> None:
        rename(source, target)
        if source == path and late:
            late.pop()(path, total=3)

    monkeypatch.setattr(os, "rename", watched)
    new(path, overwrite=True, total=2)

    assert ht.open(path).noisy_total == 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("theirs", [file, folder])
@pytest.mark.parametrize("new", [file, folder])
def test_a_folder_that_may_not_go_takes_no_other_ones_place(
    new: Callable[..., str], theirs: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files were put into the old one since it was looked at, and a third writer has replaced ours."""
    path, check, looks = tmp_path / "x.parquet", writing._check_folder, list[Path]()
    folder(path, total=1)

    def late(each: Path) -> None:
        looks.append(each)
        if len(looks) == 2:
            (each / "thesis.txt").write_text("mine")
            theirs(path, overwrite=True, total=3)
        check(each)

    monkeypatch.setattr(writing, "_check_folder", late)
    with pytest.raises(BadOutput, match=r"x\.parquet: it is a folder, and not a release"):
        new(path, overwrite=True, total=2)

    assert ht.open(path).noisy_total == 3
    (aside,) = (each for each in tmp_path.iterdir() if each != path)
    assert aside.name.startswith("x.parquet.replaced-")
    assert (aside / "thesis.txt").read_text() == "mine"
    assert len(list(aside.iterdir())) == 5


def test_an_old_one_that_cannot_be_removed_is_swept_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"

    def fail(_: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for new in (folder, file):
        folder(path, overwrite=True)
        with monkeypatch.context() as patched:
            patched.setattr(exchanging, "remove", fail)
            new(path, overwrite=True, total=2)
        assert ht.open(path).noisy_total == 2
        assert len(list(tmp_path.iterdir())) == 2
        folder(path, overwrite=True)
        assert list(tmp_path.iterdir()) == [path]


def test_a_sweep_while_the_old_one_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, check = tmp_path / "x.parquet", writing._check_folder

    def swept(each: Path) -> None:
        partials.sweep(path)
        check(each)

    folder(path, total=1)
    monkeypatch.setattr(writing, "_check_folder", swept)
    folder(path, overwrite=True, total=2)

    assert ht.open(path).noisy_total == 2
    assert list(tmp_path.iterdir()) == [path]


def test_modes_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        folder(tmp_path / "x.parquet")
    finally:
        os.umask(before)

    assert (tmp_path / "x.parquet").stat().st_mode & 0o777 == 0o750
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "x.parquet").iterdir()} == {0o640}


def test_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("ü" * 120 + ".parquet")
    folder(path)
    folder(path, overwrite=True)
    monkeypatch.setattr(exchanging, "_exchanged", nothing_to_exchange)
    folder(path, overwrite=True)

    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("new", [file, folder])
@pytest.mark.parametrize("name", ["x.csv", "x.JSON", "x.arrow", "x.parquet.txt"])
def test_names_that_say_something_else(name: str, new: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(BadOutput, match=rf"{name}: a release is a Parquet file.*ends in \.parquet"):
        check_output(tmp_path / name, overwrite=True)
    with pytest.raises(BadOutput, match="a release is a Parquet file"):
        new(tmp_path / name, overwrite=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["absent/x.parquet", "n" * 300, "a\0b", "\ud800"])
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadOutput):
        folder(tmp_path / name)


def test_a_disk_without_room_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    folder(path, total=1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (10, 1000, 2500):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(BadOutput, match=r"cannot be written: .*File too large"):
                folder(path, overwrite=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(tmp_path.iterdir()) == [path]
    assert ht.open(path).noisy_total == 1


def test_parts_that_cannot_be_removed_are_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "x.parquet")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere

    with pytest.raises(BadOutput, match="its parts cannot be removed"):
        check_output(tmp_path / "x.parquet", overwrite=True)


def test_what_the_killed_left_is_swept_and_the_living_are_let_be(tmp_path: Path) -> None:
    path, left = tmp_path / "x.parquet", tmp_path / ".x.parquet.1-0.partial"
    folder(left)
    users_folder(tmp_path / ".x.parquet.1-1.partial")
    folder(tmp_path / ".y.parquet.1-0.partial")
    with new_folder(path, overwrite=False) as first:
        (first / "part-00000.parquet").write_text("first")
        folder(path)
        assert not left.exists()
        os.rename(path, tmp_path / "z.parquet")

    assert (path / "part-00000.parquet").read_text() == "first"
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".x.parquet.1-1.partial",
        ".y.parquet.1-0.partial",
        "x.parquet",
        "z.parquet",
    ]


def test_without_locks_nothing_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    folder(tmp_path / ".x.parquet.1-0.partial")
    folder(tmp_path / "x.parquet")

    assert (tmp_path / ".x.parquet.1-0.partial").exists()
    assert len(ht.open(tmp_path / "x.parquet")) == 4


@pytest.mark.parametrize("moment", ["opening", "locking"])
def test_a_sweep_between_making_and_locking(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, make, swept = partials._lock, os.mkdir, list[Path]()

    def swept_before_locking(handle: int, *, wait: bool) -> bool:
        if not swept:
            swept.extend(tmp_path.iterdir())
            swept[0].rmdir()
        return lock(handle, wait=wait)

    def swept_before_opening(path: Path, mode: int) -> None:
        make(path, mode)
        if not swept:
            swept.append(path)
            os.rmdir(path)

    if moment == "locking":
        monkeypatch.setattr(partials, "_lock", swept_before_locking)
    else:
        monkeypatch.setattr(os, "mkdir", swept_before_opening)
    folder(tmp_path / "x.parquet")

    assert swept
    assert len(ht.open(tmp_path / "x.parquet")) == 4
    assert [each.name for each in tmp_path.iterdir()] == ["x.parquet"]


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Let threads take turns a hundred times as often as they do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often_switching")
@pytest.mark.parametrize("overwrite", [False, True])
def test_threads_that_write_the_same_name(overwrite: bool, tmp_path: Path) -> None:
    for turn in range(statistics.runs(5)):
        path, start = tmp_path / f"{turn}.parquet", threading.Barrier(8)
        won, lost = list[int](), list[Exception]()
        if overwrite:
            folder(path)

        def run(place: int) -> None:
            start.wait()  # noqa: B023
            try:
                (folder if place % 2 else file)(path, total=place, overwrite=overwrite)  # noqa: B023
                won.append(place)  # noqa: B023
            except Exception as error:
                lost.append(error)  # noqa: B023

        threads = [threading.Thread(target=run, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(won) == (8 if overwrite else 1), lost
        assert all("of this name already" in str(error) for error in lost), lost
        assert ht.open(path).noisy_total in won
        assert len(ht.open(path).codes) == 4
        file(path, overwrite=True)  # sweeps what an overtaken writer could not remove
        assert list(tmp_path.iterdir()) == [path]
        path.unlink()


@pytest.mark.parametrize("now", [file, folder, None])
def test_a_folder_that_is_replaced_while_it_is_looked_at(
    now: Callable[..., str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looked = tmp_path / "x.parquet", list[Path]()
    folder(path, total=1)

    def late(each: Path) -> object:
        found = read_head(each)
        looked.append(each)
        if len(looked) == 1:
            os.rename(path, tmp_path / "moved")
            if now is not None:
                now(path)
        return found

    monkeypatch.setattr(writing, "read_head", late)
    folder(path, total=2, overwrite=True)

    assert ht.open(path).noisy_total == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["moved", "x.parquet"]


def test_no_name_of_what_is_unfinished_is_given_twice(tmp_path: Path) -> None:
    # A writer that removes late what a sweep took before would remove another's.
    names = set[Path]()
    for _ in range(10):
        handle, partial = partials.partial_folder(tmp_path / "x.parquet")
        os.close(handle)
        os.rmdir(partial)
        names.add(partial)

    assert len(names) == 10


FOREVER = """
import sys
from itertools import count
from pathlib import Path
from typing import Any
import numpy as np
from hushtable.methods.settings import FilterPriority
from hushtable.files import exchanging
from tests.release.examples import PEOPLE_DOMAIN, rows, terms, write
if sys.argv[2] == "two steps":
    exchanging._exchanged = lambda *_: False
made = terms(method=FilterPriority(cutoff=20, size=1_000_000))
codes = PEOPLE_DOMAIN.space.unpack(np.arange(2000, dtype=np.uint64)[None, :] * 1000)
print("ready", flush=True)
for turn in count():
    given = rows(made, codes, np.full(len(codes), turn))
    write(Path(sys.argv[1]), made, given, overwrite=True, rows_in_a_file=500 if turn % 4 else None)
    print(turn, flush=True)
"""


@pytest.mark.parametrize("way", ["exchange", "two steps"])
def test_killed_writers_leave_a_whole_release(way: str, tmp_path: Path) -> None:
    path, unfinished, kill = tmp_path / "x.parquet", 0, 0
    folder(path)
    while kill < statistics.runs(3) or not unfinished:
        assert kill < 100, "no kill came while a release was written: make it larger"
        process = subprocess.Popen(
            [sys.executable, "-c", FOREVER, str(path), way],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if kill % 3:
            time.sleep(0.02 + 0.013 * kill)
        else:  # the first one, while a release is written
            while not any(each.name.endswith(".partial") for each in tmp_path.iterdir()):
                assert process.poll() is None
        process.kill()
        process.communicate()
        kill += 1
        left = [each for each in tmp_path.iterdir() if each != path]
        unfinished += len(left)
        aside = next((each for each in left if ".replaced-" in each.name), None)
        found = path if os.path.lexists(path) else aside
        assert found is not None
        assert path.exists() or way == "two steps"
        counts = ht.open(found).counts
        assert len(counts) in (4, 2000)
        assert len(counts) == 4 or np.all(counts == counts[0])
        if aside is not None and found == aside:
            os.rename(aside, path)
    folder(path, overwrite=True)

    assert [each for each in tmp_path.iterdir() if ".replaced-" not in each.name] == [path]
