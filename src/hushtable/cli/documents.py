"""What `--json` prints: one document for each thing that a command shows or makes.

Promise: keys keep their meaning; new ones may be added. Exact numbers are text, as in "1/10".
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushtable.answers.release import Release
    from hushtable.domain.domain import Domain
    from hushtable.ledger.ledger import Ledger


def release_document(release: Release, *, rows: int = 0) -> dict[str, Any]:
    """Return what a release is, with its first rows if they are asked for."""
    from hushtable.cli.showing import plain_value
    from hushtable.release.terms import as_text

    terms = release.terms
    document: dict[str, Any] = {
        "file": os.fspath(release.path),
        "title": release.domain.title,
        "guarantee": release.guarantee,
        "rows": len(release),
        "rows_possible": None if terms.domain.unlisted else str(terms.units_total),
        **terms.cost.written,
        f"{'epsilon' if terms.rho is None else 'rho'}_of_total": as_text(terms.total_budget),
        "structure": terms.structure.name,
        "summary": release.summary.name,
        "cutoff": release.cutoff,
        "threshold": release.threshold,
        "noisy_total": release.noisy_total,
        "left_out": _left_out(release),
        "made_by": f"hushtable {terms.version}",
        "domain": release.domain.to_dict(),
    }
    if rows:
        document["first_rows"] = [plain_value(row) for row in release.first_rows(rows).to_pylist()]
    return document


def _left_out(release: Release) -> dict[str, Any] | None:
    """Return what a release tells of people that it leaves out, if that was bought."""
    found = release.left_out
    if found is None:
        return None
    low, high = found.interval()
    return {
        "counted": found.counted,
        "left_out": found.left_out,
        "share": found.share,
        "low": low,
        "high": high,
    }


def domain_document(domain: Domain) -> dict[str, Any]:
    """Return what a domain declares."""
    return {
        **domain.to_dict(),
        "levels": domain.levels,
        "cells": None if domain.unlisted else str(domain.cells_total),
        "digest": domain.digest,
    }


def ledger_document(account: Ledger) -> dict[str, Any]:
    """Return what a ledger holds.

    `spent` and `left` are epsilon, or rho where `currency` is "zcdp"; `affords` is what the next release may
    cost.
    """
    from hushtable.release.terms import as_text

    def text(value: Fraction | None) -> str | None:
        return None if value is None else as_text(value)

    budget, affords = account.budget, account.affords

    return {
        "file": os.fspath(account.path),
        "about": account.about,
        "unit": account.unit,
        "currency": account.currency,
        "bounds": account.bounds,
        "epsilon": text(budget.epsilon),
        "delta": text(budget.delta or None),
        "rho": text(budget.rho),
        "spent": as_text(account.spent),
        "spent_delta": text(account.spent_delta if budget.delta else None),
        "left": as_text(account.left),
        "affords": {
            "epsilon": text(affords.epsilon),
            "delta": text(affords.delta if budget.delta else None),
            "rho": text(affords.rho),
        },
        "entries": [
            {
                "number": entry.number,
                "when": entry.when,
                "epsilon": text(entry.epsilon),
                "delta": text(entry.delta),
                "rho": text(entry.rho),
                "guarantee": entry.guarantee,
                "converted": entry.converted,
                "state": entry.state,
                "what": entry.what,
                "unit": entry.unit,
                "digest": entry.digest,
            }
            for entry in account.entries()
        ],
    }
