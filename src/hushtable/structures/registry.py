"""The structures that are known, by their names.

Promise: what is registered can be published, opened, asked and planned like those that are built in, once the
rooms `summaries`, `answers` and `planning` know it too (docs/extending.md). One that is built in is loaded
when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from hushtable.errors import BadChoice, shown
from hushtable.structures.cells import Cells
from hushtable.structures.structure import Structure

_BUILT_IN = {
    "cells": "cells.Cells",
    "dyadic": "dyadic.Dyadic",
    "haar": "haar.Haar",
    "product-dyadic": "product_dyadic.ProductDyadic",
    "tree": "pruned.Tree",
    "hierarchy": "hierarchy.Hierarchy",
    "sketch": "sketch.CountSketch",
    "marginals": "marginals.Marginals",
    "tables": "tables.Tables",
}


class _Known(Mapping[str, type[Structure]]):
    """Kinds of structures by their names."""

    def __init__(self) -> None:
        self._added: dict[str, type[Structure]] = {}

    def __getitem__(self, name: str) -> type[Structure]:
        if name not in self._added:
            module, kind = _BUILT_IN[name].split(".")
            self._added[name] = getattr(import_module(f"hushtable.structures.{module}"), kind)
        return self._added[name]

    def __contains__(self, name: object) -> bool:
        return name in _BUILT_IN or name in self._added

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*_BUILT_IN, *self._added]))

    def __len__(self) -> int:
        return len(_BUILT_IN.keys() | self._added.keys())

    def add(self, kind: type[Structure]) -> None:
        """Make a kind known that is not built in."""
        self._added[kind.name] = kind


STRUCTURES = _Known()


def register_structure(kind: type[Structure]) -> type[Structure]:
    """Make a structure known under its name; it may be used as a decorator."""
    if kind.name not in STRUCTURES:
        STRUCTURES.add(kind)
    if STRUCTURES[kind.name] is not kind:
        raise BadChoice(f"there is a structure {kind.name!r} already", "Give yours another name.")
    return kind


def is_structure(value: object) -> bool:
    """Return whether a value is a structure that is known."""
    kind = type(value)
    name = getattr(kind, "name", None)
    return isinstance(name, str) and name in STRUCTURES and STRUCTURES[name] is kind


def as_structure(choice: object) -> Structure:
    """Return the structure that is meant: an instance, a name, or None for cells.

    >>> as_structure("haar")
    Haar(order=None)
    """
    if choice is None:
        return Cells()
    if is_structure(choice):
        return choice  # type: ignore[return-value]
    if isinstance(choice, str) and choice in STRUCTURES:
        if (example := STRUCTURES[choice].example) is None:
            return STRUCTURES[choice]()
        raise BadChoice(f"the structure {choice!r} needs settings", f"Give {example}.")
    by_name = ", ".join(name for name, kind in STRUCTURES.items() if kind.example is None)
    hint = f"Give ht.Tree(), ht.Dyadic(), {STRUCTURES['sketch'].example}, or a name: {by_name}."
    raise BadChoice(f"there is no structure {shown(choice)}", hint)


def structure_of(name: str, **settings: Any) -> Structure:
    """Return the structure of that name with the settings that were given, None for those that were not.

    >>> structure_of("dyadic", order=["work"])
    Dyadic(consistent=False, order=('work',))
    """
    if name not in STRUCTURES:
        raise BadChoice(f"there is no structure {name!r}", f"There are {', '.join(STRUCTURES)}.")
    given = {setting: value for setting, value in settings.items() if value is not None}
    for setting in given:
        if setting not in STRUCTURES[name].settings():
            own = [repr(other) for other, kind in STRUCTURES.items() if setting in kind.settings()]
            raise BadChoice(
                f"the structure {name!r} takes no `{setting}`", f"It goes with {' and '.join(own)}."
            )
    return STRUCTURES[name].made(**given)
