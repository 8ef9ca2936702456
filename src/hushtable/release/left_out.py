"""How many people the numbers of a release leave out, from two noisy counts, where these were bought.

Promise: the interval holds with at least its confidence, whatever the two true counts are. Each lies within
reach of its noisy count, with half of the doubt for each; the share grows with one and falls with the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

from hushtable.errors import printable
from hushtable.laws.law import NoiseLaw
from hushtable.release.terms import Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOutShare:
    """Two noisy counts: of units with a row that was counted, and of units with rows of which none was."""

    counted: int
    left_out: int
    law: NoiseLaw

    @property
    def share(self) -> float | None:
        """The share of units that are left out; None where the noise leaves nobody to take a share of."""
        counted, left_out = max(self.counted, 0), max(self.left_out, 0)
        return left_out / (counted + left_out) if counted + left_out else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the range in which the true share lies with at least this confidence."""
        doubt = (1 - confidence) / 4  # of two counts, each on two sides
        reach = max(1, ceil(self.law.floats.quantile(doubt))) - 1
        few, many = max(self.left_out - reach, 0), max(self.left_out + reach, 0)
        least, most = max(self.counted - reach, 0), max(self.counted + reach, 0)
        return few / (few + most) if few else 0.0, many / (many + least) if many + least else 1.0


def left_out_of(terms: Terms) -> LeftOutShare | None:
    """Return what a release tells of units that it leaves out, if that was bought."""
    if terms.left_out is None or terms.left_out_law is None:
        return None
    counted, left_out = terms.left_out
    return LeftOutShare(counted=counted, left_out=left_out, law=terms.left_out_law)


def left_out_sentence(terms: Terms) -> str | None:
    """Return the same in a sentence or two."""
    found = left_out_of(terms)
    if found is None:
        return None
    measure = terms.measure
    if measure.unit is not None:
        who, what = f"values of {printable(measure.unit.column)}", "have no row that could be counted"
    elif measure.count_column is not None:
        who, what = f"people by column {printable(measure.count_column)}", "could not be counted"
    else:
        who, what = "rows", "could not be counted"
    said = f"The noise is too large to tell which share of all {who} {what}."
    low, high = (100 * end for end in found.interval())
    if found.share is not None and high - low < 100:
        digits = min(4, max(0, -floor(log10(high - low)))) if high > low else 4
        step = 10**digits
        low, high = floor(low * step) / step, min(100.0, ceil(high * step) / step)
        share = f"{min(max(100 * found.share, low), high):.{digits}f} %"
        interval = f"with 95 % confidence, {low:.{digits}f} % to {high:.{digits}f} %"
        said = f"About {share} of all {who} {what} ({interval})."
    if terms.where is not None or terms.query is not None:
        said += " This is about rows that the publisher's selection kept."
    return said
