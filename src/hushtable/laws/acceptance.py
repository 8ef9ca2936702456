r"""Which noisy counts a summary accepts, and the law of an accepted empty cell.

A summary is a rule "accept a noisy count v with this chance", blind to the cell's position. An
empty cell holds pure noise, so its chance to be accepted and the law of its value follow from the
rule alone. `Acceptance` covers every flat summary of the paper; `Band` is what a lower threshold
or cutoff accepts beyond a higher one, which lets a summary grow without redrawing.

Promise: cutoffs and thresholds are exact rationals, fractional ones included; every chance is
exact, under any law of noise X. With c = max(1, ceil(cutoff)) and
:math:`W(u) = \sum_{j \ge u} \min(j/\tau, 1) P[X = j]`, the chance is W(c) on each side
and :math:`P(|V| \ge u \mid accepted) = W(u)/W(c)`. Derivation: PROOF.md beside this file.
Source: Cormode, Procopiuc, Srivastava, Tran, sections 2.2 to 2.4, whose own formulas hold for
whole numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from hushtable.errors import BadNumber
from hushtable.laws.integers import Piece
from hushtable.laws.law import ExactView
from hushtable.laws.magnitudes import WeightedNoise
from hushtable.laws.powers import Number
from hushtable.laws.rationals import Rational, as_fraction, as_positive

LARGEST_NOISY = 1 << 61  # noisy counts are saturated here, so that they fit 64 bits; rules see them so
LARGEST_CUTOFF = 1 << 61  # what a saturated count can reach


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Accept v with chance min(|v| / threshold, 1) if |v| >= cutoff, else never.

    ==============================  =====================================================
    setting                         meaning
    ==============================  =====================================================
    cutoff None, or 0 to 1          every non-zero count may pass
    cutoff below 1, one-sided       `BadNumber`: it would pass counts of 0 and below
    threshold None, or <= cutoff    no sampling: every count that reaches the cutoff passes
    edge_chance below 1             counts right at the cutoff pass with this chance only
    two_sided False                 only counts above 0 are seen
    ==============================  =====================================================

    >>> Acceptance(cutoff=2, threshold="7.5").chance(-3)
    Fraction(2, 5)
    """

    cutoff: Fraction | None
    threshold: Fraction | None
    two_sided: bool
    edge_chance: Fraction

    def __init__(
        self,
        *,
        cutoff: Rational | None = None,
        threshold: Rational | None = None,
        two_sided: bool = True,
        edge_chance: Fraction = Fraction(1),
    ) -> None:
        reach = None if cutoff is None else as_fraction(cutoff, name="cutoff")
        if reach is not None and reach < (0 if two_sided else 1):
            least = "below 0" if two_sided else "below 1, where a one-sided filter would pass empty cells"
            raise BadNumber(
                name="cutoff", value=cutoff, allowed=f"is {least}", hint="Use 1 or more, or leave it out."
            )
        if reach is not None and reach > LARGEST_CUTOFF:
            hint = "Counts are 64-bit integers; no table needs more."
            raise BadNumber(name="cutoff", value=cutoff, allowed="is above 2^61", hint=hint)
        if threshold is not None:
            hint = "A count v is kept with chance |v| / threshold; leave it out to keep all."
            threshold = as_positive(threshold, name="threshold", hint=hint)
        object.__setattr__(self, "cutoff", reach)
        object.__setattr__(self, "threshold", threshold)
        if not 0 < edge_chance <= 1 or (edge_chance < 1 and threshold is not None):
            hint = "It breaks ties at the cutoff of a filter; a threshold sample has none."
            raise BadNumber(
                name="edge_chance", value=edge_chance, allowed="does not fit this rule", hint=hint
            )
        object.__setattr__(self, "two_sided", two_sided)
        object.__setattr__(self, "edge_chance", edge_chance)

    @property
    def lowest(self) -> int:
        """The smallest magnitude that may be accepted: 0 counts are never published."""
        return max(1, ceil(self.cutoff or 0))

    def chance(self, value: int) -> Fraction:
        """Return the chance that a noisy count of `value` is accepted."""
        magnitude = min(abs(value) if self.two_sided else value, LARGEST_NOISY)
        if magnitude < self.lowest:
            return Fraction(0)
        if self.threshold is None:
            return self.edge_chance if magnitude == self.lowest else Fraction(1)
        return min(magnitude / self.threshold, Fraction(1))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The chance as a function of the magnitude: a ramp up to the threshold, then 1.

        Counts are saturated, so the chance is the same for all magnitudes from `LARGEST_NOISY` on.
        """
        if self.edge_chance < 1:
            if self.lowest >= LARGEST_NOISY:
                return (Piece(self.lowest, None, self.edge_chance),)
            edge = Piece(self.lowest, self.lowest + 1, self.edge_chance)
            return (edge, Piece(self.lowest + 1, None, Fraction(1)))
        if self.threshold is None:
            return (Piece(self.lowest, None, Fraction(1)),)
        ramp_end = min(floor(self.threshold) + 1, LARGEST_NOISY)
        plateau = Piece(max(ramp_end, self.lowest), None, min(LARGEST_NOISY / self.threshold, Fraction(1)))
        if ramp_end <= self.lowest:
            return (plateau,)
        return (Piece(self.lowest, ramp_end, Fraction(0), 1 / self.threshold), plateau)

    def magnitude(self, noise: ExactView) -> WeightedNoise:
        """Return the law of |V| for the noise V of an accepted empty cell."""
        return WeightedNoise(self.pieces, noise)

    def pass_probability(self, noise: ExactView) -> Number:
        """Return the chance that an empty cell is accepted."""
        return self.magnitude(noise).total * (2 if self.two_sided else 1)


@dataclass(frozen=True, slots=True)
class Band:
    """What `wider` accepts and `narrower` did not: the next slice of an exact extension.

    For a cell the narrower rule has not accepted, `pass_probability` is the chance that the wider
    rule accepts it, and `magnitude` the law of its |V| if so.

    >>> band = Band(wider=Acceptance(threshold=4), narrower=Acceptance(threshold=8))
    >>> [str(band.chance(v)) for v in (0, 2, 4, 6, 8)]
    ['0', '1/4', '1/2', '1/4', '0']
    """

    wider: Acceptance
    narrower: Acceptance

    def __post_init__(self) -> None:
        if not widens(self.wider, self.narrower):
            raise BadNumber(
                name="wider",
                value=self.wider,
                allowed="accepts no more than the narrower rule",
                hint="Lower the threshold or the cutoff, and keep the sides as they are.",
            )

    @property
    def two_sided(self) -> bool:
        """Whether negative counts are seen; the same for both rules."""
        return self.wider.two_sided

    def chance(self, value: int) -> Fraction:
        """Return the chance that `value` is accepted by the wider rule only."""
        return self.wider.chance(value) - self.narrower.chance(value)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The difference of the two chances, linear between the edges of both."""
        pieces = []
        edges = self._edges()
        for low, high in zip(edges, [*edges[1:], None], strict=True):
            slope = Fraction(0)
            if high is None or high > low + 1:
                slope = self.chance(low + 1) - self.chance(low)
            level = self.chance(low) - slope * low
            if high is not None and self.chance(high - 1) == 0:
                high -= 1  # a whole threshold ends its ramp at chance 0, which is no part of the support
            if (level or slope) and high != low:
                pieces.append(Piece(low, high, level, slope))
        return tuple(pieces)

    def magnitude(self, noise: ExactView) -> WeightedNoise:
        """Return the law of |V| for a cell that the band accepts."""
        return WeightedNoise(self.pieces, noise)

    def pass_probability(self, noise: ExactView) -> Number:
        """Return the chance that the band accepts an empty cell which the narrower rule did not."""
        narrow = self.narrower.pass_probability(noise)
        return (self.wider.pass_probability(noise) - narrow) / (1 - narrow)

    def _edges(self) -> list[int]:
        return _edges(self.wider, self.narrower)


def widens(wider: Acceptance, narrower: Acceptance) -> bool:
    """Return whether `wider` accepts every count at least as often as `narrower`, and some more often."""
    # Both chances are linear between edges: their difference is smallest and largest next to an edge.
    corners = {x for edge in _edges(wider, narrower) for x in (edge - 1, edge)}
    differences = [wider.chance(x) - narrower.chance(x) for x in corners]
    return wider.two_sided == narrower.two_sided and min(differences) >= 0 and max(differences) > 0


def _edges(*rules: Acceptance) -> list[int]:
    """Return where a linear piece of one of the chances begins, in order."""
    return sorted({piece.low for rule in rules for piece in rule.pieces})
