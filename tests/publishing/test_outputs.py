"""An output replaces a release of ours and nothing else, and is never where data, ledger or domain are."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.engines.local.files import files_of
from hushtable.files import exchanging, placing
from hushtable.publishing.thinning import thin
from hushtable.release.exporting import export_release
from tests.cli.commands import run
from tests.harness.statistics import tries

DOMAIN = """
[[attribute]]
name = "x"
categories = { file = "lists/letters.csv" }
"""
ROWS = pa.table({"x": ["a", "b", "b"]})
SETTINGS: dict[str, Any] = {"epsilon": 1, "summary": ht.Filter(cutoff=5), "total_share": 0}


def made(folder: Path) -> None:
    """Make everything that a publication reads, in all its kinds, and a release that may be replaced."""
    (folder / "lists").mkdir()
    (folder / "lists" / "letters.csv").write_text("x\na\nb\n")
    (folder / "domain.toml").write_text(DOMAIN)
    ht.Ledger.create(folder / "people.ledger", epsilon=10, about="people")
    for place in (
        "data/year=2023/one.parquet",
        "data/year=2024/two.parquet",
        "rows.parquet",
        "rows-2.parquet",
    ):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(ROWS, folder / place)
    (folder / "rows.csv").write_text("x\na\n")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS x").fetchall()
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        database.execute("CREATE TABLE t AS SELECT 'a' AS x")
        database.commit()
    # Rows that are a release themselves: of these, the footer does not tell that they are data.
    ht.publish(ROWS, domain=folder / "domain.toml", output=folder / "own.parquet", **SETTINGS)
    shutil.copy(folder / "own.parquet", folder / "free.parquet")


@cache
def template() -> Path:
    """Return a folder with all of that, made once."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    made(folder)
    return folder


def contents(folder: Path) -> dict[str, Any]:
    """Return every file under a folder, and every name: what is there, and which file it is."""
    return {
        str(each.relative_to(folder)): (os.lstat(each).st_ino, each.read_bytes() if each.is_file() else None)
        for each in folder.rglob("*")
        if not each.name.startswith(".spelled")
    }


DATA = [
    "rows.parquet", "data", "data/year=2023", "rows.csv", "rows.duckdb", "rows.db", "own.parquet",
    "rows*.parquet", "data/**/*.parquet", "data/**",
]  # fmt: skip
VICTIMS = [
    "rows.parquet", "rows-2.parquet", "rows.csv", "rows.duckdb", "rows.db", "own.parquet", "people.ledger",
    "domain.toml", "lists/letters.csv", "data/year=2023/one.parquet", "data/year=2024/two.parquet", "data",
    "data/year=2023", ".", "lists",
]  # fmt: skip
PLACES = [
    "data/new.parquet", "data/year=2023/new.parquet", "data/year=2024/new.parquet", "people.ledger-journal",
    "people.ledger-wal", "people.ledger-JOURNAL", "rows.db-journal", "rows.duckdb.wal", "rows-new.parquet",
]  # fmt: skip


def plain(folder: Path, path: Path) -> Path:
    return path


def dotted(folder: Path, path: Path) -> Path:
    return folder / "lists" / ".." / path.relative_to(folder)


def relative(folder: Path, path: Path) -> Path:
    return Path(os.path.relpath(path))


def by_a_link(folder: Path, path: Path) -> Path:
    (folder / ".spelled").symlink_to(path)
    return folder / ".spelled"


def by_a_linked_folder(folder: Path, path: Path) -> Path:
    (folder / ".spelled").symlink_to(path.parent)
    return folder / ".spelled" / path.name


def by_a_hard_link(folder: Path, path: Path) -> Path:
    if path.is_file():
        os.link(path, folder / ".spelled.parquet")
        return folder / ".spelled.parquet"
    return path


SPELLINGS = [plain, dotted, relative, by_a_link, by_a_linked_folder, by_a_hard_link]


@given(st.sampled_from(DATA), st.sampled_from(VICTIMS + PLACES), st.sampled_from(SPELLINGS), st.booleans())
@settings(max_examples=tries(240))
def test_nothing_of_the_owner_s_is_written(
    data: str, place: str, spelled: Callable[[Path, Path], Path], overwrite: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name).resolve() / "copy"
        shutil.copytree(template(), folder)
        before = contents(folder)
        ledger = ht.Ledger.open(folder / "people.ledger")
        output = spelled(folder, folder / place)

        read = files_of(str(folder / data))
        try:
            ht.publish(
                str(folder / data),
                domain=folder / "domain.toml",
                output=output,
                ledger=ledger,
                overwrite=overwrite,
                **SETTINGS,
            )
        except ht.BadOutput:
            assert ledger.spent == 0
            assert contents(folder) == before
            assert place in VICTIMS + PLACES[:-1] or data == "rows*.parquet" or spelled is by_a_link
            return
        # Only a release that is no input now was replaced, and the next time the same files are read.
        assert place in PLACES or (place == "own.parquet" and overwrite)
        assert place not in read
        assert files_of(str(folder / data)) == read
        after = contents(folder)
        changed = {name for name in before if before[name] != after[name]}
        assert changed - {"people.ledger"} <= {place} & {"own.parquet"}
        assert ht.open(output).epsilon == 1


def test_a_release_is_replaced(tmp_path: Path) -> None:
    made(tmp_path)
    before = (tmp_path / "free.parquet").stat().st_ino
    ht.publish(
        tmp_path / "rows.parquet",
        domain=tmp_path / "domain.toml",
        output=tmp_path / "free.parquet",
        overwrite=True,
        **SETTINGS,
    )
    assert (tmp_path / "free.parquet").stat().st_ino != before
    assert not list(tmp_path.glob("*.replaced-*"))


def test_files_of_an_arrow_dataset_are_known(tmp_path: Path) -> None:
    made(tmp_path)
    rows = pyarrow.dataset.dataset(tmp_path / "own.parquet")
    with pytest.raises(ht.BadOutput, match="it is data that rows are read from"):
        ht.publish(
            rows, domain=tmp_path / "domain.toml", output=tmp_path / "own.parquet", overwrite=True, **SETTINGS
        )


def test_what_takes_the_place_after_the_check_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    output, exchange_for = tmp_path / "free.parquet", exchanging.exchange_for

    def late(*given: Any) -> None:
        output.unlink()
        os.link(tmp_path / "own.parquet", output)  # which is a release, and the data
        exchange_for(*given)

    monkeypatch.setattr(placing, "exchange_for", late)
    with pytest.raises(ht.BadOutput, match=r"free\.parquet: it is data that rows are read from"):
        ht.publish(
            tmp_path / "own.parquet",
            domain=tmp_path / "domain.toml",
            output=output,
            overwrite=True,
            **SETTINGS,
        )
    assert os.path.samefile(output, tmp_path / "own.parquet")


COMMANDS = [
    ["thin", "free.parquet", "--size", "1"],
    ["export", "free.parquet"],
    ["query", "free.parquet"],
    ["sql", "free.parquet", "SELECT x FROM release"],
    ["plot", "free.parquet", "--by", "x"],
    ["domain", "draft", "rows.csv"],
    ["domain", "draft", "data"],
    ["plan", "domain.toml", "--epsilon", "1", "--size", "2", "--expect-cells", "2", "--expect-mean", "9",
     "--sweep"],
    ["publish", "rows.parquet", "--domain", "domain.toml", "--epsilon", "1", "--size", "1", "--anyway",
     "--ledger", "people.ledger"],
]  # fmt: skip
THEIRS = [
    "rows.parquet", "rows.csv", "rows.db", "people.ledger", "people.ledger-journal", "domain.toml",
    "lists/letters.csv", "theirs.svg", "theirs.png", "theirs.pdf", "theirs.json", "theirs.jsonl",
    "weighted.csv", "weighted.jsonl", "theirs.arrow", "theirs.csv", "quoted.csv",
    "theirs.toml", "data", "empty.csv", "parts/new.csv",
    "parts/new.svg", "parts/new.parquet", "parts/new.toml",
]  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    made(folder)
    for kind in ("svg", "png", "pdf", "json", "jsonl", "arrow", "toml"):
        (folder / f"theirs.{kind}").write_text('{"x": 1}\n{"x": 2}\n')
    (folder / "theirs.csv").write_text("x,count,weight\na,1,1\n")
    (folder / "quoted.csv").write_text('"x"\n"a"\n')
    (folder / "weighted.csv").write_text('"person","count","weight"\n"a",1,1\n')
    (folder / "weighted.jsonl").write_text('{"person": "a", "count": 1, "weight": 1}\n{}\n')
    (folder / "empty.csv").write_text("")
    (folder / "parts").mkdir()
    shutil.copy(folder / "free.parquet", folder / "parts" / "part-00000.parquet")
    return folder


# Of each kind one for each command; all of them in `make test-long`.
FEW = [
    ["rows.parquet"], ["theirs.csv", "people.ledger", "weighted.csv", "weighted.jsonl"],
    ["quoted.csv"], ["quoted.csv"], ["theirs.svg"],
    ["domain.toml"], ["data/draft.toml"], ["theirs.png"], ["rows.parquet", "people.ledger-journal"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "places"),
    [
        *zip(COMMANDS, FEW, strict=True),
        *(pytest.param(command, THEIRS, marks=pytest.mark.long) for command in COMMANDS),
    ],
)
def test_no_command_replaces_what_it_did_not_write(
    command: list[str], places: Sequence[str], full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(full)
    before = contents(full)
    for place in places:
        done = run(*command, "-o", place, "--overwrite")
        assert done.exit_code in (2, 3), (place, done.output)
        assert contents(full) == before, place


def test_thinning_and_exports_stay_out_of_a_release_in_parts(full: Path) -> None:
    release = ht.open(full / "free.parquet")
    for write in (
        lambda: thin(release, size=1, output=full / "parts" / "new.parquet"),
        lambda: export_release(release, full / "parts" / "new.csv"),
        lambda: release.plot("x", output=full / "parts" / "new.svg"),
    ):
        with pytest.raises(ht.BadOutput, match="does not open with another file in it"):
            write()
