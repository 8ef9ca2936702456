r"""Exact noise, and the noise of accepted empty cells.

Promise: the laws of `laws.integers` and `laws.acceptance`, exactly, given fair bits.
Cost: a few nanoseconds a draw at every rate; each law's tables are built once and kept.
Source: Ghosh, Roughgarden, Sundararajan (2009) for the two-sided geometric mechanism.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.integers import Piece
from hushtable.laws.rationals import Rational, as_count, as_rate
from hushtable.noise.blocks import integer_sampler
from hushtable.noise.entropy import BitSource, signs

_GEOMETRIC = (Piece(0, None, Fraction(1)),)


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
    return integer_sampler(None, as_rate(rate)).draw(entropy, count=as_count(count, name="count"))


def one_sided_geometric(rate: Rational, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
    r"""Draw `count` integers with :math:`P[x] = (1-a) a^x` for x >= 0, :math:`a = e^{-rate}`.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> bool((one_sided_geometric(1, KeyStream(), count=100) >= 0).all())
    True
    """
    return integer_sampler(_GEOMETRIC, as_rate(rate)).draw(entropy, count=as_count(count, name="count"))


def accepted_noise(
    rule: Acceptance | Band, rate: Rational, entropy: BitSource, *, count: int
) -> NDArray[np.int64]:
    """Draw the noisy counts of `count` empty cells, given that `rule` accepted them.

    Guarantee: the law is exact, given that `entropy` returns fair independent bits.

    >>> from hushtable.noise import KeyStream
    >>> counts = accepted_noise(Acceptance(cutoff=50), "0.1", KeyStream(), count=100)
    >>> bool((abs(counts) >= 50).all())
    True
    """
    magnitudes = integer_sampler(rule.pieces, as_rate(rate)).draw(
        entropy, count=as_count(count, name="count")
    )
    return magnitudes * signs(entropy, count=count) if rule.two_sided else magnitudes
