"""What an interval promises, in words.

Promise: every answer says first whether its interval holds for any cells or rests on an assumption, then
what was left out, and whether it holds by itself or together with others.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.answers.estimation.law import Kind, PublishedLaw
from hushtable.answers.estimation.tails import noise
from hushtable.answers.question import Question

NOISY_TOTAL = "This is the noisy total. The interval covers the true answer."
SHOWN_ALONE = "Only values that are in this file are listed, and the intervals allow for that."
_LARGE = Fraction(1, 10)  # a share of all cells that the noisy total tells much about
_CLOSER = " With corrected=True it would also use the noisy total, which is closer for so many cells."


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
        return f"{promise} {together(groups)}"
    largest = question.top is not None and question.top < groups
    picked = (
        " Groups picked because they are the largest are covered less often: ask for simultaneous intervals."
    )
    return f"{promise} Each interval is stated on its own, not for all groups at once.{picked * largest}"


def together(groups: int) -> str:
    """Return that the intervals of so many groups hold simultaneously."""
    return f"All {groups:,} intervals hold simultaneously."


def cell_note(law: PublishedLaw, *, published: bool) -> str:
    """Return what the interval of a single cell promises."""
    promise = "The interval covers the true count of a cell that was chosen without looking at the rows."
    if published:
        return f"This is the cell's noisy count, as published. {promise}"
    if law.threshold:
        return f"This cell is not in the file: its noisy count was not sampled, or is 0. {promise}"
    return f"This cell is not in the file: its noisy count {_short_of(law)}. {promise}"


def about(law: PublishedLaw, kind: Kind) -> str:
    """Return what is left out, and what the interval then holds."""
    if kind is Kind.UNBIASED:
        return "The estimate is unbiased, and the interval covers the true answer."
    if kind is Kind.CALIBRATED:
        return (
            "The estimate is unbiased and calibrated by the noisy total, and the interval covers the "
            "true answer."
        )
    below = 0.0 if law.cutoff is None else law.cutoff
    hidden = f"Noisy counts below {below:,.10g} are not in this file."
    evenly = (
        "The estimate spreads what the published rows lack of the noisy total evenly over all "
        "cells without a row."
    )
    if kind is Kind.EVEN:
        return (
            f"{hidden} The interval assumes that they are spread evenly, or vary between groups as the "
            f"published counts do; the file cannot confirm it. {evenly}"
        )
    estimate = evenly if kind is Kind.CORRECTED else "The estimate is the sum of the published weights."
    return f"{hidden} The interval covers the true answer of any group, whatever they hold. {estimate}"


def _short_of(law: PublishedLaw) -> str:
    if law.cutoff is not None:
        return f"did not reach the cutoff of {law.cutoff:,.10g}"
    return "is 0" if law.two_sided else "is not above 0"
