"""Summaries, noise and numbers in words, for people to read."""

from __future__ import annotations

from fractions import Fraction
from math import log10, sqrt
from typing import TYPE_CHECKING, NamedTuple

from hushtable.domain.measure import Measure
from hushtable.domain.wording import bounds_in_words, many
from hushtable.errors import printable as printable
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Method
from hushtable.release.terms import Terms, as_text

if TYPE_CHECKING:
    from hushtable.engines.sliced.keying import Tally

_FEW = 4  # keys that are shown
_EXPONENT = 10**15  # floats from here on are written with one


def method_in_words(method: Method, *, of: str = "cells", consistent: bool = False) -> str:
    """Return which rows a summary publishes, of cells, of nodes, or of a consistent tree."""
    return method.chosen_by(_Words(method, of=of, consistent=consistent))


class _Words(NamedTuple):
    """A summary in words, by the way in which its rows are chosen."""

    method: Method
    of: str
    consistent: bool

    def everything(self, *, nonnegative: bool) -> str:
        return f"everything: all {self.of}" + ", negative noisy counts raised to 0" * nonnegative

    def accepted(self, rule: Acceptance, *, expected: int | None) -> str:
        which = "all rows" if expected is None and rule.threshold is None else "a sample of rows"
        which += f" {self._reaching}" if self.method.filters else self._positive
        if expected is not None:
            which += f" (about {expected:,} or fewer if the table were empty)"
        elif rule.threshold is not None:
            which += f", with threshold {exact_in_words(rule.threshold)}"
        return f"{self.method.name}: {which}"

    def largest(self, size: int, *, two_sided: bool) -> str:
        if self.consistent:
            nodes = many(size, "node", "nodes")
            return f"filter: the {nodes} whose smallest noisy count on the way from the root is largest"
        return f"filter: the {size:,} largest noisy counts{self._sides}"

    def priorities(self, size: int, rule: Acceptance) -> str:
        rows = many(size, "row", "rows")
        if self.method.filters:
            return f"{self.method.name}: at most {rows} {self._reaching}"
        return f"{self.method.name}: a sample of at most {rows}{self._positive}"

    @property
    def _reaching(self) -> str:
        """Which rows pass the cutoff of a filter."""
        around = ", as is that of every range around" if self.consistent else ""
        cutoff = exact_in_words(Fraction(self.method.cutoff or 0))
        below = f" or at most -{cutoff}" if self.method.two_sided else ""
        return f"whose noisy count is at least {cutoff}{below}{around}"

    @property
    def _sides(self) -> str:
        """Whether it is the size of counts that matters, or the counts themselves."""
        return " in size" if self.method.two_sided else ""

    @property
    def _positive(self) -> str:
        return "" if self.method.two_sided else " whose noisy count is above 0"


def cutoff_in_words(cutoff: float, *, two_sided: bool, rule: str | None) -> str:
    """Return what a cutoff says about the published rows."""
    said = number_in_words(cutoff)
    least = f"lies between -{said} and {said}" if two_sided else f"is below {said}"
    chosen = f" (chosen from public facts by the rule {printable(rule)})" if rule is not None else ""
    return f"{said}: no published noisy count {least}{chosen}"


def threshold_in_words(threshold: float, *, cutoff: bool, consistent: bool = False) -> str:
    """Return what a threshold says about the published rows."""
    if threshold == 0:
        which = "every row that reaches the cutoff" if cutoff else "every row whose noisy count is not 0"
        which += " (and whose surrounding ranges do)" * consistent
        return f"0: nothing was sampled; {which} is in the file"
    said = number_in_words(threshold)
    return f"{said}: smaller noisy counts were sampled, and each one in the file stands for {said}"


def measure_in_words(measure: Measure, counts: str = "") -> str:
    """Return what a cell counts; `counts` is what the owner calls it."""
    unit = measure.unit
    once = unit is not None and unit.max_per_cell == 1  # however many rows somebody has in a cell
    said = printable(counts) or ("people" if once else "rows")
    if measure.count_column is not None:
        said = f"{printable(counts) or 'people'}, by column {printable(measure.count_column)}"
    if measure.sum_column is not None and measure.clamp is not None:
        low, high = measure.clamp
        said = f"the sum of column {printable(measure.sum_column)}, each value clamped to {low:,}..{high:,}"
    if unit is not None and unit.max_rows is not None:
        rows = f"{unit.max_rows:,}" if counts else many(unit.max_rows, "row", "rows")
        said += f", at most {rows} of each {printable(unit.column)}"
    elif unit is not None:
        bounds = bounds_in_words(unit, rows=measure.clamp is not None)
        said += f", each {printable(unit.column)} in {bounds}"
    return said


def spread_in_words(law: NoiseLaw) -> str:
    """Return how wide noise is."""
    return f"standard deviation {deviation_in_words(law)}"


def deviation_in_words(law: NoiseLaw) -> str:
    """Return the standard deviation of noise.

    >>> from hushtable.laws.geometric import Geometric
    >>> deviation_in_words(Geometric(Fraction(1, 10)))
    '14.1'
    """
    return number_in_words(sqrt(law.floats.variance), digits=3)


def off_in_words(terms: Terms) -> str:
    """Return how far noise moves one count of a release of tables; of other structures, nothing."""
    if terms.parts:
        laws = [terms.part(number).law for number in range(len(terms.parts))]
    elif terms.nodes.named(terms.domain) is None:
        laws = [terms.law]
    else:
        return ""
    laws.sort(key=lambda law: law.floats.variance)
    ends = [deviation_in_words(each) for each in (laws[0], laws[-1])]
    by = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return f"Noise typically moves one count by {by} (one standard deviation)."


def seeds_in_words(keys: tuple[str, ...]) -> str:
    """Return how cells are hashed to buckets of a sketch, and under which keys.

    >>> seeds_in_words(("00" * 16,))
    'SipHash-1-3 under a public key, drawn before any row was read: 00000000000000000000000000000000'
    """
    each = "a public key" if len(keys) == 1 else "a public key for each row"
    shown = ", ".join(map(printable, keys[:_FEW])) + (", ..." if len(keys) > _FEW else "")
    return f"SipHash-1-3 under {each}, drawn before any row was read: {shown}"


def exact_in_words(value: Fraction) -> str:
    """Return an exact number as people write it: 10,000 or 0.1 or 1/3; cut where it is long."""
    text = f"{value.numerator:,}" if value.denominator == 1 else as_text(value)
    if len(text) <= 40:
        return text
    return f"about 10^{log10(abs(value.numerator)) - log10(value.denominator):.1f}"


def share_in_words(value: Fraction) -> str:
    """Return an exact number in full, with its approximate value where that is hard to see.

    >>> share_in_words(Fraction(16, 65))
    '16/65 (about 0.246)'
    """
    text = as_text(value)
    return f"{text} (about {float(value):.3g})" if "/" in text else text


def number_in_words(value: float, *, digits: int = 10) -> str:
    """Return a float with so many digits, and commas between thousands.

    >>> number_in_words(24588.6), number_in_words(24588.6, digits=3), number_in_words(1e300)
    ('24,588.6', '24,600', '1e+300')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{int(rounded):,}" if rounded.is_integer() and abs(rounded) < _EXPONENT else f"{rounded:,}"


def lines(text: str) -> str:
    """Return a text of several lines, each printable."""
    return "\n".join(map(printable, text.splitlines()))


def dropped_in_words(tally: Tally, *, on_spark: bool = False) -> str:
    """Return what the owner must know of dropped rows, or nothing.

    >>> from hushtable.engines.sliced.keying import Tally
    >>> print(dropped_in_words(Tally(counted=1, dropped=2)))
    PRIVATE: the rules of the domain dropped 66.7 % of the rows (2 dropped, 1 counted).
    `hushtable check` says why. Do not pass these numbers on.
    """
    if not tally.dropped:
        return ""
    rows = tally.counted + tally.dropped
    share = min(99.9, max(0.1, round(100 * tally.dropped / rows, 1)))
    text = f"the rules of the domain dropped {share:g} % of the rows"
    if not tally.counted:
        text = "the rules of the domain dropped EVERY row, so this release is noise alone"
    numbers = f"({tally.dropped:,} dropped, {tally.counted:,} counted)"
    why = "" if on_spark else "`hushtable check` says why. "
    return f"PRIVATE: {text} {numbers}.\n{why}Do not pass these numbers on."
