"""Conditions in SQL, as formulas over the codes of single attributes.

Promise: a cell is selected exactly where DuckDB finds the condition true on the cell's row of values; a
condition that would cut a bin in two, or that ties two attributes together, is a `BadQuery` that says what to
write. Unlike in DuckDB, = and IN refuse values that the domain does not have: most often they are slips.
Cost: parsing, and for expressions other than comparisons one evaluation over all values of the attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from hushtable.conditions.expressions import Constant, Moment, constant, parsed, truth_of
from hushtable.conditions.formulas import FALSE, TRUE, Formula, Leaf, all_of, any_of
from hushtable.conditions.guard.expressions import Expression
from hushtable.conditions.guard.texts import in_one_line
from hushtable.conditions.naming import item_named
from hushtable.conditions.nesting import LARGEST_TRIED, own_codes
from hushtable.conditions.ranges import Runs, complement, intersection, run, runs_of, runs_where, union
from hushtable.conditions.values import bound_of, code_of, codes_of, edge_text
from hushtable.domain.attributes import AnyText, Attribute, Bins, Categories, Edges, Integers, Times
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, label_of
from hushtable.errors import BadQuery, shown

LARGEST_EVALUATED = LARGEST_TRIED

_SIGNS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "<>",
    "COMPARE_NOT_DISTINCT_FROM": "=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NO_CODES = run(0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Truth:
    """Where a condition on one attribute is true and where it is false; elsewhere it is NULL."""

    true: Runs
    false: Runs


def formula_of(domain: Domain, text: str) -> Formula:
    """Return the cells for which an SQL condition is true."""
    try:
        return _formula(domain, parsed(text), negated=False)
    except RecursionError:
        pass
    raise BadQuery("the condition is nested too deep", "Write it with fewer levels of brackets and NOT.")


def _formula(domain: Domain, tree: Expression, *, negated: bool) -> Formula:
    """Return where a condition is true, or where it is false.

    NOT is handed down to the conditions on one attribute, which know both; so NULL needs no place here.
    """
    if tree.kind == "OPERATOR_NOT":
        return _formula(domain, tree.parts[0], negated=not negated)
    if tree.kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
        parts = [_formula(domain, part, negated=negated) for part in tree.parts]
        both = (tree.kind == "CONJUNCTION_AND") is not negated
        return all_of(parts, domain) if both else any_of(parts, domain)
    items = {_item(domain, path) for path in tree.columns}
    if not items:
        return _fixed(tree, negated=negated)
    if len(items) > 1:
        _refuse_two(domain, sorted(items))
    (item,) = items
    found = _truth(attribute_at(domain, item), tree)
    return Leaf(item.place, own_codes(domain, item, found.false if negated else found.true))


def _item(domain: Domain, path: tuple[str, ...]) -> Item:
    """Return the attribute that a column names, or the one at a level."""
    if len(path) > 1:
        fact = f"the condition uses {in_one_line('.'.join(path))}, a name with a dot"
        raise BadQuery(
            fact, "Write only the attribute's name, and put it in double quotes if it holds a dot."
        )
    return item_named(domain, path[0], folded=True)


def _refuse_two(domain: Domain, items: list[Item]) -> NoReturn:
    names = " and ".join(shown(label_of(domain, item)) for item in items[:3])
    fact = f"one comparison ties {names} together, so its cells cannot be counted attribute by attribute"
    hint = "Compare each attribute with constants, or use `sql` for an answer without error bars."
    raise BadQuery(fact, hint)


def _fixed(tree: Expression, *, negated: bool) -> Formula:
    """Return the formula of a condition without attributes."""
    value = constant(tree)
    if value is not None and not isinstance(value, bool):
        hint = "Write a comparison, such as age >= 30, or TRUE."
        raise BadQuery(f"the condition {shown(value)} is neither true nor false", hint)
    return TRUE if value is (not negated) else FALSE


def _truth(attribute: Attribute, tree: Expression) -> _Truth:
    """Return where a condition on one attribute holds."""
    kind, parts = tree.kind, tree.parts
    if kind in _SIGNS:
        left, right = parts
        if left.path and not right.columns:
            return _compared(attribute, kind, _SIGNS[kind], constant(right))
        if right.path and not left.columns:
            return _compared(attribute, kind, _MIRRORED[_SIGNS[kind]], constant(left))
    elif kind in ("COMPARE_IN", "COMPARE_NOT_IN"):
        if parts[0].path and not any(part.columns for part in parts[1:]):
            found = _listed(attribute, [constant(part) for part in parts[1:]])
            return found if kind == "COMPARE_IN" else _Truth(found.false, found.true)
    elif kind == "COMPARE_BETWEEN":
        subject, low, high = parts
        if subject.path and not low.columns and not high.columns:
            return _between(attribute, constant(low), constant(high))
    elif kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL") and parts[0].path:
        everything = run(0, attribute.size)
        found = _Truth(_NO_CODES, everything)
        return found if kind == "OPERATOR_IS_NULL" else _Truth(everything, _NO_CODES)
    return _evaluated(attribute, tree)


def _certain(attribute: Attribute, true: Runs) -> _Truth:
    """Return a condition that is never NULL."""
    return _Truth(true, complement(true, attribute.size))


def _compared(attribute: Attribute, kind: str, sign: str, value: Constant) -> _Truth:
    """Return where `attribute sign value` holds."""
    if value is None:
        if kind in ("COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"):  # these are never NULL
            return _certain(attribute, run(0, attribute.size if sign == "<>" else 0))
        return _Truth(_NO_CODES, _NO_CODES)
    _check_constant(attribute, value)
    if sign in ("=", "<>"):
        code = code_of(attribute, value)
        found = _certain(attribute, run(code, code + 1))
        return found if sign == "=" else _Truth(found.false, found.true)
    below = bound_of(attribute, value)
    if sign in (">", "<="):
        if not isinstance(attribute.values, Integers):
            _refuse_sign(attribute, sign, value, below)
        below = min(below + (attribute.values.low <= value), attribute.size)  # type: ignore[operator]
    found = _certain(attribute, run(0, below))
    return found if sign in ("<", "<=") else _Truth(found.false, found.true)


def _check_constant(attribute: Attribute, value: Constant) -> None:
    """Raise where DuckDB would change a type to compare: text is not a number, and a date is not text."""
    kind = "time" if isinstance(value, Moment) else "text"
    fact = f"{attribute.name} is compared with the {kind} {_literal(value)}"
    if isinstance(value, str) and isinstance(attribute.values, Integers | Bins | Edges):
        raise BadQuery(fact, "Its values are numbers: write them without quotes.")
    if isinstance(value, Moment) and isinstance(attribute.values, Categories | AnyText):
        raise BadQuery(fact, f"Its values are text: write {_literal(str(value))}.")


def _literal(value: Constant) -> str:
    """Return a constant as SQL writes it."""
    if isinstance(value, str):
        text = value.replace("'", "''")
        return f"'{text}'" if len(text) <= 60 else "..."
    return "NULL" if value is None else str(value)


def _refuse_sign(attribute: Attribute, sign: str, value: Constant, place: int) -> NoReturn:
    """Raise for > and <= on intervals."""
    values = attribute.values
    assert isinstance(values, Bins | Edges | Times)
    quote = "'" if isinstance(values, Times) else ""
    wanted = ">=" if sign == ">" else "<"
    edges = [edge_text(values, edge) for edge in (place, place + 1) if edge <= values.size]
    instead = " or ".join(f"{attribute.name} {wanted} {quote}{edge}{quote}" for edge in edges)
    pieces = "intervals" if isinstance(values, Times) else "bins"
    fact = f"{attribute.name} {sign} {_literal(value)} asks for a part of its {pieces}, which are half-open"
    raise BadQuery(fact, f"Each holds its lower edge and not its upper one. Write {instead}.")


def _listed(attribute: Attribute, constants: list[Constant]) -> _Truth:
    """Return where the attribute is one of the constants; a NULL among them leaves the others unknown."""
    several = [value for value in constants if value is not None]
    for value in several:
        _check_constant(attribute, value)
    true = runs_of(codes_of(attribute, several))
    return _Truth(true, _NO_CODES) if len(several) < len(constants) else _certain(attribute, true)


def _between(attribute: Attribute, low: Constant, high: Constant) -> _Truth:
    """Return where low <= attribute <= high, which is for integers alone."""
    name = attribute.name
    if isinstance(attribute.values, Categories | AnyText):
        bound_of(attribute, low)  # which says that they have no ranges
    if not isinstance(attribute.values, Integers):
        start, stop = _literal(low), _literal(high)
        fact = f"{name} BETWEEN {start} AND {stop} takes its upper end in, and bins are half-open"
        raise BadQuery(fact, f"Write {name} >= {start} AND {name} < {stop}, with the edges you mean.")
    above = _compared(attribute, "", ">=", low)
    below = _compared(attribute, "", "<=", high)
    return _Truth(intersection([above.true, below.true], attribute.size), union([above.false, below.false]))


def _evaluated(attribute: Attribute, tree: Expression) -> _Truth:
    """Return where any other expression holds, by evaluating it on all values."""
    values = attribute.values
    if isinstance(values, Bins | Edges):
        fact = f"the condition computes with {shown(attribute.name)}, which has bins: it could cut one in two"
        raise BadQuery(fact, f"Compare it with edges: {attribute.name} >= ... AND {attribute.name} < ...")
    if isinstance(values, AnyText):
        fact = f"the condition computes with {shown(attribute.name)}, whose values nobody can list"
        hint = (
            "Compare it with values: =, <>, IN, NOT IN. `sql` takes any condition, and answers from the rows "
            "that are shown, without error bars."
        )
        raise BadQuery(fact, hint)
    if values.size > LARGEST_EVALUATED:
        fact = f"the condition computes with {shown(attribute.name)}, which has {values.size} values"
        hint = f"At most {LARGEST_EVALUATED} can be tried. Compare it with constants: =, <, >=, IN, BETWEEN."
        raise BadQuery(fact, hint)
    column = values.decode(np.arange(values.size, dtype=np.int64))
    true, false = truth_of(tree, name=attribute.name, values=column)
    return _Truth(runs_where(true), runs_where(false))
