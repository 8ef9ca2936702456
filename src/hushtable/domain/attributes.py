"""Attributes: a name, the values it can take, and rules for rows that hold none of them.

Promise: an `Attribute` is checked once, and every value a row can hold either gets one code, is dropped or
raises `BadRows`, by declared rule. No message carries a value of a row.
Cost: `place` reads one Python value at a time; it is the slow reference for engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal, TypeAlias

from hushtable.domain.kinds import Bins, Categories, Edges, Integers
from hushtable.domain.levels import CategoryLevel, Finer, Level
from hushtable.domain.limits import LONGEST_TEXT
from hushtable.domain.reading import Fate
from hushtable.domain.texts import AnyText
from hushtable.domain.times import Times
from hushtable.errors import BadDomain, BadRows, shown

__all__ = [
    "AnyText",
    "Attribute",
    "Bins",
    "Categories",
    "Edges",
    "Fate",
    "Integers",
    "Kind",
    "Other",
    "Rule",
    "Times",
]

_LONGEST_NUMBER = 900  # characters of a fraction of a domain: `kinds.as_exact` allows no more
_SYNTAX = 300  # characters of keys, brackets and a time zone

# Columns that a release adds beside its attributes.
_RESERVED = ("count", "weight", "level")


NO_LEVELS = (
    'It declares none. Write them beside its values in the domain file: levels = ["1 month"] of times, '
    "levels = [10] of bins."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """The rule that gives such rows a category of their own."""

    value: str


Kind: TypeAlias = Integers | Categories | Bins | Edges | Times | AnyText
Rule: TypeAlias = Literal["drop", "clamp", "error"] | Other


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribute:
    """One attribute of a domain; `column` is the data's column and defaults to `name`.

    ===========================  =======================  ===============================
    value of a row               rule                     may be
    ===========================  =======================  ===============================
    missing or unreadable        `missing`                drop, error, `Other`
    outside the declared values  `outside`                drop, error, clamp, `Other`
    ===========================  =======================  ===============================

    `Other` needs categories, and its value becomes the last of them unless it is one already, or any text,
    of which its value is one; clamp needs any other kind.

    `levels` are coarser values that it can be published with, from fine to coarse. Of an attribute at a level
    of categories, `reads` are the finer ones that rows hold. Neither changes what a release says, so neither
    counts when attributes are compared.

    >>> age = Attribute(name="age", values=Integers(low=0, high=99), outside="clamp")
    >>> age.place(120), age.place("unknown")
    (99, None)
    """

    name: str
    column: str = ""
    values: Kind
    missing: Rule = "drop"
    outside: Rule = "drop"
    levels: tuple[Level, ...] = field(default=(), repr=False, compare=False)
    reads: Finer | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "column", self.column or self.name)
        if not isinstance(self.column, str):
            raise BadDomain(f"column = {shown(self.column)} is not text", "Write the name of a column.")
        if len(self.column) > LONGEST_TEXT:
            fact = f"column = {shown(self.column)} has {len(self.column):,} characters"
            raise BadDomain(fact, f"Rename the column; {LONGEST_TEXT:,} are allowed.")
        _check_rule("missing", self.missing, self.values)
        _check_rule("outside", self.outside, self.values)
        for rule in (self.missing, self.outside):
            if isinstance(rule, Other) and isinstance(self.values, Categories):
                object.__setattr__(self, "levels", tuple(self._levels_and_other(rule.value, self.values)))
                object.__setattr__(self, "values", self.values.and_other(rule.value))

    def _levels_and_other(self, other: str, values: Categories) -> Iterator[Level]:
        """Yield the levels with the category of a rule."""
        for level in self.levels:
            yield level.and_other(other, values) if isinstance(level, CategoryLevel) else level

    @property
    def size(self) -> int:
        """The number of values."""
        return self.values.size

    @property
    def unlisted(self) -> bool:
        """Whether nobody can list its values."""
        return isinstance(self.values, AnyText)

    @property
    def described(self) -> int:
        """A bound on the characters of JSON that describe it; each of a text is up to 6 or 12 of them."""
        texts = [self.name, self.column]
        texts += [rule.value for rule in (self.missing, self.outside) if isinstance(rule, Other)]
        match self.values:
            case Categories() as values:
                numbers, listed = 0, values.described
            case Edges(edges=edges):
                numbers, listed = len(edges), 0
            case _:
                numbers, listed = 3, 0
        return 12 * sum(map(len, texts)) + listed + _LONGEST_NUMBER * numbers + _SYNTAX

    @property
    def missing_code(self) -> int | None:
        """The code of the category for missing values, if there is one."""
        return self._code_of_rule(self.missing)

    @property
    def outside_code(self) -> int | None:
        """The code of the category for values outside, if there is one."""
        return self._code_of_rule(self.outside)

    def _code_of_rule(self, rule: Rule) -> int | None:
        code = self.values.code_of(rule.value) if isinstance(rule, Other) else None
        return code if isinstance(code, int) else None

    def at(self, level: str) -> Attribute:
        """Return this attribute with the values of a level; it reads the same rows by the same rules."""
        names = [each.name for each in self.levels]
        if str(level) not in names:  # a step of bins may be given as a number
            near = get_close_matches(str(level), names, n=1)
            guess = f"Did you mean {shown(near[0])}? " if near else ""
            hint = f"{guess}Its levels are {', '.join(map(shown, names))}."
            if not names:
                hint = NO_LEVELS
            raise BadDomain(f"it has no level {shown(level)}", hint, attribute=self.name)
        found = self.levels[names.index(str(level))]
        finer = None
        if isinstance(found, CategoryLevel) and isinstance(self.values, Categories):
            finer = Finer(values=self.values, codes=found.codes)
        return replace(self, values=found.values, levels=(), reads=finer)

    def place(self, value: object) -> int | None:
        """Return the code of a row with this value, or None where the row is dropped."""
        code = (self.values if self.reads is None else self.reads).code_of(value)
        if isinstance(code, int):
            return code
        about = "missing" if code in (Fate.MISSING, Fate.UNREADABLE) else "outside"
        rule: Rule = getattr(self, about)
        if rule == "error":
            raise BadRows(self.name, about)
        if rule == "clamp":
            return 0 if code is Fate.OUTSIDE_LOW else self.size - 1
        return self._code_of_rule(rule)


def kind_named(values: Kind) -> str:
    """Return what a kind of values is called in a domain file, in a sentence."""
    return "any text" if isinstance(values, AnyText) else type(values).__name__.lower()


def _check_name(name: object) -> None:
    """Raise unless `name` can be the name of a released column."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise BadDomain(f"the name {shown(name)} is not a line of text", 'Write a name such as "age".')
    if len(name) > LONGEST_TEXT:
        fact = f"the name {shown(name)} has {len(name):,} characters"
        raise BadDomain(fact, f"Use a shorter one; {LONGEST_TEXT:,} are allowed.")
    if name.lower() in _RESERVED:
        fact = f"the name {shown(name)} is taken by a column that every release may have"
        raise BadDomain(fact, f'Use another, and keep column = "{name}" for the data\'s own name.')


def _check_rule(about: str, rule: object, values: Kind) -> None:
    """Raise unless `rule` is one that values of this kind can follow."""
    allowed = ['"drop"', '"error"']
    fits = rule in ("drop", "error")
    if isinstance(values, Categories | AnyText):
        allowed.append('{ other = "..." }')
        fits = fits or (isinstance(rule, Other) and isinstance(rule.value, str))
        if isinstance(rule, Other) and isinstance(values, AnyText) and fits and not values.fits(rule.value):
            most = f"{values.longest:,} characters"
            fact = f"{about} = {{ other = {shown(rule.value)} }} is not text of up to {most}"
            raise BadDomain(fact, "Use a shorter one, or raise `longest`.")
    elif about == "outside":
        allowed.append('"clamp"')
        fits = fits or rule == "clamp"
    if not fits:
        said = f'{{ other = "{rule.value}" }}' if isinstance(rule, Other) else shown(rule)
        fact = f"{about} = {said} is not a rule for {kind_named(values)}"
        raise BadDomain(fact, f"Allowed are {', '.join(allowed[:-1])} and {allowed[-1]}.")
