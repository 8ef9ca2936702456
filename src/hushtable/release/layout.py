"""The layout of a release: columns, types and encodings.

Promise: they follow from the domain alone, so neither the file's schema nor its encodings tell which cells
were occupied. Values are plain Parquet types that every tool reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.columns import as_column
from hushtable.domain.domain import Domain

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_A_GROUP = 1 << 17  # small enough that tools read one in each thread
_FEW_VALUES = 1 << 16  # up to here a dictionary is smaller than the values one by one


def schema_of(domain: Domain) -> pa.Schema:
    """Return the columns: one for each attribute, then `count` and `weight`; no value is ever missing."""
    import pyarrow as pa

    columns = [(attribute.name, type_of(attribute.values)) for attribute in domain.attributes]
    columns += [("count", pa.int64()), ("weight", pa.float64())]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


def type_of(values: Kind) -> pa.DataType:
    """Return the type that `decode` gives. (Asking `decode` itself makes Arrow load pandas.)"""
    import pyarrow as pa

    match values:
        case Categories():
            return pa.string()
        case Integers():
            return pa.int64()
        case Bins(grid=(_, _, shared)):
            return pa.int64() if shared == 1 else pa.float64()
        case Edges(whole=whole):
            return pa.int64() if whole else pa.float64()
        case Times(whole_days=whole_days):
            return pa.date32() if whole_days else pa.timestamp("us")


def encodings_of(domain: Domain) -> dict[str, Any]:
    """Return the settings of Arrow's Parquet writer."""
    few = [attribute.name for attribute in domain.attributes if attribute.size <= _FEW_VALUES]
    return {
        "compression": "zstd",
        "use_dictionary": [*few, "count", "weight"],
        "dictionary_pagesize_limit": 1 << 30,  # never given up for plain values when it grows
        "store_schema": False,
    }


def rows_of(
    domain: Domain, codes: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> pa.Table:
    """Return rows of the file; at most `ROWS_IN_A_GROUP`."""
    import pyarrow as pa

    columns = [*domain.decode(codes).columns, as_column(counts), as_column(weights)]
    return pa.Table.from_arrays(columns, schema=schema_of(domain))


def weights_of(counts: NDArray[np.int64], threshold: float | None) -> NDArray[np.float64]:
    """Return sign * max(|count|, threshold), and 0 for a count of 0: the rule of the column `weight`."""
    sizes = np.maximum(np.abs(counts.astype(np.float64)), threshold or 0.0)
    return np.where(counts == 0, 0.0, np.copysign(sizes, counts))
