"""Category lists in files of their own: CSV, TSV, either with gzip, and Parquet.

Promise: values are the file's text to the letter, zeros and spaces in front included, in the file's order.
Nothing is guessed: an empty field, a number where text belongs or a row of another length is an error. The
file lies beside the domain file (`origins`), and no more is read of it than 1 GiB, unpacked.
Cost: about half a second for 10^6 values; pyarrow is loaded for Parquet only.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from hushtable.domain.kinds import Categories
from hushtable.domain.origins import LARGEST_FILE, Origin, opened_beside
from hushtable.errors import BadDomain, shown

_LONGEST_LINE = 1 << 24
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}


class Listed(NamedTuple):
    """The categories of a file, and what its further columns say of each of them."""

    values: Categories
    further: list[list[str]]
    origin: Origin


def read_categories(
    folder: Path,
    name: str,
    *,
    column: str | None = None,
    label: str | None = None,
    further: Sequence[str] = (),
) -> Listed:
    """Return the categories in `column` of a file, with labels from column `label`, and further columns.

    The file is in `folder`, or in one below. `column` may be left out where it has one column. An empty label
    means the value itself.
    """
    path = folder / name
    with _said_in_our_words(path):
        opened, origin = opened_beside(folder, name)
        with opened as file:
            columns = _parquet_columns if path.name.lower().endswith(".parquet") else _text_columns
            (values, *rest), labels = columns(file, path, column, label, further)
    if label is None:
        return Listed(Categories(values=tuple(values)), rest, origin)
    titles = tuple(title or value for value, title in zip(values, labels, strict=True))
    return Listed(Categories(values=tuple(values), labels=titles), rest, origin)


def _text_columns(
    file: BinaryIO, path: Path, column: str | None, label: str | None, further: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """Return the values with the further columns, and the labels, of a CSV or TSV file."""
    ending = next((end for end in _DELIMITERS if path.name.lower().endswith(end)), None)
    if ending is None:
        hint = f"Give a file that ends in {', '.join(_DELIMITERS)} or .parquet."
        raise BadDomain(f"the kind of the file {shown(path.name)} is unknown", hint)
    labels: list[str] = []
    with _open_text(file, path) as text:
        rows = csv.reader(_lines(text, path), delimiter=_DELIMITERS[ending], strict=True)
        header = next(rows, [])
        label_place, *places = _places(path, header, column, label, further)
        found: list[list[str]] = [[] for _ in places]
        filled = list(zip(found, places, strict=True))
        for row in rows:
            if len(row) != len(header):
                if not row:  # a blank line
                    continue
                fact = f"line {rows.line_num} of {shown(path.name)} has {len(row)} fields"
                raise BadDomain(
                    f"{fact}, the first line {len(header)}",
                    "Put quotes around text that holds a separator or a quote.",
                )
            for texts, place in filled:
                if not row[place]:
                    what = (
                        "the category" if texts is found[0] else f"the level's column {shown(header[place])}"
                    )
                    fact = f"line {rows.line_num} of {shown(path.name)} has no value for {what}"
                    raise BadDomain(fact, "Give it a text or take the line out.")
                texts.append(row[place])
            labels.append(row[label_place])
    return found, labels


def _parquet_columns(
    file: BinaryIO, path: Path, column: str | None, label: str | None, further: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """Return the values with the further columns, and the labels, of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as rows:
            header = rows.schema_arrow.names
            labelled, *filled = (header[place] for place in _places(path, header, column, label, further))
            names = list(dict.fromkeys([*filled, labelled]))
            _check_size(path, rows.metadata.num_rows)
            # As a dictionary, a text that comes often takes its room once.
            table = pq.ParquetFile(file, read_dictionary=names).read(columns=names)
    except pa.ArrowException:
        fact = f"the file {shown(path.name)} is not readable as Parquet"
        raise BadDomain(fact, "Check how it was written.") from None
    found: dict[str, list[str]] = {}
    for name in names:
        texts = table[name]
        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            fact = f"the column {shown(name)} of {shown(path.name)} holds {kind}, not text"
            raise BadDomain(fact, 'Store it as text: as a number, "06001" loses its leading zero.')
        if texts.null_count and name in filled:
            fact = f"the column {shown(name)} of {shown(path.name)} has {texts.null_count} nulls"
            raise BadDomain(fact, "Give each row a text or take it out.")
        _check_size(path, _length(texts))
        found[name] = texts.to_pylist()
    return [found[name] for name in filled], found[labelled]


def _length(texts: Any) -> int:
    """Return how many bytes a column of text has, each value by itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = 0
    for chunk in texts.chunks:
        each = pc.binary_length(chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk)
        if pa.types.is_dictionary(chunk.type):
            each = each.take(chunk.indices)
        length += pc.sum(each.cast(pa.int64())).as_py() or 0
    return length


def _check_size(path: Path, size: int) -> None:
    """Raise where a file holds more than a list of categories can."""
    if size > LARGEST_FILE:
        fact = f"the file {shown(path.name)} is larger than 1 GiB when it is unpacked"
        raise BadDomain(fact, "Name a file that holds nothing but a list of categories.")


def _places(
    path: Path, header: Sequence[str], column: str | None, label: str | None, further: Sequence[str]
) -> list[int]:
    """Return the places of the label's column (the value's, if there is none), the value's and the others."""
    names = ", ".join(map(shown, header[:20])) or "none"
    if column is None:
        if len(header) != 1:
            fact = f"the file {shown(path.name)} has {len(header)} columns and none is chosen"
            raise BadDomain(fact, f"Add `column`; the file has: {names}.")
        column = header[0]
    wanted = [column if label is None else label, column, *further]
    for name in wanted[1:] + wanted[:1]:
        if list(header).count(name) != 1:
            fact = f"the file {shown(path.name)} does not have one column {shown(name)}"
            raise BadDomain(fact, f"It has: {names}.")
    return [list(header).index(name) for name in wanted]


def _open_text(file: BinaryIO, path: Path) -> IO[str]:
    """Open a text file, or one inside gzip; a byte-order mark is not part of the text."""
    if path.name.lower().endswith(".gz"):
        import gzip

        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return TextIOWrapper(file, encoding="utf-8-sig", newline="")


def _lines(text: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a file, of bounded length, up to a bounded size."""
    size = 0
    while line := text.readline(_LONGEST_LINE):
        size += len(line)
        _check_size(path, size)
        if len(line) == _LONGEST_LINE and line[-1] not in "\r\n":
            fact = f"the file {shown(path.name)} has a line of more than 16 million characters"
            raise BadDomain(fact, "Name a list of categories, one on each line.")
        yield line


@contextmanager
def _said_in_our_words(path: Path) -> Iterator[None]:
    """Turn whatever a reader raises into a `BadDomain` that names the file."""
    try:
        yield
    except FileNotFoundError:
        fact = f"there is no file {shown(str(path))}"
        raise BadDomain(fact, "Paths of category files start at the domain file's folder.") from None
    except UnicodeDecodeError:
        raise BadDomain(f"the file {shown(path.name)} is not UTF-8", "Save it as UTF-8.") from None
    except csv.Error as error:
        raise BadDomain(
            f"the file {shown(path.name)} cannot be read as CSV: {error}", "Check its quotes."
        ) from None
    except (OSError, EOFError, zlib.error):
        fact = f"the file {shown(path.name)} cannot be read"
        raise BadDomain(fact, "Check its permissions, and that it is complete.") from None
