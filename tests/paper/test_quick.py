"""The quick run: every figure, every claim with a verdict; and only public names of hushtable."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from paper import data
from paper.__main__ import EXPERIMENTS, main
from tests.harness.statistics import LONG

PAPER = Path(__file__).parents[2] / "paper"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        for name in () if LONG else ("comparison", "sketches"):
            # As few as have a standard error.
            patch.setattr(import_module(f"paper.experiments.{name}"), "_runs", lambda _: 2)
        assert main(["--quick", "--folder", str(found), "--processes", "1"]) == 0
    return found


@pytest.mark.long
def test_every_figure_is_there_as_picture_and_numbers(folder: Path) -> None:
    page = (folder / "README.md").read_text()
    figures = re.findall(r"!\[.*?\]\(figures/(.*?)\.png\)", page)
    assert len(figures) >= (14 if data.missing() is None else 10)
    for name in figures:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<text" in (folder / "figures" / f"{name}.svg").read_text()
        lines = (folder / "figures" / f"{name}.csv").read_text().splitlines()
        assert lines[0].endswith("quantity,queried size,mean,standard error,runs")
        assert len(lines) > 5


@pytest.mark.long
def test_every_claim_has_a_verdict(folder: Path) -> None:
    page = (folder / "README.md").read_text()
    first, rest = page.split("\n## ", 1)
    listed = re.findall(r"^\| (.*) \| \**(holds|holds in part|does not hold)\** \|$", first, re.MULTILINE)
    told = re.findall(
        r"^\| .* \*Rule: .*\| \**(?:holds|holds in part|does not hold)\** \|$", rest, re.MULTILINE
    )
    assert len(listed) == len(told) >= (60 if data.missing() is None else 40)
    assert "nan" not in page
    assert "inf " not in page


@pytest.mark.long
def test_all_experiments_are_in_the_page(folder: Path) -> None:
    page = (folder / "README.md").read_text()
    for name in EXPERIMENTS:
        assert f"## {import_module(f'paper.experiments.{name}').TITLE}" in page


@pytest.mark.long
def test_a_second_run_does_nothing_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--folder", str(folder), "parameters"]) == 0
    assert re.search(r"parameters: (\d+) of \1 cells of work, \1 kept from before", capsys.readouterr().err)


def test_without_real_data_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data, "SHARED", tmp_path / "nowhere")
    assert main(["--quick", "--folder", str(tmp_path), "densities"]) == 0
    assert "not part of the project" in capsys.readouterr().err
    assert "not part of the project" in next(tmp_path.rglob("README.md")).read_text()


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures"]) == 2
    assert "there are parameters, comparison" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(PAPER.rglob("*.py")), ids=lambda path: path.stem)
def test_only_public_names_are_used(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for name in node.names:
                assert not name.name.startswith(("hushtable.", "benchmarks", "tests"))
                assert name.name != "hushtable" or name.asname == "ht"
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in ("hushtable", "benchmarks", "tests")
