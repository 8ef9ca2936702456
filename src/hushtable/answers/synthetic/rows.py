"""Synthetic rows: one for each counted person, made of the numbers of a release and of nothing else.

Promise: no row is of a person. Whatever rows say of all attributes together beyond the published numbers is
filled in evenly, by a rule that draws no lots; equal releases give equal rows. They are marked as synthetic
in the metadata of their table and of every file.
Cost: an entry for each row; what is decoded at a time is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at
from hushtable.domain.limits import MOST_ROWS
from hushtable.errors import BadOutput, BadQuery
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import MARK, is_table

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1 << 18
SYNTHETIC = "synthetic"  # a key in the metadata


def number_of_rows(total: float, count: int | None) -> int:
    """Return how many rows are made: one for each counted person, or so many as are asked for.

    Whoever made a release states its total, so it may be any number.
    """
    number = round(total) if count is None else count
    if number > MOST_ROWS:
        fact = f"that would be {number:.3g} rows, and at most {MOST_ROWS:,} are made"
        raise BadQuery(fact, "Ask for fewer of them by `count`, as in count=100_000 (--count).")
    return number


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Rows by the codes of items: each group of equal ones once, with how many there are."""

    domain: Domain
    items: tuple[Item, ...]
    codes: NDArray[np.int64]  # of shape (groups, items)
    numbers: NDArray[np.int64]
    note: str

    @property
    def number(self) -> int:
        """How many rows there are."""
        return int(self.numbers.sum())

    @property
    def schema(self) -> pa.Schema:
        """The columns, and the mark."""
        table = self._decoded(np.zeros(0, dtype=np.intp))
        return table.schema.with_metadata({SYNTHETIC: "true", "note": self.note})

    def table(self) -> pa.Table:
        """Return all rows."""
        import pyarrow as pa

        return pa.Table.from_batches(
            [batch for part in self.parts() for batch in part.to_batches()], schema=self.schema
        )

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows, some at a time."""
        ends = np.cumsum(self.numbers)
        for start in range(0, self.number, _AT_ONCE):
            places = np.arange(start, min(start + _AT_ONCE, self.number))
            yield self._decoded(np.searchsorted(ends, places, side="right")).cast(self.schema)

    def write(self, path: str | PathLike[str], *, overwrite: bool) -> None:
        """Write the rows as a Parquet file."""
        import pyarrow.parquet as pq

        kind = Path(path).suffix.lower()
        if kind != ".parquet":
            hint = "Give it a name that ends in .parquet."
            raise BadOutput("synthetic rows are written as Parquet", hint, file=str(path))
        check = only(is_table("parquet", None), "synthetic rows, or other tables that hushtable wrote")
        marked = self.schema.with_metadata({**(self.schema.metadata or {}), MARK: b"rows"})
        with (
            new_file(Path(path), overwrite=overwrite, check=check) as file,
            pq.ParquetWriter(file, marked, compression="zstd") as writer,
        ):
            for part in self.parts():
                writer.write_table(part.cast(marked))

    def _decoded(self, places: NDArray[np.intp]) -> pa.Table:
        import pyarrow as pa

        attributes = [attribute_at(self.domain, item) for item in self.items]
        columns = [
            attribute.values.decode(self.codes[places, column]) for column, attribute in enumerate(attributes)
        ]
        return pa.Table.from_arrays(columns, names=[attribute.name for attribute in attributes])
