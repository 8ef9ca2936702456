"""Every example's page is true: its commands run as shown, and so are its domains and releases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import hushtable as ht
from tests.harness.cases import chosen

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/README.md"))

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
DOMAIN = re.compile(r"^- `(\S+\.toml)`: (.+), m = ([\d,]+) cells$", flags=re.MULTILINE)
ATTRIBUTE = re.compile(r"(\w+) \(([\d,]+)\)")
RELEASE = re.compile(
    r"^- `(\S+\.parquet)`: about ([\d,]+) rows; their weights hold about (\d+) % of the noisy total\.$",
    flags=re.MULTILINE,
)

# Releases are drawn anew in each run. Eight standard errors and more lie within these, so the chance that a
# right page fails is below 1e-9.
ROWS_WITHIN = 0.15
SHARE_WITHIN = 0.03


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and the folder in which its commands run."""

    text: str
    folder: Path


def number(text: str) -> int:
    return int(text.replace(",", ""))


def sent(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a page, with the output that is shown below it."""
    fences = FENCE.findall(text)
    for (language, command), (below, shown) in zip(fences, [*fences[1:], ("", "")], strict=True):
        if language == "sh":
            yield command, shown if below == "text" else "..."


@pytest.fixture(scope="module", params=chosen(EXAMPLES, [EXAMPLES.index("flights")]))
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A copy of an example whose commands have run."""
    folder = tmp_path_factory.mktemp("example") / request.param
    made = shutil.ignore_patterns("*.parquet", "*.csv", "__pycache__")
    shutil.copytree(ROOT / "examples" / request.param, folder, ignore=made)
    text = (folder / "README.md").read_text(encoding="utf-8")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, shown in sent(text):
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{command}ends with {done.returncode}:\n{done.stderr}"
        pattern = ".*".join(re.escape(part) for part in shown.split("..."))
        assert re.fullmatch(pattern, done.stdout + done.stderr), (
            f"{command}prints:\n{done.stdout}{done.stderr}"
        )
    return Page(text, folder)


def test_the_domains_are_those_of_the_page(page: Page) -> None:
    described = DOMAIN.findall(page.text)
    assert sorted(name for name, _, _ in described) == sorted(
        path.name for path in page.folder.glob("*.toml")
    )

    for name, product, cells in described:
        domain = ht.Domain.load(page.folder / name)
        stated = [(attribute, number(size)) for attribute, size in ATTRIBUTE.findall(product)]

        assert stated == list(zip(domain.names, domain.shape, strict=True))
        assert number(cells) == domain.cells_total


def test_the_releases_are_those_of_the_page(page: Page) -> None:
    described = RELEASE.findall(page.text)
    assert sorted(name for name, _, _ in described) == sorted(
        path.name for path in page.folder.glob("*.parquet")
    )

    for name, rows, percent in described:
        release = ht.open(page.folder / name)
        weights = release.to_arrow()["weight"].to_numpy()
        assert release.terms.total is not None

        assert len(release) == pytest.approx(number(rows), rel=ROWS_WITHIN)
        assert weights.sum() / release.terms.total == pytest.approx(int(percent) / 100, abs=SHARE_WITHIN)


def test_the_index_names_every_example() -> None:
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| \[([\w-]+)\]\(\1/README\.md\)", index, flags=re.MULTILINE) != []
    assert set(re.findall(r"^\| \[([\w-]+)\]\(\1/README\.md\)", index, flags=re.MULTILINE)) == set(EXAMPLES)
    for name in EXAMPLES:
        text = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
        line = next(line for line in index.splitlines() if line.startswith(f"| [{name}]"))
        assert all(cells in line for _, _, cells in DOMAIN.findall(text))
