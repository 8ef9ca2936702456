"""Tests in a real browser: Chromium, driven by playwright; axe-core looks at what a screen reader gets.

They are collected where playwright is absent too, so it is imported inside of fixtures. A test that is
skipped is an error: whoever runs them has all that they need. Only Firefox may be missing, which is said at
the end of the run, unless HUSHTABLE_FIREFOX=required.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Generator, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

import hushtable as ht
from tests.browser.chromium import launched
from tests.browser.firefox import NO_FIREFOX
from tests.pages.clinic import clinic, harmful

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# From the npm registry, for tests alone. The digest makes it the file that was looked at.
AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.0.tgz"
AXE_SHA512 = (
    "f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b82603"
    "5d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971"
)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if any(NO_FIREFOX in str(report.longrepr) for report in terminalreporter.getreports("skipped")):
        terminalreporter.write_line(f"*** The tests in Firefox were SKIPPED. {NO_FIREFOX}")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.browser)


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and NO_FIREFOX not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"A test in a browser must not be skipped, but this one was: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """The script of axe-core; it is kept in pytest's cache folder."""
    cached = request.config.cache.mkdir("axe-core") / f"{AXE_SHA512[:16]}.tgz"
    packed = cached.read_bytes() if cached.exists() else b""
    if hashlib.sha512(packed).hexdigest() != AXE_SHA512:
        with urlopen(AXE, timeout=60) as answer:
            packed = answer.read()
        assert hashlib.sha512(packed).hexdigest() == AXE_SHA512, "axe-core is not the file that was looked at"
        cached.write_bytes(packed)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="session")
def release(folder: Path) -> ht.Release:
    made = clinic(folder)
    made.page(folder / "clinic.html")
    return made


@pytest.fixture(scope="session")
def harm(folder: Path) -> ht.Release:
    made = harmful(folder)
    made.page(folder / "harm.html")
    return made
