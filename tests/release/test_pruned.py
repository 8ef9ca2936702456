"""Releases of pruned trees: every node against a slow listing, sums of weights, and trees that are none."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.errors import BadRelease
from hushtable.release.coding import codes_of
from hushtable.release.layout import rows_of
from hushtable.structures.pruned import PrunedSpace, Tree
from tests.release.examples import PRUNED, Rows, all_nodes, rows, tree_terms, write

VALUES: dict[str, list[Any]] = {"home": ["n", "s", "e"], "hour": [6, 7, 8, 9, 10, 11, 12]}
NAMES = list(VALUES)


def bits(code: int, size: int) -> str:
    """A code in binary, as long as the largest code of its attribute."""
    length = (size - 1).bit_length()
    return f"{code:b}".zfill(length) if length else ""


def address(structure: Tree, codes: dict[str, int]) -> str:
    """Where a cell stands: its position in the line in binary, or its bits in turn, the highest first."""
    sizes = {name: len(VALUES[name]) for name in NAMES}
    if structure.order == "morton":
        texts = [bits(codes[name], sizes[name]) for name in NAMES]
        return "".join(text[turn] for turn in range(8) for text in texts if turn < len(text))
    order = list(dict.fromkeys([*(structure.order or ()), *NAMES]))
    position = 0
    for name in order:
        position = position * sizes[name] + codes[name]
    return bits(position, sizes["home"] * sizes["hour"])


def listed(structure: Tree) -> list[dict[str, Any]]:
    """List all nodes over trips as the file should say them: cells whose addresses start alike."""
    cells = {
        address(structure, codes): codes
        for codes in (dict(zip(NAMES, each, strict=True)) for each in product(range(3), range(7)))
    }
    whole, step = len(next(iter(cells))), structure.branching.bit_length() - 1
    lengths = [0, *sorted(whole - below for below in range(0, whole, step))]
    found = []
    for level, length in enumerate(lengths):
        for prefix in sorted({each[:length] for each in cells}):
            inside = [cells[each] for each in sorted(cells) if each.startswith(prefix)]
            node: dict[str, Any] = {"level": level}
            for name in NAMES:
                ends = [inside[0][name], inside[-1][name]]
                node |= {name: VALUES[name][ends[0]], f"{name}_last": VALUES[name][ends[1]]}
            found.append(node)
    return found


@pytest.mark.parametrize("structure", PRUNED, ids=repr)
def test_every_node_says_its_level_and_its_first_and_last_cell(structure: Tree, tmp_path: Path) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)
    write(tmp_path / "x.parquet", made, whole)
    release = ht.open(tmp_path / "x.parquet")
    found = release.to_arrow()

    assert found.drop_columns(["count", "weight"]).to_pylist() == listed(structure)
    assert np.array_equal(release.codes, whole.codes)
    assert np.array_equal(release.weights, whole.weights)
    with duckdb.connect() as connection:
        wanted = [tuple(row.values()) for row in found.to_pylist()]
        assert connection.execute(f"FROM '{tmp_path / 'x.parquet'}'").fetchall() == wanted


@pytest.mark.parametrize("structure", PRUNED, ids=repr)
def test_weights_of_all_rows_add_up_to_the_total(structure: Tree, tmp_path: Path) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)
    write(tmp_path / "x.parquet", made, whole)
    release = ht.open(tmp_path / "x.parquet")
    found = release.sql("SELECT sum(weight) AS people FROM release")["people"].to_pylist()

    assert found[0] == pytest.approx(release.total().value, rel=1e-12)
    assert release.weights.min() >= 0


@pytest.mark.parametrize(
    "kept",
    [[1], [1, 2], [0, 5], [0, 1, -1], []],
    ids=["no root", "two parts", "no parent", "a leaf by itself", "nothing at all"],
)
@pytest.mark.parametrize("structure", [Tree(branching=2), Tree(branching=2, order="morton")], ids=repr)
def test_a_tree_with_a_hole_is_refused(structure: Tree, kept: list[int], tmp_path: Path) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)
    codes, counts = whole.codes[kept], whole.counts[kept]
    weights = np.zeros(len(kept))
    write(tmp_path / "x.parquet", made, Rows(codes, counts, weights))

    with pytest.raises(BadRelease, match="a tree without its root, or without a node above another"):
        ht.open(tmp_path / "x.parquet").total()


@pytest.mark.parametrize("structure", PRUNED, ids=repr)
def test_padding_and_numbers_beyond_are_no_nodes(structure: Tree) -> None:
    made = tree_terms(structure)
    real = {code for (code,) in all_nodes(made).codes.tolist()}
    one = np.array([20])

    for code in range(-1, made.space.cells_total + 1):
        if code not in real:
            with pytest.raises(ht.BadTable, match=r"padding|outside 0\.\."):
                rows_of(made, np.array([[code]]), one, one.astype(np.float64))


def domain_of(*sizes: int) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=f"x{place}", values=Integers(low=0, high=size - 1))
            for place, size in enumerate(sizes)
        )
    )


@pytest.mark.parametrize(
    ("structure", "sizes"),
    [
        (Tree(), (1,)),
        (Tree(order="morton"), (1, 1)),
        (Tree(), (1 << 60,)),
        (Tree(branching=1024), ((1 << 60) - 1,)),
        (Tree(branching=2, order="morton"), (1 << 31, (1 << 31) - 5)),
        (Tree(order="morton"), (4,) * 30),
    ],
    ids=repr,
)
def test_the_smallest_and_the_largest_domains(structure: Tree, sizes: tuple[int, ...]) -> None:
    made = tree_terms(structure, domain_of(*sizes))
    assert isinstance(made.nodes, PrunedSpace)
    tree = made.nodes.tree
    last = np.array([[size - 1 for size in sizes]])
    levels = np.arange(tree.levels, dtype=np.int32)[:, np.newaxis]
    codes = made.nodes.nodes_at(levels, np.repeat(last, tree.levels, axis=0))
    table = rows_of(made, *rows(made, codes, np.full(tree.levels, 50)))

    assert np.array_equal(codes_of(made, table), codes)
    assert table.column("x0_last").to_pylist() == [sizes[0] - 1] * tree.levels
    assert table.column("x0").to_pylist()[0] == 0
    assert table.column("x0").to_pylist()[-1] == sizes[0] - 1
