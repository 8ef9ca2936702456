"""Slow, obvious references: each draws by definition, one value at a time, and shares no code with src.

The coin with chance exp(-x) is the one of Canonne, Kamath and Steinke (2020), "The discrete Gaussian
for differential privacy", algorithm 1; it needs rational coins only. Everything else is rejection.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hushtable.noise import BitSource


def coin(chance: Fraction, entropy: BitSource) -> bool:
    """Compare binary digits of a uniform number with those of the chance until they differ."""
    while True:
        for digit in f"{int(entropy.words(1)[0]):064b}":
            chance *= 2
            wanted = "1" if chance >= 1 else "0"
            if digit != wanted:
                return digit < wanted
            chance -= int(wanted)


def exponential_coin(x: Fraction, entropy: BitSource) -> bool:
    """Come up with chance exp(-x)."""
    while x > 1:
        if not exponential_coin(Fraction(1), entropy):
            return False
        x -= 1
    rounds = 1
    while coin(x / rounds, entropy):
        rounds += 1
    return rounds % 2 == 1


def one_sided(rate: Fraction, entropy: BitSource) -> int:
    """Count coins with chance exp(-rate) up to the first that fails."""
    count = 0
    while exponential_coin(rate, entropy):
        count += 1
    return count


def two_sided(rate: Fraction, entropy: BitSource) -> int:
    """Subtract two one-sided draws."""
    return one_sided(rate, entropy) - one_sided(rate, entropy)


def accepted(rate: Fraction, chance: Callable[[int], Fraction], entropy: BitSource) -> int:
    """Draw noise until the rule accepts it."""
    while True:
        value = two_sided(rate, entropy)
        if coin(chance(value), entropy):
            return value


def binomial(trials: int, chance: Fraction, entropy: BitSource) -> int:
    """Flip every coin."""
    return sum(coin(chance, entropy) for _ in range(trials))
