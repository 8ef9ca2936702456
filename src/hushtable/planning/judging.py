"""Reasons for and against one release, from what a plan expects of it.

Promise: a verdict follows from a prediction, beside answering 0 and a noisy total alone. Nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Any, Protocol

from hushtable.planning.predictions import Prediction, score
from hushtable.planning.wording import percent

HALF = 0.5  # of the rows, to be real
REAL_IN_TREES = 0.25  # of the rows of a tree: readings by halves do not add up noise
CLEARLY = 0.9  # errors of so much of another's are better

_FEWER = 0.95  # of the size: a release of fewer rows is told


class Verdict(Protocol):
    """What speaks against a release of any kind."""

    @property
    def wasted(self) -> tuple[str, ...]:
        """Why the release would be wasted; nothing where it would not."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that speaks against it."""

    @property
    def advice(self) -> str | None:
        """What may make it better; None where the plan itself knows that."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A prediction beside what it is compared with. Made by `Plan.judge`."""

    prediction: Prediction
    cells_total: int
    size: int
    total_errors: dict[int, float] | None  # of the noisy total alone, if it is bought
    least_real: float = HALF  # of the rows

    @property
    def worth(self) -> bool:
        """Whether rows are mostly real, and answer clearly better than 0, or the noisy total alone, would."""
        return not self.wasted and (self.against_total or 0.0) < CLEARLY

    @property
    def against_zero(self) -> float:
        """The errors of the release, as a multiple of those of answering 0."""
        return exp(self.prediction.score)

    @property
    def against_total(self) -> float | None:
        """The same as a multiple of those of the noisy total alone, if it is bought."""
        if self.total_errors is None:
            return None
        return exp(self.prediction.score - score(self.total_errors, self.prediction.truths))

    @property
    def wasted(self) -> tuple[str, ...]:
        """Why the release would be wasted; nothing where it would not."""
        said, real_share = [], self.prediction.real_share
        if real_share < self.least_real:
            said.append(
                f"only {percent(real_share)} of the rows would be real; the others would be noise on "
                "empty cells"
            )
        if self.against_zero >= CLEARLY:
            share = percent(self.against_zero)
            said.append(f"errors would be {share} of those of answering 0, so nothing is gained")
        return tuple(said)

    @property
    def advice(self) -> None:
        """The plan knows what may make it better."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {"worth": self.worth, "against_zero": self.against_zero, "warnings": list(self.warnings)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that speaks against the release."""
        said, rows = list(self.wasted), self.prediction.rows
        if self.against_total is not None and self.against_total >= CLEARLY:
            share = percent(self.against_total)
            said.append(
                f"errors would be {share} of those of the noisy total alone, so the rows add little to it"
            )
        if self.size > self.cells_total:
            said.append(f"a size of {self.size:,} is more than the {self.cells_total:,} cells there are")
        elif rows < _FEWER * self.size:
            said.append(f"about {rows:,.0f} rows are expected, fewer than the size of {self.size:,}")
        return tuple(said)
