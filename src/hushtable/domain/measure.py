"""What is counted, and who one person is.

Promise: a `Measure` is checked once and knows its sensitivity: the largest change in all counts of the table
together when one unit is added or removed. Combinations that would make it wrong are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hushtable.errors import BadMethod, BadNumber, BadSettings
from hushtable.laws.rationals import as_count
from hushtable.laws.sensitivities import Sensitivities

LARGEST_BOUND = 1 << 40  # of a clamp and of what counts of a unit: sums stay far from the largest count


@dataclass(frozen=True, slots=True)
class Unit:
    """Who is protected: all rows with the same value in `column`, and how much of a unit is counted.

    =====================  =============================================================================
    settings               of each unit are counted
    =====================  =============================================================================
    `max_rows=3`           at most 3 rows, which may all be in one cell
    `max_cells=10`         at most 10 cells, once in each, however many rows it has there
    and `max_per_cell=2`   at most 10 cells, and up to 2 rows in each
    =====================  =============================================================================

    Cells are those of the finest table, the domain at the levels that are published; coarser tables of a
    release add them up. If a unit has more, only that unit's own rows decide which of them count. Rows
    without a value in `column` belong to nobody and are dropped.

    >>> import hushtable as ht
    >>> ht.Unit("person_id", max_rows=3)
    Unit('person_id', max_rows=3)
    >>> ht.Unit("person_id", max_cells=10)
    Unit('person_id', max_cells=10)
    >>> ht.Unit("person_id", max_cells=10, max_per_cell=2)
    Unit('person_id', max_cells=10, max_per_cell=2)
    """

    column: str
    max_rows: int | None
    max_cells: int | None
    max_per_cell: int | None  # given exactly where `max_cells` is

    def __init__(
        self,
        column: str,
        *,
        max_rows: int | None = None,
        max_cells: int | None = None,
        max_per_cell: int | None = None,
    ) -> None:
        _check_column(column, "column")
        if (max_rows is None) == (max_cells is None):
            raise BadSettings("Unit", ("max_rows", "max_cells"))
        if max_per_cell is not None and max_cells is None:
            hint = "A bound on rows holds wherever they are: leave it out, or give `max_cells` instead."
            allowed = "goes with `max_cells` alone"
            raise BadNumber(name="max_per_cell", value=max_per_cell, allowed=allowed, hint=hint)
        rows = None if max_rows is None else _bound(max_rows, "max_rows")
        cells = None if max_cells is None else _bound(max_cells, "max_cells")
        each = None if cells is None else _bound(1 if max_per_cell is None else max_per_cell, "max_per_cell")
        if cells is not None and each is not None and cells * each > LARGEST_BOUND:
            hint = "One person adds at most the product of both; each more needs more noise."
            allowed = f"must be at most 2^40 divided by `max_per_cell`, which is {each}"
            raise BadNumber(name="max_cells", value=max_cells, allowed=allowed, hint=hint)
        for name, value in (("max_rows", rows), ("max_cells", cells), ("max_per_cell", each)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "column", column)

    @property
    def words(self) -> dict[str, str | int]:
        """Its column and its bounds, as a release and a recipe state them."""
        bounds = {name: getattr(self, name) for name in ("max_rows", "max_cells", "max_per_cell")}
        return {"column": self.column, **{name: most for name, most in bounds.items() if most is not None}}

    def changes(self, largest: int) -> Sensitivities:
        """Return what one unit changes in the cells if one row changes one cell by up to `largest`."""
        if self.max_rows is not None:  # all of them may be in one cell
            return Sensitivities.of_rows(largest * self.max_rows)
        assert self.max_cells is not None
        assert self.max_per_cell is not None
        return Sensitivities.of_cells(self.max_cells, largest * self.max_per_cell)

    def __repr__(self) -> str:
        said = [
            f"{name}={most}"
            for name, most in self.words.items()
            if name != "column" and (name, most) != ("max_per_cell", 1)
        ]
        return f"Unit({self.column!r}, {', '.join(said)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """What a cell of the table holds.

    ============================  ===========================================  =====================
    settings                      a cell holds                                 sensitivity
    ============================  ===========================================  =====================
    none                          how many rows                                1
    `count_column`                the sum of the column; one counted person    1
    `sum_column`, `clamp`         the sum of the clamped column                largest size in clamp
    `unit`, beside rows or sums   the same, of at most `max_rows` rows a unit  times `max_rows`
    the same with `max_cells`     of a unit `max_per_cell` rows there          times both
    ============================  ===========================================  =====================
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
                why = "Counts do not say which people they count, so each counted person is protected."
                raise BadSettings("counting", ("count_column", "unit"), why=why)
        if (self.sum_column is None) != (self.clamp is None):
            given, other = ("sum_column", "clamp") if self.clamp is None else ("clamp", "sum_column")
            hint = "The sum of a column needs the range that each row's value is clamped to."
            raise BadNumber(name=other, value=None, allowed=f"must be given with `{given}`", hint=hint)
        if self.clamp is not None:
            object.__setattr__(self, "clamp", _range(self.clamp))

    @property
    def sensitivity(self) -> int:
        """The largest change in all counts together when one unit is added or removed."""
        return int(self.sensitivities.l1)

    @property
    def sensitivities(self) -> Sensitivities:
        """The same, and in other measures of change."""
        largest = 1 if self.clamp is None else max(map(abs, self.clamp))
        return Sensitivities.of_rows(largest) if self.unit is None else self.unit.changes(largest)

    def added_up(self) -> Measure:
        """Return the measure of a coarser table, in which all that a unit changes may meet in one cell."""
        unit = self.unit
        if unit is None or unit.max_cells is None or unit.max_per_cell is None:
            return self
        return replace(self, unit=Unit(unit.column, max_rows=unit.max_cells * unit.max_per_cell))

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


def _bound(value: int, name: str) -> int:
    """Return a checked bound on what counts of a unit."""
    bound = as_count(value, name=name)
    if not 1 <= bound <= LARGEST_BOUND:
        what = "cells" if name == "max_cells" else "rows"
        where = " to a cell" if name == "max_per_cell" else ""
        hint = f"One person adds at most so many {what}{where}; each more needs more noise."
        raise BadNumber(name=name, value=value, allowed="must be from 1 to 2^40", hint=hint)
    return bound


def _range(clamp: object) -> tuple[int, int]:
    """Return a checked range."""
    ends = tuple(clamp) if isinstance(clamp, tuple | list) else ()
    whole = len(ends) == 2 and all(type(end) is int for end in ends)
    if not whole or not -LARGEST_BOUND <= ends[0] <= ends[1] <= LARGEST_BOUND or not any(ends):
        hint = "Give the smallest and the largest value that one row may add, as in (0, 100)."
        allowed = "must be two whole numbers in order, not both 0, within 2^40"
        raise BadNumber(name="clamp", value=clamp, allowed=allowed, hint=hint)
    return ends[0], ends[1]
