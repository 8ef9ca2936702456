"""What is counted on one machine: that memory and threads change nothing. `contract` has the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced import counting, runs
from hushtable.engines.sliced.bounding import drawn_salt
from hushtable.engines.sliced.counting import CountedRows, CountRequest
from hushtable.noise import KeyStream
from hushtable.table.slices import Slice
from tests.engines.contracts.counting import DOMAIN, WIDE, random_rows, whole
from tests.engines.reference import counts_of, decoded, differences
from tests.harness.cases import chosen, few


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


@pytest.mark.parametrize(("distinct", "threads"), chosen(product([50, 10**6], [1, 2, 5]), [0, 2, 4]))
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

    with counted_rows(
        path, CountRequest(domain=WIDE, measure=Measure(), threads=threads, entropy=KeyStream())
    ) as counted:
        found = decoded(WIDE, counted.table())

    names = ", ".join(table.column_names)
    assert not differences(found, f"SELECT {names}, count(*) FROM '{path}' GROUP BY ALL")


@pytest.mark.parametrize(("amounts", "size"), few(product([False, True], [2, 300, 10**6]), every=2))
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
        CountRequest(
            domain=domain,
            measure=Measure(count_column="n" if amounts else None),
            memory="256MiB",
            entropy=KeyStream(),
        ),
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


def test_text_categories_with_a_million_values_are_counted(tmp_path: Path) -> None:
    values = tuple(f"{code:015d}" for code in range(1_000_000))
    domain = ht.Domain(attributes=(Attribute(name="block", values=Categories(values=values)),))
    chosen = np.random.default_rng(5).integers(0, 1_100_000, 50_000)
    table = pa.table({"block": [f"{code:015d}" for code in chosen]})

    counts = counts_of(ht.count(table, domain=domain))

    inside = Counter((int(code),) for code in chosen if code < 1_000_000)
    assert counts == dict(inside)


def test_columns_are_named_by_text() -> None:
    with pytest.raises(ht.BadMethod, match="column is a int, not the name of a column"):
        ht.Unit(7, max_rows=1)  # type: ignore[arg-type]
    for name in ("count_column", "sum_column"):
        with pytest.raises(ht.BadMethod, match=f"{name} is a int, not the name of a column"):
            Measure(**{name: 7, "clamp": None if name == "count_column" else (0, 1)})  # type: ignore[arg-type]


def test_what_rows_are_kept_by_is_drawn_for_each_count() -> None:
    """128 bits of its own: whoever knows what was kept once does not know it the next time."""
    salts = {drawn_salt(KeyStream()) for _ in range(20)}

    assert len(salts) == 20
    assert all(len(bytes.fromhex(salt)) == 16 for salt in salts)
