"""Write a release: one Parquet file.

Promise: the file appears whole or not at all. Its bytes follow from the terms and the rows handed over; its
columns, types and encodings from the domain alone; row groups have a fixed size. Nothing else is in it.
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
    codes outside the domain          `BadTable`
    ================================  ==============
    """
    import pyarrow.parquet as pq

    if not (len(codes) == len(counts) == len(weights)):
        raise InternalError("codes, counts and weights of a release have different lengths")
    with new_file(Path(path), overwrite=overwrite) as file:
        settings = encodings_of(terms.domain)
        with pq.ParquetWriter(file, schema_of(terms.domain), **settings) as writer:
            for start in range(0, len(codes), ROWS_IN_A_GROUP):
                part = slice(start, start + ROWS_IN_A_GROUP)
                _check(terms, codes[max(0, start - 1) : part.stop], counts[part], weights[part])
                rows = rows_of(terms.domain, codes[part], counts[part], weights[part])
                writer.write_table(rows, row_group_size=ROWS_IN_A_GROUP)
            writer.add_key_value_metadata(entries_of(terms) | {checksum.KEY: checksum.BLANK})
        return checksum.fill(file)


def _check(
    terms: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> None:
    """Raise unless rows are in order and weights are what the format says; `codes` has the row before too."""
    if not ascending(terms.domain.space.pack(codes)):
        raise InternalError("rows of a release are not in the order of their codes")
    if not np.array_equal(weights, weights_of(counts, terms.threshold)):
        raise InternalError("weights of a release do not follow from its counts and its threshold")
