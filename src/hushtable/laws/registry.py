"""Laws of noise by the name that a file says.

Promise: a name means one law. A name that nobody registered is refused, with those that are known.
"""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

from hushtable.errors import BadChoice, InternalError, shown
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw

DEFAULT_LAW = Geometric.name

_Class = TypeVar("_Class", bound=type[NoiseLaw])
_laws: dict[str, type[NoiseLaw]] = {Geometric.name: Geometric}
_LATER = {  # built in, and loaded when they are asked for
    "gaussian": "gaussian.Gaussian",
    "truncated-geometric": "thresholds.TruncatedGeometric",
    "gaussian-stability": "thresholds.GaussianStability",
}


def register_law(law: _Class) -> _Class:
    """Let a class of laws be found by its name; returns it, so that it serves as a decorator."""
    if law.name in _LATER:
        law_named(law.name)
    if _laws.setdefault(law.name, law) is not law:
        raise InternalError(f"two laws are named {law.name!r}")
    return law


def law_named(name: str) -> type[NoiseLaw]:
    """Return the class of laws with a name.

    >>> law_named("geometric").name
    'geometric'
    """
    asked = str(name)
    if asked in _LATER and asked not in _laws:
        module, kind = _LATER[asked].split(".")
        _laws[asked] = getattr(import_module(f"hushtable.laws.{module}"), kind)
    if (found := _laws.get(asked)) is not None:
        return found
    known = ", ".join(map(repr, sorted(_laws.keys() | _LATER.keys())))
    raise BadChoice(f"law={shown(name)} is not a known law of noise", f"Known: {known}.")
