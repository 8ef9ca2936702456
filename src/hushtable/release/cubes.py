"""Rows of data cubes and of sketches, as columns of a file.

Promise: a row of a marginal has a value of each attribute that the marginal has, and null for the others. A
bucket is its row of the sketch and its number there. `coding.codes_of` is the inverse.
Cost: a few operations on whole arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column
from hushtable.domain.keys import KeySpace
from hushtable.release.intervals import check_codes
from hushtable.structures.cubes import CubeSpace

if TYPE_CHECKING:
    import pyarrow as pa


def cube_columns(cube: CubeSpace, codes: NDArray[np.int64]) -> list[pa.Array]:
    """Return the column of marginals, and one for each attribute."""
    import pyarrow as pa

    check_codes(cube.space, codes)
    numbers = codes[:, 0]
    labels = pa.array([each.label for each in cube.marginals]).take(as_column(numbers))
    values = cube.domain.decode(codes[:, 1:])
    has = np.zeros((len(cube.marginals), len(cube.domain.names)), dtype=np.bool_)
    for number, marginal in enumerate(cube.marginals):
        has[number, list(marginal.places)] = True
    absent = [pa.array(~has[numbers, place]) for place in range(len(cube.domain.names))]
    return [labels, *map(_with_nulls, values.columns, absent)]


def bucket_columns(space: KeySpace, codes: NDArray[np.int64]) -> list[pa.Array]:
    """Return the rows of the sketch, and the buckets in them."""
    check_codes(space, codes)
    return [as_column(column) for column in codes.T]


def _with_nulls(column: pa.ChunkedArray, absent: pa.Array) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(absent, pa.scalar(None, column.type), column)
