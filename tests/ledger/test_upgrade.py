"""A ledger of version 1 becomes one of version 2 whole or not at all, and nothing that was spent is lost."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadLedger, BudgetExceeded
from hushtable.ledger import storage
from hushtable.ledger.ledger import Entry, Ledger
from tests.harness.statistics import tries
from tests.ledger.books import Nursery, by_hand, files_beside, refused
from tests.ledger.versions import old_ledger

GOLDEN = Path(__file__).parent / "golden"
OLD = [("first", Fraction(1, 3), "sha256:00"), ("second", Fraction(1, 10), None)]


@pytest.fixture
def old(path: Path) -> Ledger:
    return Ledger.open(old_ledger(path, epsilon=Fraction(1), entries=OLD))


def plain(entry: Entry) -> tuple[Any, ...]:
    """What both versions say of an entry."""
    return entry.number, entry.when, entry.what, entry.epsilon, entry.digest, entry.name, entry.most


def test_version_1_is_read_as_pure_with_no_unit(path: Path, old: Ledger) -> None:
    assert (old.version, old.unit, old.currency, old.bounds) == (1, None, "pure", {})
    assert (old.about, old.epsilon, old.spent) == ("commuters 2024", Fraction(1), Fraction(13, 30))
    assert [(entry.what, entry.epsilon, entry.digest) for entry in old.entries()] == OLD
    assert {entry.unit for entry in old.entries()} == {None}


def test_version_1_is_not_charged_but_says_what_to_do(path: Path, old: Ledger) -> None:
    before = path.read_bytes()

    for act in (
        lambda: old.charge("1/10", what="third", unit="row"),
        lambda: old.charge("1/10", what="third"),
        lambda: old.can_pay("1/10", unit="row"),
        lambda: old.finish(2, digest="x"),
        lambda: old.declare("row", most=2),
    ):
        with refused(
            "has version 1, and its unit is not stated", "`hushtable ledger upgrade FILE --unit NAME`"
        ):
            act()
    assert path.read_bytes() == before


def test_an_upgrade_states_the_unit_and_keeps_the_rest(path: Path, old: Ledger) -> None:
    entries = old.entries()
    new = ht.Ledger.upgrade(path, unit="person_id")

    assert (new.version, new.unit, new.about, new.left) == (
        2,
        "person_id",
        "commuters 2024",
        Fraction(17, 30),
    )
    assert [plain(entry) for entry in new.entries()] == [plain(entry) for entry in entries]
    assert {entry.unit for entry in new.entries()} == {"person_id"}
    new.finish(2, digest="sha256:11")
    with refused("finished already", "of its own"):
        new.finish(1, digest="x")
    assert new.charge("17/30", what="the rest", unit="person_id") == 3
    with pytest.raises(BudgetExceeded):
        new.charge("1e-30", what="a crumb", unit="person_id")
    with refused("protects each person_id", "--bound row=K"):
        new.can_pay("1/10", unit="row")
    assert files_beside(path) == []
    with by_hand(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_an_upgraded_file_is_like_a_new_one(path: Path, old: Ledger) -> None:
    Ledger.upgrade(path, unit="row")
    new = Ledger.create(path.with_name("new"), epsilon=1, about="commuters 2024", unit="row")

    def schema(path: Path) -> list[Any]:
        with by_hand(path) as connection:
            return sorted(connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall())

    assert schema(path) == schema(new.path)


def test_only_version_1_is_upgraded_and_once(path: Path, old: Ledger) -> None:
    Ledger.upgrade(path, unit="person_id")

    with refused("has version 2 already", "says which unit"):
        Ledger.upgrade(path, unit="row")
    assert Ledger.open(path).unit == "person_id"
    with refused("there is no ledger", "Check the path"):
        Ledger.upgrade(path.with_name("nowhere"), unit="row")
    path.write_bytes(b"nothing of ours")
    with refused("is not a ledger", "Check the path"):
        Ledger.upgrade(path, unit="row")


def test_a_damaged_ledger_is_not_upgraded(path: Path, old: Ledger) -> None:
    with by_hand(path) as connection:
        connection.execute("DROP TRIGGER entries_are_kept")
    before = path.read_bytes()

    with refused("other tables or triggers", "stays spent"):
        Ledger.upgrade(path, unit="row")
    assert path.read_bytes() == before


TEXTS = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20).filter(
    str.strip
)
ENTRIES = st.lists(
    st.tuples(TEXTS, st.fractions("1/100000", "1/20", max_denominator=10**12), st.none() | TEXTS), max_size=8
)


@settings(max_examples=tries(40))
@given(entries=ENTRIES, unit=st.sampled_from(["row", "person_id", "counted person (people)"]))
def test_what_was_spent_survives_an_upgrade_exactly(
    entries: list[tuple[str, Fraction, str | None]], unit: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = old_ledger(Path(folder, "ledger"), epsilon=Fraction(7, 9), entries=entries)
        before = Ledger.open(path)
        said = before.about, before.epsilon, before.spent, [plain(entry) for entry in before.entries()]
        after = Ledger.upgrade(path, unit=unit)

        assert (after.about, after.epsilon, after.spent, [plain(e) for e in after.entries()]) == said
        assert after.spent == sum((cost for _, cost, _ in entries), Fraction(0))
        assert after.unit == unit


# Killed, and in company


def test_killed_at_any_step_it_is_whole(tmp_path: Path, nursery: Nursery) -> None:
    text = "a long text, so that they fill many pages " * 20
    many = [(f"{text}{step}", Fraction(1, 100), None) for step in range(20)]
    original = old_ledger(tmp_path / "original", epsilon=Fraction(1), entries=many)
    entries = [plain(entry) for entry in Ledger.open(original).entries()]
    versions = []

    for step in range(0, 1000, 5):
        path = Path(shutil.copy(original, tmp_path / f"{step}.ledger"))
        child, report = nursery.start(f"upgrade {step}", path)
        nursery.wait(child)
        done = report.read_text()
        seen = Ledger.open(path)  # plays back what was half done
        versions.append(seen.version)
        assert [plain(entry) for entry in seen.entries()] == entries
        assert (seen.version == 1) == (seen.unit is None)
        if seen.version == 1:
            seen = Ledger.upgrade(path, unit="row")
        assert seen.left == Fraction(4, 5)
        if done:
            break

    assert done == "upgraded\n"
    assert versions[-1] == 2
    assert versions.count(1) > 10


def test_who_waits_to_charge_meets_version_2(path: Path, old: Ledger) -> None:
    with ThreadPoolExecutor() as pool, by_hand(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        upgraded = pool.submit(Ledger.upgrade, path, unit="person_id")
        time.sleep(0.2)
        assert not upgraded.done()
        assert old.version == 1
        connection.execute("ROLLBACK")
        assert upgraded.result().unit == "person_id"

    with ThreadPoolExecutor() as pool, storage.writing(path):
        waiting = pool.submit(old.charge, "1/10", what="patient", unit="person_id")
        time.sleep(0.1)
        assert not waiting.done()
    assert waiting.result() == 3


def test_of_upgrades_at_once_one_states_the_unit(path: Path, old: Ledger) -> None:
    start = Barrier(8)

    def upgrade(step: int) -> str | None:
        start.wait()
        try:
            return Ledger.upgrade(path, unit=f"unit {step}").unit
        except BadLedger as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(upgrade, range(8)))
    (stated,) = [each for each in said if each and "has version 2 already" not in each]

    assert Ledger.open(path).unit == stated
    assert Ledger.open(path).spent == Fraction(13, 30)


def test_a_reader_of_the_old_version_sees_a_newer_one(path: Path, old: Ledger) -> None:
    Ledger.upgrade(path, unit="row")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchall() == [(2,)]


# Files of every version


@pytest.fixture
def golden(tmp_path: Path) -> Any:
    return lambda version: Path(shutil.copy(GOLDEN / f"version-{version}.ledger", tmp_path))


def test_a_ledger_of_version_1_opens_for_ever(golden: Any) -> None:
    ledger = Ledger.open(golden(1))

    assert (ledger.about, ledger.epsilon, ledger.unit) == ("commuters of 2024, Zürich", Fraction(5, 2), None)
    assert [plain(entry) for entry in ledger.entries()] == [
        (
            1,
            "2026-11-18T02:36:09+00:00",
            "commute.parquet: Commuters, filter-priority of 10,000 rows",
            Fraction(1, 3),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            None,
            1,
        ),
        (2, "2026-11-18T02:36:09+00:00", "trips.parquet: filter of 50 rows", Fraction(1, 10), None, None, 1),
        (3, "2026-11-18T02:36:09+00:00", "a crumb", Fraction(1, 10**40), "sha256:00ff", None, 1),
    ]
    left = ledger.left
    assert Ledger.upgrade(ledger.path, unit="person_id").left == left
    assert ledger.charge(left, what="the rest", unit="person_id") == 4


def test_a_ledger_of_version_2_opens_for_ever(golden: Any) -> None:
    ledger = Ledger.open(golden(2))

    assert (ledger.version, ledger.about, ledger.epsilon) == (2, "commuters of 2024, Zürich", Fraction(5, 2))
    assert (ledger.unit, ledger.currency) == ("person_id", "pure")
    assert ledger.bounds == {"row": 12, "counted person (people)": 1}
    assert [(e.number, e.name, e.what, e.unit, e.most, e.epsilon, e.state) for e in ledger.entries()] == [
        (
            1,
            "commute.parquet",
            "commute.parquet: filter of 50 rows",
            "person_id",
            1,
            Fraction(1, 3),
            "finished",
        ),
        (2, "trips.parquet", "trips.parquet: priority of 9 rows", "row", 12, Fraction(6, 5), "unfinished"),
        (3, None, "a crumb", "person_id", 1, Fraction(1, 10**40), "unfinished"),
    ]
    left = ledger.left
    assert ledger.charge(left / 12, what="the rest", unit="row") == 4
    assert ledger.left == 0
