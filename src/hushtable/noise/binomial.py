r"""How many of N empty cells pass, for N of any size and any chance.

A count k is proposed from a simple law around the most likely count m, and kept with chance
f(k) / (f(m) envelope(k)), f being the binomial mass: a real number, compared in ball arithmetic.

Promise: Binomial(N, p) exactly, given fair bits, for rational and irrational p.
Proof: PROOF.md beside this file. Source of the envelope: Devroye (1987), "A simple generator for
discrete log-concave distributions": f(m + d) <= f(m) min(1, exp(1 - f(m) |d|)).
Cost: some eight proposals, each two log-gammas: under a millisecond, whatever N and p.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable.laws.balls import Real, rational_real, scaled_bounds, scaled_floors, working_precision
from hushtable.laws.rationals import Rational, as_count
from hushtable.noise.bernoulli import as_chance
from hushtable.noise.entropy import BitSource
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.uniform import uniform_integer

if TYPE_CHECKING:
    from flint import arb


def binomial(trials: int, chance: Rational | Real, entropy: BitSource) -> int:
    """Draw how many of `trials` independent coins come up, each with the given chance.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    ==============================  ==========================================
    chance                          result
    ==============================  ==========================================
    a number from 0 to 1            the draw; 0 gives 0, and 1 gives `trials`
    a `Real`, irrational, in (0,1)  the draw
    a number outside, NaN, text     `BadNumber`
    ==============================  ==========================================

    >>> from hushtable.noise import KeyStream
    >>> abs(binomial(10**30, "1e-25", KeyStream()) - 100_000) < 6_000   # 100,000 expected, give or take 316
    True
    """
    trials = as_count(trials, name="trials")
    exact = chance if callable(chance) else as_chance(chance)
    if trials == 0 or (isinstance(exact, Fraction) and exact in (0, 1)):
        return trials if exact == 1 else 0
    real = rational_real(exact) if isinstance(exact, Fraction) else exact
    return _Proposals(trials, real, most_likely(trials, exact)).draw(entropy)


def most_likely(trials: int, chance: Fraction | Real) -> int:
    """Return floor((N + 1) p), a mode of Binomial(N, p)."""
    if isinstance(chance, Fraction):
        return (trials + 1) * chance.numerator // chance.denominator
    real = chance
    (mode,) = scaled_floors(
        [lambda precision: real(precision) * (trials + 1)], precision=64 + trials.bit_length(), bits=0
    )
    return mode


class _Proposals:
    """The envelope around the mode: fair coins choose a ring, and a uniform integer the place in it.

    Ring i lies at distance L 2^i to L 2^(i+1) from the mode (ring 0 from 0 to 2L), with L >= 1/f(mode),
    on either side, and has chance 2^-(i+1). So a count in ring i is proposed with chance
    envelope(i) / (8 L), and envelope(i) >= f(k) / f(mode) for every k in it.
    """

    def __init__(self, trials: int, chance: Real, mode: int) -> None:
        self._trials, self._chance, self._mode = trials, chance, mode
        # Log-gammas of size N log N are subtracted, and what is left must still have all its bits.
        self._extra = 16 + 2 * trials.bit_length()
        self.reach = self._reach()

    def draw(self, entropy: BitSource) -> int:
        """Return one count."""
        while True:
            ring, sign = _ring(entropy)
            start, size = self.ring(ring)
            distance = start + uniform_integer(size, entropy)
            count = self._mode + distance if sign else self._mode - 1 - distance
            if 0 <= count <= self._trials and LazyUniform(entropy).below(self._keep_chance(count, ring)):
                return count

    def ring(self, ring: int) -> tuple[int, int]:
        """Return the first distance of a ring and how many it has."""
        return (0, 2 * self.reach) if ring == 0 else (self.reach << ring, self.reach << ring)

    @staticmethod
    def envelope(ring: int) -> Fraction:
        """Return what bounds f(k) / f(mode) in a ring: exp(1 - 2^ring) <= 2 / 4^ring."""
        return Fraction(1) if ring == 0 else Fraction(2, 4**ring)

    def _reach(self) -> int:
        """Return an integer of at least 1 / f(mode), and not much more."""
        precision = 64
        while True:
            low, high = scaled_bounds(self._one_over_mode_mass, precision=precision, bits=0)
            if high - low <= 2 + low // 16:  # 2: the ball around a whole number reaches both neighbours
                return high
            precision *= 2

    def _one_over_mode_mass(self, precision: int) -> arb:
        with working_precision(precision + self._extra):
            p = self._chance(precision + self._extra)
            n, k = self._trials, self._mode
            log_mass = (
                _log_gamma(n) - _log_gamma(k) - _log_gamma(n - k) + p.log() * k + (-p).log1p() * (n - k)
            )
            return (-log_mass).exp()

    def _keep_chance(self, count: int, ring: int) -> Real:
        """Return f(count) / (f(mode) envelope(ring))."""
        n, m, k = self._trials, self._mode, count
        bound = self.envelope(ring)

        def real(precision: int) -> arb:
            with working_precision(precision + self._extra):
                p = self._chance(precision + self._extra)
                gammas = _log_gamma(m) + _log_gamma(n - m) - _log_gamma(k) - _log_gamma(n - k)
                ratio = (gammas + (p / (1 - p)).log() * (k - m)).exp()
                return ratio * bound.denominator / bound.numerator

        return real


def _ring(entropy: BitSource) -> tuple[int, bool]:
    """Return how many fair coins came up before the first that did not, and one more coin."""
    heads = 0
    while True:
        word = int(entropy.words(1)[0])
        tails = ~word & ((1 << 63) - 1)
        if tails:
            return heads + (tails & -tails).bit_length() - 1, bool(word >> 63)
        heads += 63


def _log_gamma(k: int) -> arb:
    """Return log(k!)."""
    from flint import arb

    return arb(k + 1).lgamma()
