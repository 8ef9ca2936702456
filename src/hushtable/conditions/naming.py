"""Which attribute a name means.

Promise: a name is an attribute's own, to the letter; in SQL upper and lower case are the same where that
leaves one attribute. Any other name is a `BadQuery` with the nearest one.
"""

from __future__ import annotations

from difflib import get_close_matches

from hushtable.domain.domain import Domain
from hushtable.errors import BadQuery, shown

# DuckDB folds the case of names in ASCII only; `str.lower` would make one name of two.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def in_lower_case(name: str) -> str:
    """Return a name as DuckDB compares it.

    >>> in_lower_case("GRÖSSE")
    'grÖsse'
    """
    return name.translate(_LOWER)


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
    raise BadQuery(f"there is no attribute {shown(name)}", f"{guess}The attributes are {all_names}.{quotes}")
