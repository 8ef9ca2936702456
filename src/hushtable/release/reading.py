"""Read a release: one file, or a folder of parts.

Promise: nothing of a file is believed before its checksums hold, and it is a release only if its footer
describes one, its columns are those of its domain and structure, and its rows are as many as its terms allow.
That is known before a reader of Parquet sees the file, and rows are read in parts of bounded size, so memory
follows from the numbers that the footer states. A folder is a release only if it has all parts of one, each
under its own name and behind the one that it was written behind, and no other file. (Names that start with a
dot or an underscore are passed over, as other readers of Parquet do.) Anything else is one `BadRelease`.
Cost: the head reads footers alone; the rows take one pass for the checksum and one to decode them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from hushtable.domain.attributes import AnyText
from hushtable.domain.columns import as_numbers, cast, computed
from hushtable.domain.domain import Domain
from hushtable.domain.limits import LARGEST_FOOTER, LARGEST_TOTAL, MOST_PARTS
from hushtable.errors import BadRelease, printable, shown
from hushtable.files.parts import is_part_name, part_name
from hushtable.release.bounds import fewest_rows, most_rows, widths_of
from hushtable.release.checksum import Footer, check_rows, checked_footer
from hushtable.release.contents import Contents, check_pages, contents_of
from hushtable.release.footer import Said, said_by, terms_by
from hushtable.release.layout import ROWS_IN_A_GROUP, schema_of
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LONGEST_ENTRY = LARGEST_FOOTER  # how many there are of what was looked at before
_BYTES_AT_ONCE = 1 << 26  # of rows that are decoded together
_FEWEST_ROWS = 256
_ASK = "Ask whoever made it."
_FOLDER_AGAIN = "Get the folder again from its publisher."


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
        head = _file_head(path)
        if (part := head.said.part) is not None:
            with naming(path):
                raise BadRelease(f"it is {part} of a release", "Open the folder that has all of them.")
        heads = [head]
    found = Head(heads[0].terms, sum(head.rows for head in heads), tuple(head.footer for head in heads))
    if found.rows < fewest_rows(found.terms):
        with naming(path):
            fact = f"it has {found.rows:,} rows, and a sketch has all {fewest_rows(found.terms):,} buckets"
            raise BadRelease(fact, _ASK)
    return found


def read_rows(path: Path, head: Head, *, first: int | None = None) -> pa.Table:
    """Return the rows of the release that `head` was read from; or the first ones, without the others."""
    import pyarrow as pa

    whole = len(head.footers) == 1  # a folder has two parts or more
    paths = [path] if whole else [path / part_name(number) for number in range(len(head.footers))]
    wanted = head.rows if first is None else min(first, head.rows)
    parts = [pa.Table.from_batches([], schema=schema_of(head.terms))]
    for file, footer in zip(paths, head.footers, strict=True):
        if wanted > 0 or first is None:
            parts.append(_file_rows(file, footer, head.terms, most=wanted))
            wanted -= parts[-1].num_rows
    if wanted:
        with naming(path):
            raise BadRelease("it does not have as many rows as it says", _ASK)
    return pa.concat_tables(parts)


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
    rows = 0
    for number in range(len(names)):
        path = folder / part_name(number)
        head = _file_head(path, like=heads[0] if heads else None)
        rows += head.rows
        with naming(path):
            _check_place(head, number, heads[-1].footer.digest if heads else None)
            _check_rows(head.terms, rows)
        with naming(folder):
            _check_number(head, len(names))
        # What further parts say is what the first one says, so that is kept alone.
        heads.append(head._replace(said=heads[0].said) if heads else head)
    return heads


def _names(folder: Path) -> list[str]:
    """Return the names in a folder that readers of Parquet look at."""
    try:
        with os.scandir(folder) as found:
            names = (each.name for each in found if not each.name.startswith((".", "_")))
            few = list(islice(names, MOST_PARTS + 1))
    except OSError as error:
        raise BadRelease(f"it cannot be read: {error.strerror}", "Check its permissions.") from None
    if len(few) > MOST_PARTS:
        fact = f"it is a folder of more than {MOST_PARTS:,} files"
        raise BadRelease(fact, "No release has so many parts: give the folder of one.")
    return sorted(few)


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
        footer, contents = _contents(file)
        said = said_by(contents.entries)
        if like is None:
            terms = terms_by(said)
        elif said._replace(part=None) == like.said._replace(part=None):
            terms = like.terms
        else:
            raise BadRelease("it is a part of another release than the first part", _FOLDER_AGAIN)
        schema = schema_of(terms)
        # By name first: what odd columns become in Arrow is not asked before these are known to be ours.
        if list(contents.columns) != schema.names or not _parquet(file).schema_arrow.equals(schema):
            raise BadRelease("its columns are not those of its domain and structure", _ASK)
        _check_rows(terms, contents.rows)
        return _FileHead(terms, said, contents.rows, footer)


def _check_rows(terms: Terms, rows: int) -> None:
    """Raise where there are more rows than the terms allow."""
    if rows > (most := most_rows(terms)):
        raise BadRelease(f"it has {rows:,} rows where its terms allow {most:,}", _ASK)


def _file_rows(path: Path, footer: Footer, terms: Terms, *, most: int) -> pa.Table:
    """Return rows of the file that had this footer: at most so many, the first."""
    import pyarrow as pa

    schema, widths = schema_of(terms), widths_of(terms)
    with _opened(path) as file:
        again, contents = _contents(file)
        if again != footer:
            raise BadRelease("it is not the file that was opened any more", "Open it again.")
        check_rows(file, footer)
        coded = check_pages(file, contents, tuple(width.most for width in widths.values()))
        texts = {name: width.most for name, width in widths.items() if width.text and name in coded}
        parquet = _parquet(file, coded=list(texts))
        at_once = max(_FEWEST_ROWS, _BYTES_AT_ONCE // sum(width.most for width in widths.values()))
        at_once = min(at_once, max(1, most), ROWS_IN_A_GROUP)
        parts, found = list[pa.Table](), 0
        for number in range(len(contents.groups)):
            for batch in parquet.iter_batches(batch_size=at_once, row_groups=[number]):
                part = pa.Table.from_batches([batch]).slice(0, most - found)
                parts.append(_with_types(_with_texts(part, texts, schema), schema))
                _check_weights(terms, parts[-1])
                _check_any_texts(terms.domain, parts[-1])
                found += part.num_rows
                if found >= most:
                    break
            if found >= most:
                break
        return pa.concat_tables([pa.Table.from_batches([], schema=schema), *parts]).replace_schema_metadata(
            None
        )


def _with_texts(part: pa.Table, texts: dict[str, int], schema: pa.Schema) -> pa.Table:
    """Return rows with text in place of places in a dictionary, if no text in it is longer than known."""
    import pyarrow as pa

    for place, name in enumerate(part.column_names):
        column = part.column(place)
        if not pa.types.is_dictionary(column.type):
            continue
        for chunk in column.chunks:
            longest = computed("max", computed("binary_length", chunk.dictionary)).as_py()
            if longest is not None and longest > texts[name]:
                fact = f"its column {shown(name)} holds a text of {longest:,} bytes"
                raise BadRelease(fact, f"The longest of its domain has {texts[name]:,}: ask whoever made it.")
        part = part.set_column(place, schema.field(place), cast(column, column.type.value_type))
    return part


def _with_types(part: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in columns of these types."""
    return part if part.schema.equals(schema) else part.cast(schema)


def _check_weights(terms: Terms, part: pa.Table) -> None:
    """Raise where weights are none that a count has: JSON has no word for some, others overflow in sums."""
    largest = max([terms.threshold or 0.0, *(part.threshold or 0.0 for part in terms.parts)])
    for weights in map(as_numbers, part.column("weight").chunks):
        if not np.isfinite(weights).all():
            raise BadRelease("its column 'weight' holds values that are not finite", _ASK)
        if np.abs(weights).max(initial=0.0) > max(LARGEST_TOTAL, largest):
            raise BadRelease("its column 'weight' holds values beyond all totals", _ASK)


def _check_any_texts(domain: Domain, part: pa.Table) -> None:
    """Raise unless texts of attributes that list none are UTF-8 and as short as they may be."""
    for place in domain.unlisted:
        attribute, column = domain.attributes[place], part.column(domain.names[place])
        column.validate(full=True)  # of UTF-8
        longest = computed("max", computed("utf8_length", column)).as_py() or 0
        if not isinstance(attribute.values, AnyText) or longest > attribute.values.longest:
            fact = f"its column {shown(attribute.name)} holds a text of {longest:,} characters"
            raise BadRelease(fact, f"Its domain allows fewer. {_ASK}")


def _contents(file: BinaryIO) -> tuple[Footer, Contents]:
    """Return the checksums of a file, and what else its footer says."""
    footer, data = checked_footer(file)
    return footer, contents_of(data, footer.start)


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
            raise BadRelease(fact, "Get the file again from its publisher.") from None


def _name(path: Path) -> str:
    return printable(str(path))


def _parquet(file: BinaryIO, coded: list[str] | None = None) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        file,
        read_dictionary=coded,
        thrift_string_size_limit=_LONGEST_ENTRY,
        thrift_container_size_limit=_LONGEST_ENTRY,
    )
