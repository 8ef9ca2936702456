"""One answer: a number, its standard error, an interval and what the interval promises."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, isfinite, log10

from hushtable.answers.estimation.law import Assumption

_EXPONENT = 10**15  # numbers from here on are written with one
_MOST_PLACES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """An answer from a release, with its error bars.

    The interval from `low` to `high` covers the true answer with the chance `confidence`. If `assumes` is
    not None, that holds only under the assumption that it names. `note` says the same in words. Values are
    not cut off at 0, so that sums of answers stay right on average.

    >>> import hushtable as ht
    >>> answer = ht.Estimate(
    ...     value=1234.5, standard_error=61.2, low=1114.6, high=1354.4, confidence=0.95, note="No bias."
    ... )
    >>> print(answer)
    1,234 (95 % interval: 1,115 to 1,354). No bias.
    """

    value: float
    standard_error: float
    low: float
    high: float
    confidence: float
    note: str
    assumes: Assumption | None = None

    @property
    def uncertain(self) -> float:
        """The standard error, or half of a narrower interval: it decides how many digits are shown."""
        return uncertainty(self.standard_error, self.low, self.high)

    def _repr_html_(self) -> str:
        value, low, high = (rounded(each, self.uncertain) for each in (self.value, self.low, self.high))
        interval = f"{self.confidence * 100:.10g} % interval: {low} to {high}"
        from html import escape

        return f"<div><b>{escape(value)}</b> ({escape(interval)})<br><small>{escape(self.note)}</small></div>"

    def __str__(self) -> str:
        value, low, high = (rounded(each, self.uncertain) for each in (self.value, self.low, self.high))
        name = f"interval if {self.assumes}" if self.assumes else "interval"
        return f"{value} ({self.confidence * 100:.10g} % {name}: {low} to {high}). {self.note}".rstrip()


def column_names(assumes: Assumption | None) -> tuple[str, ...]:
    """Return the names of an answer's numbers; ends that rest on an assumption are named after it.

    >>> column_names("even")
    ('estimate', 'standard_error', 'low_if_even', 'high_if_even')
    """
    behind = f"_if_{assumes}" if assumes else ""
    return "estimate", "standard_error", f"low{behind}", f"high{behind}"


def uncertainty(standard_error: float, low: float, high: float) -> float:
    """Return what leaves digits of an answer uncertain: its standard error, less if its interval is narrow.

    >>> uncertainty(340.0, 3243.0, 3253.0), uncertainty(340.0, 2600.0, 3900.0)
    (5.0, 340.0)
    """
    half = (high - low) / 2
    return min(standard_error, half) if half > 0 else standard_error


def rounded(value: float, error: float) -> str:
    """Return a number to the digits that its standard error leaves it, two of which are uncertain.

    >>> rounded(24588.61, 353.2), rounded(24588.61, 0.0532), rounded(24588.61, 0)
    ('24,590', '24,588.610', '24,588.61')
    >>> rounded(24588.61, float("inf")), rounded(float("inf"), float("inf"))
    ('24,589', 'no limit')
    """
    if value == inf:
        return "no limit"
    if error == inf and abs(value) < _EXPONENT:
        return f"{value + 0.0:,.0f}"
    if not (isfinite(value) and isfinite(error)) or error <= 0 or abs(value) >= _EXPONENT:
        return f"{value:,.10g}"
    places = min(1 - floor(log10(error)), _MOST_PLACES)
    return f"{round(value, places) + 0.0:,.{max(places, 0)}f}"  # + 0.0 makes 0 of -0
