"""What notebooks show: tables of public things, in which no text is taken for markup."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht

EVIL = "<script>alert('x')</script>"
DOMAIN = ht.Domain(
    {
        EVIL: ht.categories({"n<b>": "north", "s": EVIL}, column="h&m", outside={"other": "<i>"}),
        "age": ht.bins(0, 60, step=10, levels=[20]),
    },
    title=EVIL,
)


@pytest.fixture
def release(tmp_path: Path) -> ht.Release:
    rows = pa.table({"h&m": ["n<b>", "s", "n<b>"] * 200, "age": list(range(60)) * 10})
    return ht.publish(rows, domain=DOMAIN, epsilon=5, size=12, output=tmp_path / "made.parquet")


def shown(thing: object) -> str:
    html: str = thing._repr_html_()  # type: ignore[attr-defined]
    assert "<script>" not in html
    assert "<i>" not in html
    return html


def test_a_domain() -> None:
    html = shown(DOMAIN)

    assert "<td>6 bins of 10 from 0 to 60; level 20: 3</td><td>6</td><td>dropped</td>" in html
    assert "&lt;script&gt;" in html
    assert "(column h&amp;m)" in html
    assert "cells: 18" in html


def test_a_release_and_its_answers(release: ht.Release) -> None:
    assert "<td>n&lt;b&gt;</td>" in shown(release)
    answer = release.total(age=10)
    assert "95 % interval" in shown(answer)
    assert shown(ht.Estimate(value=1.0, standard_error=0, low=1, high=1, confidence=0.9, note=EVIL))


def test_a_plan() -> None:
    domain = ht.Domain(age=ht.integers(0, 99_999), title=EVIL)
    plan = ht.plan(domain, epsilon=1, size=100, expect_cells=1000, expect_mean=50, expect_sd=10)

    assert shown(plan).startswith("<pre>")
