"""Conditions on a release's cells, from names and values or from SQL.

Promise: what is selected is a set of whole cells, each in it or not; whatever could mean something else
is a `BadQuery` that says what to write.
Cost: a few microseconds a value, and that of `selection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hushtable.conditions.formulas import Formula, Leaf, all_of
from hushtable.conditions.naming import item_named
from hushtable.conditions.nesting import own_codes
from hushtable.conditions.ranges import Runs, run, runs_of
from hushtable.conditions.selection import Selection
from hushtable.conditions.values import bound_of, code_of, codes_of
from hushtable.domain.attributes import AnyText, Attribute, Categories
from hushtable.domain.domain import Domain
from hushtable.domain.items import attribute_at
from hushtable.domain.wording import is_ordered
from hushtable.errors import BadQuery, shown

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Between:
    """A half-open range: low <= value < high. None on a side means no bound there."""

    low: object
    high: object

    def __repr__(self) -> str:
        return f"between({self.low!r}, {self.high!r})"


def between(low: object, high: object, /) -> Between:
    """Return the half-open range low <= value < high, for a condition on one attribute.

    None on a side means no bound there. Bounds are edges of bins, starts of times, or integers.

    >>> import hushtable as ht
    >>> ht.between(30, 45)
    between(30, 45)
    """
    return Between(low, high)


def selected(
    domain: Domain, where: Mapping[str, object] | str | None, values: Mapping[str, object] = _NOTHING
) -> Selection:
    """Return the cells for which `where` and all of `values` hold.

    ======================================  =======================================================
    where                                   the cells
    ======================================  =======================================================
    None                                    all
    a mapping of names to values            each attribute, or attribute at a level, has its value, or
                                            one of a list, or lies in `between(low, high)`
    text                                    those for which the SQL condition is true
    ======================================  =======================================================
    """
    parts: list[Formula] = []
    if isinstance(where, str):
        from hushtable.conditions.sql import formula_of

        parts.append(formula_of(domain, where))
    elif isinstance(where, Mapping):
        parts += _leaves(domain, where)
    elif where is not None:
        hint = "Pass a mapping such as {'age': 30}, or SQL such as \"age = 30\"."
        raise BadQuery(f"the condition {shown(where)} is neither a mapping nor text", hint)
    parts += _leaves(domain, values)
    return Selection(domain, all_of(parts, domain))


def _leaves(domain: Domain, values: Mapping[str, object]) -> list[Formula]:
    leaves: list[Formula] = []
    for name, value in values.items():
        item = item_named(domain, name)
        leaves.append(Leaf(item.place, own_codes(domain, item, _codes(attribute_at(domain, item), value))))
    return leaves


def _codes(attribute: Attribute, value: Any) -> Runs:
    """Return the codes that one value, several, or a range name."""
    if isinstance(value, Between):
        return _range(attribute, value)
    several = _several(attribute, value)
    if several is not None:
        return runs_of(codes_of(attribute, several))
    code = code_of(attribute, value)
    return run(code, code + 1)


def _range(attribute: Attribute, bounds: Between) -> Runs:
    if isinstance(attribute.values, Categories | AnyText):
        bound_of(attribute, bounds.low)  # which says that they have no ranges
    low = 0 if bounds.low is None else bound_of(attribute, bounds.low)
    high = attribute.size if bounds.high is None else bound_of(attribute, bounds.high)
    if low > high:
        hint = "Give the lower one first; the upper one is not included."
        raise BadQuery(f"{attribute.name} has the bounds of {bounds!r} the wrong way round", hint)
    return run(low, high)


def _several(attribute: Attribute, value: Any) -> Any:
    """Return the values of a list or an array, or None for anything else."""
    if isinstance(value, tuple) and len(value) == 2 and is_ordered(attribute.values):
        fact = f"{attribute.name} = {shown(value)} could mean a range or two values"
        low, high = (repr(each) for each in value)
        hint = f"Write ht.between({low}, {high}) for the range without its end, or [{low}, {high}] for two."
        raise BadQuery(fact, hint)
    if isinstance(value, list | tuple | range):
        return value
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            fact = f"{attribute.name} is given an array of {value.ndim} dimensions"
            raise BadQuery(fact, "Pass one value or a list of values.")
        return value
    # Columns of Arrow, pandas and Polars, without importing any of them.
    for name in ("to_pylist", "to_list"):
        if not isinstance(value, type) and callable(getattr(value, name, None)):
            return getattr(value, name)()
    return None
