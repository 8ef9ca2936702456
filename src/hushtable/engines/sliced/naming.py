"""How a name that is used finds its column: every name stands for exactly one column.

Promise: a name stands for exactly one column of what it is looked up in. Upper and lower case make no
difference, so two columns whose names differ in nothing else are refused wherever rows come in: in a file, in
the names of its folders, in an object of Python, in the result of a query. Which of them were meant would be
a guess, and a wrong guess bounds the wrong column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from hushtable.errors import BadData, shown

_T = TypeVar("_T")


def folded(name: str) -> str:
    """Return what names are compared by. Engines fold fewer letters, so none finds a match that this misses.

    >>> folded("Person_ID") == folded("person_id")
    True
    """
    return name.casefold()


def found(wanted: str, columns: Iterable[str]) -> str | None:
    """Return the data's own spelling of a column, or None if there is none.

    >>> found("ID", {"id": "BIGINT", "age": "BIGINT"})
    'id'
    """
    same = [name for name in columns if folded(name) == folded(wanted)]
    if len(same) > 1:
        raise _several(wanted, "the data have")
    return same[0] if same else None


def check_distinct(names: Iterable[str], where: str) -> None:
    """Raise if two names differ in case at most; `where` says whose they are, as in "the data have"."""
    seen: set[str] = set()
    for name in names:
        if folded(name) in seen:
            raise _several(name, where)
        seen.add(folded(name))


def by_folded(columns: Mapping[str, _T]) -> dict[str, _T]:
    """Return columns by what their names are compared by."""
    return {folded(name): value for name, value in columns.items()}


def _several(name: str, where: str) -> BadData:
    """Return the error of a name that several columns have."""
    hint = "Rename all but one of them; upper and lower case make no difference."
    return BadData(f"{where} several columns named {shown(name)}", hint)
