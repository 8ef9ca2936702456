"""Read a release file.

Promise: nothing of a file is believed before its checksums hold, and it is a release only if its footer
describes one and its columns are those of its domain and structure. Anything else is one `BadRelease`.
Cost: the head reads the footer alone; the rows take one pass for the checksum and one to decode them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hushtable.errors import BadRelease, shown
from hushtable.release.checksum import Footer, check_footer, check_rows
from hushtable.release.footer import terms_of
from hushtable.release.layout import schema_of
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LONGEST_ENTRY = (1 << 31) - 1


class Head(NamedTuple):
    """What the footer says."""

    terms: Terms
    rows: int
    footer: Footer


def read_head(path: Path) -> Head:
    """Return what the footer of a release says."""
    with _opened(path) as file:
        footer = check_footer(file)
        parquet = _parquet(file)
        terms = terms_of(parquet.metadata.metadata or {})
        if not parquet.schema_arrow.equals(schema_of(terms)):
            raise BadRelease("its columns are not those of its domain and structure", "Ask who made it.")
        return Head(terms, parquet.metadata.num_rows, footer)


def read_rows(path: Path, head: Head) -> pa.Table:
    """Return the rows of the release that `head` was read from."""
    with _opened(path) as file:
        if check_footer(file) != head.footer:
            raise BadRelease("it is not the file any more that was opened", "Open it again.")
        check_rows(file, head.footer)
        rows = _parquet(file).read().replace_schema_metadata(None)
        if rows.num_rows != head.rows:
            raise BadRelease("it does not have as many rows as it says", "Ask who made it.")
        return rows


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors about a release name its file."""
    try:
        yield
    except BadRelease as error:
        raise BadRelease(error.fact, error.hint, file=_name(path)) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Give the file; turn all that can go wrong with it into an error that names it."""
    import pyarrow as pa

    with naming(path):
        try:
            file = open(path, "rb")  # noqa: SIM115
        except FileNotFoundError:
            raise BadRelease("there is no such file", "Check the path.") from None
        except (OSError, ValueError) as error:  # a name with a null character is a ValueError
            fact = f"it cannot be read: {getattr(error, 'strerror', None) or error}"
            raise BadRelease(fact, "Check the path and its permissions.") from None
        try:
            with file:
                yield file
        except BadRelease:
            raise
        except (OSError, ValueError, pa.ArrowException) as error:
            fact = f"Parquet's reader refuses it ({shown(str(error))})"
            raise BadRelease(fact, "Get the file again from where it was published.") from None


def _name(path: Path) -> str:
    return str(path) if str(path).isprintable() else ascii(str(path))


def _parquet(file: BinaryIO) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        file, thrift_string_size_limit=_LONGEST_ENTRY, thrift_container_size_limit=_LONGEST_ENTRY
    )
