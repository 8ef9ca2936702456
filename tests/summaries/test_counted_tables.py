"""A counted table knows what one unit changes in it, and nobody draws noise for less."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.counting import CountRequest
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import KeyStream
from hushtable.structures.sketch import CountSketch, SketchSpace
from hushtable.summaries.draws import drawn_keys
from hushtable.summaries.summarize import draw_summary
from hushtable.table.adding import sketched
from tests.harness.statistics import replay, tries
from tests.table.several import added, tables_over

DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="a", values=Integers(low=0, high=2)),
        Attribute(name="b", values=Integers(low=0, high=1)),
    )
)
STRUCTURES = [
    None,
    "haar",
    ht.Dyadic(),
    ht.ProductDyadic(),
    ht.Tree(branching=2),
    CountSketch(width=8, depth=3),
]


def rows_of(rows: list[tuple[int, int, int, int]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    arrays = [pa.array(column, pa.int64()) for column in columns]
    return pa.table(dict(zip(("person", "a", "b", "x"), arrays, strict=True)))


def dense(table: ht.SparseTable) -> Any:
    found = np.zeros(table.shape, dtype=object)
    found[tuple(table.space.unpack(table.keys).T)] = table.counts.tolist()
    return found


def test_a_sum_gets_noise_for_the_largest_value_that_a_row_adds() -> None:
    table = ht.count(rows_of([(1, 0, 0, 70)]), domain=DOMAIN, sum_column="x", clamp=(0, 100))

    assert table.sensitivity == Sensitivities.of_rows(100)
    assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=1).sensitivity == 100
    with pytest.raises(ht.BadNumber, match="is below 100, which one unit of this table can change"):
        ht.summarize(table, ht.Filter(cutoff=1), epsilon=1, sensitivity=99)
    with pytest.raises(ht.BadNumber, match="sensitivity"):
        ht.summarize(table, ht.Filter(cutoff=1), epsilon=1, sensitivity="1", structure="haar")
    assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=1, sensitivity=250).sensitivity == 250


def test_sums_below_0_need_no_sensitivity_where_they_were_counted() -> None:
    table = ht.count(rows_of([(1, 0, 0, -7)]), domain=DOMAIN, sum_column="x", clamp=(-9, 3))

    assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=1).sensitivity == 9


def test_of_a_table_made_by_hand_nothing_is_known() -> None:
    table = ht.SparseTable(shape=(3,), codes=[1], counts=[5])

    assert table.sensitivity is None
    assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=1).sensitivity == 1
    assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=1, sensitivity="1/2").sensitivity == Fraction(
        1, 2
    )


def test_what_a_table_knows_cannot_be_taken_from_it() -> None:
    table = ht.count(rows_of([(1, 0, 0, 70)]), domain=DOMAIN, sum_column="x", clamp=(0, 100))

    with pytest.raises(AttributeError):
        table.sensitivity = None  # type: ignore[misc]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ht.HushtableError, match="cannot be copied or pickled"):
            copied(table)
    with pytest.raises(TypeError, match="sensitivity"):
        ht.SparseTable.from_cells(table.space, table.keys, table.counts)  # type: ignore[call-arg]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_noise_is_drawn_for_less_wherever_a_table_goes(structure: Any) -> None:
    table = ht.count(rows_of([(1, 0, 0, 70)]), domain=DOMAIN, unit=ht.Unit("person", max_rows=7))
    method = ht.Everything() if isinstance(structure, CountSketch) else ht.Filter(size=3)
    drawn = ht.summarize(table, method, epsilon=1, structure=structure)
    by_hand = ht.SparseTable(shape=DOMAIN.shape, codes=[[0, 0]], counts=[1])

    assert drawn.sensitivity == 7 * ht.summarize(by_hand, method, epsilon=1, structure=structure).sensitivity
    with pytest.raises(ht.BadNumber, match="is below 7"):
        ht.summarize(table, method, epsilon=1, structure=structure, sensitivity=6)
    with pytest.raises(ht.InternalError, match="for less than one unit changes"):
        draw_summary(
            table,
            method,
            epsilon=Fraction(1),
            sensitivity=drawn.sensitivity - 1,
            entropy=KeyStream(),
            nodes=drawn.nodes,
        )


measures: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.just({"count_column": "x"}),
    st.tuples(st.integers(-5, 5), st.integers(-5, 5))
    .filter(any)
    .map(lambda ends: {"sum_column": "x", "clamp": tuple(sorted(ends))}),
)
units = st.one_of(
    st.none(),
    st.integers(1, 3).map(lambda most: ht.Unit("person", max_rows=most)),
    st.tuples(st.integers(1, 3), st.integers(1, 2)).map(
        lambda most: ht.Unit("person", max_cells=most[0], max_per_cell=most[1])
    ),
)
some_rows = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 1), st.integers(-9, 9)), max_size=12
)


def counted(rows: list[tuple[int, int, int, int]], measure: Measure) -> ht.SparseTable:
    """Count rows, under one salt for all: which rows of a unit count is drawn anew for each count."""
    request = CountRequest(domain=DOMAIN, measure=measure, entropy=replay(0), memory="256MiB")
    with counted_rows(rows_of(rows), request) as found:
        return found.table()


@given(measures, units, some_rows, st.lists(st.lists(st.sampled_from([0, 1]), unique=True, min_size=1)))
@settings(max_examples=tries(60))
def test_no_unit_changes_a_table_or_what_is_made_of_it_by_more_than_it_says(
    measure: dict[str, Any],
    unit: ht.Unit | None,
    rows: list[tuple[int, int, int, int]],
    sets: list[list[int]],
) -> None:
    if "count_column" in measure:
        unit = None
        # A unit is one counted person: one row that counts one more or one less.
        rows = [(person, a, b, abs(x)) for person, a, b, x in rows]
        fewer = [(person, a, b, x - (place == 0 < x)) for place, (person, a, b, x) in enumerate(rows)]
    elif unit is None:
        fewer = rows[1:]
    else:
        fewer = [row for row in rows if row[0] != 1]
    with_, without = (counted(some, Measure(unit=unit, **measure)) for some in (rows, fewer))
    stated = Measure(unit=unit, **measure).sensitivities
    assert with_.sensitivity == without.sensitivity == stated

    structure = CountSketch(width=2, depth=2)
    sketch = SketchSpace(structure, DOMAIN.space, drawn_keys(structure, KeyStream()))
    pairs = [(with_, without), (sketched(with_, sketch), sketched(without, sketch))]
    pairs += zip(
        added(with_, tables_over(with_.shape, sets)),
        added(without, tables_over(without.shape, sets)),
        strict=True,
    )
    for one, other in pairs:
        known, change = one.sensitivity, np.abs(dense(one) - dense(other)).ravel()
        assert known is not None
        assert known == other.sensitivity
        assert sum(change) <= known.l1
        assert sum(change**2) <= known.l2_squared
        assert max(change) <= known.per_cell


def test_of_a_table_made_by_hand_nothing_is_known_of_its_sums_either() -> None:
    table = ht.SparseTable(shape=(3, 2), codes=[[1, 1]], counts=[5])

    assert [each.sensitivity for each in added(table, tables_over(table.shape, [[0], [1]]))] == [
        None,
        None,
    ]
