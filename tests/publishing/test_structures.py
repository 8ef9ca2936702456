"""Publishing nodes instead of cells: what is chosen, what is refused before it costs, what is written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.keys import KeySpace
from hushtable.methods.settings import Method
from hushtable.publishing.thinning import thin
from hushtable.release.exporting import export_release
from hushtable.structures.cells import Cells
from hushtable.structures.structure import Structure
from hushtable.summaries import draws
from hushtable.summaries.flat import summarize_slices
from tests.harness.cases import few
from tests.harness.nodes import node_space, published_units
from tests.release.examples import weights_by

DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="home", values=Integers(low=0, high=49)),
        Attribute(name="age", values=Integers(low=0, high=99)),
    )
)
STRUCTURES: list[Structure] = [
    ht.Dyadic(),
    ht.Dyadic(order=["age"]),
    ht.Dyadic(consistent=True),
    ht.Haar(),
    ht.Haar(order=["age", "home"]),
    ht.ProductDyadic(),
    ht.ProductDyadic(order=["age"]),
]


def rows() -> pa.Table:
    generator = np.random.default_rng(1)
    return pa.table({"home": generator.integers(0, 50, 9000), "age": generator.integers(0, 100, 9000)})


def publish(tmp_path: Path, data: Any = None, **settings: Any) -> ht.Release:
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "output": tmp_path / "out.parquet"}
    if "summary" not in settings:
        chosen["size"] = 50
    return ht.publish(rows() if data is None else data, **chosen | settings)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_rows_become_a_release_of_nodes(structure: Structure, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure)
    for_each = published_units(structure, DOMAIN).per_cell
    terms = release.terms
    two_sided = structure != ht.Dyadic(consistent=True)

    assert terms.structure == structure
    assert terms.sensitivity == for_each
    assert terms.rate == Fraction(1, for_each)
    assert terms.total is None
    assert terms.total_budget == 0
    assert terms.method == ht.Filter(size=50, two_sided=two_sided)
    assert 0 < len(release) <= 50
    assert release.codes.shape == (len(release), 2 if isinstance(structure, ht.ProductDyadic) else 1)


@pytest.mark.parametrize(("name", "structure"), [("haar", ht.Haar()), ("cells", Cells())])
def test_a_structure_may_be_a_name(name: str, structure: Structure, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=name)

    assert release.terms.structure == structure
    assert (release.noisy_total is None) == (name == "haar")


@pytest.mark.parametrize("structure", few(STRUCTURES, every=2), ids=repr)
def test_nodes_hold_the_sums_of_their_cells(structure: Structure, tmp_path: Path) -> None:
    method = ht.Filter(cutoff=2, two_sided=structure != ht.Dyadic(consistent=True))
    release = publish(tmp_path, structure=structure, summary=method, epsilon=1000)
    nodes = node_space(structure, DOMAIN)
    table = rows()
    codes = np.stack([table["home"].to_numpy(), table["age"].to_numpy()], axis=1)
    positions = [axis.line.positions(codes) for axis in nodes.axes]
    own = list(zip(nodes.axes, release.codes.T, strict=True))
    levels = [axis.tree.level_of(column) for axis, column in own]
    ends = [(axis.tree.firsts(column).tolist(), axis.tree.lasts(column).tolist()) for axis, column in own]
    for row, count in enumerate(release.counts.tolist()):
        inside = np.ones(len(codes), dtype=np.int64)
        for number, axis in enumerate(nodes.axes):
            first, last = (edges[row] for edges in ends[number])
            inside *= (positions[number] >= first) & (positions[number] <= last)
            if isinstance(structure, ht.Haar) and levels[number][row]:
                middle = first + axis.tree.widths[levels[number][row]] // 2
                inside *= np.where(positions[number] < middle, 1, -1)
        assert count == inside.sum()  # noise of rate 400 and more


METHODS: list[Method] = [
    ht.Filter(size=30),
    ht.Threshold(size=30),
    ht.Priority(size=30),
    ht.FilterThreshold(cutoff=50, threshold=400),
    ht.Everything(),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("structure", ["dyadic", "haar", "product-dyadic"])
def test_every_summary_of_every_structure(structure: str, method: Method, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure, summary=method)

    assert release.summary == method
    assert release.to_arrow().equals(ht.open(tmp_path / "out.parquet").to_arrow())
    if isinstance(method, ht.Everything):
        assert len(release) == published_units(release.terms.structure, DOMAIN)[0]


@pytest.mark.parametrize(
    "structure",
    [Cells(), ht.Haar(), ht.Tree(), ht.Marginals("all-1", "all-2"), ht.CountSketch(width=9)],
    ids=repr,
)
def test_weights_follow_from_what_is_published(structure: Structure, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"summary": ht.Everything()} if isinstance(structure, ht.CountSketch) else {}
    release = publish(tmp_path, structure=structure, **settings)

    assert np.array_equal(release.weights, weights_by(release.terms, release.codes, release.counts))


def test_units_multiply(tmp_path: Path) -> None:
    table = rows().append_column("person", pa.array(np.arange(9000) // 3))
    release = publish(tmp_path, table, structure="haar", unit=ht.Unit("person", max_rows=2))

    assert release.terms.sensitivity == 2 * 14
    assert release.terms.rate == Fraction(1, 28)


ONE = ht.Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=9)),))
LAST = ht.Domain(
    attributes=tuple(Attribute(name=name, values=Integers(low=0, high=9)) for name in ("age", "age_last"))
)
WIDE = ht.Domain(
    attributes=tuple(Attribute(name=name, values=Integers(low=0, high=2**32 - 1)) for name in "ab")
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": "forest"}, "there is no structure 'forest'"),
        ({"structure": 7}, "there is no structure 7"),
        ({"structure": "dyadic", "total_share": "1/50"}, "a tree has its total as its root"),
        ({"structure": ht.Haar(order=["work"])}, "the order names 'work', which is not an attribute"),
        ({"structure": "haar", "summary": ht.Filter(size=9, two_sided=False)}, "Use a two-sided summary"),
        (
            {"structure": ht.Dyadic(consistent=True), "summary": ht.Priority(size=9)},
            "needs a filter of counts",
        ),
        ({"structure": "product-dyadic", "domain": ONE}, "'product-dyadic' needs two attributes"),
        ({"structure": "dyadic", "domain": LAST}, "adds a column 'age_last'"),
        ({"structure": "tree", "domain": LAST}, "adds a column 'age_last'"),
        ({"structure": "tree", "total_share": "1/50"}, "a tree has its total as its root"),
        ({"structure": ht.Tree(order=["work"])}, "the order names 'work', which is not an attribute"),
        ({"structure": "tree", "summary": ht.Priority(size=9)}, "a pruned tree takes a filter of counts"),
        ({"structure": "tree", "summary": ht.Everything()}, "a pruned tree takes a filter of counts"),
        (
            {"structure": "tree", "sum_column": "pay", "clamp": (-1, 9)},
            "a pruned tree is for counts that are not negative. Clamp sums at 0",
        ),
        ({"structure": ht.Tree(order="morton"), "domain": WIDE}, "have 64 bits, and z-order takes up to 62"),
        ({"structure": ht.Tree(), "domain": WIDE}, r"'tree' takes up to 2\^60 cells in a line"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_row_is_read(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    with pytest.raises(ht.BadChoice, match=message):
        publish(tmp_path, "no such file.parquet", ledger=ledger, **settings)

    assert ledger.entries() == []


def test_too_many_nodes_cost_nothing(tmp_path: Path) -> None:
    wide = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=(1 << 40) - 1)),))
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    table = pa.table({"x": [1, 2, 3]})
    settings = {"domain": wide, "ledger": ledger, "summary": ht.Filter(cutoff=5, two_sided=False)}
    with pytest.raises(ht.TooManyRows):
        publish(tmp_path, table, structure="dyadic", **settings)
    assert ledger.entries() == []

    assert len(publish(tmp_path, table, structure=ht.Dyadic(consistent=True), **settings)) < 10**5


def test_a_share_of_nothing_may_be_said(tmp_path: Path) -> None:
    assert publish(tmp_path, structure="dyadic", total_share=0).noisy_total is None


def test_what_is_drawn_is_what_the_terms_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def watched(slices: Any, space: KeySpace, method: ht.Method, **settings: Any) -> Any:
        seen.append({"space": space, **settings})
        return summarize_slices(slices, space, method, **settings)

    monkeypatch.setattr(draws, "summarize_slices", watched)
    release = publish(tmp_path, structure=ht.ProductDyadic(), epsilon="0.3")

    (settings,) = seen
    assert settings["epsilon"] / settings["sensitivity"] == release.terms.rate
    assert settings["sensitivity"] == release.terms.sensitivity == 7 * 8
    assert settings["space"].shape == node_space(ht.ProductDyadic(), DOMAIN).space.shape


# Pruned trees.

TREES = [ht.Tree(), ht.Tree(branching=4, order=["age"]), ht.Tree(branching=8, order="morton")]


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_rows_become_a_pruned_tree(structure: ht.Tree, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure)
    nodes = node_space(structure, DOMAIN)
    terms = release.terms

    assert terms.structure == structure
    assert terms.sensitivity == nodes.per_cell == 1 + 4 * (nodes.tree.levels - 1)
    # Its rate is that of the level with the least share.
    assert isinstance(terms.structure, ht.Tree)
    shares = terms.structure.shares
    assert shares is not None
    assert (shares[0], sum(shares)) == (1, nodes.per_cell)
    assert terms.rate == Fraction(min(shares[1:]), nodes.per_cell)
    assert terms.total is None
    assert terms.rule is None
    assert terms.method == ht.Filter(size=50, two_sided=False)
    assert len(release) == 50
    assert release.codes[0] == 0
    assert least_weighed(release) == release.cutoff
    assert release.weights.min() >= 0
    assert release.weights.sum() == pytest.approx(release.total().value)
    assert release.total().value == pytest.approx(9000, rel=0.1)
    assert "a pruned tree of branching" in repr(release)


def least_weighed(release: ht.Release) -> float:
    """The smallest count but the root's, as one of the level with the most noise would be."""
    tree = release.terms.nodes.tree  # type: ignore[attr-defined]
    shares = np.array(tree.shares)[tree.level_of(release.codes[:, 0])]
    return float((release.counts * shares)[1:].min() / min(tree.shares[1:]))


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_nodes_of_a_pruned_tree_hold_the_sums_of_their_cells(structure: ht.Tree, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure, summary=ht.Filter(cutoff=20), epsilon=1000)
    tree = node_space(structure, DOMAIN).tree
    table = rows()
    addresses = tree.addresses.of(np.stack([table["home"].to_numpy(), table["age"].to_numpy()], axis=1))
    levels = tree.level_of(release.codes[:, 0])
    for node, level, count in zip(release.codes[:, 0], levels, release.counts.tolist(), strict=True):
        assert count == (addresses >> tree.shifts[level] == node - tree.offsets[level]).sum()
    assert release.total(home=7).value == pytest.approx((table["home"].to_numpy() == 7).sum(), abs=40)


def test_a_name_and_a_two_sided_filter_mean_the_same_tree(tmp_path: Path) -> None:
    release = publish(tmp_path, structure="tree", summary=ht.Filter(size=30, two_sided=True))

    assert release.terms.structure == ht.Tree()
    assert release.summary == ht.Filter(size=30, two_sided=False)


def test_units_multiply_the_shares(tmp_path: Path) -> None:
    table = rows().append_column("person", pa.array(np.arange(9000) // 3))
    release = publish(tmp_path, table, structure="tree", unit=ht.Unit("person", max_rows=2))

    assert release.terms.sensitivity == 2 * 17
    assert isinstance(release.terms.structure, ht.Tree)
    assert release.terms.structure.shares is not None
    assert release.terms.rate == Fraction(min(release.terms.structure.shares[1:]), 34)


def test_a_cutoff_that_noise_alone_would_pass_costs_nothing(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    with pytest.raises(ht.BadNumber, match="is so low that noise makes a tree grow"):
        publish(tmp_path, "no such file", structure="tree", summary=ht.Filter(cutoff=5), ledger=ledger)

    assert ledger.entries() == []


def test_sums_that_are_not_negative(tmp_path: Path) -> None:
    data = rows()
    data = data.append_column("pay", data["age"])
    release = publish(tmp_path, data, structure="tree", sum_column="pay", clamp=(0, 50))

    assert release.terms.sensitivity == 50 * 17
    assert release.weights.min() >= 0


@pytest.mark.parametrize("structure", TREES, ids=repr)
def test_a_thinned_tree_is_a_tree_with_weights_of_its_own(structure: ht.Tree, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=structure)
    published = dict(zip(release.codes[:, 0].tolist(), release.counts.tolist(), strict=True))
    for size in (20, 2, 1):
        few = thin(release, size=size, output=tmp_path / f"{size}.parquet")
        assert len(few) == size
        assert few.summary == ht.Filter(size=size, two_sided=False)
        assert all(published[node] == count for node, count in zip(few.codes[:, 0], few.counts, strict=True))
        assert few.weights.sum() == pytest.approx(few.total().value)
        assert few.terms.sensitivity == release.terms.sensitivity
        # As if so few had been asked for at first: the smallest count but the root's, or a root's own.
        assert few.cutoff == (least_weighed(few) if size > 1 else few.counts[0])
    assert thin(release, size=60, output=tmp_path / "all.parquet").to_arrow().equals(release.to_arrow())


def test_a_tree_is_exported_with_the_weights_that_add_up(tmp_path: Path) -> None:
    release = publish(tmp_path, structure="tree")
    export_release(release, tmp_path / "tree.csv")
    lines = (tmp_path / "tree.csv").read_text().splitlines()

    assert lines[0].replace('"', "") == "level,home,home_last,age,age_last,count,weight"
    assert len(lines) == 51
    assert sum(float(line.split(",")[-1]) for line in lines[1:]) == pytest.approx(release.total().value)


def test_a_level_with_too_small_a_share_is_refused_before_the_charge(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "a.ledger", epsilon=1, about="a", unit="row")

    with pytest.raises(ht.BadNumber, match="noise outgrows 64-bit counts"):
        ht.publish(
            pa.table({"x": [1, 2, 3]}),
            domain=ht.Domain(x=ht.integers(0, 65535)),
            epsilon="1e-10",
            structure=ht.Tree(shares=(1000, 1, 1, 1, 1)),
            size=50,
            ledger=ledger,
            output=tmp_path / "a.parquet",
            anyway=True,
        )

    assert ledger.left == 1
