"""A person counts in so many cells, so often in each; which ones follows from that person's rows alone."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.sliced.bounding import drawn_salt
from tests.engines.contracts.counting import DOMAIN, WIDE
from tests.engines.contracts.engine import Engine, count_with, counted_with
from tests.engines.reference import Counts, UnitRow, counts_of, distance, farthest, slow_units, squares
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, replay

SUMS: dict[str, Any] = {"sum_column": "pay", "clamp": (-4, 6)}
BOUNDS = [(3, 2), (1, 1), (3, 1), (10, 1), (1, 4), (2**40, 1)]


def visitors(seed: int, *, rows: int = 600) -> pa.Table:
    """Rows of some people, several in a cell; some are nobody's, or outside; one person is everywhere."""
    generator = np.random.default_rng(seed)
    names = [f"p{who}" for who in generator.integers(0, 25, rows)]
    names += ["busy"] * 2_000 + ["once"]
    count = len(names)
    return pa.table(
        {
            "x": np.append(generator.integers(-1, 6, count - 1), 3),
            "y": np.append(generator.integers(0, 3, count - 1), 3),
            "person": pa.array(names, mask=np.append(generator.random(count - 1) < 0.1, False)),
            "pay": generator.integers(-9, 9, count),
        }
    )


def placed(table: pa.Table, *, sums: bool) -> list[UnitRow]:
    """The rows that no rule drops, each with what it adds."""
    low, high = SUMS["clamp"]
    return [
        (row["person"], (row["x"], row["y"]), max(low, min(high, row["pay"])) if sums else 1)
        for row in table.to_pylist()
        if row["x"] >= 0
    ]


def but(table: pa.Table, person: str) -> pa.Table:
    """The rows of all others, and of nobody."""
    return table.filter(pa.compute.fill_null(pa.compute.not_equal(table["person"], person), True))


def bounded(cells: int, each: int) -> ht.Unit:
    return ht.Unit("person", max_cells=cells, max_per_cell=each)


def test_what_counts_of_a_person_is_what_the_slow_way_chooses(engine: Engine) -> None:
    for (seed, (cells, each)), sums in engine.some(list(product(enumerate(BOUNDS), [False, True])), 2):
        table, unit = visitors(seed), bounded(cells, each)

        found = count_with(engine.data(table), DOMAIN, unit=unit, seed=seed, **SUMS if sums else {})

        rows, salt = placed(table, sums=sums), drawn_salt(replay(seed))
        assert found == slow_units(DOMAIN, rows, unit, salt=salt, sums=sums)
        assert found != slow_units(DOMAIN, rows, unit, salt=salt[::-1], sums=sums) or cells > 100


def test_whoever_leaves_changes_no_more_than_is_stated(engine: Engine) -> None:
    """By brute force on neighbours, in all three measures of change; the busy one reaches each of them."""
    for (seed, (cells, each)), sums in engine.some(list(product(enumerate(BOUNDS[:5]), [False, True])), 1):
        table, unit, settings = visitors(seed), bounded(cells, each), SUMS if sums else {}
        stated = Measure(unit=unit, **settings).sensitivities
        everyone = count_with(engine.data(table), DOMAIN, unit=unit, **settings)

        for person in engine.some(["busy", "once", *(f"p{who}" for who in range(8))], 2):
            others = count_with(engine.data(but(table, person)), DOMAIN, unit=unit, **settings)
            changed = distance(everyone, others), squares(everyone, others), farthest(everyone, others)
            most = tuple(map(int, (stated.l1, stated.l2_squared, stated.per_cell)))

            assert sums or changed[0] > 0
            assert all(one <= other for one, other in zip(changed, most, strict=True))
            if person == "busy" and not sums:
                assert changed == most


def test_the_same_cells_count_in_whatever_order_and_parts_rows_are_read(engine: Engine) -> None:
    for seed in engine.some(range(4), 1):
        table = visitors(seed)
        order = np.random.default_rng(seed).permutation(table.num_rows)
        for settings in engine.some([{}, SUMS], 2):
            said: dict[str, Any] = {"unit": bounded(3, 2), "seed": 9, **settings}

            first = count_with(table, DOMAIN, **said)  # on one machine: under one salt, all engines agree

            assert first == count_with(engine.data(table.take(order)), DOMAIN, threads=1, **said)
            assert first == count_with(
                engine.data(table.take(order), parts=7), DOMAIN, memory="256MiB", **said
            )
            assert first != count_with(engine.data(table), DOMAIN, **said | {"seed": 10})


def test_how_common_a_cell_is_plays_no_part(engine: Engine) -> None:
    """Neither in a person's own rows nor in those of others: the same cells are chosen."""
    cells = [(x, y) for x in range(5) for y in range(5)]

    def chosen(rows: list[tuple[tuple[int, int], str]]) -> Counts:
        data = pa.table(
            {
                "x": [cell[0] for cell, _ in rows],
                "y": [cell[1] for cell, _ in rows],
                "person": [who for _, who in rows],
            }
        )
        return count_with(engine.data(data), DOMAIN, unit=bounded(4, 1), seed=3)

    alone = chosen([(cell, "a") for cell in cells])
    others = [(cells[place % 3], f"p{place}") for place in range(500)]
    crowd = chosen(others)

    assert len(alone) == 4
    assert chosen([(cell, "a") for place, cell in enumerate(cells) for _ in range(1 + place % 7)]) == alone
    with_crowd = chosen([*((cell, "a") for cell in cells), *others])
    assert {cell: count - crowd.get(cell, 0) for cell, count in with_crowd.items()} == {
        cell: alone.get(cell, 0) for cell in {*alone, *crowd}
    }


def test_every_cell_of_a_unit_has_the_same_chance(engine: Engine) -> None:
    """Of 5 rows in one cell and 1 in another, one cell counts: in half of the cases the single row's."""
    count = 4000
    rows = [(x, 0, f"p{who}") for who in range(count) for x in (1, 1, 1, 1, 1, 2)]
    x, y, person = zip(*rows, strict=True)
    table = pa.table({"x": x, "y": y, "person": person})
    counts = count_with(engine.data(table), DOMAIN, unit=bounded(1, 1), seed=11)

    assert sum(counts.values()) == count
    assert chernoff_follows(counts[(2, 0)], count, 1 / 2) > ALARM
    assert chernoff(counts[(2, 0)], count, 1 / 2 - 1 / 12) < ALARM
    assert chernoff(counts[(2, 0)], count, 1 / 2 + 1 / 12) < ALARM


def test_every_row_with_an_amount_has_the_same_chance_in_its_cell(engine: Engine) -> None:
    """Of 5 rows that add nothing and 1 that adds 1, in one cell, 2 count: the last one in a third."""
    count = 4000
    rows = [(1, 0, f"p{who}", pay) for who in range(count) for pay in (0, 0, 0, 0, 0, 1)]
    x, y, person, pay = zip(*rows, strict=True)
    table = pa.table({"x": x, "y": y, "person": person, "pay": pay})
    singles = count_with(engine.data(table), DOMAIN, unit=bounded(1, 2), seed=11, **SUMS)[(1, 0)]

    assert chernoff_follows(singles, count, 1 / 3) > ALARM
    assert chernoff(singles, count, 1 / 4) < ALARM
    assert chernoff(singles, count, 5 / 12) < ALARM


def test_rows_that_rules_drop_take_no_cell(engine: Engine) -> None:
    x = [1, 1, 1, 1, 1, 2, *[-5] * 50]
    person = ["a", "a", "a", None, None, "b", *["b"] * 50]
    table = pa.table({"x": x, "y": [0] * 56, "person": person})

    with counted_with(engine.data(table), DOMAIN, unit=bounded(1, 2), entropy=replay(0)) as counted:
        assert counts_of(counted.table()) == {(1, 0): 2, (2, 0): 1}
        assert tuple(counted.tally) == (3, 52)
        assert counted.total() == 3


def test_cells_of_keys_of_several_words_are_told_apart(engine: Engine) -> None:
    """Cells that share a word are others, and each person is in as many as there may be."""
    generator = np.random.default_rng(6)
    rows, people = 4_000, 50
    table = pa.table(
        {f"a{place}": generator.integers(0, 2, rows) * (10**6 - 1) for place in range(5)}
        | {"person": [f"p{row % people}" for row in range(rows)]}
    )
    unit = bounded(9, 1)

    counts = count_with(engine.data(table), WIDE, unit=unit, seed=4)

    placed_rows = [
        (row["person"], tuple(row[f"a{place}"] for place in range(5)), 1) for row in table.to_pylist()
    ]
    assert counts == slow_units(WIDE, placed_rows, unit, salt=drawn_salt(replay(4)), sums=False)
    assert sum(counts.values()) == 9 * people
    assert max(Counter(counts).values()) <= people
