"""The one flow: what is refused before it costs anything, what is charged when, and what the file tells."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.publishing import publish as flow
from hushtable.publishing.choices import choice
from tests.engines.contracts.flow import DOMAIN, check_alike, rows


def publish(tmp_path: Path, data: Any = None, **settings: Any) -> ht.Release:
    """Publish with settings that a test does not care about."""
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "output": tmp_path / "out.parquet"}
    if "summary" not in settings:
        chosen["size"] = 50
    return ht.publish(rows() if data is None else data, **chosen | settings)


def test_the_file_opens_everywhere_with_the_same_values(tmp_path: Path) -> None:
    release = publish(tmp_path, structure="cells")
    path = tmp_path / "out.parquet"
    expected = release.to_arrow().to_pylist()

    assert pq.read_table(path).to_pylist() == expected
    assert pd.read_parquet(path).to_dict("records") == expected
    assert pl.read_parquet(path).to_dicts() == expected
    found = duckdb.connect().sql(f"SELECT * FROM '{path}'").to_arrow_table().to_pylist()
    assert found == expected
    assert release.to_pandas().to_dict("records") == expected
    assert release.to_polars().to_dicts() == expected


def test_metadata_tell_nothing_of_files(tmp_path: Path) -> None:
    """Releases of different rows, from different files, differ in what was drawn and in nothing else."""
    one, two = tmp_path / "one", tmp_path / "another folder"
    for folder, count, seed in ((one, 10, 1), (two, 50_000, 2)):
        folder.mkdir()
        pq.write_table(rows(count, seed), folder / "rows.parquet")
        publish(folder, folder / "rows.parquet", summary=ht.Filter(size=40))

    check_alike(one / "out.parquet", two / "out.parquet")


def test_a_file_has_the_noisy_numbers_and_never_the_true_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was drawn for the total and for who is left out, that is what the file says."""
    monkeypatch.setattr(flow, "noisy_total", lambda *_: 271_828)
    monkeypatch.setattr(flow, "noisy_left_out", lambda *_: (31_415, 92_653))

    release = publish(tmp_path, structure="cells", left_out_share="1/10")

    assert release.noisy_total == 271_828
    assert release.terms.left_out == (31_415, 92_653)
    said = b" ".join([*(pq.read_metadata(tmp_path / "out.parquet").metadata or {}).values()])
    assert b"271828" in said
    assert b"3000" not in said  # how many rows there are


def test_the_ledger_is_charged_once_and_finished(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    publish(tmp_path, epsilon="0.7", ledger=tmp_path / "people.ledger")

    (entry,) = ledger.entries()
    assert entry.epsilon == Fraction(7, 10)
    assert entry.state == "finished"
    import hashlib

    assert entry.digest == hashlib.sha256((tmp_path / "out.parquet").read_bytes()).hexdigest()
    with pytest.raises(ht.BudgetExceeded):
        publish(tmp_path, epsilon="0.4", ledger=ledger, output=tmp_path / "second.parquet")
    assert not (tmp_path / "second.parquet").exists()
    assert ledger.spent == Fraction(7, 10)


def test_an_overspend_is_refused_before_data_are_read(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    with pytest.raises(ht.BudgetExceeded):
        publish(tmp_path, tmp_path / "there is no such file.parquet", epsilon=2, ledger=ledger)


def test_a_file_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    with pytest.raises(ht.BadData):
        publish(tmp_path, "nowhere.csv", ledger=ledger)

    assert ledger.spent == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.ledger"]


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=5, about="people")
    publish(tmp_path, ledger=ledger)
    before = (tmp_path / "out.parquet").read_bytes()

    with pytest.raises(ht.HushtableError, match="overwrite"):
        publish(tmp_path, ledger=ledger)
    assert (tmp_path / "out.parquet").read_bytes() == before
    assert ledger.spent == 1

    publish(tmp_path, ledger=ledger, overwrite=True)
    assert (tmp_path / "out.parquet").read_bytes() != before
    assert ledger.spent == 2


def test_a_failure_after_the_charge_leaves_it_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(flow, "write_release", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        publish(tmp_path, ledger=ledger)

    assert ledger.spent == 1
    assert [entry.state for entry in ledger.entries()] == ["unfinished"]


def test_automatic_choices_use_public_facts_alone(tmp_path: Path) -> None:
    few, many = (publish(tmp_path, rows(count), overwrite=True) for count in (0, 100_000))

    assert few.cutoff == many.cutoff
    assert few.summary == many.summary


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"size": 100}, "FilterPriority(cutoff=Fraction(185, 1), size=100, two_sided=True)"),
        ({"summary": "everything"}, "Everything(nonnegative=False)"),
        ({"summary": "filter", "cutoff": "50"}, "Filter(cutoff=Fraction(50, 1), size=None, two_sided=True)"),
        ({"summary": "filter", "size": 9}, "Filter(cutoff=None, size=9, two_sided=True)"),
        (
            {"summary": "threshold", "threshold": "auto", "size": 9},
            "Threshold(threshold=None, size=9, two_sided=True)",
        ),
        ({"summary": "priority", "size": 9, "one_sided": True}, "Priority(size=9, two_sided=False)"),
        (
            {"summary": "filter-threshold", "cutoff": "5", "threshold": "7.5"},
            "FilterThreshold(cutoff=Fraction(5, 1), threshold=Fraction(15, 2), size=None, two_sided=True)",
        ),
    ],
)
def test_names_of_summaries(settings: dict[str, Any], expected: str) -> None:
    found = choice(**settings, cells=10**9, law=Geometric(Fraction(1, 10)))

    assert repr(found.method) == expected
    assert found.rule == ("auto-cutoff-1" if settings == {"size": 100} else None)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"summary": "best"},
        {"summary": "everything", "size": 5},
        {"summary": "priority"},
        {"summary": "priority", "size": 5, "cutoff": 4},
        {"summary": "filter", "cutoff": "auto"},
        {"summary": "filter"},
        {"summary": "threshold", "threshold": "auto"},
        {"summary": "filter-priority", "size": 5, "threshold": 5},
        {"summary": "filter-threshold", "cutoff": 5},
        {"size": -5},
        {"size": 5, "cutoff": "many"},
    ],
)
def test_choices_that_do_not_go_together(settings: dict[str, Any]) -> None:
    with pytest.raises(ht.HushtableError):
        choice(**settings, cells=10**9, law=Geometric(Fraction(1, 10)))


LEVELS = """
title = "Commuters"
[[attribute]]
name = "home"
categories = { values = ["north", "south", "harbour"], levels = { shore = ["land", "land", "sea"] } }
outside = { other = "elsewhere" }
[[attribute]]
name = "age"
bins = { start = 0, stop = 100, step = 1, levels = [5, 20] }
"""


def test_a_release_at_a_level_knows_its_own_values_alone(tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text(LEVELS)
    path = tmp_path / "levels.toml"

    release = publish(tmp_path, domain=path, level={"home": "shore", "age": "20"}, summary=ht.Everything())

    assert release.domain == ht.Domain.load(path).at({"home": "shore", "age": "20"})
    assert release.domain.shape == (3, 5)
    people = rows().to_pandas()
    on_land = people["home"] != "harbour"
    # Noise of rate 49/50 in each of up to 5 cells: together beyond 100 less than once in 10^30.
    assert abs(release.total(home="land").value - on_land.sum()) < 100
    assert abs(release.total(home="sea").value - (~on_land).sum()) < 100
    young = release.total(home="land", age=ht.between(0, 20)).value
    assert abs(young - (on_land & (people["age"] < 20)).sum()) < 100
    footer = str(pq.read_metadata(tmp_path / "out.parquet").metadata)
    assert "harbour" not in footer
    assert "level" not in footer


def test_the_levels_that_are_not_used_leave_no_trace(tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text(LEVELS)

    release = publish(tmp_path, domain=tmp_path / "levels.toml", size=10, structure="cells")

    assert release.domain.levels == {"home": {}, "age": {}}
    assert release.domain.shape == (4, 100)
    footer = str(pq.read_metadata(tmp_path / "out.parquet").metadata)
    assert "shore" not in footer
    assert "level" not in footer


@pytest.mark.parametrize("level", [{"home": "street"}, {"hous": "shore"}, "home=shore"])
def test_a_level_that_is_not_declared_costs_nothing(level: Any, tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text(LEVELS)
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=5, about="people")

    with pytest.raises(ht.BadDomain, match=r"'shore'|'home'|dict"):
        publish(tmp_path, domain=tmp_path / "levels.toml", level=level, ledger=ledger)
    assert list(ledger.entries()) == []
    assert not (tmp_path / "out.parquet").exists()
