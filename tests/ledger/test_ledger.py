"""The ledger never lets more be spent than the budget, and forgets no charge that it confirmed."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import BadLedger, BadNumber, BudgetExceeded
from hushtable.ledger import storage
from hushtable.ledger.ledger import Ledger
from tests.harness.cases import chosen
from tests.harness.statistics import tries
from tests.ledger.books import Nursery, by_hand, files_beside, refused
from tests.ledger.nursery import BUDGETS, CRUMBS, FIFTHS

ROUNDS = 40  # of one to three kills each
NOBODY = 65534


# What it says


def test_a_ledger_tells_what_was_spent(path: Path, ledger: Ledger) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    first = ledger.charge(0.1, what="commute.parquet")
    second = ledger.charge("1/3", what="trips, by hour")
    ledger.finish(first, digest="sha256:00ff")

    assert (first, second) == (1, 2)
    for seen in (ledger, Ledger.open(path), Ledger.open(str(path)), ht.Ledger(path)):
        assert seen.about == "commuters 2024"
        assert seen.epsilon == 1
        assert seen.spent == Fraction(13, 30)
        assert seen.left == Fraction(17, 30)
        entries = seen.entries()
        assert [(e.number, e.what, e.epsilon, e.digest, e.state) for e in entries] == [
            (1, "commute.parquet", Fraction(1, 10), "sha256:00ff", "finished"),
            (2, "trips, by hour", Fraction(1, 3), None, "unfinished"),
        ]
        for entry in entries:
            moment = datetime.fromisoformat(entry.when)
            assert moment.utcoffset() == timedelta(0)
            assert before <= moment <= datetime.now(UTC)


def test_the_rest_is_read_fresh(path: Path, ledger: Ledger) -> None:
    Ledger.open(path).charge("0.4", what="by someone else")

    assert ledger.left == Fraction(3, 5)


def test_a_ledger_prints_as_what_rebuilds_it_and_can_be_pickled(path: Path, ledger: Ledger) -> None:
    assert repr(ledger) == f"Ledger.open({str(path)!r})"
    assert eval(repr(ledger)) == ledger == pickle.loads(pickle.dumps(ledger))


def test_a_ledger_stays_the_same_file_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("here.ledger", epsilon=1, about="people")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert ledger.charge(1, what="all of it") == 1


@pytest.mark.parametrize("name", ["a b?c#d%20e&mode=memory", "ünïcode 表", "-journal", os.fsdecode(b"\xff")])
def test_any_name_will_do(name: str, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / name, epsilon=1, about="people")
    ledger.charge(1, what="all of it")

    assert os.listdir(tmp_path) == [name]
    assert Ledger.open(tmp_path / name).left == 0


def test_texts_come_back_as_they_were_given(path: Path) -> None:
    about, what = "Pendler\N{NO-BREAK SPACE}2024; DROP TABLE entries --", "人口 'x' \N{FAMILY}"
    ledger = Ledger.create(path, epsilon=1, about=about)
    ledger.charge(1, what=what)

    assert (ledger.about, ledger.entries()[0].what) == (about, what)


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "\x1b[2J", "\ud800", "\u2028", "x" * 1001, 7, None])
def test_a_text_is_one_line(text: Any, path: Path, ledger: Ledger) -> None:
    number = ledger.charge("1/2", what="x" * 1000)

    with refused("about=", "commuters 2024"):
        Ledger.create(path.with_name("other"), epsilon=1, about=text)
    with refused("what=", "commute.parquet"):
        ledger.charge("1/2", what=text)
    with refused("digest=", "sha256"):
        ledger.finish(number, digest=text)
    assert [entry.state for entry in ledger.entries()] == ["unfinished"]
    assert files_beside(path) == []


# Exact sums


@pytest.mark.parametrize(
    ("cost", "times", "budget"),
    chosen(
        [
            *[("1/3", 300, 100), ("1/7", 350, 50), (0.1, 250, 25)],
            *[(np.float32(0.1), 10, 1), (Decimal("0.05"), 20, 1), (0.1, 10, 1), ("1/3", 30, 10)],
        ],
        range(3, 7),
    ),
)
def test_the_budget_is_spent_to_the_last_part(cost: Any, times: int, budget: int, path: Path) -> None:
    ledger = Ledger.create(path, epsilon=budget, about="people")
    for number in range(1, times + 1):
        assert ledger.charge(cost, what="a part") == number

    assert ledger.spent == ledger.epsilon == budget
    assert ledger.left == 0
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge("1e-30", what="a crumb")
    assert (caught.value.needed, caught.value.left) == (Fraction(1, 10**30), Fraction(0))
    assert len(ledger.entries()) == times


def test_a_crumb_too_much_is_refused(ledger: Ledger) -> None:
    ledger.charge("1/3", what="a third")
    crumb = Fraction(1, 10**40)

    with pytest.raises(BudgetExceeded, match="only epsilon=2/3 is left"):
        ledger.charge(Fraction(2, 3) + crumb, what="two thirds and a crumb")
    assert ledger.charge(Fraction(2, 3), what="two thirds") == 2


@pytest.mark.parametrize(
    "epsilon", [0, -1, "-1/3", float("nan"), float("inf"), True, "a tenth", None, "1e-50", 10**50]
)
def test_an_epsilon_is_a_positive_number(epsilon: Any, path: Path, ledger: Ledger) -> None:
    with pytest.raises(BadNumber, match="epsilon="):
        Ledger.create(path.with_name("other"), epsilon=epsilon, about="people")
    with pytest.raises(BadNumber, match="epsilon="):
        ledger.charge(epsilon, what="a release")
    with pytest.raises(BadNumber, match="epsilon="):
        ledger.can_pay(epsilon)
    assert ledger.entries() == []
    assert files_beside(path) == []


def test_a_sum_that_cannot_be_printed_is_refused(path: Path) -> None:
    largest, digits = Fraction(10**50 - 1), sys.get_int_max_str_digits()
    ledger = Ledger.create(path, epsilon=largest, about="people")
    sys.set_int_max_str_digits(640)  # the least that Python allows
    try:
        for step in range(6):
            ledger.charge(Fraction(1, 10**49 + 1 + 2 * step), what="an odd part")
        with pytest.raises(BadNumber, match="longer than 300 digits"):
            ledger.charge(Fraction(1, 10**49 + 13), what="one too many")
        with pytest.raises(BudgetExceeded, match="is left"):
            ledger.charge(largest, what="all of it")
    finally:
        sys.set_int_max_str_digits(digits)
    ledger.charge("0.1", what="a tenth")


ACTS = st.one_of(
    st.tuples(st.just("charge"), st.fractions("1/60", "1/2", max_denominator=60)),
    st.tuples(st.just("can_pay"), st.fractions("1/60", "1/2", max_denominator=60)),
    st.tuples(st.just("finish"), st.integers(0, 6)),
)


@settings(max_examples=tries(60))
@given(budget=st.fractions("1/60", 2, max_denominator=60), acts=st.lists(ACTS, max_size=12))
def test_a_ledger_does_as_a_list_would(budget: Fraction, acts: list[tuple[str, Any]]) -> None:
    model: list[tuple[Fraction, str | None]] = []

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "ledger"), epsilon=budget, about="people")
        for act, value in acts:
            left = budget - sum(cost for cost, _ in model)
            if act == "finish":
                if 1 <= value <= len(model) and model[value - 1][1] is None:
                    ledger.finish(value, digest=f"of {value}")
                    model[value - 1] = (model[value - 1][0], f"of {value}")
                else:
                    with pytest.raises(BadLedger):
                        ledger.finish(value, digest="a second one")
            elif value > left:
                with pytest.raises(BudgetExceeded) as caught:
                    ledger.can_pay(value) if act == "can_pay" else ledger.charge(value, what="a release")
                assert (caught.value.needed, caught.value.left) == (value, left)
            elif act == "can_pay":
                ledger.can_pay(value)
            else:
                model.append((value, None))
                assert ledger.charge(value, what="a release") == len(model)

        assert [(entry.epsilon, entry.digest) for entry in Ledger.open(ledger.path).entries()] == model
        assert ledger.left == budget - ledger.spent == budget - sum(cost for cost, _ in model)
        assert os.listdir(folder) == ["ledger"]


# Finishing, and looking ahead


@pytest.mark.parametrize("number", [0, 2, 2**70])
def test_an_unknown_entry_cannot_be_finished(number: int, ledger: Ledger) -> None:
    ledger.charge("1/2", what="a release")

    with refused(f"no entry {number}", "that `charge` returned"):
        ledger.finish(number, digest="sha256:00")


@pytest.mark.parametrize("number", [-1, True, "1", None])
def test_an_entry_has_a_whole_number(number: Any, ledger: Ledger) -> None:
    ledger.charge("1/2", what="a release")

    with pytest.raises(BadNumber, match="entry="):
        ledger.finish(number, digest="sha256:00")


def test_an_entry_is_finished_once(ledger: Ledger) -> None:
    number = ledger.charge("1/2", what="a release")
    ledger.finish(number, digest="sha256:00")

    ledger.finish(number, digest="sha256:00")  # the same output, found by somebody else
    with refused("finished already", "a charge of its own"):
        ledger.finish(number, digest="sha256:01")
    assert ledger.entries()[0].digest == "sha256:00"


def test_a_look_ahead_charges_nothing(path: Path, ledger: Ledger) -> None:
    before = path.read_bytes()
    ledger.can_pay(1)
    with pytest.raises(BudgetExceeded):
        ledger.can_pay("1.01")

    assert path.read_bytes() == before
    assert files_beside(path) == []


# What others do to the file


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 2",
        "DELETE FROM budget",
        "UPDATE budget SET epsilon = '2/1'",
        "UPDATE budget SET about = 'others'",
        "UPDATE budget SET unit = 'person_id'",
        "UPDATE budget SET unit = NULL",
        "UPDATE budget SET currency = 'zcdp', epsilon = NULL, rho = '1/1'",
        "INSERT INTO budget VALUES ('people', 'row', 'pure', '2/1', NULL, NULL)",
        "INSERT OR REPLACE INTO budget (rowid, about, currency, epsilon) VALUES (1, 'people', 'pure', '2/1')",
        "UPDATE entries SET epsilon = '1/100' WHERE number = 1",
        "UPDATE entries SET epsilon = '1/100', digest = 'x' WHERE number = 2",
        "UPDATE entries SET what = 'x', digest = 'x' WHERE number = 2",
        "UPDATE entries SET charged_at = 'x', digest = 'x' WHERE number = 2",
        "UPDATE entries SET number = 3, digest = 'x' WHERE number = 2",
        "UPDATE OR REPLACE entries SET number = 1, digest = 'x' WHERE number = 2",
        "UPDATE entries SET digest = 'y' WHERE number = 1",
        "UPDATE entries SET digest = NULL WHERE number = 1",
        "UPDATE entries SET digest = NULL WHERE number = 2",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'person_id', 1, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', NULL, 1, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'row', 2, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'visit', 3, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'row', 1, NULL, '1/100', '1/100', NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'row', 1, NULL, NULL, NULL, '1/100', NULL)",
        "UPDATE entries SET unit = 'visit', digest = 'x' WHERE number = 2",
        "UPDATE entries SET most = 4, digest = 'x' WHERE number = 2",
        "UPDATE entries SET name = 'x', digest = 'x' WHERE number = 2",
        "UPDATE entries SET guarantee = 'x', digest = 'x' WHERE number = 2",
        "UPDATE bounds SET most = 1",
        "DELETE FROM bounds",
        "INSERT INTO bounds VALUES (2, 'x', 'visit', 1)",
        "INSERT INTO bounds VALUES (2, 'x', 'row', 1)",
        "INSERT INTO bounds VALUES (2, 'x', 'trip', 0)",
        "INSERT OR REPLACE INTO bounds VALUES (1, 'x', 'visit', 1)",
        "REPLACE INTO entries VALUES (1, 'x', NULL, 'x', 'row', 1, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (4, 'x', NULL, 'x', 'row', 1, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (0, 'x', NULL, 'x', 'row', 1, NULL, '1/100', NULL, NULL, NULL)",
        "INSERT INTO entries VALUES (3, 'x', NULL, 'x', 'row', 1, NULL, '1/100', NULL, NULL, 'x')",
    ],
)
def test_a_slip_of_the_hand_changes_nothing(statement: str, path: Path, ledger: Ledger) -> None:
    ledger.finish(ledger.charge("1/2", what="first"), digest="x")
    ledger.charge("1/3", what="second")
    ledger.declare("visit", most=4)
    entries = ledger.entries()

    with by_hand(path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert (ledger.entries(), ledger.left, ledger.about) == (entries, Fraction(1, 6), "commuters 2024")
    assert (ledger.unit, ledger.bounds) == ("row", {"visit": 4})


WEAK_TRIGGER = "CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries BEGIN SELECT 1; END"


def without_triggers(statement: str) -> list[str]:
    """Do a statement that the triggers forbid, and put them back."""
    triggers = [sql for sql in storage.SCHEMA if sql.startswith("CREATE TRIGGER")]
    return [*(f"DROP TRIGGER {sql.split()[2]}" for sql in triggers), statement, *triggers]


@pytest.mark.parametrize(
    ("statements", "fact"),
    [
        (["DROP TRIGGER entries_are_kept"], "other tables or triggers"),
        (["DROP TRIGGER entries_are_kept", WEAK_TRIGGER], "other tables or triggers"),
        (["DROP TABLE entries"], "other tables or triggers"),
        (["CREATE TABLE notes (note)"], "other tables or triggers"),
        (["CREATE VIEW copy AS SELECT * FROM entries"], "other tables or triggers"),
        (["PRAGMA user_version = 0"], "other tables or triggers"),
        (["PRAGMA application_id = 0"], "is not a ledger"),
        (without_triggers("DELETE FROM entries WHERE number = 1"), "lacks rows"),
        (without_triggers("DELETE FROM budget"), "lacks rows"),
        (without_triggers("UPDATE budget SET epsilon = '1/10'"), "cost more than its budget"),
        (without_triggers("UPDATE budget SET unit = NULL"), "another unit"),
        (without_triggers("UPDATE budget SET unit = 'person_id'"), "another unit"),
        (without_triggers("UPDATE budget SET unit = char(27)"), "cannot be read"),
        (without_triggers("UPDATE budget SET unit = x'ff'"), "cannot be read"),
        (without_triggers("UPDATE entries SET unit = 'person_id'"), "another unit"),
        (without_triggers("UPDATE entries SET most = 2"), "another unit"),
        (without_triggers("UPDATE entries SET delta = '1/2'"), "currency"),
        (without_triggers("INSERT INTO bounds VALUES (1, 'x', 'visit', 'many')"), "another unit"),
        (without_triggers("INSERT INTO bounds VALUES (2, 'x', 'visit', 2)"), "lacks rows"),
        (without_triggers("UPDATE entries SET epsilon = '0.1'"), "cannot be read"),
        (without_triggers("UPDATE entries SET epsilon = '-1/3'"), "cannot be read"),
        (without_triggers("UPDATE entries SET epsilon = '1/0'"), "cannot be read"),
        (without_triggers("UPDATE entries SET epsilon = x'312f33'"), "cannot be read"),
        (without_triggers("UPDATE entries SET epsilon = CAST(x'ff2f33' AS TEXT)"), "is damaged"),
    ],
)
def test_what_was_changed_by_hand_is_refused(
    statements: list[str], fact: str, path: Path, ledger: Ledger
) -> None:
    ledger.charge("1/2", what="first")
    ledger.charge("1/3", what="second")
    with by_hand(path) as connection:
        for statement in statements:
            connection.execute(statement)

    hint = "what was spent on these people stays spent"
    with refused(fact, hint):
        Ledger.open(path)
    with refused(fact, hint):
        ledger.charge("1/100", what="third")
    with refused(fact, hint):
        ledger.can_pay("1/100")


def test_upkeep_by_hand_is_no_damage(path: Path, ledger: Ledger) -> None:
    ledger.charge("1/2", what="first")
    with by_hand(path) as connection:
        connection.execute("ANALYZE")
        connection.execute("VACUUM")
        connection.execute("UPDATE entries SET digest = 'known since' WHERE number = 1")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()

    assert Ledger.open(path).entries()[0].state == "finished"
    ledger.charge("1/2", what="second")
    assert files_beside(path) == []
    with by_hand(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def test_a_newer_version_is_refused(path: Path, ledger: Ledger) -> None:
    with by_hand(path) as connection:
        connection.execute(f"PRAGMA user_version = {storage.VERSION + 1}")

    with refused("has version 3; this hushtable knows version 2", "Install the newer hushtable"):
        Ledger.open(path)
    with refused("has version 3", "Install the newer hushtable"):
        ledger.charge("1/2", what="a release")


@pytest.mark.parametrize(
    "content", [b"", b"epsilon = 1\n", b"SQLite format 3\x00" + b"\xff" * 4096, b"\0" * 512]
)
def test_what_is_no_ledger_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)

    with refused("is not a ledger", "Check the path."):
        Ledger.open(path)
    assert path.read_bytes() == content
    assert files_beside(path) == []


def test_damage_is_refused_in_our_words(path: Path, ledger: Ledger) -> None:
    for _ in range(40):
        ledger.charge("1/50", what="a fiftieth of the budget, and some text to fill the pages of the file")
    whole, generator, noticed = path.read_bytes(), random.Random(0), 0
    for _ in range(150):
        damaged = bytearray(whole)
        place = generator.randrange(len(damaged))
        if generator.random() < 0.2:
            del damaged[place:]
        else:
            damaged[place : place + 64] = generator.randbytes(len(damaged[place : place + 64]))
        path.write_bytes(damaged)
        try:
            # Bytes that no row uses, or texts, may change unseen; the sum may not.
            assert (Ledger.open(path).spent, ledger.epsilon) == (Fraction(4, 5), Fraction(1))
        except BadLedger:
            noticed += 1
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert noticed > 50


@pytest.mark.parametrize("place", [39, 47])
def test_a_file_with_a_wrong_header_is_refused(place: int, path: Path, ledger: Ledger) -> None:
    # The number of free pages, which only an integrity check looks at; the format of the schema.
    content = bytearray(path.read_bytes())
    content[place] = 9
    path.write_bytes(content)

    with refused("is damaged", "Put its newest whole copy back"):
        Ledger.open(path)


def test_what_is_not_there_is_not_made(path: Path) -> None:
    with refused("there is no ledger", "Check the path."):
        Ledger.open(path)
    with refused("there is no ledger", "before the first release"):
        Ledger.open(path / "below" / "nothing")
    with refused("there is no ledger", "Check the path."):
        Ledger.open("nul\0")
    with refused("is a folder", "path of the ledger's file"):
        Ledger.open(path.parent)
    os.mkfifo(path)
    with refused("is not a plain file", "path of the ledger's file"):
        Ledger.open(path)


def test_a_ledger_that_goes_away_is_missed(path: Path, ledger: Ledger) -> None:
    path.unlink()

    with refused("there is no ledger", "Check the path."):
        ledger.charge("1/2", what="a release")
    assert not path.exists()


def test_a_ledger_that_goes_away_at_the_last_moment_is_not_made_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_require_file", lambda path: None)

    with refused("cannot be written", "Ask its owner"):
        Ledger(path).charge("1/2", what="a release")
    assert not path.exists()


# Making it


def test_a_new_ledger_is_private_and_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        Ledger.create(path, epsilon="1/3", about="people")
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 1
    assert files_beside(path) == []
    with by_hand(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchall() == [(0x68757368,)]
        assert connection.execute("SELECT * FROM budget").fetchall() == [
            ("people", None, "pure", "1/3", None, None)
        ]


def test_an_existing_file_is_never_replaced(path: Path, ledger: Ledger) -> None:
    ledger.charge("1/2", what="a release")
    (path.parent / "link").symlink_to(path.parent / "nowhere")

    for taken in (path, path.parent, path.parent / "link"):
        with refused("exists already", "one ledger"):
            Ledger.create(taken, epsilon=5, about="people")
    assert ledger.left == Fraction(1, 2)
    assert files_beside(path) == ["link"]


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_a_journal_without_its_ledger_stops_a_new_one(suffix: str, path: Path) -> None:
    Path(f"{path}{suffix}").write_bytes(b"what SQLite would play into the new file")

    with refused("part of an earlier ledger", "Put that ledger back"):
        Ledger.create(path, epsilon=1, about="people")
    assert not path.exists()


def test_a_folder_that_is_missing_is_not_made(path: Path) -> None:
    for wrong in (path / "ledger", "nul\0"):
        with refused("could not be made", "Name a folder"):
            Ledger.create(wrong, epsilon=1, about="people")
    assert files_beside(path) == []


def test_a_disk_that_fails_while_making_it_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    def fail(path: Path) -> None:
        raise full

    monkeypatch.setattr(storage, "_connected", fail)
    with refused("the disk failed under the ledger", "Check the disk"):
        Ledger.create(path, epsilon=1, about="people")
    assert os.listdir(path.parent) == []


def test_a_crash_while_making_it_leaves_no_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("_make", "os.link"):
        with monkeypatch.context() as patch:
            patch.setattr(f"hushtable.ledger.storage.{step}", crash)
            with pytest.raises(KeyboardInterrupt):
                Ledger.create(path, epsilon=1, about="people")
        assert os.listdir(path.parent) == []


# Rights


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Act without the rights of root, who may write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that an ordinary user reaches, unlike pytest's own when it runs as root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o444, 0o555), (0o666, 0o555)])
def test_a_ledger_that_cannot_be_written_can_be_read(
    file_mode: int, folder_mode: int, shared_folder: Path
) -> None:
    path = shared_folder / "commuters.ledger"
    Ledger.create(path, epsilon=1, about="people").charge("1/2", what="a release")
    path.chmod(file_mode)
    shared_folder.chmod(folder_mode)

    with ordinary_user():
        ledger = Ledger.open(path)
        assert ledger.left == Fraction(1, 2)
        for act in (
            lambda: ledger.can_pay("1/2"),
            lambda: ledger.charge("1/2", what="another"),
            lambda: ledger.finish(1, digest="x"),
        ):
            with refused("cannot be written", "the file and its folder"):
                act()
    assert [entry.state for entry in ledger.entries()] == ["unfinished"]


def test_a_ledger_or_folder_without_any_rights_is_refused(shared_folder: Path) -> None:
    path = shared_folder / "commuters.ledger"
    Ledger.create(path, epsilon=1, about="people")
    path.chmod(0)
    with ordinary_user(), refused("cannot be written", "Ask its owner"):
        Ledger.open(path)
    shared_folder.chmod(0)
    with ordinary_user(), refused("cannot be reached", "Ask its owner"):
        Ledger.open(path)
    shared_folder.chmod(0o555)
    with ordinary_user(), refused("could not be made", "that you may write"):
        Ledger.create(shared_folder / "other", epsilon=1, about="people")


# Many at once


def test_a_charge_reaches_the_disk_and_one_file(path: Path, ledger: Ledger) -> None:
    # A power cut cannot be tried here, so this holds the settings that SQLite's promise depends on.
    with storage.writing(path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchall() == [(3,)]  # EXTRA
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def test_a_ledger_in_use_is_waited_for(path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor() as pool, by_hand(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        charged = pool.submit(ledger.charge, "1/2", what="patient")
        time.sleep(0.2)
        assert not charged.done()
        assert ledger.left == 1
        connection.execute("ROLLBACK")
        assert charged.result() == 1

    monkeypatch.setattr(storage, "PATIENCE", 0)
    with by_hand(path) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with refused("was in use for 0 seconds", "Nothing was charged. Wait"):
            ledger.charge("1/2", what="impatient")
    assert ledger.left == Fraction(1, 2)


def test_a_commit_that_readers_hold_up_is_undone(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "PATIENCE", 0)
    with by_hand(path) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM entries").fetchall()
        with refused("was in use", "Nothing was charged."):
            ledger.charge("1/2", what="impatient")

    assert ledger.entries() == []
    assert files_beside(path) == []


@pytest.fixture(params=BUDGETS)
def kind(request: pytest.FixtureRequest) -> str:
    """A currency; budgets and costs in each are those of the nursery."""
    return str(request.param)


def test_threads_cannot_overspend_together(path: Path, kind: str) -> None:
    ledger = Ledger.create(path, **BUDGETS[kind], about="people")
    start = Barrier(20)

    def publish(step: int) -> int | None:
        mine = ledger if step % 2 else Ledger.open(path)
        start.wait()
        try:
            return mine.charge(FIFTHS[kind], what=f"thread {step}")
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(20) as pool:
        numbers = list(pool.map(publish, range(20)))

    assert sorted(number for number in numbers if number) == [1, 2, 3, 4, 5]
    assert ledger.left < Fraction(1, 10**11)


def test_processes_cannot_overspend_together(path: Path, kind: str, nursery: Nursery) -> None:
    ledger = Ledger.create(path, **BUDGETS[kind], about="people")
    with by_hand(path) as connection:
        connection.execute("BEGIN IMMEDIATE")  # so that all wait at the same door
        publishers = [nursery.start("charge_a_fifth", path) for _ in range(20)]
        time.sleep(0.3)
    for child, _ in publishers:
        nursery.wait(child)

    told = sorted(report.read_text() for _, report in publishers)
    assert told == [*(f"charged {number}\n" for number in range(1, 6)), *["refused\n"] * 15]
    assert ledger.left < Fraction(1, 10**11)
    assert len(ledger.entries()) == 5
    assert files_beside(path) == []


def test_of_those_who_make_it_at_once_one_succeeds(tmp_path: Path, nursery: Nursery) -> None:
    for step in range(10):
        path = tmp_path / f"{step}.ledger"
        makers = [nursery.start("create", path) for _ in range(4)]
        for child, _ in makers:
            nursery.wait(child)

        *losers, winner = sorted(
            (report.read_text() for _, report in makers), key=lambda told: told[0] == "c"
        )
        assert losers == ["refused\n"] * 3
        assert winner.split() == ["created", Ledger.open(path).about.removeprefix("made by ")]
    assert sorted(os.listdir(tmp_path)) == [*(f"{step}.ledger" for step in range(10)), "reports"]


def test_what_a_kill_left_half_done_is_undone(shared_folder: Path) -> None:
    path = shared_folder / "commuters.ledger"
    ledger = Ledger.create(path, epsilon=1, about="people")
    for _ in range(50):
        ledger.charge("1/100", what="a long text, so that they fill many pages " * 20)
    whole = path.read_bytes()
    # A cache of one page sends what a transaction does to the disk before it is committed.
    with by_hand(path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE entries SET digest = 'half done'")
        half_done, journal = path.read_bytes(), Path(f"{path}-journal").read_bytes()
    assert path.read_bytes() == whole
    assert b"half done" in half_done
    path.write_bytes(half_done)
    Path(f"{path}-journal").write_bytes(journal)

    path.chmod(0o444)
    with ordinary_user(), refused("cannot be written", "Ask its owner"):
        Ledger.open(path)
    assert ledger.left == Fraction(1, 2)
    assert path.read_bytes() == whole
    assert files_beside(path) == []


def test_a_kill_loses_no_charge_that_was_confirmed(path: Path, kind: str, nursery: Nursery) -> None:
    ledger = Ledger.create(path, **BUDGETS[kind], about="people")
    fifth = FIFTHS[kind].epsilon or FIFTHS[kind].rho or Fraction(0)
    generator, charged, finished = random.Random(0), set[int](), set[int]()

    for turn in range(ROUNDS):
        # Alone, so that we meet what was left behind; or in company, so that another publisher does.
        publishers = [nursery.start("charge_without_end", path) for _ in range(1 + turn % 3)]
        for child, report in publishers:
            time.sleep(generator.uniform(0.005, 0.03))
            nursery.kill(child)
            told = [line.split() for line in report.read_text().splitlines()]
            assert {word for word, *_ in told} <= {"charged", "finished"}
            charged |= {int(number) for word, *rest in told for number in rest if word == "charged"}
            finished |= {int(number) for word, *rest in told for number in rest if word == "finished"}

            entries = Ledger.open(path).entries()
            assert charged <= {entry.number for entry in entries}
            assert finished <= {entry.number for entry in entries if entry.state == "finished"}
            assert all(entry.digest in (None, f"of {entry.number}") for entry in entries)
            assert sum(entry.epsilon or entry.rho or 0 for entry in entries) <= 5 * fifth

        # All are dead. A journal that was empty at the kill may lie there until someone writes.
        with suppress(BudgetExceeded):
            ledger.can_pay(CRUMBS[kind])
        assert files_beside(path) == []
        with by_hand(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    assert len(charged) > ROUNDS // 2
