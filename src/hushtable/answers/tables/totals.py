"""A table with the total that other tables tell, as if it had bought that total itself.

Promise: the total has noise of the release's law, of at least the stated variance. So a table of which a
cutoff hides counts is answered with all that is known of everybody.
Cost: some evaluations of a law.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.laws.registry import law_named
from hushtable.release.terms import Terms

_HALVINGS = 60
_LEAST, _MOST = 2.0**-40, 2.0**10  # of the budget that would buy such a total, for a change of 1


def with_total(terms: Terms, value: float, variance: float) -> Terms:
    """Return the terms of a table with a noisy total of this value and variance."""
    kind = law_named(terms.law_name)
    change = kind.change(terms.measure.sensitivities.added_up())
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        law = kind.calibrated(budget=Fraction(middle) * change, change=change)
        low, high = (middle, high) if law.floats.variance >= variance else (low, middle)
    bought = Fraction(low).limit_denominator(1 << 60) * change
    return terms.spending(terms.rows_budget, total=round(value), total_budget=bought)
