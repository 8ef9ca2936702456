"""Columns in the names of folders, as in year=2024/month=01.

Promise: they are the same for all files that are read together, each once, and never take the place of a
column of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.paths import said
from hushtable.errors import BadData, shown

_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(file: str, names: Iterable[str]) -> dict[str, str | None]:
    """Return the columns among `names` that the folders of a file name, and their values.

    >>> folder_columns("trips/year=2024/month=__HIVE_DEFAULT_PARTITION__/a.csv", ["Year", "month", "day"])
    {'Year': '2024', 'month': None}
    """
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(folded(name), name)
    try:
        return {
            spelled[folded(name)]: None if value == _NOTHING else unquote(value, errors="strict")
            for name, value in _parts(file)
            if folded(name) in spelled
        }
    except UnicodeDecodeError:
        pass  # raised below: the error quotes the folder
    raise BadData(f"the folders of {said(file)} hold a value that is not UTF-8", "Rename them.")


def check_folders(files: Iterable[str], columns: Mapping[str, Iterable[str]]) -> bool:
    """Raise where folders name a column that a file has, or not the same ones; return whether they name any.

    `columns` has the names of the columns of each file, whose values a folder's would replace.
    """
    first: tuple[str, list[str]] | None = None
    for file in files:
        names = [name for name, _ in _parts(file)]
        if names and "\\" in file:  # which ends the name of a folder for DuckDB
            raise BadData(f"the path of {said(file)} has a backslash in it", "Rename the folder or the file.")
        check_distinct(names, f"the folders of {said(file)} name")
        for name in columns.get(file, ()):
            if folded(name) in map(folded, names):
                fact = f"{said(file)} has a column {shown(name)}, and lies in a folder that names it too"
                raise BadData(fact, "Rename the folder, or leave the column out of the file.")
        if first is not None and first[1] != names:
            fact = f"the folders of {said(file)} and {said(first[0])} do not name the same columns"
            raise BadData(fact, "Give files of one layout, as in year=2024/month=1, at a time.")
        first = first or (file, names)
    return first is not None and bool(first[1])


def _parts(file: str) -> list[tuple[str, str]]:
    """Return the names and values in the names of folders, as DuckDB reads them: with one `=`, not first."""
    parts = [part.split("=") for part in Path(file).parts[:-1]]
    return [(part[0], part[1]) for part in parts if len(part) == 2 and part[0]]
