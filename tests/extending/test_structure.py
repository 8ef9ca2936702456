"""A structure that the package does not know works like its own: drawn, written, asked, planned, shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hushtable as ht
from hushtable.cli.main import app
from hushtable.domain.attributes import Attribute, Integers
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.structures.registry import as_structure, register_structure
from hushtable.table.adding import held
from hushtable.table.sparse import SparseTable
from tests.extending.pairs import Pairs, PairSpace
from tests.harness.cases import chosen
from tests.harness.statistics import LONG

CELLS = 21
COUNTS = np.random.default_rng(4).integers(0, 40, CELLS)
DOMAIN = ht.Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=CELLS - 1)),))
ROWS = pa.table({"age": np.repeat(np.arange(CELLS), COUNTS)})
METHODS: list[Method] = [
    ht.Everything(),
    ht.Everything(nonnegative=True),
    ht.Filter(cutoff=5),
    ht.Filter(size=9),
    ht.Threshold(threshold="30.5"),
    ht.Threshold(size=6),
    ht.Priority(size=9),
    ht.FilterThreshold(cutoff=5, threshold=40),
    ht.FilterPriority(cutoff=5, size=9),
]


def sums(counts: np.ndarray) -> dict[tuple[int, int], int]:
    """Every pair, added up one by one."""
    return {
        (table, pair): int(sum(counts[cell] for cell in range(len(counts)) if (cell + table) // 2 == pair))
        for table in range(2)
        for pair in range(len(counts) // 2 + 1)
    }


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_flat_summary_is_published_opened_and_shown(method: Method, tmp_path: Path) -> None:
    output = tmp_path / "pairs.parquet"

    release = ht.publish(ROWS, domain=DOMAIN, epsilon=40, structure=Pairs(), summary=method, output=output)

    assert release.terms.sensitivity == 2
    assert release.terms.rate == 20
    assert pq.read_table(output).column_names == ["table", "pair", "count", "weight"]
    again = ht.open(output)
    true = sums(COUNTS)
    found = {
        tuple(code): count for code, count in zip(again.codes.tolist(), again.counts.tolist(), strict=True)
    }
    assert len(found) >= 5
    assert all(abs(count - true[code]) <= 2 for code, count in found.items())  # at such an epsilon
    assert "pairs of neighbours of age" in repr(again)
    shown = CliRunner().invoke(app, ["show", str(output)])
    assert shown.exit_code == 0
    assert "pairs of neighbours of age" in shown.stdout


def test_by_its_name_with_a_size_alone(tmp_path: Path) -> None:
    release = ht.publish(
        ROWS, domain=DOMAIN, epsilon=1, structure="pairs", size=8, output=tmp_path / "pairs.parquet"
    )

    assert release.terms.method == ht.Priority(size=8)
    assert len(release) == 8


@pytest.mark.parametrize(
    "method", chosen([ht.Everything(), ht.Threshold(threshold=20), ht.Priority(size=14)], [2]), ids=repr
)
def test_intervals_hold_as_often_as_they_say(method: Method, tmp_path: Path) -> None:
    ranges = [
        (first, first + 2) for first in range(0, CELLS - 1, 2)
    ]  # disjoint, so that answers are independent
    held_, asked = 0, 0
    rounds = 200 if LONG else 30
    for number in range(rounds):
        release = ht.publish(
            ROWS,
            domain=DOMAIN,
            epsilon="1/2",
            structure=Pairs(),
            summary=method,
            output=tmp_path / f"{number}.parquet",
        )
        for first, stop in ranges:
            found = release.total(age=ht.between(first, stop))
            held_ += found.low <= COUNTS[first:stop].sum() <= found.high
            asked += 1

    # 1e-9 is about six deviations.
    assert held_ / asked > 0.95 - 6 * (0.95 * 0.05 / asked) ** 0.5


def test_what_it_cannot_answer_is_refused(tmp_path: Path) -> None:
    release = ht.publish(
        ROWS, domain=DOMAIN, epsilon=1, structure=Pairs(), size=8, output=tmp_path / "pairs.parquet"
    )

    with pytest.raises(ht.BadQuery, match="an even number of neighbours"):
        release.total(age=[1, 2, 3])
    with pytest.raises(ht.BadQuery, match="not a sketch"):
        release.total(combine="median")


def test_a_plan_judges_it(tmp_path: Path) -> None:
    plan = ht.plan(DOMAIN, epsilon=1, size=8, expect_cells=20, expect_mean=20, expect_sd=5, total_share=0)

    pairs, cells = plan.judge(ht.Priority(size=8), Pairs()), plan.judge(ht.Priority(size=8))
    assert pairs.against_zero > cells.against_zero  # for the same size, with twice the noise
    release = ht.publish(
        ROWS,
        domain=DOMAIN,
        epsilon=1,
        structure=Pairs(),
        summary=ht.Priority(size=8),
        plan=plan,
        anyway=True,
        output=tmp_path / "pairs.parquet",
    )
    assert release.terms.plan is not None


def test_summaries_by_themselves() -> None:
    table = ht.SparseTable(shape=(CELLS,), codes=np.arange(CELLS), counts=COUNTS)

    summary = ht.summarize(table, ht.Everything(), epsilon=60, structure=Pairs())

    assert summary.sensitivity == 2
    found = dict(zip(map(tuple, summary.codes.tolist()), summary.counts.tolist(), strict=True))
    assert sum(abs(found[code] - count) for code, count in sums(COUNTS).items()) <= 2


def test_sums_are_those_of_every_pair_and_one_row_changes_two() -> None:
    nodes = Pairs().over(DOMAIN)
    known = Sensitivities.of_rows(1)

    def lifted(counts: np.ndarray) -> dict[tuple[int, int], int]:
        some = np.flatnonzero(counts)
        keys = some.astype(np.uint64)[np.newaxis]
        table = SparseTable.from_cells(DOMAIN.space, keys, counts[some].astype(np.int64), sensitivity=known)
        found = held(table, nodes)
        assert found.sensitivity == nodes.changed(known)
        codes = map(tuple, found.space.unpack(found.keys).tolist())
        return dict(zip(codes, found.counts.tolist(), strict=True))

    whole = lifted(COUNTS)
    assert whole == {code: count for code, count in sums(COUNTS).items() if count}
    for cell in range(CELLS):
        more = COUNTS.copy()
        more[cell] += 1
        changed = lifted(more)
        assert sum(changed[code] - whole.get(code, 0) for code in changed) == nodes.changed(known).l1 == 2
    assert nodes.changed(known).l2_squared == 2


def test_it_is_one_of_the_structures() -> None:
    assert as_structure("pairs") == Pairs()
    assert isinstance(Pairs().over(DOMAIN), PairSpace)
    assert register_structure(Pairs) is Pairs
    with pytest.raises(ht.BadChoice, match="already"):
        register_structure(type("Pairs", (), {"name": "pairs"}))
    with pytest.raises(ht.BadChoice, match="one attribute"):
        Pairs().over_codes((3, 4))
    assert Fraction(Pairs().over(DOMAIN).per_cell) == 2
