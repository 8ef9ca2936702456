"""A page holds the numbers of `release.by`, says what the release says, and lets nothing in or out."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.pages.encoding import as_json, whole
from hushtable.pages.making import page_of
from tests.cli.commands import run
from tests.pages.clinic import PAYLOADS, harmful


class Parsed(HTMLParser):
    """A page taken apart: elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = (tag, attributes, text + data)

    def json(self, identifier: str) -> Any:
        (found,) = (text for _, attributes, text in self.raw if attributes.get("id") == identifier)
        return json.loads(found)

    @property
    def policy(self) -> str:
        (found,) = (
            attributes["content"]
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        )
        return found or ""


@pytest.fixture(scope="module")
def page(folder: Path, release: ht.Release) -> Parsed:
    release.page(folder / "clinic.html")
    return Parsed((folder / "clinic.html").read_text(encoding="utf-8"))


def rows_of(page: Parsed, number: int) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """The groups of a view, each with its three numbers as they are stored."""
    facts, view = page.json("facts"), page.json(f"view-{number}")
    labels = [facts["items"][item]["labels"] for item in view["items"]]
    count = len(view["estimate"])
    codes = view.get("codes")
    if codes is None:
        codes, rest = [], list(range(count))
        for side in reversed(labels):
            codes.insert(0, [each % len(side) for each in rest])
            rest = [each // len(side) for each in rest]
    groups = [
        tuple(side[code] for side, code in zip(labels, each, strict=True))
        for each in zip(*codes, strict=True)
    ]
    return dict(zip(groups, zip(view["estimate"], view["low"], view["high"], strict=True), strict=True))


def test_every_number_is_that_of_by(page: Parsed, release: ht.Release) -> None:
    facts, compared = page.json("facts"), 0
    for number, about in enumerate(facts["views"]):
        names = [facts["items"][item]["name"] for item in about["items"]]
        answer = release.by(names)
        decimals = page.json(f"view-{number}")["decimals"]
        stored = list(rows_of(page, number).values())
        numbers = zip(*(answer.column(each).to_pylist() for each in ("estimate", "low", "high")), strict=True)
        expected = [
            tuple(round(float(f"{each:.{decimals}f}") * 10**decimals) for each in row) for row in numbers
        ]
        assert stored == expected, names
        assert about["note"] == answer.schema.metadata[b"note"].decode()
        assert about["groups"] == len(answer)
        compared += len(stored)
    assert compared > 5_000
    assert len(facts["views"]) > 12


def test_groups_are_named_as_the_domain_names_them(page: Parsed, release: ht.Release) -> None:
    facts = page.json("facts")
    named = {each["name"]: each for each in facts["items"]}

    assert named["reason"]["labels"][0] == "Cold and flu"
    assert named["month(day)"]["labels"][1] == "2025-02"
    assert named["month(day)"]["label"] == "day (month)"
    assert named["20(age)"]["label"] == "age (steps of 20)"
    assert named["20(age)"]["labels"] == ["0 to <20", "20 to <40", "40 to <60", "60 to <80", "80 to <100"]
    assert named["day"]["line"]
    assert not named["region"]["ordered"]


def test_groups_that_cannot_be_told_from_0_are_marked(page: Parsed, release: ht.Release) -> None:
    facts = page.json("facts")
    (number,) = (
        place
        for place, view in enumerate(facts["views"])
        if [facts["items"][item]["name"] for item in view["items"]] == ["region", "reason"]
    )
    answer = release.by(["region", "reason"])
    ends = zip(answer.column("low").to_pylist(), answer.column("high").to_pylist(), strict=True)

    assert page.json(f"view-{number}")["unclear"] == "".join("01"[low <= 0 <= high] for low, high in ends)


def test_words_are_those_of_the_release(page: Parsed, release: ht.Release) -> None:
    facts = page.json("facts")

    assert facts["guarantee"] == release.guarantee
    assert facts["title"] == release.domain.title
    assert facts["measured"] == "number of visits"
    assert facts["paid"] == "epsilon = 1"
    assert facts["total"]["value"] == f"{release.total().value:,.0f}"
    assert (facts["odds"]["out"], facts["odds"]["in"]) == (27, 73)
    assert "at most a factor of 2.72." in facts["odds"]["also"]
    assert [each["name"] for each in facts["dictionary"]] == list(release.domain.names)
    digest = hashlib.sha256(release.path.read_bytes()).hexdigest()
    assert digest in facts["cite"]
    assert "epsilon = 1" in facts["cite"]
    assert any("cutoff" in each for each in facts["cautions"])


def test_a_table_that_is_noise_is_left_out_and_listed(page: Parsed, release: ht.Release) -> None:
    noise = [each.label for each in release.noise.tables if each.is_noise]
    left_out = {each["table"]: each["why"] for each in page.json("facts")["leftOut"]}

    assert "day, region, age, reason" in noise
    for label in noise:
        assert left_out[label] == "it is no better than noise"


def test_the_policy_allows_our_script_and_style_alone(page: Parsed) -> None:
    (style,) = (text for tag, _, text in page.raw if tag == "style")
    (script,) = (text for tag, attributes, text in page.raw if tag == "script" and not attributes)
    hashes = [b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))

    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{hashes[0]}'",
        "style-src": f"'sha256-{hashes[1]}'",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_the_page_names_no_address(page: Parsed) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form action"), tag
        assert not {"src", "srcset", "action", "style", "background"} & attributes.keys(), (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#"), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    ours = [text for tag, attributes, text in page.raw if not attributes]
    addresses = re.findall(r"https?:[^\"'\s]*", " ".join(ours))
    assert addresses == ["http://www.w3.org/2000/svg"], "the name of SVG, which nothing loads"
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert word not in " ".join(ours)


def test_text_of_a_harmful_release_stays_text(folder: Path) -> None:
    release = harmful(folder)
    text = page_of(release, file=release.path)
    calm = page_of(clinic_like(folder), file=release.path)

    def elements(page: Parsed) -> list[str]:
        return [
            tag for tag, attributes in page.elements if not (attributes.get("id") or "").startswith("view-")
        ]

    parsed = Parsed(text)
    assert elements(parsed) == elements(Parsed(calm)), "it adds no element"
    assert "<script>window" not in text
    facts = parsed.json("facts")
    assert facts["title"].startswith(PAYLOADS[0])
    assert facts["paid"] == "epsilon = 8"
    named = {each["name"]: each for each in facts["items"]}
    assert named[PAYLOADS[0]]["labels"] == [f"{each} label" for each in PAYLOADS]


def clinic_like(folder: Path) -> ht.Release:
    return ht.open(folder / "clinic.parquet")


def test_json_cannot_leave_its_element() -> None:
    text = as_json({"</script>": ["<!--", "a&b", "\u2028", 1.5, None]})

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "a&b", "\u2028", 1.5, None]}


def test_text_that_turns_or_hides_other_text_is_shown_escaped(folder: Path, release: ht.Release) -> None:
    text = page_of(release, file=release.path, title="safe\u202eevil\u0000")

    assert Parsed(text).json("facts")["title"] == "safe\\u202eevil\\x00"


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (2.675, 2, 267),
        (0.5, 0, 0),
        (1.5, 0, 2),
        (-0.4, 0, 0),
        (-1234.56, 1, -12346),
        (float("-inf"), 0, None),
    ],
)
def test_numbers_are_rounded_as_python_writes_them(value: float, decimals: int, expected: int | None) -> None:
    assert whole(value, decimals) == expected


def test_of_many_groups_the_largest_are_kept_and_the_rest_is_told(folder: Path) -> None:
    wide = ht.Domain(home=ht.integers(0, 2_999), work=ht.integers(0, 2_999), title="Wide")
    rng = np.random.default_rng(5)
    rows = pa.table({"home": rng.integers(0, 300, 50_000), "work": rng.integers(0, 30, 50_000)})
    made = ht.publish(
        rows,
        domain=wide,
        epsilon=2,
        size=1_000,
        structure="cells",
        output=folder / "wide.parquet",
        ledger=False,
    )
    parsed = Parsed(page_of(made, file=made.path, groups=1_200))
    facts = parsed.json("facts")

    assert all(not view["complete"] for view in facts["views"])
    stored = [len(parsed.json(f"view-{number}")["estimate"]) for number in range(len(facts["views"]))]
    assert sum(stored) <= 1_200
    homes = next(
        place for place, view in enumerate(facts["views"]) if len(view["items"]) == 1 and view["items"] == [0]
    )
    largest = made.by("home", top=stored[homes])
    expected = sorted(round(each) for each in largest.column("estimate").to_pylist())
    decimals = parsed.json(f"view-{homes}")["decimals"]
    assert sorted(round(each / 10**decimals) for each in parsed.json(f"view-{homes}")["estimate"]) == expected
    assert facts["views"][homes]["groups"] == 3_000
    others, answer = parsed.json(f"view-{homes}")["others"], made.others("home", top=40)
    largest = [parsed.json(f"view-{homes}")["estimate"][each] for each in others["beside"]]
    assert largest == sorted(parsed.json(f"view-{homes}")["estimate"], reverse=True)[:40]
    expected = [whole(each, decimals) for each in (answer.value, answer.low, answer.high)]
    assert [others[each] for each in ("estimate", "low", "high")] == expected
    assert others["unclear"] == "01"[answer.low <= 0 <= answer.high]


def test_the_same_release_gives_the_same_page(release: ht.Release) -> None:
    again = ht.open(release.path)

    assert page_of(again, file=release.path) == page_of(release, file=release.path)


def test_only_a_page_of_ours_is_replaced(folder: Path, release: ht.Release) -> None:
    theirs = folder / "theirs.html"
    theirs.write_text("<!doctype html><title>Theirs</title>")
    release.page(folder / "ours.html")

    with pytest.raises(ht.OutputExists):
        release.page(folder / "ours.html")
    with pytest.raises(ht.BadOutput, match="not a page by hushtable"):
        release.page(theirs, overwrite=True)
    with pytest.raises(ht.BadOutput, match=r"ends in \.html"):
        release.page(folder / "clinic.pdf")
    release.page(folder / "ours.html", overwrite=True)
    assert theirs.read_text() == "<!doctype html><title>Theirs</title>"


def test_the_command_makes_the_same_page(folder: Path, release: ht.Release) -> None:
    said = run("page", release.path, "-o", folder / "command.html")

    assert said.exit_code == 0, said.output
    assert "command.html: a page of" in said.output
    assert (folder / "command.html").read_text(encoding="utf-8") == page_of(release, file=release.path)


def test_bins_that_hold_all_beyond_them_say_so(tmp_path: Path) -> None:
    ages = ht.bins(0, 100, step=25, levels=[50], outside="clamp")
    release = ht.publish(
        pa.table({"age": [1, 104] * 50, "pay": [20, 104] * 50}),
        domain=ht.Domain(age=ages, pay=ht.bins(edges=[0, 50, 99], outside="clamp")),
        epsilon=1,
        size=100,
        output=tmp_path / "ages.parquet",
        ledger=False,
    )
    release.page(tmp_path / "ages.html")
    facts = Parsed((tmp_path / "ages.html").read_text(encoding="utf-8")).json("facts")
    named = {item["name"]: item["labels"] for item in facts["items"]}

    assert named["age"] == ["below 25", "25 to <50", "50 to <75", "75 and more"]
    assert named["50(age)"] == ["below 50", "50 and more"]
    assert named["pay"] == ["below 50", "50 and more"]


def test_a_query_stands_in_the_dictionary_and_not_in_the_head(tmp_path: Path) -> None:
    query = "SELECT upper(home) AS home FROM data"
    release = ht.publish(
        pa.table({"home": ["a", "b"] * 50}),
        domain=ht.Domain(home=ht.categories(["A", "B"])),
        query=query,
        epsilon=1,
        size=10,
        output=tmp_path / "homes.parquet",
        ledger=False,
    )
    release.page(tmp_path / "homes.html")
    facts = Parsed((tmp_path / "homes.html").read_text(encoding="utf-8")).json("facts")

    assert facts["prepared"] == [f"The publisher first prepared the rows with a query: {query}"]
    assert not [said for said in facts["counted"] if query in said]
