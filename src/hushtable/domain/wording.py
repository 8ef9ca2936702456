"""Attributes, their rules and numbers of cells in words, for people to read."""

from __future__ import annotations

from math import log10

from hushtable.domain.attributes import AnyText, Bins, Categories, Edges, Integers, Kind, Other, Rule, Times
from hushtable.domain.kinds import plain
from hushtable.domain.measure import Unit
from hushtable.errors import printable

_FEW = 4  # categories and edges that are shown
_LARGE = 10**9
_HUGE = 10**60


def kind_in_words(values: Kind) -> str:
    """Return what an attribute's values are, such as "integers 0 to 999,999"."""
    match values:
        case Integers(low=low, high=high):
            return f"integers {low:,} to {high:,}"
        case Categories():
            return f"{many(values.size, 'category', 'categories')}: {_listed(values.values)}"
        case Bins(start=start, stop=stop, step=step):
            bins = many(values.size, "bin", "bins")
            return f"{bins} of {plain(step)} from {plain(start)} to {plain(stop)}"
        case Edges(edges=edges):
            return f"{many(values.size, 'bin', 'bins')} with edges {_listed([plain(edge) for edge in edges])}"
        case AnyText(longest=longest):
            return f"any text of up to {many(longest, 'character', 'characters')}"
        case Times(start=start):
            first = start.date() if values.whole_days else start
            steps = many(values.size, "step", "steps")
            return f"{steps} of {values.step_text} from {first}, {values.timezone}"


def size_in_words(values: Kind) -> str:
    """Return how many values there are, such as "20 bins"."""
    match values:
        case Integers():
            return many(values.size, "integer", "integers")
        case Categories():
            return many(values.size, "category", "categories")
        case Bins() | Edges():
            return many(values.size, "bin", "bins")
        case AnyText():
            return "any text"
        case Times():
            return f"{values.size:,} x {values.step_text}"


def is_ordered(values: Kind) -> bool:
    """Return whether values lie below and above others."""
    return not isinstance(values, Categories | AnyText)


def rule_in_words(rule: Rule) -> str:
    """Return what a rule does with rows."""
    if isinstance(rule, Other):
        return f"to {rule.value!r}"
    return {"drop": "dropped", "clamp": "clamped", "error": "error"}[rule]


def bounds_in_words(unit: Unit, *, rows: bool = True, cells_of: str = "") -> str:
    """Return how much of a unit counts; `rows`: whether rows with amounts do, and not the unit itself.

    >>> bounds_in_words(Unit("person_id", max_rows=3)), bounds_in_words(Unit("person_id", max_cells=1))
    ('at most 3 rows', 'at most 1 cell, one row in each')
    >>> bounds_in_words(Unit("person_id", max_cells=10), rows=False)
    'at most 10 cells, once in each'
    >>> bounds_in_words(Unit("person_id", max_cells=10, max_per_cell=2), rows=False)
    'at most 10 cells, up to 2 times in each'
    """
    if unit.max_rows is not None:
        return f"at most {many(unit.max_rows, 'row', 'rows')}"
    assert unit.max_cells is not None
    each = unit.max_per_cell
    if rows:
        often = "one row" if each == 1 else f"up to {each:,} rows"
    else:
        often = "once" if each == 1 else f"up to {each:,} times"
    return f"at most {many(unit.max_cells, 'cell', 'cells')}{cells_of}, {often} in each"


def cells_in_words(cells: int | None) -> str:
    """Return a number of cells, exact, and as a power of ten where that is easier to grasp.

    None is that of a domain with values that nobody can list.
    """
    if cells is None:
        return "not limited"
    if cells >= _HUGE:
        return f"about 10^{log10(cells):.1f}"
    return f"{cells:,}" + (f" (about 10^{log10(cells):.1f})" if cells >= _LARGE else "")


def many(number: int, one: str, more: str) -> str:
    """Return a number of things."""
    return f"{number:,} {one if number == 1 else more}"


def _listed(texts: list[str] | tuple[str, ...]) -> str:
    """Return the first few texts; in quotes where a comma would make two of one.

    >>> _listed(("Bath", "Kingston, upon Hull", ""))
    "Bath, 'Kingston, upon Hull', ''"
    """
    shown = [printable(text) for text in texts[:_FEW]]
    cut = [text if len(text) <= 24 else f"{text[:21]}..." for text in shown]
    cut = [f"'{text}'" if "," in text or not text else text for text in cut]
    return ", ".join(cut) + (", ..." if len(texts) > _FEW else "")
