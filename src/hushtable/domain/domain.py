"""The domain: the attributes that make a cell, in order.

Promise: a domain is declared, public and checked once; its codes are those of its attributes, and decoding
gives one typed column for each of them. The same attributes have the same digest everywhere.
Cost: loading reads the file and its category files; decoding is a few operations on whole arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from math import log10
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import AnyText, Attribute
from hushtable.domain.declaring import Declared
from hushtable.domain.keys import KeySpace
from hushtable.domain.later import Later
from hushtable.domain.limits import LARGEST_DOMAIN, LONGEST_COUNTED, LONGEST_NOTE, MOST_ATTRIBUTES
from hushtable.domain.origins import Origin, origin_of
from hushtable.domain.syntax import Place, domain_of, table_of, values_table
from hushtable.domain.texts import KnownTexts
from hushtable.errors import BadDomain, BadTable, shown

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = Later("pyarrow")

_ROWS_AT_ONCE = 1 << 20  # so that a column of text stays below 2 GiB
_SHOWN_ATTRIBUTES = 12


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """Which attributes and values a table has. The owner declares them; they are never drawn from the data.

    A cell is one combination of values, one of each attribute. Guarantee: packing, counting and decoding
    agree on one order of cells, for any number of them.

    Declare attributes by name, or in a dict if a name is not a Python name or is that of an argument:

    >>> import hushtable as ht
    >>> ht.Domain(home=ht.integers(0, 999_999), age=ht.bins(0, 100, step=5), title="Commuters")
    Domain('Commuters', home: 1000000, age: 20, cells_total=20000000)
    >>> ht.Domain({"home town": ht.categories(["north", "south"]), "title": ht.categories(["Dr", "none"])})
    Domain(home town: 2, title: 2, cells_total=4)

    Or in a file, which `ht.Domain.load` reads:

    >>> from pathlib import Path
    >>> text = '''
    ... [[attribute]]
    ... name = "age"
    ... bins = { start = 0, stop = 100, step = 5 }
    ... '''
    >>> _ = Path("ages.toml").write_text(text)
    >>> ht.Domain.load("ages.toml") == ht.Domain(age=ht.bins(0, 100, step=5))
    True
    """

    attributes: tuple[Attribute, ...]
    title: str
    counts: str  # what a row is, in the plural, as in "jobs"; "" for rows
    reviewed: bool
    origins: tuple[Origin, ...] = field(compare=False)  # files that it was read from

    def __init__(
        self,
        declared: Mapping[str, Declared] | None = None,
        /,
        *,
        attributes: Iterable[Attribute] = (),
        title: str = "",
        counts: str = "",
        reviewed: bool = True,
        origins: Iterable[Origin] = (),
        **named: Declared,
    ) -> None:
        said = {"title": title, "counts": counts, "reviewed": reviewed}
        about = {"attributes": attributes, "origins": origins} | said
        for key, value in about.items():
            if isinstance(value, Declared):
                fact = f"`{key}` is about the domain, and no attribute"
                raise BadDomain(fact, f'Write an attribute of that name as ht.Domain({{"{key}": ...}}).')
        read = tuple(origins)
        if declared is not None or named:
            if tuple(attributes):
                raise BadDomain("attributes are given twice", "Give them by name, or as `attributes`.")
            entries = _entries(declared, named)
            attributes = _attributes(entries)
            read += tuple(origin for each in entries.values() for origin in each.origins)
        made = {"attributes": tuple(attributes), "origins": read} | said
        for key, value in made.items():
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        """Raise unless this is a domain."""
        if not self.attributes or not all(isinstance(each, Attribute) for each in self.attributes):
            hint = "Write ht.Domain(age=ht.integers(0, 120)), or load a file that declares them."
            raise BadDomain("a domain needs one or more attributes", hint)
        if len(self.attributes) > MOST_ATTRIBUTES:
            fact = f"there are {len(self.attributes):,} attributes, and {MOST_ATTRIBUTES:,} are allowed"
            raise BadDomain(fact, "Declare those that the release is about.")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise BadDomain("two attributes have this name", "Rename one of them.", attribute=name)
            seen.add(name)
        if sum(each.described for each in self.attributes) > LARGEST_DOMAIN - 20 * LONGEST_NOTE:
            fact = f"its attributes take more than {LARGEST_DOMAIN:,} characters to describe"
            raise BadDomain(fact, "Use shorter codes, leave labels out, or declare integers.")
        for key, text, most in (
            ("title", self.title, LONGEST_NOTE),
            ("counts", self.counts, LONGEST_COUNTED),
        ):
            if not isinstance(text, str):
                raise BadDomain(f"{key} = {shown(text)} is not text", f'Write {key} = "...".')
            if not text.isprintable() or len(text) > most:
                fact = f"{key} = {shown(text)} is not a line of text"
                hint = "Leave out line ends and characters that do not print"
                raise BadDomain(fact, f"{hint}; {most:,} others are allowed.")
        if not isinstance(self.reviewed, bool):
            raise BadDomain(f"reviewed = {shown(self.reviewed)} is not true or false", "Write one of them.")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Domain:
        """Return the domain that a TOML file declares, or raise `BadDomain`.

        Lists of categories that it names lie in its folder, or in folders there, links resolved.
        """
        try:
            place = Place(Path(path).parent, [])
            fields = domain_of(_toml(Path(path)), place=place)
            return cls(**fields, origins=(origin_of(path, "the domain file"), *place.read))
        except BadDomain as error:
            raise error.at(file=str(path)) from None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Domain:
        """Return the domain that `to_dict` described."""
        return cls(**domain_of(document, place=None))

    def to_dict(self, *, levels: bool = False) -> dict[str, Any]:
        """Return a description for JSON, as a domain file would say it, that needs no other file."""
        head = {"title": self.title, "reviewed": self.reviewed}
        head |= {"counts": self.counts} if self.counts else {}
        return head | {"attribute": [table_of(each, levels=levels) for each in self.attributes]}

    @property
    def counted(self) -> str:
        """What is counted, in the plural: rows, unless the owner names them."""
        return self.counts or "rows"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what defines the cells: names, kinds and values, in order."""
        cells = [{"name": each.name, **values_table(each.values)} for each in self.attributes]
        text = json.dumps(cells, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        shown_first = self.attributes[:_SHOWN_ATTRIBUTES]
        sizes = [f"{each.name}: {'any text' if each.unlisted else each.size}" for each in shown_first]
        more = len(self.attributes) - len(sizes)
        few = self.cells_total < 10**24
        total = self.cells_total if few else f"<about 10^{log10(self.cells_total):.1f}>"
        parts = [repr(self.title)] * bool(self.title) + sizes + [f"{more} more"] * bool(more)
        parts += ["cells not limited" if self.unlisted else f"cells_total={total}"]
        parts += ["reviewed=False"] * (not self.reviewed)
        return f"Domain({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from hushtable.domain.display import html

        return html(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def unlisted(self) -> tuple[int, ...]:
        """The places of the attributes whose values nobody can list: the number of cells is not limited."""
        return tuple(place for place, attribute in enumerate(self.attributes) if attribute.unlisted)

    def knowing(self, texts: Mapping[int, KnownTexts]) -> Domain:
        """Return the same domain, in which some texts of the attributes at these places have codes."""
        attributes = list(self.attributes)
        for place, known in texts.items():
            values = attributes[place].values
            assert isinstance(values, AnyText)
            attributes[place] = replace(attributes[place], values=replace(values, known=known))
        return replace(self, attributes=tuple(attributes))

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each attribute stands, by its name."""
        return {name: place for place, name in enumerate(self.names)}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def cells_total(self) -> int:
        """The number of cells, occupied or not; where values are `unlisted`, more than data have rows."""
        return self.space.cells_total

    @property
    def cells_said(self) -> int | None:
        """The number of cells as people and files say it; None where values are `unlisted`."""
        return None if self.unlisted else self.cells_total

    @cached_property
    def space(self) -> KeySpace:
        """The cells as keys."""
        return KeySpace(self.shape)

    def attribute(self, name: str) -> Attribute:
        """Return the attribute of that name."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        near = get_close_matches(str(name), self.names, n=1)
        guess = f"Did you mean {shown(near[0])}? " if near else ""
        names = ", ".join(shown(each) for each in self.names)
        raise BadDomain(f"there is no attribute {shown(name)}", f"{guess}The attributes are {names}.")

    @property
    def levels(self) -> dict[str, dict[str, int]]:
        """The coarser levels of each attribute, from fine to coarse, with their numbers of values."""
        return {
            each.name: {level.name: level.values.size for level in each.levels} for each in self.attributes
        }

    def at(self, levels: Mapping[str, str]) -> Domain:
        """Return the domain in which these attributes are at these levels.

        Guarantee: it reads the same rows by the same rules, so that counting in it is counting in this one
        and adding cells up. It describes its own values alone: neither finer ones nor levels.

        >>> text = '''
        ... [[attribute]]
        ... name = "age"
        ... bins = { start = 0, stop = 100, step = 5, levels = [10, 50] }
        ... '''
        >>> from pathlib import Path
        >>> _ = Path("age.toml").write_text(text)
        >>> domain = Domain.load("age.toml")
        >>> domain.levels
        {'age': {'10': 10, '50': 2}}
        >>> domain.at({"age": "10"})
        Domain(age: 10, cells_total=10)
        """
        if not isinstance(levels, Mapping):
            fact = f"levels = {shown(levels)} does not say which attribute has which level"
            raise BadDomain(fact, 'Write a dict such as {"home": "tract"}.')
        chosen = {self.attribute(name).name: level for name, level in levels.items()}
        attributes = (each.at(chosen[each.name]) if each.name in chosen else each for each in self.attributes)
        return replace(self, attributes=tuple(attributes))

    def of(self, places: Sequence[int]) -> Domain:
        """Return the domain of the attributes at these places: of a marginal table.

        Guarantee: a table of all attributes, added up to these, reads the same rows by the same rules.
        """
        return replace(self, attributes=tuple(self.attributes[place] for place in places))

    def decode(self, codes: NDArray[np.int64]) -> pa.Table:
        """Return the values of cells as a table with a typed column for each attribute.

        `codes` has shape (cells, attributes), each code below its attribute's size; else `BadTable`.
        """
        import pyarrow as pa

        if codes.ndim != 2 or codes.shape[1] != len(self.attributes):
            fact = f"codes do not have one column for each of {len(self.attributes)} attributes"
            raise BadTable(fact, "Pass codes of shape (cells, attributes).")
        for attribute, column in zip(self.attributes, codes.T, strict=True):
            if column.size and not (column.min() >= 0 and column.max() < attribute.size):
                fact = f"codes of attribute {shown(attribute.name)} lie outside 0..{attribute.size - 1}"
                raise BadTable(fact, "They come from another domain; compare the digests.")
        batches = [
            pa.RecordBatch.from_arrays(
                [
                    attribute.values.decode(column)
                    for attribute, column in zip(self.attributes, part.T, strict=True)
                ],
                names=list(self.names),
            )
            for part in (codes[i : i + _ROWS_AT_ONCE] for i in range(0, max(len(codes), 1), _ROWS_AT_ONCE))
        ]
        return pa.Table.from_batches(batches)


def as_domain(given: Domain | Mapping[str, Any] | str | PathLike[str]) -> Domain:
    """Return a domain: as it is, from the path of its file, or from a dict.

    A dict is one of names and declared values, or of the shape that `Domain.to_dict` returns.

    >>> as_domain({"attribute": [{"name": "age", "integers": {"low": 0, "high": 120}}]})
    Domain(age: 121, cells_total=121)
    """
    said: object = given
    if isinstance(said, Domain):
        return said
    if isinstance(said, str | PathLike):
        return Domain.load(said)
    if isinstance(said, Mapping):
        if said and all(isinstance(each, Declared) for each in said.values()):
            return Domain(said)
        return Domain.from_dict(said)
    hint = "Pass the path of a domain file, or ht.Domain(age=ht.integers(0, 120))."
    raise BadDomain(f"domain is of type {type(said).__name__}, not a Domain", hint)


def _entries(declared: object, named: Mapping[str, Declared]) -> dict[str, Declared]:
    """Return what was declared of each attribute, by its name."""
    if not isinstance(declared, Mapping | None):
        hint = 'Write ht.Domain({"home town": ht.categories([...])}), or ht.Domain.load("people.toml").'
        raise BadDomain(f"{shown(declared)} is not a dict of attributes", hint)
    entries = {**(declared or {}), **named}
    if len(entries) < len(declared or {}) + len(named):
        twice = next(name for name in named if name in (declared or {}))
        raise BadDomain("two attributes have this name", "Rename one of them.", attribute=twice)
    for name, each in entries.items():
        if not isinstance(each, Declared):
            kinds = "ht.integers(0, 99), ht.categories([...]), ht.bins(...), ht.times(...)"
            hint = f"Write {kinds} or ht.any_text(longest=40)."
            raise BadDomain(f"{shown(each)} declares no values", hint, attribute=str(name))
    return entries


def _attributes(entries: Mapping[str, Declared]) -> Iterable[Attribute]:
    """Return the attributes; an error names the one that it is about."""
    for name, each in entries.items():
        try:
            yield each.named(name)
        except BadDomain as error:
            raise error.at(attribute=str(name)) from None


def _toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise BadDomain("there is no such file", "Check the path.") from None
    except OSError as error:
        raise BadDomain(f"the file cannot be read: {error.strerror}", "Check its permissions.") from None
    except UnicodeDecodeError:
        raise BadDomain("the file is not UTF-8", "Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # tomllib's own error is a ValueError
        hint = "docs/reference/domain-file.md shows how a domain file looks."
        raise BadDomain(f"the file is not TOML: {shown(str(error))}", hint) from None
