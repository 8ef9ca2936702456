"""A domain file reads only beside itself, and never the rows: whoever wrote it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain import origins
from hushtable.engines.local.checking import check_rows
from tests.harness.statistics import tries

SECRET = "canary-918273645"


def declared(file: str, more: str = "") -> str:
    return f'[[attribute]]\nname = "x"\ncategories = {{ file = {file!r}, column = "x"{more} }}\n'.replace(
        "'", '"'
    )


def make(folder: Path) -> None:
    """Make a private folder beside that of a domain, with ways from one to the other."""
    (folder / "priv" / "deep").mkdir(parents=True)
    (folder / "pub" / "lists").mkdir(parents=True)
    for place in ("priv/x.csv", "priv/deep/x.csv"):
        (folder / place).write_text(f"x,label\n{SECRET},{SECRET}\n")
    pq.write_table(pa.table({"x": [SECRET]}), folder / "priv" / "x.parquet")
    (folder / "pub" / "ok.csv").write_text("x\na\n")
    (folder / "pub" / "lists" / "ok.csv").write_text("x\na\n")
    (folder / "pub" / "to-file.csv").symlink_to("../priv/x.csv")
    (folder / "pub" / "to-folder").symlink_to("../priv")
    (folder / "pub" / "twice.csv").symlink_to("to-file.csv")
    (folder / "pub" / "loop.csv").symlink_to("loop.csv")
    (folder / "pub" / "inside.csv").symlink_to("lists/ok.csv")
    (folder / "publication").mkdir()
    (folder / "publication" / "x.csv").write_text(f"x\n{SECRET}\n")
    os.mkfifo(folder / "pub" / "pipe.csv")
    (folder / "linked").symlink_to("pub")


INSIDE = ["ok.csv", "./ok.csv", "lists/ok.csv", "lists/../ok.csv", "inside.csv", "../pub/ok.csv"]
STEPS = ["..", ".", "priv", "pub", "lists", "to-folder", "deep", "publication"]
NAMES = [
    "x.csv",
    "to-file.csv",
    "twice.csv",
    "loop.csv",
    "pipe.csv",
    "x.parquet",
    "ok.csv",
    "inside.csv",
    "",
    "x\0.csv",
]


@given(
    st.one_of(
        st.sampled_from(INSIDE),
        st.tuples(st.lists(st.sampled_from(STEPS), max_size=4), st.sampled_from(NAMES)).map(
            lambda t: "/".join([*t[0], t[1]])
        ),
        st.sampled_from(
            ["/dev/zero", "/dev/stdin", "/proc/self/environ", "/etc/passwd", "~/x.csv", "file:///etc/passwd"]
        ),
    ),
    st.sampled_from(["pub", "linked"]),
)
@settings(max_examples=tries(800))
def test_no_file_from_elsewhere_comes_into_a_domain(file: str, where: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        (folder / "pub" / "domain.toml").write_text(declared(file.replace("\0", "\\u0000")))
        said = ""
        try:
            domain = ht.Domain.load(folder / where / "domain.toml")
        except ht.BadDomain as error:
            said = str(error)
        assert SECRET not in said
        if said:
            assert file not in INSIDE
            return
        assert domain.attributes[0].values.values == ("a",)  # type: ignore[union-attr]
        assert all(Path(each.path).is_relative_to((folder / "pub").resolve()) for each in domain.origins)


@pytest.mark.parametrize(
    "file", ["../priv/x.csv", "../priv/absent.csv", "to-file.csv", "../publication/x.csv"]
)
def test_what_is_elsewhere_is_told_alike_whether_it_is_there_or_not(file: str, tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "pub" / "domain.toml").write_text(declared(file, ', label = "label"'))

    with pytest.raises(ht.BadDomain, match=f"the file '{file}' is not in the domain file's folder"):
        ht.Domain.load(tmp_path / "pub" / "domain.toml")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "pub" / "domain.toml").write_text(declared("pipe.csv"))

    with pytest.raises(ht.BadDomain, match="is a folder, a pipe or a device"):
        ht.Domain.load(tmp_path / "pub" / "domain.toml")


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "one line.csv.gz"])
def test_a_list_has_a_largest_size(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = tmp_path / f"c.{kind}", b"x\n" + b"a" * 100 + b"\n"
    if kind == "parquet":
        pq.write_table(pa.table({"x": ["a" * 100] * 3}), path)
    elif kind.startswith("one"):
        monkeypatch.setattr("hushtable.domain.category_files._LONGEST_LINE", 1000)
        path.write_bytes(gzip.compress(b"x\n" + b"a" * 100_000))
    else:
        path.write_bytes(gzip.compress(text * 100) if kind.endswith("gz") else text * 100)
    (tmp_path / "domain.toml").write_text(declared(path.name))
    if not kind.startswith("one"):
        monkeypatch.setattr(origins, "LARGEST_FILE", 2_000)
        monkeypatch.setattr("hushtable.domain.category_files.LARGEST_FILE", 290)

    with pytest.raises(ht.BadDomain, match=r"larger than 1 GiB|more than 16 million characters"):
        ht.Domain.load(tmp_path / "domain.toml")


def linked(path: Path, rows: Path) -> None:
    path.symlink_to(rows)


def hard_linked(path: Path, rows: Path) -> None:
    os.link(rows, path)


@pytest.mark.parametrize("data", ["rows.csv", "", "*.csv", "r?ws.csv", "./sub/../rows.csv", "**/*.csv", "**"])
@pytest.mark.parametrize("way", [linked, hard_linked])
def test_the_rows_are_no_list_of_categories(
    data: str, way: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    rows = tmp_path / "data" / "rows.csv"
    rows.write_text("x\na\nb\n")
    way(tmp_path / "list.csv", rows)  # both lie beside the domain file, or below
    (tmp_path / "domain.toml").write_text(declared("list.csv"))
    domain = ht.Domain.load(tmp_path / "domain.toml")
    source = str(tmp_path / "data" / data)
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    with pytest.raises(ht.BadDomain, match=r"'(list|rows)\.csv' is among the data that rows are read from"):
        ht.count(source, domain=domain)
    with pytest.raises(ht.BadDomain, match="is among the data"):
        check_rows(source, domain=domain)
    with pytest.raises(ht.BadDomain, match="is among the data"):
        ht.publish(
            source,
            domain=domain.at({}),
            epsilon=1,
            size=1,
            output=tmp_path / "out.parquet",
            ledger=ledger,
            anyway=True,
        )
    assert ledger.spent == 0
    assert not (tmp_path / "out.parquet").exists()


def test_a_list_within_a_folder_of_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "rows.csv").write_text("x\na\n")
    (tmp_path / "data" / "sub" / "list.csv").write_text("x\na\n")
    (tmp_path / "domain.toml").write_text(declared("data/sub/list.csv"))
    domain = ht.Domain.load(tmp_path / "domain.toml")

    with pytest.raises(ht.BadDomain, match="is among the data"):
        ht.count(tmp_path / "data", domain=domain)
    assert ht.count(tmp_path / "data" / "rows.csv", domain=domain).cells_total == 1


def test_rows_that_took_the_place_of_a_list_are_told(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("x\na\n")
    (tmp_path / "domain.toml").write_text(declared("list.csv"))
    domain = ht.Domain.load(tmp_path / "domain.toml")
    (tmp_path / "new.csv").write_text("x\na\n")
    os.replace(tmp_path / "new.csv", tmp_path / "list.csv")

    with pytest.raises(ht.BadDomain, match="is among the data"):
        ht.count(tmp_path / "list.csv", domain=domain)


def test_where_a_domain_was_read_from_is_published_nowhere(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("x\na\n")
    (tmp_path / "domain.toml").write_text(declared("list.csv"))
    domain = ht.Domain.load(tmp_path / "domain.toml")
    assert [Path(each.path).name for each in domain.origins] == ["domain.toml", "list.csv"]
    ht.publish(
        pa.table({"x": ["a"]}),
        domain=domain,
        epsilon=1,
        summary=ht.Everything(),
        output=tmp_path / "out.parquet",
    )

    assert ht.open(tmp_path / "out.parquet").domain == domain
    assert ht.open(tmp_path / "out.parquet").domain.origins == ()
    assert tmp_path.name.encode() not in (tmp_path / "out.parquet").read_bytes()
    assert tmp_path.name not in repr(domain)
