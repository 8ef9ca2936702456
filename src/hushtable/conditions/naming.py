"""Which attribute a name means, or which level of one.

Promise: a name is an attribute's own, to the letter; in SQL upper and lower case are the same where that
leaves one attribute. `month(day)` is an attribute at one of its levels. Any other name is a `BadQuery` with
the nearest one.
"""

from __future__ import annotations

from difflib import get_close_matches

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, item_called, item_of, items_in, level_hint
from hushtable.errors import BadChoice, BadQuery, shown

# DuckDB folds the case of names in ASCII only; `str.lower` would make one name of two.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def in_lower_case(name: str) -> str:
    """Return a name as DuckDB compares it.

    >>> in_lower_case("GRÖSSE")
    'grÖsse'
    """
    return name.translate(_LOWER)


def item_named(domain: Domain, name: object, *, folded: bool = False) -> Item:
    """Return the attribute of this name, or the one at a level that it is a label of."""
    if isinstance(name, str) and name not in domain.names and name.endswith(")"):
        called = item_called(domain, name)
        if called is not None:
            return called
        try:
            (said,) = items_in(name)
            found = item_of(domain, said)
        except (BadChoice, ValueError):
            pass  # it may be a name all the same
        else:
            if found.level and not said.ranges:
                return found
    return Item(place_of(domain, name, folded=folded))


def place_of(domain: Domain, name: object, *, folded: bool = False) -> int:
    """Return the place of the attribute of this name; `folded` takes upper and lower case as the same."""
    names = domain.names
    if isinstance(name, str) and name in names:
        return names.index(name)
    if folded and isinstance(name, str):
        same = [place for place, each in enumerate(names) if in_lower_case(each) == in_lower_case(name)]
        if len(same) == 1:
            return same[0]
        if same:
            both = " and ".join(shown(names[place]) for place in same)
            raise BadQuery(f"{shown(name)} may mean {both}", "Write the attribute's name to the letter.")
    lower = {each.lower(): each for each in names}
    near = get_close_matches(str(name).lower(), lower, n=1)
    guess = f"Did you mean {shown(lower[near[0]])}? " if near else ""
    all_names = ", ".join(shown(each) for each in names)
    quotes = "\nIn SQL, text stands in single quotes." if folded else ""
    hint = level_hint(domain, name) or f"{guess}The attributes are {all_names}."
    raise BadQuery(f"there is no attribute {shown(name)}", hint + quotes)
