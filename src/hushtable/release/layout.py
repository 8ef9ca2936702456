"""The layout of a release: columns, types and encodings.

Promise: they follow from the domain and the structure alone, so neither the file's schema nor its encodings
tell which cells were occupied. Values are plain Parquet types that every tool reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.columns import as_column
from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice, shown
from hushtable.release.cubes import bucket_columns, cube_columns
from hushtable.release.intervals import intervals_of
from hushtable.structures.cubes import CubeSpace
from hushtable.structures.nodes import ordered_places
from hushtable.structures.settings import Cells, CountSketch, Marginals, ProductDyadic, Structure, name_of
from hushtable.structures.sketches import SketchSpace

if TYPE_CHECKING:
    import pyarrow as pa

    from hushtable.release.terms import Terms

ROWS_IN_A_GROUP = 1 << 17  # small enough that tools read one in each thread
VALUED = ("first", "last", "some")  # columns that hold values of an attribute
_FEW_VALUES = 1 << 16  # up to here a dictionary is smaller than the values one by one


class Column(NamedTuple):
    """A column that says where a row is.

    It holds a level of the axis at `place`, or values of the attribute there: of a range the first or the
    last, of a cube those of marginals that have it. A row of a cube names its marginal, and one of a sketch
    is numbers, its codes.
    """

    name: str
    holds: Literal["level", "first", "last", "some", "marginal", "code"]
    place: int


def columns_of(structure: Structure, domain: Domain) -> list[Column]:
    """Return the columns before `count` and `weight`.

    A cell is the value of each attribute. A node is its level and the values at its first and last cell; if
    each attribute has a tree of its own, it has a level of its own too. A row of a data cube is a marginal,
    and a value of each attribute that it has. A bucket is its row of the sketch, and its number there.
    """
    if isinstance(structure, Cells):
        return [Column(name, "first", place) for place, name in enumerate(domain.names)]
    if isinstance(structure, Marginals):
        values = [Column(name, "some", place) for place, name in enumerate(domain.names)]
        return [Column("marginal", "marginal", 0), *values]
    if isinstance(structure, CountSketch):
        return [Column("row", "code", 0), Column("bucket", "code", 1)]
    several = isinstance(structure, ProductDyadic)
    columns = [] if several else [Column("level", "level", 0)]
    axes = ordered_places(structure, domain)
    for place, name in enumerate(domain.names):
        columns += [Column(f"{name}_level", "level", axes.index(place))] if several else []
        columns += [Column(name, "first", place), Column(f"{name}_last", "last", place)]
    return columns


def check_names(structure: Structure, domain: Domain) -> None:
    """Raise `BadChoice` if an attribute has the name of a column that the structure adds.

    Many tools do not tell upper from lower case in names, so this does not either.
    """
    own = {name.lower(): name for name in domain.names}
    if isinstance(structure, CountSketch):
        return  # whose columns are no attributes
    for column in columns_of(structure, domain):
        if column.holds not in ("first", "some") and column.name.lower() in own:
            added, taken = shown(column.name), shown(own[column.name.lower()])
            fact = f"the structure {name_of(structure)!r} adds a column {added}, and the domain has {taken}"
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


def encodings_of(terms: Terms) -> dict[str, Any]:
    """Return the settings of Arrow's Parquet writer."""
    shape = terms.domain.shape
    few = [
        each.name
        for each in _columns(terms)
        if each.name != "bucket" and (each.holds not in VALUED or shape[each.place] <= _FEW_VALUES)
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

    match terms.nodes:
        case CubeSpace() as cube:
            columns = cube_columns(cube, codes)
        case SketchSpace():
            columns = bucket_columns(terms.space, codes)
        case _:
            columns = _place_columns(terms, codes)
    return pa.Table.from_arrays([*columns, as_column(counts), as_column(weights)], schema=schema_of(terms))


def _place_columns(terms: Terms, codes: NDArray[np.int64]) -> list[pa.ChunkedArray]:
    """Return the columns of cells or of nodes of a tree."""
    found = intervals_of(terms, codes)
    values = {"first": terms.domain.decode(found.firsts)}
    if terms.nodes is not None:
        values["last"] = terms.domain.decode(found.lasts)
    return [
        as_column(found.levels[:, each.place])
        if each.holds == "level"
        else values[each.holds].column(each.place)
        for each in _columns(terms)
    ]


def _columns(terms: Terms) -> list[Column]:
    return columns_of(terms.structure, terms.domain)


def _type_of(domain: Domain, column: Column) -> pa.DataType:
    import pyarrow as pa

    match column.holds:
        case "level":
            return pa.int32()
        case "marginal":
            return pa.string()
        case "code":
            return pa.int64()
    return type_of(domain.attributes[column.place].values)
