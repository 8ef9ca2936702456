"""The marginals of a data cube over a domain: which tables there are, and how they share epsilon.

Promise: the one place where a data cube meets a domain. Every marginal is a table of cells of its own, over
the attributes that it names, in the order of the domain. One row changes one cell of each by as much as it
changes a cell of the whole table, so epsilon is split among them; `shares` are whole numbers, and `per_cell`
is their sum: it multiplies the sensitivity, as for the levels of a tree.
Cost: nothing is listed but the marginals.
Source: Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (2007), for marginals released one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import comb, gcd, isqrt, lcm, prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np

from hushtable.domain.columns import as_column
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import encode
from hushtable.domain.keys import KeySpace
from hushtable.domain.limits import LONGEST_LABELS, MOST_NAMES
from hushtable.errors import BadChoice, BadRelease, shown
from hushtable.laws.rationals import Rational, as_positive
from hushtable.structures.intervals import check_codes
from hushtable.structures.orders import listed
from hushtable.structures.structure import HINT, Codes, Column, Entry, NodeSpace, Structure

if TYPE_CHECKING:
    import pyarrow as pa

AUTO = "auto"
MOST_MARGINALS = 10_000
ALL_OF = re.compile("all-[1-9][0-9]{0,2}")
_MOST_BITS = 4096  # of a share: a footer writes their sum


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
        return "a cube"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "of a cell of its marginal. Every marginal counts everybody: add up `weight` within one"
        return f"`count` is the noisy count {said}, or ask `hushtable query`."

    @property
    def weighing(self) -> str:  # type: ignore[override]
        """How counts are weighed where they do not share epsilon equally."""
        return "" if self.weights is None else ", each times the share of its marginal"

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> CubeSpace:
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
        raise BadChoice(f"{shown(entry)} is no list of attributes", hint)
    names = tuple(entry) if isinstance(entry, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        hint = 'Name attributes, each once, as in ["home", "work"].'
        raise BadChoice(f"{shown(entry)} is no marginal", hint)
    return names


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


@dataclass(frozen=True, eq=False, slots=True)
class CubeSpace(NodeSpace):
    """The cells of all marginals. A code is the number of a marginal, then a code of each attribute of the
    domain, 0 for those that the marginal does not have.
    """

    structure: Marginals = field()
    domain: Domain
    marginals: tuple[Marginal, ...] = field()

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

    @property
    def levels(self) -> int:
        """The number of marginals."""
        return len(self.marginals)

    @cached_property
    def share(self) -> int:
        """The smallest share, which has the most noise."""
        return min(each.share for each in self.marginals)

    @cached_property
    def largest(self) -> int:
        """The number of the marginal with the most cells."""
        return largest_of(self.marginals)

    def epsilon_of(self, number: int, epsilon: Fraction) -> Fraction:
        """Return what a marginal has of an epsilon for all."""
        return epsilon * self.marginals[number].share / self.per_cell

    def codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of cells of a marginal."""
        made = np.zeros((len(codes), 1 + len(self.domain.shape)), dtype=np.int64)
        made[:, 0] = number
        made[:, [1 + place for place in self.marginals[number].places]] = codes
        return made

    def own_codes(self, number: int, codes: Codes) -> Codes:
        """Return the codes of rows of a marginal in its own domain."""
        return codes[:, [1 + place for place in self.marginals[number].places]]

    def rows(self, codes: Codes) -> list[slice]:
        """Return the rows of each marginal among ascending codes."""
        edges = np.searchsorted(codes[:, 0], np.arange(len(self.marginals) + 1)).tolist()
        return [slice(start, stop) for start, stop in pairwise(edges)]

    def named(self, domain: Domain) -> str:
        """Return how many marginals there are, and the first of them."""
        labels = listed([f"({each.label})" for each in self.marginals])
        return f"a data cube of {len(self.marginals):,} marginals: {labels}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the marginal of a row, and a value of each attribute that it has."""
        longest = max(len(each.label.encode()) for each in self.marginals)
        values = [Column(name, "some", place) for place, name in enumerate(domain.names)]
        return [Column("marginal", "text", longest=longest), *values]

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the column of marginals, and one for each attribute, with nulls where a row lacks it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        check_codes(self.space, codes)
        numbers = codes[:, 0]
        labels = pa.array([each.label for each in self.marginals]).take(as_column(numbers))
        has = np.zeros((len(self.marginals), len(domain.names)), dtype=np.bool_)
        for number, marginal in enumerate(self.marginals):
            has[number, list(marginal.places)] = True
        values = domain.decode(codes[:, 1:]).columns
        absent = [pa.array(~has[numbers, place]) for place in range(len(domain.names))]
        nulls = [pa.scalar(None, column.type) for column in values]
        return [labels, *map(pc.if_else, absent, nulls, values)]

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes of rows of marginals."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = pa.array([each.label for each in self.marginals])
        numbers = pc.index_in(table.column("marginal"), value_set=labels)
        if numbers.null_count:
            raise BadRelease("its rows name marginals that it does not have", HINT)
        codes = np.zeros((table.num_rows, 1 + len(domain.names)), dtype=np.int64)
        codes[:, 0] = numbers.to_numpy()
        if (np.diff(codes[:, 0]) < 0).any():
            raise BadRelease("its rows are not in the order of their codes", HINT)
        for marginal, rows in zip(self.marginals, self.rows(codes), strict=True):
            part, places = table.slice(rows.start, rows.stop - rows.start), marginal.places
            for place, attribute in enumerate(domain.attributes):
                column = part.column(attribute.name)
                found = None
                if place in places and not column.null_count:
                    found = encode(attribute.values, column)
                elif place not in places and column.null_count == len(column):
                    continue
                if found is None:
                    fact = f"its column {shown(attribute.name)} holds values that its domain does not have"
                    raise BadRelease(fact, HINT)
                codes[rows, 1 + place] = found
        return codes


def largest_of(marginals: Sequence[Marginal]) -> int:
    """Return the number of the marginal with the most cells."""
    sizes = [each.domain.cells_total for each in marginals]
    return sizes.index(max(sizes))


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
