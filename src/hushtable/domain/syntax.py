"""The tables of a domain file, read into attributes and written back.

Promise: every key is known, every mistake is one `BadDomain` with the attribute's name, and
`attribute_of(table_of(attribute))` is the attribute again. Numbers may be text, so that they stay exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hushtable.domain.attributes import (
    AnyText,
    Attribute,
    Bins,
    Categories,
    Edges,
    Integers,
    Kind,
    Other,
    Rule,
    Times,
)
from hushtable.domain.category_files import read_categories
from hushtable.domain.kinds import as_exact, as_whole
from hushtable.domain.levels import CategoryLevel, Level, bin_levels, category_levels, time_levels
from hushtable.domain.origins import Origin
from hushtable.domain.reading import time_of_text
from hushtable.domain.times import UNITS
from hushtable.errors import BadDomain, shown

_ALLOWED = {
    "the domain": ("title", "counts", "reviewed", "attribute"),
    "an attribute": (
        "name",
        "column",
        "integers",
        "categories",
        "bins",
        "times",
        "any_text",
        "missing",
        "outside",
    ),
    "integers": ("low", "high"),
    "categories": ("file", "column", "label", "values", "labels", "levels"),
    "bins": ("start", "stop", "step", "edges", "levels"),
    "times": ("start", "stop", "every", "timezone", "levels"),
    "any_text": ("longest",),
    "missing": ("other",),
    "outside": ("other",),
}
_EXAMPLES = {
    "an attribute": '[[attribute]], then name = "age" and more',
    "integers": "integers = { low = 0, high = 99 }",
    "categories": 'categories = ["north", "south"], or { file = "regions.csv", column = "region" }',
    "bins": "bins = { start = 0, stop = 100, step = 5 }, or { edges = [0, 18, 65] }",
    "times": 'times = { start = "2024-01-01", stop = "2025-01-01", every = "1 day" }',
    "any_text": "any_text = { longest = 40 }",
    "missing": 'missing = "drop"',
    "outside": 'outside = "drop"',
}
_KINDS = ("integers", "categories", "bins", "times", "any_text")
_EVERY = re.compile(rf"([0-9]{{1,9}}) *({'|'.join(UNITS)})s?")


class Place(NamedTuple):
    """Where a domain file lies, and what was read there because it names it."""

    folder: Path
    read: list[Origin]


def domain_of(document: object, *, place: Place | None) -> dict[str, Any]:
    """Return the fields of a `Domain`; category files lie at `place`, and are refused if that is None."""
    table = _table(document, "the domain")
    attributes = table.get("attribute", [])
    if not isinstance(attributes, list) or not attributes:
        fact = "there is no [[attribute]]" if not attributes else "`attribute` is not a list of tables"
        raise BadDomain(fact, "Start each one with [[attribute]], in two pairs of brackets.")
    fields = {key: table[key] for key in ("title", "counts", "reviewed") if key in table}
    return fields | {"attributes": tuple(_numbered(attributes, place))}


def _numbered(tables: Iterable[object], place: Place | None) -> Iterable[Attribute]:
    """Return the attributes; an error names the attribute, or its number while it has no name."""
    for number, table in enumerate(tables, start=1):
        name = table.get("name") if isinstance(table, Mapping) else None
        try:
            yield attribute_of(table, place=place)
        except BadDomain as error:
            known = isinstance(name, str) and name != ""
            raise error.at(attribute=str(name) if known else f"number {number}") from None


def attribute_of(document: object, *, place: Place | None = None) -> Attribute:
    """Return the attribute that a table of a domain file describes."""
    if isinstance(document, Mapping) and "levels" in document:
        hint = "Write it inside, as in bins = { start = 0, stop = 100, step = 5, levels = [10, 20] }."
        raise BadDomain("`levels` stands beside the values", hint)
    table = _table(document, "an attribute")
    if "name" not in table:
        raise BadDomain("it has no `name`", 'Write name = "..." below [[attribute]].')
    kinds = [kind for kind in _KINDS if kind in table]
    if len(kinds) != 1:
        said = " and ".join(f"`{kind}`" for kind in kinds) or "none of them"
        raise BadDomain(f"it has {said}", f"Give exactly one of {', '.join(f'`{k}`' for k in _KINDS)}.")
    if table.get("column") == "":
        raise BadDomain("its `column` is empty", "Write the name of the data's column, or take it out.")
    values, levels = _values(kinds[0], table[kinds[0]], place)
    return Attribute(
        name=table["name"],
        column=table.get("column", ""),
        values=values,
        levels=levels,
        missing=_rule("missing", table.get("missing", "drop")),
        outside=_rule("outside", table.get("outside", "drop")),
    )


def _values(kind: str, said: object, place: Place | None) -> tuple[Kind, tuple[Level, ...]]:
    """Return the values that the entry `kind = said` declares, and their coarser levels."""
    if kind == "categories" and isinstance(said, list):
        return Categories(values=tuple(said)), ()
    if kind == "integers" and isinstance(said, Mapping) and "levels" in said:
        hint = (
            "Declare bins = { start = 0, stop = 100, step = 1, levels = [10] }: they hold whole numbers, too."
        )
        raise BadDomain("integers have no levels", hint)
    table = _table(said, kind)
    match kind:
        case "any_text":
            _need(table, kind, ("longest",))
            return AnyText(longest=as_whole(table["longest"], name="longest")), ()
        case "integers":
            _need(table, kind, ("low", "high"))
            return Integers(**{key: as_whole(table[key], name=key) for key in ("low", "high")}), ()
        case "categories":
            return _categories(table, place)
        case "bins":
            if "edges" in table:
                _need(table, kind, ("edges",))
                return Edges(edges=table["edges"]), ()
            _need(table, kind, ("start", "stop", "step"), ("levels",))
            bins = Bins(**{key: as_exact(table[key], name=key) for key in ("start", "stop", "step")})
            steps = [as_exact(step, name="levels") for step in _list(table, "[10, 20]")]
            return bins, bin_levels(bins, steps)
        case _:
            _need(table, kind, ("start", "stop", "every"), ("timezone", "levels"))
            every, unit = _step("every", table["every"])
            start, stop = (_clock(key, table[key]) for key in ("start", "stop"))
            zone = table.get("timezone", "UTC")
            times = Times(start=start, stop=stop, every=every, unit=unit, timezone=zone)
            longer = [_step("levels", step) for step in _list(table, '["1 hour", "1 day"]')]
            return times, time_levels(times, longer)


def _categories(table: Mapping[str, Any], place: Place | None) -> tuple[Categories, tuple[Level, ...]]:
    """Return categories from a file, or written out with their labels, and their levels."""
    levels = table.get("levels", {})
    if isinstance(levels, list) and all(isinstance(each, list) and len(each) == 2 for each in levels):
        pairs = levels
        levels = {name: said for name, said in pairs if isinstance(name, str)}
        if len(levels) != len(pairs):
            raise BadDomain(
                "two levels have the same name, or a level has none", "Give each a name of its own."
            )
    if not isinstance(levels, Mapping):
        hint = "Write { tract = ..., county = ... }, from fine to coarse."
        raise BadDomain(f"levels = {shown(levels)} is not a table of names", hint)
    if "file" not in table:
        _need(table, "categories", ("values",), ("labels", "levels"))
        values = Categories(values=table["values"], labels=table.get("labels"))
        return values, category_levels(values, levels)
    _need(table, "categories", ("file",), ("column", "label", "levels"))
    for key, value in table.items():
        if key != "levels" and (not isinstance(value, str) or not value):
            raise BadDomain(f"{key} = {shown(value)} is not text", f'Write {key} = "...".')
    for name, said in levels.items():
        if type(said) is not int and (not isinstance(said, str) or not said):
            hint = "Write the name of a column of the file, or how many first characters make the level."
            raise BadDomain(f"the level {shown(name)} = {shown(said)} is neither text nor a number", hint)
    if place is None:
        raise BadDomain("categories are in another file", "Write them out under `values` here.")
    columns = [said for said in levels.values() if isinstance(said, str)]
    values, further, origin = read_categories(
        place.folder, table["file"], column=table.get("column"), label=table.get("label"), further=columns
    )
    place.read.append(origin)
    texts = iter(further)
    declared = {name: said if isinstance(said, int) else next(texts) for name, said in levels.items()}
    return values, category_levels(values, declared)


def _list(table: Mapping[str, Any], example: str) -> list[Any]:
    """Return the steps of a table's levels, if it has any."""
    said = table.get("levels", [])
    if not isinstance(said, list):
        raise BadDomain(f"levels = {shown(said)} is not a list", f"Write levels = {example}.")
    return said


def _rule(about: str, said: object) -> Rule:
    """Return the rule that the entry `about = said` declares; the attribute checks it."""
    if isinstance(said, str):
        return said  # type: ignore[return-value]
    table = _table(said, about)
    _need(table, about, ("other",))
    if not isinstance(table["other"], str):
        raise BadDomain(f"other = {shown(table['other'])} is not text", 'Write { other = "unknown" }.')
    return Other(value=table["other"])


def _step(key: str, said: object) -> tuple[int, Literal["second", "month"]]:
    """Return the step that a text such as "15 minutes" names."""
    found = _EVERY.fullmatch(said) if isinstance(said, str) else None
    if found is None:
        hint = 'Write a number and a unit, such as "15 minutes", "1 day", "2 weeks", "1 month" or "1 year".'
        raise BadDomain(f"{key} = {shown(said)} is not a step of time", hint)
    length, unit = UNITS[found[2]]
    return int(found[1]) * length, unit


def _clock(key: str, said: object) -> datetime:
    """Return the wall-clock time that a text, or a date of TOML's own, names."""
    time = time_of_text(said) if isinstance(said, str) else said
    if isinstance(time, datetime):
        if time.tzinfo is not None:
            fact = f"{key} = {shown(str(said))} has an offset"
            raise BadDomain(fact, "Take it out; `timezone` says whose clock is meant.")
        return time
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day)
    fact = f"{key} = {shown(said)} is not a date or time"
    raise BadDomain(fact, 'Write "2024-01-31", "2024-01-31 06:00" or "2024-01-31T06:00:00".')


def _table(said: object, what: str) -> Mapping[str, Any]:
    """Return `said` if it is a table whose keys are all known."""
    if not isinstance(said, Mapping):
        raise BadDomain(f"{what} = {shown(said)} is not a table", f"Write {_EXAMPLES.get(what, 'TOML')}.")
    for key in said:
        if key not in _ALLOWED[what]:
            near = get_close_matches(str(key)[:100], _ALLOWED[what], n=1)
            guess = f"Did you mean `{near[0]}`? " if near else ""
            allowed = ", ".join(f"`{name}`" for name in _ALLOWED[what])
            raise BadDomain(f"{what} has no key {shown(key)}", f"{guess}Allowed are {allowed}.")
    return said


def _need(table: Mapping[str, Any], what: str, keys: Iterable[str], free: Iterable[str] = ()) -> None:
    """Raise unless the table has each of `keys`, and beside them only keys of `free`."""
    for key in keys:
        if key not in table:
            raise BadDomain(f"{what} has no `{key}`", f"Write {_EXAMPLES[what]}.")
    for key in table:
        if key not in (*keys, *free):
            beside = " and ".join(f"`{other}`" for other in keys)
            raise BadDomain(f"{what} has `{key}` beside {beside}", f"Write {_EXAMPLES[what]}.")


def table_of(attribute: Attribute, *, levels: bool = False) -> dict[str, Any]:
    """Return the table that describes an attribute, with categories written out and numbers as text."""
    table: dict[str, Any] = {"name": attribute.name}
    if attribute.column != attribute.name:
        table["column"] = attribute.column
    table |= values_table(attribute.values)
    if isinstance(attribute.values, Categories) and attribute.values.labels is not None:
        table["categories"] = {"values": table["categories"], "labels": list(attribute.values.labels)}
    if levels and attribute.levels:
        _add_levels(table, attribute)
    for about, rule in (("missing", attribute.missing), ("outside", attribute.outside)):
        if rule != "drop":
            table[about] = {"other": rule.value} if isinstance(rule, Other) else rule
    return table


def _add_levels(table: dict[str, Any], attribute: Attribute) -> None:
    """Put the levels of an attribute into the table that describes it."""
    kind = next(kind for kind in _KINDS if kind in table)
    if kind != "categories":
        table[kind]["levels"] = [level.name for level in attribute.levels]
        return
    if isinstance(table[kind], list):
        table[kind] = {"values": table[kind]}
    assert isinstance(attribute.values, Categories)
    # A list, from fine to coarse: JSON does not keep the order of names.
    table[kind]["levels"] = [
        [level.name, _coarser(attribute.values.values, level)]
        for level in attribute.levels
        if isinstance(level, CategoryLevel)
    ]


def _coarser(values: Sequence[str], level: CategoryLevel) -> list[str] | int:
    """Return a level as a domain file says it: how many first characters, or one text for each value."""
    texts = [level.values.values[code] for code in level.codes.tolist()]
    length = len(texts[0])
    starts = length and all(value[:length] == text for value, text in zip(values, texts, strict=True))
    return length if starts and all(len(text) == length for text in texts) else texts


def values_table(values: Kind) -> dict[str, Any]:
    """Return the entry that declares the values: what defines the cells, without labels."""
    match values:
        case Integers(low=low, high=high):
            return {"integers": {"low": str(low), "high": str(high)}}
        case Categories():
            return {"categories": list(values.values)}
        case Bins(start=start, stop=stop, step=step):
            return {"bins": {"start": str(start), "stop": str(stop), "step": str(step)}}
        case Edges(edges=edges):
            return {"bins": {"edges": [str(edge) for edge in edges]}}
        case AnyText(longest=longest):
            return {"any_text": {"longest": longest}}
        case Times(start=first, stop=end, timezone=zone):
            clock = {"start": str(first), "stop": str(end)}
            return {"times": clock | {"every": values.step_text, "timezone": zone}}
