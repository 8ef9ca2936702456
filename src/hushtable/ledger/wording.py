"""What a ledger holds, in plain words.

Promise: what is spent is never said smaller than it is, and what is left never larger.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.errors import printable
from hushtable.laws.costs import Cost, amount
from hushtable.ledger.accounting import Account


def balance(about: str, unit: str | None, budget: Cost, account: Account) -> str:
    """Say who was spent on, how much, and what is left."""
    each = "each of them" if unit is None else f"each {unit}"
    return f"{printable(about)}: {spent_and_left(budget, account, on=f' on {each}')}"


def spent_and_left(budget: Cost, account: Account, *, on: str = "") -> str:
    """Say how much is spent, and what is left."""
    name, spent, left = account.unit_of_account, number(account.spent), number(account.left)
    whole = number((budget.rho if budget.epsilon is None else budget.epsilon) or Fraction(0))
    if budget.currency != "approximate":
        return f"{name} {spent} of {whole} is spent{on}, {left} is left."
    affords = account.affords
    rho = number(affords.rho or Fraction(0))
    if affords.delta:
        deltas = f"delta {number(account.spent_delta)} of {number(budget.delta)}"
        said = f"epsilon {spent} of {whole} and {deltas} are spent{on}."
        delta = number(affords.delta)
        return f"{said} The next release may cost epsilon {left} and delta {delta}, or rho {rho}."
    said = f"epsilon {spent} of {whole} is spent{on}, at delta {number(budget.delta)}."
    return f"{said} The next release may cost epsilon {left}, or rho {rho}, and no delta."


def number(value: Fraction) -> str:
    """Return an exact number in full, with its approximate value where that is hard to see.

    >>> number(Fraction(16, 65)), number(Fraction(1, 10))
    ('16/65 (about 0.246)', '0.1')
    """
    text = amount(value)
    return f"{text} (about {float(value):.3g})" if "/" in text else text
