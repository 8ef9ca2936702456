r"""From one currency of privacy to another: pure epsilon, rho of zCDP, and epsilon with a delta.

Promise: each number is on the safe side of the real one, certified by balls: costs are rounded up, budgets
down. Numbers are short decimals, and the same on every machine: each comparison on the way is decided
for certain, and no float takes part. Derivation: PROOF.md beside this file, "Currencies".
Cost: about 40 comparisons, a millisecond.
Source: Harrison, Manurangsi 2024 (pure to zCDP); Canonne, Kamath, Steinke 2020, Proposition 12 (zCDP to
epsilon and delta).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable.errors import BadNumber
from hushtable.laws.balls import Real, rational_ball, working_precision

if TYPE_CHECKING:
    from flint import arb

_DIGITS = 12  # of what people see and files keep
_DECIMALS = 40  # at most, so that sums of rounded numbers stay short
_CONSTANT = 30  # decimals of the constant of an order: it is added to exact sums, and never kept

# Orders are 1 + m 2^j with m of 24 bits: so close to the best one that 12 digits tell no difference.
_BITS = 24
_LOWEST, _HIGHEST = -300, 300  # of j

# Numbers that cannot be told from a decimal, or from 0, by so many bits are taken to be on the unsafe side.
_ENOUGH_BITS = 1 << 13
_POWER_DIGITS = 60  # of a power of e before it is rounded up to 12


def pure_to_rho(epsilon: Fraction) -> Fraction:
    """Return a rho, rounded up, such that every pure epsilon-DP release is rho-zCDP: epsilon tanh(epsilon/2).

    >>> pure_to_rho(Fraction(1)), pure_to_rho(Fraction(1, 10))
    (Fraction(462117157261, 1000000000000), Fraction(499583749579, 100000000000000))
    """
    return rounded_up(lambda precision: (rational_ball(epsilon) / 2).tanh() * rational_ball(epsilon))


def exponential(epsilon: Fraction) -> Fraction:
    """Return e^epsilon, rounded up.

    Python's decimals round powers of e rightly, and loading FLINT takes longer than most questions.

    >>> float(exponential(Fraction(1)))
    2.71828182846
    """
    with localcontext(prec=_POWER_DIGITS, rounding=ROUND_CEILING) as context:
        above = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return shortened(Fraction(context.next_plus(above.exp())), up=True)


def rho_to_epsilon(rho: Fraction, *, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, such that every rho-zCDP release is (epsilon, delta)-DP.

    >>> float(rho_to_epsilon(Fraction(1, 10), delta=Fraction(1, 10**6)))
    2.14193892839
    """
    _check_delta(delta)
    if rho <= 0:
        return Fraction(0)
    order = _order(lambda step: _spread(step, delta) - rational_ball(rho))
    exact = order * rho + constant(order, delta)
    return max(Fraction(0), shortened(exact, up=True))


def largest_rho(epsilon: Fraction, *, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, such that every rho-zCDP release is (epsilon, delta)-DP; or 0.

    >>> float(largest_rho(Fraction(1), delta=Fraction(1, 10**6)))
    0.0243559703595
    """
    return rho_within(epsilon, order=best_order(epsilon, delta=delta), delta=delta)


def rho_within(epsilon: Fraction, *, order: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, with order rho + constant(order, delta) <= epsilon; or 0."""
    return max(Fraction(0), shortened((epsilon - constant(order, delta)) / order, up=False))


def best_order(epsilon: Fraction, *, delta: Fraction) -> Fraction:
    """Return the order at which (epsilon, delta) holds the largest rho, as a short exact rational above 1.

    Guarantee: it depends on its arguments alone, not on the machine: ledgers find it from their entries.

    >>> float(best_order(Fraction(1), delta=Fraction(1, 10**6)))
    21.98...
    """
    _check_delta(delta)
    if epsilon <= 0:
        raise BadNumber(
            name="epsilon",
            value=str(epsilon),
            allowed="is not above 0",
            hint="Typical values lie between 0.01 and 10.",
        )

    def rising(step: arb) -> arb:
        """Tell by its sign whether the rho of an order grows with the order."""
        return _spread(step, delta) * (1 + 2 * step) + (step / (1 + step)).log() - rational_ball(epsilon)

    return _order(rising)


def constant(order: Fraction, delta: Fraction) -> Fraction:
    """Return what an order adds to order * rho: ln(1 - 1/a) + ln(1/(a delta))/(a - 1), rounded up."""

    def real(precision: int) -> arb:
        a = rational_ball(order)
        return (1 - 1 / a).log() - (a * rational_ball(delta)).log() / (a - 1)

    return Fraction(_floor(real, scale=10**_CONSTANT) + 1, 10**_CONSTANT)


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """Return the delta, rounded up and at most 1, of a group of `size` units under (epsilon, delta) for each.

    It goes with `size` times epsilon: delta (e^(size epsilon) - 1)/(e^epsilon - 1).

    >>> float(group_delta(Fraction(1), Fraction(1, 10**9), 3))
    1.11073379274e-08
    """
    if size == 1 or not delta:
        return delta

    def real(precision: int) -> arb:
        step = rational_ball(epsilon)
        return rational_ball(delta) * (step * size).expm1() / step.expm1()

    with working_precision(256):
        if not real(256) < 1:  # it may have more digits than there is memory for
            return Fraction(1)
    return min(Fraction(1), rounded_up(real))


def rounded_up(real: Real) -> Fraction:
    """Return a decimal of 12 digits, and at most 40 after the point, that is not below a real number."""
    return shortened(Fraction(_floor(real, scale=10**_DECIMALS) + 1, 10**_DECIMALS), up=True)


def _spread(step: arb, delta: Fraction) -> arb:
    """Return (ln(1/delta) - ln a)/(a - 1)^2 at a = 1 + step: the rho for which a is the best order."""
    return -(rational_ball(delta) * (1 + step)).log() / (step * step)


def _order(rising: Callable[[arb], arb]) -> Fraction:
    """Return the last order at which `rising`, which changes its sign once, from above 0, is above 0."""
    smallest, count = 1 << (_BITS - 1), (_HIGHEST - _LOWEST) << (_BITS - 1)

    def step_at(index: int) -> Fraction:
        power, offset = divmod(index, smallest)
        return (smallest + offset) * Fraction(2) ** (power + _LOWEST)

    low, high = 0, count  # above 0 at `low`, and not at `high`
    while high - low > 1:
        middle = (low + high) // 2
        if _is_positive(rising, step_at(middle)):
            low = middle
        else:
            high = middle
    return 1 + step_at(low)


def _is_positive(function: Callable[[arb], arb], at: Fraction) -> bool:
    """Whether a function is above 0 at a rational, for certain."""
    precision = 128
    while precision <= _ENOUGH_BITS:
        with working_precision(precision):
            found = function(rational_ball(at))
            if found > 0:
                return True
            if found < 0:
                return False
        precision *= 2
    return False


def _floor(real: Real, *, scale: int) -> int:
    """Return floor(scale x), or the integer below where x cannot be told from one that is exact."""
    precision = 256
    while True:
        with working_precision(precision):
            scaled = real(precision) * scale
            found = scaled.floor().unique_fmpz()
            if found is None and precision >= _ENOUGH_BITS:
                found = scaled.mid().floor().unique_fmpz()
        if found is not None:
            return int(found)
        precision *= 2


def rounded(exact: Fraction, *, digits: int) -> Fraction:
    """Return a decimal of so many digits that is not below an exact rational.

    >>> rounded(Fraction(2, 3), digits=3)
    Fraction(667, 1000)
    """
    return shortened(exact, up=True, digits=digits)


def shortened(exact: Fraction, *, up: bool, digits: int = _DIGITS) -> Fraction:
    """Return a decimal of so many digits, and at most 40 after the point, beside an exact rational."""
    sign = -1 if up else 1
    scaled = sign * ((sign * exact * 10**_DECIMALS).__floor__())
    unit = 10 ** max(0, len(str(abs(scaled))) - digits)
    return Fraction(sign * (sign * scaled // unit) * unit, 10**_DECIMALS)


def _check_delta(delta: Fraction) -> None:
    """Raise where a delta does not lie between 0 and 1."""
    if not 0 < delta < 1:
        raise BadNumber(
            name="delta",
            value=str(delta),
            allowed="does not lie between 0 and 1",
            hint="Use a delta far below 1 divided by the number of people, as in 1e-9.",
        )
