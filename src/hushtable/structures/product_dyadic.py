"""Boxes: every dyadic range of one attribute, crossed with every one of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice
from hushtable.structures.axes import Axis, AxisSpace, Ordered
from hushtable.structures.orders import line_of, order_entry, ordered_places, places_of_codes, store_order
from hushtable.structures.structure import Entry
from hushtable.structures.trees import DyadicTree


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductDyadic(Ordered):
    """Dyadic ranges of two attributes: every range of one, crossed with every range of the other.

    >>> ProductDyadic()
    ProductDyadic(order=None)
    """

    name: ClassVar[str] = "product-dyadic"

    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        store_order(self, self.order)

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a tree over two axes"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "of a box, from the first to the last value of both attributes"
        return f"`count` is the noisy count {said}. Rows overlap: for sums, ask `hushtable query`."

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over a domain."""
        return self._over(domain.shape, ordered_places(self.order, domain))

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> AxisSpace:
        """Return the nodes over attributes of these sizes."""
        return self._over(shape, places_of_codes(self.order, shape))

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        if len(places) != 2:
            fact = f"the structure 'product-dyadic' needs two attributes, and the domain has {len(places)}"
            raise BadChoice(fact, "Take 'dyadic', or a domain of two attributes.")
        lines = [line_of(shape, (place,), name=self.name) for place in places]
        axes = tuple(Axis(line, DyadicTree(line.cells)) for line in lines)
        return AxisSpace(self, axes, "boxes of dyadic ranges")

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"order": order_entry(self.order)}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(order=entry("order", list | None))
