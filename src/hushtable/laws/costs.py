"""What a release costs one of its units, in the currency in which that is known.

Promise: amounts are exact rationals. What a group of units pays (`times`) is exact, or rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from hushtable.errors import BadChoice, BadNumber
from hushtable.laws.conversions import group_delta
from hushtable.laws.rationals import Rational, as_fraction, as_positive

Currency: TypeAlias = Literal["pure", "zcdp", "approximate"]

EPSILON_HINT = "Typical values lie between 0.01 and 10."
RHO_HINT = "Typical values lie between 0.0001 and 3."
DELTA_HINT = "Use a delta far below 1 divided by the number of people, as in 1e-9."


@dataclass(frozen=True, slots=True, init=False)
class Cost:
    """What a release costs one of its units.

    ===============================  ===========================================================
    given                            what it is
    ===============================  ===========================================================
    `epsilon`                        pure differential privacy
    `rho`                            zero-concentrated differential privacy (zCDP)
    `epsilon` and `delta`            approximate differential privacy
    `epsilon`, `delta` and `rho`     the same, of a release that is also rho-zCDP, with no delta
    anything else                    `BadChoice` or `BadNumber`
    ===============================  ===========================================================

    >>> import hushtable as ht
    >>> print(ht.Cost(epsilon=1), ht.Cost(rho="0.015"), ht.Cost(epsilon=1, delta="1e-9"), sep="; ")
    epsilon = 1; rho = 0.015 (zCDP); epsilon = 1, delta = 1e-9
    >>> ht.Cost(rho="0.015").times(10).said
    'rho = 1.5 (zCDP)'
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)

    def __init__(
        self, epsilon: Rational | None = None, rho: Rational | None = None, delta: Rational = 0
    ) -> None:
        part = as_fraction(delta, name="delta")
        if not 0 <= part <= 1:
            raise BadNumber(name="delta", value=delta, allowed="lies outside of 0 to 1", hint=DELTA_HINT)
        if epsilon is None and (rho is None or part):
            fact = "a cost has neither epsilon nor rho" if rho is None else "a cost has rho and delta alone"
            raise BadChoice(fact, "Give epsilon, or rho, or epsilon and delta.")
        if epsilon is not None and rho is not None and not part:
            hint = "Give epsilon for pure privacy, rho for zCDP; only a release with a delta has both."
            raise BadChoice("a cost has epsilon and rho, and no delta", hint)
        object.__setattr__(self, "delta", part)
        named = (("epsilon", epsilon, EPSILON_HINT), ("rho", rho, RHO_HINT))
        for name, value, hint in named:
            exact = None if value is None else as_positive(value, name=name, hint=hint)
            object.__setattr__(self, name, exact)

    @property
    def currency(self) -> Currency:
        """What it is paid in: "pure", "zcdp" or "approximate"."""
        if self.delta:
            return "approximate"
        return "zcdp" if self.epsilon is None else "pure"

    @property
    def said(self) -> str:
        """The cost in words: epsilon = 1, or rho = 0.015 (zCDP), or epsilon = 1, delta = 1e-9."""
        if self.epsilon is None:
            return f"rho = {amount(self.rho or Fraction(0))} (zCDP)"
        return f"epsilon = {amount(self.epsilon)}" + f", delta = {amount(self.delta)}" * bool(self.delta)

    def __str__(self) -> str:
        return self.said

    @property
    def privacy(self) -> str:
        """What kind of differential privacy it is, in words."""
        kinds = {"pure": "pure", "zcdp": "zero-concentrated", "approximate": "approximate"}
        return f"{kinds[self.currency]} differential privacy"

    @property
    def paid(self) -> str:
        """The numbers alone: epsilon = 1 and delta = 1e-9."""
        return self.said.removesuffix(" (zCDP)").replace(", delta", " and delta")

    @property
    def word(self) -> str:
        """What the owner chose: "epsilon", or "rho"."""
        return "rho" if self.epsilon is None else "epsilon"

    @property
    def written(self) -> dict[str, str]:
        """The cost as texts that people read, by their words."""
        return {word: amount(Fraction(value)) for word, value in self.entries.items()}

    @property
    def entries(self) -> dict[str, str]:
        """The cost as exact texts by their words, for files and JSON."""
        said = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta or None}
        return {word: str(value) for word, value in said.items() if value is not None}

    def times(self, size: int) -> Cost:
        """Return what it costs one who has up to `size` of the units: group privacy.

        `size` times epsilon, and `size` squared times rho, exactly; delta grows to
        delta (e^(size epsilon) - 1)/(e^epsilon - 1), rounded up. A delta of 1 promises nothing.
        """
        if size == 1:
            return self
        return Cost(
            epsilon=None if self.epsilon is None else self.epsilon * size,
            rho=None if self.rho is None else self.rho * size * size,
            delta=self.delta if self.epsilon is None else group_delta(self.epsilon, self.delta, size),
        )

    def scaled(self, factor: Fraction) -> Cost:
        """Return a cost of `factor` times the epsilon, or the rho; delta stays."""
        if self.epsilon is None:
            return Cost(rho=(self.rho or 0) * factor)
        return Cost(epsilon=self.epsilon * factor, delta=self.delta)


def wanted_cost(
    *, epsilon: Rational | None = None, rho: Rational | None = None, delta: Rational | None = None
) -> Cost:
    """Return the cost that an owner states in one of three ways, or raise `BadChoice`."""
    if epsilon is None and rho is None:
        fact = "nothing says what the release may cost"
        raise BadChoice(fact, "Give `epsilon`; or `rho`; or `epsilon` and `delta`.")
    if epsilon is not None and rho is not None:
        fact = "`epsilon` and `rho` are two ways to say what the release may cost"
        raise BadChoice(fact, "Give one of them.")
    if delta is not None and rho is not None:
        raise BadChoice("`rho` has no delta", "Leave `delta` out, or give it with `epsilon`.")
    if delta is not None:
        delta = as_positive(delta, name="delta", hint=DELTA_HINT)
        if delta == 1:
            raise BadNumber(name="delta", value="1", allowed="promises nothing", hint=DELTA_HINT)
    return Cost(epsilon=epsilon, rho=rho, delta=delta or 0)


def amount(value: Fraction) -> str:
    """Return an exact number as people write it: 0.1, 1e-9, or 1/3 where no short decimal is exact.

    >>> [amount(Fraction(text)) for text in ("0.1", "1e-9", "2.5e-7", "1/3", "1000", "0")]
    ['0.1', '1e-9', '2.5e-7', '1/3', '1000', '0']
    """
    if value.denominator == 1:
        return str(value.numerator)
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    digits = str(abs(value.numerator) * 10**places // value.denominator) if rest == 1 else ""
    if not digits or len(digits) > 20:
        return str(value)
    sign = "-" if value < 0 else ""
    exponent = len(digits) - 1 - places  # of its first digit
    if exponent >= -4:
        filled = digits.rjust(places + 1, "0")
        return f"{sign}{filled[:-places]}.{filled[-places:]}"
    return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{exponent}"
