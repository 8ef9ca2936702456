"""The file of a ledger, kept by SQLite.

Promise: the file appears whole or not at all, and never over another. What a `writing` block did is on the
disk when the block ends, or undone; blocks of all threads and processes come one after the other. The file is
a ledger of this version at the start of each block (to read, of any), and what SQLite complains of comes out
as `BadLedger`.
Limits: triggers stop a slip of the hand, not a hand that means it: who may write the file can change it, or
put an old copy back. The locks of network drives cannot be relied on: keep it on a local disk. Do not open it
by other means within a process that charges it: POSIX drops SQLite's locks when any handle is closed.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.errors import BadLedger, InternalError

if TYPE_CHECKING:
    import sqlite3

APPLICATION = int.from_bytes(b"hush", "big")
VERSION = 2
PATIENCE = 60  # seconds to wait for other processes

# SQLite keeps these texts letter by letter, so a file is compared with them. They never change: files that
# were made with them open for ever. Epsilon, delta and rho are exact, as numerator/denominator.
SCHEMA = (
    """CREATE TABLE budget (
    about TEXT NOT NULL,
    unit TEXT, -- who one is; NULL until the first charge states it, then the same for ever
    currency TEXT NOT NULL, -- pure: epsilon; zcdp: rho; approximate: epsilon and delta
    epsilon TEXT,
    delta TEXT,
    rho TEXT,
    CHECK (
        (currency = 'pure' AND epsilon IS NOT NULL AND delta IS NULL AND rho IS NULL)
        OR (currency = 'zcdp' AND epsilon IS NULL AND delta IS NULL AND rho IS NOT NULL)
        OR (currency = 'approximate' AND epsilon IS NOT NULL AND delta IS NOT NULL AND rho IS NULL)
    )
)""",
    """CREATE TABLE bounds (
    number INTEGER PRIMARY KEY, -- 1, 2, 3, ...
    declared_at TEXT NOT NULL, -- UTC, ISO 8601
    unit TEXT NOT NULL, -- of releases that protect another unit than this ledger
    most INTEGER NOT NULL CHECK (most >= 1) -- of it in one unit of this ledger, as its owner declares
)""",
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY, -- 1, 2, 3, ...
    charged_at TEXT NOT NULL, -- UTC, ISO 8601
    name TEXT, -- of the release; NULL where none was given
    what TEXT NOT NULL,
    unit TEXT NOT NULL, -- that the release protects: the ledger's, or one with a declared bound
    most INTEGER NOT NULL CHECK (most >= 1), -- 1, or the bound by which the cost was converted
    guarantee TEXT, -- of the release to one of its own unit, as in epsilon=1/10; NULL in entries of version 1
    epsilon TEXT, -- epsilon, delta and rho: the cost to one unit of this ledger, whether finished or not;
    delta TEXT, -- pure: epsilon; zcdp: rho; approximate: delta, with epsilon or with rho; delta and rho
    rho TEXT, -- of all entries are added up and converted together
    digest TEXT -- of the output; NULL while unfinished
)""",
    """CREATE TRIGGER budget_is_one_row BEFORE INSERT ON budget
WHEN EXISTS (SELECT 1 FROM budget)
BEGIN SELECT RAISE(ABORT, 'a ledger has one budget'); END""",
    """CREATE TRIGGER budget_stays BEFORE UPDATE ON budget
WHEN OLD.unit IS NOT NULL OR NEW.unit IS NULL
    OR NEW.about IS NOT OLD.about OR NEW.currency IS NOT OLD.currency
    OR NEW.epsilon IS NOT OLD.epsilon OR NEW.delta IS NOT OLD.delta OR NEW.rho IS NOT OLD.rho
BEGIN SELECT RAISE(ABORT, 'the unit of a ledger is stated once, and its budget is never changed'); END""",
    """CREATE TRIGGER budget_is_kept BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is never deleted'); END""",
    # Those on INSERT also stop INSERT OR REPLACE, which deletes the old row without asking those on DELETE.
    """CREATE TRIGGER bounds_are_declared_once BEFORE INSERT ON bounds
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM bounds)
    OR EXISTS (SELECT 1 FROM bounds WHERE unit = NEW.unit)
    OR NOT EXISTS (SELECT 1 FROM budget WHERE unit <> NEW.unit)
BEGIN SELECT RAISE(ABORT, 'a bound is declared once, of another unit than the one stated'); END""",
    """CREATE TRIGGER bounds_stay BEFORE UPDATE ON bounds
BEGIN SELECT RAISE(ABORT, 'a bound is never changed: releases were charged by it'); END""",
    """CREATE TRIGGER bounds_are_kept BEFORE DELETE ON bounds
BEGIN SELECT RAISE(ABORT, 'a bound is never deleted: releases were charged by it'); END""",
    """CREATE TRIGGER entries_are_appended BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries) OR NEW.digest IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an entry is added at the end, and unfinished'); END""",
    """CREATE TRIGGER entries_have_a_known_unit BEFORE INSERT ON entries
WHEN NOT EXISTS (
    SELECT 1 FROM budget WHERE unit = NEW.unit AND NEW.most = 1
    UNION ALL SELECT 1 FROM bounds WHERE unit = NEW.unit AND most = NEW.most
)
BEGIN SELECT RAISE(ABORT, 'an entry protects the unit of the ledger, or one with a declared bound'); END""",
    """CREATE TRIGGER entries_are_in_one_currency BEFORE INSERT ON entries
WHEN (SELECT CASE currency
    WHEN 'pure' THEN NEW.epsilon IS NULL OR NEW.delta IS NOT NULL OR NEW.rho IS NOT NULL
    WHEN 'zcdp' THEN NEW.rho IS NULL OR NEW.epsilon IS NOT NULL OR NEW.delta IS NOT NULL
    ELSE NEW.delta IS NULL OR (NEW.epsilon IS NULL AND NEW.rho IS NULL)
END FROM budget)
BEGIN SELECT RAISE(ABORT, 'the cost of an entry is in the currency of the ledger'); END""",
    """CREATE TRIGGER entries_are_finished_once BEFORE UPDATE ON entries
WHEN OLD.digest IS NOT NULL OR NEW.digest IS NULL OR NEW.number IS NOT OLD.number
    OR NEW.charged_at IS NOT OLD.charged_at OR NEW.name IS NOT OLD.name OR NEW.what IS NOT OLD.what
    OR NEW.unit IS NOT OLD.unit OR NEW.most IS NOT OLD.most OR NEW.guarantee IS NOT OLD.guarantee
    OR NEW.epsilon IS NOT OLD.epsilon OR NEW.delta IS NOT OLD.delta OR NEW.rho IS NOT OLD.rho
BEGIN SELECT RAISE(ABORT, 'an entry is finished once, and never changed otherwise'); END""",
    """CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'an entry is never deleted: what is spent stays spent'); END""",
)

# Version 1 had neither unit nor currency. It is read, and charged only once `upgrade` has made it version 2.
SCHEMA_1 = (
    """CREATE TABLE budget (
    about TEXT NOT NULL,
    epsilon TEXT NOT NULL -- exact, as numerator/denominator
)""",
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY, -- 1, 2, 3, ...
    charged_at TEXT NOT NULL, -- UTC, ISO 8601
    what TEXT NOT NULL,
    epsilon TEXT NOT NULL, -- exact, as numerator/denominator; spent, whether finished or not
    digest TEXT -- of the output; NULL while unfinished
)""",
    """CREATE TRIGGER budget_is_one_row BEFORE INSERT ON budget
WHEN EXISTS (SELECT 1 FROM budget)
BEGIN SELECT RAISE(ABORT, 'a ledger has one budget'); END""",
    """CREATE TRIGGER budget_stays BEFORE UPDATE ON budget
BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is never changed'); END""",
    """CREATE TRIGGER budget_is_kept BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'the budget of a ledger is never deleted'); END""",
    # Also stops INSERT OR REPLACE, which deletes the old row without asking the triggers on DELETE.
    """CREATE TRIGGER entries_are_appended BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries) OR NEW.digest IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'an entry is added at the end, and unfinished'); END""",
    """CREATE TRIGGER entries_are_finished_once BEFORE UPDATE ON entries
WHEN OLD.digest IS NOT NULL OR NEW.digest IS NULL OR NEW.number IS NOT OLD.number
    OR NEW.charged_at IS NOT OLD.charged_at OR NEW.what IS NOT OLD.what OR NEW.epsilon IS NOT OLD.epsilon
BEGIN SELECT RAISE(ABORT, 'an entry is finished once, and never changed otherwise'); END""",
    """CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'an entry is never deleted: what is spent stays spent'); END""",
)

_SCHEMAS = {1: SCHEMA_1, VERSION: SCHEMA}

_RESTORE = (
    "Put its newest whole copy back, and charge to that every release made since: "
    "what was spent on these people stays spent."
)


def create(path: Path, *, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make a new ledger in one step: whole, under an unused name, or not at all.

    `fill` writes its first rows.
    """
    for beside in (f"{path}-journal", f"{path}-wal"):
        # SQLite would play it into the new file.
        if os.path.lexists(beside):
            hint = "Put that ledger back beside it: what was spent on these people stays spent."
            raise BadLedger(f"{beside!r} is part of an earlier ledger of this name", hint)
    try:
        # Its mode is 0600: the file lists what was published, and who may write it may spend. The owner can
        # open it to others, with its folder, where SQLite keeps the journal. A kill may leave the draft,
        # which nothing ever reads.
        handle, draft = tempfile.mkstemp(prefix=".ledger-", suffix=".new", dir=path.parent)
        os.close(handle)
        try:
            _make(Path(draft), path, fill)
            os.link(draft, path)  # unlike a rename, never over another file
        finally:
            os.unlink(draft)
        _sync_folder(path.parent)
    except BadLedger:  # a ValueError too, and said already
        raise
    except FileExistsError:
        hint = "Use it as it is: a group of people has one ledger, and its budget is set once."
        raise BadLedger(f"{str(path)!r} exists already", hint) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "Name a folder on a local disk that exists, that you may write, and that has hard links."
        raise BadLedger(f"the ledger {str(path)!r} could not be made ({reason})", hint) from error


def reading(path: Path) -> AbstractContextManager[sqlite3.Connection]:
    """Look at one moment of the ledger, of whatever version."""
    return _transaction(path, begin="BEGIN", end="ROLLBACK", versions=(1, VERSION))


def writing(path: Path) -> AbstractContextManager[sqlite3.Connection]:
    """Change the ledger, alone: all of it is kept if the block ends without an error, and else none."""
    # IMMEDIATE takes the lock before the first look, so that nobody spends between a look and a write.
    return _transaction(path, begin="BEGIN IMMEDIATE", end="COMMIT")


def rehearsing(path: Path) -> AbstractContextManager[sqlite3.Connection]:
    """Do as `writing` does, with the same errors, and undo it."""
    return _transaction(path, begin="BEGIN IMMEDIATE", end="ROLLBACK")


@contextmanager
def upgrading(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a ledger of version 1, alone, to one of version 2: the block reads it, then calls `rebuild`.

    It is one transaction from the first look on. Killed at any moment, the file is whole, of version 1 or of
    version 2; whoever waits meanwhile to charge it finds version 2.
    """
    with _transaction(path, begin="BEGIN IMMEDIATE", end="COMMIT", versions=(1,)) as connection:
        yield connection
        _require_ledger(path, connection, versions=(VERSION,))


def rebuild(connection: sqlite3.Connection) -> None:
    """Put empty tables of version 2 in the place of those of version 1."""
    for table in ("budget", "entries"):  # with their triggers
        connection.execute(f"DROP TABLE {table}")
    _build(connection)


def _build(connection: sqlite3.Connection) -> None:
    """Make the tables and triggers of this version."""
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA:
        connection.execute(statement)


def version(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger."""
    ((found,),) = connection.execute("PRAGMA user_version").fetchall()
    return int(found)


def damaged(path: Path, fact: str) -> BadLedger:
    """Return the error for a ledger that is not as it was written."""
    return BadLedger(f"the ledger {str(path)!r} {fact}", _RESTORE)


@contextmanager
def _transaction(
    path: Path, *, begin: str, end: str, versions: Sequence[int] = (VERSION,)
) -> Iterator[sqlite3.Connection]:
    """Give a connection within a transaction, on a file that is a ledger.

    Each transaction has a connection of its own: none is shared by threads, kept over a fork or left open.
    """
    import sqlite3

    _require_file(path)
    with _in_our_words(path), _connected(path) as connection:
        # A rollback journal, not a write-ahead log: between transactions the ledger is one file, so that a
        # copy of it lacks no charge. After a kill the journal stays, and the next to come plays it back.
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        connection.execute(begin)
        try:
            _require_ledger(path, connection, versions)
            yield connection
            connection.execute(end)
        except BaseException:
            with suppress(sqlite3.Error):
                connection.rollback()
            raise


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists, and close it."""
    import sqlite3

    uri = f"{path.as_uri()}?mode=rw"  # never makes a file
    with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
        # EXTRA is FULL, and also syncs the folder after the journal is deleted. That deletion is the commit,
        # and a power cut could else bring the journal back and undo a charge that was reported.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: reach the disk, not its cache
        yield connection


def _make(draft: Path, path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Write a new ledger to a file that nobody else knows."""
    with _in_our_words(path), _connected(draft) as connection:
        connection.execute("PRAGMA journal_mode = OFF").fetchall()
        connection.execute("BEGIN")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        _build(connection)
        fill(connection)
        connection.execute("COMMIT")


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _require_file(path: Path) -> None:
    """Check that there is a file, without opening it."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        hint = "Check the path. `hushtable ledger create` makes it once, before the first release."
        raise BadLedger(f"there is no ledger {str(path)!r}", hint) from None
    except OSError as error:
        hint = "Ask its owner for the right to read and write it."
        raise BadLedger(f"the ledger {str(path)!r} cannot be reached ({error.strerror})", hint) from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
        raise BadLedger(f"{str(path)!r} is {kind}", "Pass the path of the ledger's file.")


def _require_ledger(path: Path, connection: sqlite3.Connection, versions: Sequence[int]) -> None:
    """Check that an SQLite file is a ledger of these versions, with its tables and triggers in place."""
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    if application != APPLICATION:
        raise _stranger(path)
    found = version(connection)
    if found > VERSION:
        hint = "Install the newer hushtable, which reads and charges it."
        fact = f"has version {found}; this hushtable knows version {VERSION}"
        raise BadLedger(f"the ledger {str(path)!r} {fact}", hint)
    # Names that begin with sqlite_ belong to SQLite itself.
    query = "SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'"
    texts = [sql for (sql,) in connection.execute(query).fetchall()]
    if found not in _SCHEMAS or sorted(texts) != sorted(_SCHEMAS[found]):
        raise damaged(path, "has other tables or triggers than it was made with")
    if found not in versions:
        raise _outdated(path) if found < max(versions) else _current(path)


def _outdated(path: Path) -> BadLedger:
    """Return the error for a charge to a ledger that does not say what it protects."""
    hint = (
        "Nothing was charged. Say once who its releases protect, as in row or person_id: "
        "`hushtable ledger upgrade FILE --unit NAME`. All that was spent stays as it is."
    )
    return BadLedger(f"the ledger {str(path)!r} has version 1, and its unit is not stated", hint)


def _current(path: Path) -> BadLedger:
    """Return the error for an upgrade that came too late, or was not needed."""
    hint = "It needs no upgrade; `hushtable ledger show` says which unit it protects."
    return BadLedger(f"the ledger {str(path)!r} has version {VERSION} already", hint)


def _stranger(path: Path) -> BadLedger:
    """Return the error for a file that never was a ledger, or has lost all likeness to one."""
    hint = f"Check the path. If this is where the ledger was, the file was damaged or replaced. {_RESTORE}"
    return BadLedger(f"{str(path)!r} is not a ledger", hint)


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    """Replace an error of SQLite by one that says what to do."""
    import sqlite3

    try:
        yield
    except UnicodeError as error:  # from Python, which could not read SQLite's own message
        raise damaged(path, "is damaged") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # without its detail
        ledger = f"the ledger {str(path)!r}"
        match code:
            case sqlite3.SQLITE_NOTADB:
                raise _stranger(path) from error
            case (
                sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_ERROR
            ):  # our statements are right, so the file is not
                raise damaged(path, "is damaged") from error
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
                hint = "Nothing was charged. Wait for the program that uses it, or end it, and try again."
                raise BadLedger(f"{ledger} was in use for {PATIENCE} seconds", hint) from error
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                hint = "Nothing was charged. Ask its owner for the right to write the file and its folder."
                raise BadLedger(f"{ledger}, or its journal beside it, cannot be written", hint) from error
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
                hint = "Check the disk, then run `hushtable ledger show` to see whether it was charged."
                raise BadLedger(f"the disk failed under {ledger}, or is full", hint) from error
            case _:
                raise InternalError(f"SQLite refused a step of {ledger} ({error})") from error
