"""A report says what the release and its ledger say, and nothing of them is markup."""

import hashlib
import re
import shutil
from base64 import b64encode
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from markdown_it import MarkdownIt

import hushtable as ht
from hushtable.pages.document import DrawnGroups
from hushtable.pages.drawn import bars_or_line
from hushtable.pages.making import page_of
from hushtable.pages.views import answered, named_items
from tests.cli.commands import run
from tests.pages.clinic import LABELS, PAYLOADS, harmful

EVERY_TAG = frozenset(
    each
    for line in (
        "html head meta title style body main header section h1 h2 h3 p dl div dt dd table caption thead",
        "tbody tr th td figure figcaption svg line rect text polygon polyline",
    )
    for each in line.split()
)


class Parsed(HTMLParser):
    """The elements of a report with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip() and not self.cdata_elem:
            self.words.append(data)


def written(release: ht.Release, path: Path, **options: Any) -> str:
    release.report(path, overwrite=True, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def paid(folder: Path) -> tuple[ht.Release, Path]:
    """A release that a ledger paid for, between two others; its plan is recorded."""
    ledger = ht.Ledger.create(folder / "a.ledger", epsilon=2, about="drivers | 2025", unit="row")
    ledger.charge("1/4", what="an earlier release", unit="row")
    rows = pa.table({"zone": np.repeat(np.arange(300), 40)})
    made = ht.publish(
        rows,
        domain=ht.Domain(zone=ht.integers(0, 99_999), title="Drivers"),
        epsilon=1,
        plan=ht.plan(
            ht.Domain(zone=ht.integers(0, 99_999), title="Drivers"),
            epsilon=1, size=400, expect_cells=300, expect_mean=40, expect_sd=5,
        ),
        ledger=ledger,
        output=folder / "drivers.parquet",
    )  # fmt: skip
    ledger.charge("1/8", what="a later release", unit="row")
    return made, folder / "a.ledger"


def test_a_report_says_what_the_release_says(release: ht.Release, tmp_path: Path) -> None:
    parsed = Parsed(written(release, tmp_path / "a.html"))
    words = " ".join(parsed.words)
    total = release.total()

    assert release.domain.title in words
    assert release.guarantee in words
    assert hashlib.sha256(release.path.read_bytes()).hexdigest() in words
    assert f"{total.value:,.0f} (95 % interval: {total.low:,.0f} to {total.high:,.0f})" in words
    for marginal in release.terms.nodes.marginals:
        label = marginal.label.replace("month(day)", "day (month)").replace("20(age)", "age (steps of 20)")
        assert label in parsed.words
    assert release.noise.warnings[0] in words
    assert f"3 in each of the {len(release.terms.parts)} tables" in words  # rows that count of a person
    assert "Public version" in words
    assert "ledger was charged" in words
    assert [tag for tag, _ in parsed.elements].count("svg") == 3
    for name in ("Data owner", "Data protection", "Statistics", "Released by"):
        assert name in parsed.words


def test_nothing_counts_values_that_nobody_lists(tmp_path: Path) -> None:
    made = ht.publish(
        pa.table({"word": ["news"] * 300 + ["maps"] * 200}),
        domain=ht.Domain(word=ht.any_text(longest=9)),
        epsilon=1, delta="1e-6", size=9, ledger=False, output=tmp_path / "words.parquet",
    )  # fmt: skip
    text = written(made, tmp_path / "a.md")

    assert "The number of possible combinations is not limited." in text
    assert "combinations in all" not in text
    assert "What epsilon = 1 and delta = 1e-6 means: suppose" in text
    assert "in occupied cells alone, in each" not in text


def test_margins_are_those_of_by_and_noise_is_that_of_the_terms(release: ht.Release, tmp_path: Path) -> None:
    text = written(release, tmp_path / "a.md")
    (row,) = (line for line in text.splitlines() if line.startswith("| region, reason |"))
    _, groups, how, planned, found, clear, verdict = (each.strip() for each in row.strip("|").split("|"))
    answer = release.by(["region", "reason"])
    low, high = (np.array(answer.column(each)) for each in ("low", "high"))
    (number,) = (
        place for place, each in enumerate(release.terms.nodes.marginals) if each.label == "region, reason"
    )
    law = release.terms.part(number).law
    reach = float(planned.removeprefix("± ").replace(",", ""))

    assert (groups, how) == ("40", "whole")
    assert float(found.removeprefix("± ").replace(",", "")) == round(float(np.median((high - low) / 2)))
    assert clear == f"{int(((low > 0) | (high < 0)).sum())} of 40"
    beyond = [2 * float(law.floats.tail(np.array([at]))[0]) for at in (reach - 2, reach + 2)]
    assert beyond[1] < 0.05 < beyond[0]
    assert verdict == "as planned, or better"


def test_the_owners_version_has_the_entry_that_paid(paid: tuple[ht.Release, Path], tmp_path: Path) -> None:
    made, ledger = paid
    text = written(made, tmp_path / "a.md", ledger=ledger)

    assert "Owner's version" in text
    assert "entry 2." in text
    assert r"drivers \| 2025" in text
    (row,) = (line for line in text.splitlines() if "← this file" in line)
    assert row.startswith("| 2 ← this file |")
    assert "| epsilon 1 |" in row
    for other in ("an earlier release", "a later release"):
        assert other in text
        assert other not in written(made, tmp_path / "b.md"), "the public version knows no ledger"
    assert ht.Ledger.open(ledger).balance.split(".")[0] in text


def test_a_recorded_plan_is_told_beside_what_came_of_it(
    paid: tuple[ht.Release, Path], tmp_path: Path
) -> None:
    made, _ = paid
    text = written(made, tmp_path / "a.md")

    assert made.terms.plan is not None
    assert made.terms.plan.assumed in text
    assert "**Planned for**: 400 rows" in text
    planned = re.search(r"\*\*Rows, planned\*\*: about (\d+), of which (\d+) of groups", text)
    found = re.search(r"\*\*Rows, published\*\*: (\d+), of which about (\d+) of groups", text)
    assert planned
    assert found
    for one, two in zip(planned.groups(), found.groups(), strict=True):
        assert int(two) == pytest.approx(int(one), abs=60)
    assert 200 < int(planned[2]) <= 300


def test_a_ledger_that_does_not_know_the_file_is_refused(
    paid: tuple[ht.Release, Path], release: ht.Release, tmp_path: Path
) -> None:
    made, ledger = paid

    with pytest.raises(ht.BadLedger, match=r"no entry has the digest of clinic\.parquet"):
        release.report(tmp_path / "a.html", ledger=ledger)
    said = run("report", release.path, "-o", tmp_path / "a.html", "--ledger", ledger)
    assert said.exit_code == 3
    for change, match in (
        ({"unit": "patient"}, "each patient"),
        ({"guarantee": "epsilon=1/2"}, "another cost"),
    ):
        account: Any = ht.Ledger.open(ledger)
        changed = [
            SimpleNamespace(
                **{
                    name: getattr(each, name)
                    for name in ("number", "when", "cost", "state", "what", "digest")
                },
                **({"unit": each.unit, "guarantee": each.guarantee} | change),
            )
            for each in account.entries()
        ]
        fake: Any = SimpleNamespace(path=account.path, entries=lambda changed=changed: changed)
        from hushtable.publishing.reporting import booked_in

        with pytest.raises(ht.BadLedger, match=match):
            booked_in(fake, made)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("end", ["html", "md"])
def test_text_of_a_harmful_release_stays_text(tmp_path: Path, end: str) -> None:
    text = written(harmful(tmp_path), tmp_path / f"harm.{end}")
    if end == "md":
        text = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text.split("\n", 1)[1])
        assert "http://harm.example" not in re.sub(r"<[^>]*>", "", text).replace(
            "http://harm.example", "", 0
        ) or ("<a " not in text)
    parsed = Parsed(text)
    allowed = EVERY_TAG if end == "html" else {*EVERY_TAG, "ul", "li", "strong", "blockquote"}

    assert {tag for tag, _ in parsed.elements} <= allowed
    for tag, attributes in parsed.elements:
        assert not {"href", "src", "style", "srcset", "action"} & attributes.keys(), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert any(PAYLOADS[0] in unescape(each) for each in parsed.words)
    assert "Including or leaving out any one row changes" in " ".join(parsed.words)


def test_the_policy_allows_one_style_and_no_script(release: ht.Release, tmp_path: Path) -> None:
    text = written(release, tmp_path / "a.html")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)

    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("others", "bar", "said"),
    [
        ((9_000.0, 8_000.0, 9_500.0), 1, "All others together: 9,000 (8,000 to 9,500). This interval holds"),
        (
            (9e5, 8e5, 1e6),
            1,
            "All others together (their bar is cut off): 900,000 (800,000 to 1,000,000). This",
        ),
        ((-5.0, 0.0, 90.0), 0, "All others together: 0 to 90. This interval holds whichever"),
    ],
)
def test_what_is_not_drawn_is_one_bar_with_its_number(
    release: ht.Release, others: tuple[float, float, float], bar: int, said: str
) -> None:
    view = answered(release, named_items(release.domain, ["reason"]), most=50, confidence=0.95)
    drawn = DrawnGroups.of(replace(view, bars=3, others=others), title="Visits", level="95 %")
    svg = "\n".join(drawn.to_html())

    assert svg.count('class="rest"') == svg.count("all others together</text>") == bar
    assert svg.count("<rect") == 8 + bar
    assert said in drawn.caption
    ends = [float(each) for each in re.findall(r'x2="([\d.]+)"', svg)]
    assert max(ends) <= 720 - 90


def test_bars_have_the_ends_of_their_intervals(release: ht.Release) -> None:
    view = answered(release, named_items(release.domain, ["reason"]), most=50, confidence=0.95)
    drawn = bars_or_line(view)
    svg = "\n".join(drawn.to_svg("title", str))
    bars = [
        tuple(map(float, each))
        for each in re.findall(r'<rect class="\w+" x="([\d.]+)" y="\S+" width="([\d.]+)"', svg)
    ]
    ranges = [
        tuple(map(float, each))
        for each in re.findall(r'<line class="range" x1="([\d.]+)" x2="([\d.]+)"', svg)
    ]
    (zero,) = map(float, re.findall(r'<line class="zero" x1="([\d.]+)"', svg))
    answer = {row["reason"]: row for row in release.by("reason").to_pylist()}
    largest = max(row["high"] for row in answer.values())
    scale = (max(high for _, high in ranges) - zero) / largest

    assert len(drawn.labels) == len(bars) == len(ranges) == 8
    by_label = dict(zip(LABELS, answer.values(), strict=True))
    for label, (start, wide), (low, high) in zip(drawn.labels, bars, ranges, strict=True):
        row = by_label[label]
        middle = start + wide if row["estimate"] >= 0 else start
        assert middle == pytest.approx(zero + row["estimate"] * scale, abs=0.2)
        assert low == pytest.approx(zero + row["low"] * scale, abs=0.2)
        assert high == pytest.approx(zero + row["high"] * scale, abs=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {"structure": ht.Tree(), "size": 40},
        {"structure": ht.Haar(), "size": 40},
        {"structure": ht.CountSketch(width=64)},
        {"rho": "0.1", "size": 40},
        {"epsilon": 1, "delta": "1e-9", "structure": "cells", "law": "truncated-geometric", "size": 40},
    ],
    ids=["tree", "haar", "sketch", "gaussian", "no rows"],
)
def test_every_kind_of_release_has_a_report(tmp_path: Path, options: dict[str, Any]) -> None:
    domain = ht.Domain(day=ht.times("2025-01-01", "2025-04-11", every="1 day"), title="Days")
    rows = pa.table({"day": np.datetime64("2025-01-01") + np.arange(100)})
    cost = {} if "rho" in options else {"epsilon": 1}
    made = ht.publish(
        rows, domain=domain, output=tmp_path / "a.parquet", ledger=False, anyway=True, **(cost | options)
    )
    text = written(made, tmp_path / "a.md")

    assert made.terms.cost.said in text
    assert "## Sign-off" in text
    shown = page_of(made, file=made.path)
    assert ("This file has no rows" in shown) == (len(made) == 0)
    assert ("This file has no rows" in text) == (len(made) == 0)


def test_a_report_of_a_release_in_parts_is_that_of_one(parts: ht.Release, tmp_path: Path) -> None:
    text = written(parts, tmp_path / "a.md")
    digests = "".join(
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
        for each in sorted(parts.path.iterdir())
    )

    assert hashlib.sha256(digests.encode()).hexdigest() in text
    assert "trips" in text
    for name in ("home", "hour"):
        answer = parts.by(name)
        (line,) = (each for each in text.splitlines() if each.startswith(f"| {name} |") and "±" in each)
        assert f"| {len(answer)} |" in line


def test_the_same_release_gives_the_same_report(release: ht.Release, tmp_path: Path) -> None:
    again = ht.open(release.path)

    assert written(release, tmp_path / "a.html") == written(again, tmp_path / "b.html")


def test_only_a_report_of_ours_is_replaced(release: ht.Release, tmp_path: Path) -> None:
    for name, theirs in (("a.html", "<!doctype html>"), ("a.md", "# Mine"), ("a.pdf", "%PDF-1.4\n%%EOF\n")):
        (tmp_path / name).write_text(theirs)
        with pytest.raises((ht.BadOutput, ht.MissingBrowser)):
            release.report(tmp_path / name, overwrite=True)
        assert (tmp_path / name).read_text() == theirs
    with pytest.raises(ht.BadOutput, match=r"\.html, \.md or \.pdf"):
        release.report(tmp_path / "a.docx")


def test_without_chromium_a_pdf_says_what_to_do(
    release: ht.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("HUSHTABLE_CHROMIUM", raising=False)
    said = run("report", release.path, "-o", tmp_path / "a.pdf")

    assert said.exit_code == 1
    assert "apt-get install chromium" in said.output
    assert not (tmp_path / "a.pdf").exists()
    monkeypatch.setenv("HUSHTABLE_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ht.MissingBrowser, match="/nowhere/chromium"):
        release.report(tmp_path / "a.pdf")


def test_a_browser_that_prints_nothing_is_an_error(
    release: ht.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUSHTABLE_CHROMIUM", "true")

    with pytest.raises(ht.MissingBrowser, match="printed nothing"):
        release.report(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()
