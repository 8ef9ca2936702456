"""What a release is asked about groups, in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from hushtable.answers.estimation.law import Assumption
from hushtable.conditions.selection import Selection
from hushtable.domain.items import Item


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The sum over `selection` for each combination of codes of `items`, attributes at levels.

    An interval fails with `chance`; with `together`, that is the chance of any of them failing. `corrected`
    says whether answers are corrected by the noisy total, None where the release decides; `assume` names what
    intervals may rest on, None for intervals that hold for any groups. All groups are listed;
    where that is too many and `top` asks for the largest only, those that may be among them.
    `nonnegative` asks for numbers without negative ones too, beside the estimates; `model` for those of a
    model, also where nothing was measured and there is no estimate.
    """

    selection: Selection
    items: Sequence[Item]
    _: KW_ONLY
    chance: float
    corrected: bool | None = None
    assume: Assumption | None = None
    together: bool = False
    top: int | None = None
    nonnegative: bool = False
    model: bool = False

    def chance_of_one(self, groups: int) -> float:
        """Return the chance with which each interval of so many may fail."""
        return self.chance / min(max(groups, 1), 10**300) if self.together else self.chance

    @property
    def places(self) -> list[int]:
        """The places of the attributes, for whoever knows no levels."""
        return [item.place for item in self.items]
