r"""Exact noise, and the noise of accepted empty cells.

Promise: the law that is given, exactly, given fair bits.
Cost: a few nanoseconds a draw of geometric noise at every rate; each law's tables are built once and kept.
Source: Ghosh, Roughgarden, Sundararajan (2009) for the two-sided geometric mechanism.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import Piece
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational, as_count, as_rate
from hushtable.noise.blocks import GeometricSampler
from hushtable.noise.entropy import BitSource, signs
from hushtable.noise.samplers import register_sampler, sampler_of

_GEOMETRIC = (Piece(0, None, Fraction(1)),)

register_sampler(Geometric, lambda law, pieces: GeometricSampler(pieces, law.rate))


def cell_noise(law: NoiseLaw, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
    """Draw the noise of `count` cells.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> cell_noise(Geometric(Fraction(1, 10)), KeyStream(), count=5)   # your values will differ
    array([...])
    """
    return sampler_of(law).draw(entropy, count=as_count(count, name="count"))


def accepted_noise(
    rule: Acceptance | Band, law: NoiseLaw, entropy: BitSource, *, count: int
) -> NDArray[np.int64]:
    """Draw the noisy counts of `count` empty cells, given that `rule` accepted them.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> counts = accepted_noise(Acceptance(cutoff=50), Geometric(Fraction(1, 10)), KeyStream(), count=100)
    >>> bool((abs(counts) >= 50).all())
    True
    """
    if as_count(count, name="count") == 0:
        return np.zeros(0, dtype=np.int64)  # of a law that no empty cell passes there is nothing to draw
    magnitudes = sampler_of(law, rule.pieces).draw(entropy, count=count)
    return magnitudes * signs(entropy, count=count) if rule.two_sided else magnitudes


def two_sided_geometric(rate: Rational, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
    r"""Draw `count` integers with :math:`P[x] = \frac{1-a}{1+a} a^{|x|}`, :math:`a = e^{-rate}`.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    ====================  ====================================
    rate                  result
    ====================  ====================================
    2^-40 and above       the draws
    below, 0, NaN, text   `BadNumber`
    ====================  ====================================

    >>> from hushtable.noise import KeyStream
    >>> two_sided_geometric("0.1", KeyStream(), count=5)   # your values will differ
    array([...])
    """
    return cell_noise(Geometric(as_rate(rate)), entropy, count=count)


def one_sided_geometric(rate: Rational, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
    r"""Draw `count` integers with :math:`P[x] = (1-a) a^x` for x >= 0, :math:`a = e^{-rate}`.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> bool((one_sided_geometric(1, KeyStream(), count=100) >= 0).all())
    True
    """
    sampler = sampler_of(Geometric(as_rate(rate)), _GEOMETRIC)
    return sampler.draw(entropy, count=as_count(count, name="count"))
