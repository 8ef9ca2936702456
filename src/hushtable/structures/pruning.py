"""What structures share that are published from the root down: which summaries they take.

Promise: they are pruned by counts above 0, and a node is published only with all nodes above it.
"""

from __future__ import annotations

from typing import ClassVar

from hushtable.domain.measure import Measure
from hushtable.errors import BadChoice
from hushtable.methods.settings import Filter, Method
from hushtable.structures.structure import ROWS, Structure


class PrunedStructure(Structure):
    """A structure that is published from the root down, as far as it matters."""

    prunes: ClassVar[bool] = True
    weighing: ClassVar[str] = " (each count is multiplied by the share of its level)"

    @property
    def rooted(self) -> bool:
        """A node is published only with all nodes above it."""
        return True

    def taken(self, method: Method, /) -> Method:
        """Return a filter as such a structure takes it: of large counts only."""
        if method.filters and not method.samples:
            return Filter(cutoff=method.cutoff, size=method.size, two_sided=False)
        return method

    def check_method(self, method: Method, measure: Measure = ROWS) -> None:
        """Raise where it is not pruned by counts above 0."""
        if not method.filters or method.samples or method.two_sided:
            fact = f"{self.called} takes a filter of counts above 0"
            raise BadChoice(fact, "Use ht.Filter(size=..., two_sided=False), or another structure.")
        if measure.clamp is not None and measure.clamp[0] < 0:
            fact = f"{self.called} is for counts that are not negative"
            raise BadChoice(fact, "Clamp sums at 0, or use another structure.")
