"""Files that are read together agree on their columns, and nothing is lost where their types differ.

Promise: a column that is used is in all files or in none, and its values are the same whichever files lie
beside: types are brought together only where each value of each keeps its own place (whole numbers of several
widths, floats of two, text). All else is refused, since a rounded id would make one person of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushtable.engines.sliced.naming import by_folded, folded
from hushtable.engines.sliced.paths import said
from hushtable.engines.sliced.reading import form_of, type_text
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
            hint = "Files that are counted together need the same columns. Correct the file, or leave it out."
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
