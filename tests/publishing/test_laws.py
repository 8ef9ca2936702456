"""Releases with noise of every law: what they cost, what they say, what is refused, what comes out."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.cli.main import app
from hushtable.domain.attributes import Attribute, Integers
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.sensitivities import Sensitivities
from hushtable.planning.laws import cutoffs, law_for
from hushtable.structures.structure import Structure
from hushtable.table.adding import marginals
from hushtable.table.lifting import lifted
from hushtable.table.sparse import SparseTable
from tests.harness.statistics import ALARM, accepted_at, fits, follows

ROW = Sensitivities.of_rows(1)
DOMAIN = ht.Domain(town=ht.integers(0, 49), age=ht.integers(0, 99))
GENERATOR = np.random.default_rng(5)
ROWS = pa.table({"town": GENERATOR.zipf(1.6, 5_000) % 50, "age": GENERATOR.integers(20, 60, 5_000)})
APPROXIMATE: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
STRUCTURES: list[Any] = [
    None,
    "cells",
    "haar",
    ht.Dyadic(),
    ht.Tree(),
    ht.Marginals("all-1"),
    ht.Tables("town", "age", "town,age"),
]


def publish(folder: Path, rows: Any = ROWS, domain: ht.Domain = DOMAIN, **words: Any) -> ht.Release:
    output = folder / "out.parquet"
    ht.publish(rows, domain=domain, output=output, overwrite=True, **{"ledger": False} | words)
    return ht.open(output)


def is_near(estimate: ht.Estimate, true: float) -> bool:
    """Whether an interval of 95 %, made seven times as wide, holds the truth: it fails once in 10^20 runs."""
    width = estimate.high - estimate.low
    return estimate.low - 3 * width <= true <= estimate.high + 3 * width


@pytest.mark.parametrize("cost", [{"rho": "0.05"}, APPROXIMATE], ids=str)
@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_every_structure_takes_gaussian_noise(cost: dict[str, Any], structure: Any, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure, size=300, law="gaussian", **cost)
    terms = release.terms

    assert terms.law_name == "gaussian"
    assert terms.rho is not None
    assert (terms.epsilon, terms.delta) == ((None, 0) if "rho" in cost else (Fraction(1), Fraction(1, 10**6)))
    assert is_near(release.total(), 5_000)
    assert release.cost == terms.cost


SUMMARIES: list[Any] = [
    "everything",
    ht.Filter(size=50),
    ht.Filter(cutoff=20),
    ht.Threshold(size=50),
    ht.Priority(size=50),
    ht.FilterThreshold(cutoff=10, size=50),
    ht.FilterPriority(cutoff=10, size=50),
]


@pytest.mark.parametrize("summary", SUMMARIES, ids=repr)
def test_every_summary_takes_gaussian_noise(summary: Any, tmp_path: Path) -> None:
    release = publish(tmp_path, structure="cells", summary=summary, rho="0.05")

    assert release.terms.law == Gaussian(Fraction(1) / (2 * Fraction("0.049")))  # 1/50 buys the total
    assert is_near(release.total(town=range(25)), int(np.sum(np.asarray(ROWS["town"]) < 25)))


def test_noise_in_the_file_has_the_law_that_the_terms_state(tmp_path: Path) -> None:
    """A table without rows: what is published is noise, as much as noise on every cell would make."""
    wide = ht.Domain(place=ht.integers(0, 10**12))
    empty = pa.table({"place": pa.array([], type=pa.int64())})
    cutoff = 60
    release = publish(
        tmp_path, empty, wide, rho="0.005", total_share=0, structure="cells", summary=ht.Filter(cutoff=cutoff)
    )
    law, rule = release.terms.law, release.summary.rule

    assert law == Gaussian(Fraction(100))
    assert follows(np.abs(release.counts), accepted_at(rule, law)) > ALARM
    assert fits(np.abs(release.counts), accepted_at(rule, Gaussian(Fraction(160)))) < ALARM
    expected = 2 * 10**12 * float(law.floats.tail(np.array([float(cutoff)]))[0])
    assert abs(len(release) - expected) < 8 * sqrt(expected)


@pytest.mark.parametrize(("law", "cutoff"), [("truncated-geometric", 15), ("gaussian-stability", 22)])
def test_thresholds_show_occupied_cells_alone(law: str, cutoff: int, tmp_path: Path) -> None:
    rows = pa.table({"town": [3] * 400 + [7] * 2 + [9] * 100, "age": [30] * 400 + [31] * 2 + [50] * 100})
    release = publish(tmp_path, rows, law=law, **APPROXIMATE)

    assert release.summary == ht.Filter(cutoff=cutoff, two_sided=False)
    assert release.terms.rule == "threshold-1"
    assert [(row["town"], row["age"]) for row in release.to_arrow().to_pylist()] == [(3, 30), (9, 50)]
    assert release.noisy_total is None
    assert "delta" in release.guarantee
    fewer = publish(tmp_path, rows, law=law, size=1, **APPROXIMATE)
    assert len(fewer) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "nothing says what the release may cost"),
        ({"epsilon": 1, "rho": 1}, "two ways to say"),
        ({"rho": 1, "delta": "1e-6"}, "`rho` has no delta"),
        ({"epsilon": 1, "delta": 2}, "lies outside of 0 to 1"),
        ({"delta": "1e-6"}, "nothing says what the release may cost"),
        ({"epsilon": 1, "law": "gaussian"}, "paid with rho, or with epsilon and delta"),
        ({"rho": 1, "law": "geometric"}, "paid with epsilon, and rho is given"),
        ({"epsilon": 1, "law": "truncated-geometric"}, "paid with epsilon and delta"),
        ({"law": "truncated-geometric", "structure": "haar"} | APPROXIMATE, "a table of cells alone"),
        ({"law": "gaussian-stability", "ask": ["town"]} | APPROXIMATE, "`ask` asks for more"),
        ({"law": "gaussian-stability", "total_share": "0.1"} | APPROXIMATE, "`total_share` asks for more"),
        (
            {"law": "gaussian-stability", "summary": ht.Filter(cutoff=21), "size": None} | APPROXIMATE,
            "below 22",
        ),
        ({"law": "gaussian-stability", "summary": "everything"} | APPROXIMATE, "goes with filter"),
        ({"law": "gaussian-stability", "unit": ht.Unit("town", max_rows=3)} | APPROXIMATE, "by 1 each"),
        ({"epsilon": 1, "law": "laplace"}, "is not a known law of noise"),
    ],
)
def test_costs_and_laws_that_do_not_go_together_are_refused(
    words: dict[str, Any], said: str, tmp_path: Path
) -> None:
    ledger = ht.Ledger.create(tmp_path / "all.ledger", epsilon=10, about="everybody")
    with pytest.raises(ht.HushtableError, match=said):
        publish(tmp_path, ledger=ledger, **{"size": 100} | words)
    assert ledger.entries() == []


def test_ledgers_pay_for_what_they_hold(tmp_path: Path) -> None:
    rho = ht.Ledger.create(tmp_path / "rho.ledger", rho="0.1", about="everybody")
    publish(tmp_path, ledger=rho, rho="0.06", size=100)
    assert rho.left == Fraction("0.04")
    with pytest.raises(ht.BudgetExceeded):
        publish(tmp_path, ledger=rho, rho="0.06", size=100)
    both = ht.Ledger.create(tmp_path / "both.ledger", epsilon=1, delta="1e-6", about="everybody")
    publish(tmp_path, ledger=both, structure="cells", size=100, law="gaussian", total_share=0, **APPROXIMATE)
    (entry,) = both.entries()
    assert entry.state == "finished"
    with pytest.raises(ht.HushtableError):
        publish(tmp_path, ledger=both, size=100, epsilon="0.01")
    pure = ht.Ledger.create(tmp_path / "pure.ledger", epsilon=1, about="everybody")
    with pytest.raises(ht.BadLedger):
        publish(tmp_path, ledger=pure, size=100, law="gaussian", **APPROXIMATE)


def test_the_exact_curve_needs_less_noise_than_zcdp(tmp_path: Path) -> None:
    alone = publish(tmp_path, structure="cells", size=100, law="gaussian", total_share=0, **APPROXIMATE)
    several = publish(tmp_path, structure="cells", size=100, law="gaussian", **APPROXIMATE)

    assert sqrt(alone.terms.law.floats.variance) == pytest.approx(4.23, abs=0.01)
    assert several.terms.budget < alone.terms.budget


def test_the_guarantee_says_what_is_promised(tmp_path: Path) -> None:
    costs: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": "0.05"}, APPROXIMATE | {"law": "gaussian"}]
    pure, rho, both = (publish(tmp_path, size=50, **cost).guarantee for cost in costs)

    assert "a factor of 2.72 (pure differential privacy with epsilon = 1)." in pure
    assert "4.4, plus one in a million (zero-concentrated differential privacy with rho = 0.05," in rho
    assert "which is at least as good as epsilon = 1.48 and delta = 1e-6)." in rho
    assert rho.endswith("A person with k rows is protected with k^2 times that rho.")
    assert "2.72, plus 1e-6 (approximate differential privacy with epsilon = 1 and delta = 1e-6)." in both


def test_recipes_and_the_command_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq

    data, domain = tmp_path / "rows.parquet", tmp_path / "people.toml"
    pq.write_table(ROWS, data)
    lines = [
        f'[[attribute]]\nname = "{name}"\nintegers = {{ low = 0, high = {high} }}'
        for name, high in (("town", 49), ("age", 99))
    ]
    domain.write_text("\n".join(lines))
    out = tmp_path / "cli.parquet"
    words = ["publish", str(data), "--domain", str(domain), "--rho", "0.02", "--size", "50", "--no-ledger"]
    app([*words, "--output", str(out)], standalone_mode=False)
    release = ht.open(out)
    assert (release.terms.law_name, release.terms.rho) == ("gaussian", Fraction(1, 50))
    capsys.readouterr()
    app(["show", str(out), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["rho"] == "0.02"
    again = ht.Recipe.from_release(release, data=str(data), output="again.parquet")
    assert (again.rho, again.epsilon, again.delta, again.law) == (Fraction(1, 50), None, None, None)
    recipe = ht.Recipe(data="a.csv", domain="people.toml", epsilon=1, delta="1e-6", law="truncated-geometric")
    assert recipe.words["law"] == "truncated-geometric"
    assert ht.Recipe(domain="a.toml", epsilon=1, law="geometric") == ht.Recipe(domain="a.toml", epsilon=1)
    assert ht.Recipe(domain="a.toml", rho=1, law="gaussian") == ht.Recipe(domain="a.toml", rho=1)


def neighbours(cells: int, most: int) -> list[tuple[int, ...]]:
    """What one unit may have in a table: at most `most` cells, once in each."""
    return [each for each in product((0, 1), repeat=cells) if 0 < sum(each) <= most]


@pytest.mark.parametrize(
    "structure",
    [
        ht.Dyadic(),
        ht.Haar(),
        ht.Tree(branching=2),
        ht.Tables("a", "b", "a,b"),
        ht.Marginals("all-1", "all-2"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_neighbour_costs_more_than_rho(structure: Structure, most: int) -> None:
    """By brute force: over all that one unit may have, squares of changes over twice the variances add up."""
    shape = (2, 3) if structure.several else (6,)
    domain = ht.Domain(
        attributes=[
            Attribute(name=name, values=Integers(low=0, high=size - 1))
            for name, size in zip("ab", shape, strict=False)
        ]
    )
    nodes, rho = structure.over(domain), Fraction(1, 10)
    one = Sensitivities(l1=Fraction(most), l2_squared=Fraction(most), per_cell=Fraction(1))
    change = nodes.change(Gaussian, one)
    codes = np.array(list(np.ndindex(*shape)))
    worst = Fraction(0)
    for held in neighbours(len(codes), most):
        own = codes[np.array(held, dtype=bool)]
        table = SparseTable(shape=shape, codes=own, counts=np.ones(len(own), dtype=np.int64))
        worst = max(worst, _cost(structure, nodes, table, change, rho))

    assert worst <= rho
    assert worst >= rho / 2  # it is no idle bound


def _cost(structure: Structure, nodes: Any, table: SparseTable, change: Fraction, rho: Fraction) -> Fraction:
    """What a unit with these cells costs, by the noise that each node has."""
    pairs: list[tuple[int, Any]]
    if structure.several:
        every = range(len(nodes.marginals))
        found = marginals([(table.keys, table.counts)], table.space, nodes, every, sensitivity=None)
        pairs = [(nodes.marginals[number].share, found[number].counts) for number in every]
    elif structure.prunes:
        tree = nodes.tree
        pairs = [(share, tree_sums(table, tree, level)) for level, share in enumerate(tree.shares)]
    else:
        pairs = [(1, part.cells()[1]) for part in lifted(table, nodes)]
    spent = Fraction(0)
    for share, counts in pairs:
        law = Gaussian.calibrated(budget=rho * share, change=change)
        spent += law.loss(change=Fraction(int((counts.astype(object) ** 2).sum())))
    return spent


def tree_sums(table: SparseTable, tree: Any, level: int) -> Any:
    """Sums of a line of cells in blocks of a level, from the root on."""
    line = np.zeros(tree.branching ** (len(tree.shares) - 1), dtype=np.int64)
    line[table.space.unpack(table.keys)[:, 0]] = table.counts
    return line.reshape(tree.branching**level, -1).sum(axis=1)


def test_people_in_many_cells_and_tables_get_gaussian_noise(tmp_path: Path) -> None:
    people = pa.table({"id": np.arange(5_000) % 800, **{name: ROWS[name] for name in ROWS.column_names}})
    unit: dict[str, Any] = {"unit": ht.Unit("id", max_cells=10), "size": 200}
    alone = publish(tmp_path, people, structure="cells", **unit, **APPROXIMATE)
    assert alone.terms.law_name == "gaussian"
    stable = publish(tmp_path, people, law="gaussian-stability", **unit, **APPROXIMATE)
    assert stable.summary.cutoff == 71
    by_rho = publish(
        tmp_path, people, structure=ht.Tables("town", "age", "town,age"), rho="0.1", total_share=0, **unit
    )
    # Ten cells of one person may be in one town: its table has more noise than the cells, in equal shares.
    spent = [by_rho.terms.part(number).rows_budget for number in range(3)]
    assert sum(spent) == Fraction("0.1")
    assert {by_rho.terms.part(number).law for number in range(3)} == {by_rho.terms.law}
    assert spent[0] == spent[1] == 10 * spent[2]


UNITS: list[tuple[dict[str, Any], int, int]] = [
    ({}, 1, 1),
    ({"unit": ht.Unit("id", max_rows=3)}, 3, 9),
    ({"unit": ht.Unit("id", max_cells=10)}, 10, 10),
    ({"unit": ht.Unit("id", max_cells=5, max_per_cell=2)}, 10, 20),
]


@pytest.mark.parametrize(("words", "l1", "l2_squared"), UNITS, ids=["row", "rows", "cells", "rows in cells"])
def test_a_total_costs_its_share_and_is_for_all_that_a_unit_changes(
    words: dict[str, Any], l1: int, l2_squared: int, tmp_path: Path
) -> None:
    """All that a unit adds meets in the total: there, squares are of the sum, and not of each cell."""
    people = pa.table({"id": np.arange(50) % 8, "town": np.arange(50), "age": np.arange(50)})
    shared = words | {"structure": "cells", "size": 9, "total_share": "1/5", "anyway": True}
    pure = publish(tmp_path, people, epsilon=1, **shared).terms
    square = publish(tmp_path, people, rho=1, left_out_share="1/10", **shared).terms

    assert pure.total_law is not None
    assert square.total_law is not None
    assert square.left_out_law is not None
    assert pure.total_law.loss(change=Fraction(l1)) == Fraction(1, 5)
    assert pure.law.loss(change=Fraction(l1)) == Fraction(4, 5)
    assert square.total_law.loss(change=Fraction(l1 * l1)) == Fraction(1, 5)
    assert square.law.loss(change=Fraction(l2_squared)) == Fraction(7, 10)
    assert square.left_out_law.loss(change=Fraction(1)) == Fraction(1, 10)


def test_summaries_of_tables_have_noise_for_what_a_unit_changes() -> None:
    table = SparseTable(shape=(100,), codes=[3], counts=[50])
    by_hand = ht.summarize(table, ht.Everything(), rho="0.5", sensitivity=3)
    assert by_hand.sensitivity == 9  # all of it may be in one cell
    tree = ht.summarize(table, ht.Filter(size=5), rho="0.5", sensitivity=3, structure=ht.Dyadic())
    assert tree.sensitivity == 9 * 8
    people = pa.table({"id": [1, 1, 2], "town": [1, 2, 3], "age": [20, 20, 20]})
    counted = ht.count(people, domain=DOMAIN, unit=ht.Unit("id", max_cells=10))
    assert ht.summarize(counted, ht.Filter(size=5), rho="0.5").sensitivity == 10
    both = ht.summarize(counted, ht.Filter(size=5), epsilon=1, delta="1e-6", structure="haar")
    assert both.nodes is not None
    assert both.sensitivity == 100 * both.nodes.per_cell
    with pytest.raises(ht.BadChoice, match="a table of cells"):
        ht.summarize(table, ht.Filter(cutoff=99), law="truncated-geometric", **APPROXIMATE)


def test_the_choice_of_a_law_is_that_of_the_lowest_cutoff() -> None:
    cost = ht.Cost(epsilon=1, delta="1e-6")
    found = {each.law: each.cutoff for each in cutoffs(cost, one=ROW, cells=10**12, size=10_000)}
    assert found == {"geometric": 22, "truncated-geometric": 15, "gaussian": 27, "gaussian-stability": 22}
    assert law_for(cost, None, one=ROW, cells=10**12, size=10_000).name == "truncated-geometric"
    assert law_for(cost, None, one=ROW, cells=10**6, size=10_000).name == "geometric"
    many = Sensitivities.of_rows(50)
    assert law_for(cost, "auto", one=many).name == "geometric"  # all rows may be in one cell
    assert law_for(ht.Cost(rho=1), None, one=many).name == "gaussian"
    assert law_for(ht.Cost(epsilon=1), None, one=many).name == "geometric"


@pytest.mark.parametrize(
    ("structure", "law"),
    [
        (ht.Tables("town,age"), "gaussian"),  # the cells alone: a person changes each of 30 by 1
        (ht.Tables("town", "town,age", shares=[1, 9]), "gaussian"),
        (ht.Tables("town", "age"), "geometric"),  # all 30 may meet in one sum
    ],
    ids=str,
)
def test_the_choice_of_a_law_knows_that_sums_change_by_more_than_cells(
    structure: ht.Tables, law: str, tmp_path: Path
) -> None:
    rows = pa.table({"id": [1, 1, 2], "town": [1, 2, 3], "age": [20, 20, 20]})
    words: dict[str, Any] = {"domain": DOMAIN, "unit": ht.Unit("id", max_cells=30), "size": 50}
    release = ht.publish(
        rows, structure=structure, ledger=False, output=tmp_path / "r.parquet", **words, **APPROXIMATE
    )
    assert release.terms.law_name == law


def test_a_plan_brings_its_law(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 1, 2], "town": [1, 2, 3], "age": [20, 20, 20]})
    unit = ht.Unit("id", max_cells=30)
    plan = ht.plan(DOMAIN, size=50, unit=unit, expect_cells=100, expect_mean=900, expect_sd=90, **APPROXIMATE)
    assert plan.law_name == "gaussian"
    words: dict[str, Any] = {"unit": unit, "plan": plan, "ledger": False, "anyway": True}
    release = ht.publish(rows, domain=DOMAIN, output=tmp_path / "r.parquet", **words, **APPROXIMATE)
    assert release.terms.law_name == "gaussian"


def test_a_plan_shows_all_laws_side_by_side() -> None:
    homes = ht.Domain(home=ht.integers(0, 10**12 - 1))
    words: dict[str, Any] = {"size": 10_000, "expect_cells": 20_000, "expect_mean": 100, "expect_sd": 30}
    unit = ht.Unit("person", max_cells=10)
    plan = ht.plan(homes, unit=unit, **words, **APPROXIMATE)
    page = plan.details

    assert plan.law_name == "gaussian"
    for law, cutoff in (
        ("geometric", 208),
        ("truncated-geometric", 133),
        ("gaussian", 83),
        ("gaussian-stability", 71),
    ):
        assert any(
            line.split()[0] == law and line.split()[-1] == str(cutoff) for line in page.splitlines() if line
        )
    alone = " ".join(ht.plan(homes, rho="0.05", **words).details.split())
    assert "has about the same cutoff as the filter if delta" in alone
    with pytest.raises(ht.BadPlan, match="counts from 71 on are published"):
        ht.plan(homes, unit=unit, law="gaussian-stability", **words, **APPROXIMATE)


FAR = ht.Domain(place=ht.integers(0, 10**12))
PLACES = pa.table({"place": [5] * 300 + [9] * 40 + [12] * 30, "amount": [1] * 370})


@pytest.mark.parametrize(
    "words",
    [
        {"sum_column": "amount", "clamp": (0, 1), "structure": "cells", "size": 50},
        {"structure": "cells", "size": 50, "total_share": "1/50"},
        {"summary": ht.Priority(size=50)},
        {"summary": "filter", "size": 20},
        {"structure": "cells", "size": 20, "delta": "1e-60"},
        {"structure": "cells", "size": 20, "delta": "1e-400"},
        {"structure": "cells", "size": 20, "delta": "1e-6", "epsilon": "1e-9"},
    ],
    ids=str,
)
def test_what_thresholds_cannot_do_gets_another_law(words: dict[str, Any], tmp_path: Path) -> None:
    release = publish(tmp_path, PLACES, FAR, anyway=True, **APPROXIMATE | words)

    assert release.terms.law.noises_empty or "delta" in words


def test_thinned_filters_of_thresholds_open_again(tmp_path: Path) -> None:
    release = publish(tmp_path, PLACES, FAR, law="truncated-geometric", **APPROXIMATE)
    thin = release.thin(size=2, output=tmp_path / "thin.parquet")

    assert len(ht.open(tmp_path / "thin.parquet")) == len(thin) == 2


def test_a_plan_of_cells_alone_fits_gaussian_noise(tmp_path: Path) -> None:
    plan = {"expect_cells": 100, "expect_mean": 50, "expect_sd": 3}
    words: dict[str, Any] = {
        "law": "gaussian",
        "total_share": 0,
        "structure": "cells",
        "size": 20,
        "plan": plan,
    }
    release = publish(tmp_path, anyway=True, **words, **APPROXIMATE)

    assert release.terms.plan is not None


def test_a_rho_that_does_not_give_what_stands_beside_it_is_refused(tmp_path: Path) -> None:
    from hushtable.release.footer import entries_of, terms_of

    release = publish(tmp_path, size=50, law="gaussian", **APPROXIMATE)
    entries = {key.encode(): text.encode() for key, text in entries_of(release.terms).items()}
    assert terms_of(entries) == release.terms
    document = json.loads(entries[b"hushtable"])
    entries[b"hushtable"] = json.dumps(document | {"rho": "10"}).encode()
    with pytest.raises(ht.BadRelease, match="its rho does not give epsilon = 1, delta = 1e-6"):
        terms_of(entries)


def test_a_recipe_file_may_say_rho(tmp_path: Path) -> None:
    path = tmp_path / "releases.toml"
    path.write_text(
        '[[release]]\nname = "a"\ndata = "a.csv"\ndomain = "a.toml"\nrho = "0.1"\noutput = "a.parquet"\n'
    )
    assert ht.Recipe.load(path).rho == Fraction(1, 10)
