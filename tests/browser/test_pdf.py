"""A report as PDF: printed by Chromium, and read back page by page."""

from __future__ import annotations

from pathlib import Path

import pytest

import hushtable as ht
from tests.pages.clinic import PAYLOADS


def pages_of(path: Path) -> list[str]:
    """Return the text of each page, with single spaces."""
    from pypdf import PdfReader

    return [" ".join(page.extract_text().split()) for page in PdfReader(path).pages]


def test_a_report_is_printed_whole(folder: Path, release: ht.Release) -> None:
    release.report(folder / "clinic.pdf")
    release.report(folder / "clinic.md")
    pages, total = pages_of(folder / "clinic.pdf"), release.total()
    text = " ".join(pages)

    assert 3 <= len(pages) <= 7
    assert all(len(page) > 80 for page in pages), "no page is empty"
    assert pages[0].startswith(release.domain.title)
    assert f"{total.value:,.0f} (95 % interval: {total.low:,.0f} to {total.high:,.0f})" in text
    assert release.guarantee in text
    headings = [
        line[3:] for line in (folder / "clinic.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert len(headings) > 8
    for heading in headings:
        assert heading in text
    assert "Released by" in pages[-1], "the place for names is on paper too"
    with pytest.raises(ht.OutputExists):
        release.report(folder / "clinic.pdf")


def test_a_harmful_release_is_printed_as_text(folder: Path, harm: ht.Release) -> None:
    from pypdf import PdfReader

    harm.report(folder / "harm.pdf")
    text = " ".join(pages_of(folder / "harm.pdf"))

    assert PAYLOADS[0] in text
    links = [
        each.get_object() for page in PdfReader(folder / "harm.pdf").pages for each in page.annotations or []
    ]
    assert links == [], "nothing on paper leads anywhere"
    assert b"/JavaScript" not in (folder / "harm.pdf").read_bytes()
