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
from hushtable.structures.cubes import CubeSpace
from hushtable.structures.nodes import Intervals, PrunedSpace
from hushtable.structures.sketches import SketchSpace

if TYPE_CHECKING:
    import pyarrow as pa

_HINT = "Get the file again from where it was published, or ask who made it."


def codes_of(terms: Terms, table: pa.Table) -> NDArray[np.int64]:
    """Return the codes of a release's rows: of shape (rows, attributes), or (rows, axes) of a tree."""
    codes = _codes(terms, table)
    if not ascending(terms.space.pack(codes)):
        raise BadRelease("its rows are not in the order of their codes", _HINT)
    if isinstance(terms.nodes, PrunedSpace) and not terms.nodes.are_rooted(codes):
        raise BadRelease("its rows are a tree without its root, or without a node above another", _HINT)
    return codes


def _codes(terms: Terms, table: pa.Table) -> NDArray[np.int64]:
    """Return the codes that the columns say, or raise if they say none."""
    match terms.nodes:
        case CubeSpace() as cube:
            return _cube_codes(cube, table)
        case SketchSpace():
            return _bucket_codes(terms, table)
        case nodes:
            given = _intervals(terms, table)
            codes = given.firsts if nodes is None else nodes_of(nodes, given)
    if codes is None:
        raise BadRelease("its rows hold intervals that are no nodes of its structure", _HINT)
    return codes


def _bucket_codes(terms: Terms, table: pa.Table) -> NDArray[np.int64]:
    """Return the codes of buckets: all of them, which a sketch needs."""
    codes = np.stack([table.column(name).to_numpy() for name in ("row", "bucket")], axis=1)
    every = np.arange(terms.space.cells_total, dtype=np.uint64)[np.newaxis]
    if len(codes) != every.size or not np.array_equal(codes, terms.space.unpack(every)):
        raise BadRelease("its rows are not all buckets of its sketch", _HINT)
    return codes


def _cube_codes(cube: CubeSpace, table: pa.Table) -> NDArray[np.int64]:
    """Return the codes of rows of marginals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pa.array([each.label for each in cube.marginals])
    numbers = pc.index_in(table.column("marginal"), value_set=labels)
    if numbers.null_count:
        raise BadRelease("its rows name marginals that it does not have", _HINT)
    codes = np.zeros((table.num_rows, 1 + len(cube.domain.names)), dtype=np.int64)
    codes[:, 0] = numbers.to_numpy()
    if (np.diff(codes[:, 0]) < 0).any():
        raise BadRelease("its rows are not in the order of their codes", _HINT)
    for marginal, rows in zip(cube.marginals, cube.rows(codes), strict=True):
        part, places = table.slice(rows.start, rows.stop - rows.start), marginal.places
        for place, attribute in enumerate(cube.domain.attributes):
            column = part.column(attribute.name)
            found = None
            if place in places and not column.null_count:
                found = encode(attribute.values, column)
            elif place not in places and column.null_count == len(column):
                continue
            if found is None:
                fact = f"its column {shown(attribute.name)} holds values that its domain does not have"
                raise BadRelease(fact, _HINT)
            codes[rows, 1 + place] = found
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
