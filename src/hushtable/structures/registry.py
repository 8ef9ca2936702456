"""The structures that are known, by their names.

Promise: what is registered can be published, opened, asked and planned like those that are built in, once the
rooms `summaries`, `answers` and `planning` know it too (docs/extending.md).
"""

from __future__ import annotations

from typing import Any

from hushtable.errors import BadChoice, shown
from hushtable.structures.cells import Cells
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.hierarchy import Hierarchy
from hushtable.structures.marginals import Marginals
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.pruned import Tree
from hushtable.structures.sketch import CountSketch
from hushtable.structures.structure import Structure
from hushtable.structures.tables import Tables

STRUCTURES: dict[str, type[Structure]] = {
    kind.name: kind
    for kind in (Cells, Dyadic, Haar, ProductDyadic, Tree, Hierarchy, CountSketch, Marginals, Tables)
}


def register_structure(kind: type[Structure]) -> type[Structure]:
    """Make a structure known under its name; it may be used as a decorator."""
    if STRUCTURES.setdefault(kind.name, kind) is not kind:
        raise BadChoice(f"there is a structure {kind.name!r} already", "Give yours another name.")
    return kind


def is_structure(value: object) -> bool:
    """Return whether a value is a structure that is known."""
    return type(value) in STRUCTURES.values()


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
    hint = f"Give ht.Tree(), ht.Dyadic(), {CountSketch.example}, or a name: {by_name}."
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
