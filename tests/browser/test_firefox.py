"""The page and the report in Firefox: shown, with the numbers of `release.by`, and without a complaint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable as ht
from tests.browser.firefox import NO_FIREFOX, Firefox, found
from tests.browser.reader import numbers_of
from tests.pages.clinic import PAYLOADS

ROWS = """
    const rows = [...document.querySelectorAll("#table tbody tr")];
    return rows.map((row) => [...row.cells].map((cell) => cell.textContent));
"""


@pytest.fixture(scope="module")
def firefox(folder: Path) -> Iterator[Firefox]:
    program = found()
    if program is None:
        assert os.environ.get("HUSHTABLE_FIREFOX") != "required", NO_FIREFOX
        pytest.skip(NO_FIREFOX)
    browser = Firefox(program, folder / "firefox")
    yield browser
    browser.close()


def test_the_page_works_in_firefox(firefox: Firefox, folder: Path, release: ht.Release) -> None:
    firefox.go(folder / "clinic.html")
    assert firefox.run("return document.title") == release.domain.title
    assert (
        firefox.run("return getComputedStyle(document.querySelector('.top')).backgroundColor")
        == "rgb(18, 64, 63)"
    )
    for name in ("region", "reason"):
        firefox.choose("#first", name)
        assert (
            firefox.run("return document.querySelector('#picture-title').textContent")
            == f"Number of visits by {name}"
        )
        assert sorted(row[1:4] for row in firefox.run(ROWS)) == sorted(numbers_of(release.by(name)))
    firefox.choose("#second", "region")
    assert firefox.run("return document.querySelectorAll('.heat tbody td').length") == 40
    firefox.type("#search", "heart")
    assert len(firefox.run(ROWS)) == 5
    assert firefox.run("return performance.getEntriesByType('resource').map(each => each.name)") == []
    assert firefox.complaints() == []


def test_a_harmful_release_is_text_in_firefox(firefox: Firefox, folder: Path, harm: ht.Release) -> None:
    firefox.go(folder / "harm.html")
    assert firefox.run("return document.querySelector('h1').textContent").startswith(PAYLOADS[0])
    assert firefox.run("return window.harmed === undefined")
    assert firefox.run("return document.querySelectorAll('img').length") == 0
    assert firefox.complaints() == []


def test_a_report_is_shown_in_firefox(firefox: Firefox, folder: Path, release: ht.Release) -> None:
    release.report(folder / "report.html", overwrite=True)
    firefox.go(folder / "report.html")
    assert firefox.run("return document.querySelectorAll('svg').length") == 3
    assert firefox.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert firefox.complaints() == []


def test_firefox_tells_of_a_broken_policy(firefox: Firefox, folder: Path) -> None:
    """Last in this file: what it provokes stays in the console."""
    text = (folder / "clinic.html").read_text()
    (folder / "broken.html").write_text(text.replace("</body>", "<script>window.harmed = 1</script></body>"))
    firefox.go(folder / "broken.html")
    assert firefox.run("return window.harmed === undefined")
    assert any("Content-Security-Policy" in each for each in firefox.complaints())
