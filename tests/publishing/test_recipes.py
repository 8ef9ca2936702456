"""A recipe: one record for both doors, read from files, written to them, and given back by a release."""

from __future__ import annotations

import inspect
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.cli.grouping import GROUPS
from hushtable.cli.publish import publish as command
from hushtable.cli.recipes import PLAN, SAME, STRUCTURE, SUMMARY, UNIT
from hushtable.publishing.recipe_file import RecipeFile, _toml
from tests.cli.commands import run

DOMAIN = """\
title = "People"
[[attribute]]
name = "town"
categories = ["a", "b", "c"]
[[attribute]]
name = "job"
integers = { low = 0, high = 9 }
"""
BASE: dict[str, Any] = {"domain": "people.toml", "epsilon": "0.1", "output": "out.parquet"}


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(DOMAIN)
    pq.write_table(pa.table({"town": ["a", "b"] * 50, "job": [*range(10)] * 10}), "rows.parquet")
    return tmp_path


def by_command(monkeypatch: pytest.MonkeyPatch, *words: str, data: str = "rows.parquet") -> ht.Recipe:
    """Return the recipe that the command makes of options, without publishing anything."""
    made: list[ht.Recipe] = []

    def stop(_: Any, recipe: ht.Recipe, **__: Any) -> None:
        made.append(recipe)
        raise click.exceptions.Exit(0)

    monkeypatch.setattr("hushtable.cli.publish.carried_out", stop)
    start = ["publish", data, "--domain", "people.toml", "--epsilon", "0.1", "-o", "out.parquet"]
    done = run(*start, *words)
    assert done.exit_code == 0, done.stderr
    return made[0]


NO_WORDS = {"ctx", "quiet", "json", "help_all"}  # of the command alone: how it speaks

# Every option of the command, in the words of Python.
SAID: list[tuple[list[str], dict[str, Any]]] = [
    ([], {"engine": "local"}),
    (["--where", "job > 3"], {"where": "job > 3"}),
    (["--query", "SELECT * FROM data"], {"query": "SELECT * FROM data"}),
    (["--table", "visits"], {"table": "visits", "data": "postgresql://ann:secret@host/clinic"}),
    (["--engine", "spark", "--master", "local[1]"], {"engine": "spark", "master": "local[1]"}),
    (["--memory", "1GB"], {"memory": "1GB"}),
    (["--level", "town=region"], {"level": {"town": "region"}}),
    (["--unit", "id", "--max-rows", "3"], {"unit": ht.Unit("id", max_rows=3)}),
    (["--unit", "id", "--max-cells", "9"], {"unit": ht.Unit("id", max_cells=9)}),
    (
        ["--unit", "id", "--max-cells", "9", "--max-per-cell", "2"],
        {"unit": ht.Unit("id", max_cells=9, max_per_cell=2)},
    ),
    (["--count-column", "n"], {"count_column": "n"}),
    (["--sum-column", "n", "--clamp", "0", "9"], {"sum_column": "n", "clamp": (0, 9)}),
    (["--rows-are-units"], {"rows_are_units": True}),
    (["--total-share", "1/7"], {"total_share": "1/7"}),
    (["--left-out-share", "1/70"], {"left_out_share": "1/70"}),
    (["--delta", "1e-6", "--law", "gaussian"], {"delta": "1e-6", "law": "gaussian"}),
    (["--ledger", "people.ledger"], {"ledger": "people.ledger"}),
    (["--no-ledger"], {"ledger": False}),
    (["--ask", "town", "--ask", "town,job", "--size", "9"], {"ask": ["town", "town,job"], "size": 9}),
    (["--summary", "priority", "--size", "9"], {"summary": ht.Priority(size=9)}),
    (["--summary", "filter", "--cutoff", "9"], {"summary": ht.Filter(cutoff=9)}),
    (
        ["--summary", "filter", "--cutoff", "9", "--one-sided"],
        {"summary": ht.Filter(cutoff=9, two_sided=False)},
    ),
    (
        ["--summary", "filter-threshold", "--cutoff", "9", "--threshold", "40"],
        {"summary": ht.FilterThreshold(cutoff=9, threshold=40)},
    ),
    (["--cutoff", "auto", "--size", "5"], {"summary": {"cutoff": "auto"}, "size": 5}),
    (["--summary", "everything"], {"summary": ht.Everything()}),
    (["--structure", "cells", "--size", "9"], {"structure": "cells", "size": 9}),
    (["--structure", "dyadic", "--consistent"], {"structure": ht.Dyadic(consistent=True)}),
    (["--structure", "haar", "--order", "job,town"], {"structure": ht.Haar(order=["job", "town"])}),
    (["--structure", "tree", "--order", "morton"], {"structure": ht.Tree(order="morton")}),
    (["--structure", "tree", "--branching", "4"], {"structure": ht.Tree(branching=4)}),
    (
        ["--structure", "sketch", "--width", "8", "--depth", "2"],
        {"structure": ht.CountSketch(width=8, depth=2)},
    ),
    (
        ["--marginals", "all-1", "--marginals", "town,job", "--weights", "1,2"],
        {"structure": ht.Marginals("all-1", ["town", "job"], weights=[1, 2])},
    ),
    (
        ["--expect-cells", "9", "--expect-mean", "4", "--expect-sd", "1"],
        {"plan": {"expect_cells": 9, "expect_mean": 4, "expect_sd": 1}},
    ),
    (["--profile", "counts.csv"], {"plan": {"profile": "counts.csv"}}),
    (["--like", "old.parquet", "--anyway"], {"plan": {"like": "old.parquet"}, "anyway": True}),
    (["--hierarchy", "region(town) > town"], {"structure": ht.Hierarchy("region(town)", "town")}),
    (["--structure", "auto"], {"structure": "auto"}),
    (["--overwrite"], {"overwrite": True}),
]


@pytest.mark.parametrize(("options", "words"), SAID, ids=lambda each: " ".join(each) or "none")
def test_both_doors_make_equal_recipes_of_equal_words(
    options: list[str], words: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"data": "rows.parquet"} | words
    said = by_command(monkeypatch, *options, data=words["data"])
    made = ht.Recipe(**BASE, **words)

    assert said == made
    assert ht.Recipe(**made.words) == made


def test_all_options_are_tried() -> None:
    tried = {word for options, _ in SAID for word in options if word.startswith("--")}
    known = {f"--{name.replace('_', '-')}" for names in GROUPS.values() for name in names}

    hidden = {"--domain", "--epsilon", "--output", "--help", "--quiet", "--json", "--help-all"}
    hidden |= {"--rho"}  # in the place of --epsilon, which all of these have: tests of laws say it
    assert tried | hidden == known
    options = {
        *SAME,
        *UNIT,
        *STRUCTURE,
        *SUMMARY,
        *PLAN,
        "level",
        "unit",
        "ledger",
        "no_ledger",
        "ask",
        "hierarchy",
    }
    assert options | {"structure", "summary"} == set(inspect.signature(command).parameters) - NO_WORDS


def test_keys_of_a_recipe_are_the_words_of_publish() -> None:
    words = set(inspect.signature(ht.publish).parameters)
    assert words == set(inspect.signature(ht.Recipe).parameters)


@pytest.mark.parametrize(("options", "words"), SAID, ids=lambda each: " ".join(each) or "none")
def test_a_recipe_is_saved_and_loaded(options: list[str], words: dict[str, Any], people: Path) -> None:
    recipe = ht.Recipe(**BASE, **{"data": "rows.parquet"} | words)

    recipe.save("saved.toml")
    assert ht.Recipe.load("saved.toml") == recipe
    (people / "below").mkdir()
    recipe.save(people / "below" / "moved.toml")
    moved = ht.Recipe.load(people / "below" / "moved.toml")
    if isinstance(recipe.data, str):
        assert Path(moved.data).resolve() == (people / "rows.parquet").resolve()
    else:  # an address stays where it is
        assert moved.data == recipe.data


@given(
    words=st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.recursive(
            st.text(max_size=20) | st.integers(-(2**60), 2**60) | st.booleans(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
            ),
            max_leaves=12,
        ),
        max_size=6,
    )
)
def test_what_is_written_as_toml_is_read_as_it_was(words: dict[str, Any]) -> None:
    import tomllib

    if any("\ud800" <= each <= "\udfff" for each in str(words)):
        return
    assert tomllib.loads("\n".join(_toml(words))) == words


FILE = """\
ledger = "people.ledger"
[defaults]
data = "rows-{year}.parquet"
domain = "people.toml"
epsilon = 0.1
size = 9
[[release]]
name = "towns-{year}"
where = "regexp_matches(town, '[a-z]{2}') AND town <> '{{year}}'"
output = "towns-{year}.parquet"
[[release]]
name = "jobs-{year}"
epsilon = "1/3"
unit = { column = "id", max_rows = 2 }
output = "jobs-{year}.parquet"
[[release]]
name = "people-{year}"
unit = { column = "id", max_cells = 2 }
output = "people-{year}.parquet"
"""


def test_a_file_has_defaults_parameters_and_paths_beside_it(people: Path) -> None:
    (people / "below").mkdir()
    (people / "below" / "releases.toml").write_text(FILE)

    recipe = ht.Recipe.load(people / "below" / "releases.toml", "jobs-2025", year=2025)
    towns = ht.Recipe.load(people / "below" / "releases.toml", "towns-2025", year=2025)

    assert recipe.epsilon == Fraction(1, 3)
    assert towns.epsilon == Fraction(1, 10)
    assert recipe.unit == ht.Unit("id", max_rows=2)
    counted = ht.Recipe.load(people / "below" / "releases.toml", "people-2025", year=2025)
    assert counted.unit == ht.Unit("id", max_cells=2)
    assert recipe.data == str(people / "below" / "rows-2025.parquet")
    assert recipe.ledger == str(people / "below" / "people.ledger")
    assert towns.where == "regexp_matches(town, '[a-z]{2}') AND town <> '{year}'"


@pytest.mark.parametrize(
    ("text", "parameters", "said"),
    [
        (FILE, {}, "the parameter {year} is not set"),
        (FILE, {"year": 1, "month": 2}, "it has no parameter 'month'"),
        (FILE, {"year": 1}, "it has 3 releases.\nName one: towns-1, jobs-1, people-1."),
        ("ledgre = 'a'", {}, "unknown key 'ledgre'.\nDid you mean 'ledger'?"),
        ("x = ", {}, "it is not TOML"),
        ("[defaults]", {}, "it has no releases"),
        ("[[release]]\nsizes = 3", {}, "a recipe has no setting 'sizes'.\nDid you mean `size`?"),
        ("[[release]]\nmax_rows = 3", {}, 'belongs to `unit`, as in unit = { column = "person_id", max_rows'),
        ("[[release]]\nname = 'a'", {}, "release 'a': `domain` is missing"),
        ("[[release]]\nname = 'a'\nledger = 'x'", {}, "`domain` is missing"),
        ("[[release]]\ndomain='d'\nepsilon=0", {}, "epsilon=0 is not above 0"),
        ("[[release]]\ndomain='d'\nepsilon=1\nunit='id'", {}, "unit is a str, not a Unit"),
        ("[[release]]\ndomain='d'\nepsilon=1\nunit={column='id'}", {}, "does not say `column` and"),
        ("[[release]]\ndomain='d'\nepsilon=1\nplan={alike='x'}", {}, "Did you mean `like`?"),
        ("[[release]]\ndomain='d'\nepsilon=1\nsummary='best'", {}, "there is no summary 'best'"),
        ("[[release]]\ndomain='d'\nepsilon=1\nanyway='yes'", {}, "is neither true nor false"),
        ("[[release]]\ndomain='d'\nepsilon=1\nsize='9'", {}, "size='9'"),
        ("ledger='a'\n[[release]]\ndomain='d'\nepsilon=1\nledger='b'", {}, "A file has one ledger"),
        (
            "[defaults]\ndomain='d'\nepsilon=1\n[[release]]\nname='a'\n[[release]]\nname='a'",
            {},
            "two releases are named 'a'",
        ),
    ],
)
def test_what_a_file_cannot_say(text: str, parameters: dict[str, Any], said: str, people: Path) -> None:
    (people / "releases.toml").write_text(text)

    with pytest.raises(ht.BadRecipe, match=r"releases\.toml") as raised:
        ht.Recipe.load("releases.toml", **parameters)
    assert said in str(raised.value)


def test_a_recipe_publishes_as_its_words_do(people: Path) -> None:
    recipe = ht.Recipe(data="rows.parquet", **BASE, size=20, ledger=False)

    release = ht.publish(recipe)

    assert release.terms.epsilon == Fraction(1, 10)
    with pytest.raises(ht.OutputExists):
        ht.publish("rows.parquet", **BASE, size=20, ledger=False)
    with pytest.raises(ht.BadChoice, match="`size` came with a recipe"):
        ht.publish(recipe, size=3)
    with pytest.raises(ht.BadChoice, match="no output"):
        ht.publish(recipe.replace(output=None))
    with pytest.raises(ht.BadChoice, match="no data"):
        ht.publish(recipe.replace(data=None))
    with pytest.raises(ht.BadChoice, match="Did you mean `size`"):
        recipe.replace(sise=3)
    with pytest.raises(ht.BadChoice, match="nothing says what the release may cost"):
        ht.publish("rows.parquet", domain="people.toml", output="x.parquet")


@pytest.mark.parametrize(
    "words",
    [
        {"size": 20},
        {"ask": ["town", {"ask": "town,job", "weight": "2"}], "size": 20},
        {"structure": ht.Tree(branching=4), "size": 5},
        {"summary": ht.Priority(size=7)},
        {"summary": {"name": "filter", "cutoff": "auto"}, "size": 7},
        {"structure": ht.Marginals("all-1"), "size": 7, "total_share": "1/9", "left_out_share": "1/99"},
        {"structure": ht.CountSketch(width=8)},
        {"where": "job > 3", "size": 7, "count_column": None},
    ],
    ids=str,
)
def test_a_release_gives_its_recipe_back(words: dict[str, Any]) -> None:
    recipe = ht.Recipe(data="rows.parquet", **BASE, ledger=False, **words)
    release = ht.publish(recipe)

    again = ht.Recipe.from_release(release, data="rows.parquet", output="out.parquet", ledger=False)

    assert again.replace(domain="people.toml") == recipe
    assert again.domain == ht.Domain.load("people.toml")
    next_year = ht.publish(again.replace(output="next.parquet"))
    told = [
        (each.terms.structure, each.terms.method, each.terms.total_budget) for each in (release, next_year)
    ]
    assert told[0] == told[1]


def test_a_release_tells_no_path_of_its_recipe(people: Path) -> None:
    (people / "secret-place").mkdir()
    pq.write_table(pq.read_table("rows.parquet"), "secret-place/rows.parquet")
    ht.Ledger.create("secret-place/x.ledger", epsilon=1, about="x")
    ht.publish("secret-place/rows.parquet", **BASE, size=20, ledger="secret-place/x.ledger", memory="1GB")

    assert b"secret-place" not in (people / "out.parquet").read_bytes()
    assert b"1GB" not in (people / "out.parquet").read_bytes()


def test_an_older_release_gives_back_what_was_decided(people: Path) -> None:
    from dataclasses import replace

    release = ht.publish("rows.parquet", **BASE, structure="cells", size=20, ledger=False)
    release.terms = replace(release.terms, recipe=None)

    again = ht.Recipe.from_release(release)

    assert again.size == 20
    assert again.total_share == Fraction(1, 50)


def test_rows_in_memory_are_no_part_of_a_file() -> None:
    rows = pa.table({"town": ["a"], "job": [1]})
    recipe = ht.Recipe(data=rows, **BASE, size=5)

    assert recipe == ht.Recipe(data=rows, **BASE, size=5)
    assert recipe != ht.Recipe(data=rows.slice(0), **BASE, size=5)
    with pytest.raises(ht.BadChoice, match="`data` of the recipe is an object of Python"):
        recipe.save("out.toml")


def test_only_a_file_of_recipes_is_replaced(people: Path) -> None:
    recipe = ht.Recipe(data="rows.parquet", **BASE)

    with pytest.raises(ht.BadOutput, match="not a file of recipes"):
        recipe.save("people.toml", overwrite=True)
    recipe.save("a.toml")
    with pytest.raises(ht.OutputExists):
        recipe.save("a.toml")
    recipe.save("a.toml", overwrite=True)
    assert [*RecipeFile.load("a.toml").recipes] == [""]
    assert re.search("^epsilon = ", (people / "a.toml").read_text(), re.M)


def test_a_recipe_shows_no_row() -> None:
    recipe = ht.Recipe(data=pa.table({"town": ["SECRET"], "job": [1]}), **BASE)

    assert "SECRET" not in repr(recipe)
    assert "data=<Table, private>" in repr(recipe)
    with pytest.raises(ht.BadChoice, match="`data` of the recipe"):
        ht.Recipe(data={"town": ["SECRET"], "job": [1]}, **BASE).save("out.toml")


ODD = [5, True, [], {}, "", "\0", [[1, 2], [3]], {"name": ["a"]}, {"name": {"a": 1}}, {"like": 5}, "1e-999"]
ODD += [
    {"name": "marginals", "marginals": 5},
    {"name": "tables", "tables": 5},
    {"name": "filter", "one_sided": 1},
]


@pytest.mark.parametrize("word", sorted(inspect.signature(ht.Recipe).parameters))
def test_odd_words_are_one_error_of_ours(word: str, people: Path) -> None:
    for value in ODD:
        try:
            words: dict[str, Any] = (
                {"data": "rows.parquet", "ledger": False, "size": 5} | BASE | {word: value}
            )
            recipe = ht.Recipe(**words)
            ht.publish(recipe.replace(overwrite=True))
        except ht.HushtableError:
            pass
    assert ht.Recipe(data="rows.parquet", **BASE, memory="1GB") != ht.Recipe(data="rows.parquet", **BASE)


def test_what_is_saved_is_what_is_loaded(people: Path) -> None:
    (people / "deep" / "real").mkdir(parents=True)
    (people / "link").symlink_to(people / "deep" / "real")
    recipe = ht.Recipe(
        data="rows-10:00.csv",
        **BASE,
        where="regexp_matches(town, 'a{{2}}') OR town = '{{town}}'",
        plan={"expect_cells": 9, "expect_mean": 60.5, "expect_sd": 2},
        name="n",
    )

    recipe.save("link/saved.toml")
    recipe.save("saved.toml")

    assert ht.Recipe.load("saved.toml", name="n") == recipe
    loaded = ht.Recipe.load("link/saved.toml")
    assert os.path.realpath(str(loaded.data)) == os.path.realpath("rows-10:00.csv")
    assert loaded.where == recipe.where


def test_a_recipe_stays_as_it_is_and_takes_new_words() -> None:
    recipe = ht.Recipe(data="rows.parquet", **BASE, level={"town": "region"}, size=9)

    with pytest.raises(TypeError):
        recipe.level["town"] = "x"  # type: ignore[index]
    assert recipe.replace(summary=ht.Priority(size=7)).size == 7
    release = ht.publish("rows.parquet", **BASE, structure="cells", size=20, ledger=False)
    thinned = release.thin(size=3, output="thin.parquet")
    assert ht.Recipe.from_release(thinned, size=50).size == 50
