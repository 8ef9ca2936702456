"""The one list of kinds of expressions, and the typed tree of those that pass.

Promise: of DuckDB's parse tree, every node is of a kind that is listed here and every field that says
something is a known one of its kind; so a tree that comes out of here holds no subquery, window, aggregate,
lambda, parameter or star, nor whatever a later DuckDB adds. Every function in it has passed `check_call`.
Cost: one visit of each node, without recursion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from hushtable.conditions.guard.functions import Listed, check_call
from hushtable.conditions.guard.policies import Policy
from hushtable.conditions.guard.texts import quoted
from hushtable.conditions.naming import in_lower_case
from hushtable.errors import BadQuery

ParseTree = dict[str, Any]  # as DuckDB writes it
Names = frozenset[tuple[str, ...]]  # paths, such as ("age",), ("data", "age") or ("home", "town")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Expression:
    """An expression that passed: DuckDB's name for its kind, its parts from left to right, and its source."""

    kind: str
    parts: tuple[Expression, ...]
    source: ParseTree = field(repr=False)
    name: str = ""  # of a function or a type, as DuckDB compares it
    path: tuple[str, ...] = ()  # of a column

    @property
    def literal(self) -> tuple[str, str]:
        """Kind and text of a constant."""
        literal = self.source.get("literal") or {}
        return literal.get("kind", ""), literal.get("text", "")

    @property
    def columns(self) -> Names:
        """The names that are read."""
        return frozenset(part.path for part in self.walk() if part.path)

    def walk(self) -> Iterator[Expression]:
        """Yield the expression and all below it."""
        pending = [self]
        while pending:
            part = pending.pop()
            yield part
            pending.extend(reversed(part.parts))


class _Kind(NamedTuple):
    """What a node of the tree may be: its types, the fields to walk, and the fields that hold plain words."""

    types: frozenset[str]
    walked: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()


def _kind(types: str, walked: str = "", plain: str = "") -> _Kind:
    return _Kind(frozenset(types.split()), tuple(walked.split()), frozenset(plain.split()))


_EVERYWHERE = frozenset({"class", "type", "alias", "query_location", "query_location_length"})
# An object without a class: one branch of CASE, or one argument with its name.
_ENTRY = _kind("", "when_expr then_expr expression", "name")
_KINDS = {
    "BETWEEN": _kind("COMPARE_BETWEEN", "input lower upper"),
    "CASE": _kind("CASE_EXPR", "case_checks else_expr"),
    "CAST": _kind("OPERATOR_CAST", "child type_expr", "try_cast"),
    "COLLATE": _kind("COLLATE", "child", "collation"),
    "COLUMN_REF": _kind("COLUMN_REF", "", "column_names"),
    "COMPARISON": _kind(
        "COMPARE_EQUAL COMPARE_NOTEQUAL COMPARE_LESSTHAN COMPARE_GREATERTHAN COMPARE_LESSTHANOREQUALTO "
        "COMPARE_GREATERTHANOREQUALTO COMPARE_DISTINCT_FROM COMPARE_NOT_DISTINCT_FROM",
        "left right",
    ),
    "CONJUNCTION": _kind("CONJUNCTION_AND CONJUNCTION_OR", "children"),
    "CONSTANT": _kind("VALUE_CONSTANT", "", "literal"),
    # FILTER, ORDER BY or DISTINCT of a function is a field that is not listed here: see `blank`.
    "FUNCTION": _kind("FUNCTION", "arguments", "catalog schema function_name qualified_name is_operator"),
    "OPERATOR": _kind(
        "ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN OPERATOR_COALESCE "
        "OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_NULLIF OPERATOR_TRY STRUCT_EXTRACT",
        "children",
    ),
    "TYPE": _kind("TYPE", "children", "catalog schema type_name qualified_name"),
}

# Words for what is refused; what has no word here is refused under DuckDB's own name for it.
WORDS = {
    "DEFAULT": "DEFAULT",
    "DISTINCT_MODIFIER": "DISTINCT",
    "EMPTY": "a SELECT without FROM",
    "EXPRESSION_LIST": "VALUES",
    "GROUPING_FUNCTION": "GROUPING",
    "JOIN": "a join",
    "LAMBDA": "a lambda or `->`",
    "LIMIT_MODIFIER": "LIMIT or OFFSET",
    "LIMIT_PERCENT_MODIFIER": "LIMIT",
    "OPERATOR_UNPACK": "`*COLUMNS(...)`",
    "PARAMETER": "a parameter",
    "PIVOT": "PIVOT or UNPIVOT",
    "POSITIONAL_REFERENCE": "a column by its position",
    "SET_OPERATION_NODE": "UNION, INTERSECT or EXCEPT",
    "SHOW_REF": "DESCRIBE, SHOW or SUMMARIZE",
    "STAR": "`*` or COLUMNS(...) inside an expression",
    "SUBQUERY": "a subquery",
    "TABLE_FUNCTION": "a table function",
    "WINDOW": "a window function",
    "at_clause": "AT (a past version of the table)",
    "cte_map": "WITH",
    "distinct": "DISTINCT inside a function",
    "export_state": "EXPORT_STATE",
    "filter": "FILTER",
    "group_expressions": "GROUP BY",
    "group_sets": "GROUP BY",
    "having": "HAVING",
    "order_bys": "ORDER BY inside a function",
    "qualify": "QUALIFY",
    "sample": "a sample of the rows",
}


def read_expression(root: ParseTree, listed: Listed, policy: Policy) -> Expression:
    """Return the typed tree of an expression, or raise `BadQuery` for the first part that is not allowed."""
    order: list[tuple[ParseTree, list[ParseTree]]] = []
    pending = [root]
    while pending:
        part = pending.pop()
        below = _parts(part, policy)
        order.append((part, below))
        pending.extend(below)
    read: dict[int, Expression] = {}
    for part, below in reversed(order):  # parts come before what they are part of
        found = Expression(
            kind=part["type"],
            parts=tuple(read.pop(id(each)) for each in below),
            source=part,
            name=in_lower_case(part.get("function_name") or part.get("type_name") or ""),
            path=tuple(part.get("column_names", ())),
        )
        if part["class"] == "FUNCTION":
            check_call(found, listed, policy)
        elif part["class"] == "TYPE" and found.name == "variant":
            refuse(policy, "a cast to VARIANT")  # of deep JSON, it ends the process
        read[id(part)] = found
    return read[id(root)]


def _parts(part: object, policy: Policy) -> list[ParseTree]:
    """Return the expressions right below one of a known kind, from left to right."""
    if not isinstance(part, dict):
        refuse(policy, "an unknown part")
    name, form = part.get("class", ""), part.get("type", "")
    kind = _KINDS.get(name)
    if kind is None or form not in kind.types:
        refuse(policy, form if form in WORDS else name or "an unknown part", part.get("function_name", ""))
    return list(_below(part, kind, policy))


def _below(part: ParseTree, kind: _Kind, policy: Policy) -> Iterator[ParseTree]:
    """Yield what the fields of an object hold, with its entries taken apart."""
    check_fields(part, kind.plain.union(kind.walked), policy)
    for name in kind.walked:
        held = part.get(name)
        for each in held if isinstance(held, list) else [] if held is None else [held]:
            if isinstance(each, dict) and "class" not in each and "type" not in each:
                yield from _below(each, _ENTRY, policy)
            else:
                yield each


def check_fields(part: ParseTree, known: Collection[str], policy: Policy, *, called: str = "") -> None:
    """Raise `BadQuery` if a field of the tree that is not known says something."""
    for name, value in part.items():
        if name not in known and name not in _EVERYWHERE and not blank(value):
            refuse(policy, called or name)


def refuse(policy: Policy, part: str, name: str = "") -> NoReturn:
    """Raise the `BadQuery` for a clause or a kind of expression, with its function's name if it has one."""
    words = WORDS.get(part, quoted(part)) + (f" {quoted(name)}" if name else "")
    raise BadQuery(f"{policy.name} uses {words}{policy.reason}", policy.allowed)


def blank(value: object) -> bool:
    """Return whether a field of the tree says nothing."""
    if isinstance(value, dict):
        return all(name == "type" or blank(inner) for name, inner in value.items())
    return value is None or value is False or value == "" or value == []
