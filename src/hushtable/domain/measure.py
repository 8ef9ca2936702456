"""What is counted, and who one person is.

Promise: a `Measure` is checked once and knows its sensitivity: the largest change in all counts of the table
together when one unit is added or removed. Combinations that would make it wrong are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushtable.errors import BadMethod, BadNumber, BadSettings
from hushtable.laws.rationals import as_count
from hushtable.laws.sensitivities import Sensitivities

LARGEST_BOUND = 1 << 40  # of a clamp and of rows per unit: sums stay far from the largest count


@dataclass(frozen=True, slots=True)
class Unit:
    """Who is protected: all rows with the same value in `column`, of which at most `max_rows` are counted.

    Which rows of a unit with more are counted depends on that unit's rows alone. Rows without a value in
    `column` belong to nobody and are dropped.

    >>> import hushtable as ht
    >>> ht.Unit("person_id", max_rows=3)
    Unit('person_id', max_rows=3)
    """

    column: str
    max_rows: int

    def __init__(self, column: str, *, max_rows: int) -> None:
        hint = "One person adds at most so many rows; each more needs more noise."
        _check_column(column, "column")
        bound = as_count(max_rows, name="max_rows")
        if not 1 <= bound <= LARGEST_BOUND:
            raise BadNumber(name="max_rows", value=max_rows, allowed="must be from 1 to 2^40", hint=hint)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "max_rows", bound)

    def __repr__(self) -> str:
        return f"Unit({self.column!r}, max_rows={self.max_rows})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """What a cell of the table holds.

    ============================  ===========================================  ====================
    settings                      a cell holds                                 sensitivity
    ============================  ===========================================  ====================
    none                          how many rows                                1
    `count_column`                the sum of the column; one counted person    1
    `sum_column`, `clamp`         the sum of the clamped column                largest size in clamp
    `unit`, beside rows or sums   the same, of at most `max_rows` rows a unit  times `max_rows`
    ============================  ===========================================  ====================
    """

    count_column: str | None = None
    sum_column: str | None = None
    clamp: tuple[int, int] | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        if self.unit is not None and not isinstance(self.unit, Unit):
            raise BadMethod("unit", type(self.unit).__name__, "a Unit", 'ht.Unit("person_id", max_rows=3)')
        for name in ("count_column", "sum_column"):
            if getattr(self, name) is not None:
                _check_column(getattr(self, name), name)
        if self.count_column is not None:
            # A counted row stands for many people, so no bound on rows bounds a person.
            if self.sum_column is not None:
                raise BadSettings("counting", ("count_column", "sum_column"))
            if self.unit is not None:
                raise BadSettings("counting", ("count_column", "unit"))
        if (self.sum_column is None) != (self.clamp is None):
            given, other = ("sum_column", "clamp") if self.clamp is None else ("clamp", "sum_column")
            hint = "The sum of a column needs the range that each row's value is clamped to."
            raise BadNumber(name=other, value=None, allowed=f"must be given with `{given}`", hint=hint)
        if self.clamp is not None:
            object.__setattr__(self, "clamp", _range(self.clamp))

    @property
    def sensitivity(self) -> int:
        """The largest change in all counts together when one unit is added or removed."""
        largest = 1 if self.clamp is None else max(map(abs, self.clamp))
        return largest * (1 if self.unit is None else self.unit.max_rows)

    @property
    def sensitivities(self) -> Sensitivities:
        """The same, and in other measures of change: all rows of a unit may fall into one cell."""
        return Sensitivities.of_rows(self.sensitivity)

    def added_up(self) -> Measure:
        """Return the measure of a coarser table, in which all that a unit changes may meet in one cell."""
        return self

    @property
    def amount_column(self) -> str | None:
        """The column whose values are added, where rows are not counted one by one."""
        return self.count_column if self.sum_column is None else self.sum_column

    @property
    def readers(self) -> list[str]:
        """The columns beside those of the domain whose values decide which rows count, or where."""
        return [] if self.unit is None else [self.unit.column]

    @property
    def columns(self) -> list[str]:
        """The columns that are read beside those of the domain."""
        return self.readers if self.amount_column is None else [*self.readers, self.amount_column]


def _check_column(column: object, name: str) -> None:
    """Raise unless something is the name of a column."""
    if not isinstance(column, str):
        raise BadMethod(name, type(column).__name__, "the name of a column", '"person_id"')


def _range(clamp: object) -> tuple[int, int]:
    """Return a checked range."""
    ends = tuple(clamp) if isinstance(clamp, tuple | list) else ()
    whole = len(ends) == 2 and all(type(end) is int for end in ends)
    if not whole or not -LARGEST_BOUND <= ends[0] <= ends[1] <= LARGEST_BOUND or not any(ends):
        hint = "Give the smallest and the largest value that one row may add, as in (0, 100)."
        allowed = "must be two whole numbers in order, not both 0, within 2^40"
        raise BadNumber(name="clamp", value=clamp, allowed=allowed, hint=hint)
    return ends[0], ends[1]
