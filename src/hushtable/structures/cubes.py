"""The marginals of a data cube over a domain: which tables there are, and how they share epsilon.

Promise: the one place where a data cube meets a domain. Every marginal is a table of cells of its own, over
the attributes that it names, in the order of the domain. One row changes one cell of each by as much as it
changes a cell of the whole table, so epsilon is split among them; `shares` are whole numbers, and `per_cell`
is their sum: it multiplies the sensitivity, as for the levels of a tree.
Cost: nothing is listed but the marginals.
Source: Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (2007), for marginals released one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import comb, gcd, isqrt, lcm, prod

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.limits import LONGEST_LABELS, MOST_NAMES
from hushtable.errors import BadChoice, shown
from hushtable.structures.settings import AUTO, Marginals, all_of

Codes = NDArray[np.int64]
MOST_MARGINALS = 10_000
_MOST_BITS = 4096  # of a share: a footer writes their sum


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """One table of a cube: the places of its attributes in the whole domain, its own domain, its share."""

    places: tuple[int, ...]
    domain: Domain
    share: int

    @property
    def label(self) -> str:
        """What the column `marginal` says."""
        return ", ".join(self.domain.names)


@dataclass(frozen=True, eq=False)
class CubeSpace:
    """The cells of all marginals. A code is the number of a marginal, then a code of each attribute of the
    domain, 0 for those that the marginal does not have.
    """

    structure: Marginals
    domain: Domain
    marginals: tuple[Marginal, ...]

    @cached_property
    def space(self) -> KeySpace:
        """What orders rows: marginal by marginal, and then by code."""
        return KeySpace([len(self.marginals), *self.domain.shape])

    @cached_property
    def nodes_total(self) -> int:
        """The number of cells of all marginals."""
        return sum(each.domain.cells_total for each in self.marginals)

    @cached_property
    def per_cell(self) -> int:
        """The number of marginals, each times its share."""
        return sum(each.share for each in self.marginals)

    @cached_property
    def share(self) -> int:
        """The smallest share, which has the most noise."""
        return min(each.share for each in self.marginals)

    @cached_property
    def largest(self) -> int:
        """The number of the marginal with the most cells."""
        sizes = [each.domain.cells_total for each in self.marginals]
        return sizes.index(max(sizes))

    def epsilon_of(self, number: int, epsilon: Fraction) -> Fraction:
        """Return what a marginal has of an epsilon for all."""
        return epsilon * self.marginals[number].share / self.per_cell

    def codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of cells of a marginal."""
        made = np.zeros((len(codes), 1 + len(self.domain.shape)), dtype=np.int64)
        made[:, 0] = number
        made[:, [1 + place for place in self.marginals[number].places]] = codes
        return made

    def rows(self, codes: Codes) -> list[slice]:
        """Return the rows of each marginal among ascending codes."""
        edges = np.searchsorted(codes[:, 0], np.arange(len(self.marginals) + 1)).tolist()
        return [slice(start, stop) for start, stop in pairwise(edges)]

    def own_codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of rows of a marginal in its own domain."""
        return codes[:, [1 + place for place in self.marginals[number].places]]


def cube_space(structure: Marginals, domain: Domain) -> CubeSpace:
    """Return the marginals over a domain, or raise `BadChoice` if they do not fit."""
    given, auto = structure.weights, structure.weights == AUTO
    weights = given if isinstance(given, tuple) else (Fraction(1),) * len(structure.sets)
    found: dict[tuple[int, ...], Fraction] = {}
    known = {name: place for place, name in enumerate(domain.names)}
    names = letters = 0
    for entry, weight in zip(structure.sets, weights, strict=True):
        for places in _sets(entry, domain, known):
            names += len(places)
            letters += sum(len(domain.names[place]) for place in places)
            if names > MOST_NAMES or letters > LONGEST_LABELS:
                fact = (
                    f"these marginals name more than {MOST_NAMES:,} attributes, in {LONGEST_LABELS:,} letters"
                )
                raise BadChoice(fact, "Name fewer marginals, or give attributes shorter names.")
            if places in found:
                twice = ", ".join(shown(domain.names[place]) for place in places)
                raise BadChoice(f"the marginal of {twice} is named twice", "Name it once.")
            # Counts go with 1 / cells, and relative errors with cells / epsilon, so that their sum is least
            # where parts of epsilon are in proportion to the root of the cells.
            root = isqrt(prod(domain.shape[place] for place in places))
            found[places] = Fraction(root) if auto else weight
            if len(found) > MOST_MARGINALS:
                fact = f"these are more than {MOST_MARGINALS:,} marginals"
                raise BadChoice(fact, "Each of them would get next to nothing of epsilon: name fewer.")
    shares = _whole(list(found.values()))
    marginals = [
        Marginal(places, domain.of(places), share) for places, share in zip(found, shares, strict=True)
    ]
    (label, times), *_ = Counter(each.label for each in marginals).most_common(1)
    if times > 1:
        fact = f"{times} marginals would be called {shown(label)}"
        raise BadChoice(fact, "Rename an attribute: a comma in its name makes it read like two.")
    return CubeSpace(structure, domain, tuple(marginals))


def _sets(
    entry: tuple[str, ...] | str, domain: Domain, known: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of attributes that an entry names, as ascending places."""
    size, attributes = all_of(entry), len(domain.names)
    if size is None:
        for name in entry:
            if name not in known:
                fact = f"a marginal names {shown(name)}, which is no attribute"
                raise BadChoice(fact, f"There are {', '.join(map(shown, domain.names))}.")
        yield tuple(sorted(known[name] for name in entry))
        return
    if size > attributes:
        fact = f"{shown(entry)} asks for {size} attributes at a time, and the domain has {attributes}"
        raise BadChoice(fact, f"Take 'all-{attributes}' at most.")
    if comb(attributes, size) > MOST_MARGINALS:
        fact = f"{shown(entry)} stands for {comb(attributes, size):,} marginals"
        raise BadChoice(fact, f"Up to {MOST_MARGINALS:,} are allowed: name those that matter.")
    yield from combinations(range(attributes), size)


def _whole(weights: list[Fraction]) -> list[int]:
    """Return weights as whole numbers in the same proportion, as small as they get."""
    scale = 1
    for weight in weights:
        scale = lcm(scale, weight.denominator)
        if max(scale, int(weight * scale)) >> _MOST_BITS:  # the scale only grows
            fact = "these weights are in no proportion of numbers that can be written down"
            raise BadChoice(fact, "Take simpler ones, such as 1 and 2.")
    scaled = [int(weight * scale) for weight in weights]
    if max(scaled) >> _MOST_BITS:
        fact = "these weights are in no proportion of numbers that can be written down"
        raise BadChoice(fact, "Take simpler ones, such as 1 and 2.")
    shared = gcd(*scaled)
    return [each // shared for each in scaled]
