"""What an interval promises, in words.

Promise: every answer says first whether its interval holds for any cells or rests on an assumption, then
what was left out, and whether it holds by itself or together with others.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.answers.estimation.law import Kind, PublishedLaw
from hushtable.answers.estimation.tails import noise
from hushtable.answers.question import Question

NOISY_TOTAL = "the noisy total; the interval holds for the true answer"
_LARGE = Fraction(1, 10)  # a share of all cells that the noisy total tells much about
_CLOSER = "; corrected=True would use the noisy total too, which is closer for so many cells"


def note(law: PublishedLaw, kind: Kind, *, share: Fraction, standard_error: float) -> str:
    """Return what the interval of an answer about this share of all cells promises."""
    if kind in (Kind.CALIBRATED, Kind.CORRECTED, Kind.EVEN) and share == 1:
        return NOISY_TOTAL
    of_total = law.terms.total_law
    known = of_total is not None and noise(of_total).variance ** 0.5 < standard_error
    closer = kind is Kind.UNBIASED and known and share >= _LARGE
    return about(law, kind) + _CLOSER * closer


def groups_note(promise: str, question: Question, *, groups: int) -> str:
    """Return what the intervals of several groups promise, of which the `top` largest are given."""
    if groups == 1:
        return promise
    if question.together:
        return f"{promise}; all {groups:,} intervals hold together"
    largest = question.top is not None and question.top < groups
    picked = (
        "; of groups picked for being the largest they do so less often: ask for simultaneous ones" * largest
    )
    return f"{promise}; each interval holds by itself, not all together{picked}"


def cell_note(law: PublishedLaw, *, published: bool) -> str:
    """Return what the interval of a single cell promises."""
    promise = "the interval holds for the true count of a cell that is chosen without looking at the rows"
    if published:
        return f"the cell's noisy count, as published; {promise}"
    if law.threshold:
        return f"the cell is not published: its noisy count was sampled away, or is 0; {promise}"
    return f"the cell is not published: its noisy count {_short_of(law)}; {promise}"


def about(law: PublishedLaw, kind: Kind) -> str:
    """Return what is left out, and what the interval then holds."""
    if kind is Kind.UNBIASED:
        return "unbiased; the interval holds for the true answer"
    if kind is Kind.CALIBRATED:
        return "unbiased, and calibrated by the noisy total; the interval holds for the true answer"
    hidden = "noisy counts below 0"
    if law.cutoff is not None:
        hidden = f"noisy counts below the cutoff of {law.cutoff:,.10g}"
    evenly = "the estimate spreads what the rows miss of the noisy total evenly over the cells without a row"
    if kind is Kind.EVEN:
        return (
            f"the interval assumes that {hidden}, which are not in this file, are spread evenly or differ "
            f"between groups as published ones do, and the file cannot confirm it; {evenly}"
        )
    estimate = evenly if kind is Kind.CORRECTED else "the estimate is the sum of the published weights"
    return (
        f"the interval holds for the true answer of any group, whatever it has in {hidden}, which are not in "
        f"this file; {estimate}"
    )


def _short_of(law: PublishedLaw) -> str:
    if law.cutoff is not None:
        return f"did not reach the cutoff of {law.cutoff:,.10g}"
    return "is 0" if law.two_sided else "is not above 0"
