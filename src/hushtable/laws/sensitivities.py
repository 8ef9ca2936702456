"""What one unit changes in a table, in the measures that laws of noise know."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hushtable.errors import InternalError


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivities:
    """The largest change of a table when one unit is added or removed: what its noise must be for.

    `l1` is the change of all cells together, `l2_squared` the sum of its squares, `per_cell` that of one
    cell. A counted table carries them, and tables made of it carry what follows for them.

    >>> Sensitivities.of_rows(3)
    Sensitivities(l1=Fraction(3, 1), l2_squared=Fraction(9, 1), per_cell=Fraction(3, 1))
    """

    l1: Fraction
    l2_squared: Fraction
    per_cell: Fraction

    def __post_init__(self) -> None:
        for name in ("l1", "l2_squared", "per_cell"):
            object.__setattr__(self, name, Fraction(getattr(self, name)))
        if not 0 < self.per_cell <= self.l1 or not self.per_cell**2 <= self.l2_squared <= self.l1**2:
            raise InternalError("sensitivities contradict each other")

    @classmethod
    def of_rows(cls, most: Fraction | int) -> Sensitivities:
        """Return those of a table that one unit changes by `most` in all, perhaps in one cell."""
        return cls(l1=Fraction(most), l2_squared=Fraction(most) ** 2, per_cell=Fraction(most))

    @classmethod
    def of_cells(cls, cells: int, each: Fraction | int) -> Sensitivities:
        """Return those of a table that one unit changes in so many cells, by up to `each` in one.

        >>> Sensitivities.of_cells(10, 1)
        Sensitivities(l1=Fraction(10, 1), l2_squared=Fraction(10, 1), per_cell=Fraction(1, 1))
        """
        per_cell = Fraction(each)
        return cls(l1=cells * per_cell, l2_squared=cells * per_cell**2, per_cell=per_cell)

    def added_up(self) -> Sensitivities:
        """Return those of sums of cells, each cell in one sum: all that a unit changes may meet in one."""
        return self.of_rows(self.l1)

    def repeated(self, times: int) -> Sensitivities:
        """Return those of so many tables beside each other, each of which a unit changes by as much."""
        return Sensitivities(l1=self.l1 * times, l2_squared=self.l2_squared * times, per_cell=self.per_cell)
