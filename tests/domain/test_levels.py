"""Levels: what each kind declares, what an attribute at a level reads, and what a description of it tells."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Categories, Times
from tests.domain import examples
from tests.harness import statistics

BLOCKS = [
    ("0107", "Elm Street", "01", "north"),
    ("0108", "", "01", "north"),
    ("0307", "Oak Street", "03", "south"),
    ("0207", "Hill", "02", "north"),
]
PLACES = """
title = "Places"
[[attribute]]
name = "home"
column = "block"
outside = { other = "elsewhere" }
[attribute.categories]
file = "blocks.csv"
column = "block"
label = "title"
levels = { tract = "tract", side = "side" }
[[attribute]]
name = "age"
bins = { start = 0, stop = 100, step = 5, levels = [10, 20] }
outside = "clamp"
[[attribute]]
name = "minute"
[attribute.times]
start = "2024-01-01"
stop = "2026-01-01"
every = "1 minute"
levels = ["60 minutes", "1 day", "3 months", "1 year"]
[[attribute]]
name = "sex"
categories = ["f", "m"]
"""


@pytest.fixture
def places(tmp_path: Path) -> ht.Domain:
    lines = ["block,title,tract,side", *(",".join(row) for row in BLOCKS)]
    (tmp_path / "blocks.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "places.toml").write_text(PLACES)
    return ht.Domain.load(tmp_path / "places.toml")


def one(entry: str, folder: Path) -> Attribute:
    """The attribute of a file with this entry alone."""
    (folder / "domain.toml").write_text(f'[[attribute]]\nname = "x"\n{entry}\n')
    return ht.Domain.load(folder / "domain.toml").attributes[0]


def test_levels_are_listed_from_fine_to_coarse(places: ht.Domain) -> None:
    assert places.shape == (5, 20, 1_052_640, 2)
    assert places.levels == {
        "home": {"tract": 4, "side": 3},
        "age": {"10": 10, "20": 5},
        "minute": {"1 hour": 17_544, "1 day": 731, "3 months": 8, "1 year": 2},
        "sex": {},
    }
    assert [list(levels) for levels in places.levels.values()][2] == ["1 hour", "1 day", "3 months", "1 year"]


def test_a_domain_at_levels_has_coarser_values(places: ht.Domain) -> None:
    coarse = places.at({"minute": "3 months", "home": "tract", "age": "20"})

    assert coarse.title == "Places"
    assert coarse.shape == (4, 5, 8, 2)
    home, age, minute, _ = (attribute.values for attribute in coarse.attributes)
    assert home == Categories(values=("01", "03", "02", "elsewhere"))  # as they first appear, then the rule's
    assert age == Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(20))
    assert minute == Times(start=datetime(2024, 1, 1), stop=datetime(2026, 1, 1), every=3, unit="month")
    assert coarse.levels == {"home": {}, "age": {}, "minute": {}, "sex": {}}
    assert places.at({"home": "side"}).levels == places.levels | {"home": {}}
    assert places.at({"home": "side"}).at({"age": "10"}) == places.at({"age": "10", "home": "side"})
    assert places.at({}) == places


def test_a_row_is_read_as_at_the_finest_level(places: ht.Domain) -> None:
    home, age, minute, _ = places.at({"home": "tract", "age": "20", "minute": "1 day"}).attributes

    assert [home.place(block) for block in ("0107", "0108", "0307", "0207")] == [0, 0, 1, 2]
    # "01" is a tract, and no block: as before, it is outside. "elsewhere" is the rule's category itself.
    assert [home.place(value) for value in ("01", "", "elsewhere", None, 107)] == [3, 3, 3, None, None]
    assert (home.outside_code, home.missing_code) == (3, None)
    assert [age.place(value) for value in (-3, 19.9, "20", 104, "n/a")] == [0, 0, 1, 4, None]
    assert minute.place("2024-12-31 23:59:59.5") == 365
    assert minute.place(date(2026, 1, 1)) is None


def test_an_error_stays_an_error(tmp_path: Path) -> None:
    listed = 'categories = { values = ["a", "b"], levels = { all = ["x", "x"] } }'
    strict = one(listed + '\noutside = "error"\nmissing = "error"', tmp_path).at("all")

    assert (strict.place("a"), strict.place("b")) == (0, 0)
    for value in ("x", None):
        with pytest.raises(ht.BadRows):
            strict.place(value)


def test_the_categories_of_rules_are_by_themselves_at_every_level(tmp_path: Path) -> None:
    levels = '{ one = ["x", "y", "none"], two = ["z", "z", "none"] }'
    listed = f'categories = {{ values = ["a", "b", "none"], levels = {levels} }}'
    rules = 'missing = { other = "none" }\noutside = { other = "?" }'
    attribute = one(f"{listed}\n{rules}", tmp_path)

    for level, values in (("one", ("x", "y", "none", "?")), ("two", ("z", "none", "?"))):
        coarse = attribute.at(level)
        assert coarse.values == Categories(values=values)
        assert coarse.place(None) == coarse.place("none") == values.index("none")
        assert coarse.place("else") == coarse.place("?") == coarse.place("z") == values.index("?")


def test_first_characters_make_a_level(tmp_path: Path) -> None:
    attribute = one(
        'categories = { values = ["06-1-é", "06-2-é", "44-1-é"], levels = { county = 4, state = 2 } }',
        tmp_path,
    )

    assert attribute.at("county").values == Categories(values=("06-1", "06-2", "44-1"))
    assert attribute.at("state").values == Categories(values=("06", "44"))
    assert [attribute.at("state").place(value) for value in ("06-2-é", "44-1-é", "06")] == [0, 1, None]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_levels_come_from_columns_of_category_files(tmp_path: Path, ending: str) -> None:
    names = ["block", "title", "tract", "side"]
    table = pa.table({name: [row[place] for row in BLOCKS] for place, name in enumerate(names)})
    if ending == "parquet":
        table = table.set_column(3, "side", table["side"].dictionary_encode())
        pq.write_table(table, tmp_path / "blocks.parquet")
    else:
        mark = "\t" if ending == "tsv" else ","
        text = "\n".join(mark.join(row) for row in [names, *map(list, BLOCKS)])
        with pa.output_stream(
            tmp_path / f"blocks.{ending}", compression="gzip" if ending.endswith("gz") else None
        ) as file:
            file.write(text.encode())
    levels = '{ part = 3, tract = "tract", side = "side" }'
    attribute = one(
        f'categories = {{ file = "blocks.{ending}", column = "block", levels = {levels} }}', tmp_path
    )

    assert attribute.values == Categories(values=("0107", "0108", "0307", "0207"))
    assert attribute.at("part").values == Categories(values=("010", "030", "020"))
    assert attribute.at("tract").values == Categories(values=("01", "03", "02"))
    assert attribute.at("side").values == Categories(values=("north", "south"))
    assert [attribute.at("side").place(row[0]) for row in BLOCKS] == [0, 0, 1, 0]


def test_a_null_in_a_level_of_a_parquet_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"block": ["1", "2"], "tract": ["a", None]}), tmp_path / "b.parquet")

    with pytest.raises(ht.BadDomain, match=r"the column 'tract' of 'b\.parquet' has 1 nulls"):
        one('categories = { file = "b.parquet", column = "block", levels = { tract = "tract" } }', tmp_path)


@pytest.mark.parametrize(
    ("every", "levels"),
    [
        ("1 second", ["7 seconds", "1 minute"]),
        ("7 hours", ["1 day"]),
        ("7 hours", ["1 month"]),
        ("2 days", ["1 month"]),
        ("1 week", ["1 month"]),
        ("1 week", ["1 year"]),
    ],
)
def test_steps_that_do_not_nest_are_refused(every: str, levels: list[str], tmp_path: Path) -> None:
    entry = f'start = "2024-01-01", stop = "2024-07-29", every = "{every}", levels = {json.dumps(levels)}'

    with pytest.raises(ht.BadDomain, match="does not consist of steps of"):
        one(f"times = {{ {entry} }}", tmp_path)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"hom": "tract"}, "there is no attribute 'hom'. Did you mean 'home'? The attributes are 'home',"),
        ({"home": "trakt"}, "'home': it has no level 'trakt'. Did you mean 'tract'? Its levels are 'tract',"),
        ({"age": "5"}, "attribute 'age': it has no level '5'. Its levels are '10', '20'."),
        ({"sex": "all"}, "attribute 'sex': it has no level 'all'. It declares none. Write them beside"),
        ("home=tract", "levels = 'home=tract' does not say which attribute has which level. Write a dict"),
        ({"home": None}, "it has no level None"),
    ],
)
def test_what_is_not_declared_is_told_with_what_is(places: ht.Domain, levels: Any, message: str) -> None:
    with pytest.raises(ht.BadDomain) as caught:
        places.at(levels)

    assert message in str(caught.value)


def test_a_step_of_bins_may_be_a_number(places: ht.Domain) -> None:
    levels: Any = {"age": 10}

    assert places.at(levels).shape[1] == 10


def test_a_description_tells_the_values_at_hand_alone(places: ht.Domain) -> None:
    coarse = places.at({"home": "tract", "age": "10"})
    plain = ht.Domain.from_dict(json.loads(json.dumps(coarse.to_dict())))

    assert plain == coarse
    assert plain.digest == coarse.digest
    assert hash(plain) == hash(coarse)
    assert plain.levels["minute"] == {}
    text = json.dumps(coarse.to_dict()) + repr(coarse.attributes) + repr(places.attributes)
    assert "level" not in text
    assert "0107" not in json.dumps(coarse.to_dict()) + repr(coarse.attributes)
    # Levels that are not used leave no trace either: not in the description, not in the digest.
    assert ht.Domain.from_dict(places.to_dict()) == places
    assert coarse.to_dict()["attribute"][:2] == [
        {
            "name": "home",
            "column": "block",
            "categories": ["01", "03", "02", "elsewhere"],
            "outside": {"other": "elsewhere"},
        },
        {"name": "age", "bins": {"start": "0", "stop": "100", "step": "10"}, "outside": "clamp"},
    ]


@given(examples.with_levels())
def test_every_level_nests_in_the_next(attribute: Attribute) -> None:
    """Codes of the finest values, decoded and placed: what shares a code shares it at all coarser levels."""
    steps = [attribute, *(attribute.at(level.name) for level in attribute.levels)]
    sampled = [*range(min(attribute.size, 200)), attribute.size - 1]
    values = [examples.first_of(attribute, code) for code in sampled]

    for finer, coarser in pairwise(steps):
        pairs = {(finer.place(value), coarser.place(value)) for value in values}
        assert None not in {code for pair in pairs for code in pair}
        assert len({code for code, _ in pairs}) == len(pairs)


def test_very_many_categories_have_levels_soon(tmp_path: Path) -> None:
    size = statistics.runs(125_000)  # a million in `make test-long`
    codes = [f"{code:08d}" for code in range(size)]
    lines = "\n".join(f"{code},{code[:5]},{code[:2]}" for code in codes)
    (tmp_path / "many.csv").write_text(f"code,tract,county\n{lines}\n")
    start = process_time()
    levels = '{ tract = "tract", county = "county" }'
    attribute = one(f'categories = {{ file = "many.csv", column = "code", levels = {levels} }}', tmp_path)

    assert process_time() - start < 8  # of a million, measured: 1.1 s
    assert [level.values.size for level in attribute.levels] == [size // 1000, 1]
