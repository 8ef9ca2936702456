"""Any question, typed into a page that is served."""

from __future__ import annotations

import re
from threading import Thread
from typing import TYPE_CHECKING

import hushtable as ht
from hushtable.pages.serving import PageServer
from tests.browser.reader import Reader, numbers_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_question_is_typed_and_answered(browser: Browser, release: ht.Release, axe: str) -> None:
    server = PageServer(release, file=release.path, token="00ff")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    reader = Reader(browser, server.address)
    reader.page.fill("#ask-by", "reason")
    reader.page.fill("#ask-where", "region IN ('South', 'West') AND age >= 40")
    reader.page.keyboard.press("Enter")
    reader.page.locator("#ask-said", has_text="Answered below.").wait_for()
    answer = release.by("reason", where="region IN ('South', 'West') AND age >= 40")
    assert sorted(row[1:4] for row in reader.rows()) == sorted(numbers_of(answer))
    assert reader.text("#picture-title").endswith("where region IN ('South', 'West') AND age >= 40")
    assert reader.violations(axe, within="#ask") == [], "the rest is as in the page that was looked at"

    reader.page.fill("#ask-by", "nothing like that")
    reader.page.click("#ask button")
    reader.page.locator("#ask-said", has_text=re.compile(r"^There is no attribute")).wait_for()
    reader.choose(first="region")
    assert reader.text("#picture-title") == "Number of visits by region"
    assert set(reader.asked) - {f"{server.address}../favicon.ico"} <= {
        server.address,
        f"{server.address}ask",
    } | {f"http://127.0.0.1:{server.server_port}/favicon.ico"}
    server.shutdown()
    thread.join()
    server.server_close()
