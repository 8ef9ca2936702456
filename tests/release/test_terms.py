"""Terms: what is checked, the noise they imply, and the sentence that says who is protected."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadRelease
from hushtable.methods.settings import Filter, FilterThreshold
from hushtable.release.terms import as_text, factor_in_words
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from tests.release.examples import TRIPS_DOMAIN, terms, tree_terms

UNIT = Measure(unit=Unit("person_id", max_rows=3))


def test_the_rate_is_what_the_cells_got() -> None:
    made = terms(measure=UNIT)

    assert made.sensitivity == 3
    assert made.rate == (Fraction(1, 10) - Fraction(1, 500)) / 3
    assert made.total_rate == Fraction(1, 500) / 3
    assert terms(total=None, total_budget=Fraction(0)).total_rate is None


@pytest.mark.parametrize(
    ("structure", "levels", "shape"),
    [
        (Dyadic(), 6, (44,)),  # 21 cells: 1, 2, 3, 6, 11 and 21 nodes
        (Haar(order=["hour"]), 6, (21,)),
        (ProductDyadic(), 3 * 4, (6, 14)),
        (ProductDyadic(order=["hour"]), 3 * 4, (14, 6)),
    ],
)
def test_one_row_changes_a_node_of_every_level(
    structure: Lifted, levels: int, shape: tuple[int, ...]
) -> None:
    made = tree_terms(structure, measure=UNIT)

    assert made.sensitivity == 3 * levels
    assert made.rate == Fraction(1, 10) / (3 * levels)
    assert made.total_rate is None
    assert made.space.shape == shape
    assert made.guarantee == terms(TRIPS_DOMAIN, measure=UNIT).guarantee


def test_rows_of_cells_are_in_the_order_of_the_domain() -> None:
    made = terms()

    assert made.nodes.named(made.domain) is None
    assert made.space is made.domain.space


@pytest.mark.parametrize(
    ("structure", "changes", "message"),
    [
        (Dyadic(), {"sensitivity": 1}, "up to 6"),
        (Dyadic(), {"total": 3, "total_budget": Fraction(1, 500)}, "total beside its structure"),
        (Dyadic(consistent=True), {"method": Filter(cutoff=20)}, "does not fit: a consistent tree needs"),
        (
            Dyadic(consistent=True),
            {"method": FilterThreshold(cutoff=20, size=9, two_sided=False)},
            "does not fit: .*may leave no node",
        ),
        (Haar(), {"method": Filter(cutoff=20, two_sided=False)}, "does not fit: .*both sides of 0"),
    ],
)
def test_terms_of_a_tree_that_do_not_fit_are_refused(
    structure: Lifted, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadRelease, match=message):
        tree_terms(structure, **changes)


def test_a_structure_that_does_not_fit_the_domain_is_refused() -> None:
    with pytest.raises(BadRelease, match="does not fit: the order names 'week'"):
        terms(structure=Dyadic(order=["week"]), total=None, total_budget=Fraction(0))
    with pytest.raises(BadRelease, match=r"does not fit: .*two attributes"):
        terms(structure=ProductDyadic(), total=None, total_budget=Fraction(0))


ANY = "Including or leaving out any one"
CHANGES = "changes the probability of any published result by at most a factor of"
TENTH = f"{CHANGES} 1.11 (pure differential privacy with epsilon = 0.1)."
TIMES_K = "is protected with k times that epsilon."
PREPARED = "This release does not limit how much one person adds to that table."


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, f"{ANY} row {TENTH} A person with k rows {TIMES_K}"),
        (
            {"measure": UNIT, "epsilon": Fraction(1, 3)},
            f"{ANY} person_id (all rows with that value; at most 3 of them count) "
            f"{CHANGES} 1.4 (pure differential privacy with epsilon = 1/3).",
        ),
        (
            {"measure": Measure(count_column="S000")},
            f"{ANY} person counted in column S000 {TENTH} A person counted k times {TIMES_K}",
        ),
        (
            {"measure": Measure(sum_column="amount", clamp=(-5, 100))},
            f"{ANY} row (its amount clamped to -5..100) {TENTH} A person with k rows {TIMES_K}",
        ),
        (
            {"measure": Measure(sum_column="amount", clamp=(0, 9), unit=Unit("id", max_rows=1))},
            f"{ANY} id (all rows with that value; at most 1 of them counts; their amount is clamped "
            f"to 0..9) {TENTH}",
        ),
        (
            {"measure": Measure(unit=Unit("person_id", max_cells=10))},
            f"{ANY} person_id (all rows with that value; counted in at most 10 cells of the "
            f"finest table, once in each) {TENTH}",
        ),
        (
            {"measure": Measure(unit=Unit("id", max_cells=1, max_per_cell=2))},
            f"{ANY} id (all rows with that value; counted in at most 1 cell of the finest "
            f"table, up to 2 times in each) {TENTH}",
        ),
        (
            {"measure": Measure(sum_column="pay", clamp=(0, 9), unit=Unit("id", max_cells=10))},
            f"{ANY} id (all rows with that value; counted in at most 10 cells of the finest "
            f"table, one row in each; their pay is clamped to 0..9) {TENTH}",
        ),
        (
            {"measure": UNIT, "query": "SELECT home, upper(name) AS person_id FROM data"},
            f"{ANY} person_id, as the query computes it (all rows with that value; at "
            f"most 3 of them count) {TENTH}",
        ),
        (
            {"rows_are_units": True, "query": "SELECT 1"},
            f"{ANY} row of the table that the owner's query makes {TENTH} {PREPARED}",
        ),
        (
            {"rows_are_units": True, "measure": UNIT},
            f"{ANY} person_id (all rows of the owner's prepared table with that value; "
            f"at most 3 of them count) {TENTH} {PREPARED}",
        ),
        (
            {"rows_are_units": True, "measure": Measure(count_column="n")},
            f"{ANY} person counted in column n of the owner's prepared table {TENTH} {PREPARED}",
        ),
    ],
)
def test_the_guarantee_says_who_is_protected(changes: dict[str, Any], sentence: str) -> None:
    assert terms(**changes).guarantee == sentence


@pytest.mark.parametrize(
    "epsilon", ["1e-30", "0.001", "0.01", "0.1", "1/3", "0.5", "1", "2.3", "7", "8", "12"]
)
def test_the_factor_is_rounded_up(epsilon: str) -> None:
    told = Fraction(factor_in_words(Fraction(epsilon)).replace(",", ""))
    exact = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)

    assert exact.exp() <= Decimal(told.numerator) / Decimal(told.denominator) < exact.exp() * Decimal("1.01")
    assert factor_in_words(Fraction("12.5")) == "e^12.5"


def test_the_guarantee_owns_up_to_rules_that_stop_a_release() -> None:
    age = Attribute(name="age", values=Integers(low=0, high=9), outside="error")
    made = terms(Domain(attributes=(age,)))

    assert made.guarantee.endswith(
        " The guarantee does not cover the fact that this release exists: "
        "the owner publishes nothing if a row breaks a rule of age."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": Fraction(0), "total_budget": Fraction(0), "total": None}, "epsilon"),
        ({"epsilon": 0.1}, "must be an exact number"),
        ({"total_budget": Fraction(1, 10)}, "less than all"),
        ({"total_budget": Fraction(-1)}, "0 or more"),
        ({"total_budget": Fraction(0)}, "noisy total"),
        ({"total": True}, "total is True"),
        ({"total": 1.0}, "whole number"),
        ({"sensitivity": 2}, "up to 1"),
        ({"measure": UNIT, "sensitivity": 1}, "up to 3"),
        ({"structure": "cells"}, "structure is 'cells'"),
        ({"method": "filter"}, "a summary method"),
        ({"cutoff": float("nan")}, "finite"),
        ({"threshold": -1.0}, "0 or more"),
        ({"threshold": 20}, "a float"),
        ({"rows_are_units": None}, "true or false"),
        ({"where": 3}, "text"),
        ({"version": None}, "text"),
        ({"epsilon": Fraction(1, 10**4000)}, "thousands of digits"),
        ({"method": Filter(cutoff=Fraction(1, 10**4000))}, "thousands of digits"),
    ],
)
def test_terms_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRelease, match=message):
        terms(**changes)


def test_a_draft_of_a_domain_is_refused() -> None:
    age = Attribute(name="age", values=Integers(low=0, high=9))

    with pytest.raises(BadRelease, match="draft"):
        terms(Domain(attributes=(age,), reviewed=False))


def test_an_epsilon_beyond_floats_has_a_text() -> None:
    assert as_text(Fraction(10**2000, 3)).startswith("1000")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"where": "x" * 1_000_001}, "its row filter has 1,000,001 characters"),
        ({"query": "x" * 1_000_001}, "its query has 1,000,001 characters"),
        ({"rule": "x" * 1_001}, "its rule has 1,001 characters"),
        ({"measure": Measure(count_column="x" * 1_001)}, "its column of counts has 1,001 characters"),
        ({"total": 1 << 128}, "does not fit 128 bits"),
        ({"total": -(1 << 128)}, "does not fit 128 bits"),
        ({"epsilon": Fraction(1 << 70)}, "rate"),
        ({"epsilon": Fraction(1, 1 << 70), "total_budget": Fraction(0), "total": None}, "rate"),
        ({"total_budget": Fraction(1, 1 << 70)}, "rate"),
        ({"method": ht.Threshold(threshold="1e301")}, "above 10\\^300"),
    ],
)
def test_terms_beyond_what_a_reader_takes_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRelease, match=message):
        terms(**changes)


def test_an_owner_meets_the_limits_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("hushtable.publishing.publish.counted_rows")
    domain = Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=9)),))
    long = f"age > 0 -- {'x' * 1_000_000}"
    with pytest.raises(BadRelease, match="1,000,011 characters"):
        ht.publish(object(), domain=domain, epsilon=1, size=5, where=long, output=tmp_path / "x.parquet")

    assert list(tmp_path.iterdir()) == []
