"""A person at a page: chooses, points, types and reads. What the browser asks for is noted."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import pyarrow as pa

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MINUS = "\N{MINUS SIGN}"


class Window:
    """A window of a browser, which notes what is asked for and what is complained of."""

    def __init__(self, browser: Browser) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.context = browser.new_context(reduced_motion="reduce", accept_downloads=True)
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page = self.context.new_page()
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))


class Reader:
    """One page, opened anew in the window that all tests share, since windows take long to open."""

    _windows: ClassVar[WeakKeyDictionary[Browser, Window]] = WeakKeyDictionary()

    def __init__(
        self, browser: Browser, path: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> None:
        window = self._windows.get(browser) or self._windows.setdefault(browser, Window(browser))
        self.context, self.page = window.context, window.page
        self.asked, self.complaints = window.asked, window.complaints
        self.asked.clear()
        self.complaints.clear()
        self.look(width=width, height=height, dark=dark)
        self.page.mouse.move(0, 0)
        self.address = path.absolute().as_uri() if isinstance(path, Path) else path
        self.page.goto(self.address)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            downloads = [each for each in self.asked if not each.startswith("blob:")]
            assert downloads == [self.address], "a page asks for nothing but itself"
            assert self.complaints == []

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Look at the page on such a screen."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="screen", color_scheme="dark" if dark else "light")

    def choose(self, **choices: str) -> None:
        """Choose by what people read, in the order given."""
        for control, text in choices.items():
            self.page.select_option(f"#{control}", label=text)

    def options(self, control: str) -> list[str]:
        """What a control offers."""
        found: list[str] = self.page.eval_on_selector_all(
            f"#{control} option", "all => all.map(each => each.textContent)"
        )
        return found

    def text(self, selector: str) -> str:
        """What people read there."""
        return str(self.page.inner_text(selector)).strip()

    def rows(self, *, more: bool = True) -> list[list[str]]:
        """The rows of the table, all of them unless told otherwise."""
        while more and self.page.is_visible("#more"):
            self.page.click("#more")
        found: list[list[str]] = self.page.eval_on_selector_all(
            "#table tbody tr", "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return found

    def download(self) -> list[list[str]]:
        """The rows of the CSV file that the button gives, its heading among them."""
        with self.page.expect_download() as waiting:
            self.page.click("#csv")
        path = waiting.value.path()
        return list(csv.reader(StringIO(Path(path).read_text(encoding="utf-8"))))

    def violations(self, axe: str, *, rules: list[str] | None = None, within: str = "html") -> list[str]:
        """What axe-core finds, as text, by all of its rules or by some.

        It is run by the debugger, as the page's policy allows no script.
        """
        if not self.page.evaluate("'axe' in window"):
            session = self.context.new_cdp_session(self.page)
            session.send("Runtime.evaluate", {"expression": axe})
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules is not None:
            options["runOnly"] = rules
        found: Any = self.page.evaluate("([within, options]) => axe.run(within, options)", [within, options])
        return [
            f"{each['id']}: {each['help']} at {[node['target'] for node in each['nodes']][:3]}"
            for each in found["violations"]
        ]


def written(value: float, decimals: int = 0) -> str:
    """A number as the page writes it."""
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def numbers_of(answer: pa.Table) -> list[list[str]]:
    """Estimates and ends of intervals of an answer, in its order, as the page writes them: whole."""
    columns = [answer.column(each).to_pylist() for each in ("estimate", "low", "high")]
    return [[written(each) for each in row] for row in zip(*columns, strict=True)]
