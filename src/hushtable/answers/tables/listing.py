"""The tables of a release, one by one, as they were published.

Promise: each has its own columns alone, so that nothing in it is null. Those that are published whole come
first, then by their numbers of cells.
Cost: none; rows are not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hushtable.answers.estimation.sums import Opened
from hushtable.release.writing import rows_of_parts

if TYPE_CHECKING:
    import pyarrow as pa


class ListedRelease(Opened, Protocol):
    """A release with its rows."""

    def to_arrow(self) -> pa.Table:
        """Return the rows."""


def tables_of(release: ListedRelease) -> list[pa.Table]:
    """Return the tables of a release; none where it is not of several."""
    terms, everything, found = release.terms, release.to_arrow(), []
    rows = rows_of_parts(terms, release.codes) if terms.parts else []
    for number, marginal in enumerate(terms.nodes.marginals):
        own = everything.slice(rows[number].start, rows[number].stop - rows[number].start)
        columns = [*marginal.domain.names, "count", "weight"]
        order = (not terms.parts[number].method.complete, marginal.domain.cells_total, number)
        found.append((order, own.select(columns)))
    return [table for _, table in sorted(found, key=lambda each: each[0])]
