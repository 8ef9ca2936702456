"""The report of a release: with the ledger that paid for it, and with what its recorded plan leads to expect.

Promise: a ledger's entry is taken for that of a release only by the digest of the file, and only if it is for
the unit that the file protects and for what the file says it cost. The ledger is read, and never written.
"""

from __future__ import annotations

import os
from fractions import Fraction
from os import PathLike
from pathlib import Path

from hushtable.answers.release import Release
from hushtable.domain.units import unit_name
from hushtable.errors import BadLedger, HushtableError
from hushtable.ledger.ledger import Ledger
from hushtable.pages.report import Booked, Foreseen, report_of
from hushtable.pages.reporting import check_place, write_report
from hushtable.planning.predictions import Predictor, Setting
from hushtable.planning.profile import Profile
from hushtable.release.terms import Terms
from hushtable.release.writing import digest_of


def report(
    release: Release,
    path: str | PathLike[str],
    *,
    ledger: Ledger | str | PathLike[str] | None,
    title: str | None,
    confidence: float,
    overwrite: bool,
) -> None:
    """Write the report of a release: the owner's where a ledger is given, else the public one."""
    check_place(path, overwrite=overwrite)
    booked = None if ledger is None else booked_in(_opened(ledger), release)
    _ = release.codes  # rows are read, and checked, before anything is said of them
    made = report_of(
        release,
        file=release.path,
        rows_real=_real(release),
        booked=booked,
        foreseen=foreseen(release.terms),
        title=title,
        confidence=confidence,
    )
    write_report(made, path, overwrite=overwrite)


def booked_in(account: Ledger, release: Release) -> Booked:
    """Return what a ledger says of a release, or raise where it does not know the file, or knows another."""
    digest = digest_of(release.path)
    entries = account.entries()
    found = [each for each in entries if each.digest is not None and each.digest == digest]
    if not found:
        fact = f"{account.path.name}: no entry has the digest of {release.path.name}"
        raise BadLedger(fact, "Give the ledger that was charged for this file, or leave `ledger` out.")
    entry, terms = found[-1], release.terms
    unit = unit_name(terms.measure, rows_are_units=terms.rows_are_units, query=terms.query)
    if entry.unit is not None and entry.unit != unit:
        fact = (
            f"entry {entry.number} of the ledger is for each {entry.unit}, and the file protects each {unit}"
        )
        raise BadLedger(fact, "Look into it before anybody signs: the file or the ledger was changed.")
    if entry.guarantee is not None and _amounts(entry.guarantee) != _amounts_of(terms):
        fact = (
            f"entry {entry.number} of the ledger is for another cost than the file states, {terms.cost.said}"
        )
        raise BadLedger(fact, "Look into it before anybody signs: the file or the ledger was changed.")
    if account.left < 0:
        fact = f"{account.path.name}: its entries cost more than its budget"
        raise BadLedger(fact, "No charge can bring that about: look into who changed the file.")
    return Booked(
        file=account.path.name,
        about=account.about,
        balance=account.balance,
        bounds=[
            f"Each {account.unit} has at most {most:,} of {other}, as declared."
            for other, most in account.bounds.items()
        ],
        number=entry.number,
        entries=[
            (str(each.number), each.when[:19].replace("T", " "), each.cost, each.state, each.what)
            for each in entries
        ],
    )


def foreseen(terms: Terms) -> Foreseen | None:
    """Return what the plan that a release records leads to expect of its rows; None without one."""
    if terms.plan is None or terms.parts or terms.nodes.named(terms.domain) is not None:
        return None
    profile = Profile(counts=terms.plan.counts, cells=terms.plan.cells, words=terms.plan.assumed)
    setting = Setting(cells_total=terms.domain.cells_total, law=terms.law, total_law=terms.total_law)
    try:
        found = Predictor(profile, setting).predict(terms.method, sizes=[1])
    except HushtableError:  # a plan does not know every method
        return None
    return Foreseen(rows=found.rows, real=found.rows_real)


def _real(release: Release) -> float | None:
    """Return about how many rows are of groups that are not empty, where that can be said."""
    if release.terms.parts or len(release.noise.tables) != 1 or release.noise.tables[0].whole:
        return None
    return release.noise.tables[0].real_share * len(release)


def _amounts(guarantee: str) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in (each.split("=") for each in guarantee.split(", "))}


def _amounts_of(terms: Terms) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in terms.cost.entries.items()}


def _opened(ledger: Ledger | str | PathLike[str]) -> Ledger:
    return ledger if isinstance(ledger, Ledger) else Ledger.open(Path(os.fspath(ledger)))
