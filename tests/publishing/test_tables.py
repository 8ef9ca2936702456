"""Releases of several tables: what is published for questions and by default, and that its intervals hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.answers.noise_share import NoiseShare, TableNoise
from hushtable.domain.items import Item
from hushtable.structures.table_space import TableSpace
from tests.table.several import added

DOMAIN = ht.Domain.from_dict(
    {
        "title": "Visits",
        "attribute": [
            {
                "name": "town",
                "categories": {
                    "values": [f"{county}{number}" for county in "ab" for number in range(4)],
                    "levels": {"county": 1},
                },
            },
            {
                "name": "day",
                "times": {
                    "start": "2024-01-01",
                    "stop": "2024-04-01",
                    "every": "1 day",
                    "levels": ["1 month"],
                },
            },
            {"name": "job", "integers": {"low": "0", "high": "29"}},
        ],
    }
)
ASK = ["town", "month(day),job", "county(town),day"]


def rows(number: int = 60_000, seed: int = 1) -> pa.Table:
    """Skewed, and jobs go with towns."""
    random = np.random.default_rng(seed)
    towns = np.minimum(random.geometric(0.4, number) - 1, 7)
    jobs = np.minimum(random.geometric(0.2, number) - 1 + towns, 29)
    names = np.array([f"{county}{each}" for county in "ab" for each in range(4)])
    days = np.datetime64("2024-01-01") + random.integers(0, 91, number)
    return pa.table({"town": names[towns], "day": days, "job": jobs})


def publish(folder: Path, data: pa.Table | None = None, **settings: Any) -> ht.Release:
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "size": 300, "overwrite": True}
    chosen["output"] = folder / "out.parquet"
    return ht.publish(rows() if data is None else data, **chosen | settings)


def space_of(release: ht.Release) -> TableSpace:
    nodes = release.terms.nodes
    assert isinstance(nodes, TableSpace)
    return nodes


def items_of(release: ht.Release) -> list[tuple[Item, ...]]:
    space = space_of(release)
    return [tuple(space.items[place] for place in each.places) for each in space.marginals]


def test_questions_choose_the_tables(tmp_path: Path) -> None:
    release = publish(tmp_path, ask=ASK)
    assert release.terms.structure == ht.plan(DOMAIN, epsilon=1, size=300, ask=ASK).structure
    assert (Item(0),) in items_of(release)
    assert (Item(1, 1), Item(2)) in items_of(release)
    assert release.noisy_total is None  # whole tables tell it
    assert release.epsilon == 1
    assert ht.open(release.path).terms == release.terms


def test_the_default_has_singles_pairs_levels_and_cells(tmp_path: Path) -> None:
    release = publish(tmp_path)
    assert items_of(release)[-1] == (Item(0), Item(1), Item(2))
    for question in ("town", "county(town)", "month(day)", "job", "town,job", "month(day),job", "town,day"):
        assert release.by(question.split(",")).schema.metadata[b"source"] == b"whole tables"
    assert publish(tmp_path, structure="cells").terms.structure.name == "cells"


def test_the_file_opens_everywhere(tmp_path: Path) -> None:
    release = publish(tmp_path, ask=ASK)
    path = str(release.path)
    expected = release.to_arrow().to_pylist()
    assert pq.read_table(path).to_pylist() == expected
    assert pl.read_parquet(path).to_dicts() == expected
    assert duckdb.connect().sql(f"SELECT * FROM '{path}'").to_arrow_table().to_pylist() == expected
    assert list(expected[0]) == [
        "table",
        "county(town)",
        "town",
        "month(day)",
        "day",
        "job",
        "count",
        "weight",
    ]
    for row in expected:
        named = {name for name in list(row)[1:-2] if row[name] is not None}
        assert named == set(row["table"].split(", "))


def by_cell(table: ht.SparseTable) -> dict[tuple[int, ...], int]:
    codes = map(tuple, table.space.unpack(table.keys).tolist())
    return dict(zip(codes, table.counts.tolist(), strict=True))


def test_one_row_changes_one_cell_of_each_table_by_one() -> None:
    space = ht.Tables("town", "county(town),month(day)", "day,job", shares=[1, 2, 3]).over(DOMAIN)
    assert space.per_cell == 6
    base = ht.count(rows(50), domain=DOMAIN)
    for one in range(3):
        more = ht.count(pa.concat_tables([rows(50), rows(1, seed=one)]), domain=DOMAIN)
        for without, with_ in zip(added(base, space), added(more, space), strict=True):
            before, after = by_cell(without), by_cell(with_)
            changed = {key: after.get(key, 0) - before.get(key, 0) for key in {*before, *after}}
            assert sorted(changed.values())[-1] == 1
            assert sum(map(abs, changed.values())) == 1


QUESTIONS: list[tuple[list[str], str | None]] = [
    (["town"], None),
    (["county(town)", "month(day)"], None),
    (["town", "job"], None),
    (["job"], "town IN ('a0', 'b3')"),
    (["month(day)"], "day >= '2024-01-10' AND job < 5"),
    (["town"], "job = 1 OR town = 'a0'"),
    (["day", "job"], None),  # by a table with a cutoff, if all are asked for a small size
    (["town", "day", "job"], "town = 'a1'"),
    (["month(day)", "town", "job"], None),
    (["town"], "job < 2 OR day < '2024-01-10'"),
    (["town", "job"], "NOT (town = 'a0' AND day < '2024-02-10')"),
    (["month(day)"], "town = 'a0' OR job = 3"),
]


def truth(data: pa.Table, names: list[str], where: str | None) -> dict[tuple[Any, ...], int]:
    columns = {
        "county(town)": "town[:1]",
        "month(day)": "CAST(date_trunc('month', day) AS DATE)",
        "day": "CAST(day AS DATE)",
    }
    said = ", ".join(f'{columns.get(name, name)} AS "{name}"' for name in names)
    sql = f"SELECT {said}, count(*) FROM data WHERE {where or 'TRUE'} GROUP BY ALL"
    found = duckdb.connect().execute(sql).fetchall()
    return {row[:-1]: row[-1] for row in found}


@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_intervals_hold_for_the_groups_that_people_ask_for(epsilon: str, tmp_path: Path) -> None:
    data = rows()
    held: dict[str, list[bool]] = {}
    for _ in range(2):
        release = publish(tmp_path, data, epsilon=epsilon, size=40)  # so that most tables have a cutoff
        for names, where in QUESTIONS:
            found = release.by(names, where=where)
            known = truth(data, names, where)
            for row in found.to_pylist():
                count = known.get(tuple(row[name] for name in names), 0)
                held.setdefault(str((names, where)), []).append(row["low"] <= count <= row["high"])
    for question, each in held.items():
        # Groups of one release share noise, so that few of them vary together.
        # The limits lie five standard deviations and more below 95 %.
        assert np.mean(each) >= (0.85 if len(each) > 150 else 0.3), question


def test_estimates_are_right_on_average(tmp_path: Path) -> None:
    data = rows()
    known = truth(data, ["town", "job"], None)
    found = [publish(tmp_path, data, epsilon=2).by(["town", "job"]).to_pylist() for _ in range(10)]
    errors = np.array(
        [[row["estimate"] - known.get((row["town"], row["job"]), 0) for row in each] for each in found]
    )
    deviation = found[0][0]["standard_error"]
    # The mean of 240 groups over 10 releases; noise of pairs is shared among groups, so the bound is wide.
    assert abs(errors.mean()) < 5 * deviation / np.sqrt(10)


def test_groups_that_only_cells_have_are_closer_than_noise_on_every_cell(tmp_path: Path) -> None:
    """Most rows of such a table are noise: to add them up gives twice the error of noise on every cell."""
    data, names = rows(), ["town", "month(day)", "job"]
    known = truth(data, names, None)
    release = publish(tmp_path, data, epsilon="0.3")
    found = release.by(names).to_pylist()
    true = np.array([known.get(tuple(row[name] for name in names), 0) for row in found])
    errors = np.sort(np.abs(np.array([row["estimate"] for row in found]) - true))
    assert release.by(names).schema.metadata[b"source"] == b"town, day, job"
    cells = DOMAIN.cells_total / len(found)
    # Without the ten largest of 720, for in one release of twenty noise alone makes a row or two stand out.
    error = np.sqrt(np.mean(errors[:-10] ** 2))
    assert error < 0.7 * np.sqrt(2 * cells) / 0.3  # 0.31 to 0.51 in 200 releases


def test_a_condition_that_ties_attributes_is_completed_by_whole_tables_too(tmp_path: Path) -> None:
    data, where = rows(), "job < 2 OR day < '2024-01-10'"
    known = truth(data, ["town"], where)
    release = publish(tmp_path, data, epsilon="0.3")
    found = release.by("town", where=where)
    error = np.mean([abs(row["estimate"] - known.get((row["town"],), 0)) for row in found.to_pylist()])
    assert found.schema.metadata[b"source"] == b"town, day, job"
    assert error < 500  # 35 to 62 in releases that were tried, and 2,050 by the rows and the total alone
    assert all(row["high"] < 30_000 for row in found.to_pylist())  # it was above 60,000, which is everybody


def test_no_group_is_larger_than_what_it_is_part_of(tmp_path: Path) -> None:
    release = publish(tmp_path, epsilon="0.3")
    pairs = {(row["town"], row["job"]): row for row in release.by(["town", "job"]).to_pylist()}
    for row in release.by(["town", "month(day)", "job"]).to_pylist():
        pair = pairs[row["town"], row["job"]]
        error = pair["standard_error"]
        assert row["high"] <= max(pair["estimate"] + 6 * error, row["estimate"], 0)


def test_a_table_that_is_noise_is_called_so(tmp_path: Path) -> None:
    # Of some 300 rows, all but a few are noise.
    few = publish(tmp_path, rows(20), epsilon="1/100", structure="cells", size=3000)
    assert few.noise.is_noise
    assert few.noise.warnings[0].startswith("This release is noise")
    many = publish(tmp_path)
    assert not many.noise.is_noise
    assert not any(each.is_noise for each in many.noise.tables if each.whole)


@pytest.mark.parametrize(
    ("many", "more"), [(1, " rows. C"), (2, ", and so is 1 other."), (3, ", and so are 2 others.")]
)
def test_tables_that_are_noise_are_counted(many: int, more: str) -> None:
    noise = TableNoise("town", rows=20, expected=19.0, is_noise=True, whole=False)
    good = TableNoise("job", rows=20, expected=1.0, is_noise=False, whole=False)
    (said,) = NoiseShare((good, *[noise] * many)).warnings

    assert said.startswith(
        "The table of town is mostly noise: noise alone would give about 19 of its 20 rows"
    )
    assert more in said


def test_sql_adds_up_one_table(tmp_path: Path) -> None:
    release = publish(tmp_path)
    (total,) = release.sql("SELECT sum(weight) AS n FROM release").to_pylist()
    assert abs(total["n"] - 60_000) < 6_000
    by_town = release.sql("SELECT town, sum(weight) AS n FROM release GROUP BY town").to_pylist()
    assert abs(sum(row["n"] for row in by_town) - 60_000) < 6_000
    assert release.sql("SELECT count(*) AS n FROM release_tables").to_pylist() == [{"n": len(release)}]
    with pytest.raises(ht.BadQuery, match="no table of this release has all the columns") as caught:
        release.sql('SELECT "county(town)", town, sum(weight) FROM release GROUP BY ALL')
    advised = caught.value.hint.partition(" FROM ")[2].rstrip(".")
    one = release.sql(f"SELECT sum(weight) AS n FROM {advised}").to_pylist()
    assert abs(one[0]["n"] - 60_000) < 6_000


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ask": ["twon"]}, "Did you mean 'town'"),
        ({"ask": ["week(day)"]}, "has no level 'week'"),
        ({"ask": []}, "names no questions"),
        ({"ask": ["town"], "structure": "cells"}, "and so does structure"),
        ({"ask": ["town"], "summary": ht.Priority(size=5), "size": None}, "and so does summary"),
        ({"ask": ["town"], "size": None}, "questions need a size"),
    ],
)
def test_questions_that_do_not_fit_are_refused(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ht.HushtableError, match=words):
        publish(tmp_path, **settings)


def test_a_smaller_release_is_made_of_it(tmp_path: Path) -> None:
    from hushtable.publishing.thinning import thin

    release = publish(tmp_path)
    smaller = thin(release, size=20, output=tmp_path / "small.parquet")
    assert len(smaller) < len(release)
    answer = smaller.total(town="a0")
    assert answer.low <= answer.value <= answer.high


def test_a_release_of_cells_alone_knows_no_levels(tmp_path: Path) -> None:
    data = rows()
    release = publish(tmp_path, data, structure="cells", size=2000)
    assert release.by("town").num_rows == 8
    with pytest.raises(ht.BadQuery, match="has no level 'county'"):
        release.by("county(town)")


def test_a_condition_that_is_no_product_counts_the_cells_of_levels_too(tmp_path: Path) -> None:
    release = publish(tmp_path, structure=ht.Tables("town,job,month(day)"), total_share=0, size=1000)
    found = release.total("town = 'a0' OR job = 1")
    cells = (30 + 8 - 1) * 3  # of town and job, in three months
    assert found.standard_error == pytest.approx((cells * release.terms.law.floats.variance) ** 0.5)


@pytest.mark.parametrize("words", [{"assume": "evenly"}, {"corrected": 3}])
def test_what_is_no_choice_is_refused_by_whole_tables_too(words: dict[str, Any], tmp_path: Path) -> None:
    release = publish(tmp_path, ask=["town"])
    with pytest.raises(ht.BadQuery, match="is no"):
        release.total(town="a0", **words)


# A level's names are longer than the values, and one of them is also a value.
ZONES = ht.Domain.from_dict(
    {
        "attribute": [
            {
                "name": "home",
                "categories": {
                    "values": ["a", "b", "c"],
                    "labels": ["Ash", "Birch", "Cedar"],
                    "levels": {"zone": ["by the sea", "by the sea", "a"]},
                },
            },
            {"name": "hour", "integers": {"low": "0", "high": "5"}},
        ],
    }
)


@pytest.mark.parametrize(
    "settings",
    [
        {"ask": ["zone(home)"]},
        {"structure": ht.Hierarchy("zone(home)", "home, hour"), "anyway": True},
    ],
    ids=["tables", "hierarchy"],
)
def test_names_of_levels_may_be_longer_than_values(settings: dict[str, Any], tmp_path: Path) -> None:
    """The file is opened, and what is exported has labels of the values, and none of the levels."""
    data = pa.table({"home": ["a", "b", "c"] * 1_000, "hour": [1] * 3_000})
    made = publish(tmp_path, data, domain=ZONES, **settings)

    release = ht.open(tmp_path / "out.parquet")
    assert release.by("zone(home)").equals(made.by("zone(home)"))
    assert set(release.to_arrow()["zone(home)"].to_pylist()) - {None} == {"by the sea", "a"}
    made.export(tmp_path / "out.csv")
    head = (tmp_path / "out.csv").read_text().split("\n")[0]
    assert '"zone(home)"' in head
    assert "zone(home)_label" not in head
