"""Ledgers in rho, and in epsilon and delta: made, charged, shown, and read again."""

from __future__ import annotations

import random
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadChoice, BadLedger, BadNumber, BudgetExceeded
from hushtable.laws.conversions import largest_rho, pure_to_rho
from hushtable.laws.costs import Cost
from hushtable.ledger.ledger import Ledger
from tests.harness.statistics import tries
from tests.ledger.books import by_hand, files_beside, refused
from tests.ledger.make_golden import DIGEST, FOLDER
from tests.ledger.test_ledger import without_triggers

LARGEST = largest_rho(Fraction(1), delta=Fraction(1, 10**6))


@pytest.fixture
def in_rho(path: Path) -> Ledger:
    return Ledger.create(path, rho="0.1", about="readers", unit="person_id")


@pytest.fixture
def in_both(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1, delta="1e-6", about="riders", unit="person_id")


def test_a_ledger_in_rho_adds_up_rhos_exactly(path: Path, in_rho: Ledger) -> None:
    for _ in range(6):
        in_rho.charge(Cost(rho="1/60"), what="a sixth")

    seen = Ledger.open(path)
    assert (seen.currency, seen.epsilon, seen.budget) == ("zcdp", None, Cost(rho="0.1"))
    assert [seen.spent, seen.left, seen.spent_delta] == [Fraction(1, 10), Fraction(0), Fraction(0)]
    assert seen.unit_of_account == "rho"
    with pytest.raises(BudgetExceeded, match="Lower `rho`, or stop here"):
        in_rho.charge(Cost(rho="1e-30"), what="a crumb")
    with by_hand(path) as connection:
        rows = connection.execute("SELECT epsilon, delta, rho, guarantee FROM entries").fetchall()
    assert rows == [(None, None, "1/60", "rho=1/60")] * 6


def test_a_pure_release_is_shown_as_converted(in_rho: Ledger) -> None:
    in_rho.charge("0.1", what="pure.parquet")
    in_rho.charge(Cost(epsilon=1, delta="1e-9", rho="0.01"), what="gaussian.parquet")
    pure, gaussian = in_rho.entries()

    assert (pure.rho, pure.epsilon, pure.converted) == (pure_to_rho(Fraction(1, 10)), None, True)
    assert pure.cost == "rho 0.00499583749579 (from epsilon = 0.1)"
    assert pure.guarantee == "epsilon=1/10"
    assert (gaussian.rho, gaussian.converted, gaussian.cost) == (Fraction(1, 100), False, "rho 0.01")
    assert gaussian.guarantee == "epsilon=1/1, delta=1/1000000000, rho=1/100"
    first, *lines = in_rho.show().splitlines()
    assert first.startswith("readers: rho 0.01499583749579 of 0.1 is spent on each person_id, 0.0850")
    assert "rho 0.00499583749579 (from epsilon = 0.1), unfinished: pure.parquet" in lines[0]


def test_a_ledger_with_a_delta_says_what_the_next_release_may_cost(in_both: Ledger) -> None:
    assert [in_both.affords.epsilon, in_both.affords.delta] == [Fraction(1), Fraction(1, 10**6)]
    assert in_both.affords.rho == LARGEST
    in_both.charge(Cost(epsilon="0.25", delta="4e-7"), what="words.parquet")
    assert (in_both.spent, in_both.spent_delta) == (Fraction(1, 4), Fraction(4, 10**7))
    assert "epsilon 0.25 of 1 and delta 4e-7 of 1e-6 are spent" in in_both.show()

    left = in_both.affords
    assert left.rho == largest_rho(Fraction(3, 4), delta=Fraction(6, 10**7))
    in_both.charge(Cost(rho=left.rho), what="rides.parquet")
    assert in_both.spent <= 1
    assert in_both.left < Fraction(1, 10**10)
    assert in_both.spent_delta == in_both.budget.delta
    assert "at delta 1e-6" in in_both.balance
    with refused("all of the ledger's delta", "Publish such releases before"):
        in_both.charge(Cost(epsilon="0.01", delta="1e-9"), what="more")


def test_what_is_said_to_be_left_can_be_charged(path: Path) -> None:
    for number, rho in enumerate(("0.001", "0.002", "0.0033", "0.017")):
        ledger = Ledger.create(path.with_name(f"{number}"), epsilon=1, delta="1e-6", about="riders")
        ledger.charge(Cost(rho=rho), what="first")
        ledger.can_pay(ledger.left)
        ledger.can_pay(Cost(rho=ledger.affords.rho))
        with pytest.raises(BudgetExceeded):
            ledger.can_pay(Cost(rho=(ledger.affords.rho or 0) + Fraction(1, 10**11)))


@pytest.mark.parametrize(
    ("budget", "cost", "charged"),
    [
        ({"rho": 1}, Cost(rho="0.001"), (None, None, Fraction(9, 1000))),
        ({"rho": 1}, Cost(epsilon="0.1"), (None, None, pure_to_rho(Fraction(3, 10)))),
        ({"epsilon": 1, "delta": "1e-6"}, Cost(epsilon="0.1"), (Fraction(3, 10), 0, None)),
        ({"epsilon": 1, "delta": "1e-6"}, Cost(rho="0.001"), (None, 0, Fraction(9, 1000))),
        (
            {"epsilon": 1, "delta": "1e-6"},
            Cost(epsilon="0.1", delta="1e-7"),
            (Fraction(3, 10), Cost(epsilon="0.1", delta="1e-7").times(3).delta, None),
        ),
    ],
)
def test_bounds_cost_what_a_group_costs(
    budget: dict[str, Any], cost: Cost, charged: tuple[Any, ...], path: Path
) -> None:
    ledger = Ledger.create(path, **budget, about="x", unit="person_id", bounds={"row": 3})
    ledger.charge(cost, what="a release", unit="row")
    (entry,) = ledger.entries()

    assert (entry.epsilon, entry.delta, entry.rho) == charged
    with pytest.raises(BudgetExceeded, match="for each row, of which each person_id has 3"):
        ledger.charge(Cost(rho=1) if cost.rho else Cost(epsilon=5), what="too much", unit="row")


def test_several_charges_are_looked_at_together(path: Path, in_both: Ledger) -> None:
    half = Cost(rho=LARGEST * Fraction(2, 5))
    before = path.read_bytes()

    assert in_both.can_pay_all([(half, None), (half, "person_id")]) <= 1
    with pytest.raises(BudgetExceeded, match="of these 3 releases, number 3 costs rho=") as caught:
        in_both.can_pay_all([(half, None)] * 3)
    assert (caught.value.releases, caught.value.earlier) == (3, 2)
    threshold = Cost(epsilon="0.1", delta="1e-8")
    in_both.can_pay_all([(threshold, None), (half, None)])
    with refused("all of the ledger's delta", "Publish such releases before"):
        in_both.can_pay_all([(half, None), (threshold, None)])
    in_rho = Ledger.create(path.with_name("rho"), rho="0.1", about="readers")
    with pytest.raises(BudgetExceeded, match=r"these 2 releases together cost rho=0\.12, but only rho=0\.1"):
        in_rho.can_pay_all([(Cost(rho="0.06"), None)] * 2)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("budget", "error"),
    [
        ({}, BadNumber),
        ({"delta": "1e-6"}, BadNumber),
        ({"rho": 1, "epsilon": 1}, BadChoice),
        ({"rho": 1, "delta": "1e-6"}, BadChoice),
        ({"rho": 0}, BadNumber),
        ({"rho": "1e-60"}, BadNumber),
        ({"epsilon": 1, "delta": 0}, BadNumber),
        ({"epsilon": 1, "delta": 1}, BadNumber),
        ({"epsilon": 1, "delta": "1e-60"}, BadNumber),
    ],
)
def test_a_budget_is_one_of_three(budget: dict[str, Any], error: type[Exception], path: Path) -> None:
    with pytest.raises(error):
        Ledger.create(path, **budget, about="people")
    assert not path.exists()
    assert files_beside(path) == []


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("UPDATE budget SET delta = '1/1'", "cannot be read"),
        ("UPDATE budget SET delta = '0/1'", "cannot be read"),
        ("UPDATE budget SET delta = '1/100000000'", "cost more than its budget"),
        ("UPDATE budget SET epsilon = '1/2'", "cost more than its budget"),
        ("UPDATE budget SET currency = 'pure', delta = NULL", "currency"),
        ("UPDATE budget SET currency = 'zcdp', epsilon = NULL, delta = NULL, rho = '1/1'", "currency"),
        ("UPDATE entries SET rho = '1/10' WHERE number = 2", "cost more than its budget"),
        ("UPDATE entries SET rho = '0/1' WHERE number = 2", "cannot be read"),
        ("UPDATE entries SET epsilon = '1/10' WHERE number = 2", "currency"),
        ("UPDATE entries SET rho = NULL WHERE number = 2", "currency"),
        ("UPDATE entries SET delta = NULL WHERE number = 1", "currency"),
        ("UPDATE entries SET delta = '-1/2' WHERE number = 1", "cannot be read"),
        ("UPDATE entries SET guarantee = 'much' WHERE number = 1", "cannot be read"),
        ("UPDATE entries SET guarantee = x'00' WHERE number = 1", "cannot be read"),
        # The second becomes the first, so that an entry with a delta comes after one with a rho.
        ("UPDATE entries SET number = 3 - number", "cost more than its budget"),
    ],
)
def test_what_was_changed_by_hand_is_refused(statement: str, fact: str, path: Path, in_both: Ledger) -> None:
    in_both.charge(Cost(epsilon="0.2", delta="1e-7"), what="words.parquet")
    in_both.charge(Cost(rho="0.008"), what="rides.parquet")
    steps = without_triggers(statement)
    if "3 - number" in statement:
        steps = without_triggers("UPDATE entries SET number = -number")
        place = steps.index("UPDATE entries SET number = -number")
        steps.insert(place + 1, "UPDATE entries SET number = 3 + number")
    with by_hand(path) as connection:
        for step in steps:
            connection.execute(step)

    for act in (lambda: Ledger.open(path), lambda: in_both.can_pay("0.001")):
        with refused(fact, "what was spent on these people stays spent"):
            act()


@pytest.mark.parametrize("budget", [{"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}], ids=str)
def test_damage_is_refused_in_our_words(budget: dict[str, Any], path: Path) -> None:
    ledger = Ledger.create(path, **budget, about="people")
    for _ in range(30):
        ledger.charge(Cost(rho="1/4000"), what="some text to fill the pages of the file, and to be damaged")
    whole, spent, generator, noticed = path.read_bytes(), ledger.spent, random.Random(0), 0
    for _ in range(100):
        damaged = bytearray(whole)
        place = generator.randrange(len(damaged))
        if generator.random() < 0.2:
            del damaged[place:]
        else:
            damaged[place : place + 64] = generator.randbytes(len(damaged[place : place + 64]))
        path.write_bytes(damaged)
        try:
            assert (Ledger.open(path).spent, ledger.budget) == (spent, Cost(**budget))
        except BadLedger:
            noticed += 1
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert noticed > 30


COSTS = st.lists(
    st.fractions("1/50", "1/3", max_denominator=60).map(lambda e: Cost(epsilon=e))
    | st.fractions("1/2000", "1/50", max_denominator=3000).map(lambda r: Cost(rho=r))
    | st.fractions("1/50", "1/3", max_denominator=60).map(lambda e: Cost(epsilon=e, delta=e / 10**6)),
    max_size=8,
)


@settings(max_examples=tries(40), deadline=None)
@given(budget=st.sampled_from([{"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}]), costs=COSTS)
def test_what_a_file_says_is_what_was_charged(budget: dict[str, Any], costs: list[Cost]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "ledger"), **budget, about="people")
        paid = []
        for cost in costs:
            before = ledger.path.read_bytes()
            try:
                ledger.charge(cost, what="a release")
                paid.append(cost)
            except (BudgetExceeded, BadLedger):
                assert ledger.path.read_bytes() == before
        again = Ledger.create(Path(folder, "again"), **budget, about="people")
        for cost in paid:
            again.charge(cost, what="a release")

        assert len(ledger.entries()) == len(paid)
        assert [entry.charged for entry in again.entries()] == [entry.charged for entry in ledger.entries()]
        assert (again.spent, again.affords) == (ledger.spent, ledger.affords)
        if "rho" in budget:
            assert ledger.spent == sum((entry.rho or Fraction(0) for entry in ledger.entries()), Fraction(0))


def test_a_release_is_charged_to_a_ledger_in_rho(path: Path, in_rho: Ledger) -> None:
    rows = Path(path.parent, "rows.csv")
    rows.write_text("age\n" + "30\n" * 50)
    Ledger.create(path.with_name("rows.ledger"), rho="0.1", about="readers", unit="row")
    ht.publish(
        rows,
        domain=ht.Domain(age=ht.integers(0, 99)),
        epsilon="0.1",
        size=20,
        ledger=path.with_name("rows.ledger"),
        output=path.with_name("out.parquet"),
    )
    (entry,) = Ledger.open(path.with_name("rows.ledger")).entries()

    assert (entry.converted, entry.rho, entry.state) == (True, pure_to_rho(Fraction(1, 10)), "finished")


# Files that open for ever


def test_the_golden_ledger_in_rho_opens_for_ever(tmp_path: Path) -> None:
    ledger = Ledger.open(shutil.copy(FOLDER / "version-2-zcdp.ledger", tmp_path))

    assert (ledger.budget, ledger.unit, ledger.bounds) == (Cost(rho="0.1"), "person_id", {"row": 3})
    assert [(e.rho, e.most, e.converted, e.digest) for e in ledger.entries()] == [
        (Fraction(3, 200), 1, False, DIGEST),
        (Fraction(499583749579, 10**14), 1, True, None),
        (Fraction(9, 1000), 3, False, None),
    ]
    ledger.charge(Cost(rho=ledger.left), what="the rest")
    assert ledger.left == 0


def test_the_golden_ledger_with_a_delta_opens_for_ever(tmp_path: Path) -> None:
    ledger = Ledger.open(shutil.copy(FOLDER / "version-2-approximate.ledger", tmp_path))

    assert (ledger.budget, ledger.unit) == (Cost(epsilon=1, delta="1e-6"), "person_id")
    charges = [(e.epsilon, e.delta, e.rho) for e in ledger.entries()]
    assert charges[0] == (Fraction(1, 10), Fraction(0), None)
    assert charges[1] == (Fraction(1, 5), Fraction(1, 10**7), None)
    assert charges[2] == (None, Fraction(0), Fraction(1, 200))
    # Filled to the last digit: an order or a constant that came out otherwise would look overspent.
    assert charges[3] == (None, Fraction(0), Fraction(GOLDEN_REST))
    assert ledger.affords.rho is not None
    assert ledger.affords.rho < Fraction(1, 10**12)
    assert ledger.spent == Fraction(GOLDEN_SPENT)


GOLDEN_REST = "737215150653/100000000000000"
GOLDEN_SPENT = "1"
