"""What a release looks like, as text and in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.domain import Domain
from hushtable.methods.settings import Everything
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from tests.release.examples import all_nodes, people, rows, terms, tree_terms, write


class Outline(HTMLParser):
    """Tags that are open, all tags that were seen, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.seen, self.text = list[str](), set[str](), ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(release: ht.Release) -> Outline:
    parsed = Outline()
    parsed.feed(release._repr_html_())
    parsed.close()
    assert parsed.open == []
    return parsed


def test_as_text(tmp_path: Path) -> None:
    made, given = people()
    write(tmp_path / "x.parquet", made, given)

    assert repr(ht.open(tmp_path / "x.parquet")) == (
        "Release 'People' (x.parquet)\n"
        f"  {made.guarantee}\n"
        "  rows:    4 of 639,636,480 cells\n"
        "  summary: FilterPriority, cutoff 20, threshold 123.5, size 1,000, chosen by rule auto-cutoff-1\n"
        "  total:   10,023, noisy, for epsilon = 0.002 of it\n"
        "  columns: region text, person.age int64, hours float64, income int64, day date, minute timestamp, "
        "count int64, weight float64"
    )


def test_many_columns_and_cells(tmp_path: Path) -> None:
    names = [f"a{place}" for place in range(40)]
    domain = Domain(attributes=tuple(Attribute(name=name, values=Integers(low=0, high=9)) for name in names))
    made = terms(
        domain,
        method=Everything(),
        rule=None,
        cutoff=None,
        threshold=None,
        total=None,
        total_budget=terms().budget * 0,
    )
    write(tmp_path / "x.parquet", made, rows(made, np.zeros((1, 40), dtype=np.int64), np.array([3])))
    text = repr(ht.open(tmp_path / "x.parquet"))

    assert text.startswith("Release x.parquet\n")
    assert "  rows:    1 of about 10^40.0 cells\n  summary: Everything\n  columns: a0 int64, " in text
    assert text.endswith(", a8 int64, 31 more, count int64, weight float64")


@pytest.mark.parametrize(
    ("structure", "nodes", "said"),
    [
        (Dyadic(), 44, "dyadic ranges over home, hour"),
        (Dyadic(consistent=True, order=["hour"]), 44, "consistent dyadic ranges over hour, home"),
        (Haar(), 21, "Haar wavelets over home, hour"),
        (ProductDyadic(order=["hour"]), 84, "boxes of dyadic ranges over hour, home"),
    ],
)
def test_a_tree_as_text(structure: Lifted, nodes: int, said: str, tmp_path: Path) -> None:
    made = tree_terms(structure, rule=None)
    write(tmp_path / "x.parquet", made, all_nodes(made))
    release = ht.open(tmp_path / "x.parquet")
    lines = repr(release).splitlines()

    assert lines[:2] == ["Release 'Trips' (x.parquet)", f"  {made.guarantee}"]
    assert lines[2:4] == [f"  rows:      {nodes} of {nodes} nodes", f"  structure: {said}"]
    assert lines[4].startswith("  summary:   Filter, cutoff 20")
    assert lines[5].startswith("  columns:   ")
    assert "home text, home_last text, " in lines[5]
    assert len(lines) == 6
    assert f"structure: {said}" in outline(release).text


def test_a_tree_of_many_attributes(tmp_path: Path) -> None:
    names = [f"a{place}" for place in range(40)]
    domain = Domain(attributes=tuple(Attribute(name=name, values=Integers(low=0, high=1)) for name in names))
    made = tree_terms(Dyadic(), domain)
    write(tmp_path / "x.parquet", made, rows(made, np.array([[0]]), np.array([20])))

    assert "  structure: dyadic ranges over a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, 29 more\n" in repr(
        ht.open(tmp_path / "x.parquet")
    )


def test_in_a_notebook(tmp_path: Path) -> None:
    made, given = people()
    write(tmp_path / "<b>&.parquet", made, given)
    release = ht.open(tmp_path / "<b>&.parquet")
    parsed = outline(release)

    assert parsed.seen == {"div", "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
    assert release._repr_html_().count("<b>") == 1
    assert "(<b>&.parquet)" in parsed.text
    assert made.guarantee in parsed.text
    assert "2024-01-01 23:45:00500500" in parsed.text
    assert "more rows" not in parsed.text


def test_a_notebook_shows_the_first_rows_only(tmp_path: Path) -> None:
    numbers = Domain(attributes=(Attribute(name="a", values=Integers(low=0, high=9999)),))
    made = terms(numbers, method=ht.FilterPriority(cutoff=20, size=2000))
    many = np.arange(2000)
    write(tmp_path / "x.parquet", made, rows(made, many.reshape(-1, 1), many))
    release = ht.open(tmp_path / "x.parquet")

    assert release._repr_html_().count("<tr>") == 11
    assert "and 1,990 more rows" in outline(release).text
