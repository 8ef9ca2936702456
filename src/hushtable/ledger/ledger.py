"""A budget of epsilon for a group of people, and every release that was paid from it.

Promise: what all entries cost together never exceeds the budget, in exact rationals, whoever else charges it
at the same time. A charge is on the disk before `charge` returns, and so before anything is drawn; it is
never given back: a release that was killed stays spent, and shows as unfinished.
Cost: each call reads all entries, so that the sum is never a number kept beside them.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hushtable.errors import BadLedger, BadNumber, BudgetExceeded, shown
from hushtable.exact.rationals import Rational, as_count, as_positive
from hushtable.ledger import storage

if TYPE_CHECKING:
    import sqlite3

_EXACT = re.compile(r"([1-9][0-9]{0,49})/([1-9][0-9]{0,49})")

# Bounds on numerator and denominator of one epsilon, and of the sum: what is left can then always be printed,
# since Python writes integers of 640 digits under every setting.
_LARGEST_TERM = 10**50
_LARGEST_SUM = 10**300

_LONGEST_TEXT = 1_000
_EXAMPLES = {"about": "commuters 2024", "what": "commute.parquet", "digest": "sha256:9f86d081"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One release, as the ledger has it. It is spent from the charge on, finished or not."""

    number: int
    when: str
    what: str
    epsilon: Fraction
    digest: str | None

    @property
    def state(self) -> Literal["unfinished", "finished"]:
        """Whether the output was written; a release that is running or was killed is unfinished."""
        return "unfinished" if self.digest is None else "finished"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Ledger:
    """How much epsilon may be spent on a group of people, and what was spent.

    Guarantee: the entries together never cost more than the budget, exactly, whatever number of threads and
    processes charge the file at once. Whoever may write the file can still change it by hand, and an old copy
    put back in its place forgets: keep it on a local disk, as you would an account book. Its mode is 0600;
    to share it, let others write the file and its folder.

    ====================================  ==========================
    case                                  result
    ====================================  ==========================
    the rest covers the charge exactly    charged; 0 is left
    the rest does not cover the charge    `BudgetExceeded`
    killed after the charge               spent, and "unfinished"
    in use by others for a minute         `BadLedger`
    missing, damaged, of a newer version  `BadLedger`
    ====================================  ==========================

    >>> import hushtable as ht
    >>> ledger = ht.Ledger.create("commuters.ledger", epsilon=1, about="commuters 2024")
    >>> number = ledger.charge("0.9", what="commute.parquet")
    >>> ledger.left
    Fraction(1, 10)
    >>> ledger.finish(number, digest="sha256:9f86d081")
    >>> [(entry.what, entry.state) for entry in ht.Ledger.open("commuters.ledger").entries()]
    [('commute.parquet', 'finished')]
    >>> ledger.charge("1/5", what="trips.parquet")
    Traceback (most recent call last):
        ...
    hushtable.errors.BudgetExceeded: this release costs epsilon=1/5, but only epsilon=1/10 is left.
    Lower `epsilon` or stop here: what is spent on these people stays spent.
    `hushtable ledger show` lists what was spent.
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Absolute, so that it stays the same file when the process goes to another folder.
        object.__setattr__(self, "path", Path(path).absolute())

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, epsilon: Rational, about: str) -> Ledger:
        """Make a ledger with a budget of `epsilon` for the people that `about` names.

        Guarantee: the file appears whole or not at all, and never in the place of another: an existing one is
        refused, and of two calls at once, one succeeds.
        """
        ledger = cls(path)
        budget, text = _as_epsilon(epsilon), _as_text(about, name="about")
        storage.create(ledger.path, about=text, epsilon=_written(budget))
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Return the ledger in a file; refuse what is none, is damaged, or is of a newer version."""
        ledger = cls(path)
        with storage.reading(ledger.path) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
                raise storage.damaged(ledger.path, "is damaged")
            _read(ledger.path, connection)
        return ledger

    @property
    def about(self) -> str:
        """The people whose budget this is, in the owner's words."""
        return self._account().about

    @property
    def epsilon(self) -> Fraction:
        """The budget."""
        return self._account().epsilon

    @property
    def spent(self) -> Fraction:
        """What all entries cost together, finished or not."""
        return self._account().spent

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self._account().left

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        return list(self._account().entries)

    def can_pay(self, epsilon: Rational) -> None:
        """Raise what `charge` would raise, and charge nothing.

        It tells early what cannot be paid. Others may spend before the charge comes: only `charge` decides.
        """
        cost = _as_epsilon(epsilon)
        with storage.rehearsing(self.path) as connection:
            _append(self.path, connection, cost, "a rehearsal")

    def charge(self, epsilon: Rational, *, what: str) -> int:
        """Spend `epsilon` on the release that `what` names, and return the number of its entry.

        Guarantee: when it returns, the charge is on the disk; with `BudgetExceeded`, nothing has changed.
        """
        cost, text = _as_epsilon(epsilon), _as_text(what, name="what")
        with storage.writing(self.path) as connection:
            return _append(self.path, connection, cost, text)

    def finish(self, entry: int, *, digest: str) -> None:
        """Note that the output of an entry was written, and its digest; once for each entry."""
        number, text = as_count(entry, name="entry"), _as_text(digest, name="digest")
        with storage.writing(self.path) as connection:
            known = _read(self.path, connection).entries
            if not 1 <= number <= len(known):
                raise BadLedger(
                    f"the ledger has no entry {number}", "Pass the number that `charge` returned."
                )
            if known[number - 1].digest is not None:
                hint = "An entry is finished once; a new output is a new release, with a charge of its own."
                raise BadLedger(f"entry {number} of the ledger is finished already", hint)
            connection.execute("UPDATE entries SET digest = ? WHERE number = ?", (text, number))

    def __repr__(self) -> str:
        return f"Ledger.open({str(self.path)!r})"

    def _account(self) -> _Account:
        """Read the file as it is now."""
        with storage.reading(self.path) as connection:
            return _read(self.path, connection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Account:
    """All that a ledger's file says at one moment."""

    about: str
    epsilon: Fraction
    entries: tuple[Entry, ...]

    @property
    def spent(self) -> Fraction:
        """What all entries cost together."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self.epsilon - self.spent


def _append(path: Path, connection: sqlite3.Connection, cost: Fraction, what: str) -> int:
    """Add an entry to a ledger that can pay for it."""
    account = _read(path, connection)
    if cost > account.left:
        raise BudgetExceeded(needed=cost, left=account.left)
    if not _is_short(account.spent + cost, _LARGEST_SUM):
        raise BadNumber(
            name="epsilon",
            value=str(cost),
            allowed="makes the exact sum of this ledger longer than 300 digits",
            hint="Use decimals, as in 0.05, or fractions whose denominators have common factors.",
        )
    number = len(account.entries) + 1
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    connection.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, NULL)", (number, moment, what, _written(cost))
    )
    return number


def _read(path: Path, connection: sqlite3.Connection) -> _Account:
    """Read and check all rows of a ledger."""
    budgets = connection.execute("SELECT about, epsilon FROM budget").fetchall()
    rows = connection.execute(
        "SELECT number, charged_at, what, epsilon, digest FROM entries ORDER BY number"
    ).fetchall()
    if len(budgets) != 1 or [row[0] for row in rows] != list(range(1, len(rows) + 1)):
        raise storage.damaged(path, "lacks rows that it had")
    ((about, budget),) = budgets
    texts = [about, *(text for _, when, what, _, digest in rows for text in (when, what, digest))]
    if not all(isinstance(text, str | None) for text in texts):
        raise storage.damaged(path, "holds a text that cannot be read")
    account = _Account(
        about=about,
        epsilon=_parsed(path, budget),
        entries=tuple(
            Entry(number=number, when=when, what=what, epsilon=_parsed(path, epsilon), digest=digest)
            for number, when, what, epsilon, digest in rows
        ),
    )
    if account.left < 0:
        raise storage.damaged(path, "holds entries that cost more than its budget")
    return account


def _written(epsilon: Fraction) -> str:
    """Return the text that the file keeps for an exact rational."""
    return f"{epsilon.numerator}/{epsilon.denominator}"


def _parsed(path: Path, text: object) -> Fraction:
    """Return the exact rational that the file keeps as text."""
    found = _EXACT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise storage.damaged(path, "holds an epsilon that cannot be read")
    return Fraction(int(found[1]), int(found[2]))


def _as_epsilon(value: Rational) -> Fraction:
    """Return an epsilon as an exact rational that stays exact in a sum."""
    hint = "Typical values lie between 0.01 and 10."
    epsilon = as_positive(value, name="epsilon", hint=hint)
    if not _is_short(epsilon, _LARGEST_TERM):
        raise BadNumber(name="epsilon", value=value, allowed="has more than 50 digits", hint=hint)
    return epsilon


def _is_short(number: Fraction, limit: int) -> bool:
    """Whether both parts of a rational lie below `limit`."""
    return max(number.numerator, number.denominator) < limit


def _as_text(value: object, *, name: str) -> str:
    """Return a text of one line, fit for a list on a terminal."""
    # Cc, Cs, Zl, Zp: control characters, halves of characters, ends of lines and of paragraphs.
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > _LONGEST_TEXT
        or any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in value)
    ):
        hint = f"Write one line of 1 to {_LONGEST_TEXT} characters, as in {name}={_EXAMPLES[name]!r}."
        raise BadLedger(f"{name}={shown(value)} is no line of text", hint)
    return value
