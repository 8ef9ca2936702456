"""What a release is asked about groups, in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

from hushtable.answers.estimation.law import Assumption
from hushtable.conditions.selection import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The sum over `selection` for each combination of codes of the attributes at `places`.

    An interval fails with `chance`; with `together`, that is the chance of any of them failing. `corrected`
    says whether answers are corrected by the noisy total, None where the release decides; `assume` names what
    intervals may rest on, None for intervals that hold for any groups. All groups are listed;
    where that is too many and `top` asks for the largest only, those that may be among them.
    """

    selection: Selection
    places: Sequence[int]
    _: KW_ONLY
    chance: float
    corrected: bool | None = None
    assume: Assumption | None = None
    together: bool = False
    top: int | None = None

    def chance_of_one(self, groups: int) -> float:
        """Return the chance with which each interval of so many may fail."""
        return self.chance / min(max(groups, 1), 10**300) if self.together else self.chance

    def within(self, selection: Selection, places: Sequence[int]) -> Question:
        """Return the same question about another table."""
        return replace(self, selection=selection, places=places)
