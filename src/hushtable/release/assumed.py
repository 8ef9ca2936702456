"""What a plan took the table to look like, as a release records it.

Promise: it was declared public by the owner before a row was read, and it is all that the plan had beside the
other terms: from both, the same plan can be made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from hushtable.domain.limits import LONGEST_NOTE
from hushtable.errors import BadRelease, shown

_MOST = 10_000  # different counts; a plan keeps some hundred
_HINT = "A plan has a rule, a size, what it assumes in words, and a number of cells for each count."


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumption:
    """Occupied cells by their count: `cells[i]` of them hold `counts[i]`. Public.

    `rule` is the name and version of the planner, `assumed` says in words where the numbers come from, and
    `size` is the number of rows that was planned with.
    """

    rule: str
    assumed: str
    size: int
    counts: tuple[float, ...]
    cells: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("rule", "assumed"):
            text: object = getattr(self, name)
            if not isinstance(text, str) or not 0 < len(text) <= LONGEST_NOTE:
                self._refuse(name)
        if type(self.size) is not int or not 1 <= self.size < 1 << 63:
            self._refuse("size")
        for name in ("counts", "cells"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not all(map(_is_positive, values)):
                self._refuse(name)
        if not 0 < len(self.counts) <= _MOST or any(low >= high for low, high in pairwise(self.counts)):
            self._refuse("counts")
        if len(self.cells) != len(self.counts):
            self._refuse("cells")

    def _refuse(self, name: str) -> None:
        raise BadRelease(f"the {name} of its plan: {shown(getattr(self, name))}", _HINT)


def _is_positive(value: object) -> bool:
    return isinstance(value, float) and isfinite(value) and value > 0
