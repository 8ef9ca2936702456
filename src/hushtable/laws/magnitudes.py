r"""The law of a noise's size, given that a rule accepted it: exact, for any law of noise.

For noise X and a weight h >= 0 that is linear on each of a few pieces of the non-negative integers,
P[|V| = j] is proportional to h(j) P[X = j]. Sums over a piece are differences of two tails: from u on, a
piece without end has the sum level P[X >= u] + slope (sum of j P[X = j] over j >= u).

Promise: mass, CDF and tail, exact in the arithmetic of the view they are given. Derivation: PROOF.md here.
Cost: at most two tails for each call.
"""

from __future__ import annotations

from collections.abc import Sequence

from hushtable.errors import InternalError
from hushtable.laws.integers import Piece, times, weight_at
from hushtable.laws.law import ExactView
from hushtable.laws.powers import Number


class WeightedNoise:
    """P[|V| = j] proportional to h(j) P[X = j], h given by pieces in increasing order.

    `total` is the sum of h(j) P[X = j]: for a rule that sees one side of 0, its chance to accept X.
    """

    def __init__(self, pieces: Sequence[Piece], noise: ExactView) -> None:
        if not pieces:
            raise InternalError("a law without support was asked for")
        self.pieces = tuple(pieces)
        self.lowest: int | None = pieces[0].low
        last = pieces[-1].high
        self.highest: int | None = None if last is None else last - 1
        self._noise = noise
        # From a point in a piece on: the piece's own sum as if it had no end, plus this.
        self._after: list[Number] = []
        following: Number = 0
        for piece in reversed(self.pieces):
            beyond = following if piece.high is None else following - self._endless(piece, piece.high)
            self._after.insert(0, beyond)
            following = beyond + self._endless(piece, piece.low)
        self.total = following

    def mass(self, x: int) -> Number:
        """Return P[|V| = x]."""
        weight = weight_at(self.pieces, x)
        return times(self._noise.mass(x), weight) / self.total if weight else self.total * 0

    def tail(self, x: int) -> Number:
        """Return P[|V| >= x]."""
        for piece, after in zip(self.pieces, self._after, strict=True):
            if piece.high is None or x < piece.high:
                return (self._endless(piece, max(x, piece.low)) + after) / self.total
        return self.total * 0

    def cdf(self, x: int) -> Number:
        """Return P[|V| <= x]."""
        return 1 - self.tail(x + 1)

    def _endless(self, piece: Piece, start: int) -> Number:
        """Return the sum of h(j) P[X = j] over j >= start, as if the piece had no end."""
        found: Number = times(self._noise.tail(start), piece.level) if piece.level else 0
        return found + times(self._noise.weighted_tail(start), piece.slope) if piece.slope else found
