"""Publishing by a plan: what it chooses, what it refuses before a row is read, and what a release records."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.planning.plan import Plan
from hushtable.publishing.choices import Choice, choice, choice_over
from hushtable.publishing.thinning import thin
from hushtable.release.terms import Terms

BINS = {"start": 0, "stop": 100_000, "step": 1, "levels": [100, 10_000]}
DOMAIN = ht.Domain.from_dict({"title": "Homes", "attribute": [{"name": "home", "bins": BINS}]})
COUNTS = np.minimum((1 - np.random.default_rng(4).random(900)) ** -1.1 * 20, 5000).astype(np.int64)
PROFILE = ht.Profile(counts=COUNTS, cells=np.ones(900), words="counts of another year")
FEW = ht.Profile(counts=[1], cells=[3000], words="one in each")


class Untouched:
    """Rows that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("a row was read")


def rows() -> pa.Table:
    return pa.table({"home": np.repeat(np.arange(900) * 7, COUNTS)})


@cache  # a plan is a value, and the same settings give the same one
def planned(**settings: Any) -> Plan:
    chosen: dict[str, Any] = {"epsilon": "1/2", "size": 500, "profile": PROFILE}
    plan: Plan = ht.plan(DOMAIN, **chosen | settings)
    return plan


def publish(tmp_path: Path, data: Any = None, **settings: Any) -> ht.Release:
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": "1/2", "output": tmp_path / "out.parquet"}
    return ht.publish(rows() if data is None else data, **chosen | settings)


def plan_again(terms: Terms) -> Plan:
    """Return the plan that the footer's own words lead to."""
    assert terms.plan is not None
    assumed = terms.plan
    plan: Plan = ht.plan(
        terms.domain,
        epsilon=terms.epsilon,
        size=assumed.size,
        total_share=terms.total_budget / terms.budget,
        profile=ht.Profile(counts=assumed.counts, cells=assumed.cells, words=assumed.assumed),
    )
    return plan


@pytest.mark.parametrize(
    "profile",
    [
        PROFILE,
        ht.Profile.normal(cells=1000, mean=300, sd=90),
        ht.Profile.normal(cells=700.3, mean=9000, sd=1234.5),
    ],
    ids=["listed", "normal", "wide"],
)
def test_the_footer_leads_to_the_same_plan(tmp_path: Path, profile: ht.Profile) -> None:
    plan = planned(profile=profile)
    terms = publish(tmp_path, plan=plan).terms

    assert terms.method == plan.recommended.method
    assert (terms.rule, terms.plan.rule if terms.plan else None) == ("plan-1", "plan-1")
    again = plan_again(ht.open(tmp_path / "out.parquet").terms)
    assert again.recommended.method == terms.method
    assert again.predictions == plan.predictions
    assert again.profile.words == profile.words


def test_a_plan_judges_a_method_of_the_owner(tmp_path: Path) -> None:
    method = ht.FilterPriority(cutoff=60, size=200)
    release = publish(tmp_path, plan=planned(), summary=method)

    assert release.summary == method
    assert release.terms.rule is None
    assert release.terms.plan is not None
    assert "settings: chosen by the owner, judged by a plan (plan-1), assuming counts of another" in str(
        release
    )


def test_a_release_says_that_it_follows_a_plan(tmp_path: Path) -> None:
    said = "settings: by a plan (plan-1), assuming counts of another year; declared public by the owner"

    assert said in str(publish(tmp_path, plan=planned()))


def test_without_a_plan_none_is_recorded(tmp_path: Path) -> None:
    terms = publish(tmp_path, size=50).terms

    assert (terms.rule, terms.plan) == ("auto-cutoff-1", None)


def test_thinning_drops_the_plan_as_it_drops_the_rule(tmp_path: Path) -> None:
    release = publish(tmp_path, plan=planned())
    smaller = thin(release, size=10, output=tmp_path / "small.parquet")

    assert (smaller.terms.rule, smaller.terms.plan) == (None, None)


WASTED = [
    ({"size": 100_001, "structure": "cells"}, "a size of 100,001 is more than the 100,000 cells there are"),
    ({"summary": ht.Filter(size=10**6)}, "more than the 100,000 cells"),
    ({"plan": planned(profile=FEW)}, "of the rows would be real"),
    ({"plan": planned(profile=FEW, total_share=0), "total_share": 0}, "of those of answering 0"),
    ({"plan": planned(), "summary": ht.Priority(size=90_000)}, "of the rows would be real"),
]


@pytest.mark.parametrize(("settings", "said"), WASTED, ids=[said for _, said in WASTED])
def test_a_wasted_release_is_refused_before_a_row_is_read(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    ledger = ht.Ledger.create(tmp_path / "a.ledger", epsilon=1, about="homes")

    with pytest.raises(ht.WastedRelease, match="nothing was read and nothing was charged") as refused:
        publish(tmp_path, Untouched(), ledger=ledger, **settings)

    assert any(said in reason for reason in refused.value.reasons)
    assert "anyway=True" in str(refused.value)
    assert not ledger.entries()
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(("settings", "said"), WASTED, ids=[said for _, said in WASTED])
def test_it_is_published_anyway_if_the_owner_wants(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    release = publish(tmp_path, anyway=True, **settings)

    assert (release.terms.plan is not None) == ("plan" in settings)


def test_the_refusal_names_the_level_that_helps(tmp_path: Path) -> None:
    with pytest.raises(ht.WastedRelease, match=r"Coarser levels help, from --level home=\d+") as refused:
        publish(tmp_path, Untouched(), plan=planned(profile=FEW, epsilon=2), epsilon=2)

    assert "--anyway" in str(refused.value)


MISFITS = [
    ({"level": {"home": "100"}}, "the plan has cells = 100000, and the release 1000"),
    ({"epsilon": 1}, "the plan has epsilon = 0.5, and the release 1"),
    ({"total_share": 0}, "the plan has epsilon for the noisy total = 0.01, and the release 0"),
    ({"unit": ht.Unit("person", max_rows=3)}, "the plan has sensitivity = 1, and the release 3"),
    ({"size": 500}, "a plan has a size, and another was given"),
    ({"summary": ht.Filter(size=10, two_sided=False)}, "a plan knows two-sided summaries only"),
    ({"summary": ht.Everything(nonnegative=True), "anyway": True}, "a plan knows two-sided summaries only"),
]


@pytest.mark.parametrize(("settings", "said"), MISFITS, ids=[said for _, said in MISFITS])
def test_a_plan_for_another_release_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ht.BadChoice, match=said):
        publish(tmp_path, Untouched(), plan=planned(), **settings)


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ht.BadMethod, match=r"plan is a str, not a plan. Pass something like ht.plan\(...\)"):
        publish(tmp_path, Untouched(), plan="auto")


FILTERED = ht.FilterPriority(cutoff=planned().cutoff, size=500)


@pytest.mark.parametrize(
    ("summary", "settings", "method"),
    [
        ("auto", {"size": 500}, planned().recommended.method),
        ("filter-priority", {"size": 500}, FILTERED),
        ("filter-priority", {"size": 500, "cutoff": "auto"}, FILTERED),
        ("filter", {"size": 500, "cutoff": "auto"}, ht.Filter(cutoff=planned().cutoff)),
    ],
)
def test_automatic_settings_are_those_of_the_plan(
    summary: str, settings: dict[str, Any], method: Method
) -> None:
    plan = planned()
    chosen = choice(summary, **settings, cells=plan.cells_total, law=plan.law, plan=plan)

    assert chosen == Choice(method, "plan-1", plan)


def test_a_cutoff_of_the_owner_stays() -> None:
    plan = planned()
    given: dict[str, Any] = {"size": 500, "cutoff": "41.5", "cells": plan.cells_total, "law": plan.law}
    chosen = choice("filter-priority", **given, plan=plan)

    assert chosen == Choice(ht.FilterPriority(cutoff=Fraction(83, 2), size=500), None, plan)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"plan": None}, "a summary of `auto` needs an assumption about the table"),
        ({"one_sided": True}, "a plan recommends two-sided summaries only"),
        ({"cutoff": 3}, "the summary 'auto' has no cutoff"),
    ],
)
def test_an_automatic_summary_needs_a_plan(settings: dict[str, Any], said: str) -> None:
    plan = planned()
    given: dict[str, Any] = {"size": 500, "cells": plan.cells_total, "law": plan.law, "plan": plan}

    with pytest.raises(ht.BadChoice, match=said):
        choice("auto", **given | settings)


MANY = ht.Profile.normal(cells=10_000, mean=100, sd=20)
FOR_RANGES = planned(profile=MANY, epsilon="1/10", size=10_000)


def many() -> pa.Table:
    return pa.table({"home": np.arange(10_000) * 9, "people": np.full(10_000, 100)})


def test_an_automatic_structure_is_what_the_plan_takes_for_ranges(tmp_path: Path) -> None:
    assert FOR_RANGES.structure == "tree"
    assert FOR_RANGES.tree is not None
    settings: dict[str, Any] = {"plan": FOR_RANGES, "structure": "auto", "count_column": "people"}
    release = publish(tmp_path, many(), epsilon="1/10", **settings)

    terms = ht.open(tmp_path / "out.parquet").terms
    assert (terms.structure, terms.method) == (ht.Tree(), FOR_RANGES.tree.method)
    assert (terms.rule, terms.total_budget, terms.total) == ("plan-1", Fraction(0), None)
    assert terms.plan is not None
    assert terms.plan.size == 10_000
    assert len(release) == pytest.approx(FOR_RANGES.tree.rows, rel=0.3)  # cells here lie at even distances
    assert "by a plan (plan-1), assuming 10,000 occupied cells" in str(release)


def test_an_automatic_structure_may_be_cells(tmp_path: Path) -> None:
    plan = planned(size=100)  # rows of few cells, which a tree of as many rows does not beat
    release = publish(tmp_path, plan=plan, structure="auto")

    assert plan.structure == "cells"
    assert release.terms.structure.name == "cells"
    assert release.terms.method == plan.recommended.method


def test_a_share_for_the_total_goes_with_cells_alone(tmp_path: Path) -> None:
    cells, tree = planned(total_share="1/10", size=100), planned(profile=MANY, epsilon="1/10", size=9000)
    one = publish(tmp_path, plan=cells, structure="auto", total_share="1/10")
    settings: dict[str, Any] = {"structure": "auto", "total_share": "1/10", "count_column": "people"}
    two = publish(tmp_path, many(), plan=tree, epsilon="1/10", overwrite=True, **settings)

    assert (one.terms.total_budget, two.terms.total_budget) == (Fraction(1, 20), Fraction(0))


@pytest.mark.parametrize(
    "settings",
    [
        {"structure": ht.Tree()},
        {"structure": "tree", "summary": ht.Filter(size=500)},
        {"structure": ht.Tree(branching=4), "summary": ht.Filter(cutoff=2000)},
    ],
    ids=["of the plan", "by size", "by cutoff"],
)
def test_a_plan_judges_trees(tmp_path: Path, settings: dict[str, Any]) -> None:
    counted: dict[str, Any] = {"epsilon": "1/10", "count_column": "people"}
    terms = publish(tmp_path, many(), plan=FOR_RANGES, **counted, **settings).terms

    assert terms.plan is not None
    assert terms.rule == (None if "summary" in settings else "plan-1")


def test_a_wasted_tree_is_refused_before_a_row_is_read(tmp_path: Path) -> None:
    plan = planned(profile=FEW, epsilon="1/3000")

    with pytest.raises(ht.WastedRelease, match="nothing was read"):
        publish(tmp_path, Untouched(), plan=plan, epsilon="1/3000", structure=ht.Tree())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"structure": "auto", "plan": None, "size": 9}, "a structure of `auto` needs an assumption"),
        (
            {"structure": "auto", "summary": ht.Filter(size=9)},
            "brings its own summary, and another was given",
        ),
        ({"structure": "dyadic"}, "sketches and cubes, not about other structures"),
        ({"structure": ht.Haar(), "summary": ht.Filter(size=9)}, "a plan is about cells, trees"),
        ({"structure": ht.Tree(order="morton")}, "this one is in z-order"),
        ({"structure": ht.Tree(), "epsilon": 1}, "the plan has epsilon = 0.1, and the release 1"),
        ({"structure": ht.Tree(), "unit": ht.Unit("a", max_rows=2)}, "sensitivity = 1, and the release 2"),
        ({"structure": ht.Tree(), "total_share": "1/50"}, "a tree has its total as its root"),
    ],
)
def test_plans_and_structures_that_do_not_go_together(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    chosen: dict[str, Any] = {"plan": FOR_RANGES, "epsilon": "1/10"}

    with pytest.raises(ht.BadChoice, match=said):
        publish(tmp_path, Untouched(), **chosen | settings)


def test_automatic_settings_of_a_tree_are_those_of_the_plan() -> None:
    tree = FOR_RANGES.tree
    assert tree is not None
    given: dict[str, Any] = {"size": 10_000, "cells": 1, "law": FOR_RANGES.law, "plan": FOR_RANGES}
    given |= {"structure": ht.Tree(), "one_sided": True}

    assert choice("auto", **given) == Choice(tree.method, "plan-1", FOR_RANGES)
    by_cutoff = choice("filter", cutoff="auto", **given)
    assert by_cutoff == Choice(ht.Filter(cutoff=tree.cutoff, two_sided=False), "plan-1", FOR_RANGES)


PLACES = ht.Domain.from_dict(
    {
        "title": "Places",
        "attribute": [
            {"name": name, "integers": {"low": 0, "high": high}}
            for name, high in (("home", 299), ("work", 299), ("sex", 1))
        ],
    }
)
CUBE = ht.Marginals("all-1", ["home", "work"])


def places() -> pa.Table:
    each = np.arange(30_000)
    return pa.table({"home": each % 300, "work": each % 7 * 40, "sex": each % 2})


def for_places(profile: ht.Profile = PROFILE, **settings: Any) -> Plan:
    chosen: dict[str, Any] = {"epsilon": "1/2", "size": 500, "profile": profile}
    plan: Plan = ht.plan(PLACES, **chosen | settings)
    return plan


def test_a_plan_judges_data_cubes_and_leaves_their_settings_to_public_facts(tmp_path: Path) -> None:
    plan = for_places()
    settings: dict[str, Any] = {"domain": PLACES, "structure": CUBE}
    planned_one = publish(tmp_path, places(), plan=plan, **settings).terms
    plain = publish(tmp_path, places(), size=500, **settings, overwrite=True).terms

    said = [(each.method, each.rule) for each in planned_one.parts]
    assert said == [(each.method, each.rule) for each in plain.parts]
    assert [each.prediction.method for each in plan.cube(CUBE).marginals] == [method for method, _ in said]
    assert {rule for _, rule in said} == {"whole-1", "auto-cutoff-1"}
    assert planned_one.plan is not None
    assert planned_one.plan.assumed == "counts of another year"
    own = publish(tmp_path, places(), plan=plan, summary=ht.Filter(size=50), **settings, overwrite=True)
    assert {each.method for each in own.terms.parts} == {ht.Filter(size=50)}


def test_automatic_settings_of_a_cube_are_those_of_a_size_alone() -> None:
    plan = for_places()
    given: dict[str, Any] = {"budget": Fraction(49, 100), "one": Sensitivities.of_rows(1), "plan": plan}
    alone = choice_over(CUBE, PLACES, summary=None, size=500, **given)

    assert choice_over(CUBE, PLACES, summary="auto", size=500, **given) == alone
    assert choice_over(CUBE, PLACES, summary="auto", **given) == alone
    filtered = choice_over(CUBE, PLACES, summary="filter-priority", size=500, **given)
    assert {each.rule for each in filtered.parts} == {"auto-cutoff-1"}
    with pytest.raises(ht.BadChoice, match="a summary of `auto` needs an assumption"):
        choice_over(CUBE, PLACES, summary="auto", size=500, **given | {"plan": None})


def test_a_plan_judges_sketches(tmp_path: Path) -> None:
    large = ht.Profile(counts=[5000], cells=[30], words="few and large")
    sketch = ht.CountSketch(width=2000)
    terms = publish(tmp_path, places(), domain=PLACES, plan=for_places(large), structure=sketch).terms

    assert (terms.method, terms.rule) == (ht.Everything(), None)
    assert terms.plan is not None
    assert terms.plan.assumed == "few and large"


@pytest.mark.parametrize(
    ("structure", "said"),
    [
        (ht.Marginals(["home", "work"]), "of the best marginal, 'home, work', "),
        (ht.CountSketch(width=10), "the error of an occupied cell would be "),
    ],
)
def test_wasted_cubes_and_sketches_are_refused_before_a_row_is_read(
    tmp_path: Path, structure: Any, said: str
) -> None:
    plan = for_places(FEW)
    settings: dict[str, Any] = {"domain": PLACES, "plan": plan, "structure": structure}

    with pytest.raises(ht.WastedRelease, match="nothing was read") as caught:
        publish(tmp_path, Untouched(), **settings)
    assert said in str(caught.value)
    assert "may help" in str(caught.value) or "publish cells" in str(caught.value).lower()
    assert publish(tmp_path, places(), **settings, anyway=True).terms.plan is not None


@pytest.mark.parametrize("structure", [CUBE, ht.CountSketch(width=10)])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": 1}, "the plan has epsilon = 0.5, and the release 1"),
        ({"total_share": "1/10"}, "the plan has epsilon for the noisy total = 0.01, and the release 0.05"),
        ({"unit": ht.Unit("a", max_rows=2)}, "sensitivity = 1, and the release 2"),
        ({"size": 9}, "a plan has a size, and another was given"),
    ],
)
def test_a_plan_for_another_cube_or_sketch_is_refused(
    tmp_path: Path, structure: Any, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ht.BadChoice, match=said):
        publish(tmp_path, Untouched(), domain=PLACES, plan=for_places(), structure=structure, **settings)
