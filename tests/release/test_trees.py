"""Releases of trees: columns and values of every node against a slow listing, and rows that are no nodes."""

from __future__ import annotations

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
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.errors import BadChoice, BadRelease
from hushtable.release.coding import codes_of
from hushtable.release.layout import rows_of
from hushtable.release.record import Terms
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.cells import Cells
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.intervals import Intervals
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.structure import Structure
from tests.harness.nodes import check_named, intervals_of, node_space, nodes_of
from tests.release.examples import (
    STRUCTURES,
    TRIPS_DOMAIN,
    Rows,
    all_nodes,
    random_releases,
    random_tree_terms,
    rows,
    tree_terms,
    write,
)

VALUES: dict[str, list[Any]] = {"home": ["n", "s", "e"], "hour": [6, 7, 8, 9, 10, 11, 12]}


def listed(cells: list[dict[str, Any]], *, haar: bool) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """List the nodes over cells in a line, level by level: the level, the first and the last cell."""
    width = 1
    while width < len(cells):
        width *= 2
    found = [(0, cells[0], cells[-1])] if haar else []
    level = len(found)
    while width > (1 if haar else 0):
        for start in range(0, len(cells), width):
            if not haar or start + width // 2 < len(cells):
                found.append((level, cells[start], cells[start : start + width][-1]))
        level, width = level + 1, width // 2
    return found


def in_order(names: list[str]) -> list[dict[str, Any]]:
    return [dict(zip(names, values, strict=True)) for values in product(*(VALUES[name] for name in names))]


def expected(structure: Lifted) -> list[dict[str, Any]]:
    """List all nodes of a structure over trips, as the file should say them."""
    names = list(dict.fromkeys([*(structure.order or ()), *VALUES]))
    if not isinstance(structure, ProductDyadic):
        nodes = listed(in_order(names), haar=isinstance(structure, Haar))
        return [
            {"level": level}
            | {f"{name}{end}": cell[name] for name in VALUES for end, cell in (("", first), ("_last", last))}
            for level, first, last in nodes
        ]
    found = []
    for parts in product(*(listed(in_order([name]), haar=False) for name in names)):
        node: dict[str, Any] = {}
        for name in VALUES:
            level, first, last = parts[names.index(name)]
            node |= {f"{name}_level": level, name: first[name], f"{name}_last": last[name]}
        found.append(node)
    return found


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_every_node_says_its_level_and_its_first_and_last_cell(structure: Lifted, tmp_path: Path) -> None:
    made = tree_terms(structure)
    given_rows = all_nodes(made)
    write(tmp_path / "x.parquet", made, given_rows)
    release = ht.open(tmp_path / "x.parquet")
    wanted = expected(structure)
    counts = [{"count": int(count), "weight": float(count)} for count in given_rows.counts]

    found = release.to_arrow().to_pylist()

    assert found == [place | count for place, count in zip(wanted, counts, strict=True)]
    assert [list(row) for row in found] == [[*place, "count", "weight"] for place in wanted]
    assert np.array_equal(release.codes, given_rows.codes)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_every_tool_reads_the_same_values(structure: Lifted, tmp_path: Path) -> None:
    made, path = tree_terms(structure), tmp_path / "x.parquet"
    write(path, made, all_nodes(made))
    release = ht.open(path)
    wanted = [tuple(row.values()) for row in release.to_arrow().to_pylist()]

    assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == wanted
    with duckdb.connect() as connection:
        assert connection.execute(f"FROM '{path}'").fetchall() == wanted
    assert pl.read_parquet(path).rows() == release.to_polars().rows() == wanted
    for frame in (pd.read_parquet(path), release.to_pandas()):
        assert list(frame.itertuples(index=False, name=None)) == wanted
        levels = [str(kind) for name, kind in frame.dtypes.items() if str(name).endswith("level")]
        assert set(levels) == {"int32"}


def test_a_line_of_one_cell() -> None:
    one = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=5, high=5)),))
    for structure in (Dyadic(), Haar()):
        made = tree_terms(structure, one)
        table = rows_of(made, *all_nodes(made))
        assert table.to_pylist() == [{"level": 0, "x": 5, "x_last": 5, "count": 20, "weight": 20.0}]
        assert codes_of(made, table).tolist() == [[0]]


def test_a_line_of_2_to_the_60_cells() -> None:
    line = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=2**60 - 1)),))
    for structure in (Dyadic(), Haar()):
        made = tree_terms(structure, line)
        nodes = np.array([[0], [1], [made.space.cells_total // 2], [made.space.cells_total - 1]])
        table = rows_of(made, *rows(made, nodes, np.array([20, 21, 22, 23])))
        assert np.array_equal(codes_of(made, table), nodes)
        assert table.column("x_last").to_pylist()[-1] == 2**60 - 1


def test_boxes_of_more_nodes_than_a_word_can_number() -> None:
    side = Integers(low=0, high=2**60 - 2)
    plane = ht.Domain(attributes=tuple(Attribute(name=name, values=side) for name in "xy"))
    made = tree_terms(ProductDyadic(order=["y"]), plane)
    last = made.space.shape[0] - 1
    nodes = np.array([[0, 0], [0, last], [1, 2], [last, 0], [last, last]])

    assert len(made.space.groups) == 2
    assert np.array_equal(codes_of(made, rows_of(made, *rows(made, nodes, np.arange(20, 25)))), nodes)


@given(release=random_releases(random_tree_terms()), data=st.data())
def test_an_interval_that_was_changed_is_another_node_or_none(
    release: tuple[Terms, Rows], data: st.DataObject
) -> None:
    made, given_rows = release
    if not len(given_rows.counts) or not hasattr(made.nodes, "intervals"):
        return
    whole = intervals_of(made, given_rows.codes)
    part = data.draw(st.sampled_from(["levels", "firsts", "lasts"]))
    changed = getattr(whole, part).copy()
    row = data.draw(st.integers(0, len(changed) - 1))
    place = data.draw(st.integers(0, changed.shape[1] - 1))
    size = 70 if part == "levels" else made.domain.shape[place]
    changed[row, place] = data.draw(
        st.integers(-(2**31), 2**31 - 1) if size == 70 else st.integers(0, size - 1)
    )
    said = whole._replace(**{part: changed})

    assert hasattr(made.nodes, "intervals")
    found = nodes_of(made.nodes, said)

    if found is not None:
        again = intervals_of(made, found)
        assert np.array_equal(again.levels, said.levels)
        assert np.array_equal(again.firsts, said.firsts)
        assert np.array_equal(again.lasts, said.lasts)


@pytest.mark.parametrize(
    ("structure", "node", "changes"),
    [
        (Dyadic(), 0, {"level": -1}),
        (Dyadic(), 0, {"level": 6}),
        (Dyadic(), 0, {"level": 1}),
        (Dyadic(), 0, {"hour_last": 11}),
        (Dyadic(), 0, {"hour": 7}),
        (Dyadic(), 1, {"home": "s"}),
        (Dyadic(), -2, {"level": 4}),
        (Haar(), 0, {"level": 2}),
        (Haar(), 1, {"level": 0, "hour_last": 8}),
        # A split whose right half would be padding.
        (Haar(), -1, {"home": "e", "hour": 12, "home_last": "e", "hour_last": 12}),
        (Haar(), -1, {"level": 6}),
        (ProductDyadic(), 0, {"home_level": 1}),
        (ProductDyadic(), 0, {"hour_level": 4}),
        (ProductDyadic(), -1, {"home_last": "n"}),
    ],
)
def test_rows_that_are_no_nodes_are_refused(structure: Lifted, node: int, changes: dict[str, Any]) -> None:
    made = tree_terms(structure)
    table = rows_of(made, *all_nodes(made))
    node %= table.num_rows
    for name, value in changes.items():
        values = table.column(name).to_pylist()
        values[node] = value
        place = table.column_names.index(name)
        table = table.set_column(place, table.field(place), pa.array(values, type=table.field(place).type))

    with pytest.raises(BadRelease, match="no nodes of its structure"):
        codes_of(made, table)


@pytest.mark.parametrize("name", ["home", "home_last", "hour", "hour_last"])
def test_values_that_the_domain_does_not_have_are_no_codes(name: str) -> None:
    made = tree_terms(Dyadic())
    table = rows_of(made, *all_nodes(made))
    place = table.column_names.index(name)
    odd = pa.array(["x" if name.startswith("home") else 13] * table.num_rows)

    with pytest.raises(BadRelease, match=f"column '{name}' holds values"):
        codes_of(made, table.set_column(place, table.field(place), odd))


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_rows_out_of_order_are_refused(structure: Lifted, tmp_path: Path) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)

    with pytest.raises(BadRelease, match="order"):
        codes_of(made, rows_of(made, whole.codes[::-1], whole.counts, whole.weights))
    with pytest.raises(ht.InternalError, match="order"):
        write(tmp_path / "x.parquet", made, whole._replace(codes=whole.codes[::-1]))


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_codes_of_no_node_are_refused(structure: Lifted, tmp_path: Path) -> None:
    made = tree_terms(structure)
    one = np.array([20])
    past = np.array([made.space.shape])

    for codes in (past, -past, np.zeros((1, 3), dtype=np.int64), np.zeros(1, dtype=np.int64)):
        with pytest.raises(ht.BadTable):
            rows_of(made, codes, one, one.astype(np.float64))
    with pytest.raises(ht.BadTable, match=r"nodes lie outside 0\.\."):
        write(tmp_path / "x.parquet", made, rows(made, past, one))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("structure", "names", "added"),
    [
        (Dyadic(), ("home", "home_last"), "home_last"),
        (Haar(), ("HOME_Last", "home"), "home_last"),
        (ProductDyadic(), ("home", "home_level"), "home_level"),
        (ProductDyadic(order=["home_last"]), ("home", "home_last"), "home_last"),
    ],
)
def test_names_of_columns_that_a_structure_adds_are_taken(
    structure: Lifted, names: tuple[str, ...], added: str
) -> None:
    values = Integers(low=0, high=3)
    domain = ht.Domain(attributes=tuple(Attribute(name=name, values=values) for name in names))

    with pytest.raises(BadChoice, match=f"adds a column '{added}'.*Rename the attribute"):
        check_named(structure, domain)
    with pytest.raises(BadRelease, match=f"adds a column '{added}'"):
        tree_terms(structure, domain)


@pytest.mark.parametrize("structure", [Cells(), Dyadic(), Haar(), ProductDyadic()])
def test_other_names_are_free(structure: Structure) -> None:
    values = Integers(low=0, high=3)
    names = ("home_level", "last") if not isinstance(structure, ProductDyadic) else ("last", "level_")
    check_named(structure, TRIPS_DOMAIN)
    check_named(structure, ht.Domain(attributes=tuple(Attribute(name=n, values=values) for n in names)))
    if isinstance(structure, Cells):
        taken = ("a", "a_last", "a_level")
        check_named(structure, ht.Domain(attributes=tuple(Attribute(name=n, values=values) for n in taken)))


def test_the_reference_has_every_node() -> None:
    for structure in STRUCTURES:
        assert len(expected(structure)) == node_space(structure, TRIPS_DOMAIN).nodes_total


def test_no_rows_are_no_nodes() -> None:
    made = tree_terms(ProductDyadic())
    assert hasattr(made.nodes, "intervals")
    none = Intervals(np.empty((0, 2), np.int32), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))

    found = nodes_of(made.nodes, none)
    assert found is not None
    assert found.shape == (0, 2)
