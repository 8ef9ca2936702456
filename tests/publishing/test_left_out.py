"""The noisy share of people left out: who is counted where, what it costs, what is said, what is refused."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.cli.main import app
from hushtable.engines.sliced.bounding import told_apart
from hushtable.engines.sliced.keying import Keyed
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.pages import facts
from hushtable.publishing.publish import check_told, noisy_left_out
from hushtable.release import footer
from hushtable.release.left_out import LeftOutShare, left_out_sentence
from tests.harness.statistics import ALARM, LONG, draws, fits, follows, from_masses, law_at, replay

DOMAIN = ht.Domain(town=ht.integers(0, 2), age=ht.integers(0, 9))
# Person 1: inside and outside; 2: missing and outside; 3: inside; 4: outside; nobody's rows.
PEOPLE = [(1, 0, 5), (1, 9, 5), (1, 9, 5), (2, None, 5), (2, 9, 5), (3, 1, 1), (3, 1, 1), (4, 1, 99)]
ROWS = pa.table(
    {
        "person": pa.array([*(row[0] for row in PEOPLE), None, None], pa.int64()),
        "town": pa.array([*(row[1] for row in PEOPLE), 0, 9], pa.int64()),
        "age": pa.array([*(row[2] for row in PEOPLE), 5, 5], pa.int64()),
        "n": pa.array([2, 5, 7, 1, 0, 3, 0, 11, None, -4], pa.int64()),
    }
)
SILENT: dict[str, Any] = {
    "domain": DOMAIN,
    "epsilon": 400,
    "size": 30,
    "left_out_share": "1/4",
    "ledger": False,
}


def publish(folder: Path, rows: Any = ROWS, **words: Any) -> ht.Release:
    output = folder / "out.parquet"
    ht.publish(rows, **SILENT | {"output": output, "overwrite": True} | words)
    return ht.open(output)


@pytest.mark.parametrize(
    ("words", "counted", "left_out"),
    [
        ({"unit": ht.Unit("person", max_rows=1)}, 2, 2),
        ({"unit": ht.Unit("person", max_cells=1)}, 2, 2),
        ({"unit": ht.Unit("person", max_rows=1), "sum_column": "n", "clamp": (0, 3)}, 2, 2),
        ({"unit": ht.Unit("person", max_rows=1), "where": "age < 50"}, 2, 1),
        ({"where": "town < 9"}, 4, 1),
        ({}, 4, 6),
        ({"count_column": "n"}, 5, 24),
        ({"sum_column": "n", "clamp": (0, 3)}, 3, 7),
        ({"rho": 400, "epsilon": None, "unit": ht.Unit("person", max_rows=3)}, 2, 2),
        ({"structure": "cells"}, 4, 6),
        ({"structure": ht.Tree(), "size": 20}, 4, 6),
    ],
    ids=str,
)
def test_each_unit_is_counted_or_left_out(
    words: dict[str, Any], counted: int, left_out: int, tmp_path: Path
) -> None:
    """With next to no noise: a person once, however many rows; people by a column as often as it says."""
    found = publish(tmp_path, **words).left_out

    assert found is not None
    assert (found.counted, found.left_out) == (counted, left_out)
    assert found.share == left_out / (counted + left_out)


def test_rows_that_are_read_from_a_file_count_alike(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    found = publish(tmp_path, str(tmp_path / "rows.parquet"), unit=ht.Unit("person", max_rows=1)).left_out
    assert found is not None
    assert (found.counted, found.left_out) == (2, 2)


def test_rows_that_are_taken_together_count_each(tmp_path: Path) -> None:
    many = pa.table({"town": np.arange(1 << 18) % 4, "age": np.zeros(1 << 18, np.int64)})

    found = publish(tmp_path, many).left_out

    assert found is not None
    assert (found.counted, found.left_out) == (3 << 16, 1 << 16)


MOST = 3 if LONG else 2
PLACES = ("0", "1", "NULL")  # two cells, or dropped by a rule
TYPES = [rows for size in (1, 2) for rows in combinations_with_replacement(PLACES, size)]


def test_one_person_more_changes_one_of_two_numbers_by_one() -> None:
    """Over all tables of up to two people with up to two rows each, beside rows of nobody."""
    connection = duckdb.connect()
    found: dict[tuple[tuple[str, ...], ...], tuple[int, int]] = {}
    nobody = [("NULL", "0"), ("NULL", "NULL")]
    for people in (each for size in range(MOST + 1) for each in combinations_with_replacement(TYPES, size)):
        rows = [*((str(place), row) for place, own in enumerate(people) for row in own), *nobody]
        values = ", ".join(f"({row}, {unit})" for unit, row in rows)
        connection.execute('DROP TABLE IF EXISTS "hushtable kept"')
        keyed = Keyed(f"SELECT * FROM (VALUES {values}) AS rows(k0, unit)", ["k0"])
        kept, found[people] = told_apart(keyed, connection)
        assert Counter(connection.execute(kept.sql).fetchall()) == Counter(
            connection.execute(keyed.sql).fetchall()
        )
    for people, before in found.items():
        for one in TYPES if len(people) < MOST else ():
            after = found[tuple(sorted([*people, one], key=TYPES.index))]
            change = (after[0] - before[0], after[1] - before[1])
            assert change == ((0, 1) if set(one) == {"NULL"} else (1, 0))


def test_noise_of_both_numbers_has_its_law() -> None:
    rate, entropy = Fraction(1, 3), replay(4071)
    drawn = np.array([noisy_left_out((70, 4), Geometric(rate), entropy) for _ in range(draws(4_000))])

    for noise in (drawn - np.array([70, 4])).T:
        assert follows(noise, law_at(TwoSidedGeometric, rate)) > ALARM
        assert fits(noise, law_at(TwoSidedGeometric, rate * 3 / 2)) < ALARM
        assert fits(noise, law_at(TwoSidedGeometric, rate * 2 / 3)) < ALARM
    # Each has noise of its own: if both had the same, their difference would be true.
    masses = {x: exp(-abs(x) / 3) for x in range(-100, 101)}
    apart = Counter[int]()
    for (x, one), (y, other) in product(masses.items(), repeat=2):
        apart[x - y] += one * other / sum(masses.values()) ** 2  # type: ignore[assignment]
    differences = drawn[:, 0] - 70 - (drawn[:, 1] - 4)
    assert follows(differences, from_masses(apart)) > ALARM
    assert fits(np.zeros_like(differences), from_masses(apart)) < ALARM


@pytest.mark.parametrize(
    ("structure", "cost", "whole"),
    [
        (None, {"epsilon": 1}, Fraction(1)),
        ("cells", {"epsilon": None, "rho": "1/8"}, Fraction(1, 8)),
        (ht.Tree(), {"epsilon": None, "rho": "1/8"}, Fraction(1, 8)),
        (ht.Marginals("all-1"), {"epsilon": 1}, Fraction(1)),
    ],
    ids=str,
)
def test_its_part_is_of_one_cost_which_is_charged_once(
    structure: Any, cost: dict[str, Any], whole: Fraction, tmp_path: Path
) -> None:
    ledger = ht.Ledger.create(tmp_path / "a.ledger", about="a", **cost)

    release = publish(tmp_path, structure=structure, ledger=ledger, left_out_share="1/100", **cost)

    terms = release.terms
    assert terms.left_out_budget == whole / 100
    assert terms.rows_budget + terms.total_budget + terms.left_out_budget == terms.budget == whole
    assert terms.left_out_law is not None
    assert terms.left_out_law.loss(change=Fraction(1)) == whole / 100
    assert (ledger.spent, len(ledger.entries())) == (whole, 1)
    assert ht.Recipe.from_release(release).left_out_share == Fraction(1, 100)


def test_older_readers_ask_for_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = publish(tmp_path)
    said = json.loads(footer.entries_of(release.terms)["hushtable"])

    assert said["format"] == 8
    assert said["left_out"] == {"counted": "4", "epsilon": "100", "left_out": "6"}
    for changed in ({"left_out": None}, {"left_out": said["left_out"] | {"epsilon": "0"}}, {"format": 1}):
        with pytest.raises(ht.BadRelease):
            footer.terms_of({b"hushtable": json.dumps(said | changed).encode()})
    for changed in ({"left_out_budget": Fraction(0)}, {"left_out": (1,)}, {"left_out_budget": Fraction(400)}):
        with pytest.raises(ht.BadRelease):
            replace(release.terms, **changed)
    monkeypatch.setattr(footer, "FORMAT", 7)
    with pytest.raises(ht.BadRelease, match=r"format 8, .* up to 7\. Upgrade"):
        footer.terms_of({b"hushtable": json.dumps(said).encode()})


@pytest.mark.parametrize("true", [(0, 0), (3, 0), (0, 2), (40, 3), (5, 30)])
def test_the_interval_holds_with_its_confidence(true: tuple[int, int]) -> None:
    """The chances of all noise are added up."""
    law = Geometric(Fraction(1, 2))
    reach = range(-25, 26)
    chances = dict(zip(reach, law.floats.mass(np.abs(np.array(reach)).astype(float)).tolist(), strict=True))
    share = true[1] / max(1, sum(true))
    missed = 0.0
    for one, other in product(reach, reach):
        found = LeftOutShare(counted=true[0] + one, left_out=true[1] + other, law=law)
        low, high = found.interval(0.9)
        assert 0 <= low <= high <= 1
        assert found.share is None or low <= found.share <= high
        missed += chances[one] * chances[other] * (not low <= share <= high)

    assert missed <= 0.1


def test_it_is_said_wherever_rows_are_said_to_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = publish(tmp_path, unit=ht.Unit("person", max_rows=1))
    said = left_out_sentence(release.terms)
    assert said == (
        "About 50.0000 % of all values of person have no row that could be counted "
        "(with 95 % confidence, 50.0000 % to 50.0000 %)."
    )
    wide = replace(release.terms, left_out_budget=Fraction(1, 100))
    assert left_out_sentence(wide) == (
        "The noise is too large to tell which share of all values of person "
        "have no row that could be counted."
    )
    assert "About 50" in repr(release)
    assert said in facts.counted(release.terms)
    report = tmp_path / "report.html"
    release.report(report)
    assert "values of person have no row" in report.read_text()
    for words in (["show"], ["query"], ["query", "--json"]):
        assert app([words[0], str(tmp_path / "out.parquet"), *words[1:]], standalone_mode=False) is None
        out = " ".join(capsys.readouterr().out.split())
        assert "About 50.0000 % of all values of person" in out
    app(["show", str(tmp_path / "out.parquet"), "--json"], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert document["left_out"] == {"counted": 2, "left_out": 2, "share": 0.5, "low": 0.5, "high": 0.5}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"epsilon": 1, "delta": "1e-6", "law": "truncated-geometric", "size": None},
            "`left_out_share` asks",
        ),
        ({"engine": "spark"}, "not counted on Spark"),
        ({"plan": {"expect_cells": 9, "expect_mean": 9, "expect_sd": 1}}, "a plan spends everything"),
        ({"left_out_share": 1}, "must be from 0 to below 1"),
        ({"left_out_share": "99/100", "structure": "cells"}, "take the whole cost"),
    ],
    ids=str,
)
def test_what_cannot_be_told_is_refused_before_a_row_is_read(
    words: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ht.HushtableError, match=said):
        publish(tmp_path, "there-is-no-such-file.parquet", **words)


def test_an_engine_that_does_not_tell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ht.BadChoice, match="does not tell how many people are left out"):
        check_told(None, publish(tmp_path).terms)


def test_none_is_bought_by_itself(tmp_path: Path) -> None:
    for words in ({"left_out_share": None}, {"left_out_share": 0}):
        release = publish(tmp_path, **words)
        assert release.left_out is None
        assert not release.terms.left_out_budget
        assert "left_out" not in json.loads(footer.entries_of(release.terms)["hushtable"])
