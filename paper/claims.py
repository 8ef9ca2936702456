"""What the paper says, what we measured, and a verdict that a rule gives.

Promise: no verdict is written by hand. A rule looks at measured numbers and their standard errors, and says
"holds" only where chance does not explain what it saw; where the numbers cannot tell, it says "in part".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from paper.measuring import Measured


class Verdict(Enum):
    """What becomes of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    DOES_NOT = "does not hold"


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the paper, with what we found."""

    where: str
    says: str
    found: str
    verdict: Verdict
    rule: str  # how the verdict follows, in words


def judged(parts: Iterable[Verdict | bool]) -> Verdict:
    """Return the verdict on a claim of several parts.

    >>> judged([True, True]), judged([True, Verdict.DOES_NOT]), judged([False])
    (<Verdict.HOLDS: 'holds'>, <Verdict.IN_PART: 'holds in part'>, <Verdict.DOES_NOT: 'does not hold'>)
    """
    each = {
        part if isinstance(part, Verdict) else (Verdict.HOLDS if part else Verdict.DOES_NOT) for part in parts
    }
    if not each:
        raise ValueError("a verdict needs at least one part")
    return each.pop() if len(each) == 1 else Verdict.IN_PART


def below(value: Measured, limit: float) -> Verdict:
    """Return whether a value is below a limit: in part if chance may have decided.

    >>> below(Measured(0.8, 0.05, 10), 1), below(Measured(0.95, 0.05, 10), 1)
    (<Verdict.HOLDS: 'holds'>, <Verdict.IN_PART: 'holds in part'>)
    """
    if value.high < limit:
        return Verdict.HOLDS
    return Verdict.DOES_NOT if value.low > limit else Verdict.IN_PART


def above(value: Measured, limit: float) -> Verdict:
    """Return whether a value is above a limit: in part if chance may have decided."""
    if value.low > limit:
        return Verdict.HOLDS
    return Verdict.DOES_NOT if value.high < limit else Verdict.IN_PART


def within(value: Measured, low: float, high: float) -> Verdict:
    """Return whether a value lies between two others, as far as chance allows for.

    A value that is known less well than the two are apart cannot tell: in part.

    >>> within(Measured(1.1, 0.1, 10), 0.5, 1.0), within(Measured(1.1, 0.3, 10), 0.5, 1.0)
    (<Verdict.HOLDS: 'holds'>, <Verdict.IN_PART: 'holds in part'>)
    """
    if value.high < low or value.low > high:
        return Verdict.DOES_NOT
    return Verdict.HOLDS if value.high - value.low <= high - low else Verdict.IN_PART
