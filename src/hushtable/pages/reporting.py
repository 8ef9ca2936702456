"""A report as a file: HTML, Markdown or, by way of a Chromium on this machine, PDF.

Promise: the file appears whole or not at all, and only a report of ours is replaced. Chromium prints the HTML
report, which holds no script and loads nothing, from a private folder and with a profile of its own that are
gone afterwards; it is given no network.
Cost: a PDF takes a start of Chromium, some seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from hushtable.errors import BadOutput, MissingBrowser
from hushtable.files.placing import check_output, new_file, only
from hushtable.files.recognising import REPORT_MARK, is_report
from hushtable.pages.document import Document

_PROGRAMS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 180
ENDINGS = (".html", ".htm", ".md", ".pdf")


def kind_of(path: str | PathLike[str]) -> str:
    """Return the kind of report that a name asks for, or raise before anything is worked out for it."""
    kind = Path(path).suffix.lower()
    if kind not in ENDINGS:
        hint = "Give it a name that ends in .html, .md or .pdf."
        raise BadOutput("its name does not end in a known format", hint, file=str(path))
    if kind == ".pdf":
        browser()
    return kind


def check_place(path: str | PathLike[str], *, overwrite: bool) -> None:
    """Raise where a report could not be put."""
    check_output(
        Path(path), overwrite=overwrite, check=only(is_report(kind_of(path)), "a report by hushtable")
    )


def write_report(report: Document, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a report as its name asks."""
    kind = kind_of(path)
    if kind == ".pdf":
        made = printed(report.to_html()) + f"%{REPORT_MARK}\n".encode()
    else:
        made = (report.to_markdown() if kind == ".md" else report.to_html()).encode()
    check = only(is_report(kind), "a report by hushtable")
    with new_file(Path(path), overwrite=overwrite, check=check) as file:
        file.write(made)


def browser() -> str:
    """Return the Chromium of this machine, or the one that HUSHTABLE_CHROMIUM names."""
    named = os.environ.get("HUSHTABLE_CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        raise MissingBrowser(f"HUSHTABLE_CHROMIUM names {named}, which does not start" if named else "")
    return found


def printed(page: str) -> bytes:
    """Return an HTML report as PDF."""
    program = browser()
    with TemporaryDirectory(prefix="hushtable-report-") as name:
        folder = Path(name)
        (folder / "report.html").write_text(page, encoding="utf-8")
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--disable-extensions",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--no-pdf-header-footer",
            "--proxy-server=127.0.0.1:1",  # whatever it asks for by itself goes nowhere
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={folder / 'report.pdf'}",
            # As root, as in a container, Chromium starts without its sandbox only.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            (folder / "report.html").as_uri(),
        ]
        try:
            subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
            )
            made = (folder / "report.pdf").read_bytes()
        except (OSError, subprocess.TimeoutExpired):
            made = b""
    if not made.startswith(b"%PDF-"):
        raise MissingBrowser(f"{program} printed nothing")
    return made
