"""Settings of the structures: which sums of cells are published instead of the cells.

Promise: a record is checked when it is made, and never changes; its text rebuilds it. Whether it fits a
domain is checked when both are known (`nodes.node_space`). Source: Cormode, Procopiuc, Srivastava, Tran,
section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hushtable.errors import BadChoice, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells:
    """No structure: every cell for itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dyadic:
    """Dyadic ranges: the cells in a line, halved again and again; every half is a node with its sum.

    `order` names attributes: cells stand in the order of the first one's values, then of the second's, and so
    on; attributes that are not named come last. `consistent=True` drops nodes that lie in a range which is
    not published, as the paper does for filters of counts above 0.

    >>> Dyadic(order=["work"])
    Dyadic(consistent=False, order=('work',))
    """

    consistent: bool = False
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.consistent, bool):
            raise BadChoice(f"consistent={shown(self.consistent)} is no choice", "Give True or False.")
        _store_order(self, self.order)


@dataclass(frozen=True, kw_only=True, slots=True)
class Haar:
    """Haar wavelets, as whole numbers: the total, and for every dyadic range its left minus its right half.

    >>> Haar()
    Haar(order=None)
    """

    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _store_order(self, self.order)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductDyadic:
    """Dyadic ranges of two attributes: every range of one, crossed with every range of the other.

    >>> ProductDyadic()
    ProductDyadic(order=None)
    """

    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _store_order(self, self.order)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A tree with up to `branching` children a node, published from the root down as far as it matters.

    `order` names attributes, as in `Dyadic`; `order="morton"` halves all attributes in turn instead, so that
    nodes are boxes: for questions about several attributes at once.

    >>> Tree(order="morton")
    Tree(branching=16, order='morton')
    """

    branching: int = 16
    order: Sequence[str] | str | None = None

    def __post_init__(self) -> None:
        if type(self.branching) is not int or self.branching not in _BRANCHINGS:
            hint = f"Give a power of 2: {', '.join(map(str, _BRANCHINGS))}."
            raise BadChoice(f"branching={shown(self.branching)} is no choice", hint)
        if self.order != MORTON:
            _store_order(self, self.order)


MORTON = "morton"
_BRANCHINGS = tuple(1 << bits for bits in range(1, 11))

Lifted: TypeAlias = Dyadic | Haar | ProductDyadic  # all their nodes get noise, whatever is published then
Hierarchy: TypeAlias = Lifted | Tree
Structure: TypeAlias = Cells | Hierarchy

STRUCTURES: dict[str, type[Structure]] = {
    "cells": Cells,
    "dyadic": Dyadic,
    "haar": Haar,
    "product-dyadic": ProductDyadic,
    "tree": Tree,
}


def name_of(structure: Structure) -> str:
    """Return the name of a structure, as the owner gives it.

    >>> name_of(ProductDyadic())
    'product-dyadic'
    """
    (name,) = (name for name, kind in STRUCTURES.items() if isinstance(structure, kind))
    return name


def _store_order(record: Hierarchy, order: object) -> None:
    """Keep the order as a tuple of different names, or None."""
    if order is None:
        return
    names = () if isinstance(order, str) or not isinstance(order, Sequence) else tuple(order)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        hint = 'Name attributes, each once, as in order=["work", "home"].'
        raise BadChoice(f"order={shown(order)} is no order of attributes", hint)
    object.__setattr__(record, "order", names)
