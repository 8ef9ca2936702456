"""A release, opened: its rows and its terms.

Promise: what is printed, returned and displayed comes from the file alone, or from a folder of parts as from
one file, and only if it is whole and says what it is; anything else is one `BadRelease`.
Cost: opening reads footers; rows are read when they are first asked for, and kept.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.later import Later
from hushtable.domain.texts import KnownTexts, in_order
from hushtable.errors import MissingPackage, within_memory
from hushtable.laws.costs import Cost
from hushtable.methods.settings import Method
from hushtable.release import display
from hushtable.release.coding import codes_of
from hushtable.release.left_out import LeftOutShare, left_out_of
from hushtable.release.reading import Head, naming, read_rows
from hushtable.release.terms import Terms
from hushtable.release.writing import check_output, write_release

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
else:
    pd, pl, pa = Later("pandas"), Later("polars"), Later("pyarrow")

__all__ = ["ReleaseFile", "Terms", "check_output", "write_release"]


class ReleaseFile:
    """A published table: rows, and the terms on which they were published."""

    def __init__(self, path: Path, head: Head) -> None:
        self.path, self._head = path, head
        self.terms = self._knowing(head.terms)

    def __len__(self) -> int:
        return self._head.rows

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)

    def _knowing(self, terms: Terms) -> Terms:
        """Return terms in which texts that nobody can list have codes, if rows show them: as needed."""
        known = {
            place: KnownTexts(partial(self._texts, terms.domain.names[place]))
            for place in terms.domain.unlisted
        }
        return replace(terms, domain=terms.domain.knowing(known)) if known else terms

    def _texts(self, name: str) -> pa.Array:
        return in_order(self._table.column(name))

    @property
    def domain(self) -> Domain:
        """What a cell is."""
        return self.terms.domain

    @property
    def guarantee(self) -> str:
        """One plain sentence: who is protected, against what, and how well."""
        return self.terms.guarantee

    @property
    def epsilon(self) -> Fraction | None:
        """All of the epsilon that this release cost; None where that is stated as a rho."""
        return self.terms.epsilon

    @property
    def cost(self) -> Cost:
        """What this release cost one of its units: epsilon, rho, or epsilon and delta."""
        return self.terms.cost

    @property
    def rate(self) -> Fraction:
        """What the noise in a cell or node costs for a change of 1; of geometric noise, its rate."""
        return self.terms.rate

    @property
    def summary(self) -> Method:
        """The method that chose the rows, with its settings."""
        return self.terms.method

    @property
    def cutoff(self) -> float | None:
        """The least size of a published count, if there was one."""
        return self.terms.cutoff

    @property
    def threshold(self) -> float | None:
        """The size below which counts were sampled, if they were."""
        return self.terms.threshold

    @property
    def noisy_total(self) -> int | None:
        """The noisy sum over all cells, if it was bought."""
        return self.terms.total

    @property
    def left_out(self) -> LeftOutShare | None:
        """How many people, or rows, the numbers leave out: two noisy counts, if they were bought."""
        return left_out_of(self.terms)

    @cached_property
    @within_memory
    def _table(self) -> pa.Table:
        return read_rows(self.path, self._head)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow Table."""
        return self._table

    def first_rows(self, number: int) -> pa.Table:
        """Return the first rows as a pyarrow Table, without reading the others."""
        kept = self.__dict__.get("_table")
        return read_rows(self.path, self._head, first=number) if kept is None else kept.slice(0, number)

    @within_memory
    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; dates become datetime64."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingPackage("to_pandas", "pandas") from None
        return self._table.to_pandas(date_as_object=False)

    @within_memory
    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars DataFrame."""
        try:
            import polars as pl
        except ImportError:
            raise MissingPackage("to_polars", "polars") from None
        return pl.DataFrame(self._table)

    @cached_property
    @within_memory
    def codes(self) -> NDArray[np.int64]:
        """The codes of the rows' cells, of shape (rows, attributes), in ascending order.

        Of a tree, the numbers of the rows' nodes, of shape (rows, axes).
        """
        with naming(self.path):
            return _frozen(codes_of(self.terms, self._table))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The noisy counts."""
        return _frozen(as_numbers(self._table.column("count")))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weights: sums of them estimate sums of the table."""
        return _frozen(as_numbers(self._table.column("weight")))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array; nobody can write to it any more."""
    array.setflags(write=False)
    return array
