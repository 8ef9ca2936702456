"""Laws of noise side by side: the smallest count that each shows, by cells a unit and by cells of a domain.

Promise: follows from what is declared alone; no row is read. Each number is that of a table of cells alone,
for all of the epsilon and the delta.
Cost: some seconds, most of them for Gaussian stability with a hundred cells a unit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadChoice
from hushtable.laws.costs import Cost
from hushtable.laws.rationals import Rational
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Priority
from hushtable.planning.laws import CHOICES, Cutoff, cutoffs
from hushtable.planning.wording import aligned, number, paragraph

_CELLS_A_UNIT = (1, 2, 3, 5, 10, 20, 50, 100)
_CELLS = tuple(10**power for power in (4, 6, 8, 10, 12, 15, 20, 30))


@dataclass(frozen=True, kw_only=True)
class LawPoint:
    """The cutoffs of all laws for units in so many cells, of a domain of so many."""

    cells_a_unit: int
    cells_total: int
    cutoffs: dict[str, int]  # by the names of laws; one that cannot be had is not there

    @property
    def best(self) -> str:
        """The law with the lowest cutoff: what is chosen where none is named."""
        return min(self.cutoffs, key=lambda name: (self.cutoffs[name], CHOICES.index(name)))


@dataclass(frozen=True, kw_only=True, repr=False)
class LawComparison:
    """Which law of noise shows the smallest counts. `compare_laws` makes it, and it prints as two tables.

    >>> import hushtable as ht
    >>> homes = ht.Domain(home=ht.integers(0, 10**12 - 1))
    >>> ht.compare_laws(homes, epsilon=1, delta="1e-6", size=1000).turns[0]
    'By cells a unit, the lowest is truncated-geometric from 1 on, gaussian-stability from 3 on.'
    """

    title: str
    cost: Cost
    size: int
    by_cells_a_unit: tuple[LawPoint, ...]  # of the declared domain
    by_cells_total: tuple[LawPoint, ...]  # of the declared unit
    declared: LawPoint

    def __repr__(self) -> str:
        named = f" for {self.title!r}" if self.title else ""
        one = self.declared
        lead = (
            f"Laws of noise{named}: the smallest count that a table of cells alone would show, for "
            f"{self.cost.said} and size {self.size:,}. The lowest of a line is marked *; what is declared is "
            "marked >. Geometric and Gaussian noise also let some rows through that are noise alone, about a "
            "tenth of the size."
        )
        units = _table("cells a unit", self.by_cells_a_unit, one, lambda each: f"{each.cells_a_unit:,}")
        totals = _table("cells in all", self.by_cells_total, one, lambda each: number(each.cells_total))
        return "\n\n".join(
            [
                paragraph(lead),
                f"By the cells that a unit may be in, of {number(one.cells_total)} cells:",
                units,
                f"By the cells of the domain, for units in up to {one.cells_a_unit:,}:",
                totals,
                *map(paragraph, self.turns),
            ]
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def turns(self) -> tuple[str, ...]:
        """Which law is best from where on, in words: by the cells of a unit and of the domain."""
        return (
            _turns("cells a unit", [(f"{each.cells_a_unit:,}", each.best) for each in self.by_cells_a_unit]),
            _turns("cells in all", [(number(each.cells_total), each.best) for each in self.by_cells_total]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain numbers and texts, for JSON."""
        named = {"by_cells_a_unit": self.by_cells_a_unit, "by_cells_total": self.by_cells_total}
        return {
            **self.cost.entries,
            "size": self.size,
            "declared": _as_dict(self.declared),
            **{name: [_as_dict(each) for each in points] for name, points in named.items()},
        }

    def draw(self, output: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draw the cutoffs as curves into a file that ends in .png or .svg."""
        from hushtable.planning.law_picture import draw

        draw(self, output, overwrite=overwrite)


def compare_laws(
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str],
    *,
    epsilon: Rational,
    delta: Rational,
    size: int,
    level: Mapping[str, str] | None = None,
    unit: Unit | None = None,
) -> LawComparison:
    """Compare laws of noise: which one shows the smallest counts, by the cells of a unit and of the domain.

    Guarantee: no row is read, and nothing is spent. All laws have the same epsilon and delta.

    >>> import hushtable as ht
    >>> homes = ht.Domain(home=ht.integers(0, 10**6 - 1))
    >>> found = ht.compare_laws(homes, epsilon=1, delta="1e-6", size=10_000)
    >>> found.declared.best, found.declared.cutoffs["truncated-geometric"]
    ('geometric', 15)
    """
    finest = as_domain(domain)
    declared = finest if level is None else finest.at(level)
    cost = Cost(epsilon=epsilon, delta=delta)
    if not cost.delta:
        raise BadChoice("without a delta only one law of noise is possible", "Give `delta`, as in 1e-9.")
    one = Measure(unit=unit).sensitivities
    if one.per_cell != 1:
        fact = "laws are compared for units that change each cell by 1"
        raise BadChoice(fact, 'Count people: ht.Unit("person_id", max_cells=10).')
    rows, own, cells = Priority(size=size).size, int(one.l1), declared.cells_total  # checked

    def point(each: int, total: int) -> LawPoint:
        found: Sequence[Cutoff] = cutoffs(cost, one=Sensitivities.of_cells(each, 1), cells=total, size=rows)
        return LawPoint(
            cells_a_unit=each, cells_total=total, cutoffs={cutoff.law: cutoff.cutoff for cutoff in found}
        )

    own_point = point(own, cells)
    units, totals = _beside(own, _CELLS_A_UNIT, apart=1.3), _beside(cells, _CELLS, apart=10)
    return LawComparison(
        title=declared.title,
        cost=cost,
        size=rows,
        by_cells_a_unit=tuple(own_point if each == own else point(each, cells) for each in units),
        by_cells_total=tuple(own_point if each == cells else point(own, each) for each in totals),
        declared=own_point,
    )


def _beside(own: int, others: Sequence[int], *, apart: float) -> list[int]:
    """Return a number among others, without those whose labels it would overprint in a picture."""
    return sorted([own, *(each for each in others if not 1 / apart < each / own < apart)])


def _table(name: str, points: Sequence[LawPoint], declared: LawPoint, said: Any) -> str:
    """Return one table: laws side by side."""
    laws = [law for law in CHOICES if any(law in each.cutoffs for each in points)]
    lines = [[name, *laws]]
    for each in points:
        row = [f"{'> ' if each == declared else ''}{said(each)}"]
        for law in laws:
            found = each.cutoffs.get(law)
            row.append("-" if found is None else f"{'* ' if law == each.best else ''}{found:,}")
        lines.append(row)
    return aligned(lines, names=0)


def _turns(name: str, best: Sequence[tuple[str, str]]) -> str:
    """Return from where on which law is the best."""
    said = []
    for place, (at, law) in enumerate(best):
        if not place or law != best[place - 1][1]:
            said.append(f"{law} from {at} on")
    return f"By {name}, the lowest is {', '.join(said)}."


def _as_dict(point: LawPoint) -> dict[str, Any]:
    return asdict(point) | {"best": point.best}
