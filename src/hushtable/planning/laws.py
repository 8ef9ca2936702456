"""Which law of noise a cost buys, where the owner names none.

Promise: the choice follows from what is declared, never from rows. No delta is spent that was not asked for.
"""

from __future__ import annotations

from hushtable.domain.measure import Measure
from hushtable.laws.costs import Cost
from hushtable.laws.law import NoiseLaw
from hushtable.laws.registry import law_named


def usual_law(cost: Cost) -> str | None:
    """Return the law that a cost always buys, unless another is named; None where a choice is made."""
    return {"pure": "geometric", "zcdp": "gaussian"}.get(cost.currency)


def law_for(cost: Cost, name: str | None, *, measure: Measure) -> type[NoiseLaw]:
    """Return the law that is named, or the one that is best for what is declared."""
    wanted = name if name not in (None, "auto") else usual_law(cost)
    return law_named(wanted or "gaussian")
