"""Boxes: every dyadic range of one attribute, crossed with every one of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hushtable.errors import BadChoice
from hushtable.structures.axes import Axis, AxisSpace, Ordered
from hushtable.structures.orders import line_of, store_order
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

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        if len(places) != 2:
            fact = f"the structure 'product-dyadic' needs two attributes, and the domain has {len(places)}"
            raise BadChoice(fact, "Use 'dyadic', or a domain of two attributes.")
        lines = [line_of(shape, (place,), name=self.name) for place in places]
        axes = tuple(Axis(line, DyadicTree(line.cells)) for line in lines)
        return AxisSpace(self, axes, "boxes of dyadic ranges")
