"""Real numbers known to any precision, in ball arithmetic.

A `Real` is a function from a working precision in bits to a ball (python-flint's `arb`) that
surely contains the number. More bits give a smaller ball; no ball is ever wrong.

Promise: `scaled_floors`, `scaled_bounds` and `nearest_float` return certified integers and floats.
FLINT keeps its precision in one global place, so all ball arithmetic happens inside
`working_precision`, one thread at a time; a wrong precision could cost time, never truth.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from hushtable.errors import InternalError

if TYPE_CHECKING:
    from flint import arb

Real: TypeAlias = "Callable[[int], arb]"

# A comparison that needs more bits than this has chance 2^-100000; a bug is likelier.
_HIGHEST_PRECISION = 1 << 20

# Half of the smallest float: an exact 0 is never certified, but this is as close as a float comes.
_BELOW_FLOATS = 2.0**-1074

_flint_lock = threading.RLock()


def _renew_lock() -> None:
    """In a forked child the thread that held the lock is gone, so nobody would ever release it."""
    global _flint_lock
    _flint_lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Do ball arithmetic at `bits` bits; the caller's own precision is put back afterwards."""
    from flint import ctx

    if bits > _HIGHEST_PRECISION:
        raise InternalError(f"a comparison asked for {bits} bits of precision")
    with _flint_lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def rational_ball(value: Fraction) -> arb:
    """Return a ball around a rational, at the working precision."""
    from flint import arb

    return arb(value.numerator) / value.denominator


def rational_real(value: Fraction) -> Real:
    """Return a rational as a real number."""
    return lambda precision: rational_ball(value)


def scaled_bounds(real: Real, *, precision: int, bits: int) -> tuple[int, int]:
    """Return integers low, high with low <= 2^bits x <= high, as close as `precision` allows."""
    while True:
        with working_precision(precision):
            scaled = real(precision) * (1 << bits)
            low, high = scaled.lower().floor().unique_fmpz(), scaled.upper().ceil().unique_fmpz()
        if low is not None and high is not None:
            return int(low), int(high)
        precision *= 2  # too coarse to be finite, as a logarithm of a ball around 0


def scaled_floors(reals: Iterable[Real], *, precision: int, bits: int) -> list[int]:
    """Return floor(2^bits x) for each real x, raising the precision until the floor is certain.

    A floor never becomes certain if x is a multiple of 2^-bits whose balls are not exact: `InternalError`.
    """
    scale = 1 << bits
    floors = []
    with working_precision(precision):
        for real in reals:
            floor = (real(precision) * scale).floor().unique_fmpz()
            floors.append(
                int(floor)
                if floor is not None
                else scaled_floors([real], precision=2 * precision, bits=bits)[0]
            )
    return floors


def nearest_float(real: Real) -> float:
    """Return the real as a float, correct to the last bit or the one before.

    >>> nearest_float(lambda precision: rational_ball(Fraction(1, 3)))
    0.3333333333333333
    """
    precision = 96
    while True:
        with working_precision(precision):
            ball = real(precision)
            if ball.rel_accuracy_bits() >= 64:
                return float(ball.mid())
            if ball.abs_upper() < _BELOW_FLOATS:
                return 0.0
        precision *= 2
