"""Conditions on levels, as conditions on an attribute's own values.

Promise: the values are all that lie in those of the level. So a condition on a level never cuts one in two.
Cost: one pass over the values of the attribute.
"""

from __future__ import annotations

import numpy as np

from hushtable.conditions.ranges import Runs, runs_where
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, codes_at, label_of
from hushtable.errors import BadQuery, shown

LARGEST_TRIED = 10**7


def own_codes(domain: Domain, item: Item, codes: Runs) -> Runs:
    """Return the codes of an attribute's own values that lie in codes at a level."""
    attribute = domain.attributes[item.place]
    if not item.level:
        return codes
    if attribute.size > LARGEST_TRIED:
        fact = f"{shown(label_of(domain, item))} is a level of {attribute.size:,} values"
        raise BadQuery(
            fact, f"At most {LARGEST_TRIED:,} can be tried. Put the condition on the values themselves."
        )
    level = codes_at(attribute, item.level, np.arange(attribute.size, dtype=np.int64))
    return runs_where(codes.holds(level, size=attribute_at(domain, item).size))
