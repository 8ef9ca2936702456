"""Releases of known tables, drawn from replayable bits."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.release import Release, open_release
from hushtable.domain.domain import Domain
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, two_sided_geometric
from hushtable.release.terms import Terms
from hushtable.summaries.summarize import draw_summary
from hushtable.table.sparse import SparseTable
from tests.release.examples import Rows, terms, write


class Draw(NamedTuple):
    """What answers need of a release."""

    terms: Terms
    domain: Domain
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]


def drawn(
    path: Path,
    domain: Domain,
    counts: NDArray[np.int64],
    method: Method,
    *,
    entropy: BitSource,
    epsilon: Fraction = Fraction(1),
    total_budget: Fraction = Fraction(0),
    **claims: Any,
) -> Release:
    """Return a release of a table given cell by cell; `claims` are terms that say something else."""
    made = draw(domain, counts, method, entropy=entropy, epsilon=epsilon, total_budget=total_budget, **claims)
    write(path, made.terms, Rows(made.codes, made.counts, made.weights), overwrite=True)
    return open_release(path)


def draw(
    domain: Domain,
    counts: NDArray[np.int64],
    method: Method,
    *,
    entropy: BitSource,
    epsilon: Fraction = Fraction(1),
    total_budget: Fraction = Fraction(0),
    **claims: Any,
) -> Draw:
    """Return the same without a file."""
    codes = np.argwhere(counts)
    table = SparseTable(shape=domain.shape, codes=codes, counts=counts[tuple(codes.T)])
    summary = draw_summary(
        table, method, epsilon=epsilon - total_budget, sensitivity=Fraction(1), entropy=entropy
    )
    total = None
    if total_budget:
        total = int(counts.sum()) + int(two_sided_geometric(total_budget, entropy, count=1)[0])
    made = terms(
        domain,
        **{
            "epsilon": epsilon,
            "total_budget": total_budget,
            "method": method,
            "rule": None,
            "cutoff": summary.cutoff,
            "threshold": summary.threshold,
            "total": total,
        }
        | claims,
    )
    return Draw(made, domain, summary.codes, summary.counts, summary.weights)
