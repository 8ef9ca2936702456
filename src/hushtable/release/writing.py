"""Write a release: one Parquet file.

Promise: the file appears whole or not at all. Its bytes follow from the terms and the rows handed over; its
columns, types and encodings from the domain and the structure alone; row groups have a fixed size. Nothing
else is in it.
Cost: one row group in memory at a time, beyond the rows given.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import ascending
from hushtable.errors import InternalError
from hushtable.release import checksum
from hushtable.release.footer import entries_of
from hushtable.release.layout import ROWS_IN_A_GROUP, encodings_of, rows_of, schema_of, weights_of
from hushtable.release.placing import new_file
from hushtable.release.terms import Terms
from hushtable.structures.cubes import CubeSpace
from hushtable.structures.fitting import own_masses
from hushtable.structures.nodes import PrunedSpace


def write_release(
    path: str | PathLike[str],
    terms: Terms,
    *,
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    overwrite: bool = False,
) -> str:
    """Write a release to `path`; return the SHA-256 digest of the file.

    ================================  ==============
    case                              result
    ================================  ==============
    there is a file, not `overwrite`  `BadOutput`
    no folder, no room, no right      `BadOutput`
    codes of no cell or node          `BadTable`
    ================================  ==============
    """
    import pyarrow.parquet as pq

    if not (len(codes) == len(counts) == len(weights)):
        raise InternalError("codes, counts and weights of a release have different lengths")
    if not np.array_equal(weights, weights_by(terms, codes, counts)):
        raise InternalError("weights of a release do not follow from its counts and its terms")
    with new_file(Path(path), overwrite=overwrite) as file:
        settings = encodings_of(terms)
        with pq.ParquetWriter(file, schema_of(terms), **settings) as writer:
            for start in range(0, len(codes), ROWS_IN_A_GROUP):
                part = slice(start, start + ROWS_IN_A_GROUP)
                _check_order(terms, codes[max(0, start - 1) : part.stop])
                rows = rows_of(terms, codes[part], counts[part], weights[part])
                writer.write_table(rows, row_group_size=ROWS_IN_A_GROUP)
            writer.add_key_value_metadata(entries_of(terms) | {checksum.KEY: checksum.BLANK})
        return checksum.fill(file)


def weights_by(terms: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the format says that the weights are."""
    if isinstance(terms.nodes, CubeSpace):
        weights = np.empty(len(counts))
        for rows, part in zip(terms.nodes.rows(codes), terms.parts, strict=True):
            weights[rows] = weights_of(counts[rows], part.threshold)
        return weights
    if not isinstance(terms.nodes, PrunedSpace):
        return weights_of(counts, terms.threshold)
    return own_masses(terms.nodes.tree, codes[:, 0], counts, rate=terms.rate, cutoff=terms.cutoff or 1.0)


def _check_order(terms: Terms, codes: NDArray[np.int64]) -> None:
    """Raise unless rows are in order; `codes` has the row before too."""
    if not ascending(terms.space.pack(codes)):
        raise InternalError("rows of a release are not in the order of their codes")
