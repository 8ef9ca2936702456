"""What an interval promises, in words.

Promise: every answer says whether its interval is about the true answer or about the noisy table after a
cutoff, on which assumption it rests, and whether it holds by itself or together with others.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.query.estimation.answers import Answering, Kind

_LARGE = Fraction(1, 10)  # a share of all cells that the noisy total tells much about
_CLOSER = "; corrected=True would use the noisy total too, which is closer for so many cells"


def note(answering: Answering, kind: Kind, *, share: Fraction) -> str:
    """Return what the interval of an answer about this share of all cells promises."""
    if kind in (Kind.CALIBRATED, Kind.CORRECTED) and share == 1:
        return "the noisy total; the interval holds for the true answer"
    closer = kind is Kind.UNBIASED and answering.terms.total is not None and share >= _LARGE
    return _about(answering, kind) + _CLOSER * closer


def groups_note(answering: Answering, kind: Kind, *, groups: int, together: bool, largest: bool) -> str:
    """Return what the intervals of several groups promise."""
    about = _about(answering, kind)
    if groups == 1:
        return about
    if together:
        return f"{about}; all {groups:,} intervals hold together"
    picked = (
        "; of groups picked for being the largest they do so less often: ask for simultaneous ones" * largest
    )
    return f"{about}; each interval holds by itself, not all together{picked}"


def cell_note(answering: Answering, *, published: bool) -> str:
    """Return what the interval of a single cell promises."""
    promise = "the interval holds for the true count of a cell that is chosen without looking at the rows"
    if published:
        return f"the cell's noisy count, as published; {promise}"
    if answering.published.threshold:
        return f"the cell is not published: its noisy count was sampled away, or is 0; {promise}"
    return f"the cell is not published: its noisy count {_short_of(answering)}; {promise}"


def _about(answering: Answering, kind: Kind) -> str:
    if kind is Kind.UNBIASED:
        return "unbiased; the interval holds for the true answer"
    if kind is Kind.CALIBRATED:
        return "unbiased, and calibrated by the noisy total; the interval holds for the true answer"
    lost = "negative noisy counts are left out, which raises sums"
    if answering.cutoff is not None:
        lost = f"counts below the cutoff of {answering.cutoff:,.10g} are left out"
    if kind is Kind.BARE:
        return f"{lost}: the interval holds for the noisy table without them, not for the true answer"
    return (
        f"{lost}, and what the rows miss of the noisy total is spread evenly over the cells without a row; "
        "the interval holds for the true answer where cells were chosen by chance, "
        "or groups differ in suppressed counts as they do in published ones"
    )


def _short_of(answering: Answering) -> str:
    if answering.cutoff is not None:
        return f"did not reach the cutoff of {answering.cutoff:,.10g}"
    return "is 0" if answering.two_sided else "is not above 0"
