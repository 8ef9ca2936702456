"""Runs of values: coarser levels that every ordered attribute has without declaring them.

People ask for ranges: days 40 to 200, ages from 65 on. A table of runs of 16 values, of 256 and so on is a
level of a tree over the attribute, so that few of its cells make a range.

Promise: runs nest in one another and in all levels that the attribute declares. They follow from its values
and levels alone, so that a file that names them needs no more than its domain. The last run may be shorter
than the others. Categories have none, which have no order, nor have bins of uneven widths, which are few.
Cost: a few numbers for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log

from hushtable.domain.kinds import Bins, Categories, Edges, Integers, plain
from hushtable.domain.levels import Level, StepLevel
from hushtable.domain.texts import AnyText
from hushtable.domain.times import Times, step_in_words
from hushtable.errors import BadDomain

_FAN = 16  # values of one run in the next coarser one, about: little is gained by more or fewer
_WIDEST = 32  # so many need no coarser run
_LONGEST_GAP = 1 << 20  # values of a declared level: divisors of more are not looked for

Ordered = Integers | Bins | Edges | Times


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunLevel:
    """A level of runs of `width` values: its name, and the runs as bins or times."""

    name: str
    values: Bins | Times
    width: int


def runs_of(values: Ordered | Categories | AnyText, levels: tuple[Level, ...]) -> tuple[RunLevel, ...]:
    """Return the runs of an attribute with these values and declared levels, from short to long.

    >>> [(each.name, each.values.size) for each in runs_of(Integers(low=0, high=999), ())]
    [('16', 63), ('256', 4)]
    """
    if isinstance(values, Categories | AnyText):
        return ()
    return _runs(values, tuple(each.values for each in levels if isinstance(each, StepLevel)))


@lru_cache(maxsize=1 << 10)
def _runs(values: Ordered, declared: tuple[Ordered, ...]) -> tuple[RunLevel, ...]:
    names, found = {_name(values, width) for width in _even(values, declared)}, []
    for width in _widths(values, declared):
        made = _made(values, width)
        if made is not None and made.name not in names:
            found.append(made)
    return tuple(found)


def _even(values: Ordered, declared: tuple[Ordered, ...]) -> list[int]:
    """Return how many values each declared level has in one, up to the first that has now more, now fewer."""
    found = []
    for each in declared:
        if isinstance(values, Bins) and isinstance(each, Bins):
            found.append(int(each.step / values.step))
        elif isinstance(values, Times) and isinstance(each, Times) and values.unit == each.unit:
            found.append(each.every // values.every)
        else:
            break
    return found


def _widths(values: Ordered, declared: tuple[Ordered, ...]) -> Iterator[int]:
    """Yield the widths of runs: between declared levels such as divide them, and longer ones above all."""
    even, now = _even(values, declared), 1
    for width in even:
        while _WIDEST < width // now <= _LONGEST_GAP:
            times = width // now
            divisors = [each for each in range(2, times // 2 + 1) if times % each == 0]
            if not divisors:
                break
            now *= min(divisors, key=lambda each: abs(log(each / _FAN)))
            yield now
        now = width
    if len(even) == len(declared):
        while values.size > _WIDEST * now:
            now *= _FAN
            yield now


def _name(values: Ordered, width: int) -> str:
    """Return what a run is called: by its length, as the levels of bins and times are."""
    match values:
        case Bins(step=step):
            return plain(step * width)
        case Times(every=every, unit=unit):
            return step_in_words(every * width, unit)
        case Integers():
            return str(width)
    return f"{width} bins"


def _made(values: Ordered, width: int) -> RunLevel | None:
    """Return a level of runs; None where its end cannot be written down."""
    runs = -(-values.size // width)
    made: Bins | Times
    try:
        match values:
            case Integers(low=low):
                made = Bins(start=Fraction(low), stop=Fraction(low + runs * width), step=Fraction(width))
            case Bins(start=start, step=step):
                made = Bins(start=start, stop=start + runs * width * step, step=width * step)
            case Times(start=begin, every=every, unit=unit, timezone=zone):
                end = values.edge(runs * width)
                if end is None:
                    return None
                made = Times(start=begin, stop=end, every=every * width, unit=unit, timezone=zone)
            case _:
                return None
    except BadDomain:
        return None
    return RunLevel(name=_name(values, width), values=made, width=width)
