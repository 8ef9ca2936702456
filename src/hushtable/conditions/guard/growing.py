"""How much longer than a row's values the values of an expression may get.

Promise: what passes is at most `MOST_GROWN` times as long as all that it reads, at every step of it, names
that the query gives to other expressions included. Else one row could fill the memory that all others fit in,
and decide whether there is a release.
It is a bound, not a measure: parts are added up, and functions that lengthen text count as if each letter
were of the kind that they lengthen most.
Cost: one visit of each part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hushtable.conditions.guard.expressions import Expression
from hushtable.conditions.guard.functions import LONGEST_MADE
from hushtable.conditions.guard.policies import Policy
from hushtable.conditions.guard.texts import quoted
from hushtable.conditions.naming import in_lower_case
from hushtable.errors import BadQuery

MOST_GROWN = 1_000

# Letters for each letter or byte. Values of other types are short, or as long as what they were read from.
_FACTORS = {
    **dict.fromkeys(("base64", "hex", "regexp_escape", "to_base64", "to_hex"), 2),
    **dict.fromkeys(("lower", "lcase", "nfc_normalize", "ucase", "upper", "url_encode"), 3),
    "translate": 4,
    **dict.fromkeys(
        ("array_to_json", "json_array", "json_object", "json_quote", "row_to_json", "to_json"), 6
    ),
    **dict.fromkeys(("bin", "to_binary"), 8),
    "strftime": 16,
    **dict.fromkeys(("array_resize", "list_resize"), LONGEST_MADE),
}
_CAST = 4  # of a byte that is no letter, as in \xFF
_ONE_OF = ("CASE_EXPR", "OPERATOR_COALESCE")  # which give one of their parts
_YES_OR_NO = re.compile("COMPARE_.*|CONJUNCTION_.*|OPERATOR_(IS_NULL|IS_NOT_NULL|NOT)")
_SHORT_TYPE = re.compile(".*(int|float|double|real|dec|num|date|time|bool|uuid|interval).*")


def check_growth(expression: Expression, given: Mapping[str, int], policy: Policy) -> int:
    """Return how many times as long as what it reads an expression may get; raise `BadQuery` beyond the most.

    `given` has the growth of what other expressions are called, by their names in lower case.
    """
    grown: dict[int, int] = {}
    for part in reversed(list(expression.walk())):  # parts come before what they are part of
        sizes = [grown[id(each)] for each in part.parts]
        grown[id(part)] = _growth(part, sizes, given)
        if grown[id(part)] > MOST_GROWN:
            words = quoted(part.name) if part.name else "an expression"
            hint = (
                "One row could use up all memory. Put short text in the place of other text, and nest such "
                f"functions less.\n{policy.allowed}"
            )
            fact = f"{policy.name} uses {words} so that text may get over {MOST_GROWN:,} times as long"
            raise BadQuery(fact, hint)
    return grown[id(expression)]


def _growth(part: Expression, sizes: list[int], given: Mapping[str, int]) -> int:
    """Return the growth of an expression whose parts have grown so much. Constants are none of a row."""
    if part.path:
        return max(1, *(given.get(in_lower_case(name), 1) for name in part.path))
    if _YES_OR_NO.fullmatch(part.kind):
        return min(1, sum(sizes))
    if part.name in ("replace", "regexp_replace") and len(part.parts) > 2:
        return sizes[0] * _by_replacing(part) + sum(sizes[1:])
    if part.name == "concat_ws":
        return sizes[0] * len(sizes) + sum(sizes[1:])
    together = max(sizes, default=0) if part.kind in _ONE_OF else sum(sizes)
    if part.kind == "OPERATOR_CAST":
        to = next((each.name for each in part.parts if each.kind == "TYPE"), "")
        return min(1, together) if _SHORT_TYPE.fullmatch(to) else together * _CAST
    return together * _FACTORS.get(part.name, 1)


def _by_replacing(part: Expression) -> int:
    """Return how many letters may stand in the place of one."""
    _, sought, instead = part.parts[:3]
    letters = 4 if instead.name == "chr" else len(instead.literal[1])
    if instead.kind != "VALUE_CONSTANT" and instead.name != "chr":
        return MOST_GROWN + 1  # computed, and of any length
    if part.name == "regexp_replace":  # which may find nothing, everywhere
        return 1 + letters
    return max(1, -(-letters // max(1, len(sought.literal[1]))))
