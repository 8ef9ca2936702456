"""Files that are read together agree on their columns, and nothing is lost where their types differ.

Promise: a column that is used is in all files or in none, and its values are the same whichever files lie
beside: types are brought together only where each value of each keeps its own place (whole numbers of several
widths, floats of two, text). All else is refused, since a rounded id would make one person of two.
Folders such as `year=2024` add columns, and never take the place of a column in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hushtable.engines.files import said
from hushtable.engines.naming import by_folded, check_distinct, folded
from hushtable.engines.reading import form_of, type_text
from hushtable.errors import BadData, shown

_NOTHING = '"NULL"'  # the type of a column without any value


def check_agreement(columns: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> bool:
    """Raise unless files have the same columns of `names`, of types that can be read together without loss.

    Returns whether all these types are equal. `columns` has the columns and types of each file.
    """
    equal = True
    types = {file: by_folded(found) for file, found in columns.items()}
    for name in dict.fromkeys(map(folded, names)):
        there = {file: found[name] for file, found in types.items() if name in found}
        if not there:
            continue
        example = next((file for file in there if there[file] != _NOTHING), next(iter(there)))
        if len(there) < len(columns):
            without = next(file for file in columns if file not in there)
            hint = "Files that are counted together need the same columns: mend it, or leave it out."
            raise BadData(f"{said(without)} has no column {shown(name)}, which {said(example)} has", hint)
        for file, kind in there.items():
            if kind != _NOTHING and likeness(kind) != likeness(there[example]):
                raise BadData(
                    f"column {shown(name)} holds {type_text(kind)} in {said(file)}, "
                    f"but {type_text(there[example])} in {said(example)}"
                    + (" of another precision" if type_text(kind) == type_text(there[example]) else ""),
                    "Write it with one type in all files.",
                )
            equal = equal and kind == there[example]
    return equal


def likeness(sql_type: str) -> str:
    """Return what types have in common that can be read together without loss.

    >>> likeness("UBIGINT") == likeness("TINYINT"), likeness("DECIMAL(9,2)") == likeness("DECIMAL(9,4)")
    (True, False)
    """
    form = form_of(sql_type)
    if form in ("whole", "large"):
        return "whole numbers"
    return form if form in ("float", "text") else sql_type


def folder_columns(file: str) -> list[tuple[str, str]]:
    """Return the columns that the names of a file's folders add, with their values as they are written.

    DuckDB takes a folder for one if there is exactly one `=` in its name, and something before.

    >>> folder_columns("trips/year=2024/zone=a/part-0.parquet")
    [('year', '2024'), ('zone', 'a')]
    """
    parts = [part.split("=") for part in Path(file).parts[:-1]]
    return [(part[0], part[1]) for part in parts if len(part) == 2 and part[0]]


def check_folders(files: Iterable[str], columns: Mapping[str, Iterable[str]]) -> bool:
    """Raise where folders name a column that a file has, or not the same ones; return whether they name any.

    `columns` has the names of the columns of each file, whose values a folder's would replace.
    """
    first: tuple[str, list[str]] | None = None
    for file in files:
        names = [name for name, _ in folder_columns(file)]
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
