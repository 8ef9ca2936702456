"""Haar wavelets, as whole numbers: the total, and of every dyadic range one half minus the other.

Source: Cormode, Procopiuc, Srivastava, Tran, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure
from hushtable.errors import BadChoice
from hushtable.methods.settings import Method
from hushtable.structures.axes import Axis, AxisSpace, Ordered
from hushtable.structures.orders import line_of, order_entry, ordered_places, places_of_codes, store_order
from hushtable.structures.structure import ROWS, Entry
from hushtable.structures.trees import HaarTree


@dataclass(frozen=True, kw_only=True, slots=True)
class Haar(Ordered):
    """Haar wavelets, as whole numbers: the total, and for every dyadic range its left minus its right half.

    >>> Haar()
    Haar(order=None)
    """

    name: ClassVar[str] = "haar"

    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        store_order(self, self.order)

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a tree of Haar wavelets"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "of the first half of a range minus the second; at level 0, of all"
        return f"`count` is the noisy count {said}. Rows overlap: for sums, ask `hushtable query`."

    @property
    def sliced(self) -> bool:
        """Nodes are drawn on their own."""
        return True

    def check_method(self, method: Method, measure: Measure = ROWS) -> None:
        """Raise where a summary has one side."""
        if not method.two_sided:
            fact = (
                "differences of halves lie on both sides of 0, so a one-sided summary of them makes no sense"
            )
            raise BadChoice(fact, "Take a two-sided summary.")

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over a domain."""
        return self._over(domain.shape, ordered_places(self.order, domain))

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over attributes of these sizes."""
        return self._over(shape, places_of_codes(self.order, shape))

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        line = line_of(shape, places, name=self.name)
        return AxisSpace(self, (Axis(line, HaarTree(line.cells)),), "Haar wavelets", differences=True)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"order": order_entry(self.order)}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(order=entry("order", list | None))
