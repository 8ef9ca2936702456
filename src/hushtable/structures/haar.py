"""Haar wavelets, as whole numbers: the total, and of every dyadic range one half minus the other.

Source: Cormode, Procopiuc, Srivastava, Tran, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hushtable.domain.measure import Measure
from hushtable.errors import BadChoice
from hushtable.methods.settings import Method
from hushtable.structures.axes import Axis, AxisSpace, Ordered
from hushtable.structures.orders import line_of, store_order
from hushtable.structures.structure import ROWS
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
            raise BadChoice(fact, "Use a two-sided summary.")

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> AxisSpace:
        line = line_of(shape, places, name=self.name)
        return AxisSpace(self, (Axis(line, HaarTree(line.cells)),), "Haar wavelets", differences=True)
