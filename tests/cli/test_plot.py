"""`hushtable plot`: a release becomes a picture in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hushtable.plots import fonts
from tests.cli.commands import run
from tests.release.examples import people, write


@pytest.fixture(autouse=True)
def release(folder: Path) -> Path:
    """Put a release into the folder."""
    write(folder / "people.parquet", *people())
    return folder / "people.parquet"


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["--by", "region", "-o", "a.svg"], b"<?xml"),
        (["--by", "region", "--where", "income = 100", "--confidence", "0.9", "-o", "a.pdf"], b"%PDF"),
        (["--by", "region,hours", "--title", "Mine", "-o", "a.png"], b"\x89PNG"),
        (["--by", "person.age", "--by", "region", "--top", "3", "-o", "a.png"], b"\x89PNG"),
    ],
)
def test_a_picture_is_written(folder: Path, options: list[str], start: bytes) -> None:
    done = run("plot", "people.parquet", *options)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{options[-1]}: a picture by ")
    assert (folder / options[-1]).read_bytes().startswith(start)


def test_a_file_is_replaced_only_if_asked(folder: Path) -> None:
    (folder / "a.svg").write_text("mine")

    refused = run("plot", "people.parquet", "--by", "region", "-o", "a.svg")
    assert refused.exit_code == 6
    assert "there is a file of this name already" in refused.stderr
    assert (folder / "a.svg").read_text() == "mine"
    assert run("plot", "people.parquet", "--by", "region", "-o", "a.svg", "--overwrite").exit_code == 3
    assert (folder / "a.svg").read_text() == "mine"  # no picture of ours

    (folder / "a.svg").unlink()
    for _ in range(2):
        assert run("plot", "people.parquet", "--by", "region", "-o", "a.svg", "--overwrite").exit_code == 0
    assert (folder / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "region,hours,income", "-o", "a.png"], "one or two attributes, not of 3"),
        (["--by", "regoin", "-o", "a.png"], "there is no attribute 'regoin'"),
        (["--by", "region", "-o", "a.jpg"], ".png, .svg, .pdf"),
        (["--by", "region", "--confidence", "95", "-o", "a.png"], "must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(folder: Path, options: list[str], message: str) -> None:
    done = run("plot", "people.parquet", *options)

    assert done.exit_code == (3 if options[-1] == "a.jpg" else 2)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert not (folder / options[-1]).exists()


def test_missing_letters_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_other_fonts", lambda: ())
    done = run("plot", "people.parquet", "--by", "region", "--title", "東京", "-o", "a.svg")

    assert done.exit_code == 0
    assert done.stderr.startswith("note: no font of this machine has these letters of this picture: 京 東.")


def test_it_draws_and_help_has_an_example(folder: Path) -> None:
    done = run("plot", "people.parquet", "--by", "region", "-o", "a.png")

    assert (done.exit_code, done.stdout, done.stderr) == (0, "a.png: a picture by region.\n", "")
    shown = run("plot", "--help", width=80)
    assert "  hushtable plot commute.parquet --by home" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 81
