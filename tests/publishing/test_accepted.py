"""Whatever settings are accepted are published: what cannot be drawn is refused before it is charged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.summaries import flat
from hushtable.table import lifting
from tests.harness.statistics import LONG

FEW = 3_000  # cells of a table that may be full; more rows than that take too long to try often

# Edges of what is stated, and beyond: rates of 2^-40 and 2^10, cutoffs of 2^61, thresholds of 10^300.
EPSILONS: list[Any] = [
    "1e-12", "1/1099511627776", "1/1099511627777", "1e-6", "0.01", 1, 2, 30, 41, 745, 2**10 - 1, 2**10,
    Fraction(2**10 * 50, 49), 2**10 + 1, 2**16, 2**20, 2**20 + 1, 2**30, 2**40, "1e30", "1e300", "1e3999",
]  # fmt: skip
SIZES: list[Any] = [1, 2, 3, 4, 5, 7, 16, 100, 1000, 10_000, 10**9]
CUTOFFS: list[Any] = [
    0,
    "1/3",
    1,
    "1.5",
    2,
    3,
    17,
    10**6,
    2**59,
    2**60,
    2**61 - 1,
    2**61,
    2**61 + 1,
    "1e300",
    "1e301",
]
THRESHOLDS = [
    "1e-300",
    "1/3",
    1,
    "1.5",
    2,
    10,
    10**9,
    2**60,
    2**62,
    2**64 + 1,
    "1e300",
    "1e300000",
    "1e-3999",
]
SHARES: list[Any] = [
    None,
    None,
    0,
    "1e-30",
    "1e-3000",
    "1/50",
    "1/2",
    "0.999999999999",
    1 - Fraction(1, 10**40),
]
COSTS: list[dict[str, Any]] = [
    {}, {}, {"rho": None}, {"delta": "1e-6"}, {"delta": "1e-6", "law": "gaussian"}, {"delta": "0.999"},
    {"delta": "1e-300"}, {"delta": "1e-6", "law": "truncated-geometric"},
    {"delta": "1e-6", "law": "gaussian-stability"},
]  # fmt: skip
LENGTHS = [1, 2, 3, 4, 5, 7, 16, 17, 60, 1000, 10**6, 2**31, 2**32 + 1, 10**9, 2**40, 10**12]


@st.composite
def methods(draw: st.DrawFn) -> dict[str, Any]:
    sides = {"two_sided": draw(st.booleans())}
    size, cutoff = draw(st.sampled_from(SIZES)), draw(st.sampled_from(CUTOFFS))
    by: Any = draw(st.sampled_from([{"size": size}, {"threshold": draw(st.sampled_from(THRESHOLDS))}]))
    make: list[Callable[[], dict[str, Any]]] = [
        lambda: {"size": size},
        lambda: {"summary": ht.Everything(nonnegative=sides["two_sided"])},
        lambda: {"summary": ht.Filter(size=size, **sides)},
        lambda: {"summary": ht.Filter(cutoff=cutoff, **sides)},
        lambda: {"summary": ht.Threshold(**by, **sides)},
        lambda: {"summary": ht.Priority(size=size, **sides)},
        lambda: {"summary": ht.FilterThreshold(cutoff=cutoff, **by, **sides)},
        lambda: {"summary": ht.FilterPriority(cutoff=cutoff, size=size, **sides)},
    ]
    try:
        return draw(st.sampled_from(make).map(lambda each: each()))
    except ht.BadNumber:  # refused when it is made
        assume(False)
        raise


@st.composite
def structures(draw: st.DrawFn) -> Any:
    branching, weights = draw(st.sampled_from([2, 4, 16, 1024])), draw(st.sampled_from([None, "auto"]))
    complete = draw(st.sampled_from([None, None, 1, 2, 3]))
    kinds = [
        None, None, None, "haar", ht.Dyadic(), ht.Dyadic(consistent=True), ht.ProductDyadic(),
        ht.Tree(branching=branching), ht.Tree(branching=branching, order="morton"),
        ht.CountSketch(width=draw(st.sampled_from([1, 2, 5, 1000])), depth=draw(st.sampled_from([1, 3, 64]))),
        ht.Hierarchy("a0", complete=None if complete == 3 else complete),
        ht.Hierarchy("a0 > a1", shares=draw(st.sampled_from([None, [1, 1000, 1]])), complete=complete),
        ht.Tree(branching=1024, shares=draw(st.sampled_from([[1, 9], [1000, 1, 1]]))),
        ht.Marginals("all-1", weights=weights),
        ht.Marginals("all-1", "all-2", weights=draw(st.sampled_from([["1e-30", 1], [1, "1e300"], [3, 1]]))),
    ]  # fmt: skip
    return draw(st.sampled_from(kinds))


@st.composite
def measures(draw: st.DrawFn) -> dict[str, Any]:
    most, bound = draw(st.sampled_from([1, 2, 100, 2**40])), draw(st.sampled_from([1, 3, 2**40]))
    low = draw(st.sampled_from([0, -most]))
    return draw(
        st.sampled_from(
            [
                {},
                {},
                {"count_column": "x"},
                {"sum_column": "x", "clamp": (low, most)},
                {"unit": ht.Unit("person", max_rows=bound)},
                {"unit": ht.Unit("person", max_cells=bound)},
                {"unit": ht.Unit("person", max_cells=1, max_per_cell=bound)},
                {"unit": ht.Unit("person", max_rows=bound), "sum_column": "x", "clamp": (low, most)},
            ]
        )
    )


def domain_of(shape: list[int]) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=f"a{place}", values=Integers(low=0, high=size - 1))
            for place, size in enumerate(shape)
        )
    )


def rows_of(shape: list[int], fill: str) -> pa.Table:
    """Return rows in no cell, in the corners, in all cells but one, or in all cells."""
    if fill == "empty":
        cells = []
    elif fill == "corners" or prod(shape) > FEW:
        cells = list(itertools.product(*({0, size - 1} for size in shape)))
    else:
        cells = list(itertools.product(*map(range, shape)))[1 if fill == "nearly full" else 0 :]
    codes = np.array(cells, dtype=np.int64).reshape(-1, len(shape))
    columns = {f"a{place}": codes[:, place] for place in range(len(shape))}
    number = len(cells)
    return pa.table(columns | {"x": np.arange(number, dtype=np.int64) % 7, "person": np.arange(number) // 2})


@contextmanager
def nothing_is_charged_in_vain(**budget: Any) -> Iterator[tuple[Path, ht.Ledger]]:
    """Give a folder and a ledger; let pass what a user may be told, if nothing was charged then."""
    with TemporaryDirectory() as folder:
        ledger = ht.Ledger.create(Path(folder, "people.ledger"), about="people", **budget)
        refused: ht.HushtableError | None = None
        try:
            yield Path(folder), ledger
        except ht.InternalError:
            raise
        except ht.HushtableError as error:
            refused = error
        assert refused is None or ledger.spent == 0, f"charged, and then: {refused}"


@given(
    st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=4),
    st.sampled_from(["empty", "corners", "nearly full", "full"]),
    st.sampled_from(EPSILONS),
    methods(),
    structures(),
    measures(),
    st.sampled_from(SHARES),
    st.sampled_from(SHARES),
    st.sampled_from(COSTS),
    st.booleans(),
)
@settings(max_examples=4000 if LONG else 40)
def test_what_is_accepted_is_published(
    shape: list[int],
    fill: str,
    epsilon: Any,
    method: dict[str, Any],
    structure: Any,
    measure: dict[str, Any],
    share: Any,
    left_out: Any,
    cost: dict[str, Any],
    anyway: bool,
) -> None:
    size = method.get("size") or getattr(method.get("summary"), "size", None)
    assume(prod(shape) <= 10_000 or not (size is not None and size > 10_000))
    assume(method.get("summary") != ht.Everything() or prod(shape) <= 10_000 or prod(shape) > 10**8)
    if isinstance(structure, ht.CountSketch):
        method = {}
    budget = (
        {"rho": "1e49"}
        if "rho" in cost
        else {"epsilon": "1e49"} | dict.fromkeys(cost.keys() & {"delta"}, "0.9999")
    )
    with nothing_is_charged_in_vain(**budget) as (folder, ledger):
        ht.publish(
            rows_of(shape, fill),
            domain=domain_of(shape),
            structure=structure,
            total_share=share,
            left_out_share=left_out,
            output=folder / "out.parquet",
            ledger=ledger,
            anyway=anyway,
            **({"rho": epsilon} if "rho" in cost else {"epsilon": epsilon} | cost),
            **method,
            **measure,
        ).to_arrow()


def full_table(shape: list[int], fill: str) -> ht.SparseTable:
    rows = rows_of(shape, fill)
    codes = np.stack([rows[f"a{place}"].to_numpy() for place in range(len(shape))], axis=1)
    return ht.SparseTable(shape=shape, codes=codes, counts=np.ones(len(codes), dtype=np.int64))


@given(
    st.lists(st.sampled_from([1, 2, 3, 5, 17, 40]), min_size=1, max_size=2),
    st.sampled_from(["empty", "corners", "nearly full", "full"]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from(EPSILONS),
    methods(),
    structures(),
)
@settings(max_examples=2000 if LONG else 40)
def test_tables_in_many_slices_are_summarised_or_refused_by_what_is_public(
    shape: list[int], fill: str, cells: int, epsilon: Any, method: dict[str, Any], structure: Any
) -> None:
    """Small slices stand for those of large tables: more than 16 of them, some of them full."""
    chosen = method.get("summary", ht.Priority(size=method.get("size", 1)))
    if isinstance(structure, ht.CountSketch):
        chosen = ht.Everything()
    assume((getattr(chosen, "size", None) or 0) <= 100)  # there are as many slices as rows are asked for

    def drawn(table: ht.SparseTable) -> str:
        try:
            ht.summarize(table, chosen, epsilon=epsilon, structure=structure)
        except ht.InternalError:
            raise
        except ht.HushtableError as error:
            return str(error)
        return ""

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(flat, "_SLICE", cells)
        patched.setattr(lifting, "_SLICE", cells)
        refused = drawn(full_table(shape, fill))
    assert refused == drawn(full_table(shape, "empty"))


@pytest.mark.long
@pytest.mark.parametrize(
    "method", [ht.Filter(size=10), ht.Filter(cutoff=3), ht.Priority(size=10), ht.Everything()]
)
def test_a_full_table_of_millions_of_cells(method: Any) -> None:
    cells = 5_000_000
    table = ht.SparseTable(shape=(cells,), codes=np.arange(cells), counts=np.full(cells, 2))

    assert len(ht.summarize(table, method, epsilon=1)) >= 10


@pytest.mark.parametrize("epsilon", [2**10 + 1, 2**20, 2**20 + 1, "1e18"])
def test_a_rate_without_noise_is_refused_before_it_is_charged(epsilon: Any, tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon="1e49", about="people")
    with pytest.raises(ht.BadNumber, match="is above 2\\^10, where no noise is left"):
        ht.publish(
            rows_of([3], "full"),
            domain=domain_of([3]),
            epsilon=epsilon,
            total_share=0,
            summary=ht.Filter(cutoff=1),
            output=tmp_path / "out.parquet",
            ledger=ledger,
        )
    assert ledger.spent == 0


@pytest.mark.parametrize("epsilon", ["1e30", "1e300", "1e3999"])
def test_no_law_is_chosen_where_none_is_left(epsilon: str, tmp_path: Path) -> None:
    with pytest.raises(ht.BadNumber, match="is above 2\\^10, where no noise is left"):
        ht.publish(
            rows_of([3], "full"), domain=domain_of([3]), epsilon=epsilon, delta="1e-6", structure="cells",
            size=1, ledger=False, output=tmp_path / "out.parquet",
        )  # fmt: skip


# Names that mean something to those who ask, in files or to what makes pages and cards.
ODD_NAMES = ["county(town)", "a,b", "all", '"']


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("structure", [None, ht.Tree(), "levels"], ids=["tables", "tree", "levels"])
def test_what_is_published_under_an_odd_name_is_asked_and_shown(
    name: str, structure: Any, tmp_path: Path
) -> None:
    towns = {"values": ["A-1", "A-2", "B-1"], "levels": {"county": 1}}
    steps = {"start": 0, "stop": 20, "step": 1, "levels": [5]}
    named = [{"name": name, "column": "a", "categories": towns}, {"name": "b", "bins": steps}]
    domain, quoted = ht.Domain.from_dict({"attribute": named}), '"' + name.replace('"', '""') + '"'
    if structure == "levels":
        structure = ht.Hierarchy(f"county({quoted}) > {quoted} > b")
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    rows = pa.table({"a": ["A-1", "B-1"] * 20, "b": [1, 19] * 20})
    try:
        release = ht.publish(
            rows, domain=domain, epsilon=1, size=40, ledger=ledger, output=tmp_path / "out.parquet",
            structure=structure, anyway=True,
        )  # fmt: skip
    except ht.BadChoice:
        assert ledger.spent == 0
        return
    assert len(release.to_arrow())
    release.total()
    release.page(tmp_path / "page.html")
    release.report(tmp_path / "report.md")
    assert release.card()
    if structure is None:
        assert release.by([f"county({name})"]).num_rows == 2
        assert release.by([name], where=f"{quoted} IS NOT NULL").num_rows == 3


def test_two_levels_of_a_hierarchy_with_one_name_are_refused(tmp_path: Path) -> None:
    domain = ht.Domain(all=ht.integers(0, 3), town=ht.categories(["a", "b"]))

    with pytest.raises(ht.BadChoice, match="2 levels of the hierarchy would be called 'all'"):
        ht.publish(
            pa.table({"all": [1], "town": ["a"]}), domain=domain, epsilon=1, size=10,
            structure=ht.Hierarchy("all > town"), ledger=False, output=tmp_path / "out.parquet",
        )  # fmt: skip
