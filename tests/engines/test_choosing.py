"""What is counted of units that are whole numbers, against sorting what each unit has, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.keys import Keys, order_of_drawn
from hushtable.engines.sliced import choosing
from hushtable.engines.sliced.choosing import Chooser
from hushtable.noise import Replay
from hushtable.noise.ranks import Ranks
from tests.engines.contracts.counting import DOMAIN
from tests.engines.contracts.engine import count_with
from tests.engines.reference import Counts, distance
from tests.harness.statistics import ALARM, chernoff, chernoff_follows

Row = tuple[int, ...]
BOUNDS: list[dict[str, int]] = [
    {"max_rows": 1},
    {"max_rows": 3},
    {"max_rows": 700},
    {"max_cells": 1},
    {"max_cells": 3, "max_per_cell": 2},
    {"max_cells": 2**40},
]


def rows_of(seed: int, *, words: int, amounts: bool) -> Keys:
    """Rows of some units, of which two have very many: one in many cells, one over and over in a few."""
    generator = np.random.default_rng(seed)
    units = np.concatenate(
        [
            generator.integers(0, 40, 400, np.uint64),
            np.full(1500, 17, np.uint64),
            np.full(2500, 2**64 - 1, np.uint64),
        ]
    )
    cells = generator.integers(0, 2**63, (words, units.size)).astype(np.uint64)
    few = generator.random(units.size) < 0.5
    few[-2500:] = True
    cells[:, few] = generator.integers(0, 3, (words, int(few.sum()))).astype(np.uint64)
    said = [generator.integers(-2, 3, units.size).view(np.uint64)] if amounts else []
    return np.stack([units, *cells, *said])


def quickly(
    rows: Keys, bounds: dict[str, int], folder: Path, *, words: int, batch: int, in_memory: int
) -> tuple[Counter[Row], int]:
    """What stays of the rows, read in batches of so many: the sum of each cell, and how many rows."""
    amounts = len(rows) > 1 + words
    chooser = Chooser(ht.Unit("person", **bounds), Replay(5), words=words, amounts=amounts)
    batches = (rows[:, start : start + batch] for start in range(0, rows.shape[1], batch))
    found: Counter[Row] = Counter()
    with closing(chooser.chosen(batches, folder=folder, rows_in_memory=in_memory, threads=2)) as stream:
        for keys, counts in stream:
            ones = [1] * keys.shape[1] if counts is None else counts.tolist()
            for cell, count in zip(map(tuple, keys.T.tolist()), ones, strict=True):
                found[cell] += count
    return found, chooser.counted


def slowly(rows: Keys, bounds: dict[str, int], *, words: int) -> tuple[Counter[Row], int]:
    """The same, unit by unit: give each row its rank, sort, and cut."""
    unit, amounts = ht.Unit("person", **bounds), len(rows) > 1 + words
    entropy = Replay(5)
    own = Ranks(entropy, words=1 + words + (amounts and unit.max_rows is not None))
    copies, of_amounts = Ranks(entropy, words=2), Ranks(entropy, words=2)

    def rank(ranks: Ranks, *row: int) -> int:
        return int(ranks.of(np.array([row], dtype=np.uint64).T)[0])

    def ranked(of_row: dict[Row, int], said: Sequence[Row]) -> list[Row]:
        seen: Counter[Row] = Counter()
        found = []
        for row in said:
            number, seen[row] = seen[row], seen[row] + 1
            found.append((of_row[row] if number == 0 else rank(copies, of_row[row], number), row))
        return [row for _, row in sorted(found)]

    of_units: dict[int, list[Row]] = {}
    for who, *row in rows.T.tolist():
        of_units.setdefault(who, []).append(tuple(row))
    kept: list[Row] = []
    for who, theirs in of_units.items():
        if unit.max_rows is not None:
            kept += ranked({row: rank(own, who, *row) for row in set(theirs)}, theirs)[: unit.max_rows]
            continue
        cells: dict[Row, list[Row]] = {}
        for row in theirs:
            cells.setdefault(row[:words], []).append(row)
        order = {cell: rank(own, who, *cell) for cell in cells}
        for cell in sorted(cells, key=order.__getitem__)[: unit.max_cells]:
            of_row = {row: rank(of_amounts, order[cell], row[-1]) if amounts else 0 for row in cells[cell]}
            said = ranked(of_row, cells[cell]) if amounts else cells[cell]
            kept += said[: unit.max_per_cell]
    sums: Counter[Row] = Counter()
    for row in kept:
        sums[row[:words]] += int(np.uint64(row[-1]).view(np.int64)) if amounts else 1
    return sums, len(kept)


@pytest.fixture(params=[64, 1 << 17])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of few rows, so that units reach over many; or of as many as there are."""
    monkeypatch.setattr(choosing, "_PIECE_ROWS", request.param)
    monkeypatch.setattr(choosing, "SAMPLED", 16)
    monkeypatch.setattr(choosing, "_AT_ONCE", 500)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_what_stays_is_what_the_slow_way_chooses(bounds: dict[str, int], tmp_path: Path) -> None:
    for words, amounts in [(1, False), (2, True), (1, True), (2, False)]:
        rows = rows_of(words, words=words, amounts=amounts)
        wanted = slowly(rows, bounds, words=words)
        shuffled = rows[:, np.random.default_rng(1).permutation(rows.shape[1])]

        for given, batch, in_memory in [(rows, 700, 10**6), (shuffled, 4400, 0)]:
            found = quickly(given, bounds, tmp_path, words=words, batch=batch, in_memory=in_memory)
            assert (+found[0], -found[0], found[1]) == (+wanted[0], -wanted[0], wanted[1])


def test_another_key_chooses_others(tmp_path: Path) -> None:
    rows = rows_of(1, words=1, amounts=False)
    one = Ranks(Replay(1), words=2).of(rows)

    assert (one == Ranks(Replay(1), words=2).of(rows)).all()
    assert (one != Ranks(Replay(2), words=2).of(rows)).all()
    assert np.unique(one).size == np.unique(rows, axis=1).shape[1]
    with pytest.raises(ValueError, match="1 words, not 2"):
        Ranks(Replay(1), words=2).of(rows[:1])


def numbered(seed: int) -> pa.Table:
    """Rows of some people, of whom one has very many; ids are numbers of either sign."""
    generator = np.random.default_rng(seed)
    ids = [*generator.integers(-20, 20, 400).tolist(), *[-(2**63)] * 5_000]
    x, y = generator.integers(0, 12, (2, len(ids)))
    return pa.table(
        {"x": x, "y": y, "person": pa.array(ids, pa.int64()), "pay": generator.integers(-9, 9, len(ids))}
    )


@pytest.mark.parametrize("bounds", [{"max_rows": 3}, {"max_cells": 2, "max_per_cell": 2}], ids=str)
def test_whoever_leaves_moves_the_table_by_at_most_the_bound(bounds: dict[str, int]) -> None:
    table, unit = numbered(3), ht.Unit("person", **bounds)
    sums: dict[str, Any] = {"sum_column": "pay", "clamp": (-6, 3)}

    def counted(rows: pa.Table, **settings: Any) -> Counts:
        return count_with(rows, DOMAIN, unit=unit, seed=4, **settings)

    rows, added = counted(table), counted(table, **sums)
    most = bounds.get("max_rows") or bounds["max_cells"] * bounds["max_per_cell"]
    for person in (-(2**63), -20, 0, 19):
        others = table.filter(pa.compute.not_equal(table["person"], person))

        assert 0 < distance(rows, counted(others)) <= most
        assert distance(added, counted(others, **sums)) <= 6 * most


def test_numbers_beyond_those_with_a_sign_are_units_too() -> None:
    table, unit = numbered(3), ht.Unit("person", max_rows=3)
    unsigned = pa.compute.cast(table["person"], pa.uint64(), safe=False)
    counts = count_with(table.set_column(2, "person", unsigned), DOMAIN, unit=unit, seed=4)

    assert sum(counts.values()) == sum(count_with(table, DOMAIN, unit=unit, seed=4).values())


def test_every_row_of_a_unit_has_the_same_chance() -> None:
    """Of 5 rows in one cell and 1 in another, 2 are kept: in a third of the cases the single one is."""
    count = 4000
    person = np.repeat(np.arange(count), 6)
    table = pa.table(
        {"x": np.tile([1, 1, 1, 1, 1, 2], count), "y": np.zeros(6 * count, int), "person": person}
    )
    singles = count_with(table, DOMAIN, unit=ht.Unit("person", max_rows=2), seed=11)[(2, 0)]

    assert chernoff_follows(singles, count, 1 / 3) > ALARM
    assert chernoff(singles, count, 1 / 4) < ALARM
    assert chernoff(singles, count, 5 / 12) < ALARM


@pytest.mark.parametrize("first", [1, 3, 2**20, 2**64 - 1])
def test_the_order_is_that_of_all_words(first: int) -> None:
    """Also where second words are not drawn, and share what fits beside the first one and a place."""
    generator = np.random.default_rng(2)
    for second in (1, 2**10, 2**64 - 1):
        keys = np.stack(
            [generator.integers(0, most, 3000, np.uint64, endpoint=True) for most in (first, second, 3)]
        )

        found = keys.take(order_of_drawn(keys), axis=1)

        assert (found == keys[:, np.lexsort(keys[::-1])]).all()
