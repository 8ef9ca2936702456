"""Of each unit no more rows than its bound are counted, and which ones follows from its own rows alone."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from tests.engines.contracts.counting import DOMAIN, whole
from tests.engines.contracts.engine import Engine, count_with, counted_with
from tests.engines.reference import Counts, counts_of, distance
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, replay


def people(seed: int, *, rows: int = 400) -> pa.Table:
    """Rows of some people, of whom one has very many."""
    generator = np.random.default_rng(seed)
    names = [f"p{who}" for who in generator.integers(0, 40, rows)] + ["busy"] * 10_000
    cells = generator.integers(0, 12, (len(names), 2))
    return pa.table(
        {"x": cells[:, 0], "y": cells[:, 1], "person": names, "pay": generator.integers(0, 9, len(names))}
    )


def without(table: pa.Table, person: Any) -> pa.Table:
    return table.filter(pa.compute.not_equal(table["person"], person))


def test_a_person_with_10_000_rows_moves_the_table_by_at_most_the_bound(engine: Engine) -> None:
    for seed, bound in engine.some([(0, 3), *product(range(5), [50, 1]), *product(range(1, 5), [3])], 1):
        table, unit = people(seed), ht.Unit("person", max_rows=bound)
        others = without(table, "busy")

        with_all = count_with(engine.data(table), DOMAIN, unit=unit, seed=seed)
        with_others = count_with(engine.data(others), DOMAIN, unit=unit, seed=seed)

        assert distance(with_all, with_others) == bound
        per_person = Counter(others["person"].to_pylist())
        assert sum(with_others.values()) == sum(min(rows, bound) for rows in per_person.values())


def test_whoever_leaves_moves_the_table_by_at_most_the_bound(engine: Engine) -> None:
    """By brute force on neighbours, with rows that rules drop and amounts of both signs."""
    generator = np.random.default_rng(8)
    rows = 3000
    table = pa.table(
        {
            "x": generator.integers(-1, 8, rows),
            "y": generator.integers(0, 3, rows),
            "person": pa.array(
                (generator.geometric(0.1, rows) % 40).tolist(), mask=generator.random(rows) < 0.1
            ),
            "pay": generator.integers(-20, 20, rows),
        }
    )
    settings: dict[str, Any] = {"unit": ht.Unit("person", max_rows=4), "sum_column": "pay", "clamp": (-6, 3)}
    everyone = count_with(engine.data(table), DOMAIN, **settings)
    for person in engine.some(list(range(1, 13)), 1):
        others = table.filter(pa.compute.fill_null(pa.compute.not_equal(table["person"], person), True))

        assert 0 < distance(everyone, count_with(engine.data(others), DOMAIN, **settings)) <= 4 * 6


def test_a_bounded_sum_moves_by_at_most_the_bound_times_the_clamp(engine: Engine) -> None:
    table = people(3)
    unit = ht.Unit("person", max_rows=3)
    settings: dict[str, Any] = {"unit": unit, "sum_column": "pay", "clamp": (0, 5)}

    with_all = count_with(engine.data(table), DOMAIN, **settings)

    assert distance(with_all, count_with(engine.data(without(table, "busy")), DOMAIN, **settings)) <= 15


def test_the_same_rows_are_kept_in_whatever_order_and_parts_they_are_read(engine: Engine) -> None:
    for seed in engine.some(range(4), 1):
        table = people(seed)
        order = np.random.default_rng(seed).permutation(table.num_rows)
        unit = ht.Unit("person", max_rows=3)
        settings: dict[str, Any] = {"unit": unit, "seed": 9}

        first = count_with(table, DOMAIN, **settings)  # on one machine: under one salt, all engines agree

        assert first == count_with(engine.data(table.take(order)), DOMAIN, threads=1, **settings)
        assert first == count_with(
            engine.data(table.take(order), parts=7), DOMAIN, memory="256MiB", **settings
        )
        again = count_with(engine.data(table), DOMAIN, unit=unit, seed=10)
        assert first != again  # another salt chooses others


def test_slices_that_read_the_input_again_keep_the_same_rows(engine: Engine) -> None:
    """Counted in two halves of the domain, a person still moves the table by at most the bound."""
    table = people(4)
    unit = ht.Unit("person", max_rows=3)

    def in_halves(rows: pa.Table) -> Counts:
        whole_table = count_with(engine.data(rows), DOMAIN, unit=unit, seed=5)
        again = count_with(engine.data(rows, parts=3), DOMAIN, unit=unit, seed=5)
        lower = {cell: count for cell, count in whole_table.items() if cell[0] < 6}
        return lower | {cell: count for cell, count in again.items() if cell[0] >= 6}

    assert distance(in_halves(table), in_halves(without(table, "busy"))) == 3


def test_every_row_of_a_unit_has_the_same_chance(engine: Engine) -> None:
    """Of 5 rows in one cell and 1 in another, 2 are kept: in a third of the cases the single one is."""
    count = 4000
    rows = [(x, 0, f"p{who}") for who in range(count) for x in (1, 1, 1, 1, 1, 2)]
    x, y, person = zip(*rows, strict=True)
    table = pa.table({"x": x, "y": y, "person": person})
    singles = count_with(engine.data(table), DOMAIN, unit=ht.Unit("person", max_rows=2), seed=11)[(2, 0)]

    assert chernoff_follows(singles, count, 1 / 3) > ALARM
    assert chernoff(singles, count, 1 / 4) < ALARM
    assert chernoff(singles, count, 5 / 12) < ALARM


def test_rows_without_a_unit_or_outside_the_domain_take_no_place(engine: Engine) -> None:
    """Rows of nobody are dropped, and those that rules drop do not fill a bound."""
    x = [1, 1, 1, 2, *[-5] * 50]
    table = pa.table({"x": x, "y": [0] * 54, "person": ["a", None, None, "b", *["b"] * 50]})
    unit = ht.Unit("person", max_rows=1)

    with counted_with(engine.data(table), DOMAIN, unit=unit, entropy=replay(0)) as counted:
        assert counts_of(counted.table()) == {(1, 0): 1, (2, 0): 1}
        assert tuple(counted.tally) == (2, 52)
        assert counted.total() == 2


def test_rows_of_nobody_alone_are_told(engine: Engine) -> None:
    table = pa.table({"x": [1, 1], "y": [0, 0], "person": ["a", None]})

    with counted_with(
        engine.data(table), DOMAIN, unit=ht.Unit("person", max_rows=5), entropy=replay(0)
    ) as counted:
        assert counts_of(counted.table()) == {(1, 0): 1}
        assert tuple(counted.tally) == (1, 1)


UNITS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["p", "P", " p", "", "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\u0301", "p/1", "1"]),
    "number": (pa.int64(), [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]),
    "small number": (pa.int8(), [-128, -1, 0, 1, 2, 3, 10, 127]),
    "decimal": (pa.decimal128(20, 2), [Decimal(10**18 + cents) / 100 for cents in range(8)]),
    "day": (pa.date32(), [date(2024, 1, day) for day in range(1, 9)]),
}


def test_units_of_every_type_are_told_apart(engine: Engine) -> None:
    """Each of 8 units has 9 rows, of which it may have 2."""
    for kind, names in engine.some(list(UNITS.values()), 2):
        person = pa.array(names * 9, type=kind)
        table = pa.table({"x": list(range(72)), "y": [0] * 72, "person": person})

        counts = count_with(engine.data(table, parts=3), DOMAIN, unit=ht.Unit("person", max_rows=2))

        kept = Counter(table["person"].to_pylist()[x] for x, _ in counts)
        assert kept == dict.fromkeys(names, 2)


def test_units_that_may_be_rounded_are_refused(engine: Engine) -> None:
    for kind in (pa.float32(), pa.float64()):
        table = pa.table({"x": [1], "y": [1], "person": pa.array([1.0], type=kind)})

        with pytest.raises(ht.BadData, match="rounded"):
            ht.count(engine.data(table), domain=DOMAIN, unit=ht.Unit("person", max_rows=1))


def test_units_of_keys_of_several_words_are_bounded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of words beyond 2^63, too, and in many slices."""
    engine.cut_finely(monkeypatch)
    ends = Attribute(name="a", values=Integers(low=-(2**63), high=-2))
    domain = ht.Domain(attributes=(ends, whole("b", 2), whole("c", 1000), whole("d", 10**18)))
    generator = np.random.default_rng(5)
    rows, units = 30_000, 500
    table = pa.table(
        {
            "a": -(generator.integers(2, 2**63 - 1, rows)),
            "b": generator.integers(0, 2, rows),
            "c": generator.integers(0, 1000, rows),
            "d": generator.integers(0, 10**18, rows),
            "person": np.arange(rows) % units,
        }
    )

    counts = count_with(engine.data(table), domain, unit=ht.Unit("person", max_rows=20))

    cells = {tuple(row.values())[:4]: row["person"] for row in table.to_pylist()}
    kept = Counter(cells[a - 2**63, b, c, d] for a, b, c, d in counts)
    assert kept == dict.fromkeys(range(units), 20)
