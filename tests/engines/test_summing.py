"""Rows that are added up as they come, against the same rows sorted: equal counts, equal tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced import summing
from hushtable.engines.sliced.counting import CountedRows, CountRequest
from hushtable.engines.sliced.summing import CountedTables, table_sums
from hushtable.noise import Replay
from hushtable.structures.axes import AxisSpace
from hushtable.structures.table_space import TableSpace
from hushtable.table import adding
from tests.table.several import added, tables_over

SHAPE = (30, 7, 90, 2)
FEW, NONE = 1 << 20, 0
UNITS = {
    "rows": None,
    "rows of a person": ht.Unit("person", max_rows=2),
    "cells of a person": ht.Unit("person", max_cells=2, max_per_cell=3),
    "people with long names": ht.Unit("name", max_rows=2),
}


def domain_of(shape: Sequence[int], **rules: Any) -> ht.Domain:
    declared: dict[str, Any] = {
        f"a{place}": ht.integers(0, size - 1, **rules) for place, size in enumerate(shape)
    }
    return ht.Domain(**declared)


def rows_of(shape: Sequence[int], number: int, *, beyond: int = 0) -> pa.Table:
    """Rows of persons, most of them in few cells, some outside of the domain or missing."""
    generator = np.random.default_rng(number)
    codes = [np.floor(generator.random(number) ** 3 * (size + beyond)).astype(np.int64) for size in shape]
    columns = {f"a{place}": pa.array(code) for place, code in enumerate(codes)}
    columns["a0"] = pa.array(codes[0], mask=generator.random(number) < 0.01)
    person = generator.integers(0, number // 4 + 1, number)
    return pa.table({**columns, "person": person, "name": [f"person {each}" for each in person]})


def request_of(domain: ht.Domain, **settings: Any) -> CountRequest:
    unit = settings.pop("unit", None)
    return CountRequest(domain=domain, measure=Measure(unit=unit), entropy=Replay(5), **settings)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("threads", [1, 3])
def test_few_cells_are_counted_as_sorted_ones_are(
    unit: ht.Unit | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain, rows = domain_of(SHAPE), rows_of(SHAPE, 20_000, beyond=2)
    monkeypatch.setattr(summing, "_SLICE", 1 << 12)
    found = []
    for most in (FEW, NONE):
        monkeypatch.setattr(summing, "_FEW_CELLS", most)
        with counted_rows(rows, request_of(domain, unit=unit, threads=threads)) as counted:
            assert isinstance(counted, CountedRows)
            if most:
                assert len(counted.slices.parts) == -(-domain.cells_total // (1 << 12))
                assert sum(counted.slices.cells_empty) == domain.cells_total - counted.table().counts.size
            found.append((counted.table(), counted.total(), repr(counted.sensitivity), tuple(counted.tally)))
    (table, total, *rest), (sorted_table, *others) = found

    assert [total, *rest] == others
    assert 0 < total < 20_000
    assert np.array_equal(table.keys, sorted_table.keys)
    assert np.array_equal(table.counts, sorted_table.counts)


def test_equal_rows_of_one_batch_are_all_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(summing, "_FEW_CELLS", FEW)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a0": np.repeat([3, 29, 3], [400_000, 1, 500_000])}), path)
    table = ht.count(path, domain=domain_of((30,)))

    assert table.keys.tolist() == [[3, 29]]
    assert table.counts.tolist() == [900_000, 1]


@pytest.mark.parametrize("shape", [(3, 7), (1 << 20, 7)], ids=["few cells", "many cells"])
def test_amounts_saturate_in_small_domains_too(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summing, "_FEW_CELLS", FEW)
    most, cube = 1 << 60, tables_over(shape, [(1,)])
    rows = pa.table({"a0": [0] * 9, "a1": [2] * 9, "n": [most] * 9})
    measure = Measure(count_column="n")
    request = CountRequest(domain=cube.domain, measure=measure, entropy=Replay(5), nodes=cube)

    with counted_rows(rows, request) as counted:
        assert counted.table().counts.tolist() == [most]
        assert told(counted, cube) == [([2], [most])]


@pytest.mark.parametrize("rule", ["outside", "missing"])
def test_a_rule_that_stops_a_count_still_stops_it(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summing, "_FEW_CELLS", FEW)
    domain = domain_of(SHAPE, **{rule: "error"})

    with pytest.raises(ht.BadRows):
        ht.count(rows_of(SHAPE, 2_000, beyond=2), domain=domain)


WIDE = (1000, 7, 900, 20, 3)  # no counts for each cell
SETS = [(0,), (0, 1), (1, 3), (2, 4), (4,), (3, 1)]


def told(counted: Any, cube: TableSpace) -> list[tuple[list[int], list[int]]]:
    tables = counted.marginals(cube, range(len(cube.marginals)))
    return [(table.keys[0].tolist(), table.counts.tolist()) for table in tables]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize(
    ("threads", "chunk", "block"), [(1, 1 << 16, 1 << 17), (3, 100, 1)], ids=["blocks", "one by one"]
)
def test_tables_are_those_of_the_cells(
    unit: ht.Unit | None, threads: int, chunk: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_CHUNK", chunk)
    monkeypatch.setattr(adding, "_BLOCK_CELLS", block)
    cube, rows = tables_over(WIDE, SETS), rows_of(WIDE, 20_000, beyond=1)
    kinds, found = (CountedTables, CountedRows), []
    for kind, nodes in zip(kinds, (cube, None), strict=True):
        with counted_rows(rows, request_of(cube.domain, unit=unit, threads=threads, nodes=nodes)) as counted:
            assert type(counted) is kind
            found.append((told(counted, cube), counted.total(), tuple(counted.tally), counted.sensitivity))

    assert found[0] == found[1]
    assert 0 < found[0][1] < 20_000


def test_levels_are_added_up_too(tmp_path: Path) -> None:
    domain = ht.Domain(
        day=ht.times("2020-01-01", "2024-01-01", every="1 day", levels=["1 month"]),
        age=ht.bins(0, 100, step=1),
        home=ht.integers(0, 999),
    )
    generator = np.random.default_rng(1)
    days = np.datetime64("2020-01-01") + generator.integers(0, 1461, 5_000)
    rows = pa.table(
        {"day": days, "age": generator.integers(0, 100, 5_000), "home": generator.integers(0, 1000, 5_000)}
    )
    nodes = ht.Tables("month(day),age", "home", "month(day)").over(domain)
    assert nodes.cube is not None

    with counted_rows(rows, request_of(domain, nodes=nodes)) as counted:
        assert type(counted) is CountedTables
        found = told(counted, nodes.cube)
    whole = added(ht.count(rows, domain=domain), nodes.cube)
    assert found == [(table.keys[0].tolist(), table.counts.tolist()) for table in whole]
    assert sum(found[2][1]) == 5_000


def test_cells_that_were_never_told_apart_are_not_given() -> None:
    cube = tables_over(WIDE, SETS)
    with counted_rows(rows_of(WIDE, 100), request_of(cube.domain, nodes=cube)) as counted:
        nodes = ht.Dyadic().over(ht.Domain(x=ht.integers(0, 9)))
        assert isinstance(nodes, AxisSpace)
        asked: list[Callable[[], object]] = [
            counted.table,
            counted.cells,
            lambda: counted.slices,
            lambda: counted.lifted(nodes),
        ]
        for each in asked:
            with pytest.raises(ht.InternalError, match="only coarser tables were counted"):
                each()
        assert repr(counted) == f"CountedTables(shape={WIDE}, counts=<private>)"


@pytest.mark.parametrize(
    ("sets", "room", "blocks"),
    [
        ([(1, 3), (3, 4), (0,)], 1 << 30, 2),
        ([(0, 2), (0, 3), (2, 3)], 1 << 30, 3),
        ([(0, 2), (0, 3), (2, 3)], 1 << 20, None),  # too little room for 10^6 sums
        ([(0, 2, 3)], 1 << 30, None),  # too many cells for a count of each
        ([(0, 1), (0, 1, 2, 3, 4)], 1 << 30, None),  # with the table of all cells
    ],
)
def test_rows_are_added_to_tables_where_those_are_few_and_small(
    sets: list[tuple[int, ...]], room: int, blocks: int | None
) -> None:
    cube = tables_over(WIDE, sets)
    sums = table_sums(cube.domain.space, cube, room)

    assert (None if sums is None else sums.blocks) == blocks


def test_many_tables_are_added_up_from_cells() -> None:
    shape = (400,) * 6
    sets = [(a, b) for a in range(6) for b in range(a)]
    few, many = (tables_over(shape, sets[:number]) for number in (8, 9))

    assert table_sums(few.domain.space, few, 1 << 30) is not None
    assert table_sums(many.domain.space, many, 1 << 30) is None


def test_a_release_of_tables_holds_their_counts(tmp_path: Path) -> None:
    rows, domain = rows_of(WIDE, 5_000), domain_of(WIDE)
    release = ht.publish(
        rows,
        domain=domain,
        structure=ht.Marginals(["a1", "a3"], ["a4"]),
        epsilon=1_000,  # so that no count is changed
        size=1_000,
        left_out_share="0.01",
        ledger=False,
        output=tmp_path / "release.parquet",
        anyway=True,
    )
    known = rows.filter(pa.compute.is_valid(rows.column("a0")))
    by = release.by("a4")
    truth = np.bincount(known.column("a4").to_numpy(), minlength=3)

    assert np.round(by.column("estimate").to_numpy()).tolist() == truth.tolist()
    assert round(release.total(a1=ht.between(0, 1)).value) == np.count_nonzero(
        known.column("a1").to_numpy() == 0
    )
