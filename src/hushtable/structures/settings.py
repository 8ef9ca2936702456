"""Settings of the structures: which sums of cells are published instead of the cells.

Promise: a record is checked when it is made, and never changes; its text rebuilds it. Whether it fits a
domain is checked when both are known (`nodes.node_space`). Source: Cormode, Procopiuc, Srivastava, Tran,
section 3; of sketches, appendix C.6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from hushtable.errors import BadChoice, shown
from hushtable.laws.rationals import Rational, as_positive


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CountSketch:
    """A count sketch: `depth` rows of `width` buckets, over which the cells are scattered by hashing.

    Every bucket is published, whatever the number of cells. A row's bucket holds the sum of its cells, each
    with a sign of its own, so that in an estimate of one cell the others cancel out on average.

    >>> CountSketch(width=10_000)
    CountSketch(width=10000, depth=1)
    """

    width: int
    depth: int = 1

    def __post_init__(self) -> None:
        for name, most in (("width", LARGEST_SKETCH), ("depth", LARGEST_DEPTH)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                hint = f"Give a whole number from 1 to {most:,}."
                raise BadChoice(f"{name}={shown(value)} is no choice", hint)
        if self.width * self.depth > LARGEST_SKETCH:
            fact = f"a sketch of {self.depth:,} rows of {self.width:,} buckets is too large"
            raise BadChoice(fact, f"Width times depth may be up to {LARGEST_SKETCH:,}.")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Marginals:
    """A data cube: several marginals, each a table of counts over some of the attributes.

    A marginal is a list of names; `"all-2"` stands for all sets of two attributes. Epsilon is split equally,
    or by `weights`: one for each entry, exact; every marginal of an `"all-2"` has the weight of that entry.
    `weights="auto"` are the square roots of the marginals' numbers of cells, rounded down.

    >>> Marginals(["home"], ["work"], ["home", "work"])
    Marginals(('home',), ('work',), ('home', 'work'))
    >>> Marginals("all-1", "all-2", weights=[1, "3/2"])
    Marginals('all-1', 'all-2', weights=('1', '3/2'))
    """

    sets: tuple[tuple[str, ...] | str, ...]
    weights: tuple[Fraction, ...] | Literal["auto"] | None

    def __init__(
        self, *sets: Sequence[str] | str, weights: Sequence[Rational] | Literal["auto"] | None = None
    ) -> None:
        if not sets:
            hint = 'Name attributes of each, as in ht.Marginals(["home"], ["home", "work"]).'
            raise BadChoice("no marginal is named", hint)
        object.__setattr__(self, "sets", tuple(map(_marginal, sets)))
        exact: tuple[Fraction, ...] | str | None = None
        given: object = weights
        if given == AUTO:
            exact = AUTO
        elif weights is not None:
            if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(sets):
                hint = f"Give {len(sets)}, one for each entry, or 'auto'."
                raise BadChoice(f"weights={shown(weights)} are not one for each of {len(sets)} entries", hint)
            hint = "Weights say how epsilon is shared: 2 for twice as much as 1."
            exact = tuple(as_positive(each, name="weights", hint=hint) for each in weights)
        object.__setattr__(self, "weights", exact)

    def __repr__(self) -> str:
        parts = [*map(repr, self.sets)]
        if self.weights is not None:
            shown_weights = self.weights if self.weights == AUTO else tuple(map(str, self.weights))
            parts.append(f"weights={shown_weights!r}")
        return f"Marginals({', '.join(parts)})"


def all_of(entry: tuple[str, ...] | str) -> int | None:
    """Return k where an entry of a data cube stands for all sets of k attributes, else None.

    >>> all_of("all-2"), all_of(("all-2",))
    (2, None)
    """
    return int(entry.removeprefix("all-")) if isinstance(entry, str) else None


def _marginal(entry: object) -> tuple[str, ...] | str:
    """Return an entry of a data cube: different names, or `all-k`."""
    if isinstance(entry, str):
        if ALL_OF.fullmatch(entry):
            return entry
        hint = f'Write "all-2" for all sets of two attributes, or a list of names: [{shown(entry)}].'
        raise BadChoice(f"{shown(entry)} is no list of attributes", hint)
    names = tuple(entry) if isinstance(entry, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        hint = 'Name attributes, each once, as in ["home", "work"].'
        raise BadChoice(f"{shown(entry)} is no marginal", hint)
    return names


MORTON = "morton"
AUTO = "auto"
LARGEST_SKETCH, LARGEST_DEPTH = 10**8, 64  # buckets in all, and rows
ALL_OF = re.compile("all-[1-9][0-9]{0,2}")
_BRANCHINGS = tuple(1 << bits for bits in range(1, 11))

Lifted: TypeAlias = Dyadic | Haar | ProductDyadic  # all their nodes get noise, whatever is published then
Hierarchy: TypeAlias = Lifted | Tree
Structure: TypeAlias = Cells | Hierarchy | CountSketch | Marginals

STRUCTURES: dict[str, type[Any]] = {
    "cells": Cells,
    "dyadic": Dyadic,
    "haar": Haar,
    "product-dyadic": ProductDyadic,
    "tree": Tree,
    "sketch": CountSketch,
    "marginals": Marginals,
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
