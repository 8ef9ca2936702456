"""Read a release: one file, or a folder of parts.

Promise: nothing of a file is believed before its checksums hold, and it is a release only if its footer
describes one and its columns are those of its domain and structure. A folder is one only if it has all parts
of one release, each under its own name and behind the one that it was written behind, and no other file.
(Names that start with a dot or an underscore are passed over, as other readers of Parquet do.) Anything else
is one `BadRelease`.
Cost: the head reads footers alone; the rows take one pass for the checksum and one to decode them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hushtable.errors import BadRelease, shown
from hushtable.release.checksum import Footer, check_footer, check_rows
from hushtable.release.footer import Said, said_by, terms_by
from hushtable.release.layout import schema_of
from hushtable.release.parts import is_part_name, part_name
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LONGEST_ENTRY = (1 << 31) - 1
_FOLDER_AGAIN = "Get the folder again from where it was published."


class Head(NamedTuple):
    """What the footer says, or the footers of all parts together."""

    terms: Terms
    rows: int
    footers: tuple[Footer, ...]


class _FileHead(NamedTuple):
    """What the footer of one file says."""

    terms: Terms
    said: Said
    rows: int
    footer: Footer


def read_head(path: Path) -> Head:
    """Return what a release says of itself."""
    if os.path.isdir(path):
        heads = _part_heads(path)
    else:
        heads = [_file_head(path)]
        if (part := heads[0].said.part) is not None:
            with naming(path):
                raise BadRelease(f"it is {part} of a release", "Open the folder that has all of them.")
    return Head(heads[0].terms, sum(head.rows for head in heads), tuple(head.footer for head in heads))


def read_rows(path: Path, head: Head) -> pa.Table:
    """Return the rows of the release that `head` was read from."""
    import pyarrow as pa

    whole = len(head.footers) == 1  # a folder has two parts or more
    paths = [path] if whole else [path / part_name(number) for number in range(len(head.footers))]
    rows = pa.concat_tables(map(_file_rows, paths, head.footers))
    if rows.num_rows != head.rows:
        with naming(path):
            raise BadRelease("it does not have as many rows as it says", "Ask who made it.")
    return rows


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors about a release name its file."""
    try:
        yield
    except BadRelease as error:
        raise BadRelease(error.fact, error.hint, file=_name(path)) from None


def _part_heads(folder: Path) -> list[_FileHead]:
    """Return what the parts in a folder say, if they are those of one release."""
    with naming(folder):
        _check_names(names := _names(folder))
    heads: list[_FileHead] = []
    for number in range(len(names)):
        path = folder / part_name(number)
        head = _file_head(path, like=heads[0] if heads else None)
        with naming(path):
            _check_place(head, number, heads[-1].footer.digest if heads else None)
        with naming(folder):
            _check_number(head, len(names))
        heads.append(head)
    return heads


def _names(folder: Path) -> list[str]:
    """Return the names in a folder that readers of Parquet look at."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith((".", "_")))
    except OSError as error:
        raise BadRelease(f"it cannot be read: {error.strerror}", "Check its permissions.") from None


def _check_names(names: list[str]) -> None:
    """Raise unless these are the names of parts, from the first one on, without a gap."""
    if not any(map(is_part_name, names)):
        hint = "Give the file of a release, or the folder of one that was published in parts."
        raise BadRelease("it is a folder, and holds no parts of a release", hint)
    wanted = {part_name(number) for number in range(len(names))}
    for name in names:
        if not is_part_name(name):
            fact = f"it is a folder of parts that also holds {shown(name)}"
            raise BadRelease(fact, f"Move that away. {_FOLDER_AGAIN}")
    if absent := sorted(wanted.difference(names)):
        raise BadRelease(f"it does not have all of its parts: {absent[0]} is missing", _FOLDER_AGAIN)


def _check_place(head: _FileHead, number: int, before: str | None) -> None:
    """Raise unless a file is the part that its name says, behind the one before it."""
    part = head.said.part
    if part is None:
        fact = "it is a release by itself, with the name of a part of one"
        raise BadRelease(fact, f"Open it by its own name. {_FOLDER_AGAIN}")
    if part.number != number:
        raise BadRelease(f"it has the name of another part: it is {part}", _FOLDER_AGAIN)
    if part.before != before:
        raise BadRelease("it is a part of another release than the one before it", _FOLDER_AGAIN)


def _check_number(head: _FileHead, found: int) -> None:
    """Raise unless a folder has as many parts as a part says."""
    if head.said.part is not None and head.said.part.of != found:
        fact = f"it has {found:,} parts, and its release has {head.said.part.of:,}"
        raise BadRelease(fact, _FOLDER_AGAIN)


def _file_head(path: Path, like: _FileHead | None = None) -> _FileHead:
    """Return what the footer of a file says; of a further part, if it says the same as the first."""
    with _opened(path) as file:
        footer = check_footer(file)
        parquet = _parquet(file)
        said = said_by(parquet.metadata.metadata or {})
        if like is None:
            terms = terms_by(said)
        elif said._replace(part=None) == like.said._replace(part=None):
            terms = like.terms
        else:
            raise BadRelease("it is a part of another release than the first part", _FOLDER_AGAIN)
        if not parquet.schema_arrow.equals(schema_of(terms)):
            raise BadRelease("its columns are not those of its domain and structure", "Ask who made it.")
        return _FileHead(terms, said, parquet.metadata.num_rows, footer)


def _file_rows(path: Path, footer: Footer) -> pa.Table:
    """Return the rows of the file that had this footer."""
    with _opened(path) as file:
        if check_footer(file) != footer:
            raise BadRelease("it is not the file any more that was opened", "Open it again.")
        check_rows(file, footer)
        return _parquet(file).read().replace_schema_metadata(None)


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
