"""Plans: what they recommend, warn of, refuse, and say."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import pairwise
from math import isfinite, log
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.domain import Domain
from hushtable.planning.plan import Plan
from hushtable.planning.predictions import Predictor, Setting
from tests.harness.cases import few
from tests.release.examples import people, write


def cells(size: int = 10**6, attributes: int = 1, **head: Any) -> Domain:
    each = [{"name": f"a{i}", "integers": {"low": 0, "high": size - 1}} for i in range(attributes)]
    return Domain.from_dict({"title": "Commuters", "attribute": each, **head})


def paper(epsilon: Any = "0.1", size: int = 100_000, **settings: Any) -> Plan:
    """The plan for the default data of the paper, or others."""
    expected = {"expect_cells": 100_000, "expect_mean": 100, "expect_sd": 20}
    if {"profile", "like"} & set(settings):
        expected = {}
    plan: Plan = ht.plan(**{"domain": cells(), "epsilon": epsilon, "size": size} | expected | settings)
    return plan


def test_the_paper_data_are_worth_a_filter() -> None:
    found = paper()

    assert found.worth
    assert found.warnings == ()
    assert 50 < found.recommended.cutoff < 62
    assert found.recommended.real_share > 0.9
    assert found.recommended.rows == pytest.approx(100_000, rel=0.03)
    assert [type(each.method).__name__ for each in found.predictions] == [
        "Filter", "Threshold", "Priority", "FilterPriority", "Everything",
    ]  # fmt: skip
    assert found.delta == 0.1
    assert found.rate == Fraction(98, 1000)
    # The chance to be published rises from next to nothing to next to certainty.
    chances = list(found.curve.values())
    assert all(low <= high for low, high in pairwise(chances))
    assert chances[0] < 0.05 < 0.95 < chances[-1]


def test_the_example_of_the_command_is_known_before_it_is_paid_for() -> None:
    # Of 10^12 cells with epsilon 0.1, nothing of size 100 survives.
    found = paper(domain=cells(attributes=2))

    assert not found.worth
    assert found.recommended.suppressed > 99_000
    said = " ".join(found.warnings)
    for words in ("of the rows would be real", "those of answering 0", "those of the noisy total alone"):
        assert words in said
    assert found.reason.startswith("none of these.")
    assert "hushtable publish" not in str(found)


def test_rows_that_add_nothing_to_the_total_are_not_recommended() -> None:
    # Many cells alike: their number says it all.
    found = paper(epsilon=1, size=1000, expect_mean=3, expect_sd=1)

    assert found.against_zero < 0.2
    assert found.against_total is not None
    assert found.against_total > 0.9
    assert not found.worth
    assert any("the rows add little to it" in each for each in found.warnings)


def test_a_recommended_summary_keeps_to_the_size() -> None:
    found = paper(epsilon=50, size=1000)

    assert any(each.rows > 50_000 for each in found.predictions)
    assert found.recommended.rows <= 1050


def test_what_is_recommended_has_the_least_error_of_those_that_are_real() -> None:
    for epsilon in ("0.05", "0.2", 1, 5):
        found = paper(epsilon=epsilon, size=50_000)
        fit = [each for each in found.predictions if each.real_share >= 0.5 and each.rows <= 52_500]

        assert found.recommended.score == min(each.score for each in fit)


@pytest.mark.parametrize(("epsilon", "reachable"), [("0.1", True), ("0.07", False)])
def test_half_of_the_rows_are_real_wherever_a_cutoff_can_do_that(epsilon: str, reachable: bool) -> None:
    # Here errors are so much alike that they alone would speak for a lower cutoff.
    counts = np.arange(1.0, 242.0)
    profile = ht.Profile(counts=counts, cells=58_000 * counts**-3, words="made up")
    found = paper(epsilon=epsilon, size=20_000, domain=cells(664_225), profile=profile)
    setting = Setting(cells_total=664_225, law=found.law, total_law=found.total_law)
    tried = (ht.FilterPriority(cutoff=cutoff, size=20_000) for cutoff in range(1, 220, 2))
    most = max(Predictor(profile, setting).predict(each, sizes=[100]).real_share for each in tried)

    assert (most > 0.5) == reachable
    if reachable:
        assert found.recommended.real_share >= 0.5
    else:  # then it is the errors alone that count
        assert found.recommended.score == min(each.score for each in found.predictions)
    assert any("would be real" in each for each in found.warnings) != reachable


def test_sizes_that_cannot_be_filled_are_told() -> None:
    few = paper(domain=cells(1000), size=5000, expect_cells=10)
    many = paper(size=500_000)

    assert "a size of 5,000 is more than the 1,000 cells there are" in few.warnings
    assert any(re.match(r"about [\d,]+ rows are expected, fewer than the size of 500,000", each)
               for each in many.warnings)  # fmt: skip


def test_more_epsilon_is_never_worse() -> None:
    scores = [paper(epsilon=epsilon).recommended.score for epsilon in ("0.02", "0.1", "0.5", 2, 10)]

    assert all(high > low for high, low in pairwise(scores))


def test_units_and_clamps_raise_the_noise() -> None:
    base, unit, cells, clamped = (
        paper(**settings)
        for settings in (
            {},
            {"unit": ht.Unit("person", max_rows=3)},
            {"unit": ht.Unit("person", max_cells=3)},
            {"sum_column": "pay", "clamp": (0, 3)},
        )
    )

    found = [each.sensitivity.l1 for each in (base, unit, cells, clamped)]
    assert found == [1, 3, 3, 3]
    assert unit.recommended.score == clamped.recommended.score > base.recommended.score
    assert paper(count_column="people").recommended == base.recommended


def test_levels_make_larger_cells(tmp_path: Path) -> None:
    text = '[[attribute]]\nname = "age"\nbins = { start = 0, stop = 100, step = 5, levels = [10] }'
    (tmp_path / "age.toml").write_text(text)

    found = paper(domain=tmp_path / "age.toml", level={"age": "10"}, expect_cells=10)

    assert found.cells_total == 10


SETTINGS = [
    (attributes, epsilon, *others)
    for others in ((1, "1/50"), (100_000, "1/50"), (1, 0))
    for attributes in (1, 5)
    for epsilon in ("0.001", 50)
]


@pytest.mark.parametrize(("attributes", "epsilon", "size", "total_share"), few(SETTINGS, every=3))
def test_numbers_stay_sane(attributes: int, epsilon: Any, size: int, total_share: Any) -> None:
    started = process_time()  # others may keep the machine busy
    found = paper(domain=cells(attributes=attributes), epsilon=epsilon, size=size, total_share=total_share)

    assert process_time() - started < 5  # a fifth of a second on an idle machine
    assert found.cells_total == 10 ** (6 * attributes)
    for each in found.predictions:
        numbers = [each.rows_real, each.rows_noise, each.suppressed, each.bytes, *each.errors.values()]
        assert all(isfinite(value) and value >= 0 for value in numbers)
        assert each.rows_real + each.suppressed == pytest.approx(100_000)
    assert all(0 <= chance <= 1 for chance in found.curve.values())
    assert (found.total_errors is None) == (total_share == 0)
    # Nothing published is off by all there is; with the total, by at most twice that in sparse sets.
    ratios = (
        [found.total_errors[s] / found.zero_errors[s] for s in found.zero_errors]
        if found.total_errors
        else []
    )
    noisy = 2 * 50 * 1.5 / float(Fraction(epsilon)) / 1e7
    assert all(ratio < 2.05 + noisy for ratio in ratios)
    assert "nan" not in str(found)


def test_one_cell_needs_no_plan() -> None:
    with pytest.raises(ht.BadPlan, match="the domain has a single cell"):
        paper(domain=cells(1), size=1, expect_cells=1)


@pytest.mark.parametrize("size", [2, 3])
def test_tiny_domains_have_a_plan(size: int) -> None:
    found = paper(domain=cells(size), size=1, expect_cells=1)

    assert list(found.zero_errors) == [1]
    assert isfinite(found.recommended.score)


def test_a_plan_prints_as_a_page_and_as_json() -> None:
    found = paper()
    text = found.details
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))

    assert repr(found) == str(found) != text
    assert str(found).startswith(
        "Worth publishing, by filter from 56: about 100,000 rows, 96 % of them real."
    )
    assert text.startswith(str(found).partition("\n\n")[0])
    assert max(map(len, text.splitlines())) <= 110
    for words in (
        "Plan for 'Commuters': 1,000,000 cells, epsilon 0.1, 0.002 of it for a noisy total, size 100,000.",
        "The plan assumes 100,000 occupied cells with counts of mean 100",
        "declared public by the owner",
        "answering 0 ",
        "noisy total alone ",
        "delta = 0.1 (size / cells)",
        f"hushtable publish ... {found.options}",
    ):
        assert words in " ".join(text.split()) + " "
    assert document["predictions"][document["recommended"]]["cutoff"] == found.recommended.cutoff
    assert document["epsilon"] == "1/10"
    assert document["zero_errors"]["100"] == pytest.approx(1000, rel=1e-4)
    assert document["predictions"][0]["relative_errors"].keys() == document["zero_errors"].keys()
    assert document["worth"] is True


def test_options_make_the_recommended_release() -> None:
    found = paper(domain=cells(attributes=2), epsilon="0.5")

    assert found.options == "--summary filter --size 100000"
    few = paper(domain=cells(attributes=2), epsilon="0.5", size=10**6)
    assert few.options == f"--summary filter-priority --cutoff {few.recommended.cutoff} --size 1000000"


def test_what_follows_the_table_is_preferred_to_a_cutoff_that_is_as_good() -> None:
    found = paper(domain=cells(attributes=2), epsilon="0.5")
    by_size, *_, by_cutoff = (each for each in found.predictions if each.cutoff > 1)

    assert by_cutoff.score <= by_size.score <= by_cutoff.score + log(1.05)
    assert found.recommended is by_size


def test_a_profile_may_be_given_made_or_read(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("count,cells\n100,5000\n")
    read = paper(profile=tmp_path / "counts.csv")
    made = paper(profile=ht.Profile(counts=np.array([100.0]), cells=np.array([5000.0]), words="mine"))

    assert read.predictions == made.predictions
    assert "the counts in counts.csv" in str(read)


def test_an_older_release_may_be_taken_as_a_model(tmp_path: Path) -> None:
    write(tmp_path / "old.parquet", *people())

    found = paper(like=tmp_path / "old.parquet")

    assert found.profile.people == pytest.approx(10_023)
    assert "counts as in the older release old.parquet" in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"expect_cells": None, "expect_mean": None, "expect_sd": None}, ht.BadPlan, "needs an assumption"),
        ({"expect_sd": None}, ht.BadPlan, "mean and standard deviation, and one is missing"),
        ({"like": "a", "profile": "b"}, ht.BadPlan, "more than one assumption"),
        ({"like": "a", "expect_sd": 3}, ht.BadPlan, "more than one assumption"),
        ({"profile": 7}, ht.BadMethod, "profile is a int, not a Profile or a path"),
        ({"like": "none.parquet"}, ht.BadRelease, "there is no such file"),
        (
            {"expect_cells": 10**7},
            ht.BadPlan,
            "10,000,000 occupied cells are assumed, and the domain has 1,000,000 cells",
        ),
        ({"expect_mean": 0}, ht.BadPlan, "an expected mean of 0 makes no sense"),
        ({"epsilon": 0}, ht.BadNumber, "epsilon=0 is not above 0"),
        ({"epsilon": "1e-13"}, ht.BadNumber, "below 2^-40"),
        ({"total_share": 1}, ht.BadNumber, "total_share=1 must be from 0 to below 1"),
        ({"size": 0}, ht.BadNumber, "size=0 is below 1"),
        ({"size": 10**10}, ht.BadNumber, "is above 10^9"),
        ({"domain": "none.toml"}, ht.BadDomain, "there is no such file"),
        ({"domain": cells(reviewed=False)}, ht.UnreviewedDomain, "is a draft"),
        ({"domain": cells(10**6, 51)}, ht.BadPlan, "more than 10^300 cells"),
        ({"clamp": (0, 3)}, ht.BadNumber, "sum_column=None must be given"),
    ],
)
def test_what_makes_no_plan_is_refused(settings: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=re.escape(said)):
        paper(**settings)


def test_a_release_of_nodes_is_no_model_of_cells(tmp_path: Path) -> None:
    rows = pa.table({"a0": [1, 2, 3] * 40})
    old = tmp_path / "tree.parquet"
    domain = ht.Domain.from_dict({"attribute": [{"name": "a0", "integers": {"low": 0, "high": 99}}]})
    ht.publish(rows, domain=domain, epsilon=10, size=20, structure="dyadic", output=old)

    with pytest.raises(ht.BadPlan, match="its rows are nodes of a structure, and a plan is about cells"):
        paper(like=old)


def test_for_ranges_a_tree_is_recommended_where_it_is_better() -> None:
    found = paper(domain=cells(1 << 20), expect_cells=104_858)

    assert found.tree is not None
    assert found.structure == "tree"
    assert found.tree.method == ht.Filter(size=100_000, two_sided=False)
    assert list(found.tree.errors) == list(found.recommended.errors)
    assert found.against_cells == pytest.approx(np.exp(found.tree.score - found.recommended.score))
    said = " ".join(found.details.split())
    assert "For ranges: a tree, by --structure tree --size 100000. Its errors are " in said
    assert re.search(r"ranges of so many cells 100 .* tree from 245 ", said)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (again["structure"], again["tree"]["name"]) == ("tree", "tree from 245")
    assert again["tree"]["rows"] == found.tree.rows
    assert again["against_cells"] == found.against_cells


def test_for_ranges_a_tree_is_recommended_where_it_is_about_as_good() -> None:
    # By chance, cells would be a little better; of people who lie together, trees are.
    found = paper(domain=cells(1000), expect_cells=900, size=1000, epsilon=3)

    assert found.structure == "tree"
    assert found.against_cells is not None
    assert 1 < found.against_cells < 4 / 3


def test_for_ranges_cells_are_recommended_where_a_tree_adds_nothing() -> None:
    # Few cells are occupied, and all of them are published.
    found = paper(domain=cells(10**6), expect_cells=1000, size=1000, epsilon=3)

    assert found.structure == "cells"
    assert found.against_cells is not None
    assert found.against_cells > 4 / 3
    assert "For ranges: cells. Errors of a tree would be " in found.details


def test_a_tree_of_noise_is_not_recommended() -> None:
    found = paper(profile=ht.Profile(counts=[1], cells=[3000], words="one in each"), epsilon="0.001")

    assert found.tree is not None
    assert found.structure == "cells"
    judged = found.judge(found.tree.method, ht.Tree())
    assert judged.wasted
    assert judged.against_total is None
    assert "of its rows would be real" in " ".join(found.details.split())


def test_cells_that_make_no_line_have_no_tree() -> None:
    found = paper(domain=cells(2**31, attributes=2))

    assert (found.tree, found.against_cells, found.structure) == (None, None, "cells")
    assert "For ranges" not in found.details
    assert found.to_dict()["tree"] is None


def test_all_of_epsilon_goes_to_a_tree() -> None:
    with_total, without = paper(), paper(total_share=0)

    assert with_total.tree == without.tree
    assert paper(unit=ht.Unit("person", max_rows=3), epsilon="0.3").tree == with_total.tree


def test_trees_of_the_owner_are_judged_and_other_structures_are_not() -> None:
    found = paper()
    smaller = found.judge(ht.Filter(cutoff=5000, two_sided=False), ht.Tree(branching=4)).prediction

    assert found.tree is not None
    assert 1 < smaller.rows < found.tree.rows
    with pytest.raises(
        ht.BadChoice, match=("a plan knows cells and trees that a filter prunes, and no other structure")
    ):
        found.judge(ht.Filter(size=10), ht.Haar())
    with pytest.raises(ht.BadChoice, match="in z-order"):
        found.judge(ht.Filter(size=10, two_sided=False), ht.Tree(order="morton"))
