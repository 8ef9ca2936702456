"""Write a release: one Parquet file, or a folder of parts.

Promise: the release appears whole or not at all. Its bytes follow from the terms and the rows handed over;
its columns, types and encodings from the domain and the structure alone; parts, and row groups in each file,
have a fixed size but for the last. Nothing else is in it. Only a release is overwritten: a file, or a folder
that holds nothing else.
Cost: one row group in memory at a time, beyond the rows given.
"""

from __future__ import annotations

import os
from hashlib import file_digest
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import ascending
from hushtable.domain.limits import MOST_PARTS
from hushtable.errors import BadOutput, BadRelease, InternalError
from hushtable.files import placing
from hushtable.files.apart import NOTHING, Kept
from hushtable.files.parts import FilePart, digest_of_parts, part_name
from hushtable.files.placing import new_file, new_folder
from hushtable.release import checksum
from hushtable.release.bounds import fewest_rows, most_rows
from hushtable.release.footer import entries_of
from hushtable.release.layout import ROWS_IN_A_GROUP, encodings_of, rows_of, schema_of
from hushtable.release.reading import read_head
from hushtable.release.terms import Terms

_OTHER_FORMATS = (
    ".csv",
    ".tsv",
    ".txt",
    ".json",
    ".jsonl",
    ".ndjson",
    ".arrow",
    ".feather",
    ".xlsx",
    ".html",
)


class _Written(NamedTuple):
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]


def write_release(
    path: str | PathLike[str],
    terms: Terms,
    *,
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    overwrite: bool = False,
    rows_in_a_file: int | None = None,
    kept: Kept = NOTHING,
) -> str:
    """Write a release to `path`; return its SHA-256 digest.

    With more than `rows_in_a_file` rows, it is a folder of parts of so many rows each; the digest is then
    that of what `sha256sum part-*.parquet` prints in it.

    ==========================================  ==============
    case                                        result
    ==========================================  ==============
    there is a file or folder, not `overwrite`  `BadOutput`
    there is anything that is not a release        `BadOutput`
    a place that is `kept`                      `BadOutput`
    a name that ends as of another format       `BadOutput`
    no folder, no room, no right                `BadOutput`
    codes of no cell or node                    `BadTable`
    ==========================================  ==============
    """
    if not (len(codes) == len(counts) == len(weights)):
        raise InternalError("codes, counts and weights of a release have different lengths")
    if terms.total is None and terms.total_budget:
        raise InternalError("a release was to be written before its total was drawn")
    if terms.left_out is None and terms.left_out_budget:
        raise InternalError("a release was to be written before it was drawn who is left out")
    if not fewest_rows(terms) <= len(codes) <= most_rows(terms):
        raise InternalError("a release has more or fewer rows than its terms allow")
    if rows_in_a_file is not None and len(codes) > max(0, rows_in_a_file) * MOST_PARTS:
        raise InternalError("a release has too many parts, or parts without rows")
    _check_name(Path(path))
    rows = _Written(codes, counts, weights)
    if rows_in_a_file is None or len(codes) <= rows_in_a_file:
        with new_file(Path(path), overwrite=overwrite, check=check_replaced, kept=kept) as file:
            return _write_file(file, terms, rows, range(len(codes)))
    digests, before = list[str](), None
    starts = range(0, len(codes), rows_in_a_file)
    with new_folder(Path(path), overwrite=overwrite, check=check_replaced, kept=kept) as folder:
        for number, start in enumerate(starts):
            part = FilePart(number=number, of=len(starts), before=before)
            own = range(start, min(start + rows_in_a_file, len(codes)))
            with open(folder / part_name(number), "x+b") as file:
                digests.append(_write_file(file, terms, rows, own, part))
                before = checksum.check_footer(file).digest
    return digest_of_parts(digests)


def check_output(path: str | PathLike[str], *, overwrite: bool, kept: Kept = NOTHING) -> None:
    """Raise where a release could not be written: worth asking before anything is spent on it."""
    _check_name(Path(path))
    placing.check_output(path, overwrite=overwrite, check=check_replaced, kept=kept)


def digest_of(path: str | PathLike[str]) -> str | None:
    """Return the digest of the existing file, as `write_release` returned it; None if there is no file."""
    try:
        if not os.path.isdir(path):
            with open(path, "rb") as file:
                return file_digest(file, "sha256").hexdigest()
        digests: list[str] = []
        while os.path.lexists(part := os.path.join(path, part_name(len(digests)))):
            with open(part, "rb") as file:
                digests.append(file_digest(file, "sha256").hexdigest())
        return digest_of_parts(digests)
    except OSError:
        return None


def rows_of_parts(terms: Terms, codes: NDArray[np.int64]) -> list[slice]:
    """Return the rows of each part among ascending codes, which begin with the number of their part."""
    edges = np.searchsorted(codes[:, 0], np.arange(len(terms.parts) + 1)).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _write_file(
    file: BinaryIO, terms: Terms, rows: _Written, own: range, part: FilePart | None = None
) -> str:
    """Write some of the rows as a Parquet file; return its digest."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema_of(terms), **encodings_of(terms)) as writer:
        for start in range(own.start, own.stop, ROWS_IN_A_GROUP):
            group = slice(start, min(start + ROWS_IN_A_GROUP, own.stop))
            _check_order(terms, rows.codes[max(0, start - 1) : group.stop])
            table = rows_of(terms, rows.codes[group], rows.counts[group], rows.weights[group])
            writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)
        writer.add_key_value_metadata(entries_of(terms, part) | {checksum.KEY: checksum.BLANK})
    return checksum.fill(file)


def _check_name(path: Path) -> None:
    """Raise where the name says that it is a file of another kind."""
    if path.suffix.lower() in _OTHER_FORMATS:
        hint = "Give a name that ends in .parquet; `hushtable export` makes CSV, JSON or Arrow of a release."
        raise BadOutput("a release is a Parquet file, and this name says otherwise", hint, file=str(path))


def check_replaced(path: Path) -> None:
    """Raise unless the file is a release and nothing else, and so may be replaced."""
    if os.path.isdir(path):
        _check_folder(path)
    else:
        _check_file(path)


def _is_release(path: Path) -> bool:
    """Return whether a file opens as a release."""
    try:
        read_head(path)
    except BadRelease:
        return False
    return True


_check_file = placing.only(_is_release, "a release")


def _check_folder(path: Path) -> None:
    """Raise unless a folder is a release and nothing else, so that it may be replaced."""
    try:
        parts = len(read_head(path).footers)
    except BadRelease:
        parts = 0
    if not parts or os.path.islink(path):
        hint = "Give the name of a file in it, or remove it yourself: only a whole release is overwritten."
        raise BadOutput("it is a folder, and not a release", hint, file=str(path))
    if len(os.listdir(path)) > parts:
        raise BadOutput("it is a release with other files in its folder", "Move them away.", file=str(path))
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadOutput("its parts cannot be removed", "Check its permissions.", file=str(path))


def _check_order(terms: Terms, codes: NDArray[np.int64]) -> None:
    """Raise unless rows are in order; `codes` has the row before too."""
    if not ascending(terms.space.pack(codes)):
        raise InternalError("rows of a release are not in the order of their codes")
