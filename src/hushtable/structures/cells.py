"""Every cell for itself: no structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.intervals import values_in
from hushtable.structures.structure import Codes, Column, NodeSpace, Structure

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells(Structure):
    """No structure: every cell for itself."""

    name: ClassVar[str] = "cells"
    format: ClassVar[int] = 1
    row: ClassVar[str] = "cell"
    default_method: ClassVar[str] = "filter-priority"
    takes_total: ClassVar[bool] = True

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a table of cells"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        return "`count` is the noisy count of a cell. For sums over cells, add up `weight`."

    @property
    def sliced(self) -> bool:
        """Slices of cells are drawn on their own."""
        return True

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> CellSpace:
        """Return the cells of a domain."""
        return CellSpace(domain.space)

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> CellSpace:
        """Return the cells over attributes of these sizes."""
        return CellSpace(KeySpace(shape))


@dataclass(frozen=True, eq=False, slots=True)
class CellSpace(NodeSpace):
    """The cells of a domain, as nodes."""

    space: KeySpace = field()

    @property
    def structure(self) -> Cells:
        """Whose nodes they are."""
        return Cells()

    @property
    def nodes_total(self) -> int:
        """The number of cells."""
        return self.space.cells_total

    @property
    def per_cell(self) -> int:
        """Every cell is in one node, itself."""
        return 1

    @property
    def finest(self) -> int:
        """Every node is a cell."""
        return 1

    def named(self, domain: Domain) -> None:
        """Nothing is published in place of cells."""

    def changed(self, cells: Sensitivities) -> Sensitivities:
        """Return what one unit changes in the cells."""
        return cells

    def columns(self, domain: Domain) -> list[Column]:
        """Return a column for each attribute."""
        return [Column(name, "first", place) for place, name in enumerate(domain.names)]

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the values of each attribute."""
        return list(domain.decode(codes).columns)

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes of the values."""
        found = np.empty((table.num_rows, len(domain.names)), dtype=np.int64)
        for column in self.columns(domain):
            found[:, column.place] = values_in(domain, table, column)
        return found
