"""Files that hold rows are private, removed at the end, and swept after a kill."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.engines.sliced.rows import own_connection
from hushtable.engines.sliced.runs import KeyRows, Store
from hushtable.engines.sliced.spills import spill_folder
from tests.harness.cases import chosen
from tests.harness.statistics import LONG


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep these tests from the machine's own temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    tempfile.tempdir = None


def left_behind(folder: Path) -> list[Path]:
    """Return all files and folders below our own folder for temporary files."""
    return list((folder / f"hushtable-{os.getuid()}").rglob("*"))


def test_a_spill_folder_is_private_and_removed(tmp_path: Path) -> None:
    with spill_folder() as folder:
        (folder / "rows").write_bytes(b"private")
        assert folder.is_relative_to(tmp_path)
        for path in (folder, folder.parent):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        inside = folder
    assert not inside.exists()
    assert left_behind(tmp_path) == []


def test_a_spill_folder_is_removed_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with spill_folder() as folder:
            (folder / "rows").write_bytes(b"private")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert left_behind(tmp_path) == []


def test_folders_in_use_are_left_alone(tmp_path: Path) -> None:
    with spill_folder() as first, spill_folder() as second:
        assert first != second
        (first / "rows").write_bytes(b"private")
        with spill_folder():
            pass
        assert (first / "rows").exists()
    assert left_behind(tmp_path) == []


def test_what_others_left_while_they_worked_for_us_is_removed(tmp_path: Path) -> None:
    with spill_folder() as folder:
        left = folder.with_name("spill-left")
        left.mkdir()
        left.with_suffix(".lock").touch()  # nobody holds it
    assert left_behind(tmp_path) == []


def test_a_folder_that_came_back_after_its_lock_is_removed(tmp_path: Path) -> None:
    with spill_folder() as folder:
        pass
    (folder / "candidates").mkdir(parents=True)  # by a worker that had not heard of the end
    with spill_folder():
        assert not folder.exists()
    assert left_behind(tmp_path) == []


def test_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / f"hushtable-{os.getuid()}"
    parent.mkdir(mode=0o755)
    with pytest.raises(ht.BadData, match="open to other users"), spill_folder():
        pass


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"hushtable-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ht.BadData, match="open to other users"), spill_folder():
        pass


def test_a_sweep_that_takes_a_new_lock_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the making of a lock and its locking, another process may sweep it away."""
    real = fcntl.flock
    taken: list[bool] = []

    def swept_once(file: int, how: int) -> None:
        if not taken:
            taken.append(True)
            for path in (tmp_path / f"hushtable-{os.getuid()}").glob("*.lock"):
                path.unlink()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", swept_once)
    with spill_folder() as folder:
        assert folder.with_suffix(".lock").exists()
    assert taken
    assert left_behind(tmp_path) == []


KILLED = """
import os, signal, sys
import hushtable as ht
from hushtable.engines.sliced import runs
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.counting import CountRequest
from hushtable.noise import KeyStream

unit = ht.Unit("person", max_rows=2) if sys.argv[2] == "unit" else None
attributes = tuple(Attribute(name=name, values=Integers(low=0, high=999_999)) for name in ("x", "y"))
request = CountRequest(
    domain=ht.Domain(attributes=attributes), measure=Measure(unit=unit), memory="256MiB", entropy=KeyStream()
)
with counted_rows(sys.argv[1], request) as counted:
    print("counted", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four million rows of people."""
    generator = np.random.default_rng(1)
    rows = 4_000_000
    table = pa.table(
        {name: generator.integers(0, 10**6, rows).astype(np.int32) for name in ("x", "y", "person")}
    )
    path = tmp_path_factory.mktemp("many") / "rows.parquet"
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", chosen(["rows", "unit"], [1]))
def test_nothing_remains_of_a_process_that_was_killed(kind: str, many_rows: Path, tmp_path: Path) -> None:
    for wait in (0.4, 1.0, None) if LONG else (1.0, None):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(many_rows), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        if wait is None:
            assert process.stdout.readline() == "counted\n"
        else:
            time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdin.close()
        process.stdout.close()

    with spill_folder() as folder:  # the next start
        assert {path.name for path in left_behind(tmp_path)} == {folder.name, f"{folder.name}.lock"}
    assert left_behind(tmp_path) == []


def test_rows_beyond_memory_have_no_name(tmp_path: Path) -> None:
    """So nothing is left of them, however the process ends."""
    store = Store(tmp_path, words=1, rows_in_memory=0)
    rows = KeyRows(np.arange(5, dtype=np.uint64)[np.newaxis], np.arange(5))

    run = store.kept(rows)

    assert store.spilled
    assert list(tmp_path.iterdir()) == []
    assert run.rows(1, 4).keys.tolist() == [[1, 2, 3]]
    amounts = run.rows(1, 4).amounts
    assert amounts is not None
    assert amounts.tolist() == [1, 2, 3]


def test_a_connection_that_is_at_work_is_stopped_and_closed(tmp_path: Path) -> None:
    """As after Ctrl-C that came before anybody waited for a query: Ctrl-C is told, and nothing else."""
    endless = "SELECT sum(range % 7) FROM range(1_000_000_000_000)"

    def stopped_at_work(pool: ThreadPoolExecutor) -> None:
        with own_connection(memory=1 << 28, threads=1) as (engine, _):
            queries.append(pool.submit(engine.execute, endless))
            time.sleep(0.2)
            raise KeyboardInterrupt

    queries: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            stopped_at_work(pool)
        assert "nterrupt" in str(queries[0].exception()).lower()
    assert left_behind(tmp_path) == []
