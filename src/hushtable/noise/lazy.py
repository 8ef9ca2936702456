"""A uniform real number, revealed bit by bit.

Promise: `below(x)` is the exact truth of U < x for one fixed U, however many reals it is asked
about; bits are drawn only while a comparison needs them. This is where exactness comes from: every
vectorised draw that its first bits leave undecided ends here.
Cost: a few microseconds; a comparison asks for more than 64 further bits with chance 2^-64.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hushtable.laws.balls import Real, rational_real, scaled_bounds
from hushtable.noise.entropy import BitSource


class LazyUniform:
    """U, uniform on [0, 1), of which `bits` binary digits are known: floor(2^bits U) = `value`."""

    def __init__(self, entropy: BitSource, *, value: int = 0, bits: int = 0) -> None:
        self._entropy = entropy
        self._value = value
        self._bits = bits

    def below(self, real: Real | Fraction) -> bool:
        """Return whether U < x."""
        if isinstance(real, Fraction):
            real = rational_real(real)
        if self._bits == 0:
            self.reveal()
        precision = self._bits + 64
        while True:
            low, high = scaled_bounds(real, precision=precision, bits=self._bits)
            if self._value < low:  # U < (value + 1) / 2^bits <= x
                return True
            if self._value >= high:  # x <= value / 2^bits <= U
                return False
            if high - low > 2:
                precision *= 2
            else:
                self.reveal()
                precision = max(precision, self._bits + 64)

    def invert(self, cdf: Callable[[int], Real], *, low: int | None, high: int | None) -> int:
        """Return the smallest k with U < cdf(k); it is known to lie in low..high, None meaning no bound."""
        return smallest(lambda k: self.below(cdf(k)), low=low, high=high)

    def interval(self) -> tuple[Fraction, Fraction]:
        """Return what is known of U: it lies from the first number up to, not including, the second."""
        unit = Fraction(1, 1 << self._bits)
        return self._value * unit, (self._value + 1) * unit

    def reveal(self) -> None:
        """Draw 64 more bits of U."""
        self._value = self._value << 64 | int(self._entropy.words(1)[0])
        self._bits += 64


def smallest(holds: Callable[[int], bool], *, low: int | None, high: int | None) -> int:
    """Return the smallest k in low..high that `holds`, which does so from some k on, and surely at `high`."""
    step = 1
    while low is None or high is None:
        probe = low + step if low is not None else (high or 0) - step
        if holds(probe):
            high = probe
        else:
            low = probe + 1
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
