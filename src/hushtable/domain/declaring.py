"""The values of an attribute, declared in Python: `ht.integers`, `ht.categories`, `ht.bins`, `ht.times`
and `ht.any_text`.

Promise: each says what an entry of a domain file says, in the same words and with the same checks; a domain
that is built of them equals the one that the file declares.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

from hushtable.domain.attributes import Attribute
from hushtable.domain.origins import Origin
from hushtable.domain.syntax import Place, attribute_of
from hushtable.errors import BadDomain, shown
from hushtable.laws.rationals import Rational

RuleText: TypeAlias = str | Mapping[str, str]
_UNNAMED = "values"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Declared:
    """Values and rules of an attribute that gets its name from the domain that it becomes part of."""

    attribute: Attribute
    column: str | None = None
    origins: tuple[Origin, ...] = field(default=(), compare=False)

    def named(self, name: str) -> Attribute:
        """Return the attribute of this name; without a column of its own, it reads the one of that name."""
        return replace(self.attribute, name=name, column=self.column or name)

    def __repr__(self) -> str:
        return repr(self.attribute.values)


def integers(
    low: int,
    high: int,
    /,
    *,
    column: str | None = None,
    missing: RuleText = "drop",
    outside: RuleText = "drop",
) -> Declared:
    """Declare whole numbers from `low` to `high`, both included, as values of an attribute.

    `column` is the data's own name, where it is another. `missing` ("drop", "error") and `outside` ("drop",
    "error", "clamp") say what becomes of rows without such a value.

    >>> import hushtable as ht
    >>> ht.Domain(age=ht.integers(0, 120, outside="clamp"))
    Domain(age: 121, cells_total=121)
    """
    return _declared("integers", {"low": low, "high": high}, column, missing, outside)


def categories(
    values: Iterable[str] | Mapping[str, str] | None = None,
    /,
    *,
    file: str | os.PathLike[str] | None = None,
    codes: str | None = None,
    labels: Sequence[str] | str | None = None,
    levels: Mapping[str, Sequence[str] | int | str] | None = None,
    column: str | None = None,
    missing: RuleText = "drop",
    outside: RuleText = "drop",
) -> Declared:
    """Declare texts as values of an attribute: a list, a dict of codes and labels, or a column of a file.

    =====================  ====================================================================
    argument               meaning
    =====================  ====================================================================
    `values`               the texts, in order; or {"06001": "Alameda", ...}, with labels
    `file`                 a CSV or Parquet file that lists them, in its column `codes`
    `labels`               a list of labels; of a file, the name of its column of labels
    `levels`               coarser values by name, from fine to coarse: {"tract": 11}, the first 11
                           characters; a list, one for each value; of a file, one of its columns
    `missing`, `outside`   "drop", "error", or {"other": "unknown"}: a category of their own
    `column`               the data's own name, where it is another
    =====================  ====================================================================

    >>> import hushtable as ht
    >>> ht.Domain(home=ht.categories(["north", "south"], outside={"other": "elsewhere"}))
    Domain(home: 3, cells_total=3)
    """
    table: dict[str, Any] = {}
    if (values is None) == (file is None):
        raise BadDomain("categories are given by a list or by a file", 'Write ht.categories(["a", "b"]).')
    if levels is not None:
        table["levels"] = {name: _list(each) for name, each in levels.items()}
    if file is not None:
        path = Path(os.path.realpath(file))
        table |= {"file": path.name}
        table |= {key: each for key, each in (("column", codes), ("label", labels)) if each is not None}
        return _declared("categories", table, column, missing, outside, folder=path.parent)
    if codes is not None:
        raise BadDomain("`codes` names a column of a file", "Give `file`, or leave `codes` out.")
    if isinstance(values, Mapping):
        if labels is not None:
            raise BadDomain("labels are given twice", "Give a list of values, or leave `labels` out.")
        table |= {"values": list(values), "labels": list(values.values())}
    else:
        table["values"] = _list(values)
    if labels is not None:
        table["labels"] = _list(labels)
    return _declared("categories", table, column, missing, outside)


def bins(
    start: Rational | None = None,
    stop: Rational | None = None,
    /,
    *,
    step: Rational | None = None,
    edges: Sequence[Rational] | None = None,
    levels: Sequence[Rational] | None = None,
    column: str | None = None,
    missing: RuleText = "drop",
    outside: RuleText = "drop",
) -> Declared:
    """Declare half-open bins of numbers as values of an attribute: of one width, or between `edges`.

    `levels` are wider steps, from fine to coarse. Numbers are exact: 0.1 means 1/10. The rules are those of
    `integers`.

    >>> import hushtable as ht
    >>> ht.Domain(age=ht.bins(0, 100, step=5, levels=[10, 50]), income=ht.bins(edges=[0, 20_000, 100_000]))
    Domain(age: 20, income: 2, cells_total=40)
    """
    given = {"start": start, "stop": stop, "step": step}
    if edges is not None:
        if any(each is not None for each in (*given.values(), levels)):
            raise BadDomain(
                "bins are declared by edges and by another setting", "Write ht.bins(edges=[0, 18, 65])."
            )
        return _declared("bins", {"edges": _list(edges)}, column, missing, outside)
    if None in given.values():
        fact = f"bins need {' and '.join(f'`{name}`' for name, each in given.items() if each is None)}"
        raise BadDomain(fact, "Write ht.bins(0, 100, step=5), or ht.bins(edges=[0, 18, 65]).")
    wider = {} if levels is None else {"levels": _list(levels)}
    return _declared("bins", given | wider, column, missing, outside)


def times(
    start: str | date,
    stop: str | date,
    /,
    *,
    every: str,
    timezone: str = "UTC",
    levels: Sequence[str] | None = None,
    column: str | None = None,
    missing: RuleText = "drop",
    outside: RuleText = "drop",
) -> Declared:
    """Declare half-open intervals of time as values of an attribute, up to `stop`.

    `every` is a number and a unit, such as "15 minutes", "1 day" or "1 month"; `levels` are longer ones, from
    fine to coarse. Times are those of a clock in `timezone`. The rules are those of `integers`.

    >>> import hushtable as ht
    >>> ht.Domain(day=ht.times("2024-01-01", "2025-01-01", every="1 day", levels=["1 month"]))
    Domain(day: 366, cells_total=366)
    """
    table = {"start": start, "stop": stop, "every": every, "timezone": timezone}
    longer = {} if levels is None else {"levels": _list(levels)}
    return _declared("times", table | longer, column, missing, outside)


def any_text(
    *,
    longest: int,
    column: str | None = None,
    missing: RuleText = "drop",
    outside: RuleText = "drop",
) -> Declared:
    """Declare any text of up to `longest` characters as a value: search words, titles, free codes.

    Use it for values that nobody can list in advance. Such a domain needs an epsilon and a delta, and noise
    that shows only what many people have in common. Texts are kept and compared as they are stored. Longer
    ones are `outside`; the rules are those of `categories`.

    >>> import hushtable as ht
    >>> ht.Domain(word=ht.any_text(longest=40), day=ht.integers(1, 31))
    Domain(word: any text, day: 31, cells not limited)
    """
    return _declared("any_text", {"longest": longest}, column, missing, outside)


def _declared(
    kind: str,
    said: Mapping[str, Any],
    column: str | None,
    missing: RuleText,
    outside: RuleText,
    *,
    folder: Path | None = None,
) -> Declared:
    """Return what an entry `kind = said` of a domain file declares, with its rules."""
    name: object = column
    if column is not None and (not isinstance(name, str) or not name):
        raise BadDomain(f"column = {shown(column)} is not text", "Write the name of the data's column.")
    place = None if folder is None else Place(folder, [])
    entry = {"name": _UNNAMED, kind: said, "missing": missing, "outside": outside}
    attribute = attribute_of(entry, place=place)
    return Declared(attribute=attribute, column=column, origins=() if place is None else tuple(place.read))


def _list(values: object) -> Any:
    """Return the values of anything that lists them, be it an array or a column of some data frame."""
    for name in ("to_pylist", "tolist", "to_list"):
        if callable(getattr(values, name, None)) and not isinstance(values, type):
            return getattr(values, name)()
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return list(values)
    return values  # which is refused where it is read
