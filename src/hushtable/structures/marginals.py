"""The marginals of a data cube: which sets of attributes are tables of their own, and their weights.

Promise: a cube names marginals, or all of an order; over a domain they are tables (`table_space`).
Source: Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (2007), for marginals released one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, isqrt, prod
from typing import Any, ClassVar, Literal, NoReturn, Self

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item
from hushtable.domain.limits import LONGEST_LABELS, MOST_NAMES
from hushtable.errors import BadChoice, shown
from hushtable.laws.rationals import Rational, as_positive
from hushtable.structures.structure import Entry, Structure
from hushtable.structures.table_space import MOST_TABLES, TableSpace, table_space

AUTO = "auto"
ALL_OF = re.compile("all-[1-9][0-9]{0,2}")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Marginals(Structure):
    """A data cube: several marginals, each a table of counts over some of the attributes.

    A marginal is a list of names; `"all-2"` stands for all sets of two attributes. Epsilon is split equally,
    or by `weights`: one for each entry, exact; every marginal of an `"all-2"` has the weight of that entry.
    `weights="auto"` are the square roots of the marginals' numbers of cells, rounded down.

    >>> Marginals(["home"], ["work"], ["home", "work"])
    Marginals(('home',), ('work',), ('home', 'work'))
    >>> Marginals("all-1", "all-2", weights=[1, "3/2"])
    Marginals('all-1', 'all-2', weights=('1', '3/2'))
    """

    name: ClassVar[str] = "marginals"
    example: ClassVar[str | None] = 'ht.Marginals("all-1", "all-2")'
    format: ClassVar[int] = 3
    row: ClassVar[str] = "cell"
    default_method: ClassVar[str] = "filter-priority"
    takes_total: ClassVar[bool] = True
    several: ClassVar[bool] = True

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

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a data cube"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = (
            "`count` is the noisy count of one cell. Every marginal counts everybody, so add up "
            "`weight` within one"
        )
        return f"{said} marginal only, or use `hushtable query`."

    @property
    def weighing(self) -> str:  # type: ignore[override]
        """How counts are weighed where they do not share epsilon equally."""
        return "" if self.weights is None else " (each count is multiplied by the share of its marginal)"

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> TableSpace:
        """Return the marginals over a domain."""
        return cube_space(self, domain)

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> NoReturn:
        """Refuse attributes without names."""
        fact = "a table of codes has no names of attributes, so there are no marginals of it"
        raise BadChoice(fact, "Publish rows with `ht.publish`, or add up the codes that you want.")

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """Return the names of its settings."""
        return ("marginals", "weights")

    @classmethod
    def made(cls, **settings: Any) -> Self:
        """Return it with the settings that were given."""
        return cls(*settings.pop("marginals", ()), **settings)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        sets = [each if isinstance(each, str) else list(each) for each in self.sets]
        given = self.weights
        weights = given if given is None or given == AUTO else list(map(str, given))
        return {"marginals": sets, "weights": weights}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        weights = entry("weights", list | str | None)
        return cls(*entry("marginals", list), weights=weights)


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
        raise BadChoice(f"{shown(entry)} is not a list of attributes", hint)
    names = tuple(entry) if isinstance(entry, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        hint = 'Name attributes, each once, as in ["home", "work"].'
        raise BadChoice(f"{shown(entry)} is not a marginal", hint)
    return names


def cube_space(structure: Marginals, domain: Domain) -> TableSpace:
    """Return the marginals over a domain, or raise `BadChoice` if they do not fit."""
    given, auto = structure.weights, structure.weights == AUTO
    weights = given if isinstance(given, tuple) else (Fraction(1),) * len(structure.sets)
    found: dict[tuple[Item, ...], Fraction] = {}
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
            items = tuple(map(Item, places))
            if items in found:
                twice = ", ".join(shown(domain.names[place]) for place in places)
                raise BadChoice(f"the marginal of {twice} is named twice", "Name it once.")
            # Counts go with 1 / cells, and relative errors with cells / epsilon, so that their sum is least
            # where parts of epsilon are in proportion to the root of the cells.
            root = isqrt(prod(domain.shape[place] for place in places))
            found[items] = Fraction(root) if auto else weight
            if len(found) > MOST_TABLES:
                fact = f"these are more than {MOST_TABLES:,} marginals"
                raise BadChoice(fact, "Each of them would get next to nothing of epsilon: name fewer.")
    every = [Item(place) for place in range(len(domain.names))]
    return table_space(structure, domain, found, items=every, column="marginal")


def _sets(
    entry: tuple[str, ...] | str, domain: Domain, known: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of attributes that an entry names, as ascending places."""
    size, attributes = all_of(entry), len(domain.names)
    if size is None:
        for name in entry:
            if name not in known:
                fact = f"a marginal names {shown(name)}, which is not an attribute"
                raise BadChoice(fact, f"There are {', '.join(map(shown, domain.names))}.")
        yield tuple(sorted(known[name] for name in entry))
        return
    if size > attributes:
        fact = f"{shown(entry)} asks for {size} attributes at a time, and the domain has {attributes}"
        raise BadChoice(fact, f"Take 'all-{attributes}' at most.")
    if comb(attributes, size) > MOST_TABLES:
        fact = f"{shown(entry)} stands for {comb(attributes, size):,} marginals"
        raise BadChoice(fact, f"Up to {MOST_TABLES:,} are allowed: name those that matter.")
    yield from combinations(range(attributes), size)
