"""Coarser levels of an attribute: tracts of blocks, hours of minutes, wide bins of narrow ones.

Promise: levels go from fine to coarse and nest: values that share a value of one level share a value of the
next. An attribute at a level reads the same rows by the same rules, so that counting there is counting at
the finest level and adding cells up. Levels are declared; nothing here depends on rows.
Cost: one pass over the categories for each level; steps take no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.kinds import Bins, Categories, plain, texts
from hushtable.domain.reading import Fate
from hushtable.domain.times import DAY, Times, step_in_words
from hushtable.errors import BadDomain, shown

_ORDER = "Order levels from fine to coarse. Each value of one level must lie in one value of the next."


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Finer:
    """The finer categories that rows hold, each with the code of the coarser one that it lies in."""

    values: Categories
    codes: NDArray[np.uint32]

    def code_of(self, value: object) -> int | Fate:
        """Return the coarser code of one finer value, or why it has none."""
        code = self.values.code_of(value)
        return int(self.codes[code]) if isinstance(code, int) else code


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CategoryLevel:
    """A level of categories: its name, its values, and the code of each finer value, in their order."""

    name: str
    values: Categories
    codes: NDArray[np.uint32]

    def and_other(self, other: str, finer: Categories) -> CategoryLevel:
        """Return this level of `finer` with the category of a rule, which is by itself at every level."""
        place, code = finer.code_of(other), self.values.code_of(other)
        if isinstance(place, int):
            alone = isinstance(code, int) and np.flatnonzero(self.codes == code).tolist() == [place]
        else:
            alone = not isinstance(code, int)
        if not alone:
            fact = f"the category {shown(other)} of a rule is not by itself at level {shown(self.name)}"
            hint = f"Let the level's value {shown(other)} hold this category alone, or rename one of the two."
            raise BadDomain(fact, hint)
        if isinstance(place, int):
            return self
        codes = np.append(self.codes, np.uint32(self.values.size))
        return CategoryLevel(name=self.name, values=self.values.and_other(other), codes=codes)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepLevel:
    """A level of bins or times: its name, and wider or longer ones, which read the same rows as they are."""

    name: str
    values: Bins | Times


Level: TypeAlias = CategoryLevel | StepLevel


def category_levels(
    values: Categories, declared: Mapping[str, Sequence[str] | int]
) -> tuple[CategoryLevel, ...]:
    """Return levels by name: one coarser text for each value, or how many characters of it to keep.

    Coarser values are in the order in which they first appear.

    >>> blocks = Categories(values=("44-01-7", "44-01-8", "44-02-7"))
    >>> [(level.name, level.values, level.codes.tolist()) for level in category_levels(blocks, {"tract": 5})]
    [('tract', Categories('44-01', '44-02'), [0, 0, 1])]
    """
    levels: list[CategoryLevel] = []
    for name, said in declared.items():
        _check_name(name)
        coarser = _starts(values, name, said) if type(said) is int else _listed(values, name, said)
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(text, len(places)) for text in coarser], dtype=np.uint32)
        level = CategoryLevel(name=name, values=Categories(values=tuple(places)), codes=codes)
        if levels:
            _check_nest(levels[-1], level)
        levels.append(level)
    return tuple(levels)


def bin_levels(values: Bins, steps: Iterable[Fraction]) -> tuple[StepLevel, ...]:
    """Return levels of wider bins.

    >>> ages = Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5))
    >>> [(level.name, level.values.size) for level in bin_levels(ages, [Fraction(10), Fraction(50)])]
    [('10', 10), ('50', 2)]
    """
    levels: list[StepLevel] = []
    finer = values
    for step in steps:
        name = plain(step)
        if step <= finer.step or (step / finer.step).denominator != 1:
            fact = f"the level {name} is not a multiple of {plain(finer.step)}, the step before"
            raise BadDomain(fact, _ORDER)
        try:
            finer = Bins(start=values.start, stop=values.stop, step=step)
        except BadDomain as error:
            raise _said_of(name, error) from None
        levels.append(StepLevel(name=name, values=finer))
    return tuple(levels)


def time_levels(
    values: Times, steps: Iterable[tuple[int, Literal["second", "month"]]]
) -> tuple[StepLevel, ...]:
    """Return levels of longer steps, of so many seconds or months.

    >>> from datetime import datetime
    >>> hours = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=3600, unit="second")
    >>> [(level.name, level.values.size) for level in time_levels(hours, [(86_400, "second"), (1, "month")])]
    [('1 day', 366), ('1 month', 12)]
    """
    levels: list[StepLevel] = []
    finer = values
    for every, unit in steps:
        name = step_in_words(every, unit)
        if not _steps_nest((finer.every, finer.unit), (every, unit)):
            fact = f"a step of the level {name} does not consist of steps of {finer.step_text}, those before"
            raise BadDomain(fact, f"{_ORDER} Steps shorter than a month must divide a day.")
        try:
            finer = Times(
                start=values.start, stop=values.stop, every=every, unit=unit, timezone=values.timezone
            )
        except BadDomain as error:
            raise _said_of(name, error) from None
        levels.append(StepLevel(name=name, values=finer))
    return tuple(levels)


def _steps_nest(finer: tuple[int, str], coarser: tuple[int, str]) -> bool:
    """Return whether each step of `coarser` is made of several whole steps of `finer`, from one start."""
    if finer[1] == coarser[1]:
        return coarser[0] > finer[0] and coarser[0] % finer[0] == 0
    # Months start at midnights, and so does a start that fits them: what divides a day crosses none of them.
    return coarser[1] == "month" and DAY % finer[0] == 0


def _said_of(name: str, error: BadDomain) -> BadDomain:
    """Return the error of a level's values as one of that level."""
    return BadDomain(f"at the level {name}, {error.fact}", f"{error.hint} Or take the level out.")


def _check_name(name: object) -> None:
    """Raise unless `name` can be asked for: on the command line, it follows a `=`."""
    if not isinstance(name, str) or not name or not name.isprintable() or "=" in name:
        fact = f"the level's name {shown(name)} is not a line of text without `=`"
        raise BadDomain(fact, 'Write a name such as "tract".')


def _listed(values: Categories, name: str, said: object) -> Sequence[str]:
    """Return the coarser texts of a level, one for each value."""
    coarser = texts(said, name=f"the values of level {shown(name)}")
    if len(coarser) != values.size:
        fact = f"the level {shown(name)} has {len(coarser)} values for {values.size} categories"
        raise BadDomain(fact, "Give one coarser value for each category, in the same order.")
    return coarser


def _starts(values: Categories, name: str, length: int) -> Sequence[str]:
    """Return the first characters of each value."""
    short = next((value for value in values.values if len(value) < length), None)
    if length < 1 or short is not None:
        fact = f"the level {shown(name)} takes the first {length} characters of each category"
        hint = "Write 1 or more." if short is None else f"{shown(short)} has only {len(short)}."
        raise BadDomain(fact, hint)
    return [value[:length] for value in values.values]


def _check_nest(finer: CategoryLevel, coarser: CategoryLevel) -> None:
    """Raise unless categories that share a value of one level share a value of the next."""
    parents = np.empty(finer.values.size, dtype=np.uint32)
    parents[finer.codes[::-1]] = coarser.codes[
        ::-1
    ]  # where several are written, the last one stays: the first
    astray = np.flatnonzero(parents[finer.codes] != coarser.codes)
    if astray.size:
        place = astray[0]
        value = finer.values.values[finer.codes[place]]
        one, two = (coarser.values.values[each[place]] for each in (parents[finer.codes], coarser.codes))
        fact = (
            f"{shown(value)} of level {shown(finer.name)} lies in both {shown(one)} and {shown(two)} "
            f"of level {shown(coarser.name)}"
        )
        raise BadDomain(fact, _ORDER)
