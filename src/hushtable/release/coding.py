"""From the values of a release back to the codes of its cells or nodes.

Promise: the inverse of `rows_of`, without loss: what it returns decodes to the values it was given, and
values that no code decodes to are one `BadRelease`.
Cost: a few operations on whole arrays; a column of categories takes one look-up a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.keys import ascending
from hushtable.errors import BadRelease, shown
from hushtable.release.intervals import nodes_of
from hushtable.release.layout import columns_of
from hushtable.release.terms import Terms
from hushtable.structures.nodes import Intervals, PrunedSpace

if TYPE_CHECKING:
    import pyarrow as pa

_HINT = "Get the file again from where it was published, or ask who made it."


def codes_of(terms: Terms, table: pa.Table) -> NDArray[np.int64]:
    """Return the codes of a release's rows: of shape (rows, attributes), or (rows, axes) of a tree."""
    given = _intervals(terms, table)
    codes = given.firsts if terms.nodes is None else nodes_of(terms.nodes, given)
    if codes is None:
        raise BadRelease("its rows hold intervals that are no nodes of its structure", _HINT)
    if not ascending(terms.space.pack(codes)):
        raise BadRelease("its rows are not in the order of their codes", _HINT)
    if isinstance(terms.nodes, PrunedSpace) and not terms.nodes.are_rooted(codes):
        raise BadRelease("its rows are a tree without its root, or without a node above another", _HINT)
    return codes


def _intervals(terms: Terms, table: pa.Table) -> Intervals:
    """Return the intervals that the columns say."""
    axes = 0 if terms.nodes is None else len(terms.space.shape)
    levels = np.empty((table.num_rows, axes), dtype=np.int32)
    firsts = np.empty((table.num_rows, len(terms.domain.attributes)), dtype=np.int64)
    lasts = np.empty_like(firsts) if axes else firsts
    for name, holds, place in columns_of(terms.structure, terms.domain):
        if holds == "level":
            levels[:, place] = table.column(name).to_numpy()
            continue
        found = encode(terms.domain.attributes[place].values, table.column(name))
        if found is None:
            raise BadRelease(f"its column {shown(name)} holds values that its domain does not have", _HINT)
        (firsts if holds == "first" else lasts)[:, place] = found
    return Intervals(levels, firsts, lasts)


def encode(values: Kind, column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return the codes that decode to this column, or None if a value has none."""
    if isinstance(values, Categories):
        return _places(values, column)
    given = column.to_numpy()
    codes = np.clip(_guess(values, given), 0, values.size - 1)
    same = np.array_equal(values.decode(codes).to_numpy(zero_copy_only=False), given)
    return codes if same else None


def _places(values: Categories, column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Return the places of texts in the list of categories."""
    import pyarrow.compute as pc

    places = pc.index_in(column, value_set=values.decode(np.arange(values.size)))
    return None if places.null_count else places.to_numpy().astype(np.int64)


def _guess(values: Integers | Bins | Edges | Times, column: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the right codes of values that have one, and any numbers for others."""
    match values:
        case Integers(low=low):
            return column.astype(np.int64) - np.int64(low)
        case Bins():
            first, width, shared = values.grid
            if shared > 1:
                # Numerators stay below 2^50, so the product is within a quarter of the one it came from.
                with np.errstate(all="ignore"):
                    column = np.rint(column.astype(np.float64) * shared).astype(np.int64)
            return (column.astype(np.int64) - np.int64(first)) // np.int64(width)
        case Edges():
            lower = values.decode(np.arange(values.size)).to_numpy()
            return np.searchsorted(lower, column)
        case Times(unit="month", every=months):
            first = (values.start.year - 1970) * 12 + values.start.month - 1
            return (column.astype("datetime64[M]").astype(np.int64) - first) // months
        case Times(every=seconds):
            start = np.datetime64(values.start, "s").astype(np.int64)
            return (column.astype("datetime64[s]").astype(np.int64) - start) // seconds
