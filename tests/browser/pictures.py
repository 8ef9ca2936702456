"""Draws the pictures of a page that README and docs show: `make pictures`.

The release is of invented visits, and its noise is drawn anew, so that numbers differ each time.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser.chromium import launched
from tests.browser.reader import Reader
from tests.pages.clinic import clinic

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    """Publish, make the page, and take pictures of it."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as name, sync_playwright() as playwright:
        path = Path(name) / "clinic.html"
        clinic(Path(name)).page(path)
        browser = launched(playwright)
        with Reader(browser, path, width=1000, height=1100) as reader:
            reader.choose(first="reason", second="region")
            reader.page.hover(".heat td[data-at='22']")
            reader.page.wait_for_timeout(200)
            reader.page.screenshot(path=PICTURES / "page.png")
        with Reader(browser, path, width=390, height=844, dark=True) as reader:
            reader.choose(first="day (month)", where="reason", value="Cold and flu")
            reader.page.evaluate("document.querySelector('#look').scrollIntoView()")
            reader.page.wait_for_timeout(200)
            reader.page.screenshot(path=PICTURES / "page-phone.png")
        browser.close()


if __name__ == "__main__":
    main()
