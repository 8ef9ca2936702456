"""Terms as JSON: canonical, complete, read back equal; anything else is `BadRelease`."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadRelease
from hushtable.files.parts import FilePart
from hushtable.release import footer
from hushtable.release.footer import entries_of, terms_of
from hushtable.release.record import Terms
from hushtable.structures.cells import Cells
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.pruned import Tree
from hushtable.structures.structure import Structure as Hierarchy
from tests.harness.statistics import tries
from tests.release.examples import (
    PLAN,
    PRUNED,
    STRUCTURES,
    TRIPS_DOMAIN,
    people,
    random_terms,
    random_tree_terms,
    terms,
    tree_terms,
    write,
)


def encoded(entries: dict[str, str]) -> dict[bytes, bytes]:
    return {key.encode(): value.encode("ascii") for key, value in entries.items()}


def document(made: Terms) -> dict[str, Any]:
    return dict(json.loads(entries_of(made)["hushtable"]))


def read(said: object) -> Terms:
    return terms_of({b"hushtable": json.dumps(said).encode()})


@given(made=random_terms() | random_tree_terms())
def test_terms_are_read_back(made: Terms) -> None:
    entries = entries_of(made)

    assert terms_of(encoded(entries)) == made
    assert entries_of(terms_of(encoded(entries))) == entries


def test_json_is_canonical_and_exact() -> None:
    text = entries_of(terms(where="größer > 3"))["hushtable"]
    said = json.loads(text)

    assert text == json.dumps(said, sort_keys=True, separators=(",", ":"))
    assert text.isascii()
    assert (said["format"], said["epsilon"], said["total_epsilon"]) == (1, "1/10", "1/500")
    assert (said["sensitivity"], said["total"], said["cutoff"]) == ("1", "10023", 20.0)
    assert said["summary"] == {"name": "filter-priority", "cutoff": "20", "size": 1000, "two_sided": True}


def test_the_keys_are_those_of_the_specification() -> None:
    # A new key is a new fact that leaves the building: think, then write it into docs/format.md.
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    said = document(terms())

    assert sorted(said) == [
        "cutoff",
        "domain",
        "domain_digest",
        "epsilon",
        "format",
        "guarantee",
        "measure",
        "query",
        "rows_are_units",
        "rule",
        "sensitivity",
        "structure",
        "summary",
        "threshold",
        "total",
        "total_epsilon",
        "version",
        "where",
    ]
    planned = document(terms(plan=PLAN))
    assert set(planned) - set(said) == {"plan"}
    keys = [*planned, *said["measure"], *said["summary"], *planned["plan"]]
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("structure", "entries"),
    [
        (Cells(), {"format": 1, "structure": "cells"}),
        (Dyadic(), {"format": 2, "structure": "dyadic", "order": None, "consistent": False}),
        (
            Dyadic(consistent=True, order=["hour"]),
            {"format": 2, "structure": "dyadic", "order": ["hour"], "consistent": True},
        ),
        (
            Haar(order=["hour", "home"]),
            {"format": 2, "structure": "haar", "order": ["hour", "home"]},
        ),
        (ProductDyadic(), {"format": 2, "structure": "product-dyadic", "order": None}),
        (Tree(), {"format": 2, "structure": "tree", "order": None, "branching": 16}),
        (
            Tree(branching=4, order="morton"),
            {"format": 2, "structure": "tree", "order": "morton", "branching": 4},
        ),
        (
            Tree(branching=2, order=["hour"]),
            {"format": 2, "structure": "tree", "order": ["hour"], "branching": 2},
        ),
    ],
)
def test_a_structure_adds_its_settings_and_no_more(
    structure: Cells | Hierarchy, entries: dict[str, Any]
) -> None:
    said = document(terms(TRIPS_DOMAIN) if isinstance(structure, Cells) else tree_terms(structure))
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")

    assert {key: said[key] for key in entries} == entries
    assert set(said) - set(document(terms())) == set(entries) - {"format", "structure"}
    assert [key for key in entries if f"`{key}`" not in page] == []


def test_a_long_domain_is_packed_beside_the_terms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made, given = people()
    monkeypatch.setattr(footer, "_LARGEST_PLAIN_DOMAIN", 100)
    write(tmp_path / "x.parquet", made, given)
    metadata = pq.read_metadata(tmp_path / "x.parquet").metadata

    assert "domain" not in json.loads(metadata[b"hushtable"])
    packed = zlib.decompress(base64.b64decode(metadata[b"hushtable.domain"]))
    assert json.loads(packed) == made.domain.to_dict()
    assert ht.open(tmp_path / "x.parquet").terms == made


def test_long_means_above_four_mebibytes() -> None:
    for values, packed in ((4_100, False), (4_200, True)):
        said = {"name": "a", "categories": [f"{place:01000}" for place in range(values)]}
        made = terms(ht.Domain.from_dict({"attribute": [said]}))

        assert ("hushtable.domain" in entries_of(made)) is packed
        assert terms_of(encoded(entries_of(made))) == made


@pytest.mark.parametrize("packed", [b"", b"AAAA", b"no base64!", base64.b64encode(zlib.compress(b"[]"))])
def test_a_damaged_packed_domain_is_refused(packed: bytes) -> None:
    said = document(terms())
    del said["domain"]

    with pytest.raises(BadRelease):
        terms_of({b"hushtable": json.dumps(said).encode(), b"hushtable.domain": packed})


def test_unknown_keys_are_passed_over() -> None:
    said = document(terms())
    said["further"] = said["measure"]["further"] = said["summary"]["further"] = {"a": [1]}

    assert read(said) == terms()


def test_a_plan_is_read_back_and_may_be_absent() -> None:
    said = document(terms(plan=PLAN))

    assert said["plan"] == {
        "rule": "plan-1",
        "assumed": "as in söuth",
        "size": 1000,
        "counts": [1.0, 20.0, 300.0],
        "cells": [5e3, 1 / 3, 1e200],
    }
    assert read(said).plan == PLAN
    said["plan"]["further"] = 1
    said["plan"]["counts"] = [1, 20, 300]
    assert read(said).plan == PLAN
    del said["plan"]
    assert read(said).plan is None


@pytest.mark.parametrize(
    "change",
    [
        {"rule": ""},
        {"rule": None},
        {"assumed": 3},
        {"assumed": ""},
        {"size": 0},
        {"size": True},
        {"size": "9"},
        {"counts": []},
        {"counts": [1, 20]},
        {"counts": [1, 20, 20]},
        {"counts": [-1, 20, 300]},
        {"counts": [1, True, 300]},
        {"counts": [1, "20", 300]},
        {"counts": [1, 20, 10**400]},
        {"counts": "abc"},
        {"counts": {"1": 2}},
        {"cells": None},
        {"cells": [1, 2]},
        {"cells": [1, 2, 0]},
        {"cells": [1, 2, float("nan")]},
        {"counts": [*range(1, 20_000)], "cells": [1] * 19_999},
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_plan_that_is_none_is_refused(change: dict[str, Any]) -> None:
    said = document(terms(plan=PLAN))

    with pytest.raises(BadRelease):
        read(said | {"plan": said["plan"] | change})


@pytest.mark.parametrize("key", sorted(document(terms(plan=PLAN))["plan"]))
def test_a_plan_without_a_key_is_refused(key: str) -> None:
    said = document(terms(plan=PLAN))
    del said["plan"][key]

    with pytest.raises(BadRelease):
        read(said)


def test_a_newer_format_asks_for_an_upgrade() -> None:
    with pytest.raises(BadRelease, match=r"format 10, .* up to 9\. Upgrade: pip install --upgrade hushtable"):
        read({"format": 10})


BY_CELL = Measure(unit=Unit("id", max_cells=10, max_per_cell=2))


def test_readers_that_know_of_rows_alone_ask_for_an_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rows of the file are, and where it is a part of several."""
    made = [terms(measure=BY_CELL), *(tree_terms(each, measure=BY_CELL) for each in (*STRUCTURES, *PRUNED))]
    for each in made:
        assert read(document(each)) == each
        assert document(each)["format"] == 6
    part = footer.entries_of(made[0], FilePart(number=0, of=2, before=None))[footer.KEY]
    assert json.loads(part)["format"] == 6
    monkeypatch.setattr(footer, "FORMAT", 5)
    for each in made:
        with pytest.raises(BadRelease, match=r"format 6, .* up to 5\. Upgrade"):
            read(document(each))


def test_bounds_of_a_unit_are_in_the_footer() -> None:
    said = document(terms(measure=BY_CELL))["measure"]["unit"]
    assert said == {"column": "id", "max_cells": 10, "max_per_cell": 2}
    once = document(terms(measure=Measure(unit=Unit("id", max_cells=10))))
    assert once["measure"]["unit"] == {"column": "id", "max_cells": 10, "max_per_cell": 1}
    by_row = document(terms(measure=Measure(unit=Unit("id", max_rows=10))))
    assert (by_row["format"], by_row["measure"]["unit"]) == (1, {"column": "id", "max_rows": 10})


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ({"max_cells": 10}, "no `max_per_cell`"),
        ({"max_cells": 10, "max_per_cell": 2, "max_rows": 20}, "two bounds"),
        ({"max_cells": 0, "max_per_cell": 2}, "max_cells=0"),
        ({"max_cells": 10, "max_per_cell": 3}, "changes what is published by up to 30"),
        ({"max_cells": "10", "max_per_cell": 2}, "its `max_cells` is"),
        ({"max_rows": 20}, "format is 6, which does not fit"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(unit: dict[str, Any], said: str) -> None:
    changed = document(terms(measure=BY_CELL))
    changed["measure"]["unit"] = {"column": "id", **unit}

    with pytest.raises(BadRelease, match=said):
        read(changed)


def test_a_number_of_a_format_without_bounds_on_cells_is_refused() -> None:
    for number in range(1, 6):
        with pytest.raises(BadRelease, match=f"format is {number}, which does not fit"):
            read(document(terms(measure=BY_CELL)) | {"format": number})
    with pytest.raises(BadRelease, match="format is 6, which does not fit"):
        read(document(terms()) | {"format": 6})


def test_readers_of_format_1_open_cells_and_ask_for_an_upgrade_for_trees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(footer, "FORMAT", 1)

    assert read(document(terms())) == terms()
    for structure in (*STRUCTURES, *PRUNED):
        with pytest.raises(
            BadRelease, match=r"format 2, .* up to 1\. Upgrade: pip install --upgrade hushtable"
        ):
            read(document(tree_terms(structure)))


@pytest.mark.parametrize("structure", [*STRUCTURES, *PRUNED], ids=repr)
def test_a_format_that_does_not_fit_the_structure_is_refused(structure: Hierarchy) -> None:
    with pytest.raises(BadRelease, match="format is 1, which does not fit"):
        read(document(tree_terms(structure)) | {"format": 1})
    with pytest.raises(BadRelease, match="format is 2, which does not fit"):
        read(document(terms()) | {"format": 2})


def test_a_whole_number_is_a_float_too() -> None:
    assert read(document(terms()) | {"cutoff": 20}) == terms()


CHANGES: list[tuple[str, object]] = [
    ("format", None),
    ("format", True),
    ("format", 0),
    ("format", "1"),
    ("domain", {}),
    ("domain", []),
    ("domain_digest", "0" * 64),
    ("domain_digest", None),
    ("measure", None),
    ("measure", {}),
    ("measure", {"count_column": 1, "sum_column": None, "clamp": None, "unit": None}),
    ("measure", {"count_column": None, "sum_column": "a", "clamp": [9, 1], "unit": None}),
    ("measure", {"count_column": None, "sum_column": None, "clamp": None, "unit": 7}),
    ("measure", {"count_column": None, "sum_column": None, "clamp": None, "unit": {"column": "a"}}),
    (
        "measure",
        {"count_column": None, "sum_column": None, "clamp": None, "unit": {"column": "a", "max_rows": True}},
    ),
    ("rows_are_units", 1),
    ("where", 3),
    ("epsilon", 0.1),
    ("epsilon", "0"),
    ("epsilon", "-1"),
    ("epsilon", "1/0"),
    ("epsilon", "1/900"),
    ("epsilon", "9" * 4000),
    ("epsilon", "nan"),
    ("total_epsilon", "0"),
    ("total_epsilon", "1/10"),
    ("sensitivity", "2"),
    ("sensitivity", "1/2"),
    ("sensitivity", 1),
    ("structure", "forest"),
    ("structure", "tree"),
    ("summary", {"name": "sketch"}),
    ("summary", {"name": "priority", "size": None, "two_sided": True}),
    ("summary", {"name": "priority", "size": 0, "two_sided": True}),
    ("summary", {"name": "priority", "size": 10, "two_sided": "yes"}),
    ("summary", {"name": "filter", "size": 10, "cutoff": "3", "two_sided": True}),
    (
        "summary",
        {"name": "filter-threshold", "size": 1, "cutoff": None, "threshold": None, "two_sided": True},
    ),
    ("summary", {"name": ["filter"]}),
    ("rule", []),
    ("cutoff", "20"),
    ("cutoff", True),
    ("cutoff", -1.0),
    ("threshold", 10**400),
    ("threshold", float("nan")),
    ("threshold", float("inf")),
    ("total", 10023),
    ("total", None),
    ("total", "1.5"),
    ("version", None),
    ("plan", None),
    ("plan", []),
    ("plan", {}),
]


@pytest.mark.parametrize(("key", "value"), CHANGES, ids=lambda part: str(part)[:60])
def test_a_footer_that_describes_no_release_is_refused(key: str, value: object) -> None:
    with pytest.raises(BadRelease):
        read(document(terms()) | {key: value})


TREE_CHANGES: list[tuple[str, object]] = [
    ("structure", "cells"),
    ("structure", "Dyadic"),
    ("structure", "haar"),  # sensitivity 6 is right, but the filter is one-sided
    ("structure", "product-dyadic"),  # of another sensitivity
    ("structure", None),
    ("structure", ["dyadic"]),
    ("order", []),
    ("order", "hour"),
    ("order", ["hour", "hour"]),
    ("order", ["day"]),
    ("order", [1]),
    ("order", [None]),
    ("order", {"hour": 1}),
    ("order", True),
    ("consistent", 1),
    ("consistent", None),
    ("consistent", "true"),
    ("summary", {"name": "filter", "size": None, "cutoff": "20", "two_sided": True}),
    ("summary", {"name": "priority", "size": 10, "two_sided": False}),
    ("sensitivity", "1"),
    ("sensitivity", "5"),
    ("sensitivity", "7"),
]


@pytest.mark.parametrize(("key", "value"), TREE_CHANGES, ids=lambda part: str(part)[:60])
def test_a_footer_that_describes_no_tree_is_refused(key: str, value: object) -> None:
    said = document(tree_terms(Dyadic(consistent=True)))
    assert read(said).sensitivity == 6

    with pytest.raises(BadRelease):
        read(said | {key: value})


PRUNED_CHANGES: list[tuple[str, object]] = [
    ("structure", "dyadic"),  # without `consistent`
    ("structure", "haar"),  # of another sensitivity, and the filter is one-sided
    ("order", "hour"),
    ("order", "Morton"),
    ("order", []),
    ("order", ["day"]),
    ("order", 1),
    ("branching", 3),
    ("branching", 1),
    ("branching", 2048),
    ("branching", 16.0),
    ("branching", "16"),
    ("branching", True),
    ("branching", None),
    ("branching", 2),  # of another sensitivity
    ("sensitivity", "3"),
    ("sensitivity", "12"),
    ("summary", {"name": "filter", "size": None, "cutoff": "20", "two_sided": True}),
    ("summary", {"name": "priority", "size": 10, "two_sided": False}),
    ("summary", {"name": "everything", "nonnegative": True}),
    ("measure", {"count_column": None, "sum_column": "a", "clamp": [-1, 1], "unit": None}),
]


@pytest.mark.parametrize(("key", "value"), PRUNED_CHANGES, ids=lambda part: str(part)[:60])
def test_a_footer_that_describes_no_pruned_tree_is_refused(key: str, value: object) -> None:
    said = document(tree_terms(Tree()))
    # Three levels over 21 cells, of which the root has one share and the others four.
    assert (read(said).sensitivity, read(said).rate) == (9, read(said).budget * 4 / 9)

    with pytest.raises(BadRelease):
        read(said | {key: value})


def test_a_tree_with_a_noisy_total_is_refused() -> None:
    for structure in (Haar(), Tree()):
        with pytest.raises(BadRelease, match="noisy total beside its structure"):
            read(document(tree_terms(structure)) | {"total": "3", "total_epsilon": "1/500"})


def test_a_line_that_is_too_long_is_refused() -> None:
    widest, wider = (
        ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=high)),))
        for high in (2**60 - 1, 2**60)
    )
    said = document(tree_terms(Dyadic(), widest))
    said |= {"domain": wider.to_dict(), "domain_digest": wider.digest}

    with pytest.raises(BadRelease, match=r"does not fit: .*2\^60 cells"):
        read(said)


@pytest.mark.parametrize(
    ("structure", "key"),
    [
        (Dyadic(), "structure"),
        (Dyadic(), "order"),
        (Dyadic(), "consistent"),
        (Tree(), "order"),
        (Tree(), "branching"),
    ],
    ids=repr,
)
def test_a_footer_of_a_tree_without_a_key_is_refused(structure: Hierarchy, key: str) -> None:
    said = document(tree_terms(structure))
    del said[key]

    with pytest.raises(BadRelease, match=f"no `{key}`"):
        read(said)


@pytest.mark.parametrize("key", sorted(set(document(terms())) - {"guarantee"}))
def test_a_footer_without_a_key_is_refused(key: str) -> None:
    said = document(terms())
    del said[key]

    with pytest.raises(BadRelease):
        read(said)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"format":' + b"9" * 5000]
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(BadRelease):
        terms_of({b"hushtable": text})


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1/2", "0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    data=st.data(),
    made=st.sampled_from([terms(), terms(plan=PLAN), *map(tree_terms, (*STRUCTURES, *PRUNED))]),
)
@settings(max_examples=tries(400))
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
