"""Laws of noise by the name that a file says.

Promise: a name means one law. A name that nobody registered is refused, with those that are known.
"""

from __future__ import annotations

from typing import TypeVar

from hushtable.errors import BadChoice, InternalError, shown
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.thresholds import GaussianStability, TruncatedGeometric

DEFAULT_LAW = Geometric.name

_Class = TypeVar("_Class", bound=type[NoiseLaw])
_laws: dict[str, type[NoiseLaw]] = {
    law.name: law for law in (Geometric, Gaussian, TruncatedGeometric, GaussianStability)
}


def register_law(law: _Class) -> _Class:
    """Let a class of laws be found by its name; returns it, so that it serves as a decorator."""
    if _laws.setdefault(law.name, law) is not law:
        raise InternalError(f"two laws are named {law.name!r}")
    return law


def law_named(name: str) -> type[NoiseLaw]:
    """Return the class of laws with a name.

    >>> law_named("geometric").name
    'geometric'
    """
    if (found := _laws.get(str(name))) is not None:
        return found
    known = ", ".join(map(repr, sorted(_laws)))
    raise BadChoice(f"law={shown(name)} is not a known law of noise", f"Known: {known}.")
