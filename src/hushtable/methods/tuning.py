"""Thresholds and cutoffs for a wanted size.

Promise: functions of their arguments alone. With the public number of cells they give the public
parameters of a release; with the true number of empty cells they give a guess that only costs or saves time,
because the exact extension makes the output's law independent of it.
Cost: some hundred evaluations of a law, a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hushtable.laws.acceptance import Acceptance
from hushtable.laws.balls import rational_ball, working_precision
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Everything, FilterPriority, Method

AUTO_CUTOFF = "auto-cutoff-1"  # the name and version of `auto_cutoff`, as a release records it
WHOLE = "whole-1"  # of publishing all cells of a marginal, where a size has room for them
TAU_BITS = 40  # significant bits of a threshold: exact in a float64


def rounded_up(value: Fraction, bits: int = TAU_BITS) -> Fraction:
    """Return the smallest number of at most `bits` significant bits that is not below `value` > 0.

    >>> rounded_up(Fraction(1, 3), bits=2)
    Fraction(3, 8)
    """
    shift = value.numerator.bit_length() - value.denominator.bit_length() - bits
    while True:
        unit = Fraction(2) ** shift
        whole = -(-value // unit)
        if whole <= 1 << bits:
            return whole * unit
        shift += 1


@lru_cache(maxsize=256)
def threshold_for(expected: int, *, cells: int, law: NoiseLaw, rule: Acceptance) -> Acceptance:
    """Return `rule` with the threshold at which `cells` empty cells yield about `expected` rows.

    Without a threshold where even a plain filter yields no more than that.
    """

    def sampled(threshold: Fraction) -> Acceptance:
        return Acceptance(cutoff=rule.cutoff, threshold=threshold, two_sided=rule.two_sided)

    yields_more = _comparison(cells, law)
    filtered = Acceptance(cutoff=rule.cutoff, two_sided=rule.two_sided)
    if not yields_more(filtered, expected):
        return filtered
    low = Fraction(rule.lowest)
    high = 2 * low
    while yields_more(sampled(high), expected):
        low, high = high, 2 * high
    while True:
        middle = rounded_up((low + high) / 2)
        if not low < middle < high:
            return sampled(high)
        if yields_more(sampled(middle), expected):
            low = middle
        else:
            high = middle


@lru_cache(maxsize=256)
def cutoff_for(expected: int, *, cells: int, law: NoiseLaw, two_sided: bool) -> Acceptance:
    """Return the filter that yields about `expected` rows of `cells` empty ones, some ties at its cutoff.

    With cutoff 1 and all its ties where even that yields no more.
    """
    yields_more = _comparison(cells, law)
    low = _largest_cutoff(expected, yields_more, two_sided)
    if low == 0:
        return Acceptance(cutoff=1, two_sided=two_sided)

    def with_edge(share: Fraction) -> Acceptance:
        return Acceptance(cutoff=low, edge_chance=share, two_sided=two_sided)

    # Cutoff `low` yields more, and one above it no more: in between, ties pass with a chance of their own.
    share = Fraction(1)
    while yields_more(with_edge(share / 2), expected):
        share /= 2
    step = share / 4
    for _ in range(8):
        if yields_more(with_edge(share - step), expected):
            share -= step
        step /= 2
    return with_edge(share)


@lru_cache(maxsize=256)
def auto_cutoff(size: int, *, cells: int, law: NoiseLaw, two_sided: bool) -> int:
    """Return the smallest whole cutoff that at most a tenth of `size` empty cells reach, on average.

    So at most about a tenth of the rows of a release are noise alone. The rule is `AUTO_CUTOFF`, and uses
    public facts only: the number of cells, the size and the law of the noise.

    >>> from hushtable.laws.geometric import Geometric
    >>> auto_cutoff(100_000, cells=10**12, law=Geometric(Fraction(1, 10)), two_sided=True)
    185
    """
    return 1 + _largest_cutoff(max(1, size // 10), _comparison(cells, law), two_sided)


def marginal_method(
    size: int, *, cells: int, law: NoiseLaw, two_sided: bool, whole: int | None = None
) -> tuple[Method, str]:
    """Return the summary of a marginal for a size alone, and the name of the rule that chose it.

    All cells where a size has room for them, or where there are no more than `whole`; else filter-priority
    with the cutoff of `auto_cutoff`.

    >>> from hushtable.laws.geometric import Geometric
    >>> marginal_method(100, cells=50, law=Geometric(Fraction(1)), two_sided=True)
    (Everything(nonnegative=False), 'whole-1')
    """
    if cells <= (size if whole is None else whole):
        return Everything(nonnegative=not two_sided), WHOLE
    cutoff = auto_cutoff(size, cells=cells, law=law, two_sided=two_sided)
    return FilterPriority(cutoff=cutoff, size=size, two_sided=two_sided), AUTO_CUTOFF


def _largest_cutoff(expected: int, yields_more: Callable[[Acceptance, int], bool], two_sided: bool) -> int:
    """Return the largest whole cutoff that yields more than `expected` rows, 0 where none does."""
    if not yields_more(Acceptance(two_sided=two_sided), expected):
        return 0
    low, high = 1, 2
    while yields_more(Acceptance(cutoff=high, two_sided=two_sided), expected):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if yields_more(Acceptance(cutoff=middle, two_sided=two_sided), expected):
            low = middle
        else:
            high = middle
    return low


def _comparison(cells: int, law: NoiseLaw) -> Callable[[Acceptance, int], bool]:
    """Return a test whether a rule yields more than so many of `cells` empty cells, on average."""

    def yields_more(rule: Acceptance, expected: int) -> bool:
        with working_precision(256):
            return bool(rule.pass_probability(law.exact()) * cells > rational_ball(Fraction(expected)))

    return yields_more
