"""Dyadic ranges: the sums of all ranges that halving a line of cells makes.

Source: Cormode, Procopiuc, Srivastava, Tran, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hushtable.domain.measure import Measure
from hushtable.errors import BadChoice, shown
from hushtable.methods.settings import Method
from hushtable.structures.axes import Axis, AxisSpace, Ordered
from hushtable.structures.orders import line_of, order_entry, store_order
from hushtable.structures.structure import ROWS, Entry
from hushtable.structures.trees import DyadicTree


@dataclass(frozen=True, kw_only=True, slots=True)
class Dyadic(Ordered):
    """Dyadic ranges: the cells in a line, halved again and again; every half is a node with its sum.

    `order` names attributes: cells stand in the order of the first one's values, then of the second's, and so
    on; attributes that are not named come last. `consistent=True` drops nodes that lie in a range which is
    not published, as the paper does for filters of counts above 0.

    >>> Dyadic(order=["work"])
    Dyadic(consistent=False, order=('work',))
    """

    name: ClassVar[str] = "dyadic"

    consistent: bool = False
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.consistent, bool):
            raise BadChoice(f"consistent={shown(self.consistent)} is not allowed", "Give True or False.")
        store_order(self, self.order)

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a consistent tree" if self.consistent else "a tree of dyadic ranges"

    @property
    def sliced(self) -> bool:
        """Nodes are drawn on their own, unless those above them decide."""
        return not self.consistent

    @property
    def rooted(self) -> bool:
        """Whether a node is published only with all nodes above it."""
        return self.consistent

    def check_method(self, method: Method, measure: Measure = ROWS) -> None:
        """Raise where a consistent tree is not filtered by counts above 0."""
        if not self.consistent:
            return
        if not method.filters or method.two_sided:
            fact = "a consistent tree needs a filter of counts above 0"
            raise BadChoice(fact, "Use a filter with two_sided=False, or leave `consistent` out.")
        if method.expected_rows is not None:
            # It allows for all nodes that noise lifts over the cutoff, of which the check leaves few.
            fact = "on a consistent tree, a threshold that follows from a size may leave no node at all"
            raise BadChoice(fact, "Give a threshold, or use FilterPriority with that size.")

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        line = line_of(shape, places, name=self.name)
        tree = DyadicTree(line.cells)
        said = "consistent dyadic ranges" if self.consistent else "dyadic ranges"
        return AxisSpace(self, (Axis(line, tree),), said, tree if self.consistent else None)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"order": order_entry(self.order), "consistent": self.consistent}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(order=entry("order", list | None), consistent=entry("consistent", bool))
