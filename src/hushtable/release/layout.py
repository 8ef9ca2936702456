"""The layout of a release: columns, types and encodings.

Promise: they follow from the domain and the structure alone, so neither the file's schema nor its encodings
tell which cells were occupied. Values are plain Parquet types that every tool reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import type_of
from hushtable.errors import BadChoice, shown
from hushtable.structures.structure import Column, NodeSpace

if TYPE_CHECKING:
    import pyarrow as pa

    from hushtable.release.terms import Terms

ROWS_IN_A_GROUP = 1 << 17  # small enough that tools read one in each thread
_FEW_VALUES = 1 << 16  # up to here a dictionary is smaller than the values one by one


def check_names(nodes: NodeSpace, domain: Domain) -> None:
    """Raise `BadChoice` if an attribute has the name of a column that the structure adds.

    Many tools do not tell upper from lower case in names, so this does not either.
    """
    own = {name.lower(): name for name in domain.names}
    columns = nodes.columns(domain)
    if not any(each.valued for each in columns):
        return  # attributes have no columns here
    for column in columns:
        if column.holds not in ("first", "some") and column.name.lower() in own:
            added, taken = shown(column.name), shown(own[column.name.lower()])
            fact = f"the structure {nodes.structure.name!r} adds a column {added}, and the domain has {taken}"
            hint = "Rename the attribute in the domain file; its `column` keeps the name in the data."
            raise BadChoice(fact, hint)


def schema_of(terms: Terms) -> pa.Schema:
    """Return the columns, `count` and `weight` behind those of the place.

    No value is ever missing, but of attributes that a marginal does not have.
    """
    import pyarrow as pa

    columns = [(each.name, _type_of(terms.domain, each), each.holds == "some") for each in _columns(terms)]
    columns += [("count", pa.int64(), False), ("weight", pa.float64(), False)]
    return pa.schema([pa.field(name, kind, nullable=some) for name, kind, some in columns])


def encodings_of(terms: Terms) -> dict[str, Any]:
    """Return the settings of Arrow's Parquet writer."""
    few = [
        each.name
        for each in _columns(terms)
        if (_size_of(terms.domain, each) <= _FEW_VALUES if each.valued else each.few)
    ]
    return {
        "compression": "zstd",
        "use_dictionary": [*few, "count", "weight"],
        "dictionary_pagesize_limit": 1 << 30,  # never given up for plain values when it grows
        "store_schema": False,
    }


def rows_of(
    terms: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> pa.Table:
    """Return rows of the file; at most `ROWS_IN_A_GROUP`."""
    import pyarrow as pa

    columns = terms.nodes.to_columns(terms.domain, codes)
    return pa.Table.from_arrays([*columns, as_column(counts), as_column(weights)], schema=schema_of(terms))


def _columns(terms: Terms) -> list[Column]:
    return terms.nodes.columns(terms.domain)


def _type_of(domain: Domain, column: Column) -> pa.DataType:
    import pyarrow as pa

    match column.holds:
        case "level":
            return pa.int32()
        case "text":
            return pa.string()
        case "code":
            return pa.int64()
    return type_of(column.values_over(domain))


def _size_of(domain: Domain, column: Column) -> int:
    return column.values_over(domain).size
