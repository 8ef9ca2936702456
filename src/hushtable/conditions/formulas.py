"""Formulas over cells: conditions on single attributes, combined by AND and OR.

Promise: what `all_of` and `any_of` build is equal to what they were given, with at most one condition on each
attribute beside each other, and none that is always or never true. There is no NOT: the maker of a
condition knows its opposite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hushtable.conditions.ranges import Runs, intersection, union
from hushtable.domain.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A condition on the attribute at `place`: its code is one of `codes`."""

    place: int
    codes: Runs


@dataclass(frozen=True, slots=True, eq=False)
class And:
    """All of the parts; without parts it is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    """Any of the parts; without parts it is false."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Leaf | And | Or
TRUE, FALSE = And(()), Or(())


def all_of(parts: Sequence[Formula], domain: Domain) -> Formula:
    """Return the AND of formulas."""
    leaves, others = _sorted_out(parts, And)
    merged = [Leaf(place, intersection(sets, domain.shape[place])) for place, sets in leaves.items()]
    if any(not leaf.codes.size for leaf in merged) or any(is_never(part) for part in others):
        return FALSE
    partial: list[Formula] = [leaf for leaf in merged if leaf.codes.size < domain.shape[leaf.place]]
    return _one_or(And, partial + others)


def any_of(parts: Sequence[Formula], domain: Domain) -> Formula:
    """Return the OR of formulas."""
    leaves, others = _sorted_out(parts, Or)
    merged = [Leaf(place, union(sets)) for place, sets in leaves.items()]
    full = any(leaf.codes.size == domain.shape[leaf.place] for leaf in merged)
    if full or any(isinstance(part, And) and not part.parts for part in others):
        return TRUE
    partial: list[Formula] = [leaf for leaf in merged if leaf.codes.size]
    return _one_or(Or, partial + others)


def is_never(formula: Formula) -> bool:
    """Whether this is the formula that is never true."""
    return isinstance(formula, Or) and not formula.parts


def leaves_of(formula: Formula) -> Iterator[Leaf]:
    """Yield each condition on one attribute."""
    if isinstance(formula, Leaf):
        yield formula
    else:
        for part in formula.parts:
            yield from leaves_of(part)


def factors(formula: Formula) -> list[Formula]:
    """Return formulas whose AND is this one and no two of which have an attribute in common."""
    found: list[tuple[set[int], list[Formula]]] = []
    for part in formula.parts if isinstance(formula, And) else (formula,):
        places, group = {leaf.place for leaf in leaves_of(part)}, [part]
        for other in [each for each in found if each[0] & places]:
            found.remove(other)
            places, group = places | other[0], other[1] + group
        found.append((places, group))
    return [_one_or(And, group) for _, group in found]


def _sorted_out(
    parts: Sequence[Formula], kind: type[And] | type[Or]
) -> tuple[dict[int, list[Runs]], list[Formula]]:
    """Return the sets of the leaves by attribute, and the other parts; parts of the same kind are opened."""
    leaves: dict[int, list[Runs]] = {}
    others: list[Formula] = []
    for part in parts:
        for inner in part.parts if isinstance(part, kind) else (part,):
            if isinstance(inner, Leaf):
                leaves.setdefault(inner.place, []).append(inner.codes)
            else:
                others.append(inner)
    return leaves, others


def _one_or(kind: type[And] | type[Or], parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))
