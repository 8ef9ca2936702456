"""Ledgers of version 1, made as the version that wrote them did."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from hushtable.ledger import storage


def old_ledger(path: Path, *, epsilon: Fraction, entries: Sequence[tuple[str, Fraction, str | None]]) -> Path:
    """Make a ledger of version 1; an entry is what it is about, its epsilon, and its digest if finished."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {storage.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        for statement in storage.SCHEMA_1:
            connection.execute(statement)
        budget = ("commuters 2024", f"{epsilon.numerator}/{epsilon.denominator}")
        connection.execute("INSERT INTO budget VALUES (?, ?)", budget)
        for number, (what, cost, digest) in enumerate(entries, start=1):
            row = (number, "2025-01-01T00:00:00+00:00", what, f"{cost.numerator}/{cost.denominator}")
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, NULL)", row)
            if digest is not None:
                connection.execute("UPDATE entries SET digest = ? WHERE number = ?", (digest, number))
    return path
