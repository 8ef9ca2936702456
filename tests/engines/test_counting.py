"""What is counted, for whom, and that memory, threads and order change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.domain.measure import Measure
from hushtable.engines import counting, runs
from hushtable.engines.counting import CountedRows, counted_rows
from hushtable.noise import KeyStream
from hushtable.table.slices import Slice
from tests.engines.reference import Counts, counts_of, decoded, differences, distance
from tests.harness.statistics import ALARM, chernoff, chernoff_follows, replay


def whole(name: str, size: int) -> Attribute:
    return Attribute(name=name, values=Integers(low=0, high=size - 1))


DOMAIN = ht.Domain(attributes=(whole("x", 100), whole("y", 100)))


def grouped(table: pa.Table, what: str = "count(*)", where: str = "true") -> Counts:
    """Count by plain SQL."""
    connection = duckdb.connect()
    connection.register("rows", table)
    rows = connection.sql(f"SELECT x, y, {what} FROM rows WHERE {where} GROUP BY ALL").fetchall()
    return {(x, y): int(count) for x, y, count in rows if count}


def random_rows(count: int, size: int, seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table({name: generator.integers(-2, size + 2, count) for name in ("x", "y")})


INSIDE = "x BETWEEN 0 AND 99 AND y BETWEEN 0 AND 99"


def test_rows_are_counted() -> None:
    table = random_rows(50_000, 100, seed=1)

    assert counts_of(ht.count(table, domain=DOMAIN)) == grouped(table, where=INSIDE)


@pytest.mark.parametrize(
    "amount", [pa.int8(), pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(20, 2), pa.string()]
)
def test_a_count_column_is_added_up(amount: pa.DataType) -> None:
    values = [3, 0, 5, None, -4, 7]
    table = pa.table(
        {
            "x": [1, 1, 1, 1, 1, 2],
            "y": [0] * 6,
            "n": pa.array(values).cast(amount)
            if pa.types.is_signed_integer(amount)
            else pa.array(
                [
                    None
                    if v is None
                    else (str(v) if amount == pa.string() else abs(v) if amount == pa.uint64() else v)
                    for v in values
                ],
                type=amount,
            ),
        }
    )

    counts = counts_of(ht.count(table, domain=DOMAIN, count_column="n"))

    # Missing and negative counts stand for nobody.
    assert counts == {(1, 0): 12 if amount == pa.uint64() else 8, (2, 0): 7}


@pytest.mark.parametrize("kind", [pa.int16(), pa.int64(), pa.float32(), pa.decimal128(21, 1), pa.string()])
def test_sums_are_clamped_row_by_row(kind: pa.DataType) -> None:
    pay = pa.array([3, 900, -900, None, 10, -10]).cast(kind)
    table = pa.table({"x": [1, 1, 1, 1, 2, 2], "y": [0] * 6, "pay": pay})

    counts = counts_of(ht.count(table, domain=DOMAIN, sum_column="pay", clamp=(-5, 10)))

    assert counts == {(1, 0): 3 + 10 - 5, (2, 0): 10 - 5}


def test_sums_that_cancel_leave_an_empty_cell() -> None:
    table = pa.table({"x": [1, 1], "y": [0, 0], "pay": [4, -4]})

    assert counts_of(ht.count(table, domain=DOMAIN, sum_column="pay", clamp=(-5, 5))) == {}


@pytest.mark.parametrize(
    ("measure", "sensitivity"),
    [
        (Measure(), 1),
        (Measure(count_column="n"), 1),
        (Measure(sum_column="n", clamp=(-7, 5)), 7),
        (Measure(unit=ht.Unit("person", max_rows=3)), 3),
        (Measure(unit=ht.Unit("person", max_rows=3), sum_column="n", clamp=(0, 10)), 30),
    ],
)
def test_sensitivity_follows_the_measure(measure: Measure, sensitivity: int) -> None:
    assert measure.sensitivity == sensitivity


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"count_column": "n", "unit": ht.Unit("person", max_rows=2)},
            "exactly one of `count_column` and `unit`",
        ),
        ({"count_column": "n", "sum_column": "n", "clamp": (0, 1)}, "exactly one of"),
        ({"sum_column": "n"}, "`sum_column`"),
        ({"clamp": (0, 1)}, "`clamp`"),
        ({"sum_column": "n", "clamp": (1, 0)}, "in order"),
        ({"sum_column": "n", "clamp": (0, 0)}, "not both 0"),
        ({"sum_column": "n", "clamp": (0, 1.5)}, "whole"),
        ({"sum_column": "n", "clamp": (0, 2**41)}, "2\\^40"),
        ({"sum_column": "n", "clamp": "01"}, "whole"),
    ],
)
def test_measures_that_bound_nobody_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ht.HushtableError, match=says):
        Measure(**settings)


@pytest.mark.parametrize("rows", [0, -1, 2**41, "many", 1.5, True])
def test_a_unit_needs_a_bound(rows: Any) -> None:
    with pytest.raises(ht.HushtableError, match="max_rows"):
        ht.Unit("person", max_rows=rows)


def count_with(table: Any, *, unit: ht.Unit | None = None, seed: int = 0, **settings: Any) -> Counts:
    """Count with a salt that can be drawn again."""
    measure = Measure(unit=unit, **{k: settings.pop(k) for k in ("sum_column", "clamp") if k in settings})
    with counted_rows(table, domain=DOMAIN, measure=measure, entropy=replay(seed), **settings) as counted:
        return counts_of(counted.table())


def people(seed: int, *, rows: int = 400) -> pa.Table:
    """Rows of some people, of whom one has very many."""
    generator = np.random.default_rng(seed)
    names = [f"p{who}" for who in generator.integers(0, 40, rows)] + ["busy"] * 10_000
    cells = generator.integers(0, 12, (len(names), 2))
    return pa.table(
        {"x": cells[:, 0], "y": cells[:, 1], "person": names, "pay": generator.integers(0, 9, len(names))}
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bound", [1, 3, 50])
def test_a_person_with_10_000_rows_moves_the_table_by_at_most_the_bound(seed: int, bound: int) -> None:
    table = people(seed)
    others = table.filter(pa.compute.not_equal(table["person"], "busy"))
    unit = ht.Unit("person", max_rows=bound)

    with_all, without = count_with(table, unit=unit, seed=seed), count_with(others, unit=unit, seed=seed)

    assert distance(with_all, without) == bound
    per_person = Counter(others["person"].to_pylist())
    assert sum(without.values()) == sum(min(rows, bound) for rows in per_person.values())


def test_a_bounded_sum_moves_by_at_most_the_bound_times_the_clamp() -> None:
    table = people(3)
    others = table.filter(pa.compute.not_equal(table["person"], "busy"))
    unit = ht.Unit("person", max_rows=3)
    settings: dict[str, Any] = {"unit": unit, "sum_column": "pay", "clamp": (0, 5)}

    assert distance(count_with(table, **settings), count_with(others, **settings)) <= 15


@pytest.mark.parametrize("seed", range(4))
def test_the_same_rows_are_kept_in_whatever_order_they_are_read(seed: int) -> None:
    table = people(seed)
    order = np.random.default_rng(seed).permutation(table.num_rows)
    unit = ht.Unit("person", max_rows=3)

    first = count_with(table, unit=unit, seed=9)

    assert first == count_with(table.take(order), unit=unit, seed=9, threads=1)
    assert first == count_with(table.take(order), unit=unit, seed=9, memory="256MiB")
    assert first != count_with(table, unit=unit, seed=10)  # another salt chooses others


def test_slices_that_read_the_input_again_keep_the_same_rows() -> None:
    """Counted in two halves of the domain, a person still moves the table by at most the bound."""
    table = people(4)
    others = table.filter(pa.compute.not_equal(table["person"], "busy"))
    unit = ht.Unit("person", max_rows=3)

    def in_halves(rows: pa.Table) -> Counts:
        whole_table = count_with(rows, unit=unit, seed=5)
        again = count_with(rows, unit=unit, seed=5)
        lower = {cell: count for cell, count in whole_table.items() if cell[0] < 6}
        return lower | {cell: count for cell, count in again.items() if cell[0] >= 6}

    assert distance(in_halves(table), in_halves(others)) == 3


def test_every_row_of_a_unit_has_the_same_chance() -> None:
    """Of 5 rows in one cell and 1 in another, 2 are kept: in a third of the cases the single one is."""
    count = 4000
    rows = [(x, 0, f"p{who}") for who in range(count) for x in (1, 1, 1, 1, 1, 2)]
    x, y, person = zip(*rows, strict=True)
    table = pa.table({"x": x, "y": y, "person": person})
    singles = count_with(table, unit=ht.Unit("person", max_rows=2), seed=11)[(2, 0)]

    assert chernoff_follows(singles, count, 1 / 3) > ALARM
    assert chernoff(singles, count, 1 / 4) < ALARM
    assert chernoff(singles, count, 5 / 12) < ALARM


def test_rows_without_a_unit_belong_to_nobody() -> None:
    table = pa.table({"x": [1, 1, 1], "y": [0, 0, 0], "person": ["a", None, None]})

    with counted_rows(
        table, domain=DOMAIN, measure=Measure(unit=ht.Unit("person", max_rows=5)), entropy=KeyStream()
    ) as counted:
        assert counts_of(counted.table()) == {(1, 0): 1}
        assert counted.dropped


def test_rows_outside_the_domain_take_no_place_of_a_unit() -> None:
    table = pa.table({"x": [1] + [-5] * 50, "y": [0] * 51, "person": ["a"] * 51})

    assert count_with(table, unit=ht.Unit("person", max_rows=1)) == {(1, 0): 1}


@pytest.mark.parametrize(
    ("rows", "dropped"), [({"x": [1], "y": [2]}, False), ({"x": [1, 100], "y": [2, 2]}, True)]
)
def test_it_is_known_whether_rules_dropped_rows(rows: dict[str, list[int]], dropped: bool) -> None:
    with counted_rows(pa.table(rows), domain=DOMAIN, measure=Measure(), entropy=KeyStream()) as counted:
        assert counted.dropped == dropped
        assert counts_of(counted.table()) == {(1, 2): 1}


def test_a_filter_is_no_rule_of_the_domain() -> None:
    table = pa.table({"x": [1, 100], "y": [2, 2]})
    with counted_rows(
        table, domain=DOMAIN, measure=Measure(), where="x < 50", entropy=KeyStream()
    ) as counted:
        assert not counted.dropped


WIDE = ht.Domain(attributes=tuple(whole(f"a{place}", 10**6) for place in range(5)))


@pytest.fixture(params=["memory", "files"])
def small_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs and slices in memory, or all of them in files."""
    if request.param == "files":
        real = runs.counted_slices
        monkeypatch.setattr(
            counting,
            "counted_slices",
            lambda *args, **kwargs: real(*args, **kwargs | {"rows_in_memory": 1000}),
        )
    return str(request.param)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("distinct", [50, 10**6])
def test_domains_above_2_to_the_64_are_counted_exactly(
    small_memory: str, threads: int, distinct: int, tmp_path: Path
) -> None:
    """10^30 cells, two words: most rows share the first word, or hardly any."""
    generator = np.random.default_rng(3)
    rows = 60_000
    table = pa.table({f"a{place}": generator.integers(0, distinct, rows) for place in range(5)})
    table = pa.concat_tables(
        [table, table.slice(0, 20_000), pa.table({f"a{p}": [10**6 - 1] * 3 for p in range(5)})]
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)

    with counted_rows(path, domain=WIDE, measure=Measure(), threads=threads, entropy=KeyStream()) as counted:
        found = decoded(WIDE, counted.table())

    names = ", ".join(table.column_names)
    assert not differences(found, f"SELECT {names}, count(*) FROM '{path}' GROUP BY ALL")


@pytest.mark.parametrize("size", [2, 300, 10**6])
@pytest.mark.parametrize("amounts", [False, True])
def test_large_inputs_are_counted_exactly(
    small_memory: str, size: int, amounts: bool, tmp_path: Path
) -> None:
    """More than one run and slice; all rows in few cells, many to a cell, hardly any to a cell."""
    generator = np.random.default_rng(4)
    rows = 700_000
    table = pa.table({name: generator.integers(0, size, rows) for name in ("x", "y")})
    table = table.append_column("n", pa.array(generator.integers(0, 5, rows)))
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=50_000)
    domain = ht.Domain(attributes=(whole("x", size), whole("y", size)))

    with counted_rows(
        path,
        domain=domain,
        measure=Measure(count_column="n" if amounts else None),
        memory="256MiB",
        entropy=KeyStream(),
    ) as counted:
        assert isinstance(counted, CountedRows)
        slices = counted.slices.parts
        found = counted.table()
        check_slices(slices, domain)

    what = "sum(n)::BIGINT" if amounts else "count(*)"
    rows_of = (
        duckdb.connect()
        .sql(
            f"SELECT x * {size} + y AS key, {what} AS count FROM '{path}' "
            "GROUP BY ALL HAVING count > 0 ORDER BY key"
        )
        .to_arrow_table()
    )
    assert np.array_equal(found.keys[0], rows_of["key"].to_numpy().astype(np.uint64))
    assert np.array_equal(found.counts, rows_of["count"].to_numpy())


def check_slices(slices: Sequence[Slice], domain: ht.Domain) -> None:
    """Slices cover the domain in order, each with its own cells."""
    start = 0
    for part in slices:
        assert part.start == (start, *(0,) * (len(part.bounds) - 1))
        keys, counts = part.load()
        assert counts.size == part.cells_occupied
        if counts.size:
            assert start <= int(keys[0, 0]) <= int(keys[0, -1]) < start + part.bounds[0]
        start += part.bounds[0]
    assert start == domain.space.bounds[0]


def test_a_summary_of_counted_rows_is_one_of_their_table(tmp_path: Path) -> None:
    table = ht.count(random_rows(10_000, 100, seed=2), domain=DOMAIN)

    summary = ht.summarize(table, ht.Priority(size=50), epsilon=1)

    assert DOMAIN.decode(summary.codes).num_rows == 50


def test_nothing_private_is_shown() -> None:
    table = pa.table({"x": [77], "y": [88]})
    with counted_rows(table, domain=DOMAIN, measure=Measure(), entropy=KeyStream()) as counted:
        for shown in (repr(counted), str(counted), repr(counted.slices), repr(counted.table())):
            assert "77" not in shown
            assert "88" not in shown


def test_text_categories_with_a_million_values_are_counted(tmp_path: Path) -> None:
    values = tuple(f"{code:015d}" for code in range(1_000_000))
    domain = ht.Domain(attributes=(Attribute(name="block", values=Categories(values=values)),))
    chosen = np.random.default_rng(5).integers(0, 1_100_000, 50_000)
    table = pa.table({"block": [f"{code:015d}" for code in chosen]})

    counts = counts_of(ht.count(table, domain=domain))

    inside = Counter((int(code),) for code in chosen if code < 1_000_000)
    assert counts == dict(inside)
