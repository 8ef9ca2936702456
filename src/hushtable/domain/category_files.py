"""Category lists in files of their own: CSV, TSV, either with gzip, and Parquet.

Promise: values are the file's text to the letter, zeros and spaces in front included, in the file's order.
Nothing is guessed: an empty field, a number where text belongs or a row of another length is an error.
Cost: about half a second for 10^6 values; pyarrow is loaded for Parquet only.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hushtable.domain.kinds import Categories
from hushtable.errors import BadDomain, shown

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}


def read_categories(path: Path, *, column: str | None = None, label: str | None = None) -> Categories:
    """Return the categories in `column` of a file, with labels from column `label`.

    `column` may be left out where the file has one column. An empty label means the value itself.
    """
    with _said_in_our_words(path):
        if path.name.lower().endswith(".parquet"):
            values, labels = _parquet_columns(path, column, label)
        else:
            values, labels = _text_columns(path, column, label)
    if label is None:
        return Categories(values=tuple(values))
    titles = tuple(title or value for value, title in zip(values, labels, strict=True))
    return Categories(values=tuple(values), labels=titles)


def _text_columns(path: Path, column: str | None, label: str | None) -> tuple[list[str], list[str]]:
    """Return the values and labels of a CSV or TSV file."""
    ending = next((end for end in _DELIMITERS if path.name.lower().endswith(end)), None)
    if ending is None:
        hint = f"Give a file that ends in {', '.join(_DELIMITERS)} or .parquet."
        raise BadDomain(f"the kind of the file {shown(path.name)} is unknown", hint)
    values: list[str] = []
    labels: list[str] = []
    with _open_text(path) as lines:
        rows = csv.reader(lines, delimiter=_DELIMITERS[ending], strict=True)
        header = next(rows, [])
        place, label_place = _places(path, header, column, label)
        for row in rows:
            if len(row) != len(header):
                if not row:  # a blank line
                    continue
                fact = f"line {rows.line_num} of {shown(path.name)} has {len(row)} fields"
                raise BadDomain(f"{fact}, the first line {len(header)}", "Put quotes around odd text.")
            if not row[place]:
                fact = f"line {rows.line_num} of {shown(path.name)} has no value for the category"
                raise BadDomain(fact, "Give it a text or take the line out.")
            values.append(row[place])
            labels.append(row[label_place])
    return values, labels


def _parquet_columns(path: Path, column: str | None, label: str | None) -> tuple[list[str], list[str]]:
    """Return the values and labels of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            header = file.schema_arrow.names
            wanted = [header[place] for place in _places(path, header, column, label)]
            table = file.read(columns=wanted)
    except pa.ArrowException:
        fact = f"the file {shown(path.name)} is not readable as Parquet"
        raise BadDomain(fact, "Check how it was written.") from None
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(wanted):
        texts = table[name]
        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            fact = f"the column {shown(name)} of {shown(path.name)} holds {kind}, not text"
            raise BadDomain(fact, 'Store it as text: as a number, "06001" loses its leading zero.')
        if texts.null_count and name == wanted[0]:
            fact = f"the column {shown(name)} of {shown(path.name)} has {texts.null_count} nulls"
            raise BadDomain(fact, "Give each row a text or take it out.")
        found[name] = texts.to_pylist()
    return found[wanted[0]], found[wanted[1]]


def _places(path: Path, header: Sequence[str], column: str | None, label: str | None) -> tuple[int, int]:
    """Return the places of the value's column and of the label's, which is the same if there is none."""
    names = ", ".join(map(shown, header[:20])) or "none"
    if column is None:
        if len(header) != 1:
            fact = f"the file {shown(path.name)} has {len(header)} columns and none is chosen"
            raise BadDomain(fact, f"Add `column`; the file has: {names}.")
        column = header[0]
    for name in (column, column if label is None else label):
        if list(header).count(name) != 1:
            fact = f"the file {shown(path.name)} does not have one column {shown(name)}"
            raise BadDomain(fact, f"It has: {names}.")
    return list(header).index(column), list(header).index(column if label is None else label)


def _open_text(path: Path) -> IO[str]:
    """Open a text file, or one inside gzip; a byte-order mark is not part of the text."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


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
        raise BadDomain(f"the file {shown(path.name)} is odd: {error}", "Check its quotes.") from None
    except (OSError, EOFError, zlib.error):
        fact = f"the file {shown(path.name)} cannot be read"
        raise BadDomain(fact, "Check its permissions, and that it is complete.") from None
