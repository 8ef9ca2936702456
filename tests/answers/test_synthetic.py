"""Whole numbers that add up, and rows that they count: exactly, in a hierarchy; nearly, in several tables."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.answers.synthetic.levels import positions, whole_levels
from hushtable.answers.synthetic.rounding import along, shared, spread
from hushtable.release.footer import entries_of
from tests.answers.test_hierarchies import LEVELS, Drawn, drawn, people, places
from tests.release.forging import rewritten

PARTS = st.lists(st.floats(0, 1e6) | st.just(0.0), min_size=1, max_size=6)


@given(st.integers(0, 30), st.lists(st.integers(0, 8), min_size=1, max_size=4))
def test_shares_are_the_nearest_whole_numbers(total: int, parts: list[int]) -> None:
    found = shared(np.array([total]), np.zeros(len(parts), dtype=np.intp), np.array(parts, dtype=float))

    weights = parts if sum(parts) else [1] * len(parts)
    even = [Fraction(total * part, sum(weights)) for part in weights]
    assert found.sum() == total
    assert found.min() >= 0
    squares = sum((int(a) - b) ** 2 for a, b in zip(found, even, strict=True))
    others = (each for each in product(range(total + 1), repeat=len(parts)) if sum(each) == total)
    assert squares == min(sum((a - b) ** 2 for a, b in zip(each, even, strict=True)) for each in others)


@given(st.lists(st.tuples(st.integers(0, 2**40), PARTS), min_size=1, max_size=5))
def test_each_total_is_shared_out_among_its_own(groups: list[tuple[int, list[float]]]) -> None:
    totals = np.array([total for total, _ in groups])
    owners = np.repeat(np.arange(len(groups)), [len(parts) for _, parts in groups])
    found = shared(totals, owners, np.array([part for _, parts in groups for part in parts]))

    assert found.min() >= 0
    assert np.bincount(owners, weights=found).tolist() == totals.tolist()


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=40), st.integers(0, 10**6))
def test_every_run_of_neighbours_is_off_by_less_than_one(values: list[float], total: int) -> None:
    found = along(np.array(values), total)

    assert found.sum() == total
    assert found.min() >= 0
    wanted = (
        np.cumsum(values) / sum(values) * total
        if sum(values)
        else np.arange(1, len(values) + 1) / len(values) * total
    )
    assert np.abs(np.cumsum(found) - wanted).max() <= 0.5 + 1e-5


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 2**59)), min_size=1, max_size=4))
def test_things_stand_evenly(given_: list[tuple[int, int]]) -> None:
    numbers, places_ = (np.array(each) for each in zip(*given_, strict=True))
    owners, found = spread(numbers, places_)

    expected = [
        (owner, (2 * each + 1) * size // (2 * number))
        for owner, (number, size) in enumerate(given_)
        for each in range(number)
    ]
    assert list(zip(owners.tolist(), found.tolist(), strict=True)) == expected


@given(drawn(), st.none() | st.integers(0, 500))
def test_rows_reproduce_every_published_level_exactly(made: Drawn, count: int | None) -> None:
    tree = made.world.nodes.tree
    total = round(float(made.fit.masses[0][0])) % 10_000 if count is None else count
    levels = whole_levels(made.fit, total=total)
    found = positions(tree, made.fit, levels)
    values = np.concatenate([level.numbers for level in levels])

    assert found.size == total
    assert values.min(initial=0) >= 0
    for number, whole in zip(made.numbers.tolist(), values.tolist(), strict=True):
        level, first = number // tree.cells, number % tree.cells
        size = int(tree.cells_of(np.array([first]), level)[0])
        assert np.count_nonzero((found >= first) & (found < first + size)) == whole
    # What a node keeps stands in absent children alone, and each number is near its part of the one above.
    for above, level, below in zip(made.fit.levels, levels, levels[1:], strict=False):
        assert above.below is not None
        sums = np.bincount(above.below.parents, weights=below.numbers, minlength=level.numbers.size)
        assert (sums + level.rest).tolist() == level.numbers.tolist()
        assert np.all(level.rest[above.absent_cells == 0] == 0)


def test_rows_of_a_release(tmp_path: Path) -> None:
    domain = places(3)
    counts = people(domain, 8_000, 3)
    data = domain.decode(np.argwhere(counts).repeat(counts[counts > 0], axis=0))
    output = tmp_path / "a.parquet"
    release = ht.publish(
        data, domain=domain, structure=LEVELS, epsilon=1, size=300, output=output, ledger=False
    )
    rows, whole = release.rows(), release.whole()

    assert rows.equals(release.rows())  # no lots are drawn
    assert rows.schema.metadata[b"synthetic"] == b"true"
    assert b"none of them is a person" in rows.schema.metadata[b"note"]
    columns = {name: rows[name].to_pylist() for name in ("home", "work")}
    for label, length in (
        ("all", 0),
        ("county(home), county(work)", 1),
        ("tract(home), tract(work)", 2),
        ("home, work", 4),
    ):
        found = Counter((home[:length], work[:length]) for home, work in zip(*columns.values(), strict=True))
        for row in whole.to_pylist():
            if row["level"] == label:
                names = ("", "")
                if length:
                    level = {1: "county({})", 2: "tract({})", 4: "{}"}[length]
                    names = row[level.format("home")], row[level.format("work")]
                assert found[names] == row["whole"]

    assert release.write_rows(tmp_path / "rows.parquet") == rows.num_rows
    written = pq.read_table(tmp_path / "rows.parquet")
    assert written.to_pydict() == rows.to_pydict()
    assert written.schema.metadata[b"synthetic"] == b"true"
    with pytest.raises(ht.OutputExists):
        release.write_rows(tmp_path / "rows.parquet")
    release.write_rows(tmp_path / "rows.parquet", count=100, overwrite=True)
    assert pq.read_metadata(tmp_path / "rows.parquet").num_rows == 100
    with pytest.raises(ht.BadOutput, match=r"only synthetic rows"):
        release.write_rows(output, overwrite=True)
    assert release.rows(count=0).num_rows == 0
    with pytest.raises(ht.BadNumber, match="below 0"):
        release.rows(count=-1)
    with pytest.raises(ht.BadQuery, match="have all of its attributes"):
        release.rows("home")


@pytest.mark.parametrize("size", [200, 5_000])
def test_rows_of_several_tables_are_near_what_they_say(size: int, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    sizes = {"a": 10, "b": 20, "c": 5, "d": 2}
    domain = ht.Domain(**{name: ht.integers(0, each - 1) for name, each in sizes.items()})  # type: ignore[arg-type]
    first = random.integers(0, 10, 20_000)
    columns = [
        first,
        (first + random.geometric(0.3, 20_000)) % 20,
        random.poisson(1, 20_000).clip(0, 4),
        first % 2,
    ]
    data = domain.decode(np.stack(columns, axis=1))
    release = ht.publish(
        data, domain=domain, epsilon=1, size=size, output=tmp_path / "a.parquet", ledger=False
    )
    rows = release.rows()

    assert rows.column_names == list(sizes)
    assert rows.equals(release.rows())
    assert rows.num_rows == pytest.approx(release.total().value, rel=0.02)
    for names in [*combinations(sizes, 1), *combinations(sizes, 2)]:
        found = Counter(zip(*(rows[name].to_pylist() for name in names), strict=True))
        groups = release.by(list(names), nonnegative=True).to_pylist()
        off = [found[tuple(row[name] for name in names)] - row["nonnegative"] for row in groups]
        errors = [row["standard_error"] for row in groups]
        # Rounding, and what numbers that are 0 or more cannot say, are small beside the noise.
        assert np.sqrt(np.mean(np.square(off))) < max(8.0, 3 * float(np.mean(errors)))
    assert release.rows(["a", "d"]).column_names == ["a", "d"]


def test_rows_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    wide = ht.Domain(a=ht.integers(0, 9_999), b=ht.integers(0, 9_999))
    data = wide.decode(np.arange(2_000).reshape(1_000, 2))
    tables = ht.publish(
        data, domain=wide, epsilon=1, size=500, output=tmp_path / "a.parquet", ledger=False, anyway=True
    )
    with pytest.raises(ht.BadQuery, match="100,000,000 combinations"):
        tables.rows()
    assert set(tables.rows("a").column_names) == {"a"}
    cells = ht.publish(
        data,
        domain=wide,
        structure="cells",
        epsilon=1,
        size=500,
        output=tmp_path / "b.parquet",
        ledger=False,
        anyway=True,
    )
    with pytest.raises(ht.BadQuery, match="several tables, or of a hierarchy"):
        cells.rows()
    with pytest.raises(ht.BadQuery, match="add up along a hierarchy"):
        cells.whole()


@pytest.mark.parametrize("structure", [None, ht.Hierarchy("county(town) > town")], ids=["tables", "levels"])
def test_a_file_that_claims_more_people_than_fit_is_refused_at_once(
    structure: ht.Hierarchy | None, tmp_path: Path
) -> None:
    towns = ht.categories(["A-1", "A-2", "B-1"], levels={"county": 1})
    domain = ht.Domain(town=towns, age=ht.integers(0, 3))
    people = pa.table({"town": ["A-1", "B-1"], "age": [0, 3]})
    path = tmp_path / "towns.parquet"
    made = ht.publish(
        people, domain=domain, epsilon=1, size=50, structure=structure, ledger=False, output=path
    )
    table = made.to_arrow()
    for count, weight in ((2**61, 2.0**61), (2**63 - 1, 2.0**128), (-(2**63), -(2.0**128))):
        for name, value in (("count", count), ("weight", weight)):
            place = table.column_names.index(name)
            field = table.schema.field(name)
            table = table.set_column(place, field, pa.array([value] * len(table), field.type))
        release = ht.open(rewritten(path, table, entries_of(made.terms)))

        assert release.rows(count=5).num_rows == 5
        if weight > 0:
            with pytest.raises(ht.BadQuery, match="at most 1,000,000,000"):
                release.rows()
        if structure is not None:
            with suppress(ht.BadQuery):
                assert min(release.whole()["whole"].to_pylist()) >= 0
        with pytest.raises(ht.BadQuery, match="at most 1,000,000,000"):
            release.rows(count=10**10)
