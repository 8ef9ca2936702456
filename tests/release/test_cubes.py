"""Releases of data cubes and sketches: columns, footers read back, and files that are neither."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadChoice, BadRelease, InternalError
from hushtable.release import footer
from hushtable.release.coding import codes_of
from hushtable.release.exporting import export_release, labelled
from hushtable.release.footer import entries_of, terms_of
from hushtable.release.layout import rows_of, schema_of
from hushtable.release.record import Terms
from hushtable.release.terms import Part
from hushtable.structures.cells import Cells
from tests.harness.nodes import check_named
from tests.harness.statistics import tries
from tests.release.examples import (
    CUBES,
    PEOPLE_DOMAIN,
    SKETCH_KEYS,
    Rows,
    all_buckets,
    all_cells,
    cube_terms,
    random_cube_terms,
    random_cubes,
    rows,
    sketch_terms,
    terms,
    write,
)
from tests.release.forging import rewritten
from tests.release.test_footer import document, encoded, json_values, read
from tests.release.test_layout import dictionaries, layout

SKETCH = ht.CountSketch(width=5, depth=2)
WEIGHTED = CUBES[2]
VALUES: dict[str, list[Any]] = {"home": ["n", "s", "e"], "hour": [6, 7, 8, 9, 10, 11, 12]}
OPENED: list[tuple[Terms, Rows]] = [
    *((made, all_cells(made)) for made in map(cube_terms, CUBES)),
    (sketch_terms(SKETCH), all_buckets(sketch_terms(SKETCH))),
]


def expected(marginals: list[list[str]]) -> list[dict[str, Any]]:
    """List all cells of marginals, as the file should say them."""
    return [
        {"marginal": ", ".join(names)} | dict.fromkeys(VALUES) | dict(zip(names, values, strict=True))
        for names in marginals
        for values in product(*(VALUES[name] for name in names))
    ]


@pytest.mark.parametrize(
    ("structure", "marginals"),
    [
        (CUBES[0], [["home"]]),
        (CUBES[1], [["home"], ["hour"]]),
        (CUBES[2], [["home", "hour"], ["hour"]]),
        (CUBES[3], [["home", "hour"], ["home"], ["hour"]]),
    ],
    ids=repr,
)
def test_every_cell_of_every_marginal_says_what_it_is(
    structure: ht.Marginals, marginals: list[list[str]], tmp_path: Path
) -> None:
    made = cube_terms(structure)
    given_rows = all_cells(made)
    write(tmp_path / "x.parquet", made, given_rows)
    release = ht.open(tmp_path / "x.parquet")
    found = release.to_arrow().to_pylist()
    # Weights are those of the marginal: the largest one is sampled with a threshold of 40.5.
    largest = max(marginals, key=lambda names: np.prod([len(VALUES[name]) for name in names]))
    sampled = [row["marginal"] == ", ".join(largest) for row in found]
    counts = range(20, 20 + len(found))
    weights = [max(count, 40.5) if few else count for count, few in zip(counts, sampled, strict=True)]

    wanted = [
        place | {"count": count, "weight": weight}
        for place, count, weight in zip(expected(marginals), counts, weights, strict=True)
    ]
    assert found == wanted
    assert list(found[0]) == ["marginal", "home", "hour", "count", "weight"]
    assert release.terms == made
    assert np.array_equal(release.codes, given_rows.codes)


def test_every_bucket_says_its_row_and_its_number(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *OPENED[-1])

    assert ht.open(tmp_path / "x.parquet").to_arrow().to_pylist() == [
        {"row": row, "bucket": bucket, "count": count, "weight": count}
        for count, (row, bucket) in enumerate(product(range(2), range(5)), -3)
    ]


@given(release=random_cubes())
@settings(max_examples=tries(60))
def test_any_cube_is_opened_again(release: tuple[Terms, Rows]) -> None:
    made, given_rows = release
    table = rows_of(made, *given_rows)

    assert terms_of(encoded(entries_of(made))) == made
    assert entries_of(terms_of(encoded(entries_of(made)))) == entries_of(made)
    assert np.array_equal(codes_of(made, table), given_rows.codes)
    table.validate(full=True)


@pytest.mark.parametrize(
    ("width", "depth", "measure"),
    [
        (1, 1, Measure()),
        (300, 3, Measure(unit=Unit("person", max_rows=4))),
        (2, 2, Measure(count_column="n")),
    ],
)
def test_any_sketch_is_opened_again(width: int, depth: int, measure: Measure, tmp_path: Path) -> None:
    made = sketch_terms(ht.CountSketch(width=width, depth=depth), PEOPLE_DOMAIN, measure=measure)
    given_rows = all_buckets(made)
    write(tmp_path / "x.parquet", made, given_rows)
    release = ht.open(tmp_path / "x.parquet")

    assert release.terms == made
    assert entries_of(release.terms) == entries_of(made)
    assert made.sensitivity == depth * measure.sensitivity
    assert made.rate == Fraction(49, 500) / made.sensitivity
    assert np.array_equal(release.codes, given_rows.codes)
    assert np.array_equal(release.counts, given_rows.counts)
    assert np.array_equal(release.weights, given_rows.weights)


@pytest.mark.parametrize(
    ("made", "given_rows"), OPENED, ids=lambda each: repr(getattr(each, "structure", ""))
)
def test_equal_releases_have_equal_bytes(made: Terms, given_rows: Rows, tmp_path: Path) -> None:
    assert write(tmp_path / "x.parquet", made, given_rows) == write(tmp_path / "y.parquet", made, given_rows)


def test_an_attribute_of_every_kind(tmp_path: Path) -> None:
    made = cube_terms(ht.Marginals("all-1", ["day", "region"]), PEOPLE_DOMAIN)
    cube: Any = made.nodes
    codes = np.concatenate(
        [
            cube.codes(number, np.array([[0] * len(each.places), [size - 1 for size in each.domain.shape]]))
            for number, each in enumerate(cube.marginals)
        ]
    )
    given_rows = rows(made, codes, np.arange(20, 20 + len(codes)))
    write(tmp_path / "x.parquet", made, given_rows)
    release = ht.open(tmp_path / "x.parquet")

    assert np.array_equal(release.codes, codes)
    whole = made.domain.decode(codes[:, 1:]).to_pydict()
    found = release.to_arrow().to_pydict()
    for place, name in enumerate(made.domain.names):
        has = [place in cube.marginals[number].places for number in codes[:, 0]]
        assert found[name] == [value if here else None for value, here in zip(whole[name], has, strict=True)]


# Every tool, and what the layout tells.


def without_nan(frame: Any) -> list[tuple[Any, ...]]:
    """Rows of a pandas frame, in which null is NaN."""
    plain = frame.astype(object).where(frame.notna(), None)
    return list(plain.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("made", "given_rows"), OPENED, ids=lambda each: repr(getattr(each, "structure", ""))
)
def test_every_tool_reads_the_same_values(made: Terms, given_rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write(path, made, given_rows)
    release = ht.open(path)
    wanted = [tuple(row.values()) for row in release.to_arrow().to_pylist()]

    assert len(wanted) == len(given_rows.counts)
    assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == wanted
    with duckdb.connect() as connection:
        assert connection.execute(f"FROM '{path}'").fetchall() == wanted
    assert pl.read_parquet(path).rows() == release.to_polars().rows() == wanted
    for frame in (pd.read_parquet(path), release.to_pandas()):
        assert without_nan(frame) == wanted
        assert frame.dtypes.astype(str)["count"] == "int64"


def test_a_tool_finds_a_marginal_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write(path, *OPENED[3])
    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT home, count FROM '{path}' WHERE marginal = 'home' ORDER BY home"
        ).fetchall()

    assert found == [("e", 43), ("n", 41), ("s", 42)]


def test_only_attributes_of_a_cube_may_be_null(tmp_path: Path) -> None:
    for made, given_rows in OPENED:
        write(tmp_path / "x.parquet", made, given_rows, overwrite=True)
        fields = pq.read_schema(tmp_path / "x.parquet")
        cube = isinstance(made.structure, ht.Marginals)

        assert {field.name for field in fields if field.nullable} == (set(VALUES) if cube else set())
        assert fields.remove_metadata() == schema_of(made)
    assert [str(field.type) for field in schema_of(OPENED[0][0])] == [
        "string",
        "string",
        "int64",
        "int64",
        "double",
    ]
    assert [str(field.type) for field in schema_of(OPENED[-1][0])] == ["int64", "int64", "int64", "double"]


LARGE = ht.Domain(
    attributes=(
        Attribute(name="few", values=Categories(values=tuple(f"{n:05}" for n in range(2**16)))),
        Attribute(name="many", values=Integers(low=0, high=2**16)),
    )
)


def test_layout_of_a_cube_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    part = Part(method=ht.Filter(cutoff=1), rule=None)
    made = cube_terms(ht.Marginals("all-1", "all-2"), LARGE, [part] * 3)
    cube: Any = made.nodes
    many = 50_000
    first = np.concatenate(
        [
            cube.codes(0, np.arange(many)[:, np.newaxis]),
            cube.codes(1, np.arange(many)[:, np.newaxis]),
            cube.codes(2, np.stack([np.zeros(many, np.int64), np.arange(many)], axis=1)),
        ]
    )
    second = np.concatenate(
        [
            cube.codes(0, 15_000 + np.arange(many)[:, np.newaxis]),
            cube.codes(1, 10_000 + np.arange(many)[:, np.newaxis]),
            cube.codes(2, np.stack([np.arange(many), np.arange(many) % 7 * 9000], axis=1)),
        ]
    )
    write(tmp_path / "x.parquet", made, rows(made, first, np.ones(3 * many, dtype=np.int64)))
    write(tmp_path / "y.parquet", made, rows(made, second, np.arange(3 * many) * 10**6))
    metadata = [pq.read_metadata(tmp_path / name).metadata for name in ("x.parquet", "y.parquet")]

    assert layout(tmp_path / "x.parquet") == layout(tmp_path / "y.parquet")
    assert metadata[0][b"hushtable"] == metadata[1][b"hushtable"]
    assert metadata[0].keys() == metadata[1].keys() == {b"hushtable", b"hushtable.checksum"}
    assert dictionaries(tmp_path / "x.parquet") == {"marginal", "few", "count", "weight"}


def test_layout_of_a_sketch_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    made = sketch_terms(ht.CountSketch(width=70_000, depth=2))
    whole = all_buckets(made)
    write(tmp_path / "x.parquet", made, rows(made, whole.codes, whole.counts * 0))
    write(tmp_path / "y.parquet", made, rows(made, whole.codes, whole.counts * 10**6))
    metadata = [pq.read_metadata(tmp_path / name).metadata for name in ("x.parquet", "y.parquet")]

    assert layout(tmp_path / "x.parquet") == layout(tmp_path / "y.parquet")
    assert metadata[0][b"hushtable"] == metadata[1][b"hushtable"]
    assert dictionaries(tmp_path / "x.parquet") == {"row", "count", "weight"}


# Terms and footers.


def test_a_cube_adds_its_settings_and_parts_and_no_more() -> None:
    said = document(cube_terms(WEIGHTED))

    assert set(said) - set(document(terms())) == {"marginals", "weights", "parts"}
    assert (said["format"], said["structure"]) == (3, "marginals")
    assert (said["marginals"], said["weights"]) == ([["hour", "home"], ["hour"]], ["1/2", "3"])
    assert said["sensitivity"] == "7"
    assert said["parts"] == [
        {
            "attributes": ["home", "hour"],
            "epsilon": "7/500",
            "summary": {"name": "filter-priority", "cutoff": "20", "size": 1000, "two_sided": True},
            "rule": "auto-cutoff-1",
            "cutoff": 20.0,
            "threshold": 40.5,
        },
        {
            "attributes": ["hour"],
            "epsilon": "21/250",
            "summary": {"name": "everything", "nonnegative": False},
            "rule": "whole-1",
            "cutoff": None,
            "threshold": None,
        },
    ]
    parts = [Fraction(part["epsilon"]) for part in said["parts"]]
    assert sum(parts) + Fraction(said["total_epsilon"]) == Fraction(said["epsilon"])
    assert document(cube_terms(CUBES[1]))["marginals"] == ["all-1"]
    assert document(cube_terms(CUBES[1]))["weights"] is None


def test_a_sketch_adds_its_settings_and_keys_and_no_more() -> None:
    said = document(sketch_terms(SKETCH))

    assert set(said) - set(document(terms())) == {"width", "depth", "keys"}
    assert (said["format"], said["structure"]) == (3, "sketch")
    assert (said["width"], said["depth"], said["sensitivity"]) == (5, 2, "2")
    assert said["keys"] == list(SKETCH_KEYS[:2])


@given(made=random_cube_terms())
@settings(max_examples=tries(40))
def test_a_part_is_a_release_of_cells_on_its_own_terms(made: Terms) -> None:
    cube: Any = made.nodes
    parts = [made.part(number) for number in range(len(cube.marginals))]

    assert sum(part.budget - part.total_budget for part in parts) == made.budget - made.total_budget
    for number, part in enumerate(parts):
        assert part.structure == Cells()
        assert part.domain == cube.marginals[number].domain
        assert part.sensitivity == made.measure.sensitivity
        assert part.rate == cube.epsilon_of(number, made.budget - made.total_budget) / part.sensitivity
        assert (part.total, part.total_rate) == (made.total, made.total_rate)
        own = Part(method=part.method, rule=part.rule, cutoff=part.cutoff, threshold=part.threshold)
        assert own == made.parts[number]
    assert made.rate == min(part.rate for part in parts)
    assert made.units_total == sum(part.units_total for part in parts)


def test_readers_of_format_2_ask_for_an_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer, "FORMAT", 2)

    assert read(document(terms())) == terms()
    for made in (sketch_terms(SKETCH), *map(cube_terms, CUBES)):
        with pytest.raises(BadRelease, match=r"format 3, .* up to 2\. Upgrade: pip install --upgrade"):
            read(document(made))


@pytest.mark.parametrize("made", [made for made, _ in OPENED], ids=lambda made: repr(made.structure))
@pytest.mark.parametrize("number", [1, 2])
def test_a_format_that_does_not_fit_is_refused(made: Terms, number: int) -> None:
    with pytest.raises(BadRelease, match=f"format is {number}, which does not fit"):
        read(document(made) | {"format": number})


WHOLE = {"name": "everything", "nonnegative": False}
FILTERED = {"name": "filter", "cutoff": "3", "size": None, "two_sided": True}

CUBE_CHANGES: list[tuple[str, object]] = [
    ("structure", "cells"),
    ("structure", "sketch"),
    ("structure", "dyadic"),
    ("structure", "Marginals"),
    ("marginals", None),
    ("marginals", []),
    ("marginals", "all-1"),
    ("marginals", {"home": 1}),
    ("marginals", ["all-1"]),  # of another sensitivity, and of two weights
    ("marginals", ["home", "hour"]),
    ("marginals", [["hour", "home"]]),
    ("marginals", [["hour"], ["hour", "home"]]),  # the largest marginal is another part
    ("marginals", [["hour", "home"], ["hour"], ["home"]]),
    ("marginals", [["hour", "home"], ["home", "hour"]]),
    ("marginals", [["hour", "home"], []]),
    ("marginals", [["hour", "home"], [None]]),
    ("marginals", [["hour", "home"], None]),
    ("marginals", [["hour", "home"], {"hour": 1}]),
    ("marginals", [["hour", "home"], ["day"]]),
    ("marginals", [["hour", "home"], ["hour", "hour"]]),
    ("marginals", [["hour", "home"], "all-0"]),
    ("marginals", [["hour", "home"], "all-2"]),
    ("weights", []),
    ("weights", ["1/2"]),
    ("weights", ["1/2", "3", "3"]),
    ("weights", "ab"),
    ("weights", ["1/2", "0"]),
    ("weights", ["1/2", "-3"]),
    ("weights", ["1/2", None]),
    ("weights", ["1/2", True]),
    ("weights", ["1/2", "x"]),
    ("weights", ["1/2", "1e4000"]),
    ("weights", None),  # of another sensitivity
    ("weights", ["1/2", "2"]),  # of another sensitivity
    ("sensitivity", "2"),
    ("sensitivity", "14"),
    ("parts", None),
    ("parts", []),
    ("parts", {}),
    ("parts", "ab"),
    ("parts", [None, None]),
    ("parts", [[], []]),
    ("summary", WHOLE),
    ("summary", FILTERED),
    ("rule", None),
    ("rule", "whole-1"),
    ("cutoff", 21.0),
    ("cutoff", None),
    ("threshold", 40.0),
    ("threshold", None),
    ("epsilon", "1/500"),
]


@pytest.mark.parametrize(("key", "value"), CUBE_CHANGES, ids=lambda part: str(part)[:60])
def test_a_footer_that_describes_no_cube_is_refused(key: str, value: object) -> None:
    said = document(cube_terms(WEIGHTED))
    assert read(said).sensitivity == 7

    with pytest.raises(BadRelease):
        read(said | {key: value})


@pytest.mark.parametrize("key", ["marginals", "weights", "parts", "summary", "rule", "cutoff", "threshold"])
def test_a_footer_of_a_cube_without_a_key_is_refused(key: str) -> None:
    said = document(cube_terms(WEIGHTED))
    del said[key]

    with pytest.raises(BadRelease, match=f"no `{key}`"):
        read(said)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        {"summary": None},
        {"summary": {}},
        {"summary": {"name": "sketch"}},
        {"summary": {"name": "priority", "size": 0, "two_sided": True}},
        {"rule": 3},
        {"cutoff": "20"},
        {"cutoff": True},
        {"cutoff": -1.0},
        {"cutoff": 10**400},
        {"threshold": "x"},
        {"threshold": -1.0},
    ],
    ids=repr,
)
def test_a_part_that_describes_no_summary_is_refused(number: int, change: dict[str, Any]) -> None:
    said = document(cube_terms(WEIGHTED))
    said["parts"][number] |= change

    with pytest.raises(BadRelease):
        read(said)


@pytest.mark.parametrize("key", ["summary", "rule", "cutoff", "threshold"])
def test_a_part_without_a_key_is_refused(key: str) -> None:
    said = document(cube_terms(WEIGHTED))
    del said["parts"][1][key]

    with pytest.raises(BadRelease, match=f"no `{key}`"):
        read(said)


def test_parts_too_few_or_too_many_are_refused() -> None:
    said = document(cube_terms(WEIGHTED))
    for parts in (said["parts"][:1], [*said["parts"], said["parts"][1]]):
        with pytest.raises(BadRelease, match=r"its parts are not one for each marginal\. It must have 2"):
            read(said | {"parts": parts})
    with pytest.raises(BadRelease, match=r"its parts are not one for each marginal\. It must have 0"):
        replace(terms(), parts=cube_terms(WEIGHTED).parts)
    with pytest.raises(BadRelease, match="its parts are not one for each marginal"):
        replace(cube_terms(WEIGHTED), parts=(1, 2))  # type: ignore[arg-type]


def test_the_summary_at_the_top_is_that_of_the_largest_marginal() -> None:
    said = document(cube_terms(WEIGHTED))
    other = deepcopy(said)
    other["parts"][0] |= {"summary": FILTERED}
    with pytest.raises(
        BadRelease, match=r"its summary is not that of its largest marginal\. State them alike"
    ):
        read(other)

    other |= {"summary": FILTERED}
    assert read(other).method == ht.Filter(cutoff=3)
    smaller = deepcopy(said)
    smaller["parts"][1] |= {"summary": FILTERED, "rule": None, "cutoff": 3.0}
    assert read(smaller).part(1).method == ht.Filter(cutoff=3)


def test_what_people_read_in_a_part_is_no_second_source() -> None:
    said = document(cube_terms(WEIGHTED))
    for part in said["parts"]:
        del part["attributes"], part["epsilon"]
        part["further"] = {"a": 1}

    assert read(said) == cube_terms(WEIGHTED)


SKETCH_CHANGES: list[tuple[str, object]] = [
    ("structure", "cells"),
    ("structure", "marginals"),
    ("structure", "Sketch"),
    ("width", None),
    ("width", 0),
    ("width", True),
    ("width", 5.0),
    ("width", "5"),
    ("width", 10**8 + 1),
    ("depth", 0),
    ("depth", 1),  # of other keys and another sensitivity
    ("depth", 3),
    ("depth", 65),
    ("depth", "2"),
    ("depth", True),
    ("keys", None),
    ("keys", []),
    ("keys", [SKETCH_KEYS[0]]),
    ("keys", list(SKETCH_KEYS)),
    ("keys", [SKETCH_KEYS[0], SKETCH_KEYS[1][:-1]]),
    ("keys", [SKETCH_KEYS[0], SKETCH_KEYS[1] + "0"]),
    ("keys", [SKETCH_KEYS[0], SKETCH_KEYS[1].upper()]),
    ("keys", [SKETCH_KEYS[0], "x" * 32]),
    ("keys", [SKETCH_KEYS[0], SKETCH_KEYS[1] + "\n"]),
    ("keys", [SKETCH_KEYS[0], None]),
    ("keys", [SKETCH_KEYS[0], 5]),
    ("keys", "".join(SKETCH_KEYS[:2])),
    ("keys", {"0": SKETCH_KEYS[0], "1": SKETCH_KEYS[1]}),
    ("sensitivity", "1"),
    ("sensitivity", "4"),
    ("summary", FILTERED),
    ("summary", {"name": "everything", "nonnegative": True}),
    ("summary", {"name": "priority", "size": 10, "two_sided": True}),
]


@pytest.mark.parametrize(("key", "value"), SKETCH_CHANGES, ids=lambda part: str(part)[:60])
def test_a_footer_that_describes_no_sketch_is_refused(key: str, value: object) -> None:
    said = document(sketch_terms(SKETCH))
    assert read(said).sensitivity == 2

    with pytest.raises(BadRelease):
        read(said | {key: value})


@pytest.mark.parametrize("key", ["width", "depth", "keys"])
def test_a_footer_of_a_sketch_without_a_key_is_refused(key: str) -> None:
    said = document(sketch_terms(SKETCH))
    del said[key]

    with pytest.raises(BadRelease, match=f"no `{key}`"):
        read(said)


def test_nothing_but_a_sketch_has_keys() -> None:
    with pytest.raises(BadRelease, match="only a sketch has keys of hashing"):
        terms(keys=SKETCH_KEYS[:1])
    with pytest.raises(BadRelease, match="only a sketch has keys of hashing"):
        cube_terms(WEIGHTED, keys=SKETCH_KEYS[:1])


@given(data=st.data(), made=st.sampled_from([sketch_terms(SKETCH), *map(cube_terms, CUBES)]))
@settings(max_examples=tries(250))
def test_any_change_is_refused_or_read(data: st.DataObject, made: Terms) -> None:
    said = document(made)
    place: Any = said
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    change: Callable[[], Any] = data.draw(st.sampled_from([lambda: None, lambda: place.pop(key)]))
    if change() is None:
        place[key] = data.draw(json_values)

    with suppress(BadRelease):
        read(said)


# Names and rows that do not fit.


@pytest.mark.parametrize("name", ["marginal", "Marginal"])
def test_the_name_of_the_column_of_marginals_is_taken(name: str) -> None:
    domain = ht.Domain(attributes=(Attribute(name=name, values=Integers(low=0, high=3)),))

    with pytest.raises(BadChoice, match="'marginals' adds a column 'marginal', and the domain has '"):
        check_named(ht.Marginals("all-1"), domain)
    with pytest.raises(BadRelease, match="adds a column 'marginal'"):
        cube_terms(ht.Marginals("all-1"), domain)
    check_named(Cells(), domain)


def test_attributes_of_a_sketch_may_have_any_name(tmp_path: Path) -> None:
    names = ("row", "bucket", "marginal")
    domain = ht.Domain(
        attributes=tuple(Attribute(name=name, values=Integers(low=0, high=3)) for name in names)
    )
    made = sketch_terms(SKETCH, domain)
    write(tmp_path / "x.parquet", made, all_buckets(made))

    assert ht.open(tmp_path / "x.parquet").to_arrow().column_names == ["row", "bucket", "count", "weight"]


def changed(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    place = table.column_names.index(name)
    values = table.column(name).to_pylist()
    values[row] = value
    return table.set_column(place, table.field(place), pa.array(values, type=table.field(place).type))


# Of the cube of (home, hour), (home), (hour): 21 rows, 3 rows, 7 rows.
@pytest.mark.parametrize(
    ("name", "row", "value", "message"),
    [
        ("home", 0, None, "column 'home' holds values that its domain does not have"),
        ("hour", 20, None, "column 'hour' holds values"),
        ("home", 22, None, "column 'home' holds values"),
        ("hour", 22, 7, "column 'hour' holds values"),
        ("home", 30, "n", "column 'home' holds values"),
        ("home", 0, "N", "column 'home' holds values"),
        ("hour", 0, 5, "column 'hour' holds values"),
        ("hour", 30, 13, "column 'hour' holds values"),
        ("marginal", 0, "hour, home", "its rows name marginals that it does not have"),
        ("marginal", 30, "day", "its rows name marginals that it does not have"),
        ("marginal", 30, "", "its rows name marginals that it does not have"),
        ("marginal", 0, "home", "its rows are not in the order of their codes"),
        ("marginal", 30, "home, hour", "its rows are not in the order of their codes"),
        ("marginal", 21, "hour", "its rows are not in the order of their codes"),
        ("hour", 0, 7, "its rows are not in the order of their codes"),
        ("home", 22, "n", "its rows are not in the order of their codes"),
        ("hour", 30, 6, "its rows are not in the order of their codes"),
    ],
)
def test_rows_that_are_no_cells_of_marginals_are_refused(
    name: str, row: int, value: object, message: str
) -> None:
    made = cube_terms(CUBES[3])
    table = rows_of(made, *all_cells(made))
    assert table.num_rows == 31

    with pytest.raises(BadRelease, match=message):
        codes_of(made, changed(table, name, row, value))


def test_rows_of_a_cube_in_any_other_order_are_refused(tmp_path: Path) -> None:
    made = cube_terms(CUBES[3])
    whole = all_cells(made)
    table = rows_of(made, *whole)

    for order in ([1, 0], [21, 0], [0, 0], list(range(30, -1, -1))):
        with pytest.raises(BadRelease, match="order"):
            codes_of(made, table.take(order))
    backwards = rows(made, whole.codes[::-1][:1], whole.counts[:1])
    assert len(codes_of(made, rows_of(made, *backwards))) == 1
    with pytest.raises(ht.InternalError):
        write(tmp_path / "x.parquet", made, whole._replace(codes=whole.codes[::-1]))
    assert not (tmp_path / "x.parquet").exists()


def test_some_marginals_may_have_no_rows(tmp_path: Path) -> None:
    made = cube_terms(CUBES[3])
    whole = all_cells(made)
    for kept in (slice(0, 0), slice(0, 1), slice(21, 24), slice(24, 31)):
        few = rows(made, whole.codes[kept], whole.counts[kept])
        write(tmp_path / "x.parquet", made, few, overwrite=True)
        assert np.array_equal(ht.open(tmp_path / "x.parquet").codes, few.codes)


def test_codes_of_no_marginal_are_refused() -> None:
    made, one = cube_terms(CUBES[3]), np.array([20])
    for codes in ([[3, 0, 0]], [[0, 3, 0]], [[0, 0, -1]], [[0, 0]], [0]):
        with pytest.raises(ht.BadTable):
            rows_of(made, np.array(codes), one, one.astype(np.float64))


@pytest.mark.parametrize(
    "order", [[*range(9)], [*range(1, 10)], [*range(10), 9], [1, 0, *range(2, 10)], [], [0] * 10]
)
def test_a_sketch_without_all_of_its_buckets_is_refused(order: list[int], tmp_path: Path) -> None:
    made = sketch_terms(SKETCH)
    whole = all_buckets(made)
    table = rows_of(made, *whole).take(pa.array(order, type=pa.int64()))

    with pytest.raises(BadRelease, match="its rows are not all buckets of its sketch"):
        codes_of(made, table)


def test_a_file_with_missing_buckets_is_refused(tmp_path: Path) -> None:
    made = sketch_terms(SKETCH)
    whole = all_buckets(made)
    few = rows(made, whole.codes[:-1], whole.counts[:-1])
    rewritten(tmp_path / "x.parquet", rows_of(made, *few), entries_of(made))

    with pytest.raises(BadRelease, match=r"it has \d+ rows, and a sketch has all \d+ buckets"):
        ht.open(tmp_path / "x.parquet")
    with pytest.raises(InternalError, match="fewer rows than its terms allow"):
        write(tmp_path / "y.parquet", made, few)


@pytest.mark.parametrize(("name", "value"), [("row", 2), ("row", -1), ("bucket", 5), ("bucket", -1)])
def test_buckets_that_do_not_exist_are_refused(name: str, value: int) -> None:
    made = sketch_terms(SKETCH)

    with pytest.raises(BadRelease, match="not all buckets"):
        codes_of(made, changed(rows_of(made, *all_buckets(made)), name, 3, value))


# Other files, and how they look.


def test_a_cube_is_exported_with_labels_where_there_are_values(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *OPENED[3])
    release = ht.open(tmp_path / "x.parquet")
    table = labelled(release)
    export_release(release, tmp_path / "x.csv")
    export_release(release, tmp_path / "x.json")

    assert table.column_names == ["marginal", "home", "home_label", "hour", "count", "weight"]
    assert table.drop_columns(["home_label"]).equals(release.to_arrow())
    names = {"n": "north", "s": "south", "e": "east", None: None}
    assert table["home_label"].to_pylist() == [names[home] for home in table["home"].to_pylist()]
    assert table.schema.field("home_label").nullable
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert lines[-1] == {
        "marginal": "hour",
        "home": "",
        "home_label": "",
        "hour": "12",
        "count": "50",
        "weight": "50",
    }
    assert json.loads((tmp_path / "x.json").read_text())[-1]["home"] is None


def test_a_sketch_is_exported_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *OPENED[-1])
    release = ht.open(tmp_path / "x.parquet")
    export_release(release, tmp_path / "x.jsonl")

    assert labelled(release).equals(release.to_arrow())
    first = json.loads((tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert first == {"row": 0, "bucket": 0, "count": -3, "weight": -3.0}


def test_a_cube_as_text(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *OPENED[2])
    release = ht.open(tmp_path / "x.parquet")

    said = repr(release).splitlines()
    assert said[2:] == [
        "  rows:      28 of 28 cells",
        "  structure: a data cube of 2 marginals: (home, hour), (hour)",
        "  summary:   FilterPriority, cutoff 20, threshold 40.5, size 1,000, chosen by rule auto-cutoff-1; "
        "that of home, hour, the largest marginal",
        "  total:     10,023, noisy, for epsilon = 0.002 of it",
        "  columns:   marginal text, home text, hour int64, count int64, weight float64",
    ]
    page = release._repr_html_()
    assert "<td>home, hour</td><td>n</td><td>6</td><td>20</td><td>40.5</td>" in page
    write(tmp_path / "y.parquet", *OPENED[0])
    assert "largest" not in repr(ht.open(tmp_path / "y.parquet"))
    write(tmp_path / "z.parquet", *OPENED[1])
    assert "<td>home</td><td>n</td><td></td><td>20</td>" in ht.open(tmp_path / "z.parquet")._repr_html_()


def test_many_marginals_are_listed_in_part(tmp_path: Path) -> None:
    domain = ht.Domain(
        attributes=tuple(Attribute(name=f"a{n}", values=Integers(low=0, high=1)) for n in range(40))
    )
    made = cube_terms(ht.Marginals("all-1"), domain)
    write(tmp_path / "x.parquet", made, all_cells(made))

    said = repr(ht.open(tmp_path / "x.parquet"))
    assert "a data cube of 40 marginals: (a0), (a1), " in said
    assert ", (a10), 29 more\n" in said


def test_a_sketch_as_text(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *OPENED[-1])

    assert repr(ht.open(tmp_path / "x.parquet")).splitlines()[2:] == [
        "  rows:      10 of 10 buckets",
        "  structure: a count sketch, 2 rows of 5 buckets, over home, hour",
        "  summary:   Everything",
        "  total:     10,023, noisy, for epsilon = 0.002 of it",
        "  columns:   row int64, bucket int64, count int64, weight float64",
    ]
