"""Releases of values that nobody can list: what is refused, what is in the file, what it costs in delta."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.counting import CountedRows, CountRequest
from hushtable.laws.thresholds import TruncatedGeometric
from hushtable.noise import Replay
from hushtable.release.footer import entries_of
from hushtable.summaries import candidates
from hushtable.summaries.finishing import finish
from tests.laws.test_curves import published as seen
from tests.laws.test_curves import truncated
from tests.release.forging import rewritten

WORDS = ht.Domain(word=ht.any_text(longest=20), day=ht.integers(0, 2))
COMMON = ["flu", "", "cold", "Flu", "Zürich", "日本"]
SURE = 1 - 1e-10
APPROXIMATE: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def searches(common: int = 200, rare: int = 0, mark: str = "rare") -> pa.Table:
    """Searches: each common word so often on each day, and many words once."""
    texts = [word for word in COMMON for _ in range(common)] * 3 + [f"{mark} {n}" for n in range(rare)]
    days = [day for day in range(3) for _ in range(common * len(COMMON))] + [1] * rare
    return pa.table({"word": texts, "day": days, "person": range(len(texts))})


def publish(folder: Path, rows: Any = None, domain: ht.Domain = WORDS, **words: Any) -> ht.Release:
    said: dict[str, Any] = (
        {"ledger": False, "overwrite": True, "output": folder / "words.parquet"} | APPROXIMATE | words
    )
    return ht.publish(searches(rare=50) if rows is None else rows, domain=domain, **said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"delta": None}, "any text, and noise of the law 'geometric' is also drawn for values that no row"),
        ({"law": "geometric"}, "Give `epsilon` and `delta`, and no `law`"),
        ({"law": "gaussian"}, "noise of the law 'gaussian'"),
        ({"epsilon": None, "delta": None, "rho": "0.1"}, "noise of the law 'gaussian'"),
        ({"structure": "haar"}, "a table of cells alone"),
        ({"structure": ht.Tables("word", "day")}, "or declare categories for 'word'"),
        ({"ask": ["word"], "size": 10}, "`ask` asks for more"),
        ({"total_share": "1/50"}, "`total_share` asks for more"),
        ({"summary": ht.Priority(size=10), "size": None}, "goes with filter"),
        ({"sum_column": "day", "clamp": (0, 2)}, "by 1 each"),
        ({"sum_column": "day", "clamp": (0, 1)}, "is for counts"),
        ({"unit": ht.Unit("person", max_rows=2)}, "by 1 each"),
        ({"unit": ht.Unit("person", max_cells=101)}, "up to 100 cells"),
    ],
    ids=str,
)
def test_what_needs_a_list_of_values_is_refused(words: dict[str, Any], said: str, tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "all.ledger", epsilon=10, delta="0.1", about="everybody")
    with pytest.raises(ht.BadChoice, match=said):
        publish(tmp_path, ledger=ledger, **words)
    assert ledger.entries() == []
    with pytest.raises(ht.BadChoice, match="cannot be numbered"):
        ht.count(searches(), domain=WORDS)


@pytest.mark.parametrize(
    ("cells", "law", "cutoff"), [(1, "truncated-geometric", 15), (10, "gaussian-stability", 71)]
)
@pytest.mark.parametrize("size", [None, 10])
def test_the_law_is_the_one_with_the_lowest_cutoff(
    cells: int, law: str, cutoff: int, size: int | None, tmp_path: Path
) -> None:
    release = publish(tmp_path, unit=ht.Unit("person", max_cells=cells), law="auto", size=size)

    assert (release.terms.law_name, release.cutoff) == (law, cutoff)
    assert len(release) == (size or 18)
    assert ht.open(tmp_path / "words.parquet").terms == release.terms


def test_a_file_holds_what_is_published_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without noise, files of rows that differ in unpublished values are equal to the last byte."""
    monkeypatch.setattr(candidates, "noisy", lambda counts, law, entropy: counts.copy())
    caplog.set_level("DEBUG")
    rare = [searches(rare=rare, mark=mark) for rare, mark in ((0, ""), (3, "\0first"), (2000, "zz Jane Roe"))]
    files = []
    for table in rare:
        release = publish(tmp_path, table.take(np.random.default_rng(1).permutation(len(table))))
        files.append((tmp_path / "words.parquet").read_bytes())
        assert "Jane" not in repr(release) + caplog.text

    assert files[0] == files[1] == files[2]
    column = pq.read_metadata(tmp_path / "words.parquet").row_group(0).column(0)
    assert (column.statistics.min, column.statistics.max) == ("", "日本")
    assert not column.has_dictionary_page
    said = json.loads(pq.read_metadata(tmp_path / "words.parquet").metadata[b"hushtable"])
    assert said["format"] == 7
    assert said["domain"]["attribute"][0] == {"name": "word", "any_text": {"longest": 20}}
    assert "Flu" not in json.dumps(said)
    rows = release.to_arrow().to_pylist()
    assert [(row["word"], row["day"]) for row in rows] == list(product(sorted(COMMON), range(3)))


def test_answers_are_honest_about_values_that_are_not_shown(tmp_path: Path) -> None:
    release = publish(tmp_path)
    known, day = (release.total({"word": "flu", **day}, confidence=SURE) for day in ({}, {"day": 1}))
    none, cell, two = (
        release.total(word="gout"),
        release.at(word="gout", day=1),
        release.total(word=["gout", "mumps"]),
    )

    assert known.low <= 600 <= known.high
    assert day.low <= 200 <= day.high
    assert (none.value, none.low) == (cell.value, cell.low) == (0, 0)
    assert 15 <= cell.high <= none.high / 2 < two.high / 3 < 40
    everything, others = release.total(), release.total("word <> 'flu'")
    assert everything.high == others.high == np.inf
    assert "to no limit" in str(everything)
    assert 3400 <= everything.low <= 3650
    assert others.low == pytest.approx(everything.low - 600, abs=100)
    groups = release.by("word").to_pylist()
    assert [row["word"] for row in groups] == sorted(COMMON)
    asked = release.by("word", where="word IN ('gout', 'flu') AND day = 1").to_pylist()
    assert [(row["word"], row["estimate"] > 0) for row in asked] == [("flu", True), ("gout", False)]
    assert release.by(["day", "word"], top=2).num_rows == 2
    assert [row["low"] > 1000 for row in release.by("day").to_pylist()] == [True] * 3
    for question in ("word LIKE 'f%'", "word < 'g'", "length(word) = 3", f"word = '{'x' * 21}'", "word = 3"):
        with pytest.raises(ht.BadQuery):
            release.total(question)
    assert release.sql("SELECT sum(weight) > 500 AS much FROM release WHERE word LIKE 'f%'").to_pylist() == [
        {"much": True}
    ]


def test_everything_a_recipient_does(tmp_path: Path) -> None:
    release = publish(tmp_path)

    release.export(tmp_path / "words.csv")
    assert (tmp_path / "words.csv").read_text(encoding="utf-8").count("Zürich") == 3
    release.page(tmp_path / "words.html")
    assert "Zürich" in (tmp_path / "words.html").read_text(encoding="utf-8")
    thin = release.thin(size=2, output=tmp_path / "thin.parquet")
    assert len(ht.open(tmp_path / "thin.parquet")) == len(thin) == 2
    assert "cells; how many there are is not limited" in repr(release)
    again = ht.Recipe.from_release(release, data=searches(), output=tmp_path / "again.parquet")
    assert ht.publish(again.replace(ledger=False)).domain == release.domain == WORDS
    assert ht.Domain.from_dict(WORDS.to_dict()) == WORDS


def test_texts_of_strangers_are_those_that_their_domain_allows(tmp_path: Path) -> None:
    release = publish(tmp_path)
    table, entries = release.to_arrow(), entries_of(release.terms)
    assert ht.open(rewritten(tmp_path / "same.parquet", table, entries)).to_arrow().equals(table)
    for texts in ([*table["word"].to_pylist()[:-1], "x" * 21], table["word"].to_pylist()[::-1]):
        odd = table.set_column(0, table.schema.field(0), pa.array(texts, pa.string()))
        with pytest.raises(ht.BadRelease):
            assert len(ht.open(rewritten(tmp_path / "odd.parquet", odd, entries)).codes)


# Delta, by brute force, through counting, drawing and naming.


def outputs(
    rows: list[str], law: TruncatedGeometric, cutoff: int, patch: Callable[[Any], None]
) -> Counter[Any]:
    """The law of what is published: every noise of every cell, through the product's own path."""
    noise = truncated(law)
    found: Counter[Any] = Counter()
    domain = ht.Domain(word=ht.any_text(longest=9))
    request = CountRequest(domain=domain, measure=Measure(), entropy=Replay(1))
    with counted_rows(pa.table({"word": pa.array(rows, pa.string())}), request) as counted:
        assert isinstance(counted, CountedRows)
        cells = counted.table().counts.size
        for drawn in product(range(-law.largest, law.largest + 1), repeat=cells):
            patch(lambda counts, law, entropy, drawn=drawn: counts + np.array(drawn, dtype=np.int64))
            task = candidates.draw_candidates
            rules = [ht.Filter(cutoff=cutoff, two_sided=False).rule]
            parts = [task(part, [0], Replay(2), rules=rules, law=law) for part in counted.slices.parts]
            kept = finish(iter(parts))
            assert counted.texts is not None
            known, codes = counted.texts.listed(domain, counted.space.unpack(kept.keys))
            texts = known.decode(codes)["word"].to_pylist()
            shown = tuple(sorted(zip(texts, kept.counts.tolist(), strict=True)))
            found[shown] += prod(noise[each + law.largest] for each in drawn)
    return found


def divergence(one: Counter[Any], other: Counter[Any], epsilon: float) -> float:
    return sum(max(one[each] - exp(epsilon) * other[each], 0.0) for each in one)


def test_delta_holds_when_somebody_brings_a_new_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more row, of a text that is there or of one that moves the private codes of all others."""
    epsilon, delta = 2.0, 0.2
    law = TruncatedGeometric.calibrated(budget=Fraction(2), change=Fraction(1), delta=Fraction(1, 5))
    assert law.largest == 1

    def patch(instead: Any) -> None:
        monkeypatch.setattr(candidates, "noisy", instead)

    def worst(law: TruncatedGeometric) -> float:
        found = 0.0
        for tables in (["m"], ["m", "m"], ["m", "m", "m"]):
            before = outputs(tables, law, law.least_cutoff, patch)
            for text in ("a", "m"):
                after = outputs([text, *tables], law, law.least_cutoff, patch)
                found = max(found, divergence(before, after, epsilon), divergence(after, before, epsilon))
        return found

    at = {shift: worst(TruncatedGeometric(law.rate, law.largest + shift)) for shift in (-1, 0, 1)}
    assert at[1] <= at[0] <= delta * (1 + 1e-9)
    assert at[-1] > delta
    own = outputs(["m", "m", "n"], law, law.least_cutoff, patch)
    by_cell = [seen(truncated(law), count, law.least_cutoff, 9) for count in (2, 1)]
    assert own[()] == pytest.approx(by_cell[0][0] * by_cell[1][0])
    assert sum(own.values()) == pytest.approx(1)
