"""Writing: whole or not at all, never over another file, whoever else writes and whenever it is killed."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.errors import BadOutput
from hushtable.files import partials
from hushtable.files.placing import new_file
from tests.harness import statistics
from tests.release.examples import people, write

ROOT = Path(__file__).parents[2]


def test_a_file_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_text("mine")
    with pytest.raises(BadOutput, match=r"x\.parquet: there is a file of this name already\. .*overwrite"):
        write(path, *people())
    with pytest.raises(BadOutput, match=r"x\.parquet: what is there is not a release\. .*remove it yourself"):
        write(path, *people(), overwrite=True)
    assert path.read_text() == "mine"

    path.unlink()
    write(path, *people())
    write(path, *people(), overwrite=True)
    assert len(ht.open(path)) == 4
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_in_a_file_reaches_the_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut could leave the name, and half of a file under it."""
    path, done = tmp_path / "x.parquet", list[str]()

    def noted(name: str, said: str) -> None:
        own = getattr(os, name)

        def call(*arguments: Any) -> Any:
            done.append(said)
            return own(*arguments)

        monkeypatch.setattr(os, name, call)

    for name, said in (("fsync", "synced"), ("link", "named"), ("unlink", "removed")):
        noted(name, said)

    write(path, *people())

    assert done[:2] == ["synced", "named"]
    assert done[-1] == "synced"  # the folder, that the name may stay
    assert len(ht.open(path)) == 4


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"

    def late() -> None:
        with new_file(path, overwrite=False) as file:
            file.write(b"ours")
            path.write_text("theirs")

    with pytest.raises(BadOutput, match="already"):
        late()

    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.symlink_to(tmp_path / "elsewhere")
    for overwrite, message in ((False, "already"), (True, "it is a link")):
        with pytest.raises(BadOutput, match=message):
            write(path, *people(), overwrite=overwrite)

    assert path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_left_after_an_error(error: type[BaseException], overwrite: bool, tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_file(tmp_path / "x.parquet", overwrite=overwrite) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()

    assert list(tmp_path.iterdir()) == []


def test_the_mode_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "x.parquet", *people())
    finally:
        os.umask(before)

    assert (tmp_path / "x.parquet").stat().st_mode & 0o777 == 0o640


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120 + ".parquet")
    write(path, *people())

    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["absent/x.parquet", "n" * 300, "a\0b", "\ud800"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_names_that_cannot_be(name: str, overwrite: bool, tmp_path: Path) -> None:
    with pytest.raises(BadOutput):
        write(tmp_path / name, *people(), overwrite=overwrite)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_is_no_file(overwrite: bool, tmp_path: Path) -> None:
    with pytest.raises(BadOutput, match="it is a folder"):
        write(tmp_path, *people(), overwrite=overwrite)

    assert [path for path in tmp_path.parent.iterdir() if path.name.endswith(".partial")] == []


def test_a_disk_without_room_is_one_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (10, 1000, 2500):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with pytest.raises(BadOutput, match=r"cannot be written: .*File too large"):
                write(tmp_path / "x.parquet", *people())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere

    with pytest.raises(BadOutput, match="permissions"):
        write(tmp_path / "x.parquet", *people())


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "x.parquet"
    write(path, *people())
    assert len(ht.open(path)) == 4
    with pytest.raises(BadOutput, match="already"), new_file(tmp_path / "y", overwrite=False):
        (tmp_path / "y").write_text("theirs")
    assert (tmp_path / "y").read_text() == "theirs"

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "z", *people())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.parquet", "y"]


def test_what_the_killed_left_is_swept_and_the_living_are_let_be(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    (tmp_path / ".x.parquet.1-0.partial").write_text("left by a killed writer")
    (tmp_path / ".y.parquet.1-0.partial").write_text("of another file")
    (tmp_path / ".x.parquet.1-0.other").write_text("of another kind")
    with new_file(path, overwrite=False) as first:
        first.write(b"first")
        write(path, *people())
        assert len([each for each in tmp_path.iterdir() if each.name.startswith(".x.parquet.")]) == 2
        path.unlink()

    assert path.read_bytes() == b"first"
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".x.parquet.1-0.other",
        ".y.parquet.1-0.partial",
        "x.parquet",
    ]


def test_without_locks_nothing_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    left = tmp_path / ".x.parquet.1-0.partial"
    left.touch()
    write(tmp_path / "x.parquet", *people())

    assert left.exists()
    assert len(ht.open(tmp_path / "x.parquet")) == 4


def test_a_sweep_between_making_and_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, swept = partials._lock, list[Path]()

    def swept_first(handle: int, *, wait: bool) -> bool:
        if not swept:
            (partial,) = tmp_path.iterdir()
            partial.unlink()
            swept.append(partial)
        return lock(handle, wait=wait)

    monkeypatch.setattr(partials, "_lock", swept_first)
    write(tmp_path / "x.parquet", *people())

    assert len(ht.open(tmp_path / "x.parquet")) == 4


def test_threads_that_write_the_same_name(tmp_path: Path) -> None:
    path, start, won, lost = tmp_path / "x.parquet", threading.Barrier(8), list[str](), list[BadOutput]()

    def run(place: int) -> None:
        made, given = people(total=place)
        start.wait()
        try:
            won.append(write(path, made, given))
        except BadOutput as error:
            lost.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(won), len(lost)) == (1, 7)
    assert list(tmp_path.iterdir()) == [path]
    assert len(ht.open(path).codes) == 4


WRITER = """
import sys, time
from pathlib import Path
from hushtable.errors import BadOutput
from tests.release.examples import people, rows, terms, write
import pyarrow.parquet
folder, me = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for place in range(int(sys.argv[3])):
    try:
        write(folder / f"{place}.parquet", *people(version=me))
        print(place, flush=True)
    except BadOutput:
        pass
"""
FOREVER = """
import sys
from itertools import count
from pathlib import Path
import numpy as np
from hushtable.methods.settings import FilterPriority
from tests.release.examples import PEOPLE_DOMAIN, rows, terms, write
made = terms(method=FilterPriority(cutoff=20, size=1_000_000))
codes = PEOPLE_DOMAIN.space.unpack(np.arange(200_000, dtype=np.uint64)[None, :] * 1000)
print("ready", flush=True)
for turn in count():
    write(Path(sys.argv[1]), made, rows(made, codes, np.full(len(codes), turn)), overwrite=True)
    print(turn, flush=True)
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_processes_that_write_the_same_names(tmp_path: Path) -> None:
    names = 30
    processes = [started(WRITER, tmp_path, f"writer {number}", names) for number in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [process.communicate()[0].split() for process in processes]

    assert sorted(map(int, won[0] + won[1])) == list(range(names))
    for number in range(2):
        for place in won[number]:
            assert ht.open(tmp_path / f"{place}.parquet").terms.version == f"writer {number}"
    assert len(list(tmp_path.iterdir())) == names


def test_killed_writers_leave_a_whole_file_or_none(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    unfinished, kill = 0, 0
    while kill < statistics.runs(4) or not unfinished:
        assert kill < 100, "no kill came while a file was written: make the file larger"
        if kill % 2:
            path.unlink(missing_ok=True)
        process = started(FOREVER, path)
        time.sleep(0.013 * kill)
        process.kill()
        process.communicate()
        kill += 1
        unfinished += sum(each.name.endswith(".partial") for each in tmp_path.iterdir())
        if path.exists():
            counts = ht.open(path).counts
            assert len(counts) == 200_000
            assert np.all(counts == counts[0])
    write(path, *people(), overwrite=True)

    assert list(tmp_path.iterdir()) == [path]
