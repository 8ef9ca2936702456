"""A budget of privacy for a group of people, and every release that was paid from it.

Promise: what all entries cost together never exceeds the budget, in exact rationals, whoever else charges it
at the same time. A charge is on the disk before `charge` returns, and so before anything is drawn; it is
never given back: a release that was killed stays spent, and shows as unfinished. A ledger protects one unit,
stated once: a release for another is refused, or costs what a bound that the owner declared makes of it. It
has one currency (pure epsilon; rho of zCDP; epsilon and delta); `accounting` says what entries cost together.
Cost: each call reads all entries, so that the sum is never a number kept beside them.
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from hushtable.errors import BadChoice, BadLedger, BadNumber, BudgetExceeded, InternalError, printable, shown
from hushtable.laws.costs import DELTA_HINT, EPSILON_HINT, RHO_HINT, Cost, Currency, amount
from hushtable.laws.rationals import Rational, as_count, as_fraction, as_positive
from hushtable.ledger import storage
from hushtable.ledger.accounting import Account, Affordable, Charge, added_up

if TYPE_CHECKING:
    import sqlite3

_EXACT = re.compile(r"([1-9][0-9]{0,49})/([1-9][0-9]{0,49})")
_NONE = "0/1"  # a delta of nothing

# Bounds on numerator and denominator of one amount, and of the sum: what is left can then always be printed,
# since Python writes integers of 640 digits under every setting.
_LARGEST_TERM = 10**50
_LARGEST_SUM = 10**300

_LARGEST_BOUND = 1 << 40
_LONGEST_TEXT = 1_000
_EXAMPLES = {
    "about": "commuters 2024",
    "what": "commute.parquet",
    "digest": "sha256:9f86d081",
    "unit": "person_id",
    "name": "commute.parquet",
}
_ROW = "row"  # what a release protects that names no other unit
_CURRENCIES: tuple[Currency, ...] = ("pure", "zcdp", "approximate")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One release, as the ledger has it. It is spent from the charge on, finished or not.

    `epsilon`, `delta` and `rho` are what it cost one unit of the ledger, in the ledger's currency: epsilon
    alone; rho alone; or delta with epsilon, or with rho. `guarantee` is what the release promises to one of
    its own units. `unit` is whom it protects: a unit of the ledger, or another, of which that has at most
    `most`, as its owner declared. `name` is None where none was given, `unit` and `guarantee` in ledgers of
    version 1.
    """

    number: int
    when: str
    name: str | None
    what: str
    unit: str | None
    most: int
    epsilon: Fraction | None
    digest: str | None
    delta: Fraction | None = None
    rho: Fraction | None = None
    guarantee: str | None = None

    @property
    def charged(self) -> Charge:
        """What it cost one unit of the ledger."""
        return Charge(epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    @property
    def cost(self) -> str:
        """What it cost one unit of the ledger, in words: epsilon 0.1, or rho 0.005 (from epsilon = 0.1)."""
        return self.charged.said.replace(" = ", " ") + f" (from {self._stated})" * self.converted

    @property
    def converted(self) -> bool:
        """Whether its cost is a rho that was computed, and rounded up, from a pure epsilon."""
        return self.rho is not None and self.guarantee is not None and "rho=" not in self.guarantee

    @property
    def _stated(self) -> str:
        """The guarantee of the release, in words."""
        parts = [part.split("=") for part in (self.guarantee or "").split(", ")]
        return ", ".join(f"{name} = {amount(Fraction(value))}" for name, value in parts)

    @property
    def state(self) -> Literal["unfinished", "finished"]:
        """Whether the output was written; a release that is running or was killed is unfinished."""
        return "unfinished" if self.digest is None else "finished"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Ledger:
    """How much privacy may be spent on each unit of a group of people, and what was spent.

    Guarantee: all entries protect one unit, and together they never cost it more than the budget, exactly,
    however many threads and processes charge the file at once. Whoever may write the file can still change
    it by hand, or put back an old copy. So keep it on a local disk, like an account book. Its mode is 0600;
    to share it, let others write the file and its folder.

    ========================================  ==============================================
    case                                      result
    ========================================  ==============================================
    the rest covers the charge exactly        charged; 0 is left
    the rest does not cover the charge        `BudgetExceeded`
    the first charge, and no unit was stated  the release's unit is the ledger's, for ever
    a release that protects another unit      `BadLedger`; or charged by a declared bound
    a release that another currency pays      `BadLedger`; or charged as converted, rounded up
    killed after the charge                   spent, and "unfinished"
    in use by others for a minute             `BadLedger`
    of version 1                              read as it is; charged after `upgrade`
    missing, damaged, of a newer version      `BadLedger`
    ========================================  ==============================================

    >>> import hushtable as ht
    >>> ledger = ht.Ledger.create("commuters.ledger", epsilon=1, about="commuters 2024", unit="person_id")
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
    Lower `epsilon`, or stop here: what was spent on these people stays spent.
    `hushtable ledger show` lists what was spent.
    >>> ledger.declare("row", most=4)
    >>> number = ledger.charge("1/40", what="trips.parquet", unit="row")
    >>> ledger.left
    Fraction(0, 1)

    A ledger in rho, or in epsilon and delta, is made and charged alike:

    >>> ledger = ht.Ledger.create("riders.ledger", rho="0.1", about="riders 2024", unit="person_id")
    >>> number = ledger.charge(ht.Cost(rho="0.015"), what="rides.parquet")
    >>> float(ledger.left)
    0.085
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Absolute, so that it stays the same file when the process goes to another folder.
        object.__setattr__(self, "path", Path(path).absolute())

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: Rational | None = None,
        about: str,
        rho: Rational | None = None,
        delta: Rational | None = None,
        unit: str | None = None,
        bounds: Mapping[str, int] | None = None,
    ) -> Ledger:
        """Make a ledger with a budget for each unit of the people that `about` names.

        The budget is `epsilon`, for pure releases; or `rho`, for releases under zCDP and pure ones; or
        `epsilon` with `delta`, for all. It is never changed.

        `unit` says who is protected: "row", or the name of a unit column, as in "person_id". If you leave it
        out, the first release that is charged decides it. `bounds` are declared as by `declare`.

        Guarantee: the file appears whole or not at all, and never in the place of another: an existing one is
        refused, and of two calls at once, one succeeds.
        """
        ledger = cls(path)
        budget, text = _as_budget(epsilon, rho, delta), _as_text(about, name="about")
        stated = None if unit is None else _as_unit(unit)
        declared = {_as_unit(other): _as_bound(most) for other, most in (bounds or {}).items()}

        def fill(connection: sqlite3.Connection) -> None:
            _open_account(connection, about=text, unit=stated, budget=budget)
            for other, most in declared.items():
                _declare(ledger.path, connection, other, most)

        storage.create(ledger.path, fill=fill)
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Return the ledger in a file; refuse a file that is no ledger, is damaged or has a newer version."""
        ledger = cls(path)
        with storage.reading(ledger.path) as connection:
            if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
                raise storage.damaged(ledger.path, "is damaged")
            _read(ledger.path, connection)
        return ledger

    @classmethod
    def upgrade(cls, path: str | os.PathLike[str], *, unit: str) -> Ledger:
        """Turn a ledger of version 1 into one of version 2, which protects `unit`, and return it.

        A ledger of version 1 does not say whom it protects. `unit` is whom all of its releases so far
        protect: "row", "counted person (people)", or a unit column, as in "person_id". It stays for ever.

        Guarantee: budget, entries and what was spent stay exactly as they are. It is done whole or not at
        all, whenever the process is killed, and whoever charges the ledger meanwhile.
        """
        ledger, stated = cls(path), _as_unit(unit)
        with storage.upgrading(ledger.path) as connection:
            old = _read(ledger.path, connection)
            storage.rebuild(connection)
            _open_account(connection, about=old.about, unit=stated, budget=old.budget)
            for entry in old.entries:
                row = (entry.number, entry.when, entry.what, stated, _written(entry.epsilon or Fraction(0)))
                connection.execute(
                    "INSERT INTO entries VALUES (?, ?, NULL, ?, ?, 1, NULL, ?, NULL, NULL, NULL)", row
                )
                if entry.digest is not None:
                    _finish(connection, entry.number, entry.digest)
            new = _read(ledger.path, connection)
            kept = tuple(replace(entry, unit=None) for entry in new.entries)
            if (new.about, new.budget, kept) != (old.about, old.budget, old.entries):
                raise InternalError("an upgrade changed what a ledger says")
        return ledger

    @property
    def about(self) -> str:
        """The people whose budget this is, in the owner's words."""
        return self._book().about

    @property
    def unit(self) -> str | None:
        """Who is protected: "row", or a column, as in "person_id"; None while that is open."""
        return self._book().unit

    @property
    def bounds(self) -> dict[str, int]:
        """How many of other units one unit of this ledger has at most, as its owner declared."""
        return dict(self._book().bounds)

    @property
    def currency(self) -> Currency:
        """What is spent: "pure" epsilon, rho "zcdp", or epsilon and delta ("approximate")."""
        return self._book().budget.currency

    @property
    def version(self) -> int:
        """The version of the file: 2, or 1 if `upgrade` must change it before it can be charged."""
        return self._book().version

    @property
    def budget(self) -> Cost:
        """All that may be spent on one unit."""
        return self._book().budget

    @property
    def epsilon(self) -> Fraction | None:
        """The budget in epsilon; None for a ledger in rho."""
        return self._book().budget.epsilon

    @property
    def unit_of_account(self) -> str:
        """What `spent` and `left` are amounts of: "rho" for a ledger in rho, else "epsilon"."""
        return self._book().account.unit_of_account

    @property
    def spent(self) -> Fraction:
        """What all entries cost together, finished or not: epsilon, or rho where the ledger is in rho.

        In a ledger with a delta it is the epsilon that holds for all of them at the ledger's delta, rounded
        up where it was converted from rho.
        """
        return self._book().account.spent

    @property
    def spent_delta(self) -> Fraction:
        """How much of the budget's delta is used up: all of it after the first Gaussian release."""
        return self._book().account.spent_delta

    @property
    def left(self) -> Fraction:
        """What can still be spent: epsilon, or rho where the ledger is in rho."""
        return self._book().account.left

    @property
    def affords(self) -> Affordable:
        """What the next release may cost at most: in epsilon, with how much delta, and in rho.

        >>> import hushtable as ht
        >>> ledger = ht.Ledger.create("pilots.ledger", epsilon=1, delta="1e-6", about="pilots")
        >>> float(ledger.affords.rho)
        0.0243559703595
        """
        return self._book().account.affords

    @property
    def balance(self) -> str:
        """What is spent and what is left, in one or two sentences."""
        from hushtable.ledger.wording import spent_and_left

        book = self._book()
        return spent_and_left(book.budget, book.account)

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        return list(self._book().entries)

    def can_pay(self, cost: Cost | Rational, *, unit: str | None = None) -> None:
        """Raise what `charge` would raise, and charge nothing.

        It tells you early what cannot be paid. Others may spend in the meantime, so only `charge` decides.
        """
        self.can_pay_all([(cost, unit)])

    def can_pay_all(self, charges: Sequence[tuple[Cost | Rational, str | None]]) -> Fraction:
        """Return what several charges, each a cost and a unit, would cost together, and charge nothing.

        It raises what the first of them that cannot be charged would raise, and `BudgetExceeded` for all of
        them where the rest covers each, but not all in this order. What is returned is an amount like
        `spent`.
        """
        checked = [(_as_cost(cost), None if unit is None else _as_unit(unit)) for cost, unit in charges]
        costs: list[Fraction] = []
        for cost, unit in checked:
            with storage.rehearsing(self.path) as connection:
                costs.append(_rehearsed(self.path, connection, cost, unit))
        before = self._book()
        together = sum(costs, Fraction(0))
        if before.budget.currency != "approximate" and together > before.account.left:
            left, name = before.account.left, before.account.unit_of_account
            if name == "epsilon":
                raise BudgetExceeded(needed=together, left=left, releases=len(costs))
            raise BudgetExceeded(
                needed=together, left=left, releases=len(costs), name=name, lower=(name,), written=amount
            )
        if len(checked) < 2:
            return together
        # In a row: the first of them may state the unit of a new ledger, or fix how rhos count.
        with storage.rehearsing(self.path) as connection:
            costs = []
            for cost, unit in checked:
                try:
                    costs.append(_rehearsed(self.path, connection, cost, unit))
                except BudgetExceeded as error:
                    raise error.after(len(costs), of=len(checked)) from None
        return sum(costs, Fraction(0))

    def charge(
        self,
        cost: Cost | Rational,
        *,
        what: str,
        unit: str | None = None,
        name: str | None = None,
        times_before: int | None = None,
    ) -> int:
        """Spend `cost` on the release that `what` describes, and return the number of its entry.

        `cost` is an `ht.Cost`, or a number: pure epsilon. `unit` is whom the release protects; left out, a
        unit of the ledger, or "row" where none is stated yet, as in `publish`. Another unit needs a
        declared bound, and the charge is then the cost of a group of so many (`Cost.times`). `name` is the
        name of the release. With `times_before`, the release is charged only if it was charged so often
        before: if several processes want to make it, only one does.

        Guarantee: when it returns, the charge is on the disk; with `BudgetExceeded`, nothing has changed.
        """
        paid, text = _as_cost(cost), _as_text(what, name="what")
        protected = None if unit is None else _as_unit(unit)
        called = None if name is None else _as_text(name, name="name")
        with storage.writing(self.path) as connection:
            if times_before is not None:
                known = sum(entry.name == called for entry in _read(self.path, connection).entries)
                if known != times_before:
                    fact = f"the release {shown(called)} was charged by somebody else in the meantime"
                    raise BadLedger(fact, "Nothing was charged twice. `hushtable ledger show` lists it.")
            return _append(self.path, connection, paid, what=text, unit=protected, name=called)

    def declare(self, unit: str, *, most: int) -> None:
        """Declare that one unit of this ledger has at most `most` of another unit, for ever.

        A release that protects the other unit is then charged as for a group of `most`: `most` times its
        epsilon, or `most` squared times its rho (`Cost.times`). The bound must be true of the data: nobody
        checks it, and nothing enforces it. Where it is not true of somebody, the ledger says less than what
        was spent on them.
        """
        other, bound = _as_unit(unit), _as_bound(most)
        with storage.writing(self.path) as connection:
            _declare(self.path, connection, other, bound)

    def finish(self, entry: int, *, digest: str) -> None:
        """Note that the output of an entry was written, and note its digest. Do so once for each entry."""
        number, text = as_count(entry, name="entry"), _as_text(digest, name="digest")
        with storage.writing(self.path) as connection:
            known = _read(self.path, connection).entries
            if not 1 <= number <= len(known):
                raise BadLedger(
                    f"the ledger has no entry {number}", "Pass the number that `charge` returned."
                )
            if known[number - 1].digest == text:
                return  # somebody else found the output, and noted it
            if known[number - 1].digest is not None:
                hint = "An entry is finished once; a new output is a new release, with a charge of its own."
                raise BadLedger(f"entry {number} of the ledger is finished already", hint)
            _finish(connection, number, text)

    def show(self) -> str:
        """Return what was spent and what is left, for people to read: `print(ledger.show())`.

        >>> import hushtable as ht
        >>> ledger = ht.Ledger.create("tripsters.ledger", epsilon=1, about="tripsters 2024", unit="person_id")
        >>> _ = ledger.charge("0.9", what="trips.parquet")
        >>> print(ledger.show())
        tripsters 2024: epsilon 0.9 of 1 is spent on each person_id, 0.1 is left.
        1. ... epsilon 0.9, unfinished: trips.parquet
        """
        from hushtable.ledger.wording import balance

        book = self._book()
        lines = [balance(book.about, book.unit, book.budget, book.account)]
        for entry in book.entries:
            when = entry.when[:19].replace("T", " ")
            times = f" (for each {entry.unit}, times {entry.most})" * (entry.most > 1)
            lines.append(
                f"{entry.number}. {when} UTC, {entry.cost}, {entry.state}: {printable(entry.what)}{times}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Ledger.open({str(self.path)!r})"

    def _book(self) -> _Book:
        """Read the file as it is now."""
        with storage.reading(self.path) as connection:
            return _read(self.path, connection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Book:
    """All that a ledger's file says at one moment."""

    version: int
    about: str
    unit: str | None
    bounds: dict[str, int]
    budget: Cost
    entries: tuple[Entry, ...]
    account: Account  # its entries, added up


def _append(
    path: Path,
    connection: sqlite3.Connection,
    cost: Cost,
    *,
    what: str,
    unit: str | None,
    name: str | None,
) -> int:
    """Add an entry to a ledger that protects its unit and can pay for it."""
    book = _read(path, connection)
    protected = unit or book.unit or _ROW
    if book.unit is None:
        connection.execute("UPDATE budget SET unit = ?", (protected,))
    most = 1 if book.unit in (None, protected) else book.bounds.get(protected)
    if most is None:
        raise _unlike(path, book.unit, protected)
    because = ""
    if most > 1:
        stated = str(cost.epsilon) if cost.currency == "pure" else cost.said
        because = f"{stated} for each {protected}, of which each {book.unit} has {most}"
    charge = book.account.charge(cost.times(most), because=because)
    after = book.account.plus(charge)
    if after is None:
        raise InternalError("a ledger took a charge that it cannot pay")
    terms = [part for part in charge if part is not None]
    if not all(_is_short(part, _LARGEST_TERM) for part in terms) or not all(
        _is_short(part, _LARGEST_SUM) for part in after.sums
    ):
        raise BadNumber(
            name="epsilon" if cost.rho is None else "rho",
            value=str(cost.epsilon if cost.rho is None else cost.rho),
            allowed="makes the exact sum of this ledger longer than 300 digits",
            hint="Use decimals, as in 0.05, or fractions whose denominators have common factors.",
        )
    number = len(book.entries) + 1
    connection.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        (number, _now(), name, what, protected, most, _guarantee(cost), *map(_column, charge)),
    )
    return number


def _rehearsed(path: Path, connection: sqlite3.Connection, cost: Cost, unit: str | None) -> Fraction:
    """Add an entry that is to be undone, and return how much more is spent with it."""
    before = _read(path, connection).account.spent
    _append(path, connection, cost, what="a rehearsal", unit=unit, name=None)
    return _read(path, connection).account.spent - before


def _finish(connection: sqlite3.Connection, number: int, digest: str) -> None:
    """Note the digest of an entry."""
    connection.execute("UPDATE entries SET digest = ? WHERE number = ?", (digest, number))


def _unlike(path: Path, own: str | None, other: str) -> BadLedger:
    """Return the error for a release that protects another unit than the ledger."""
    declare = f"hushtable ledger declare FILE --bound {shlex.quote(f'{other}=K')}"
    instead = f"Publish for each {own}."
    if other.startswith(f"{own} (query "):
        instead = (
            f"The query may compute {own}. If it passes that column on as it is, begin it with "
            f"`SELECT {own}, ` and write that name nowhere else in it."
        )
    return BadLedger(
        f"the ledger {str(path)!r} protects each {own}, and this release each {other}, "
        "so their costs do not add up",
        f"Nothing was charged. {instead} Or, if you know that each {own} has at most K of "
        f"{other} in the data, declare it: `{declare}`. Such releases then cost "
        "K times their epsilon, or K squared times their rho. Nobody checks that bound for you.",
    )


def _open_account(connection: sqlite3.Connection, *, about: str, unit: str | None, budget: Cost) -> None:
    """Write the budget of a new ledger."""
    amounts = (budget.epsilon, budget.delta or None, budget.rho)
    row = (about, unit, budget.currency, *map(_column, amounts))
    connection.execute("INSERT INTO budget VALUES (?, ?, ?, ?, ?, ?)", row)


def _declare(path: Path, connection: sqlite3.Connection, unit: str, most: int) -> None:
    """Add a bound to a ledger whose unit is stated, of a unit that has none."""
    book = _read(path, connection)
    if book.unit is None:
        hint = "State it first, by `unit` (--unit) when the ledger is made, or by the first release."
        raise BadLedger(f"the ledger {str(path)!r} states no unit yet, so nothing is bounded", hint)
    if unit == book.unit:
        hint = "Bounds are for releases that protect another unit, as in row."
        raise BadLedger(f"the ledger protects each {unit} itself", hint)
    if unit in book.bounds:
        fact = f"each {book.unit} has at most {book.bounds[unit]} of {unit}, as was declared"
        raise BadLedger(fact, "A bound is never changed: releases may have been charged by it.")
    number = len(book.bounds) + 1
    connection.execute("INSERT INTO bounds VALUES (?, ?, ?, ?)", (number, _now(), unit, most))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Budget(NamedTuple):
    """The row of a budget, as it is in the file."""

    about: str
    unit: str | None
    currency: str
    epsilon: str | None
    delta: str | None
    rho: str | None


class _Row(NamedTuple):
    """The row of an entry, as it is in the file."""

    number: int
    when: str
    name: str | None
    what: str
    unit: str | None
    most: int
    guarantee: str | None
    epsilon: str | None
    delta: str | None
    rho: str | None
    digest: str | None


# What a ledger of version 1 says, as one of version 2 would, but for the unit.
_BUDGET_1 = "SELECT about, NULL, 'pure', epsilon, NULL, NULL FROM budget"
_ENTRIES_1 = "SELECT number, charged_at, NULL, what, NULL, 1, NULL, epsilon, NULL, NULL, digest FROM entries"


def _read(path: Path, connection: sqlite3.Connection) -> _Book:
    """Read and check all rows of a ledger, of whatever version."""
    version = storage.version(connection)
    found = connection.execute("SELECT * FROM budget" if version > 1 else _BUDGET_1).fetchall()
    declared = connection.execute("SELECT * FROM bounds ORDER BY number").fetchall() if version > 1 else []
    listed = connection.execute("SELECT * FROM entries" if version > 1 else _ENTRIES_1).fetchall()
    rows = sorted((_Row(*row) for row in listed), key=lambda row: row.number)
    budgets = [_Budget(*row) for row in found]
    whole = [[row[0] for row in numbered] == [*range(1, len(numbered) + 1)] for numbered in (declared, rows)]
    if len(budgets) != 1 or not all(whole):
        raise storage.damaged(path, "lacks rows that it had")
    (budget,) = budgets
    texts = [budget.about, *(text for row in rows for text in (row.when, row.what, row.name, row.digest))]
    units = [budget.unit] * (budget.unit is not None) + [unit for _, _, unit, _ in declared]
    if not all(isinstance(text, str | None) for text in texts) or not all(map(_is_name, units)):
        raise storage.damaged(path, "holds a text that cannot be read")
    if not all(row.guarantee is None or _is_guarantee(row.guarantee) for row in rows):
        raise storage.damaged(path, "holds a guarantee that cannot be read")
    bounds = {unit: most for _, _, unit, most in declared}
    known = [(None, 1)] if version == 1 else [(budget.unit, 1), *bounds.items()]
    if not all(isinstance(most, int) for most in bounds.values()) or any(
        (row.unit, row.most) not in known for row in rows
    ):
        raise storage.damaged(path, "holds an entry of another unit or currency than its own")
    entries = tuple(_entry(path, row, budget.currency) for row in rows)
    whole_budget = _budget(path, budget)
    account = added_up(whole_budget, (entry.charged for entry in entries))
    if account is None:
        raise storage.damaged(path, "holds entries that cost more than its budget")
    return _Book(
        version=version,
        about=budget.about,
        unit=budget.unit,
        bounds=bounds,
        budget=whole_budget,
        entries=entries,
        account=account,
    )


def _budget(path: Path, row: _Budget) -> Cost:
    """Return the budget that a row says."""
    if row.currency not in _CURRENCIES:
        raise storage.damaged(path, "holds a currency that cannot be read")
    epsilon, delta, rho = (
        None if text is None else _parsed(path, text) for text in (row.epsilon, row.delta, row.rho)
    )
    try:
        budget = Cost(epsilon=epsilon, rho=rho, delta=delta or 0)
    except (BadChoice, BadNumber):
        raise storage.damaged(path, "holds a budget that cannot be read") from None
    if budget.currency != row.currency or budget.delta == 1 or None not in (epsilon, rho):
        raise storage.damaged(path, "holds a budget that cannot be read")
    return budget


# Which of epsilon, delta and rho the entries of a ledger have.
_COLUMNS = {
    "pure": {(True, False, False)},
    "zcdp": {(False, False, True)},
    "approximate": {(True, True, False), (False, True, True)},
}


def _entry(path: Path, row: _Row, currency: str) -> Entry:
    """Return the entry that a row says."""
    amounts = (row.epsilon, row.delta, row.rho)
    if tuple(each is not None for each in amounts) not in _COLUMNS.get(currency, set()):
        raise storage.damaged(path, "holds an entry of another unit or currency than its own")
    epsilon, rho = (None if text is None else _parsed(path, text) for text in (row.epsilon, row.rho))
    delta = Fraction(0) if row.delta == _NONE else None if row.delta is None else _parsed(path, row.delta)
    if rho is not None and delta:
        hint = "Install the newer hushtable, which reads and charges it."
        fact = f"the ledger {str(path)!r} holds an entry with rho and delta"
        raise BadLedger(f"{fact}, which this hushtable cannot add up", hint)
    return Entry(
        number=row.number,
        when=row.when,
        name=row.name,
        what=row.what,
        unit=row.unit,
        most=row.most,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        guarantee=row.guarantee,
        digest=row.digest,
    )


def _written(value: Fraction) -> str:
    """Return the text that the file keeps for an exact rational."""
    return f"{value.numerator}/{value.denominator}"


def _column(value: Fraction | None) -> str | None:
    """Return what a column of the file keeps."""
    return None if value is None else _written(value)


def _guarantee(cost: Cost) -> str:
    """Return what the file keeps of a release's own guarantee."""
    parts = (("epsilon", cost.epsilon), ("delta", cost.delta or None), ("rho", cost.rho))
    return ", ".join(f"{name}={_written(value)}" for name, value in parts if value is not None)


def _is_guarantee(text: object) -> bool:
    """Whether a text is one that `_guarantee` wrote."""
    if not isinstance(text, str):
        return False
    parts = [part.partition("=") for part in text.split(", ")]
    return [name for name, _, _ in parts] in _GUARANTEES and all(
        _EXACT.fullmatch(value) for _, _, value in parts
    )


_GUARANTEES = (["epsilon"], ["rho"], ["epsilon", "delta"], ["epsilon", "delta", "rho"])


def _parsed(path: Path, text: object) -> Fraction:
    """Return the exact rational that the file keeps as text."""
    found = _EXACT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise storage.damaged(path, "holds an amount that cannot be read")
    return Fraction(int(found[1]), int(found[2]))


def _as_budget(epsilon: Rational | None, rho: Rational | None, delta: Rational | None) -> Cost:
    """Return the budget of a new ledger."""
    if rho is not None:
        if epsilon is not None or delta is not None:
            fact = "a ledger has one kind of budget, and both rho and epsilon or delta were given"
            raise BadChoice(fact, "Give epsilon; or rho; or epsilon and delta.")
        return _as_cost(Cost(rho=rho))
    if epsilon is None:
        hint = "Give epsilon; or rho; or epsilon and delta."
        raise BadNumber(name="epsilon", value=None, allowed="is not a budget", hint=hint)
    if delta is None:
        return Cost(epsilon=_as_amount(epsilon, name="epsilon"))
    if not 0 < as_fraction(delta, name="delta") < 1:
        raise BadNumber(name="delta", value=delta, allowed="does not lie between 0 and 1", hint=DELTA_HINT)
    return _as_cost(Cost(epsilon=_as_amount(epsilon, name="epsilon"), delta=delta))


def _as_cost(value: Cost | Rational) -> Cost:
    """Return a cost whose amounts stay exact in a sum; a number is a pure epsilon."""
    if not isinstance(value, Cost):
        return Cost(epsilon=_as_amount(value, name="epsilon"))
    for name in ("epsilon", "rho", "delta"):
        if given := getattr(value, name):
            _as_amount(given, name=name)
    return value


def _as_amount(value: Rational, *, name: str) -> Fraction:
    """Return an amount as an exact rational that stays exact in a sum."""
    hint = {"epsilon": EPSILON_HINT, "rho": RHO_HINT, "delta": DELTA_HINT}[name]
    exact = as_positive(value, name=name, hint=hint)
    if not _is_short(exact, _LARGEST_TERM):
        raise BadNumber(name=name, value=value, allowed="has more than 50 digits", hint=hint)
    return exact


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
        raise BadLedger(f"{name}={shown(value)} is not one line of text", hint)
    return value


def _as_unit(value: object) -> str:
    """Return the name of a unit."""
    text = _as_text(value, name="unit")
    if not _is_name(text):
        hint = f"Write only the name, as in unit={_EXAMPLES['unit']!r}."
        raise BadLedger(f"unit={shown(value)} has spaces around it, or characters that do not print", hint)
    return text


def _is_name(text: object) -> bool:
    """Whether a value is a name that looks like no other: units are compared, and stand in messages."""
    return isinstance(text, str) and text.isprintable() and text == text.strip() != ""


def _as_bound(value: int) -> int:
    """Return a checked bound."""
    hint = "It says how many of that unit one unit of the ledger has at most, as in 12."
    most = as_count(value, name="most")
    if not 1 <= most <= _LARGEST_BOUND:
        raise BadNumber(name="most", value=value, allowed="must be from 1 to 2^40", hint=hint)
    return most
