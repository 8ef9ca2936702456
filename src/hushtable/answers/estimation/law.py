"""What the terms of a release say of each of its numbers: the noise in it, and what was left out.

Promise: follows from the terms alone, and is the same for cells and for nodes of a tree.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, get_args

from hushtable.answers.estimation.tails import noise
from hushtable.errors import BadQuery, shown
from hushtable.release.terms import Terms

Assumption = Literal["even"]  # hidden counts are spread evenly, or differ between groups as published ones do


class Kind(Enum):
    """What an answer is made of, and what its interval rests on."""

    UNBIASED = "unbiased"
    CALIBRATED = "calibrated"
    BARE = "bare"  # the sum of weights; bounds
    CORRECTED = "corrected"  # an even share of what is missed; bounds
    EVEN = "even"  # the same value; an interval that rests on the assumption

    @property
    def assumes(self) -> Assumption | None:
        """The assumption that intervals rest on."""
        return "even" if self is Kind.EVEN else None


class PublishedLaw:
    """The noise of a cell or node (`noise`), its part that reaches the cutoff (`beyond`), and the rules."""

    def __init__(self, terms: Terms) -> None:
        method = terms.method
        self.terms = terms
        self.two_sided = method.two_sided
        # The largest of so many leave out ties at their cutoff. Else a cutoff of 1 leaves out nothing.
        self.ties = method.by_largest
        self.cutoff = terms.cutoff if (terms.cutoff or 0) > (0 if self.ties else 1) else None
        self.threshold = terms.threshold or 0.0
        self.noise = noise(terms.law)
        self.beyond = noise(terms.law, cutoff=self.cutoff, two_sided=self.two_sided)

    @property
    def biased(self) -> bool:
        """Whether the published weights miss something on average."""
        return self.cutoff is not None or not self.two_sided

    @property
    def unlisted(self) -> bool:
        """Whether nobody can list the cells there are."""
        return bool(self.terms.domain.unlisted)

    @property
    def noises_empty(self) -> bool:
        """Whether cells that nobody is in have noise, and may be published."""
        return self.terms.law.noises_empty

    @property
    def negative(self) -> bool:
        """Whether a cell may hold less than 0."""
        clamp = self.terms.measure.clamp
        return clamp is not None and clamp[0] < 0

    @property
    def most_filtered(self) -> int:
        """The largest size of a noisy count that the filter alone left out."""
        return self.beyond.cutoff if self.ties and self.cutoff is not None else self.beyond.cutoff - 1

    @property
    def largest_absent(self) -> float:
        """The largest size that the noisy count of an absent cell may have."""
        return self.threshold or self.cutoff or 0.0

    def kind(self, corrected: bool | None, assume: Assumption | None = None) -> Kind:
        """Return which kind of answer to give; by default the best that the release allows.

        An assumption counts only where it has something to say: of what a cutoff took from a noisy total.
        """
        check_choices(corrected, assume)
        if corrected and self.negative and not self.two_sided:
            fact = "the release shows only counts above 0, and counts below 0 leave no trace in it"
            raise BadQuery(fact, "Leave `corrected` out, or give corrected=False.")
        if corrected and self.terms.total is None:
            fact = "this release has no noisy total, so its answers cannot be corrected by one"
            raise BadQuery(fact, "Leave `corrected` out, or give corrected=False.")
        if not self.biased:
            return Kind.CALIBRATED if corrected else Kind.UNBIASED
        hidden = self.negative and not self.two_sided
        if corrected is False or self.terms.total is None or hidden:
            return Kind.BARE
        return Kind.EVEN if assume else Kind.CORRECTED


def check_choices(corrected: object, assume: object) -> None:
    """Raise where what is asked of an answer is not allowed."""
    if assume not in (None, *get_args(Assumption)):
        hint = 'Give "even", or leave it out for intervals that hold without an assumption.'
        raise BadQuery(f"assume={shown(assume)} is not a known assumption", hint)
    if not isinstance(corrected, bool | None):
        raise BadQuery(f"corrected={shown(corrected)} is not allowed", "Give True, False or None.")
